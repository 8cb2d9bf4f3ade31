/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_FTRACE_PROBE_COMMANDS_H
#define PANTRACE_CMD_FTRACE_PROBE_COMMANDS_H

int cmd_kprobe(int argc, char **argv);
int cmd_uprobe(int argc, char **argv);

#endif
