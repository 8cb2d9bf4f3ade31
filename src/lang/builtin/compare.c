/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparing and searching strings and bytes. */
#include "lang/builtin/util.h"

/*
 * Checks a string-like argument: a string, an array of char, or, with pointers allowed, a pointer
 * that str() reads first.
 */
static bool check_text(struct check *c, struct expr *call, u32 n)
{
	const struct type *t;

	if (!check_known(c, call->args[n]))
		return false;
	t = call->args[n]->type;
	if (t->kind == TYPE_STRING || t->kind == TYPE_POINTER ||
	    (t->kind == TYPE_ARRAY && t->element->kind == TYPE_INT && t->element->size == 1))
		return true;
	check_error(c, call->span, "%s() only supports string arguments (%s provided)",
		    call->builtin->name, builtin_kind(t));
	return false;
}

/* At most `size` directly addressable bytes; a string ends earlier, at its NUL. */
struct text {
	ir_reg address;
	u32 size;
	const struct expr *literal;
	struct value value;
};

static struct text lower_text(struct lower *l, struct expr *e)
{
	struct text t = {.size = e->type->size};
	const struct type *type = e->type;
	ir_reg from, slot;

	if (e->kind == EXPR_STRING || (e->is_comptime_known && type->kind == TYPE_STRING))
		t.literal = e;
	if (type->kind == TYPE_POINTER) {
		type = type_string(l->types, l->script->config.max_strlen);
		from = lower_scalar(l, e);
		lower_slot(l, type, "text", &slot);
		lower_read_string(l, slot, 0, type->size, from, builtin_space(e));
		t.value = value_memory(type, slot, 0, SPACE_BPF);
		t.size = type->size;
	} else {
		lower_expr(l, e, &t.value);
		t.value = lower_materialise(l, &t.value, e->span);
		t.size = t.value.type->size;
	}
	t.address = builtin_address(l, &t.value);
	return t;
}

static ir_reg load_byte(struct lower *l, ir_reg base, ir_reg index)
{
	return ir_load(l->f, ir_binary(l->f, IR_ADD, base, index), 0, 1, false);
}

/* ---- strncmp ---- */

static void check_strncmp(struct check *c, struct expr *call)
{
	s64 n;

	call->type = type_int(8, false);
	check_text(c, call, 0);
	check_text(c, call, 1);
	if (!check_constant(call->args[2], &n) || n < 0)
		check_error(c, call->span, "Builtin strncmp requires a non-negative literal");
	else
		call->annotation = (void *)(uintptr_t)(n + 1);
}

static void lower_strncmp(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 n = (uintptr_t)call->annotation - 1;
	struct text a, b;
	ir_reg equal;

	if (!n) {
		*ret = value_constant(call->type, 0);
		return;
	}
	a = lower_text(l, call->args[0]);
	b = lower_text(l, call->args[1]);
	equal = lower_compare_strings(l, &a.value, &b.value, n, call->span);
	*ret = value_register(call->type, ir_binary_imm(l->f, IR_XOR, equal, 1));
}

/* ---- strlen, strcap ---- */

static void check_strlen(struct check *c, struct expr *call)
{
	call->type = type_int(8, false);
	check_text(c, call, 0);
}

/*
 * The length, by copying: the helper that reads a string returns it, while the verifier would walk
 * a loop byte by byte. One byte more than the size is read, as a char array may have no NUL; it
 * becomes one.
 */
static ir_reg text_length(struct lower *l, const struct text *t)
{
	const u32 short_text = ir_block_new(l->f, "strlen.empty"),
		  end = ir_block_new(l->f, "strlen.end");
	ir_reg copy, length;

	lower_slot(l, type_string(l->types, t->size + 1), "strlen", &copy);
	length =
		ir_move(l->f, lower_read_string(l, copy, 0, t->size + 1, t->address, SPACE_KERNEL));
	ir_branch_imm(l->f, IR_SLT, length, 1, short_text, end);
	ir_switch_to(l->f, short_text);
	ir_assign_const(l->f, length, 1);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return ir_binary_imm(l->f, IR_SUB, length, 1);
}

static void lower_strlen(struct lower *l, struct expr *call, struct value *ret)
{
	const struct text t = lower_text(l, call->args[0]);

	if (t.literal)
		*ret = value_constant(call->type,
				      strnlen(t.literal->string.data, t.literal->string.len));
	else
		*ret = value_register(call->type, text_length(l, &t));
}

static void check_strcap(struct check *c, struct expr *call)
{
	u64 size = 0;

	call->type = type_int(8, true);
	if (!check_text(c, call, 0))
		return;
	if (call->args[0]->kind == EXPR_STRING)
		size = call->args[0]->string.len;
	else if (call->args[0]->type->kind == TYPE_POINTER)
		size = c->script->config.max_strlen;
	else
		size = call->args[0]->type->size;
	builtin_set_integer(call, call->type, size);
}

/* ---- strstr, strcontains ---- */

static void check_strstr(struct check *c, struct expr *call)
{
	call->type = str_eq(call->builtin->name, "strstr") ? type_int(8, true) : type_bool();
	check_text(c, call, 0);
	check_text(c, call, 1);
}

/*
 * Compares the needle with the haystack from `at` on: jumps to `found` or `differs`. Nothing is
 * read beyond `limit` bytes of the haystack.
 */
static void match_at(struct lower *l, const struct text *hay, const struct text *needle, ir_reg at,
		     u32 found, u32 differs)
{
	struct lower_loop loop;
	ir_reg wanted, position;
	u32 more, inside;

	if (needle->literal) {
		const char *text = needle->literal->string.data;
		const u32 n = strnlen(text, needle->literal->string.len);

		for (u32 i = 0; i < n; i++) {
			ir_reg byte = ir_load(l->f, ir_binary(l->f, IR_ADD, hay->address, at), i, 1,
					      false);

			more = ir_block_new(l->f, "match.more");
			ir_branch_imm(l->f, IR_EQ, byte, (u8)text[i], more, differs);
			ir_switch_to(l->f, more);
		}
		ir_jump(l->f, found);
		return;
	}
	lower_loop_begin(l, &loop, ir_const(l->f, needle->size), needle->size);
	wanted = load_byte(l, needle->address, loop.index);
	more = ir_block_new(l->f, "match.more");
	ir_branch_imm(l->f, IR_EQ, wanted, 0, found, more);
	ir_switch_to(l->f, more);
	position = ir_binary(l->f, IR_ADD, at, loop.index);
	inside = ir_block_new(l->f, "match.inside");
	ir_branch_imm(l->f, IR_LT, position, hay->size, inside, differs);
	ir_switch_to(l->f, inside);
	more = ir_block_new(l->f, "match.next");
	ir_branch(l->f, IR_EQ, load_byte(l, hay->address, position), wanted, more, differs);
	ir_switch_to(l->f, more);
	lower_loop_end(l, &loop);
	ir_jump(l->f, found);
}

/* The state of the search; on the stack, for the callback of bpf_loop(). */
#define SEARCH_HAY    0
#define SEARCH_NEEDLE 8
#define SEARCH_INDEX  16 /* of the first match; -1 */
/* where the needle is compared now, and how many of its bytes were equal */
#define SEARCH_AT    24
#define SEARCH_EQUAL 32
#define SEARCH_SIZE  40

/*
 * Tries one position: falls through if the search goes on, otherwise it has jumped to `found` or
 * `end`.
 */
static void search_at(struct lower *l, const struct text *hay, const struct text *needle, ir_reg at,
		      u32 found, u32 end)
{
	const u32 next = ir_block_new(l->f, "strstr.next"),
		  more = ir_block_new(l->f, "strstr.more");

	match_at(l, hay, needle, at, found, next);
	ir_switch_to(l->f, next);
	/* Nothing can begin at or after the end of the haystack. */
	ir_branch_imm(l->f, IR_EQ, load_byte(l, hay->address, at), 0, end, more);
	ir_switch_to(l->f, more);
}

/* Both blocks return 1, which ends the loop; `found` first notes where. */
static void end_callback(struct ir_function *f, ir_reg state, ir_reg at, u32 found, u32 end)
{
	ir_switch_to(f, found);
	ir_store(f, state, SEARCH_INDEX, 8, at);
	ir_jump(f, end);
	ir_switch_to(f, end);
	ir_add(f, (struct ir_insn){.op = IR_RETURN, .imm = 1});
}

/* long callback(u32 at, void *state): the verifier walks it once, however long the haystack is. */
static struct ir_function *search_callback(struct lower *l, const struct text *hay,
					   const struct text *needle, u32 positions)
{
	ir_reg at, state;
	struct ir_function *outer = l->f;
	struct ir_function *f = ir_step_new(l->ir, "strstr", outer->span, &at, &state);
	struct text local_hay = *hay, local_needle = *needle;
	u32 inside, found, end;

	l->f = f;
	inside = ir_block_new(f, "strstr.inside");
	found = ir_block_new(f, "strstr.found");
	end = ir_block_new(f, "strstr.end");
	at = ir_extend(f, at, 4, false);
	local_hay.address = ir_load(f, state, SEARCH_HAY, 8, false);
	if (!needle->literal)
		local_needle.address = ir_load(f, state, SEARCH_NEEDLE, 8, false);
	ir_branch_imm(f, IR_LT, at, positions, inside, end);
	ir_switch_to(f, inside);
	search_at(l, &local_hay, &local_needle, at, found, end);
	ir_return(f, 0);
	end_callback(f, state, at, found, end);
	l->f = outer;
	return f;
}

/*
 * x ^ u ^ u is x, but the verifier knows nothing about u, and so nothing about x: otherwise it
 * would walk each of its values.
 */
static ir_reg load_unknown(struct ir_function *f, ir_reg state, s32 offset, ir_reg unknown)
{
	const ir_reg value = ir_load(f, state, offset, 8, false);

	return ir_binary(f, IR_XOR, ir_binary(f, IR_XOR, value, unknown), unknown);
}

/*
 * long callback(u32 step, void *state): compares one byte of two texts that are not known. The
 * verifier would walk a loop within a loop round by round; this it walks once.
 */
static struct ir_function *step_callback(struct lower *l, const struct text *hay,
					 const struct text *needle)
{
	ir_reg step, state, at, equal, position, wanted, byte;
	struct ir_function *outer = l->f;
	struct ir_function *f = ir_step_new(l->ir, "strstr", outer->span, &step, &state);
	u32 block, next, differs, found, end;

	l->f = f;
	found = ir_block_new(f, "strstr.found");
	end = ir_block_new(f, "strstr.end");
	at = load_unknown(f, state, SEARCH_AT, step);
	equal = load_unknown(f, state, SEARCH_EQUAL, step);
	block = ir_block_new(f, "strstr.needle");
	ir_branch_imm(f, IR_LT, equal, needle->size, block, found);
	ir_switch_to(f, block);
	wanted = load_byte(l, ir_load(f, state, SEARCH_NEEDLE, 8, false), equal);
	block = ir_block_new(f, "strstr.more");
	ir_branch_imm(f, IR_EQ, wanted, 0, found, block);
	ir_switch_to(f, block);
	/* If the needle does not fit here, it does not fit further on. */
	position = ir_binary(f, IR_ADD, at, equal);
	block = ir_block_new(f, "strstr.inside");
	ir_branch_imm(f, IR_LT, position, hay->size, block, end);
	ir_switch_to(f, block);
	byte = load_byte(l, ir_load(f, state, SEARCH_HAY, 8, false), position);
	next = ir_block_new(f, "strstr.equal");
	differs = ir_block_new(f, "strstr.differs");
	ir_branch(f, IR_EQ, byte, wanted, next, differs);
	ir_switch_to(f, next);
	ir_store(f, state, SEARCH_EQUAL, 8, ir_binary_imm(f, IR_ADD, equal, 1));
	ir_return(f, 0);
	ir_switch_to(f, differs);
	block = ir_block_new(f, "strstr.next");
	ir_branch_imm(f, IR_EQ, byte, 0, end, block);
	ir_switch_to(f, block);
	ir_store(f, state, SEARCH_AT, 8, ir_binary_imm(f, IR_ADD, at, 1));
	ir_store_imm(f, state, SEARCH_EQUAL, 8, 0);
	ir_return(f, 0);
	end_callback(f, state, at, found, end);
	l->f = outer;
	return f;
}

static ir_reg search_by_callback(struct lower *l, const struct text *hay, const struct text *needle,
				 u32 positions, struct ir_function *callback)
{
	struct ir_function *f = l->f;
	const u32 slot = ir_slot(f, SEARCH_SIZE, 8, "search");
	ir_reg state = ir_slot_address(f, slot), function = ir_reg_new(f);

	f->slots.items[slot].force_stack = true;
	ir_store(f, state, SEARCH_HAY, 8, hay->address);
	if (needle->literal)
		ir_store_imm(f, state, SEARCH_NEEDLE, 8, 0);
	else
		ir_store(f, state, SEARCH_NEEDLE, 8, needle->address);
	ir_store_imm(f, state, SEARCH_INDEX, 8, -1);
	ir_store_imm(f, state, SEARCH_AT, 8, 0);
	ir_store_imm(f, state, SEARCH_EQUAL, 8, 0);
	ir_add(f, (struct ir_insn){.op = IR_FUNCTION,
				   .dst = function,
				   .imm = ir_function_index(l->ir, callback)});
	ir_call_n(f, BPF_FUNC_loop, ir_const(f, positions), function, state, ir_const(f, 0));
	return ir_load(f, state, SEARCH_INDEX, 8, true);
}

static ir_reg search_in_place(struct lower *l, const struct text *hay, const struct text *needle,
			      u32 positions)
{
	const u32 done = ir_block_new(l->f, "strstr.done"),
		  found = ir_block_new(l->f, "strstr.found");
	ir_reg index = ir_const(l->f, -1);
	struct lower_loop loop;

	lower_loop_begin(l, &loop, ir_const(l->f, positions), positions);
	search_at(l, hay, needle, loop.index, found, loop.end);
	lower_loop_end(l, &loop);
	ir_jump(l->f, done);
	ir_switch_to(l->f, found);
	ir_assign(l->f, index, loop.index);
	ir_jump(l->f, done);
	ir_switch_to(l->f, done);
	return index;
}

/*
 * The verifier walks plain loops round by round: for more comparisons than this a callback is used
 * if there is bpf_loop().
 */
#define SEARCH_IN_PLACE 256
#define MAX_STEPS	(1u << 23) /* BPF_MAX_LOOPS, kernel/bpf/bpf_iter.c */

/* Index of the needle, or -1. */
static ir_reg search(struct lower *l, const struct text *hay, const struct text *needle)
{
	u32 positions = hay->size, length = needle->size;
	u64 steps;

	if (needle->literal) {
		length = strnlen(needle->literal->string.data, needle->literal->string.len);
		if (!length)
			return ir_const(l->f, 0);
		if (length > hay->size)
			return ir_const(l->f, -1);
		positions = hay->size - length + 1;
	}
	/*
	 * A position is left at most once, and each byte of the needle is compared at most once at
	 * each.
	 */
	steps = (u64)positions * (length + 1);
	if (!needle->literal && l->features->bpf_loop && steps > SEARCH_IN_PLACE &&
	    steps <= MAX_STEPS)
		return search_by_callback(l, hay, needle, (u32)steps,
					  step_callback(l, hay, needle));
	if (l->features->bpf_loop && (u64)positions * length > SEARCH_IN_PLACE)
		return search_by_callback(l, hay, needle, positions,
					  search_callback(l, hay, needle, positions));
	return search_in_place(l, hay, needle, positions);
}

static void lower_strstr(struct lower *l, struct expr *call, struct value *ret)
{
	const struct text hay = lower_text(l, call->args[0]), needle = lower_text(l, call->args[1]);
	ir_reg index = search(l, &hay, &needle);

	if (call->type->kind == TYPE_BOOL)
		index = builtin_test(l, IR_SGE, index, 0);
	*ret = value_register(call->type, index);
}

/* ---- memcmp ---- */

static bool is_bytes(const struct type *t)
{
	return t->kind == TYPE_STRING || t->kind == TYPE_ARRAY || t->kind == TYPE_STRUCT ||
	       t->kind == TYPE_UNION || t->kind == TYPE_BUFFER;
}

static void check_memcmp(struct check *c, struct expr *call)
{
	s64 n;

	call->type = type_int(4, true);
	for (u32 i = 0; i < 2; i++)
		if (check_known(c, call->args[i]) && !is_bytes(call->args[i]->type) &&
		    !builtin_is_number(call->args[i]->type))
			check_error(c, call->args[i]->span,
				    "memcmp() cannot compare a value of type '%s'",
				    type_str(c->arena, call->args[i]->type));
	if (!check_arg_constant(c, call, 2, &n))
		return;
	if (n < 0 || n > 1024) {
		check_error(c, call->args[2]->span,
			    "memcmp(): count must be 0..1024 (%lld provided)", (long long)n);
		return;
	}
	for (u32 i = 0; i < 2; i++)
		if (call->args[i]->type->kind != TYPE_POINTER &&
		    (u64)n > call->args[i]->type->size && call->args[i]->type->size)
			check_error(c, call->args[i]->span,
				    "memcmp(): count %lld is more than the %u bytes of this value",
				    (long long)n, call->args[i]->type->size);
	call->annotation = (void *)(uintptr_t)(n + 1);
}

/* n bytes of a value, or of the memory that a pointer points to, in our own memory. */
static ir_reg lower_bytes(struct lower *l, struct expr *e, u32 n)
{
	ir_reg slot, address, result;
	struct value v;

	if (is_bytes(e->type)) {
		lower_expr(l, e, &v);
		v = lower_materialise(l, &v, e->span);
		address = builtin_address(l, &v);
		return e->type->kind == TYPE_BUFFER ? ir_binary_imm(l->f, IR_ADD, address, 4)
						    : address;
	}
	if (e->type->kind != TYPE_POINTER)
		return builtin_spill(l, lower_scalar(l, e), "memcmp");
	address = lower_scalar(l, e);
	slot = ir_slot_address(l->f, ir_slot(l->f, ALIGN_UP(n, 8), 8, "memcmp"));
	result = lower_read(l, slot, 0, n, address, 0, builtin_space(e));
	lower_helper_error(l, BPF_FUNC_probe_read_kernel, result, e->span);
	return slot;
}

static void lower_memcmp(struct lower *l, struct expr *call, struct value *ret)
{
	const u32 n = (uintptr_t)call->annotation - 1;
	ir_reg a, b, difference = ir_reg_new(l->f);
	struct lower_loop loop;
	u32 same;

	if (!n) {
		*ret = value_constant(call->type, 0);
		return;
	}
	a = lower_bytes(l, call->args[0], n);
	b = lower_bytes(l, call->args[1], n);
	ir_assign_const(l->f, difference, 0);
	lower_loop_begin(l, &loop, ir_const(l->f, n), n);
	ir_assign(
		l->f, difference,
		ir_binary(l->f, IR_SUB, load_byte(l, a, loop.index), load_byte(l, b, loop.index)));
	same = ir_block_new(l->f, "memcmp.same");
	ir_branch_imm(l->f, IR_NE, difference, 0, loop.end, same);
	ir_switch_to(l->f, same);
	lower_loop_end(l, &loop);
	*ret = value_register(call->type, difference);
}

const struct builtin builtins_compare[] = {
	{"strncmp", "uint64 strncmp(string a, string b, const n)",
	 "0 if the first n bytes of two strings are equal (or the strings end before), else 1; == "
	 "compares whole strings.",
	 "", BUILTIN_CALL, 3, 3, check_strncmp, lower_strncmp},
	{"strcontains", "bool strcontains(string haystack, string needle)",
	 "True if the needle occurs in the haystack.", "5.3", BUILTIN_CALL, 2, 2, check_strstr,
	 lower_strstr},
	{"strstr", "int64 strstr(string haystack, string needle)",
	 "Index of the first occurrence of the needle in the haystack, -1 if there is none.", "5.3",
	 BUILTIN_CALL, 2, 2, check_strstr, lower_strstr},
	{"strlen", "uint64 strlen(string s)", "Number of bytes before the NUL.", "", BUILTIN_CALL,
	 1, 1, check_strlen, lower_strlen},
	{"strcap", "int64 strcap(string s)",
	 "How many bytes a string-like value has room for; known when the script is compiled.", "",
	 BUILTIN_CALL, 1, 1, check_strcap, builtin_lower_literal},
	{"memcmp", "int32 memcmp(left, right, const count)",
	 "0 if the first count bytes (of values, or behind pointers) are equal, else the "
	 "difference of the first two that differ.",
	 "5.3", BUILTIN_CALL, 3, 3, check_memcmp, lower_memcmp},
	{0},
};
