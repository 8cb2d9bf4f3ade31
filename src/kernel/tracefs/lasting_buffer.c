/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/lasting_buffer.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vector.h"
#include "kernel/tracefs/instance_remove.h"
#include "kernel/tracefs/tracefs.h"

#define NOTE_OWNER   SAVED_NOTE "owner"
#define NOTE_COMMAND SAVED_NOTE "command"
#define NOTE_BEGAN   SAVED_NOTE "began"
#define NOTE_TOP     SAVED_NOTE "top"
#define NOTE_STANDS  SAVED_NOTE "stands"

bool lasting_buffer_is_name(const char *name)
{
	const size_t len = strlen(name);

	return len && len <= LASTING_NAME_MAX && *name != '.' && *name != '-' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_-.") == len;
}

static char *journal_name(const char *name)
{
	return xasprintf(LASTING_PREFIX "%s", name);
}

/* ---- making one ---- */

struct tracefs_saved *lasting_buffer_begin(const char *tracefs, const char *name, bool is_top,
					   const char *command)
{
	const struct tracefs_owner self = tracefs_owner_self();
	char owner[TRACEFS_OWNER_NAME], began[32], *const file = journal_name(name);
	struct tracefs_saved *journal = tracefs_saved_new_named(tracefs, file);
	int err = 0;

	tracefs_owner_name(&self, '-', owner);
	snprintf(began, sizeof(began), "%" PRIu64, clock_now_ns(CLOCK_REALTIME));
	if (journal) {
		err = tracefs_saved_remember_text(journal, NOTE_OWNER, owner);
		if (!err)
			err = tracefs_saved_remember_text(journal, NOTE_COMMAND, command);
		if (!err)
			err = tracefs_saved_remember_text(journal, NOTE_BEGAN, began);
		if (!err && is_top)
			err = tracefs_saved_remember_text(journal, NOTE_TOP, "");
	}
	free(file);
	if (!err)
		return journal;
	tracefs_saved_discard(journal);
	errno = -err;
	return NULL;
}

int lasting_buffer_stand(struct tracefs_saved *journal)
{
	return tracefs_saved_remember_text(journal, NOTE_STANDS, "");
}

/* ---- those that are there ---- */

/* What its records say. */
static struct lasting_buffer describe(const char *journal, const struct saved_record *r,
				      size_t count)
{
	struct lasting_buffer b = {
		.name = journal + strlen(LASTING_PREFIX), .instance = journal, .command = ""};

	for (size_t i = 0; i < count; i++) {
		const char *const file = r[i].file, *const value = r[i].value;

		if (str_eq(file, NOTE_OWNER)) {
			tracefs_owner_parse(value, &b.owner, NULL);
			b.stands = false;
		} else if (str_eq(file, NOTE_COMMAND)) {
			b.command = value;
		} else if (str_eq(file, NOTE_BEGAN)) {
			b.began_ns = strtoull(value, NULL, 10);
		} else if (str_eq(file, NOTE_TOP)) {
			b.instance = "";
		} else if (str_eq(file, NOTE_STANDS)) {
			b.stands = true;
		}
	}
	return b;
}

struct each {
	int (*fn)(void *arg, const struct lasting_buffer *b);
	void *arg;
};

static int each_one(void *arg, const char *name, const struct saved_record *r, size_t count)
{
	const struct each *const e = arg;
	const struct lasting_buffer b = describe(name, r, count);

	return lasting_buffer_is_name(b.name) ? e->fn(e->arg, &b) : 0;
}

int lasting_buffers_each(int (*fn)(void *arg, const struct lasting_buffer *b), void *arg)
{
	struct each e = {fn, arg};

	return tracefs_saved_each_named(LASTING_PREFIX, each_one, &e);
}

/* ---- removing ---- */

struct removing {
	struct kernel *kernel;
	bool is_abandoned_only;
	void (*fn)(void *arg, const char *file, int error);
	void *arg;
};

static bool is_abandoned(struct kernel *k, const struct lasting_buffer *b)
{
	return !b->stands && !tracefs_owner_alive(k, &b->owner);
}

static bool is_due(void *arg, const struct saved_record *r, size_t count)
{
	const struct removing *const x = arg;
	const struct lasting_buffer b = describe(LASTING_PREFIX, r, count);

	return is_abandoned(x->kernel, &b) || (!x->is_abandoned_only && b.stands);
}

static void note(void *arg, const char *file, int error)
{
	const struct removing *const x = arg;

	x->fn(x->arg, file, error);
}

static int take_back(struct removing *x, const char *name)
{
	const struct tracefs_owner self = tracefs_owner_self();
	char owner[TRACEFS_OWNER_NAME], *const journal = journal_name(name);
	const struct saved_record by_us = {NOTE_OWNER, owner};
	int err;

	tracefs_owner_name(&self, '-', owner);
	err = tracefs_saved_take_back(x->kernel, journal, &by_us, is_due, note, x);
	free(journal);
	return err;
}

int lasting_buffer_remove(struct kernel *k, const char *name,
			  void (*fn)(void *arg, const char *file, int error), void *arg)
{
	struct removing x = {k, false, fn, arg};
	int err = take_back(&x, name);
	char *directory;

	if (err != -ENOENT || !lasting_buffer_is_name(name))
		return err;
	/* one that has lost its journal */
	directory = xasprintf("%s/instances/" LASTING_PREFIX "%s", kernel_tracefs(k), name);
	if (!access(directory, F_OK))
		err = tracefs_instance_remove(directory, INSTANCE_REMOVE_ATTEMPTS);
	free(directory);
	return err;
}

struct abandoned {
	struct kernel *kernel;
	VECTOR(char *) names;
};

static int collect(void *arg, const struct lasting_buffer *b)
{
	struct abandoned *const a = arg;

	if (is_abandoned(a->kernel, b))
		vector_push(&a->names, xstrdup(b->name));
	return 0;
}

void lasting_buffers_sweep(struct kernel *k, bool only_look,
			   void (*fn)(void *arg, const char *file, int error), void *arg)
{
	struct removing x = {k, true, fn, arg};
	struct abandoned a = {.kernel = k};

	/* first the names: what is read is not changed meanwhile */
	lasting_buffers_each(collect, &a);
	for (size_t i = 0; i < a.names.len; i++) {
		char *const journal = journal_name(a.names.items[i]);

		if (only_look)
			fn(arg, journal, 0);
		else
			take_back(&x, a.names.items[i]);
		free(journal);
		free(a.names.items[i]);
	}
	vector_free(&a.names);
}
