/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_TIMELINE_TIMELINE_H
#define PANTRACE_CMD_TIMELINE_TIMELINE_H

int cmd_timeline(int argc, char **argv);

#endif
