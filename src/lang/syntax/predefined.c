/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tells about the machine comes from the compiler that this is built with, through
 * scripts/predefined.sh: architecture and ABI, byte order, sizes, limits and names of types. What
 * tells about a compiler is left out (optimisations, extensions of the instruction set, atomics,
 * floating-point formats), and so are the plain words `linux` and `unix`.
 */
#include "lang/syntax/predefined.h"

#include <stddef.h>

#include "base/base.h"

/* clang-format off */
const struct predefined_macro predefined_macros[] = {
#include "machine_macros.h"
	{"__USER_LABEL_PREFIX__", ""}, {"__REGISTER_PREFIX__", ""},

	/*
	 * Macros that tell headers about the compiler, answered as clang does: an old GCC without
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
