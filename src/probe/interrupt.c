/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * softirq:NAME and hardirq:NAME: handlers of interrupts by the names that /proc/softirqs and
 * /proc/interrupts have. The tracepoints of the category irq are for all vectors and all lines,
 * which their records have as numbers: a program looks at the number first (probe_context.guard),
 * and sees what the tracepoint gives.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "base/file.h"
#include "probe/provider.h"

#define LINES "/sys/kernel/irq" /* N/actions (Documentation/ABI/testing/sysfs-kernel-irq) */

/* softirq:NAME is the entry, softirq:NAME:exit its end. */
struct stage {
	const char *name, *event;
};

static const struct stage softirq_stages[] = {
	{"entry", "softirq_entry"}, {"exit", "softirq_exit"}, {"raise", "softirq_raise"}, {0}};
static const struct stage hardirq_stages[] = {
	{"entry", "irq_handler_entry"}, {"exit", "irq_handler_exit"}, {0}};

/* What one of the two providers is about. */
struct kind {
	const struct probe_provider *provider;
	const struct stage *stages;
	const char *field; /* of the records, with the number */
	/*
	 * Calls fn for every vector or line until it returns other than 0, and returns that; or
	 * -errno.
	 */
	int (*each)(int (*fn)(void *arg, u32 number, const char *name), void *arg);
};

/* ---- what there is ---- */

/* A row for each vector, in the order of their numbers: "      NET_RX:     100     200". */
static int each_vector(int (*fn)(void *arg, u32 number, const char *name), void *arg)
{
	char *text, *rest, *row;
	u32 number = 0;
	size_t len;
	int err = file_read("/proc/softirqs", 1 << 20, &text, &len);

	if (err)
		return err;
	rest = text;
	strsep(&rest, "\n"); /* names of CPUs */
	while (!err && (row = strsep(&rest, "\n"))) {
		char *name = row + strspn(row, " "), *colon = strchr(name, ':');

		if (!colon)
			continue;
		*colon = '\0';
		for (char *p = name; *p; p++)
			*p = (char)tolower((unsigned char)*p);
		err = fn(arg, number++, name);
	}
	free(text);
	return err;
}

/* Lines that somebody handles. A shared one has all its handlers' names, by commas. */
static int each_line(int (*fn)(void *arg, u32 number, const char *name), void *arg)
{
	DIR *dir = opendir(LINES);
	struct dirent *d;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (d = readdir(dir))) {
		char path[sizeof(LINES) + sizeof(d->d_name) + sizeof("/actions")], *name;
		u64 number;
		size_t len;

		snprintf(path, sizeof(path), LINES "/%s/actions", d->d_name);
		if (!probe_parse_number(d->d_name, &number) || file_read(path, 4096, &name, &len))
			continue;
		name[strcspn(name, "\n")] = '\0';
		if (*name)
			err = fn(arg, (u32)number, name);
		free(name);
	}
	closedir(dir);
	return err;
}

static const struct kind softirq = {&probe_softirq, softirq_stages, "vec", each_vector};
static const struct kind hardirq = {&probe_hardirq, hardirq_stages, "irq", each_line};

static const struct kind *kind_of(const struct probe_provider *p)
{
	return p == &probe_softirq ? &softirq : &hardirq;
}

/* ---- expand ---- */

struct search {
	struct probe_env *env;
	const struct probe_request *request;
	const struct kind *kind;
	const struct stage *stage;
	const char *wanted;
	bool as_pattern;
	struct probe_targets *out;
	struct nearest nearest;
	const char *shared; /* names of a line, of which one is wanted */
	u32 shared_number;
	u32 found;
};

static bool has_name(const char *names, const char *wanted)
{
	const size_t n = strlen(wanted);

	for (const char *p = names; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, wanted, n) && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

static int match(void *arg, u32 number, const char *name)
{
	struct search *s = arg;
	struct arena *arena = s->env->arena;
	const bool is_entry = s->stage == s->kind->stages;
	struct probe_target *t;
	u64 wanted, *private;

	nearest_offer(&s->nearest, name);
	if (!strcasecmp(name, s->wanted) || (s->as_pattern && glob_match(s->wanted, name))) {
		name = arena_printf(arena, "%s:%s", s->kind->provider->name, name);
	} else if (probe_parse_number(s->wanted, &wanted) && wanted == number) {
		name = arena_printf(arena, "%s:%u", s->kind->provider->name, number);
	} else {
		if (has_name(name, s->wanted)) {
			s->shared = arena_strdup(arena, name);
			s->shared_number = number;
		}
		return 0;
	}
	t = probe_add_target(s->env, s->out, s->kind->provider, s->request,
			     is_entry ? name : arena_printf(arena, "%s:%s", name, s->stage->name));
	t->module = "irq";
	t->function = s->stage->event;
	t->perf_type = PERF_TYPE_TRACEPOINT;
	t->syscall = -1;
	t->private = private = arena_new(arena, u64);
	*private = number;
	s->found++;
	return 0;
}

static int no_match(const struct search *s, int err)
{
	struct diag *d = s->env->diag;
	const char *name = s->kind->provider->name;

	if (err == -EACCES || err == -EPERM)
		return probe_refuse(s->env, s->request->span, err, name);
	diag_error(d, s->request->span, "No matches for %s %s.", name, s->wanted);
	if (s->shared)
		diag_hint(d,
			  "its line is shared (%s): %s:%u is the line, and args.name the handler "
			  "that is entered",
			  s->shared, name, s->shared_number);
	else if (!nearest_hint(&s->nearest, d, ""))
		diag_hint(d, "`pantrace list '%s:*'` shows them", name);
	return -ENOENT;
}

/* Names may hold colons ("ACPI:Ged"): the last part is a stage if it bears the name of one. */
static void split(struct search *s)
{
	const struct probe_request *r = s->request;
	const char *last = r->parts[r->count - 1];
	u32 n = r->count;

	s->stage = s->kind->stages;
	for (const struct stage *stage = s->kind->stages; n > 2 && stage->name; stage++)
		if (str_eq(stage->name, last)) {
			s->stage = stage;
			n--;
			break;
		}
	s->wanted = r->parts[1];
	for (u32 i = 2; i < n; i++)
		s->wanted = arena_printf(s->env->arena, "%s:%s", s->wanted, r->parts[i]);
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	const struct kind *kind = kind_of(p);
	struct search s = {.env = env, .request = r, .kind = kind, .out = out};
	int err = probe_check_parts(env, r, p, 1, 8);

	if (!err)
		err = probe_require(env, r->span, KERNEL_TRACEPOINTS, p->name);
	if (err)
		return err;
	split(&s);
	nearest_init(&s.nearest, s.wanted);
	err = kind->each(match, &s);
	/* "ahci[0000:00:1f.2]" is a name before it is a pattern. */
	if (!s.found && glob_has_wildcard(s.wanted)) {
		s.as_pattern = true;
		err = kind->each(match, &s);
	}
	return s.found ? 0 : no_match(&s, err);
}

/* ---- describe and attach: as the tracepoint ---- */

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	struct probe_use with_record = *use;
	const struct type_member *number;
	u32 offset;
	int err;

	with_record.arguments = true;
	err = probe_tracepoint.describe(env, t, &with_record, at, ret);
	if (err)
		return err;
	number = type_find_member(env->types, ret->args, kind_of(t->provider)->field, &offset);
	if (!number) {
		diag_error(env->diag, at, "the record of irq:%s has no field '%s'", t->function,
			   kind_of(t->provider)->field);
		return -EOPNOTSUPP;
	}
	ret->raw_tracepoint = NULL; /* that has no record */
	ret->has_guard = true;
	ret->guard = *(const u64 *)t->private;
	ret->argn[0] = (struct location){.kind = LOCATION_CONTEXT,
					 .size = (u8)number->type->size,
					 .is_signed = number->type->is_signed,
					 .offset = (u16)offset};
	ret->argn_count = 1;
	return 0;
}

static int attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
		  struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	return probe_tracepoint.attach(env, prog_fd, context, targets, n, out);
}

/* ---- list ---- */

static int offer(void *arg, u32 number, const char *name)
{
	const struct probe_listing *l = arg;
	const struct stage *const entry = kind_of(l->provider)->stages;
	char text[512];
	int err = 0;

	for (const struct stage *s = entry; s->name && !err; s++) {
		const bool is_entry = s == entry;

		snprintf(text, sizeof(text), "%s:%s%s%s", l->provider->name, name,
			 is_entry ? "" : ":", is_entry ? "" : s->name);
		err = probe_offer(l, text);
	}
	return err;
}

static int each(const struct probe_listing *l)
{
	return kind_of(l->provider)->each(offer, (void *)l);
}

const struct probe_provider probe_softirq = {
	.name = "softirq",
	.form = "softirq:NAME[:entry|exit|raise]",
	.doc = "handlers of soft interrupts, named as in /proc/softirqs: net_rx, timer, block ...",
	.needs = KERNEL_TRACEPOINTS,
	.needs_pid_filter = true,
	.result = 1,
	.expand = expand,
	.describe = describe,
	.attach = attach,
	.each = each,
};

const struct probe_provider probe_hardirq = {
	.name = "hardirq",
	.form = "hardirq:NAME[:entry|exit] or hardirq:NUMBER[:entry|exit]",
	.doc = "handlers of interrupts, named as in /proc/interrupts",
	.needs = KERNEL_TRACEPOINTS,
	.needs_pid_filter = true,
	.result = 1,
	.expand = expand,
	.describe = describe,
	.attach = attach,
	.each = each,
};
