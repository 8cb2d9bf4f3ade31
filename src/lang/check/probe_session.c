/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/check/probe_session.h"

#include <linux/bpf.h>
#include <unistd.h>

#include "lang/builtin/kernel_call.h"
#include "lang/lower/loop_steps.h"

/*
 * Values that are read from registers, which a session does not have everywhere, or found through
 * them.
 */
static bool find_registers(void *arg, struct expr *e)
{
	static const char *const names[] = {"ctx",   "reg",	  "kstack",  "ustack",
					    "stack", "stack_len", "usermode"};
	bool *found = arg;

	if (e->kind != EXPR_NAME && e->kind != EXPR_CALL)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		*found |= str_eq(e->name, names[i]);
	*found |= str_starts(e->name, "sarg");
	return true;
}

static bool needs_registers(const struct unit *u)
{
	bool found = false;

	if (u->predicate)
		ast_each_expr_in(u->predicate, find_registers, &found);
	ast_each_expr(u->body, find_registers, &found);
	return found;
}

/* One attach point, one program for all that it matches. */
static bool is_whole(const struct check *c, const struct unit *u)
{
	if (!u->ntargets || !u->probe || u->probe->nattach != 1 || u->context.in_process)
		return false;
	for (size_t i = 0; i < c->units.len; i++)
		if (c->units.items[i] != u && c->units.items[i]->probe == u->probe)
			return false;
	return true;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && str_eq(a, b));
}

/*
 * Cookies are numbered as targets are found: those of one probe differ from those of the other by a
 * constant.
 */
static bool same_targets(const struct unit *a, const struct unit *b)
{
	if (a->ntargets != b->ntargets)
		return false;
	for (u32 i = 0; i < a->ntargets; i++) {
		const struct probe_target *x = a->targets[i], *y = b->targets[i];

		if (x->address != y->address || x->pid != y->pid ||
		    !same(x->function, y->function) || !same(x->module, y->module) ||
		    !same(x->path, y->path) ||
		    y->cookie - x->cookie != b->targets[0]->cookie - a->targets[0]->cookie)
			return false;
	}
	return true;
}

/* The only unit of this provider with u's targets, u itself included; NULL: there is none, or
 * several. */
static struct unit *only_unit(const struct check *c, const struct unit *u,
			      const struct probe_provider *provider)
{
	struct unit *ret = NULL;

	for (size_t i = 0; i < c->units.len; i++) {
		struct unit *other = c->units.items[i];

		if (unit_provider(other) != provider || !same_targets(u, other))
			continue;
		if (ret)
			return NULL;
		ret = other;
	}
	return ret;
}

/*
 * The function that tells entry from return, if programs of this kind may call it: its id in BTF,
 * else 0. In early kernels it has no argument; later the context, which is in the first register
 * when the program begins.
 */
static u32 find_call(const struct check *c, const struct unit *u, u32 attach_type,
		     u32 *ret_arguments)
{
	const struct type *type;
	const u32 id = kernel_function_id(c, "bpf_session_is_return", &type);
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = (s32)id},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {
		.prog_type = u->context.program_type,
		.expected_attach_type = attach_type,
		.insns = (u64)(uintptr_t)insns,
		.insn_cnt = ARRAY_SIZE(insns),
		.license = (u64)(uintptr_t) "GPL",
	};
	int fd;

	if (!id || type->count > 1)
		return 0;
	fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	if (fd < 0)
		return 0;
	close(fd);
	*ret_arguments = type->count;
	return id;
}

/*
 * The verifier's limit of a million instructions counts both bodies together: two that are heavy
 * stay two programs. The estimate may be off by a few times.
 */
#define MAX_STEPS 50000

static bool is_light(const struct unit *u, const struct unit *returns)
{
	return loop_steps(u->body) + loop_steps(returns->body) <= MAX_STEPS;
}

static void join(struct check *c, struct unit *u)
{
	const struct probe_provider *provider = unit_provider(u);
	struct unit *returns;
	u32 type;

	if (c->options->recorded || !provider->returns || !is_whole(c, u) ||
	    only_unit(c, u, provider) != u)
		return;
	returns = only_unit(c, u, provider->returns);
	if (!returns || !is_whole(c, returns) || !is_light(u, returns))
		return;
	/* The loops of both bodies would share values through the stack, which has 512 bytes. */
	if (u->has_callbacks && returns->has_callbacks)
		return;
	type = provider->session(c->options->env, u->targets, u->ntargets,
				 needs_registers(u) || needs_registers(returns));
	u->session_call = type ? find_call(c, u, type, &u->session_arguments) : 0;
	if (!u->session_call)
		return;
	u->context.expected_attach_type = type;
	u->returns = returns;
	returns->is_joined = true;
	returns->cookie_offset = returns->targets[0]->cookie - u->targets[0]->cookie;
}

void session_join_units(struct check *c)
{
	if (c->options->env->list_only)
		return;
	for (size_t i = 0; i < c->units.len; i++)
		if (c->units.items[i]->ntargets)
			join(c, c->units.items[i]);
}
