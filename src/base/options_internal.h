/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of options.h share. */
#ifndef PANTRACE_BASE_OPTIONS_INTERNAL_H
#define PANTRACE_BASE_OPTIONS_INTERNAL_H

#include "base/options.h"

/*
 * An option that help, manual and completion show: no heading, nothing that is only understood for
 * the sake of old habits.
 */
bool option_is_offered(const struct option_spec *o);
/*
 * The option that takes its value from the word after this one: "-d", "-hd", "--duration". NULL =
 * none.
 */
const struct option_spec *option_that_waits(const struct command_spec *spec, const char *word);
#endif
