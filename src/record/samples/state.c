/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the state before the first sample, in the form of the kernel's own records. Their time is
 * 0: they come before all others. What changes while they are read follows in the kernel's records.
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/process.h"
#include "binary/elf/file.h"
#include "binary/process/maps.h"
#include "kernel/symbols/ksyms.h"
#include "record/samples/internal.h"
#include "trace/perf/side_records.h"

#define BUILD_ID_MAX	20
#define PATH_ROOM	4096
#define PERF_KERNEL_PID UINT32_MAX
#define NAME_SIZE	16
#define KALLSYMS_MAX	((size_t)256 << 20)

/* ---- build-ids ---- */

/* The build-id of the file at a path, if it is still the one that was mapped. */
static struct perf_build_id build_id_at(const char *path, const struct sample_file *file)
{
	struct perf_build_id id = {0};
	struct elf_file *elf;
	struct stat st;

	if (stat(path, &st) || st.st_ino != file->inode || major(st.st_dev) != file->major ||
	    minor(st.st_dev) != file->minor || elf_file_open(path, &elf))
		return id;
	id = perf_build_id_of_text(elf_file_build_id(elf));
	elf_file_close(elf);
	return id;
}

/* The build-id of a file that a process has mapped; each file is opened once. */
static const struct perf_build_id *build_id_of(struct samples *s, pid_t pid, const char *path,
					       const struct sample_file *file)
{
	void **at = hashmap_put(&s->build_ids, file, sizeof(*file), NULL);
	struct perf_build_id *id;
	char *seen;

	if (*at)
		return *at;
	*at = id = arena_new(&s->arena, struct perf_build_id);
	seen = process_path(pid, path);
	if (seen)
		*id = build_id_at(seen, file);
	free(seen);
	return id;
}

/* ---- records ---- */

/* They come before all others. */
static struct perf_side side_of(struct samples *s)
{
	return (struct perf_side){s->writer, samples_tracking(s)->ids.items[0], 0};
}

static void write_mapping(struct samples *s, u16 misc, const struct perf_side_mapping *m)
{
	const struct perf_side side = side_of(s);

	perf_side_mapping(&side, misc, m);
}

/* ---- the kernel ---- */

static u64 first_of(struct ksyms *symbols, const char *name, const char *other)
{
	return ksyms_address(symbols, name) ?: ksyms_address(symbols, other);
}

static bool samples_kernel(const struct samples *s)
{
	for (size_t i = 0; i < s->events.len; i++)
		if (!s->events.items[i].attr.exclude_kernel)
			return true;
	return false;
}

/* The kernel's functions, for reading the file on another machine. */
static void write_symbols(struct samples *s)
{
	struct strbuf functions = STRBUF_INIT;
	char *text, *rest = NULL;

	if (s->request->file || !samples_kernel(s) ||
	    file_read("/proc/kallsyms", KALLSYMS_MAX, &text, NULL))
		return;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *const type = strchr(line, ' ');

		if (type && strchr("tTwW", type[1]))
			strbuf_addf(&functions, "%s\n", line);
	}
	perf_write_symbols(s->writer, functions.data, functions.len);
	strbuf_release(&functions);
	free(text);
}

/* As perf: the mapping's offset is the address of _text. */
static void write_kernel(struct samples *s)
{
	struct ksyms *const symbols = kernel_ksyms(s->run->kernel);
	const u64 text = ksyms_address(symbols, "_text"),
		  start = first_of(symbols, "_stext", "_text"),
		  end = first_of(symbols, "_etext", "_end");
	const struct perf_build_id id = perf_build_id_of_notes("/sys/kernel/notes");

	if (!text || start >= end)
		return; /* addresses are hidden from this user */
	write_mapping(s, PERF_RECORD_MISC_KERNEL,
		      &(struct perf_side_mapping){.pid = PERF_KERNEL_PID,
						  .start = start,
						  .length = end - start,
						  .offset = text,
						  .id = &id,
						  .path = PERF_KERNEL_NAME "_text"});
	write_symbols(s);
}

/* The path of a module's file, by modules.dep; "[NAME]" if it is not there. */
static const char *module_path(struct samples *s, const char *dep, const char *name,
			       const char *directory)
{
	for (const char *line = dep; line && *line;
	     line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		const char *end = line + strcspn(line, ":\n"), *base = end;
		size_t i = 0;

		while (base > line && base[-1] != '/')
			base--;
		while (name[i] && base + i < end && (base[i] == '-' ? '_' : base[i]) == name[i])
			i++;
		if (!name[i] && base[i] == '.')
			return arena_printf(&s->arena, "%s/%.*s", directory, (int)(end - line),
					    line);
	}
	return arena_printf(&s->arena, "[%s]", name);
}

/* "ext4 1011712 2 - Live 0xffffffffc03a1000" */
static void write_module(struct samples *s, const char *line, const char *dep,
			 const char *directory)
{
	char name[64], notes[128];
	struct perf_build_id id;
	u64 size, address;

	if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size, &address) != 3 ||
	    !address || !size)
		return;
	snprintf(notes, sizeof(notes), "/sys/module/%s/notes/.note.gnu.build-id", name);
	id = perf_build_id_of_notes(notes);
	write_mapping(s, PERF_RECORD_MISC_KERNEL,
		      &(struct perf_side_mapping){.pid = PERF_KERNEL_PID,
						  .start = address,
						  .length = size,
						  .id = &id,
						  .path = module_path(s, dep, name, directory)});
}

static void write_modules(struct samples *s)
{
	struct utsname system;
	char *list, *dep = NULL, *path;
	const char *directory;
	size_t len;

	if (file_read("/proc/modules", 0, &list, &len))
		return;
	uname(&system);
	directory = arena_printf(&s->arena, "/lib/modules/%s", system.release);
	path = xasprintf("%s/modules.dep", directory);
	if (file_read(path, 0, &dep, &len))
		dep = NULL;
	for (char *line = list, *next; *line; line = next) {
		next = line + strcspn(line, "\n");
		next += *next == '\n';
		write_module(s, line, dep, directory);
	}
	free(path);
	free(dep);
	free(list);
}

/* ---- tasks ---- */

static void write_fork(struct samples *s, u32 pid, u32 parent, u32 tid)
{
	const struct perf_side side = side_of(s);
	const u32 tasks[] = {pid, parent, tid, parent};
	struct strbuf body = STRBUF_INIT;
	const u64 never = 0;

	strbuf_add(&body, tasks, sizeof(tasks));
	strbuf_add(&body, &never, sizeof(never));
	perf_side_record(&side, PERF_RECORD_FORK, 0, &body, pid, tid);
}

static void write_comm(struct samples *s, u32 pid, u32 tid)
{
	const struct perf_side side = side_of(s);
	char path[64], *name;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", pid, tid);
	if (file_read(path, 64, &name, &len))
		return;
	if (len && name[len - 1] == '\n')
		len--;
	perf_side_comm(&side, pid, tid, name, MIN(len, (size_t)NAME_SIZE - 1));
	free(name);
}

struct task {
	struct samples *s;
	pid_t pid;
};

static int write_thread(void *arg, pid_t tid)
{
	const struct task *const t = arg;

	if (tid != t->pid)
		write_fork(t->s, (u32)t->pid, (u32)t->pid, (u32)tid);
	write_comm(t->s, (u32)t->pid, (u32)tid);
	return 0;
}

static void write_process_mapping(struct samples *s, pid_t pid, const struct process_mapping *m)
{
	const bool is_file = m->kind == MAPPING_FILE || m->kind == MAPPING_DELETED;
	const struct sample_file file = {m->major, m->minor, m->inode};

	if (m->is_data && !is_file)
		return;
	write_mapping(
		s, PERF_RECORD_MISC_USER | (m->is_data ? PERF_RECORD_MISC_MMAP_DATA : 0),
		&(struct perf_side_mapping){
			.pid = (u32)pid,
			.start = m->start,
			.length = m->end - m->start,
			.offset = is_file ? m->offset : 0,
			.major = m->major,
			.minor = m->minor,
			.inode = m->inode,
			.id = m->kind == MAPPING_FILE ? build_id_of(s, pid, m->path, &file) : NULL,
			.path = *m->path ? m->path : "//anon"});
}

static void write_process(struct samples *s, pid_t pid)
{
	struct process_maps maps = {.with_data = samples_tracking(s)->attr.mmap_data};
	struct task t = {s, pid};

	process_each_thread(pid, write_thread, &t);
	process_maps_read(&maps, pid);
	for (size_t i = 0; i < maps.list.len; i++)
		write_process_mapping(s, pid, &maps.list.items[i]);
	process_maps_release(&maps);
}

static void write_all_processes(struct samples *s)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc))) {
		const pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0)
			write_process(s, pid);
	}
	if (proc)
		closedir(proc);
}

/* The process of a thread. */
static pid_t process_of(pid_t thread)
{
	char path[32], *text, *line;
	pid_t pid = thread;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	if (file_read(path, 0, &text, &len))
		return thread;
	line = strstr(text, "\nTgid:");
	if (line)
		pid = (pid_t)strtol(line + 6, NULL, 10);
	free(text);
	return pid;
}

void samples_write_state(struct samples *s)
{
	const struct record_request *const r = s->request;

	write_kernel(s);
	write_modules(s);
	if (!samples_tracking(s)->attr.inherit)
		write_all_processes(s);
	for (u32 i = 0; i < r->pids.count; i++)
		write_process(s, r->pids.items[i]);
	for (u32 i = 0; i < r->samples.threads.count; i++)
		write_process(s, process_of(r->samples.threads.items[i]));
}

/* ---- the table of build-ids ---- */

struct mapped_file {
	struct sample_file file;
	const struct perf_build_id *id; /* size 0: not to be had then */
};

void samples_note_file(struct samples *s, pid_t pid, const char *path,
		       const struct sample_file *file)
{
	void **at = *path == '/' && path[1] != '/'
			    ? hashmap_put(&s->files, path, strlen(path) + 1, NULL)
			    : NULL;
	struct mapped_file *new;

	if (!at || *at)
		return;
	*at = new = arena_new(&s->arena, struct mapped_file);
	new->file = *file;
	new->id = build_id_of(s, pid, path, file);
}

/* As a record: u32 pid, 20 bytes of the id, u8 size, three bytes, path. */
static void add_build_id(struct strbuf *to, u16 misc, u32 pid, const struct perf_build_id *id,
			 const char *path)
{
	const size_t size = ALIGN_UP(strlen(path) + 1, (size_t)64);
	const struct perf_event_header h = {PERF_USER_BUILD_ID, misc | PERF_MISC_BUILD_ID_SIZE,
					    (u16)(sizeof(h) + 28 + size)};
	const u32 id_size = id->size;

	if (!id->size || size > PATH_ROOM)
		return;
	strbuf_add(to, &h, sizeof(h));
	strbuf_add(to, &pid, sizeof(pid));
	strbuf_add(to, id->bytes, BUILD_ID_MAX);
	strbuf_add(to, &id_size, sizeof(id_size));
	strbuf_add(to, path, strlen(path));
	strbuf_addchars(to, 0, (int)(size - strlen(path)));
}

void samples_write_build_ids(struct samples *s)
{
	const struct perf_build_id kernel = perf_build_id_of_notes("/sys/kernel/notes");
	struct strbuf text = STRBUF_INIT;

	add_build_id(&text, PERF_RECORD_MISC_KERNEL, PERF_KERNEL_PID, &kernel, PERF_KERNEL_NAME);
	hashmap_each (&s->files, e) {
		const struct mapped_file *const f = e->value;
		const struct perf_build_id id =
			f->id->size ? *f->id : build_id_at(e->key, &f->file);

		add_build_id(&text, PERF_RECORD_MISC_USER, PERF_KERNEL_PID, &id, e->key);
	}
	perf_writer_feature(s->writer, PERF_FEATURE_BUILD_ID, text.data, text.len);
	strbuf_release(&text);
}
