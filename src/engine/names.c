/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resolves what values in records refer to: stacks in their maps, cgroups in their file systems,
 * symbols.
 */
#include "engine/engine.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/glob.h"

static struct symbolizer *symbols(void *arg)
{
	struct engine *e = arg;

	if (!e->symbols) {
		e->symbols = symbolizer_new(e->env->kernel, e->script->config.cpp_demangle);
		if (e->script->config.show_debug_info)
			symbolizer_want_lines(e->symbols);
	}
	return e->symbols;
}

/* The value of a stack map: u32 count, u32 pad, u64 frames[]. */
static u32 stack(void *arg, bool is_user, u64 id, u64 *frames, u32 max)
{
	struct engine *e = arg;
	u32 index = is_user ? e->script->ustack_map : e->script->kstack_map;
	const struct open_map *m;
	u32 count = 0, room;
	u8 *value;

	if (index >= e->script->maps.len)
		return 0;
	m = &e->maps[index];
	if (m->info->key_size != sizeof(id) || m->info->value_size < 8)
		return 0;
	value = xzalloc(m->stride);
	if (map_lookup(m, &id, value) == 0) {
		memcpy(&count, value, sizeof(count));
		room = (m->info->value_size - 8) / 8;
		count = MIN(MIN(count, room), max);
		memcpy(frames, value + 8, (size_t)count * 8);
	}
	free(value);
	return count;
}

/*
 * The directory of a cgroup2 mount by the cgroup's id, which is the kernfs file handle
 * (fs/kernfs/mount.c: FILEID_KERNFS, the 64-bit id); no walk through the tree.
 */
static char *cgroup_directory(const char *mount, u64 id)
{
	struct {
		struct file_handle head;
		u64 id;
	} handle = {.head = {.handle_bytes = sizeof(u64), .handle_type = 0xfe}};
	char link[64], path[4096], *result = NULL;
	int mount_fd = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;
	size_t prefix = strlen(mount);
	ssize_t n;

	if (mount_fd < 0)
		return NULL;
	memcpy(handle.head.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(mount_fd, &handle.head, O_PATH | O_CLOEXEC);
	close(mount_fd);
	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	close(fd);
	if (n <= 0)
		return NULL;
	path[n] = 0;
	if (strncmp(path, mount, prefix) == 0)
		result = xstrdup(path[prefix] ? path + prefix : "/");
	return result;
}

/* "unified:/user.slice", one per cgroup2 mount whose name passes the filter, as bpftrace spells it.
 */
static char *find_cgroup(u64 id, const char *filter)
{
	struct strbuf out = STRBUF_INIT;
	char *text, *save, *result;

	if ((*filter && !glob_match(filter, "unified")) ||
	    file_read("/proc/self/mounts", 4 << 20, &text, NULL) < 0)
		return xstrdup("");
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char device[256], mount[4096], kind[64], *path;

		if (sscanf(line, "%255s %4095s %63s", device, mount, kind) != 3 ||
		    !str_eq(kind, "cgroup2"))
			continue;
		path = cgroup_directory(mount, id);
		if (path)
			strbuf_addf(&out, "%sunified:%s", out.len ? "," : "", path);
		free(path);
	}
	free(text);
	result = xstrdup(out.data);
	strbuf_release(&out);
	return result;
}

static void cgroup_path(void *arg, struct strbuf *out, u64 id, const char *filter)
{
	struct engine *e = arg;
	struct strbuf key = STRBUF_INIT;
	const char *path;
	bool is_new;
	void **place;

	strbuf_addf(&key, "%" PRIu64 "/%s", id, filter);
	place = hashmap_put(&e->cgroups, key.data, key.len, &is_new);
	if (is_new)
		*place = find_cgroup(id, filter);
	path = *place;
	strbuf_addstr(out, path);
	strbuf_release(&key);
}

static bool has_kind(const struct type *t, u64 kinds)
{
	if (!t)
		return false;
	if (kinds >> t->kind & 1)
		return true;
	if (t->kind == TYPE_TUPLE || t->kind == TYPE_RECORD)
		for (u32 i = 0; i < t->count; i++)
			if (has_kind(t->members[i].type, kinds))
				return true;
	return t->kind == TYPE_ARRAY && has_kind(t->element, kinds);
}

bool engine_prints(const struct engine *e, u64 kinds)
{
	const struct script *s = e->script;

	for (size_t i = 0; i < s->maps.len; i++)
		if (has_kind(s->maps.items[i].key, kinds) ||
		    has_kind(s->maps.items[i].value, kinds))
			return true;
	for (size_t i = 0; i < s->actions.len; i++)
		if (has_kind(s->actions.items[i].payload, kinds))
			return true;
	return false;
}

void engine_note_process(struct engine *e, pid_t pid)
{
	symbolizer_note_process(symbols(e), pid);
}

void engine_watch_processes(struct engine *e)
{
	e->notes_processes = !e->options->names_of_living &&
			     engine_prints(e, 1ULL << TYPE_USTACK | 1ULL << TYPE_USYM);
	if (!e->notes_processes)
		return;
	e->watch = watch_open(e->env->kernel, engine_unwind_target(e), symbols(e));
	if (e->child)
		engine_note_process(e, e->child->pid);
	if (e->options->pid)
		engine_note_process(e, e->options->pid);
}

void engine_read_watch(struct engine *e)
{
	if (!e->watch)
		return;
	watch_read(e->watch);
	if (watch_has_changed(e->watch))
		engine_expire_unwind(e);
	engine_refresh_unwind(e);
}

void engine_printer_init(struct engine *e)
{
	const struct script *s = e->script;

	e->printer = (struct value_printer){
		.max_strlen = (u32)e->script->config.max_strlen,
		.types = e->env->types,
		.trunc_trailer = s->config.str_trunc_trailer,
		.probe_names = s->probe_names.items,
		.nprobe_names = s->probe_names.len,
		.strings = s->strings.items,
		.nstrings = s->strings.len,
		.raw = e->out->is_json,
		.show_inlines = e->options->inlines,
		.show_debug_info = s->config.show_debug_info,
		.is_compatible = e->options->is_compatible,
		.arg = e,
		.symbols = symbols,
		.stack = stack,
		.cgroup_path = cgroup_path,
	};
}

void engine_printer_release(struct engine *e)
{
	value_printer_release(&e->printer);
	watch_close(e->watch);
	if (e->symbols)
		symbolizer_release(e->symbols);
	hashmap_each (&e->cgroups, entry)
		free(entry->value);
	hashmap_release(&e->cgroups);
}
