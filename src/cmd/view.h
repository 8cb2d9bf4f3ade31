/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_VIEW_H
#define PANTRACE_CMD_VIEW_H

int cmd_view(int argc, char **argv);

#endif
