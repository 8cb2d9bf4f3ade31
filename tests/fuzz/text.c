/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as the text of another tool, a trace.dat, a perf.data or a profile of pprof, read and
 * written again in a format of others: the first byte chooses the reader, the second the format.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "base/new_directory.h"
#include "trace/writers/writer.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static const struct recording_reader *const readers[] = {&perf_script_reader, &trace_cmd_reader,
							 &folded_reader,      &dat_reader,
							 &perf_reader,	      &pprof_reader};

static void convert(struct recordings *all, struct recording *r, u8 choice, struct diag *d)
{
	static const char *const names[] = {"pid", "comm", "next_comm", "period", "cpu"};
	struct new_directory directory = {0}; /* its files have no names, and are not kept */
	struct trace_writer_options options = {
		.all = all, .directory = &directory, .lttng_names = choice & 0x80};
	const struct trace_format *format = NULL;
	struct trace_writer *w;
	size_t formats = 0;
	const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (trace_format_at(formats))
		formats++;
	format = trace_format_at(choice % formats);
	if (format->is_directory && new_directory_open(&directory, "/dev/shm/pantrace-fuzz"))
		abort();
	w = trace_writer_new(format, &options, null);
	while (r->reader->next(r, d)) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			r->reader->value(r, names[i], false);
		trace_writer_event(w, r);
	}
	trace_writer_end(w);
	trace_writer_gaps(w, d);
	trace_writer_release(w);
	new_directory_drop(&directory);
	close(null);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	const struct recordings_options options = {
		.recorded_times = true, .no_symbols = true, .print = {.format = CTF_FORMAT_JSON}};
	const struct recording_reader *reader;
	struct recording_loss loss = {0};
	struct recordings *all;
	struct recording *r;
	struct diag d = DIAG_INIT;
	char path[32];
	int fd;

	if (len < 2)
		return 0;
	reader = readers[data[0] % ARRAY_SIZE(readers)];
	reader->recognise(data + 2, MIN(len - 2, (size_t)4096));
	fd = memfd_create("text", MFD_CLOEXEC);
	if (fd < 0 || write_all(fd, (const char *)data + 2, len - 2))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	all = recordings_new(&options);
	if (!reader->open(all, path, &d, &r)) {
		r->reader = reader;
		r->all = all;
		r->path = path;
		convert(all, r, data[1], &d);
		reader->loss(r, &d, &loss);
		reader->close(r);
	}
	recordings_release(all);
	close(fd);
	diag_release(&d);
	return 0;
}
