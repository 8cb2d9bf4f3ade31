/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ftrace/event_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"
#include "kernel/tracefs/tracefs.h"
#include "types/btf.h"
#include "types/tracefs_format.h"

struct recorded {
	const char *system, *text;
};

struct event_table {
	struct kernel *kernel; /* NULL: of a recording */
	struct type_store store;
	struct btf_source *btf;
	struct event_info **by_id; /* 65536 of them; ids are u16 */
	const char **system_of; /* by id: where it was seen; NULL = not yet */
	const char **name_of;
	struct hashmap recorded; /* id (u32) -> struct recorded * */
	struct hashmap renamed; /* "system:name" -> shown */
	bool own_known; /* the numbers of ftrace's own records are known */
	bool searched; /* all ids of the kernel are known */
};

#define IDS 65536

/* Asked for ids that nothing has. */
static struct event_info none;

static struct event_table *table_new(void)
{
	struct event_table *t = xzalloc(sizeof(*t));

	type_store_init(&t->store);
	t->by_id = xzalloc(IDS * sizeof(*t->by_id));
	t->system_of = xzalloc(IDS * sizeof(*t->system_of));
	t->name_of = xzalloc(IDS * sizeof(*t->name_of));
	return t;
}

struct event_table *event_table_live(struct kernel *k)
{
	struct event_table *t = table_new();

	t->kernel = k;
	/* For enumerators and structs that formats name; read only if one does. */
	t->btf = btf_attach(&t->store, NULL);
	return t;
}

struct event_table *event_table_recorded(void)
{
	return table_new();
}

void event_table_release(struct event_table *t)
{
	if (!t)
		return;
	btf_release(t->btf);
	hashmap_release(&t->recorded);
	hashmap_release(&t->renamed);
	type_store_release(&t->store);
	free(t->by_id);
	free(t->system_of);
	free(t->name_of);
	free(t);
}

void event_table_each(struct event_table *t,
		      int (*fn)(void *arg, const char *system, const char *name), void *arg)
{
	for (u32 id = 0; id < IDS; id++)
		if (t->system_of[id] && t->name_of[id] && fn(arg, t->system_of[id], t->name_of[id]))
			return;
}

const char *event_table_text(const struct event_table *t, const char *system, const char *name)
{
	for (u32 id = 0; id < IDS; id++) {
		const struct recorded *r;

		if (!t->name_of[id] || !str_eq(t->name_of[id], name) ||
		    !str_eq(t->system_of[id], system))
			continue;
		r = hashmap_get(&t->recorded, &id, sizeof(id));
		return r ? r->text : NULL;
	}
	return NULL;
}

struct type_store *event_table_types(struct event_table *t)
{
	return &t->store;
}

struct btf_source *event_table_btf(struct event_table *t)
{
	return t->btf;
}

static bool text_id(const char *text, u32 *ret)
{
	const char *at = strstr(text, "\nID: ");
	unsigned long id;

	if (!at)
		return false;
	id = strtoul(at + 5, NULL, 10);
	if (!id || id >= IDS)
		return false;
	*ret = (u32)id;
	return true;
}

static const char *text_name(struct event_table *t, const char *text)
{
	if (!str_starts(text, "name: "))
		return "";
	return arena_strndup(&t->store.arena, text + 6, strcspn(text + 6, "\n"));
}

int event_table_add(struct event_table *t, const char *system, const char *text, size_t len)
{
	struct recorded *r = arena_new(&t->store.arena, struct recorded);
	void **place;
	u32 id;

	r->text = arena_strndup(&t->store.arena, text, len);
	r->system = arena_strdup(&t->store.arena, system);
	if (!text_id(r->text, &id))
		return -EINVAL;
	place = hashmap_put(&t->recorded, &id, sizeof(id), NULL);
	*place = r;
	t->system_of[id] = r->system;
	t->name_of[id] = text_name(t, r->text);
	return 0;
}

static char *full_name(const char *system, const char *name)
{
	return xasprintf("%s:%s", system, name);
}

static void set_name(struct event_info *e, const char *name)
{
	e->name = name;
	e->name_len = (u32)strlen(name);
}

static struct event_info *make(struct event_table *t, u32 id, const char *system, const char *text)
{
	struct event_info *e = arena_new(&t->store.arena, struct event_info);
	const char *shown;
	char *key;

	e->id = id;
	e->system = arena_strdup(&t->store.arena, system);
	e->name = text_name(t, text);
	if (tracefs_format_parse(&t->store, system, text, &e->record, &e->print_fmt))
		return NULL;
	e->print = print_format_compile(&t->store, system, e->name, e->record, e->print_fmt,
					&e->refused);
	key = full_name(system, e->name);
	shown = hashmap_gets(&t->renamed, key);
	if (shown)
		e->name = shown;
	free(key);
	set_name(e, e->name);
	return e;
}

/* ---- of the running kernel ---- */

/*
 * An event probe's print format does not say what the kernel's own printer does
 * (print_eprobe_event()): of which event it is. The definition has it: "e:GROUP/NAME SYSTEM.EVENT
 * arguments". NULL: it is not an event probe.
 */
static const char *find_probed(struct event_table *t, const struct event_info *e, const char *name)
{
	char *path, *text, *key, *found = NULL;
	const char *result = NULL;

	/* Those of other probes begin with an address, and of an event with its own text. */
	if (!str_starts(e->print_fmt, "\" ") && !str_starts(e->print_fmt, "\"\""))
		return NULL;
	path = xasprintf("%s/dynamic_events", kernel_tracefs(t->kernel));
	key = xasprintf("e:%s/%s ", e->system, name);
	if (!file_read(path, (size_t)64 << 20, &text, NULL)) {
		for (found = strstr(text, key); found && found > text && found[-1] != '\n';)
			found = strstr(found + 1, key);
		if (found) {
			found += strlen(key);
			result = arena_strndup(&t->store.arena, found, strcspn(found, " \n"));
		}
		free(text);
	}
	free(key);
	free(path);
	return result;
}

static int note_event(void *arg, const char *system, const char *name)
{
	struct event_table *t = arg;
	int id = tracefs_event_id(t->kernel, system, name);

	if (id > 0 && id < IDS && !t->system_of[id]) {
		t->system_of[id] = arena_strdup(&t->store.arena, system);
		t->name_of[id] = arena_strdup(&t->store.arena, name);
	}
	return 0;
}

/* ftrace's own records: no list of events has them, and not all kernels a file with their number.
 */
static void note_own(struct event_table *t)
{
	char *path = xasprintf("%s/events/ftrace", kernel_tracefs(t->kernel));
	DIR *dir = opendir(path);
	struct dirent *d;
	char *text;
	u32 id;

	free(path);
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.' ||
		    tracefs_event_format(t->kernel, "ftrace", d->d_name, &text))
			continue;
		if (text_id(text, &id) && !t->system_of[id]) {
			t->system_of[id] = "ftrace";
			t->name_of[id] = arena_strdup(&t->store.arena, d->d_name);
		}
		free(text);
	}
	if (dir)
		closedir(dir);
}

int event_table_expect(struct event_table *t, const char *system, const char *name)
{
	const int id = t->kernel ? tracefs_event_id(t->kernel, system, name) : -ENOENT;

	if (id < 0)
		return id;
	return note_event(t, system, name);
}

static struct event_info *load_live(struct event_table *t, u32 id)
{
	struct event_info *e = NULL;
	char *text;
	u32 now;

	if (!t->system_of[id] && !t->own_known) {
		t->own_known = true;
		note_own(t);
	}
	if (!t->system_of[id] && !t->searched) {
		t->searched = true;
		tracefs_each_event(t->kernel, "*", "*", note_event, t);
	}
	if (!t->system_of[id] ||
	    tracefs_event_format(t->kernel, t->system_of[id], t->name_of[id], &text))
		return NULL;
	if (text_id(text, &now) && now == id)
		e = make(t, id, t->system_of[id], text);
	if (e)
		e->probed = find_probed(t, e, t->name_of[id]);
	free(text);
	return e;
}

static struct event_info *load_recorded(struct event_table *t, u32 id)
{
	const struct recorded *r = hashmap_get(&t->recorded, &id, sizeof(id));

	return r ? make(t, id, r->system, r->text) : NULL;
}

struct event_info *event_table_get(struct event_table *t, u32 id)
{
	struct event_info *e;

	if (id >= IDS)
		return NULL;
	e = t->by_id[id];
	if (!e) {
		e = t->kernel ? load_live(t, id) : load_recorded(t, id);
		t->by_id[id] = e ? e : &none;
	}
	return e == &none ? NULL : e;
}

struct event_info *event_table_met(struct event_table *t, u32 id)
{
	return id < IDS && t->by_id[id] != &none ? t->by_id[id] : NULL;
}

struct event_info *event_table_find(struct event_table *t, const char *system, const char *name)
{
	if (t->kernel && str_eq(system, "ftrace") && !t->own_known) {
		t->own_known = true;
		note_own(t);
	}
	if (t->kernel && !str_eq(system, "ftrace")) {
		const int id = event_table_expect(t, system, name);
		const int found = id < 0 ? id : tracefs_event_id(t->kernel, system, name);

		return found < 0 ? NULL : event_table_get(t, (u32)found);
	}
	for (u32 id = 0; id < IDS; id++)
		if (t->name_of[id] && str_eq(t->name_of[id], name) &&
		    str_eq(t->system_of[id], system))
			return event_table_get(t, id);
	return NULL;
}

int event_table_rename(struct event_table *t, const char *system, const char *name,
		       const char *shown)
{
	char *key = full_name(system, name);
	const int id = t->kernel ? tracefs_event_id(t->kernel, system, name) : -ENOENT;

	hashmap_puts(&t->renamed, key, (void *)shown);
	free(key);
	if (id > 0 && id < IDS && t->by_id[id] && t->by_id[id] != &none)
		set_name(t->by_id[id], shown);
	return 0;
}
