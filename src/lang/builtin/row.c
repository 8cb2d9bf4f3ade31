/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builtins for the tools: rows and tables, names of errors, argument vectors, the tracer's own
 * process id.
 */
#include "lang/builtin/util.h"
#include "view/printf_format.h"
#include "lang/lower/present.h"

#define ARGV_SIZE  8192 /* bytes of argument text; a power of two for the verifier */
#define ARGV_WORD  4096 /* longest single argument */
#define ARGV_COUNT 128 /* arguments that are read */

/* ---- row ---- */

static void check_row(struct check *c, struct expr *call)
{
	builtin_check_format(c, call, 0);
	call->type = type_none();
}

static void lower_row(struct lower *l, struct expr *call, struct value *ret)
{
	builtin_send_format(l, ACTION_ROW, call, 0);
	*ret = (struct value){.type = call->type};
}

/* ---- table ---- */

static void check_table(struct check *c, struct expr *call)
{
	struct map_symbol *m;

	call->type = type_none();
	check_expr(c, call->args[0]);
	m = check_arg_map(c, call, 1);
	if (m)
		m->is_read = true;
	if (!check_arg_literal_string(c, call, 0))
		return;
	if (m && str_eq(call->builtin->name, "ranges") && m->key && !type_is_integer(m->key))
		check_error(c, call->args[1]->span, "ranges() expects a map of counts by number");
	if (call->nargs > 2) {
		check_expr(c, call->args[2]);
		if (check_known(c, call->args[2]))
			check_arg_integer(c, call, 2);
	}
}

static void lower_table(struct lower *l, struct expr *call, struct value *ret)
{
	const struct present_taken *taken = call->annotation;
	const struct type *types[] = {type_int(8, false)};
	struct value top = value_constant(types[0], 0);
	struct action *action;
	const char *wrong;
	u32 index, count;

	if (call->nargs > 2)
		top = value_register(types[0], lower_scalar(l, call->args[2]));
	index = lower_action(l, ACTION_TABLE, types, 1, call->span);
	action = &l->script->actions.items[index];
	action->map = call->args[1]->map->index;
	if (str_eq(call->builtin->name, "ranges"))
		action->separator = call->args[0]->string.data;
	if (taken) {
		action->clears = taken->clears;
		action->zeroes = taken->zeroes;
	}
	wrong = action->separator
			? NULL
			: format_parse(l->arena, call->args[0]->string.data,
				       call->args[0]->string.len, &action->format, &count);
	if (wrong)
		lower_error(l, call->args[0]->span, "table: %s", wrong);
	lower_send(l, index, &top, 1, call->span);
	*ret = (struct value){.type = call->type};
}

/* ---- errno_name ---- */

static void check_errno_name(struct check *c, struct expr *call)
{
	call->type = type_simple(TYPE_ERRNO_NAME);
	if (check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
}

static void lower_errno_name(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type, lower_scalar(l, call->args[0]));
}

/* ---- disk_name ---- */

static void check_disk_name(struct check *c, struct expr *call)
{
	call->type = type_simple(TYPE_DISK_NAME);
	if (check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
}

/* ---- meminfo ---- */

static void check_meminfo(struct check *c, struct expr *call)
{
	call->type = type_simple(TYPE_MEMINFO);
	check_arg_literal_string(c, call, 0);
}

static void lower_meminfo(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type, ir_const(l->f, l->script->strings.len));
	vector_push(&l->script->strings, builtin_literal(call->args[0]));
}

/* ---- tracer_pid ---- */

static void check_tracer_pid(struct check *c, struct expr *call)
{
	call->type = type_int(8, false);
}

static void lower_tracer_pid(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type,
			      builtin_global(l, offsetof(struct script_globals, self_pid)));
}

/* ---- argv ---- */

static void check_argv(struct check *c, struct expr *call)
{
	call->type = type_buffer(c->types, ARGV_SIZE);
	if (check_known(c, call->args[0]))
		check_arg_pointer_or_integer(c, call, 0);
}

/* The words one after the other, each with its NUL, as in a program's argument area. */
static void lower_argv(struct lower *l, struct expr *call, struct value *ret)
{
	struct ir_function *f = l->f;
	const u32 word = ir_block_new(f, "argv.word"), got = ir_block_new(f, "argv.got"),
		  done = ir_block_new(f, "argv.done");
	const u32 next = ir_block_new(f, "argv.next");
	ir_reg pointers = ir_move(f, lower_scalar(l, call->args[0]));
	ir_reg slot = ir_slot_address(f, ir_slot(f, 8, 8, "argv.pointer"));
	ir_reg buffer = ir_slot_address(f, ir_slot(f, 8 + ARGV_SIZE + ARGV_WORD, 8, "argv")),
	       used = ir_reg_new(f);
	struct lower_loop loop;
	ir_reg pointer, n, at;

	ir_assign_const(f, used, 0);
	lower_loop_begin(l, &loop, ir_const(f, ARGV_COUNT), ARGV_COUNT);
	lower_read(l, slot, 0, 8,
		   ir_binary(f, IR_ADD, pointers, ir_binary_imm(f, IR_SHL, loop.index, 3)), 0,
		   SPACE_USER);
	pointer = ir_load(f, slot, 0, 8, false);
	ir_branch_imm(f, IR_EQ, pointer, 0, done, word);
	ir_switch_to(f, word);
	at = ir_binary_imm(f, IR_AND, used, ARGV_SIZE - 1);
	n = ir_call_n(f, BPF_FUNC_probe_read_user_str,
		      ir_binary_imm(f, IR_ADD, ir_binary(f, IR_ADD, buffer, at), 4),
		      ir_const(f, ARGV_WORD), pointer);
	ir_branch_imm(f, IR_SGT, n, 0, got, done);
	ir_switch_to(f, got);
	ir_assign(f, used, ir_binary(f, IR_ADD, at, n));
	ir_branch_imm(f, IR_LE, used, ARGV_SIZE - 1, next, done);
	ir_switch_to(f, next);
	lower_loop_end(l, &loop);
	ir_jump(f, done);
	ir_switch_to(f, done);
	used = builtin_bound(l, used, ARGV_SIZE);
	ir_store(f, buffer, 0, 4, used);
	*ret = value_memory(call->type, buffer, 0, SPACE_BPF);
	ret->length = ir_binary_imm(f, IR_ADD, used, 4);
}

const struct builtin builtins_row[] = {
	{"row", "void row(const string fmt, ...)",
	 "Prints one row of a table. Columns are words NAME= in the format, each followed by "
	 "conversions: row(\"PID=%-6d COMM=%s\", pid, comm). %T prints nanoseconds as seconds, %a "
	 "an argument vector. The header comes first; -f json gives one object per row.",
	 "", BUILTIN_CALL | BUILTIN_STATEMENT, 1, 255, check_row, lower_row},
	{"table", "void table(const string fmt, map m [, uint64 top])",
	 "Prints a map as a table: a column for each part of the key, then the value: "
	 "table(\"COMM=%-16s COUNT=%8d\", @m). Only the `top` last rows if that is not 0.",
	 "", BUILTIN_CALL | BUILTIN_STATEMENT | BUILTIN_RAW_ARGS, 2, 3, check_table, lower_table},
	{"ranges", "void ranges(const string bounds, map m)",
	 "Prints a map of counts by number as a distribution over ranges: ranges(\"KB/1 I/O: 1 8 "
	 "64\", @m), or over the powers of a number: ranges(\"ms/1000 I/O: *2 1000000\", @m), "
	 "where the keys are divided by 1000.",
	 "", BUILTIN_CALL | BUILTIN_STATEMENT | BUILTIN_RAW_ARGS, 2, 2, check_table, lower_table},
	{"meminfo", "meminfo_t meminfo(const string name)",
	 "Prints a line of /proc/meminfo as it is when the event is shown, in MB: "
	 "meminfo(\"Cached\").",
	 "", BUILTIN_LIVE | BUILTIN_CALL, 1, 1, check_meminfo, lower_meminfo},
	{"disk_name", "disk_name_t disk_name(dev_t dev)",
	 "Prints the name of a block device by its number as the block tracepoints have it "
	 "(\"sda\").",
	 "", BUILTIN_LIVE | BUILTIN_CALL, 1, 1, check_disk_name, lower_errno_name},
	{"errno_name", "errno_name_t errno_name(int errno)",
	 "Prints the name of an error number (ENOENT); 0 prints as 0.", "", BUILTIN_CALL, 1, 1,
	 check_errno_name, lower_errno_name},
	{"tracer_pid", "uint64 tracer_pid",
	 "Process id of the tracer itself, to leave its own events out.", "", VARIABLE_OR_CALL, 0,
	 0, check_tracer_pid, lower_tracer_pid},
	{"argv", "buffer argv(char **argv)",
	 "The strings of an argument vector of the current process, for %a: up to 128 of them and "
	 "8 KB.",
	 "5.5", BUILTIN_CALL, 1, 1, check_argv, lower_argv},
	{0},
};
