// SPDX-License-Identifier: GPL-2.0-or-later
#include "probe/user_event.h"

#include <ctype.h>

#include <pantrace/ring.h>

#include "lib/vm.h"
#include "user/process.h"

#define ASK_MS 2000

static bool is_identifier(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && s[i] != '_')
			return false;
	return n && n < 256;
}

/* FNV-1a, as lib/hooks.c. */
static u64 hash_of(const char *text)
{
	u64 hash = 0xcbf29ce484222325ull;

	for (; *text; text++)
		hash = (hash ^ (u8)*text) * 0x100000001b3ull;
	return hash & INT64_MAX;
}

/* " TYPE:NAME[:EXTRA]" one after the other. Names of members get those of their structures. */
static bool parse_fields(struct arena *arena, char *text, struct user_event *event)
{
	const char *outer[4] = {""};
	u32 depth = 0;
	char *word;

	while ((word = strsep(&text, " "))) {
		char *name, *extra, *end;
		unsigned long type;

		if (!*word)
			continue;
		type = strtoul(word, &end, 10);
		if (end == word || *end != ':' || type > 255)
			return false;
		name = end + 1;
		extra = strchr(name, ':');
		if (extra)
			*extra++ = '\0';
		if (type == PANTRACE_T_STRUCT_END) {
			depth -= depth > 0;
			continue;
		}
		if (!is_identifier(name, strlen(name)))
			return false;
		name = arena_printf(arena, "%s%s", outer[depth], name);
		if (type == PANTRACE_T_STRUCT) {
			if (++depth == ARRAY_SIZE(outer))
				return false;
			outer[depth] = arena_printf(arena, "%s_", name);
			continue;
		}
		if (event->nfields == USER_EVENT_FIELDS)
			break;
		event->fields[event->nfields++] =
			(struct user_event_field){.type = (u8)type,
						  .name = name,
						  .extra = extra ? arena_strdup(arena, extra) : ""};
	}
	return true;
}

struct user_event *user_event_parse(struct arena *arena, const char *line)
{
	struct user_event *event;
	u32 sites, sessions, level;
	const char *colon, *space;
	int n = 0;

	if (sscanf(line, "event %u %u %u %n", &sites, &sessions, &level, &n) != 3 || !n)
		return NULL;
	line += n;
	colon = strchr(line, ':');
	space = line + strcspn(line, " ");
	if (!colon || colon > space || !is_identifier(line, (size_t)(colon - line)) ||
	    !is_identifier(colon + 1, (size_t)(space - colon) - 1))
		return NULL;
	event = arena_new(arena, struct user_event);
	event->provider = arena_strndup(arena, line, (size_t)(colon - line));
	event->name = arena_strndup(arena, colon + 1, (size_t)(space - colon) - 1);
	event->sites = sites;
	event->level = level;
	event->hash = hash_of(line);
	return parse_fields(arena, arena_strdup(arena, space), event) ? event : NULL;
}

int user_event_each(struct arena *arena, pid_t pid, struct diag *d,
		    int (*fn)(void *arg, struct user_event *event), void *arg, u32 *ret_processes)
{
	const struct user_selection which = {.pids = &pid, .nr_pids = pid != 0};
	struct user_processes processes = {0};
	char *request = user_request("list", NULL), *text, *line;
	int err = 0;

	user_ask(&processes, &which, request, ASK_MS);
	if (d)
		user_warn(&processes, d);
	if (ret_processes)
		*ret_processes = 0;
	for (size_t i = 0; i < processes.all.len && !err; i++) {
		const struct user_process *p = &processes.all.items[i];

		if (p->error || !p->text)
			continue;
		if (ret_processes)
			++*ret_processes;
		text = p->text;
		while (!err && (line = strsep(&text, "\n"))) {
			struct user_event *event = user_event_parse(arena, line);

			if (!event)
				continue;
			event->pid = p->pid;
			err = fn(arg, event);
		}
	}
	user_processes_release(&processes);
	free(request);
	return err;
}

/* ---- what a body sees ---- */

static const struct type *new_enum(struct probe_env *env, u8 base, const char *names)
{
	static const u8 sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, [PANTRACE_T_BOOL] = 1};
	struct type *t = type_new(env->types, TYPE_ENUM);
	struct type_enumerator *list;
	u32 n = 1;

	for (const char *p = names; *p; p++)
		n += *p == ',';
	list = arena_alloc(env->arena, n * sizeof(*list));
	t->size = base < ARRAY_SIZE(sizes) ? sizes[base] : 4;
	t->is_signed = base & 1;
	t->is_complete = true;
	t->enumerators = list;
	while (*names) {
		const char *equals = names + strcspn(names, "=");
		char *end = (char *)equals;

		list[t->count].name = arena_strndup(env->arena, names, (size_t)(equals - names));
		list[t->count++].value = *equals ? strtoll(equals + 1, &end, 10) : 0;
		names = end + strcspn(end, ",");
		names += *names == ',';
	}
	return t;
}

/* One type for all that are alike, so that a map of several probes has the names, too. */
static const struct type *enum_type(struct probe_env *env, u8 base, const char *names)
{
	const char *key = arena_printf(env->arena, "enum %u\n%s", base, names);
	bool is_new;
	void **known = hashmap_put(&probe_cache_of(env)->types, key, strlen(key), &is_new);

	if (is_new)
		*known = (void *)new_enum(env, base, names);
	return *known;
}

static const struct type *number_type(struct probe_env *env, u8 type)
{
	switch (type) {
	case PANTRACE_T_F32:
	case PANTRACE_T_F64: {
		struct type *t = type_new(env->types, TYPE_FLOAT);

		t->size = type == PANTRACE_T_F32 ? 4 : 8;
		t->name = type == PANTRACE_T_F32 ? "float" : "double";
		t->is_complete = true;
		return t;
	}
	case PANTRACE_T_PTR:
		return type_pointer(env->types, type_void(), SPACE_USER);
	case PANTRACE_T_BOOL:
		return type_bool();
	default:
		/* I8 = 1, U8 = 2, I16 = 3 ...: signed ones are odd */
		return type_int(1u << (type - 1) / 2, type & 1);
	}
}

static const struct type *field_type(struct probe_env *env, const struct user_event_field *f,
				     bool *ret_counted)
{
	const u8 kind = f->type & PANTRACE_T_KIND, element = f->type & PANTRACE_T_ELEMENT;

	*ret_counted = kind == PANTRACE_T_SEQUENCE || kind == PANTRACE_T_ARRAY ||
		       f->type == PANTRACE_T_TEXT;
	if (f->type == PANTRACE_T_STRING || f->type == PANTRACE_T_TEXT)
		return type_pointer(env->types, type_char(), SPACE_USER);
	if (!element || element > PANTRACE_T_BOOL)
		return NULL;
	if (kind == PANTRACE_T_ENUM)
		return enum_type(env, element, f->extra);
	if (kind)
		return type_pointer(env->types, number_type(env, element), SPACE_USER);
	return number_type(env, element);
}

static void place(struct location *l, u32 word, const struct type *t, bool live)
{
	const u8 size = (u8)(type_is(t, TYPE_FLOAT) ? 8 : t->size);

	*l = (struct location){.kind = live ? LOCATION_MEMORY : LOCATION_CONTEXT,
			       .size = size,
			       .is_signed = t->is_signed,
			       .index = 0xffff};
	if (live) {
		l->base = (u16)arch_argument_offset(1);
		l->value = (s64)word * 8;
	} else {
		l->offset = (u16)(word * 8);
	}
}

/* A field of the program's own keeps its name. */
static bool has_field(const struct user_event *event, const char *name)
{
	for (u32 i = 0; i < event->nfields; i++)
		if (str_eq(event->fields[i].name, name))
			return true;
	return false;
}

const struct type *user_event_args(struct probe_env *env, const struct user_event *event, bool live,
				   const struct location **ret_locations)
{
	struct type_member *members =
		arena_alloc(env->arena, 2 * USER_EVENT_FIELDS * sizeof(*members));
	struct location *locations =
		arena_alloc(env->arena, 2 * USER_EVENT_FIELDS * sizeof(*locations));
	struct type *args = type_new(env->types, TYPE_STRUCT);
	u32 n = 0;

	memset(members, 0, 2 * USER_EVENT_FIELDS * sizeof(*members));
	for (u32 i = 0; i < event->nfields; i++) {
		const struct user_event_field *f = &event->fields[i];
		const char *length;
		bool counted;
		const struct type *t = field_type(env, f, &counted);

		if (!t)
			continue;
		members[n] = (struct type_member){.name = f->name, .type = t, .offset = i * 8};
		place(&locations[n++], i, t, live);
		if (!counted)
			continue;
		length = arena_printf(env->arena, "%s_length", f->name);
		if (has_field(event, length))
			continue;
		members[n] = (struct type_member){.name = length,
						  .type = type_int(8, false),
						  .offset = (PT_VM_LENGTHS + i) * 8};
		place(&locations[n++], PT_VM_LENGTHS + i, type_int(8, false), live);
	}
	args->name = arena_printf(env->arena, "%s_%s", event->provider, event->name);
	args->size = PT_VM_SLOTS * 8;
	args->is_complete = true;
	args->members = members;
	args->count = n;
	*ret_locations = locations;
	return args;
}
