/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * watchpoint:ADDRESS:LENGTH:MODE: the processor's debug registers. A user address is watched in
 * every thread of -p PID, a kernel address (or the name of a kernel variable) on every CPU.
 */
#include <stdio.h>

#include "kernel/symbols/ksyms.h"
#include "probe/provider.h"

/* HW_BREAKPOINT_R, _W, _X of linux/hw_breakpoint.h, whose other names clash with ours. */
enum { WATCH_READ = 1, WATCH_WRITE = 2, WATCH_EXECUTE = 4 };

/* Combinations that hardware has; x86 cannot watch reads alone. */
static const struct {
	const char *text;
	u32 mode;
} modes[] = {
	{"w", WATCH_WRITE},
	{"rw", WATCH_READ | WATCH_WRITE},
	{"wr", WATCH_READ | WATCH_WRITE},
	{"x", WATCH_EXECUTE},
};

static bool is_kernel_address(u64 address)
{
	return address >> 63;
}

static int parse_mode(struct probe_env *env, const struct probe_request *r, u32 *ret)
{
	const char *word = r->parts[3];

	for (u32 i = 0; i < ARRAY_SIZE(modes); i++)
		if (str_eq(modes[i].text, word)) {
			*ret = modes[i].mode;
			return 0;
		}
	if (!*word || word[strspn(word, "rwx")])
		diag_error(env->diag, r->span, "watchpoint mode must be combination of (r,w,x)");
	else
		diag_error(env->diag, r->span, "invalid watchpoint mode: %s", word);
	diag_hint(env->diag, "supported modes: rw,w,x");
	return -EINVAL;
}

static int parse_address(struct probe_env *env, const struct probe_request *r, u64 *ret)
{
	if (!probe_parse_number(r->parts[1], ret)) {
		*ret = kernel_symbol_address(env->kernel, r->parts[1]);
		if (!*ret) {
			diag_error(env->diag, r->span, "Invalid function/address argument: %s",
				   r->parts[1]);
			diag_hint(env->diag, "give a number, or the name of a kernel variable");
			return -EINVAL;
		}
	}
	if (*ret)
		return 0;
	diag_error(env->diag, r->span, "watchpoint must be attached to a non-zero address");
	return -EINVAL;
}

static int expand(struct probe_env *env, const struct probe_request *r, struct probe_targets *out,
		  const struct probe_provider *p)
{
	struct probe_target *t;
	u64 address, length;
	u32 mode;
	int err = probe_check_parts(env, r, &probe_watchpoint, 3, 3);

	if (!err)
		err = parse_address(env, r, &address);
	if (err)
		return err;
	if (!probe_parse_number(r->parts[2], &length) ||
	    (length != 1 && length != 2 && length != 4 && length != 8)) {
		diag_error(env->diag, r->span, "watchpoint length must be one of (1,2,4,8)");
		return -EINVAL;
	}
	err = parse_mode(env, r, &mode);
	if (err)
		return err;
	if (address % length) {
		diag_error(env->diag, r->span,
			   "watchpoint address 0x%" PRIx64 " is not aligned to its length %" PRIu64,
			   address, length);
		return -EINVAL;
	}
	if (!is_kernel_address(address) && r->pid <= 0) {
		diag_error(env->diag, r->span,
			   "-p PID or -c CMD is required to watch a user-space address");
		return -EINVAL;
	}
	err = probe_require(env, r->span, KERNEL_WATCHPOINT, "watchpoint");
	if (err)
		return err;
	t = probe_add_target(env, out, &probe_watchpoint, r,
			     arena_printf(env->arena, "watchpoint:%s:%s:%s", r->parts[1],
					  r->parts[2], r->parts[3]));
	t->perf_type = PERF_TYPE_BREAKPOINT;
	t->address = address;
	/* The kernel wants the size of a word for instructions (arch/x86/kernel/hw_breakpoint.c).
	 */
	t->length = mode == WATCH_EXECUTE ? (u32)sizeof(long) : (u32)length;
	t->mode = mode;
	if (is_kernel_address(address))
		t->pid = 0;
	return 0;
}

static int describe(struct probe_env *env, const struct probe_target *t,
		    const struct probe_use *use, struct span at, struct probe_context *ret)
{
	*ret = (struct probe_context){
		.kind = CONTEXT_PERF_EVENT,
		.program_type = BPF_PROG_TYPE_PERF_EVENT,
		.space = is_kernel_address(t->address) ? SPACE_KERNEL : SPACE_USER,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		.has_function = true,
		.layout_key = is_kernel_address(t->address) ? "watchpoint/kernel" : "watchpoint",
	};
	return 0;
}

static int count(struct probe_env *env, const struct probe_target *t, struct perf_event_attr *ret)
{
	*ret = (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = t->mode,
		.bp_addr = t->address,
		.bp_len = t->length,
	};
	return 0;
}

const struct probe_provider probe_watchpoint = {
	.name = "watchpoint",
	.aliases = {"w", "asyncwatchpoint", "aw"},
	.form = "watchpoint:ADDRESS:LENGTH:MODE",
	.doc = "reads, writes or execution of an address",
	.needs = KERNEL_WATCHPOINT,
	.expand = expand,
	.describe = describe,
	.attach = attach_counting,
	.asks = true,
	.count = count,
};
