/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --initcalls: how long each function took that the kernel, or a module that was loaded, calls to
 * start a part of itself.
 */
#include "base/hashmap.h"
#include "cmd/report/analysis.h"

enum { LEVEL = ANALYSIS_ROLES, LOAD, START, FINISH };

static const struct analysis_event events[] = {
	{"initcall:initcall_start", START, true},
	{"initcall_start", START, true},
	{"initcall:initcall_finish", FINISH, true},
	{"initcall_finish", FINISH, true},
	{"initcall:initcall_level", LEVEL},
	{"initcall_level", LEVEL},
	{"module:module_load", LOAD},
	{"module_load", LOAD},
	{0},
};

/* Two parts may have a function of the same name: an initcall is told by its place in the order. */
struct initcall {
	const char *names[2]; /* function, or module; level */
	s64 start_ns;
	u64 took_ns;
	s64 result;
};

/* Which one a thread is in. */
struct running {
	const char *module; /* "[virtio]", which it has loaded last; NULL = none */
	u64 function;
	s64 start_ns;
	bool is_running;
};

struct initcalls {
	struct arena arena;
	struct hashmap threads; /* analysis_thread() -> struct running */
	VECTOR(struct initcall) ended;
	const char *level; /* "early", "pure", "core" ...; NULL = none was told */
	u64 level_thread; /* that goes through them; a module's is called in another one */
	u64 open, cut; /* cut: open when events were lost */
};

static void *initcalls_begin(const struct analysis_request *q, struct diag *d)
{
	return xzalloc(sizeof(struct initcalls));
}

static void initcalls_release(void *state)
{
	struct initcalls *const c = state;

	hashmap_release(&c->threads);
	vector_free(&c->ended);
	arena_release(&c->arena);
	free(c);
}

static struct running *running_in(struct initcalls *c, struct recording *r)
{
	const u64 thread = analysis_thread(r);
	void **const at = hashmap_put(&c->threads, &thread, sizeof(thread), NULL);

	if (!*at)
		*at = arena_new(&c->arena, struct running);
	return *at;
}

/*
 * A module's function has lost its name when it has run, and its memory may be another's: the
 * module is named, if its loading was recorded.
 */
static const char *name_of(struct initcalls *c, struct recording *r, const struct running *now,
			   bool is_module)
{
	const char *const name = is_module	       ? now->module
				 : r->reader->function ? r->reader->function(r, now->function)
						       : NULL;

	return name ? arena_strdup(&c->arena, name)
		    : arena_printf(&c->arena, "0x%" PRIx64, now->function);
}

static void finished(struct initcalls *c, struct recording *r, struct running *now, u64 function)
{
	const bool is_module = c->level && analysis_thread(r) != c->level_thread;
	const bool is_it = now->is_running && now->function == function && now->start_ns <= r->ns;
	s64 result = 0;

	if (is_it) {
		recorded_number(r, "ret", &result);
		vector_push(&c->ended,
			    (struct initcall){.names = {name_of(c, r, now, is_module),
							is_module ? "module" : c->level ?: "?"},
					      .start_ns = now->start_ns,
					      .took_ns = (u64)(r->ns - now->start_ns),
					      .result = result});
	}
	c->open -= now->is_running;
	now->is_running = false;
}

static void initcalls_feed(void *state, struct recording *r, u8 role)
{
	static const char *const function_field[] = {"func", NULL};
	struct initcalls *const c = state;
	struct running *const now = running_in(c, r);
	const char *text;
	size_t size;

	switch (role) {
	case LEVEL:
		if (recorded_text(r, "level", &text, &size))
			c->level = arena_strndup(&c->arena, text, size);
		c->level_thread = analysis_thread(r);
		break;
	case LOAD:
		if (recorded_text(r, "name", &text, &size))
			now->module = arena_printf(&c->arena, "[%.*s]", (int)size, text);
		break;
	case START:
		c->open += !now->is_running;
		now->function = analysis_number(r, function_field);
		now->start_ns = r->ns;
		now->is_running = true;
		break;
	default:
		finished(c, r, now, analysis_number(r, function_field));
	}
}

static void initcalls_lost(void *state)
{
	struct initcalls *const c = state;

	hashmap_each (&c->threads, e)
		((struct running *)e->value)->is_running = false;
	c->cut += c->open;
	c->open = 0;
}

static const struct table_column columns[] = {
	{"total_ns", "TIME(ms)", TABLE_MS, true},
	{"start_ns", "START", TABLE_TIME, false},
	{"result", "RESULT", TABLE_SIGNED, false},
	{0},
};

static void initcalls_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct initcalls *const c = state;

	*ret = (struct report_table){
		.keys = {"function", "level"}, .nr_keys = 2, .columns = columns, .is_flat = true};
	for (size_t i = 0; i < c->ended.len; i++) {
		const struct initcall *const call = &c->ended.items[i];
		const char **const names =
			arena_memdup(&ret->arena, call->names, sizeof(call->names));
		struct table_row *row;

		for (u32 n = 0; n < ARRAY_SIZE(call->names); n++)
			names[n] = arena_strdup(&ret->arena, names[n]);
		row = table_add(ret, 1, names);
		row->values[0] = call->took_ns;
		row->values[1] = (u64)call->start_ns;
		row->values[2] = (u64)call->result;
	}
	table_sort(ret);
}

static void initcalls_text(void *state, const struct table_style *style, struct strbuf *out)
{
	const struct initcalls *const c = state;

	if (c->open + c->cut)
		strbuf_addf(out, "\nnot in it: %" PRIu64 " whose end was not recorded\n",
			    c->open + c->cut);
}

const struct report_analysis analysis_initcalls = {
	.events = events,
	.record_command = "pantrace boot install -e initcall,module",
	.begin = initcalls_begin,
	.feed = initcalls_feed,
	.lost = initcalls_lost,
	.finish = initcalls_finish,
	.text = initcalls_text,
	.release = initcalls_release,
};
