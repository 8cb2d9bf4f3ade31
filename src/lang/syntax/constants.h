/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Well-known constants that C headers define by #define and that BTF therefore lacks: AF_INET,
 * O_RDONLY, EPERM ... They stand for `#include <linux/socket.h>` and its like in scripts.
 */
#ifndef PANTRACE_LANG_SYNTAX_CONSTANTS_H
#define PANTRACE_LANG_SYNTAX_CONSTANTS_H

#include "base/base.h"

bool constant_find(const char *name, s64 *ret_value);

#endif
