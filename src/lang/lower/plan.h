/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the BPF maps of a script: kinds, sizes and storage types, from how its programs use each
 * map.
 */
#ifndef PANTRACE_LANG_LOWER_PLAN_H
#define PANTRACE_LANG_LOWER_PLAN_H

#include "lang/check/check.h"

/* Fills script.maps with the user's maps in order of their names. 0 or -EINVAL with diagnostics. */
int plan_maps(struct check *c, struct script *script);
/* Before plan_maps(): prints that take what they show out of their maps. */
void plan_takes(struct check *c);
/* BPF_MAP_TYPE_x of a declaration `let @m = NAME(size)`; 0 = unknown. */
u32 plan_map_type(const char *name);
/* After lowering: may it be attached in a cheaper way? */
void plan_program(const struct unit *u, struct script_program *program);

#endif
