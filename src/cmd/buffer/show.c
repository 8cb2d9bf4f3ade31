/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace show`: the text of a buffer as the kernel prints it, or of its other files. */
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/escape.h"
#include "cmd/buffer/buffer.h"
#include "engine/run_signals.h"
#include "view/output.h"

#define CHUNK 65536u

struct show_options {
	struct buffer_choice buffer;
	bool pipe, snapshot;
	const char *cpu;
	u64 duration_ns;
};

#define O(field) offsetof(struct show_options, field)
static const struct option_spec show_table[] = {
	BUFFER_OPTIONS(struct show_options, buffer),
	{'p', "pipe", NULL,
	 "follow: print events as they come, until Ctrl-C; what is printed is taken out of the "
	 "buffer",
	 OPTION_FLAG, O(pipe)},
	{'s', "snapshot", NULL, "the snapshot taken by snapshot -s", OPTION_FLAG, O(snapshot)},
	{'c', "cpu", "CPU", "only what this CPU recorded", OPTION_STRING, O(cpu)},
	{'d', "duration", "SECONDS", "with -p: end by itself after this time", OPTION_SECONDS,
	 O(duration_ns)},
	{0},
};
#undef O

static const struct command_spec show_spec = {
	.name = "show",
	.synopsis = "[-B NAME | -t] [-p | -s] [-c CPU] [FILE...]",
	.summary = "print what is in a buffer",
	.examples = "pantrace show   # of the session of `pantrace start`\n"
		    "pantrace show | grep openat | tail\n"
		    "pantrace show -p   # follow it\n"
		    "pantrace show --top -c 0\n"
		    "pantrace show current_tracer set_event   # other files of the buffer\n"
		    "pantrace show events/sched/sched_switch/filter\n",
	.details =
		"The text is the kernel's own. What is printed stays in the buffer, except with "
		"-p. For other forms write it into a file: `pantrace extract -o x.dat`, then "
		"`pantrace report --json x.dat`.\n\n"
		"With -p, events that were overwritten before they could be printed are lost: the "
		"kernel says so in a line, and the exit code is 3. Characters that control a "
		"terminal are shown as \\xNN.\n",
	.options = show_table,
};

struct show {
	const struct show_options *o;
	struct diag *diag;
	struct output out;
	struct strbuf rest; /* a line that has not ended yet */
	u64 lost; /* events, by the kernel's own lines */
};

/* "CPU:1 [LOST 23 EVENTS]" */
static void count_losses(struct show *s, const char *text, size_t len)
{
	const char *at = memmem(text, len, " [LOST ", 7);

	if (at && str_starts(text, "CPU:"))
		s->lost += strtoull(at + 7, NULL, 10) ?: 1;
}

/* Prints whole lines; keeps the rest. */
static void print_lines(struct show *s, const char *text, size_t len)
{
	strbuf_add(&s->rest, text, len);
	for (size_t at = 0;;) {
		const char *const begin = s->rest.data + at;
		const char *const end = memchr(begin, '\n', s->rest.len - at);

		if (!end) {
			memmove(s->rest.data, begin, s->rest.len - at + 1);
			s->rest.len -= at;
			break;
		}
		if (s->o->pipe)
			count_losses(s, begin, (size_t)(end - begin));
		escape_terminal(&s->out.text, begin, (size_t)(end + 1 - begin));
		at += (size_t)(end + 1 - begin);
	}
	output_commit(&s->out);
}

static void print_rest(struct show *s)
{
	escape_terminal(&s->out.text, s->rest.data, s->rest.len);
	strbuf_reset(&s->rest);
	output_flush(&s->out);
}

/* Reads the file to its end. */
static int print_file(struct show *s, int fd)
{
	char chunk[CHUNK];
	ssize_t n = 1;

	while (n > 0 && !s->out.error) {
		n = read(fd, chunk, sizeof(chunk));
		if (n > 0)
			print_lines(s, chunk, (size_t)n);
		else if (n && errno == EINTR)
			n = 1;
	}
	print_rest(s);
	return n < 0 ? -errno : 0;
}

/* Reads what is there now. False: an error or the end of the output. */
static bool read_pipe(struct show *s, int fd, int *ret_err)
{
	char chunk[CHUNK];
	ssize_t n;

	while ((n = read(fd, chunk, sizeof(chunk))) > 0 && !s->out.error)
		print_lines(s, chunk, (size_t)n);
	output_idle(&s->out);
	*ret_err = n < 0 && errno != EAGAIN && errno != EINTR ? -errno : 0;
	return !*ret_err && !s->out.error;
}

/* trace_pipe gives end of file while tracing is stopped; more comes after a restart. */
static int follow(struct show *s, int fd)
{
	const u64 end =
		s->o->duration_ns ? clock_now_ns(CLOCK_MONOTONIC) + s->o->duration_ns : UINT64_MAX;
	struct run_signals signals = {0};
	struct pollfd set[] = {
		{run_signals_open(&signals), POLLIN, 0}, {fd, POLLIN, 0}, {s->out.fd, 0, 0}};
	int err = 0;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (getenv("__BPFTRACE_NOTIFY_PROBES_ATTACHED")) {
		strbuf_addstr(&s->out.text, "__BPFTRACE_NOTIFY_PROBES_ATTACHED\n");
		output_flush(&s->out);
	}
	while (clock_now_ns(CLOCK_MONOTONIC) < end) {
		const u64 left = (end - clock_now_ns(CLOCK_MONOTONIC)) / 1000000 + 1;

		poll(set, ARRAY_SIZE(set), (int)MIN(left, (u64)200));
		if (!read_pipe(s, fd, &err) || set[0].revents & POLLIN ||
		    set[2].revents & (POLLERR | POLLHUP))
			break;
		/* end of file: tracing is stopped */
		if (set[1].revents & (POLLHUP | POLLERR))
			poll(set, 1, 100);
	}
	print_rest(s);
	close(set[0].fd);
	run_signals_end(&signals);
	return err;
}

static int refuse(struct show *s, const struct chosen_buffer *b, const char *file, int err)
{
	if (err == -ENOENT && strstr(file, "snapshot")) {
		diag_error(s->diag, NO_SPAN, "this kernel has no snapshots");
		diag_code(s->diag, EXIT_UNSUPPORTED);
		return err;
	}
	diag_error(s->diag, NO_SPAN, "%s: cannot read %s: %s", b->label, file, strerror(-err));
	if (err == -EACCES || err == -EPERM)
		diag_code(s->diag, EXIT_PRIVILEGE);
	if (err == -EBUSY)
		diag_hint(s->diag, "another process is following it");
	return err;
}

static int show_file(struct show *s, const struct chosen_buffer *b, const char *file)
{
	const int fd = instance_open_file(b->instance, file, O_RDONLY);
	int err = fd < 0 ? fd : 0;

	if (!err)
		err = s->o->pipe ? follow(s, fd) : print_file(s, fd);
	if (fd >= 0)
		close(fd);
	return err ? refuse(s, b, file, err) : 0;
}

/* Only files inside the instance. */
static int show_named(struct show *s, const struct chosen_buffer *b, char **files, int count)
{
	int err = 0;

	for (int i = 0; i < count && !err; i++) {
		if (files[i][0] == '/' || strstr(files[i], "..")) {
			diag_error(s->diag, NO_SPAN, "'%s' is not a file of the buffer", files[i]);
			return -EINVAL;
		}
		if (count > 1)
			strbuf_addf(&s->out.text, "%s:\n", files[i]);
		err = show_file(s, b, files[i]);
	}
	return err;
}

static int show(struct show *s, struct kernel *k, char **files, int count)
{
	const struct show_options *const o = s->o;
	struct chosen_buffer b;
	char *file = NULL;
	int err = buffer_choose(&o->buffer, o->pipe ? BUFFER_CHANGE : BUFFER_LOOK, k, s->diag, &b);

	if (!err && count) {
		err = show_named(s, &b, files, count);
	} else if (!err) {
		err = buffer_cpu_file(s->diag, b.instance, o->cpu,
				      o->snapshot ? "snapshot"
				      : o->pipe	  ? "trace_pipe"
						  : "trace",
				      &file);
		if (!err)
			err = show_file(s, &b, file);
	}
	free(file);
	buffer_release(&b);
	return err;
}

int cmd_show(int argc, char **argv)
{
	struct show_options o = {0};
	struct diag d = DIAG_INIT;
	struct show s = {.o = &o, .diag = &d, .rest = STRBUF_INIT};
	struct kernel *k;
	int first, rc = options_parse(&show_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (o.pipe && (o.snapshot || first < argc))
		return options_usage_error(&show_spec, "-p follows the buffer itself: no %s",
					   o.snapshot ? "-s" : "files");
	if (o.duration_ns && !o.pipe)
		return options_usage_error(&show_spec, "-d is for -p");
	if (first < argc && (o.snapshot || o.cpu))
		return options_usage_error(&show_spec, "-%c and files cannot be combined",
					   o.snapshot ? 's' : 'c');
	k = kernel_new();
	output_open(&s.out, NULL, OUTPUT_LINE, false);
	rc = show(&s, k, argv + first, argc - first) ? EXIT_FAILED : EXIT_OK;
	output_flush(&s.out);
	if (!rc)
		rc = (int)output_exit_code(&s.out, &d);
	if (!rc && s.lost)
		rc = EXIT_LOST;
	output_close(&s.out);
	strbuf_release(&s.rest);
	kernel_release(k);
	return diag_close(&d, rc);
}
