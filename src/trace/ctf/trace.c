/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces in directories, and the merging of their streams. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/foreign.h"
#include "trace/clock/relation.h"
#include "trace/ctf/trace.h"

#define DEPTH_MAX    8
#define METADATA_MAX (256u << 20)

struct ctf_set {
	struct ctf_options options;
	VECTOR(struct ctf_trace *) traces;
	VECTOR(struct ctf_stream *) streams;
	VECTOR(struct ctf_stream *) heap; /* with an event each; the earliest first */
	VECTOR(struct ctf_stream *) idle; /* at the end of their files for now */
	VECTOR(struct ctf_metadata *) old; /* that events in flight may still point to */
	VECTOR(char *) roots;
	struct ctf_loss loss;
};

struct ctf_set *ctf_set_new(const struct ctf_options *options)
{
	struct ctf_set *set = xzalloc(sizeof(*set));

	set->options = *options;
	return set;
}

/* ---- the heap ---- */

static inline bool earlier(const struct ctf_stream *a, const struct ctf_stream *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns;
	/* the same order in every run */
	return a->trace != b->trace ? a->trace->index < b->trace->index
				    : strcmp(a->path, b->path) < 0;
}

static void sift_down(struct ctf_set *set)
{
	struct ctf_stream **h = set->heap.items, *moving = h[0];
	const size_t n = set->heap.len;
	size_t i = 0, child;

	while ((child = 2 * i + 1) < n) {
		child += child + 1 < n && earlier(h[child + 1], h[child]);
		if (!earlier(h[child], moving))
			break;
		h[i] = h[child];
		i = child;
	}
	h[i] = moving;
}

static void heap_add(struct ctf_set *set, struct ctf_stream *s)
{
	size_t i = set->heap.len;

	vector_push(&set->heap, s);
	while (i && earlier(s, set->heap.items[(i - 1) / 2])) {
		set->heap.items[i] = set->heap.items[(i - 1) / 2];
		i = (i - 1) / 2;
		set->heap.items[i] = s;
	}
}

/* The stream at the top has a new event, or none. */
static void top_moves(struct ctf_set *set, struct diag *d)
{
	struct ctf_stream *s = set->heap.items[0];
	const enum ctf_step step = ctf_stream_step(s, d);

	if (step == CTF_STEP_EVENT) {
		sift_down(set);
		return;
	}
	set->heap.items[0] = vector_last(&set->heap);
	set->heap.len--;
	if (set->heap.len)
		sift_down(set);
	if (step == CTF_STEP_DAMAGED)
		set->loss.damaged++;
	else if (set->options.live)
		vector_push(&set->idle, s);
}

static void stream_start(struct ctf_set *set, struct ctf_stream *s, struct diag *d)
{
	const enum ctf_step step = ctf_stream_step(s, d);

	if (step == CTF_STEP_EVENT)
		heap_add(set, s);
	else if (step == CTF_STEP_DAMAGED)
		set->loss.damaged++;
	else if (set->options.live)
		vector_push(&set->idle, s);
}

/* ---- directories ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The clock that time stamps are mapped to: the first that a header of packets or events names. */
static const struct ctf_clock *clock_in(const struct ctf_metadata *m, const struct ctf_type *t)
{
	const struct ctf_clock *clock = NULL;

	if (!t)
		return NULL;
	if (t->kind == CTF_INTEGER)
		return t->clock ? ctf_metadata_clock(m, t->clock) : NULL;
	if (t->kind == CTF_STRUCT || t->kind == CTF_VARIANT)
		for (u32 i = 0; i < t->count && !clock; i++)
			clock = clock_in(m, t->fields[i].type);
	return clock;
}

static void clock_set(struct ctf_trace *t)
{
	const struct ctf_clock *clock = NULL;

	for (size_t i = 0; i < t->metadata->streams.len && !clock; i++) {
		clock = clock_in(t->metadata, t->metadata->streams.items[i]->event_header);
		if (!clock)
			clock = clock_in(t->metadata,
					 t->metadata->streams.items[i]->packet_context);
	}
	t->has_clock = clock;
	t->frequency = clock ? clock->frequency : 1000000000u;
	if (clock)
		t->origin_ns =
			(s64)(clock->offset_s * 1000000000u +
			      (clock->frequency == 1000000000u ? clock->offset
							       : (u64)(1e9 * (double)clock->offset /
								       (double)clock->frequency)));
}

static void metadata_set(struct ctf_trace *t, struct ctf_metadata *m, u64 size)
{
	const struct ctf_env *host = ctf_metadata_env(m, "hostname"),
			     *tracer = ctf_metadata_env(m, "tracer_name");

	t->metadata = m;
	t->metadata_size = size;
	t->hostname = host ? host->text : NULL;
	t->is_ours = tracer && tracer->text && str_eq(tracer->text, "pantrace");
	t->slots = xreallocarray(t->slots, m->nr_slots + 1, sizeof(*t->slots));
	memset(t->slots, 0, (m->nr_slots + 1) * sizeof(*t->slots));
	clock_set(t);
}

static size_t plain_length(const char *path)
{
	return strlen(path) - (str_ends(path, ".zst")  ? strlen(".zst")
			       : str_ends(path, ".gz") ? strlen(".gz")
						       : 0);
}

/*
 * As it is or compressed: both are there for a moment, and stay if the recorder is killed then. In
 * the order of names, the plain one comes first.
 */
static bool known_stream(const struct ctf_set *set, const char *path)
{
	const size_t n = plain_length(path);

	for (size_t i = 0; i < set->streams.len; i++) {
		const char *const known = set->streams.items[i]->path;

		if (plain_length(known) == n && !memcmp(known, path, n))
			return true;
	}
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names that are not hidden, in order. */
struct names {
	char **items;
	size_t len, cap;
};

static int names_read(const char *path, struct names *ret)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	if (!dir)
		return -errno;
	while ((e = readdir(dir)))
		if (*e->d_name != '.')
			vector_push(ret, xstrdup(e->d_name));
	closedir(dir);
	if (ret->len)
		qsort(ret->items, ret->len, sizeof(*ret->items), by_name);
	return 0;
}

static void names_free(struct names *n)
{
	for (size_t i = 0; i < n->len; i++)
		free(n->items[i]);
	vector_free(n);
}

/* -1: no file of packets, or one that cannot be read, which is reported. */
static int stream_file(struct ctf_set *set, const char *path, struct diag *d)
{
	int fd;

	do
		fd = foreign_open(path, NULL);
	while (fd == -EMFILE && file_raise_limit());
	if (fd < 0 && fd != -ENOENT && fd != -EISDIR && fd != -EPERM) {
		diag_error(d, NO_SPAN, "%s: %s", path, strerror(-fd));
		set->loss.damaged++;
	}
	return MAX(fd, -1);
}

static int streams_add(struct ctf_set *set, struct ctf_trace *t, const struct names *names,
		       struct diag *d)
{
	for (size_t i = 0; i < names->len; i++) {
		char *path = xasprintf("%s/%s", t->path, names->items[i]);
		struct ctf_stream *s;
		int fd = -1;

		if (!str_eq(names->items[i], "metadata") && !known_stream(set, path))
			fd = stream_file(set, path, d);
		if (fd >= 0) {
			if (ctf_stream_open(t, path, fd, set->options.live, d, &s)) {
				set->loss.damaged++;
			} else {
				vector_push(&set->streams, s);
				stream_start(set, s, d);
			}
		}
		free(path);
	}
	return 0;
}

static struct ctf_trace *trace_at(const struct ctf_set *set, const char *path)
{
	for (size_t i = 0; i < set->traces.len; i++)
		if (str_eq(set->traces.items[i]->path, path))
			return set->traces.items[i];
	return NULL;
}

static int metadata_read(const char *file, char **ret_text, size_t *ret_size)
{
	const int fd = foreign_open(file, NULL);
	int rc;

	if (fd < 0)
		return fd;
	rc = file_read_fd(fd, METADATA_MAX, ret_text, ret_size);
	close(fd);
	return rc;
}

static int trace_add(struct ctf_set *set, const char *path, const struct names *names,
		     struct diag *d)
{
	struct ctf_trace *t = trace_at(set, path);
	struct ctf_metadata *m;
	char *file, *text;
	size_t size;
	int rc;

	if (t)
		return streams_add(set, t, names, d);
	file = xasprintf("%s/metadata", path);
	rc = metadata_read(file, &text, &size);
	if (rc) {
		diag_error(d, NO_SPAN, "%s: %s", file, strerror(-rc));
		free(file);
		return rc;
	}
	m = size || !set->options.live ? ctf_metadata_parse(file, text, size, d) : NULL;
	free(text);
	free(file);
	if (!m)
		return set->options.live && !size ? 0 : -EINVAL; /* it is being made */
	t = xzalloc(sizeof(*t));
	t->path = xstrdup(path);
	t->name = xstrdup(base_name(path));
	t->set = set;
	t->index = (u32)set->traces.len;
	metadata_set(t, m, size);
	vector_push(&set->traces, t);
	return streams_add(set, t, names, d);
}

/* 1: there was a trace; 0: none; negative errno. */
static int tree_add(struct ctf_set *set, const char *path, int depth, struct diag *d)
{
	struct names names = {0};
	int rc = names_read(path, &names), found = 0;
	bool is_other = false;

	for (size_t i = 0; i < names.len && !rc && !found; i++) {
		found = str_eq(names.items[i], "metadata");
		is_other |= depth < DEPTH_MAX && str_eq(names.items[i], CLOCK_FILE);
	}
	if (is_other && !found) { /* its times are of another clock */
		names_free(&names);
		return 0;
	}
	if (found)
		rc = trace_add(set, path, &names, d);
	for (size_t i = 0; i < names.len && !rc && depth; i++) {
		char *sub = xasprintf("%s/%s", path, names.items[i]);
		struct stat st;
		int one = 0;

		if (!lstat(sub, &st) && S_ISDIR(st.st_mode))
			one = tree_add(set, sub, depth - 1, d);
		if (one < 0 && one != -EACCES && one != -ENOENT)
			rc = one;
		found |= one > 0;
		free(sub);
	}
	names_free(&names);
	return rc ? rc : found;
}

int ctf_set_add(struct ctf_set *set, const char *path, struct diag *d)
{
	const unsigned int errors = d->errors;
	char *clean = xstrdup(path);
	size_t n = strlen(clean);
	int rc;

	while (n > 1 && clean[n - 1] == '/')
		clean[--n] = 0;
	rc = tree_add(set, clean, DEPTH_MAX, d);
	vector_push(&set->roots, clean);
	if (rc > 0)
		return 0;
	if (!rc && !set->options.live) {
		diag_error(d, NO_SPAN, "'%s' has no CTF trace", path);
		diag_hint(d,
			  "a trace is a directory with a file named metadata; it is looked for %d "
			  "levels deep",
			  DEPTH_MAX);
		rc = -ENOENT;
	} else if (rc && d->errors == errors) {
		diag_error(d, NO_SPAN, "cannot read '%s': %s", path, strerror(-rc));
	}
	return rc;
}

/* ---- growing traces ---- */

static void metadata_again(struct ctf_set *set, struct ctf_trace *t, struct diag *d)
{
	char *file = xasprintf("%s/metadata", t->path), *text;
	struct ctf_metadata *m;
	struct diag quiet = DIAG_INIT;
	struct stat st;
	size_t size;

	if (stat(file, &st) || (u64)st.st_size == t->metadata_size ||
	    metadata_read(file, &text, &size)) {
		free(file);
		return;
	}
	m = ctf_metadata_parse(file, text, size,
			       &quiet); /* half of an event is no error: the rest will come */
	diag_release(&quiet);
	free(text);
	free(file);
	if (!m)
		return;
	vector_push(&set->old, t->metadata);
	metadata_set(t, m, size);
	for (size_t i = 0; i < set->streams.len; i++) {
		struct ctf_stream *s = set->streams.items[i];

		if (s->trace != t || !s->class)
			continue;
		s->class = ctf_metadata_stream(m, s->class->id);
		s->at.slots = t->slots;
		if (s->class && s->event)
			s->event = ctf_stream_event(s->class, s->event->id);
		s->ended |= !s->class;
	}
}

void ctf_set_refresh(struct ctf_set *set, struct diag *d)
{
	const size_t idle = set->idle.len;

	for (size_t i = 0; i < set->streams.len; i++)
		ctf_stream_grow(set->streams.items[i]);
	for (size_t i = 0; i < set->traces.len; i++)
		metadata_again(set, set->traces.items[i], d);
	for (size_t i = 0; i < idle; i++)
		stream_start(set, set->idle.items[i], d);
	if (idle)
		memmove(set->idle.items, set->idle.items + idle,
			(set->idle.len - idle) * sizeof(*set->idle.items));
	set->idle.len -= idle;
	for (size_t i = 0; i < set->roots.len; i++)
		tree_add(set, set->roots.items[i], DEPTH_MAX, d);
}

/* ---- events ---- */

int ctf_set_next(struct ctf_set *set, struct ctf_event *ret, struct diag *d)
{
	struct ctf_stream *s;

	while (set->heap.len && set->heap.items[0]->ended)
		top_moves(set, d);
	if (!set->heap.len)
		return 0;
	s = set->heap.items[0];
	if (set->options.live && s->ns > (s64)clock_now_ns(CLOCK_REALTIME) - set->options.hold_ns)
		return 0;
	*ret = (struct ctf_event){
		.stream = s, .class = s->event, .ns = s->ns, .clock = s->clock, .lost = s->lost};
	s->lost = 0;
	return 1;
}

struct ctf_cursor ctf_event_cursor(const struct ctf_event *event)
{
	return event->stream->at;
}

void ctf_set_done(struct ctf_set *set, const struct ctf_event *event, const struct ctf_cursor *at,
		  struct diag *d)
{
	struct ctf_stream *s = event->stream;

	s->at.at = at->at;
	if (at->failed || at->at > at->end) {
		diag_error(d, NO_SPAN, "%s: byte %llu: %s", s->path,
			   (unsigned long long)(s->packet + MIN(at->at, at->end) / 8),
			   s->is_cut ? CTF_FILE_CUT : "the packet ends within an event");
		s->ended = true;
		set->loss.damaged++;
	}
	top_moves(set, d);
}

void ctf_set_skip(struct ctf_set *set, const struct ctf_event *event, struct diag *d)
{
	struct ctf_cursor c = event->stream->at;
	const struct ctf_type *parts[] = {event->stream->class->event_context,
					  event->class->context, event->class->fields};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i])
			ctf_skip(&c, parts[i]);
	ctf_set_done(set, event, &c, d);
}

/* ---- losses ---- */

void ctf_set_lost(struct ctf_set *set, u64 events, u64 packets)
{
	set->loss.events += events;
	set->loss.packets += packets;
}

struct ctf_loss ctf_set_loss(const struct ctf_set *set)
{
	return set->loss;
}

u32 ctf_set_traces(const struct ctf_set *set)
{
	return (u32)set->traces.len;
}

struct ctf_trace *ctf_set_trace(const struct ctf_set *set, u32 index)
{
	return set->traces.items[index];
}

void ctf_set_release(struct ctf_set *set)
{
	for (size_t i = 0; i < set->streams.len; i++)
		ctf_stream_close(set->streams.items[i]);
	for (size_t i = 0; i < set->traces.len; i++) {
		struct ctf_trace *t = set->traces.items[i];

		ctf_metadata_release(t->metadata);
		free(t->slots);
		free(t->path);
		free(t->name);
		free(t->user);
		free(t);
	}
	for (size_t i = 0; i < set->old.len; i++)
		ctf_metadata_release(set->old.items[i]);
	for (size_t i = 0; i < set->roots.len; i++)
		free(set->roots.items[i]);
	vector_free(&set->traces);
	vector_free(&set->streams);
	vector_free(&set->heap);
	vector_free(&set->idle);
	vector_free(&set->old);
	vector_free(&set->roots);
	free(set);
}
