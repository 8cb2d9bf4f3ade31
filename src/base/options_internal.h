/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of options.h. */
#ifndef PANTRACE_BASE_OPTIONS_INTERNAL_H
#define PANTRACE_BASE_OPTIONS_INTERNAL_H

#include "base/options.h"

/* Is it an option that help, manual and completion show, not a heading or one for compatibility? */
bool option_is_offered(const struct option_spec *o);
/* The option that takes its value from the next word: "-d", "-hd", "--duration". NULL = none. */
const struct option_spec *option_that_waits(const struct command_spec *spec, const char *word);
#endif
