/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/agent/receiver.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/recording_file.h"
#include "trace/ctf/sink.h"
#include "trace/dat/pack.h"

#define FILES_MOST   65536
#define OPEN_MOST    128 /* descriptors */
#define DEPTH_MOST   2 /* directories before a name: chunk-000001/app-12/metadata */
#define OFFSETS_MOST ((u64)1 << 44) /* 16 TB: what ext4 has */

struct agent_received_file {
	struct recording_file is; /* name: below the receiver's directory; fd -1 = closed */
	u64 written;
};

void agent_receiver_init(struct agent_receiver *r, int directory)
{
	*r = (struct agent_receiver){.directory = directory};
}

static int refuse(struct agent_receiver *r, const char *why)
{
	r->why = why;
	return -EPROTO;
}

/* ---- names ---- */

static bool is_plain(const char *name)
{
	char part[AGENT_NAME_MOST + 1];
	int depth = 0;

	for (const char *at = name, *slash; (slash = strchr(at, '/')); at = slash + 1, name = at) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - at), at);
		if (!ctf_name_is_plain(part) || ++depth > DEPTH_MOST)
			return false;
	}
	return ctf_name_is_plain(name);
}

/* The directory part of a plain name, created if necessary; *name becomes the last part. */
static int walk(int at, const char **name)
{
	int directory = fcntl(at, F_DUPFD_CLOEXEC, 0), below;
	char part[AGENT_NAME_MOST + 1];
	const char *slash;

	for (; directory >= 0 && (slash = strchr(*name, '/')); *name = slash + 1) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - *name), *name);
		below = directory_make(directory, part);
		close(directory);
		directory = below;
	}
	return directory;
}

static void close_all(struct agent_receiver *r)
{
	for (size_t i = 0; i < r->files.len; i++) {
		struct recording_file *const f = &r->files.items[i]->is;

		if (f->fd >= 0)
			close(f->fd);
		f->fd = -1;
	}
	r->open = 0;
}

static int open_file(struct agent_receiver *r, struct agent_received_file *file, int flags)
{
	const char *name = file->is.name;
	const int directory = walk(r->directory, &name);

	if (directory < 0)
		return directory;
	if (r->open >= OPEN_MOST)
		close_all(r);
	file->is.fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
	close(directory);
	if (file->is.fd < 0)
		return -errno;
	r->open++;
	return 0;
}

/* What is there of it counts. */
static int go_on(struct agent_receiver *r, struct agent_received_file *file)
{
	struct stat st;
	int err = open_file(r, file, O_CREAT | O_NONBLOCK);

	if (!err)
		err = fstat(file->is.fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EEXIST;
	if (!err) {
		file->written = (u64)st.st_blocks * 512;
		r->bytes += file->written;
	}
	return err;
}

static int new_file(struct agent_receiver *r, const struct agent_frame *f, const u8 *body)
{
	struct agent_received_file *file;
	struct agent_file head;
	const size_t n = f->size - sizeof(head);
	char name[AGENT_NAME_MOST + 1] = "";

	memcpy(&head, body, sizeof(head));
	memcpy(name, body + sizeof(head), n);
	if (head.number != r->files.len + 1 || r->files.len >= FILES_MOST)
		return refuse(r, "a file of a number that it cannot have");
	if (strlen(name) != n || !is_plain(name))
		return refuse(r, "a file whose name is no plain name");
	file = xzalloc(sizeof(*file));
	file->is = (struct recording_file)RECORDING_FILE_NONE;
	file->is.name = xstrdup(name);
	vector_push(&r->files, file);
	return r->goes_on ? go_on(r, file) : open_file(r, file, O_CREAT | O_EXCL);
}

/* ---- bytes ---- */

/* NULL: there is no file of this number. *ret_err: it cannot be opened. */
static struct agent_received_file *file_of(struct agent_receiver *r, u32 number, int *ret_err)
{
	struct agent_received_file *file;

	if (!number || number > r->files.len)
		return NULL;
	file = r->files.items[number - 1];
	*ret_err = file->is.fd < 0 ? open_file(r, file, 0) : 0;
	return file;
}

static int write_bytes(struct agent_receiver *r, const struct agent_frame *f, const u8 *body)
{
	struct agent_received_file *file;
	struct agent_write head;
	const size_t n = f->size - sizeof(head);
	int err;

	memcpy(&head, body, sizeof(head));
	file = file_of(r, head.number, &err);
	if (!file || head.at > OFFSETS_MOST)
		return refuse(r, "bytes for a place that is not there");
	if (!err)
		err = recording_file_write(&file->is, body + sizeof(head), n, head.at);
	if (!err) {
		file->written += n;
		r->bytes += n;
	}
	return err;
}

static int pack_file(struct agent_receiver *r, struct agent_received_file *file,
		     const struct dat_pack_plan *plan)
{
	const char *name = file->is.name;
	const int directory = walk(r->directory, &name);
	u64 size;
	int err;

	if (directory < 0)
		return directory;
	err = dat_pack(file->is.fd, directory, name, NULL, plan, &size);
	close(directory);
	if (err)
		return err;
	close(file->is.fd); /* its name now belongs to the packed file */
	file->is.fd = -1;
	r->open--;
	return 0;
}

/* Its head, which stood at its end, is at its beginning. */
static bool is_packed(const struct agent_received_file *file, const struct dat_pack_plan *plan)
{
	struct stat st;

	return !fstat(file->is.fd, &st) && (u64)st.st_size <= plan->head_at;
}

static int pack(struct agent_receiver *r, const struct agent_frame *f, const u8 *body)
{
	struct agent_received_file *file;
	struct dat_pack_plan *plan;
	struct agent_file head;
	const size_t n = f->size - sizeof(head);
	bool is_done;
	int err;

	memcpy(&head, body, sizeof(head));
	file = file_of(r, head.number, &err);
	if (!file)
		return refuse(r, "a file to be packed that is not there");
	plan = xmalloc(MAX(n, sizeof(*plan)));
	memcpy(plan, body + sizeof(head), n);
	/* it may be done, and not confirmed before the break */
	is_done = !err && r->goes_on && n >= sizeof(*plan) && is_packed(file, plan);
	if (!is_done && dat_pack_check(plan, n, file->written))
		err = refuse(r, "a plan of a file that does not fit it");
	if (!err && !is_done)
		err = pack_file(r, file, plan);
	free(plan);
	return err;
}

/* ---- messages ---- */

int agent_receive(struct agent_receiver *r, const struct agent_frame *f, const u8 *body)
{
	switch (f->type) {
	case AGENT_FILE:
		return new_file(r, f, body);
	case AGENT_WRITE:
		return write_bytes(r, f, body);
	case AGENT_PACK:
		return pack(r, f, body);
	default:
		return refuse(r, "a message that it cannot send now");
	}
}

void agent_receiver_undo(struct agent_receiver *r)
{
	for (size_t i = r->files.len; i-- > 0;) {
		char *const name = xstrdup(r->files.items[i]->is.name);
		char *slash;

		unlinkat(r->directory, name, 0);
		while ((slash = strrchr(name, '/'))) {
			*slash = 0;
			unlinkat(r->directory, name, AT_REMOVEDIR); /* if it is empty now */
		}
		free(name);
	}
}

void agent_receiver_release(struct agent_receiver *r)
{
	for (size_t i = 0; i < r->files.len; i++) {
		recording_file_close(&r->files.items[i]->is);
		free(r->files.items[i]);
	}
	vector_free(&r->files);
}
