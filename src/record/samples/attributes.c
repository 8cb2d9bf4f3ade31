/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How an event is sampled, and what its samples contain: attributes for perf_event_open(2). */
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "record/samples/internal.h"

#define HERTZ_DEFAULT	   4000 /* as perf record */
#define MAX_RATE	   "/proc/sys/kernel/perf_event_max_sample_rate"
#define STACK_SIZE_DEFAULT 8192
#define STACK_SIZE_MOST	   65528 /* the size of a record is 16 bits */
#define STACK_SIZE_UNIT	   8
#if defined(__x86_64__)
/* ax ... ip, flags, cs, ss, r8 ... r15; the kernel refuses the other segments */
#define USER_REGISTERS 0xff0fffull
#elif defined(__aarch64__)
#define USER_REGISTERS ((1ull << 33) - 1) /* x0 ... x29, lr, sp, pc */
#endif

static int usage(struct samples *s, const char *message, const char *word)
{
	diag_error(s->run->diag, NO_SPAN, message, word);
	diag_code(s->run->diag, EXIT_USAGE);
	return -EINVAL;
}

/* ---- how often ---- */

static u64 most_hertz(void)
{
	char *text;
	size_t len;
	u64 most = 100000;

	if (!file_read(MAX_RATE, 64, &text, &len)) {
		most = strtoull(text, NULL, 10);
		free(text);
	}
	return most;
}

/* *ret: 0 = not given */
static int frequency(struct samples *s, u64 *ret)
{
	const char *const word = s->request->samples.frequency;
	const u64 most = most_hertz();

	*ret = 0;
	if (!word)
		return 0;
	if (str_eq(word, "max")) {
		*ret = most;
		return 0;
	}
	if (parse_u64(word, ret) || !*ret)
		return usage(s, "-F takes samples a second, or 'max', not '%s'", word);
	if (*ret <= most)
		return 0;
	diag_error(s->run->diag, NO_SPAN,
		   "-F %s: the kernel takes at most %" PRIu64 " samples a second", word, most);
	diag_hint(s->run->diag, "-F max takes as many; %s is the limit", MAX_RATE);
	return -EINVAL;
}

static bool is_software(const struct perf_event_attr *a, u64 first, u64 second)
{
	return a->type == PERF_TYPE_SOFTWARE && (a->config == first || a->config == second);
}

/* Clocks and hardware counters occur too often to sample each event. */
static bool is_fast(const struct perf_event_attr *a)
{
	return a->type != PERF_TYPE_TRACEPOINT &&
	       (a->type != PERF_TYPE_SOFTWARE ||
		is_software(a, PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK));
}

/*
 * Every event of a tracepoint is a sample: -F would leave out some by chance. PERF_SAMPLE_PERIOD
 * only goes with a frequency: with it the kernel makes a sample of each software event, and ignores
 * the period (perf_swevent_event() of Linux).
 */
static void set_period(struct samples *s, struct perf_event_attr *a, u64 hertz)
{
	const u64 period = s->request->samples.period;
	const bool by_time = !period && a->type != PERF_TYPE_TRACEPOINT && (hertz || is_fast(a));

	if (!by_time) {
		a->sample_period = period ? period : 1;
		return;
	}
	a->freq = 1;
	a->sample_freq = hertz ? hertz : MIN(most_hertz(), (u64)HERTZ_DEFAULT);
	a->sample_type |= PERF_SAMPLE_PERIOD;
}

/* ---- call chains ---- */

static int set_stack_size(struct samples *s, const char *word, struct perf_event_attr *a)
{
	u64 size = STACK_SIZE_DEFAULT;

	if (word && (parse_value(OPTION_SIZE, word, &size) || size > STACK_SIZE_MOST))
		return usage(s, "--call-graph dwarf,SIZE: at most 65528 bytes of stack, not '%s'",
			     word);
	a->sample_stack_user = (u32)ALIGN_UP(size, (u64)STACK_SIZE_UNIT);
	return 0;
}

/*
 * "fp": the kernel follows frame pointers. "dwarf": the reader unwinds from registers and a copy of
 * the stack.
 */
static int set_call_graph(struct samples *s, struct perf_event_attr *a)
{
	const char *const mode = s->request->samples.call_graph;
	const bool by_dwarf = mode && str_starts(mode, "dwarf") && (!mode[5] || mode[5] == ',');

	if (mode && !by_dwarf && !str_eq(mode, "fp"))
		return usage(s, "--call-graph takes fp, dwarf or dwarf,SIZE, not '%s'", mode);
	if (mode || s->request->samples.frames)
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (!by_dwarf)
		return 0;
#ifdef USER_REGISTERS
	a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a->sample_regs_user = USER_REGISTERS;
	a->exclude_callchain_user = 1;
	return set_stack_size(s, mode[5] ? mode + 6 : NULL, a);
#else
	return usage(s, "--call-graph %s: not on this processor; frame pointers are: -g", mode);
#endif
}

/* ---- all ---- */

static void set_common(struct perf_event_attr *a, bool of_tasks)
{
	a->size = sizeof(*a);
	a->sample_type |= PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			  PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	a->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	a->sample_id_all = 1;
	a->exclude_guest = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->inherit = of_tasks;
}

static int set_one(struct samples *s, struct sample_event *e, u64 hertz, bool of_tasks)
{
	struct perf_event_attr *const a = &e->attr;

	set_common(a, of_tasks);
	a->disabled = 1;
	a->enable_on_exec = s->run->command && of_tasks;
	if (a->type == PERF_TYPE_TRACEPOINT)
		a->sample_type |= PERF_SAMPLE_RAW;
	if (is_software(a, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN) ||
	    is_software(a, PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_ALIGNMENT_FAULTS))
		a->sample_type |= PERF_SAMPLE_ADDR;
	set_period(s, a, hertz);
	return set_call_graph(s, a);
}

static void add_tracking(struct samples *s, bool of_tasks)
{
	struct sample_event e = {
		.name = "dummy:HG",
		.attr = {.type = PERF_TYPE_SOFTWARE,
			 .config = PERF_COUNT_SW_DUMMY,
			 .sample_period = 1,
			 .mmap = 1,
			 .mmap2 = 1,
			 .comm = 1,
			 .comm_exec = 1,
			 .task = 1,
			 .ksymbol = 1,
			 .bpf_event = 1},
		/*
		 * Not build_id: the kernel (up to 6.18) leaves its mark on the record that it then
		 * gives to other tracers, too, and perf aborts over what it takes for an id.
		 */
	};

	/* Readers find a file's call frame information by the mapping that contains it. */
	for (size_t i = 0; i < s->events.len; i++)
		e.attr.mmap_data |= s->events.items[i].attr.sample_stack_user != 0;
	set_common(&e.attr, of_tasks);
	vector_push(&s->events, e);
}

int samples_set_attributes(struct samples *s)
{
	const struct record_request *const r = s->request;
	const bool of_tasks = r->pids.count || r->samples.threads.count ||
			      (r->has_command && !r->all && !r->samples.cgroups.count);
	u64 hertz;
	int err = frequency(s, &hertz);

	for (size_t i = 0; i < s->chosen.list.len && !err; i++) {
		const struct perf_choice *const c = &s->chosen.list.items[i];
		struct sample_event e = {.choice = c, .name = c->name, .attr = c->attr};

		err = set_one(s, &e, hertz, of_tasks);
		if (!err)
			vector_push(&s->events, e);
	}
	if (!err)
		add_tracking(s, of_tasks);
	return err;
}
