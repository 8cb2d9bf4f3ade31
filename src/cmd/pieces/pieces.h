/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a trace.dat (split.c), or joins what a killed recorder left (restore.c). */
#ifndef PANTRACE_CMD_PIECES_PIECES_H
#define PANTRACE_CMD_PIECES_PIECES_H

int cmd_split(int argc, char **argv);
int cmd_restore(int argc, char **argv);

#endif
