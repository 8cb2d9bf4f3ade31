/* SPDX-License-Identifier: MIT */
/* Fields by the type of their expression: C, by _Generic. Included by pantrace.h. */
#ifndef PANTRACE_DETAIL_FIELDS_C_H
#define PANTRACE_DETAIL_FIELDS_C_H
#pragma GCC system_header

/* clang-format off */
#define PT_TYPE_(x) _Generic((x), \
	char: PANTRACE_T_I8, signed char: PANTRACE_T_I8, unsigned char: PANTRACE_T_U8, \
	short: PANTRACE_T_I16, unsigned short: PANTRACE_T_U16, int: PANTRACE_T_I32, \
	unsigned int: PANTRACE_T_U32, long: PANTRACE_T_I64, long long: PANTRACE_T_I64, \
	unsigned long: PANTRACE_T_U64, unsigned long long: PANTRACE_T_U64, float: PANTRACE_T_F32, \
	double: PANTRACE_T_F64, _Bool: PANTRACE_T_BOOL, char *: PANTRACE_T_STRING, \
	const char *: PANTRACE_T_STRING, struct pantrace_text_: PANTRACE_T_TEXT, \
	struct pt_seq_i8_: PANTRACE_T_SEQUENCE | PANTRACE_T_I8, \
	struct pt_seq_u8_: PANTRACE_T_SEQUENCE | PANTRACE_T_U8, \
	struct pt_seq_i16_: PANTRACE_T_SEQUENCE | PANTRACE_T_I16, \
	struct pt_seq_u16_: PANTRACE_T_SEQUENCE | PANTRACE_T_U16, \
	struct pt_seq_i32_: PANTRACE_T_SEQUENCE | PANTRACE_T_I32, \
	struct pt_seq_u32_: PANTRACE_T_SEQUENCE | PANTRACE_T_U32, \
	struct pt_seq_i64_: PANTRACE_T_SEQUENCE | PANTRACE_T_I64, \
	struct pt_seq_u64_: PANTRACE_T_SEQUENCE | PANTRACE_T_U64, \
	struct pt_seq_f32_: PANTRACE_T_SEQUENCE | PANTRACE_T_F32, \
	struct pt_seq_f64_: PANTRACE_T_SEQUENCE | PANTRACE_T_F64, \
	default: PANTRACE_T_PTR)
#define PT_PUT_FN_(x) _Generic((x), \
	char: pt_put_i8_, signed char: pt_put_i8_, unsigned char: pt_put_u8_, \
	short: pt_put_i16_, unsigned short: pt_put_u16_, int: pt_put_i32_, \
	unsigned int: pt_put_u32_, long: pt_put_i64_, long long: pt_put_i64_, \
	unsigned long: pt_put_u64_, unsigned long long: pt_put_u64_, float: pt_put_f32_, \
	double: pt_put_f64_, _Bool: pt_put_bool_, char *: pantrace_put_string, \
	const char *: pantrace_put_string, struct pantrace_text_: pt_put_text_, \
	struct pt_seq_i8_: pt_put_seq_i8_, \
	struct pt_seq_u8_: pt_put_seq_u8_, struct pt_seq_i16_: pt_put_seq_i16_, \
	struct pt_seq_u16_: pt_put_seq_u16_, \
	struct pt_seq_i32_: pt_put_seq_i32_, struct pt_seq_u32_: pt_put_seq_u32_, \
	struct pt_seq_i64_: pt_put_seq_i64_, \
	struct pt_seq_u64_: pt_put_seq_u64_, struct pt_seq_f32_: pt_put_seq_f32_, \
	struct pt_seq_f64_: pt_put_seq_f64_, \
	default: pt_put_ptr_)
#define PT_VARIES_(x) _Generic((x), \
	char *: 1, const char *: 1, struct pantrace_text_: 1, struct pt_seq_i8_: 1, \
	struct pt_seq_u8_: 1, struct pt_seq_i16_: 1, struct pt_seq_u16_: 1, struct pt_seq_i32_: 1, \
	struct pt_seq_u32_: 1, struct pt_seq_i64_: 1, struct pt_seq_u64_: 1, \
	struct pt_seq_f32_: 1, \
	struct pt_seq_f64_: 1, default: 0)
#define PT_STRN(s, n) pt_make_text_((s), (size_t)(n))
#define PT_SEQ(p, n) _Generic((p), \
	char *: pt_make_i8_, const char *: pt_make_i8_, \
	signed char *: pt_make_i8_, const signed char *: pt_make_i8_, \
	unsigned char *: pt_make_u8_, const unsigned char *: pt_make_u8_, \
	short *: pt_make_i16_, const short *: pt_make_i16_, \
	unsigned short *: pt_make_u16_, const unsigned short *: pt_make_u16_, \
	int *: pt_make_i32_, const int *: pt_make_i32_, \
	unsigned int *: pt_make_u32_, const unsigned int *: pt_make_u32_, \
	long *: pt_make_i64_, const long *: pt_make_i64_, \
	long long *: pt_make_i64_, const long long *: pt_make_i64_, \
	unsigned long *: pt_make_u64_, const unsigned long *: pt_make_u64_, \
	unsigned long long *: pt_make_u64_, const unsigned long long *: pt_make_u64_, \
	float *: pt_make_f32_, const float *: pt_make_f32_, \
	double *: pt_make_f64_, const double *: pt_make_f64_)((p), (size_t)(n))
/* clang-format on */
#define PT_PUT_(x) pt_to_ = PT_PUT_FN_(x)(pt_to_, pt_end_, (x));
/* a pointer has no length: an array of -1 characters refuses it */
#define PT_LENGTH_(a)                 \
	(sizeof(a) / sizeof((a)[0]) * \
	 sizeof(char[1 - 2 * !!__builtin_types_compatible_p(__typeof__(a), __typeof__(&(a)[0]))]))

#endif
