/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_RECORD_RELAY_H
#define PANTRACE_CMD_RECORD_RELAY_H

int cmd_relay(int argc, char **argv);

#endif
