/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CTF 1.8 trace: a directory with a file of packets for each CPU, and the metadata, which is
 * written at the end. ctf_shapes.h makes event classes of the events.
 */
#include <sys/random.h>

#include "base/file.h"
#include "base/new_directory.h"
#include "lib/ctf.h"
#include "trace/writers/ctf_shapes.h"
#include "trace/writers/lttng_names.h"
#include "trace/writers/writer.h"

#define PACKET_SIZE (256u << 10) /* bytes; a packet ends with the event that exceeds it */

/* A file, of one CPU or of events without one. */
struct stream {
	s64 cpu; /* -1 = none */
	int fd;
	struct strbuf packet; /* the events of the current one */
	u64 begin, end; /* time of its first and last event */
	u64 packets, discarded; /* so far */
};

struct ctf_writer {
	struct trace_writer writer;
	struct ctf_shapes shapes;
	struct hashmap streams; /* by CPU */
	struct hashmap begun; /* recordings whose state was dumped */
	u8 uuid[16];
	s64 origin_s; /* times count from here */
	bool has_origin, is_unplaced;
	char *host;
	struct recorded_kind *kind; /* of the current event, if it is renamed; else NULL */
};

static struct ctf_writer *ctf_of(struct trace_writer *w)
{
	return container_of(w, struct ctf_writer, writer);
}

static void add_field(void *arg, const char *name, size_t size, const struct field_value *value)
{
	struct ctf_writer *const c = arg;
	struct field_value v = *value;

	if (c->writer.options.lttng_names && c->kind && !lttng_field(c->kind, &name, &size, &v))
		return;
	if (!ctf_shapes_field(&c->shapes, name, size, &v))
		writer_gap(&c->writer, 1,
			   "value that is no number, no text and no list of up to 65,535 numbers",
			   "values that are no number, no text and no list of up to 65,535 "
			   "numbers");
}

static void add_frames(struct ctf_writer *c, const struct recorded_stack *stack, bool is_kernel)
{
	struct field_value v = {.kind = FIELD_LIST, .bits = 64, .is_hex = true};
	const char *const name = is_kernel ? "callstack_kernel" : "callstack_user";
	u64 *const items = xreallocarray(NULL, stack->len, sizeof(*items));

	for (size_t i = 0; i < stack->len; i++)
		if (stack->items[i].is_kernel == is_kernel && !stack->items[i].is_inlined)
			items[v.count++] = stack->items[i].address;
	v.items = items;
	if (v.count)
		add_field(c, name, strlen(name), &v);
	free(items);
}

static void add_stack(struct ctf_writer *c, struct recording *r)
{
	struct recorded_stack stack = {0};

	if (r->reader->stack && r->reader->stack(r, &stack) && stack.len) {
		add_frames(c, &stack, true);
		add_frames(c, &stack, false);
		writer_gap(&c->writer, 1, "call chain's symbols: it has the addresses",
			   "call chains' symbols: they have the addresses");
	}
	vector_free(&stack);
}

/* ---- packets ---- */

static int write_file(struct ctf_writer *c, int fd, const void *data, size_t size)
{
	if (!c->writer.error && size)
		c->writer.error = write_all(fd, data, size);
	return c->writer.error;
}

static void flush_packet(struct ctf_writer *c, struct stream *s)
{
	struct pantrace_ctf_header head = {
		.magic = PANTRACE_CTF_MAGIC,
		.timestamp_begin = s->begin,
		.timestamp_end = s->end,
		.packet_seq_num = s->packets,
		.events_discarded = s->discarded,
		.cpu_id = (u32)s->cpu,
	};
	u64 bits;

	if (!s->packet.len)
		return;
	head.content_size = (sizeof(head) + s->packet.len) * 8;
	while (s->packet.len % 8)
		strbuf_addch(&s->packet, 0);
	bits = (sizeof(head) + s->packet.len) * 8;
	head.packet_size = bits;
	memcpy(head.uuid, c->uuid, sizeof(head.uuid));
	write_file(c, s->fd, &head, sizeof(head));
	write_file(c, s->fd, s->packet.data, s->packet.len);
	s->packets++;
	strbuf_reset(&s->packet);
}

static int open_file(struct ctf_writer *c, const char *name)
{
	const int fd = new_directory_file(c->writer.options.directory, name);

	if (fd < 0 && !c->writer.error)
		c->writer.error = fd;
	return fd;
}

static struct stream *stream_of(struct ctf_writer *c, s64 cpu)
{
	void **at = hashmap_put(&c->streams, &cpu, sizeof(cpu), NULL);
	struct stream *s = *at;
	char *name;

	if (s)
		return s;
	*at = s = xzalloc(sizeof(*s));
	s->cpu = cpu;
	s->packet = (struct strbuf)STRBUF_INIT;
	name = cpu < 0 ? xstrdup("channel_none") : xasprintf("channel_%" PRId64, cpu);
	s->fd = open_file(c, name);
	free(name);
	return s;
}

/* An event's context: see put_stream(). */
static void add_context(struct strbuf *to, const struct recorded_place *p)
{
	const s32 ids[] = {(s32)p->pid, (s32)p->tid};

	strbuf_add(to, ids, sizeof(ids));
	if (p->comm)
		strbuf_add(to, p->comm, strnlen(p->comm, p->comm_size));
	strbuf_addch(to, 0);
}

/* Writes the current event. */
static void put_event(struct ctf_writer *c, s64 ns, const struct recorded_place *place)
{
	struct stream *const s = stream_of(c, place->cpu);
	const u64 time = (u64)(ns - c->origin_s * 1000000000);
	const u32 id = ctf_shapes_id(&c->shapes);

	if (!id || (s->packet.len && time < s->end) || ns < c->origin_s * 1000000000) {
		if (id)
			writer_gap(&c->writer, 1, "event that is older than those before it",
				   "events that are older than those before them");
		else
			writer_gap(&c->writer, 1,
				   "event whose fields no other has: there are 65,536 "
				   "kinds",
				   "events whose fields no other has: there are 65,536 kinds");
		return;
	}
	while (s->packet.len % 8)
		strbuf_addch(&s->packet, 0);
	if (!s->packet.len)
		s->begin = time;
	s->end = time;
	strbuf_add(&s->packet, &time, sizeof(time));
	strbuf_add(&s->packet, &id, sizeof(id));
	add_context(&s->packet, place);
	strbuf_add(&s->packet, c->shapes.payload.data, c->shapes.payload.len);
	if (s->packet.len >= PACKET_SIZE)
		flush_packet(c, s);
}

static void begin_event(struct ctf_writer *c, struct recorded_kind *kind)
{
	c->kind = kind;
	ctf_shapes_begin(&c->shapes);
}

/* ---- LTTng's state dump: the threads before the first event ---- */

struct dump {
	struct ctf_writer *writer;
	s64 ns;
	struct recorded_place place; /* nobody's */
};

static void dump_event(struct dump *d, const char *name)
{
	begin_event(d->writer, NULL);
	strbuf_addstr(&d->writer->shapes.signature, name);
}

static void dump_number(struct dump *d, const char *name, s64 value)
{
	const struct field_value v = {
		.kind = FIELD_INTEGER, .is_signed = true, .bits = 32, .integer = (u64)value};

	add_field(d->writer, name, strlen(name), &v);
}

/*
 * The state is "unnamed", LTTng's word for unknown. kthreadd is PID 2, and the parent of all kernel
 * threads.
 */
static void dump_task(void *arg, const struct recorded_task *t)
{
	enum { MODE_UNKNOWN = 5, SUBMODE_UNKNOWN = 1, STATUS_UNNAMED = 0 };
	struct dump *const d = arg;
	const struct field_value name = {
		.kind = FIELD_TEXT, .text = t->comm ?: "", .size = t->comm ? t->comm_size : 0};

	if (t->pid < 0 || t->tid < 0) {
		writer_gap(&d->writer->writer, 1,
			   "thread in the state dump, whose process is not recorded",
			   "threads in the state dump, whose processes are not recorded");
		return;
	}
	dump_event(d, "lttng_statedump_process_state");
	dump_number(d, "tid", t->tid);
	dump_number(d, "pid", t->pid);
	dump_number(d, "ppid", t->ppid);
	add_field(d->writer, "name", 4, &name);
	if (t->ppid >= 0)
		dump_number(d, "type", t->pid == 2 || t->ppid == 2);
	dump_number(d, "mode", MODE_UNKNOWN);
	dump_number(d, "submode", SUBMODE_UNKNOWN);
	dump_number(d, "status", STATUS_UNNAMED);
	put_event(d->writer, d->ns, &d->place);
}

static void dump_state(struct ctf_writer *c, struct recording *r, s64 cpu)
{
	struct dump d = {c, r->ns, {.cpu = cpu, .pid = -1, .tid = -1}};
	bool is_new;

	hashmap_put(&c->begun, &r, sizeof(r), &is_new);
	if (!is_new)
		return;
	if (!r->reader->tasks) {
		writer_gap(&c->writer, 1, "state dump: the recording has no list of threads",
			   "state dumps: the recordings have no lists of threads");
		return;
	}
	dump_event(&d, "lttng_statedump_start");
	put_event(c, d.ns, &d.place);
	r->reader->tasks(r, dump_task, &d);
	dump_event(&d, "lttng_statedump_end");
	put_event(c, d.ns, &d.place);
}

/* ---- the trace ---- */

static void ctf_begin(struct trace_writer *w)
{
	struct ctf_writer *const c = ctf_of(w);

	ctf_shapes_init(&c->shapes);
	if (getrandom(c->uuid, sizeof(c->uuid), 0) != sizeof(c->uuid))
		w->error = -EIO;
}

static void first_event(struct ctf_writer *c, const struct recording *r,
			const struct recorded_place *place)
{
	c->origin_s = r->ns / 1000000000 - (r->ns % 1000000000 < 0);
	c->is_unplaced = r->is_unplaced;
	c->host = place->host ? xstrdup(place->host) : NULL;
	c->has_origin = true;
}

static void count_lost(struct ctf_writer *c, const struct recording *r, s64 cpu)
{
	struct stream *const s = stream_of(c, cpu);

	if (r->lost == RECORDED_LOST_SOME) {
		writer_gap(&c->writer, 1, "place where events were lost, and nobody counted them",
			   "places where events were lost, and nobody counted them");
	} else if (r->lost) {
		flush_packet(c, s);
		s->discarded += r->lost;
	}
}

static void ctf_event(struct trace_writer *w, struct recording *r)
{
	struct ctf_writer *const c = ctf_of(w);
	const struct recorded_place place = recording_place(r);
	const bool renames = w->options.lttng_names && r->reader->is_kernel;

	if (!c->has_origin)
		first_event(c, r, &place);
	if (place.host && c->host && !str_eq(place.host, c->host))
		writer_gap(w, 1, "event's host: it is not that of the first",
			   "events' hosts: they are not that of the first");
	count_lost(c, r, place.cpu);
	if (renames)
		dump_state(c, r, place.cpu);
	begin_event(c, renames ? r->kind : NULL);
	if (renames)
		lttng_event_name(r, &c->shapes.signature);
	else
		strbuf_addstr(&c->shapes.signature, r->kind->name);
	r->reader->values(r, add_field, c);
	add_stack(c, r);
	put_event(c, r->ns, &place);
}

/* ---- metadata ---- */

static void put_env(FILE *file, const struct ctf_writer *c)
{
	if (c->writer.options.lttng_names) /* Trace Compass recognises LTTng by these */
		fputs("\tdomain = \"kernel\";\n\tsysname = \"Linux\";\n"
		      "\ttracer_name = \"lttng-modules\";\n\ttracer_major = 2;\n"
		      "\ttracer_minor = 13;\n\tconverted_by = \"pantrace\";\n",
		      file);
	else
		fputs("\ttracer_name = \"pantrace convert\";\n", file);
	if (!c->host)
		return;
	fputs("\thostname = ", file);
	pt_ctf_put_quoted(file, c->host, strlen(c->host));
	fputs(";\n", file);
}

static char *env_text(const struct ctf_writer *c)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	put_env(file, c);
	fclose(file);
	return text;
}

static void put_metadata(FILE *file, const struct ctf_writer *c)
{
	const struct pt_ctf_clock clock = {
		.name = c->is_unplaced ? "recorded" : "realtime",
		.description = c->is_unplaced ? "as recorded: its origin is unknown" : "since 1970",
		.hz = 1000000000,
		.offset_s = c->origin_s,
		.absolute = !c->is_unplaced};
	char *const env = env_text(c);

	pt_ctf_put_head(file, c->uuid, env, &clock);
	free(env);
	pt_ctf_put_stream(file, 0,
			  "\t\tint32_t _pid;\n\t\tint32_t _tid;\n"
			  "\t\tstring { encoding = UTF8; } _procname;\n");
	ctf_shapes_put(file, &c->shapes);
}

static void ctf_end(struct trace_writer *w)
{
	struct ctf_writer *const c = ctf_of(w);
	const int fd = open_file(c, "metadata");
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	hashmap_each (&c->streams, e)
		flush_packet(c, e->value);
	put_metadata(file, c);
	fclose(file);
	write_file(c, fd, text, size);
	free(text);
}

static void ctf_release(struct trace_writer *w)
{
	struct ctf_writer *const c = ctf_of(w);

	hashmap_each (&c->streams, e) {
		struct stream *const s = e->value;

		strbuf_release(&s->packet);
		free(s);
	}
	ctf_shapes_release(&c->shapes);
	hashmap_release(&c->streams);
	hashmap_release(&c->begun);
	free(c->host);
}

const struct trace_format ctf_format = {
	.name = "ctf",
	.suffixes = {".ctf"},
	.is_directory = true,
	.has_times = true,
	.size = sizeof(struct ctf_writer),
	.begin = ctf_begin,
	.event = ctf_event,
	.end = ctf_end,
	.release = ctf_release,
};
