/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A script from text to programs: the list of passes. */
#include "lang/check/check.h"
#include "lang/syntax/config.h"
#include "lang/check/in_process.h"
#include "lang/lower/lower.h"
#include "lang/syntax/parse.h"
#include "lang/lower/plan.h"
#include "lang/script.h"
#include "lang/check/probe_session.h"
#include "lang/check/thread_local.h"
#include "lang/check/units.h"

#define MAX_STATEMENTS 10000

struct compilation {
	struct arena *arena;
	u16 file;
	const struct compile_options *options;
	struct script *script;
	struct diag *diag;
	struct check check;
};

/* ---- parse and settings ---- */

static int pass_parse(struct compilation *k)
{
	const struct compile_options *o = k->options;
	const struct parse_options options = {
		.input = o->input,
		.system_headers = o->system_headers,
		.kernel_source = o->kernel_source,
		.kernel_build = o->kernel_build,
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
		in_process_choose(&k->script->ast);
	return 0;
}

/* sched:sched_switch is tracepoint:sched:sched_switch. */
static int pass_complete(struct compilation *k)
{
	const struct ast *ast = &k->script->ast;

	for (u32 i = 0; i < ast->nprobes; i++)
		for (u32 n = 0; n < ast->probes[i].nattach; n++) {
			struct attach_point *a = &ast->probes[i].attach_points[n];
			const struct probe_request as_written = {.span = a->span,
								 .text = a->text,
								 .parts = a->parts,
								 .count = a->count};
			struct probe_request full;

			if (!probe_complete(k->options->env, &as_written, &full))
				continue;
			a->text = full.text;
			a->parts = (const char **)full.parts;
			a->count = full.count;
		}
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
	if (!err && k->options->reads_environment)
		err = config_apply_environment(k->diag, config);
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

/* test:NAME, bench:NAME: the names must be unique, as reports show nothing else. */
static int pass_trials(struct compilation *k)
{
	const struct ast *ast = &k->script->ast;
	struct hashmap seen = {0};
	int err = 0;

	for (u32 i = 0; i < ast->nprobes && !err; i++)
		for (u32 n = 0; n < ast->probes[i].nattach && !err; n++) {
			const struct attach_point *a = &ast->probes[i].attach_points[n], *other;
			const struct probe_provider *p =
				a->count == 2 ? probe_find_provider(a->parts[0]) : NULL;
			const char *name;

			if (!p || !p->takes_any_name)
				continue;
			name = arena_printf(k->check.arena, "%s:%s", p->name, a->parts[1]);
			other = hashmap_gets(&seen, name);
			if (other) {
				diag_error(k->diag, a->span,
					   "\"%s\" was used as the name for more than one %s probe",
					   a->parts[1],
					   p->runner == PROBE_AS_BENCH ? "BENCH" : "TEST");
				diag_error(k->diag, other->span, "this is the other instance");
				err = -EINVAL;
			}
			hashmap_puts(&seen, name, (void *)(uintptr_t)a);
		}
	hashmap_release(&seen);
	return err;
}

/* ---- units and programs ---- */

static int pass_attach_points(struct compilation *k)
{
	return units_make(&k->check);
}

static int pass_check(struct compilation *k)
{
	const size_t probes = k->check.units.len;
	int err;

	units_add_uncalled(&k->check);
	err = check_units(&k->check);
	/* They are checked but not lowered. */
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

		if (u->is_spare)
			continue;
		strbuf_addf(&text, "%s\n", u->ntargets ? u->targets[0]->name : "probe");
		if (u->predicate)
			ast_dump_expr(&text, u->predicate, 1, true);
		ast_dump_block(&text, u->body, 1, true);
	}
	k->options->dump(k->options->dump_arg, "types", text.data);
	strbuf_release(&text);
	return 0;
}

static int pass_sessions(struct compilation *k)
{
	session_join_units(&k->check);
	return 0;
}

static int pass_plan(struct compilation *k)
{
	return plan_maps(&k->check, k->script);
}

static int pass_choose(struct compilation *k)
{
	return lower_choose(&k->check, k->script);
}

static int pass_lower(struct compilation *k)
{
	return lower_script(&k->check, k->script);
}

static int (*const passes[])(struct compilation *k) = {
	pass_parse,  pass_complete,	    pass_dump_ast, pass_thread_locals, pass_settings,
	pass_limits, pass_map_declarations, pass_trials,   pass_in_process,    pass_attach_points,
	pass_check,  pass_dump_types,	    pass_sessions, pass_plan,	       pass_choose,
	pass_lower,
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

void script_release(struct script *s)
{
	vector_free(&s->maps);
	vector_free(&s->actions);
	vector_free(&s->programs);
	vector_free(&s->probe_names);
	vector_free(&s->strings);
}
