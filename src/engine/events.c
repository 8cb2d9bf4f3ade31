/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of the programs -> what they ask for, strictly in the order in which they were sent. */
#include "engine/engine.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "engine/format.h"

struct record {
	const struct action *action;
	const u8 *payload; /* holds action->payload->size bytes, zero-padded */
	u32 used; /* bytes that were sent */
	const struct action *next; /* of the record behind it, NULL = unknown */
};

#define SYSTEM_OUTPUT_MAX (16u << 20)

/* ---- lines of both media ---- */

/* {"type": "printf", "data": "..."} */
static void json_line(struct engine *e, const char *type, const char *s, size_t n)
{
	strbuf_addf(&e->out->text, "{\"type\": \"%s\", \"data\": ", type);
	json_string(&e->out->text, s, n);
	strbuf_addstr(&e->out->text, "}\n");
}

/* Messages go to stderr at once; what was printed before them must stand before them. */
static void print_diagnostics(struct engine *e)
{
	output_flush(e->out);
	diag_print(e->env->diag, stderr, e->options->colour);
}

static void add_place(const struct engine *e, struct strbuf *out, struct span at)
{
	const struct diag *d = e->env->diag;
	u32 line, column, end_line, end_column;

	if (at.begin == UINT32_MAX || at.file >= d->sources.len)
		return;
	diag_place(&d->sources.items[at.file], at.begin, &line, &column);
	diag_place(&d->sources.items[at.file], at.end, &end_line, &end_column);
	if (line == end_line)
		strbuf_addf(out, "%s:%u:%u-%u: ", d->sources.items[at.file].name, line, column,
			    end_column);
	else
		strbuf_addf(out, "%s:%u-%u: ", d->sources.items[at.file].name, line, end_line);
}

/* , "filename": "stdin", "line": 1, "col": 20} */
static void json_place(const struct engine *e, struct strbuf *out, struct span at)
{
	const struct diag *d = e->env->diag;
	u32 line = 0, column = 0;
	const char *name = "";

	if (at.begin != UINT32_MAX && at.file < d->sources.len) {
		diag_place(&d->sources.items[at.file], at.begin, &line, &column);
		name = d->sources.items[at.file].name;
	}
	strbuf_addstr(out, ", \"filename\": ");
	json_string(out, name, strlen(name));
	strbuf_addf(out, ", \"line\": %u, \"col\": %u}\n", line, column);
}

static const char *format_record(struct engine *e, const struct record *r)
{
	strbuf_reset(&e->text);
	format_text(&e->printer, &e->text, &r->action->format, r->action->payload, r->payload);
	return e->text.data;
}

/* ---- actions ---- */

static void print_message(struct engine *e, const struct record *r)
{
	bool is_error = r->action->stream == 1;
	struct strbuf line = STRBUF_INIT;

	if (!is_error && e->options->no_warnings)
		return;
	if (e->out->is_json) {
		strbuf_addf(&e->out->text,
			    "{\"type\": \"%s\", \"msg\": ", is_error ? "errorf" : "warnf");
		json_string(&e->out->text, e->text.data, e->text.len);
		json_place(e, &e->out->text, r->action->span);
		return;
	}
	add_place(e, &line, r->action->span);
	strbuf_addstr(&line, is_error ? "ERROR: " : "WARNING: ");
	strbuf_add(&line, e->text.data, e->text.len);
	if (line.data[line.len - 1] != '\n')
		strbuf_addch(&line, '\n');
	output_flush(e->out);
	write_all(STDERR_FILENO, line.data, line.len);
	strbuf_release(&line);
}

static void do_printf(struct engine *e, const struct record *r)
{
	if (!e->out->is_json && !r->action->stream) { /* the usual one: no copy */
		format_text(&e->printer, &e->out->text, &r->action->format, r->action->payload,
			    r->payload);
		return;
	}
	format_record(e, r);
	if (r->action->stream)
		print_message(e, r);
	else
		json_line(e, "printf", e->text.data, e->text.len);
}

static void print_value(struct engine *e, const struct type *t, const u8 *value)
{
	struct strbuf *out = &e->out->text;

	if (e->out->is_json) {
		strbuf_addstr(out, "{\"type\": \"value\", \"data\": ");
		value_json(&e->printer, out, t, value);
		strbuf_addstr(out, "}\n");
	} else {
		value_text(&e->printer, out, t, value);
		strbuf_addch(out, '\n');
	}
}

static void do_print(struct engine *e, const struct record *r)
{
	const struct type *t = r->action->payload;

	if (t && t->count)
		print_value(e, t->members[0].type, r->payload + t->members[0].offset);
}

static struct open_map *action_map(struct engine *e, const struct action *a)
{
	return a->map < e->script->maps.len ? &e->maps[a->map] : NULL;
}

static void map_failed(struct engine *e, const struct open_map *m, const char *what, int err)
{
	diag_warning(e->env->diag, NO_SPAN, "cannot %s the map @%s: %s", what, m->info->name,
		     strerror(-err));
	print_diagnostics(e);
}

static void print_map(struct engine *e, const struct open_map *m, bool remove, bool with_empty,
		      const struct map_print_options *options)
{
	struct map_view view;
	int err = map_view_read(m, remove, &view);
	bool is_histogram = m->info->value->kind == TYPE_HIST || m->info->value->kind == TYPE_LHIST;

	if (err < 0)
		map_failed(e, m, "read", err);
	else if (view.nrows || (with_empty && !is_histogram))
		map_view_print(&e->printer, e->out, &view, options);
	map_view_release(&view);
}

static u64 payload_u64(const struct record *r, u32 member)
{
	const struct type *t = r->action->payload;

	return t && member < t->count ? (u64)value_integer(t->members[member].type,
							   r->payload + t->members[member].offset)
				      : 0;
}

/*
 * print(@m); clear(@m); is how scripts report an interval. Done one after the other, updates in
 * between would be lost; so when the clear() is already there the elements are taken out of the map
 * as they are read.
 */
static void do_print_map(struct engine *e, const struct record *r)
{
	struct map_print_options options = {.top = payload_u64(r, 0), .divisor = payload_u64(r, 1)};
	struct open_map *m = action_map(e, r->action);
	bool remove;

	if (!m)
		return;
	remove = r->next && r->next->kind == ACTION_CLEAR && r->next->map == r->action->map &&
		 !m->is_array;
	print_map(e, m, remove, true, &options);
	if (remove)
		e->prefetched_clear = r->action->map + 1;
}

static void do_print_map_key(struct engine *e, const struct record *r)
{
	const struct type *t = r->action->payload;
	struct open_map *m = action_map(e, r->action);
	struct map_row row;
	u8 *value;

	if (!m || !t || !t->count)
		return;
	if (t->count > 1) {
		print_value(e, t->members[1].type, r->payload + t->members[1].offset);
		return;
	}
	if (t->members[0].type->size < m->info->key_size)
		return;
	value = xzalloc(m->stride);
	map_row_read(m, r->payload + t->members[0].offset, value, &row); /* absent: zeros */
	if (!row.value)
		row.value = value;
	if (e->out->is_json) {
		strbuf_addstr(&e->out->text, "{\"type\": \"value\", \"data\": ");
		map_value_json(&e->printer, &e->out->text, m->info->value, &row, 1);
		strbuf_addstr(&e->out->text, "}\n");
	} else {
		map_value_text(&e->printer, &e->out->text, m->info->value, &row, 1);
		strbuf_addch(&e->out->text, '\n');
	}
	free(value);
}

static void do_clear(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	bool done = e->prefetched_clear == r->action->map + 1;
	int err;

	e->prefetched_clear = 0;
	if (!m || done)
		return;
	err = map_clear(m);
	if (err < 0)
		map_failed(e, m, "clear", err);
}

static void do_zero(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	int err = m ? map_zero(m) : 0;

	if (err < 0)
		map_failed(e, m, "zero", err);
}

static void do_time(struct engine *e, const struct record *r)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_REALTIME, &now);
	strbuf_reset(&e->text);
	time_text(&e->text, r->action->format.text ? r->action->format.text : "%H:%M:%S\n",
		  (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec);
	if (e->out->is_json)
		json_line(e, "time", e->text.data, e->text.len);
	else
		strbuf_add(&e->out->text, e->text.data, e->text.len);
}

/* Payload: u64 count, then a buffer: u32 length, the strings with their NULs. */
static void do_join(struct engine *e, const struct record *r)
{
	const struct type *t = r->action->payload;
	const char *separator = r->action->separator ? r->action->separator : " ";
	u64 count = payload_u64(r, 0);
	const char *s, *end;
	u32 length = 0;

	if (!t || t->count < 2 || t->members[1].type->size < 4)
		return;
	memcpy(&length, r->payload + t->members[1].offset, sizeof(length));
	s = (const char *)r->payload + t->members[1].offset + 4;
	end = s + MIN(length, t->members[1].type->size - 4);
	strbuf_reset(&e->text);
	for (u64 i = 0; i < count && s < end; i++) {
		size_t n = strnlen(s, (size_t)(end - s));

		if (i)
			strbuf_addstr(&e->text, separator);
		strbuf_add(&e->text, s, n);
		s += n + 1;
	}
	if (e->out->is_json) {
		json_line(e, "join", e->text.data, e->text.len);
	} else {
		escape_terminal(&e->out->text, e->text.data, e->text.len);
		strbuf_addch(&e->out->text, '\n');
	}
}

static void do_cat(struct engine *e, const struct record *r)
{
	bool raw = e->printer.raw;
	struct strbuf data = STRBUF_INIT;
	size_t limit = e->script->config.max_cat_bytes;
	ssize_t n = 1;
	int fd;

	e->printer.raw = true; /* a file name, not text */
	fd = open(format_record(e, r), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	e->printer.raw = raw;
	if (fd < 0) {
		diag_error(e->env->diag, NO_SPAN, "failed to open file '%s': %s", e->text.data,
			   strerror(errno));
		e->env->diag->errors--; /* of the traced world, not of the run */
		print_diagnostics(e);
		return;
	}
	while (data.len < limit && n > 0) {
		n = read(fd, strbuf_reserve(&data, limit - data.len), limit - data.len);
		if (n > 0)
			data.len += (size_t)n;
	}
	close(fd);
	if (e->out->is_json)
		json_line(e, "cat", data.data, data.len);
	else
		escape_terminal(&e->out->text, data.data, data.len);
	strbuf_release(&data);
}

/* sh -c, its standard output captured. */
static int run_shell(const char *command, struct strbuf *out)
{
	int fds[2];
	pid_t pid;
	ssize_t n;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		signal(SIGPIPE, SIG_DFL);
		dup2(fds[1], STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(127);
	}
	close(fds[1]);
	while (pid > 0 && out->len < SYSTEM_OUTPUT_MAX &&
	       (n = read(fds[0], strbuf_reserve(out, 4096), 4096)) != 0) {
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0)
			out->len += (size_t)n;
	}
	close(fds[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return pid < 0 ? -EAGAIN : 0;
}

static void do_system(struct engine *e, const struct record *r)
{
	bool raw = e->printer.raw;
	struct strbuf data = STRBUF_INIT;
	int err;

	if (!e->options->unsafe)
		return;
	e->printer.raw = true;
	format_record(e, r);
	e->printer.raw = raw;
	output_flush(e->out);
	err = run_shell(e->text.data, &data);
	if (err < 0) {
		diag_warning(e->env->diag, NO_SPAN, "cannot run a shell: %s", strerror(-err));
		print_diagnostics(e);
	}
	if (e->out->is_json) {
		json_line(e, "syscall", data.data, data.len);
	} else {
		strbuf_add(&e->out->text, data.data,
			   data.len); /* the command is the script's own */
		if (e->options->is_compatible || (data.len && data.data[data.len - 1] != '\n'))
			strbuf_addch(&e->out->text, '\n');
	}
	strbuf_release(&data);
}

static void do_exit(struct engine *e, const struct record *r)
{
	e->exit_code = (int)(payload_u64(r, 0) & 0xff);
	e->is_exiting = true;
}

static const char *helper_message(u32 helper, s64 result)
{
	if (helper == BPF_FUNC_map_update_elem && result == -E2BIG)
		return "Map full; can't update element. Try increasing max_map_keys config or "
		       "manually setting the max "
		       "entries in a map declaration e.g. `let @a = hash(5000)`";
	if (helper == BPF_FUNC_map_delete_elem && result == -ENOENT)
		return "Can't delete map element because it does not exist.";
	if (helper == BPF_FUNC_map_lookup_elem)
		return "Can't lookup map element because it does not exist.";
	return strerror((int)-result);
}

static void do_helper_error(struct engine *e, const struct record *r)
{
	s64 result = (s64)payload_u64(r, 0);
	const char *name = bpf_helper_name(r->action->helper);
	const char *message;

	if (e->options->no_warnings)
		return;
	if (e->out->is_json) {
		message = strerror((int)-result);
		strbuf_addstr(&e->out->text, "{\"type\": \"helper_error\", \"msg\": ");
		json_string(&e->out->text, message, strlen(message));
		strbuf_addf(&e->out->text, ", \"helper\": \"%s\", \"retcode\": %" PRId64,
			    name ? name : "unknown", result);
		json_place(e, &e->out->text, r->action->span);
		return;
	}
	diag_warning(e->env->diag, r->action->span,
		     "%s\nAdditional Info - helper: %s, retcode: %" PRId64,
		     helper_message(r->action->helper, result), name ? name : "unknown", result);
	print_diagnostics(e);
}

static void do_row(struct engine *e, const struct record *r)
{
	row_print(e->rows, &e->printer, e->out, &r->action->format, r->action->payload, r->payload);
}

static void do_table(struct engine *e, const struct record *r)
{
	struct open_map *m = action_map(e, r->action);
	struct map_view view;
	int err;

	if (!m)
		return;
	err = map_view_read(m, false, &view);
	if (err < 0)
		map_failed(e, m, "read", err);
	else
		row_table(e->rows, &e->printer, e->out, &r->action->format, &view,
			  payload_u64(r, 0));
	map_view_release(&view);
}

static void (*const handlers[])(struct engine *e, const struct record *r) = {
	[ACTION_PRINTF] = do_printf,
	[ACTION_PRINT] = do_print,
	[ACTION_PRINT_MAP] = do_print_map,
	[ACTION_PRINT_MAP_KEY] = do_print_map_key,
	[ACTION_CLEAR] = do_clear,
	[ACTION_ZERO] = do_zero,
	[ACTION_TIME] = do_time,
	[ACTION_JOIN] = do_join,
	[ACTION_CAT] = do_cat,
	[ACTION_SYSTEM] = do_system,
	[ACTION_EXIT] = do_exit,
	[ACTION_HELPER_ERROR] = do_helper_error,
	[ACTION_ROW] = do_row,
	[ACTION_TABLE] = do_table,
};

/* ---- records ---- */

/* Processes end before their stacks are printed: their mappings are noted when they are first seen.
 */
static void note_processes(struct engine *e, const struct type *t, const u8 *data)
{
	u32 tgid;

	if (t->kind == TYPE_TUPLE || t->kind == TYPE_RECORD) {
		for (u32 i = 0; i < t->count; i++)
			note_processes(e, t->members[i].type, data + t->members[i].offset);
	} else if (t->kind == TYPE_USTACK || t->kind == TYPE_USYM) {
		memcpy(&tgid, data + 8, sizeof(tgid));
		symbolizer_note_process(e->printer.symbols(e), (pid_t)tgid);
	}
}

static const struct action *action_of(const struct engine *e, const void *data, u32 size)
{
	u32 index;

	if (!data || size < 8)
		return NULL;
	memcpy(&index, data, sizeof(index));
	return index < e->script->actions.len ? &e->script->actions.items[index] : NULL;
}

/* The payload with all its bytes: a cut tail is completed by zeros. NULL if it does not fit the
 * action. */
static const u8 *payload_of(struct engine *e, const struct action *a, const u8 *data, u32 size)
{
	size_t want = a->payload ? a->payload->size : 0;

	/* Perf buffers hand records out at 4-byte alignment; values are read by memcpy, so that is
	 * no matter. */
	if (size >= want)
		return data;
	if (!a->has_tail || !a->payload->count ||
	    size < a->payload->members[a->payload->count - 1].offset)
		return NULL;
	if (e->record_size < want) {
		e->record = xrealloc(e->record, want);
		e->record_size = want;
	}
	memcpy(e->record, data, size);
	memset(e->record + size, 0, want - size);
	return e->record;
}

bool engine_handle_record(void *arg, const void *data, u32 size, const void *next, u32 next_size)
{
	struct engine *e = arg;
	struct record r = {.action = action_of(e, data, size)};

	if (e->is_exiting)
		return true;
	if (r.action)
		r.payload = payload_of(e, r.action, (const u8 *)data + 8, size - 8);
	if (!r.payload || r.action->kind >= ARRAY_SIZE(handlers) || !handlers[r.action->kind]) {
		e->malformed++;
		return true;
	}
	r.used = size - 8;
	r.next = action_of(e, next, next_size);
	if (r.action->payload && e->script->ustack_map < e->script->maps.len)
		note_processes(e, r.action->payload, r.payload);
	handlers[r.action->kind](e, &r);
	output_commit(e->out);
	return !e->out->error;
}

/* ---- losses ---- */

static u64 lost_now(const struct engine *e, enum lost_counter c)
{
	u64 n = c == LOST_EVENTS && e->ring ? ring_lost(e->ring) : 0;

	if (e->script->lost_map < e->script->maps.len)
		n += map_sum_u64(&e->maps[e->script->lost_map], c);
	return n;
}

static void say_lost(struct engine *e, u64 n)
{
	if (e->out->is_json) {
		strbuf_addf(&e->out->text,
			    "{\"type\": \"lost_events\", \"count\": %" PRIu64
			    ", \"data\": {\"events\": %" PRIu64 "}}\n",
			    n, n);
		return;
	}
	output_flush(e->out);
	fprintf(stderr, "Lost %" PRIu64 " events\n", n);
}

void engine_report_lost(struct engine *e, bool total)
{
	u64 now = lost_now(e, LOST_EVENTS);

	if (now > e->lost[LOST_EVENTS])
		say_lost(e, now - e->lost[LOST_EVENTS]);
	e->lost[LOST_EVENTS] = now;
	if (!total)
		return;
	e->lost[LOST_MAP_FULL] = lost_now(e, LOST_MAP_FULL);
	e->lost[LOST_STACKS] = lost_now(e, LOST_STACKS);
	if (now) {
		diag_warning(e->env->diag, NO_SPAN, "Total lost event count: %" PRIu64, now);
		diag_hint(e->env->diag,
			  "a larger buffer loses less: perf_rb_pages in a config block");
	}
	if (e->lost[LOST_MAP_FULL]) {
		diag_warning(e->env->diag, NO_SPAN,
			     "Map full; can't update element: %" PRIu64 " updates were lost",
			     e->lost[LOST_MAP_FULL]);
		diag_hint(e->env->diag, "raise max_map_keys in a config block (now %" PRIu64 ")",
			  e->script->config.max_map_keys);
	}
	if (e->lost[LOST_STACKS])
		diag_warning(e->env->diag, NO_SPAN, "%" PRIu64 " stacks could not be stored",
			     e->lost[LOST_STACKS]);
	if (e->malformed)
		diag_warning(e->env->diag, NO_SPAN, "%" PRIu64 " records were malformed",
			     e->malformed);
	print_diagnostics(e);
}

/* ---- before the first and after the last event ---- */

void engine_print_header(struct engine *e)
{
	for (size_t i = 0; i < e->script->actions.len; i++) {
		const struct action *a = &e->script->actions.items[i];

		if (a->kind == ACTION_ROW) {
			row_header(e->rows, e->out, &a->format);
			return;
		}
	}
}

static int by_name(const void *a, const void *b)
{
	const struct open_map *const *x = a, *const *y = b;

	return strcmp((*x)->info->name, (*y)->info->name);
}

void engine_print_maps(struct engine *e)
{
	const struct open_map **sorted =
		xreallocarray(NULL, e->script->maps.len + 1, sizeof(*sorted));
	static const struct map_print_options all = {0};
	size_t n = 0;

	for (size_t i = 0; i < e->script->maps.len; i++)
		if (e->script->maps.items[i].role == MAP_USER && e->script->maps.items[i].value)
			sorted[n++] = &e->maps[i];
	qsort(sorted, n, sizeof(*sorted), by_name);
	if (!e->out->is_json && (n || e->options->is_compatible))
		strbuf_addstr(&e->out->text, "\n\n");
	for (size_t i = 0; i < n; i++)
		print_map(e, sorted[i], false, false, &all);
	free(sorted);
}
