/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/xen/file.h"

#include <unistd.h>

#include "base/cursor.h"
#include "base/foreign.h"
#include "base/vector.h"

#define PIECE_HEAD	   12 /* bytes of cpu_change */
#define CPU_CHANGE_HEAD	   (2u << 28 | XEN_CPU_CHANGE)
#define EVENT_MASK	   0x0fffffffu
#define HAS_TSC		   (1u << 31)
#define RECORD_MOST	   (4 + 8 + 4 * XEN_WORDS_MAX)
#define CPUS_MOST	   16384 /* that Xen can be built for */
#define BUFFER		   4096u
#define LOST_RECORDS_WORDS 4

/* Records of one CPU, in the file. */
struct piece {
	u64 at, size;
};

/* A place between records of one CPU. */
struct position {
	size_t piece;
	u64 read; /* bytes of it read into the buffer so far */
	u8 buffer[BUFFER];
	size_t begin, end; /* of the unused bytes */
};

struct stream {
	u32 cpu;
	VECTOR(struct piece) pieces;
	struct position *position; /* NULL: not begun */
	u64 tsc; /* the last one */
	u64 order; /* time by which its record is sorted */
	struct xen_record head; /* the next one */
	u64 lost_until; /* if the head is lost_records: when that was written; else 0 */
	bool has_vcpu;
	u16 domain, vcpu;
};

struct xen_file {
	int fd;
	char *path;
	VECTOR(struct stream *) streams; /* by CPU; NULL = none */
	struct stream **heap; /* the oldest record first; NULL: not begun */
	size_t heap_len;
	bool given; /* the first record of the heap was returned */
	int error; /* of a read: -errno */
	u64 missing; /* bytes at its end */
	u64 strange_at; /* offset where no piece begins; UINT64_MAX = none */
	u64 torn; /* pieces that end within a record, or have an impossible one */
	u64 timeless; /* CPUs without any TSC */
};

/* ---- pieces ---- */

static bool read_head(struct cursor *c, struct piece *ret, u32 *ret_cpu)
{
	const u32 head = cursor_u32(c);

	*ret_cpu = cursor_u32(c);
	ret->size = cursor_u32(c);
	return !c->failed && head == CPU_CHANGE_HEAD && *ret_cpu < CPUS_MOST && ret->size % 4 == 0;
}

bool xen_file_is(const void *head, size_t len)
{
	struct cursor c = cursor_of(head, len);
	struct piece piece;
	u32 cpu;

	return read_head(&c, &piece, &cpu);
}

static void add_piece(struct xen_file *f, u32 cpu, struct piece piece)
{
	while (f->streams.len <= cpu)
		vector_push(&f->streams, NULL);
	if (!f->streams.items[cpu]) {
		f->streams.items[cpu] = xzalloc(sizeof(struct stream));
		f->streams.items[cpu]->cpu = cpu;
	}
	vector_push(&f->streams.items[cpu]->pieces, piece);
}

/* Reads the heads of all pieces. */
static int find_pieces(struct xen_file *f, u64 size)
{
	u8 head[PIECE_HEAD];
	struct piece piece;
	u32 cpu;

	for (u64 at = 0; at < size; at = piece.at + piece.size) {
		const ssize_t n = pread(f->fd, head, sizeof(head), (off_t)at);
		struct cursor c = cursor_of(head, n < 0 ? 0 : (size_t)n);

		if (n < 0)
			return -errno;
		if ((size_t)n < sizeof(head)) {
			f->missing = sizeof(head) - (size_t)n;
			break;
		}
		if (!read_head(&c, &piece, &cpu)) {
			f->strange_at = at;
			break;
		}
		piece.at = at + sizeof(head);
		if (piece.size > size - piece.at) {
			f->missing = piece.size - (size - piece.at);
			piece.size = size - piece.at;
		}
		if (piece.size)
			add_piece(f, cpu, piece);
	}
	return 0;
}

int xen_file_open(const char *path, struct diag *d, struct xen_file **ret)
{
	struct xen_file *f;
	struct stat st;
	const int fd = foreign_open(path, &st);
	int rc;

	if (fd < 0) {
		diag_error(d, NO_SPAN, "cannot open '%s': %s", path, strerror(-fd));
		return fd;
	}
	f = xzalloc(sizeof(*f));
	f->fd = fd;
	f->path = xstrdup(path);
	f->strange_at = UINT64_MAX;
	rc = find_pieces(f, (u64)st.st_size);
	if (rc) {
		diag_error(d, NO_SPAN, "cannot read '%s': %s", path, strerror(-rc));
		xen_file_close(f);
		return rc;
	}
	*ret = f;
	return 0;
}

void xen_file_close(struct xen_file *f)
{
	for (size_t i = 0; i < f->streams.len; i++) {
		struct stream *const s = f->streams.items[i];

		if (!s)
			continue;
		vector_free(&s->pieces);
		free(s->position);
		free(s);
	}
	vector_free(&f->streams);
	free(f->heap);
	free(f->path);
	close(f->fd);
	free(f);
}

void xen_file_damage(const struct xen_file *f, struct diag *d)
{
	if (f->error)
		diag_error(d, NO_SPAN, "cannot read '%s': %s", f->path, strerror(-f->error));
	if (f->missing)
		diag_error(d, NO_SPAN, "%s is cut short: at least %" PRIu64 " bytes are missing",
			   f->path, f->missing);
	if (f->strange_at != UINT64_MAX)
		diag_error(d, NO_SPAN,
			   "%s: at byte %" PRIu64
			   " records of a CPU should begin, and do not: nothing behind it was read",
			   f->path, f->strange_at);
	if (f->torn)
		diag_error(d, NO_SPAN,
			   "%s: %" PRIu64
			   " time%s a record does not fit into what was written at once: the rest "
			   "of that was left out",
			   f->path, f->torn, plural(f->torn));
	if (f->timeless)
		diag_error(d, NO_SPAN,
			   "%s: the records of %" PRIu64 " CPUs have no time: they were left out",
			   f->path, f->timeless);
}

/* ---- records of a CPU ---- */

/* Reads until a whole record is in the buffer. False: the end of the piece. */
static bool fill(struct xen_file *f, const struct piece *piece, struct position *p)
{
	const size_t have = p->end - p->begin;
	ssize_t n;

	if (have >= RECORD_MOST || p->read == piece->size)
		return have;
	memmove(p->buffer, p->buffer + p->begin, have);
	p->begin = 0;
	p->end = have;
	n = pread(f->fd, p->buffer + have, MIN(BUFFER - have, piece->size - p->read),
		  (off_t)(piece->at + p->read));
	if (n <= 0) { /* the file was truncated */
		f->error = n < 0 ? -errno : -EIO;
		p->read = piece->size;
		return have;
	}
	p->read += (u64)n;
	p->end += (size_t)n;
	return true;
}

static void next_piece(struct position *p)
{
	p->piece++;
	p->read = p->begin = p->end = 0;
}

/* The next record other than wrap_buffer. *tsc: of the one before. False: the end. */
static bool next_record(struct xen_file *f, const struct stream *s, struct position *p, u64 *tsc,
			struct xen_record *r)
{
	while (p->piece < s->pieces.len) {
		struct cursor c;
		u32 head;

		if (!fill(f, &s->pieces.items[p->piece], p)) {
			next_piece(p);
			continue;
		}
		c = cursor_of(p->buffer + p->begin, p->end - p->begin);
		head = cursor_u32(&c);
		*r = (struct xen_record){
			.event = head & EVENT_MASK, .nr_words = head >> 28 & 7, .cpu = s->cpu};
		r->tsc = head & HAS_TSC ? cursor_u64(&c) : *tsc;
		for (u32 i = 0; i < r->nr_words; i++)
			r->words[i] = cursor_u32(&c);
		if (c.failed || r->event == XEN_LOST_RECORDS_END ||
		    (r->event == XEN_LOST_RECORDS && r->nr_words != LOST_RECORDS_WORDS)) {
			f->torn++;
			next_piece(p);
			continue;
		}
		p->begin += c.pos;
		*tsc = r->tsc;
		if (r->event != XEN_WRAP_BUFFER)
			return true;
	}
	return false;
}

int xen_file_each(struct xen_file *f, int (*fn)(void *arg, const struct xen_record *r), void *arg)
{
	const u64 torn = f->torn;
	int rc = 0;

	for (size_t i = 0; i < f->streams.len && !rc; i++) {
		struct stream *const s = f->streams.items[i];
		struct position *const p = s ? xzalloc(sizeof(*p)) : NULL;
		struct xen_record r;
		u64 tsc = 0;

		while (p && !rc && next_record(f, s, p, &tsc, &r))
			rc = fn(arg, &r);
		free(p);
	}
	f->torn = torn; /* xen_file_next() counts them */
	return rc;
}

/* ---- what a CPU runs ---- */

static void runs(struct stream *s, u32 domain, u32 vcpu)
{
	s->has_vcpu = true;
	s->domain = (u16)domain;
	s->vcpu = (u16)vcpu;
}

/* A record belongs to the virtual CPU that ran before it, or to the one that it starts. */
static void follow(struct stream *s, struct xen_record *r)
{
	const u32 first = r->nr_words ? r->words[0] : 0;
	const bool changes = r->nr_words && xen_is_runstate_change(r->event);
	const u32 old = r->event >> 8 & 15, new = r->event >> 4 & 15;

	if ((changes && new == XEN_RUNNING) || (r->nr_words && r->event == XEN_CONTINUE_RUNNING))
		runs(s, first >> 16, first & 0xffff);
	if (r->event == XEN_LOST_RECORDS)
		s->has_vcpu = false;
	if (r->event == XEN_LOST_RECORDS_END)
		runs(s, r->words[1] & 0xffff, r->words[1] >> 16);
	r->has_vcpu = s->has_vcpu;
	r->domain = s->domain;
	r->vcpu = s->vcpu;
	if (changes && old == XEN_RUNNING && new != XEN_RUNNING && s->domain == first >> 16 &&
	    s->vcpu == (first & 0xffff))
		s->has_vcpu = false;
}

/* The head is lost_records: moves it from when it was written to where the loss began. */
static void begin_loss(struct stream *s)
{
	struct xen_record *const r = &s->head;
	const u64 first_tsc = r->words[2] | (u64)r->words[3] << 32;

	s->lost_until = r->tsc;
	r->tsc = MIN(MAX(first_tsc, s->order), r->tsc);
	r->lost = r->words[0];
}

static bool advance(struct xen_file *f, struct stream *s)
{
	struct xen_record *const r = &s->head;

	if (s->lost_until) {
		r->event = XEN_LOST_RECORDS_END;
		r->tsc = s->lost_until;
		r->lost = 0;
		s->lost_until = 0;
	} else if (!next_record(f, s, s->position, &s->tsc, r)) {
		return false;
	} else if (r->event == XEN_LOST_RECORDS && r->nr_words == LOST_RECORDS_WORDS) {
		begin_loss(s);
	}
	s->order = MAX(s->order, r->tsc);
	follow(s, r);
	return true;
}

/* ---- all CPUs ---- */

static bool before(const struct stream *a, const struct stream *b)
{
	return a->order != b->order ? a->order < b->order : a->cpu < b->cpu;
}

static void sift_down(struct xen_file *f, size_t i)
{
	for (size_t child; (child = 2 * i + 1) < f->heap_len; i = child) {
		struct stream *const s = f->heap[i];

		if (child + 1 < f->heap_len && before(f->heap[child + 1], f->heap[child]))
			child++;
		if (!before(f->heap[child], s))
			return;
		f->heap[i] = f->heap[child];
		f->heap[child] = s;
	}
}

/* Records before the first TSC get that time. False: the stream has no TSC. */
static bool begin_stream(struct xen_file *f, struct stream *s)
{
	const u64 torn = f->torn;
	struct xen_record r;

	s->position = xzalloc(sizeof(*s->position));
	while (!s->tsc && next_record(f, s, s->position, &s->tsc, &r))
		;
	f->torn = torn;
	*s->position = (struct position){0};
	f->timeless += !s->tsc;
	return s->tsc && advance(f, s);
}

static void begin(struct xen_file *f)
{
	f->heap = xreallocarray(NULL, MAX(f->streams.len, (size_t)1), sizeof(struct stream *));
	for (size_t i = 0; i < f->streams.len; i++)
		if (f->streams.items[i] && begin_stream(f, f->streams.items[i]))
			f->heap[f->heap_len++] = f->streams.items[i];
	for (size_t i = f->heap_len / 2; i-- > 0;)
		sift_down(f, i);
}

bool xen_file_next(struct xen_file *f, struct xen_record *ret)
{
	if (!f->heap)
		begin(f);
	if (f->given) {
		if (!advance(f, f->heap[0]))
			f->heap[0] = f->heap[--f->heap_len];
		sift_down(f, 0);
	}
	f->given = f->heap_len;
	if (f->given)
		*ret = f->heap[0]->head;
	return f->given;
}
