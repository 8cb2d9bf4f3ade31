/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which registers hold a value that is still needed, and where.
 *
 * Instruction i of the function (counted over all blocks in order) has two points: it reads at 2i
 * and writes at 2i + 1. A register is occupied from the point where it is written to the last point
 * where it is read, in as many ranges as there are holes.
 */
#ifndef PANTRACE_LANG_IR_LIVENESS_H
#define PANTRACE_LANG_IR_LIVENESS_H

#include "lang/bpf/machine.h"

struct live_range {
	u32 start, end; /* points, both inclusive */
};

struct liveness {
	u32 npoints;
	u32 *first; /* per register, and one more: ranges of r are [first[r], first[r + 1]) */
	struct live_range *ranges; /* of one register: from last to first, disjoint, not adjacent */
};

/* Also removes instructions whose result nobody reads. Everything is allocated in the arena. */
void liveness_compute(struct mfunction *m, struct arena *a, struct liveness *ret);

#endif
