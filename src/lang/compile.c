/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A script from text to programs: the list of passes. */
#include <linux/bpf.h>
#include <strings.h>

#include "base/glob.h"
#include "lang/check.h"
#include "lang/config.h"
#include "lang/in_process.h"
#include "lang/lower.h"
#include "lang/parse.h"
#include "lang/plan.h"
#include "lang/script.h"
#include "lang/thread_local.h"

#define MAX_STATEMENTS 10000

struct compilation {
	struct arena *arena;
	u16 file;
	const struct compile_options *options;
	struct script *script;
	struct diag *diag;
	struct check check;
	u32 targets;
};

/* ---- parse and settings ---- */

static int pass_parse(struct compilation *k)
{
	const struct compile_options *o = k->options;
	const struct parse_options options = {
		.positional = o->positional,
		.npositional = o->npositional,
		.include_dirs = o->include_dirs,
		.ninclude_dirs = o->ninclude_dirs,
		.files = o->files,
		.nfiles = o->nfiles,
		.have_btf = o->env->btf && btf_exists(o->env->btf),
	};

	return parse_script(k->arena, o->env->types, k->diag, k->file, &options, &k->script->ast);
}

static int pass_thread_locals(struct compilation *k)
{
	thread_locals_add_probes(k->arena, &k->script->ast);
	return 0;
}

static bool wants(const struct compilation *k, const char *stage)
{
	const struct compile_options *o = k->options;

	return o->dump && (!o->dump_stage || str_eq(o->dump_stage, stage));
}

static int pass_in_process(struct compilation *k)
{
	if (k->options->in_process)
		in_process_choose(k->arena, &k->script->ast);
	return 0;
}

static int pass_dump_ast(struct compilation *k)
{
	struct strbuf text = STRBUF_INIT;

	if (!wants(k, "ast"))
		return 0;
	ast_dump(&text, &k->script->ast, false);
	k->options->dump(k->options->dump_arg, "ast", text.data);
	strbuf_release(&text);
	return 0;
}

static int pass_settings(struct compilation *k)
{
	struct script_config *config = &k->script->config;
	int err;

	config_defaults(config);
	config->show_debug_info = k->options->show_debug_info;
	err = config_apply(k->diag, &k->script->ast, config);
	if (!err && k->options->setting)
		err = k->options->setting(k->options->setting_arg, config);
	return err ? err : config_check(k->diag, config);
}

static u32 count_statements(const struct block *b)
{
	u32 n = 0;

	for (u32 i = 0; b && i < b->count; i++)
		n += 1 + count_statements(b->stmts[i]->body) +
		     count_statements(b->stmts[i]->else_body);
	return n;
}

static int pass_limits(struct compilation *k)
{
	const struct ast *ast = &k->script->ast;
	u32 n = 0;

	if (!ast->nprobes) {
		diag_error(k->diag, NO_SPAN, "The script has no probes");
		return -EINVAL;
	}
	for (u32 i = 0; i < ast->nprobes; i++)
		n += count_statements(ast->probes[i].body);
	if (n <= MAX_STATEMENTS)
		return 0;
	diag_error(k->diag, NO_SPAN, "The script has %u statements, more than %d", n,
		   MAX_STATEMENTS);
	return -E2BIG;
}

static int pass_map_declarations(struct compilation *k)
{
	const struct ast *ast = &k->script->ast;

	for (u32 i = 0; i < ast->nmaps; i++) {
		const struct map_declaration *d = &ast->maps[i];
		struct map_symbol *m;

		if (hashmap_gets(&k->check.maps, d->name)) {
			diag_error(k->diag, d->span, "Redeclaration of existing map: @%s", d->name);
			return -EINVAL;
		}
		m = check_map_symbol(&k->check, d->name, d->span);
		m->declared_type = plan_map_type(d->type);
		if (!m->declared_type) {
			diag_error(k->diag, d->span, "Invalid bpf map type: %s", d->type);
			diag_hint(k->diag,
				  "Valid map types: hash, lruhash, percpuhash, percpulruhash");
			return -EINVAL;
		}
		if (!d->size || d->size->kind != EXPR_INTEGER || d->size->integer < 1 ||
		    d->size->integer > 1 << 30) {
			diag_error(k->diag, d->span, "The size of @%s must be a positive number",
				   d->name);
			return -EINVAL;
		}
		m->declared_size = (u32)d->size->integer;
	}
	return 0;
}

/* ---- from attach points to units ---- */

/* What a body mentions decides whether one program can serve several targets. */
struct mentions {
	bool registers; /* the record or the registers themselves, or the stack below them */
	bool arguments, names, probe;
	bool typed; /* functions that take only what the verifier knows by BTF */
	bool probe_text; /* its name is compared or searched: every target gets a program that knows
			    it */
};

/* A field that only the record of a system call's event has: common_*, copies of strings. */
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
	static const char *const functions[] = {"strcontains", "strncmp", "strstr", "strlen", "len"};

	if (e->kind == EXPR_BINARY)
		return is_probe_name(e->left) || is_probe_name(e->right);
	for (size_t i = 0; e->kind == EXPR_CALL && i < ARRAY_SIZE(functions); i++)
		for (u32 k = 0; str_eq(e->name, functions[i]) && k < e->nargs; k++)
			if (is_probe_name(e->args[k]))
				return true;
	return false;
}

static bool find_mentions(void *arg, struct expr *e)
{
	static const char *const raw[] = {"args", "ctx",   "kstack",	"ustack",
					  "reg",  "stack", "stack_len", "skboutput"};
	struct mentions *m = arg;

	m->probe_text |= reads_probe_name(e);
	if (e->kind == EXPR_MEMBER && e->left->kind == EXPR_NAME && str_eq(e->left->name, "args")) {
		m->names = m->arguments = true;
		m->registers |= is_record_field(e);
		return false;
	}
	if (e->kind != EXPR_NAME && e->kind != EXPR_CALL)
		return true;
	if (str_eq(e->name, "probe"))
		m->probe = true;
	if (str_eq(e->name, "skboutput") || str_eq(e->name, "socket_cookie") ||
	    (e->kind == EXPR_CALL && !builtin_find(e->name)))
		m->typed = true;
	for (size_t i = 0; i < ARRAY_SIZE(raw); i++)
		m->registers |= str_eq(e->name, raw[i]);
	if (str_eq(e->name, "args") || str_eq(e->name, "retval"))
		m->names = m->arguments = true;
	if (str_eq(e->name, "ctx") || str_starts(e->name, "sarg") ||
	    (str_starts(e->name, "arg") && e->name[3] >= '0' && e->name[3] <= '9'))
		m->arguments = true;
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

/* Turns the errors since `from` into warnings, or drops them. */
static void demote_errors(struct compilation *k, size_t from, bool keep)
{
	struct diag *d = k->diag;
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

/* Written before `begin` and missing_probes: with BEGIN or END in capitals and no config block. */
static bool is_older_spelling(const struct compilation *k)
{
	const struct ast *ast = &k->script->ast;

	for (u32 i = 0; i < ast->nprobes && !ast->nconfigs; i++) {
		const struct attach_point *ap = ast->probes[i].attach_points;

		if (ap->count && (str_eq(ap->parts[0], "BEGIN") || str_eq(ap->parts[0], "END")))
			return true;
	}
	return false;
}

/*
 * "kprobe:f, kprobe:f.constprop.*": a pattern that matches nothing is no mistake beside other
 * attach points. In older scripts neither is a name: bpftrace 0.17 went on with a warning, and
 * they list the names that a function has had over time.
 */
static bool may_be_missing(const struct compilation *k, const struct probe *p,
			   const struct attach_point *ap)
{
	if (p->nattach > 1 && is_older_spelling(k))
		return true;
	for (u32 i = 1; p->nattach > 1 && i < ap->count; i++)
		if (glob_has_wildcard(ap->parts[i]))
			return true;
	return false;
}

static bool is_always_kept(const char *provider)
{
	static const char *const names[] = {"begin", "end", "self", "test", "bench"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcasecmp(provider, names[i]))
			return true;
	return false;
}

/* --probe-filter: an attach point without wildcards need not even be looked up. */
static bool is_filtered(const struct compilation *k, const struct attach_point *ap)
{
	const regex_t *filter = k->options->probe_filter;

	return filter && ap->count && !is_always_kept(ap->parts[0]) &&
	       !glob_has_wildcard(ap->text) && regexec(filter, ap->text, 0, NULL, 0);
}

static void drop_filtered(const struct compilation *k, struct probe_targets *targets, size_t from)
{
	const regex_t *filter = k->options->probe_filter;
	size_t to = from;

	for (size_t i = from; filter && i < targets->list.len; i++) {
		struct probe_target *t = targets->list.items[i];

		if (is_always_kept(t->provider->name) || !regexec(filter, t->name, 0, NULL, 0))
			targets->list.items[to++] = t;
	}
	if (filter)
		targets->list.len = to;
}

static int expand(struct compilation *k, const struct probe *p, const struct attach_point *ap,
		  struct probe_targets *out)
{
	struct script *s = k->script;
	const struct probe_request request = {.span = ap->span,
					      .text = ap->text,
					      .parts = ap->parts,
					      .count = ap->count,
					      .pid = k->options->pid};
	const size_t messages = k->diag->messages.len, before = out->list.len;
	int err = is_filtered(k, ap) ? 0 : probe_expand(k->options->env, &request, out);

	drop_filtered(k, out, before);
	if (err == -ENOENT && (s->config.missing_probes || may_be_missing(k, p, ap))) {
		demote_errors(k, messages, s->config.missing_probes == 1 || is_older_spelling(k));
		err = 0;
	}
	for (size_t i = before; i < out->list.len; i++) {
		out->list.items[i]->cookie = (u32)s->probe_names.len;
		vector_push(&s->probe_names, out->list.items[i]->name);
	}
	return err;
}

/* A unit before its targets are an array. */
struct group {
	struct probe_context context;
	const char *key;
	VECTOR(struct probe_target *) targets;
};

static const char *group_key(struct compilation *k, const struct probe_target *t,
			     const struct probe_context *x, struct mentions m, u32 number)
{
	if (x->syscalls && !m.probe_text)
		return arena_printf(k->arena, "syscalls/%u/%s", x->attach_btf_id,
				    m.arguments ? x->layout_key : "");
	/* Attached by the id of one kernel function, or unable to tell which target fired. */
	if (x->attach_btf_id || m.probe_text || (m.probe && !(x->has_cookie && k->options->features.attach_cookie)))
		return arena_printf(k->arena, "#%u", number);
	return arena_printf(k->arena, "%s/%u/%u/%u/%u/%" PRIx64 "/%u/%s", t->provider->name,
			    x->program_type, x->expected_attach_type, x->kind, x->space, x->guard,
			    m.registers ? x->entry : ENTRY_NONE,
			    m.arguments && x->layout_key ? x->layout_key : "");
}

/* What cannot be attached to one process only. */
static bool needs_pid_filter(const struct probe_target *t)
{
	static const char *const names[] = {"kprobe", "kretprobe",  "fentry",
					    "fexit",  "tracepoint", "rawtracepoint"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(t->provider->name, names[i]))
			return true;
	return false;
}

/* (NAME == VALUE) && predicate */
static struct expr *add_comparison(struct compilation *k, const struct probe *p, const char *name,
				   u64 value, struct expr *predicate)
{
	struct expr *e = arena_new(k->arena, struct expr), *both;

	e->kind = EXPR_BINARY;
	e->op = OP_EQ;
	e->span = p->span;
	e->left = arena_new(k->arena, struct expr);
	*e->left = (struct expr){.kind = EXPR_NAME, .span = p->span, .name = name};
	e->right = arena_new(k->arena, struct expr);
	*e->right = (struct expr){.kind = EXPR_INTEGER, .span = p->span, .integer = value};
	if (!predicate)
		return e;
	both = arena_new(k->arena, struct expr);
	*both = (struct expr){.kind = EXPR_BINARY,
			      .op = OP_LAND,
			      .span = predicate->span,
			      .left = e,
			      .right = predicate};
	return both;
}

static void add_unit(struct compilation *k, struct probe *p, struct group *g, bool copy)
{
	struct unit *u = arena_new(k->arena, struct unit);

	u->probe = p;
	u->predicate = p->predicate && copy ? ast_clone_expr(k->arena, p->predicate) : p->predicate;
	/* Of the command of -c all processes count. */
	if (k->options->pid && !k->options->has_child && g->targets.len &&
	    needs_pid_filter(g->targets.items[0]))
		u->predicate = add_comparison(k, p, "pid", (u64)k->options->pid, u->predicate);
	if (g->context.guard)
		u->predicate = add_comparison(k, p, "arg0", g->context.guard, u->predicate);
	u->body = copy ? ast_clone_block(k->arena, p->body) : p->body;
	u->context = g->context;
	u->ntargets = (u32)g->targets.len;
	u->targets = arena_memdup(k->arena, g->targets.items,
				  g->targets.len * sizeof(*g->targets.items));
	vector_push(&k->check.units, u);
}

static int describe_targets(struct compilation *k, struct probe *p,
			    const struct probe_targets *targets)
{
	struct probe_env *env = k->options->env;
	const struct mentions m = mentions_of(p);
	VECTOR(struct group *) groups = {0};
	struct hashmap by_key = {0};
	int err = 0;

	env->skip_args = !m.arguments;
	env->raw_syscalls = !m.registers;
	env->skip_names = !m.names;
	env->typed_arguments = m.typed;
	for (u32 i = 0; i < targets->list.len; i++) {
		struct probe_target *t = targets->list.items[i];
		struct probe_context context = {0};
		struct group *g;
		const char *key;

		if (p->in_process && !probe_to_process(t))
			continue;
		err = t->provider->describe(env, t, p->span, &context);
		if (err)
			break;
		key = group_key(k, t, &context, m, i);
		g = hashmap_gets(&by_key, key);
		if (!g) {
			g = arena_new(k->arena, struct group);
			g->context = context;
			hashmap_puts(&by_key, key, g);
			vector_push(&groups, g);
		}
		vector_push(&g->targets, t);
	}
	for (size_t i = 0; i < groups.len; i++) {
		if (!err)
			add_unit(k, p, groups.items[i], groups.len > 1);
		if (!err)
			vector_last(&k->check.units)->probe_is_text = m.probe_text;
		vector_free(&groups.items[i]->targets);
	}
	vector_free(&groups);
	hashmap_release(&by_key);
	return err;
}

/* What programs reject by themselves never comes to the kernel. */
static int add_filters(struct compilation *k, const struct probe *p,
		       const struct probe_targets *targets)
{
	struct probe *filter = k->options->in_process ? in_process_filter(k->arena, p) : NULL;
	struct probe_env *env = k->options->env;
	int err = 0;

	for (u32 i = 0; filter && i < targets->list.len && !err; i++) {
		struct probe_target *t = probe_to_filter(k->arena, targets->list.items[i]);
		struct group g = {0};

		if (!t)
			continue;
		env->skip_args = env->skip_names = false;
		err = t->provider->describe(env, t, p->span, &g.context);
		vector_push(&g.targets, t);
		if (!err)
			add_unit(k, filter, &g, true);
		vector_free(&g.targets);
	}
	return err;
}

static int check_limits(struct compilation *k)
{
	const struct script_config *config = &k->script->config;

	if (k->targets > config->max_probes) {
		diag_error(
			k->diag, NO_SPAN,
			"Can't attach to %u probes because it exceeds the current limit of %" PRIu64
			" probes.",
			k->targets, config->max_probes);
		diag_hint(k->diag,
			  "raise it by config = { max_probes = %u } or PANTRACE_MAX_PROBES",
			  k->targets);
		return -E2BIG;
	}
	if (k->check.units.len > config->max_bpf_progs) {
		diag_error(k->diag, NO_SPAN,
			   "%zu programs are needed, more than the limit of %" PRIu64,
			   k->check.units.len, config->max_bpf_progs);
		diag_hint(k->diag,
			  "raise it by config = { max_bpf_progs = %zu } or PANTRACE_MAX_BPF_PROGS",
			  k->check.units.len);
		return -E2BIG;
	}
	return 0;
}

static bool is_special(const struct probe_target *t)
{
	return !strcasecmp(t->provider->name, "begin") || !strcasecmp(t->provider->name, "end");
}

/*
 * A program on the raw tracepoint runs on every system call, if only to see that it is none of its
 * own: many of them would cost more than they save.
 */
#define MAX_SYSCALL_PROGRAMS 4

static int limit_syscall_programs(struct compilation *k)
{
	struct probe_env *env = k->options->env;
	u32 n = 0;
	int err = 0;

	for (size_t i = 0; i < k->check.units.len; i++)
		n += k->check.units.items[i]->context.syscalls != NULL;
	if (n <= MAX_SYSCALL_PROGRAMS)
		return 0;
	env->raw_syscalls = false;
	for (size_t i = 0; i < k->check.units.len && !err; i++) {
		struct unit *u = k->check.units.items[i];

		env->skip_args = !u->context.args;
		if (u->context.syscalls)
			err = u->targets[0]->provider->describe(env, u->targets[0], u->probe->span,
								&u->context);
	}
	return err;
}

/* What matches it may be none on another kernel, rightly. */
static bool is_open_ended(const struct attach_point *ap)
{
	return glob_has_wildcard(ap->text) || str_starts(ap->text, "rawtracepoint:") ||
	       str_starts(ap->text, "rt:");
}

static int pass_attach_points(struct compilation *k)
{
	const struct ast *ast = &k->script->ast;

	k->script->only_special_probes = true;
	for (u32 i = 0; i < ast->nprobes; i++) {
		struct probe *p = &ast->probes[i];
		struct probe_targets targets = {0};
		int err = 0;

		for (u32 a = 0; a < p->nattach && !err; a++) {
			err = expand(k, p, &p->attach_points[a], &targets);
			if (err == -ENOENT && is_open_ended(&p->attach_points[a]))
				diag_error(k->diag, p->span,
					   "Probe has no valid attach points. If this is expected, "
					   "set the 'missing_probes' config variable to 'warn'.");
		}
		if (!err && !targets.list.len && !k->options->probe_filter &&
		    !k->script->config.missing_probes) {
			diag_error(k->diag, p->span,
				   "No attach point of this probe matches anything");
			err = -ENOENT;
		}
		if (!err && !targets.list.len && k->script->config.missing_probes == 1)
			diag_warning(k->diag, p->span,
				     "Probe has no valid attach points. It is being removed which "
				     "may cause issues with program behavior.");
		k->targets += (u32)targets.list.len;
		for (size_t t = 0; t < targets.list.len; t++)
			k->script->only_special_probes &= is_special(targets.list.items[t]);
		if (!err)
			err = check_limits(k);
		if (!err)
			err = describe_targets(k, p, &targets);
		if (!err)
			err = add_filters(k, p, &targets);
		vector_free(&targets.list);
		if (err)
			return err;
	}
	if (!k->check.units.len) {
		k->script->has_no_probes = true;
		diag_error(k->diag, NO_SPAN, "No probes to attach");
		return -ENOENT;
	}
	if (limit_syscall_programs(k))
		return -EIO;
	return check_limits(k);
}

/* ---- the rest ---- */

/* A function that nobody calls is checked, too, unless it needs a probe to make sense. */
static void add_uncalled(struct compilation *k)
{
	const struct ast *ast = &k->script->ast;

	for (u32 i = 0; i < ast->nuncalled; i++) {
		const struct mentions m = mentions_of(&ast->uncalled[i]);
		struct unit *u;

		if (m.registers || m.arguments || m.names || m.probe)
			continue;
		u = arena_new(k->arena, struct unit);
		u->probe = &ast->uncalled[i];
		u->body = ast->uncalled[i].body;
		u->context.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
		vector_push(&k->check.units, u);
	}
}

static int pass_check(struct compilation *k)
{
	const size_t probes = k->check.units.len;
	int err;

	add_uncalled(k);
	err = check_units(&k->check);
	/* They are not lowered. */
	while (k->check.units.len > probes) {
		vector_free(&vector_last(&k->check.units)->variables);
		k->check.units.len--;
	}
	return err ? err : check_options(&k->check);
}

static int pass_dump_types(struct compilation *k)
{
	struct strbuf text = STRBUF_INIT;

	if (!wants(k, "types"))
		return 0;
	for (size_t i = 0; i < k->check.units.len; i++) {
		const struct unit *u = k->check.units.items[i];

		strbuf_addf(&text, "%s\n", u->ntargets ? u->targets[0]->name : "probe");
		if (u->predicate)
			ast_dump_expr(&text, u->predicate, 1, true);
		ast_dump_block(&text, u->body, 1, true);
	}
	k->options->dump(k->options->dump_arg, "types", text.data);
	strbuf_release(&text);
	return 0;
}

static int pass_plan(struct compilation *k)
{
	return plan_maps(&k->check, k->script);
}

static int pass_lower(struct compilation *k)
{
	return lower_script(&k->check, k->script);
}

static int (*const passes[])(struct compilation *k) = {
	pass_parse,	    pass_dump_ast, pass_thread_locals,
	pass_settings,	    pass_limits,   pass_map_declarations,
	pass_in_process,    pass_attach_points, pass_check, pass_dump_types,
	pass_plan,	    pass_lower,
};

static void begin(struct compilation *k)
{
	struct script *s = k->script;

	memset(s, 0, sizeof(*s));
	s->arena = k->arena;
	s->output_map = s->scratch_map = s->lost_map = s->global_map = IR_NO_MAP;
	s->kstack_map = s->ustack_map = s->unwind_map = s->packet_map = IR_NO_MAP;
	k->check.script = s;
	k->check.options = k->options;
	k->check.arena = k->arena;
	k->check.types = k->options->env->types;
	k->check.diag = k->diag;
}

static void end(struct compilation *k)
{
	for (size_t i = 0; i < k->check.units.len; i++)
		vector_free(&k->check.units.items[i]->variables);
	vector_free(&k->check.units);
	vector_free(&k->check.named_options);
	hashmap_release(&k->check.maps);
}

int script_compile(struct arena *arena, u16 file, const struct compile_options *options,
		   struct script *ret)
{
	struct compilation k = {.arena = arena,
				.file = file,
				.options = options,
				.script = ret,
				.diag = options->env->diag};
	int err = 0;

	begin(&k);
	for (size_t i = 0; i < ARRAY_SIZE(passes) && !err; i++)
		err = passes[i](&k);
	end(&k);
	return err;
}
