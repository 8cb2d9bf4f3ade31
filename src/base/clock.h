/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's clocks. */
#ifndef PANTRACE_BASE_CLOCK_H
#define PANTRACE_BASE_CLOCK_H

#include <time.h>

#include "base/base.h"

/* 0 if there is no such clock. */
u64 clock_now_ns(clockid_t id);
u64 clock_now_ms(clockid_t id); /* the same in milliseconds */
/* The offset to add to a time of one clock to get the time of the other, as both run now. */
s64 clock_distance_ns(clockid_t from, clockid_t to);

#endif
