/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as what an agent sends to its host: as they are, and as bodies of frames that are well
 * formed. Nothing may be made outside of the recording's directory, nor be larger than what was
 * sent. And any text as the file that says how a clock stands.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/agent/frames.h"
#include "trace/agent/receiver.h"
#include "trace/clock/relation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts what is allocated below, and removes it. */
static u64 empty(int at, int depth)
{
	DIR *dir = fdopendir(dup(at));
	struct dirent *e;
	struct stat st;
	u64 bytes = 0;

	rewinddir(dir);
	while ((e = readdir(dir))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (!fstatat(at, e->d_name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
			bytes += (u64)st.st_blocks * 512;
		if (unlinkat(at, e->d_name, 0) && depth) {
			const int sub = openat(at, e->d_name, O_RDONLY | O_DIRECTORY);

			if (sub >= 0) {
				bytes += empty(sub, depth - 1);
				close(sub);
			}
			unlinkat(at, e->d_name, AT_REMOVEDIR);
		}
	}
	closedir(dir);
	return bytes;
}

/* What is in the place: {kind, u16 size, bytes}*, as frames of the right number. */
static void make_frames(struct agent_out *to, const uint8_t *data, size_t size)
{
	for (size_t at = 0; at + 3 <= size;) {
		const u32 want = data[at + 1] | (u32)data[at + 2] << 8;
		const size_t n = MIN((size_t)want, size - at - 3);

		agent_out_put(to, (enum agent_type)(data[at] % (AGENT_TYPES + 1)), data + at + 3, n,
			      NULL, 0);
		at += 3 + n;
	}
}

/* How many frames there were. */
static u64 take_all(struct agent_receiver *r, struct agent_in *in)
{
	struct agent_frame f;
	const u8 *body;
	u64 count = 0;
	int rc = 0;

	for (; !rc && agent_in_next(in, &f, &body) > 0; count++)
		rc = agent_receive(r, &f, body);
	return count;
}

static void receive(int directory, const uint8_t *data, size_t size)
{
	struct agent_receiver r;
	struct agent_out made;
	struct agent_in in;
	u64 frames = 0;

	agent_receiver_init(&r, directory);
	agent_out_init(&made);
	agent_in_init(&in, size & 1 ? AGENT_MARK_AGENT : NULL, NULL);
	if (*data & 1)
		make_frames(&made, data + 1, size - 1);
	else
		strbuf_add(&made.bytes, data + 1, size - 1);
	if (size & 1 && *data & 2)
		agent_in_feed(&in, AGENT_MARK_AGENT "nonce...", AGENT_MARK_SIZE + sizeof(u64));
	for (size_t at = 0; at < made.bytes.len; at += 977) {
		agent_in_feed(&in, made.bytes.data + at, MIN(made.bytes.len - at, (size_t)977));
		frames += take_all(&r, &in);
	}
	/* each write may touch two more blocks; what is packed has a head and ranges of its own */
	if (empty(directory, 4) > 2 * r.bytes + frames * 64 * 8192)
		abort();
	agent_receiver_release(&r);
	agent_out_release(&made);
	agent_in_release(&in);
}

static void relate(const uint8_t *data, size_t size)
{
	struct clock_relation *r = calloc(1, sizeof(*r));
	u64 least, most, off;

	if (!clock_relation_parse(r, (const char *)data, size)) {
		clock_relation_uncertainty(r, &least, &most);
		for (s64 ns = INT64_MIN / 2; ns < INT64_MAX / 4; ns += INT64_MAX / 64)
			clock_relation_offset(r, ns, &off);
		for (size_t i = 0; i < r->bounds.all.len; i++)
			clock_relation_offset(r, r->bounds.all.items[i].at - 1, &off);
	}
	clock_relation_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char outer[64];
	static int directory = -1;
	size_t entries = 0;
	DIR *dir;

	if (directory < 0) {
		char inner[80];

		snprintf(outer, sizeof(outer), "/dev/shm/agent-fuzz-%d", (int)getpid());
		mkdir(outer, 0700);
		snprintf(inner, sizeof(inner), "%s/in", outer);
		mkdir(inner, 0700);
		directory = open(inner, O_RDONLY | O_DIRECTORY);
	}
	if (!size)
		return 0;
	if (size > 9 && !memcmp(data, "pantrace-", 9))
		relate(data, size);
	else
		receive(directory, data, size);
	dir = opendir(outer);
	while (readdir(dir))
		entries++;
	closedir(dir);
	if (entries != 3) /* ".", "..", "in" */
		abort();
	return 0;
}
