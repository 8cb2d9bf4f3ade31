// SPDX-License-Identifier: MIT
/*
 * Which files are loaded where, as records of the sessions: with them any machine that has the
 * files can turn an address of an event into a name. The loaded objects are checked whenever sites
 * are switched: when a session begins or ends, when a tool changes what it wants, when an object
 * with sites is loaded or unloaded. A library without sites is found at the next of these moments,
 * or, if a session wants addresses, when the helper checks (LOOK_MS of control.c). It may have been
 * loaded at any time since the previous check, and the record says so: addresses in it are not
 * older than that.
 */
#include "context.h"
#include "internal.h"
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define OBJECTS_MAX 1024 /* beyond it objects are not recorded */
#define PATH_SIZE   1024 /* longer paths are cut */

static struct object {
	uint64_t base, start, end;
	bool seen;
} objects[OBJECTS_MAX];
static unsigned int nr_objects;
static unsigned long long last_adds, last_subs;
static uint64_t last_scan; /* time stamp counter */

union record_buffer {
	struct pantrace_object_record object;
	struct pantrace_event_record event;
	char bytes[sizeof(struct pantrace_object_record) + PATH_SIZE + 8];
};

static void append(const struct object *object, union record_buffer *record, bool unloaded,
		   uint64_t tsc)
{
	struct pantrace_object_record *to = &record->object;

	to->size = (uint32_t)((sizeof(*to) + strlen(to->path) + 1 + 7) & ~7ul);
	to->id = 0;
	to->kind = PANTRACE_RECORD_OBJECT;
	to->unloaded = unloaded;
	to->tsc = tsc;
	to->base = object->base;
	to->start = object->start;
	to->end = object->end;
	pt_record_append(&record->event);
}

static void build_id_find(const struct dl_phdr_info *info, struct pantrace_object_record *to)
{
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *const ph = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + ph->p_vaddr);
		const char *const end = at + ph->p_memsz;

		if (ph->p_type != PT_NOTE)
			continue;
		while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *const note = (const void *)at;
			const size_t name = (note->n_namesz + 3u) & ~3u,
				     size = (note->n_descsz + 3u) & ~3u;
			const char *const content = at + sizeof(*note) + name;

			if (name + size > (size_t)(end - at) - sizeof(*note))
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    !memcmp(at + sizeof(*note), "GNU", 4) &&
			    note->n_descsz <= sizeof(to->build_id)) {
				to->build_id_size = note->n_descsz;
				memcpy(to->build_id, content, note->n_descsz);
				return;
			}
			at = content + size;
		}
	}
}

/*
 * The earliest time at which OBJECT can have been loaded: not while another one was at its place.
 */
static uint64_t since_when(const struct object *object)
{
	for (unsigned int i = 0; i < nr_objects; i++)
		if (objects[i].start < object->end && object->start < objects[i].end)
			return __rdtsc();
	return last_scan ? last_scan + 1 : __rdtsc();
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool *const main_program = arg;
	const bool is_main = *main_program;
	struct object object = {.base = info->dlpi_addr, .start = UINT64_MAX, .seen = true};
	union record_buffer record = {0};

	(void)size;
	*main_program = false;
	for (unsigned int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *const ph = &info->dlpi_phdr[i];
		const uint64_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		object.start = start < object.start ? start : object.start;
		object.end = start + ph->p_memsz > object.end ? start + ph->p_memsz : object.end;
	}
	for (unsigned int i = 0; i < nr_objects; i++) {
		if (objects[i].base == object.base && objects[i].start == object.start &&
		    objects[i].end == object.end) {
			objects[i].seen = true;
			return 0;
		}
	}
	if (!object.end || nr_objects == OBJECTS_MAX)
		return 0;
	if (is_main || !info->dlpi_name || !*info->dlpi_name) {
		/* the first entry is the program; others without a name belong to no file */
		if (!is_main ||
		    syscall(SYS_readlink, "/proc/self/exe", record.object.path, PATH_SIZE - 1) < 0)
			return 0;
	} else {
		snprintf(record.object.path, PATH_SIZE, "%s", info->dlpi_name);
	}
	build_id_find(info, &record.object);
	append(&object, &record, false, since_when(&object));
	objects[nr_objects++] = object;
	return 0;
}

static int counters(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned long long *const to = arg;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)) {
		to[0] = info->dlpi_adds;
		to[1] = info->dlpi_subs;
	}
	return 1;
}

void pt_objects_scan(void)
{
	unsigned long long now[2] = {0, 0};
	bool main_program = true;

	dl_iterate_phdr(counters, now);
	if (nr_objects && now[0] && now[0] == last_adds && now[1] == last_subs) {
		last_scan = __rdtsc();
		return;
	}
	last_adds = now[0];
	last_subs = now[1];
	for (unsigned int i = 0; i < nr_objects; i++)
		objects[i].seen = false;
	dl_iterate_phdr(visit, &main_program);
	for (unsigned int i = 0; i < nr_objects;) {
		union record_buffer record = {0};

		if (objects[i].seen) {
			i++;
			continue;
		}
		append(&objects[i], &record, true, __rdtsc());
		objects[i] = objects[--nr_objects];
	}
	last_scan = __rdtsc();
}

void pantrace_objects(void)
{
	if (!pt_state)
		return;
	pt_lock();
	if (pt_running())
		pt_objects_scan();
	pt_unlock();
}
