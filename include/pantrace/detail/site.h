/* SPDX-License-Identifier: MIT */
/* The instruction of a site, its entry in the table and its USDT note. Included by pantrace.h. */
#ifndef PANTRACE_DETAIL_SITE_H
#define PANTRACE_DETAIL_SITE_H
#pragma GCC system_header

/*
 * Operand 0 is the event. The .reloc ties the table's entry to the code, so that --gc-sections
 * keeps or drops them together; "?" puts entry and note into the section group (COMDAT) of the
 * code.
 */
#define PT_SITE_(event, on, provider, name, args, ...)                                        \
	__asm__ goto("990:	nop\n"                                                             \
		     "991:	.byte 0xa9\n"                                                      \
		     "	.long %l[" #on "] - 992f\n"                                           \
		     "992:\n"                                                                 \
		     "	.reloc 991b, R_X86_64_NONE, 993f\n"                                    \
		     "	.pushsection pantrace_table,\"a?\",@progbits\n"                        \
		     "	.balign 4\n"                                                           \
		     "993:	.long 991b - .\n"                                                  \
		     "	.long %c0 - .\n"                                                       \
		     "	.popsection\n"                                                         \
		     "	.pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
		     "	.balign 4\n"                                                           \
		     "	.4byte 995f - 994f, 997f - 996f, 3\n"                                  \
		     "994:	.asciz \"stapsdt\"\n"                                              \
		     "995:	.balign 4\n"                                                       \
		     "996:	.8byte 990b\n"                                                     \
		     "	.8byte _.stapsdt.base\n"                                               \
		     "	.8byte 0\n"                                                            \
		     "	.asciz \"" provider "\"\n"                                            \
		     "	.asciz \"" name "\"\n"                                                \
		     "	.asciz \"" args "\"\n"                                                \
		     "997:	.balign 4\n"                                                       \
		     "	.popsection\n"                                                         \
		     "	.ifndef _.stapsdt.base\n"                                              \
		     "	.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
		     "	.weak _.stapsdt.base\n"                                                \
		     "	.hidden _.stapsdt.base\n"                                              \
		     "_.stapsdt.base:	.space 1\n"                                             \
		     "	.size _.stapsdt.base, 1\n"                                             \
		     "	.popsection\n"                                                         \
		     "	.endif\n"                                                              \
		     :                                                                        \
		     : "i"(&event)__VA_ARGS__                                                 \
		     : "cc"                                                                   \
		     : on)

#ifdef __clang__
#define PT_COLD_ __attribute__((unused))
#else
#define PT_COLD_ __attribute__((cold, unused))
#endif

/*
 * In C++, statics of inline functions and templates are weak and may come from another object, so
 * that a site cannot name them. Members of a hidden template are this object's own; a local type
 * makes them one a macro.
 */
#ifdef __cplusplus
#define PT_EVENT_(provider, event_name, text, event_level, event_enums, ...)                \
	typedef pantrace::types<__VA_ARGS__> pt_types_;                                     \
	struct pt_tag_ {                                                                    \
		typedef pt_types_ types;                                                    \
		enum : size_t {                                                             \
			level = (event_level),                                              \
			nr_enums = pantrace::count(PT_OPEN_ event_enums nullptr),           \
		};                                                                          \
		static constexpr const char *get(int what)                                  \
		{                                                                           \
			return what == 0 ? provider : what == 1 ? event_name : text;        \
		}                                                                           \
		static constexpr const pantrace_enum *get_enum(size_t i)                    \
		{                                                                           \
			const pantrace_enum *const list[] = {PT_OPEN_ event_enums nullptr}; \
			return list[i];                                                     \
		}                                                                           \
	}
#define PT_EVENT_OF_ pantrace::holder<pt_tag_>::event
#else
#define PT_EVENT_(provider, event_name, text, level, event_enums, ...)                   \
	static const unsigned char pt_types_[] = {__VA_ARGS__};                          \
	static const struct pantrace_enum *const pt_enums_[] = {PT_OPEN_ event_enums 0}; \
	static struct pantrace_event pt_event_ = {                                       \
		provider, event_name, text, pt_types_, pt_enums_, level, 0, 0, 0, 0, 0}
#define PT_EVENT_OF_ pt_event_
#endif

/*
 * Opens the block that runs while the event is on. clang before 17 checks each asm goto of a C++
 * function against the labels of all others and finds initialisations between them; a lambda that
 * is inlined keeps them apart and compiles to the same jump.
 */
#if defined(__cplusplus) && defined(__clang__)
#define PT_IF_ON_(event, on, provider, name, args, ...)                             \
	if (__builtin_expect(                                                       \
		    [&]() __attribute__((always_inline)) {                          \
			    __label__ on;                                           \
			    PT_SITE_(event, on, provider, name, args, __VA_ARGS__); \
			    return false;                                           \
		    on:                                                             \
			    return true;                                            \
		    }(),                                                            \
		    0))
#define PT_ON_(on)
#define PT_LABEL_(on)
#else
#define PT_LABEL_(on) __label__ on;
#define PT_IF_ON_(event, on, provider, name, args, ...)         \
	PT_SITE_(event, on, provider, name, args, __VA_ARGS__); \
	if (0)
#define PT_ON_(on) \
	on:        \
	PT_COLD_;
#endif

/* ---- arguments in USDT notes: "SIZE@PLACE", the size negative where signed ---- */

#ifdef __cplusplus
#define PT_SIZE_(x)                                                                   \
	((std::is_signed<typename std::decay<decltype((x))>::type>::value ? 1 : -1) * \
	 (int)sizeof(typename std::decay<decltype((x))>::type))
#else
/* clang-format off */
#define PT_SIGN_(x) _Generic((x), char: 1, signed char: 1, short: 1, int: 1, long: 1, \
	long long: 1, default: -1)
/* clang-format on */
#define PT_SIZE_(x) (PT_SIGN_(x) * (int)sizeof(__typeof__(((void)0, (x)))))
#endif
/* clang-format off */
#define PT_NOTE_(...) __VA_OPT__(PT_PASTE2_(PT_NOTE, PT_COUNT_(__VA_ARGS__)))
#define PT_INPUTS_(...) __VA_OPT__(PT_PASTE2_(PT_INPUT, PT_COUNT_(__VA_ARGS__))(__VA_ARGS__))
#define PT_NOTE1 "%n[pt_s1]@%[pt_a1]"
#define PT_NOTE2 PT_NOTE1 " %n[pt_s2]@%[pt_a2]"
#define PT_NOTE3 PT_NOTE2 " %n[pt_s3]@%[pt_a3]"
#define PT_NOTE4 PT_NOTE3 " %n[pt_s4]@%[pt_a4]"
#define PT_NOTE5 PT_NOTE4 " %n[pt_s5]@%[pt_a5]"
#define PT_NOTE6 PT_NOTE5 " %n[pt_s6]@%[pt_a6]"
#define PT_NOTE7 PT_NOTE6 " %n[pt_s7]@%[pt_a7]"
#define PT_NOTE8 PT_NOTE7 " %n[pt_s8]@%[pt_a8]"
#define PT_NOTE9 PT_NOTE8 " %n[pt_s9]@%[pt_a9]"
#define PT_NOTE10 PT_NOTE9 " %n[pt_s10]@%[pt_a10]"
#define PT_NOTE11 PT_NOTE10 " %n[pt_s11]@%[pt_a11]"
#define PT_NOTE12 PT_NOTE11 " %n[pt_s12]@%[pt_a12]"
#define PT_INPUT_(n, x) , [pt_s##n] "n"(PT_SIZE_(x)), [pt_a##n] "nor"(x)
#define PT_INPUT1(x1) PT_INPUT_(1, x1)
#define PT_INPUT2(x1, x2) PT_INPUT1(x1) PT_INPUT_(2, x2)
#define PT_INPUT3(x1, x2, x3) PT_INPUT2(x1, x2) PT_INPUT_(3, x3)
#define PT_INPUT4(x1, x2, x3, x4) PT_INPUT3(x1, x2, x3) PT_INPUT_(4, x4)
#define PT_INPUT5(x1, x2, x3, x4, x5) PT_INPUT4(x1, x2, x3, x4) PT_INPUT_(5, x5)
#define PT_INPUT6(x1, x2, x3, x4, x5, x6) PT_INPUT5(x1, x2, x3, x4, x5) PT_INPUT_(6, x6)
#define PT_INPUT7(x1, x2, x3, x4, x5, x6, x7) PT_INPUT6(x1, x2, x3, x4, x5, x6) PT_INPUT_(7, x7)
#define PT_INPUT8(x1, x2, x3, x4, x5, x6, x7, x8) PT_INPUT7(x1, x2, x3, x4, x5, x6, \
	x7) PT_INPUT_(8, x8)
#define PT_INPUT9(x1, x2, x3, x4, x5, x6, x7, x8, x9) PT_INPUT8(x1, x2, x3, x4, x5, x6, x7, \
	x8) PT_INPUT_(9, x9)
#define PT_INPUT10(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10) PT_INPUT9(x1, x2, x3, x4, x5, x6, \
	x7, x8, x9) PT_INPUT_(10, x10)
#define PT_INPUT11(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11) PT_INPUT10(x1, x2, x3, x4, x5, \
	x6, x7, x8, x9, x10) PT_INPUT_(11, x11)
#define PT_INPUT12(x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12) PT_INPUT11(x1, x2, x3, x4, \
	x5, x6, x7, x8, x9, x10, x11) PT_INPUT_(12, x12)
/* clang-format on */

#endif
