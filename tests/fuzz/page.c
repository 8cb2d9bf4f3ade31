/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a page of the ring buffer, as a print format of an event whose record is any bytes,
 * and as a trace.dat. The first byte chooses.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/dat/trace_dat.h"
#include "trace/ftrace/latency_trace.h"
#include "types/tracefs_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_page(const uint8_t *data, size_t size)
{
	const struct page_layout layout = PAGE_LAYOUT_INIT;
	struct page_event e;
	struct page p;
	volatile u8 sum = 0; /* reads every byte: the sanitizer sees where they end */

	if (page_begin(&p, &layout, data, size))
		return;
	while (page_next(&p, &e))
		for (u32 i = 0; i < e.size; i++)
			sum += e.data[i];
	(void)sum;
}

/* Format text, NUL, record. */
static void print_event(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0, size);
	const size_t record_size = end ? size - (size_t)(end + 1 - data) : 0;
	const struct print_context context = {.hz = 250};
	struct strbuf out = STRBUF_INIT;
	struct type_store store;
	const struct type *record;
	const char *print_fmt;
	char *text = xstrndup((const char *)data, size);
	u8 *copy = xmalloc(MAX(record_size, (size_t)1));

	if (record_size)
		memcpy(copy, end + 1, record_size);
	type_store_init(&store);
	if (!tracefs_format_parse(&store, "x", text, &record, &print_fmt)) {
		print_format_run(print_format_compile(&store, "x", "y", record, print_fmt, NULL),
				 &context, copy, record_size, &out);
		print_format_run(print_format_fields(&store, record), &context, copy, record_size,
				 &out);
	}
	type_store_release(&store);
	strbuf_release(&out);
	free(copy);
	free(text);
}

static void print_events(struct page_merge *m, struct trace_text *text, struct strbuf *out)
{
	struct raw_event e;

	for (u32 n = 0; n < 10000 && page_merge_next(m, &e); n++) {
		strbuf_reset(out);
		trace_text_event(text, &e, out);
	}
}

static void read_file(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct diag d = DIAG_INIT;
	struct strbuf out = STRBUF_INIT;
	struct trace_dat *t;
	struct trace_text text;
	struct latency_trace latency;
	struct arena arena = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (!trace_dat_open(path, &d, &t)) {
		trace_dat_text(t, &text);
		for (size_t i = 0; i < trace_dat_buffers(t); i++) {
			struct page_merge m;

			trace_dat_events(t, i, &m);
			print_events(&m, &text, &out);
			page_merge_narrow(&m, data[size / 2], (u64)data[size / 3] << 24);
			print_events(&m, &text, &out);
			page_merge_release(&m);
		}
		if (trace_dat_latency(t))
			latency_trace_parse(&arena, trace_dat_latency(t), &latency);
		trace_dat_close(t);
	}
	arena_release(&arena);
	diag_release(&d);
	strbuf_release(&out);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_page(data + 1, size - 1);
		break;
	case 1:
		print_event(data + 1, size - 1);
		break;
	default:
		read_file(data + 1, size - 1);
	}
	return 0;
}
