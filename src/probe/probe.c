/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/probe.h"

#include <strings.h>
#include <unistd.h>

#include "base/glob.h"
#include "binary/elf/file.h"
#include "kernel/kernel.h"
#include "kernel/tracefs/tracefs.h"
#include "probe/provider.h"
#include "probe/user_event.h"

#define PARTS_MOST 5 /* of an attach point */

#define POINTER(name) &probe_##name,
const struct probe_provider *const probe_providers[] = {PROBE_PROVIDERS(POINTER) NULL};
#undef POINTER

const struct probe_use probe_use_all = {.record = true, .arguments = true, .names = true};

const struct probe_provider *probe_provider_of(struct probe_target *const *targets, u32 n)
{
	static const struct probe_provider none = {.name = "special"};

	return n ? targets[0]->provider : &none;
}

const struct probe_provider *probe_find_provider(const char *name)
{
	for (u32 i = 0; probe_providers[i]; i++) {
		const struct probe_provider *p = probe_providers[i];

		if (!strcasecmp(p->name, name))
			return p;
		/* "u" is uprobe and "U" is usdt: one-letter names mind their case. */
		for (u32 k = 0; k < ARRAY_SIZE(p->aliases) && p->aliases[k]; k++)
			if (p->aliases[k][1] ? !strcasecmp(p->aliases[k], name)
					     : str_eq(p->aliases[k], name))
				return p;
	}
	return NULL;
}

struct probe_cache *probe_cache_of(struct probe_env *env)
{
	if (!env->cache)
		env->cache = xzalloc(sizeof(*env->cache));
	return env->cache;
}

void probe_env_release(struct probe_env *env)
{
	struct probe_cache *c = env->cache;

	if (!c)
		return;
	hashmap_each (&c->files, e)
		elf_file_close(e->value);
	user_event_release(c->user_session);
	hashmap_release(&c->files);
	hashmap_release(&c->types);
	hashmap_release(&c->kernel_images);
	for (size_t i = 0; i < c->programs.len; i++)
		close(c->programs.items[i]);
	vector_free(&c->programs);
	free(c);
	env->cache = NULL;
}

static int offer_group(void *arg, const char *group, const char *event)
{
	nearest_offer(arg, group);
	return 0;
}

static int unknown_provider(struct probe_env *env, const struct probe_request *r)
{
	struct nearest n;

	nearest_init(&n, r->parts[0]);
	for (u32 i = 0; probe_providers[i]; i++) {
		nearest_offer(&n, probe_providers[i]->name);
		for (u32 k = 0; k < 4 && probe_providers[i]->aliases[k]; k++)
			if (strlen(probe_providers[i]->aliases[k]) > 2)
				nearest_offer(&n, probe_providers[i]->aliases[k]);
	}
	if (r->count == 2 && *r->parts[1])
		probe_each_tracepoint(env, "*", "*", offer_group, &n);
	diag_error(env->diag, r->span, "Invalid probe type: %s", r->parts[0]);
	nearest_hint(&n, env->diag, "");
	return -EINVAL;
}

int probe_each_tracepoint(struct probe_env *env, const char *category_glob, const char *event_glob,
			  int (*fn)(void *arg, const char *category, const char *event), void *arg)
{
	if (env->recorded)
		return env->recorded->each_event(env->recorded->arg, category_glob, event_glob, fn,
						 arg);
	return tracefs_each_event(env->kernel, category_glob, event_glob, fn, arg);
}

static int is_there(void *arg, const char *group, const char *event)
{
	return 1;
}

bool probe_complete(struct probe_env *env, const struct probe_request *r, struct probe_request *ret)
{
	const char **parts;

	if (r->count != 2 || !*r->parts[0] || !*r->parts[1] || probe_find_provider(r->parts[0]))
		return false;
	for (u32 i = 0; probe_providers[i]; i++)
		if (glob_has_wildcard(r->parts[0]) &&
		    glob_match(r->parts[0], probe_providers[i]->name))
			return false;
	if (probe_each_tracepoint(env, r->parts[0], "*", is_there, NULL) <= 0)
		return false;
	parts = arena_new_array(env->arena, const char *, 3);
	parts[0] = probe_tracepoint.name;
	parts[1] = r->parts[0];
	parts[2] = r->parts[1];
	*ret = *r;
	ret->parts = parts;
	ret->count = 3;
	ret->text = arena_printf(env->arena, "%s:%s", probe_tracepoint.name, r->text);
	return true;
}

struct probe_request probe_split(struct arena *arena, const char *text)
{
	const char **parts = arena_new_array(arena, const char *, PARTS_MOST);
	struct probe_request ret = {.span = NO_SPAN, .text = text, .parts = parts};
	char *rest = arena_strdup(arena, text), *end;

	/* kprobe@SOURCE:LINE: the '@' begins the second part */
	end = rest + strcspn(rest, ":@\"");
	if (*end == '@' && end > rest) {
		parts[ret.count++] = arena_strndup(arena, rest, (size_t)(end - rest));
		rest = end;
	}
	while (ret.count < PARTS_MOST && rest) {
		if (*rest == '"' && (end = strchr(rest + 1, '"'))) { /* may hold colons */
			parts[ret.count++] = rest + 1;
			*end = '\0';
			rest = end[1] ? end + 2 : NULL;
		} else {
			parts[ret.count++] = strsep(&rest, ":");
		}
	}
	return ret;
}

static bool can_be_recorded(const struct probe_env *env, const struct probe_provider *p)
{
	return !env->recorded || p->is_recorded || (env->recorded->is_live && p->is_made_live);
}

/*
 * `*:vfs_read`: every provider that can take the rest. A provider that finds nothing, or takes
 * another number of parts, is skipped without a message; only if none finds anything is there an
 * error.
 */
static int expand_providers(struct probe_env *env, const struct probe_request *r,
			    struct probe_targets *out)
{
	const bool user = r->pid || (r->count >= 2 && strchr(r->parts[1], '/'));
	size_t before = out->list.len;

	for (u32 i = 0; probe_providers[i]; i++) {
		const struct probe_provider *p = probe_providers[i];
		struct diag *real = env->diag, quiet = DIAG_INIT;
		struct probe_request one = *r;
		const char **parts;

		if (!glob_match(r->parts[0], p->name) || p->takes_path != user || r->count < 2 ||
		    !can_be_recorded(env, p))
			continue;
		parts = arena_memdup(env->arena, r->parts, r->count * sizeof(*parts));
		parts[0] = p->name;
		one.parts = parts;
		env->diag = &quiet;
		p->expand(env, &one, out, p);
		env->diag = real;
		diag_release(&quiet);
	}
	if (out->list.len > before)
		return 0;
	diag_error(env->diag, r->span, "No matches for %s.", r->text);
	return -ENOENT;
}

static int refuse_recorded(struct probe_env *env, const struct probe_request *r,
			   const struct probe_provider *p)
{
	if (env->recorded->is_live) {
		diag_error(env->diag, r->span, "%s probes need BPF: a trace buffer has no such",
			   p->name);
		diag_hint(env->diag, "it has tracepoint, kprobe, kretprobe, uprobe, uretprobe, "
				     "interval, begin and end");
		return -EINVAL;
	}
	diag_error(env->diag, r->span, "%s probes cannot run over a recording", p->name);
	diag_hint(env->diag, "`pantrace report --count DIRECTORY` lists its events, for "
			     "tracepoint:SYSTEM:EVENT; interval, begin and end go by its clock");
	return -EINVAL;
}

int probe_expand(struct probe_env *env, const struct probe_request *request,
		 struct probe_targets *out)
{
	const struct probe_provider *p;
	struct probe_request full;
	size_t before = out->list.len;
	int err;

	if (probe_complete(env, request, &full))
		request = &full;

	if (!request->count || !*request->parts[0]) {
		diag_error(env->diag, request->span, "Invalid attachpoint definition");
		return -EINVAL;
	}
	p = probe_find_provider(request->parts[0]);
	if (!p && glob_has_wildcard(request->parts[0]))
		return expand_providers(env, request, out);
	if (!p)
		return unknown_provider(env, request);
	if (!can_be_recorded(env, p))
		return refuse_recorded(env, request, p);
	err = p->expand(env, request, out, p);
	if (err)
		out->list.len = before;
	return err;
}

int probe_check_parts(struct probe_env *env, const struct probe_request *r,
		      const struct probe_provider *p, u32 min, u32 max)
{
	const u32 have = r->count - 1;

	if (have >= min && have <= max)
		return 0;
	if (min == max)
		diag_error(env->diag, r->span, "%s probe type requires %u argument%s, found %u",
			   p->name, min, plural(min), have);
	else
		diag_error(env->diag, r->span,
			   "%s probe type requires %u %s %u arguments, found %u", p->name, min,
			   max == min + 1 ? "or" : "to", max, have);
	diag_hint(env->diag, "the form is %s", p->form);
	return -EINVAL;
}

struct probe_target *probe_add_target(struct probe_env *env, struct probe_targets *out,
				      const struct probe_provider *p, const struct probe_request *r,
				      const char *name)
{
	struct probe_target *t = arena_new(env->arena, struct probe_target);

	t->provider = p;
	t->name = name;
	t->pid = r->pid;
	vector_push(&out->list, t);
	return t;
}

/* ---- numbers ---- */

/* Reads the number at s; *ret_end is behind it. Underscores separate digits, 1e6 is a million. */
static bool scan_number(const char *s, u64 *ret, const char **ret_end)
{
	const unsigned int base = s[0] == '0' && (s[1] | 32) == 'x' ? 16 : 10;
	const char *p = base == 16 ? s + 2 : s;
	u64 value = 0;
	u32 digits = 0;

	for (;; p++) {
		unsigned int d;

		if (*p == '_' && digits)
			continue;
		if (*p >= '0' && *p <= '9')
			d = (unsigned int)(*p - '0');
		else if (base == 16 && (*p | 32) >= 'a' && (*p | 32) <= 'f')
			d = (unsigned int)((*p | 32) - 'a' + 10);
		else
			break;
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, d, &value))
			return false;
		digits++;
	}
	if (!digits)
		return false;
	if (base == 10 && (*p | 32) == 'e' && p[1] >= '0' && p[1] <= '9') {
		u32 exponent = 0;

		for (p++; *p >= '0' && *p <= '9' && exponent < 30; p++)
			exponent = exponent * 10 + (u32)(*p - '0');
		for (; exponent; exponent--)
			if (__builtin_mul_overflow(value, 10, &value))
				return false;
	}
	*ret = value;
	*ret_end = p;
	return true;
}

int probe_offer(const struct probe_listing *l, const char *name)
{
	return l->glob && !glob_match(l->glob, name) ? 0 : l->fn(l->arg, name);
}

int probe_each(struct probe_env *env, const struct probe_provider *p, const char *glob,
	       int (*fn)(void *arg, const char *name), void *arg)
{
	const struct probe_listing l = {env, p, glob, fn, arg};

	return p->each ? p->each(&l) : 0;
}

bool probe_parse_number(const char *s, u64 *ret)
{
	const char *end;

	return scan_number(s, ret, &end) && !*end;
}

bool probe_parse_duration(const char *s, u64 *ret_ns)
{
	static const struct {
		const char *unit;
		u64 ns;
	} units[] = {
		{"ns", 1},	    {"us", 1000},	  {"ms", 1000000},	{"s", 1000000000},
		{"m", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000}};
	const char *end;
	u64 value;

	if (!scan_number(s, &value, &end))
		return false;
	for (u32 i = 0; i < ARRAY_SIZE(units); i++)
		if (str_eq(end, units[i].unit))
			return !__builtin_mul_overflow(value, units[i].ns, ret_ns);
	return false;
}

/* ---- refusals ---- */

int probe_require(struct probe_env *env, struct span at, enum kernel_capability c, const char *what)
{
	const struct kernel_answer *a;
	bool privilege;

	if (env->list_only || env->compile_only || env->recorded)
		return 0;
	a = kernel_ask(env->kernel, c);
	if (a->yes)
		a = kernel_ask(env->kernel, KERNEL_BPF);
	if (a->yes)
		return 0;
	privilege = a->error == EPERM || a->error == EACCES;
	diag_error(env->diag, at, "%s cannot be used here: %s", what,
		   a->why     ? a->why
		   : a->error ? strerror(a->error)
			      : "the kernel does not offer it");
	if (a->hint)
		diag_hint(env->diag, "%s", a->hint);
	diag_code(env->diag, privilege ? EXIT_PRIVILEGE : EXIT_UNSUPPORTED);
	return privilege ? -EPERM : -EOPNOTSUPP;
}

int probe_refuse(struct probe_env *env, struct span at, int err, const char *what)
{
	diag_error(env->diag, at, "%s cannot be used here: %s", what, strerror(-err));
	if (err == -EPERM || err == -EACCES) {
		diag_hint(env->diag, "run as root, or with CAP_BPF, CAP_PERFMON and read access to "
				     "tracefs; `pantrace doctor` shows what is missing");
		diag_code(env->diag, EXIT_PRIVILEGE);
	}
	return err;
}

/* ---- describe ---- */

const struct type *probe_arguments_type(struct probe_env *env, const struct type *function,
					const char *name)
{
	struct type *t;

	if (!function || function->kind != TYPE_FUNCTION || !function->count)
		return NULL;
	t = type_new(env->types, TYPE_STRUCT);
	t->name = name;
	t->members = function->members;
	t->count = function->count;
	t->is_complete = true;
	for (u32 i = 0; i < t->count; i++)
		t->size += ALIGN_UP(t->members[i].type->size, 8);
	return t;
}

int probe_describe_sampled(struct probe_env *env, const struct probe_target *t,
			   const struct probe_use *use, struct span at, struct probe_context *ret)
{
	*ret = (struct probe_context){
		.kind = CONTEXT_PERF_EVENT,
		.program_type = BPF_PROG_TYPE_PERF_EVENT,
		.space = SPACE_UNKNOWN,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		.layout_key = t->provider->name,
	};
	return 0;
}

void probe_describe_registers(struct probe_context *ret, bool stack_arguments)
{
	ret->kind = CONTEXT_REGISTERS;
	ret->program_type = BPF_PROG_TYPE_KPROBE;
	for (u32 i = 0; i < ARRAY_SIZE(ret->argn); i++) {
		const int offset = arch_argument_offset(i);

		if (offset >= 0)
			ret->argn[i] = (struct location){
				.kind = LOCATION_REGISTER, .size = 8, .offset = (u16)offset};
		else if (stack_arguments)
			ret->argn[i] = (struct location){.kind = LOCATION_MEMORY,
							 .size = 8,
							 .base = arch_sp_offset(),
							 .index = 0xffff,
							 .value = arch_stack_argument_offset(i)};
		else
			break;
		ret->argn_count = (u8)(i + 1);
	}
}
