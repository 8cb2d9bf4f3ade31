/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From attach points to units: the probes that each attach point stands for are looked up and
 * described, and those among them that can share one program become one unit of check.h.
 */
#ifndef PANTRACE_LANG_CHECK_UNITS_H
#define PANTRACE_LANG_CHECK_UNITS_H

#include "lang/check/check.h"

/*
 * Fills c->units from the probes of the script, and notes what kinds of probes it has
 * (only_special_probes, has_no_probes). Returns 0, or -errno with a diagnostic: nothing matches,
 * more probes or programs than the configuration allows, or something that a probe cannot provide.
 */
int units_make(struct check *c);
/*
 * Adds a unit for each function that nobody calls, so that it is checked, too; not for those that
 * only make sense in a probe. They are not to be lowered.
 */
void units_add_uncalled(struct check *c);

#endif
