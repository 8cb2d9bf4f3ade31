/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signals, names of numbers, writing to the traced process. */
#include <signal.h>

#include "lang/builtin/util.h"

/* ---- names of numbers, looked up at print time ---- */

static void check_name(struct check *c, struct expr *call)
{
	const char *name = call->builtin->name;

	call->type = type_simple(str_eq(name, "strerror")      ? TYPE_STRERROR
				 : str_eq(name, "signal_name") ? TYPE_SIGNAL_NAME
							       : TYPE_SYSCALL_NAME);
	if (check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
}

static void lower_name(struct lower *l, struct expr *call, struct value *ret)
{
	*ret = value_register(call->type, lower_scalar(l, call->args[0]));
}

/* ---- signal, signal_thread ---- */

/* "KILL", "SIGKILL", "RTMIN+3"; 0 = unknown. */
static int signal_number(const char *name)
{
	if (str_starts(name, "SIG"))
		name += 3;
	for (int i = 1; i < 32; i++)
		if (sigabbrev_np(i) && str_eq(sigabbrev_np(i), name))
			return i;
	if (str_eq(name, "RTMIN"))
		return 34;
	if (str_eq(name, "RTMAX"))
		return 64;
	if (str_starts(name, "RTMIN+") && atoi(name + 6) >= 0 && atoi(name + 6) <= 30)
		return 34 + atoi(name + 6);
	return 0;
}

static void check_signal(struct check *c, struct expr *call)
{
	const char *name;
	s64 number;

	call->type = type_none();
	if (!check_known(c, call->args[0]))
		return;
	if (call->args[0]->type->kind == TYPE_STRING) {
		name = builtin_literal(call->args[0]);
		number = name ? signal_number(name) : 0;
		if (!name)
			check_error(c, call->span, "%s() expects a string literal or an integer",
				    call->builtin->name);
		else if (!number)
			check_error(c, call->span, "Invalid string for signal: %s", name);
		call->annotation = (void *)(uintptr_t)number;
		return;
	}
	if (!check_arg_integer(c, call, 0))
		return;
	if ((call->args[0]->kind == EXPR_INTEGER || call->args[0]->is_comptime_known) &&
	    check_constant(call->args[0], &number) && (number < 1 || number > 64))
		check_error(c, call->span, "%lld is not a valid signal, allowed range: [1,64]",
			    (long long)number);
}

static void lower_signal(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 helper = str_eq(call->builtin->name, "signal") ? BPF_FUNC_send_signal
								 : BPF_FUNC_send_signal_thread;
	ir_reg number = call->annotation ? ir_const(l->f, (uintptr_t)call->annotation)
					 : lower_scalar(l, call->args[0]);

	lower_helper_error(l, helper, ir_call_n(l->f, helper, number), call->span);
	*ret = (struct value){0};
}

/* ---- write_user ---- */

static void check_write_user(struct check *c, struct expr *call)
{
	s64 n;

	call->type = type_bool();
	if (check_known(c, call->args[0]))
		check_arg_pointer_or_integer(c, call, 0);
	check_known(c, call->args[1]);
	if (!check_arg_constant(c, call, 2, &n))
		return;
	if (n < 1 || n > 1024)
		check_error(c, call->args[2]->span,
			    "write_user(): len must be 1..1024 (%lld provided)", (long long)n);
	call->annotation = (void *)(uintptr_t)n;
}

static void lower_write_user(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 n = (uintptr_t)call->annotation;
	struct expr *source = call->args[1];
	ir_reg dst = lower_scalar(l, call->args[0]), slot, r;
	struct value v;

	slot = ir_slot_address(l->f, ir_slot(l->f, ALIGN_UP(n, 8), 8, "write_user"));
	ir_zero(l->f, slot, 0, ALIGN_UP(n, 8));
	lower_expr(l, source, &v);
	if (source->type->kind == TYPE_POINTER) {
		lower_read(l, slot, 0, n, lower_to_register(l, &v), 0, builtin_space(source));
	} else {
		v = lower_materialise(l, &v, call->span);
		ir_copy(l->f, slot, 0, v.reg, v.constant, MIN(n, source->type->size));
	}
	r = ir_call_n(l->f, BPF_FUNC_probe_write_user, dst, slot, ir_const(l->f, n));
	lower_helper_error(l, BPF_FUNC_probe_write_user, r, call->span);
	*ret = value_register(call->type, builtin_test(l, IR_EQ, r, 0));
}

/* ---- unwatch ---- */

static void check_unwatch(struct check *c, struct expr *call)
{
	call->type = type_none();
	if (check_known(c, call->args[0]))
		check_arg_pointer_or_integer(c, call, 0);
}

static void lower_unwatch(struct lower *l, struct expr *call, struct value *ret)
{
	const struct type *type = type_int(8, false);
	const u32 action = lower_action(l, ACTION_WATCHPOINT, &type, 1, call->span);
	const struct value value = value_register(type, lower_scalar(l, call->args[0]));

	lower_send(l, action, &value, 1, call->span);
	*ret = (struct value){0};
}

const struct builtin builtins_misc[] = {
	{"strerror", "string strerror(int error)",
	 "The text of an error number, looked up when it is printed.", "", BUILTIN_CALL, 1, 1,
	 check_name, lower_name},
	{"signal_name", "string signal_name(int signal)",
	 "The name of a signal number, such as SIGINT.", "", BUILTIN_CALL, 1, 1, check_name,
	 lower_name},
	{"syscall_name", "string syscall_name(int number)",
	 "The name of a system call number of this machine, such as openat.", "", BUILTIN_CALL, 1,
	 1, check_name, lower_name},
	{"signal", "void signal(\"NAME\" | uint32 number)", "Sends a signal to the traced process.",
	 "5.3", BUILTIN_LIVE | BUILTIN_CALL | BUILTIN_UNSAFE | BUILTIN_LIBRARY | BUILTIN_STATEMENT,
	 1, 1, check_signal, lower_signal},
	{"signal_thread", "void signal_thread(\"NAME\" | uint32 number)",
	 "Sends a signal to the traced thread.", "5.5",
	 BUILTIN_LIVE | BUILTIN_CALL | BUILTIN_UNSAFE | BUILTIN_LIBRARY | BUILTIN_STATEMENT, 1, 1,
	 check_signal, lower_signal},
	{"write_user", "bool write_user(void *dst, src, const len)",
	 "Writes len bytes of a value (or behind a pointer) into the traced process's memory; "
	 "false if that failed.",
	 "4.8", BUILTIN_LIVE | BUILTIN_CALL | BUILTIN_UNSAFE | BUILTIN_LIBRARY, 3, 3,
	 check_write_user, lower_write_user},
	{"unwatch", "void unwatch(void *address)", "Removes the watchpoint on an address.", "",
	 BUILTIN_LIVE | BUILTIN_CALL | BUILTIN_STATEMENT, 1, 1, check_unwatch, lower_unwatch},
	{0},
};
