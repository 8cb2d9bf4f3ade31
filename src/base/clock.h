/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's clocks. */
#ifndef PANTRACE_BASE_CLOCK_H
#define PANTRACE_BASE_CLOCK_H

#include <poll.h>
#include <time.h>

#include "base/base.h"

/* 0 if there is no such clock. */
u64 clock_now_ns(clockid_t id);
u64 clock_now_ms(clockid_t id); /* the same in milliseconds */
/* The offset to add to a time of one clock to get the time of the other, as both run now. */
s64 clock_distance_ns(clockid_t from, clockid_t to);
/*
 * As poll(2) for MS milliseconds (-1: for ever), whatever signals come meanwhile: these interrupt
 * even a call that does not wait. How many are ready, or -1 with errno, which is never EINTR.
 */
int clock_poll(struct pollfd *fds, nfds_t n, int ms);

#endif
