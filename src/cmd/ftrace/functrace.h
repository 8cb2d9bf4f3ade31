/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_FTRACE_FUNCTRACE_H
#define PANTRACE_CMD_FTRACE_FUNCTRACE_H

/* `pantrace functrace`: calls of kernel functions. */
int cmd_functrace(int argc, char **argv);
/* `pantrace funcgraph`: what kernel functions call, with times. */
int cmd_funcgraph(int argc, char **argv);

#endif
