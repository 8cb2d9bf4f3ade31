/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/command.h"

#include <ctype.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"

/* A write may not be longer (kernel/trace/trace.c, trace_events.c: PAGE_SIZE - 1). */
#define COMMAND_MAX 4095

/* ---- putting one together ---- */

void tracefs_command_add(struct tracefs_command *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&c->text, fmt, ap);
	va_end(ap);
}

void tracefs_command_user(struct tracefs_command *c, const char *text, size_t len, u16 file,
			  u32 begin)
{
	vector_push(&c->pieces, (struct tracefs_piece){
					.at = c->text.len,
					.len = len,
					.from = {begin, begin + (u32)len, file},
				});
	strbuf_add(&c->text, text, len);
}

void tracefs_command_stands_for(struct tracefs_command *c, const char *text, struct span from)
{
	vector_push(&c->pieces,
		    (struct tracefs_piece){.at = c->text.len, .len = strlen(text), .from = from});
	strbuf_addstr(&c->text, text);
}

void tracefs_command_join(struct tracefs_command *c, const struct tracefs_command *tail)
{
	for (size_t i = 0; i < tail->pieces.len; i++) {
		struct tracefs_piece p = tail->pieces.items[i];

		p.at += c->text.len;
		vector_push(&c->pieces, p);
	}
	strbuf_add(&c->text, tail->text.data, tail->text.len);
}

void tracefs_command_from(struct tracefs_command *c, struct diag *d, const char *name,
			  const char *text)
{
	const size_t blanks = strspn(text, " \t\n");
	const u16 file = diag_add_source(d, name, text, strlen(text));

	/* The kernel strips them, and counts from what is left. */
	tracefs_command_user(c, text + blanks, strlen(text + blanks), file, (u32)blanks);
}

void tracefs_command_release(struct tracefs_command *c)
{
	strbuf_release(&c->text);
	vector_free(&c->pieces);
}

/* The kernel splits at what isspace() takes, and '#' begins a comment. */
int tracefs_path_check(const char *path, struct diag *d)
{
	if (!strpbrk(path, " \t\n\v\f\r#"))
		return 0;
	diag_error(d, NO_SPAN, "the kernel does not take a path with blanks or '#': %s", path);
	diag_hint(d, "give the file or its folder a name without them");
	return -EINVAL;
}

struct span tracefs_command_span(const struct tracefs_command *c, const struct diag *d,
				 size_t offset)
{
	for (size_t i = 0; i < c->pieces.len; i++) {
		const struct tracefs_piece *p = &c->pieces.items[i];
		const bool is_last = i + 1 == c->pieces.len;
		struct span at = p->from;
		const char *text;

		if (offset < p->at || offset > p->at + p->len ||
		    (offset == p->at + p->len && !is_last))
			continue;
		if (at.end - at.begin != p->len || at.file >= d->sources.len)
			return at; /* it stands for other words */
		text = d->sources.items[at.file].text;
		at.begin += (u32)(offset - p->at);
		for (u32 end = at.begin; end < p->from.end; end++) {
			if (isspace((unsigned char)text[end]))
				break;
			at.end = end + 1;
		}
		at.end = MAX(at.begin + 1, MIN(at.end, p->from.end));
		return at;
	}
	return NO_SPAN;
}

/* ---- error_log ---- */

/*
 * The command in the form that the kernel's parsers of probes report: runs of blanks as one
 * (kernel/trace/trace_probe.c, __trace_probe_log_err()). map[i] is the byte of the original. Both
 * are malloc'ed.
 */
static char *squeeze(const char *text, size_t len, size_t **ret_map)
{
	char *out = xmalloc(len + 1);
	size_t *map = xreallocarray(NULL, len + 1, sizeof(*map)), n = 0;
	bool blank = true;

	for (size_t i = 0; i < len; i++) {
		const bool is_blank = isspace((unsigned char)text[i]);

		if (is_blank && blank)
			continue;
		blank = is_blank;
		map[n] = i;
		out[n++] = is_blank ? ' ' : text[i];
	}
	map[n] = len;
	out[n] = '\0';
	*ret_map = map;
	return out;
}

/*
 * Where the logged command begins in ours, and which of our bytes its caret points at; SIZE_MAX if
 * it is another command.
 */
static size_t place_in_command(const struct tracefs_command *c, const char *logged, size_t len,
			       size_t caret)
{
	size_t *map, result = SIZE_MAX, n;
	char *ours, *needle, *found;

	while (len && isspace((unsigned char)logged[len - 1]))
		len--;
	needle = xstrndup(logged, len);
	found = len ? strstr(c->text.data, needle) : NULL;
	if (found) {
		result = MIN((size_t)(found - c->text.data) + caret, c->text.len);
	} else if (len) {
		ours = squeeze(c->text.data, c->text.len, &map);
		n = strlen(ours);
		found = strstr(ours, needle);
		if (found)
			result = map[MIN((size_t)(found - ours) + caret, n)];
		free(ours);
		free(map);
	}
	free(needle);
	return result;
}

struct log_entry {
	const char *text, *command;
	size_t text_len, command_len, caret;
};

static bool says(const struct log_entry *e, const char *text)
{
	return strlen(text) == e->text_len && !memcmp(e->text, text, e->text_len);
}

/* ---- what the parser of filters counts ---- */

/* The caret may point behind what it means: moves it back to the first character of the name. */
static size_t back_to_name(const char *text, size_t at)
{
	while (at && (isalnum((unsigned char)text[at - 1]) || text[at - 1] == '_'))
		at--;
	return at;
}

static size_t back_to_operand(const char *text, size_t at)
{
	const char quote = text[at];

	if (quote == '"' || quote == '\'') {
		while (at && text[--at] != quote)
			;
		return at;
	}
	while (at && !isspace((unsigned char)text[at - 1]) && !strchr("=!<>~&(", text[at - 1]))
		at--;
	return at;
}

static size_t back_to_brace(const char *text, size_t at)
{
	while (at && text[at - 1] != '{')
		at--;
	return at;
}

/*
 * The kernel gives parse_pred() (kernel/trace/trace_events_filter.c) the second character of a term
 * as its place, so what it reports is one too far; for some complaints it has read on. Complaints
 * of predicate_parse() and calc_stack() have the right place.
 */
static const struct filter_complaint {
	const char *text;
	u8 too_far;
	size_t (*back)(const char *text, size_t at); /* text[at] may be the NUL */
} filter_complaints[] = {
	{"Invalid operator", 1, NULL},
	{"Illegal operation for field type", 1, NULL},
	{"Illegal integer value", 1, NULL},
	{"Invalid value (did you forget quotes)?", 1, NULL},
	{"Expecting string field", 1, NULL},
	{"Expecting numeric field", 1, NULL},
	{"Only 'ip' field is supported for function trace", 1, NULL},
	{"Field not found", 1, back_to_name},
	{"Function not found", 1, back_to_operand},
	{"Operand too long", 1, back_to_operand},
	{"Missing '{'", 2, NULL},
	{"Missing '}'", 1, NULL},
	{"Invalid cpulist", 1, back_to_brace},
};

static size_t place_in_filter(const struct log_entry *e)
{
	const struct filter_complaint *row = NULL;
	char *command;
	size_t at;

	for (size_t i = 0; i < ARRAY_SIZE(filter_complaints) && !row; i++)
		if (says(e, filter_complaints[i].text))
			row = &filter_complaints[i];
	if (!row || e->caret < row->too_far)
		return e->caret;
	at = MIN(e->caret - row->too_far, e->command_len);
	if (row->back) {
		command = xstrndup(e->command, e->command_len);
		at = row->back(command, at);
		free(command);
	}
	return at;
}

/* ---- the entries ---- */

/* One entry of the log:
 *	[12047.145154] event filter parse error: error: Field not found
 *	  Command: prio > nice
 *	                  ^
 * False at the end. */

static bool next_entry(const char **at, struct log_entry *e)
{
	static const char mark[] = ": error: ", prefix[] = "  Command: ";
	static const char filter[] = "event filter parse error";
	const char *p = *at, *eol, *text, *command;

	for (; *p == '['; p = eol + 1) {
		eol = strchr(p, '\n');
		text = strstr(p, mark);
		if (!eol || !text || text > eol || !str_starts(eol + 1, prefix))
			return false;
		e->text = text + sizeof(mark) - 1;
		e->text_len = (size_t)(eol - e->text);
		command = eol + sizeof(prefix);
		/* A command may have more lines; the one with nothing but the caret ends it. */
		for (eol = strchr(command, '\n'); eol; eol = strchr(eol + 1, '\n')) {
			const size_t blanks = strspn(eol + 1, " ");

			if (eol[1 + blanks] != '^')
				continue;
			e->command = command;
			e->command_len = (size_t)(eol - command);
			e->caret = blanks > sizeof(prefix) - 1 ? blanks - (sizeof(prefix) - 1) : 0;
			if (memmem(p, (size_t)(text - p), filter, sizeof(filter) - 1))
				e->caret = place_in_filter(e);
			p = eol + 1 + blanks + 1;
			*at = *p == '\n' ? p + 1 : p;
			return true;
		}
		return false;
	}
	return false;
}

/* The kernel's complaint about a command. */
struct tracefs_complaint {
	char *text; /* "Field not found", malloc'ed */
	size_t offset; /* in our command; SIZE_MAX = unknown */
};

/* *ret_only: the log holds no other entry. */
static bool read_complaint(const char *directory, const struct tracefs_command *c,
			   struct tracefs_complaint *ret, bool *ret_only)
{
	char *path = xasprintf("%s/error_log", directory), *log;
	u32 entries = 0, matching = 0;
	struct log_entry e;
	const char *at;

	*ret = (struct tracefs_complaint){.offset = SIZE_MAX};
	if (file_read(path, 1 << 20, &log, NULL)) {
		free(path);
		return false;
	}
	for (at = log; next_entry(&at, &e); entries++) {
		const size_t place = place_in_command(c, e.command, e.command_len, e.caret);

		if (place == SIZE_MAX)
			continue;
		matching++;
		free(ret->text);
		ret->text = xstrndup(e.text, e.text_len);
		ret->offset = place;
	}
	*ret_only = matching == entries;
	free(log);
	free(path);
	return ret->text;
}

/* ---- writing ---- */

static int write_once(const char *path, int flags, const char *text, size_t len)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC | flags);
	ssize_t n;
	int err = 0;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err;
}

/* Says the cause by errno, if the log has none. */
static void say_errno(struct kernel *k, struct diag *d, const char *what, const char *file, int err)
{
	const struct kernel_answer *lockdown;

	diag_error(d, NO_SPAN, "%s: %s", what, strerror(-err));
	if (err == -EPERM || err == -EACCES) {
		lockdown = kernel_ask(k, KERNEL_LOCKDOWN_NONE);
		if (geteuid())
			diag_hint(d, "run it as root");
		else if (!lockdown->yes)
			diag_hint(d, "the kernel refuses %s; %s", file, lockdown->why);
		diag_code(d, EXIT_PRIVILEGE);
	} else if (err == -ENOENT) {
		diag_hint(d, "this kernel has no %s", file);
		diag_code(d, EXIT_UNSUPPORTED);
	} else if (err == -EBUSY) {
		diag_hint(d, "somebody else is using it");
	}
}

int tracefs_command_write(struct kernel *k, const char *directory, const char *file, int flags,
			  const struct tracefs_command *c, struct diag *d, const char *what)
{
	const char *const root = kernel_tracefs(k);
	struct tracefs_complaint complaint;
	bool found, only = false;
	char *path;
	int err;

	if (c->text.len > COMMAND_MAX) {
		diag_error(d, c->pieces.len ? c->pieces.items[0].from : NO_SPAN,
			   "%s is too long: %zu bytes, the kernel takes %d", what, c->text.len,
			   COMMAND_MAX);
		return -E2BIG;
	}
	path = xasprintf("%s/%s", directory, file);
	err = write_once(path, flags, c->text.data, c->text.len);
	free(path);
	if (!err)
		return 0;
	found = read_complaint(directory, c, &complaint, &only);
	if (!found && root && !str_eq(root, directory)) {
		directory = root;
		found = read_complaint(directory, c, &complaint, &only);
	}
	if (found) {
		diag_error(d, tracefs_command_span(c, d, complaint.offset), "%s: %s", what,
			   complaint.text);
		/* The log was empty before, so it is emptied again. */
		if (only) {
			path = xasprintf("%s/error_log", directory);
			write_once(path, O_TRUNC, "\n", 1);
			free(path);
		}
		free(complaint.text);
	} else {
		say_errno(k, d, what, file, err);
	}
	return err;
}
