/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_VIEW_STDDEV_H
#define PANTRACE_VIEW_STDDEV_H

#include "base/base.h"

/* 0 if there were no values. */
u64 stddev_of(s64 total, u64 count, unsigned __int128 squares);

#endif
