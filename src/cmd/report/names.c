/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that recordings declare. A misspelt one selects nothing, silently: it is told. */
#include "cmd/report/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "cmd/report/kernel.h"
#include "kernel/tracefs/event_name.h"
#include "lang/predicate/recorded.h"
#include "trace/dat/trace_dat.h"

#define METADATA_MOST (4u << 20) /* bytes of one that are read for names */
#define FILES_MOST    64 /* metadata that are read */
#define ENTRIES_MOST  4096 /* of directories that are looked at */
#define DEPTH_MOST    6 /* LTTng: ust/uid/1000/64-bit, below a host */

/* ---- events ---- */

struct event_search {
	const char *glob;
	struct nearest near;
	bool found;
};

static int look(void *arg, const char *name)
{
	struct event_search *s = arg;

	s->found |= glob_match(s->glob, name);
	nearest_offer(&s->near, name);
	return s->found;
}

/* An event of the kernel goes by its own name, too. */
static int look_kernel(void *arg, const char *system, const char *name)
{
	struct event_search *s = arg;
	char full[256];

	snprintf(full, sizeof(full), "%s:%s", system, name);
	s->found |= glob_match(s->glob, name);
	return look(s, full);
}

static int each_of_trace(const struct ctf_metadata *m, int (*fn)(void *arg, const char *name),
			 void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < m->all_events.len && !rc; i++)
		rc = fn(arg, m->all_events.items[i]->name);
	return rc;
}

static void check_event(const struct report_names *in, const char *glob, struct diag *d)
{
	struct event_search s = {.glob = glob};

	nearest_init(&s.near, glob);
	for (u32 i = 0; in->set && i < ctf_set_traces(in->set) && !s.found; i++)
		each_of_trace(ctf_set_trace(in->set, i)->metadata, look, &s);
	s.glob = in->nr_kernels ? event_name_bare(glob) : glob;
	for (size_t i = 0; i < in->nr_kernels && !s.found; i++) {
		s.near.word = s.glob;
		event_table_each(in->kernels[i], look_kernel, &s);
	}
	if (s.found)
		return;
	diag_warning(d, NO_SPAN, "no event in what was read is called '%s'", glob);
	nearest_hint(&s.near, d, "");
}

/* ---- fields ---- */

/*
 * The struct's fields are offered; true if one has the name. name: NULL-terminated, members behind
 * dots are not looked at.
 */
static bool has_field(const struct ctf_type *t, const char *name, size_t len, struct nearest *near)
{
	for (u32 i = 0; t && i < t->count; i++) {
		const char *const shown = t->fields[i].shown;

		if (!strncmp(shown, name, len) && !shown[len])
			return true;
		nearest_offer(near, shown);
	}
	return false;
}

static bool trace_has_field(const struct ctf_metadata *m, const char *name, size_t len,
			    struct nearest *near)
{
	bool yes = false;

	for (size_t i = 0; i < m->streams.len && !yes; i++)
		yes = has_field(m->streams.items[i]->packet_context, name, len, near) ||
		      has_field(m->streams.items[i]->event_context, name, len, near);
	for (size_t i = 0; i < m->all_events.len && !yes; i++)
		yes = has_field(m->all_events.items[i]->context, name, len, near) ||
		      has_field(m->all_events.items[i]->fields, name, len, near);
	return yes;
}

struct field_check {
	const struct report_names *in;
	struct diag *diag;
};

/* Of an event of the kernel, or what each has. */
static bool kernel_has_field(struct event_table *t, const char *name, struct nearest *near)
{
	bool yes = false;

	for (u32 id = 0; id < 65536 && !yes; id++) {
		const struct event_info *info = event_table_met(t, id);

		for (u32 i = 0; info && i < info->record->count && !yes; i++) {
			const char *const field = info->record->members[i].name;

			yes = field && str_eq(field, name);
			if (field)
				nearest_offer(near, field);
		}
	}
	return yes;
}

static bool is_variable(const char *name)
{
	return str_eq(name, "comm") || str_eq(name, "pid") || str_eq(name, "tid") ||
	       str_eq(name, "cpu");
}

static void check_field(void *arg, const char *name)
{
	const struct field_check *const c = arg;
	const struct ctf_set *const set = c->in->set;
	struct nearest near;

	if (is_variable(name))
		return;
	nearest_init(&near, name);
	for (u32 i = 0; set && i < ctf_set_traces(set); i++)
		if (trace_has_field(ctf_set_trace(set, i)->metadata, name, strcspn(name, ".["),
				    &near))
			return;
	for (size_t i = 0; i < c->in->nr_kernels; i++)
		if (kernel_has_field(c->in->kernels[i], name, &near))
			return;
	diag_warning(c->diag, NO_SPAN, "no event in what was read has a field '%s'", name);
	nearest_hint(&near, c->diag, "");
}

void report_names_check(const struct report_names *in, const struct report_selection *selection,
			struct diag *d)
{
	struct field_check check = {in, d};

	if ((!in->set || !ctf_set_traces(in->set)) && !in->nr_kernels)
		return;
	for (u32 i = 0; i < selection->events.count; i++)
		check_event(in, selection->events.items[i], d);
	for (size_t i = 0; i < selection->nr_where; i++)
		predicate_names(selection->where[i], check_field, &check);
}

/* ---- all of them ---- */

struct names {
	int (*fn)(void *arg, const char *name);
	void *arg;
	u32 files, entries, depth;
};

static int kernel_name(void *arg, const char *system, const char *name)
{
	struct names *n = arg;
	char full[256];

	snprintf(full, sizeof(full), "%s:%s", system, name);
	return n->fn(n->arg, full);
}

static void each_of_dat(struct names *n, const char *path)
{
	struct diag quiet = DIAG_INIT;
	struct trace_text text;
	struct trace_dat *file;

	if (!trace_dat_open(path, &quiet, &file)) {
		trace_dat_text(file, &text);
		event_table_each(text.events, kernel_name, n);
		trace_dat_close(file);
	}
	diag_release(&quiet);
}

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
		each_of_trace(m, n->fn, n->arg);
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

void report_names_each(const char *path, int (*fn)(void *arg, const char *name), void *arg)
{
	struct names n = {.fn = fn, .arg = arg};
	int directory;

	if (report_kernel_is(path)) {
		each_of_dat(&n, path);
		return;
	}
	directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory >= 0) {
		each_below(&n, directory);
		close(directory);
	}
}
