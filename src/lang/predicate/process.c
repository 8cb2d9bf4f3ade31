/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/predicate/process.h"

#include "base/glob.h"
#include "lang/bpf/process_image.h"
#include "lang/predicate/predicate.h"
#include "probe/user_event.h"

static int image_make(const struct script *script, struct diag *diag, struct strbuf *ret)
{
	for (size_t i = 0; i < script->programs.len; i++) {
		const struct script_program *p = &script->programs.items[i];

		if (probe_provider_of(p->targets, p->ntargets)->runner == PROBE_AS_FILTER)
			return process_image(script, p, diag, ret);
	}
	return -EINVAL;
}

static void add_line(const struct user_event *event, const struct strbuf *image, struct strbuf *ret)
{
	strbuf_addf(ret, "filter %s:%s ", event->provider, event->name);
	strbuf_add_hex(ret, image->data, image->len);
	/* a program whose event has other fields under this name must not be filtered by them */
	strbuf_addf(ret, " %" PRIu64 "\n", event->hash);
}

/* The condition with the names of this event's fields resolved. */
static int bind_to(const struct user_event *event, const char *predicate, struct diag *diag,
		   struct strbuf *ret)
{
	struct predicate_event e = {
		.name = arena_printf(&diag->arena, "%s:%s", event->provider, event->name),
		.hint = "`pantrace user list` shows events and fields"};
	int err;

	for (u32 i = 0; i < event->nfields; i++)
		vector_push(&e.fields, event->fields[i].name);
	err = predicate_to_script(predicate, &e, diag, NULL, ret);
	predicate_event_release(&e);
	return err;
}

static int compile(const struct user_event *event, const char *predicate, struct diag *diag,
		   struct strbuf *ret)
{
	struct arena arena = ARENA_INIT;
	struct type_store types;
	struct script script = {0};
	struct strbuf image = STRBUF_INIT;
	struct kernel *kernel = kernel_new();
	struct probe_env env = {.types = &types,
				.kernel = kernel,
				.arena = &arena,
				.diag = diag,
				.max_probes = 16,
				.announced = event};
	/* what lib/vm.c supports, whatever the kernel */
	struct compile_options options = {.env = &env,
					  .features = {.cpu_v4 = true, .strncmp = true}};
	struct strbuf condition = STRBUF_INIT;
	const char *text;
	int err = bind_to(event, predicate, diag, &condition);

	text = arena_printf(&diag->arena, "user-filter:%s:%s /%s/ { return 1 }", event->provider,
			    event->name, condition.len ? condition.data : "1");
	strbuf_release(&condition);
	type_store_init(&types);
	env.btf = btf_attach(&types, NULL);
	if (!err)
		err = script_compile(&arena, diag_add_source(diag, "filter", text, strlen(text)),
				     &options, &script);
	if (!err)
		err = image_make(&script, diag, &image);
	if (!err)
		add_line(event, &image, ret);
	strbuf_release(&image);
	script_release(&script);
	probe_env_release(&env);
	btf_release(env.btf);
	type_store_release(&types);
	kernel_release(kernel);
	arena_release(&arena);
	return err;
}

static int compile_line(const char *line, const char *predicate, struct diag *diag,
			struct strbuf *ret)
{
	struct arena arena = ARENA_INIT;
	const struct user_event *event = user_event_parse(&arena, line);
	int err = event ? compile(event, predicate, diag, ret) : -EBADMSG;

	arena_release(&arena);
	return err;
}

struct lines {
	struct arena arena;
	const char *const *globs;
	u32 nr_globs;
	struct hashmap known; /* by name and fields */
	VECTOR(struct user_event *) events;
};

static int line_event(void *arg, struct user_event *event)
{
	struct lines *l = arg;
	const char *full = arena_printf(&l->arena, "%s:%s", event->provider, event->name);
	const char *key = arena_printf(&l->arena, "%s %" PRIu64, full, event->hash);
	bool is_new;

	for (u32 i = 0; i < l->nr_globs; i++) {
		if (!glob_match(l->globs[i], full))
			continue;
		*hashmap_put(&l->known, key, strlen(key), &is_new) = event;
		if (is_new)
			vector_push(&l->events, event);
		break;
	}
	return 0;
}

static int compile_lines(const char *const *globs, u32 nr_globs, const char *predicate, bool later,
			 struct diag *diag, struct strbuf *ret)
{
	struct lines l = {.arena = ARENA_INIT, .globs = globs, .nr_globs = nr_globs};
	int err = user_event_each(&l.arena, 0, diag, line_event, &l, NULL);

	if (!err && !l.events.len && !later) {
		diag_error(diag, NO_SPAN,
			   "no program that runs has events of these names, so that the filter "
			   "cannot be checked against their fields");
		diag_hint(diag,
			  "start the program first; `pantrace user list` shows events and fields");
		err = -ENOENT;
	}
	for (size_t i = 0; i < l.events.len && !err; i++)
		err = compile(l.events.items[i], predicate, diag, ret);
	vector_free(&l.events);
	hashmap_release(&l.known);
	arena_release(&l.arena);
	return err;
}

const struct user_filter_compiler predicate_for_processes = {compile_line, compile_lines};
