// SPDX-License-Identifier: MIT
/*
 * Fields of varying length on their way into a record: strings, bytes, sequences, formatted text.
 */
#include "internal.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <x86intrin.h>

/*
 * Sixteen bytes, which are on one page: where the NUL among them was put, or NULL. (Assembly,
 * because the load is meant to go past the end of the string.)
 */
static inline __attribute__((always_inline)) unsigned char *put_sixteen(unsigned char *to,
									const char *from)
{
	__m128i bytes;
	int zeros;

	__asm__("movdqu %1, %0" : "=x"(bytes) : "m"(*(const char(*)[16])from));
	_mm_storeu_si128((__m128i *)to, bytes);
	zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
	return zeros ? to + __builtin_ctz((unsigned int)zeros) : NULL;
}

/*
 * In one pass: another thread may change the string meanwhile; the copy always ends with its own
 * NUL. Bytes after the NUL are overwritten by the next field.
 */
unsigned char *pantrace_put_string(unsigned char *to, unsigned char *end, const char *string)
{
	const char *from = string ? string : "(null)";
	unsigned char *nul;

	while (end - to >= 32 && ((uintptr_t)from & 4095) <= 4096 - 32) {
		nul = put_sixteen(to, from);
		if (nul)
			return nul + 1;
		nul = put_sixteen(to + 16, from + 16);
		if (nul)
			return nul + 1;
		to += 32;
		from += 32;
	}
	while (end - to >= 16 && ((uintptr_t)from & 4095) <= 4096 - 16) {
		nul = put_sixteen(to, from);
		if (nul)
			return nul + 1;
		to += 16;
		from += 16;
	}
	while (to < end) {
		const unsigned char c = (unsigned char)*from++;

		*to++ = c;
		if (!c)
			return to;
	}
	*to++ = 0;
	return to;
}

unsigned char *pantrace_put_text(unsigned char *to, unsigned char *end, const char *text, size_t n)
{
	const size_t room = to + 2 < end ? (size_t)(end - to - 2) : 0;

	return pantrace_put_sequence(to, end, text, text ? strnlen(text, n < room ? n : room) : 0,
				     1);
}

unsigned char *pantrace_put_sequence(unsigned char *to, unsigned char *end, const void *from,
				     size_t n, size_t element)
{
	const size_t room = to + 2 < end ? (size_t)(end - to - 2) / element : 0;
	uint16_t count;

	if (!from)
		n = 0;
	if (n > room)
		n = room;
	if (n > UINT16_MAX)
		n = UINT16_MAX;
	count = (uint16_t)n;
	memcpy(to, &count, 2);
	memcpy(to + 2, from ? from : "", n * element);
	return to + 2 + n * element;
}

unsigned char *pantrace_put_vformat(unsigned char *to, unsigned char *end, const char *format,
				    va_list arguments)
{
	const int saved = errno;
	const int n = vsnprintf((char *)to, (size_t)(end - to), format, arguments);

	errno = saved;
	if (n < 0)
		*to = 0;
	return n < 0 ? to + 1 : n < end - to ? to + n + 1 : end;
}

unsigned char *pantrace_put_format(unsigned char *to, unsigned char *end, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	to = pantrace_put_vformat(to, end, format, arguments);
	va_end(arguments);
	return to;
}
