/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace info RECORDING. */
#ifndef PANTRACE_CMD_MACHINES_H
#define PANTRACE_CMD_MACHINES_H

#include "base/base.h"

/* Prints which other machines a recording is of, and how their clocks stand. An exit code. */
int machines_print(const char *recording, bool json);

#endif
