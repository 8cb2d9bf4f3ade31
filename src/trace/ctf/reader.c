/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CTF traces, all of them, as one recording. */
#include <fcntl.h>
#include <unistd.h>

#include "base/foreign.h"
#include "trace/ctf/field.h"
#include "trace/ctf/symbols.h"
#include "trace/ctf/value.h"
#include "trace/recording.h"

#define METADATA_MOST (4u << 20) /* bytes of one that are read for names */
#define FILES_MOST    64 /* metadata that are read */
#define ENTRIES_MOST  4096 /* of directories that are looked at */
#define DEPTH_MOST    6 /* LTTng: ust/uid/1000/64-bit, below a host */

struct ctf_recording {
	struct recording recording;
	struct ctf_set *set;
	struct ctf_symbols *symbols;
	bool has_event;
	struct ctf_event event;
	struct ctf_cursor end; /* of the event, once it was printed */
	bool was_printed;
};

static struct ctf_recording *ctf_of(const struct recording *r)
{
	return container_of(r, struct ctf_recording, recording);
}

/* ---- events ---- */

/* Word of loaded objects is for symbols. */
static struct recorded_kind *kind_of(struct recordings *all, const struct ctf_event *event)
{
	struct ctf_event_class *const class = event->class;

	if (!class->kind) {
		class->kind = recorded_kind_new(all, class->name, NULL);
		class->kind->is_inner = event->stream->trace->is_ours && class->stream_id == 1;
	}
	return class->kind;
}

static bool ctf_next(struct recording *r, struct diag *d)
{
	struct ctf_recording *const c = ctf_of(r);

	if (c->has_event && c->was_printed)
		ctf_set_done(c->set, &c->event, &c->end, d);
	else if (c->has_event)
		ctf_set_skip(c->set, &c->event, d);
	c->was_printed = false;
	c->has_event = ctf_set_next(c->set, &c->event, d) > 0;
	if (!c->has_event)
		return false;
	r->ns = c->event.ns;
	recording_lost(r, c->event.lost);
	r->kind = kind_of(r->all, &c->event);
	return true;
}

/* The script's variables are what contexts of events are called so. */
static struct field_value ctf_value(struct recording *r, const char *name, bool only_field)
{
	static const char *const contexts[][2] = {
		{"comm", "procname"}, {"pid", "vpid"}, {"tid", "vtid"}, {"cpu", "cpu_id"}};
	const struct ctf_event *const event = &ctf_of(r)->event;
	struct field_value v = ctf_event_field(event, name);

	for (size_t i = 0; !v.kind && !only_field && i < ARRAY_SIZE(contexts); i++)
		if (str_eq(name, contexts[i][0]))
			v = ctf_event_field(event, contexts[i][1]);
	return v;
}

static s64 context(const struct ctf_event *event, const char *name)
{
	const struct field_value v = ctf_event_context(event, name);

	return v.kind == FIELD_INTEGER ? (s64)v.integer : -1;
}

static void ctf_place(struct recording *r, struct recorded_place *ret)
{
	const struct ctf_event *const event = &ctf_of(r)->event;
	const struct ctf_metadata *const m = event->stream->trace->metadata;
	const struct ctf_env *const pid = ctf_metadata_env(m, "vpid"), *const program =
									       ctf_metadata_env(
										       m,
										       "procname");
	const struct field_value comm = ctf_event_context(event, "procname");

	ret->host = event->stream->trace->hostname;
	ret->cpu = event->stream->cpu != UINT64_MAX ? (s64)event->stream->cpu
						    : context(event, "cpu_id");
	if (ret->cpu == UINT32_MAX) /* what is of no CPU, as we write it */
		ret->cpu = -1;
	ret->pid = pid && !pid->text ? pid->number : context(event, "vpid");
	if (ret->pid < 0)
		ret->pid = context(event, "pid");
	ret->tid = context(event, "vtid");
	if (ret->tid < 0)
		ret->tid = context(event, "tid");
	if (comm.kind == FIELD_TEXT) {
		ret->comm = comm.text;
		ret->comm_size = comm.size;
	} else if (program && program->text) {
		ret->comm = program->text;
		ret->comm_size = strlen(program->text);
	}
}

static void ctf_fields(struct recording *r, struct json *j)
{
	const struct ctf_event *const event = &ctf_of(r)->event;
	const struct ctf_value_style style = {&recordings_options(r->all)->print,
					      event->stream->trace, event->ns};
	struct ctf_cursor c = ctf_event_payload(event);
	const size_t begin = j->out->len;

	if (event->class->fields)
		ctf_put_json(j, &c, event->class->fields, CTF_NO_SLOT, &style);
	if (event->class->fields && !c.failed)
		return;
	j->out->len = begin; /* cut short: next() tells it */
	strbuf_addstr(j->out, "{}");
	j->has_value = true;
}

static void ctf_values(struct recording *r, field_value_fn *fn, void *arg)
{
	ctf_event_values(&ctf_of(r)->event, fn, arg);
}

static void address(void *arg, struct ctf_trace *trace, s64 ns, u64 value, struct strbuf *out)
{
	ctf_symbols_put(arg, trace, ns, value, out);
}

static int ctf_print_event(struct recording *r, struct ctf_printer *printer)
{
	struct ctf_recording *const c = ctf_of(r);

	c->end = ctf_event_cursor(&c->event);
	c->was_printed = true;
	c->event.shift_ns = r->ns - c->event.ns;
	return ctf_print(printer, &c->event, &c->end);
}

static void ctf_loss(struct recording *r, struct diag *d, struct recording_loss *ret)
{
	const struct ctf_loss loss = ctf_set_loss(ctf_of(r)->set);

	ret->events += loss.events;
	ret->packets += loss.packets;
	ret->damaged += loss.damaged;
}

static bool has_clock(const struct ctf_trace *t, const char *name)
{
	return t->has_clock && ctf_metadata_clock(t->metadata, name);
}

/* The processor's clock is ours, the kernel's monotonic one LTTng's. */
static bool ctf_clock(const struct recording *r, const char *host, const char *name,
		      struct recorded_clock *ret)
{
	const struct ctf_set *const set = ctf_of(r)->set;
	const bool is_tsc = str_eq(name, "x86-tsc");
	const char *found = NULL; /* its host */

	if (!is_tsc && !str_eq(name, "mono"))
		return false;
	for (u32 i = 0; i < ctf_set_traces(set); i++) {
		const struct ctf_trace *t = ctf_set_trace(set, i);

		if (!t->hostname || (host && !str_eq(host, t->hostname)) ||
		    !(is_tsc ? t->is_ours && has_clock(t, "tsc") : has_clock(t, "monotonic")))
			continue;
		if (found && !str_eq(found, t->hostname))
			return false;
		if (!found)
			*ret = (struct recorded_clock){t->origin_ns, t->frequency};
		found = t->hostname;
	}
	return found;
}

/* ---- names ---- */

static int names_of(const struct ctf_metadata *m, recorded_name_fn *fn, void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < m->all_events.len && !rc; i++)
		rc = fn(arg, m->all_events.items[i]->name, NULL);
	return rc;
}

static int ctf_each_event(struct recording *r, recorded_name_fn *fn, void *arg)
{
	const struct ctf_set *const set = ctf_of(r)->set;
	int rc = 0;

	for (u32 i = 0; i < ctf_set_traces(set) && !rc; i++)
		rc = names_of(ctf_set_trace(set, i)->metadata, fn, arg);
	return rc;
}

static int fields_of(const struct ctf_type *t, recorded_name_fn *fn, void *arg)
{
	int rc = 0;

	for (u32 i = 0; t && i < t->count && !rc; i++)
		rc = fn(arg, t->fields[i].shown, NULL);
	return rc;
}

/* What is after dots is not looked at. */
static int ctf_each_field(struct recording *r, recorded_name_fn *fn, void *arg)
{
	const struct ctf_set *const set = ctf_of(r)->set;
	int rc = 0;

	for (u32 n = 0; n < ctf_set_traces(set); n++) {
		const struct ctf_metadata *const m = ctf_set_trace(set, n)->metadata;

		for (size_t i = 0; i < m->streams.len && !rc; i++)
			rc = fields_of(m->streams.items[i]->packet_context, fn, arg)
				     ?: fields_of(m->streams.items[i]->event_context, fn, arg);
		for (size_t i = 0; i < m->all_events.len && !rc; i++)
			rc = fields_of(m->all_events.items[i]->context, fn, arg)
				     ?: fields_of(m->all_events.items[i]->fields, fn, arg);
	}
	return rc;
}

struct names {
	recorded_name_fn *fn;
	void *arg;
	u32 files, entries, depth;
};

static void each_of_metadata(struct names *n, int directory)
{
	struct diag quiet = DIAG_INIT;
	struct ctf_metadata *m = NULL;
	char *text;
	size_t size;

	if (n->files >= FILES_MOST ||
	    foreign_read(directory, "metadata", METADATA_MOST, &text, &size, NULL))
		return;
	n->files++;
	m = ctf_metadata_parse("metadata", text, size, &quiet);
	if (m)
		names_of(m, n->fn, n->arg);
	ctf_metadata_release(m);
	free(text);
	diag_release(&quiet);
}

static void each_below(struct names *n, int directory);

static int each_entry(void *arg, int directory, const char *name)
{
	struct names *n = arg;
	const int below = ++n->entries >= ENTRIES_MOST || *name == '.' || n->depth >= DEPTH_MOST
				  ? -1
				  : foreign_directory(directory, name, NULL);

	if (below >= 0) {
		n->depth++;
		each_below(n, below);
		n->depth--;
		close(below);
	}
	return n->files >= FILES_MOST || n->entries >= ENTRIES_MOST;
}

static void each_below(struct names *n, int directory)
{
	each_of_metadata(n, directory);
	foreign_each(directory, ENTRIES_MOST, each_entry, n);
}

/* Reads only so much that nobody waits for it: the shells ask while a word is written. */
static void ctf_names(const char *path, recorded_name_fn *fn, void *arg)
{
	struct names n = {.fn = fn, .arg = arg};
	const int directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (directory >= 0) {
		each_below(&n, directory);
		close(directory);
	}
}

/* ---- traces ---- */

static int ctf_add(struct recording *r, const char *path, struct diag *d)
{
	return ctf_set_add(ctf_of(r)->set, path, d);
}

static void ctf_rename_host(struct recording *r, const char *name)
{
	const struct ctf_set *const set = ctf_of(r)->set;

	for (u32 i = 0; i < ctf_set_traces(set); i++)
		ctf_set_trace(set, i)->hostname = name;
}

static void ctf_refresh(struct recording *r, struct diag *d)
{
	ctf_set_refresh(ctf_of(r)->set, d);
}

static void ctf_close(struct recording *r)
{
	struct ctf_recording *const c = ctf_of(r);

	ctf_symbols_release(c->symbols);
	ctf_set_release(c->set);
	free(c);
}

static int ctf_open(struct recordings *all, const char *path, struct diag *d,
		    struct recording **ret)
{
	struct recordings_options *const o = recordings_options(all);
	struct ctf_recording *c = xzalloc(sizeof(*c));
	int rc;

	c->set = ctf_set_new(&(struct ctf_options){.live = o->live, .hold_ns = o->hold_ns});
	if (!o->no_symbols) {
		c->symbols = ctf_symbols_new(o->files.items, o->files.count);
		o->print.address = address;
		o->print.arg = c->symbols;
	}
	rc = ctf_set_add(c->set, path, d);
	*ret = rc ? NULL : &c->recording;
	if (rc)
		ctf_close(&c->recording);
	return rc;
}

const struct recording_reader ctf_reader = {
	.name = "CTF trace",
	.open = ctf_open,
	.next = ctf_next,
	.value = ctf_value,
	.place = ctf_place,
	.fields = ctf_fields,
	.values = ctf_values,
	.print = ctf_print_event,
	.loss = ctf_loss,
	.each_event = ctf_each_event,
	.each_field = ctf_each_field,
	.names = ctf_names,
	.close = ctf_close,
	.clock = ctf_clock,
	.add = ctf_add,
	.refresh = ctf_refresh,
	.rename_host = ctf_rename_host,
};
