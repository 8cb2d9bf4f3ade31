// SPDX-License-Identifier: GPL-2.0-or-later
/* pantrace crash: its options, and the rings of ended programs. */
#include "cmd/crash/crash.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign.h"
#include "cmd/boot/boot.h"
#include "cmd/user/user.h"
#include "user/owner.h"
#include "user/recorder.h"
#include "view/sink.h"

#define DIRECTORY    (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define CLOCK_SET_NS 1000000000 /* more than who keeps the time moves it */

struct crash_options {
	const char *output, *instance;
	bool kernel, json;
};

static const struct option_spec crash_table[] = {
	{'o', "output", "DIR", "where to write (default: crash-DATE-TIME)", OPTION_STRING,
	 offsetof(struct crash_options, output)},
	{'k', "kernel", NULL,
	 "write what the kernel had recorded when it crashed into a trace.dat: from a VMCORE, or "
	 "from memory that outlives a crash (boot --persistent)",
	 OPTION_FLAG, offsetof(struct crash_options, kernel)},
	{'B', "name", "BUFFER",
	 "--kernel: only this instance (default: all in the VMCORE, or the one on the kernel's "
	 "command line)",
	 OPTION_STRING, offsetof(struct crash_options, instance)},
	{'j', "json", NULL, "one JSON object per process; --kernel: per CPU", OPTION_FLAG,
	 offsetof(struct crash_options, json)},
	{0},
};

static const struct option_field crash_fields[] = {
	{"PID, PROGRAM", "whose rings they were, as the file says"},
	{"UID", "the owner of the file"},
	{"EVENTS, LOST", "events that were read; events that found no room"},
	{"RINGS", "whole or damaged: what precedes the damage was read"},
	{"UNREADABLE",
	 "events that are missing from the VMCORE, or damaged (code 3); of rings at least so many"},
	{"OVERWRITTEN, DROPPED", "--kernel: events that newer ones replaced; that found no room"},
	{0},
};

static const struct command_spec crash_spec = {
	.name = "crash",
	.synopsis = "[options] FILE|DIR|PID... | --kernel [VMCORE]",
	.summary = "the last events of programs that were killed, or of a kernel that crashed",
	.examples = "pantrace crash 4711   # a process, from whichever session it was in\n"
		    "pantrace crash /var/lib/rings -o /tmp/last   # of record --rings, "
		    "after a power cut\n"
		    "pantrace crash --kernel -o last.dat   # the kernel, after `boot arm`\n"
		    "pantrace crash --kernel /var/crash/vmcore -o dead.dat   # all CPUs of a "
		    "dead machine\n",
	.details = "The rings of a process are a file in memory (/dev/shm) or on a disk "
		   "(--rings, PANTRACE_RECORD). However the process ended, they hold every event "
		   "that was published. If the machine crashed, that holds up to when the kernel "
		   "last wrote the file to the disk, half a minute before at most; how many came "
		   "later nobody knows. The files are only read, also while the process still "
		   "runs. A number is always a process; a file of that name is ./4711.\n\n"
		   "A file that was found by its process must belong to us, to root, or to the "
		   "user of that process. Once a process has ended, only the owner of its file "
		   "(UID) says whose it was.\n\n"
		   "--kernel reads what the previous boot left in memory. report, trace-cmd and "
		   "KernelShark open the file, which has the formats, symbols, names and clock "
		   "of that boot.\n\n"
		   "With a VMCORE it reads the buffers of the kernel and of all instances from "
		   "the memory of a dead machine: an ELF core (/proc/vmcore, QEMU's "
		   "dump-guest-memory) or a dump compressed by makedumpfile, flattened or not. "
		   "Nothing else is needed, because the dump has the kernel's types and symbols, "
		   "if that kernel is Linux 6.0 or later on x86-64 with CONFIG_DEBUG_INFO_BTF.\n",
	.fields = crash_fields,
	.options = crash_table,
};

struct crash {
	struct ctf_output *output;
	struct sink sink;
	u32 found, refused, earlier; /* earlier: of a boot before this one */
	u64 unreadable;
	struct user_owners owners;
	const char *pid; /* only files of this session, or NULL */
};

static const struct sink_column columns[] = {{"pid", "PID", 8},
					     {"uid", "UID", 6},
					     {"program", "PROGRAM", 16},
					     {.key = "session"},
					     {"events", "EVENTS", -12},
					     {"lost", "LOST", -12},
					     {"unreadable", "UNREADABLE", -12},
					     {.key = "damaged"},
					     {NULL, "RINGS", 0},
					     {0}};

static void say(struct sink *s, const struct pantrace_shm *h, uid_t uid, u64 events, u64 lost,
		u64 unreadable, bool damaged)
{
	sink_row(s, SINK_NUMBER(h->pid), SINK_NUMBER(uid),
		 SINK_STRING(h->comm, strnlen(h->comm, sizeof(h->comm))),
		 SINK_STRING(h->session, strnlen(h->session, sizeof(h->session))),
		 SINK_NUMBER(events), SINK_NUMBER(lost), SINK_NUMBER(unreadable),
		 SINK_BOOL(damaged), SINK_SHOWN(damaged ? "damaged" : "whole"));
}

/*
 * In directories where others can write, anybody can leave a file that names a process. A user only
 * sees files of their own and of root; root sees all, but not a file under the name of another
 * user's process.
 */
static bool is_good(struct crash *c, uid_t owner, const struct pantrace_shm *h)
{
	if (!owner || owner == geteuid())
		return true;
	return !geteuid() && user_owner_good(&c->owners, owner, (pid_t)h->pid, h->pid_namespace);
}

/*
 * Since then the clocks of this boot have moved apart by the time asleep at most, unless somebody
 * sets the time of the day.
 */
static bool is_of_earlier_boot(const struct pantrace_shm *h)
{
	const s64 apart = (s64)(h->realtime_start_ns - h->monotonic_start_ns);
	const s64 moved = clock_distance_ns(CLOCK_MONOTONIC, CLOCK_REALTIME) - apart;
	const s64 asleep = clock_distance_ns(CLOCK_MONOTONIC, CLOCK_BOOTTIME);

	return moved < -CLOCK_SET_NS || moved > asleep + CLOCK_SET_NS;
}

/* An error that is the rings' own, and told with them. */
static bool is_damage(int err)
{
	return err == -EBADMSG || err == -EFAULT;
}

/* One ring file. 0, or -errno of the output. */
static int take(struct crash *c, int directory, const char *name, struct diag *d)
{
	const u64 before = ctf_output_totals(c->output).events;
	struct pantrace_reader *reader;
	struct shared_range *range;
	struct ctf_source *source;
	struct stat st;
	int fd, rc;

	/* anybody may have put links into a directory; those that the user names are followed */
	fd = directory == AT_FDCWD ? foreign_open(name, &st)
				   : foreign_file(directory, name, O_RDONLY, &st);
	if (fd < 0) {
		diag_error(d, NO_SPAN, "%s: %s", name, fd == -EPERM ? "is no file" : strerror(-fd));
		c->refused++;
		return 0;
	}
	rc = pantrace_reader_open_fd(fd, false, &reader);
	close(fd);
	if (rc) {
		diag_warning(d, NO_SPAN, "%s: %s", name,
			     rc == -EPROTONOSUPPORT
				     ? "its rings are of another version of libpantrace"
				     : "holds no rings, or its header is destroyed");
		c->refused++;
		return 0;
	}
	if (c->pid && !is_good(c, st.st_uid, pantrace_reader_header(reader))) {
		diag_warning(d, NO_SPAN, "%s: is user %u's file, not that of process %u", name,
			     (unsigned int)st.st_uid, pantrace_reader_header(reader)->pid);
		c->refused++;
		pantrace_reader_close(reader);
		return 0;
	}
	pantrace_reader_verify(reader);
	range = recorder_guard(reader);
	rc = ctf_output_add(c->output, reader, &source);
	if (!rc) {
		const bool damaged = is_damage(rc = ctf_output_drain(c->output, source, CTF_ALL)) ||
				     range->is_cut;

		const u64 unreadable = MAX(pantrace_reader_missing(reader), (u64)damaged);

		c->found++;
		c->unreadable += unreadable;
		c->earlier += is_of_earlier_boot(pantrace_reader_header(reader));
		say(&c->sink, pantrace_reader_header(reader), st.st_uid,
		    ctf_output_totals(c->output).events - before, pantrace_reader_lost(reader),
		    unreadable, damaged);
		ctf_output_remove(c->output, source);
		rc = damaged ? 0 : rc;
	}
	recorder_unguard(range);
	pantrace_reader_close(reader);
	return rc;
}

static bool file_of(const char *name, const char *pid)
{
	const size_t n = strlen(name);

	if (n < 9 || !str_eq(name + n - 9, ".pantrace"))
		return false;
	return !pid || (!strncmp(name, pid, strlen(pid)) && name[strlen(pid)] == '-');
}

/*
 * Takes the descriptor; below 0 there is nothing. and_sessions: those of its directories, too, as
 * --rings DIR has one for each session.
 */
static int take_directory(struct crash *c, int fd, bool and_sessions, struct diag *d)
{
	DIR *const dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int rc = 0;

	while (dir && !rc && (entry = readdir(dir))) {
		const char *const name = entry->d_name;

		if (file_of(name, c->pid))
			rc = take(c, fd, name, d);
		else if (and_sessions && *name != '.')
			rc = take_directory(c, openat(fd, name, DIRECTORY | O_NOFOLLOW), false, d);
	}
	if (dir)
		closedir(dir);
	return rc;
}

/* The rings of a process in all sessions. */
static int take_pid(struct crash *c, const char *pid, struct diag *d)
{
	struct user_sessions sessions = {0};
	const u32 before = c->found;
	int rc = 0;

	c->pid = pid;
	user_sessions_load(&sessions);
	for (size_t i = 0; i < sessions.all.len && !rc; i++)
		rc = take_directory(c, open(sessions.all.items[i].directory, DIRECTORY), false, d);
	/* PANTRACE_RECORD=/dev/shm */
	if (!rc)
		rc = take_directory(c, open("/dev/shm", DIRECTORY), false, d);
	user_sessions_release(&sessions);
	c->pid = NULL;
	if (!rc && c->found == before) {
		diag_error(d, NO_SPAN, "no session has rings of process %s", pid);
		diag_hint(d, "`pantrace user status` lists the sessions; a directory or file of "
			     "rings can be given instead");
	}
	return rc;
}

/* A number is always a process, whatever names somebody has made in this directory. */
static int take_argument(struct crash *c, const char *argument, struct diag *d)
{
	struct stat st;

	if (!argument[strspn(argument, "0123456789")])
		return take_pid(c, argument, d);
	if (stat(argument, &st)) {
		diag_error(d, NO_SPAN, "%s: %s", argument, strerror(errno));
		return 0;
	}
	return S_ISDIR(st.st_mode) ? take_directory(c, open(argument, DIRECTORY), true, d)
				   : take(c, AT_FDCWD, argument, d);
}

static int take_all(struct crash *c, const char *output, char **arguments, struct diag *d)
{
	const struct ctf_output_options options = {.directory = output};
	const bool is_new = access(output, F_OK);
	int closed, rc = ctf_directory_check(output, d) ?: ctf_output_open(&options, d, &c->output);

	for (; *arguments && !rc; arguments++) {
		rc = take_argument(c, *arguments, d);
		if (rc)
			diag_error(d, NO_SPAN, "%s: %s", output, strerror(-rc));
	}
	closed = c->output ? ctf_output_close(c->output, 0) : 0;
	if (closed && !is_damage(closed) && !rc)
		rc = -EIO;
	if (!c->found && is_new)
		rmdir(output);
	return rc;
}

int cmd_crash(int argc, char **argv)
{
	struct crash_options o = {0};
	struct strbuf out = STRBUF_INIT;
	struct crash c = {.sink = {.columns = columns, .out = &out}};
	struct diag d = DIAG_INIT;
	char name[64];
	time_t now = time(NULL);
	struct tm tm;
	int first, rc = options_parse(&crash_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	strftime(name, sizeof(name), o.kernel ? "crash-%Y%m%d-%H%M%S.dat" : "crash-%Y%m%d-%H%M%S",
		 localtime_r(&now, &tm));
	o.output = o.output ?: name;
	if (o.kernel && argc - first > 1)
		return options_usage_error(&crash_spec, "--kernel takes one VMCORE");
	if (o.kernel)
		return diag_close(
			&d, first < argc
				    ? crash_vmcore(argv[first], o.instance, o.output, o.json, &d)
				    : crash_kernel(o.instance, o.output, o.json, &d));
	if (first == argc)
		return options_usage_error(&crash_spec,
					   "a directory, a file or a process is needed");
	c.sink.format = sink_of(o.json);
	rc = take_all(&c, o.output, argv + first, &d);
	fwrite(out.data, 1, out.len, stdout);
	if (!c.found && !d.errors)
		diag_error(&d, NO_SPAN, "there is no ring file that can be read");
	else if (c.found && !o.json)
		fprintf(stderr, "in %s\n", o.output);
	if (c.earlier)
		diag_warning(&d, NO_SPAN,
			     "rings of a boot before this one: %u; where that one did not shut "
			     "down, events of its last seconds may not have reached the disk",
			     c.earlier);
	user_owners_release(&c.owners);
	strbuf_release(&out);
	return diag_close(&d, rc ? EXIT_FAILED : c.unreadable ? EXIT_LOST : EXIT_OK);
}
