/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_FTRACE_TPOINT_H
#define PANTRACE_CMD_FTRACE_TPOINT_H

int cmd_tpoint(int argc, char **argv);

#endif
