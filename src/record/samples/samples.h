/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples of perf events, with call chains, into a perf.data: a source of record. */
#ifndef PANTRACE_RECORD_SAMPLES_SAMPLES_H
#define PANTRACE_RECORD_SAMPLES_SAMPLES_H

#include "record/record.h"

extern const struct record_source record_samples;

#endif
