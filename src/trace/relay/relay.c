/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "trace/agent/frames.h"
#include "trace/agent/receiver.h"
#include "trace/ctf/sink.h"
#include "trace/relay/relay.h"
#include "trace/relay/relay_protocol.h"

#define FILES_MAX    4100u /* of a trace: a ring for each CPU or thread, and a few */
#define OUT_MAX	     (1u << 20) /* a peer that does not read its answers is refused */
#define SESSIONS_MAX 1000u
#define NOTES	     ".relay" /* beside the files of a trace: struct relay_file of each */
#define OWNER	     ".session"
#define CARRIED_MOST (128u << 10) /* bytes of one message */

struct file {
	struct relay_file is;
	int fd;
};

struct relay_source {
	u32 id;
	int directory, notes;
	VECTOR(struct file) files;
};

struct relay_peer {
	struct relay *relay;
	char host[80], complaint[256];
	bool greeted, done;
	u8 session[16];
	int root, chunk; /* of the session, of its current chunk; -1: nothing has come for it yet */
	u32 chunk_number; /* 0: it does not rotate */
	u64 bytes; /* on disk */
	u64 received, acknowledged; /* DATA messages */
	VECTOR(struct relay_source *) sources;
	struct strbuf out;
	/* the message that is coming in */
	struct relay_message head;
	union {
		struct relay_message head;
		struct relay_hello hello;
		struct relay_data data;
		u32 number;
		char name[64];
	} in;
	size_t have; /* bytes of `in` */
	enum { READING_HEAD, READING_BODY, WRITING, COLLECTING } state;
	struct file *to;
	struct relay_source *source;
	u64 left; /* bytes of DATA or CARRIED still to come */
	struct strbuf carried; /* what has come of CARRIED */
	struct agent_receiver receiver; /* of these, in root */
};

/* ---- answers ---- */

static void answer(struct relay_peer *p, enum relay_type type, u32 source, const void *body,
		   size_t size)
{
	const struct relay_message head = {.type = type, .source = source, .size = size};

	strbuf_add(&p->out, (const char *)&head, sizeof(head));
	strbuf_add(&p->out, body, size);
}

PRINTF_LIKE(3, 4) static int refuse(struct relay_peer *p, int error, const char *fmt, ...)
{
	struct relay_refused refused = {.error = error};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(refused.text, sizeof(refused.text), fmt, ap);
	va_end(ap);
	snprintf(p->complaint, sizeof(p->complaint), "%s", refused.text);
	answer(p, RELAY_REFUSED, 0, &refused, sizeof(refused));
	p->done = true;
	return 1;
}

static void acknowledge(struct relay_peer *p)
{
	if (p->received == p->acknowledged)
		return;
	p->acknowledged = p->received;
	answer(p, RELAY_ACK, 0, &p->received, sizeof(p->received));
}

/* ---- directories ---- */

/* Is the directory this session's? 1: it has been; 0: it has become it; -errno. */
static int claim(int directory, const u8 session[16])
{
	u8 owner[16];
	int fd = foreign_file(directory, OWNER, O_RDONLY, NULL), rc;

	if (fd >= 0) {
		rc = read(fd, owner, sizeof(owner)) == sizeof(owner) &&
				     !memcmp(owner, session, sizeof(owner))
			     ? 1
			     : -EEXIST;
		close(fd);
		return rc;
	}
	fd = openat(directory, OWNER, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, session, 16);
	close(fd);
	return rc;
}

static int session_directory(struct relay_peer *p, const char *host)
{
	for (u32 i = 1; i <= SESSIONS_MAX; i++) {
		struct stat st;
		int fd, rc;
		bool existed;

		snprintf(p->host, sizeof(p->host), i > 1 ? "%s-%u" : "%s", host, i);
		existed = !fstatat(p->relay->directory, p->host, &st, AT_SYMLINK_NOFOLLOW);
		fd = directory_make(p->relay->directory, p->host);
		if (fd < 0)
			return fd;
		/*
		 * a directory that is there without an owner is somebody else's; so is another
		 * user's, who may have made it just now
		 */
		rc = !foreign_is_ours(fd) || (existed && faccessat(fd, OWNER, F_OK, 0))
			     ? -EEXIST
			     : claim(fd, p->session);
		p->receiver.goes_on = rc > 0;
		if (rc >= 0)
			return fd;
		close(fd);
		if (rc != -EEXIST)
			return rc;
	}
	return -EMLINK;
}

/* ---- messages ---- */

static bool text_in(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

static int hello(struct relay_peer *p)
{
	const struct relay_hello *h = &p->in.hello;
	struct relay_welcome welcome = {.protocol = RELAY_PROTOCOL};

	if (h->magic != RELAY_MAGIC || !text_in(h->version, sizeof(h->version)))
		return refuse(p, EPROTO,
			      "this is a relay of pantrace; the other end is not a recorder");
	if (h->protocol != RELAY_PROTOCOL)
		return refuse(p, EPROTO,
			      "the relay is pantrace %s (protocol %u), the recorder is %.31s "
			      "(protocol %u)",
			      PANTRACE_VERSION, RELAY_PROTOCOL,
			      ctf_name_is_plain(h->version) ? h->version : "?", h->protocol);
	if (!text_in(h->host, sizeof(h->host)) || !ctf_name_is_plain(h->host))
		return refuse(p, EINVAL, "a host name that is not a plain name");
	memcpy(p->session, h->session, sizeof(p->session));
	p->root = session_directory(p, h->host);
	if (p->root < 0)
		return refuse(p, -p->root, "cannot make a directory for %.40s: %s", h->host,
			      strerror(-p->root));
	/* what is left of an earlier connection of this recorder must not write any more */
	for (size_t i = 0; i < p->relay->peers.len; i++) {
		struct relay_peer *other = p->relay->peers.items[i];

		if (other != p && other->greeted && !memcmp(other->session, p->session, 16))
			refuse(other, ECONNRESET, "the recorder has connected again");
	}
	p->greeted = true;
	snprintf(welcome.version, sizeof(welcome.version), "%s", PANTRACE_VERSION);
	answer(p, RELAY_WELCOME, 0, &welcome, sizeof(welcome));
	return 0;
}

static int chunk(struct relay_peer *p)
{
	if (p->sources.len)
		return refuse(p, EPROTO, "a new chunk while traces are open");
	if (p->chunk >= 0)
		close(p->chunk);
	p->chunk = -1;
	p->chunk_number = p->in.number;
	return 0;
}

/* The directory that a trace comes into. */
static int place_of_traces(struct relay_peer *p)
{
	char name[32];

	if (!p->chunk_number)
		return p->root;
	snprintf(name, sizeof(name), CHUNK_NAME, p->chunk_number);
	if (p->chunk < 0)
		p->chunk = directory_make(p->root, name);
	return p->chunk;
}

static struct relay_source *source_find(struct relay_peer *p, u32 id)
{
	for (size_t i = 0; i < p->sources.len; i++)
		if (p->sources.items[i]->id == id)
			return p->sources.items[i];
	return NULL;
}

static void source_free(struct relay_source *s)
{
	for (size_t i = 0; i < s->files.len; i++)
		if (s->files.items[i].fd >= 0)
			close(s->files.items[i].fd);
	vector_free(&s->files);
	if (s->notes >= 0)
		close(s->notes);
	if (s->directory >= 0)
		close(s->directory);
	free(s);
}

/* What is on disk by the notes; what is after it came with a message that was cut short. */
static int notes_read(struct relay_peer *p, struct relay_source *s)
{
	struct file file = {.fd = -1};

	s->notes = openat(s->directory, NOTES, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->notes < 0)
		return -errno;
	while (s->files.len < FILES_MAX &&
	       pread(s->notes, &file.is, sizeof(file.is),
		     (off_t)(s->files.len * sizeof(file.is))) == sizeof(file.is)) {
		if (!text_in(file.is.file, sizeof(file.is.file)) ||
		    !ctf_name_is_plain(file.is.file))
			return -EBADMSG;
		file.fd = foreign_file(s->directory, file.is.file, O_RDWR, NULL);
		if (file.fd < 0 || ftruncate(file.fd, (off_t)file.is.size)) {
			if (file.fd >= 0)
				close(file.fd);
			return -errno;
		}
		p->bytes += file.is.size;
		vector_push(&s->files, file);
	}
	return 0;
}

static int open_source(struct relay_peer *p)
{
	struct relay_source *s;
	struct strbuf known = STRBUF_INIT;
	int place, rc;

	if (!text_in(p->in.name, sizeof(p->in.name)) || !ctf_name_is_plain(p->in.name))
		return refuse(p, EINVAL, "a trace name that is not a plain name");
	if (source_find(p, p->head.source))
		return refuse(p, EPROTO, "a trace is opened twice");
	if (p->sources.len >= p->relay->limits.sources)
		return refuse(p, EMFILE, "more than %u traces at a time", p->relay->limits.sources);
	s = xzalloc(sizeof(*s));
	s->id = p->head.source;
	s->notes = -1;
	vector_push(&p->sources, s);
	place = place_of_traces(p);
	s->directory = place < 0 ? place : directory_make(place, p->in.name);
	rc = s->directory < 0 ? s->directory : notes_read(p, s);
	if (rc)
		return refuse(p, -rc, "cannot write the trace %s: %s", p->in.name, strerror(-rc));
	for (size_t i = 0; i < s->files.len; i++)
		strbuf_add(&known, (const char *)&s->files.items[i].is, sizeof(struct relay_file));
	answer(p, RELAY_OPENED, s->id, known.data, known.len);
	strbuf_release(&known);
	return 0;
}

static int end_source(struct relay_peer *p)
{
	for (size_t i = 0; i < p->sources.len; i++) {
		if (p->sources.items[i]->id != p->head.source)
			continue;
		source_free(p->sources.items[i]);
		p->sources.items[i] = p->sources.items[--p->sources.len];
		return 0;
	}
	return refuse(p, EPROTO, "the end of a trace that is not open");
}

/* ---- data ---- */

static bool is_over_limit(const struct relay_peer *p, u64 more)
{
	const u64 most = p->relay->limits.bytes;

	return most && (more > most || p->bytes > most - more);
}

static int refuse_bytes(struct relay_peer *p)
{
	return refuse(p, EDQUOT, "%s has used up its %llu bytes at the relay", p->host,
		      (unsigned long long)p->relay->limits.bytes);
}

static int data_begin(struct relay_peer *p)
{
	struct relay_data *d = &p->in.data;
	struct relay_source *s = source_find(p, p->head.source);
	struct file file = {.fd = -1};

	p->left = p->head.size - sizeof(*d);
	if (!s)
		return refuse(p, EPROTO, "data of a trace that is not open");
	if (!text_in(d->file, sizeof(d->file)) || !ctf_name_is_plain(d->file))
		return refuse(p, EINVAL, "a file name that is not a plain name");
	if (is_over_limit(p, p->left))
		return refuse_bytes(p);
	p->to = NULL;
	for (size_t i = 0; i < s->files.len; i++)
		if (str_eq(s->files.items[i].is.file, d->file))
			p->to = &s->files.items[i];
	if (!p->to) {
		if (s->files.len >= FILES_MAX)
			return refuse(p, EMFILE, "more than %u files in a trace", FILES_MAX);
		file.fd = openat(s->directory, d->file,
				 O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (file.fd < 0)
			return refuse(p, errno, "cannot write %s: %s", d->file, strerror(errno));
		snprintf(file.is.file, sizeof(file.is.file), "%s", d->file);
		vector_push(&s->files, file);
		p->to = &vector_last(&s->files);
	}
	if (d->offset != p->to->is.size)
		return refuse(p, EPROTO, "data for another place in %s than where it ends",
			      d->file);
	p->source = s;
	p->state = WRITING;
	return 0;
}

/* The bytes are there; the note makes them count. */
static int data_end(struct relay_peer *p)
{
	struct relay_file *is = &p->to->is;
	const size_t index = (size_t)(p->to - p->source->files.items);
	const u64 size = p->head.size - sizeof(struct relay_data);

	is->size += size;
	is->resume = p->in.data.resume;
	if (pwrite(p->source->notes, is, sizeof(*is), (off_t)(index * sizeof(*is))) !=
	    sizeof(*is)) {
		is->size -= size;
		return refuse(p, ENOSPC, "cannot write at the relay: %s",
			      strerror(errno ? errno : ENOSPC));
	}
	p->bytes += size;
	p->received++;
	p->state = READING_HEAD;
	p->have = 0;
	return 0;
}

static int data_some(struct relay_peer *p, const char *data, size_t n)
{
	const u64 size = p->head.size - sizeof(struct relay_data);
	u64 at = p->to->is.size + (size - p->left);

	p->left -= n;
	while (n) {
		const ssize_t written = pwrite(p->to->fd, data, n, (off_t)at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			const int error = written ? errno : ENOSPC;

			if (ftruncate(p->to->fd,
				      (off_t)p->to->is.size)) /* the next connection does it */
				return refuse(p, errno, "cannot shorten a file at the relay: %s",
					      strerror(errno));
			return refuse(p, error, "cannot write at the relay: %s", strerror(error));
		}
		data += written;
		at += (u64)written;
		n -= (size_t)written;
	}
	return p->left ? 0 : data_end(p);
}

/* ---- files that are written at several places ---- */

static int carried_begin(struct relay_peer *p)
{
	const struct agent_frame f = {.type = p->head.source, .size = (u32)p->head.size};

	if (p->head.size > CARRIED_MOST || !agent_frame_fits(&f) ||
	    (f.type != AGENT_FILE && f.type != AGENT_WRITE && f.type != AGENT_PACK))
		return refuse(p, EPROTO, "a part of a file that is none");
	if (is_over_limit(p, p->head.size))
		return refuse_bytes(p);
	strbuf_reset(&p->carried);
	p->left = p->head.size;
	p->state = COLLECTING;
	return 0;
}

static int carried_end(struct relay_peer *p)
{
	const struct agent_frame f = {.type = p->head.source, .size = (u32)p->carried.len};
	const u64 before = p->receiver.bytes;
	int rc;

	p->receiver.directory = p->root;
	rc = agent_receive(&p->receiver, &f, (const u8 *)p->carried.data);
	if (rc == -EPROTO)
		return refuse(p, EPROTO, "%s", p->receiver.why);
	if (rc)
		return refuse(p, -rc, "cannot write at the relay: %s", strerror(-rc));
	p->bytes += p->receiver.bytes - before;
	p->received++;
	p->state = READING_HEAD;
	p->have = 0;
	return 0;
}

/* The next bytes of a DATA or CARRIED. */
static int some(struct relay_peer *p, const char *data, size_t n)
{
	if (p->state == WRITING)
		return data_some(p, data, n);
	strbuf_add(&p->carried, data, n);
	p->left -= n;
	return p->left ? 0 : carried_end(p);
}

/* ---- the stream of messages ---- */

static const struct message_kind {
	size_t size; /* that is read before handle() */
	bool more; /* bytes may follow */
	int (*handle)(struct relay_peer *p);
} kinds[RELAY_TYPES] = {
	[RELAY_HELLO] = {sizeof(struct relay_hello), false, hello},
	[RELAY_CHUNK] = {sizeof(u32), false, chunk},
	[RELAY_OPEN] = {64, false, open_source},
	[RELAY_DATA] = {sizeof(struct relay_data), true, data_begin},
	[RELAY_END] = {0, false, end_source},
	[RELAY_CARRIED] = {0, true, carried_begin},
};

static int head_check(struct relay_peer *p)
{
	const struct message_kind *kind;

	p->head = p->in.head;
	if (p->head.type >= RELAY_TYPES || !kinds[p->head.type].handle ||
	    (p->head.type == RELAY_HELLO) == p->greeted)
		return refuse(
			p, EPROTO,
			p->greeted
				? "a message that is none"
				: "this is a relay of pantrace; the other end is not a recorder");
	kind = &kinds[p->head.type];
	if (p->head.size < kind->size || (!kind->more && p->head.size != kind->size) ||
	    p->head.size > 2ull << 30)
		return refuse(p, EPROTO, "a message of a wrong size");
	p->state = READING_BODY;
	p->have = 0;
	return 0;
}

static int body(struct relay_peer *p)
{
	int rc;

	p->state = READING_HEAD;
	p->have = 0;
	rc = kinds[p->head.type].handle(p);
	if (!rc && p->state == WRITING && !p->left)
		rc = data_end(p);
	return rc;
}

int relay_peer_feed(struct relay_peer *p, const void *data, size_t n)
{
	const char *at = data;

	while (!p->done) {
		const size_t want = p->state == READING_HEAD   ? sizeof(p->head)
				    : p->state == READING_BODY ? kinds[p->head.type].size
							       : 0;
		size_t take;

		if (p->state == WRITING || p->state == COLLECTING) {
			if (!n)
				break;
			take = MIN(n, p->left);
			some(p, at, take);
		} else {
			if (!n && p->have < want)
				break;
			take = MIN(n, want - p->have);
			memcpy((char *)&p->in + p->have, at, take);
			p->have += take;
			if (p->have == want) {
				if (p->state == READING_HEAD)
					head_check(p);
				else
					body(p);
			}
		}
		at += take;
		n -= take;
	}
	acknowledge(p);
	if (p->out.len > OUT_MAX)
		p->done = true;
	return p->done;
}

struct relay_peer *relay_peer_new(struct relay *relay)
{
	struct relay_peer *p = xzalloc(sizeof(*p));

	p->relay = relay;
	p->root = p->chunk = -1;
	p->out = p->carried = (struct strbuf)STRBUF_INIT;
	agent_receiver_init(&p->receiver, -1);
	vector_push(&relay->peers, p);
	return p;
}

struct strbuf *relay_peer_out(struct relay_peer *p)
{
	return &p->out;
}

bool relay_peer_greeted(const struct relay_peer *p)
{
	return p->greeted;
}

bool relay_peer_amid(const struct relay_peer *p)
{
	return p->state != READING_HEAD || p->have;
}

const char *relay_peer_name(const struct relay_peer *p)
{
	return p->host;
}

const char *relay_peer_complaint(const struct relay_peer *p)
{
	return p->complaint;
}

void relay_peer_free(struct relay_peer *p)
{
	for (size_t i = 0; i < p->relay->peers.len; i++) {
		if (p->relay->peers.items[i] != p)
			continue;
		p->relay->peers.items[i] = p->relay->peers.items[--p->relay->peers.len];
		break;
	}
	while (p->sources.len)
		source_free(p->sources.items[--p->sources.len]);
	vector_free(&p->sources);
	if (p->chunk >= 0)
		close(p->chunk);
	if (p->root >= 0)
		close(p->root);
	strbuf_release(&p->out);
	strbuf_release(&p->carried);
	agent_receiver_release(&p->receiver);
	free(p);
}
