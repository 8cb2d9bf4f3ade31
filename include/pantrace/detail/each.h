/* SPDX-License-Identifier: MIT */
/*
 * Macros over arguments: for each of up to 16, in three copies, for a macro does not expand within
 * itself. Included by pantrace.h.
 */
#ifndef PANTRACE_DETAIL_EACH_H
#define PANTRACE_DETAIL_EACH_H
#pragma GCC system_header

/* clang-format off */
#define PT_PASTE_(a, b)	 a##b
#define PT_PASTE2_(a, b) PT_PASTE_(a, b)
#define PT_PICK_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, \
	a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, \
	a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, \
	a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, n, ...) n
#define PT_COUNT_(...)	 PT_PICK_(__VA_ARGS__, 64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, \
	52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, \
	30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, \
	8, 7, 6, 5, 4, 3, 2, 1, 0)

/* PLAIN for an expression, SPECIAL for what begins with (): no C or C++ expression does. */
#define PT_SECOND_(a, b, ...)  b
#define PT_SECOND2_(...)       PT_SECOND_(__VA_ARGS__)
#define PT_CHOOSE_(a, b, ...)  b
#define PT_CHOOSE2_(...)       PT_CHOOSE_(__VA_ARGS__)
#define PT_EMPTY_YES_()	       ~, SPECIAL_,
#define PT_EMPTY_NO_()	       ~
#define PT_ASK_EMPTY_(...)     PT_CHOOSE2_(~ __VA_OPT__(, PT_EMPTY_NO_), PT_EMPTY_YES_, ~)()
#define PT_KIND_(x)	       PT_SECOND2_(PT_ASK_EMPTY_ x, PLAIN_, ~)
#define PT_STRIP_()
#define PT_OPEN_(...)	       __VA_ARGS__

/* PT_HEX(x): of an expression, or of PT_ARRAY(a), which has been expanded by then. */
#define PT_HEX_OF_PLAIN_(x)	       () (HEX_, x)
#define PT_HEX_OF_SPECIAL_(x)	       PT_HEX_OF_TUPLE_(PT_STRIP_ x)
#define PT_HEX_OF_TUPLE_(tuple)	       () PT_HEX_OF_KIND_ tuple
#define PT_HEX_OF_KIND_(kind, ...)     (HEX_##kind, __VA_ARGS__)

#define PT_DISPATCH1_(m, kind, x)	PT_PASTE2_(PT_DISPATCH1_, kind)(m, x)
#define PT_DISPATCH1_PLAIN_(m, x)	m##PLAIN_(x)
#define PT_DISPATCH1_SPECIAL_(m, x)	PT_SPECIAL1_(m, PT_STRIP_ x)
#define PT_SPECIAL1_(m, tuple)	PT_SPECIAL1B_(m, PT_OPEN_ tuple)
#define PT_SPECIAL1B_(m, ...)		PT_SPECIAL1C_(m, __VA_ARGS__)
#define PT_SPECIAL1C_(m, kind, ...)	m##kind(__VA_ARGS__)

#define PT_DISPATCH2_(m, kind, x)	PT_PASTE2_(PT_DISPATCH2_, kind)(m, x)
#define PT_DISPATCH2_PLAIN_(m, x)	m##PLAIN_(x)
#define PT_DISPATCH2_SPECIAL_(m, x)	PT_SPECIAL2_(m, PT_STRIP_ x)
#define PT_SPECIAL2_(m, tuple)	PT_SPECIAL2B_(m, PT_OPEN_ tuple)
#define PT_SPECIAL2B_(m, ...)		PT_SPECIAL2C_(m, __VA_ARGS__)
#define PT_SPECIAL2C_(m, kind, ...)	m##kind(__VA_ARGS__)

#define PT_DISPATCH3_(m, kind, x)	PT_PASTE2_(PT_DISPATCH3_, kind)(m, x)
#define PT_DISPATCH3_PLAIN_(m, x)	m##PLAIN_(x)
#define PT_DISPATCH3_SPECIAL_(m, x)	PT_SPECIAL3_(m, PT_STRIP_ x)
#define PT_SPECIAL3_(m, tuple)	PT_SPECIAL3B_(m, PT_OPEN_ tuple)
#define PT_SPECIAL3B_(m, ...)		PT_SPECIAL3C_(m, __VA_ARGS__)
#define PT_SPECIAL3C_(m, kind, ...)	m##kind(__VA_ARGS__)
#define PT_EACH_1(m, x)	 m(x)
#define PT_EACH_2(m, x, ...) m(x) PT_EACH_1(m, __VA_ARGS__)
#define PT_EACH_3(m, x, ...) m(x) PT_EACH_2(m, __VA_ARGS__)
#define PT_EACH_4(m, x, ...) m(x) PT_EACH_3(m, __VA_ARGS__)
#define PT_EACH_5(m, x, ...) m(x) PT_EACH_4(m, __VA_ARGS__)
#define PT_EACH_6(m, x, ...) m(x) PT_EACH_5(m, __VA_ARGS__)
#define PT_EACH_7(m, x, ...) m(x) PT_EACH_6(m, __VA_ARGS__)
#define PT_EACH_8(m, x, ...) m(x) PT_EACH_7(m, __VA_ARGS__)
#define PT_EACH_9(m, x, ...) m(x) PT_EACH_8(m, __VA_ARGS__)
#define PT_EACH_10(m, x, ...) m(x) PT_EACH_9(m, __VA_ARGS__)
#define PT_EACH_11(m, x, ...) m(x) PT_EACH_10(m, __VA_ARGS__)
#define PT_EACH_12(m, x, ...) m(x) PT_EACH_11(m, __VA_ARGS__)
#define PT_EACH_13(m, x, ...) m(x) PT_EACH_12(m, __VA_ARGS__)
#define PT_EACH_14(m, x, ...) m(x) PT_EACH_13(m, __VA_ARGS__)
#define PT_EACH_15(m, x, ...) m(x) PT_EACH_14(m, __VA_ARGS__)
#define PT_EACH_16(m, x, ...) m(x) PT_EACH_15(m, __VA_ARGS__)
#define PT_EACH_(m, ...) __VA_OPT__(PT_PASTE2_(PT_EACH_, PT_COUNT_(__VA_ARGS__))(m, __VA_ARGS__))

#define PT_EACH2_1(m, x)	 m(x)
#define PT_EACH2_2(m, x, ...) m(x) PT_EACH2_1(m, __VA_ARGS__)
#define PT_EACH2_3(m, x, ...) m(x) PT_EACH2_2(m, __VA_ARGS__)
#define PT_EACH2_4(m, x, ...) m(x) PT_EACH2_3(m, __VA_ARGS__)
#define PT_EACH2_5(m, x, ...) m(x) PT_EACH2_4(m, __VA_ARGS__)
#define PT_EACH2_6(m, x, ...) m(x) PT_EACH2_5(m, __VA_ARGS__)
#define PT_EACH2_7(m, x, ...) m(x) PT_EACH2_6(m, __VA_ARGS__)
#define PT_EACH2_8(m, x, ...) m(x) PT_EACH2_7(m, __VA_ARGS__)
#define PT_EACH2_9(m, x, ...) m(x) PT_EACH2_8(m, __VA_ARGS__)
#define PT_EACH2_10(m, x, ...) m(x) PT_EACH2_9(m, __VA_ARGS__)
#define PT_EACH2_11(m, x, ...) m(x) PT_EACH2_10(m, __VA_ARGS__)
#define PT_EACH2_12(m, x, ...) m(x) PT_EACH2_11(m, __VA_ARGS__)
#define PT_EACH2_13(m, x, ...) m(x) PT_EACH2_12(m, __VA_ARGS__)
#define PT_EACH2_14(m, x, ...) m(x) PT_EACH2_13(m, __VA_ARGS__)
#define PT_EACH2_15(m, x, ...) m(x) PT_EACH2_14(m, __VA_ARGS__)
#define PT_EACH2_16(m, x, ...) m(x) PT_EACH2_15(m, __VA_ARGS__)
#define PT_EACH2_(m, ...) __VA_OPT__(PT_PASTE2_(PT_EACH2_, PT_COUNT_(__VA_ARGS__))(m, __VA_ARGS__))

#define PT_EACH3_1(m, x)	 m(x)
#define PT_EACH3_2(m, x, ...) m(x) PT_EACH3_1(m, __VA_ARGS__)
#define PT_EACH3_3(m, x, ...) m(x) PT_EACH3_2(m, __VA_ARGS__)
#define PT_EACH3_4(m, x, ...) m(x) PT_EACH3_3(m, __VA_ARGS__)
#define PT_EACH3_5(m, x, ...) m(x) PT_EACH3_4(m, __VA_ARGS__)
#define PT_EACH3_6(m, x, ...) m(x) PT_EACH3_5(m, __VA_ARGS__)
#define PT_EACH3_7(m, x, ...) m(x) PT_EACH3_6(m, __VA_ARGS__)
#define PT_EACH3_8(m, x, ...) m(x) PT_EACH3_7(m, __VA_ARGS__)
#define PT_EACH3_9(m, x, ...) m(x) PT_EACH3_8(m, __VA_ARGS__)
#define PT_EACH3_10(m, x, ...) m(x) PT_EACH3_9(m, __VA_ARGS__)
#define PT_EACH3_11(m, x, ...) m(x) PT_EACH3_10(m, __VA_ARGS__)
#define PT_EACH3_12(m, x, ...) m(x) PT_EACH3_11(m, __VA_ARGS__)
#define PT_EACH3_13(m, x, ...) m(x) PT_EACH3_12(m, __VA_ARGS__)
#define PT_EACH3_14(m, x, ...) m(x) PT_EACH3_13(m, __VA_ARGS__)
#define PT_EACH3_15(m, x, ...) m(x) PT_EACH3_14(m, __VA_ARGS__)
#define PT_EACH3_16(m, x, ...) m(x) PT_EACH3_15(m, __VA_ARGS__)
#define PT_EACH3_(m, ...) __VA_OPT__(PT_PASTE2_(PT_EACH3_, PT_COUNT_(__VA_ARGS__))(m, __VA_ARGS__))

#define PT_ENUM_EACH_1(m, x)	 m(x)
#define PT_ENUM_EACH_2(m, x, ...) m(x) PT_ENUM_EACH_1(m, __VA_ARGS__)
#define PT_ENUM_EACH_3(m, x, ...) m(x) PT_ENUM_EACH_2(m, __VA_ARGS__)
#define PT_ENUM_EACH_4(m, x, ...) m(x) PT_ENUM_EACH_3(m, __VA_ARGS__)
#define PT_ENUM_EACH_5(m, x, ...) m(x) PT_ENUM_EACH_4(m, __VA_ARGS__)
#define PT_ENUM_EACH_6(m, x, ...) m(x) PT_ENUM_EACH_5(m, __VA_ARGS__)
#define PT_ENUM_EACH_7(m, x, ...) m(x) PT_ENUM_EACH_6(m, __VA_ARGS__)
#define PT_ENUM_EACH_8(m, x, ...) m(x) PT_ENUM_EACH_7(m, __VA_ARGS__)
#define PT_ENUM_EACH_9(m, x, ...) m(x) PT_ENUM_EACH_8(m, __VA_ARGS__)
#define PT_ENUM_EACH_10(m, x, ...) m(x) PT_ENUM_EACH_9(m, __VA_ARGS__)
#define PT_ENUM_EACH_11(m, x, ...) m(x) PT_ENUM_EACH_10(m, __VA_ARGS__)
#define PT_ENUM_EACH_12(m, x, ...) m(x) PT_ENUM_EACH_11(m, __VA_ARGS__)
#define PT_ENUM_EACH_13(m, x, ...) m(x) PT_ENUM_EACH_12(m, __VA_ARGS__)
#define PT_ENUM_EACH_14(m, x, ...) m(x) PT_ENUM_EACH_13(m, __VA_ARGS__)
#define PT_ENUM_EACH_15(m, x, ...) m(x) PT_ENUM_EACH_14(m, __VA_ARGS__)
#define PT_ENUM_EACH_16(m, x, ...) m(x) PT_ENUM_EACH_15(m, __VA_ARGS__)
#define PT_ENUM_EACH_17(m, x, ...) m(x) PT_ENUM_EACH_16(m, __VA_ARGS__)
#define PT_ENUM_EACH_18(m, x, ...) m(x) PT_ENUM_EACH_17(m, __VA_ARGS__)
#define PT_ENUM_EACH_19(m, x, ...) m(x) PT_ENUM_EACH_18(m, __VA_ARGS__)
#define PT_ENUM_EACH_20(m, x, ...) m(x) PT_ENUM_EACH_19(m, __VA_ARGS__)
#define PT_ENUM_EACH_21(m, x, ...) m(x) PT_ENUM_EACH_20(m, __VA_ARGS__)
#define PT_ENUM_EACH_22(m, x, ...) m(x) PT_ENUM_EACH_21(m, __VA_ARGS__)
#define PT_ENUM_EACH_23(m, x, ...) m(x) PT_ENUM_EACH_22(m, __VA_ARGS__)
#define PT_ENUM_EACH_24(m, x, ...) m(x) PT_ENUM_EACH_23(m, __VA_ARGS__)
#define PT_ENUM_EACH_25(m, x, ...) m(x) PT_ENUM_EACH_24(m, __VA_ARGS__)
#define PT_ENUM_EACH_26(m, x, ...) m(x) PT_ENUM_EACH_25(m, __VA_ARGS__)
#define PT_ENUM_EACH_27(m, x, ...) m(x) PT_ENUM_EACH_26(m, __VA_ARGS__)
#define PT_ENUM_EACH_28(m, x, ...) m(x) PT_ENUM_EACH_27(m, __VA_ARGS__)
#define PT_ENUM_EACH_29(m, x, ...) m(x) PT_ENUM_EACH_28(m, __VA_ARGS__)
#define PT_ENUM_EACH_30(m, x, ...) m(x) PT_ENUM_EACH_29(m, __VA_ARGS__)
#define PT_ENUM_EACH_31(m, x, ...) m(x) PT_ENUM_EACH_30(m, __VA_ARGS__)
#define PT_ENUM_EACH_32(m, x, ...) m(x) PT_ENUM_EACH_31(m, __VA_ARGS__)
#define PT_ENUM_EACH_33(m, x, ...) m(x) PT_ENUM_EACH_32(m, __VA_ARGS__)
#define PT_ENUM_EACH_34(m, x, ...) m(x) PT_ENUM_EACH_33(m, __VA_ARGS__)
#define PT_ENUM_EACH_35(m, x, ...) m(x) PT_ENUM_EACH_34(m, __VA_ARGS__)
#define PT_ENUM_EACH_36(m, x, ...) m(x) PT_ENUM_EACH_35(m, __VA_ARGS__)
#define PT_ENUM_EACH_37(m, x, ...) m(x) PT_ENUM_EACH_36(m, __VA_ARGS__)
#define PT_ENUM_EACH_38(m, x, ...) m(x) PT_ENUM_EACH_37(m, __VA_ARGS__)
#define PT_ENUM_EACH_39(m, x, ...) m(x) PT_ENUM_EACH_38(m, __VA_ARGS__)
#define PT_ENUM_EACH_40(m, x, ...) m(x) PT_ENUM_EACH_39(m, __VA_ARGS__)
#define PT_ENUM_EACH_41(m, x, ...) m(x) PT_ENUM_EACH_40(m, __VA_ARGS__)
#define PT_ENUM_EACH_42(m, x, ...) m(x) PT_ENUM_EACH_41(m, __VA_ARGS__)
#define PT_ENUM_EACH_43(m, x, ...) m(x) PT_ENUM_EACH_42(m, __VA_ARGS__)
#define PT_ENUM_EACH_44(m, x, ...) m(x) PT_ENUM_EACH_43(m, __VA_ARGS__)
#define PT_ENUM_EACH_45(m, x, ...) m(x) PT_ENUM_EACH_44(m, __VA_ARGS__)
#define PT_ENUM_EACH_46(m, x, ...) m(x) PT_ENUM_EACH_45(m, __VA_ARGS__)
#define PT_ENUM_EACH_47(m, x, ...) m(x) PT_ENUM_EACH_46(m, __VA_ARGS__)
#define PT_ENUM_EACH_48(m, x, ...) m(x) PT_ENUM_EACH_47(m, __VA_ARGS__)
#define PT_ENUM_EACH_49(m, x, ...) m(x) PT_ENUM_EACH_48(m, __VA_ARGS__)
#define PT_ENUM_EACH_50(m, x, ...) m(x) PT_ENUM_EACH_49(m, __VA_ARGS__)
#define PT_ENUM_EACH_51(m, x, ...) m(x) PT_ENUM_EACH_50(m, __VA_ARGS__)
#define PT_ENUM_EACH_52(m, x, ...) m(x) PT_ENUM_EACH_51(m, __VA_ARGS__)
#define PT_ENUM_EACH_53(m, x, ...) m(x) PT_ENUM_EACH_52(m, __VA_ARGS__)
#define PT_ENUM_EACH_54(m, x, ...) m(x) PT_ENUM_EACH_53(m, __VA_ARGS__)
#define PT_ENUM_EACH_55(m, x, ...) m(x) PT_ENUM_EACH_54(m, __VA_ARGS__)
#define PT_ENUM_EACH_56(m, x, ...) m(x) PT_ENUM_EACH_55(m, __VA_ARGS__)
#define PT_ENUM_EACH_57(m, x, ...) m(x) PT_ENUM_EACH_56(m, __VA_ARGS__)
#define PT_ENUM_EACH_58(m, x, ...) m(x) PT_ENUM_EACH_57(m, __VA_ARGS__)
#define PT_ENUM_EACH_59(m, x, ...) m(x) PT_ENUM_EACH_58(m, __VA_ARGS__)
#define PT_ENUM_EACH_60(m, x, ...) m(x) PT_ENUM_EACH_59(m, __VA_ARGS__)
#define PT_ENUM_EACH_61(m, x, ...) m(x) PT_ENUM_EACH_60(m, __VA_ARGS__)
#define PT_ENUM_EACH_62(m, x, ...) m(x) PT_ENUM_EACH_61(m, __VA_ARGS__)
#define PT_ENUM_EACH_63(m, x, ...) m(x) PT_ENUM_EACH_62(m, __VA_ARGS__)
#define PT_ENUM_EACH_64(m, x, ...) m(x) PT_ENUM_EACH_63(m, __VA_ARGS__)
#define PT_ENUM_EACH_(m, ...) __VA_OPT__(PT_PASTE2_(PT_ENUM_EACH_, PT_COUNT_(__VA_ARGS__))(m, \
	__VA_ARGS__))

/* Names are for integers: an array of -1 characters refuses anything else. */
#define PT_INTEGER_(type)                                                                          \
	((type) * (int)sizeof(char[(type) <= (int)PANTRACE_T_U64 || \
	(type) == (int)PANTRACE_T_BOOL ? 1 : -1]))

/* Base 16 is for integers, and sequences of them; a pointer has it anyway. */
#define PT_HEX_TYPE_(type)                                                                         \
	(unsigned char)((type) == (int)PANTRACE_T_PTR || (type) == (int)PANTRACE_T_BOOL            \
				? (type)                                                           \
				: ((type) | (int)PANTRACE_T_HEX) *                                 \
					  (int)sizeof(char[PT_HAS_BASE_(type) ? 1 : -1]))
#define PT_HAS_BASE_(type)                                                                         \
	(((type) & (int)PANTRACE_T_ELEMENT) <= (int)PANTRACE_T_U64 ||                              \
	 (type) == (int)PANTRACE_T_PTR || (type) == (int)PANTRACE_T_BOOL)

/*
 * What is asked of each field: bytes of its type; its enum; the bytes that it takes at most,
 * without those of varying length; whether it has those; to store it.
 */
#define PT_TYPE1_(x) PT_DISPATCH1_(PT_TYPE1_, PT_KIND_(x), x)
#define PT_ENUMS1_(x) PT_DISPATCH1_(PT_ENUMS1_, PT_KIND_(x), x)
#define PT_FIXED1_(x) PT_DISPATCH1_(PT_FIXED1_, PT_KIND_(x), x)
#define PT_VARY1_(x) PT_DISPATCH1_(PT_VARY1_, PT_KIND_(x), x)
#define PT_STORE1_(x) PT_DISPATCH1_(PT_STORE1_, PT_KIND_(x), x)
#define PT_TYPE1_PLAIN_(x)	 (unsigned char)PT_TYPE_(x),
#define PT_ENUMS1_PLAIN_(x)
#define PT_FIXED1_PLAIN_(x)	 +8
#define PT_VARY1_PLAIN_(x)	 +PT_VARIES_(x)
#define PT_STORE1_PLAIN_(x)	 PT_PUT_(x)
#define PT_TYPE1_ENUM_(e, x)	 (unsigned char)(PANTRACE_T_ENUM | PT_INTEGER_((int)PT_TYPE_(x))),
#define PT_ENUMS1_ENUM_(e, x)	 &e,
#define PT_FIXED1_ENUM_(e, x)	 +8
#define PT_VARY1_ENUM_(e, x)
#define PT_STORE1_ENUM_(e, x)	 PT_PUT_(x)
#define PT_TYPE1_HEX_(x)	 PT_HEX_TYPE_((int)PT_TYPE_(x)),
#define PT_ENUMS1_HEX_(x)
#define PT_FIXED1_HEX_(x)	 +8
#define PT_VARY1_HEX_(x)	 +PT_VARIES_(x)
#define PT_STORE1_HEX_(x)	 PT_PUT_(x)
#define PT_TYPE1_ARRAY_(a)	 (unsigned char)(PANTRACE_T_ARRAY | PT_TYPE_((a)[0])), \
	(unsigned char)(PT_LENGTH_(a) & 255), (unsigned char)(PT_LENGTH_(a) >> 8),
#define PT_ENUMS1_ARRAY_(a)
#define PT_FIXED1_ARRAY_(a)	 +sizeof(a) + 0 * sizeof(char[PT_LENGTH_(a) < 65536 ? 1 : -1])
#define PT_VARY1_ARRAY_(a)
#define PT_STORE1_ARRAY_(a)	 __builtin_memcpy(pt_to_, &(a)[0], sizeof(a)), pt_to_ += sizeof(a);
#define PT_TYPE1_HEX_ARRAY_(a)	 PT_HEX_TYPE_((int)(PANTRACE_T_ARRAY | PT_TYPE_((a)[0]))), \
	(unsigned char)(PT_LENGTH_(a) & 255), (unsigned char)(PT_LENGTH_(a) >> 8),
#define PT_ENUMS1_HEX_ARRAY_(a)
#define PT_FIXED1_HEX_ARRAY_(a)	 PT_FIXED1_ARRAY_(a)
#define PT_VARY1_HEX_ARRAY_(a)
#define PT_STORE1_HEX_ARRAY_(a)	 PT_STORE1_ARRAY_(a)
#define PT_TYPE1_STRUCT_(...)	 PANTRACE_T_STRUCT, PT_EACH2_(PT_TYPE2_, \
	__VA_ARGS__) PANTRACE_T_STRUCT_END,
#define PT_ENUMS1_STRUCT_(...) PT_EACH2_(PT_ENUMS2_, __VA_ARGS__)
#define PT_FIXED1_STRUCT_(...) PT_EACH2_(PT_FIXED2_, __VA_ARGS__)
#define PT_VARY1_STRUCT_(...)  PT_EACH2_(PT_VARY2_, __VA_ARGS__)
#define PT_STORE1_STRUCT_(...) PT_EACH2_(PT_STORE2_, __VA_ARGS__)

#define PT_TYPE2_(x) PT_DISPATCH2_(PT_TYPE2_, PT_KIND_(x), x)
#define PT_ENUMS2_(x) PT_DISPATCH2_(PT_ENUMS2_, PT_KIND_(x), x)
#define PT_FIXED2_(x) PT_DISPATCH2_(PT_FIXED2_, PT_KIND_(x), x)
#define PT_VARY2_(x) PT_DISPATCH2_(PT_VARY2_, PT_KIND_(x), x)
#define PT_STORE2_(x) PT_DISPATCH2_(PT_STORE2_, PT_KIND_(x), x)
#define PT_TYPE2_PLAIN_(x)	 (unsigned char)PT_TYPE_(x),
#define PT_ENUMS2_PLAIN_(x)
#define PT_FIXED2_PLAIN_(x)	 +8
#define PT_VARY2_PLAIN_(x)	 +PT_VARIES_(x)
#define PT_STORE2_PLAIN_(x)	 PT_PUT_(x)
#define PT_TYPE2_ENUM_(e, x)	 (unsigned char)(PANTRACE_T_ENUM | PT_INTEGER_((int)PT_TYPE_(x))),
#define PT_ENUMS2_ENUM_(e, x)	 &e,
#define PT_FIXED2_ENUM_(e, x)	 +8
#define PT_VARY2_ENUM_(e, x)
#define PT_STORE2_ENUM_(e, x)	 PT_PUT_(x)
#define PT_TYPE2_HEX_(x)	 PT_HEX_TYPE_((int)PT_TYPE_(x)),
#define PT_ENUMS2_HEX_(x)
#define PT_FIXED2_HEX_(x)	 +8
#define PT_VARY2_HEX_(x)	 +PT_VARIES_(x)
#define PT_STORE2_HEX_(x)	 PT_PUT_(x)
#define PT_TYPE2_ARRAY_(a)	 (unsigned char)(PANTRACE_T_ARRAY | PT_TYPE_((a)[0])), \
	(unsigned char)(PT_LENGTH_(a) & 255), (unsigned char)(PT_LENGTH_(a) >> 8),
#define PT_ENUMS2_ARRAY_(a)
#define PT_FIXED2_ARRAY_(a)	 +sizeof(a) + 0 * sizeof(char[PT_LENGTH_(a) < 65536 ? 1 : -1])
#define PT_VARY2_ARRAY_(a)
#define PT_STORE2_ARRAY_(a)	 __builtin_memcpy(pt_to_, &(a)[0], sizeof(a)), pt_to_ += sizeof(a);
#define PT_TYPE2_HEX_ARRAY_(a)	 PT_HEX_TYPE_((int)(PANTRACE_T_ARRAY | PT_TYPE_((a)[0]))), \
	(unsigned char)(PT_LENGTH_(a) & 255), (unsigned char)(PT_LENGTH_(a) >> 8),
#define PT_ENUMS2_HEX_ARRAY_(a)
#define PT_FIXED2_HEX_ARRAY_(a)	 PT_FIXED2_ARRAY_(a)
#define PT_VARY2_HEX_ARRAY_(a)
#define PT_STORE2_HEX_ARRAY_(a)	 PT_STORE2_ARRAY_(a)
#define PT_TYPE2_STRUCT_(...)	 PANTRACE_T_STRUCT, PT_EACH3_(PT_TYPE3_, \
	__VA_ARGS__) PANTRACE_T_STRUCT_END,
#define PT_ENUMS2_STRUCT_(...) PT_EACH3_(PT_ENUMS3_, __VA_ARGS__)
#define PT_FIXED2_STRUCT_(...) PT_EACH3_(PT_FIXED3_, __VA_ARGS__)
#define PT_VARY2_STRUCT_(...)  PT_EACH3_(PT_VARY3_, __VA_ARGS__)
#define PT_STORE2_STRUCT_(...) PT_EACH3_(PT_STORE3_, __VA_ARGS__)

#define PT_TYPE3_(x) PT_DISPATCH3_(PT_TYPE3_, PT_KIND_(x), x)
#define PT_ENUMS3_(x) PT_DISPATCH3_(PT_ENUMS3_, PT_KIND_(x), x)
#define PT_FIXED3_(x) PT_DISPATCH3_(PT_FIXED3_, PT_KIND_(x), x)
#define PT_VARY3_(x) PT_DISPATCH3_(PT_VARY3_, PT_KIND_(x), x)
#define PT_STORE3_(x) PT_DISPATCH3_(PT_STORE3_, PT_KIND_(x), x)
#define PT_TYPE3_PLAIN_(x)	 (unsigned char)PT_TYPE_(x),
#define PT_ENUMS3_PLAIN_(x)
#define PT_FIXED3_PLAIN_(x)	 +8
#define PT_VARY3_PLAIN_(x)	 +PT_VARIES_(x)
#define PT_STORE3_PLAIN_(x)	 PT_PUT_(x)
#define PT_TYPE3_ENUM_(e, x)	 (unsigned char)(PANTRACE_T_ENUM | PT_INTEGER_((int)PT_TYPE_(x))),
#define PT_ENUMS3_ENUM_(e, x)	 &e,
#define PT_FIXED3_ENUM_(e, x)	 +8
#define PT_VARY3_ENUM_(e, x)
#define PT_STORE3_ENUM_(e, x)	 PT_PUT_(x)
#define PT_TYPE3_HEX_(x)	 PT_HEX_TYPE_((int)PT_TYPE_(x)),
#define PT_ENUMS3_HEX_(x)
#define PT_FIXED3_HEX_(x)	 +8
#define PT_VARY3_HEX_(x)	 +PT_VARIES_(x)
#define PT_STORE3_HEX_(x)	 PT_PUT_(x)
#define PT_TYPE3_ARRAY_(a)	 (unsigned char)(PANTRACE_T_ARRAY | PT_TYPE_((a)[0])), \
	(unsigned char)(PT_LENGTH_(a) & 255), (unsigned char)(PT_LENGTH_(a) >> 8),
#define PT_ENUMS3_ARRAY_(a)
#define PT_FIXED3_ARRAY_(a)	 +sizeof(a) + 0 * sizeof(char[PT_LENGTH_(a) < 65536 ? 1 : -1])
#define PT_VARY3_ARRAY_(a)
#define PT_STORE3_ARRAY_(a)	 __builtin_memcpy(pt_to_, &(a)[0], sizeof(a)), pt_to_ += sizeof(a);
/* clang-format on */

#endif
