/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --test and --bench: the probes test:NAME and bench:NAME, run one after the other. */
#include "engine/engine.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "kernel/kernel.h"

#define BENCH_NS	 1000000u /* a benchmark is repeated until it took this long */
#define BENCH_MAX_ROUNDS (1u << 20)
#define BENCH_BATCH	 256u /* runs before the buffers are emptied again */

enum mark { MARK_GOOD, MARK_BAD };

struct test_run {
	const char *name;
	size_t program;
	bool passed;
};

struct test_runs {
	struct engine *e;
	struct output *out; /* of the run itself */
	VECTOR(struct test_run) list;
	void (*drain)(void *arg); /* acts upon all records that there are */
	void *arg;
};

/*
 * "[ RUN ]", green or red. As in the reports of test frameworks also when written to a file, but
 * not with NO_COLOR.
 */
static void add_mark(struct strbuf *out, enum mark mark, const char *text)
{
	if (getenv("NO_COLOR"))
		strbuf_addstr(out, text);
	else
		strbuf_addf(out, "\033[%dm%s\033[0m", mark == MARK_GOOD ? 32 : 31, text);
}

static void collect(struct test_runs *t, enum probe_runner runner)
{
	const struct script *s = t->e->script;

	for (size_t i = 0; i < s->programs.len; i++) {
		const struct script_program *p = &s->programs.items[i];

		for (u32 k = 0; engine_provider(p)->runner == runner && k < p->ntargets; k++)
			vector_push(&t->list,
				    ((struct test_run){p->targets[k]->function, i, false}));
	}
}

static int run_once(struct test_runs *t, const struct test_run *test_run, u32 *ret_value)
{
	const struct script_program *p = &t->e->script->programs.items[test_run->program];
	const int err = engine_test_run(t->e->programs[test_run->program], ret_value);

	if (err < 0)
		diag_error(t->e->env->diag, p->probe ? p->probe->span : NO_SPAN,
			   "cannot run %s: %s", test_run->name, strerror(-err));
	return err;
}

/* Redirects what the program prints into a file of its own, as text. Returns 0 or -errno. */
static int capture_begin(struct test_runs *t, struct output *capture)
{
	*capture = (struct output){.fd = memfd_create("output", MFD_CLOEXEC),
				   .buffering = OUTPUT_FULL,
				   .owns_fd = true};
	if (capture->fd < 0)
		return -errno;
	t->e->out = capture;
	t->e->captures_errors = true;
	t->e->errors = 0;
	t->e->exit_code = 0;
	t->e->is_exiting = false;
	return 0;
}

/* The captured text, malloc'ed. */
static char *capture_end(struct test_runs *t, struct output *capture, size_t *ret_len)
{
	char *text = NULL;

	t->e->out = t->out;
	t->e->captures_errors = false;
	t->e->is_exiting = false;
	*ret_len = 0;
	output_flush(capture);
	if (lseek(capture->fd, 0, SEEK_SET) == 0)
		file_read_fd(capture->fd, 1 << 24, &text, ret_len);
	output_close(capture);
	return text;
}

/* ---- tests ---- */

static void add_duration(struct strbuf *out, u64 ns)
{
	static const struct {
		u64 scale;
		const char *unit;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
	u32 i = 0;

	while (i + 1 < ARRAY_SIZE(units) && ns < units[i].scale)
		i++;
	strbuf_addf(out, "%" PRIu64 " %s", ns / units[i].scale, units[i].unit);
}

static void add_lines(struct strbuf *out, const char *text)
{
	while (text && *text) {
		const size_t n = strcspn(text, "\n");

		if (n)
			strbuf_addf(out, "%.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static void print_summary(struct test_runs *t)
{
	struct strbuf *out = &t->out->text;
	size_t failed = 0;

	for (size_t i = 0; i < t->list.len; i++)
		failed += !t->list.items[i].passed;
	add_mark(out, MARK_GOOD, "[==========]");
	strbuf_addf(out, " %zu test%s ran.\n", t->list.len, plural(t->list.len));
	add_mark(out, MARK_GOOD, "[  PASSED  ]");
	strbuf_addf(out, " %zu test%s.\n", t->list.len - failed, plural(t->list.len - failed));
	if (!failed)
		return;
	add_mark(out, MARK_BAD, "[  FAILED  ]");
	strbuf_addf(out, " %zu test%s, listed below:\n", failed, plural(failed));
	for (size_t i = 0; i < t->list.len; i++) {
		if (t->list.items[i].passed)
			continue;
		add_mark(out, MARK_BAD, "[  FAILED  ]");
		strbuf_addf(out, " %s\n", t->list.items[i].name);
	}
}

/* {"type": TYPE, "data": {NAME: { */
static struct json begin_json(struct strbuf *out, const char *type, const char *name)
{
	struct json j = JSON_SPACED_INIT(out);

	json_object(&j);
	json_member_text(&j, "type", type);
	json_key(&j, "data");
	json_object(&j);
	json_key(&j, name);
	json_object(&j);
	return j;
}

static void end_json(struct json *j)
{
	for (int i = 0; i < 3; i++)
		json_end(j, '}');
	json_end_line(j);
}

static void print_test(struct test_runs *t, size_t index, u64 ns, const char *text)
{
	const struct test_run *test_run = &t->list.items[index];
	struct strbuf *out = &t->out->text;
	struct json j;

	if (t->out->is_json) {
		j = begin_json(out, "test_result", test_run->name);
		json_member_u64(&j, "duration", ns);
		json_member_bool(&j, "passed", test_run->passed);
		json_member_text(&j, "output", text ? text : "");
		end_json(&j);
		return;
	}
	if (!index) {
		add_mark(out, MARK_GOOD, "[==========]");
		strbuf_addf(out, " Running %zu tests.\n", t->list.len);
	}
	add_mark(out, MARK_GOOD, "[ RUN      ]");
	strbuf_addf(out, " %s\n", test_run->name);
	if (!test_run->passed)
		add_lines(out, text);
	add_mark(out, test_run->passed ? MARK_GOOD : MARK_BAD,
		 test_run->passed ? "[       OK ]" : "[  FAILED  ]");
	strbuf_addf(out, " %s (", test_run->name);
	add_duration(out, ns);
	strbuf_addstr(out, ")\n");
	if (index + 1 == t->list.len)
		print_summary(t);
}

static int run_test(struct test_runs *t, size_t index)
{
	struct test_run *test_run = &t->list.items[index];
	struct output capture;
	u32 value = 0;
	size_t len;
	char *text;
	u64 begin, ns;
	int err = capture_begin(t, &capture);

	if (err)
		return err;
	begin = clock_now_ns(CLOCK_MONOTONIC);
	err = run_once(t, test_run, &value);
	ns = clock_now_ns(CLOCK_MONOTONIC) - begin;
	t->drain(t->arg);
	test_run->passed = !err && !value && !t->e->exit_code && !t->e->errors;
	text = capture_end(t, &capture, &len);
	if (!err)
		print_test(t, index, ns, text);
	free(text);
	output_commit(t->out);
	return err;
}

/* ---- benchmarks ---- */

/* What the kernel itself measured (5.8): time and number of runs of a program. */
static int run_time(int fd, u64 *ret_ns, u64 *ret_runs)
{
	struct bpf_prog_info info = {0};
	const int r = sys_bpf_info(fd, &info, sizeof(info));

	*ret_ns = info.run_time_ns;
	*ret_runs = info.run_cnt;
	return r < 0 ? r : 0;
}

struct measurement {
	u64 ns, runs;
	bool is_skipped;
};

/* Runs it n times; the buffers are emptied between batches so that they never fill up. */
static int run_batches(struct test_runs *t, const struct test_run *test_run, u32 n,
		       struct measurement *ret)
{
	const int fd = t->e->programs[test_run->program];
	u64 ns_before, runs_before, ns_after, runs_after, clock = 0;
	int err = run_time(fd, &ns_before, &runs_before);

	for (u32 i = 0; i < n && !err && !ret->is_skipped; i++) {
		const u64 begin = clock_now_ns(CLOCK_MONOTONIC);
		u32 value = 0;

		err = run_once(t, test_run, &value);
		clock += clock_now_ns(CLOCK_MONOTONIC) - begin;
		if (i % BENCH_BATCH == BENCH_BATCH - 1 || i + 1 == n)
			t->drain(t->arg);
		ret->is_skipped = value != 0;
	}
	if (err || run_time(fd, &ns_after, &runs_after) < 0)
		return err;
	ret->runs = n;
	ret->ns = clock;
	if (runs_after > runs_before) {
		ret->runs = runs_after - runs_before;
		ret->ns = ns_after - ns_before;
	}
	return 0;
}

static void print_bench(struct test_runs *t, size_t index, const struct measurement *m, bool first)
{
	const char *name = t->list.items[index].name;
	struct strbuf *out = &t->out->text;
	const u64 average = m->ns / MAX(m->runs, (u64)1);
	struct json j;
	int width = 40;

	if (t->out->is_json) {
		j = begin_json(out, "benchmark_result", name);
		json_member_u64(&j, "average", average);
		json_member_u64(&j, "iters", m->runs);
		end_json(&j);
		return;
	}
	for (size_t i = 0; i < t->list.len; i++)
		width = MAX(width, (int)strlen(t->list.items[i].name));
	if (first) {
		strbuf_addf(out, "%-*s%-15s%s\n", width + 1, "Benchmark", "Time(ns)", "Iterations");
		for (int i = 0; i < width + 1 + 15 + 10; i++)
			strbuf_addch(out, '-');
		strbuf_addch(out, '\n');
	}
	strbuf_addf(out, "%-*s%-15" PRIu64 "%" PRIu64 "\n", width + 1, name, average, m->runs);
}

static int run_bench(struct test_runs *t, size_t index, bool *first)
{
	struct test_run *test_run = &t->list.items[index];
	struct measurement m = {0};
	struct output capture;
	size_t len;
	int err = capture_begin(t, &capture);

	if (err)
		return err;
	for (u32 n = 1; !err && n <= BENCH_MAX_ROUNDS && m.ns < BENCH_NS && !m.is_skipped; n *= 4)
		err = run_batches(t, test_run, n, &m);
	test_run->passed = !err && !t->e->exit_code && !t->e->errors;
	free(capture_end(t, &capture, &len));
	if (err || (m.is_skipped && test_run->passed))
		return err;
	if (test_run->passed) {
		print_bench(t, index, &m, *first);
		*first = false;
	} else {
		diag_error(t->e->env->diag, NO_SPAN, "Benchmark '%s' failed.", test_run->name);
	}
	output_commit(t->out);
	return 0;
}

static int enable_statistics(void)
{
	union bpf_attr attr = {0};

	attr.enable_stats.type = BPF_STATS_RUN_TIME;
	return sys_bpf(BPF_ENABLE_STATS, &attr, sizeof(attr));
}

int engine_run_tests(struct engine *e, void (*drain)(void *arg), void *arg)
{
	const bool bench = e->options->test_mode == TEST_MODE_BENCH;
	struct test_runs t = {.e = e, .out = e->out, .drain = drain, .arg = arg};
	int statistics = bench ? enable_statistics() : -1, err = 0;
	bool first = true, failed = false;

	collect(&t, bench ? PROBE_AS_BENCH : PROBE_AS_TEST);
	if (!t.list.len) {
		diag_error(e->env->diag, NO_SPAN, "the script has no %s probes",
			   bench ? "bench" : "test");
		err = -ENOENT;
	}
	for (size_t i = 0; i < t.list.len && !err; i++) {
		err = bench ? run_bench(&t, i, &first) : run_test(&t, i);
		failed |= !t.list.items[i].passed;
	}
	e->exit_code = failed ? EXIT_FAILED : EXIT_OK;
	e->attached = t.list.len;
	if (statistics >= 0)
		close(statistics);
	vector_free(&t.list);
	return err;
}
