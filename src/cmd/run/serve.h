/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --serve: what a script prints, and its maps as they are now, as a page from 127.0.0.1. */
#ifndef PANTRACE_CMD_RUN_SERVE_H
#define PANTRACE_CMD_RUN_SERVE_H

#include "engine/run_config.h"

struct script_server;

/* Says the address. 0 or -errno. */
int script_server_open(const char *title, u64 idle_ns, struct script_server **ret);
void script_server_close(struct script_server *s); /* NULL is fine */
/* Serves while the engine runs; stays the server's. */
const struct engine_guest *script_server_guest(const struct script_server *s);
/*
 * After the run: until Ctrl-C, or idle_ns without a page. If a signal has ended the run,
 * only until the page has what was printed last, for a moment. 0 or -errno.
 */
int script_server_finish(struct script_server *s, const struct strbuf *lines);

#endif
