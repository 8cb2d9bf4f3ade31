/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/saved.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "base/strbuf.h"
#include "base/vector.h"
#include "kernel/tracefs/instance_remove.h"
#include "kernel/tracefs/lasting_event.h"

struct saved_value {
	char *file, *value;
};

typedef VECTOR(struct saved_value) value_vector;

struct tracefs_saved {
	char *directory, *journal; /* paths */
	int fd; /* of the journal, O_APPEND */
	value_vector values;
};

static const char *const places[] = {"/run/pantrace", "/dev/shm/pantrace", "/tmp/pantrace"};

/* A file that others can write to is not trusted. */
static bool is_ours(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static int open_place(const char *place)
{
	const int fd = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (is_ours(fd))
		return fd;
	close(fd);
	return -EPERM;
}

/* A new journal: its descriptor, and its path. */
static int create_journal(const char *name, char **ret_path)
{
	int err = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int dir, fd;

		mkdir(places[i], 0700);
		dir = open_place(places[i]);
		if (dir < 0) {
			err = dir;
			continue;
		}
		fd = openat(dir, name,
			    O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
		err = fd < 0 ? -errno : 0;
		close(dir);
		if (fd >= 0) {
			*ret_path = xasprintf("%s/%s", places[i], name);
			return fd;
		}
		if (err == -EEXIST)
			return err;
	}
	return err;
}

static void release(struct tracefs_saved *s)
{
	for (size_t i = 0; i < s->values.len; i++) {
		free(s->values.items[i].file);
		free(s->values.items[i].value);
	}
	vector_free(&s->values);
	if (s->fd >= 0)
		close(s->fd);
	free(s->directory);
	free(s->journal);
	free(s);
}

struct tracefs_saved *tracefs_saved_new_named(const char *directory, const char *name)
{
	struct tracefs_saved *s = xzalloc(sizeof(*s));

	s->fd = create_journal(name, &s->journal);
	if (s->fd < 0) {
		errno = -s->fd;
		release(s);
		return NULL;
	}
	s->directory = xstrdup(directory);
	return s;
}

struct tracefs_saved *tracefs_saved_new(const char *directory)
{
	const struct tracefs_owner self = tracefs_owner_self();
	char name[TRACEFS_OWNER_NAME];

	tracefs_owner_name(&self, '-', name);
	return tracefs_saved_new_named(directory, name);
}

static int remember_value(struct tracefs_saved *s, const char *file, char *value)
{
	struct strbuf record = STRBUF_INIT;
	int err;

	strbuf_addf(&record, "%s %zu\n%s\n", file, strlen(value), value);
	err = write_all(s->fd, record.data, record.len);
	strbuf_release(&record);
	if (err) {
		free(value);
		return err;
	}
	vector_push(&s->values, (struct saved_value){xstrdup(file), value});
	return 0;
}

/* If the sizes of the CPUs' buffers differ, the common file shows "X". */
static int remember_sizes(struct tracefs_saved *s)
{
	char *path = xasprintf("%s/per_cpu", s->directory), *value;
	DIR *dir = opendir(path);
	struct dirent *e;
	int err = 0;

	free(path);
	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir))) {
		char file[300];

		if (!str_starts(e->d_name, "cpu"))
			continue;
		snprintf(file, sizeof(file), "per_cpu/%s/buffer_size_kb", e->d_name);
		err = tracefs_value_read(s->directory, file, &value);
		if (!err)
			err = remember_value(s, file, value);
	}
	closedir(dir);
	return err;
}

int tracefs_saved_remember(struct tracefs_saved *s, const char *file)
{
	char *value;
	int err;

	for (size_t i = 0; i < s->values.len; i++)
		if (str_eq(s->values.items[i].file, file))
			return 0;
	err = tracefs_value_read(s->directory, file, &value);
	if (err)
		return err;
	if (str_eq(file, "buffer_size_kb") && str_eq(value, "X")) {
		free(value);
		return remember_sizes(s);
	}
	return remember_value(s, file, value);
}

int tracefs_saved_remember_text(struct tracefs_saved *s, const char *file, const char *value)
{
	return remember_value(s, file, xstrdup(value));
}

static bool is_instance(const char *file)
{
	return str_starts(file, "instances/");
}

static int remove_instance(const char *directory, const char *file)
{
	char *path = xasprintf("%s/%s", directory, file);
	const int err = tracefs_instance_remove(path, INSTANCE_REMOVE_ATTEMPTS);

	free(path);
	return err;
}

/* Writes a value back if the file's differs. */
static int put_back(const char *directory, const struct saved_value *v)
{
	char *now;
	int err;

	if (str_starts(v->file, SAVED_NOTE))
		return 0;
	if (is_instance(v->file))
		return remove_instance(directory, v->file);
	if (lasting_event_is_note(v->file))
		return lasting_event_take_back(directory, v->file, v->value);
	/*
	 * The buffer itself was empty; what is in it now does not matter. A list of threads that
	 * have all ended suppresses every event, and reads as if there were none.
	 */
	if (str_eq(v->file, "trace") || str_eq(v->file, "set_event_pid"))
		return tracefs_value_write(directory, v->file, v->value);
	err = tracefs_value_read(directory, v->file, &now);
	if (err)
		return err == -ENOENT ? 0 : err; /* its event or CPU is gone */
	if (!str_eq(now, v->value))
		err = tracefs_value_write(directory, v->file, v->value);
	free(now);
	return err;
}

/*
 * All of them, newest first, after the instances: what one of these uses cannot be removed. fn: as
 * of tracefs_saved_each_stale(). 0 or -errno: an instance could not be removed, and all else was
 * left as it is.
 */
static int put_all_back(const char *directory, const value_vector *values, bool only_look,
			void (*fn)(void *arg, const char *file, int error), void *arg)
{
	int kept = 0;

	for (int instances = 1; instances >= 0 && !kept; instances--)
		for (size_t i = values->len; i-- > 0;) {
			const struct saved_value *const v = &values->items[i];
			int err;

			if (is_instance(v->file) != instances || str_starts(v->file, SAVED_NOTE))
				continue;
			err = only_look ? 0 : put_back(directory, v);
			fn(arg, lasting_event_is_note(v->file) ? v->value : v->file, -err);
			if (instances && err)
				kept = err;
		}
	return kept;
}

struct restoring {
	int result;
	char **ret_file;
};

static void note_restored(void *arg, const char *file, int error)
{
	struct restoring *r = arg;

	if (!error || r->result)
		return;
	r->result = -error;
	if (r->ret_file)
		*r->ret_file = xstrdup(file);
}

int tracefs_saved_restore(struct tracefs_saved *s, char **ret_file)
{
	struct restoring r = {.ret_file = ret_file};

	if (ret_file)
		*ret_file = NULL;
	/* an instance that cannot be removed yet is left to the next run */
	if (!put_all_back(s->directory, &s->values, false, note_restored, &r))
		unlink(s->journal);
	release(s);
	return r.result;
}

void tracefs_saved_leave(struct tracefs_saved *s)
{
	release(s);
}

void tracefs_saved_discard(struct tracefs_saved *s)
{
	unlink(s->journal);
	release(s);
}

/* ---- journals of dead runs ---- */

/* A name that cannot lead out of tracefs. */
static bool is_plain_path(const char *file)
{
	return *file && file[0] != '/' && !strstr(file, "..");
}

void tracefs_journal_parse(char *text, size_t len, void (*fn)(void *arg, char *file, char *value),
			   void *arg)
{
	char *p = text, *const end = text + len;

	while (p < end) {
		char *eol = memchr(p, '\n', (size_t)(end - p)), *blank, *stop;
		size_t n;

		if (!eol)
			return;
		*eol = '\0';
		blank = strrchr(p, ' ');
		if (!blank || blank[1] < '0' || blank[1] > '9')
			return;
		*blank = '\0';
		n = strtoul(blank + 1, &stop, 10);
		if (*stop || n >= (size_t)(end - eol - 1) || eol[1 + n] != '\n' ||
		    !is_plain_path(p))
			return;
		eol[1 + n] = '\0';
		fn(arg, p, eol + 1);
		p = eol + n + 2;
	}
}

static void value_take(void *arg, char *file, char *value)
{
	value_vector *values = arg;

	vector_push(values, (struct saved_value){file, value});
}

struct stale {
	struct kernel *kernel;
	bool only_look;
	void (*fn)(void *arg, const char *file, int error);
	void *arg;
};

/*
 * One process at a time restores values: a guard that comes late would overwrite what the next run
 * has set. A process that waited finds the journal removed. The wait is bounded, as the holder may
 * be stopped. The lock is on the journal, which no other user can open.
 */
static bool lock_journal(int fd)
{
	struct stat st;

	for (int attempt = 0; attempt < 200; attempt++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return !fstat(fd, &st) && st.st_nlink;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return false;
		usleep(5000);
	}
	return false;
}

/* The records of a journal that is ours, in *ret_text. False: it cannot be read. */
static bool read_journal(int fd, char **ret_text, value_vector *ret)
{
	size_t len;

	*ret_text = NULL;
	if (!is_ours(fd) || file_read_fd(fd, (size_t)64 << 20, ret_text, &len))
		return false;
	tracefs_journal_parse(*ret_text, len, value_take, ret);
	return true;
}

/* What decides whether a journal is taken back. */
struct due {
	const struct saved_record *record;
	bool (*is_due)(void *arg, const struct saved_record *r, size_t count);
};

static int write_record(int dir, const char *name, const struct saved_record *r)
{
	const int fd = openat(dir, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	struct strbuf record = STRBUF_INIT;
	int err = fd < 0 ? -errno : 0;

	strbuf_addf(&record, "%s %zu\n%s\n", r->file, strlen(r->value), r->value);
	if (!err)
		err = write_all(fd, record.data, record.len);
	if (fd >= 0)
		close(fd);
	strbuf_release(&record);
	return err;
}

/* due: NULL = it is. 0 or -errno. */
static int sweep_journal(const struct stale *s, int dir, const char *name, const struct due *due)
{
	const int fd = foreign_file(dir, name, O_RDONLY, NULL);
	value_vector values = {0};
	char *text = NULL;
	int err = 0;

	if (fd < 0)
		return fd;
	/* Probe events are taken back while nobody adds any, who may choose their names anew. */
	if (!s->only_look && lasting_events_lock(s->kernel) == -EAGAIN) {
		close(fd);
		return -EAGAIN;
	}
	if (!lock_journal(fd) || !read_journal(fd, &text, &values))
		err = -EAGAIN;
	else if (due && !due->is_due(s->arg, (const struct saved_record *)values.items, values.len))
		err = -EAGAIN;
	else if (due && due->record)
		err = write_record(dir, name, due->record);
	if (!err)
		err = put_all_back(kernel_tracefs(s->kernel), &values, s->only_look, s->fn, s->arg);
	if (!s->only_look && !err)
		unlinkat(dir, name, 0);
	if (!s->only_look)
		lasting_events_unlock(s->kernel);
	close(fd);
	vector_free(&values);
	free(text);
	return err;
}

/* Calls fn for the names in those places that are ours, until it returns other than 0. */
static int each_journal(int (*fn)(void *arg, int dir, const char *name), void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(places) && !rc; i++) {
		const int fd = open_place(places[i]);
		DIR *dir = fd < 0 ? NULL : fdopendir(fd);
		struct dirent *e;

		if (!dir) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		while (!rc && (e = readdir(dir)))
			rc = fn(arg, dirfd(dir), e->d_name);
		closedir(dir);
	}
	return rc;
}

static int sweep_stale(void *arg, int dir, const char *name)
{
	const struct stale *const s = arg;
	struct tracefs_owner owner;

	if (tracefs_owner_parse(name, &owner, NULL) && !tracefs_owner_alive(s->kernel, &owner))
		sweep_journal(s, dir, name, NULL);
	return 0;
}

void tracefs_saved_each_stale(struct kernel *k, bool only_look,
			      void (*fn)(void *arg, const char *file, int error), void *arg)
{
	struct stale s = {k, only_look, fn, arg};

	each_journal(sweep_stale, &s);
}

/* ---- journals of what outlives its run ---- */

struct named {
	const char *prefix;
	int (*fn)(void *arg, const char *name, const struct saved_record *r, size_t count);
	void *arg;
};

static int read_named(void *arg, int dir, const char *name)
{
	const struct named *const n = arg;
	value_vector values = {0};
	char *text = NULL;
	int fd, rc = 0;

	if (!str_starts(name, n->prefix))
		return 0;
	fd = foreign_file(dir, name, O_RDONLY, NULL);
	if (fd < 0)
		return 0;
	if (read_journal(fd, &text, &values))
		rc = n->fn(n->arg, name, (const struct saved_record *)values.items, values.len);
	close(fd);
	vector_free(&values);
	free(text);
	return rc;
}

int tracefs_saved_each_named(const char *prefix,
			     int (*fn)(void *arg, const char *name, const struct saved_record *r,
				       size_t count),
			     void *arg)
{
	struct named n = {prefix, fn, arg};

	return each_journal(read_named, &n);
}

struct taking {
	struct stale stale;
	const char *name;
	struct due due;
	bool found;
	int err;
};

static int take_back_named(void *arg, int dir, const char *name)
{
	struct taking *const t = arg;

	if (!str_eq(name, t->name))
		return 0;
	t->found = true;
	t->err = sweep_journal(&t->stale, dir, name, &t->due);
	return 1;
}

int tracefs_saved_take_back(struct kernel *k, const char *name, const struct saved_record *record,
			    bool (*is_due)(void *arg, const struct saved_record *r, size_t count),
			    void (*fn)(void *arg, const char *file, int error), void *arg)
{
	struct taking t = {{k, false, fn, arg}, name, {record, is_due}};

	each_journal(take_back_named, &t);
	return t.found ? t.err : -ENOENT;
}
