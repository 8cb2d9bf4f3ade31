/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which reader reads what, and the order of events of several recordings. */
#include "trace/recording.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/glob.h"
#include "kernel/tracefs/event_name.h"

/* Directories are the last one's. */
static const struct recording_reader *const readers[] = {
	&dat_reader,	   &perf_reader,   &perf_script_reader,
	&trace_cmd_reader, &folded_reader, &ctf_reader,
};

#define DIRECTORIES (&ctf_reader)

struct recordings {
	struct recordings_options options;
	VECTOR(struct recording *) list;
	VECTOR(char *) files; /* to be opened when all directories are */
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
		free(all->files.items[i]);
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
	char head[4096];
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
		    struct diag *d)
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
	vector_push(&all->list, r);
	return rc;
}

/* Recordings that are files of a directory: NAME.dat, NAME.data. How many there are. */
static size_t files_in(struct recordings *all, const char *path)
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
			vector_push(&all->files, file);
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
	if (S_ISREG(st.st_mode))
		diag_error(d, NO_SPAN,
			   "'%s' is no recording: neither trace.dat nor perf.data, nor the text of "
			   "perf script or trace-cmd report, nor folded stacks",
			   path);
	else
		diag_error(d, NO_SPAN, "'%s' is neither a directory nor a file", path);
	diag_hint(d, "a trace is a directory with a file named metadata (CTF), a trace.dat, or a "
		     "perf.data");
	return -EINVAL;
}

/* A directory may have traces, recordings of the kernel, or both; nothing is an error. */
static int add_directory(struct recordings *all, const char *path, struct diag *d)
{
	const bool has_files = files_in(all, path);
	struct recording *first = NULL;
	struct diag nothing = DIAG_INIT;
	int rc;

	for (size_t i = 0; i < all->list.len && !first; i++)
		if (all->list.items[i]->reader == DIRECTORIES)
			first = all->list.items[i];
	if (first)
		rc = first->reader->add(first, path, has_files ? &nothing : d);
	else
		rc = open_one(all, DIRECTORIES, xstrdup(path), has_files ? &nothing : d);
	if (rc != -ENOENT && has_files)
		diag_tell(&nothing);
	diag_release(&nothing);
	return rc == -ENOENT && has_files ? 0 : rc;
}

int recordings_add(struct recordings *all, const char *path, struct diag *d)
{
	int rc;

	/* in a style of its own it is such a file, or is to be told that it is not */
	if (all->options.style || recording_recognise(path)) {
		vector_push(&all->files, xstrdup(path));
		return 0;
	}
	rc = refuse_kind(path, d);
	return rc ? rc : add_directory(all, path, d);
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

static inline void advance(struct recording *r, struct diag *d)
{
	r->lost = 0;
	do
		r->has_event = r->reader->next(r, d);
	while (r->has_event && !is_wanted(r));
}

/* The recordings of the kernel last: their place on the time line may depend on the others. */
int recordings_open(struct recordings *all, struct diag *d)
{
	int rc = 0;

	for (size_t i = 0; i < all->files.len && !rc; i++) {
		char *const path = all->files.items[i];
		const struct recording_reader *reader = recording_recognise(path);

		const struct recording_reader *wanted =
			all->options.style ? with_style(all->options.style) : NULL;

		if (reader && wanted && reader != wanted) {
			diag_error(d, NO_SPAN, "-f %s is for a %s, and %s is a %s", wanted->style,
				   wanted->name, path, reader->name);
			return -EINVAL;
		}
		rc = open_one(all, reader ?: wanted ?: readers[0], xstrdup(path), d);
	}
	all->printer = ctf_printer_new(&all->options.print, STDOUT_FILENO);
	for (size_t i = 0; i < all->list.len && !rc; i++)
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

struct recorded_place recording_place(struct recording *r)
{
	struct recorded_place place = {.cpu = -1, .pid = -1, .tid = -1};

	r->reader->place(r, &place);
	return place;
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
		strbuf_addf(out, "# %" PRIu64 " events were lost here\n", r->lost);
	return ctf_print_added(r->all->printer);
}

int recording_print(struct recording *r)
{
	const int rc = r->lost ? print_lost(r) : 0;

	return rc ?: r->reader->print(r, r->all->printer);
}

int recordings_flush(struct recordings *all)
{
	return ctf_print_flush(all->printer);
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

		if (r->reader->clock && r->reader->clock(r, host, name, ret))
			return true;
	}
	return false;
}

/* ---- all of them ---- */

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
