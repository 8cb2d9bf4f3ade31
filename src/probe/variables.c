/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/kernel_image.h"
#include "probe/variables.h"

/* Where a static variable is; NULL, or the reason why it cannot be read. */
static const char *locate(const struct probe_place *p, struct access_step *step)
{
	const char *reason;
	u64 address;

	/* In the kernel's file is only the copy from which those of the CPUs are made. */
	if (elf_file_is_in_section(p->at.file, ".data..percpu", (u64)step->value))
		return "every CPU has one of its own, and which is meant is not known";
	reason = kernel_image_locate(p->kernel, (u64)step->value, &address);
	step->value = (s64)address;
	return reason;
}

static struct access in_memory(const struct probe_place *p, struct arena *arena,
			       const struct access *a)
{
	struct access result = *a;
	struct access_step *steps = NULL;

	for (u32 i = 0; i < a->count; i++) {
		const char *reason;

		if (a->steps[i].op != ACCESS_STATIC)
			continue;
		if (!steps) {
			steps = arena_new_array(arena, struct access_step, a->count);
			memcpy(steps, a->steps, a->count * sizeof(*steps));
			result.steps = steps;
		}
		reason = locate(p, &steps[i]);
		if (reason)
			return (struct access){.reason = reason};
	}
	return result;
}

static struct probe_variable *keep(struct probe_place *p, struct type_store *types,
				   const struct debug_variable *v)
{
	struct probe_variable *n = arena_new(&types->arena, struct probe_variable);

	n->is = *v;
	if (p->kernel && p->at.file)
		n->is.access = in_memory(p, &types->arena, &v->access);
	n->location = debug_location(&types->arena, &n->is.access, v->type, p->at.address);
	return n;
}

int probe_variable(struct probe_place *p, struct type_store *types, const char *name,
		   const struct probe_variable **ret)
{
	struct probe_variable *n;
	struct debug_variable v;
	int err;

	for (const struct probe_variable *k = p->known; k; k = k->next)
		if (str_eq(k->is.name, name)) {
			*ret = k;
			return 0;
		}
	if (!p->at.file)
		return -ENOENT;
	err = debug_variable_named(&p->at, types, name, &v);
	if (err)
		return err;
	n = keep(p, types, &v);
	n->next = p->known;
	p->known = *ret = n;
	return 0;
}

struct gather {
	struct probe_place *place;
	struct type_store *types;
	const struct probe_variable **end;
};

static int gather(void *arg, const struct debug_variable *v)
{
	struct gather *g = arg;
	struct probe_variable *n = keep(g->place, g->types, v);

	*g->end = n;
	g->end = &n->next;
	return 0;
}

const struct probe_variable *probe_all_variables(struct probe_place *p, struct type_store *types)
{
	struct gather g = {p, types, &p->all};

	if (!p->all_read)
		debug_each_variable(&p->at, types, DEBUG_LOCALS, gather, &g);
	p->all_read = true;
	return p->all;
}
