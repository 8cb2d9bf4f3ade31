/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which reader reads what, and the order of events of several recordings. */
#include "trace/recording.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/glob.h"
#include "kernel/tracefs/event_name.h"
#include "trace/clock/relation.h"

/* Directories are the last one's. */
static const struct recording_reader *const readers[] = {
	&dat_reader,	     &perf_reader,	&pprof_reader,	&xen_reader,
	&perf_script_reader, &trace_cmd_reader, &folded_reader, &ctf_reader,
};

#define DIRECTORIES (&ctf_reader)

/* To be opened when all directories are. */
struct found_file {
	char *path;
	struct clock_relation *relation; /* of the machine that it is of; NULL = this one */
};

struct recordings {
	struct recordings_options options;
	VECTOR(struct recording *) list;
	VECTOR(struct found_file) files;
	VECTOR(struct clock_relation *) machines;
	s64 realtime; /* of this machine's clock, for what others recorded */
	VECTOR(struct recorded_kind *) kinds;
	struct arena arena;
	struct recording *current; /* that recordings_next() gave */
	struct ctf_printer *printer;
};

struct recordings *recordings_new(const struct recordings_options *options)
{
	struct recordings *all = xzalloc(sizeof(*all));

	all->options = *options;
	return all;
}

struct recordings_options *recordings_options(struct recordings *all)
{
	return &all->options;
}

void recordings_release(struct recordings *all)
{
	for (size_t i = 0; i < all->list.len; i++) {
		char *path = all->list.items[i]->path;

		all->list.items[i]->reader->close(all->list.items[i]);
		free(path);
	}
	for (size_t i = 0; i < all->files.len; i++)
		free(all->files.items[i].path);
	for (size_t i = 0; i < all->machines.len; i++)
		clock_relation_free(all->machines.items[i]);
	vector_free(&all->machines);
	if (all->printer)
		ctf_printer_release(all->printer);
	vector_free(&all->files);
	vector_free(&all->list);
	vector_free(&all->kinds);
	arena_release(&all->arena);
	free(all);
}

/* ---- what is read ---- */

const struct recording_reader *recording_recognise(const char *path)
{
	const int fd = foreign_open(path, NULL);
	char head[RECORDING_HEAD];
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, head, sizeof(head));
	close(fd);
	for (size_t i = 0; n > 0 && i < ARRAY_SIZE(readers); i++)
		if (readers[i]->recognise && readers[i]->recognise(head, (size_t)n))
			return readers[i];
	return NULL;
}

static const struct recording_reader *with_style(const char *style)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (readers[i]->style && str_eq(readers[i]->style, style))
			return readers[i];
	return NULL;
}

const char *recording_is_style(const char *name)
{
	const struct recording_reader *reader = with_style(name);

	return reader ? reader->name : NULL;
}

/* Takes the path. */
static int open_one(struct recordings *all, const struct recording_reader *reader, char *path,
		    struct clock_relation *relation, struct diag *d)
{
	struct recording *r = NULL;
	int rc = reader->open(all, path, d, &r);

	if (!r) {
		free(path);
		return rc;
	}
	r->reader = reader;
	r->all = all;
	r->path = path;
	r->relation = relation;
	if (relation && reader->rename_host)
		reader->rename_host(r, relation->machine);
	vector_push(&all->list, r);
	return rc;
}

/* Recordings that are files of a directory: NAME.dat, NAME.data. How many there are. */
static size_t files_in(struct recordings *all, const char *path, struct clock_relation *relation)
{
	const size_t before = all->files.len;
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		const size_t n = strlen(e->d_name);
		char *file;

		if (!(n > 4 && str_eq(e->d_name + n - 4, ".dat")) &&
		    !(n > 5 && str_eq(e->d_name + n - 5, ".data")))
			continue;
		file = xasprintf("%s/%s", path, e->d_name);
		if (recording_recognise(file))
			vector_push(&all->files, (struct found_file){file, relation});
		else
			free(file);
	}
	if (dir)
		closedir(dir);
	return all->files.len - before;
}

/* What is neither a directory nor a file is not opened: a FIFO would be waited for. */
static int refuse_kind(const char *path, struct diag *d)
{
	struct stat st;

	if (stat(path, &st) || S_ISDIR(st.st_mode))
		return 0;
	if (S_ISREG(st.st_mode)) {
		const int fd = foreign_open(path, NULL);

		if (fd < 0) {
			diag_error(d, NO_SPAN, "cannot open '%s': %s", path, strerror(-fd));
			return fd;
		}
		close(fd);
		diag_error(d, NO_SPAN,
			   "'%s' is not a recording: neither trace.dat nor perf.data, nor of "
			   "xentrace, "
			   "nor the text of perf script or trace-cmd report, nor folded stacks, "
			   "nor a profile of pprof",
			   path);
	} else {
		diag_error(d, NO_SPAN, "'%s' is neither a directory nor a file", path);
	}
	diag_hint(d, "a trace is a directory with a file named metadata (CTF), a trace.dat, or a "
		     "perf.data");
	return -EINVAL;
}

/* What reads the directories of one machine. */
static struct recording *directories_of(const struct recordings *all,
					const struct clock_relation *relation)
{
	for (size_t i = 0; i < all->list.len; i++)
		if (all->list.items[i]->reader == DIRECTORIES &&
		    all->list.items[i]->relation == relation)
			return all->list.items[i];
	return NULL;
}

/* A directory may have traces, recordings of the kernel, or both; nothing is an error. */
static int add_own(struct recordings *all, const char *path, struct clock_relation *relation,
		   bool may_be_empty, struct diag *d)
{
	const bool has_files = files_in(all, path, relation) || may_be_empty;
	struct recording *const first = directories_of(all, relation);
	struct diag nothing = DIAG_INIT;
	int rc;

	if (first)
		rc = first->reader->add(first, path, has_files ? &nothing : d);
	else
		rc = open_one(all, DIRECTORIES, xstrdup(path), relation, has_files ? &nothing : d);
	if (rc != -ENOENT && has_files)
		diag_tell(&nothing);
	diag_release(&nothing);
	return rc == -ENOENT && has_files ? 0 : rc;
}

/* What must be known of the order of events. */
static void doubt(const char *path, const struct clock_relation *r, struct diag *d)
{
	if (!r->bounds.all.len)
		diag_warning(
			d, NO_SPAN,
			"%s: its clock was never compared with this one: its events are placed by "
			"its wall-clock time",
			path);
	if (r->bounds.jumps)
		diag_warning(d, NO_SPAN,
			     "%s: messages arrived before they were sent, by its clock: it jumped "
			     "%u time%s, as a machine's does that stood still; between the two "
			     "comparisons around a jump its events may appear before their causes",
			     path, r->bounds.jumps, plural(r->bounds.jumps));
}

/* A directory of what another machine recorded. */
static int add_machine(struct recordings *all, const char *path, struct diag *d)
{
	struct clock_relation *relation;
	const int rc = clock_relation_read(path, d, &relation);

	if (rc)
		return rc;
	vector_push(&all->machines, relation);
	doubt(path, relation, d);
	return add_own(all, path, relation, true, d);
}

/* Those of its directories that are other machines'. How many there are, or -errno. */
static int add_machines(struct recordings *all, const char *path, struct diag *d)
{
	DIR *const dir = opendir(path);
	struct dirent *e;
	int count = 0, rc = 0;

	while (dir && !rc && (e = readdir(dir))) {
		char *const below = xasprintf("%s/%s", path, e->d_name);

		if (*e->d_name != '.' && clock_relation_is_there(below)) {
			rc = add_machine(all, below, d);
			count++;
		}
		free(below);
	}
	if (dir)
		closedir(dir);
	return rc ?: count;
}

static int add_directory(struct recordings *all, const char *path, struct diag *d)
{
	int count;

	if (clock_relation_is_there(path))
		return add_machine(all, path, d);
	count = add_machines(all, path, d);
	return count < 0 ? count : add_own(all, path, NULL, count, d);
}

int recordings_add(struct recordings *all, const char *path, struct diag *d)
{
	int rc;

	/* in a style of its own it is such a file, or is to be told that it is not */
	if (all->options.style || recording_recognise(path)) {
		vector_push(&all->files, (struct found_file){xstrdup(path), NULL});
		return 0;
	}
	rc = refuse_kind(path, d);
	return rc ? rc : add_directory(all, path, d);
}

void recordings_take(struct recordings *all, struct recording *r)
{
	vector_push(&all->list, r);
}

/* ---- which events ---- */

struct recorded_kind *recorded_kind_new(struct recordings *all, const char *name,
					const char *short_name)
{
	struct recorded_kind *k = arena_new(&all->arena, struct recorded_kind);

	*k = (struct recorded_kind){
		.name = arena_strdup(&all->arena, name),
		.short_name = short_name ? arena_strdup(&all->arena, short_name) : NULL,
	};
	vector_push(&all->kinds, k);
	return k;
}

static bool is_named(const struct recording *r)
{
	const struct string_list *const events = &r->all->options.events;
	const struct recorded_kind *const k = r->kind;
	bool yes = false;

	for (u32 i = 0; i < events->count && !yes; i++) {
		const char *const glob =
			r->reader->is_kernel ? event_name_bare(events->items[i]) : events->items[i];

		yes = glob_match(glob, k->name) ||
		      (k->short_name && glob_match(glob, k->short_name));
	}
	return yes;
}

static bool choose(const struct recording *r)
{
	const struct recordings_options *const o = &r->all->options;
	const bool yes = o->events.count ? is_named(r) : !r->kind->is_inner || o->shows_inner;

	r->kind->choice = yes ? KIND_WANTED : KIND_UNWANTED;
	return yes;
}

static inline bool is_wanted(const struct recording *r)
{
	return r->kind->choice ? r->kind->choice == KIND_WANTED : choose(r);
}

/* ---- the time line ---- */

/* Times of another machine become this one's. */
static void relate(struct recording *r)
{
	const s64 realtime = r->origin_ns ?: r->relation->realtime;
	const s64 machine_ns = (s64)((u64)r->ns - (u64)realtime);
	const s64 ours_ns = machine_ns + clock_relation_offset(r->relation, machine_ns, NULL);

	r->machine_ns = machine_ns;
	r->ns = (s64)((u64)ours_ns + (u64)r->all->realtime);
}

static inline void advance(struct recording *r, struct diag *d)
{
	r->lost = 0;
	do
		r->has_event = r->reader->next(r, d);
	while (r->has_event && !is_wanted(r));
	if (r->relation && r->has_event && !r->is_unplaced)
		relate(r);
}

/* As the recordings of this machine have it, so that both stand side by side to the nanosecond. */
static s64 realtime_of(const struct recordings *all)
{
	for (size_t i = 0; i < all->list.len; i++) {
		const struct recording *r = all->list.items[i];

		if (!r->relation && r->has_event && r->origin_ns && !r->is_unplaced)
			return r->origin_ns;
	}
	return all->machines.len ? all->machines.items[0]->host_realtime : 0;
}

/* The recordings of the kernel last: their place on the time line may depend on the others. */
int recordings_open(struct recordings *all, struct diag *d)
{
	int rc = 0;

	for (size_t i = 0; i < all->files.len && !rc; i++) {
		char *const path = all->files.items[i].path;
		const struct recording_reader *reader = recording_recognise(path);

		const struct recording_reader *wanted =
			all->options.style ? with_style(all->options.style) : NULL;

		if (reader && wanted && reader != wanted) {
			diag_error(d, NO_SPAN, "-f %s is for a %s, and %s is a %s", wanted->style,
				   wanted->name, path, reader->name);
			return -EINVAL;
		}
		rc = open_one(all, reader ?: wanted ?: readers[0], xstrdup(path),
			      all->files.items[i].relation, d);
	}
	all->printer =
		ctf_printer_new(&all->options.print, all->options.keeps_lines ? -1 : STDOUT_FILENO);
	for (size_t i = 0; i < all->list.len && !rc; i++)
		if (!all->list.items[i]->relation)
			advance(all->list.items[i], d);
	all->realtime = realtime_of(all);
	for (size_t i = 0; i < all->list.len && !rc; i++)
		if (all->list.items[i]->relation)
			advance(all->list.items[i], d);
	return rc;
}

const struct recording *recordings_fixed(const struct recordings *all)
{
	for (size_t i = 0; i < all->list.len; i++)
		if (!all->list.items[i]->reader->refresh)
			return all->list.items[i];
	return NULL;
}

/* Of two at the same time that of the kernel. */
static struct recording *oldest(const struct recordings *all)
{
	struct recording *best = NULL;

	for (size_t i = 0; i < all->list.len; i++) {
		struct recording *r = all->list.items[i];

		if (r->has_event && (!best || r->ns <= best->ns))
			best = r;
	}
	return best;
}

bool recordings_peek(const struct recordings *all, s64 *ret_ns)
{
	const struct recording *r = oldest(all);

	if (r)
		*ret_ns = r->ns;
	return r;
}

/* Not those of other machines, whose clocks stand to ours as their events find out. */
void recordings_narrow(struct recordings *all, s64 begin_ns, s64 end_ns, struct diag *d)
{
	for (size_t i = 0; i < all->list.len; i++) {
		struct recording *const r = all->list.items[i];

		if (!r->reader->narrow || !r->has_event || r->relation)
			continue;
		r->reader->narrow(r, begin_ns, end_ns);
		advance(r, d);
	}
}

struct recording *recordings_next(struct recordings *all, struct diag *d)
{
	struct recording *const last = all->current;

	if (last)
		advance(last, d);
	if (last && all->list.len == 1)
		return all->current = last->has_event ? last : NULL;
	return all->current = oldest(all);
}

void recordings_refresh(struct recordings *all, struct diag *d)
{
	for (size_t i = 0; i < all->list.len; i++) {
		struct recording *r = all->list.items[i];

		if (r->reader->refresh)
			r->reader->refresh(r, d);
		if (!r->has_event)
			advance(r, d);
	}
}

bool recording_stack(struct recording *r, struct recorded_stack *ret)
{
	ret->len = 0;
	return r->reader->stack && r->reader->stack(r, ret);
}

/* "work+0x1c", or the address of what has no name. */
static void add_frame(struct json *j, const struct recorded_frame *f)
{
	struct strbuf text = STRBUF_INIT;

	if (f->symbol)
		strbuf_addstr(&text, f->symbol);
	else
		strbuf_addf(&text, "0x%" PRIx64, f->address);
	if (f->offset)
		strbuf_addf(&text, "+0x%" PRIx64, f->offset);
	json_string(j, text.data, text.len);
	strbuf_release(&text);
}

void recording_add_frames(struct recording *r, struct json *j)
{
	struct recorded_stack stack = {0};

	recording_stack(r, &stack);
	if (stack.len) {
		json_key(j, "frames");
		json_array(j);
		for (size_t i = 0; i < stack.len; i++)
			add_frame(j, &stack.items[i]);
		json_end(j, ']');
	}
	vector_free(&stack);
}

struct recorded_place recording_place(struct recording *r)
{
	struct recorded_place place = {.cpu = -1, .pid = -1, .tid = -1, .samples = 1};

	r->reader->place(r, &place);
	return place;
}

bool recorded_number(struct recording *r, const char *name, s64 *ret)
{
	const struct field_value v = r->reader->value(r, name, true);

	*ret = (s64)v.integer;
	return v.kind == FIELD_INTEGER;
}

bool recorded_text(struct recording *r, const char *name, const char **ret, size_t *ret_size)
{
	const struct field_value v = r->reader->value(r, name, true);

	*ret = v.kind == FIELD_TEXT ? v.text : "";
	*ret_size = v.kind == FIELD_TEXT ? v.size : 0;
	return v.kind == FIELD_TEXT;
}

/* Behind a '#': tools that read lines of perf script skip it. */
static int print_lost(struct recording *r)
{
	const struct recordings_options *const o = &r->all->options;
	struct strbuf *const out = ctf_print_out(r->all->printer);

	if (o->print.format != CTF_FORMAT_TEXT || (o->style && r->reader->marks_losses))
		return 0;
	if (r->lost == RECORDED_LOST_SOME)
		strbuf_addstr(out, "# events were lost here\n");
	else
		strbuf_addf(out, "# %" PRIu64 " event%s %s lost here\n", r->lost, plural(r->lost),
			    was_were(r->lost));
	return ctf_print_added(r->all->printer);
}

int recording_print(struct recording *r)
{
	const int rc = r->lost ? print_lost(r) : 0;

	return rc ?: r->reader->print(r, r->all->printer);
}

int recordings_flush(struct recordings *all)
{
	return all->options.keeps_lines ? 0 : ctf_print_flush(all->printer);
}

const struct strbuf *recordings_lines(const struct recordings *all)
{
	return ctf_print_out(all->printer);
}

struct recording_loss recordings_loss(struct recordings *all, struct diag *d)
{
	struct recording_loss loss = {0};

	for (size_t i = 0; i < all->list.len; i++)
		all->list.items[i]->reader->loss(all->list.items[i], d, &loss);
	return loss;
}

bool recordings_clock(const struct recordings *all, const char *host, const char *name,
		      struct recorded_clock *ret)
{
	for (size_t i = 0; i < all->list.len; i++) {
		const struct recording *r = all->list.items[i];

		if (!r->relation && r->reader->clock && r->reader->clock(r, host, name, ret))
			return true;
	}
	return false;
}

void recordings_each_machine(struct recordings *all,
			     void (*fn)(void *arg, struct clock_relation *r), void *arg)
{
	for (size_t i = 0; i < all->machines.len; i++)
		fn(arg, all->machines.items[i]);
}

int recording_refuse_timeless(const char *path, struct diag *d)
{
	diag_error(d, NO_SPAN, "%s: nothing says when its events were", path);
	diag_hint(d, "`pantrace flame '%s'` draws its stacks", path);
	return -ENODATA;
}

void recording_refuse_cycles(const char *path, struct diag *d)
{
	diag_error(d, NO_SPAN,
		   "%s: its times are cycles of a processor, and nothing says how long one is",
		   path);
	diag_hint(d,
		  "`xl info` of that host says it (cpu_mhz), and report, convert and pictures take "
		  "it: --tsc-mhz 2394.454");
}

/* ---- all of them ---- */

size_t recordings_count(const struct recordings *all)
{
	return all->list.len;
}

int recordings_each(struct recordings *all, int (*fn)(struct recording *r, void *arg), void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < all->list.len && !rc; i++)
		rc = fn(all->list.items[i], arg);
	return rc;
}

void recordings_each_kind(struct recordings *all, void (*fn)(void *arg, struct recorded_kind *k),
			  void *arg)
{
	for (size_t i = 0; i < all->kinds.len; i++)
		fn(arg, all->kinds.items[i]);
}

void recording_names(const char *path, recorded_name_fn *fn, void *arg)
{
	const struct recording_reader *reader = recording_recognise(path);

	(reader ?: DIRECTORIES)->names(path, fn, arg);
}
