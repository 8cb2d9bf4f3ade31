/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/writers/kernel_records.h"

#define FIRST_ID    32 /* lower ones are of ftrace's own events */
#define COMMON_SIZE 8 /* bytes that all records begin with */

void kernel_records_init(struct kernel_records *k)
{
	*k = (struct kernel_records){.record = STRBUF_INIT, .next_id = FIRST_ID};
	made_event_init(&k->made);
}

void kernel_records_release(struct kernel_records *k)
{
	hashmap_each (&k->formats, e) {
		struct kernel_format *const f = e->value;

		strbuf_release(&f->text);
		free(f->system);
		free(f->name);
		free(f);
	}
	hashmap_release(&k->formats);
	hashmap_release(&k->kinds);
	made_event_release(&k->made);
	strbuf_release(&k->record);
}

/* ---- formats ---- */

/* An id as the kernel had it, if it is free; 0: there is none. */
static u32 take_id(struct kernel_records *k, u32 wanted)
{
	u32 id = wanted;

	while (k->next_id < KERNEL_IDS && k->id_taken[k->next_id])
		k->next_id++;
	if (!id || k->id_taken[id])
		id = k->next_id;
	if (id == KERNEL_IDS)
		return 0;
	k->id_taken[id] = true;
	return id;
}

/* The number behind "ID:" becomes ours. */
static void put_text(struct kernel_format *f, const char *text)
{
	const char *const at = strstr(text, "\nID: ");
	const size_t before = at ? (size_t)(at - text) + strlen("\nID: ") : 0;

	strbuf_add(&f->text, text, before);
	if (at)
		strbuf_addf(&f->text, "%u", f->id);
	strbuf_addstr(&f->text, text + before + strspn(text + before, "0123456789"));
}

/* "name: sched_switch" */
static char *name_in(const char *text)
{
	static const char before[] = "name: ";
	const char *const at = strstr(text, before);
	const char *const name = at ? at + strlen(before) : "";

	return xstrndup(name, strcspn(name, "\n"));
}

static struct kernel_format *format_new(struct kernel_records *k, const char *system,
					const char *text, u32 wanted)
{
	struct kernel_format *const f = xzalloc(sizeof(*f));

	f->system = xstrdup(system);
	f->name = name_in(text);
	f->text = (struct strbuf)STRBUF_INIT;
	f->id = take_id(k, wanted);
	put_text(f, text);
	return f;
}

/* Of recordings of one kernel it is the same one. */
static struct kernel_format *format_of_text(struct kernel_records *k, const char *system,
					    const char *text, u32 id)
{
	struct strbuf key = STRBUF_INIT;
	void **at;

	strbuf_add(&key, system, strlen(system) + 1);
	strbuf_addstr(&key, text);
	at = hashmap_put(&k->formats, key.data, key.len, NULL);
	strbuf_release(&key);
	if (!*at)
		*at = format_new(k, system, text, id);
	return *at;
}

static struct kernel_format *format_of_shape(struct kernel_records *k)
{
	void **const at = hashmap_put(&k->formats, k->made.shape.data, k->made.shape.len, NULL);
	struct strbuf text = STRBUF_INIT;

	if (!*at) {
		made_event_format(&k->made, &text);
		*at = format_new(k, k->made.system, text.data, 0);
		strbuf_release(&text);
	}
	return *at;
}

/* The format that the recording has of events of r's kind; NULL: none. */
static struct kernel_format *recorded_format(struct kernel_records *k, struct recording *r, u32 id)
{
	const char *const name = r->kind->name, *const colon = strchr(name, ':');
	char *const system = colon ? xstrndup(name, (size_t)(colon - name)) : NULL;
	const char *text = NULL;
	struct kernel_format *f;

	if (system && r->reader->format)
		text = r->reader->format(r, system, colon + 1);
	f = text ? format_of_text(k, system, text, id) : NULL;
	free(system);
	return f;
}

const struct kernel_format *kernel_own_format(struct kernel_records *k, const char *text, u32 id)
{
	return format_of_text(k, KERNEL_OWN_EVENTS, text, id);
}

/* ---- records ---- */

/* Its record as the recording has it, and the record's format. NULL: it has none such. */
static struct kernel_format *take_record(struct kernel_records *k, struct recording *r,
					 struct page_event *ret)
{
	bool is_new;
	void **at;

	ret->data = r->reader->raw ? r->reader->raw(r, &ret->size) : NULL;
	if (!ret->data || ret->size < COMMON_SIZE)
		return NULL;
	at = hashmap_put(&k->kinds, &r->kind, sizeof(r->kind), &is_new);
	if (is_new)
		*at = recorded_format(k, r, page_event_id(ret));
	return *at;
}

/* One of its values. */
static struct kernel_format *make_record(struct kernel_records *k, struct trace_writer *w,
					 struct recording *r, s64 tid, struct page_event *ret)
{
	const char *const name = r->kind->name;

	made_event_begin(&k->made, name);
	r->reader->values(r, made_event_add, &k->made);
	writer_gap(w, k->made.left_out, "value that is no integer, no text and no list of integers",
		   "values that are no integers, no texts and no lists of integers");
	writer_gap(w, k->made.labels, "name of an enum's value: its number is there",
		   "names of enums' values: their numbers are there");
	*ret = (struct page_event){0};
	if (!made_event_end(&k->made, (s32)MAX(tid, 0)))
		return format_of_shape(k);
	ret->data = (const u8 *)k->made.record.data;
	ret->size = (u32)k->made.record.len;
	return format_of_shape(k);
}

void kernel_record_number(struct kernel_records *k, struct page_event *e, u32 id)
{
	const u16 ours = (u16)id;

	if (page_event_id(e) == id)
		return;
	strbuf_reset(&k->record);
	strbuf_add(&k->record, e->data, e->size);
	memcpy(k->record.data, &ours, sizeof(ours));
	e->data = (const u8 *)k->record.data;
}

const struct kernel_format *kernel_record(struct kernel_records *k, struct trace_writer *w,
					  struct recording *r, s64 tid, struct page_event *ret)
{
	const struct kernel_format *f = take_record(k, r, ret);

	if (!f) {
		writer_gap(w, ret->data != NULL,
			   "record whose format is not in the recording: its event has no fields",
			   "records whose formats are not in the recording: their events have no "
			   "fields");
		f = make_record(k, w, r, tid, ret);
	}
	if (!f->id)
		writer_gap(w, 1, "event without an id", "events without an id: there are 65,535");
	else if (!ret->data)
		writer_gap(w, 1, "event that is longer than 64 KiB",
			   "events that are longer than 64 KiB");
	else
		kernel_record_number(k, ret, f->id);
	return f->id && ret->data ? f : NULL;
}

/* ---- what the file says of them ---- */

void kernel_records_put(const struct kernel_records *k, u32 page_size, struct dat_contents *c)
{
	VECTOR(struct dat_format) all = {0};

	hashmap_each (&k->formats, e) {
		const struct kernel_format *const f = e->value;

		if (f->id)
			vector_push(&all, (struct dat_format){f->system, f->id, f->text.data,
							      f->text.len});
	}
	dat_contents_usual_headers(c, page_size);
	dat_contents_formats(c, all.items, all.len);
	vector_free(&all);
}
