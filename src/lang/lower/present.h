/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends the records that print maps, also print(@m); clear(@m); as one step. */
#ifndef PANTRACE_LANG_LOWER_PRESENT_H
#define PANTRACE_LANG_LOWER_PRESENT_H

#include "lang/lower/lower.h"

#define PRINTA_MAX_MAPS	       16
#define PRINTA_MAX_CONVERSIONS 64

/*
 * Which of the maps that a call prints are cleared or zeroed as they are read: see struct action.
 */
struct present_taken {
	u64 clears, zeroes;
};

/* Sends ACTION_PRINTA. */
void present_send(struct lower *l, struct expr *call, const struct expr *text,
		  struct expr *const *map_args, u32 nmaps, ir_reg top, u64 clears, u64 zeroes);

#endif
