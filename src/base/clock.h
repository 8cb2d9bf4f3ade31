/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's clocks, in nanoseconds. */
#ifndef PANTRACE_BASE_CLOCK_H
#define PANTRACE_BASE_CLOCK_H

#include <time.h>

#include "base/base.h"

/* 0 if there is no such clock. */
u64 clock_now_ns(clockid_t id);
/* What is to be added to a time of this clock to get one since the epoch, by the clocks as they run now. */
s64 clock_distance_ns(clockid_t id);

#endif
