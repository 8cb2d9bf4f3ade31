/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table has what tells about the machine: architecture and ABI, byte order, sizes, limits and
 * names of types. Values are those of the compiler that this is built with, for the machine that it
 * is built for. Left out is what tells about a compiler: optimisations, extensions of the
 * instruction set, atomics, floating-point formats; and the plain words `linux` and `unix`.
 */
#include "lang/syntax/predefined.h"

#include <stddef.h>

#include "base/base.h"

#define TEXT(x)	 #x
#define VALUE(x) TEXT(x)
#define P(name)                    \
	{                          \
#name, VALUE(name) \
	}

/* clang-format off */
const struct predefined_macro predefined_macros[] = {
	/* the machine */
	P(__LP64__), P(_LP64), P(__CHAR_BIT__), P(__BIGGEST_ALIGNMENT__), P(__ELF__),
	P(__linux__), P(__linux), P(__gnu_linux__), P(__unix__), P(__unix), P(__BYTE_ORDER__),
	P(__FLOAT_WORD_ORDER__), P(__ORDER_LITTLE_ENDIAN__), P(__ORDER_BIG_ENDIAN__),
	P(__ORDER_PDP_ENDIAN__), P(__STDC__), P(__STDC_HOSTED__), P(__STDC_VERSION__),
	P(__STDC_UTF_16__), P(__STDC_UTF_32__),
#ifdef __x86_64__
	P(__x86_64__), P(__x86_64), P(__amd64__), P(__amd64), P(__SIZEOF_FLOAT80__),
	P(__SIZEOF_FLOAT128__),
#endif
#ifdef __aarch64__
	P(__aarch64__), P(__AARCH64EL__), P(__ARM_64BIT_STATE), P(__ARM_ARCH), P(__ARM_PCS_AAPCS64),
#endif
#ifdef __riscv
	P(__riscv), P(__riscv_xlen),
#endif
#ifdef __CHAR_UNSIGNED__
	P(__CHAR_UNSIGNED__),
#endif
	/* types: sizes, names, limits, widths */
	P(__SIZEOF_SHORT__), P(__SIZEOF_INT__), P(__SIZEOF_LONG__), P(__SIZEOF_LONG_LONG__),
	P(__SIZEOF_INT128__), P(__SIZEOF_FLOAT__), P(__SIZEOF_DOUBLE__),
	P(__SIZEOF_LONG_DOUBLE__), P(__SIZEOF_POINTER__), P(__SIZEOF_SIZE_T__),
	P(__SIZEOF_PTRDIFF_T__), P(__SIZEOF_WCHAR_T__), P(__SIZEOF_WINT_T__),
	P(__CHAR16_TYPE__), P(__CHAR32_TYPE__), P(__INT8_TYPE__), P(__INT16_TYPE__),
	P(__INT32_TYPE__), P(__INT64_TYPE__), P(__UINT8_TYPE__), P(__UINT16_TYPE__),
	P(__UINT32_TYPE__), P(__UINT64_TYPE__), P(__INTMAX_TYPE__), P(__UINTMAX_TYPE__),
	P(__INTPTR_TYPE__), P(__UINTPTR_TYPE__), P(__PTRDIFF_TYPE__), P(__SIZE_TYPE__),
	P(__WCHAR_TYPE__), P(__WINT_TYPE__), P(__INT_FAST8_TYPE__),
	P(__INT_FAST16_TYPE__), P(__INT_FAST32_TYPE__), P(__INT_FAST64_TYPE__),
	P(__INT_LEAST8_TYPE__), P(__INT_LEAST16_TYPE__), P(__INT_LEAST32_TYPE__),
	P(__INT_LEAST64_TYPE__), P(__UINT_FAST8_TYPE__), P(__UINT_FAST16_TYPE__),
	P(__UINT_FAST32_TYPE__), P(__UINT_FAST64_TYPE__), P(__UINT_LEAST8_TYPE__),
	P(__UINT_LEAST16_TYPE__), P(__UINT_LEAST32_TYPE__), P(__UINT_LEAST64_TYPE__),
	P(__SCHAR_MAX__), P(__SHRT_MAX__), P(__INT_MAX__), P(__LONG_MAX__), P(__LONG_LONG_MAX__),
	P(__WCHAR_MAX__), P(__WINT_MAX__), P(__SIZE_MAX__), P(__PTRDIFF_MAX__),
	P(__INTMAX_MAX__), P(__UINTMAX_MAX__), P(__INTPTR_MAX__), P(__UINTPTR_MAX__),
	P(__SIG_ATOMIC_MAX__), P(__INT8_MAX__), P(__INT16_MAX__), P(__INT32_MAX__),
	P(__INT64_MAX__), P(__UINT8_MAX__), P(__UINT16_MAX__), P(__UINT32_MAX__),
	P(__UINT64_MAX__), P(__INT_FAST8_MAX__), P(__INT_FAST16_MAX__), P(__INT_FAST32_MAX__),
	P(__INT_FAST64_MAX__), P(__INT_LEAST8_MAX__), P(__INT_LEAST16_MAX__),
	P(__INT_LEAST32_MAX__), P(__INT_LEAST64_MAX__), P(__UINT_FAST8_MAX__),
	P(__UINT_FAST16_MAX__), P(__UINT_FAST32_MAX__), P(__UINT_FAST64_MAX__),
	P(__UINT_LEAST8_MAX__), P(__UINT_LEAST16_MAX__), P(__UINT_LEAST32_MAX__),
	P(__UINT_LEAST64_MAX__),
#ifdef __WINT_MIN__ /* of GCC only */
	P(__WINT_MIN__), P(__WCHAR_MIN__), P(__SIG_ATOMIC_MIN__), P(__SIG_ATOMIC_TYPE__),
#endif
	P(__SCHAR_WIDTH__), P(__SHRT_WIDTH__), P(__INT_WIDTH__), P(__LONG_WIDTH__),
	P(__LONG_LONG_WIDTH__), P(__WCHAR_WIDTH__), P(__WINT_WIDTH__), P(__SIZE_WIDTH__),
	P(__PTRDIFF_WIDTH__), P(__INTMAX_WIDTH__), P(__INTPTR_WIDTH__), P(__SIG_ATOMIC_WIDTH__),
	P(__INT_FAST8_WIDTH__), P(__INT_FAST16_WIDTH__), P(__INT_FAST32_WIDTH__),
	P(__INT_FAST64_WIDTH__), P(__INT_LEAST8_WIDTH__), P(__INT_LEAST16_WIDTH__),
	P(__INT_LEAST32_WIDTH__), P(__INT_LEAST64_WIDTH__),
	{"__INT8_C(c)", "c"},
	{"__INT16_C(c)", "c"},
	{"__INT32_C(c)", "c"},
	{"__INT64_C(c)", "c ## L"},
	{"__INTMAX_C(c)", "c ## L"},
	{"__UINT8_C(c)", "c"},
	{"__UINT16_C(c)", "c"},
	{"__UINT32_C(c)", "c ## U"},
	{"__UINT64_C(c)", "c ## UL"},
	{"__UINTMAX_C(c)", "c ## UL"},
	{"__USER_LABEL_PREFIX__", ""}, {"__REGISTER_PREFIX__", ""},

	/*
	 * What headers ask about the compiler, answered as clang does: an old GCC without
	 * extensions.
	 */
	{"__GNUC__", "4"}, {"__GNUC_MINOR__", "2"}, {"__GNUC_PATCHLEVEL__", "1"},
	{"__has_attribute(x)", "0"}, {"__has_builtin(x)", "0"}, {"__has_extension(x)", "0"},
	{"__has_feature(x)", "0"}, {"__has_include(x)", "0"}, {"__has_include_next(x)", "0"},
	{"_Pragma(x)", ""},

	/* <sys/stat.h> */
	{"S_ISLNK(m)", "(((m) & 0170000) == 0120000)"}, {"S_ISREG(m)",
	"(((m) & 0170000) == 0100000)"},
	{"S_ISDIR(m)", "(((m) & 0170000) == 0040000)"}, {"S_ISCHR(m)",
	"(((m) & 0170000) == 0020000)"},
	{"S_ISBLK(m)", "(((m) & 0170000) == 0060000)"}, {"S_ISFIFO(m)",
	"(((m) & 0170000) == 0010000)"},
	{"S_ISSOCK(m)", "(((m) & 0170000) == 0140000)"},
	/* <linux/kdev_t.h>: numbers of devices as the kernel itself has them */
	{"MAJOR(dev)", "((unsigned int)((dev) >> 20))"}, {"MINOR(dev)",
	"((unsigned int)((dev) & 0xfffff))"},
	{"MKDEV(ma, mi)", "(((ma) << 20) | (mi))"},
	{NULL, NULL},
};
/* clang-format on */

static const struct {
	const char *name, *text;
} headers[] = {
	{"stddef.h", "#ifndef _STDDEF_H\n#define _STDDEF_H\n"
		     "typedef __PTRDIFF_TYPE__ ptrdiff_t;\ntypedef __SIZE_TYPE__ size_t;\n"
		     "typedef __WCHAR_TYPE__ wchar_t;\ntypedef __WINT_TYPE__ wint_t;\n"
		     "typedef struct { long long a __attribute__((aligned(8))); "
		     "long double b __attribute__((aligned(16))); } max_align_t;\n"
		     "#undef NULL\n#define NULL ((void *)0)\n#endif\n"},
	{"stdarg.h",
	 "#ifndef _STDARG_H\n#define _STDARG_H\n"
	 "typedef __builtin_va_list __gnuc_va_list;\ntypedef __builtin_va_list va_list;\n"
	 "#endif\n"},
	{"stdbool.h", "#ifndef _STDBOOL_H\n#define _STDBOOL_H\n"
		      "#define __bool_true_false_are_defined 1\n#endif\n"},
	{"stdalign.h", "#define __alignas_is_defined 1\n#define alignas _Alignas\n"
		       "#define alignof _Alignof\n"},
	{"stdnoreturn.h", ""},
	{"iso646.h", ""},
	{"float.h", ""},
	{"stdatomic.h", ""},
	{"limits.h",
	 "#ifndef _LIMITS_H___\n#define _LIMITS_H___\n#define _GCC_LIMITS_H_\n"
	 "#include_next <limits.h>\n"
	 "#undef CHAR_BIT\n#define CHAR_BIT __CHAR_BIT__\n"
	 "#undef SCHAR_MIN\n#define SCHAR_MIN (-SCHAR_MAX - 1)\n#undef SCHAR_MAX\n#define "
	 "SCHAR_MAX __SCHAR_MAX__\n"
	 "#undef UCHAR_MAX\n#define UCHAR_MAX (SCHAR_MAX * 2 + 1)\n"
	 "#ifdef __CHAR_UNSIGNED__\n#define CHAR_MIN 0\n#define CHAR_MAX UCHAR_MAX\n#else\n"
	 "#undef CHAR_MIN\n#define CHAR_MIN SCHAR_MIN\n#undef CHAR_MAX\n#define CHAR_MAX "
	 "SCHAR_MAX\n#endif\n"
	 "#undef SHRT_MIN\n#define SHRT_MIN (-SHRT_MAX - 1)\n#undef SHRT_MAX\n#define SHRT_MAX "
	 "__SHRT_MAX__\n"
	 "#undef USHRT_MAX\n#define USHRT_MAX (SHRT_MAX * 2 + 1)\n"
	 "#undef INT_MIN\n#define INT_MIN (-INT_MAX - 1)\n#undef INT_MAX\n#define INT_MAX "
	 "__INT_MAX__\n"
	 "#undef UINT_MAX\n#define UINT_MAX (INT_MAX * 2U + 1U)\n"
	 "#undef LONG_MIN\n#define LONG_MIN (-LONG_MAX - 1L)\n#undef LONG_MAX\n#define LONG_MAX "
	 "__LONG_MAX__\n"
	 "#undef ULONG_MAX\n#define ULONG_MAX (LONG_MAX * 2UL + 1UL)\n"
	 "#undef LLONG_MIN\n#define LLONG_MIN (-LLONG_MAX - 1LL)\n#undef LLONG_MAX\n#define "
	 "LLONG_MAX __LONG_LONG_MAX__\n"
	 "#undef ULLONG_MAX\n#define ULLONG_MAX (LLONG_MAX * 2ULL + 1ULL)\n#endif\n"},
};

const char *predefined_header(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (str_eq(headers[i].name, name))
			return headers[i].text;
	return NULL;
}
