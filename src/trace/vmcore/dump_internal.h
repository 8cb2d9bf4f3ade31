/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between dump.c and the formats of dumps. */
#ifndef PANTRACE_TRACE_VMCORE_DUMP_INTERNAL_H
#define PANTRACE_TRACE_VMCORE_DUMP_INTERNAL_H

#include "base/cursor.h"
#include "base/vector.h"
#include "trace/vmcore/dump.h"

/* ---- dump_file.c: the file, flattened or not ---- */

/* Bytes [at, at + size) of the dump stand at `from` of the file. */
struct dump_chunk {
	u64 at, size, from;
};

struct dump_file {
	int fd;
	u64 size; /* of the dump */
	bool is_flat;
	VECTOR(struct dump_chunk) chunks; /* is_flat: rising; what is between them is zeros */
};

/* 0 or -errno. */
int dump_file_open(struct dump_file *f, const char *path);
void dump_file_close(struct dump_file *f);
/* Exactly n bytes. 0, -EINVAL: beyond the end; -EIO. */
int dump_file_read(const struct dump_file *f, u64 at, void *to, size_t n);
/* The same, malloc'ed, with a NUL behind it. -EFBIG: more than `most`. */
int dump_file_copy(const struct dump_file *f, u64 at, u64 n, u64 most, char **ret);

/* ---- the formats ---- */

#define DUMP_INFO_MAX (1u << 20)

struct dump_format {
	bool (*recognise)(const u8 *head, size_t n);
	/* *ret: the format's own. ret_info: the text VMCOREINFO, malloc'ed; NULL = none. */
	int (*open)(const struct dump_file *f, void **ret, char **ret_info);
	int (*read)(void *own, const struct dump_file *f, u64 physical, void *to, size_t n);
	void (*close)(void *own);
};

extern const struct dump_format dump_elf, dump_kdump;

#endif
