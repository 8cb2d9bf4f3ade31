/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files of a recording: one trace.dat, or with rotation a series (trace-000001.dat,
 * trace-000002.dat ...), each a complete recording. A thread packs a full file while the next one
 * is being written.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/ftrace/ftrace.h"

/* A full file. */
struct full_file {
	char *path;
	int directory; /* the run's descriptor of its directory */
	u64 events, size; /* size: of the file after packing */
	struct stat is; /* identity of the file that was written */
};

struct packing {
	pthread_t thread;
	bool runs;
	struct dat_writer *writer;
	const struct dat_contents *contents;
	struct full_file *file;
};

struct kernel_files {
	struct kernel_files_options options;
	struct dat_writer *writer;
	struct diag diag; /* of the packing thread */
	char *path; /* path of the current file */
	u32 number; /* 0 = no rotation */
	u64 began_ns;
	VECTOR(struct full_file *) full; /* those not removed */
	u64 pages, size; /* bytes of all full files; bytes of those that still exist */
	u64 read; /* events in full files, or removed with them */
	u64 removed_events;
	u32 removed;
	struct packing packing;
};

static bool rotates(const struct record_request *r)
{
	return r->rotate_bytes || r->rotate_ns;
}

/* "NAME-000001.dat" */
static char *numbered(const char *path, u32 number)
{
	const size_t tail = strlen(record_kernel.suffix), len = strlen(path);

	return number ? xasprintf("%.*s-%06u%s", (int)(len - tail), path, number,
				  record_kernel.suffix)
		      : xstrdup(path);
}

int kernel_file_open(const struct kernel_files_options *o, const char *path, struct diag *d,
		     struct dat_writer **ret)
{
	int err = dat_writer_open(path, &o->writer, d, ret);

	if (!err)
		err = dat_writer_begin(*ret, &o->state->contents);
	if (err && *ret) {
		dat_writer_abandon(*ret);
		*ret = NULL;
	}
	return err;
}

int kernel_files_open(const struct kernel_files_options *o, struct kernel_files **ret)
{
	struct kernel_files *f = xzalloc(sizeof(*f));
	int err;

	f->options = *o;
	f->number = rotates(o->run->request);
	f->path = numbered(o->path, f->number);
	f->began_ns = clock_now_ns(CLOCK_MONOTONIC);
	err = kernel_file_open(o, f->path, o->run->diag, &f->writer);
	if (err)
		kernel_files_close(f);
	else
		*ret = f;
	return err;
}

/* ---- a full file ---- */

static const char *name_of(const struct full_file *file)
{
	const char *const slash = strrchr(file->path, '/');

	return slash ? slash + 1 : file->path;
}

static void *pack(void *arg)
{
	struct packing *const p = arg;

	dat_writer_finish(p->writer, p->contents, &p->file->size);
	if (fstatat(p->file->directory, name_of(p->file), &p->file->is, AT_SYMLINK_NOFOLLOW))
		p->file->is = (struct stat){0};
	return NULL;
}

void kernel_files_settle(struct kernel_files *f)
{
	if (!f->packing.runs)
		return;
	pthread_join(f->packing.thread, NULL);
	f->packing.runs = false;
	diag_tell(&f->diag);
	f->size += f->packing.file->size;
}

/* Packs in a thread, or at once if no thread can be made. */
static void packing_begin(struct kernel_files *f, struct dat_writer *w, struct full_file *file)
{
	struct packing *const p = &f->packing;
	sigset_t all, old;

	*p = (struct packing){
		.writer = w, .contents = &f->options.state->contents, .file = file, .runs = true};
	dat_writer_set_diag(w, &f->diag);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&p->thread, NULL, pack, p)) {
		p->runs = false;
		pack(p);
		f->size += file->size;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Removes the file only if it is still the one that was written. */
static void remove_file(struct full_file *file)
{
	struct stat there;

	if (!fstatat(file->directory, name_of(file), &there, AT_SYMLINK_NOFOLLOW) &&
	    there.st_ino == file->is.st_ino && there.st_dev == file->is.st_dev)
		unlinkat(file->directory, name_of(file), 0);
}

static void full_free(struct full_file *file)
{
	free(file->path);
	free(file);
}

/* --keep: this many files, including the current one. */
static void remove_old(struct kernel_files *f)
{
	const u64 keep = f->options.run->request->keep;

	while (keep && f->full.len >= keep) {
		struct full_file *const oldest = f->full.items[0];

		if (f->packing.file == oldest)
			kernel_files_settle(f);
		remove_file(oldest);
		f->removed_events += oldest->events;
		f->removed++;
		f->size -= oldest->size;
		full_free(oldest);
		memmove(f->full.items, f->full.items + 1, --f->full.len * sizeof(*f->full.items));
	}
}

bool kernel_files_are_due(const struct kernel_files *f)
{
	const struct record_request *const r = f->options.run->request;

	if (!f->number)
		return false;
	return f->options.run->rotate ||
	       (r->rotate_bytes && dat_writer_bytes(f->writer) >= r->rotate_bytes) ||
	       (r->rotate_ns && clock_now_ns(CLOCK_MONOTONIC) - f->began_ns >= r->rotate_ns);
}

int kernel_files_rotate(struct kernel_files *f, struct kernel_pages *pages)
{
	struct record_run *const run = f->options.run;
	struct full_file *file;
	struct dat_writer *next, *const before = f->writer;
	char *path = numbered(f->options.path, f->number + 1);
	int err;

	kernel_files_settle(f); /* opening reads the names of tasks from the state */
	err = kernel_file_open(&f->options, path, run->diag, &next);
	if (err) {
		free(path);
		return err;
	}
	file = xzalloc(sizeof(*file));
	kernel_pages_hold(pages);
	file->events = f->options.kept(f->options.arg) - f->read;
	kernel_pages_go_on(pages, next);
	f->read += file->events;
	file->path = f->path;
	file->directory = f->options.writer.directory;
	f->pages += dat_writer_bytes(before);
	f->path = path;
	f->number++;
	f->writer = next;
	f->began_ns = clock_now_ns(CLOCK_MONOTONIC);
	vector_push(&f->full, file);
	kernel_state_tasks(f->options.state, run->kernel);
	packing_begin(f, before, file);
	remove_old(f);
	return 0;
}

/* ---- all of them ---- */

struct dat_writer *kernel_files_writer(const struct kernel_files *f)
{
	return f->writer;
}

u64 kernel_files_pages(const struct kernel_files *f)
{
	return f->pages + (f->writer ? dat_writer_bytes(f->writer) : 0);
}

void kernel_files_finish(struct kernel_files *f)
{
	u64 size;

	kernel_files_settle(f);
	dat_writer_finish(f->writer, &f->options.state->contents, &size);
	f->writer = NULL;
	f->size += size;
}

void kernel_files_say(const struct kernel_files *f, u64 kept)
{
	fprintf(stderr, "%" PRIu64 " event%s of the kernel, %" PRIu64 " bytes, in ",
		kept - f->removed_events, plural(kept - f->removed_events), f->size);
	if (f->full.len)
		fprintf(stderr, "%s to ", f->full.items[0]->path);
	fprintf(stderr, "%s; ", f->path);
	if (f->removed)
		fprintf(stderr, "%" PRIu64 " in %u older files that are removed (--keep); ",
			f->removed_events, f->removed);
}

void kernel_files_close(struct kernel_files *f)
{
	if (!f)
		return;
	kernel_files_settle(f);
	dat_writer_abandon(f->writer);
	for (size_t i = 0; i < f->full.len; i++)
		full_free(f->full.items[i]);
	vector_free(&f->full);
	diag_release(&f->diag);
	free(f->path);
	free(f);
}
