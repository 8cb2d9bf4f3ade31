/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads Xen's events, as recorded by xentrace. The task of an event is the virtual CPU that the
 * physical one runs: comm is "d1v0", pid the domain, tid a number made of both (xen_tid()).
 *
 * Times are the host's TSC. The file has neither its frequency nor its origin. Both come from a
 * recording of ours in dom0 (CTF, clock x86-tsc) if --kernel-clock says that its TSC is the host's;
 * or the frequency alone from --tsc-mhz. Otherwise times are cycles.
 */
#include "base/hashmap.h"
#include "trace/ftrace/number_text.h"
#include "trace/recording.h"
#include "trace/xen/events.h"

#define NAME_MOST   32
#define KNOWN_KINDS 256

struct xen_recording {
	struct recording recording;
	struct xen_file *file;
	struct xen_events *events;
	struct hashmap kinds; /* name of an event, by its address -> struct recorded_kind */
	struct known_kind {
		const struct xen_event *event; /* NULL = not known yet */
		struct recorded_kind *kind;
		u32 id, nr_words;
	} known[KNOWN_KINDS]; /* those met last, by id */
	struct recorded_clock clock; /* frequency 0 = not known */
	struct xen_record record; /* the one it stands at */
	const struct xen_event *event;
	char comm[NAME_MOST]; /* of the virtual CPU below; see who() */
	u32 comm_domain, comm_vcpu;
	enum xen_isa isa;
	bool isa_is_asked;
	struct xen_value values[XEN_VALUES_MAX];
	u32 nr_values;
	bool has_values; /* of this record */
	u64 lost;
	struct strbuf line;
};

static struct xen_recording *xen_of(const struct recording *r)
{
	return container_of(r, struct xen_recording, recording);
}

/* ---- events ---- */

static struct recorded_kind *kind_of(struct xen_recording *x)
{
	const char *const name = xen_event_name(x->event);
	void **const at = hashmap_put(&x->kinds, &name, sizeof(name), NULL);

	if (!*at)
		*at = recorded_kind_new(x->recording.all, name, strchr(name, ':') + 1);
	return *at;
}

static s64 time_of(const struct xen_recording *x)
{
	const u64 tsc = x->record.tsc;

	if (!x->clock.frequency)
		return (s64)tsc;
	return (s64)((u64)x->clock.origin_ns +
		     (u64)((unsigned __int128)tsc * 1000000000u / x->clock.frequency));
}

/* The record's layout, and its kind. */
static void recognise(struct xen_recording *x)
{
	const u32 id = x->record.event;
	struct known_kind *const known = &x->known[(id ^ id >> 8) % KNOWN_KINDS];
	const bool is_it = known->event && known->id == id && known->nr_words == x->record.nr_words;

	x->event = is_it ? known->event : xen_events_get(x->events, &x->record);
	x->recording.kind = is_it ? known->kind : kind_of(x);
	*known = (struct known_kind){x->event, x->recording.kind, id, x->record.nr_words};
}

/* The name of what the CPU runs; "" = unknown. */
static const char *who(struct xen_recording *x)
{
	const struct xen_record *const r = &x->record;

	if (!r->has_vcpu)
		return "";
	if (*x->comm && x->comm_domain == r->domain && x->comm_vcpu == r->vcpu)
		return x->comm;
	xen_name(r->domain, r->vcpu, x->comm, sizeof(x->comm));
	x->comm_domain = r->domain;
	x->comm_vcpu = r->vcpu;
	return x->comm;
}

static bool xen_next(struct recording *r, struct diag *d)
{
	struct xen_recording *const x = xen_of(r);

	if (!xen_file_next(x->file, &x->record))
		return false;
	recognise(x);
	x->has_values = false;
	x->lost += x->record.lost;
	recording_lost(r, x->record.lost);
	r->ns = time_of(x);
	r->origin_ns = x->clock.origin_ns;
	return true;
}

/* ---- values ---- */

static int look_for_isa(void *arg, const struct xen_record *r)
{
	enum xen_isa *const isa = arg;

	*isa = xen_record_proves(r);
	return *isa != XEN_ISA_UNKNOWN;
}

/* Looks through the whole file: the record that proves it may be a later one. */
static void find_isa(struct xen_recording *x)
{
	if (x->isa_is_asked)
		return;
	x->isa_is_asked = true;
	xen_file_each(x->file, look_for_isa, &x->isa);
}

static void read_values(struct xen_recording *x)
{
	if (x->has_values)
		return;
	if (str_ends(x->recording.kind->name, "vmexit"))
		find_isa(x);
	x->nr_values = xen_event_values(x->event, &x->record, x->isa, x->values);
	x->has_values = true;
}

static struct field_value field_value(const struct xen_value *v)
{
	return (struct field_value){
		.kind = FIELD_INTEGER,
		.is_signed = v->is_signed,
		.integer = v->number,
		.text = v->label,
		.size = v->label ? strlen(v->label) : 0,
		.bits = v->bits,
		.is_hex = v->is_hex,
	};
}

static struct field_value number(u64 v, bool is_there)
{
	return (struct field_value){.kind = is_there ? FIELD_INTEGER : FIELD_NONE, .integer = v};
}

static s64 tid_of(const struct xen_record *r)
{
	return xen_tid(r->domain, r->vcpu);
}

static struct field_value xen_value(struct recording *r, const char *name, bool only_field)
{
	struct xen_recording *const x = xen_of(r);
	const struct xen_record *const e = &x->record;

	read_values(x);
	for (u32 i = 0; i < x->nr_values; i++)
		if (str_eq(x->values[i].name, name))
			return field_value(&x->values[i]);
	if (only_field)
		return (struct field_value){0};
	if (str_eq(name, "comm") && e->has_vcpu)
		return (struct field_value){
			.kind = FIELD_TEXT, .text = who(x), .size = strlen(who(x))};
	return str_eq(name, "cpu")   ? number(e->cpu, true)
	       : str_eq(name, "pid") ? number(e->domain, e->has_vcpu)
	       : str_eq(name, "tid") ? number((u64)tid_of(e), e->has_vcpu)
				     : (struct field_value){0};
}

static void xen_place(struct recording *r, struct recorded_place *ret)
{
	struct xen_recording *const x = xen_of(r);
	const struct xen_record *const e = &x->record;

	ret->cpu = e->cpu;
	if (!e->has_vcpu)
		return;
	ret->pid = e->domain;
	ret->tid = tid_of(e);
	ret->comm = who(x);
	ret->comm_size = strlen(ret->comm);
}

static void xen_fields(struct recording *r, struct json *j)
{
	struct xen_recording *const x = xen_of(r);

	read_values(x);
	json_object(j);
	for (u32 i = 0; i < x->nr_values; i++) {
		const struct xen_value *const v = &x->values[i];

		if (v->label)
			json_member_text(j, v->name, v->label);
		else if (v->is_signed)
			json_member_s64(j, v->name, (s64)v->number);
		else
			json_member_u64(j, v->name, v->number);
	}
	json_end(j, '}');
}

static void xen_values(struct recording *r, field_value_fn *fn, void *arg)
{
	struct xen_recording *const x = xen_of(r);

	read_values(x);
	for (u32 i = 0; i < x->nr_values; i++) {
		const struct field_value v = field_value(&x->values[i]);

		fn(arg, x->values[i].name, strlen(x->values[i].name), &v);
	}
}

/* ---- lines ---- */

static void add_text(struct xen_recording *x, const char *before, struct strbuf *out)
{
	read_values(x);
	for (u32 i = 0; i < x->nr_values; i++) {
		const struct xen_value *const v = &x->values[i];

		strbuf_addstr(out, i ? " " : before);
		strbuf_addstr(out, v->name);
		strbuf_addch(out, '=');
		if (v->label) {
			strbuf_addstr(out, v->label);
		} else if (v->is_hex) {
			strbuf_addstr(out, "0x");
			text_hex(out, v->number);
		} else if (v->is_signed) {
			text_signed(out, (s64)v->number);
		} else {
			text_unsigned(out, v->number);
		}
	}
}

/* Like the kernel's lines: task, CPU, time, event. */
static int print_alone(struct xen_recording *x, struct ctf_printer *printer)
{
	struct strbuf *const out = ctf_print_out(printer);
	const char *const name = who(x);
	const u64 ns = (u64)x->recording.ns;

	strbuf_addf(out, "%12s [%03u] ", *name ? name : "?", x->record.cpu);
	if (x->clock.frequency)
		strbuf_addf(out, "%5" PRIu64 ".%09u", ns / 1000000000, (u32)(ns % 1000000000));
	else
		text_unsigned(out, x->record.tsc);
	strbuf_addstr(out, ": ");
	strbuf_addstr(out, x->recording.kind->name);
	strbuf_addch(out, ':');
	add_text(x, " ", out);
	strbuf_addch(out, '\n');
	return ctf_print_added(printer);
}

static void add_fields(void *arg, struct json *j)
{
	struct xen_recording *const x = arg;

	json_key(j, "fields");
	xen_fields(&x->recording, j);
}

static int xen_print(struct recording *r, struct ctf_printer *printer)
{
	struct xen_recording *const x = xen_of(r);
	struct ctf_ready_event ready = {
		.ns = r->ns,
		.name = r->kind->name,
		.cpu = x->record.cpu,
		.pid = x->record.has_vcpu ? (s32)tid_of(&x->record) : -1,
		.task = x->record.has_vcpu ? who(x) : "?",
		.fields = add_fields,
		.arg = x,
	};

	if (recordings_options(r->all)->style)
		return print_alone(x, printer);
	strbuf_reset(&x->line);
	add_text(x, "", &x->line);
	ready.text = x->line.data;
	ready.size = x->line.len;
	return ctf_print_ready(printer, &ready);
}

/* ---- the file ---- */

static void xen_loss(struct recording *r, struct diag *d, struct recording_loss *ret)
{
	ret->events += xen_of(r)->lost;
	xen_file_damage(xen_of(r)->file, d);
}

struct receiver {
	recorded_name_fn *fn;
	void *arg;
};

static int tell_event(void *arg, const char *name)
{
	const struct receiver *const to = arg;

	return to->fn(to->arg, name, strchr(name, ':') + 1);
}

static int tell_field(void *arg, const char *name)
{
	const struct receiver *const to = arg;

	return to->fn(to->arg, name, NULL);
}

static int xen_each_event(struct recording *r, recorded_name_fn *fn, void *arg)
{
	struct receiver to = {fn, arg};

	return xen_events_each(xen_of(r)->events, tell_event, &to);
}

static int xen_each_field(struct recording *r, recorded_name_fn *fn, void *arg)
{
	struct receiver to = {fn, arg};

	return xen_fields_each(xen_of(r)->events, tell_field, &to);
}

static void xen_names(const char *path, recorded_name_fn *fn, void *arg)
{
	struct xen_events *const events = xen_events_new();
	struct receiver to = {fn, arg};

	xen_events_each(events, tell_event, &to);
	xen_events_release(events);
}

static void xen_close(struct recording *r)
{
	struct xen_recording *const x = xen_of(r);

	if (x->file)
		xen_file_close(x->file);
	xen_events_release(x->events);
	hashmap_release(&x->kinds);
	strbuf_release(&x->line);
	free(x);
}

/* Finds the frequency and origin of the TSC. */
static int locate(struct recordings *all, struct xen_recording *x, const char *path, struct diag *d)
{
	const struct recordings_options *const o = recordings_options(all);

	if (o->clock && !str_eq(o->clock, "x86-tsc")) {
		diag_error(d, NO_SPAN, "%s: the clock of xentrace is x86-tsc, not '%s'", path,
			   o->clock);
		return -EINVAL;
	}
	if (o->clock && recordings_clock(all, NULL, o->clock, &x->clock))
		return 0;
	x->clock.frequency = o->tsc_hz;
	x->recording.is_unplaced = true;
	x->recording.is_cycles = !o->tsc_hz;
	if (o->style || (o->recorded_times && o->tsc_hz))
		return 0;
	if (o->recorded_times) {
		recording_refuse_cycles(path, d);
		return -ENODATA;
	}
	diag_error(d, NO_SPAN,
		   "%s: its times are of the host's TSC, and nothing says when that was", path);
	diag_hint(d, "with --kernel-clock x86-tsc and a recording of programs in dom0 ("
		     "record -u), made since that host started, both are on one time line");
	return -ENODATA;
}

static int xen_open(struct recordings *all, const char *path, struct diag *d,
		    struct recording **ret)
{
	struct xen_recording *const x = xzalloc(sizeof(*x));
	int rc;

	x->line = (struct strbuf)STRBUF_INIT;
	x->events = xen_events_new();
	rc = locate(all, x, path, d);
	if (!rc)
		rc = xen_file_open(path, d, &x->file);
	if (rc) {
		xen_close(&x->recording);
		return rc;
	}
	*ret = &x->recording;
	return 0;
}

const struct recording_reader xen_reader = {
	.name = "trace of Xen",
	.comm_says_who = true,
	.recognise = xen_file_is,
	.open = xen_open,
	.next = xen_next,
	.value = xen_value,
	.place = xen_place,
	.fields = xen_fields,
	.values = xen_values,
	.print = xen_print,
	.loss = xen_loss,
	.each_event = xen_each_event,
	.each_field = xen_each_field,
	.names = xen_names,
	.close = xen_close,
};
