/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace.dat, for trace-cmd and KernelShark. Tracepoints keep the record that the kernel wrote,
 * and their format; events that no kernel laid out get a format of their fields. Call chains become
 * events of their own, as ftrace has them. Times of one recording
 * stay as its clock showed them. Of several they are nanoseconds of CLOCK_MONOTONIC, if they are of
 * the first one, else since 1970.
 */
#include <stdio.h>

#include "base/hashmap.h"
#include "trace/dat/made_stack.h"
#include "trace/dat/piece.h"
#include "trace/dat/trace_dat.h"
#include "trace/writers/kernel_records.h"

#define CPUS_MOST  1024
#define EVENT_HEAD 8 /* at most, before an event's record */

struct dat_file {
	struct trace_writer writer;
	struct piece *piece;
	struct dat_contents contents;
	struct diag quiet; /* of what is in writer.error */
	char *uname, *version;
	s64 origin_ns; /* of the file's clock */
	struct hashmap recordings; /* that were met; NULL: it does not say its tasks itself */
	bool tells_tasks; /* the event's recording does */
	u64 untold; /* lost before events that were left out: told before the next one */
	struct kernel_records records;
	struct hashmap tasks; /* tid -> struct task */
	struct recorded_stack stack; /* of the event */
	struct strbuf stack_record;
};

struct task {
	s64 pid;
	char *comm;
};

static struct dat_file *dat_of(struct trace_writer *w)
{
	return container_of(w, struct dat_file, writer);
}

/* ---- tasks ---- */

static struct task *task_of(struct dat_file *t, s64 tid)
{
	void **const at = hashmap_put(&t->tasks, &tid, sizeof(tid), NULL);

	return *at = *at ?: xzalloc(sizeof(struct task));
}

static void name_task(struct dat_file *t, s64 tid, const char *comm, size_t size)
{
	struct task *const task = task_of(t, tid);

	if (task->comm && strlen(task->comm) == size && !memcmp(task->comm, comm, size))
		return;
	if (task->comm)
		writer_gap(&t->writer, 1, "name of a thread that had another one later",
			   "names of threads that had another one later");
	free(task->comm);
	task->comm = xstrndup(comm, size);
	for (char *c = task->comm; *c; c++)
		*c = *c == '\n' ? '?' : *c;
}

/* Whom an event was in. */
static void note_task(struct dat_file *t, const struct recorded_place *p)
{
	const size_t size = p->comm ? strnlen(p->comm, p->comm_size) : 0;

	if (p->tid <= 0 || !size)
		return;
	name_task(t, p->tid, p->comm, size);
	task_of(t, p->tid)->pid = p->pid;
}

/* What a file says itself. Lines: "TID NAME"; "-TID PID", which is ours, and others skip. */
static void add_tasks(struct dat_file *t, const char *text, size_t size)
{
	const char *const end = text + size, *next;

	for (const char *line = text; line < end; line = next) {
		const char *const newline = memchr(line, '\n', (size_t)(end - line));
		char *word;
		s64 tid;

		next = newline ? newline + 1 : end;
		tid = strtoll(line, &word, 10);
		if (word == line || word >= next || *word != ' ' || !newline)
			continue;
		if (tid < 0)
			task_of(t, -MAX(tid, -INT64_MAX))->pid = strtoll(word, NULL, 10);
		else
			name_task(t, tid, word + 1, (size_t)(newline - word - 1));
	}
}

static void put_tasks(struct dat_file *t)
{
	struct strbuf text = STRBUF_INIT;

	hashmap_each (&t->tasks, e) {
		const struct task *const task = e->value;
		s64 tid;

		memcpy(&tid, e->key, sizeof(tid));
		if (task->comm)
			strbuf_addf(&text, "%" PRId64 " %s\n", tid, task->comm);
		if (task->pid > 0)
			strbuf_addf(&text, "-%" PRId64 " %" PRId64 "\n", tid, task->pid);
	}
	dat_contents_tasks(&t->contents, text.data ?: "", text.len);
	strbuf_release(&text);
}

/* ---- the file ---- */

/* {u16 id, u32 size, text} */
static void add_date(struct strbuf *options, const char *text)
{
	const u16 date = 1;
	const u32 size = (u32)strlen(text) + 1;

	strbuf_add(options, &date, sizeof(date));
	strbuf_add(options, &size, sizeof(size));
	strbuf_add(options, text, size);
}

/* What the file's times are: see above. */
static void choose_clock(struct dat_file *t, const struct recording *r)
{
	struct dat_contents *const c = &t->contents;
	const struct recorded_place place = recording_place((struct recording *)r);
	const bool are_several = recordings_count(t->writer.options.all) > 1;

	if (are_several)
		strbuf_reset(&c->options);
	t->origin_ns = r->origin_ns;
	if (c->options.len)
		return;
	if (str_eq(c->clock, "mono") && !r->is_unplaced) {
		t->version =
			xasprintf("pantrace " PANTRACE_VERSION ", " TRACE_DAT_REALTIME "%" PRId64,
				  r->origin_ns);
	} else if (!r->is_unplaced) {
		t->origin_ns = 0;
		c->clock = "";
		add_date(&c->options, "0x0");
	}
	t->uname = place.host ? xasprintf("Linux %s", place.host) : NULL;
	c->version = t->version;
	c->uname = t->uname;
	c->clocks = str_eq(c->clock, "mono") ? "[mono]\n" : NULL;
}

static int read_contents(struct dat_file *t, struct recording *r, struct dat_contents *to)
{
	dat_contents_init(to);
	to->clock = "";
	return r->reader->contents ? r->reader->contents(r, to, &t->quiet) : 0;
}

static int open_piece(struct dat_file *t)
{
	u32 cpus[CPUS_MOST];
	struct piece_options o = {.path = "",
				  .version = t->writer.options.v6 ? 6 : 7,
				  .compress = !t->writer.options.v6,
				  .layout = PAGE_LAYOUT_INIT,
				  .cpus = cpus,
				  .cpu_count = CPUS_MOST,
				  .is_unnamed = true,
				  .directory = t->writer.options.beside};

	/* a kernel's pages are never smaller; a file may say what it likes */
	o.layout.size = MAX(t->contents.page_size, o.layout.size);
	t->contents.page_size = o.layout.size;
	for (u32 i = 0; i < CPUS_MOST; i++)
		cpus[i] = i;
	return piece_open(&o, &t->contents, &t->quiet, &t->piece);
}

/* The names of functions and texts of another recording than the first. */
static void add_names(struct dat_file *t, const struct dat_contents *other)
{
	static const enum dat_part parts[] = {DAT_SYMBOLS, DAT_STRINGS};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct strbuf *const ours = &t->contents.parts[parts[i]];
		const struct strbuf *const its = &other->parts[parts[i]];

		if (!ours->len)
			strbuf_add(ours, its->data, its->len);
		else if (its->len &&
			 (its->len != ours->len || memcmp(its->data, ours->data, its->len) != 0))
			writer_gap(&t->writer, 1,
				   "recording's names of the kernel's functions or texts: the file "
				   "has those of another",
				   "recordings' names of the kernel's functions or texts: the file "
				   "has those of another");
	}
}

/* Before the first event of a recording. */
static int meet(struct dat_file *t, struct recording *r)
{
	bool is_new;
	void **const told = hashmap_put(&t->recordings, &r, sizeof(r), &is_new);
	struct dat_contents its;
	int rc;

	t->tells_tasks = *told;
	if (!is_new)
		return 0;
	rc = read_contents(t, r, &its);
	t->tells_tasks = its.parts[DAT_TASKS].len > sizeof(u64);
	*told = t->tells_tasks ? t : NULL;
	if (t->tells_tasks) /* u64 size, text, a NUL behind it */
		add_tasks(t, its.parts[DAT_TASKS].data + sizeof(u64),
			  its.parts[DAT_TASKS].len - sizeof(u64));
	if (rc || t->piece) {
		if (!rc)
			add_names(t, &its);
		dat_contents_release(&its);
		return rc;
	}
	t->contents = its;
	choose_clock(t, r);
	return open_piece(t);
}

/* ---- events ---- */

static void dat_begin(struct trace_writer *w)
{
	struct dat_file *const t = dat_of(w);

	dat_contents_init(&t->contents);
	kernel_records_init(&t->records);
	t->stack_record = (struct strbuf)STRBUF_INIT;
	t->quiet = (struct diag)DIAG_INIT;
	t->contents.clock = "";
}

static bool has_place(struct dat_file *t, const struct recording *r, s64 cpu)
{
	if (r->ns < t->origin_ns)
		writer_gap(&t->writer, 1, "event that was before the clock began",
			   "events that were before the clock began");
	else if (cpu < 0)
		writer_gap(&t->writer, 1,
			   "event of an unknown CPU (perf record --sample-cpu says it)",
			   "events of unknown CPUs (perf record --sample-cpu says them)");
	else if (cpu >= CPUS_MOST)
		writer_gap(&t->writer, 1, "event of a CPU behind the 1,024th",
			   "events of CPUs behind the 1,024th");
	else
		return true;
	return false;
}

static bool fits(struct dat_file *t, const struct page_event *e)
{
	if (e->size <= t->contents.page_size - KERNEL_PAGE_HEAD - EVENT_HEAD)
		return true;
	writer_gap(&t->writer, 1, "event that is longer than a page",
		   "events that are longer than a page");
	return false;
}

/* Of an event that was added; where the recording has it not as events of its own. */
static int add_stack(struct dat_file *t, struct recording *r, const struct recorded_place *place,
		     struct raw_event e)
{
	int rc = 0;

	/* of other events than samples, where they were is no stack */
	if (!recording_stack(r, &t->stack) || (!r->kind->is_sample && t->stack.len < 2))
		return 0;
	e.lost = 0;
	for (size_t i = 0; i < ARRAY_SIZE(made_stack_kinds) && !rc; i++) {
		const struct made_stack_kind *const kind = &made_stack_kinds[i];

		if (!made_stack(kind, &t->stack, place, &t->stack_record))
			continue;
		e.event.data = (const u8 *)t->stack_record.data;
		e.event.size = (u32)t->stack_record.len;
		kernel_record_number(&t->records, &e.event,
				     kernel_own_format(&t->records, kind->format, kind->id)->id);
		if (fits(t, &e.event))
			rc = piece_add(t->piece, &e);
	}
	return rc;
}

static void dat_event(struct trace_writer *w, struct recording *r)
{
	struct dat_file *const t = dat_of(w);
	const struct recorded_place place = recording_place(r);
	struct raw_event e = {.cpu = (u32)place.cpu};
	const struct kernel_format *f;

	recording_lost(r, t->untold);
	t->untold = e.lost = r->lost;
	if (!w->error && writer_same_machine(w, r, place.host))
		w->error = meet(t, r);
	if (w->error || !has_place(t, r, place.cpu))
		return;
	f = kernel_record(&t->records, w, r, place.tid, &e.event);
	if (!f || !fits(t, &e.event))
		return;
	t->untold = 0;
	e.event.time = (u64)(r->ns - t->origin_ns);
	if (!t->tells_tasks)
		note_task(t, &place);
	w->error = piece_add(t->piece, &e);
	if (!w->error && !str_eq(f->system, KERNEL_OWN_EVENTS))
		w->error = add_stack(t, r, &place, e);
}

/* ---- the end ---- */

static void dat_end(struct trace_writer *w)
{
	struct dat_file *const t = dat_of(w);

	if (!t->piece) /* without events */
		w->error = open_piece(t);
	if (w->error)
		return;
	kernel_records_put(&t->records, t->contents.page_size, &t->contents);
	put_tasks(t);
	if (!t->contents.parts[DAT_SYMBOLS].len)
		dat_contents_symbols(&t->contents, "", 0);
	if (!t->contents.parts[DAT_STRINGS].len)
		dat_contents_strings(&t->contents, "", 0);
	w->error = piece_write(t->piece, w->fd);
}

static void dat_release(struct trace_writer *w)
{
	struct dat_file *const t = dat_of(w);

	piece_abandon(t->piece);
	dat_contents_release(&t->contents);
	diag_release(&t->quiet);
	hashmap_each (&t->tasks, e) {
		struct task *const task = e->value;

		free(task->comm);
		free(task);
	}
	hashmap_release(&t->tasks);
	hashmap_release(&t->recordings);
	kernel_records_release(&t->records);
	strbuf_release(&t->stack_record);
	vector_free(&t->stack);
	free(t->uname);
	free(t->version);
}

const struct trace_format trace_dat_format = {
	.name = "trace.dat",
	.suffixes = {".dat"},
	.is_binary = true,
	.is_seekable = true,
	.no_symbols = true,
	.size = sizeof(struct dat_file),
	.begin = dat_begin,
	.event = dat_event,
	.end = dat_end,
	.release = dat_release,
};
