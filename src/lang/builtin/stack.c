/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks. The frames are hashed to a 64-bit id and kept once in a map of the engine, so that a
 * stack as a key or value is only its id. A 64-bit hash instead of the kernel's 32-bit stack map:
 * no collision that would show a wrong stack.
 */
#include "arch/arch.h"
#include "lang/builtin/util.h"
#include "lang/lower/internal.h"

#define DEFAULT_DEPTH 127
#define MAX_DEPTH     1024
/* struct { u32 count; u32 pad; u64 frames[] } of script.h */
#define FRAMES_OFFSET 8
/* 2^64 / golden ratio, odd: spreads every bit of a frame over the upper half */
#define HASH_FACTOR 0x9e3779b97f4a7c15ULL
/*
 * Stacks of up to this many frames are hashed without a loop; deeper ones in a loop, so many frames
 * a round.
 */
#define HASH_BLOCK	 8
#define HASH_BLOCK_SHIFT 3

static bool is_user_stack(const struct expr *call)
{
	return !str_eq(call->builtin->name, "kstack");
}

/* dw_ustack, ustack(dwarf): by call frame information instead of frame pointers. */
static bool is_dwarf(const struct expr *call)
{
	return str_eq(call->builtin->name, "dw_ustack") || call->annotation;
}

static void check_dwarf(struct check *c, struct expr *call)
{
	if (!c->options->has_unwind_target) {
		check_error(c, call->span,
			    "dw_ustack requires a target process. Use -p, -c, or --dwarf-pid to "
			    "specify one.");
	} else if (!c->options->features.bpf_loop) {
		check_error(c, call->span, "dw_ustack needs the helper bpf_loop (Linux 5.17)");
		check_hint(c, "ustack works where programs keep frame pointers "
			      "(-fno-omit-frame-pointer)");
	}
	builtin_map(c->script, MAP_UNWIND);
	builtin_map(c->script, MAP_GLOBAL);
}

static bool stack_mode(const char *name, enum stack_mode *ret)
{
	static const char *const names[] = {[STACK_BPFTRACE] = "bpftrace",
					    [STACK_PERF] = "perf",
					    [STACK_RAW] = "raw",
					    [STACK_BUILD_ID] = "build_id"};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_eq(names[i], name)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/*
 * The map's values have room for the deepest stack of the script; called before any program is
 * made.
 */
static void reserve_depth(struct check *c, bool user, u32 depth)
{
	const u32 map = builtin_map(c->script, user ? MAP_USTACKS : MAP_KSTACKS);
	struct script_map *m = &c->script->maps.items[map];

	m->value_size = MAX(m->value_size, FRAMES_OFFSET + 8 * depth);
}

static void refuse_mode(struct check *c, struct expr *call)
{
	const char *const mode = call->args[0]->name;

	check_error(c, call->args[0]->span,
		    "Error parsing stack mode: %s: Invalid value for stack_mode: '%s'",
		    call->builtin->name, mode);
	if (str_eq(mode, "locals"))
		check_hint(c, "a script's stack is its addresses alone, and when it is printed the "
			      "variables have gone on; `pantrace record --call-graph dwarf` copies "
			      "registers and stack at the event, "
			      "`pantrace report --locals DIRECTORY` shows the variables");
}

static void check_stack(struct check *c, struct expr *call)
{
	const bool user = is_user_stack(call);
	const char *name = call->builtin->name;
	enum stack_mode mode = c->script->config.stack_mode;
	s64 depth = DEFAULT_DEPTH;
	u32 limit_at = 0;

	if (user && call->nargs && call->args[0]->kind == EXPR_NAME &&
	    str_eq(call->args[0]->name, "dwarf")) {
		call->annotation = call;
		limit_at = 1;
	} else if (call->nargs && call->args[0]->kind == EXPR_NAME &&
		   stack_mode(call->args[0]->name, &mode))
		limit_at = 1;
	else if (call->nargs == 2)
		check_error(c, call->span, "Expected stack mode as first argument");
	else if (call->nargs && call->args[0]->kind == EXPR_NAME)
		refuse_mode(c, call);
	if (limit_at < call->nargs && (limit_at || call->args[0]->kind != EXPR_NAME)) {
		check_expr(c, call->args[limit_at]);
		if (!check_constant(call->args[limit_at], &depth)) {
			depth = DEFAULT_DEPTH;
			check_error(c, call->span, "%s: invalid limit value", name);
		}
	}
	if (depth < 1 || depth > MAX_DEPTH) {
		check_error(c, call->span, "%s([int limit]): limit shouldn't exceed %d, %lld given",
			    name, MAX_DEPTH, (long long)depth);
		depth = DEFAULT_DEPTH;
	}
	if (mode == STACK_BUILD_ID && !user) {
		if (limit_at)
			check_error(c, call->span,
				    "'build_id' stack mode can only be used for ustack");
		else
			check_warning(c, call->span,
				      "'build_id' stack mode can only be used for ustack. Falling "
				      "back to 'raw' mode.");
		mode = STACK_RAW;
	}
	if (is_dwarf(call))
		check_dwarf(c, call);
	call->type = type_stack(c->types, user, mode, depth);
	if (c->unit)
		c->unit->uses_stack = true;
	reserve_depth(c, user, depth);
}

/* With room behind the frames that hashing may overwrite: see fill_block(). */
#define HASH_ROOM (8 * HASH_BLOCK)

/*
 * The hash covers whole blocks of HASH_BLOCK frames, the last one filled up with zeros: the
 * verifier follows each place where a loop may end, and there are up to 127 frames. Frames beyond
 * `frames` count as zeros.
 */
static ir_reg hash_block(struct lower *l, ir_reg hash, ir_reg at, u32 frames)
{
	struct ir_function *f = l->f;
	const ir_reg factor = ir_const(f, HASH_FACTOR);

	for (u32 i = 0; i < HASH_BLOCK; i++) {
		if (i < frames)
			hash = ir_binary(f, IR_XOR, hash,
					 ir_load(f, at, FRAMES_OFFSET + 8 * i, 8, false));
		hash = ir_binary(f, IR_MUL, hash, factor);
		hash = ir_binary(f, IR_XOR, hash, ir_binary_imm(f, IR_SHR, hash, 29));
	}
	return hash;
}

static u32 block_count(u32 depth)
{
	return (depth + HASH_BLOCK - 1) / HASH_BLOCK;
}

/* Zeros after the last frame, at least up to the end of its block. */
static void fill_block(struct lower *l, ir_reg stack, ir_reg count, u32 depth)
{
	const ir_reg end =
		ir_binary(l->f, IR_ADD, stack,
			  ir_binary_imm(l->f, IR_SHL, builtin_bound(l, count, depth), 3));

	for (u32 i = 0; i < HASH_BLOCK - 1; i++)
		ir_store_imm(l->f, end, FRAMES_OFFSET + 8 * i, 8, 0);
}

static void hash_in_place(struct lower *l, ir_reg hash, ir_reg stack, ir_reg blocks, u32 depth)
{
	struct lower_loop loop;
	ir_reg at;

	lower_loop_begin(l, &loop, blocks, block_count(depth));
	at = ir_binary(l->f, IR_ADD, stack,
		       ir_binary_imm(l->f, IR_SHL, loop.index, HASH_BLOCK_SHIFT + 3));
	ir_assign(l->f, hash, hash_block(l, hash, at, HASH_BLOCK));
	lower_loop_end(l, &loop);
}

/*
 * A stack within a loop of the script: for each end of a loop over its blocks the verifier would
 * walk all rounds of the outer loop. A callback of bpf_loop() has one end.
 */
#define STATE_STACK 0
#define STATE_HASH  8
#define STATE_SIZE  16

static struct ir_function *hash_callback(struct lower *l, u32 depth)
{
	ir_reg index, state, at;
	struct ir_function *outer = l->f;
	struct ir_function *f = ir_step_new(l->ir, "stack_hash", outer->span, &index, &state);
	const u32 inside = ir_block_new(f, "block"), outside = ir_block_new(f, "none");

	l->f = f;
	index = ir_extend(f, index, 4, false);
	ir_branch_imm(f, IR_LT, index, block_count(depth), inside, outside);
	ir_switch_to(f, inside);
	at = ir_binary(f, IR_ADD, ir_load(f, state, STATE_STACK, 8, false),
		       ir_binary_imm(f, IR_SHL, index, HASH_BLOCK_SHIFT + 3));
	ir_store(f, state, STATE_HASH, 8,
		 hash_block(l, ir_load(f, state, STATE_HASH, 8, false), at, HASH_BLOCK));
	ir_return(f, 0);
	ir_switch_to(f, outside);
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .imm = 1});
	l->f = outer;
	return f;
}

static void hash_by_callback(struct lower *l, ir_reg hash, ir_reg stack, ir_reg blocks, u32 depth)
{
	struct ir_function *f = l->f;
	const u32 slot = ir_slot(f, STATE_SIZE, 8, "stack_hash");
	ir_reg state = ir_slot_address(f, slot), function = ir_reg_new(f);

	f->slots.items[slot].force_stack = true;
	ir_store(f, state, STATE_STACK, 8, stack);
	ir_store(f, state, STATE_HASH, 8, hash);
	ir_add(f, (struct ir_insn){.op = IR_FUNCTION,
				   .dst = function,
				   .imm = ir_function_index(l->ir, hash_callback(l, depth))});
	ir_call_n(f, BPF_FUNC_loop, blocks, function, state, ir_const(f, 0));
	ir_assign(f, hash, ir_load(f, state, STATE_HASH, 8, false));
}

/*
 * hash = f(frames[0 .. count)); never 0. A stack of one block is hashed with all `depth` frames;
 * those beyond count are zero.
 */
static ir_reg hash_frames(struct lower *l, ir_reg stack, ir_reg count, u32 depth)
{
	struct ir_function *f = l->f;
	ir_reg hash, blocks;

	if (depth <= HASH_BLOCK)
		return ir_binary_imm(f, IR_OR, hash_block(l, count, stack, depth), 1);
	fill_block(l, stack, count, depth);
	hash = ir_move(f, count);
	blocks = ir_binary_imm(f, IR_SHR, ir_binary_imm(f, IR_ADD, count, HASH_BLOCK - 1),
			       HASH_BLOCK_SHIFT);
	if (l->break_block && l->features->bpf_loop)
		hash_by_callback(l, hash, stack, blocks, depth);
	else
		hash_in_place(l, hash, stack, blocks, depth);
	return ir_binary_imm(f, IR_OR, hash, 1);
}

/*
 * Stores the frames under their id unless they are stored already. Sets id to 0 if there is no
 * room.
 */
static void store_frames(struct lower *l, u32 map, ir_reg id, ir_reg stack, u32 end)
{
	const u32 absent = ir_block_new(l->f, "stack.new"),
		  failed = ir_block_new(l->f, "stack.failed");
	const u32 lost = ir_block_new(l->f, "stack.lost");
	ir_reg key = builtin_spill(l, id, "stack id"), r;

	r = ir_call_n(l->f, BPF_FUNC_map_lookup_elem, ir_map(l->f, map), key);
	ir_branch_imm(l->f, IR_NE, r, 0, end, absent);
	ir_switch_to(l->f, absent);
	r = ir_call_n(l->f, BPF_FUNC_map_update_elem, ir_map(l->f, map), key, stack,
		      ir_const(l->f, BPF_NOEXIST));
	ir_branch_imm(l->f, IR_SLT, r, 0, failed, end);
	ir_switch_to(l->f, failed); /* another CPU was faster: that is fine */
	ir_branch_imm(l->f, IR_EQ, r, -EEXIST, end, lost);
	ir_switch_to(l->f, lost);
	lower_count_lost(l, LOST_STACKS);
	ir_assign_const(l->f, id, 0);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
}

/* bpf_get_stack() of at most depth frames, the first of them at stack + offset; bytes or an error.
 */
static ir_reg get_stack(struct lower *l, ir_reg stack, u32 offset, u32 depth, bool user)
{
	return ir_call_n(l->f, BPF_FUNC_get_stack, lower_context(l),
			 ir_binary_imm(l->f, IR_ADD, stack, offset), ir_const(l->f, depth * 8),
			 ir_const(l->f, user ? BPF_F_USER_STACK : 0));
}

/*
 * The user stack at the first instruction of a function, with its caller (enum entry_kind). If the
 * kernel has left the caller out, the stack is read one place further on, and the first two frames
 * are written here.
 */
static ir_reg get_entry_stack(struct lower *l, ir_reg stack, u32 depth)
{
	const u32 offset = FRAMES_OFFSET, readable = ir_block_new(l->f, "entry"),
		  missing = ir_block_new(l->f, "entry.missing"),
		  some = ir_block_new(l->f, "entry.some"), end = ir_block_new(l->f, "entry.end");
	ir_reg bytes = ir_reg_new(l->f), word, caller, failed;

	ir_assign(l->f, bytes, get_stack(l, stack, offset, depth, true));
	lower_slot(l, type_int(8, false), "caller", &word);
	failed = lower_read(l, word, 0, 8,
			    ir_load(l->f, lower_context(l), arch_sp_offset(), 8, false), 0,
			    SPACE_USER);
	ir_branch_imm(l->f, IR_EQ, failed, 0, readable, end);
	ir_switch_to(l->f, readable);
	caller = ir_load(l->f, word, 0, 8, false);
	if (l->unit->context.entry == ENTRY_PUSH) {
		const u32 two = ir_block_new(l->f, "entry.two");

		ir_branch_imm(l->f, IR_SGE, bytes, 16, two, missing);
		ir_switch_to(l->f, two);
		ir_branch(l->f, IR_EQ, ir_load(l->f, stack, offset + 8, 8, false), caller, end,
			  missing);
	} else {
		ir_jump(l->f, missing);
	}
	ir_switch_to(l->f, missing);
	ir_assign(l->f, bytes, get_stack(l, stack, offset + 8, depth - 1, true));
	ir_branch_imm(l->f, IR_SGT, bytes, 0, some, end);
	ir_switch_to(l->f, some);
	ir_store(l->f, stack, offset, 8, ir_load(l->f, stack, offset + 8, 8, false));
	ir_store(l->f, stack, offset + 8, 8, caller);
	ir_assign(l->f, bytes, ir_binary_imm(l->f, IR_ADD, bytes, 8));
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return bytes;
}

static ir_reg capture(struct lower *l, struct expr *call, bool user)
{
	const u32 map = builtin_map(l->script, user ? MAP_USTACKS : MAP_KSTACKS);
	const u32 value_size = l->script->maps.items[map].value_size,
		  depth = call->type->stack_depth;
	const u32 some = ir_block_new(l->f, "stack"), end = ir_block_new(l->f, "stack.end");
	ir_reg stack, bytes, count, id;
	u32 slot;

	slot = lower_slot(l,
			  type_string(l->types, value_size + (depth > HASH_BLOCK ? HASH_ROOM : 0)),
			  "stack", &stack);
	if (depth <= HASH_BLOCK)
		lower_zero(l, stack, FRAMES_OFFSET, 8 * depth);
	id = ir_reg_new(l->f);
	ir_assign_const(l->f, id, 0);
	if (is_dwarf(call)) {
		l->f->slots.items[slot].force_scratch = true;
		count = lower_unwind(l, ir_binary_imm(l->f, IR_ADD, stack, FRAMES_OFFSET), depth,
				     end, call->span);
		ir_branch_imm(l->f, IR_SGT, count, 0, some, end);
		ir_switch_to(l->f, some);
		ir_store(l->f, stack, 0, 8, count);
		ir_assign(l->f, id, hash_frames(l, stack, count, depth));
		store_frames(l, map, id, stack, end);
		return id;
	}
	bytes = user && l->unit->context.entry && depth > 1
			? get_entry_stack(l, stack, depth)
			: get_stack(l, stack, FRAMES_OFFSET, depth, user);
	/* A task without user space, or an interrupted vsyscall, has no stack: id 0, which prints
	 * as empty. */
	ir_branch_imm(l->f, IR_SGT, bytes, 0, some, end);
	ir_switch_to(l->f, some);
	count = ir_binary_imm(l->f, IR_SHR, bytes, 3);
	ir_store(l->f, stack, 0, 8, count);
	ir_assign(l->f, id, hash_frames(l, stack, count, depth));
	store_frames(l, map, id, stack, end);
	return id;
}

static void lower_stack(struct lower *l, struct expr *call, struct value *ret)
{
	const bool user = is_user_stack(call);
	ir_reg id = capture(l, call, user), slot, ids;

	if (!user) {
		*ret = value_register(call->type, id);
		return;
	}
	lower_slot(l, call->type, "ustack", &slot);
	ir_store(l->f, slot, 0, 8, id);
	ids = builtin_current_ids(l);
	ir_store(l->f, slot, 8, 4, ir_binary_imm(l->f, IR_SHR, ids, 32));
	ir_store(l->f, slot, 12, 4, ids);
	*ret = value_memory(call->type, slot, 0, SPACE_BPF);
}

const struct builtin builtins_stack[] = {
	{"kstack", "kstack_t kstack([bpftrace|perf|raw] [,] [limit])",
	 "The kernel stack, at most limit frames (127, up to 1024); usable as a map key, named "
	 "when it is printed.",
	 "", VARIABLE_OR_CALL | BUILTIN_RAW_ARGS, 0, 2, check_stack, lower_stack},
	{"ustack", "ustack_t ustack([bpftrace|perf|raw|build_id] [,] [limit])",
	 "The stack of the traced process, at most limit frames (127, up to 1024); needs frame "
	 "pointers in the program.",
	 "", VARIABLE_OR_CALL | BUILTIN_RAW_ARGS, 0, 2, check_stack, lower_stack},
	{"dw_ustack", "ustack_t dw_ustack([bpftrace|perf|raw|build_id] [,] [limit])",
	 "The stack of the process of -p, -c or --dwarf-pid by its unwind tables: complete without "
	 "frame pointers. Also ustack(dwarf).",
	 "5.17", BUILTIN_LIVE | VARIABLE_OR_CALL | BUILTIN_RAW_ARGS, 0, 2, check_stack,
	 lower_stack},
	{0},
};
