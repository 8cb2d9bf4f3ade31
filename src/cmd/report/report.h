/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_REPORT_REPORT_H
#define PANTRACE_CMD_REPORT_REPORT_H

int cmd_report(int argc, char **argv);

#endif
