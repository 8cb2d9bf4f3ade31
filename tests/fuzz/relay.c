/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as what a recorder sends to a relay; nothing may be made outside its directory, and no
 * file beyond the limit.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/relay/relay.h"
#include "trace/relay/relay_protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void empty(int at, int depth)
{
	DIR *dir = fdopendir(dup(at));
	struct dirent *e;

	rewinddir(dir);
	while ((e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (unlinkat(at, e->d_name, 0) && depth) {
			const int sub = openat(at, e->d_name, O_RDONLY | O_DIRECTORY);

			if (sub >= 0) {
				empty(sub, depth - 1);
				close(sub);
			}
			unlinkat(at, e->d_name, AT_REMOVEDIR);
		}
	}
	closedir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char outer[64];
	static int directory = -1;
	struct relay_hello hello = {
		.magic = RELAY_MAGIC, .protocol = RELAY_PROTOCOL, .version = "1", .host = "host"};
	const struct relay_message head = {.type = RELAY_HELLO, .size = sizeof(hello)};
	struct relay relay = {.limits = {.bytes = 1 << 20, .sources = 8}};
	struct relay_peer *p;
	size_t entries = 0;
	DIR *dir;

	if (directory < 0) {
		char inner[80];

		snprintf(outer, sizeof(outer), "/dev/shm/relay-fuzz-%d", (int)getpid());
		mkdir(outer, 0700);
		snprintf(inner, sizeof(inner), "%s/in", outer);
		mkdir(inner, 0700);
		directory = open(inner, O_RDONLY | O_DIRECTORY);
	}
	relay.directory = directory;
	p = relay_peer_new(&relay);
	if (size && *data & 1) { /* past the greeting, which is hard to guess */
		relay_peer_feed(p, &head, sizeof(head));
		relay_peer_feed(p, &hello, sizeof(hello));
	}
	for (size_t at = 1; at < size;) {
		const size_t n = MIN(size - at, (size_t)1 + data[at] * 4u);

		if (relay_peer_feed(p, data + at, n))
			break;
		at += n;
	}
	relay_peer_free(p);
	vector_free(&relay.peers);
	dir = opendir(outer);
	while (readdir(dir))
		entries++;
	closedir(dir);
	if (entries != 3) /* ".", "..", "in" */
		abort();
	empty(directory, 4);
	return 0;
}
