/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace restore`: a whole trace.dat from what a killed recorder left. */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/escape.h"
#include "base/foreign.h"
#include "base/options.h"
#include "cmd/pieces/pieces.h"
#include "kernel/tracefs/tracefs.h"
#include "record/ftrace/ftrace.h"
#include "trace/dat/piece.h"
#include "trace/dat/trace_dat.h"

#define MARK	  ".cpu" /* of trace-cmd's files of one CPU: trace.dat.cpu0 */
#define CPUS_MOST 65536u

struct restore_options {
	const char *output, *head, *clock;
	bool version_6, quiet;
};

#define O(field) offsetof(struct restore_options, field)
static const struct option_spec restore_table[] = {
	{'o', "output", "FILE",
	 "the file (default: of trace.dat.cpu0 and others trace.dat, if there is none yet)",
	 OPTION_STRING, O(output)},
	{'i', "input", "FILE",
	 "formats, names, symbols and clock are those of this trace.dat of the same machine "
	 "(default: of the kernel that runs now)",
	 OPTION_STRING, O(head)},
	{'C', "clock", "CLOCK",
	 "the clock of the times (default: local; with -i, that of its FILE)", OPTION_STRING,
	 O(clock)},
	{0, "v6", NULL, "a trace.dat of version 6, uncompressed", OPTION_FLAG, O(version_6)},
	{'q', "quiet", NULL, "no summary", OPTION_FLAG, O(quiet)},
	{0},
};
#undef O

static const struct command_spec restore_spec = {
	.name = "restore",
	.synopsis = "[-o FILE] [-i FILE] FILE...",
	.summary = "make a whole trace.dat from what a killed recorder left",
	.examples = "pantrace restore trace.dat.cpu*   # of trace-cmd: becomes trace.dat\n"
		    "pantrace restore -i other.dat -o whole.dat trace.dat.cpu0 trace.dat.cpu1\n"
		    "pantrace restore -o whole.dat killed.dat   # of pantrace record: packed\n",
	.details =
		"trace-cmd records each CPU to a file of its own and joins them at the end; when "
		"killed, it leaves these files. They have no event formats: take them from a "
		"recording of the same boot of that machine, with the same events and modules "
		"(-i), or run this on that machine before it reboots, as root.\n\n"
		"What a killed `pantrace record` leaves can be read as it is; here it becomes a "
		"file without holes. An older file of the name that -o gives becomes FILE.old.\n\n"
		"Damaged and truncated pages are counted: exit code 3.\n",
	.options = restore_table,
};

/* A file of one CPU. */
struct cpu_file {
	const char *path;
	u32 cpu;
	int fd;
	u64 at;
	u8 *page;
	const struct page_layout *layout;
	u32 cut; /* truncated pages */
};

struct restore {
	const struct restore_options *o;
	struct diag *diag;
	struct kernel *kernel;
	char **paths;
	int count;
	char *output;
	struct cpu_file *files; /* by CPU; NULL: a trace.dat is given */
	u32 *cpus;
	u32 cut;
	/* what is written */
	struct trace_dat *recording; /* -i, or the one that was given */
	struct kernel_state state; /* else */
	bool has_state;
	struct dat_contents contents;
	char *clocks;
	struct piece_options piece;
	u64 events;
};

/* ---- words ---- */

/* "trace.dat.cpu12" -> 12, *ret_stem: the length of "trace.dat". False: no such name. */
static bool cpu_of(const char *path, u32 *ret, size_t *ret_stem)
{
	const char *at = NULL, *next = path;
	u64 cpu;

	while ((next = strstr(next, MARK)))
		at = next++;
	if (!at || !isdigit((unsigned char)at[strlen(MARK)]) ||
	    parse_u64(at + strlen(MARK), &cpu) || cpu >= CPUS_MOST)
		return false;
	*ret = (u32)cpu;
	*ret_stem = (size_t)(at - path);
	return true;
}

static int compare_files(const void *a, const void *b)
{
	const struct cpu_file *const x = a, *const y = b;

	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static bool is_recording(const char *path)
{
	u8 head[16];
	const int fd = foreign_open(path, NULL);
	const ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof(head));

	if (fd >= 0)
		close(fd);
	return n > 0 && trace_dat_is(head, (size_t)n);
}

static int take_files(struct restore *r)
{
	size_t stem = 0;

	if (r->count == 1 && is_recording(r->paths[0])) {
		if (r->o->head || r->o->clock)
			return options_usage_error(&restore_spec,
						   "'%s' is a trace.dat: it has its own formats "
						   "and clock",
						   r->paths[0]);
		if (!r->o->output)
			return options_usage_error(&restore_spec, "-o FILE is needed: '%s' stays",
						   r->paths[0]);
		return OPTIONS_GO_ON;
	}
	r->files = xzalloc((size_t)r->count * sizeof(*r->files));
	r->cpus = xreallocarray(NULL, (size_t)r->count, sizeof(*r->cpus));
	for (int i = 0; i < r->count; i++) {
		r->files[i] = (struct cpu_file){.path = r->paths[i], .fd = -1};
		if (!cpu_of(r->paths[i], &r->files[i].cpu, &stem))
			return options_usage_error(
				&restore_spec,
				"'%s' is not the file of one CPU: they are called "
				"trace.dat.cpu0, trace.dat.cpu1, ...",
				r->paths[i]);
	}
	qsort(r->files, (size_t)r->count, sizeof(*r->files), compare_files);
	for (int i = 0; i < r->count; i++) {
		if (i && r->files[i].cpu == r->files[i - 1].cpu)
			return options_usage_error(
				&restore_spec, "two files of CPU %u: '%s' and '%s'",
				r->files[i].cpu, r->files[i - 1].path, r->files[i].path);
		r->cpus[i] = r->files[i].cpu;
	}
	if (!r->o->output)
		r->output = xstrndup(r->paths[r->count - 1], stem);
	return OPTIONS_GO_ON;
}

/* Never writes to an input file; without -o, to no file that exists. */
static int check_output(const struct restore *r)
{
	struct stat out, in;
	bool is_input = false;

	if (stat(r->output, &out))
		return 0;
	for (int i = 0; i < r->count; i++)
		is_input |= !stat(r->paths[i], &in) && in.st_dev == out.st_dev &&
			    in.st_ino == out.st_ino;
	if (r->o->head && !stat(r->o->head, &in))
		is_input |= in.st_dev == out.st_dev && in.st_ino == out.st_ino;
	if (!is_input && r->o->output)
		return 0;
	diag_error(r->diag, NO_SPAN, is_input ? "'%s' is read itself" : "there is '%s' already",
		   r->output);
	diag_hint(r->diag, "-o names another file");
	return -EEXIST;
}

/* ---- all but the pages ---- */

static int read_recording(struct restore *r, const char *path)
{
	const bool is_itself = !r->files;
	int err = trace_dat_open_whole(path, &r->contents, r->diag, &r->recording);

	if (err)
		return err;
	if (!r->contents.parts[DAT_HEADERS].len || !trace_dat_buffers(r->recording)) {
		diag_error(r->diag, NO_SPAN, "%s: it ends before its buffers", path);
		return -EINVAL;
	}
	if (is_itself && trace_dat_buffers(r->recording) > 1) {
		diag_error(r->diag, NO_SPAN, "%s: it has %zu buffers; one is restored at a time",
			   path, trace_dat_buffers(r->recording));
		diag_hint(r->diag, "split -B takes one out");
		return -EINVAL;
	}
	r->contents.clock = trace_dat_buffer(r->recording, 0)->clock;
	r->piece.layout = trace_dat_layout(r->recording, 0);
	if (is_itself)
		r->piece.cpus = trace_dat_cpus(r->recording, 0, &r->piece.cpu_count);
	return 0;
}

static int read_kernel(struct restore *r)
{
	struct instance *top;
	int err = instance_open_standing(r->kernel, r->diag, "", &top);

	if (!err) {
		err = kernel_state_read_all(&r->state, top, r->diag);
		r->has_state = true;
	}
	if (!err)
		err = ring_layout(instance_directory(top), &r->piece.layout);
	instance_close(top);
	if (err) {
		diag_hint(r->diag, "-i FILE takes formats from a trace.dat of the same machine");
		return err;
	}
	r->clocks = xasprintf("[%s]\n", r->o->clock ?: "local");
	r->state.contents.clocks = r->clocks;
	r->state.contents.clock = r->o->clock ?: "local";
	return 0;
}

/* ---- pages ---- */

static const void *next_page(struct page_stream *s, size_t *ret_len)
{
	struct cpu_file *const f = s->arg;
	const size_t size = f->layout->size;
	const u32 begin = f->layout->data_offset;
	size_t n = 0;
	u32 commit;

	while (n < size) {
		const ssize_t got = pread(f->fd, f->page + n, size - n, (off_t)(f->at + n));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	f->at += n;
	if (n < begin) {
		f->cut += n > 0;
		return NULL;
	}
	*ret_len = size;
	if (n == size)
		return f->page;
	/* truncated: keeps the events that are whole */
	memset(f->page + n, 0, size - n);
	memcpy(&commit, f->page + f->layout->commit_offset, sizeof(commit));
	if ((commit & 0x7ffffff) > n - begin) {
		commit = (commit & 0x80000000) | (u32)(n - begin);
		memcpy(f->page + f->layout->commit_offset, &commit, sizeof(commit));
		f->cut++;
	}
	return f->page;
}

static int open_files(struct restore *r, struct page_merge *m)
{
	page_merge_init(m, &r->piece.layout);
	for (int i = 0; i < r->count; i++) {
		struct cpu_file *const f = &r->files[i];
		const struct page_stream s = {.cpu = f->cpu, .next = next_page, .arg = f};

		f->fd = foreign_open(f->path, NULL);
		if (f->fd < 0) {
			diag_error(r->diag, NO_SPAN, "cannot read '%s': %s", f->path,
				   strerror(-f->fd));
			return f->fd;
		}
		f->layout = &r->piece.layout;
		f->page = xmalloc(f->layout->size);
		page_merge_add(m, &s);
	}
	r->piece.cpus = r->cpus;
	r->piece.cpu_count = (u32)r->count;
	return 0;
}

static int copy(struct restore *r, struct page_merge *m, u64 *ret_bytes)
{
	const struct dat_contents *const c = r->has_state ? &r->state.contents : &r->contents;
	struct piece *p = NULL;
	struct raw_event e;
	int err = piece_open(&r->piece, c, r->diag, &p);

	while (!err && page_merge_next(m, &e)) {
		err = piece_add(p, &e);
		r->events++;
	}
	if (err)
		piece_abandon(p);
	else
		err = piece_finish(p, ret_bytes);
	return err;
}

static int restore(struct restore *r)
{
	struct page_merge m = {0};
	u64 bytes = 0, damaged;
	int err = check_output(r);

	if (!err)
		err = !r->files	   ? read_recording(r, r->paths[0])
		      : r->o->head ? read_recording(r, r->o->head)
				   : read_kernel(r);
	if (!err)
		err = r->files ? open_files(r, &m) : trace_dat_events(r->recording, 0, &m);
	r->piece.path = r->output;
	r->piece.version = r->o->version_6 ? 6 : 7;
	r->piece.compress = true;
	if (!err)
		err = copy(r, &m, &bytes);
	damaged = m.damaged;
	for (int i = 0; i < r->count && r->files; i++)
		r->cut += r->files[i].cut;
	page_merge_release(&m);
	if (err)
		return err;
	if (damaged || r->cut) {
		diag_warning(
			r->diag, NO_SPAN,
			"%" PRIu64
			" page%s %s damaged or cut off: what could not be read of them is lost",
			MAX(damaged, (u64)r->cut), plural(MAX(damaged, (u64)r->cut)),
			is_are(MAX(damaged, (u64)r->cut)));
		diag_code(r->diag, EXIT_LOST);
	}
	diag_tell(r->diag);
	if (!r->o->quiet) {
		struct strbuf shown = STRBUF_INIT;

		escape_line(&shown, r->output, strlen(r->output));
		fprintf(stderr, "%" PRIu64 " event%s, %" PRIu64 " bytes, in %s\n", r->events,
			plural(r->events), bytes, shown.data);
		strbuf_release(&shown);
	}
	return 0;
}

static void release(struct restore *r)
{
	for (int i = 0; i < r->count && r->files; i++) {
		if (r->files[i].fd >= 0)
			close(r->files[i].fd);
		free(r->files[i].page);
	}
	trace_dat_close(r->recording);
	dat_contents_release(&r->contents);
	if (r->has_state)
		kernel_state_release(&r->state);
	kernel_release(r->kernel);
	free(r->clocks);
	free(r->files);
	free(r->cpus);
	free(r->output);
}

int cmd_restore(int argc, char **argv)
{
	struct restore_options o = {0};
	struct diag d = DIAG_INIT;
	struct restore r = {.o = &o, .diag = &d};
	int first, rc = options_parse(&restore_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (first == argc)
		return options_usage_error(&restore_spec,
					   "which files? trace.dat.cpu0 trace.dat.cpu1 ...");
	r.paths = argv + first;
	r.count = argc - first;
	signal(SIGXFSZ, SIG_IGN); /* a limit of files' size is an error of a write */
	r.kernel = kernel_new();
	dat_contents_init(&r.contents);
	r.output = o.output ? xstrdup(o.output) : NULL;
	rc = take_files(&r);
	if (rc == OPTIONS_GO_ON)
		rc = restore(&r) ? EXIT_FAILED : d.code ? (int)d.code : EXIT_OK;
	release(&r);
	return diag_close(&d, rc);
}
