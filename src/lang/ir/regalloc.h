/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Register allocation by weight: how often a value is used (deeper loops count more) divided by how
 * long it lives. The heaviest value gets a machine register first, one that is free wherever the
 * value lives; copies and arguments prefer the register at their other end. A value that gets none
 * is spilled: loaded before every use into a short-lived register of its own, stored after every
 * definition, and everything is allocated again.
 *
 * Spilled values are always stored and loaded with 8 bytes, so that pointers stay pointers for the
 * verifier. What a comparison proves about a spilled scalar would hold for the short-lived register
 * only; so it is stored back on both ways out.
 */
#ifndef PANTRACE_LANG_IR_REGALLOC_H
#define PANTRACE_LANG_IR_REGALLOC_H

#include "lang/bpf/machine.h"

/* Afterwards all registers are physical. 0, or -E2BIG if the spilled registers need more stack than
 * there is. */
int regalloc(struct mfunction *m);

#endif
