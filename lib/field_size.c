// SPDX-License-Identifier: MIT
/* How long a field, and the contexts before the fields, are in an event's bytes. */
#include <errno.h>
#include <pantrace/reader.h>
#include <string.h>

long pantrace_contexts_size(uint64_t mask, const unsigned char *data, size_t size)
{
	static const unsigned char sizes[PANTRACE_CONTEXT_MAX] = {
		[PANTRACE_CONTEXT_VPID] = 4,
		[PANTRACE_CONTEXT_VTID] = 4,
		[PANTRACE_CONTEXT_PROCNAME] = 16,
		[PANTRACE_CONTEXT_CPU_ID] = 4,
		[PANTRACE_CONTEXT_CONTEXT_SWITCHES] = 8,
		[PANTRACE_CONTEXT_PAGE_FAULTS] = 8,
		[PANTRACE_CONTEXT_IP] = 8,
	};
	size_t need = 0;
	uint16_t n;

	for (; mask; mask &= mask - 1) {
		const int context = __builtin_ctzll(mask);

		if (context != PANTRACE_CONTEXT_USER_STACK) {
			need += sizes[context];
			continue;
		}
		if (size < 2 || need > size - 2)
			return -EBADMSG;
		memcpy(&n, data + need, 2);
		need += 2 + 8 * (size_t)n;
	}
	return need > size ? -EBADMSG : (long)need;
}

long pantrace_field_size(const struct pantrace_field_type *field, const unsigned char *data,
			 size_t size)
{
	static const unsigned char sizes[PANTRACE_T_STRING] = {
		[PANTRACE_T_I8] = 1,  [PANTRACE_T_U8] = 1,  [PANTRACE_T_I16] = 2,
		[PANTRACE_T_U16] = 2, [PANTRACE_T_I32] = 4, [PANTRACE_T_U32] = 4,
		[PANTRACE_T_I64] = 8, [PANTRACE_T_U64] = 8, [PANTRACE_T_F32] = 4,
		[PANTRACE_T_F64] = 8, [PANTRACE_T_PTR] = 8, [PANTRACE_T_BOOL] = 1,
	};
	const unsigned char type = field->type & (unsigned char)~PANTRACE_T_HEX,
			    kind = type & PANTRACE_T_KIND, element = type & PANTRACE_T_ELEMENT;
	const size_t one = element < PANTRACE_T_STRING ? sizes[element] : 0;
	size_t need;
	uint16_t n;

	if (type != field->type && (kind == PANTRACE_T_ENUM || element > PANTRACE_T_U64 || !one))
		return -EBADMSG;
	if (kind == PANTRACE_T_ARRAY && one) {
		need = one * field->count;
	} else if (kind == PANTRACE_T_ENUM && one) {
		need = one;
	} else if (type == PANTRACE_T_STRUCT || type == PANTRACE_T_STRUCT_END) {
		need = 0;
	} else if (!kind && one) {
		need = one;
	} else if (type == PANTRACE_T_STRING) {
		const unsigned char *end = memchr(data, 0, size);

		if (!end)
			return -EBADMSG;
		need = (size_t)(end - data) + 1;
	} else if (type == PANTRACE_T_TEXT ||
		   (kind == PANTRACE_T_SEQUENCE && one && element <= PANTRACE_T_F64)) {
		if (size < 2)
			return -EBADMSG;
		memcpy(&n, data, 2);
		need = 2 + (size_t)n * (type == PANTRACE_T_TEXT ? 1 : one);
	} else {
		return -EBADMSG;
	}
	return need > size ? -EBADMSG : (long)need;
}
