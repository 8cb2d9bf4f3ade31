/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Constant folding: the arithmetic of the language on values that are known when the script is
 * compiled. */
#include "lang/check/internal.h"

static s64 fold_divide(enum op op, s64 a, s64 b, bool is_signed)
{
	if (!is_signed)
		return op == OP_DIV ? (s64)((u64)a / (u64)b) : (s64)((u64)a % (u64)b);
	if (b == -1) /* INT64_MIN / -1 overflows */
		return op == OP_DIV ? (s64)(0 - (u64)a) : 0;
	return op == OP_DIV ? a / b : a % b;
}

static bool fold_less(s64 a, s64 b, bool is_signed)
{
	return is_signed ? a < b : (u64)a < (u64)b;
}

bool fold_binary(enum op op, s64 a, s64 b, bool is_signed, s64 *ret)
{
	u64 x = (u64)a, y = (u64)b;

	switch (op) {
	case OP_ADD:
		*ret = (s64)(x + y);
		return true;
	case OP_SUB:
		*ret = (s64)(x - y);
		return true;
	case OP_MUL:
		*ret = (s64)(x * y);
		return true;
	case OP_DIV:
	case OP_MOD:
		if (!b)
			return false;
		*ret = fold_divide(op, a, b, is_signed);
		return true;
	case OP_AND:
		*ret = a & b;
		return true;
	case OP_OR:
		*ret = a | b;
		return true;
	case OP_XOR:
		*ret = a ^ b;
		return true;
	case OP_SHL:
		*ret = y > 63 ? 0 : (s64)(x << y);
		return true;
	case OP_SHR:
		*ret = y > 63 ? (is_signed && a < 0 ? -1 : 0) : is_signed ? a >> y : (s64)(x >> y);
		return true;
	case OP_LAND:
		*ret = a && b;
		return true;
	case OP_LOR:
		*ret = a || b;
		return true;
	case OP_EQ:
		*ret = a == b;
		return true;
	case OP_NE:
		*ret = a != b;
		return true;
	case OP_LT:
		*ret = fold_less(a, b, is_signed);
		return true;
	case OP_LE:
		*ret = !fold_less(b, a, is_signed);
		return true;
	case OP_GT:
		*ret = fold_less(b, a, is_signed);
		return true;
	case OP_GE:
		*ret = !fold_less(a, b, is_signed);
		return true;
	default:
		return false;
	}
}

/*
 * AND, OR, XOR and shifts in two's complement; a number above INT64_MAX cannot be combined with a
 * negative one.
 */
static bool fold_bits(enum op op, __int128 a, __int128 b, __int128 *ret)
{
	const bool negative = a < 0 || (b < 0 && op != OP_SHL && op != OP_SHR);
	s64 value;

	if (op == OP_SHL || op == OP_SHR) {
		if (b < 0 || b > 63)
			return false;
	} else if (negative && (a > INT64_MAX || b > INT64_MAX)) {
		return false;
	}
	if (!fold_binary(op, (s64)(u64)a, (s64)(u64)b, negative, &value))
		return false;
	*ret = negative ? (__int128)value : (__int128)(u64)value;
	return true;
}

bool fold_literals(enum op op, __int128 a, __int128 b, __int128 *ret)
{
	switch (op) {
	case OP_ADD:
		*ret = a + b;
		break;
	case OP_SUB:
		*ret = a - b;
		break;
	case OP_MUL:
		if (__builtin_mul_overflow(a, b, ret))
			return false;
		break;
	case OP_DIV:
	case OP_MOD:
		if (!b)
			return false;
		*ret = op == OP_DIV ? a / b : a % b;
		break;
	default:
		if (!fold_bits(op, a, b, ret))
			return false;
	}
	return *ret >= INT64_MIN && *ret <= UINT64_MAX;
}

bool fold_compare(enum op op, __int128 a, __int128 b)
{
	s64 ret = 0;

	fold_binary(op, a < b ? -1 : a > b, 0, true, &ret);
	return ret;
}

s64 fold_convert(s64 value, const struct type *to)
{
	u32 shift;

	if (type_is(to, TYPE_BOOL))
		return value != 0;
	if (to->size == 0 || to->size >= 8)
		return value;
	shift = 64 - 8 * to->size;
	value = (s64)((u64)value << shift);
	return to->is_signed ? value >> shift : (s64)((u64)value >> shift);
}
