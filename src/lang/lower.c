/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lowering: one BPF program for each unit, then the shared scratch map, then code. */
#include "lang/lower_internal.h"

#include <stdio.h>

#include "lang/plan.h"

#define PROGRAM_NAME_MAX 15
/* PCPU_MIN_UNIT_SIZE (include/linux/percpu.h): no per-CPU allocation is larger. */
#define SCRATCH_MAX 32768u

void lower_error(struct lower *l, struct span at, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	l->failed = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	diag_error(l->diag, at, "%s", text);
}

ir_reg lower_context(struct lower *l)
{
	l->unit->uses_context = true;
	if (!l->in_callback)
		return ir_context(l->f);
	return ir_load(l->f, lower_private(l)->frame, FRAME_CONTEXT, 8, false);
}

static const char *program_name(struct arena *a, const struct unit *u)
{
	const struct probe_target *t = u->ntargets ? u->targets[0] : NULL;
	const char *from = t && t->function ? t->function : t ? t->name : "probe";
	char *name = arena_strndup(a, from, PROGRAM_NAME_MAX);

	for (char *p = name; *p; p++) {
		const bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
				    (*p >= '0' && *p <= '9') || *p == '_';

		if (!letter)
			*p = '_';
	}
	return name;
}

static void lower_body(struct lower *l, struct unit *u)
{
	struct ir_function *f = l->f;

	l->return_block = ir_block_new(f, "return");
	lower_frame_begin(l);
	lower_variables_begin(l, u->body);
	if (u->predicate) {
		const u32 mark = lower_slot_mark(l), body = ir_block_new(f, "body");

		f->span = u->predicate->span;
		lower_condition(l, u->predicate, body, l->return_block);
		ir_switch_to(f, body);
		lower_slot_release(l, mark);
	}
	lower_block(l, u->body);
	ir_jump(f, l->return_block);
	ir_switch_to(f, l->return_block);
	ir_return(f, 0);
}

static int lower_unit(struct check *c, struct script *script, struct unit *u,
		      struct script_program *program)
{
	struct lower_private private = {0};
	struct ir_program *ir = arena_new(script->arena, struct ir_program);
	struct lower l = {
		.check = c,
		.script = script,
		.arena = script->arena,
		.types = c->types,
		.diag = c->diag,
		.unit = u,
		.features = &c->options->features,
		.program = program,
		.ir = ir,
		.private = &private,
	};

	ir->arena = script->arena;
	ir->name = program_name(script->arena, u);
	ir->scratch_map = IR_NO_MAP;
	*program = (struct script_program){.name = ir->name,
					   .probe = u->probe,
					   .context = u->context,
					   .targets = u->targets,
					   .ntargets = u->ntargets,
					   .ir = ir};
	c->unit = u;
	l.f = ir_function_new(ir, ir->name);
	l.f->span = u->probe->span;
	lower_body(&l, u);
	c->unit = NULL;
	vector_free(&private.taken);
	vector_free(&private.free);
	return l.failed ? -EINVAL : 0;
}

/* Every program gets an entry of its own, because one may interrupt another on the same CPU. */
static int assign_scratch(struct check *c, struct script *script)
{
	const u32 map = (u32)script->maps.len;
	u32 largest = 0;

	for (size_t i = 0; i < script->programs.len; i++) {
		struct ir_program *ir = script->programs.items[i].ir;

		ir->scratch_map = map;
		ir->scratch_index = (u32)i;
		ir_assign_slots(ir);
		if (ir->scratch_size > SCRATCH_MAX) {
			diag_error(c->diag, script->programs.items[i].probe->span,
				   "The probe needs %u bytes of memory per CPU for its strings, "
				   "more than %u",
				   ir->scratch_size, SCRATCH_MAX);
			diag_hint(c->diag,
				  "make strings shorter: config = { max_strlen = %" PRIu64 " }",
				  script->config.max_strlen / 4);
			return -E2BIG;
		}
		largest = MAX(largest, ir->scratch_size);
	}
	if (!largest)
		return 0;
	script->scratch_map = map;
	vector_push(&script->maps, (struct script_map){.role = MAP_SCRATCH,
						       .name = "scratch",
						       .bpf_type = BPF_MAP_TYPE_PERCPU_ARRAY,
						       .key_size = 4,
						       .value_size = ALIGN_UP(largest, 8u),
						       .max_entries = (u32)script->programs.len,
						       .is_percpu = true});
	return 0;
}

static void dump(const struct check *c, const char *stage, const struct strbuf *text)
{
	if (c->options->dump)
		c->options->dump(c->options->dump_arg, stage, text->data);
}

static bool wants(const struct check *c, const char *stage)
{
	return c->options->dump &&
	       (!c->options->dump_stage || str_eq(c->options->dump_stage, stage));
}

static void dump_ir(const struct check *c, const struct script *script)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < script->programs.len; i++)
		ir_dump(&text, script->programs.items[i].ir);
	dump(c, "ir", &text);
	strbuf_release(&text);
}

static void dump_code(const struct check *c, const struct script *script)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < script->programs.len; i++)
		emit_dump(&text, script->programs.items[i].ir, &script->programs.items[i].code);
	dump(c, "bpf", &text);
	strbuf_release(&text);
}

static int emit_all(struct check *c, struct script *script)
{
	const struct emit_options options = {.has_cpu_v4 = c->options->features.cpu_v4};

	for (size_t i = 0; i < script->programs.len; i++) {
		struct script_program *p = &script->programs.items[i];
		int err = emit_program(p->ir, c->diag, c->diag, &options, &p->code);

		if (err)
			return err;
	}
	return 0;
}

int lower_script(struct check *c, struct script *script)
{
	int err;

	vector_reserve(&script->programs, c->units.len);
	for (size_t i = 0; i < c->units.len; i++) {
		struct script_program *program = &script->programs.items[script->programs.len++];

		err = lower_unit(c, script, c->units.items[i], program);
		if (err)
			return err;
		plan_program(c->units.items[i], program);
	}
	err = assign_scratch(c, script);
	if (err)
		return err;
	if (wants(c, "ir"))
		dump_ir(c, script);
	for (size_t i = 0; i < script->programs.len; i++) {
		const char *wrong = ir_verify(script->arena, script->programs.items[i].ir);

		if (wrong) {
			diag_error(c->diag, script->programs.items[i].probe->span,
				   "internal: the intermediate code of '%s' is wrong: %s",
				   script->programs.items[i].name, wrong);
			return -EINVAL;
		}
	}
	err = emit_all(c, script);
	if (!err && wants(c, "bpf"))
		dump_code(c, script);
	return err;
}
