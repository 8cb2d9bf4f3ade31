/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory: slots, reads of foreign memory, copies and conversions of values in memory, comparisons.
 */
#include "lang/lower/internal.h"

struct value value_register(const struct type *t, ir_reg r)
{
	return (struct value){.kind = VALUE_REGISTER, .type = t, .reg = r};
}

struct value value_constant(const struct type *t, s64 c)
{
	return (struct value){.kind = VALUE_CONSTANT, .type = t, .constant = c};
}

struct value value_memory(const struct type *t, ir_reg base, s64 offset, enum address_space space)
{
	return (struct value){
		.kind = VALUE_MEMORY, .type = t, .reg = base, .constant = offset, .space = space};
}

ir_reg lower_address(struct lower *l, ir_reg base, s64 offset)
{
	return offset ? ir_binary_imm(l->f, IR_ADD, base, offset) : base;
}

/* ---- slots ---- */

u32 lower_slot(struct lower *l, const struct type *t, const char *label, ir_reg *ret_addr)
{
	struct lower_private *p = lower_private(l);
	const u32 size = ALIGN_UP(MAX(t->size, 1u), 8u);
	struct free_slot found = {.slot = UINT32_MAX};

	for (size_t i = 0; i < p->free.len; i++) {
		if (p->free.items[i].size != size)
			continue;
		found = p->free.items[i];
		p->free.items[i] = p->free.items[--p->free.len];
		break;
	}
	if (found.slot == UINT32_MAX)
		found = (struct free_slot){ir_slot(l->f, size, 8, label), size};
	vector_push(&p->taken, found);
	*ret_addr = ir_slot_address(l->f, found.slot);
	return found.slot;
}

u32 lower_slot_mark(const struct lower *l)
{
	return (u32)lower_private(l)->taken.len;
}

void lower_slot_release(struct lower *l, u32 mark)
{
	struct lower_private *p = lower_private(l);

	while (p->taken.len > mark)
		vector_push(&p->free, p->taken.items[--p->taken.len]);
}

/* ---- reading foreign memory ---- */

static bool is_local(enum address_space space)
{
	return space == SPACE_BPF || space == SPACE_CONTEXT || space == SPACE_TRUSTED;
}

struct read_helpers {
	u32 kernel, user;
};

/* Calls the helper for the space; an unknown address is the kernel's if its upper bit is set. */
static ir_reg call_read(struct lower *l, const struct read_helpers *h, ir_reg dst, ir_reg size,
			ir_reg from, enum address_space space)
{
	u32 kernel, user, end;
	ir_reg result;

	if (space == SPACE_USER)
		return ir_call_n(l->f, h->user, dst, size, from);
	if (space != SPACE_UNKNOWN)
		return ir_call_n(l->f, h->kernel, dst, size, from);
	kernel = ir_block_new(l->f, "read.kernel");
	user = ir_block_new(l->f, "read.user");
	end = ir_block_new(l->f, "read.end");
	result = ir_reg_new(l->f);
	ir_branch_imm(l->f, IR_SLT, from, 0, kernel, user);
	ir_switch_to(l->f, kernel);
	ir_assign(l->f, result, ir_call_n(l->f, h->kernel, dst, size, from));
	ir_jump(l->f, end);
	ir_switch_to(l->f, user);
	ir_assign(l->f, result, ir_call_n(l->f, h->user, dst, size, from));
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return result;
}

static const struct read_helpers read_bytes = {BPF_FUNC_probe_read_kernel,
					       BPF_FUNC_probe_read_user};
static const struct read_helpers read_strings = {BPF_FUNC_probe_read_kernel_str,
						 BPF_FUNC_probe_read_user_str};

ir_reg lower_read(struct lower *l, ir_reg dst, s64 dst_offset, u32 size, ir_reg from,
		  s64 from_offset, enum address_space space)
{
	return call_read(l, &read_bytes, lower_address(l, dst, dst_offset), ir_const(l->f, size),
			 lower_address(l, from, from_offset), space);
}

ir_reg lower_read_sized(struct lower *l, ir_reg dst, ir_reg size, ir_reg from,
			enum address_space space)
{
	return call_read(l, &read_bytes, dst, size, from, space);
}

ir_reg lower_read_string(struct lower *l, ir_reg dst, s64 dst_offset, u32 size, ir_reg from,
			 enum address_space space)
{
	return call_read(l, &read_strings, lower_address(l, dst, dst_offset), ir_const(l->f, size),
			 from, space);
}

ir_reg lower_read_string_sized(struct lower *l, ir_reg dst, ir_reg size, ir_reg from,
			       enum address_space space)
{
	return call_read(l, &read_strings, dst, size, from, space);
}

/* ---- copies ---- */

void lower_copy(struct lower *l, ir_reg dst, s64 dst_offset, ir_reg src, s64 src_offset, u32 size)
{
	if (size <= INLINE_BYTES)
		ir_copy(l->f, dst, dst_offset, src, src_offset, size);
	else
		lower_read(l, dst, dst_offset, size, src, src_offset, SPACE_KERNEL);
}

void lower_zero(struct lower *l, ir_reg dst, s64 offset, u32 size)
{
	if (size <= INLINE_BYTES)
		ir_zero(l->f, dst, offset, size);
	else /* The helper clears the destination when it cannot read, and it never reads address 0.
	      */
		ir_call_n(l->f, BPF_FUNC_probe_read_kernel, lower_address(l, dst, offset),
			  ir_const(l->f, size), ir_const(l->f, 0));
}

static void store_scalar(struct lower *l, ir_reg dst, s64 offset, const struct type *to,
			 const struct value *v)
{
	const u32 size = to->size;

	if (size != 1 && size != 2 && size != 4 && size != 8) {
		lower_error(l, l->f->span, "A value of %u bytes can not be stored", size);
		return;
	}
	if (v->kind == VALUE_CONSTANT) {
		const s64 c = fold_convert(v->constant, to);

		ir_store_imm(l->f, dst, offset, size, size == 4 ? (s32)c : c);
		return;
	}
	ir_store(l->f, dst, offset, size, lower_to_register(l, v));
}

/*
 * A char array need not end in a NUL: where the helper put one over the last byte, that is read
 * again.
 */
ir_reg lower_read_chars(struct lower *l, ir_reg dst, s64 offset, u32 size, ir_reg from,
			enum address_space space)
{
	const u32 full = ir_block_new(l->f, "chars.full"), end = ir_block_new(l->f, "chars");
	const ir_reg result = lower_read_string(l, dst, offset, size, from, space);

	ir_branch_imm(l->f, IR_EQ, result, size, full, end);
	ir_switch_to(l->f, full);
	lower_read(l, dst, offset + size - 1, 1, from, size - 1, space);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return result;
}

/* dst gets the text of v, cut to its size, and zeros after it. */
static void store_string(struct lower *l, ir_reg dst, s64 offset, const struct type *to,
			 const struct value *v)
{
	const enum address_space space = is_local(v->space) ? SPACE_KERNEL : v->space;
	const u32 n = MIN(to->size, v->type->size);

	if (v->space != SPACE_BPF || !v->is_zero_padded) {
		const ir_reg from = lower_address(l, v->reg, v->constant);

		lower_zero(l, dst, offset, to->size);
		if (v->space == SPACE_BPF || n < v->type->size)
			lower_read_string(l, dst, offset, n, from, space);
		else
			lower_read_chars(l, dst, offset, n, from, space);
		return;
	}
	if (to->size > n)
		lower_zero(l, dst, offset, to->size);
	lower_copy(l, dst, offset, v->reg, v->constant, n);
	if (v->type->size > to->size)
		ir_store_imm(l->f, dst, offset + n - 1, 1, 0);
}

static void store_plain(struct lower *l, ir_reg dst, s64 offset, const struct type *to,
			const struct value *v)
{
	const u32 n = MIN(to->size, v->type->size);

	if (n < to->size)
		lower_zero(l, dst, offset, to->size);
	if (v->space == SPACE_BPF)
		lower_copy(l, dst, offset, v->reg, v->constant, n);
	else
		lower_read(l, dst, offset, n, v->reg, v->constant,
			   is_local(v->space) ? SPACE_KERNEL : v->space);
}

static void store_members(struct lower *l, ir_reg dst, s64 offset, const struct type *to,
			  const struct value *v, struct span at)
{
	u32 used = 0;

	if (type_equal(to, v->type)) {
		store_plain(l, dst, offset, to, v);
		return;
	}
	for (u32 i = 0; i < to->count; i++)
		used += to->members[i].type->size;
	if (used != to->size) /* padding takes part in comparisons of keys */
		lower_zero(l, dst, offset, to->size);
	for (u32 i = 0; i < to->count; i++) {
		const struct type_member *from = check_same_member(to, i, v->type);
		struct value part;

		if (!from)
			continue;
		part = value_memory(from->type, v->reg, v->constant + from->offset, v->space);
		part.is_zero_padded = v->space == SPACE_BPF;
		lower_store_value(l, dst, offset + to->members[i].offset, to->members[i].type,
				  &part, at);
	}
}

void lower_store_value(struct lower *l, ir_reg dst, s64 dst_offset, const struct type *to,
		       const struct value *v, struct span at)
{
	if (v->kind == VALUE_NONE) {
		lower_zero(l, dst, dst_offset, to->size);
		return;
	}
	if (type_is_scalar(to)) {
		store_scalar(l, dst, dst_offset, to, v);
		return;
	}
	if (v->kind != VALUE_MEMORY) { /* an integer as an array of bytes */
		lower_zero(l, dst, dst_offset, to->size);
		ir_store(l->f, dst, dst_offset, MIN(8u, v->type->size ? v->type->size : 8),
			 lower_to_register(l, v));
		return;
	}
	if (type_is(to, TYPE_STRING))
		store_string(l, dst, dst_offset, to, v);
	else if ((type_is(to, TYPE_TUPLE) || type_is(to, TYPE_RECORD)) && to->kind == v->type->kind)
		store_members(l, dst, dst_offset, to, v, at);
	else
		store_plain(l, dst, dst_offset, to, v);
}

struct value lower_materialise(struct lower *l, const struct value *v, struct span at)
{
	struct value ret;
	ir_reg address;

	if (v->kind == VALUE_MEMORY && v->space == SPACE_BPF &&
	    (!type_is(v->type, TYPE_STRING) || v->is_zero_padded))
		return *v;
	lower_slot(l, v->type, "value", &address);
	lower_store_value(l, address, 0, v->type, v, at);
	ret = value_memory(v->type, address, 0, SPACE_BPF);
	ret.is_zero_padded = true;
	ret.length = v->length;
	return ret;
}

/* ---- scalars in memory ---- */

static ir_reg load_scalar(struct lower *l, const struct value *v, u32 size, bool is_signed,
			  struct span at)
{
	static const struct type word = {.kind = TYPE_INT, .size = 8};
	ir_reg slot;

	if (is_local(v->space))
		return ir_load(l->f, v->reg, v->constant, size, is_signed);
	lower_slot(l, &word, "read", &slot);
	lower_helper_error(
		l, v->space == SPACE_USER ? BPF_FUNC_probe_read_user : BPF_FUNC_probe_read_kernel,
		lower_read(l, slot, 0, size, v->reg, v->constant, v->space), at);
	return ir_load(l->f, slot, 0, size, is_signed);
}

/* Of a packed struct: up to nine bytes from the one that the field begins in. */
static ir_reg load_crossing_bits(struct lower *l, const struct value *v, u32 bytes)
{
	static const struct type room = {.kind = TYPE_ARRAY, .size = 16};
	ir_reg slot, low, high;

	lower_slot(l, &room, "bits", &slot);
	ir_zero(l->f, slot, 0, 16);
	if (is_local(v->space))
		ir_copy(l->f, slot, 0, v->reg, v->constant, bytes);
	else
		lower_read(l, slot, 0, bytes, v->reg, v->constant, v->space);
	low = ir_binary_imm(l->f, IR_SHR, ir_load(l->f, slot, 0, 8, false), v->bit_offset);
	if (bytes <= 8)
		return low;
	high = ir_binary_imm(l->f, IR_SHL, ir_load(l->f, slot, 8, 8, false), 64 - v->bit_offset);
	return ir_binary(l->f, IR_OR, low, high);
}

/* With the sign of its declared type, as in C. */
static ir_reg load_bits(struct lower *l, const struct value *v, u32 size, struct span at)
{
	const u32 end = v->bit_offset + v->bit_size;
	const u32 keep = 64 - MIN(v->bit_size, 64u);
	ir_reg r;

	if (end > 8 * size)
		r = load_crossing_bits(l, v, (end + 7) / 8);
	else
		r = ir_binary_imm(l->f, IR_SHR, load_scalar(l, v, size, false, at), v->bit_offset);
	return ir_binary_imm(l->f, v->type->is_signed ? IR_SAR : IR_SHR,
			     ir_binary_imm(l->f, IR_SHL, r, keep), keep);
}

ir_reg lower_to_register(struct lower *l, const struct value *v)
{
	u32 size;

	switch (v->kind) {
	case VALUE_REGISTER:
		return v->reg;
	case VALUE_CONSTANT:
		return ir_const(l->f, v->constant);
	case VALUE_MEMORY:
		size = v->type->size;
		if (size != 1 && size != 2 && size != 4 && size != 8) {
			lower_error(l, l->f->span,
				    "A value of %u bytes can not be used as a number", size);
			return ir_const(l->f, 0);
		}
		if (v->bit_size)
			return load_bits(l, v, size, l->f->span);
		return load_scalar(l, v, size, v->type->is_signed, l->f->span);
	default:
		return ir_const(l->f, 0);
	}
}

struct value lower_fetch(struct lower *l, const struct value *memory)
{
	if (!type_is_scalar(memory->type))
		return *memory;
	return value_register(memory->type, lower_to_register(l, memory));
}

/* ---- comparisons ---- */

static u32 compare_step(s64 a, s64 b, u32 left)
{
	u32 step = 8;

	while (step > left || ((a | b) & (step - 1)))
		step /= 2;
	return step;
}

/* Long: eight bytes a round; what is left over comes after the loop. */
static void compare_long(struct lower *l, ir_reg a, s64 a_offset, ir_reg b, s64 b_offset,
			 u32 rounds, u32 differ)
{
	const u32 head = ir_block_new(l->f, "compare"), next = ir_block_new(l->f, "compare.next"),
		  end = ir_block_new(l->f, "compare.done"),
		  look = ir_block_new(l->f, "compare.look");
	ir_reg i = ir_reg_new(l->f), pa, pb;

	ir_assign_const(l->f, i, 0);
	ir_jump(l->f, head);
	ir_switch_to(l->f, head);
	ir_branch_imm(l->f, IR_LT, i, (s64)rounds * 8, look, end);
	ir_switch_to(l->f, look);
	pa = ir_binary(l->f, IR_ADD, a, i);
	pb = ir_binary(l->f, IR_ADD, b, i);
	ir_branch(l->f, IR_EQ, ir_load(l->f, pa, a_offset, 8, false),
		  ir_load(l->f, pb, b_offset, 8, false), next, differ);
	ir_switch_to(l->f, next);
	ir_assign(l->f, i, ir_binary_imm(l->f, IR_ADD, i, 8));
	ir_jump(l->f, head);
	ir_switch_to(l->f, end);
}

ir_reg lower_compare_memory(struct lower *l, ir_reg a, s64 a_offset, ir_reg b, s64 b_offset,
			    u32 size)
{
	const u32 differ = ir_block_new(l->f, "differ"), end = ir_block_new(l->f, "compared");
	ir_reg result = ir_reg_new(l->f);
	u32 done = 0;

	if (size > 2 * INLINE_BYTES && !((a_offset | b_offset) & 7)) {
		compare_long(l, a, a_offset, b, b_offset, size / 8, differ);
		done = size / 8 * 8;
	}
	while (done < size) {
		const u32 step = compare_step(a_offset + done, b_offset + done, size - done);
		const u32 next = ir_block_new(l->f, "same");

		ir_branch(l->f, IR_EQ, ir_load(l->f, a, a_offset + done, step, false),
			  ir_load(l->f, b, b_offset + done, step, false), next, differ);
		ir_switch_to(l->f, next);
		done += step;
	}
	ir_assign_const(l->f, result, 1);
	ir_jump(l->f, end);
	ir_switch_to(l->f, differ);
	ir_assign_const(l->f, result, 0);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return result;
}

/*
 * Both are padded with zeros: the strings are equal if the bytes of the shorter type are, and the
 * longer one ends there if it had not before (char arrays may have no NUL).
 */
ir_reg lower_compare_strings(struct lower *l, const struct value *a, const struct value *b,
			     u32 limit, struct span at)
{
	const struct value x = lower_materialise(l, a, at), y = lower_materialise(l, b, at);
	const struct value *longer = x.type->size > y.type->size ? &x : &y;
	u32 n = MIN(x.type->size, y.type->size), end, look;
	ir_reg equal;

	if (limit && limit <= n)
		return lower_compare_memory(l, x.reg, x.constant, y.reg, y.constant, limit);
	equal = lower_compare_memory(l, x.reg, x.constant, y.reg, y.constant, n);
	if (longer->type->size == n)
		return equal;
	look = ir_block_new(l->f, "compare.end");
	end = ir_block_new(l->f, "compare.ended");
	ir_branch_imm(l->f, IR_EQ, ir_load(l->f, longer->reg, longer->constant + n, 1, false), 0,
		      end, look);
	ir_switch_to(l->f, look);
	ir_assign_const(l->f, equal, 0);
	ir_jump(l->f, end);
	ir_switch_to(l->f, end);
	return equal;
}
