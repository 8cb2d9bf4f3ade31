/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/head.h"

#include <zstd.h>

#include "trace/dat/internal.h"

#define COMPRESSED 1 /* a section's flag */
#define PAGE_HEAD  16 /* bytes before a page's events */
#define PAGES_NAME "buffer flyrecord " /* of the section with the pages, for people */
#define TEXT_NAME  "buffer latency" /* of the one with text in their place */

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

void dat_contents_init(struct dat_contents *c)
{
	*c = (struct dat_contents){.options = STRBUF_INIT};
	for (u32 p = 0; p < DAT_PARTS; p++)
		c->parts[p] = (struct strbuf)STRBUF_INIT;
}

void dat_contents_release(struct dat_contents *c)
{
	for (u32 p = 0; p < DAT_PARTS; p++)
		strbuf_release(&c->parts[p]);
	strbuf_release(&c->options);
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

/* As the kernel's events/header_page and header_event have it. */
void dat_contents_usual_headers(struct dat_contents *c, u32 page_size)
{
	char *const page = xasprintf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				     "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				     "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				     "\tfield: char data;\toffset:16;\tsize:%u;\tsigned:0;\n",
				     page_size - PAGE_HEAD);

	dat_contents_headers(c, page,
			     "# compressed entry header\n"
			     "\ttype_len    :    5 bits\n"
			     "\ttime_delta  :   27 bits\n"
			     "\tarray       :   32 bits\n"
			     "\n"
			     "\tpadding     : type == 29\n"
			     "\ttime_extend : type == 30\n"
			     "\ttime_stamp : type == 31\n"
			     "\tdata max type_len  == 28\n");
	free(page);
}

static int by_system(const void *a, const void *b)
{
	const struct dat_format *const x = a, *const y = b;
	const int rc = strcmp(x->system, y->system);

	return rc ? rc : (int)x->id - (int)y->id;
}

/* Systems together, and ftrace's own events apart from them. */
void dat_contents_formats(struct dat_contents *c, struct dat_format *all, size_t n)
{
	struct strbuf *const out = &c->parts[DAT_EVENT_FORMATS];
	struct strbuf *const own = &c->parts[DAT_FTRACE_FORMATS];
	struct dat_formats ours, formats = {0};
	const char *system = NULL;
	u32 systems = 0;

	if (n)
		qsort(all, n, sizeof(*all), by_system);
	strbuf_reset(out);
	strbuf_reset(own);
	ours = dat_formats_begin(own, NULL);
	strbuf_add(out, &systems, sizeof(systems));
	for (size_t i = 0; i < n; i++) {
		if (str_eq(all[i].system, KERNEL_OWN_EVENTS)) {
			dat_formats_add(&ours, all[i].text, all[i].len);
			continue;
		}
		if (!system || !str_eq(all[i].system, system)) {
			if (system)
				dat_formats_end(&formats);
			system = all[i].system;
			formats = dat_formats_begin(out, system);
			systems++;
		}
		dat_formats_add(&formats, all[i].text, all[i].len);
	}
	if (system)
		dat_formats_end(&formats);
	dat_formats_end(&ours);
	memcpy(out->data, &systems, sizeof(systems));
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

/* The CPUs up to the last one. */
static u32 cpus_of(const struct dat_writer_options *o)
{
	u32 most = 0;

	for (u32 i = 0; i < o->cpu_count; i++)
		most = MAX(most, o->cpus[i] + 1);
	return most;
}

void dat_contents_shifts(struct dat_contents *c, u32 cpus, const struct dat_shift *all, u32 count)
{
	struct strbuf out = STRBUF_INIT;

	put64(&out, 0); /* the number of the host's recording */
	put32(&out, 1); /* what lies between two is interpolated */
	put32(&out, cpus);
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		put32(&out, count);
		for (u32 i = 0; i < count; i++)
			put64(&out, all[i].time);
		for (u32 i = 0; i < count; i++)
			put64(&out, (u64)all[i].offset_ns);
		for (u32 i = 0; i < count; i++)
			put64(&out, 1); /* times are multiplied by this */
	}
	for (u32 i = 0; i < cpus * count; i++)
		put64(&out, 0); /* and divided by this power of two */
	put_option(&c->options, OPTION_TIME_SHIFT, out.data, out.len);
	strbuf_release(&out);
}

/* Options that are the same in both versions. */
static void put_options(const struct dat_writer_options *o, const struct dat_contents *c,
			struct strbuf *out)
{
	const u32 cpus = cpus_of(o);

	put_text_option(out, OPTION_TRACECLOCK, c->clocks);
	put_text_option(out, OPTION_UNAME, c->uname);
	put_text_option(out, OPTION_VERSION, c->version);
	for (u32 i = 0; i < c->stats_count; i++)
		put_text_option(out, OPTION_CPUSTAT, c->stats[i]);
	if (c->options.len)
		strbuf_add(out, c->options.data, c->options.len);
	put_option(out, OPTION_CPUCOUNT, &cpus, sizeof(cpus));
}

/* Version 6 has a slot for each CPU up to the last one. */
static void head_v6(const struct dat_writer_options *o, const struct dat_contents *c,
		    struct dat_head *h)
{
	const u32 cpus = cpus_of(o);
	u32 i = 0;

	put_magic(&h->out, "6", o->page_size);
	for (u32 p = 0; p < DAT_PARTS; p++)
		strbuf_add(&h->out, c->parts[p].data, c->parts[p].len);
	put32(&h->out, cpus);
	strbuf_add(&h->out, "options  ", 10);
	put_options(o, c, &h->out);
	put16(&h->out, OPTION_DONE);
	strbuf_add(&h->out, o->is_text ? "latency  " : "flyrecord", 10);
	for (u32 cpu = 0; cpu < cpus && !o->is_text; cpu++) {
		if (o->cpus[i] == cpu)
			h->slots[i++] = h->out.len;
		put64(&h->out, 0);
		put64(&h->out, 0);
	}
	h->buffer = h->out.len;
}

/* Where a name stands among those of all sections, which are there before the first one. */
static u32 name_at(const struct dat_head *h, const char *name)
{
	u32 at = 0;

	while (at < h->names.len && !str_eq(h->names.data + at, name))
		at += (u32)strlen(h->names.data + at) + 1;
	return at;
}

/* The head of a section; *ret_size_at is where its size stands. Returns where it begins. */
static u64 put_section(struct dat_head *h, u16 id, bool compressed, const char *name,
		       u64 *ret_size_at)
{
	const u64 at = h->out.len;

	put16(&h->out, id);
	put16(&h->out, compressed ? COMPRESSED : 0);
	put32(&h->out, name_at(h, name));
	*ret_size_at = h->out.len;
	put64(&h->out, 0);
	return at;
}

static void section_end(struct dat_head *h, u64 size_at)
{
	const u64 size = h->out.len - size_at - sizeof(u64);

	memcpy(h->out.data + size_at, &size, sizeof(size));
}

/* A section of this text; packed only if that makes it smaller. */
static u64 put_text_section(struct dat_head *h, u16 id, bool compress, const char *name,
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
	n = ZSTD_compress(packed, bound, text->data, text->len, DAT_ZSTD_LEVEL);
	at = put_section(h, id, true, name, &size_at);
	put32(&h->out, (u32)n);
	put32(&h->out, (u32)text->len);
	strbuf_add(&h->out, packed, n);
	section_end(h, size_at);
	free(packed);
	return at;
}

/*
 * {u64 section, name, clock, u32 page size, u32 CPUs, {u32 cpu, u64 offset, u64 size}*}; *first: of
 * its CPUs among all. Returns where the section is to be said.
 */
static size_t put_buffer(struct dat_head *h, const struct dat_writer_options *o,
			 const struct dat_instance *in, u32 *first)
{
	size_t at;

	put16(&h->out, OPTION_BUFFER);
	put32(&h->out,
	      (u32)(8 + strlen(in->name) + 1 + strlen(in->clock) + 1 + 4 + 4 + 20 * in->cpu_count));
	at = h->out.len;
	put64(&h->out, 0);
	put_string(&h->out, in->name);
	put_string(&h->out, in->clock);
	put32(&h->out, in->page_size);
	put32(&h->out, in->cpu_count);
	for (const u32 end = *first + in->cpu_count; *first < end; ++*first) {
		put32(&h->out, o->cpus[*first]);
		h->slots[*first] = h->out.len;
		put64(&h->out, 0);
		put64(&h->out, 0);
	}
	return at;
}

/* {u64 section, name, clock} */
static size_t put_text_buffer(struct dat_head *h, const char *clock)
{
	size_t at;

	put16(&h->out, OPTION_BUFFER_TEXT);
	put32(&h->out, (u32)(8 + 1 + strlen(clock) + 1));
	at = h->out.len;
	put64(&h->out, 0);
	put_string(&h->out, "");
	put_string(&h->out, clock);
	return at;
}

static void head_v7(const struct dat_writer_options *o, const struct dat_contents *c,
		    struct dat_head *h)
{
	const struct dat_instance only = {"", c->clock, o->page_size, o->cpu_count};
	const struct dat_instance *const instances = o->instances ?: &only;
	const u32 count = o->instances ? o->instance_count : 1;
	const bool compress = o->compress;
	u64 parts[DAT_PARTS], options_at, size_at, section;
	VECTOR(size_t) places = {0}; /* where buffers say their section */
	u32 first = 0;
	const u64 none = 0;

	for (u32 p = 0; p < DAT_PARTS; p++)
		put_string(&h->names, part_rows[p].name);
	put_string(&h->names, "options");
	put_string(&h->names, "strings");
	put_string(&h->names, o->is_text ? TEXT_NAME : PAGES_NAME);
	put_magic(&h->out, "7", o->page_size);
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
	put_options(o, c, &h->out);
	for (u32 i = 0; i < count; i++)
		vector_push(&places, o->is_text ? put_text_buffer(h, c->clock)
						: put_buffer(h, o, &instances[i], &first));
	put_option(&h->out, OPTION_DONE, &none, sizeof(none));
	section_end(h, size_at);
	put_text_section(h, OPTION_STRINGS, compress, "strings", &h->names);
	if (o->is_text)
		h->buffer = put_section(h, OPTION_BUFFER_TEXT, false, TEXT_NAME, &size_at);
	else
		h->buffer = put_section(h, OPTION_BUFFER, compress, PAGES_NAME, &size_at);
	/* all of them have one: it only says how pages are packed */
	for (u32 i = 0; i < count; i++)
		memcpy(h->out.data + places.items[i], &h->buffer, sizeof(h->buffer));
	vector_free(&places);
}

struct dat_head dat_head_make(const struct dat_writer_options *o, const struct dat_contents *c)
{
	struct dat_head h = {.out = STRBUF_INIT, .names = STRBUF_INIT};

	h.slots = xzalloc(o->cpu_count * sizeof(*h.slots));
	if (o->version == 6)
		head_v6(o, c, &h);
	else
		head_v7(o, c, &h);
	return h;
}

void dat_head_release(struct dat_head *h)
{
	strbuf_release(&h->out);
	strbuf_release(&h->names);
	free(h->slots);
}
