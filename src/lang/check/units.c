/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/check/units.h"

#include <ctype.h>
#include <linux/bpf.h>

#include "arch/arch.h"
#include "base/glob.h"
#include "lang/builtin/util.h"
#include "lang/check/in_process.h"

/* What a body uses decides whether one program can serve several targets. */
struct mentions {
	struct probe_use use;
	bool probe;
	/* its name is compared or searched: each target gets a program that knows its name */
	bool probe_text;
};

/* A field that only the record of a system call's event has: common_*, copied strings. */
static bool is_record_field(const struct expr *e)
{
	return str_starts(e->name, "common_") ||
	       (str_starts(e->name, "__") && !str_eq(e->name, "__syscall_nr"));
}

static bool is_probe_name(const struct expr *e)
{
	return e && (e->kind == EXPR_NAME || e->kind == EXPR_CALL) && e->name &&
	       str_eq(e->name, "probe");
}

static bool reads_probe_name(const struct expr *e)
{
	static const char *const functions[] = {"strcontains", "strncmp", "strstr", "strlen",
						"len"};

	if (e->kind == EXPR_BINARY)
		return is_probe_name(e->left) || is_probe_name(e->right);
	for (size_t i = 0; e->kind == EXPR_CALL && i < ARRAY_SIZE(functions); i++)
		for (u32 n = 0; str_eq(e->name, functions[i]) && n < e->nargs; n++)
			if (is_probe_name(e->args[n]))
				return true;
	return false;
}

/* ctx has them all; reg("bx") is one. */
static void find_registers(struct mentions *m, const struct expr *e)
{
	const struct expr *name = e->kind == EXPR_CALL && e->nargs ? e->args[0] : NULL;
	const struct arch_register *r = name && name->kind == EXPR_STRING
						? arch_register_find(builtin_literal(name))
						: NULL;

	if (str_eq(e->name, "ctx") || str_eq(e->name, "reg")) {
		m->use.at_entry |= !r || !arch_register_is_partial(r->offset, false);
		m->use.at_return |= !r || !arch_register_is_partial(r->offset, true);
	}
}

static bool find_mentions(void *arg, struct expr *e)
{
	static const char *const raw[] = {"args", "vars",  "ctx",	"kstack",   "ustack",
					  "reg",  "stack", "stack_len", "skboutput"};
	struct mentions *m = arg;

	m->probe_text |= reads_probe_name(e);
	if (e->kind == EXPR_NAME && str_eq(e->name, "vars"))
		m->use.vars = m->use.names = m->use.arguments = true;
	if (e->kind == EXPR_MEMBER && e->left->kind == EXPR_NAME && str_eq(e->left->name, "args")) {
		m->use.names = m->use.arguments = true;
		m->use.record |= is_record_field(e);
		return false;
	}
	if (e->kind != EXPR_NAME && e->kind != EXPR_CALL)
		return true;
	if (str_eq(e->name, "probe"))
		m->probe = true;
	find_registers(m, e);
	if (str_eq(e->name, "skboutput") || str_eq(e->name, "socket_cookie") ||
	    (e->kind == EXPR_CALL && !builtin_find(e->name)))
		m->use.typed = true;
	for (size_t i = 0; i < ARRAY_SIZE(raw); i++)
		m->use.record |= str_eq(e->name, raw[i]);
	if (str_eq(e->name, "args") || str_eq(e->name, "retval"))
		m->use.names = m->use.arguments = true;
	if (str_eq(e->name, "ctx") || str_starts(e->name, "sarg") ||
	    (str_starts(e->name, "arg") && e->name[3] >= '0' && e->name[3] <= '9'))
		m->use.arguments = true;
	return true;
}

static struct mentions mentions_of(const struct probe *p)
{
	struct mentions m = {0};

	if (p->predicate)
		ast_each_expr_in(p->predicate, find_mentions, &m);
	ast_each_expr(p->body, find_mentions, &m);
	return m;
}

/* Turns the errors since `from` into warnings, or removes them. */
static void demote_errors(struct check *c, size_t from, bool keep)
{
	struct diag *d = c->diag;
	size_t to = from;

	for (size_t i = from; i < d->messages.len; i++) {
		struct diag_message *m = &d->messages.items[i];

		if (m->level == DIAG_ERROR) {
			d->errors--;
			m->level = DIAG_WARNING;
			m->text = arena_printf(&d->arena, "%s Skipping.", m->text);
		}
		if (keep)
			d->messages.items[to++] = *m;
	}
	d->messages.len = to;
	if (!d->errors)
		d->code = EXIT_OK;
}

/* Older than `begin` and missing_probes: with BEGIN or END in capitals and no config block. */
static bool is_older_spelling(const struct check *c)
{
	const struct ast *ast = &c->script->ast;

	for (u32 i = 0; i < ast->nprobes && !ast->nconfigs; i++) {
		const struct attach_point *ap = ast->probes[i].attach_points;

		const struct probe_provider *p =
			ap->count ? probe_find_provider(ap->parts[0]) : NULL;

		if (p && p->runs_once && isupper((unsigned char)ap->parts[0][0]))
			return true;
	}
	return false;
}

/*
 * "kprobe:f, kprobe:f.constprop.*": a pattern that matches nothing is no error beside other attach
 * points. In older scripts neither is a name: bpftrace 0.17 went on with a warning, and such
 * scripts list the names that a function has had over time.
 */
static bool may_be_missing(const struct check *c, const struct probe *p,
			   const struct attach_point *ap)
{
	if (p->nattach > 1 && is_older_spelling(c))
		return true;
	for (u32 i = 1; p->nattach > 1 && i < ap->count; i++)
		if (glob_has_wildcard(ap->parts[i]))
			return true;
	return false;
}

/* --probe-filter: an attach point without wildcards that it excludes is not even looked up. */
static bool is_filtered(const struct check *c, const struct attach_point *ap)
{
	const regex_t *filter = c->options->probe_filter;
	const struct probe_provider *p = ap->count ? probe_find_provider(ap->parts[0]) : NULL;

	return filter && ap->count && !(p && p->is_always_kept) && !glob_has_wildcard(ap->text) &&
	       regexec(filter, ap->text, 0, NULL, 0);
}

static void drop_filtered(const struct check *c, struct probe_targets *targets, size_t from)
{
	const regex_t *filter = c->options->probe_filter;
	size_t to = from;

	for (size_t i = from; filter && i < targets->list.len; i++) {
		struct probe_target *t = targets->list.items[i];

		if (t->provider->is_always_kept || !regexec(filter, t->name, 0, NULL, 0))
			targets->list.items[to++] = t;
	}
	if (filter)
		targets->list.len = to;
}

static int expand(struct check *c, const struct probe *p, const struct attach_point *ap,
		  struct probe_targets *out)
{
	struct script *s = c->script;
	const struct probe_request request = {.span = ap->span,
					      .text = ap->text,
					      .parts = ap->parts,
					      .count = ap->count,
					      .pid = c->options->pid};
	const size_t messages = c->diag->messages.len, before = out->list.len;
	int err;

	/* uprobe:libpthread:f, uprobe:libc:f: one of them is expected to be missing */
	c->options->env->only_where_named = s->config.missing_probes == 2;
	err = is_filtered(c, ap) ? 0 : probe_expand(c->options->env, &request, out);
	drop_filtered(c, out, before);
	if (err == -ENOENT && c->options->recorded && p->is_internal) {
		demote_errors(c, messages, false);
		diag_warning(c->diag, ap->span,
			     "the recording has no %s: what a thread that ended has left in self "
			     "stays for the next one of its number",
			     ap->text + strlen("tracepoint:"));
		err = 0;
	}
	if (err == -ENOENT && (s->config.missing_probes || may_be_missing(c, p, ap))) {
		demote_errors(c, messages, s->config.missing_probes == 1 || is_older_spelling(c));
		err = 0;
	}
	for (size_t i = before; i < out->list.len; i++) {
		out->list.items[i]->cookie = (u32)s->probe_names.len;
		vector_push(&s->probe_names, out->list.items[i]->name);
	}
	return err;
}

/* A unit while its targets are still a list. */
struct group {
	struct probe_context context;
	VECTOR(struct probe_target *) targets;
};

/*
 * Targets with equal keys share a unit. There may be thousands, so the key is no text. False: no
 * other target has an equal key.
 */
static bool group_key(struct check *c, const struct probe_target *t, const struct probe_context *x,
		      struct mentions m, u32 number, struct strbuf *ret)
{
	struct {
		const void *provider;
		u64 guard;
		u32 program_type, attach_type, kind, space, entry, btf_id, number;
		u32 padding;
	} head = {0};
	const char *layout = m.use.arguments && x->layout_key ? x->layout_key : "";

	if (x->syscalls && !m.probe_text) {
		head.btf_id = x->attach_btf_id;
	} else if (x->attach_btf_id || m.probe_text ||
		   (m.probe && !(x->has_cookie && c->options->features.attach_cookie))) {
		/*
		 * Attached by the id of one kernel function, or unable to tell which target fired.
		 */
		head.number = number + 1;
		layout = "";
	} else {
		head.provider = t->provider;
		head.program_type = x->program_type;
		head.attach_type = x->expected_attach_type;
		head.kind = x->kind;
		head.space = x->space;
		head.guard = x->guard;
		head.entry = m.use.record ? x->entry : ENTRY_NONE;
	}
	strbuf_reset(ret);
	strbuf_add(ret, &head, sizeof(head));
	strbuf_addstr(ret, layout);
	return !head.number;
}

/* (NAME == VALUE) && predicate */
static struct expr *add_comparison(struct check *c, const struct probe *p, const char *name,
				   u64 value, struct expr *predicate)
{
	struct expr *e = arena_new(c->arena, struct expr), *both;

	e->kind = EXPR_BINARY;
	e->op = OP_EQ;
	e->span = p->span;
	e->left = arena_new(c->arena, struct expr);
	*e->left = (struct expr){.kind = EXPR_NAME, .span = p->span, .name = name};
	e->right = arena_new(c->arena, struct expr);
	*e->right = (struct expr){.kind = EXPR_INTEGER, .span = p->span, .integer = value};
	if (!predicate)
		return e;
	both = arena_new(c->arena, struct expr);
	*both = (struct expr){.kind = EXPR_BINARY,
			      .op = OP_LAND,
			      .span = predicate->span,
			      .left = e,
			      .right = predicate};
	return both;
}

static void add_unit(struct check *c, struct probe *p, struct group *g, bool copy)
{
	struct unit *u = arena_new(c->arena, struct unit);

	u->probe = p;
	u->predicate = p->predicate && copy ? ast_clone_expr(c->arena, p->predicate) : p->predicate;
	/* For the command of -c all processes that it starts count. */
	if (c->options->pid && !c->options->has_child && g->targets.len &&
	    g->targets.items[0]->provider->needs_pid_filter)
		u->predicate = add_comparison(c, p, "pid", (u64)c->options->pid, u->predicate);
	if (g->context.has_guard)
		u->predicate = add_comparison(c, p, "arg0", g->context.guard, u->predicate);
	u->body = copy ? ast_clone_block(c->arena, p->body) : p->body;
	u->context = g->context;
	u->ntargets = (u32)g->targets.len;
	u->targets = arena_memdup(c->arena, g->targets.items,
				  g->targets.len * sizeof(*g->targets.items));
	vector_push(&c->units, u);
}

/* The first of several units for a probe may use the probe's own tree; the others need copies. */
static int describe_targets(struct check *c, struct probe *p, const struct probe_targets *targets,
			    bool copy)
{
	struct probe_env *env = c->options->env;
	const struct mentions m = mentions_of(p);
	VECTOR(struct group *) groups = {0};
	struct hashmap by_key = {0};
	struct strbuf key = STRBUF_INIT;
	struct group *shared = NULL; /* identifies targets that are described like the last one */
	const void *alike = NULL;
	int err = 0;

	for (u32 i = 0; i < targets->list.len; i++) {
		struct probe_target *t = targets->list.items[i];
		struct probe_context context;
		struct group *g;
		bool may_share;

		if (shared && t->alike == alike) {
			vector_push(&shared->targets, t);
			continue;
		}
		context = (struct probe_context){0};
		err = t->provider->describe(env, t, &m.use, p->span, &context);
		if (err)
			break;
		may_share = group_key(c, t, &context, m, i, &key);
		g = hashmap_get(&by_key, key.data, key.len);
		if (!g) {
			g = arena_new(c->arena, struct group);
			g->context = context;
			*hashmap_put(&by_key, key.data, key.len, NULL) = g;
			vector_push(&groups, g);
		}
		vector_push(&g->targets, t);
		alike = t->alike;
		shared = may_share && alike ? g : NULL;
	}
	for (size_t i = 0; i < groups.len; i++) {
		if (!err)
			add_unit(c, p, groups.items[i], copy || groups.len > 1);
		if (!err)
			vector_last(&c->units)->probe_is_text = m.probe_text;
		vector_free(&groups.items[i]->targets);
	}
	vector_free(&groups);
	hashmap_release(&by_key);
	strbuf_release(&key);
	return err;
}

/*
 * A probe that is to run in the traced process has units for there, and spare ones for the kernel.
 */
static int add_units(struct check *c, struct probe *p, const struct probe_targets *targets)
{
	struct probe_targets there = {0};
	size_t spare;
	int err;

	for (u32 i = 0; p->in_process && i < targets->list.len; i++) {
		struct probe_target *t = probe_to_process(c->arena, targets->list.items[i]);

		if (t)
			vector_push(&there.list, t);
	}
	err = describe_targets(c, p, &there, true);
	vector_free(&there.list);
	spare = c->units.len;
	if (!err)
		err = describe_targets(c, p, targets, p->in_process);
	for (; p->in_process && spare < c->units.len; spare++)
		c->units.items[spare]->is_spare = true;
	return err;
}

/* Events that programs themselves reject do not reach the kernel. */
static int add_filters(struct check *c, const struct probe *p, const struct probe_targets *targets)
{
	struct probe *filter = c->options->in_process ? in_process_filter(c->arena, p) : NULL;
	struct probe_env *env = c->options->env;
	int err = 0;

	for (u32 i = 0; filter && i < targets->list.len && !err; i++) {
		struct probe_target *t = probe_to_filter(c->arena, targets->list.items[i]);
		struct group g = {0};

		if (!t)
			continue;
		err = t->provider->describe(env, t, &probe_use_all, p->span, &g.context);
		vector_push(&g.targets, t);
		if (!err)
			add_unit(c, filter, &g, true);
		vector_free(&g.targets);
	}
	return err;
}

static int check_limits(struct check *c, u32 ntargets)
{
	const struct script_config *config = &c->script->config;
	size_t programs = 0;

	if (ntargets > config->max_probes) {
		diag_error(
			c->diag, NO_SPAN,
			"Can't attach to %u probes because it exceeds the current limit of %" PRIu64
			" probes.",
			ntargets, config->max_probes);
		diag_hint(c->diag,
			  "raise it by config = { max_probes = %u } or PANTRACE_MAX_PROBES",
			  ntargets);
		return -E2BIG;
	}
	for (size_t i = 0; i < c->units.len; i++)
		programs += !c->units.items[i]->is_spare;
	if (programs > config->max_bpf_progs) {
		diag_error(c->diag, NO_SPAN,
			   "%zu programs are needed, more than the limit of %" PRIu64, programs,
			   config->max_bpf_progs);
		diag_hint(c->diag,
			  "raise it by config = { max_bpf_progs = %zu } or PANTRACE_MAX_BPF_PROGS",
			  programs);
		return -E2BIG;
	}
	return 0;
}

/*
 * A program on the raw tracepoint runs on every system call, if only to find that it is not one of
 * its own: many such programs would cost more than they save.
 */
#define MAX_SYSCALL_PROGRAMS 4

static int limit_syscall_programs(struct check *c)
{
	struct probe_env *env = c->options->env;
	u32 n = 0;
	int err = 0;

	for (size_t i = 0; i < c->units.len; i++)
		n += c->units.items[i]->context.syscalls != NULL;
	if (n <= MAX_SYSCALL_PROGRAMS)
		return 0;
	for (size_t i = 0; i < c->units.len && !err; i++) {
		struct unit *u = c->units.items[i];
		const struct probe_use use = {.record = true, .arguments = u->context.args != NULL};

		if (u->context.syscalls)
			err = unit_provider(u)->describe(env, u->targets[0], &use, u->probe->span,
							 &u->context);
	}
	return err;
}

/* A pattern that rightly matches nothing on some kernels. */
static bool may_match_nothing(const struct attach_point *ap)
{
	const struct probe_provider *p = ap->count ? probe_find_provider(ap->parts[0]) : NULL;

	return glob_has_wildcard(ap->text) || (p && p->may_match_nothing);
}

int units_make(struct check *c)
{
	const struct ast *ast = &c->script->ast;
	u32 ntargets = 0;

	c->script->only_begin_end = true;
	for (u32 i = 0; i < ast->nprobes; i++) {
		struct probe *p = &ast->probes[i];
		struct probe_targets targets = {0};
		int err = 0;

		for (u32 a = 0; a < p->nattach && !err; a++) {
			err = expand(c, p, &p->attach_points[a], &targets);
			if (err == -ENOENT && may_match_nothing(&p->attach_points[a]))
				diag_error(c->diag, p->span,
					   "Probe has no valid attach points. If this is expected, "
					   "set the 'missing_probes' config variable to 'warn'.");
		}
		if (!err && !targets.list.len && !c->options->probe_filter &&
		    !c->script->config.missing_probes) {
			diag_error(c->diag, p->span,
				   "No attach point of this probe matches anything");
			err = -ENOENT;
		}
		if (!err && !targets.list.len && c->script->config.missing_probes == 1)
			diag_warning(c->diag, p->span,
				     "Probe has no valid attach points. It is being removed which "
				     "may cause issues with program behavior.");
		ntargets += (u32)targets.list.len;
		for (size_t t = 0; t < targets.list.len && c->script->only_begin_end; t++)
			c->script->only_begin_end = targets.list.items[t]->provider->runs_once;
		if (!err)
			err = check_limits(c, ntargets);
		if (!err)
			err = add_units(c, p, &targets);
		if (!err)
			err = add_filters(c, p, &targets);
		vector_free(&targets.list);
		if (err)
			return err;
	}
	if (!c->units.len) {
		c->script->has_no_probes = true;
		diag_error(c->diag, NO_SPAN, "No probes to attach");
		return -ENOENT;
	}
	if (limit_syscall_programs(c))
		return -EIO;
	return check_limits(c, ntargets);
}

void units_add_uncalled(struct check *c)
{
	const struct ast *ast = &c->script->ast;

	for (u32 i = 0; i < ast->nuncalled; i++) {
		const struct mentions m = mentions_of(&ast->uncalled[i]);
		struct unit *u;

		if (m.use.record || m.use.arguments || m.use.names || m.probe)
			continue;
		u = arena_new(c->arena, struct unit);
		u->probe = &ast->uncalled[i];
		u->body = ast->uncalled[i].body;
		u->context.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
		vector_push(&c->units, u);
	}
}
