/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a profile of pprof as a recording. Each sample is an event without a time, of the kind that
 * the profile shows first ("cpu", "inuse_space"), with that value as its period. All its values
 * and labels are fields.
 */
#include "base/escape.h"
#include "trace/pprof/profile.h"
#include "trace/recording.h"

struct pprof_recording {
	struct recording recording;
	struct pprof_profile *profile;
	const struct pprof_type *types;
	size_t nr_types, type; /* the one that is the period */
	struct pprof_sample sample;
	struct recorded_stack stack; /* to be printed */
};

static struct pprof_recording *pprof_of(const struct recording *r)
{
	return container_of(r, struct pprof_recording, recording);
}

/* ---- events ---- */

static s64 period_of(const struct pprof_recording *p)
{
	return (s64)p->sample.values.items[p->type];
}

static bool pprof_recording_next(struct recording *r, struct diag *d)
{
	struct pprof_recording *const p = pprof_of(r);

	if (!pprof_next(p->profile, &p->sample, d))
		return false;
	if (period_of(p) >= 0)
		return true;
	diag_error(d, NO_SPAN, "%s: %s of a sample is %" PRId64 ": the profile is a difference",
		   r->path, p->types[p->type].name, period_of(p));
	diag_hint(d, "flame --compare takes the two profiles themselves");
	return false;
}

static const struct pprof_label *label_of(const struct pprof_recording *p, const char *key)
{
	for (size_t i = 0; i < p->sample.labels.len; i++)
		if (str_eq(p->sample.labels.items[i].key, key))
			return &p->sample.labels.items[i];
	return NULL;
}

/* As those who write profiles name it; else the program's file. */
static const char *comm_of(const struct pprof_recording *p)
{
	static const char *const keys[] = {"comm", "thread_comm", "thread"};
	const char *const program = pprof_program(p->profile);
	const char *const slash = program ? strrchr(program, '/') : NULL;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct pprof_label *const label = label_of(p, keys[i]);

		if (label && label->text)
			return label->text;
	}
	return slash && slash[1] ? slash + 1 : program;
}

static s64 number_label(const struct pprof_recording *p, const char *key)
{
	const struct pprof_label *const label = label_of(p, key);

	return label && !label->text && label->number >= 0 ? label->number : -1;
}

static void pprof_place(struct recording *r, struct recorded_place *ret)
{
	const struct pprof_recording *const p = pprof_of(r);

	ret->pid = number_label(p, "pid");
	ret->tid = number_label(p, "tid");
	ret->comm = comm_of(p);
	ret->comm_size = ret->comm ? strlen(ret->comm) : 0;
	ret->period = (u64)period_of(p);
	for (size_t i = 0; i < p->nr_types; i++)
		if (str_eq(p->types[i].name, "samples"))
			ret->samples = p->sample.values.items[i];
}

static bool pprof_stack(struct recording *r, struct recorded_stack *ret)
{
	const struct pprof_recording *const p = pprof_of(r);

	pprof_frames(p->profile, &p->sample, ret);
	return ret->len;
}

/* ---- fields ---- */

static struct field_value number(u64 v)
{
	return (struct field_value){
		.kind = FIELD_INTEGER, .is_signed = true, .integer = v, .bits = 64};
}

static struct field_value text(const char *s)
{
	return (struct field_value){
		.kind = s ? FIELD_TEXT : FIELD_NONE, .text = s, .size = s ? strlen(s) : 0};
}

static struct field_value label_value(const struct pprof_label *l)
{
	return l->text ? text(l->text) : number((u64)l->number);
}

static void pprof_values(struct recording *r, field_value_fn *fn, void *arg)
{
	const struct pprof_recording *const p = pprof_of(r);

	for (size_t i = 0; i < p->nr_types; i++) {
		const struct field_value v = number(p->sample.values.items[i]);

		fn(arg, p->types[i].name, strlen(p->types[i].name), &v);
	}
	for (size_t i = 0; i < p->sample.labels.len; i++) {
		const struct pprof_label *const l = &p->sample.labels.items[i];
		const struct field_value v = label_value(l);

		fn(arg, l->key, strlen(l->key), &v);
	}
}

static struct field_value pprof_value(struct recording *r, const char *name, bool only_field)
{
	const struct pprof_recording *const p = pprof_of(r);
	const struct pprof_label *const label = label_of(p, name);
	const struct recorded_place place = recording_place(r);

	for (size_t i = 0; i < p->nr_types; i++)
		if (str_eq(p->types[i].name, name))
			return number(p->sample.values.items[i]);
	if (label)
		return label_value(label);
	if (str_eq(name, "period"))
		return number(place.period);
	return text(!only_field && str_eq(name, "comm") ? place.comm : NULL);
}

static void add_json(void *arg, const char *name, size_t name_size, const struct field_value *v)
{
	struct json *const j = arg;

	json_key_bytes(j, name, name_size);
	if (v->kind == FIELD_TEXT)
		json_string(j, v->text, v->size);
	else
		json_s64(j, (s64)v->integer);
}

static void pprof_fields(struct recording *r, struct json *j)
{
	json_object(j);
	pprof_values(r, add_json, j);
	json_end(j, '}');
}

/* ---- lines ---- */

static void add_escaped(struct strbuf *out, const char *s)
{
	escape_terminal(out, s, strlen(s));
}

static void add_text(void *arg, const char *name, size_t name_size, const struct field_value *v)
{
	struct strbuf *const out = arg;

	strbuf_addch(out, ' ');
	escape_terminal(out, name, name_size);
	strbuf_addch(out, '=');
	if (v->kind == FIELD_TEXT)
		escape_terminal(out, v->text, v->size);
	else
		strbuf_addf(out, "%" PRId64, (s64)v->integer);
}

/* Like perf script's: the frames below the line, then an empty one. */
static int print_line(struct pprof_recording *p, struct ctf_printer *printer)
{
	struct strbuf *const out = ctf_print_out(printer);

	add_escaped(out, comm_of(p) ?: "[unknown]");
	strbuf_addch(out, ':');
	pprof_values(&p->recording, add_text, out);
	strbuf_addch(out, '\n');
	recording_stack(&p->recording, &p->stack);
	for (size_t i = 0; i < p->stack.len; i++) {
		const struct recorded_frame *const f = &p->stack.items[i];

		strbuf_addf(out, "\t%16" PRIx64 " ", f->address);
		add_escaped(out, f->symbol ?: "[unknown]");
		strbuf_addstr(out, " (");
		add_escaped(out, f->is_inlined ? "inlined" : f->object ?: "[unknown]");
		strbuf_addstr(out, ")\n");
	}
	strbuf_addch(out, '\n');
	return ctf_print_added(printer);
}

static void add_fields(void *arg, struct json *j)
{
	json_key(j, "fields");
	pprof_fields(arg, j);
	recording_add_frames(arg, j);
}

static int pprof_print(struct recording *r, struct ctf_printer *printer)
{
	struct pprof_recording *const p = pprof_of(r);
	const struct ctf_ready_event ready = {
		.name = r->kind->name,
		.cpu = UINT32_MAX,
		.pid = (s32)number_label(p, "tid"),
		.task = comm_of(p) ?: "",
		.text = "",
		.fields = add_fields,
		.arg = r,
	};

	return recordings_options(r->all)->style ? print_line(p, printer)
						 : ctf_print_ready(printer, &ready);
}

/* ---- the file ---- */

/* Damage was told when it was met. */
static void pprof_loss(struct recording *r, struct diag *d, struct recording_loss *ret)
{
}

static int pprof_each_event(struct recording *r, recorded_name_fn *fn, void *arg)
{
	const struct pprof_recording *const p = pprof_of(r);

	return fn(arg, p->types[p->type].name, NULL);
}

static int pprof_each_field(struct recording *r, recorded_name_fn *fn, void *arg)
{
	struct pprof_recording *const p = pprof_of(r);
	struct diag nothing = DIAG_INIT;
	int rc = fn(arg, "period", NULL);

	for (size_t i = 0; i < p->nr_types && !rc; i++)
		rc = fn(arg, p->types[i].name, NULL);
	pprof_rewind(p->profile);
	while (!rc && pprof_next(p->profile, &p->sample, &nothing))
		for (size_t i = 0; i < p->sample.labels.len && !rc; i++)
			rc = fn(arg, p->sample.labels.items[i].key, NULL);
	diag_release(&nothing);
	return rc;
}

static void pprof_names(const char *path, recorded_name_fn *fn, void *arg)
{
}

static void pprof_recording_close(struct recording *r)
{
	struct pprof_recording *const p = pprof_of(r);

	pprof_close(p->profile);
	vector_free(&p->sample.locations);
	vector_free(&p->sample.values);
	vector_free(&p->sample.labels);
	vector_free(&p->stack);
	free(p);
}

static int pprof_recording_open(struct recordings *all, const char *path, struct diag *d,
				struct recording **ret)
{
	const struct recordings_options *const o = recordings_options(all);
	struct pprof_recording *p;
	int rc;

	if (!o->style && !o->recorded_times)
		return recording_refuse_timeless(path, d);
	p = xzalloc(sizeof(*p));
	rc = pprof_open(path, d, &p->profile);
	if (rc) {
		free(p);
		return rc;
	}
	p->types = pprof_types(p->profile, &p->nr_types, &p->type);
	p->recording.is_unplaced = p->recording.has_no_times = true;
	p->recording.kind = recorded_kind_new(all, p->types[p->type].name, NULL);
	p->recording.kind->is_sample = true;
	p->recording.kind->unit = p->types[p->type].unit;
	*ret = &p->recording;
	return 0;
}

const struct recording_reader pprof_reader = {
	.name = "profile of pprof",
	.recognise = pprof_is,
	.open = pprof_recording_open,
	.next = pprof_recording_next,
	.value = pprof_value,
	.place = pprof_place,
	.fields = pprof_fields,
	.values = pprof_values,
	.print = pprof_print,
	.loss = pprof_loss,
	.each_event = pprof_each_event,
	.each_field = pprof_each_field,
	.names = pprof_names,
	.close = pprof_recording_close,
	.stack = pprof_stack,
};
