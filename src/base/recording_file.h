/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a recording, which cannot be made again: an older one of its name is not written
 * over. It becomes NAME.old, as perf has it, and replaces the NAME.old that was there before.
 *
 * Everything happens in the directory that was there when it was opened: who may rename what is
 * above it cannot lead us elsewhere.
 */
#ifndef PANTRACE_BASE_RECORDING_FILE_H
#define PANTRACE_BASE_RECORDING_FILE_H

#include "base/base.h"

/*
 * Who carries a recording to another machine. All calls may come from any thread, and wait while
 * the way is full. They return 0 or -errno.
 */
struct recording_carrier {
	/* Makes a file, whose name may have plain directories before it: "app-12/metadata" */
	int (*open)(struct recording_carrier *c, const char *name, u32 *ret_number);
	int (*write)(struct recording_carrier *c, u32 number, const void *data, size_t n, u64 at);
	/* The far end takes the holes out of a trace.dat; plan: struct dat_pack_plan */
	int (*pack)(struct recording_carrier *c, u32 number, const void *plan, size_t n);
	void (*begun)(struct recording_carrier *c); /* everything is on */
	/* So many events are lost, and of so many sources nobody can tell. */
	void (*ended)(struct recording_carrier *c, u64 lost, u64 uncounted);
};

struct recording_file {
	int fd; /* -1 = none */
	int directory;
	char *name; /* in the directory */
	bool has_older; /* which is NAME.old */
	struct recording_carrier *carrier; /* NULL: it is written here */
	u32 number; /* of the carrier */
};

#define RECORDING_FILE_NONE               \
	{                                 \
		.fd = -1, .directory = -1 \
	}

/* The directory of PATH, for a series of files: a descriptor or -errno. */
int recording_file_directory(const char *path);
/*
 * Opens PATH for writing, empty, by the rules of foreign_create(), and locked. An empty older one
 * is simply used. within: the file is made there, under the last name of PATH; -1 = where PATH
 * says. 0 or -errno: -EBUSY while another process writes it, -EEXIST if NAME.old is not a file of
 * ours, -ESPIPE: a FIFO.
 */
int recording_file_open(struct recording_file *ret, int within, const char *path, mode_t mode);
/* A file on the carrier's other machine. 0 or -errno. */
int recording_file_open_carried(struct recording_file *ret, struct recording_carrier *c,
				const char *name);
/* Writes all of it at a place of the file. 0 or -errno. May be called by several threads. */
int recording_file_write(const struct recording_file *f, const void *data, size_t n, u64 at);
/*
 * A recording that did not begin: removes the file, if it still has its name, and gives the older
 * one its name back. To be closed all the same.
 */
void recording_file_undo(struct recording_file *f);
void recording_file_close(struct recording_file *f);
/* What a person reads about an error of recording_file_open(). */
const char *recording_file_why(int err);

#endif
