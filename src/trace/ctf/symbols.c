/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/foreign.h"
#include "base/hashmap.h"
#include "trace/ctf/symbols.h"
#include "trace/recorded_file.h"

struct file {
	struct elf_file *elf; /* NULL: not found */
};

struct loaded {
	u64 base, start, end;
	s64 from_ns;
	char *path, *build_id;
	struct file *file; /* NULL: not looked for yet */
};

struct objects {
	struct ctf_trace *trace;
	u64 size; /* of the file when it was read */
	VECTOR(struct loaded) list;
};

struct ctf_symbols {
	const char *const *places;
	size_t nr_places;
	VECTOR(struct objects *) traces;
	struct hashmap files; /* "BUILD-ID PATH" -> struct file */
};

struct ctf_symbols *ctf_symbols_new(const char *const *places, size_t count)
{
	struct ctf_symbols *s = xzalloc(sizeof(*s));

	s->places = places;
	s->nr_places = count;
	return s;
}

/* ---- files ---- */

static struct file *file_of(struct ctf_symbols *s, struct loaded *l)
{
	char *key = xasprintf("%s %s", l->build_id, l->path);
	struct file *file = hashmap_gets(&s->files, key);

	if (!file) {
		file = xzalloc(sizeof(*file));
		file->elf = recorded_file_open(&(struct recorded_file_search){
			.places = s->places,
			.nr_places = s->nr_places,
			.path = l->path,
			.build_id = l->build_id,
		});
		hashmap_puts(&s->files, key, file);
	}
	free(key);
	return file;
}

/* ---- what was loaded ---- */

static void take(struct objects *o, const struct ctf_stream *s)
{
	const struct ctf_type *t = s->event->fields;
	struct loaded l = {.from_ns = s->ns};
	struct ctf_cursor c = s->at;
	size_t n;

	if (!t || !str_eq(s->event->name, "pantrace:object_load"))
		return;
	ctf_align(&c, t->align);
	for (u32 i = 0; i < t->count && !c.failed; i++) {
		const struct ctf_field *f = &t->fields[i];

		if (f->type->kind == CTF_INTEGER) {
			const u64 value = ctf_integer(&c, f->type);

			if (str_eq(f->shown, "base"))
				l.base = value;
			else if (str_eq(f->shown, "start"))
				l.start = value;
			else if (str_eq(f->shown, "end"))
				l.end = value;
		} else if (f->type->kind == CTF_STRING) {
			const char *text = ctf_string(&c, &n);

			if (text && str_eq(f->shown, "path") && !l.path)
				l.path = xstrdup(text);
			else if (text && str_eq(f->shown, "build_id") && !l.build_id)
				l.build_id = xstrdup(text);
		} else {
			ctf_skip(&c, f->type);
		}
	}
	if (!c.failed && l.path && l.build_id) {
		vector_push(&o->list, l);
		return;
	}
	free(l.path);
	free(l.build_id);
}

static void objects_read(struct objects *o)
{
	static const char *const names[] = {"objects", "objects.zst", "objects.gz"};
	struct diag quiet = DIAG_INIT;
	struct ctf_trace copy = *o->trace;
	struct ctf_stream *s = NULL;

	copy.slots = xzalloc((copy.metadata->nr_slots + 1) *
			     sizeof(*copy.slots)); /* the trace's own are in use */
	copy.set = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(names) && !s; i++) {
		char *path = xasprintf("%s/%s", copy.path, names[i]);
		const int fd = foreign_open(path, NULL);

		if (fd >= 0 && ctf_stream_open(&copy, path, fd, false, &quiet, &s))
			s = NULL;
		free(path);
	}
	if (s) {
		for (size_t i = 0; i < o->list.len; i++) {
			free(o->list.items[i].path);
			free(o->list.items[i].build_id);
		}
		o->list.len = 0;
		o->size = s->size;
	}
	while (s && ctf_stream_step(s, &quiet) == CTF_STEP_EVENT) {
		take(o, s);
		if (s->event->fields)
			ctf_skip(&s->at, s->event->fields);
	}
	if (s)
		ctf_stream_close(s);
	free(copy.slots);
	diag_release(&quiet);
}

static struct objects *objects_of(struct ctf_symbols *s, struct ctf_trace *trace)
{
	struct objects *o;

	for (size_t i = 0; i < s->traces.len; i++)
		if (s->traces.items[i]->trace == trace)
			return s->traces.items[i];
	o = xzalloc(sizeof(*o));
	o->trace = trace;
	vector_push(&s->traces, o);
	objects_read(o);
	return o;
}

/* The file that was there then: the last one loaded before; else the first one that was seen later.
 */
static struct loaded *loaded_at(struct objects *o, s64 ns, u64 address)
{
	struct loaded *best = NULL;

	for (size_t i = 0; i < o->list.len; i++) {
		struct loaded *l = &o->list.items[i];

		if (address < l->start || address >= l->end)
			continue;
		if (!best || l->from_ns <= ns)
			best = l;
	}
	return best;
}

void ctf_symbols_put(struct ctf_symbols *s, struct ctf_trace *trace, s64 ns, u64 address,
		     struct strbuf *out)
{
	struct objects *o = objects_of(s, trace);
	/* addresses are after calls: the call is what is meant */
	struct loaded *l = loaded_at(o, ns, address - 1);
	const char *slash;
	struct elf_symbol symbol;
	u64 offset;
	char *name;

	if (!l)
		return;
	if (!l->file)
		l->file = file_of(s, l);
	if (l->file->elf &&
	    elf_file_symbol_at(l->file->elf, address - 1 - l->base, &symbol, &offset)) {
		name = demangle(symbol.name);
		strbuf_addch(out, ' ');
		escape_line(out, name ? name : symbol.name, strlen(name ? name : symbol.name));
		strbuf_addf(out, "+0x%" PRIx64, offset + 1);
		free(name);
		return;
	}
	slash = strrchr(l->path, '/');
	strbuf_addstr(out, " [");
	escape_line(out, slash ? slash + 1 : l->path, strlen(slash ? slash + 1 : l->path));
	strbuf_addf(out, "+0x%" PRIx64 "]", address - l->base);
}

void ctf_symbols_release(struct ctf_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->traces.len; i++) {
		struct objects *o = s->traces.items[i];

		for (size_t j = 0; j < o->list.len; j++) {
			free(o->list.items[j].path);
			free(o->list.items[j].build_id);
		}
		vector_free(&o->list);
		free(o);
	}
	hashmap_each (&s->files, e) {
		struct file *file = e->value;

		elf_file_close(file->elf);
		free(file);
	}
	hashmap_release(&s->files);
	vector_free(&s->traces);
	free(s);
}
