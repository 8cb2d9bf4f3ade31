/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The variables of a sample's frames: debug information says where each is at an address (asked
 * once), the sample's registers and copy of the stack are all that there is to read.
 */
#include "binary/debug/variable.h"
#include "trace/perf/machine_internal.h"

/* Bytes that are shown of a variable, and of text. */
enum { VALUE_MAX = 512, TEXT_MAX = 4096 };

struct variable {
	u32 depth; /* of the inlined functions there: 0 is innermost */
	bool is_parameter;
	const char *name;
	const struct type *type;
	struct access access;
	const char *why; /* it is never shown; or NULL */
};

/* All that there are at an address. */
struct variables {
	bool are_known;
	VECTOR(struct variable) list;
};

/* ---- what debug information says ---- */

static bool is_text(const struct type *t)
{
	return (type_is(t, TYPE_ARRAY) || type_is(t, TYPE_POINTER)) && t->element->is_char;
}

static const char *never_shown(struct type_store *types, const struct debug_variable *v)
{
	const struct type *const t = v->type;

	if (v->access.result == ACCESS_NONE)
		return access_short_reason(&types->arena, &v->access);
	if (!type_is_scalar(t))
		type_complete(types, t);
	if (!t->size)
		return "its size is known to the program only";
	if (type_is(t, TYPE_FLOAT) && t->size > sizeof(double))
		return "float: cannot be shown";
	if (t->size > (is_text(t) ? TEXT_MAX : VALUE_MAX))
		return arena_printf(&types->arena, "%u bytes: too large", t->size);
	return NULL;
}

struct gather {
	struct type_store *types;
	struct variables *to;
};

static int gather(void *arg, const struct debug_variable *v)
{
	const struct gather *const g = arg;
	const bool is_parameter = v->kind == DEBUG_PARAMETER;

	/* the second: __func__ and its like */
	if (!v->is_hidden && (is_parameter || !v->is_artificial))
		vector_push(&g->to->list, (struct variable){.depth = v->frame,
							    .is_parameter = is_parameter,
							    .name = v->name,
							    .type = v->type,
							    .access = v->access,
							    .why = never_shown(g->types, v)});
	return 0;
}

static const struct variables *variables_at(struct perf_machine *m, struct object *o,
					    struct elf_file *elf, u64 at)
{
	const struct debug_point point = {.file = elf, .address = at};
	void **const slot = hashmap_put(&o->variables, &at, sizeof(at), NULL);
	struct variables *all = *slot;

	if (all)
		return all;
	*slot = all = xzalloc(sizeof(*all));
	all->are_known = debug_each_variable(&point, m->options.types,
					     DEBUG_LOCALS | DEBUG_CALLERS | DEBUG_WITH_CODE |
						     DEBUG_FROM_CALLER | DEBUG_BRIEF,
					     gather, &(struct gather){m->options.types, all}) >= 0;
	return all;
}

void perf_locals_release(struct object *o)
{
	hashmap_each (&o->variables, e) {
		struct variables *all = e->value;

		vector_free(&all->list);
		free(all);
	}
	hashmap_release(&o->variables);
	hashmap_release(&o->passed);
}

/* ---- what callers have passed ---- */

/* A register that a call passes to code of another file, or the same. */
struct passed_key {
	u64 return_to, callee;
	const struct object *object; /* of the callee */
	u64 offset;
};

static const struct access *passed_in(struct perf_machine *m, struct object *caller,
				      const struct debug_call *call, const struct passed_key *key)
{
	void **const slot = hashmap_put(&caller->passed, key, sizeof(*key), NULL);
	struct access *a = *slot;

	if (a)
		return a;
	*slot = a = arena_new(&m->arena, struct access);
	debug_passed(call, &m->arena, (u16)key->offset, a);
	return a;
}

static bool entered_with(void *arg, u16 offset, u64 *ret);

/* The thread as it was in a frame; false: nothing is known of its file. */
static bool thread_at(struct perf_frames *f, struct known_thread *ret)
{
	const u64 address = f->list[f->at].address;
	u64 at;

	if (!perf_machine_code(f->machine, perf_machine_mapping(f->machine, f->pid, address),
			       address, &at))
		return false;
	*ret = f->list[f->at].thread;
	ret->bias = address - at;
	ret->entered = entered_with;
	ret->arg = f;
	return true;
}

/*
 * In the next outer frame the registers are those at the call: some are kept, of others the call's
 * description says what they were.
 */
static bool entered_with(void *arg, u16 offset, u64 *ret)
{
	struct perf_frames outer = *(const struct perf_frames *)arg;
	struct perf_machine *const m = outer.machine;
	const struct perf_frame *const f = &outer.list[outer.at++];
	const struct mapping *callee, *caller;
	struct passed_key key = {.offset = offset};
	struct known_thread thread;
	struct debug_call call;

	if (outer.at == outer.count || !outer.list[outer.at].is_call || !thread_at(&outer, &thread))
		return false;
	if (unwind_is_preserved(offset))
		return known_register(&thread, offset, ret);
	callee = perf_machine_mapping(m, outer.pid, f->address);
	caller = perf_machine_mapping(m, outer.pid, outer.list[outer.at].address);
	call.callee = perf_machine_code(m, callee, f->address, &key.callee);
	call.caller = perf_machine_code(m, caller, outer.list[outer.at].address, &key.return_to);
	if (!call.callee || !call.caller)
		return false;
	key.object = callee->object;
	call.address = key.callee;
	call.return_to = ++key.return_to;
	return !access_evaluate(passed_in(m, caller->object, &call, &key), &thread, ret,
				sizeof(*ret));
}

/* ---- values ---- */

/* What a pointer points to, if all of it was recorded. */
static const char *text_at(const struct known_memory *m, u64 address, struct arena *values)
{
	const u64 at = address - m->address, room = at < m->size ? m->size - at : 0;
	const u64 most = MIN(room, (u64)TEXT_MAX);
	const u8 *const end = most ? memchr(m->bytes + at, 0, most) : NULL;

	return end ? arena_text(values, (const char *)m->bytes + at, (size_t)(end - m->bytes - at))
		   : NULL;
}

static bool is_passed(const struct access *a)
{
	return a->count && a->steps[0].op == ACCESS_ENTERED;
}

static struct recorded_local read_local(const struct variable *v, const struct known_thread *thread,
					struct arena *values)
{
	struct recorded_local l = {.name = v->name, .type = v->type, .why = v->why};
	u64 address;
	void *value;

	if (l.why)
		return l;
	value = arena_alloc(values, v->type->size);
	if (access_evaluate(&v->access, thread, value, v->type->size)) {
		l.why = is_passed(&v->access) ? "it is what the caller passed" : "not recorded";
		return l;
	}
	l.value = value;
	if (type_is(v->type, TYPE_POINTER) && is_text(v->type)) {
		memcpy(&address, value, sizeof(address));
		l.text = text_at(&thread->memory, address, values);
	}
	return l;
}

/* As in the source: what the function is passed comes first. */
static u32 read_all(const struct variables *all, u32 depth, bool parameters,
		    const struct known_thread *thread, struct arena *values,
		    struct recorded_local *to)
{
	u32 n = 0;

	for (size_t i = 0; i < all->list.len; i++) {
		const struct variable *const v = &all->list.items[i];

		if (v->depth == depth && v->is_parameter == parameters)
			to[n++] = read_local(v, thread, values);
	}
	return n;
}

void perf_locals_read(const struct perf_frames *f, u32 depth, struct arena *values,
		      struct recorded_frame *to)
{
	const u64 address = f->list[f->at].address;
	const struct mapping *const in = perf_machine_mapping(f->machine, f->pid, address);
	struct perf_frames frames = *f;
	struct known_thread thread;
	const struct variables *all;
	struct recorded_local *locals;
	struct elf_file *elf;
	u64 at;

	elf = perf_machine_code(f->machine, in, address, &at);
	if (!elf || !thread_at(&frames, &thread))
		return;
	all = variables_at(f->machine, in->object, elf, at);
	if (!all->are_known)
		return;
	locals = arena_new_array(values, struct recorded_local, all->list.len + 1);
	to->local_count = read_all(all, depth, true, &thread, values, locals);
	to->local_count += read_all(all, depth, false, &thread, values, locals + to->local_count);
	to->locals = locals;
}
