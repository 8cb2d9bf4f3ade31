/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The single-purpose tools (tools/NAME.bt) as they are embedded in the binary. */
#ifndef PANTRACE_CMD_TOOLS_H
#define PANTRACE_CMD_TOOLS_H

#include "base/base.h"

struct embedded_tool {
	const char *name;
	const char *text; /* the script, NUL-terminated */
	size_t len;
};

extern const struct embedded_tool embedded_tools[]; /* ends with name NULL */
const struct embedded_tool *tool_find(const char *name);

#endif
