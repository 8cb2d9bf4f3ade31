// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/filter.h"

#include "base/glob.h"
#include "lang/script.h"
#include "probe/user_event.h"

static int image_make(const struct script *script, struct diag *diag, struct strbuf *ret)
{
	for (size_t i = 0; i < script->programs.len; i++)
		if (script->programs.items[i].ntargets &&
		    str_eq(script->programs.items[i].targets[0]->provider->name, "user-filter"))
			program = &script->programs.items[i];
	if (!program)
		return -EINVAL;
	head.nr_insns = program->code.count;
	if (script->scratch_map != IR_NO_MAP)
		head.scratch_size = script->maps.items[script->scratch_map].value_size;
	if (head.scratch_size > PT_VM_SCRATCH || head.nr_insns > PT_VM_INSNS) {
		diag_error(diag, NO_SPAN, "the filter needs %u bytes of memory and %u instructions",
			   head.scratch_size, head.nr_insns);
		diag_hint(diag, "%u and %u are what a filter has; shorter strings: str(args.x, 64)",
			  PT_VM_SCRATCH, PT_VM_INSNS);
		return -E2BIG;
	}
	strbuf_add(ret, &head, sizeof(head));
	for (u32 i = 0; i < head.nr_insns; i++) {
		struct bpf_insn insn = program->code.insns[i];

		for (u32 k = 0; k < program->code.nrelocations; k++) {
			const struct bpf_relocation *r = &program->code.relocations[k];

			if (r->insn != i)
				continue;
			insn.src_reg = BPF_PSEUDO_MAP_FD;
			/* any other map is refused by the check below */
			insn.imm = r->map == script->scratch_map ? 0 : 1;
		}
		strbuf_add(ret, &insn, sizeof(insn));
	}
	err = pt_vm_load(ret->data + start, ret->len - start, &vm, &at);
	if (!err) {
		pt_vm_unload(vm);
		return 0;
	}
	diag_error(diag, at < head.nr_insns ? program->code.spans[at] : NO_SPAN,
		   "a filter runs in the program and cannot do this");
	diag_hint(diag, "it has the fields of the event (args), comm, pid, tid, uid, cpu, nsecs "
			"and strings");
	return err;
}

static int compile(const struct user_event *event, const char *predicate, struct diag *diag,
		   struct strbuf *ret)
{
	struct arena arena = ARENA_INIT;
	struct type_store types;
	struct script script = {0};
int user_filter_compile(const char *line, const char *predicate, struct diag *diag, struct strbuf *ret)
{
	struct arena arena = ARENA_INIT;
	const struct user_event *event = user_event_parse(&arena, line);
	int err = event ? compile(event, predicate, diag, ret) : -EBADMSG;

	arena_release(&arena);
	return err;
}

	struct kernel *kernel = kernel_new();
	struct probe_env env = {.types = &types,
				.kernel = kernel,
				.arena = &arena,
				.diag = diag,
	const char *ambiguous; /* two programs have events of this name with different fields */
				.max_probes = 16,
				.announced = event};
	/* what lib/vm.c can, whatever the kernel */
	struct compile_options options = {.env = &env,
					  .features = {.bounded_loops = true,
						       .probe_read_kernel = true,
						       .cpu_v4 = true,
	void **known;
						       .strncmp = true}};
	const char *text = arena_printf(&diag->arena, "user-filter:%s:%s /%s/ { return 1 }",
					event->provider, event->name, predicate);
	int err;

	type_store_init(&types);
	env.btf = btf_attach(&types, NULL);
	err = script_compile(&arena, diag_add_source(diag, "filter", text, strlen(text)), &options,
			     &script);
		} else if (((const struct user_event *)*known)->hash != event->hash) {
			l->ambiguous = full;
		}
	if (!err)
		err = image_make(&script, diag, ret);
	vector_free(&script.programs);
	vector_free(&script.maps);
	vector_free(&script.actions);
	vector_free(&script.probe_names);
	vector_free(&script.strings);
	probe_env_release(&env);
	btf_release(env.btf);
	type_store_release(&types);
	kernel_release(kernel);
	arena_release(&arena);
	return err;
}

struct lines {
	struct arena arena;
	const char *const *globs;
	u32 nr_globs;
	struct hashmap names;
	if (!err && l.ambiguous) {
		diag_error(diag, NO_SPAN, "programs that run have different events '%s'", l.ambiguous);
		diag_hint(diag, "`pantrace user list '%s'` shows them; end one, or name its other events",
			  l.ambiguous);
		err = -EINVAL;
	}
	VECTOR(struct user_event *) events;
};

static int line_event(void *arg, struct user_event *event)
{
	struct lines *l = arg;
	const char *full = arena_printf(&l->arena, "%s:%s", event->provider, event->name);
	bool is_new;

	for (u32 i = 0; i < l->nr_globs; i++) {
		if (!glob_match(l->globs[i], full))
			continue;
		known = hashmap_put(&l->names, full, strlen(full), &is_new);
		if (is_new) {
			*known = event;
			vector_push(&l->events, event);
		break;
	}
	return 0;
}

int user_filter_lines(const char *const *globs, u32 nr_globs, const char *predicate, bool later,
		      struct diag *diag, struct strbuf *ret)
{
	struct lines l = {.arena = ARENA_INIT, .globs = globs, .nr_globs = nr_globs};
	int err = user_event_each(&l.arena, 0, diag, line_event, &l, NULL);

	if (!err && !l.events.len && !later) {
		diag_error(diag, NO_SPAN,
			   "no program that runs has events of these names, so that the filter "
			   "cannot be "
			   "checked against their fields");
		diag_hint(diag,
			  "start the program first; `pantrace user list` shows events and fields");
		err = -ENOENT;
	}
	for (size_t i = 0; i < l.events.len && !err; i++) {
		const struct user_event *event = l.events.items[i];
		struct strbuf image = STRBUF_INIT;

		err = compile(event, predicate, diag, &image);
		if (!err) {
			strbuf_addf(ret, "filter %s:%s ", event->provider, event->name);
			for (size_t k = 0; k < image.len; k++)
				strbuf_addf(ret, "%02x", (u8)image.data[k]);
			strbuf_addch(ret, '\n');
		}
		strbuf_release(&image);
	}
	vector_free(&l.events);
	hashmap_release(&l.names);
	arena_release(&l.arena);
	return err;
}
