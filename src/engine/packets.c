/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/packets.h"

#include <linux/bpf.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "base/foreign.h"
#include "kernel/bpf/perf_rings.h"
#include "kernel/kernel.h"

/*
 * A capture file (draft-ietf-opsawg-pcap): a file header, then for each packet a record header and
 * its bytes, all in our byte order. This magic number: times are in nanoseconds. Link type 101:
 * packets begin with the IP header.
 */
#define PCAP_MAGIC	  0xa1b23c4d
#define PCAP_LINKTYPE_RAW 101
#define PCAP_SNAPLEN	  65535

struct pcap_header {
	u32 magic;
	u16 major, minor;
	s32 zone;
	u32 accuracy, snaplen, linktype;
};

struct pcap_record {
	u32 seconds, nanoseconds, captured, length;
};

/* What the program puts before the bytes of the packet (lower_skboutput()). */
struct packet_header {
	u32 action, reserved;
	u64 time; /* CLOCK_BOOTTIME */
};

struct capture {
	const char *path;
	FILE *file; /* NULL: could not be opened, which was said */
};

struct packets {
	struct perf_rings rings;
	u64 lost;
	struct engine *engine;
	u64 boot_to_real; /* ns */
	VECTOR(struct capture) captures;
};

/* The map has the descriptor of each CPU's event. */
static int fill_map(const struct perf_rings *r, int map_fd)
{
	for (size_t i = 0; i < r->fds.len; i++) {
		const union bpf_attr attr = {.map_fd = (u32)map_fd,
					     .key = (u64)(uintptr_t)&r->cpus.items[i],
					     .value = (u64)(uintptr_t)&r->fds.items[i]};
		union bpf_attr update = attr;
		const int err = sys_bpf(BPF_MAP_UPDATE_ELEM, &update, sizeof(update));

		if (err < 0)
			return err;
	}
	return 0;
}

int packets_open(struct engine *e, int map_fd, struct packets **ret)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};
	struct packets *p = xzalloc(sizeof(*p));
	u64 per_cpu, pages = 1;
	const u32 *cpus;
	const u32 ncpus = kernel_online_cpus(e->env->kernel, &cpus);
	int err;

	/* At least room for a few of the largest packets. */
	per_cpu = MAX(e->script->config.perf_rb_pages / MAX(ncpus, 1u), (u64)64);
	while (pages * 2 <= per_cpu)
		pages *= 2;
	p->engine = e;
	p->boot_to_real = clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_BOOTTIME);
	err = perf_rings_open(&p->rings, e->env->kernel, &attr, (u32)pages);
	if (!err)
		err = fill_map(&p->rings, map_fd);
	if (err < 0) {
		packets_close(p);
		return err;
	}
	*ret = p;
	return 0;
}

static FILE *create(struct engine *e, const char *path)
{
	const struct pcap_header header = {.magic = PCAP_MAGIC,
					   .major = 2,
					   .minor = 4,
					   .snaplen = PCAP_SNAPLEN,
					   .linktype = PCAP_LINKTYPE_RAW};
	const int fd = foreign_create(path, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (fd < 0)
		errno = -fd;
	if (f && fwrite(&header, sizeof(header), 1, f) == 1)
		return f;
	diag_error(e->env->diag, NO_SPAN, "skboutput(): cannot write to %s: %s", path,
		   strerror(errno));
	diag_tell(e->env->diag);
	if (f)
		fclose(f);
	return NULL;
}

static FILE *capture_of(struct packets *p, const char *path)
{
	struct capture c = {.path = path};

	for (size_t i = 0; i < p->captures.len; i++)
		if (str_eq(p->captures.items[i].path, path))
			return p->captures.items[i].file;
	c.file = create(p->engine, path);
	vector_push(&p->captures, c);
	return c.file;
}

static void handle_packet(struct packets *p, const u8 *data, u32 size)
{
	const struct script *s = p->engine->script;
	struct packet_header h;
	const struct action *a;
	struct pcap_record r;
	u32 skip;
	FILE *f;

	if (size < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	a = h.action < s->actions.len ? &s->actions.items[h.action] : NULL;
	if (!a || a->kind != ACTION_SKBOUTPUT)
		return;
	f = capture_of(p, a->format.text);
	size -= sizeof(h);
	skip = MIN(a->packet_offset, size);
	h.time += p->boot_to_real;
	r = (struct pcap_record){.seconds = (u32)(h.time / 1000000000),
				 .nanoseconds = (u32)(h.time % 1000000000),
				 .captured = size - skip,
				 .length = size - skip};
	if (f && (fwrite(&r, sizeof(r), 1, f) != 1 ||
		  fwrite(data + sizeof(h) + skip, 1, r.captured, f) != r.captured))
		p->engine->errors++;
}

/* PERF_RECORD_SAMPLE: u32 size; u8 data[size]. PERF_RECORD_LOST: u64 id, lost. */
static void handle_record(struct packets *p, const struct perf_event_header *h)
{
	struct cursor c = cursor_of(h + 1, h->size - sizeof(*h));
	u32 size;

	if (h->type == PERF_RECORD_SAMPLE) {
		size = cursor_u32(&c);
		handle_packet(p, c.data + c.pos, MIN(size, (u32)(c.len - c.pos)));
	} else if (h->type == PERF_RECORD_LOST) {
		cursor_u64(&c);
		p->lost += cursor_u64(&c);
	}
}

void packets_read(struct engine *e)
{
	const struct perf_event_header *h;

	while (e->packets && (h = perf_rings_next(&e->packets->rings)))
		handle_record(e->packets, h);
}

u32 packets_fds(const struct packets *p, const int **ret)
{
	*ret = p->rings.fds.items;
	return (u32)p->rings.fds.len;
}

u64 packets_lost(const struct packets *p)
{
	return p ? p->lost : 0;
}

void packets_close(struct packets *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->captures.len; i++)
		if (p->captures.items[i].file)
			fclose(p->captures.items[i].file);
	vector_free(&p->captures);
	perf_rings_close(&p->rings);
	free(p);
}
