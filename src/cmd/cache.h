/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_CACHE_H
#define PANTRACE_CMD_CACHE_H

int cmd_cache(int argc, char **argv);

#endif
