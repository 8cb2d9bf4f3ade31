/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a dump of a dead machine: its kernel, and what its ring buffers hold. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/vmcore/rings.h"
#include "trace/vmcore/state.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static int look_at(void *arg, const void *data)
{
	const struct dead_buffer *const b = arg;
	struct page_event e;
	struct page p;

	if (page_begin(&p, &b->layout, data, b->layout.size))
		abort();
	while (page_next(&p, &e))
		;
	return 0;
}

static void read_all(struct dead_kernel *k)
{
	static const struct dat_instance clocks[] = {
		{.clock = "boot"}, {.clock = "mono_raw"}, {.clock = "perf"}};
	struct dead_buffers buffers;
	struct dat_contents contents;
	struct hashmap seen = {0};
	char *uname;
	bool is_whole;

	dat_contents_init(&contents);
	dead_state_read(k, &contents, &uname);
	free(dead_clocks_say(k, clocks, ARRAY_SIZE(clocks)));
	dead_formats_read(k, &contents);
	dat_contents_release(&contents);
	free(uname);
	dead_buffers_find(k, &buffers);
	for (size_t i = 0; i < buffers.all.len; i++) {
		struct dead_buffer *const b = &buffers.all.items[i];

		for (size_t r = 0; r < b->rings.len; r++)
			dead_ring_each_page(k, b, &b->rings.items[r], &seen, look_at, b, &is_whole);
	}
	dead_buffers_release(&buffers);
	hashmap_release(&seen);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct diag d = DIAG_INIT;
	struct dead_kernel *k;
	char path[32];
	const int fd = memfd_create("vmcore", MFD_CLOEXEC);

	if (fd < 0 || write_all(fd, (const char *)data, len))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!dead_kernel_open(path, &d, &k)) {
		read_all(k);
		dead_kernel_close(k);
	}
	close(fd);
	diag_release(&d);
	return 0;
}
