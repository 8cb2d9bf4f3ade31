/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace split`: splits a trace.dat by time, number of events, CPU, or condition. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/diag.h"
#include "base/escape.h"
#include "base/hashmap.h"
#include "base/options.h"
#include "cmd/pieces/pieces.h"
#include "lang/predicate/recorded.h"
#include "trace/dat/piece.h"
#include "trace/dat/trace_dat.h"

#define SUFFIX	    ".dat"
#define PIECES_MOST 100000u

struct split_options {
	const char *output, *buffer;
	u64 length_ns, events;
	struct string_list where;
	bool per_cpu, version_6, quiet;
};

#define O(field) offsetof(struct split_options, field)
static const struct option_spec split_table[] = {
	{'s', "seconds", "SECONDS", "pieces of this length: 10, 0.5", OPTION_SECONDS, O(length_ns)},
	{'e', "events", "N", "pieces of N events", OPTION_POSITIVE, O(events)},
	{'c', "per-cpu", NULL, "a piece for each CPU", OPTION_FLAG, O(per_cpu)},
	{'w', "where", "CONDITION",
	 "only events for which this holds, as of report; may be repeated", OPTION_LIST, O(where)},
	{'B', "name", "BUFFER",
	 "this buffer, where the file has several (the top one's name is '')", OPTION_STRING,
	 O(buffer)},
	{'o', "output", "FILE",
	 "FILE-1.dat, FILE-2.dat, ...; FILE.dat where there is one only (default: beside the "
	 "recording)",
	 OPTION_STRING, O(output)},
	{0, "v6", NULL, "files of version 6, uncompressed (default: as the recording)", OPTION_FLAG,
	 O(version_6)},
	{'q', "quiet", NULL, "do not list the pieces", OPTION_FLAG, O(quiet)},
	{0},
};
#undef O

static const struct command_spec split_spec = {
	.name = "split",
	.synopsis = "[-s SECONDS | -e N | -c] [-w CONDITION] [-o FILE] FILE [FROM [TO]]",
	.summary = "split a trace.dat by time, number of events, CPU, or a condition",
	.examples = "pantrace split -s 10 trace.dat   # trace-1.dat, trace-2.dat, ... of 10 s\n"
		    "pantrace split -e 1000000 trace.dat\n"
		    "pantrace split -c -o cpu trace.dat   # cpu-0.dat, cpu-1.dat: by CPU\n"
		    "pantrace split -o part trace.dat 4210.5 4211   # this half second\n"
		    "pantrace split -w 'comm == \"make\"' -o make trace.dat\n",
	.details =
		"Each piece is a complete trace.dat. Every event is in one of them, with its time, "
		"its CPU and the marks of lost events; each has all formats, names and symbols. "
		"FROM and TO are seconds as `pantrace report -f trace-cmd` prints them; FROM "
		"is in the range, TO is not.\n\n"
		"The kernel's counts for the whole recording (trace-cmd report --stat) are in no "
		"piece. An older file of the same name becomes NAME.old.\n\n"
		"For users of trace-cmd: it always writes all pieces (as with -r there); names "
		"end in -1.dat, not .1; with -c a piece has all events of its CPU.\n",
	.options = split_table,
};

struct split {
	const struct split_options *o;
	struct diag *diag;
	struct trace_dat *file;
	struct dat_contents contents;
	struct piece_options piece;
	size_t buffer;
	u64 from, to; /* of the trace's clock */
	struct trace_text text; /* for conditions */
	VECTOR(const struct expr *) where;
	struct hashmap met; /* fields of the conditions that some event has */
	const struct raw_event *at; /* the event that look_up() reads */
	struct hashmap untold; /* CPU -> u64: events lost since the last one that was kept */
	char *stem;
	bool is_one; /* no number in the name */
	/* the current piece */
	struct piece *current;
	u64 begin, kept; /* its first time, its events */
	u32 number;
	u32 pieces; /* up to now */
	u64 all;
};

/* ---- arguments ---- */

/*
 * "4210.5" in ns. Reports round to microseconds: a time of up to six decimals is taken as rounded,
 * so half a microsecond earlier.
 */
static int parse_seconds(const char *s, u64 *ret)
{
	const char *const dot = strchr(s, '.');
	char whole[24];
	u64 ns = 0, unit = 100000000;

	if (dot && ((size_t)(dot - s) >= sizeof(whole) || !dot[1]))
		return -EINVAL;
	snprintf(whole, sizeof(whole), "%.*s", (int)(dot ? (size_t)(dot - s) : strlen(s)), s);
	if (parse_u64(whole, ret) || !isdigit((unsigned char)*s) ||
	    *ret > UINT64_MAX / 1000000000 - 1)
		return -EINVAL;
	for (const char *p = dot ? dot + 1 : ""; *p; p++, unit /= 10) {
		if (!isdigit((unsigned char)*p))
			return -EINVAL;
		ns += (u64)(*p - '0') * unit;
	}
	*ret = *ret * 1000000000 + ns;
	if (*ret && (!dot || strlen(dot + 1) <= 6))
		*ret -= 500;
	return 0;
}

static int take_arguments(struct split *s, int count, char **words)
{
	s->to = UINT64_MAX;
	if (count < 1 || count > 3)
		return options_usage_error(&split_spec,
					   "a recording, and perhaps a range of time (FROM TO), "
					   "are needed");
	for (int i = 1; i < count; i++)
		if (parse_seconds(words[i], i == 1 ? &s->from : &s->to))
			return options_usage_error(&split_spec,
						   "FROM and TO are seconds, as 4210.5, not '%s'",
						   words[i]);
	if (s->to <= s->from)
		return options_usage_error(&split_spec, "TO is not after FROM");
	if ((s->o->length_ns != 0) + (s->o->events != 0) + s->o->per_cpu > 1)
		return options_usage_error(&split_spec,
					   "one of -s, -e and -c at a time: split a piece again");
	s->is_one = !s->o->length_ns && !s->o->events && !s->o->per_cpu;
	if (s->is_one && count == 1 && !s->o->where.count)
		return options_usage_error(
			&split_spec, "how? by time (-s 10), by numbers of events (-e 100000), "
				     "by CPUs (-c), a range (FROM TO), or a condition (-w)");
	return OPTIONS_GO_ON;
}

/* "trace.dat" -> "trace" */
static char *stem_of(const char *path)
{
	const size_t len = strlen(path), tail = strlen(SUFFIX);
	const bool has = len > tail && str_eq(path + len - tail, SUFFIX);

	return xstrndup(path, has ? len - tail : len);
}

/* ---- the recording ---- */

static int choose_buffer(struct split *s)
{
	const size_t count = trace_dat_buffers(s->file);

	for (size_t i = 0; i < count && s->o->buffer; i++)
		if (str_eq(trace_dat_buffer(s->file, i)->name, s->o->buffer)) {
			s->buffer = i;
			return 0;
		}
	if (count == 1 && !s->o->buffer)
		return 0;
	if (!count)
		diag_error(s->diag, NO_SPAN, "the recording has no buffer");
	else if (s->o->buffer)
		diag_error(s->diag, NO_SPAN, "the recording has no buffer '%s'", s->o->buffer);
	else
		diag_error(s->diag, NO_SPAN, "the recording has %zu buffers", count);
	for (size_t i = 0; i < count; i++)
		diag_hint(s->diag, "-B '%s'", trace_dat_buffer(s->file, i)->name);
	return -EINVAL;
}

static int open_recording(struct split *s, const char *path)
{
	int err = trace_dat_open_whole(path, &s->contents, s->diag, &s->file);

	if (!err)
		err = choose_buffer(s);
	if (err)
		return err;
	trace_dat_text(s->file, &s->text);
	s->contents.clock = trace_dat_buffer(s->file, s->buffer)->clock;
	s->piece = (struct piece_options){
		.version = s->o->version_6 ? 6 : trace_dat_version(s->file),
		.compress = trace_dat_is_packed(s->file),
		.layout = trace_dat_layout(s->file, s->buffer),
	};
	s->piece.cpus = trace_dat_cpus(s->file, s->buffer, &s->piece.cpu_count);
	if (s->piece.cpu_count)
		return 0;
	diag_error(s->diag, NO_SPAN, "%s: it has no CPU", path);
	return -EINVAL;
}

/* ---- conditions ---- */

static int parse_conditions(struct split *s)
{
	for (u32 i = 0; i < s->o->where.count; i++) {
		const struct expr *const e = predicate_recorded(s->diag, s->o->where.items[i]);

		if (!e)
			return -EINVAL;
		vector_push(&s->where, e);
	}
	return 0;
}

static struct field_value look_up(void *arg, const char *name, bool only_field)
{
	struct split *const s = arg;
	const struct field_value v = trace_text_value(&s->text, s->at, name, only_field);

	if (v.kind)
		hashmap_put(&s->met, name, strlen(name) + 1, NULL);
	return v;
}

static bool holds(struct split *s, const struct raw_event *e)
{
	s->at = e;
	for (size_t i = 0; i < s->where.len; i++)
		if (!predicate_holds(s->where.items[i], look_up, s))
			return false;
	return true;
}

/* Events lost before one that is left out are counted at the next one of its CPU. */
static bool is_wanted(struct split *s, struct raw_event *e)
{
	u64 *untold;
	void **at;

	if (e->event.time < s->from || e->event.time >= s->to)
		return false;
	at = hashmap_put(&s->untold, &e->cpu, sizeof(e->cpu), NULL);
	if (!*at)
		*at = xzalloc(sizeof(*untold));
	untold = *at;
	if (*untold)
		e->lost = e->lost > PAGE_LOST_UNKNOWN - *untold ? PAGE_LOST_UNKNOWN
								: e->lost + *untold;
	*untold = 0;
	if (holds(s, e))
		return true;
	*untold = e->lost;
	return false;
}

static void check_name(void *arg, const char *name)
{
	struct split *const s = arg;

	if (!hashmap_get(&s->met, name, strlen(name) + 1))
		diag_hint(s->diag, "no event has a field '%s'", name);
}

static int say_empty(struct split *s, const char *path)
{
	diag_error(s->diag, NO_SPAN, "%s: %s", path,
		   s->where.len ? "no event matches -w in that range"
				: "no event is in that range");
	for (size_t i = 0; i < s->where.len; i++)
		predicate_names(s->where.items[i], check_name, s);
	return -ENODATA;
}

/* ---- pieces ---- */

static int open_piece(struct split *s, const char *path, u32 number, u64 begin)
{
	char *const name = s->is_one ? xasprintf("%s" SUFFIX, s->stem)
				     : xasprintf("%s-%u" SUFFIX, s->stem, number);
	struct stat in, out;
	int err = 0;

	if (!stat(name, &out) && !stat(path, &in) && in.st_dev == out.st_dev &&
	    in.st_ino == out.st_ino) {
		diag_error(s->diag, NO_SPAN, "'%s' is the recording itself", name);
		diag_hint(s->diag, "-o names other files");
		err = -EINVAL;
	} else if (s->pieces == PIECES_MOST) {
		diag_error(s->diag, NO_SPAN, "there would be more than %u pieces", PIECES_MOST);
		err = -E2BIG;
	}
	s->piece.path = name;
	if (!err)
		err = piece_open(&s->piece, &s->contents, s->diag, &s->current);
	s->piece.path = NULL;
	s->number = number;
	s->begin = begin;
	s->kept = 0;
	s->pieces += !err;
	free(name);
	return err;
}

static int close_piece(struct split *s)
{
	struct piece *const p = s->current;
	struct strbuf shown = STRBUF_INIT;
	u64 bytes;
	int err;

	if (!p)
		return 0;
	s->current = NULL;
	err = piece_finish(p, &bytes);
	if (err || s->o->quiet)
		return err;
	escape_line(&shown, s->stem, strlen(s->stem));
	if (s->is_one)
		printf("%s" SUFFIX, shown.data);
	else
		printf("%s-%u" SUFFIX, shown.data, s->number);
	printf(": %" PRIu64 " event%s, %" PRIu64 " bytes\n", s->kept, plural(s->kept), bytes);
	strbuf_release(&shown);
	return 0;
}

/* Does the event begin a new piece? *ret_begin: the piece's first time. */
static bool is_next(const struct split *s, u64 time, u64 *ret_begin)
{
	const u64 length = s->o->length_ns;

	*ret_begin = time;
	if (!s->current)
		return true;
	if (s->o->events)
		return s->kept == s->o->events;
	if (!length || time < s->begin + length)
		return false;
	*ret_begin = s->begin + (time - s->begin) / length * length;
	return true;
}

static int add(struct split *s, const char *path, const struct raw_event *e)
{
	u64 begin;
	int err = 0;

	if (is_next(s, e->event.time, &begin)) {
		err = close_piece(s);
		if (!err)
			err = open_piece(s, path, s->pieces + 1, begin);
	}
	if (!err)
		err = piece_add(s->current, e);
	s->kept++;
	s->all++;
	return err;
}

/* In time order. only: this CPU, or -1 for all. */
static int add_all(struct split *s, const char *path, s64 only)
{
	struct page_merge m;
	struct raw_event e;
	u64 damaged;
	int err = trace_dat_events(s->file, s->buffer, &m);

	if (err)
		return err;
	while (!err && page_merge_next(&m, &e)) {
		if ((only >= 0 && e.cpu != (u32)only) || !is_wanted(s, &e))
			continue;
		if (only < 0) {
			err = add(s, path, &e);
			continue;
		}
		err = piece_add(s->current, &e);
		s->kept++;
		s->all++;
	}
	damaged = m.damaged;
	page_merge_release(&m);
	if (damaged && (only < 0 || (u32)only == s->piece.cpus[0]))
		diag_warning(s->diag, NO_SPAN,
			     "%s: %" PRIu64
			     " damaged page%s: what could not be read of them is in no piece",
			     path, damaged, plural(damaged));
	if (damaged)
		diag_code(s->diag, EXIT_LOST);
	return err;
}

/* Each piece lists all CPUs and has the events of one. */
static int add_cpus(struct split *s, const char *path)
{
	int err = 0;

	for (u32 i = 0; i < s->piece.cpu_count && !err; i++) {
		err = open_piece(s, path, s->piece.cpus[i], 0);
		if (!err)
			err = add_all(s, path, s->piece.cpus[i]);
		if (!err)
			err = close_piece(s);
	}
	return err;
}

static int split(struct split *s, const char *path)
{
	int err = parse_conditions(s);

	if (!err)
		err = open_recording(s, path);
	if (!err)
		err = s->o->per_cpu ? add_cpus(s, path) : add_all(s, path, -1);
	if (!err)
		err = close_piece(s);
	if (!err && !s->all && !s->o->per_cpu)
		err = say_empty(s, path);
	piece_abandon(s->current);
	trace_dat_close(s->file);
	return err;
}

int cmd_split(int argc, char **argv)
{
	struct split_options o = {0};
	struct diag d = DIAG_INIT;
	struct split s = {.o = &o, .diag = &d};
	int first, rc = options_parse(&split_spec, argc, argv, &o, &first);

	if (rc == OPTIONS_GO_ON)
		rc = take_arguments(&s, argc - first, argv + first);
	if (rc != OPTIONS_GO_ON) {
		options_release(&split_spec, &o);
		return rc;
	}
	signal(SIGXFSZ, SIG_IGN); /* a limit of files' size is an error of a write */
	dat_contents_init(&s.contents);
	s.stem = stem_of(o.output ?: argv[first]);
	rc = split(&s, argv[first]) ? EXIT_FAILED : d.code ? (int)d.code : EXIT_OK;
	dat_contents_release(&s.contents);
	vector_free(&s.where);
	hashmap_each (&s.untold, e)
		free(e->value);
	hashmap_release(&s.untold);
	hashmap_release(&s.met);
	free(s.stem);
	options_release(&split_spec, &o);
	return diag_close(&d, rc);
}
