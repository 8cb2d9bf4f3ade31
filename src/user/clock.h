/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The clock of a session: the rate of the time stamp counter and its place on the system's clocks.
 *
 * Comparing clocks for a moment gives a rate that is wrong by some 20 millionths, or milliseconds
 * after a few minutes. So the first tool that runs after the machine was booted writes a reading of
 * both clocks to RUNTIME/clock, and later ones have the time since then to compare over. What
 * CLOCK_MONOTONIC is steered by (adjtimex(2)) is in the rate: events stand beside those of the
 * kernel.
 */
#ifndef PANTRACE_USER_CLOCK_H
#define PANTRACE_USER_CLOCK_H

#include "lib/clock.h"
#include "base/base.h"

/* DIRECTORY: our runtime directory; only its owner may write there. */
void user_clock_read(const char *directory, struct pt_clock *ret);

#endif
