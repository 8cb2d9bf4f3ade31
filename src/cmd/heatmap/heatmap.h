/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_HEATMAP_H
#define PANTRACE_CMD_HEATMAP_H

int cmd_heatmap(int argc, char **argv);

#endif
