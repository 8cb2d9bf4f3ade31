/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_FTRACE_RESET_FTRACE_H
#define PANTRACE_CMD_FTRACE_RESET_FTRACE_H

int cmd_reset_ftrace(int argc, char **argv);

#endif
