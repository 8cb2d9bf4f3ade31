/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a trace.dat that can be read at any time while it grows: by trace-cmd, by us, and after
 * the recorder was killed.
 *
 * It begins with everything but the pages. Each CPU then has a range of its own in the file, at the
 * beginning of which its pages go, compressed or as they are; the ranges are as long as the disk
 * has room, so the file is sparse. How much of a range is used stands in the file's head (v7: the
 * option BUFFER; v6: "flyrecord") and is written there after each addition. At the end the ranges
 * are copied into a file without holes, which takes the place of the first.
 *
 *	dat_writer_open(path, &options, d, &w);
 *	dat_writer_begin(w, &contents);
 *	... dat_writer_add(w, i, pages, n) ...
 *	dat_writer_finish(w, &contents);	with the names that tasks have now
 *
 * A file that nobody reads before it is whole has no name, and is packed into another:
 *
 *	options.is_unnamed; ... dat_writer_pack(w, &contents, fd, &size); dat_writer_abandon(w)
 *
 * Where nothing is compressed, pages can go into the file without passing through this process:
 * by splice(2) to dat_writer_fd(w) at dat_writer_place(w, i), then dat_writer_grown(w, i, n).
 */
#ifndef PANTRACE_TRACE_DAT_WRITER_H
#define PANTRACE_TRACE_DAT_WRITER_H

#include "base/diag.h"
#include "base/recording_file.h"
#include "base/strbuf.h"

struct dat_writer;

enum dat_part {
	DAT_HEADERS, /* header_page and header_event */
	DAT_FTRACE_FORMATS,
	DAT_EVENT_FORMATS,
	DAT_SYMBOLS,
	DAT_STRINGS, /* printk_formats */
	DAT_TASKS, /* saved_cmdlines */
	DAT_PARTS,
};

/* What the file says besides its pages. Filled in by the functions below. */
struct dat_contents {
	struct strbuf parts[DAT_PARTS]; /* as they stand in the file, of both versions */
	const char *clocks; /* "local [mono]" */
	const char *clock; /* "mono" */
	const char *uname, *version;
	const char *const *stats; /* texts of per_cpu/cpuN/stats; NULL = none yet */
	u32 stats_count;
	u32 page_size; /* of its ring's sub-buffers, for whoever writes its events; 0 = 4096 */
	/* further options of another file as they stand there: {u16 id, u32 size, data}* */
	struct strbuf options;
};

void dat_contents_init(struct dat_contents *c);
void dat_contents_release(struct dat_contents *c); /* its parts and options */

void dat_contents_headers(struct dat_contents *c, const char *page, const char *event);
void dat_contents_symbols(struct dat_contents *c, const char *text, size_t len);
void dat_contents_strings(struct dat_contents *c, const char *text, size_t len);
void dat_contents_tasks(struct dat_contents *c, const char *text, size_t len);
/* At .time of this machine's clock, .offset_ns was to be added for that of another. */
struct dat_shift {
	u64 time;
	s64 offset_ns;
};
/* How its times stand to those of a host, for trace-cmd, which adds it to all of them. */
void dat_contents_shifts(struct dat_contents *c, u32 cpus, const struct dat_shift *all, u32 count);
/* Headers of a ring whose pages have this size and are laid out as in every 64-bit kernel. */
void dat_contents_usual_headers(struct dat_contents *c, u32 page_size);
#define KERNEL_OWN_EVENTS "ftrace" /* the system of those that ftrace itself writes */
struct dat_format {
	const char *system;
	u32 id;
	const char *text;
	size_t len;
};
/* The formats of all events, which are sorted by system and id. */
void dat_contents_formats(struct dat_contents *c, struct dat_format *all, size_t n);
/* Formats of a system's events, which text is added to; see dat_formats_end(). */
struct dat_formats {
	struct strbuf *out;
	size_t count_at;
	u32 count;
};
/* system: NULL = ftrace's own records, which have no name before them. */
struct dat_formats dat_formats_begin(struct strbuf *out, const char *system);
void dat_formats_add(struct dat_formats *f, const char *text, size_t len);
void dat_formats_end(struct dat_formats *f);

/* A buffer of the file. */
struct dat_instance {
	const char *name, *clock; /* name: "" = the kernel's own */
	u32 page_size;
	u32 cpu_count; /* of .cpus, behind those of the instances before */
};

struct dat_writer_options {
	u32 version; /* 6 or 7 */
	bool compress; /* zstd; of version 6 nothing is */
	u32 page_size; /* of the ring buffer's sub-buffers; of instances the largest */
	const u32 *cpus; /* rising */
	u32 cpu_count;
	const struct dat_instance *instances; /* version 7; NULL = one, with the contents' clock */
	u32 instance_count;
	u64 most_bytes; /* of all CPUs; 0 = as much as the disk has */
	/* Descriptor: the file is made there, under the last name of PATH; 0 = where PATH says. */
	int directory;
	bool is_unnamed; /* in .directory, for dat_writer_pack() */
	struct recording_carrier *carrier; /* the file is made by it; NULL = here */
	bool is_text; /* see dat_text_write() */
};

/*
 * Makes a whole file that has the text of a latency trace and no pages
 * (trace/ftrace/latency_trace.h). *ret_size: of the file. 0 or -errno with a diagnostic.
 */
int dat_text_write(const char *path, const struct dat_writer_options *o,
		   const struct dat_contents *c, const struct strbuf *text, struct diag *d,
		   u64 *ret_size);

/* The file is made, or emptied. Diagnostics name it. 0 or -errno. */
int dat_writer_open(const char *path, const struct dat_writer_options *o, struct diag *d,
		    struct dat_writer **ret);
int dat_writer_begin(struct dat_writer *w, const struct dat_contents *c);
#define DAT_CHUNK_PAGES 10 /* compressed at once, as trace-cmd does; they fit into the L2 cache */
/*
 * Appends whole pages of the CPU, at most DAT_CHUNK_PAGES if they are compressed. i: index of
 * .cpus. Returns 0, or -errno: then the file has nothing of them. May be called by a thread for
 * each CPU.
 */
int dat_writer_add(struct dat_writer *w, u32 i, const void *pages, size_t n);
int dat_writer_fd(const struct dat_writer *w);
/* What was written at a place. 0 or -errno. May be called by threads. */
int dat_writer_read(const struct dat_writer *w, u64 at, void *to, size_t n);
/* Where the next page of the CPU goes, and how much more there is room for. */
u64 dat_writer_place(const struct dat_writer *w, u32 i, u64 *ret_room);
/* So many bytes were written there: whole pages. May be called by a thread for each CPU. */
void dat_writer_grown(struct dat_writer *w, u32 i, u64 bytes);
u64 dat_writer_bytes(const struct dat_writer *w); /* of pages, as they stand in the file */
/*
 * Packs the file. If that fails it stays as it is, whole and readable, and the diag has a warning.
 * *ret_size: of the file. Frees w.
 */
void dat_writer_finish(struct dat_writer *w, const struct dat_contents *c, u64 *ret_size);
/* CPUs without pages are no longer of the file, but for one. No pages are added then. */
void dat_writer_drop_empty(struct dat_writer *w);
/* Writes the packed file to fd, which is empty. 0 or -errno. w stays. */
int dat_writer_pack(struct dat_writer *w, const struct dat_contents *c, int fd, u64 *ret_size);
/* Later diagnostics go there: where it is finished in a thread of its own. */
void dat_writer_set_diag(struct dat_writer *w, struct diag *d);
/* After an error: removes the file if nothing is in it. Frees w. NULL is fine. */
void dat_writer_abandon(struct dat_writer *w);
/* Removes the file, and gives an older one its name back. Frees w. NULL is fine. */
void dat_writer_discard(struct dat_writer *w);

#endif
