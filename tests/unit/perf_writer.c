/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is written as a perf.data comes out of its reader again, also of one that has no end. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"
#include "tap.h"
#include "trace/perf/perf_data.h"
#include "trace/perf/side_records.h"
#include "trace/perf/writer.h"

#define TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define MANY 20000

static char directory[] = "/tmp/perf-writer-XXXXXX";

static const struct perf_written_event events[] = {
	{{.size = sizeof(struct perf_event_attr),
	  .type = PERF_TYPE_SOFTWARE,
	  .config = PERF_COUNT_SW_CPU_CLOCK,
	  .sample_type = TYPE,
	  .sample_id_all = 1,
	  .use_clockid = 1,
	  .clockid = CLOCK_MONOTONIC},
	 "cpu-clock:u",
	 (const u64[]){7, 8},
	 2},
	{{.size = sizeof(struct perf_event_attr),
	  .type = PERF_TYPE_SOFTWARE,
	  .config = PERF_COUNT_SW_PAGE_FAULTS,
	  .sample_type = TYPE,
	  .sample_id_all = 1,
	  .use_clockid = 1,
	  .clockid = CLOCK_MONOTONIC},
	 "faults",
	 (const u64[]){9},
	 1},
};

struct sample {
	struct perf_event_header h;
	u64 id, ip, task, time;
};

static struct sample sample(u64 i)
{
	return (struct sample){{PERF_RECORD_SAMPLE, 2, sizeof(struct sample)},
			       i % 3 + 7,
			       0x1000 + i,
			       1ull << 32 | 1,
			       1000 + i};
}

/* In two pieces, the first of which ends within a record. */
static void write_samples(struct perf_writer *w, u64 from, u64 to)
{
	const size_t n = (to - from) * sizeof(struct sample), cut = n / 2 & ~(size_t)7;
	struct sample *all = malloc(n);

	for (u64 i = from; i < to; i++)
		all[i - from] = sample(i);
	perf_writer_data(w, (struct iovec[]){{all, cut}, {(u8 *)all + cut, n - cut}}, 2);
	perf_writer_round(w);
	free(all);
}

static struct perf_writer *begin(const char *path, bool compress, FILE **ret_file)
{
	static const struct {
		u32 pid, tid;
		char name[16];
		u64 task, time, id;
	} comm = {1, 1, "worker", 1ull << 32 | 1, 0, 7};
	const struct strbuf none = STRBUF_INIT;
	const struct perf_writer_options options = {&none, CLOCK_MONOTONIC, compress};
	struct perf_writer *w = NULL;

	*ret_file = fopen(path, "w+");
	if (perf_writer_open(&(struct recording_file){.fd = fileno(*ret_file)}, events,
			     ARRAY_SIZE(events), &options, &w))
		return NULL;
	perf_writer_feature(w, PERF_FEATURE_BUILD_ID, "", 0);
	perf_writer_record(w, PERF_RECORD_COMM, 0, &comm, sizeof(comm));
	return w;
}

struct found {
	u64 samples, wrong, comms;
	u32 kinds[2];
	bool has_host, has_clock, complained;
};

static struct found read_back(const char *path)
{
	struct diag d = DIAG_INIT;
	struct found f = {0};
	struct perf_data *p;
	struct perf_record r;
	u64 clock, day;

	if (perf_data_open(path, &d, &p)) {
		diag_release(&d);
		return f;
	}
	f.has_host = perf_data_host(p) != NULL;
	f.has_clock = perf_data_clock_at(p, &clock, &day) && clock && day > clock;
	while (perf_data_next(p, &r)) {
		struct perf_sample s;

		f.comms += r.type == PERF_RECORD_COMM;
		if (r.type != PERF_RECORD_SAMPLE)
			continue;
		if (!perf_sample_parse(&perf_data_kind(p, r.kind)->attr, r.body, &s) ||
		    s.ip != 0x1000 + f.samples || s.time != 1000 + f.samples ||
		    r.kind != (f.samples % 3 == 2))
			f.wrong++;
		f.samples++;
		f.kinds[r.kind]++;
	}
	f.complained = d.messages.len;
	perf_data_close(p);
	diag_release(&d);
	return f;
}

static void check(const struct found *f, u64 samples, const char *what)
{
	ok(f->samples == samples && !f->wrong, "%s: %llu samples as they were written", what,
	   (unsigned long long)f->samples);
	ok(f->comms == 1 && f->has_host && f->has_clock && !f->complained,
	   "%s: the name of its thread, of the machine, its clock", what);
}

static void round_trip(bool compress)
{
	const char *const what = compress ? "compressed" : "plain";
	char path[64];
	FILE *file;
	struct perf_writer *w;
	struct found f;

	snprintf(path, sizeof(path), "%s/%s.data", directory, what);
	w = begin(path, compress, &file);
	write_samples(w, 0, MANY / 2);
	perf_writer_checkpoint(w);
	f = read_back(path);
	check(&f, MANY / 2, compress ? "compressed, not ended" : "plain, not ended");
	write_samples(w, MANY / 2, MANY);
	f = read_back(path); /* the head still tells of the first half */
	ok(f.samples >= MANY / 2 && !f.wrong, "%s, cut off while it was written: %llu samples",
	   what, (unsigned long long)f.samples);
	is_int(perf_writer_close(w), 0, "it ends");
	f = read_back(path);
	check(&f, MANY, what);
	is_int(f.kinds[1], MANY / 3, "samples are told apart by their ids");
	if (compress)
		ok(ftell(file) >= 0 && lseek(fileno(file), 0, SEEK_END) <
					       (off_t)(MANY * sizeof(struct sample) / 2),
		   "compressed: less than half of it");
	fclose(file);
}

/* What fits is told, and read. */
static void full_disk(void)
{
	const struct strbuf none = STRBUF_INIT;
	const struct perf_writer_options options = {&none, CLOCK_MONOTONIC, false};
	FILE *file = fopen("/dev/full", "w");
	struct perf_writer *w = NULL;
	int err;

	if (!file) {
		tap_skip("a full disk", "no /dev/full");
		return;
	}
	err = perf_writer_open(&(struct recording_file){.fd = fileno(file)}, events,
			       ARRAY_SIZE(events), &options, &w);
	is_int(err, -ENOSPC, "a full disk is an error at once");
	fclose(file);
}

static void build_ids(void)
{
	is_int(perf_build_id_of_text("0123ab").size, 3, "a build-id of three bytes");
	is_int(perf_build_id_of_text("0123a").size, 2, "half a byte at the end is none");
	is_int(perf_build_id_of_text(NULL).size, 0, "no build-id");
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	round_trip(false);
	round_trip(true);
	full_disk();
	build_ids();
	run_in("/", "rm -r %s", directory);
	return tap_done();
}
