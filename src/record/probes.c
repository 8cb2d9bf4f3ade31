/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/probes.h"

#include <ctype.h>

#include "kernel/tracefs/sweep.h"
#include "probe/definition/translate.h"

struct kind {
	const char *prefix;
	bool is_user, is_return, is_static;
};

static const struct kind kinds[] = {
	{"kprobe:", false, false, false}, {"kretprobe:", false, true, false},
	{"uprobe:", true, false, false},  {"uretprobe:", true, true, false},
	{"usdt:", true, false, true},
};

static const struct kind *kind_of(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (str_starts(text, kinds[i].prefix))
			return &kinds[i];
	return NULL;
}

bool record_probe_is(const char *text)
{
	return kind_of(text) != NULL;
}

/* A condition's first slash: paths have slashes, too, but no other word begins with one. */
static const char *find_slash(const char *text)
{
	for (const char *p = text; (p = strpbrk(p, " \t")); p++)
		if (p[1] == '/')
			return p + 1;
	return NULL;
}

const char *record_probe_condition(const char *text)
{
	const char *const begin = find_slash(text), *const end = begin ? strrchr(begin, '/') : NULL;

	return end != begin && !end[1 + strspn(end + 1, " \t")] ? begin : NULL;
}

/* ---- words ---- */

/* One -e, in parts; all in the arena. */
struct words {
	const struct kind *kind;
	const char *file; /* NULL: the kernel */
	const char *module; /* of the kernel; NULL: the kernel itself */
	const char *definition;
};

static int refuse(struct record_run *run, const char *text, const struct kind *kind)
{
	diag_error(run->diag, NO_SPAN, "-e '%s': which %s?", text,
		   kind->is_user ? "program or library, and which function in it" : "function");
	diag_hint(run->diag, "as in -e 'uprobe:./shop:pay sum', -e 'usdt:./shop:shop:paid', -e "
			     "'kprobe:vfs_read count'");
	diag_code(run->diag, EXIT_USAGE);
	return -EINVAL;
}

static int refuse_open(struct record_run *run, const char *text)
{
	diag_error(run->diag, NO_SPAN, "-e '%s': the condition is not closed by '/'", text);
	diag_code(run->diag, EXIT_USAGE);
	return -EINVAL;
}

/* The length of the point: up to a blank outside quotes. */
static size_t point_length(const char *s)
{
	char quote = 0;
	size_t n = 0;

	for (; s[n] && (quote || !strchr(" \t", s[n])); n++) {
		if (s[n] == quote)
			quote = 0;
		else if (!quote && strchr("'\"", s[n]))
			quote = s[n];
		else if (s[n] == '\\' && s[n + 1])
			n++;
	}
	return n;
}

/* "[NAME=]PROVIDER:EVENT" as perf writes it: "[NAME=]%sdt_PROVIDER:EVENT". */
static const char *static_point(struct arena *a, const char *text, size_t len)
{
	const char *const equals = memchr(text, '=', len);
	const size_t name = equals ? (size_t)(equals + 1 - text) : 0;

	return arena_printf(a, "%.*s%%%s%.*s", (int)name, text,
			    memchr(text + name, ':', len - name) ? "sdt_" : "", (int)(len - name),
			    text + name);
}

/* "[NAME=]MODULE:FUNCTION...": NULL, or the module, which is taken out of the point. */
static const char *take_module(struct arena *a, char *point)
{
	char *const equals = strchr(point, '='), *const begin = equals ? equals + 1 : point;
	const size_t len = strspn(begin, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789_-");
	const char *module;

	/* FUNCTION:LINE is of the kernel itself. */
	if (!len || begin[len] != ':' || isdigit((unsigned char)begin[len + 1]))
		return NULL;
	module = arena_strndup(a, begin, len);
	memmove(begin, begin + len + 1, strlen(begin + len + 1) + 1);
	return str_eq(module, "vmlinux") ? NULL : module;
}

static int take_apart(struct record_run *run, const char *text, struct words *ret)
{
	const struct kind *const kind = kind_of(text);
	const char *const condition = record_probe_condition(text);
	struct arena *const a = &run->diag->arena;
	char *rest = arena_strdup(a, text + strlen(kind->prefix)), *colon, *point;
	size_t len;

	*ret = (struct words){.kind = kind};
	if (condition)
		rest[condition - text - strlen(kind->prefix)] = '\0';
	if (kind->is_user) {
		colon = strchr(rest, ':');
		if (!colon || colon == rest)
			return refuse(run, text, kind);
		*colon = '\0';
		ret->file = rest;
		rest = colon + 1;
	}
	len = point_length(rest);
	if (!len)
		return refuse(run, text, kind);
	if (!condition && find_slash(rest))
		return refuse_open(run, text);
	point = arena_strndup(a, rest, len);
	if (!kind->is_user)
		ret->module = take_module(a, point);
	ret->definition =
		arena_printf(a, "%s%s%s", kind->is_static ? static_point(a, point, len) : point,
			     kind->is_return ? "%return" : "", rest + len);
	return 0;
}

/* ---- events ---- */

struct taker {
	struct record_run *run;
	struct record_probe_list *to;
};

static void take(void *arg, const struct dynamic_event *e, const struct translated_place *place)
{
	const struct taker *const t = arg;

	vector_push(&t->to->all,
		    (struct record_probe){e, arena_strdup(&t->run->diag->arena, place->group)});
}

int record_probes_make(struct record_run *run, const char *text, struct record_probe_list *ret)
{
	const struct record_request *const r = run->request;
	struct translate_config config = {.pid = r->pids.count ? r->pids.items[0] : 0,
					  .is_live = true};
	struct translation t = {0};
	struct translator *translator;
	struct words w;
	int err = take_apart(run, text, &w);

	if (err)
		return err;
	if (!run->probes) {
		tracefs_sweep(run->kernel, false, NULL);
		run->probes = dynamic_events_new(run->kernel, run->diag);
	}
	config.file = w.file;
	config.module = w.module;
	translator = translator_new(run->kernel, run->diag, &config);
	if (!translator)
		return -ENOENT;
	err = translate(translator, w.definition, &t);
	if (!err)
		err = translator_check(translator);
	if (!err)
		err = translation_make(&t, run->probes, "", NULL, take, &(struct taker){run, ret});
	translation_release(&t);
	translator_release(translator);
	return err;
}
