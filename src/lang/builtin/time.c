/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clocks and dates. */

#include "base/clock.h"
#include "lang/builtin/util.h"

/*
 * The mode of a timestamp is kept in its type, as the integer's typedef name, so that strftime()
 * knows it even if the number went through a variable.
 */
static const struct clock_mode {
	const char *name, *alias;
	clockid_t clock;
	u32 helper;
} clock_modes[] = {
	{"monotonic", "nsecs_monotonic_t", CLOCK_MONOTONIC, BPF_FUNC_ktime_get_ns},
	{"boot", NULL, CLOCK_BOOTTIME, BPF_FUNC_ktime_get_boot_ns},
	{"tai", "nsecs_tai_t", CLOCK_TAI, BPF_FUNC_ktime_get_tai_ns},
	{"sw_tai", "nsecs_tai_t", CLOCK_TAI, BPF_FUNC_ktime_get_boot_ns},
};

static const struct clock_mode *mode_of(const struct expr *call)
{
	if (call->nargs && call->args[0]->kind == EXPR_NAME)
		for (u32 i = 0; i < ARRAY_SIZE(clock_modes); i++)
			if (str_eq(clock_modes[i].name, call->args[0]->name))
				return &clock_modes[i];
	return call->nargs ? NULL : &clock_modes[1];
}

static void check_nsecs(struct check *c, struct expr *call)
{
	const struct clock_mode *m = mode_of(call);
	struct type *t;

	call->type = type_int(8, false);
	if (!m) {
		check_error(c, call->args[0]->span,
			    "Invalid timestamp mode: %s (expects: monotonic, boot, tai or sw_tai)",
			    call->args[0]->name ? call->args[0]->name : "?");
		return;
	}
	if (c->options->recorded && m->clock == CLOCK_TAI) {
		check_error(c, call->span, "nsecs(%s): a recording has one clock of its own",
			    m->name);
		check_hint(c, "nsecs is its time");
		return;
	}
	if (str_eq(m->name, "tai") && !c->options->features.ktime_tai)
		check_error(c, call->span,
			    "Kernel does not support tai timestamp, please try sw_tai");
	if (!m->alias)
		return;
	if (!call->annotation) {
		t = type_new(c->types, TYPE_INT);
		*t = *type_int(8, false);
		t->alias = m->alias;
		call->annotation = t;
	}
	call->type = call->annotation;
}

ir_reg builtin_wall_clock(struct lower *l)
{
	ir_reg now;

	/* over recordings this is the time line (engine/recorded/helpers.c) */
	if (l->check->options->recorded)
		return ir_call(l->f, BPF_FUNC_ktime_get_tai_ns, 0, NULL);
	now = ir_call(l->f, BPF_FUNC_ktime_get_boot_ns, 0, NULL);
	return ir_binary(l->f, IR_ADD, now,
			 ir_const(l->f, clock_distance_ns(CLOCK_BOOTTIME, CLOCK_REALTIME)));
}

static void lower_nsecs(struct lower *l, struct expr *call, struct value *ret)
{
	const struct clock_mode *m = mode_of(call);
	u32 helper = m->helper;
	ir_reg r;

	if (helper == BPF_FUNC_ktime_get_boot_ns && !l->features->ktime_boot)
		helper = BPF_FUNC_ktime_get_ns;
	r = ir_call(l->f, helper, 0, NULL);
	if (str_eq(m->name, "sw_tai"))
		r = ir_binary(l->f, IR_ADD, r,
			      ir_const(l->f, clock_distance_ns(CLOCK_BOOTTIME, CLOCK_TAI)));
	*ret = value_register(call->type, r);
}

static void check_u64(struct check *c, struct expr *call)
{
	call->type = type_int(8, false);
}

static void lower_elapsed(struct lower *l, struct expr *call, struct value *ret)
{
	ir_reg start = builtin_global(l, offsetof(struct script_globals, start_ns));
	ir_reg now = ir_call(l->f, BPF_FUNC_ktime_get_ns, 0, NULL);

	*ret = value_register(call->type, ir_binary(l->f, IR_SUB, now, start));
}

static void check_strftime(struct check *c, struct expr *call)
{
	const struct expr *ns = call->args[1];
	s64 value;

	call->type = type_simple(TYPE_TIMESTAMP);
	check_arg_literal_string(c, call, 0);
	if (!check_known(c, call->args[1]) || !check_arg_integer(c, call, 1))
		return;
	if (ns->type->alias && str_eq(ns->type->alias, "nsecs_monotonic_t"))
		check_error(c, call->span, "strftime() can not take a monotonic timestamp");
	if (ns->is_comptime_known || ns->kind == EXPR_INTEGER) {
		if (check_constant(call->args[1], &value) && value < 0 && ns->type->is_signed)
			check_error(c, call->span,
				    "strftime() does not accept negative timestamps");
	}
}

static void lower_strftime(struct lower *l, struct expr *call, struct value *ret)
{
	const struct type *t = call->args[1]->type;
	const bool tai = t->alias && str_eq(t->alias, "nsecs_tai_t");
	ir_reg ns = lower_scalar(l, call->args[1]), slot;

	lower_slot(l, call->type, "strftime", &slot);
	ir_store(l->f, slot, 0, 8, ns);
	ir_store_imm(l->f, slot, 8, 4, l->script->strings.len);
	ir_store_imm(l->f, slot, 12, 4, tai ? CLOCK_TAI : CLOCK_BOOTTIME);
	vector_push(&l->script->strings, builtin_literal(call->args[0]));
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
}

static void check_time(struct check *c, struct expr *call)
{
	call->type = type_none();
	if (call->nargs)
		check_arg_literal_string(c, call, 0);
}

static void lower_time(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 action = lower_action(l, ACTION_TIME, NULL, 0, call->span);

	l->script->actions.items[action].format.text =
		call->nargs ? builtin_literal(call->args[0]) : "%H:%M:%S\n";
	lower_send(l, action, NULL, 0, call->span);
	*ret = (struct value){0};
}

const struct builtin builtins_time[] = {
	{"nsecs", "uint64 nsecs([monotonic|boot|tai|sw_tai])",
	 "Nanoseconds of a clock of the kernel: boot by default (since boot, with the time in "
	 "suspend); sw_tai is boot time plus the offset to TAI at start.",
	 "", VARIABLE_OR_CALL | BUILTIN_RAW_ARGS, 0, 1, check_nsecs, lower_nsecs},
	{"elapsed", "uint64 elapsed", "Nanoseconds since the script started.", "", VARIABLE_OR_CALL,
	 0, 0, check_u64, lower_elapsed},
	{"strftime", "timestamp strftime(\"format\", uint64 nsecs)",
	 "A time of day for printing, from nanoseconds since boot; strftime(3) plus %f for "
	 "microseconds.",
	 "", BUILTIN_CALL, 2, 2, check_strftime, lower_strftime},
	{"time", "void time([\"format\"])",
	 "Prints the time of day; strftime(3) format, \"%H:%M:%S\\n\" by default.", "",
	 BUILTIN_CALL | BUILTIN_STATEMENT, 0, 1, check_time, lower_time},
	{0},
};
