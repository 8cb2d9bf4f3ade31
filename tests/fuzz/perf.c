/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a perf.data: its records, the machine they tell of, samples and their lines. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/ftrace/event_field.h"
#include "trace/perf/script_text.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static void sample(struct perf_script *s, struct perf_data *data, struct perf_machine *m,
		   const struct perf_record *r, struct strbuf *out)
{
	struct trace_text text = {0};
	struct json j = JSON_INIT(out);

	s->attr = &perf_data_kind(data, r->kind)->attr;
	s->misc = r->misc;
	s->info = NULL;
	if (!perf_sample_parse(s->attr, r->body, &s->sample))
		return;
	perf_script_begin(s, data);
	if (perf_data_formats(data)) {
		trace_dat_text(perf_data_formats(data), &text);
		s->info = event_table_get(text.events, (u32)(s->attr->config & UINT16_MAX));
	}
	if (s->info && s->sample.raw) {
		const struct page_event raw = {.data = s->sample.raw, .size = s->sample.raw_size};

		event_field(s->info, &raw, "comm");
	}
	strbuf_reset(out);
	perf_script_line(s, m, perf_data_kind(data, r->kind)->name, &text.context, out);
	perf_script_body(s, m, &text.context, out);
	json_object(&j);
	perf_script_frames_json(s, m, &j);
	json_end(&j, '}');
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	const struct perf_machine_options no_files = {.no_symbols = true};
	struct perf_script script = {.text = STRBUF_INIT};
	struct strbuf out = STRBUF_INIT;
	struct diag d = DIAG_INIT;
	struct perf_machine *m;
	struct perf_record r;
	struct perf_data *p;
	char path[32];
	const int fd = memfd_create("perf", MFD_CLOEXEC);

	if (fd < 0 || write_all(fd, (const char *)data, len))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!perf_data_open(path, &d, &p)) {
		m = perf_machine_new(p, &no_files);
		while (perf_data_next(p, &r)) {
			if (r.type == PERF_RECORD_SAMPLE)
				sample(&script, p, m, &r, &out);
			else
				perf_machine_tell(m, &r);
		}
		perf_data_left_out(p, &d);
		perf_machine_release(m);
		perf_data_close(p);
	}
	close(fd);
	perf_script_release(&script);
	strbuf_release(&out);
	diag_release(&d);
	return 0;
}
