/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -l and -d: lists and removes probe events. */
#include <stdio.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/glob.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "binary/debug/lines.h"
#include "cmd/probe/commands.h"
#include "kernel/symbols/ksyms.h"
#include "kernel/tracefs/lasting_event.h"

enum { BUSY_TRIES = 100, BUSY_PAUSE = 10000 /* us */ };

/* An event in the kernel. One with several places is in the list several times. */
struct standing {
	struct lasting_event first;
	bool is_chosen, is_removed;
};

struct events {
	struct arena arena;
	VECTOR(struct standing) list;
	struct hashmap files; /* path -> struct elf_file *; this struct: it cannot be opened */
};

static int collect(void *arg, const struct lasting_event *e)
{
	struct events *all = arg;
	struct standing s = {.first = *e};

	s.first.group = arena_strdup(&all->arena, e->group);
	s.first.name = arena_strdup(&all->arena, e->name);
	s.first.place = arena_strdup(&all->arena, e->place);
	s.first.arguments = arena_strdup(&all->arena, e->arguments);
	vector_push(&all->list, s);
	return 0;
}

static int read_events(struct probe_command *p, struct events *ret)
{
	const int err = lasting_events_each(p->kernel, collect, ret);
	const struct kernel_answer *a;

	if (!err)
		return 0;
	a = kernel_ask(p->kernel, KERNEL_TRACEFS);
	diag_error(&p->diag, NO_SPAN, "the kernel's probes cannot be read: %s",
		   !a->yes && a->why ? a->why : strerror(-err));
	if (geteuid()) {
		diag_hint(&p->diag, "run it as root");
		diag_code(&p->diag, EXIT_PRIVILEGE);
	}
	return err;
}

static void release(struct events *all)
{
	hashmap_each (&all->files, e)
		if (e->value != all)
			elf_file_close(e->value);
	hashmap_release(&all->files);
	vector_free(&all->list);
	arena_release(&all->arena);
}

/* "[GROUP:]EVENT", both with wildcards. */
static bool matches(const char *pattern, const struct lasting_event *e)
{
	const char *const colon = strchr(pattern, ':');
	char *group;
	bool yes;

	if (!colon)
		return glob_match(pattern, e->name);
	group = xstrndup(pattern, (size_t)(colon - pattern));
	yes = glob_match(group, e->group) && glob_match(colon + 1, e->name);
	free(group);
	return yes;
}

/* ---- -l ---- */

/* Appends "len buf" for "len=%dx:s32 buf=+0(%si):string". */
static void add_names(struct strbuf *out, const char *arguments)
{
	const char *prefix = " with ";

	for (const char *p = arguments; *p;) {
		const size_t word = strcspn(p, " "), name = strcspn(p, "= ");

		strbuf_addstr(out, prefix);
		escape_line(out, p, name < word ? name : word);
		prefix = " ";
		p += word;
		p += strspn(p, " ");
	}
}

/* Each file is opened once for all events. */
static struct elf_file *file_of(struct events *all, const char *path)
{
	void **slot = hashmap_put(&all->files, path, strlen(path) + 1, NULL);

	if (!*slot) {
		struct elf_file *f;

		*slot = elf_file_open(path, &f) ? all : (void *)f;
	}
	return *slot == all ? NULL : *slot;
}

static void add_symbol(struct strbuf *out, const char *name, u64 into)
{
	escape_line(out, name, strlen(name));
	if (into)
		strbuf_addf(out, "+%" PRIu64, into);
}

/* Appends "handle+24@demo.c in /tmp/demo" for "/tmp/demo:0x1240". */
static void add_user_place(struct events *all, const struct lasting_event *e, struct strbuf *out)
{
	const char *const colon = strrchr(e->place, ':');
	char *path = xstrndup(e->place, colon ? (size_t)(colon - e->place) : strlen(e->place));
	struct elf_file *f = file_of(all, path);
	const char *file, *slash;
	struct elf_symbol s;
	u64 address, into;
	u32 line;

	if (f && colon && !elf_file_address(f, strtoull(colon + 1, NULL, 16), &address) &&
	    elf_file_symbol_at(f, address, &s, &into)) {
		add_symbol(out, s.name, into);
		if (e->is_return)
			strbuf_addstr(out, "%return");
		if (!debug_line_at(f, address, &file, &line)) {
			slash = strrchr(file, '/');
			strbuf_addf(out, "@%s", slash ? slash + 1 : file);
		}
	} else {
		strbuf_addstr(out, colon ? colon + 1 : e->place);
	}
	strbuf_addstr(out, " in ");
	escape_line(out, path, strlen(path));
	free(path);
}

/* "vfs_read+4" of "_text+7056244" */
static void add_kernel_place(struct kernel *k, const struct lasting_event *e, struct strbuf *out)
{
	const u64 begin = kernel_symbol_address(k, "_text");
	struct kernel_symbol s;
	u64 address;

	if (begin && str_starts(e->place, "_text+") &&
	    ksyms_at(kernel_ksyms(k), begin + strtoull(e->place + strlen("_text+"), NULL, 0),
		     KSYM_TELLING, &s)) {
		address = begin + strtoull(e->place + strlen("_text+"), NULL, 0);
		add_symbol(out, s.name, address - s.address);
	} else {
		const size_t len = strlen(e->place);

		escape_line(out, e->place, str_ends(e->place, "+0") ? len - 2 : len);
	}
	if (e->is_return)
		strbuf_addstr(out, "%return");
}

static void list_text(struct probe_command *p, struct events *all, const struct lasting_event *e,
		      struct strbuf *out)
{
	char *name = xasprintf("%s:%s", e->group, e->name);

	strbuf_addf(out, "  %-20s (on ", name);
	if (e->is_user)
		add_user_place(all, e, out);
	else
		add_kernel_place(p->kernel, e, out);
	add_names(out, e->arguments);
	strbuf_addstr(out, ")\n");
	free(name);
}

static void list_json(const struct lasting_event *e, struct strbuf *out)
{
	struct json j = JSON_INIT(out);

	json_object(&j);
	json_member_text(&j, "group", e->group);
	json_member_text(&j, "event", e->name);
	json_member_bool(&j, "is_user", e->is_user);
	json_member_bool(&j, "is_return", e->is_return);
	json_member_text(&j, "place", e->place);
	json_member_text(&j, "arguments", e->arguments);
	json_end(&j, '}');
	json_end_line(&j);
}

int probe_list(struct probe_command *p)
{
	struct events all = {0};
	struct strbuf out = STRBUF_INIT;
	const int err = read_events(p, &all);

	for (size_t i = 0; i < all.list.len; i++) {
		const struct lasting_event *e = &all.list.items[i].first;

		if (*p->o.list && !matches(p->o.list, e))
			continue;
		if (p->o.json)
			list_json(e, &out);
		else
			list_text(p, &all, e, &out);
	}
	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
	release(&all);
	return err ? EXIT_FAILED : EXIT_OK;
}

/* ---- -d ---- */

/* True if this is one more place of an event earlier in the list. */
static bool is_further_place(const struct events *all, size_t n)
{
	const struct lasting_event *e = &all->list.items[n].first;

	while (n-- > 0) {
		const struct lasting_event *other = &all->list.items[n].first;

		if (str_eq(e->name, other->name) && str_eq(e->group, other->group))
			return true;
	}
	return false;
}

/*
 * Collects the events that the patterns match, each once. Returns false if a pattern matches none.
 */
static bool choose(struct probe_command *p, struct events *all)
{
	bool all_hit = true;

	for (u32 i = 0; i < p->o.del.count; i++) {
		bool hit = false;

		for (size_t n = 0; n < all->list.len; n++) {
			struct standing *s = &all->list.items[n];

			if (!matches(p->o.del.items[i], &s->first))
				continue;
			hit = true;
			s->is_chosen = !is_further_place(all, n);
		}
		if (!hit) {
			diag_error(&p->diag, NO_SPAN, "\"%s\" does not hit any event.",
				   p->o.del.items[i]);
			diag_hint(&p->diag, "`pantrace probe -l` lists them");
			all_hit = false;
		}
	}
	return all_hit;
}

/* Who it is that the kernel does not say: a trace buffer, or, without a name, perf events. */
static void hint_users(struct probe_command *p, const struct lasting_event *e)
{
	char *const buffers = lasting_event_buffers(p->kernel, e->group, e->name);

	if (buffers)
		diag_hint(&p->diag,
			  "it is enabled, or has a trigger, in %s; `pantrace status` shows "
			  "who traces",
			  buffers);
	else
		diag_hint(&p->diag, "a perf event or a BPF program is attached to it");
	free(buffers);
}

/* A tracer that has just been ended is given a moment to let go of it. */
static int remove_patiently(struct probe_command *p, const struct lasting_event *e, u32 *tries)
{
	int err = lasting_event_remove(p->kernel, e->is_user, e->group, e->name);

	while (err == -EBUSY && *tries) {
		--*tries;
		usleep(BUSY_PAUSE);
		err = lasting_event_remove(p->kernel, e->is_user, e->group, e->name);
	}
	return err;
}

/* tries: left for all events that are in use. */
static void remove_event(struct probe_command *p, struct standing *s, struct strbuf *out,
			 u32 *tries)
{
	const struct lasting_event *e = &s->first;
	const int err = p->o.dry_run ? 0 : remove_patiently(p, e, tries);

	if (err) {
		diag_error(&p->diag, NO_SPAN, "Failed to delete event %s:%s: %s", e->group, e->name,
			   strerror(-err));
		if (err == -EBUSY)
			hint_users(p, e);
		if (err == -EACCES || err == -EPERM)
			diag_code(&p->diag, EXIT_PRIVILEGE);
		return;
	}
	s->is_removed = true;
	if (p->o.json)
		list_json(e, out);
	else
		strbuf_addf(out, "Removed event: %s:%s\n", e->group, e->name);
}

int probe_delete(struct probe_command *p)
{
	struct events all = {0};
	struct strbuf out = STRBUF_INIT;
	u32 tries = BUSY_TRIES;
	int err = read_events(p, &all);

	if (!err && !choose(p, &all))
		err = -ENOENT;
	for (size_t i = 0; i < all.list.len && !err; i++)
		if (all.list.items[i].is_chosen)
			remove_event(p, &all.list.items[i], &out, &tries);
	if (p->o.json)
		fwrite(out.data, 1, out.len, stdout);
	else if (!p->o.quiet)
		fwrite(out.data, 1, out.len, stderr);
	strbuf_release(&out);
	release(&all);
	return err ? EXIT_FAILED : EXIT_OK;
}
