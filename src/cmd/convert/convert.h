/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_CONVERT_CONVERT_H
#define PANTRACE_CMD_CONVERT_CONVERT_H

int cmd_convert(int argc, char **argv);

#endif
