/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/state_dump.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/json.h"
#include "base/process.h"
#include "binary/process/maps.h"

#define NAME	      "state.ndjson"
#define FORMAT	      1
#define FILES_MOST    1000 /* of a process */
#define MAPPINGS_MOST 1000 /* of a process */
#define BYTES_MOST    ((size_t)64 << 20)
#define MODE	      0600 /* it has details of other users' programs */

struct dump {
	const struct record_run *run;
	struct strbuf out;
	struct json json;
	u64 files_left_out, mappings_left_out, processes_left_out;
};

/* ---- lines ---- */

static struct json *begin(struct dump *d, const char *kind)
{
	json_object(&d->json);
	json_member_text(&d->json, "kind", kind);
	return &d->json;
}

static void end(struct dump *d)
{
	json_end(&d->json, '}');
	json_end_line(&d->json);
}

/* The text of a file, without its last newline; NULL: it cannot be read. Malloc'ed. */
static char *text_of(const char *directory, const char *file, size_t *ret_len)
{
	char *path = xasprintf("%s/%s", directory, file), *text;
	size_t len;
	const int err = file_read(path, (size_t)1 << 20, &text, &len);

	free(path);
	if (err)
		return NULL;
	if (len && text[len - 1] == '\n')
		text[--len] = '\0';
	*ret_len = len;
	return text;
}

static void member_file(struct json *j, const char *key, const char *directory, const char *file)
{
	size_t len;
	char *text = text_of(directory, file, &len);

	if (text)
		json_member_string(j, key, text, len);
	free(text);
}

static void member_link(struct json *j, const char *key, const char *directory, const char *file)
{
	char *path = xasprintf("%s/%s", directory, file), target[4096];
	const ssize_t n = readlink(path, target, sizeof(target));

	if (n > 0)
		json_member_string(j, key, target, (size_t)n);
	free(path);
}

/* ---- the machine ---- */

static void dump_system(struct dump *d)
{
	struct json *const j = begin(d, "system");
	struct utsname u;
	const u32 *cpus;

	json_member_u64(j, "format", FORMAT);
	json_member_u64(j, "monotonic_ns", clock_now_ns(CLOCK_MONOTONIC));
	json_member_u64(j, "time_ns", clock_now_ns(CLOCK_REALTIME));
	if (!uname(&u)) {
		json_member_text(j, "host", u.nodename);
		json_member_text(j, "release", u.release);
		json_member_text(j, "version", u.version);
		json_member_text(j, "machine", u.machine);
	}
	json_member_u64(j, "cpus", kernel_online_cpus(d->run->kernel, &cpus));
	member_file(j, "boot_id", "/proc/sys/kernel/random", "boot_id");
	end(d);
}

/* proc(5), mountinfo: "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw" */
static void dump_mount(struct dump *d, char *line)
{
	char *rest = NULL, *words[6] = {NULL}, *tail = strstr(line, " - "), *type, *source;
	struct json *j;

	if (!tail)
		return;
	*tail = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		words[i] = strtok_r(i ? NULL : line, " ", &rest);
		if (!words[i])
			return;
	}
	type = strtok_r(tail + 3, " ", &rest);
	source = strtok_r(NULL, " ", &rest);
	j = begin(d, "mount");
	json_member_text(j, "device", words[2]);
	json_member_text(j, "root", words[3]);
	json_member_text(j, "path", words[4]);
	json_member_text(j, "options", words[5]);
	json_member_text(j, "type", type);
	json_member_text(j, "source", source);
	end(d);
}

static void dump_mounts(struct dump *d)
{
	size_t len;
	char *rest = NULL, *text = text_of("/proc/self", "mountinfo", &len);

	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
	     line = strtok_r(NULL, "\n", &rest))
		dump_mount(d, line);
	free(text);
}

static void member_address(struct json *j, const struct sockaddr *a)
{
	const void *const bytes = a->sa_family == AF_INET
					  ? (const void *)&((const struct sockaddr_in *)a)->sin_addr
					  : &((const struct sockaddr_in6 *)a)->sin6_addr;
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(a->sa_family, bytes, text, sizeof(text)))
		json_text(j, text);
}

static void dump_interfaces(struct dump *d)
{
	struct if_nameindex *const all = if_nameindex();
	struct ifaddrs *addresses = NULL;

	if (getifaddrs(&addresses))
		addresses = NULL;
	for (struct if_nameindex *i = all; i && i->if_index; i++) {
		struct json *const j = begin(d, "interface");
		char *directory = xasprintf("/sys/class/net/%s", i->if_name);

		json_member_u64(j, "index", i->if_index);
		json_member_text(j, "name", i->if_name);
		member_file(j, "hardware", directory, "address");
		member_file(j, "state", directory, "operstate");
		json_key(j, "addresses");
		json_array(j);
		for (const struct ifaddrs *a = addresses; a; a = a->ifa_next)
			if (a->ifa_addr && str_eq(a->ifa_name, i->if_name) &&
			    (a->ifa_addr->sa_family == AF_INET ||
			     a->ifa_addr->sa_family == AF_INET6))
				member_address(j, a->ifa_addr);
		json_end(j, ']');
		end(d);
		free(directory);
	}
	if (all)
		if_freenameindex(all);
	freeifaddrs(addresses);
}

/* Calls fn for each entry of a directory whose name begins with a digit. */
static void each_number(const char *directory, void (*fn)(struct dump *d, const char *path, u32 n),
			struct dump *d)
{
	DIR *dir = opendir(directory);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		char *path;

		if (!isdigit((unsigned char)*e->d_name))
			continue;
		path = xasprintf("%s/%s", directory, e->d_name);
		fn(d, path, (u32)strtoul(e->d_name, NULL, 10));
		free(path);
	}
	if (dir)
		closedir(dir);
}

/* Documentation/ABI/testing/sysfs-kernel-irq */
static void dump_interrupt(struct dump *d, const char *path, u32 number)
{
	struct json *const j = begin(d, "interrupt");

	json_member_u64(j, "number", number);
	member_file(j, "actions", path, "actions");
	member_file(j, "chip", path, "chip_name");
	member_file(j, "type", path, "type");
	end(d);
}

/* ---- processes ---- */

/* The number after a word of /proc/PID/status. */
static u64 status_number(const char *status, const char *word)
{
	const char *const at = strstr(status, word);

	return at ? strtoull(at + strlen(word), NULL, 10) : 0;
}

struct process {
	struct dump *dump;
	u32 pid;
};

static int dump_thread(void *arg, pid_t tid)
{
	const struct process *const p = arg;
	struct dump *const d = p->dump;
	char directory[48];
	struct json *j;

	snprintf(directory, sizeof(directory), "/proc/%d", (int)tid);
	j = begin(d, "thread");
	json_member_u64(j, "pid", p->pid);
	json_member_s64(j, "tid", tid);
	member_file(j, "comm", directory, "comm");
	end(d);
	return 0;
}

/* Arguments end with NULs. */
static void member_arguments(struct json *j, const char *directory)
{
	size_t len;
	char *text = text_of(directory, "cmdline", &len);

	json_key(j, "arguments");
	json_array(j);
	for (const char *p = text; text && p < text + len; p += strlen(p) + 1)
		json_text(j, p);
	json_end(j, ']');
	free(text);
}

static void dump_names(struct dump *d, const char *directory, u32 pid)
{
	size_t len;
	char *status = text_of(directory, "status", &len);
	struct json *j;

	if (!status)
		return;
	j = begin(d, "process");
	json_member_u64(j, "pid", pid);
	json_member_u64(j, "parent", status_number(status, "\nPPid:"));
	json_member_u64(j, "uid", status_number(status, "\nUid:"));
	json_member_u64(j, "threads", status_number(status, "\nThreads:"));
	/* ticks since boot, as proc(5) has it */
	json_member_u64(j, "start", process_start_time((pid_t)pid));
	member_file(j, "comm", directory, "comm");
	member_link(j, "program", directory, "exe");
	member_link(j, "directory", directory, "cwd");
	member_file(j, "cgroup", directory, "cgroup");
	member_arguments(j, directory);
	end(d);
	free(status);
}

static void dump_files(struct dump *d, const char *directory, u32 pid)
{
	char *path = xasprintf("%s/fd", directory);
	DIR *dir = opendir(path);
	struct dirent *e;
	u32 count = 0;

	while (dir && (e = readdir(dir))) {
		struct json *j;

		if (!isdigit((unsigned char)*e->d_name))
			continue;
		if (++count > FILES_MOST || d->out.len > BYTES_MOST) {
			d->files_left_out++;
			continue;
		}
		j = begin(d, "file");
		json_member_u64(j, "pid", pid);
		json_member_u64(j, "fd", strtoull(e->d_name, NULL, 10));
		member_link(j, "path", path, e->d_name);
		end(d);
	}
	if (dir)
		closedir(dir);
	free(path);
}

static void dump_mappings(struct dump *d, u32 pid)
{
	struct process_maps maps = {0};

	process_maps_read(&maps, (pid_t)pid);
	for (size_t i = 0; i < maps.list.len; i++) {
		const struct process_mapping *const m = &maps.list.items[i];
		struct json *j;

		if (i >= MAPPINGS_MOST || d->out.len > BYTES_MOST) {
			d->mappings_left_out++;
			continue;
		}
		j = begin(d, "mapping");
		json_member_u64(j, "pid", pid);
		json_key(j, "begin");
		json_hex(j, m->start);
		json_key(j, "end");
		json_hex(j, m->end);
		json_key(j, "offset");
		json_hex(j, m->offset);
		json_member_text(j, "path", m->path);
		end(d);
	}
	process_maps_release(&maps);
}

/*
 * Files and mappings: of all processes if the whole machine is recorded, else of those of -p and
 * their children. A command has none yet.
 */
static bool is_recorded(const struct record_run *run, u32 pid, u64 parent)
{
	const struct record_request *const r = run->request;
	bool yes = r->all || !(r->has_command || r->pids.count || r->samples.threads.count);

	for (u32 i = 0; i < r->pids.count; i++)
		yes |= (u32)r->pids.items[i] == pid || (u64)r->pids.items[i] == parent;
	return yes;
}

static void dump_process(struct dump *d, const char *directory, u32 pid)
{
	struct process p = {d, pid};
	size_t len;
	char *status;

	if (d->out.len > BYTES_MOST) {
		d->processes_left_out++;
		return;
	}
	dump_names(d, directory, pid);
	process_each_thread((pid_t)pid, dump_thread, &p);
	status = text_of(directory, "status", &len);
	if (status && is_recorded(d->run, pid, status_number(status, "\nPPid:"))) {
		dump_files(d, directory, pid);
		dump_mappings(d, pid);
	}
	free(status);
}

/* ---- the file ---- */

static char *path_of(const struct record_run *run)
{
	return xasprintf("%s/%s", run->directory, NAME);
}

static int write_here(const struct record_run *run, const char *path, const struct strbuf *text)
{
	int err = record_directory(run), fd = -1;

	if (!err) {
		fd = foreign_create(path, MODE);
		err = MIN(fd, 0);
	}
	if (!err && ftruncate(fd, 0))
		err = -errno;
	if (!err)
		err = write_all(fd, text->data, text->len);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err;
}

static int carry(struct recording_carrier *carrier, const char *name, const struct strbuf *text)
{
	struct recording_file file;
	int err = recording_file_open_carried(&file, carrier, name);

	if (!err)
		err = recording_file_write(&file, text->data, text->len, 0);
	recording_file_close(&file);
	return err;
}

static int write_file(const struct record_run *run, const struct strbuf *text)
{
	struct recording_carrier *const carrier = run->request->carrier;
	char *path = carrier ? xstrdup(NAME) : path_of(run);
	const int err = carrier ? carry(carrier, path, text) : write_here(run, path, text);

	if (err)
		diag_error(run->diag, NO_SPAN, "cannot write %s: %s", path, strerror(-err));
	free(path);
	return err;
}

int state_dump_write(const struct record_run *run)
{
	struct dump d = {.run = run, .out = STRBUF_INIT};
	int err;

	d.json = (struct json)JSON_INIT(&d.out);
	dump_system(&d);
	dump_mounts(&d);
	dump_interfaces(&d);
	each_number("/sys/kernel/irq", dump_interrupt, &d);
	each_number("/proc", dump_process, &d);
	begin(&d, "end");
	json_member_u64(&d.json, "monotonic_ns", clock_now_ns(CLOCK_MONOTONIC));
	json_member_u64(&d.json, "processes_left_out", d.processes_left_out);
	json_member_u64(&d.json, "files_left_out", d.files_left_out);
	json_member_u64(&d.json, "mappings_left_out", d.mappings_left_out);
	end(&d);
	err = write_file(run, &d.out);
	strbuf_release(&d.out);
	return err;
}

void state_dump_remove(const struct record_run *run)
{
	char *path;

	if (!run->directory)
		return;
	path = path_of(run);
	unlink(path);
	free(path);
}
