/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file.h"
#include "base/recording_file.h"
#include "trace/dat/head.h"
#include "trace/dat/pack.h"

#define LEAST_REGION ((u64)1 << 20)
#define CARRIED_MOST ((u64)8 << 40) /* bytes of all ranges of a file on another machine */
#define FILE_ALIGN   4096u

struct cpu_place {
	u32 cpu;
	u64 begin, used; /* used: without the number of chunks */
	u64 slot; /* where the file says {offset, size} */
	/* compressed: u32 chunks, then {u32 packed, u32 unpacked, data}* */
	u32 chunks;
	ZSTD_CCtx *zstd;
	u8 *packed; /* a chunk */
};

struct dat_writer {
	char *path;
	struct recording_file file;
	int reader; /* the same file */
	struct diag *diag;
	struct dat_writer_options options;
	struct cpu_place *cpus;
	u64 region; /* the room of each */
};

/* ---- while it is recorded ---- */

static int refuse(struct dat_writer *w, int err)
{
	diag_error(w->diag, NO_SPAN, "cannot write '%s': %s", w->path, recording_file_why(err));
	return err;
}

/* Where the file system knows no such files, one whose name goes at once. */
static int open_unnamed(struct recording_file *f, int directory)
{
	char name[40];

	*f = (struct recording_file)RECORDING_FILE_NONE;
	f->fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (f->fd >= 0)
		return 0;
	snprintf(name, sizeof(name), ".pantrace-%d.dat", (int)getpid());
	f->fd = openat(directory, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_RDWR | O_CLOEXEC, 0600);
	if (f->fd < 0)
		return -errno;
	unlinkat(directory, name, 0);
	return 0;
}

/* A file of this machine. */
static int open_here(struct dat_writer *w)
{
	const int directory = w->options.directory;
	struct stat st;
	char self[40];
	const int err = w->options.is_unnamed
				? open_unnamed(&w->file, directory)
				: recording_file_open(&w->file, directory ?: -1, w->path, 0600);

	if (err)
		return refuse(w, err);
	if (!fstat(w->file.fd, &st) && !S_ISREG(st.st_mode)) {
		diag_error(w->diag, NO_SPAN,
			   "'%s' is no regular file: a trace.dat is written at several places at "
			   "once",
			   w->path);
		return -EINVAL;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", w->file.fd);
	w->reader = open(self, O_RDONLY | O_CLOEXEC);
	return w->reader < 0 ? refuse(w, -errno) : 0;
}

static int open_carried(struct dat_writer *w, struct recording_carrier *carrier)
{
	const int err = recording_file_open_carried(&w->file, carrier, w->path);

	return err ? refuse(w, err) : 0;
}

int dat_writer_open(const char *path, const struct dat_writer_options *o, struct diag *d,
		    struct dat_writer **ret)
{
	struct dat_writer *w = xzalloc(sizeof(*w));
	u32 *cpus = xreallocarray(NULL, o->cpu_count, sizeof(*cpus));
	int err;

	w->reader = -1;
	w->file = (struct recording_file)RECORDING_FILE_NONE;
	w->path = xstrdup(path);
	w->diag = d;
	w->options = *o;
	w->options.compress &= o->version == 7;
	memcpy(cpus, o->cpus, o->cpu_count * sizeof(*cpus));
	w->options.cpus = cpus;
	w->cpus = xzalloc(o->cpu_count * sizeof(*w->cpus));
	for (u32 i = 0; i < o->cpu_count; i++)
		w->cpus[i].cpu = o->cpus[i];
	err = o->carrier ? open_carried(w, o->carrier) : open_here(w);
	if (err)
		dat_writer_abandon(w);
	else
		*ret = w;
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

	if (w->file.carrier) { /* what the far end allows, nobody knows: ext4 has 16 TB in a file */
		w->region = ALIGN_UP(MIN(region, CARRIED_MOST / count), page);
		return 0;
	}
	if (!fstatvfs(w->file.fd, &fs))
		region = (u64)fs.f_bavail * fs.f_frsize;
	if (most) /* it is looked at now and then only */
		region = MIN(region, 2 * most + ((u64)64 << 20));
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY)
		region = MIN(region, limit.rlim_cur > begin ? (limit.rlim_cur - begin) / count : 0);
	region = MAX(region, LEAST_REGION);
	region = ALIGN_UP(region, page);
	while (ftruncate(w->file.fd, (off_t)(begin + region * count))) {
		if (errno != EFBIG || region <= 2 * LEAST_REGION)
			return -errno;
		region = ALIGN_UP(region / 2, page);
	}
	w->region = region;
	return ftruncate(w->file.fd, (off_t)begin) ? -errno : 0;
}

/* A new head, and where its slots stand. */
static struct dat_head take_head(struct dat_writer *w, const struct dat_contents *c)
{
	struct dat_head h = dat_head_make(&w->options, c);

	for (u32 i = 0; i < w->options.cpu_count; i++)
		w->cpus[i].slot = h.slots[i];
	return h;
}

/* How much of a CPU's range is used. */
static int write_slot(const struct dat_writer *w, u32 i, u64 size)
{
	const u64 slot[2] = {w->cpus[i].begin, size};

	return recording_file_write(&w->file, slot, sizeof(slot), w->cpus[i].slot);
}

int dat_writer_begin(struct dat_writer *w, const struct dat_contents *c)
{
	const u32 align = MAX(FILE_ALIGN, w->options.page_size);
	struct dat_head h = take_head(w, c);
	const u64 begin = ALIGN_UP(h.out.len, (size_t)align);
	u64 size = begin - h.out.len;
	int err = choose_region(w, begin);

	/* of the section with the pages: as far as it may come */
	size += w->region * w->options.cpu_count;
	if (w->options.version == 7)
		memcpy(h.out.data + h.buffer + DAT_SECTION_HEAD - sizeof(size), &size,
		       sizeof(size));
	if (!err)
		err = recording_file_write(&w->file, h.out.data, h.out.len, 0);
	for (u32 i = 0; i < w->options.cpu_count && !err; i++) {
		w->cpus[i].begin = begin + i * w->region;
		err = write_slot(w, i, 0);
	}
	dat_head_release(&h);
	return err ? refuse(w, err) : 0;
}

int dat_writer_fd(const struct dat_writer *w)
{
	return w->file.fd;
}

int dat_writer_read(const struct dat_writer *w, u64 at, void *to, size_t n)
{
	return read_all_at(w->reader, to, n, at);
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
	write_slot(w, i, used);
}

/* A chunk behind the others, then what says that it is there. */
static int add_compressed(struct dat_writer *w, u32 i, const void *pages, size_t n)
{
	struct cpu_place *const cpu = &w->cpus[i];
	const size_t bound = ZSTD_compressBound((size_t)w->options.page_size * DAT_CHUNK_PAGES);
	const u32 chunks = cpu->chunks + 1;
	u32 sizes[2] = {0, (u32)n};
	size_t packed;
	int err;

	if (!cpu->zstd) {
		cpu->zstd = ZSTD_createCCtx();
		cpu->packed = xmalloc(bound + sizeof(sizes));
	}
	packed = ZSTD_compressCCtx(cpu->zstd, cpu->packed + sizeof(sizes), bound, pages, n,
				   DAT_ZSTD_LEVEL);
	if (ZSTD_isError(packed))
		return -EIO;
	if (w->region - cpu->used < sizeof(chunks) + sizeof(sizes) + packed)
		return -EFBIG;
	sizes[0] = (u32)packed;
	memcpy(cpu->packed, sizes, sizeof(sizes));
	packed += sizeof(sizes);
	err = recording_file_write(&w->file, cpu->packed, packed,
				   cpu->begin + sizeof(chunks) + cpu->used);
	if (!err)
		err = recording_file_write(&w->file, &chunks, sizeof(chunks), cpu->begin);
	if (err)
		return err;
	cpu->chunks = chunks;
	dat_writer_grown(w, i, packed);
	return 0;
}

int dat_writer_add(struct dat_writer *w, u32 i, const void *pages, size_t n)
{
	u64 room;
	const u64 at = dat_writer_place(w, i, &room);
	int err;

	if (w->options.compress)
		return add_compressed(w, i, pages, n);
	err = n > room ? -EFBIG : recording_file_write(&w->file, pages, n, at);
	if (!err)
		dat_writer_grown(w, i, n);
	return err;
}

u64 dat_writer_bytes(const struct dat_writer *w)
{
	u64 sum = 0;

	for (u32 i = 0; i < w->options.cpu_count; i++)
		sum += __atomic_load_n(&w->cpus[i].used, __ATOMIC_RELAXED);
	return sum;
}

/* ---- without holes ---- */

static struct dat_pack_plan *plan_new(struct dat_writer *w, const struct dat_head *h)
{
	struct dat_pack_plan *p = dat_pack_plan_new(w->options.cpu_count);

	p->head_size = h->out.len;
	p->buffer = w->options.version == 7 ? h->buffer : 0;
	p->align = MAX(FILE_ALIGN, w->options.page_size);
	/* no data, no number of chunks */
	for (u32 i = 0; i < p->count; i++) {
		const struct cpu_place *const c = &w->cpus[i];

		p->ranges[i] = (struct dat_pack_range){
			c->begin, c->used + (c->chunks ? sizeof(c->chunks) : 0), c->used,
			h->slots[i]};
	}
	return p;
}

/* The new head goes behind the last range, and the far end does the rest. */
static int pack_carried(struct dat_writer *w, const struct dat_head *h, struct dat_pack_plan *p)
{
	const struct recording_file *const f = &w->file;
	int err;

	p->head_at = w->cpus[0].begin + w->region * p->count;
	err = recording_file_write(f, h->out.data, h->out.len, p->head_at);
	return err ?: f->carrier->pack(f->carrier, f->number, p, dat_pack_plan_size(p->count));
}

static int pack(struct dat_writer *w, const struct dat_contents *c, u64 *ret_size)
{
	struct dat_head h = take_head(w, c);
	struct dat_pack_plan *plan = plan_new(w, &h);
	int err;

	*ret_size = dat_writer_bytes(w);
	if (w->file.carrier)
		err = pack_carried(w, &h, plan);
	else
		err = dat_pack(w->reader, w->file.directory, w->file.name, h.out.data, plan,
			       ret_size);
	free(plan);
	dat_head_release(&h);
	return err;
}

static void release(struct dat_writer *w)
{
	recording_file_close(&w->file);
	if (w->reader >= 0)
		close(w->reader);
	for (u32 i = 0; i < w->options.cpu_count; i++) {
		ZSTD_freeCCtx(w->cpus[i].zstd);
		free(w->cpus[i].packed);
	}
	free((void *)w->options.cpus);
	free(w->cpus);
	free(w->path);
	free(w);
}

void dat_writer_drop_empty(struct dat_writer *w)
{
	u32 *const cpus = (u32 *)w->options.cpus, n = 0;

	for (u32 i = 0; i < w->options.cpu_count; i++) {
		if (!w->cpus[i].used)
			continue;
		w->cpus[n] = w->cpus[i];
		cpus[n++] = w->cpus[i].cpu;
	}
	w->options.cpu_count = MAX(n, 1u);
}

int dat_writer_pack(struct dat_writer *w, const struct dat_contents *c, int fd, u64 *ret_size)
{
	struct dat_head h = take_head(w, c);
	struct dat_pack_plan *plan = plan_new(w, &h);
	const int err = dat_pack_into(w->reader, fd, h.out.data, plan, ret_size);

	free(plan);
	dat_head_release(&h);
	return err;
}

void dat_writer_finish(struct dat_writer *w, const struct dat_contents *c, u64 *ret_size)
{
	struct stat st;
	const int err = pack(w, c, ret_size);

	if (err) {
		diag_warning(w->diag, NO_SPAN,
			     "'%s' stays as it was recorded, with holes: it cannot be packed: %s",
			     w->path, strerror(-err));
		diag_hint(w->diag, "report and trace-cmd read it as it is; "
				   "names of tasks that began meanwhile are missing");
		if (!w->file.carrier && !fstat(w->file.fd, &st))
			*ret_size = (u64)st.st_blocks * 512;
	}
	release(w);
}

void dat_writer_set_diag(struct dat_writer *w, struct diag *d)
{
	w->diag = d;
}

void dat_writer_discard(struct dat_writer *w)
{
	if (!w)
		return;
	recording_file_undo(&w->file);
	release(w);
}

void dat_writer_abandon(struct dat_writer *w)
{
	if (w && dat_writer_bytes(w))
		release(w);
	else
		dat_writer_discard(w);
}
