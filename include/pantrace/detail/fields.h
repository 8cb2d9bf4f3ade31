/* SPDX-License-Identifier: MIT */
/* How a value of each type is stored in a record: shared by C and C++. Included by pantrace.h. */
#ifndef PANTRACE_DETAIL_FIELDS_H
#define PANTRACE_DETAIL_FIELDS_H
#pragma GCC system_header

#define PT_STORE_(suffix, type)                                                                 \
	static inline __attribute__((always_inline, unused)) unsigned char *pt_put_##suffix##_( \
		unsigned char *to, unsigned char *end, type value)                              \
	{                                                                                       \
		(void)end;                                                                      \
		__builtin_memcpy(to, &value, sizeof(value));                                    \
		return to + sizeof(value);                                                      \
	}
PT_STORE_(i8, signed char)
PT_STORE_(u8, unsigned char)
PT_STORE_(i16, short)
PT_STORE_(u16, unsigned short)
PT_STORE_(i32, int)
PT_STORE_(u32, unsigned int)
PT_STORE_(i64, long long)
PT_STORE_(u64, unsigned long long)
PT_STORE_(f32, float)
PT_STORE_(f64, double)
#ifdef __cplusplus
PT_STORE_(bool, bool)
#else
PT_STORE_(bool, _Bool)
#endif
PT_STORE_(ptr, const volatile void *)

static inline __attribute__((always_inline, unused)) unsigned char *
pt_put_text_(unsigned char *to, unsigned char *end, struct pantrace_text_ value)
{
	return pantrace_put_text(to, end, value.text, value.size);
}

static inline __attribute__((always_inline, unused)) struct pantrace_text_
pt_make_text_(const char *text, size_t n)
{
	struct pantrace_text_ value = {text, n};
	return value;
}

#define PT_SEQUENCE_(suffix, bytes)                                                             \
	struct pt_seq_##suffix##_ {                                                             \
		const void *from;                                                               \
		size_t n;                                                                       \
	};                                                                                      \
	static inline __attribute__((                                                           \
		always_inline,                                                                  \
		unused)) struct pt_seq_##suffix##_ pt_make_##suffix##_(const void *from,        \
								       size_t n) {              \
		struct pt_seq_##suffix##_ value = {from, n};                                    \
		return value;                                                                   \
	} static inline                                                                         \
		__attribute__((always_inline, unused)) unsigned char *pt_put_seq_##suffix##_(   \
			unsigned char *to, unsigned char *end, struct pt_seq_##suffix##_ value) \
	{                                                                                       \
		return pantrace_put_sequence(to, end, value.from, value.n, bytes);              \
	}
PT_SEQUENCE_(i8, 1)
PT_SEQUENCE_(u8, 1)
PT_SEQUENCE_(i16, 2)
PT_SEQUENCE_(u16, 2)
PT_SEQUENCE_(i32, 4)
PT_SEQUENCE_(u32, 4)
PT_SEQUENCE_(i64, 8)
PT_SEQUENCE_(u64, 8)
PT_SEQUENCE_(f32, 4)
PT_SEQUENCE_(f64, 8)

#endif
