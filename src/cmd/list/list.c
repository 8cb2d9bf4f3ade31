/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/list/list.h"

#include <unistd.h>

#include "base/escape.h"
#include "base/glob.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/options.h"
#include "cmd/list/types.h"
#include "cmd/list/name_list.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/kernel.h"

enum list_format { LIST_TEXT, LIST_VERBOSE, LIST_JSON };

struct lister {
	struct probe_env *env;
	enum list_format format;
	FILE *out;
	struct strbuf line;
	struct json json; /* into line, if that is the format */
	u64 count;
	bool denied; /* a list could not be read */
	struct name_list names; /* of one provider */
	bool everything; /* also probes that cannot be attached here */
	const char *word; /* search: the name must contain it; NULL = the provider's glob decides */
};

/* ---- one probe ---- */

/* In C's spelling, to be compared with headers. */
static void spell_type(struct strbuf *out, const struct type *t)
{
	if (t->alias) {
		strbuf_addstr(out, t->alias);
		return;
	}
	switch (t->kind) {
	case TYPE_POINTER:
		if (t->element->kind == TYPE_FUNCTION) {
			strbuf_addstr(out, "void (*)()");
			break;
		}
		spell_type(out, t->element);
		strbuf_addstr(out, t->element->kind == TYPE_POINTER ? "*" : " *");
		break;
	case TYPE_ARRAY:
		spell_type(out, t->element);
		if (t->count)
			strbuf_addf(out, "[%u]", t->count);
		else
			strbuf_addstr(out, "[]");
		break;
	case TYPE_VOID:
		strbuf_addstr(out, "void");
		break;
	case TYPE_INT:
	case TYPE_FLOAT:
		if (t->name) {
			strbuf_addstr(out, t->name);
			break;
		}
		/* fall through */
	default:
		type_format(out, t);
	}
}

/* spelling: the type as the source spells it; NULL = made of the type. */
static void add_argument(struct lister *l, const char *name, const struct type *t,
			 const char *spelling)
{
	struct strbuf spelled = STRBUF_INIT;

	if (spelling)
		strbuf_addstr(&spelled, spelling);
	else
		spell_type(&spelled, t);
	if (l->format == LIST_JSON) {
		json_object(&l->json);
		json_member_text(&l->json, "name", name);
		json_member_string(&l->json, "type", spelled.data, spelled.len);
		json_end(&l->json, '}');
	} else {
		strbuf_addstr(&l->line, "    ");
		escape_line(&l->line, spelled.data, spelled.len);
		strbuf_addf(&l->line, "%s",
			    !spelling && spelled.len && spelled.data[spelled.len - 1] == '*' ? ""
											     : " ");
		escape_line(&l->line, name, strlen(name));
		strbuf_addch(&l->line, '\n');
	}
	strbuf_release(&spelled);
}

static void add_context(struct lister *l, const struct probe_provider *p,
			const struct probe_context *c)
{
	if (c->args)
		type_complete(l->env->types, c->args);
	for (u32 i = 0; c->args && i < c->args->count; i++) {
		const struct type_member *m = &c->args->members[i];

		if (m->name && !(c->locations && c->locations[i].kind == LOCATION_NONE))
			add_argument(l, m->name, m->type, c->spellings ? c->spellings[i] : NULL);
	}
	/* Events without types still have arg0 ... (usdt). */
	for (u32 i = 0; !c->args && p->has_own_arguments && i < c->argn_count; i++) {
		char name[8];

		snprintf(name, sizeof(name), "arg%u", i);
		if (c->argn[i].kind != LOCATION_NONE)
			add_argument(l, name, type_int(c->argn[i].size, c->argn[i].is_signed),
				     NULL);
	}
	if (c->retval)
		add_argument(l, "retval", c->retval, NULL);
}

/*
 * Expands one full name again and describes what a program would see there. Errors are dropped: a
 * list shows what it can.
 */
static void add_arguments(struct lister *l, const char *name)
{
	struct probe_env *env = l->env;
	struct diag *real = env->diag, quiet = DIAG_INIT;
	struct probe_targets targets = {0};
	const struct probe_request request = probe_split(env->arena, name);
	struct probe_context context;

	env->diag = &quiet;
	if (!probe_expand(env, &request, &targets) && targets.list.len &&
	    !targets.list.items[0]->provider->describe(env, targets.list.items[0], &probe_use_all,
						       NO_SPAN, &context))
		add_context(l, targets.list.items[0]->provider, &context);
	env->diag = real;
	diag_release(&quiet);
	vector_free(&targets.list);
}

static int print_probe(struct lister *l, const char *name)
{
	strbuf_reset(&l->line);
	if (l->format == LIST_JSON) {
		l->json = (struct json)JSON_INIT(&l->line);
		json_object(&l->json);
		json_member_text(&l->json, "probe", name);
		json_member_string(&l->json, "provider", name, strcspn(name, ":"));
		json_key(&l->json, "args");
		json_array(&l->json);
		add_arguments(l, name);
		json_end(&l->json, ']');
		json_end(&l->json, '}');
		json_end_line(&l->json);
	} else {
		escape_line(&l->line, name, strlen(name));
		strbuf_addch(&l->line, '\n');
		if (l->format == LIST_VERBOSE)
			add_arguments(l, name);
	}
	if (fwrite(l->line.data, 1, l->line.len, l->out) != l->line.len)
		return -EIO; /* the reader is gone (`| head`) */
	return 0;
}

static int remember(void *arg, const char *name)
{
	struct lister *l = arg;

	if (!l->word || strstr(name, l->word))
		name_list_add(&l->names, name);
	return 0;
}

/* ---- patterns ---- */

static bool is_available(struct lister *l, const struct probe_provider *p)
{
	return l->everything || kernel_ask(l->env->kernel, (enum kernel_capability)p->needs)->yes;
}

static int each_of(struct lister *l, const struct probe_provider *p, const char *glob)
{
	int err;

	l->names = (struct name_list){.arena = ARENA_INIT};
	err = probe_each(l->env, p, glob, remember, l);
	l->denied |= err == -EACCES || err == -EPERM;
	name_list_finish(&l->names);
	l->count += l->names.names.len;
	for (size_t i = 0; i < l->names.names.len && err != -EIO; i++)
		if (print_probe(l, l->names.names.items[i]))
			err = -EIO;
	name_list_release(&l->names);
	return err;
}

/* Only probes that this kernel can attach: others would be refused when they are used. */
static int search_all(struct lister *l, const char *glob)
{
	for (u32 i = 0; probe_providers[i]; i++) {
		const struct probe_provider *p = probe_providers[i];
		int err = is_available(l, p) ? each_of(l, p, glob) : 0;

		if (err == -EIO)
			return err;
	}
	return 0;
}

/*
 * "tracepoint:sched:*": asked for by name, so probes that cannot be attached are listed, too, with
 * a note.
 */
static int search_provider(struct lister *l, const struct probe_provider *p, const char *rest)
{
	const char *glob = arena_printf(l->env->arena, "%s:%s", p->name, *rest ? rest : "*");
	const struct kernel_answer *a =
		kernel_ask(l->env->kernel, (enum kernel_capability)p->needs);
	const u64 before = l->count;
	int err = each_of(l, p, glob);

	/* A name without wildcards and without its middle part: "tracepoint:sched_switch". */
	if (!err && l->count == before && !glob_has_wildcard(rest) && *rest && !strchr(rest, ':'))
		err = each_of(l, p, arena_printf(l->env->arena, "%s:*:%s", p->name, rest));
	if (l->count > before && !a->yes && !l->everything) {
		diag_warning(l->env->diag, NO_SPAN, "%s probes cannot be attached here: %s",
			     p->name, a->why ? a->why : strerror(a->error));
		if (a->hint)
			diag_hint(l->env->diag, "%s", a->hint);
	}
	return err;
}

static int search_providers(struct lister *l, const char *pattern, const char *colon)
{
	struct arena *arena = l->env->arena;
	const char *word = arena_strndup(arena, pattern, (size_t)(colon - pattern));
	const struct probe_provider *only = probe_find_provider(word);
	bool any = only != NULL;
	int err = 0;

	if (only)
		return search_provider(l, only, colon + 1);
	for (u32 i = 0; probe_providers[i] && !err; i++)
		if (glob_match(word, probe_providers[i]->name)) {
			any = true;
			if (is_available(l, probe_providers[i]))
				err = search_provider(l, probe_providers[i], colon + 1);
		}
	/* A tracepoint as perf and trace-cmd name it: "sched:sched_switch". */
	if (!any && event_name_is_known(l->env->kernel, arena_printf(arena, "%s:*", word)))
		return search_provider(l, probe_find_provider("tracepoint"), pattern);
	if (!any) {
		struct probe_targets none = {0};
		const char *parts[] = {word, colon + 1};
		const struct probe_request r = {
			.span = NO_SPAN, .text = pattern, .parts = parts, .count = 2};

		probe_expand(l->env, &r, &none); /* for its diagnostic */
		return -EINVAL;
	}
	return err;
}

static int search(struct lister *l, const char *pattern)
{
	const char *colon = pattern ? strchr(pattern, ':') : NULL;
	const struct probe_provider *p = pattern && !colon ? probe_find_provider(pattern) : NULL;

	if (!pattern || str_eq(pattern, "*"))
		return search_all(l, NULL);
	if (colon)
		return search_providers(l, pattern, colon);
	if (p)
		return search_provider(l, p, "*");
	if (strchr(pattern, '/') && !glob_has_wildcard(pattern)) {
		int err = search_provider(l, probe_find_provider("usdt"),
					  arena_printf(l->env->arena, "%s:*", pattern));

		return err ? err
			   : search_provider(l, probe_find_provider("uprobe"),
					     arena_printf(l->env->arena, "%s:*", pattern));
	}
	if (glob_has_wildcard(pattern))
		return search_all(l, pattern);
	l->word = pattern;
	return search_all(l, NULL);
}

static int search_types(struct lister *l, const char *pattern)
{
	const s64 n = list_types(l->env, pattern, l->format != LIST_TEXT, l->out);

	if (n < 0)
		return (int)n;
	l->count += (u64)n;
	return 0;
}

/* "kprobe:vfs_read,struct file" */
static int search_each(struct lister *l, const char *patterns)
{
	char *rest, *copy, *one;
	int err = 0;

	if (!patterns || !strchr(patterns, ',') || !access(patterns, F_OK))
		return patterns && list_is_type(patterns) ? search_types(l, patterns)
							  : search(l, patterns);
	copy = rest = xstrdup(patterns);
	while (!err && (one = strsep(&rest, ","))) {
		one += strspn(one, " ");
		l->word = NULL;
		if (*one)
			err = list_is_type(one) ? search_types(l, one) : search(l, one);
	}
	free(copy);
	return err;
}

/* ---- what matches nothing ---- */

struct offers {
	struct nearest near;
	size_t skip; /* the part of each name up to the one that may be misspelt in the pattern */
};

static int offer(void *arg, const char *name)
{
	struct offers *o = arg;

	if (strlen(name) > o->skip)
		nearest_offer(&o->near, name + o->skip);
	return 0;
}

/*
 * "kprobe:vfs_raed", "uprobe:/bin/bash:raedline": compares the part after the last colon with all
 * names.
 */
static bool hint_part(struct lister *l, const char *pattern)
{
	const char *const colon = strchr(pattern, ':'), *const last = strrchr(pattern, ':');
	const struct probe_provider *p;
	struct diag *const real = l->env->diag;
	struct diag quiet = DIAG_INIT;
	struct offers o;
	const char *before;

	if (!colon || glob_has_wildcard(pattern))
		return false;
	p = probe_find_provider(arena_strndup(l->env->arena, pattern, (size_t)(colon - pattern)));
	if (!p || !p->each)
		return false;
	before = arena_printf(l->env->arena, "%s%.*s", p->name, (int)(last + 1 - colon), colon);
	o.skip = strlen(before);
	nearest_init(&o.near, last + 1);
	l->env->diag = &quiet;
	probe_each(l->env, p, arena_printf(l->env->arena, "%s*", before), offer, &o);
	l->env->diag = real;
	diag_release(&quiet);
	return nearest_hint(&o.near, real, before);
}

/*
 * Hints for a word that is in no name: it is usually a misspelt function of the kernel, or an
 * event.
 */
static bool hint_word(struct lister *l, const char *word)
{
	return !strpbrk(word, ":/ ") &&
	       hint_part(l, arena_printf(l->env->arena, "kprobe:%s", word));
}

static void no_match(struct lister *l, const char *pattern)
{
	struct diag *const d = l->env->diag;

	diag_error(d, NO_SPAN, "No probes match %s", pattern ? pattern : "*");
	if (l->denied) {
		diag_code(d, EXIT_PRIVILEGE);
		diag_hint(d, "most lists can only be read by root; `pantrace doctor` shows what is "
			     "missing");
		return;
	}
	if (pattern && (event_name_hint(l->env->kernel, d, event_name_bare(pattern)) ||
			hint_part(l, pattern) || hint_word(l, pattern)))
		return;
	if (pattern && (str_starts(pattern, "u") || str_starts(pattern, "U")) &&
	    strchr(pattern, ':'))
		diag_hint(d, "functions and USDT events are looked for in files: "
			     "'uprobe:/bin/bash:*', 'usdt:libc:*', or -p PID");
	else
		diag_hint(d, "a pattern is like 'tracepoint:sched:*', 'kprobe:vfs_*', '*open*', "
			     "'struct file' or 'uprobe:/bin/bash:*read*'");
}

static int run(struct lister *l, const char *pattern)
{
	const bool list_only = l->env->list_only;
	const unsigned int errors = l->env->diag->errors;
	int err;

	l->env->list_only = true;
	err = search_each(l, pattern);
	l->env->list_only = list_only;
	strbuf_release(&l->line);
	if (err == -EIO)
		return 0;
	if (!err && !l->count)
		err = -ENOENT;
	if (err && l->env->diag->errors == errors)
		no_match(l, pattern);
	return err;
}

const char *list_join_paths(struct arena *a, const struct string_list *dirs)
{
	const char *all = NULL;

	for (u32 i = 0; i < dirs->count; i++)
		all = all ? arena_printf(a, "%s:%s", all, dirs->items[i]) : dirs->items[i];
	return all;
}

/* ---- the command ---- */

struct list_options {
	struct run_config config;
	bool everything;
};

static const struct option_spec options[] = {
	{'v', "verbose", NULL,
	 "show the arguments of each probe with their types, and why events of programs stay off",
	 OPTION_COUNT, offsetof(struct list_options, config.verbose)},
	{0, "json", NULL, "one JSON object a line, with arguments", OPTION_FLAG,
	 offsetof(struct list_options, config.is_json)},
	{0, "all", NULL, "also what this kernel cannot attach", OPTION_FLAG,
	 offsetof(struct list_options, everything)},
	{'p', "pid", "PID", "look into the files of this process (uprobe, usdt)", OPTION_PID,
	 offsetof(struct list_options, config.pid)},
	{0, "btf", "FILE", "take the kernel's types from this file", OPTION_STRING,
	 offsetof(struct list_options, config.btf)},
	{0, "debuginfo", "DIR", "look for separate debug files there, too (may be repeated)",
	 OPTION_LIST, offsetof(struct list_options, config.debug_dirs)},
	{0, "traceable-functions", "FILE",
	 "names of the functions that kprobes may be put on, instead of the kernel's list",
	 OPTION_STRING, offsetof(struct list_options, config.traceable)},
	{0},
};

static const struct command_spec spec = {
	.name = "list",
	.synopsis = "[options] [PATTERN]",
	.summary = "list the events that can be traced",
	.examples =
		"pantrace list 'tracepoint:sched:*'          # events of one category\n"
		"pantrace list -v tracepoint:sched:sched_switch  # its fields\n"
		"pantrace list '*open*'                      # anything with open in its name\n"
		"pantrace list -v 'struct file'              # a type of the kernel\n"
		"pantrace list 'uprobe:/bin/bash:*read*'     # functions of a program\n"
		"pantrace list 'usdt:libc:*'                 # static events of a library\n"
		"pantrace list --traceable-functions names 'kprobe:vfs_*'  # of those in a file",
	.options = options,
};

int list_probes(const struct run_config *c, bool everything, const char *pattern)
{
	/* glibc uses the size only together with a buffer; used until exit() */
	static char output[64 << 10];
	struct diag diag = DIAG_INIT;
	struct arena arena = ARENA_INIT;
	struct type_store types;
	struct probe_env env = {.types = &types,
				.arena = &arena,
				.diag = &diag,
				.list_only = true,
				.list_reasons = c->verbose,
				.pid = c->pid};
	struct lister l = {.env = &env,
			   .out = stdout,
			   .line = STRBUF_INIT,
			   .everything = everything,
			   .format = c->is_json && !c->is_compatible ? LIST_JSON
				     : c->verbose		     ? LIST_VERBOSE
								     : LIST_TEXT};
	int rc;

	if (l.format == LIST_JSON && pattern && list_is_type(pattern))
		return options_usage_error(
			&spec, "--json is for probes: '%s' is shown as C, with -v", pattern);
	env.kernel = kernel_new();
	type_store_init(&types);
	env.btf = btf_attach(&types, c->btf);
	env.debug_path = list_join_paths(&arena, &c->debug_dirs);
	setvbuf(stdout, output, _IOFBF, sizeof(output));
	if (!c->traceable || !probe_use_functions(&env, c->traceable))
		run(&l, pattern);
	fflush(stdout);
	rc = diag_close(&diag, EXIT_OK);
	probe_env_release(&env);
	kernel_release(env.kernel);
	btf_release(env.btf);
	type_store_release(&types);
	arena_release(&arena);
	return rc;
}

int cmd_list(int argc, char **argv)
{
	struct list_options o = {0};
	int first, rc = options_parse(&spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first > 1)
		return options_usage_error(&spec, "one pattern at a time; quote it: '%s'",
					   argv[first]);
	rc = list_probes(&o.config, o.everything, first < argc ? argv[first] : NULL);
	options_release(&spec, &o);
	return rc;
}
