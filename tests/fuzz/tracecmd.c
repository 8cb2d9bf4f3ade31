/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as messages of trace-cmd's agent, or of its host: each by itself, and all as what comes
 * on the connection that compares clocks, at either end.
 */
#include <sys/socket.h>
#include <unistd.h>

#include "trace/tracecmd/sync.h"

/* Bytes that are compared: what answers them waits in the socket, where nobody reads it. */
#define COMPARED_MOST 6000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t sum; /* every byte that is returned is looked at */

static void look(const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sum += ((const u8 *)bytes)[i];
}

static void look_at_texts(const tracecmd_texts *texts)
{
	for (size_t i = 0; i < texts->len; i++)
		look(texts->items[i], strlen(texts->items[i]) + 1);
}

static void parse(const struct tracecmd_message *m)
{
	static struct tracecmd_response response;
	struct tracecmd_request request;
	u32 number;

	look(m->head, m->head_size);
	look(m->data, m->size);
	tracecmd_sync_parse(m, TRACECMD_PTP, &number);
	if (!tracecmd_response_parse(m, &response)) {
		look(response.ports, response.cpu_count * sizeof(*response.ports));
		look(response.way, strlen(response.way));
	}
	if (!tracecmd_request_parse(m, &request)) {
		look_at_texts(&request.words);
		look_at_texts(&request.ways);
	}
	tracecmd_request_release(&request);
}

static void compare(const uint8_t *data, size_t size, bool as_host)
{
	struct tracecmd_stream s = {0};
	struct tracecmd_moment moment;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return;
	if (send(pair[1], data, size, MSG_DONTWAIT) >= 0) {
		shutdown(pair[1], SHUT_WR);
		s.fd = pair[0];
		if (as_host)
			tracecmd_compare(&s, &moment);
		else
			tracecmd_be_compared(&s);
	}
	close(pair[0]);
	close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tracecmd_message m;
	size_t n;

	for (size_t at = 0; tracecmd_parse(data + at, size - at, &m, &n) > 0; at += n)
		parse(&m);
	compare(data, MIN(size, (size_t)COMPARED_MOST), true);
	compare(data, MIN(size, (size_t)COMPARED_MOST), false);
	return 0;
}
