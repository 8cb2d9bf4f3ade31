/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lowering: one BPF program for each unit, then the shared scratch map, then code. */
#include "lang/builtin/util.h"
#include "lang/lower/internal.h"

#include <stdio.h>

#include "lang/lower/loop_steps.h"
#include "lang/lower/plan.h"
#include "lang/bpf/process_image.h"

#define PROGRAM_NAME_MAX 15
/*
 * PCPU_MIN_UNIT_SIZE (include/linux/percpu.h): no per-CPU allocation is larger. What needs more
 * gets an element of a plain array for each CPU. The storage of a task ends at U16_MAX with its
 * header (BPF_LOCAL_STORAGE_MAX_VALUE_SIZE).
 */
#define SCRATCH_PER_CPU_MAX 32768u
#define SCRATCH_MAX	    (1u << 20)
#define SCRATCH_TASK_MAX    65280u

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

/*
 * After exit() the script's own timers do nothing, however long it takes until they are detached.
 * Other events still count, as in bpftrace.
 */
static void stop_when_over(struct lower *l, const struct unit *u)
{
	u32 body;
	ir_reg over;

	if (!l->script->has_exit || !unit_provider(u)->is_timer)
		return;
	body = ir_block_new(l->f, "running");
	over = builtin_global(l, offsetof(struct script_globals, is_over));
	ir_branch_imm(l->f, IR_NE, over, 0, l->return_block, body);
	ir_switch_to(l->f, body);
}

/*
 * What other programs return is not the script's to say: it means something to the kernel (a
 * filter, an end).
 */
static void result_begin(struct lower *l, const struct unit *u)
{
	struct lower_private *p = lower_private(l);

	p->has_result = unit_provider(u)->returns_value;
	if (p->has_result && p->frame)
		ir_store_imm(l->f, p->frame, FRAME_RESULT, 8, 0);
	else if (p->has_result)
		p->result = ir_const(l->f, 0);
}

static void result_end(struct lower *l)
{
	const struct lower_private *p = lower_private(l);

	if (!p->has_result)
		ir_add(l->f, (struct ir_insn){.op = IR_RETURN, .imm = l->ir->result});
	else
		ir_return(l->f,
			  p->frame ? ir_load(l->f, p->frame, FRAME_RESULT, 8, false) : p->result);
}

static void lower_probe_body(struct lower *l, struct unit *u)
{
	struct ir_function *f = l->f;

	lower_frame_begin(l);
	result_begin(l, u);
	if (u->context.syscalls)
		lower_syscall_guard(l);
	stop_when_over(l, u);
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
}

static void switch_unit(struct lower *l, struct unit *u)
{
	l->unit = l->check->unit = u;
	l->f->span = u->probe->span;
}

/*
 * Entries and returns of functions in one program (lang/check/probe_session.h). It always returns
 * 0: else there would be no call for the return.
 */
static void lower_session(struct lower *l, struct unit *u)
{
	struct ir_function *f = l->f;
	const u32 entry = ir_block_new(f, "session.entry"), end = ir_block_new(f, "session.return");
	const ir_reg context = ir_context(f);
	ir_reg is_return = ir_call_kernel(f, u->session_call, u->session_arguments, &context);

	is_return = ir_extend(f, is_return, 1, false); /* of a bool the low byte is defined */
	ir_branch_imm(f, IR_EQ, is_return, 0, entry, end);
	ir_switch_to(f, entry);
	lower_probe_body(l, u);
	ir_switch_to(f, end);
	switch_unit(l, u->returns);
	lower_probe_body(l, u->returns);
	switch_unit(l, u);
}

static void lower_body(struct lower *l, struct unit *u)
{
	struct ir_function *f = l->f;

	l->return_block = ir_block_new(f, "return");
	if (u->returns)
		lower_session(l, u);
	else
		lower_probe_body(l, u);
	ir_switch_to(f, l->return_block);
	result_end(l);
}

/* What the verifier's patience is spent on. */
static const struct block *heavier_body(const struct unit *u)
{
	const struct unit *r = u->returns;

	return r && loop_steps(r->body) > loop_steps(u->body) ? r->body : u->body;
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
	ir->full_name =
		arena_printf(script->arena, "%s_%zu", u->ntargets ? u->targets[0]->name : "probe",
			     script->programs.len);
	ir->scratch_map = IR_NO_MAP;
	ir->result = unit_provider(u)->result;
	*program = (struct script_program){.name = ir->name,
					   .probe = u->probe,
					   .body = heavier_body(u),
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

/* The same program may run again on the CPU before it has ended there: see MAP_TASK_SCRATCH. */
static bool is_preemptible(const struct script_program *p)
{
	return p->context.kind == CONTEXT_REGISTERS && p->context.space == SPACE_USER;
}

static int check_scratch(struct check *c, const struct script_program *p)
{
	const bool of_task = p->ir->scratch_of_task;
	const u32 limit = of_task ? SCRATCH_TASK_MAX : SCRATCH_MAX;

	if (p->ir->scratch_size <= limit)
		return 0;
	diag_error(c->diag, p->probe->span,
		   "The probe needs %u bytes of memory per %s for its strings, more than %u",
		   p->ir->scratch_size, of_task ? "thread" : "CPU", limit);
	diag_hint(c->diag, "make strings shorter: config = { max_strlen = %" PRIu64 " }",
		  c->script->config.max_strlen / 4);
	return -E2BIG;
}

/* Adds a scratch map; the engine makes only those that have a size. Returns its index. */
static u32 add_scratch_map(struct script *script, bool of_task)
{
	vector_push(&script->maps,
		    (struct script_map){.role = of_task ? MAP_TASK_SCRATCH : MAP_SCRATCH,
					.name = of_task ? "task_scratch" : "scratch",
					.bpf_type = of_task ? BPF_MAP_TYPE_TASK_STORAGE
							    : BPF_MAP_TYPE_PERCPU_ARRAY,
					.key_size = 4,
					.max_entries = of_task ? 0 : (u32)script->programs.len,
					.map_flags = of_task ? BPF_F_NO_PREALLOC : 0,
					.is_percpu = !of_task});
	return (u32)script->maps.len - 1;
}

static void use_plain_array(struct check *c, struct script *script, u32 map)
{
	struct script_map *m = &script->maps.items[map];
	const u32 stride = m->max_entries;

	if (c->options->recorded)
		return;
	m->bpf_type = BPF_MAP_TYPE_ARRAY;
	m->is_percpu = false;
	m->max_entries = stride * MAX(kernel_possible_cpus(c->options->env->kernel), 1u);
	for (size_t i = 0; i < script->programs.len; i++)
		if (script->programs.items[i].ir->scratch_map == map)
			script->programs.items[i].ir->scratch_stride = stride;
}

/* User probes' programs get memory of their task, unless the kernel would not give that much. */
static bool may_use_tasks(struct check *c, struct script *script)
{
	u32 most = 0;

	if (!c->options->features.task_storage)
		return false;
	for (size_t i = 0; i < script->programs.len; i++)
		if (is_preemptible(&script->programs.items[i]))
			most = MAX(most, script->programs.items[i].ir->scratch_size);
	return !most || most > SCRATCH_TASK_MAX ||
	       kernel_task_storage_allocates(ALIGN_UP(most, 8u));
}

/*
 * Every program gets an entry of its own, because one may interrupt another on the same CPU. Those
 * of user probes share the entry of their task instead: within a task none interrupts another.
 */
static int assign_scratch(struct check *c, struct script *script)
{
	u32 maps[2] = {IR_NO_MAP, IR_NO_MAP};
	bool use_tasks;
	int err = 0;

	for (size_t i = 0; i < script->programs.len; i++) {
		script->programs.items[i].ir->scratch_map = 0; /* there is one; which, below */
		ir_assign_slots(script->programs.items[i].ir);
	}
	use_tasks = may_use_tasks(c, script);
	for (size_t i = 0; i < script->programs.len && !err; i++) {
		struct script_program *p = &script->programs.items[i];
		const bool of_task = use_tasks && is_preemptible(p);
		struct script_map *m;

		if (maps[of_task] == IR_NO_MAP)
			maps[of_task] = add_scratch_map(script, of_task);
		p->ir->scratch_map = maps[of_task];
		p->ir->scratch_index = (u32)i;
		p->ir->scratch_of_task = of_task;
		p->ir->lost_map = of_task ? lower_lost_map(script) : IR_NO_MAP;
		p->ir->lost_index = LOST_EVENTS;
		err = check_scratch(c, p);
		m = &script->maps.items[maps[of_task]];
		m->value_size = MAX(m->value_size, ALIGN_UP(p->ir->scratch_size, 8u));
	}
	script->scratch_map = maps[0];
	if (!err && maps[0] != IR_NO_MAP &&
	    script->maps.items[maps[0]].value_size > SCRATCH_PER_CPU_MAX)
		use_plain_array(c, script, maps[0]);
	return err;
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

/* ---- in the traced process or in the kernel ---- */

/* Does the unit's program run in the process? It is made for a trial only. */
static bool runs_in_process(struct check *c, struct script *script, struct unit *u)
{
	const struct emit_options options = {.has_cpu_v4 = c->options->features.cpu_v4};
	struct diag *real = c->diag, quiet = DIAG_INIT;
	struct strbuf image = STRBUF_INIT;
	struct script_program program;
	int err;

	c->diag = &quiet;
	err = lower_unit(c, script, u, &program);
	if (!err) {
		program.ir->scratch_map = (u32)script->maps.len; /* one that no other access has */
		ir_assign_slots(program.ir);
		err = emit_program(program.ir, &quiet, &quiet, &options, &program.code);
	}
	if (!err)
		err = process_image(script, &program, NULL, &image);
	strbuf_release(&image);
	c->diag = real;
	diag_release(&quiet);
	return !err;
}

static bool probe_runs_in_process(struct check *c, struct script *script, const struct probe *p)
{
	for (size_t i = 0; i < c->units.len; i++)
		if (c->units.items[i]->probe == p && !c->units.items[i]->is_spare &&
		    !runs_in_process(c, script, c->units.items[i]))
			return false;
	return true;
}

int lower_choose(struct check *c, struct script *script)
{
	size_t to = 0;

	for (u32 i = 0; i < script->ast.nprobes; i++)
		if (script->ast.probes[i].in_process)
			script->ast.probes[i].in_process =
				probe_runs_in_process(c, script, &script->ast.probes[i]);
	for (size_t i = 0; i < c->units.len; i++) {
		struct unit *u = c->units.items[i];
		const bool in_process = unit_provider(u)->runner == PROBE_IN_PROCESS;

		if ((u->is_spare && u->probe->in_process) || (in_process && !u->probe->in_process))
			vector_free(&u->variables);
		else
			c->units.items[to++] = u;
	}
	c->units.len = to;
	/* those that remain count their maps again */
	for (size_t i = 0; i < script->maps.len; i++)
		script->maps.items[i].process = 0;
	script->nprocess_maps = 0;
	return 0;
}

int lower_script(struct check *c, struct script *script)
{
	int err;

	vector_reserve(&script->programs, c->units.len);
	for (size_t i = 0; i < c->units.len; i++) {
		struct script_program *program;

		if (c->units.items[i]->is_joined)
			continue;
		program = &script->programs.items[script->programs.len++];
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
