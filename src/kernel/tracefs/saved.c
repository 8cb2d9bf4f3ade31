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
#include "kernel/tracefs/lasting_event.h"

struct saved_value {
	char *file, *value;
};

struct tracefs_saved {
	char *directory, *journal; /* paths */
	int fd; /* of the journal, O_APPEND */
	VECTOR(struct saved_value) values;
};

typedef VECTOR(struct saved_value) value_vector;

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

/* The journal of this process: its descriptor, and its path. */
static int create_journal(char **ret_path)
{
	const struct tracefs_owner self = tracefs_owner_self();
	char name[TRACEFS_OWNER_NAME];
	int err = -ENOENT;

	tracefs_owner_name(&self, '-', name);
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
		if (fd < 0)
			continue;
		*ret_path = xasprintf("%s/%s", places[i], name);
		return fd;
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

struct tracefs_saved *tracefs_saved_new(const char *directory)
{
	struct tracefs_saved *s = xzalloc(sizeof(*s));

	s->fd = create_journal(&s->journal);
	if (s->fd < 0) {
		errno = -s->fd;
		release(s);
		return NULL;
	}
	s->directory = xstrdup(directory);
	return s;
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

/* Writes a value back if the file's differs. */
static int put_back(const char *directory, const struct saved_value *v)
{
	char *now;
	int err;

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

int tracefs_saved_restore(struct tracefs_saved *s, char **ret_file)
{
	int result = 0;

	if (ret_file)
		*ret_file = NULL;
	for (size_t i = s->values.len; i-- > 0;) {
		const int err = put_back(s->directory, &s->values.items[i]);

		if (err && !result) {
			result = err;
			if (ret_file)
				*ret_file = xstrdup(s->values.items[i].file);
		}
	}
	unlink(s->journal);
	release(s);
	return result;
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

static void sweep_journal(const struct stale *s, int dir, const char *name)
{
	const int fd = foreign_file(dir, name, O_RDONLY, NULL);
	value_vector values = {0};
	char *text = NULL;
	size_t len = 0;

	if (fd < 0)
		return;
	/* Probe events are taken back while nobody adds any, who may choose their names anew. */
	if (!s->only_look && lasting_events_lock(s->kernel) == -EAGAIN) {
		close(fd);
		return;
	}
	if (is_ours(fd) && lock_journal(fd) && !file_read_fd(fd, (size_t)64 << 20, &text, &len))
		tracefs_journal_parse(text, len, value_take, &values);
	for (size_t i = values.len; i-- > 0;) {
		const struct saved_value *v = &values.items[i];
		const int err = s->only_look ? 0 : put_back(kernel_tracefs(s->kernel), v);

		s->fn(s->arg, lasting_event_is_note(v->file) ? v->value : v->file, -err);
	}
	if (!s->only_look && text)
		unlinkat(dir, name, 0);
	if (!s->only_look)
		lasting_events_unlock(s->kernel);
	close(fd);
	vector_free(&values);
	free(text);
}

void tracefs_saved_each_stale(struct kernel *k, bool only_look,
			      void (*fn)(void *arg, const char *file, int error), void *arg)
{
	const struct stale s = {k, only_look, fn, arg};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const int fd = open_place(places[i]);
		DIR *dir = fd < 0 ? NULL : fdopendir(fd);
		struct dirent *e;

		if (!dir) {
			if (fd >= 0)
				close(fd);
			continue;
		}
		while ((e = readdir(dir))) {
			struct tracefs_owner owner;

			if (tracefs_owner_parse(e->d_name, &owner, NULL) &&
			    !tracefs_owner_alive(k, &owner))
				sweep_journal(&s, dirfd(dir), e->d_name);
		}
		closedir(dir);
	}
}
