/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads text as a recording: the output of perf script and trace-cmd report, and folded stacks.
 * Times are kept as printed: they belong to no known clock. Each line of folded stacks becomes an
 * event with its weight and no time.
 */
#include <unistd.h>

#include "base/escape.h"
#include "base/foreign.h"
#include "base/hashmap.h"
#include "trace/recording.h"
#include "trace/text/fields.h"
#include "trace/text/folded.h"

struct text_recording {
	struct recording recording;
	const struct text_dialect *dialect; /* NULL: folded stacks */
	struct lines lines;
	struct text_event event; /* its ranges point into the copies below */
	struct strbuf copy; /* the event's line */
	struct strbuf block; /* all lines of the event, if they are wanted */
	struct recorded_stack stack; /* of folded stacks: the outermost first */
	struct hashmap kinds; /* by name */
	struct hashmap symbols; /* as written -> as displayed */
	struct hashmap objects;
	struct arena arena;
	const char *object; /* the last one */
	u64 lost, strange, strange_line;
	bool has_gaps; /* more was lost, and nobody says how many */
};

static struct text_recording *text_of(const struct recording *r)
{
	return container_of(r, struct text_recording, recording);
}

/* ---- names ---- */

/*
 * The length without the arguments, which add nothing; "net/http.(*Client).Do" of Go is kept whole.
 */
static size_t without_arguments(struct text_range name)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *const go = memmem(name.at, name.size, ".(", 2);

	if (go && memmem(go, name.size - (size_t)(go - name.at), ").", 2))
		return name.size;
	for (size_t i = 0; i < name.size; i++) {
		if (name.at[i] != '(')
			continue;
		if (name.size - i < strlen(anonymous) ||
		    memcmp(name.at + i, anonymous, strlen(anonymous)) != 0)
			return i;
	}
	return name.size;
}

/*
 * Java's "Lorg/example/A;.run(I)V" is shown as "org/example/A;.run"; quotes around names made up by
 * JITs go.
 */
static char *shown_symbol(struct text_recording *t, struct text_range name, bool is_java)
{
	char *shown, *to;

	name.size = without_arguments(name);
	if (is_java && name.size && *name.at == 'L' && memchr(name.at, '/', name.size)) {
		name.at++;
		name.size--;
	}
	shown = to = arena_alloc(&t->arena, name.size + 1);
	for (size_t i = 0; i < name.size; i++)
		if (name.at[i] != '"' && name.at[i] != '\'')
			*to++ = name.at[i];
	*to = 0;
	return shown;
}

static const char *symbol_of(struct text_recording *t, struct text_range name)
{
	void **at;
	bool is_java;

	if (!name.size)
		return NULL;
	at = hashmap_put(&t->symbols, name.at, name.size, NULL);
	is_java = t->event.comm.size >= 4 && !memcmp(t->event.comm.at, "java", 4);
	if (!*at)
		*at = shown_symbol(t, name, is_java);
	return *at;
}

/* The key is the text with its NUL. */
static const char *object_of(struct text_recording *t, struct text_range name)
{
	const struct hashmap_entry *e;
	void **at;

	if (!name.size)
		return NULL;
	if (t->object && text_equals(name, t->object))
		return t->object;
	at = hashmap_put(&t->objects, name.at, name.size, NULL);
	e = container_of(at, struct hashmap_entry, value);
	return t->object = e->key;
}

static struct recorded_kind *kind_of(struct text_recording *t, struct text_range name)
{
	struct recorded_kind *const last = t->recording.kind;
	void **at;

	if (last && text_equals(name, last->name))
		return last;
	at = hashmap_put(&t->kinds, name.at, name.size, NULL);
	if (!*at) {
		char *const full = xstrndup(name.at, name.size);
		char *const colon = strchr(full, ':');

		*at = recorded_kind_new(t->recording.all, full,
					colon && colon[1] ? colon + 1 : NULL);
		free(full);
	}
	return *at;
}

/* ---- events ---- */

/* A word of the stack that was taken for an address may have any bits, and is nobody's code. */
static bool is_kernel(u64 address, const char *symbol, const char *object)
{
	static const char *const of_users[] = {"[vdso]", "[vsyscall]", "[heap]", "[stack]",
					       "[uprobes]"};

	if (!object)
		return (s64)address < 0 && symbol;
	for (size_t i = 0; i < ARRAY_SIZE(of_users); i++)
		if (str_eq(object, of_users[i]))
			return false;
	return *object == '[' || (s64)address < 0;
}

static void add_frame(struct text_recording *t, const struct text_frame *f)
{
	const bool is_inlined = text_equals(f->object, "inlined"); /* in its place */
	const char *const object = is_inlined ? NULL : object_of(t, f->object);
	const char *const symbol = symbol_of(t, f->symbol);

	vector_push(&t->stack, (struct recorded_frame){
				       .address = f->address,
				       .in_file = f->address,
				       .symbol = symbol,
				       .offset = f->offset,
				       .object = object,
				       .is_kernel = is_kernel(f->address, symbol, object),
				       .is_inlined = is_inlined,
			       });
}

static void keep_line(struct text_recording *t, const struct line *line)
{
	if (!recordings_options(t->recording.all)->style)
		return;
	escape_terminal(&t->block, line->text, line->size);
	strbuf_addch(&t->block, '\n');
}

static struct text_range moved(struct text_range r, const char *from, const char *to)
{
	return (struct text_range){to + (r.at - from), r.size};
}

/* Copies the event's line: reading the next one overwrites it. */
static void keep_event(struct text_recording *t, const struct line *line, struct text_event *e)
{
	strbuf_reset(&t->copy);
	strbuf_add(&t->copy, line->text, line->size);
	t->event = *e;
	t->event.comm = moved(e->comm, line->text, t->copy.data);
	t->event.text = moved(e->text, line->text, t->copy.data);
	t->recording.ns = e->ns;
	t->recording.kind = kind_of(t, e->name);
	t->stack.len = 0;
	strbuf_reset(&t->block);
	keep_line(t, line);
}

static void count_strange(struct text_recording *t)
{
	if (!t->strange++)
		t->strange_line = t->lines.number;
}

/* Reads the lines that follow the event, up to the next event. */
static void read_frames(struct text_recording *t)
{
	struct text_event other;
	struct text_frame frame;
	struct line line;

	while (lines_next(&t->lines, &line)) {
		switch (t->dialect->parse(&line, &other, &frame)) {
		case TEXT_FRAME:
			add_frame(t, &frame);
			keep_line(t, &line);
			break;
		case TEXT_EVENT:
			lines_back(&t->lines);
			return;
		case TEXT_BLANK:
			keep_line(t, &line);
			return;
		case TEXT_COMMENT:
			break;
		case TEXT_STRANGE:
			count_strange(t);
			break;
		}
	}
}

/* A sample without a call chain has its address on its own line. */
static void place_on_line(struct text_recording *t)
{
	const struct line line = {t->event.text.at, t->event.text.size};
	struct text_event other;
	struct text_frame frame;

	if (!t->stack.len && t->event.period && line.size &&
	    t->dialect->parse(&line, &other, &frame) == TEXT_FRAME)
		add_frame(t, &frame);
}

static bool text_next(struct recording *r, struct diag *d)
{
	struct text_recording *const t = text_of(r);
	struct text_event event;
	struct text_frame frame;
	struct line line;

	while (lines_next(&t->lines, &line)) {
		const enum text_line what = t->dialect->parse(&line, &event, &frame);

		if (what == TEXT_EVENT && !event.is_loss) {
			keep_event(t, &line, &event);
			read_frames(t);
			place_on_line(t);
			return true;
		}
		if (what == TEXT_EVENT) {
			t->lost += event.lost;
			t->has_gaps |= !event.lost;
			recording_lost(r, event.lost ?: RECORDED_LOST_SOME);
		} else if (what == TEXT_STRANGE || what == TEXT_FRAME) {
			count_strange(t);
		}
	}
	return false;
}

/*
 * How many frames a line of folded stacks begins with as the line before did; *ret_at: where the
 * next one is. Lines are mostly sorted, and these frames need not be looked up again.
 */
static size_t same_frames(const struct text_recording *t, const struct line *line, size_t *ret_at)
{
	const size_t most = MIN(t->copy.len, line->size);
	size_t semicolons = 0;

	for (size_t i = 0; i < most && t->copy.data[i] == line->text[i]; i++)
		if (line->text[i] == ';') {
			semicolons++;
			*ret_at = i + 1;
		}
	return semicolons ? semicolons - 1 : 0; /* the first one ends the thread */
}

/* Folded: "sh;main;work 17": the thread, then functions, the outermost first. */
static bool folded_next(struct recording *r, struct diag *d)
{
	struct text_recording *const t = text_of(r);
	struct text_range frames, frame;
	struct text_event event;
	struct line line;

	while (lines_next(&t->lines, &line)) {
		size_t same, at;

		if (!line.size || *line.text == '#')
			continue;
		if (!text_folded_parse(&line, &event, &frames)) {
			count_strange(t);
			continue;
		}
		at = (size_t)(frames.at - line.text);
		same = same_frames(t, &line, &at);
		frames.size -= at - (size_t)(frames.at - line.text);
		keep_event(t, &line, &event);
		r->kind->unit = "samples";
		t->stack.len = same;
		frames.at = t->copy.data + at;
		while (text_folded_first(&frames, &frame)) {
			bool is_new;
			void **value = hashmap_put(&t->symbols, frame.at, frame.size, &is_new);

			if (is_new)
				*value = container_of(value, struct hashmap_entry, value)->key;
			vector_push(&t->stack, (struct recorded_frame){.symbol = *value});
		}
		return true;
	}
	return false;
}

/* The innermost is the first. */
static const struct recorded_frame *frame_of(const struct text_recording *t, size_t i)
{
	return &t->stack.items[t->dialect ? i : t->stack.len - 1 - i];
}

static bool text_stack(struct recording *r, struct recorded_stack *ret)
{
	struct text_recording *const t = text_of(r);

	for (size_t i = 0; i < t->stack.len; i++)
		vector_push(ret, *frame_of(t, i));
	return ret->len || !t->dialect;
}

static void text_place(struct recording *r, struct recorded_place *ret)
{
	const struct text_event *const e = &text_of(r)->event;

	ret->cpu = e->cpu;
	ret->pid = e->pid;
	ret->tid = e->tid;
	ret->comm = e->comm.at;
	ret->comm_size = e->comm.size;
	ret->period = e->period;
}

/* ---- fields ---- */

static struct field_value text_value(struct recording *r, const char *name, bool only_field)
{
	return text_event_value(&text_of(r)->event, name, only_field);
}

static void text_fields(struct recording *r, struct json *j)
{
	text_event_json(&text_of(r)->event, j);
}

static void text_values(struct recording *r, field_value_fn *fn, void *arg)
{
	text_event_values(&text_of(r)->event, fn, arg);
}

/* ---- lines ---- */

static void add_fields(void *arg, struct json *j)
{
	json_key(j, "fields");
	text_fields(arg, j);
	recording_add_frames(arg, j);
}

static int text_print(struct recording *r, struct ctf_printer *printer)
{
	struct text_recording *const t = text_of(r);
	const struct text_event *const e = &t->event;
	char *const comm = xstrndup(e->comm.at, e->comm.size);
	const struct ctf_ready_event ready = {
		.ns = r->ns,
		.name = r->kind->name,
		.cpu = e->cpu < 0 ? UINT32_MAX : (u32)e->cpu,
		.pid = (s32)e->tid,
		.task = comm,
		.text = e->text.at,
		.size = e->text.size,
		.fields = add_fields,
		.arg = r,
	};
	int rc;

	if (recordings_options(r->all)->style) {
		strbuf_add(ctf_print_out(printer), t->block.data, t->block.len);
		rc = ctf_print_added(printer);
	} else {
		rc = ctf_print_ready(printer, &ready);
	}
	free(comm);
	return rc;
}

/* ---- the file ---- */

static void text_loss(struct recording *r, struct diag *d, struct recording_loss *ret)
{
	const struct text_recording *const t = text_of(r);

	ret->events += t->lost;
	ret->gaps |= t->has_gaps;
	if (t->lines.cut)
		diag_error(d, NO_SPAN,
			   "%s: %" PRIu64 " line%s longer than 1 MiB: only the beginning was read",
			   r->path, t->lines.cut, t->lines.cut == 1 ? " is" : "s are");
	if (t->lines.error)
		diag_error(d, NO_SPAN, "cannot read '%s': %s", r->path, strerror(-t->lines.error));
	if (t->strange)
		diag_error(d, NO_SPAN,
			   "%s: %" PRIu64 " line%s not understood, the first one is line %" PRIu64,
			   r->path, t->strange, t->strange == 1 ? " is" : "s are", t->strange_line);
}

static int text_each_event(struct recording *r, recorded_name_fn *fn, void *arg)
{
	int rc = 0;

	hashmap_each (&text_of(r)->kinds, e) {
		const struct recorded_kind *const k = e->value;

		rc = rc ?: fn(arg, k->name, k->short_name);
	}
	return rc;
}

struct name_receiver {
	recorded_name_fn *fn;
	void *arg;
};

static int field_name(void *arg, struct text_range name, struct text_range value)
{
	const struct name_receiver *const to = arg;
	char *const text = xstrndup(name.at, name.size);
	const int rc = to->fn(to->arg, text, NULL);

	free(text);
	return rc;
}

/* Fields of the last event that was read; others may have more. */
static int text_each_field(struct recording *r, recorded_name_fn *fn, void *arg)
{
	struct name_receiver to = {fn, arg};

	return fn(arg, "period", NULL) ?: text_fields_each(text_of(r)->event.text, field_name, &to);
}

static void text_names(const char *path, recorded_name_fn *fn, void *arg)
{
}

static void text_close(struct recording *r)
{
	struct text_recording *const t = text_of(r);

	lines_close(&t->lines);
	hashmap_release(&t->kinds);
	hashmap_release(&t->symbols);
	hashmap_release(&t->objects);
	arena_release(&t->arena);
	vector_free(&t->stack);
	strbuf_release(&t->copy);
	strbuf_release(&t->block);
	free(t);
}

static int refuse_time_line(const char *path, struct diag *d)
{
	diag_error(d, NO_SPAN,
		   "%s: its times are as they were printed, and nothing says when "
		   "that was",
		   path);
	diag_hint(d,
		  "alone it can be converted, and printed without a time line's options (--json, "
		  "--begin, --end)");
	return -ENODATA;
}

static int open_text(struct recordings *all, const char *path, const struct text_dialect *dialect,
		     struct diag *d, struct recording **ret)
{
	const struct recordings_options *const o = recordings_options(all);
	struct text_recording *t;
	int fd;

	if (!o->style && !o->recorded_times)
		return refuse_time_line(path, d);
	fd = foreign_open(path, NULL);
	if (fd < 0) {
		diag_error(d, NO_SPAN, "cannot read '%s': %s", path, strerror(-fd));
		return fd;
	}
	t = xzalloc(sizeof(*t));
	t->dialect = dialect;
	t->copy = t->block = (struct strbuf)STRBUF_INIT;
	t->event = (struct text_event){.cpu = -1, .pid = -1, .tid = -1};
	t->recording.is_unplaced = true;
	t->recording.has_no_times = !dialect;
	lines_open(&t->lines, fd);
	*ret = &t->recording;
	return 0;
}

static int perf_script_open(struct recordings *all, const char *path, struct diag *d,
			    struct recording **ret)
{
	return open_text(all, path, &perf_script_dialect, d, ret);
}

static int trace_cmd_open(struct recordings *all, const char *path, struct diag *d,
			  struct recording **ret)
{
	return open_text(all, path, &trace_cmd_dialect, d, ret);
}

static int folded_open(struct recordings *all, const char *path, struct diag *d,
		       struct recording **ret)
{
	return open_text(all, path, NULL, d, ret);
}

static bool is_perf_script(const void *head, size_t len)
{
	return text_is(&perf_script_dialect, head, len);
}

static bool is_trace_cmd(const void *head, size_t len)
{
	return text_is(&trace_cmd_dialect, head, len);
}

#define TEXT_READER(NAME, IS_KERNEL, RECOGNISE, OPEN, NEXT)                                        \
	{                                                                                          \
		.name = NAME, .is_kernel = IS_KERNEL, .recognise = RECOGNISE, .open = OPEN,        \
		.next = NEXT, .value = text_value, .place = text_place, .fields = text_fields,     \
		.values = text_values, .print = text_print, .loss = text_loss,                     \
		.each_event = text_each_event, .each_field = text_each_field, .names = text_names, \
		.close = text_close, .stack = text_stack,                                          \
	}

const struct recording_reader perf_script_reader =
	TEXT_READER("text of perf script", true, is_perf_script, perf_script_open, text_next);
const struct recording_reader trace_cmd_reader =
	TEXT_READER("text of trace-cmd report", true, is_trace_cmd, trace_cmd_open, text_next);
const struct recording_reader folded_reader =
	TEXT_READER("file of folded stacks", false, text_folded_is, folded_open, folded_next);
