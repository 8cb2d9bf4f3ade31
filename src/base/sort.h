/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_BASE_SORT_H
#define PANTRACE_BASE_SORT_H

#include "base/base.h"

/*
 * Sorts rows of `size` bytes by the u64 that each has at the offset `at`; equal ones stay in their
 * order. For tables of addresses, where comparing by a callback is most of qsort()'s time.
 */
void sort_by_number(void *rows, size_t count, size_t size, size_t at);

#endif
