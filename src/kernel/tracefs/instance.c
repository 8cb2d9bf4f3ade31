/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The life of an instance, and its files. What they mean is in instance_settings.c. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "kernel/tracefs/guard.h"
#include "kernel/tracefs/instance_internal.h"
#include "kernel/tracefs/instance_remove.h"
#include "kernel/tracefs/lasting_buffer.h"
#include "kernel/tracefs/triggers.h"
#include "kernel/tracefs/sweep.h"

/* ---- words ---- */

int instance_refused(struct instance *in, int err, const char *file, const char *fmt, ...)
{
	const struct kernel_answer *lockdown = kernel_ask(in->kernel, KERNEL_LOCKDOWN_NONE);
	struct strbuf sb = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&sb, fmt, ap);
	va_end(ap);
	diag_error(in->diag, NO_SPAN, "%s: %s", sb.data, strerror(-err));
	strbuf_release(&sb);
	switch (-err) {
	case EPERM:
	case EACCES:
		diag_code(in->diag, EXIT_PRIVILEGE);
		if (geteuid())
			diag_hint(in->diag, "run it as root");
		else if (!lockdown->yes)
			diag_hint(in->diag, "the kernel does not allow %s to be used; %s", file,
				  lockdown->why);
		else
			diag_hint(in->diag,
				  "a container or security module may forbid it; try on the host");
		break;
	case ENOENT:
		diag_code(in->diag, EXIT_UNSUPPORTED);
		diag_hint(in->diag, "this kernel has no %s", file);
		break;
	case EBUSY:
		diag_hint(in->diag, "somebody else is using it");
		break;
	case ENOMEM:
		diag_hint(in->diag, "a smaller buffer may fit");
		break;
	}
	return err;
}

/* Reports why there is no tracefs, or that we may not use it. */
static int refuse_tracefs(struct kernel *k, struct diag *d, int err)
{
	const struct kernel_answer *a = kernel_ask(k, KERNEL_TRACEFS);

	diag_error(d, NO_SPAN, "tracefs cannot be used: %s", a->why ? a->why : strerror(-err));
	if (a->hint)
		diag_hint(d, "%s", a->hint);
	diag_code(d, err == -EPERM || err == -EACCES ? EXIT_PRIVILEGE : EXIT_UNSUPPORTED);
	return err;
}

/* ---- an instance of our own ---- */

/*
 * Makes the directory and locks it. A sweep that comes between the two takes it for a dead run's
 * and removes it: then it is made once more.
 */
static int make_directory(struct instance *in)
{
	struct stat opened, named;

	for (int attempt = 0; attempt < 3; attempt++) {
		int rc = -1;

		if (mkdir(in->directory, 0750))
			return -errno;
		in->lock = open(in->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (in->lock >= 0)
			do /* a signal must not make it another's directory, which exists */
				rc = flock(in->lock, LOCK_EX);
			while (rc && errno == EINTR);
		if (!rc && !fstat(in->lock, &opened) && !stat(in->directory, &named) &&
		    opened.st_ino == named.st_ino)
			return 0;
		if (in->lock >= 0)
			close(in->lock);
		in->lock = -1;
	}
	return -EAGAIN;
}

/* The journal says what is made before it is: a killed run's is removed by it. */
static int open_lasting(struct instance *in, const char *root, const struct instance_lasting *l)
{
	char *file;
	int err;

	in->name = xasprintf(LASTING_PREFIX "%s", l->name);
	in->directory = xasprintf("%s/instances/%s", root, in->name);
	file = xasprintf("instances/%s", in->name);
	if (!access(in->directory, F_OK)) {
		diag_error(in->diag, NO_SPAN, "there is an instance %s already", in->name);
		diag_hint(in->diag, "`pantrace reset -B %s` removes it", l->name);
		err = -EEXIST;
	} else {
		err = tracefs_saved_remember_text(in->shared, file, "");
		if (!err)
			err = make_directory(in);
		if (err)
			instance_refused(in, err, "instances",
					 "cannot make a ring buffer in %s/instances", root);
	}
	free(file);
	return err;
}

static int open_own(struct instance *in, const char *root)
{
	const struct tracefs_owner self = tracefs_owner_self();
	char name[TRACEFS_OWNER_NAME];
	int err = -EEXIST;

	tracefs_owner_name(&self, '-', name);
	/* One process may have several. */
	for (int n = 1; err == -EEXIST && n < 100; n++) {
		free(in->name);
		free(in->directory);
		in->name = n == 1 ? xstrdup(name) : xasprintf("%s-%d", name, n);
		in->directory = xasprintf("%s/instances/%s", root, in->name);
		err = make_directory(in);
	}
	if (err)
		instance_refused(in, err, "instances", "cannot make a ring buffer in %s/instances",
				 root);
	return err;
}

/*
 * Sets everything that a new instance copies from the top buffer and that would change what we see.
 */
static int set_defaults(struct instance *in, bool any_clock)
{
	static const struct {
		const char *file, *value;
	} defaults[] = {
		{"options/stacktrace", "0"},	    {"options/userstacktrace", "0"},
		{"options/overwrite", "1"},	    {"options/markers", "0"},
		{"options/copy_trace_marker", "0"}, {"options/record-cmd", "1"},
		{"options/pause-on-trace", "0"},
	};
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(defaults); i++)
		if (instance_has(in, defaults[i].file) && in->kind == INSTANCE_OWN)
			instance_try(in, defaults[i].file, defaults[i].value);
	err = any_clock ? 0 : instance_set_clock(in, "mono");
	return err ? instance_refused(in, err, "trace_clock",
				      "cannot set the clock of the trace buffer")
		   : 0;
}

/* ---- the top buffer ---- */

/* The process that holds the lock (proc(5), /proc/locks), 0 = unknown. */
static pid_t lock_holder(int fd)
{
	struct stat st;
	char *text, *rest, *line;
	pid_t pid = 0;

	if (fstat(fd, &st) || file_read("/proc/locks", 1 << 20, &text, NULL))
		return 0;
	/* "3: FLOCK  ADVISORY  WRITE 412 00:0c:1 0 EOF" */
	for (line = strtok_r(text, "\n", &rest); line && !pid; line = strtok_r(NULL, "\n", &rest)) {
		unsigned long inode;
		int who;

		if (sscanf(line, "%*u: FLOCK %*s %*s %d %*x:%*x:%lu", &who, &inode) == 2 &&
		    inode == st.st_ino)
			pid = (pid_t)who;
	}
	free(text);
	return pid;
}

pid_t instance_top_owner(struct kernel *k)
{
	const char *const root = kernel_tracefs(k);
	const int fd = root ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	pid_t holder = 0;

	if (fd < 0)
		return 0;
	if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
		holder = lock_holder(fd);
		holder = holder ? holder : -1;
	}
	close(fd);
	return holder;
}

static int lock_top(struct instance *in)
{
	pid_t holder;

	in->lock = open(in->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in->lock < 0)
		return instance_refused(in, -errno, in->directory, "cannot open %s", in->directory);
	if (!flock(in->lock, LOCK_EX | LOCK_NB))
		return 0;
	if (errno != EWOULDBLOCK)
		return instance_refused(in, -errno, in->directory, "cannot lock %s", in->directory);
	holder = lock_holder(in->lock);
	if (holder)
		diag_error(in->diag, NO_SPAN, "the top trace buffer is in use by process %d",
			   (int)holder);
	else
		diag_error(in->diag, NO_SPAN, "the top trace buffer is in use");
	diag_hint(in->diag, "this kernel runs the tracer in one buffer only; wait until the other "
			    "run has ended");
	return -EBUSY;
}

/*
 * An event that is enabled in the top buffer; malloc'ed or NULL. Not that of bpf_trace_printk(),
 * which the kernel enables itself, for good (kernel/trace/bpf_trace.c).
 */
static char *enabled_event(const struct instance *in)
{
	char *text, *line, *rest, *found = NULL;

	if (instance_read(in, "set_event", &text))
		return NULL;
	for (line = strtok_r(text, "\n", &rest); line && !found; line = strtok_r(NULL, "\n", &rest))
		if (!str_eq(line, "bpf_trace:bpf_trace_printk"))
			found = xstrdup(line);
	free(text);
	return found;
}

/* Refuses if somebody traces there already: with a tracer, or with events. */
static int check_top_is_free(struct instance *in)
{
	char *tracer = NULL, *event = enabled_event(in);
	int err = -EBUSY;

	if (tracefs_value_read(in->directory, "current_tracer", &tracer))
		tracer = NULL;
	if (tracer && !str_eq(tracer, "nop"))
		diag_error(in->diag, NO_SPAN,
			   "somebody else runs the tracer '%s' in the top trace buffer", tracer);
	else if (event)
		diag_error(in->diag, NO_SPAN,
			   "somebody else traces events in the top trace buffer: %s", event);
	else
		err = 0;
	if (err)
		diag_hint(in->diag, "`pantrace reset-ftrace` shows what is switched on there, and "
				    "ends it");
	free(tracer);
	free(event);
	return err;
}

/* The header of the text tells it. */
static bool buffer_is_empty(const struct instance *in)
{
	const int fd = instance_open_file(in, "trace", O_RDONLY);
	char text[512];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[MAX(n, 0)] = '\0';
	return strstr(text, "entries-written: 0/0 ") != NULL;
}

static int open_top(struct instance *in, const char *root)
{
	int err;

	in->name = xstrdup("");
	in->directory = xstrdup(root);
	err = lock_top(in);
	if (!err)
		err = check_top_is_free(in);
	if (err)
		return err;
	if (!in->saved)
		in->saved = tracefs_saved_new(root);
	if (!in->saved)
		return instance_refused(in, -errno, "/run/pantrace",
					"cannot write down what the top trace buffer was like");
	if (buffer_is_empty(in))
		tracefs_saved_remember_text(in->saved, "trace", "");
	err = instance_try(in, "tracing_on", "1");
	return err ? instance_refused(in, err, "tracing_on", "cannot switch tracing on") : 0;
}

/* ---- life ---- */

static struct instance *new_instance(struct kernel *k, struct diag *d, enum instance_kind kind)
{
	struct instance *in = xzalloc(sizeof(*in));

	*in = (struct instance){
		.kernel = k,
		.diag = d,
		.kind = kind == INSTANCE_TOP ? INSTANCE_TOP : INSTANCE_OWN,
		.lock = -1,
	};
	return in;
}

/* tracefs is there, and what killed runs left in it is not. 0 or -errno with a diagnostic. */
static int prepare(struct kernel *k, struct diag *d)
{
	const char *const root = kernel_tracefs(k);

	if (!root || access(root, R_OK | X_OK))
		return refuse_tracefs(k, d, -errno);
	tracefs_sweep(k, false, NULL);
	guard_start(k);
	return 0;
}

static int refuse_session(struct instance *in, int err, const char *name)
{
	if (err != -EEXIST)
		return instance_refused(in, err, "/run/pantrace",
					"cannot write down what is to be put back");
	diag_error(in->diag, NO_SPAN, "there is a session '%s' already", name);
	diag_hint(in->diag,
		  "`pantrace status` shows it, `pantrace reset -B %s` removes it; -B NAME begins "
		  "another one beside it",
		  name);
	return err;
}

int instance_open_lasting(struct kernel *k, struct diag *d, const struct instance_lasting *l,
			  bool is_top, struct instance **ret)
{
	const char *const root = kernel_tracefs(k);
	struct tracefs_saved *journal;
	struct instance *in;
	int err = prepare(k, d);

	*ret = NULL;
	if (err)
		return err;
	in = new_instance(k, d, is_top ? INSTANCE_TOP : INSTANCE_OWN);
	in->is_lasting = true;
	journal = lasting_buffer_begin(root, l->name, is_top, l->command);
	*(is_top ? &in->saved : &in->shared) = journal;
	if (!journal)
		err = refuse_session(in, -errno, l->name);
	else
		err = is_top ? open_top(in, root) : open_lasting(in, root, l);
	if (!err)
		err = set_defaults(in, false);
	if (err) {
		instance_close(in);
		return err;
	}
	*ret = in;
	return 0;
}

int instance_stand(struct instance *in)
{
	const int err = lasting_buffer_stand(in->saved ? in->saved : in->shared);

	in->stands = !err;
	return err ? instance_refused(in, err, "/run/pantrace",
				      "cannot write down that the session stays")
		   : 0;
}

int instance_open_standing(struct kernel *k, struct diag *d, const char *name,
			   struct instance **ret)
{
	const char *const root = kernel_tracefs(k);
	struct instance *in;

	*ret = NULL;
	if (!root || access(root, R_OK | X_OK))
		return refuse_tracefs(k, d, -errno);
	in = new_instance(k, d, *name ? INSTANCE_OWN : INSTANCE_TOP);
	in->is_others = true;
	in->name = xstrdup(name);
	in->directory = *name ? xasprintf("%s/instances/%s", root, name) : xstrdup(root);
	in->lock = strchr(name, '/') || *name == '.'
			   ? -1
			   : open(in->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (in->lock >= 0) {
		*ret = in;
		return 0;
	}
	diag_error(d, NO_SPAN, "there is no instance '%s'", name);
	instance_close(in);
	return -ENOENT;
}

int instance_open(struct kernel *k, struct diag *d, enum instance_kind kind, struct instance **ret)
{
	const char *const root = kernel_tracefs(k);
	struct instance *in;
	int err = prepare(k, d);

	*ret = NULL;
	if (err)
		return err;
	in = new_instance(k, d, kind);
	err = in->kind == INSTANCE_OWN ? open_own(in, root) : open_top(in, root);
	if (!err)
		err = set_defaults(in, kind == INSTANCE_ANY_CLOCK);
	if (err) {
		instance_close(in);
		return err;
	}
	*ret = in;
	return 0;
}

static void close_own(struct instance *in)
{
	int err;

	/* Without these, recording would go on while the instance is taken down. */
	instance_try(in, "tracing_on", "0");
	instance_try(in, "events/enable", "0");
	if (in->has_triggers)
		tracefs_triggers_remove(in->directory);
	/*
	 * A tracer ends with its instance. Writing "nop" first would also clear the buffer, which
	 * takes two more RCU grace periods (tracer_init() in kernel/trace/trace.c).
	 */
	if (!rmdir(in->directory))
		return;
	err = tracefs_instance_remove(in->directory, INSTANCE_REMOVE_ATTEMPTS);
	if (err)
		diag_warning(in->diag, NO_SPAN, "%s could not be removed: %s", in->directory,
			     strerror(-err));
}

static void put_back(struct instance *in, struct tracefs_saved *saved)
{
	char *file;
	const int err = tracefs_saved_restore(saved, &file);

	if (err)
		diag_warning(in->diag, NO_SPAN, "%s/%s could not be put back: %s",
			     kernel_tracefs(in->kernel), file, strerror(-err));
	free(file);
}

static void leave(struct instance *in, struct tracefs_saved *saved)
{
	tracefs_saved_leave(saved);
}

bool instance_leave(struct instance *in)
{
	if (in->kind != INSTANCE_OWN || instance_try(in, "tracing_on", "0"))
		return false;
	in->is_left = guard_take_over(in->kernel);
	return in->is_left;
}

void instance_close(struct instance *in)
{
	if (!in)
		return;
	if (in->kind == INSTANCE_OWN && in->lock >= 0 && !in->is_left && !in->stands &&
	    !in->is_others)
		close_own(in);
	if (in->saved)
		(in->stands ? leave : put_back)(in, in->saved);
	if (in->shared)
		(in->stands ? leave : put_back)(in, in->shared);
	if (in->lock >= 0)
		close(in->lock);
	free(in->directory);
	free(in->name);
	free(in);
}

const char *instance_directory(const struct instance *in)
{
	return in->directory;
}

const char *instance_name(const struct instance *in)
{
	return in->name;
}

bool instance_is_top(const struct instance *in)
{
	return in->kind == INSTANCE_TOP;
}

struct diag *instance_diag(struct instance *in)
{
	return in->diag;
}

struct kernel *instance_kernel(struct instance *in)
{
	return in->kernel;
}

/* ---- files ---- */

bool instance_has(const struct instance *in, const char *file)
{
	return !faccessat(in->lock, file, F_OK, 0);
}

int instance_open_file(const struct instance *in, const char *file, int flags)
{
	const int fd = openat(in->lock, file, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int instance_read(const struct instance *in, const char *file, char **ret)
{
	const int fd = instance_open_file(in, file, O_RDONLY);
	int err;

	if (fd < 0)
		return fd;
	err = file_read_fd(fd, (size_t)256 << 20, ret, NULL);
	close(fd);
	return err;
}

int instance_try(struct instance *in, const char *file, const char *value)
{
	char *now;
	int err;

	/*
	 * A file that cannot be read (or does not exist) may still be writable; if not, the write
	 * reports it.
	 */
	if (!tracefs_value_read(in->directory, file, &now)) {
		const bool same = str_eq(now, value);

		free(now);
		if (same)
			return 0;
		if (in->saved && (err = tracefs_saved_remember(in->saved, file)))
			return err;
	}
	return tracefs_value_write(in->directory, file, value);
}

int instance_write(struct instance *in, const char *file, const char *value)
{
	const int err = instance_try(in, file, value);

	return err ? instance_refused(in, err, file, "cannot write '%s' to %s", value, file) : 0;
}

int instance_remember(struct instance *in, const char *file)
{
	return in->saved ? tracefs_saved_remember(in->saved, file) : 0;
}

int instance_add(struct instance *in, const char *file, const char *value)
{
	int err = instance_remember(in, file), fd;

	fd = err ? err : instance_open_file(in, file, O_WRONLY | O_APPEND);
	if (fd >= 0) {
		err = write_all(fd, value, strlen(value));
		if (close(fd) && !err)
			err = -errno;
	} else {
		err = fd;
	}
	return err ? instance_refused(in, err, file, "cannot add '%s' to %s", value, file) : 0;
}
