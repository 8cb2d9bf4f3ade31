/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/actions.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/process.h"
#include "base/stall.h"
#include "view/printf_text.h"

#define SYSTEM_OUTPUT_MAX (16u << 20)
/* without pidfd_open(2): how often to check whether the shell has ended */
#define SYSTEM_LOOK_MS	 20
#define SYSTEM_SIGNAL_MS 100 /* how often to check whether the run is to end */

/* ---- lines of both media ---- */

/* {"type": "printf", "data": the beginning of an object; it ends with action_json_end(). */
static struct json action_json(struct engine *e, const char *type, const char *key)
{
	struct json j = JSON_SPACED_INIT(&e->out->text);

	json_object(&j);
	json_member_text(&j, "type", type);
	json_key(&j, key);
	return j;
}

static void action_json_end(struct json *j)
{
	json_end(j, '}');
	json_end_line(j);
}

void action_text(struct engine *e, const char *type, const char *s, size_t n, bool is_foreign)
{
	struct json j;

	if (e->out->is_json) {
		j = action_json(e, type, "data");
		json_string(&j, s, n);
		action_json_end(&j);
	} else if (is_foreign) {
		escape_terminal(&e->out->text, s, n);
	} else {
		strbuf_add(&e->out->text, s, n);
	}
}

void action_json_count(struct engine *e, const char *type, const char *what, u64 n)
{
	struct json j = action_json(e, type, "count");

	json_u64(&j, n);
	json_key(&j, "data");
	json_object(&j);
	json_member_u64(&j, what, n);
	json_end(&j, '}');
	action_json_end(&j);
}

void action_print_diagnostics(struct engine *e)
{
	output_flush(e->out);
	diag_tell(e->env->diag);
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
static void json_place(const struct engine *e, struct json *j, struct span at)
{
	const struct diag *d = e->env->diag;
	u32 line = 0, column = 0;
	const char *name = "";

	if (at.begin != UINT32_MAX && at.file < d->sources.len) {
		diag_place(&d->sources.items[at.file], at.begin, &line, &column);
		name = d->sources.items[at.file].name;
	}
	json_member_text(j, "filename", name);
	json_member_u64(j, "line", line);
	json_member_u64(j, "col", column);
	action_json_end(j);
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
	struct json j;

	if (!is_error && e->options->no_warnings)
		return;
	e->errors += is_error;
	if (e->out->is_json) {
		j = action_json(e, is_error ? "errorf" : "warnf", "msg");
		json_string(&j, e->text.data, e->text.len);
		json_place(e, &j, r->action->span);
		return;
	}
	add_place(e, &line, r->action->span);
	strbuf_addstr(&line, is_error ? "ERROR: " : "WARNING: ");
	strbuf_add(&line, e->text.data, e->text.len);
	if (line.data[line.len - 1] != '\n')
		strbuf_addch(&line, '\n');
	if (e->captures_errors) {
		strbuf_add(&e->out->text, line.data, line.len);
	} else {
		output_flush(e->out);
		fwrite(line.data, 1, line.len, stderr);
		diag_print_expansions(e->env->diag, is_error ? DIAG_ERROR : DIAG_WARNING,
				      r->action->span, stderr, terminal_is_coloured(STDERR_FILENO));
		fflush(stderr);
	}
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
		action_text(e, "printf", e->text.data, e->text.len, false);
}

u64 record_u64(const struct record *r, u32 member)
{
	const struct type *t = r->action->payload;

	return t && member < t->count ? (u64)value_integer(t->members[member].type,
							   r->payload + t->members[member].offset)
				      : 0;
}

struct medium action_value_begin(struct engine *e, struct json *j)
{
	if (!e->out->is_json)
		return (struct medium){.out = &e->out->text};
	*j = action_json(e, "value", "data");
	return (struct medium){.json = j};
}

void action_value_end(const struct medium *to)
{
	if (to->json)
		action_json_end(to->json);
	else
		strbuf_addch(to->out, '\n');
}

void action_print_value(struct engine *e, const struct type *t, const u8 *value)
{
	struct json j;
	const struct medium to = action_value_begin(e, &j);

	value_add(&e->printer, &to, t, value);
	action_value_end(&to);
}

static void do_print(struct engine *e, const struct record *r)
{
	const struct type *t = r->action->payload;

	if (t && t->count)
		action_print_value(e, t->members[0].type, r->payload + t->members[0].offset);
}

static void do_time(struct engine *e, const struct record *r)
{
	strbuf_reset(&e->text);
	time_text(&e->text, r->action->format.text ? r->action->format.text : "%H:%M:%S\n",
		  e->recorded_ns ? e->recorded_ns : clock_now_ns(CLOCK_REALTIME));
	if (e->out->is_json && e->options->is_tool) { /* of the report that follows */
		strbuf_reset(&e->rows->report_time);
		strbuf_add(&e->rows->report_time, e->text.data, strcspn(e->text.data, "\n"));
	} else {
		action_text(e, "time", e->text.data, e->text.len, false);
	}
}

/* Payload: u64 count, then a buffer: u32 length, the strings with their NULs. */
static void do_join(struct engine *e, const struct record *r)
{
	const struct type *t = r->action->payload;
	const char *separator = r->action->separator ? r->action->separator : " ";
	u64 count = record_u64(r, 0);
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
	action_text(e, "join", e->text.data, e->text.len, true);
	if (!e->out->is_json)
		strbuf_addch(&e->out->text, '\n');
}

static void do_cat(struct engine *e, const struct record *r)
{
	bool raw = e->printer.raw;
	struct strbuf data = STRBUF_INIT;
	size_t limit = e->script->config.max_cat_bytes;
	ssize_t n = 1;
	int fd;

	e->printer.raw = true; /* a file name, not text */
	fd = open(format_record(e, r), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	e->printer.raw = raw;
	if (fd < 0) {
		diag_error(e->env->diag, NO_SPAN, "failed to open file '%s' (%s)", e->text.data,
			   strerror(errno));
		e->env->diag->errors--; /* of the traced world, not of the run */
		action_print_diagnostics(e);
		return;
	}
	while (data.len < limit && n > 0) {
		n = read(fd, strbuf_reserve(&data, limit - data.len), limit - data.len);
		if (n > 0)
			data.len += (size_t)n;
	}
	close(fd);
	action_text(e, "cat", data.data, data.len, true);
	strbuf_release(&data);
}

static void be_shell(const char *command, int out)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(out, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(127);
}

/* Reads what is available. True at the end of file, false if more may come. fd is non-blocking. */
static bool read_output(int fd, struct strbuf *out)
{
	ssize_t n = 1;

	while (n > 0 && out->len < SYSTEM_OUTPUT_MAX) {
		n = read(fd, strbuf_reserve(out, 4096), 4096);
		if (n > 0)
			out->len += (size_t)n;
		else if (n < 0 && errno == EINTR)
			n = 1;
	}
	return n >= 0 || errno != EAGAIN;
}

/*
 * A signal asked the run to end: the shell is no longer waited for once its time is over, or at
 * once if it has none.
 */
static bool is_impatient(const struct engine *e)
{
	if (e->system_until_ns)
		return clock_now_ns(CLOCK_MONOTONIC) > e->system_until_ns;
	return !e->was_asked && stall_signal_waits();
}

/*
 * Waits until the shell has exited, not for the end of file: its background processes may keep the
 * pipe open for ever.
 */
static void follow_shell(const struct engine *e, pid_t pid, int fd, struct strbuf *out)
{
	const int pidfd = process_open(pid);
	struct pollfd wait[] = {{.fd = fd, .events = POLLIN}, {.fd = pidfd, .events = POLLIN}};
	bool over = false;

	while (!over && !is_impatient(e)) {
		poll(wait, ARRAY_SIZE(wait), pidfd < 0 ? SYSTEM_LOOK_MS : SYSTEM_SIGNAL_MS);
		over = waitpid(pid, NULL, WNOHANG) != 0;
		if (wait[0].fd >= 0 && read_output(fd, out))
			wait[0].fd = -1;
	}
	if (pidfd >= 0)
		close(pidfd);
}

/* sh -c, its standard output captured. */
static int run_shell(const struct engine *e, const char *command, struct strbuf *out)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		be_shell(command, fds[1]);
	close(fds[1]);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	if (pid > 0)
		follow_shell(e, pid, fds[0], out);
	close(fds[0]);
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
	e->was_slow = true;
	err = run_shell(e, e->text.data, &data);
	if (err < 0) {
		diag_warning(e->env->diag, NO_SPAN, "cannot run a shell: %s", strerror(-err));
		action_print_diagnostics(e);
	}
	action_text(e, "syscall", data.data, data.len, false); /* the command is the script's own */
	if (!e->out->is_json &&
	    (e->options->is_compatible || (data.len && data.data[data.len - 1] != '\n')))
		strbuf_addch(&e->out->text, '\n');
	strbuf_release(&data);
}

static void do_exit(struct engine *e, const struct record *r)
{
	e->exit_code = (int)(record_u64(r, 0) & 0xff);
	e->has_exit_code = true;
	e->is_exiting = !e->is_iterating;
}

/* unwatch(address): removes the watchpoints on it, of all CPUs and threads. */
static void do_unwatch(struct engine *e, const struct record *r)
{
	const u64 address = record_u64(r, 0);
	bool found = false;

	for (size_t i = 0; i < e->attachments.list.len; i++) {
		struct probe_attachment *a = &e->attachments.list.items[i];

		if (!address || a->watched != address)
			continue;
		found = true;
		if (a->event_fd >= 0)
			close(a->event_fd);
		if (a->fd >= 0)
			close(a->fd);
		a->fd = a->event_fd = -1;
	}
	if (found || e->options->no_warnings)
		return;
	diag_warning(e->env->diag, r->action->span, "no watchpoint is on 0x%" PRIx64, address);
	action_print_diagnostics(e);
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
	s64 result = (s64)record_u64(r, 0);
	const char *name = bpf_helper_name(r->action->helper);
	struct json j;

	if (e->options->no_warnings)
		return;
	if (e->out->is_json) {
		j = action_json(e, "helper_error", "msg");
		json_text(&j, strerror((int)-result));
		json_member_text(&j, "helper", name ? name : "unknown");
		json_member_s64(&j, "retcode", result);
		json_place(e, &j, r->action->span);
		return;
	}
	diag_warning(e->env->diag, r->action->span,
		     "%s\nAdditional Info - helper: %s, retcode: %" PRId64,
		     helper_message(r->action->helper, result), name ? name : "unknown", result);
	action_print_diagnostics(e);
}

static void do_runtime_error(struct engine *e, const struct record *r)
{
	const char *message = r->action->format.text;
	struct json j;

	if (e->options->no_warnings)
		return;
	if (e->out->is_json) {
		j = action_json(e, "runtime_error", "msg");
		json_text(&j, message);
		json_place(e, &j, r->action->span);
		return;
	}
	diag_warning(e->env->diag, r->action->span, "%s", message);
	action_print_diagnostics(e);
}

static void do_row(struct engine *e, const struct record *r)
{
	row_print(e->rows, &e->printer, e->out, &r->action->format, r->action->payload, r->payload);
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
	[ACTION_WATCHPOINT] = do_unwatch,
	[ACTION_HELPER_ERROR] = do_helper_error,
	[ACTION_RUNTIME_ERROR] = do_runtime_error,
	[ACTION_ROW] = do_row,
	[ACTION_TABLE] = do_table,
	[ACTION_PRINTA] = do_printa,
	[ACTION_COMMIT] = do_commit,
	[ACTION_DISCARD] = do_discard,
	[ACTION_TRUNC] = do_trunc,
	[ACTION_NORMALIZE] = do_normalize,
	[ACTION_SORT] = do_sort,
};

bool action_perform(struct engine *e, const struct record *r)
{
	if (r->action->kind >= ARRAY_SIZE(handlers) || !handlers[r->action->kind])
		return false;
	handlers[r->action->kind](e, r);
	return true;
}
