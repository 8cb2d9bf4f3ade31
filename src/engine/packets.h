/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What skboutput() sends: pieces of packets, by a perf buffer of their own (bpf_skb_output() knows
 * no other), written to capture files that tcpdump and Wireshark read. Only for src/engine.
 */
#ifndef PANTRACE_ENGINE_PACKETS_H
#define PANTRACE_ENGINE_PACKETS_H

#include "engine/engine.h"

struct packets;

/* Opens the buffer of map `map_fd`. Files are made when their first packet comes. 0 or -errno. */
int packets_open(struct engine *e, int map_fd, struct packets **ret);
/* Writes what came in; failures are said once. */
void packets_read(struct engine *e);
/* Descriptors to wait on. Returns how many. */
u32 packets_fds(const struct packets *p, const int **ret);
u64 packets_lost(const struct packets *p); /* NULL is fine */
void packets_close(struct packets *p); /* NULL is fine */

#endif
