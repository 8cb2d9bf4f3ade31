/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Wildcards of probe names: '*' any run, '?' one character, '[a-z]' a class. */
#ifndef PANTRACE_BASE_GLOB_H
#define PANTRACE_BASE_GLOB_H

#include "base/base.h"

bool glob_match(const char *pattern, const char *s);
bool glob_has_wildcard(const char *s);

#endif
