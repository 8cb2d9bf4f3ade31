/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/writer.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/foreign.h"
#include "trace/dat/internal.h"

#define CHUNK_PAGES  10 /* that trace-cmd packs at once */
#define LEVEL	     1 /* of zstd: 1.2 GB/s, and hardly larger than at level 3 */
#define LEAST_REGION ((u64)1 << 20)
#define SECTION_HEAD 16
#define FILE_ALIGN   4096u
#define COMPRESSED   1 /* a section's flag */
#define PAGES_NAME   "buffer flyrecord " /* of the section with the pages, for people */

struct cpu_place {
	u32 cpu;
	u64 begin, used;
	u64 slot; /* where the file says {offset, size} */
};

struct dat_writer {
	char *path;
	int fd, reader; /* reader: the same file */
	struct diag *diag;
	struct dat_writer_options options;
	struct cpu_place *cpus;
	u64 region; /* the room of each */
};

/* ---- parts ---- */

static void put16(struct strbuf *out, u16 v)
{
	strbuf_add(out, &v, sizeof(v));
}

static void put32(struct strbuf *out, u32 v)
{
	strbuf_add(out, &v, sizeof(v));
}

static void put64(struct strbuf *out, u64 v)
{
	strbuf_add(out, &v, sizeof(v));
}

static void put_string(struct strbuf *out, const char *s)
{
	strbuf_add(out, s, strlen(s) + 1);
}

static void put_text64(struct strbuf *out, const char *text, size_t len)
{
	put64(out, len);
	strbuf_add(out, text, len);
}

void dat_contents_headers(struct dat_contents *c, const char *page, const char *event)
{
	struct strbuf *out = &c->parts[DAT_HEADERS];

	strbuf_reset(out);
	put_string(out, "header_page");
	put_text64(out, page, strlen(page));
	put_string(out, "header_event");
	put_text64(out, event, strlen(event));
}

/* trace-cmd counts a NUL behind these texts. */
static void put_part32(struct strbuf *out, const char *text, size_t len)
{
	strbuf_reset(out);
	put32(out, (u32)len + 1);
	strbuf_add(out, text, len);
	strbuf_addch(out, '\0');
}

void dat_contents_symbols(struct dat_contents *c, const char *text, size_t len)
{
	put_part32(&c->parts[DAT_SYMBOLS], text, MIN(len, (size_t)UINT32_MAX - 1));
}

void dat_contents_strings(struct dat_contents *c, const char *text, size_t len)
{
	put_part32(&c->parts[DAT_STRINGS], text, MIN(len, (size_t)UINT32_MAX - 1));
}

void dat_contents_tasks(struct dat_contents *c, const char *text, size_t len)
{
	strbuf_reset(&c->parts[DAT_TASKS]);
	put_text64(&c->parts[DAT_TASKS], text, len);
}

struct dat_formats dat_formats_begin(struct strbuf *out, const char *system)
{
	struct dat_formats f = {.out = out};

	if (system)
		put_string(out, system);
	f.count_at = out->len;
	put32(out, 0);
	return f;
}

void dat_formats_add(struct dat_formats *f, const char *text, size_t len)
{
	put_text64(f->out, text, len);
	f->count++;
}

void dat_formats_end(struct dat_formats *f)
{
	memcpy(f->out->data + f->count_at, &f->count, sizeof(f->count));
}

/* ---- the head of a file: all but the pages ---- */

/* In the order of enum dat_part. */
static const struct {
	u16 id;
	const char *name;
} part_rows[DAT_PARTS] = {
	{OPTION_HEADER_INFO, "headers"},
	{OPTION_FTRACE_EVENTS, "ftrace events"},
	{OPTION_EVENT_FORMATS, "events format"},
	{OPTION_KALLSYMS, "kallsyms"},
	{OPTION_PRINTK, "printk"},
	{OPTION_CMDLINES, "command lines"},
};

struct head {
	struct strbuf out, names; /* names: of sections */
	u64 slots; /* of the first CPU */
	u64 buffer; /* where the section with the pages begins; v6: no section */
};

static void put_magic(struct strbuf *out, const char *version, u32 page_size)
{
	static const u8 magic[] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};

	strbuf_add(out, magic, sizeof(magic));
	put_string(out, version);
	strbuf_addch(out, 0); /* little endian */
	strbuf_addch(out, 8); /* bytes of a long */
	put32(out, page_size);
}

static void put_option(struct strbuf *out, u16 id, const void *data, size_t size)
{
	put16(out, id);
	put32(out, (u32)size);
	strbuf_add(out, data, size);
}

static void put_text_option(struct strbuf *out, u16 id, const char *text)
{
	if (text)
		put_option(out, id, text, strlen(text) + 1);
}

/* Options that are the same in both versions. */
static void put_options(const struct dat_writer *w, const struct dat_contents *c,
			struct strbuf *out)
{
	const u32 cpus = w->options.cpus[w->options.cpu_count - 1] + 1;

	put_text_option(out, OPTION_TRACECLOCK, c->clocks);
	put_text_option(out, OPTION_UNAME, c->uname);
	put_text_option(out, OPTION_VERSION, c->version);
	for (u32 i = 0; i < c->stats_count; i++)
		put_text_option(out, OPTION_CPUSTAT, c->stats[i]);
	put_option(out, OPTION_CPUCOUNT, &cpus, sizeof(cpus));
}

/* Version 6 has a slot for each CPU up to the last one. */
static void head_v6(const struct dat_writer *w, const struct dat_contents *c, struct head *h)
{
	const u32 cpus = w->options.cpus[w->options.cpu_count - 1] + 1;
	u32 i = 0;

	put_magic(&h->out, "6", w->options.page_size);
	for (u32 p = 0; p < DAT_PARTS; p++)
		strbuf_add(&h->out, c->parts[p].data, c->parts[p].len);
	put32(&h->out, cpus);
	strbuf_add(&h->out, "options  ", 10);
	put_options(w, c, &h->out);
	put16(&h->out, OPTION_DONE);
	strbuf_add(&h->out, "flyrecord", 10);
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		if (w->options.cpus[i] == cpu)
			w->cpus[i++].slot = h->out.len;
		put64(&h->out, 0);
		put64(&h->out, 0);
	}
	h->buffer = h->out.len;
}

/* Where a name stands among those of all sections, which are there before the first one. */
static u32 name_at(const struct head *h, const char *name)
{
	u32 at = 0;

	while (at < h->names.len && !str_eq(h->names.data + at, name))
		at += (u32)strlen(h->names.data + at) + 1;
	return at;
}

/* The head of a section; *ret_size_at is where its size stands. Returns where it begins. */
static u64 put_section(struct head *h, u16 id, bool compressed, const char *name, u64 *ret_size_at)
{
	const u64 at = h->out.len;

	put16(&h->out, id);
	put16(&h->out, compressed ? COMPRESSED : 0);
	put32(&h->out, name_at(h, name));
	*ret_size_at = h->out.len;
	put64(&h->out, 0);
	return at;
}

static void section_end(struct head *h, u64 size_at)
{
	const u64 size = h->out.len - size_at - sizeof(u64);

	memcpy(h->out.data + size_at, &size, sizeof(size));
}

/* A section of this text; packed only if that makes it smaller. */
static u64 put_text_section(struct head *h, u16 id, bool compress, const char *name,
			    const struct strbuf *text)
{
	const size_t bound = ZSTD_compressBound(text->len);
	u64 at, size_at;
	char *packed;
	size_t n;

	if (!compress) {
		at = put_section(h, id, false, name, &size_at);
		strbuf_add(&h->out, text->data, text->len);
		section_end(h, size_at);
		return at;
	}
	packed = xmalloc(bound);
	n = ZSTD_compress(packed, bound, text->data, text->len, LEVEL);
	at = put_section(h, id, true, name, &size_at);
	put32(&h->out, (u32)n);
	put32(&h->out, (u32)text->len);
	strbuf_add(&h->out, packed, n);
	section_end(h, size_at);
	free(packed);
	return at;
}

static void head_v7(struct dat_writer *w, const struct dat_contents *c, bool compress,
		    struct head *h)
{
	const u32 count = w->options.cpu_count;
	u64 parts[DAT_PARTS], options_at, size_at, section, begin;
	const u64 none = 0;

	for (u32 p = 0; p < DAT_PARTS; p++)
		put_string(&h->names, part_rows[p].name);
	put_string(&h->names, "options");
	put_string(&h->names, "strings");
	put_string(&h->names, PAGES_NAME);
	put_magic(&h->out, "7", w->options.page_size);
	put_string(&h->out, compress ? "zstd" : "none");
	put_string(&h->out, compress ? ZSTD_versionString() : "");
	options_at = h->out.len;
	put64(&h->out, 0);
	for (u32 p = 0; p < DAT_PARTS; p++)
		parts[p] = put_text_section(h, part_rows[p].id, compress, part_rows[p].name,
					    &c->parts[p]);
	section = put_section(h, OPTION_DONE, false, "options", &size_at);
	memcpy(h->out.data + options_at, &section, sizeof(section));
	for (u32 p = 0; p < DAT_PARTS; p++)
		put_option(&h->out, part_rows[p].id, &parts[p], sizeof(parts[p]));
	put_options(w, c, &h->out);
	/* {u64 section, name, clock, u32 page size, u32 CPUs, {u32 cpu, u64 offset, u64 size}*} */
	put16(&h->out, OPTION_BUFFER);
	put32(&h->out, (u32)(8 + 1 + strlen(c->clock) + 1 + 4 + 4 + 20 * count));
	begin = h->out.len;
	put64(&h->out, 0);
	put_string(&h->out, "");
	put_string(&h->out, c->clock);
	put32(&h->out, w->options.page_size);
	put32(&h->out, count);
	for (u32 i = 0; i < count; i++) {
		put32(&h->out, w->options.cpus[i]);
		w->cpus[i].slot = h->out.len;
		put64(&h->out, 0);
		put64(&h->out, 0);
	}
	put_option(&h->out, OPTION_DONE, &none, sizeof(none));
	section_end(h, size_at);
	put_text_section(h, OPTION_STRINGS, compress, "strings", &h->names);
	h->buffer = put_section(h, OPTION_BUFFER, compress, PAGES_NAME, &size_at);
	memcpy(h->out.data + begin, &h->buffer, sizeof(h->buffer));
}

static struct head make_head(struct dat_writer *w, const struct dat_contents *c, bool compress)
{
	struct head h = {.out = STRBUF_INIT, .names = STRBUF_INIT};

	if (w->options.version == 6)
		head_v6(w, c, &h);
	else
		head_v7(w, c, compress, &h);
	return h;
}

static void release_head(struct head *h)
{
	strbuf_release(&h->out);
	strbuf_release(&h->names);
}

/* ---- while it is recorded ---- */

static int pwrite_all(int fd, const void *data, size_t len, u64 at)
{
	for (size_t done = 0; done < len;) {
		const ssize_t n =
			pwrite(fd, (const u8 *)data + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

static int refuse(struct dat_writer *w, int err)
{
	diag_error(w->diag, NO_SPAN, "cannot write '%s': %s", w->path, strerror(-err));
	return err;
}

int dat_writer_open(const char *path, const struct dat_writer_options *o, struct diag *d,
		    struct dat_writer **ret)
{
	struct dat_writer *w = xzalloc(sizeof(*w));
	struct stat st;
	char self[40];
	int err = 0;

	w->reader = -1;
	w->path = xstrdup(path);
	w->diag = d;
	w->options = *o;
	w->cpus = xzalloc(o->cpu_count * sizeof(*w->cpus));
	for (u32 i = 0; i < o->cpu_count; i++)
		w->cpus[i].cpu = o->cpus[i];
	w->options.cpus = NULL;
	w->fd = foreign_create(path, 0600);
	if (w->fd < 0)
		err = refuse(w, w->fd);
	else if (!fstat(w->fd, &st) && !S_ISREG(st.st_mode)) {
		diag_error(d, NO_SPAN,
			   "'%s' is no regular file: a trace.dat is written at several places at "
			   "once",
			   path);
		close(w->fd);
		w->fd = -1;
		err = -EINVAL;
	}
	if (!err) {
		snprintf(self, sizeof(self), "/proc/self/fd/%d", w->fd);
		w->reader = open(self, O_RDONLY | O_CLOEXEC);
		err = w->reader < 0 ? refuse(w, -errno) : 0;
	}
	if (!err) {
		u32 *cpus = xreallocarray(NULL, o->cpu_count, sizeof(*cpus));

		memcpy(cpus, o->cpus, o->cpu_count * sizeof(*cpus));
		w->options.cpus = cpus;
		*ret = w;
		return 0;
	}
	dat_writer_abandon(w);
	return err;
}

/*
 * The longest ranges that the disk, the limit of this process and the file system allow: what no
 * CPU could fill does not need to be in it.
 */
static int choose_region(struct dat_writer *w, u64 begin)
{
	const u32 count = w->options.cpu_count;
	const u64 page = w->options.page_size, most = w->options.most_bytes;
	struct statvfs fs;
	struct rlimit limit;
	u64 region = (u64)1 << 40;

	if (!fstatvfs(w->fd, &fs))
		region = (u64)fs.f_bavail * fs.f_frsize;
	if (most) /* it is looked at now and then only */
		region = MIN(region, 2 * most + ((u64)64 << 20));
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		region = MIN(region, limit.rlim_cur > begin ? (limit.rlim_cur - begin) / count : 0);
	region = MAX(region, LEAST_REGION);
	region = ALIGN_UP(region, page);
	while (ftruncate(w->fd, (off_t)(begin + region * count))) {
		if (errno != EFBIG || region <= 2 * LEAST_REGION)
			return -errno;
		region = ALIGN_UP(region / 2, page);
	}
	w->region = region;
	return ftruncate(w->fd, (off_t)begin) ? -errno : 0;
}

/* What a slot says. */
static int write_slot(const struct dat_writer *w, int fd, u32 i, u64 offset, u64 size)
{
	const u64 slot[2] = {offset, size};

	return pwrite_all(fd, slot, sizeof(slot), w->cpus[i].slot);
}

int dat_writer_begin(struct dat_writer *w, const struct dat_contents *c)
{
	const u32 align = MAX(FILE_ALIGN, w->options.page_size);
	struct head h = make_head(w, c, false);
	const u64 begin = ALIGN_UP(h.out.len, (size_t)align);
	u64 size = begin - h.out.len;
	int err = choose_region(w, begin);

	/* of the section with the pages: as far as it may come */
	size += w->region * w->options.cpu_count;
	if (w->options.version == 7)
		memcpy(h.out.data + h.buffer + SECTION_HEAD - sizeof(size), &size, sizeof(size));
	if (!err)
		err = pwrite_all(w->fd, h.out.data, h.out.len, 0);
	for (u32 i = 0; i < w->options.cpu_count && !err; i++) {
		w->cpus[i].begin = begin + i * w->region;
		err = write_slot(w, w->fd, i, w->cpus[i].begin, 0);
	}
	release_head(&h);
	return err ? refuse(w, err) : 0;
}

int dat_writer_fd(const struct dat_writer *w)
{
	return w->fd;
}

int dat_writer_read(const struct dat_writer *w, u64 at, void *to, size_t n)
{
	for (size_t done = 0; done < n;) {
		const ssize_t got = pread(w->reader, (u8 *)to + done, n - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EIO;
		done += (size_t)got;
	}
	return 0;
}

u64 dat_writer_place(const struct dat_writer *w, u32 i, u64 *ret_room)
{
	*ret_room = w->region - w->cpus[i].used;
	return w->cpus[i].begin + w->cpus[i].used;
}

void dat_writer_grown(struct dat_writer *w, u32 i, u64 bytes)
{
	const u64 used = w->cpus[i].used + bytes;

	__atomic_store_n(&w->cpus[i].used, used, __ATOMIC_RELAXED);
	write_slot(w, w->fd, i, w->cpus[i].begin, used);
}

u64 dat_writer_bytes(const struct dat_writer *w)
{
	u64 sum = 0;

	for (u32 i = 0; i < w->options.cpu_count; i++)
		sum += __atomic_load_n(&w->cpus[i].used, __ATOMIC_RELAXED);
	return sum;
}

/* ---- packed ---- */

/* The new file, which has no name yet where the file system can do that. */
struct packing {
	struct dat_writer *w;
	int to, directory;
	char *name; /* in the directory; NULL = it has none */
	u64 at;
	ZSTD_CCtx *zstd;
	u8 *pages, *packed;
};

static int packing_open(struct packing *p)
{
	char *copy = xstrdup(p->w->path);
	int err = 0;

	p->directory = open(dirname(copy), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	free(copy);
	if (p->directory < 0)
		return -errno;
	p->to = openat(p->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (p->to >= 0)
		return 0;
	p->name = xasprintf(".pantrace-%d.dat", (int)getpid());
	p->to = openat(p->directory, p->name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC,
		       0600);
	if (p->to < 0) {
		err = -errno;
		free(p->name);
		p->name = NULL;
	}
	return err;
}

/* It takes the place of the first file. */
static int packing_rename(struct packing *p)
{
	char *copy = xstrdup(p->w->path), self[40];
	int err = 0;

	if (!p->name) {
		p->name = xasprintf(".pantrace-%d.dat", (int)getpid());
		snprintf(self, sizeof(self), "/proc/self/fd/%d", p->to);
		if (linkat(AT_FDCWD, self, p->directory, p->name, AT_SYMLINK_FOLLOW)) {
			err = -errno;
			free(p->name);
			p->name = NULL;
		}
	}
	if (!err && renameat(p->directory, p->name, p->directory, basename(copy)))
		err = -errno;
	if (!err) {
		free(p->name);
		p->name = NULL;
	}
	free(copy);
	return err;
}

static void packing_close(struct packing *p)
{
	if (p->name)
		unlinkat(p->directory, p->name, 0);
	free(p->name);
	if (p->to >= 0)
		close(p->to);
	if (p->directory >= 0)
		close(p->directory);
	ZSTD_freeCCtx(p->zstd);
	free(p->pages);
	free(p->packed);
}

/* u32 chunks, then {u32 packed, u32 unpacked, data}*: the size in the slot is without the first. */
static int pack_compressed(struct packing *p, u32 i)
{
	const struct cpu_place *cpu = &p->w->cpus[i];
	const size_t chunk = (size_t)p->w->options.page_size * CHUNK_PAGES,
		     bound = ZSTD_compressBound(chunk);
	const u32 chunks = (u32)((cpu->used + chunk - 1) / chunk);
	const u64 begin = p->at;
	int err = pwrite_all(p->to, &chunks, sizeof(chunks), p->at);

	p->at += sizeof(chunks);
	for (u64 done = 0; done < cpu->used && !err; done += chunk) {
		const size_t n = MIN(cpu->used - done, (u64)chunk);
		u32 sizes[2] = {0, (u32)n};
		size_t packed;

		err = dat_writer_read(p->w, cpu->begin + done, p->pages, n);
		if (err)
			break;
		packed = ZSTD_compressCCtx(p->zstd, p->packed + sizeof(sizes), bound, p->pages, n,
					   LEVEL);
		if (ZSTD_isError(packed))
			return -EIO;
		sizes[0] = (u32)packed;
		memcpy(p->packed, sizes, sizeof(sizes));
		err = pwrite_all(p->to, p->packed, packed + sizeof(sizes), p->at);
		p->at += packed + sizeof(sizes);
	}
	return err ? err : write_slot(p->w, p->to, i, begin, p->at - begin - sizeof(chunks));
}

static int pack_plain(struct packing *p, u32 i)
{
	const struct cpu_place *cpu = &p->w->cpus[i];
	const size_t chunk = (size_t)p->w->options.page_size * CHUNK_PAGES;
	const u64 begin = p->at;
	int err = 0;

	for (u64 done = 0; done < cpu->used && !err;) {
		off_t in = (off_t)(cpu->begin + done), out = (off_t)p->at;
		ssize_t n = copy_file_range(p->w->reader, &in, p->to, &out, cpu->used - done, 0);

		if (n <= 0) { /* not everywhere */
			n = (ssize_t)MIN(cpu->used - done, (u64)chunk);
			err = dat_writer_read(p->w, cpu->begin + done, p->pages, (size_t)n);
			if (!err)
				err = pwrite_all(p->to, p->pages, (size_t)n, p->at);
		}
		done += (u64)n;
		p->at += (u64)n;
	}
	return err ? err : write_slot(p->w, p->to, i, begin, cpu->used);
}

static int pack(struct packing *p, const struct dat_contents *c, bool compress)
{
	const u32 align = MAX(FILE_ALIGN, p->w->options.page_size);
	const size_t chunk = (size_t)p->w->options.page_size * CHUNK_PAGES;
	struct head h = make_head(p->w, c, compress);
	u64 size;
	int err = pwrite_all(p->to, h.out.data, h.out.len, 0);

	p->at = ALIGN_UP(h.out.len, (size_t)align);
	p->pages = xmalloc(chunk);
	p->packed = xmalloc(ZSTD_compressBound(chunk) + 2 * sizeof(u32));
	p->zstd = ZSTD_createCCtx();
	for (u32 i = 0; i < p->w->options.cpu_count && !err; i++) {
		/* no data, no chunks */
		if (p->w->cpus[i].used)
			err = (compress ? pack_compressed : pack_plain)(p, i);
		else
			err = write_slot(p->w, p->to, i, p->at, 0);
	}
	size = p->at - h.buffer - SECTION_HEAD;
	if (!err && p->w->options.version == 7)
		err = pwrite_all(p->to, &size, sizeof(size),
				 h.buffer + SECTION_HEAD - sizeof(size));
	if (!err && ftruncate(p->to, (off_t)p->at)) /* without a page, its end is not written yet */
		err = -errno;
	release_head(&h);
	return err;
}

static void release(struct dat_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->reader >= 0)
		close(w->reader);
	free((void *)w->options.cpus);
	free(w->cpus);
	free(w->path);
	free(w);
}

void dat_writer_finish(struct dat_writer *w, const struct dat_contents *c, u64 *ret_size)
{
	struct packing p = {.w = w, .to = -1, .directory = -1};
	struct stat st;
	int err = packing_open(&p);

	if (!err)
		err = pack(&p, c, w->options.compress && w->options.version == 7);
	if (!err)
		err = packing_rename(&p);
	*ret_size = err ? 0 : p.at;
	if (err) {
		diag_warning(w->diag, NO_SPAN,
			     "'%s' stays as it was recorded, with holes: it cannot be packed: %s",
			     w->path, strerror(-err));
		diag_hint(w->diag, "report and trace-cmd read it as it is; "
				   "names of tasks that began meanwhile are missing");
		if (!fstat(w->fd, &st))
			*ret_size = (u64)st.st_blocks * 512;
	}
	packing_close(&p);
	release(w);
}

void dat_writer_abandon(struct dat_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0 && !dat_writer_bytes(w))
		unlink(w->path);
	release(w);
}
