/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions whose place or arguments debug information knows: lines, variables by name. */
#include "probe/definition/internal.h"

static bool is_number(const char *s)
{
	return *s && !s[strspn(s, "0123456789")];
}

/* A line is behind the last colon: "work:12", "work.c:12". */
static bool has_line(const char *point)
{
	const char *const colon = strrchr(point, ':');

	return colon && is_number(colon + 1);
}

bool definition_has_variables(const struct definition *f)
{
	for (size_t i = f->first_argument; i < f->words.list.len; i++)
		if (definition_is_variable(f->words.list.items[i].text))
			return true;
	return false;
}

/* What is translated: the point of a target. */
struct source_point {
	struct translate_config config;
	const char *point;
};

/* "FILE:POINT", "FILE@SOURCE:LINE"; "[MODULE:]POINT". */
static int split_place(struct definition *f, struct source_point *ret)
{
	/* with its quotes: who reads the point needs them */
	char *const place = arena_strndup(&f->arena, f->request->text + f->place.at.begin,
					  f->place.at.end - f->place.at.begin);
	char *const colon = strchr(place, ':');
	char *const at_sign = f->request->is_user ? strchr(place, '@') : NULL;

	*ret = (struct source_point){.config = {.pid = f->request->pid, .is_live = true},
				     .point = place};
	if (f->request->is_user && !colon)
		return definition_malformed(f, f->place.at,
					    "the place of a user probe is FILE:FUNCTION");
	if (!colon || (!f->request->is_user && is_number(colon + 1)))
		return 0;
	if (at_sign && at_sign < colon) {
		*at_sign = '\0';
		ret->point = at_sign + 1;
	} else {
		*colon = '\0';
		ret->point = colon + 1;
	}
	if (f->request->is_user) {
		ret->config.file = place;
		ret->point = definition_address(f, place, ret->point);
	} else if (!str_eq(place, "vmlinux")) {
		ret->config.module = place;
	}
	return 0;
}

static void take_event(void *arg, const struct dynamic_event *e,
		       const struct translated_place *place)
{
	struct definition *const f = arg;

	if (!f->result->count++)
		f->result->text = xasprintf("%c%s:%s %s", f->is_return ? 'r' : 'p', f->modifier,
					    e->shown, place->command.text.data);
}

static int make_by_source(struct definition *f, struct translator *t, const char *point)
{
	const char *const arguments =
		f->first_argument < f->words.list.len
			? f->request->text + f->words.list.items[f->first_argument].at.begin
			: "";
	const char *const text = arena_printf(&f->diag->arena, "%s%s %s", point,
					      f->is_return ? "%return" : "", arguments);
	struct translation all = {0};
	int err = translate(t, text, &all);

	if (!err)
		err = translator_check(t);
	if (!err)
		err = translation_make(&all, f->set, f->modifier, f->name.text, take_event, f);
	translation_release(&all);
	return err;
}

int definition_by_source(struct definition *f)
{
	struct source_point p;
	struct translator *t;
	const bool has_names = definition_has_variables(f);
	bool is_line;
	int err = 1;

	if (!has_names && (!has_line(f->place.text) || strchr(f->place.text, '@')))
		return 1;
	if (split_place(f, &p))
		return -EINVAL;
	is_line = has_line(p.point);
	if (!has_names && !is_line)
		return 1;
	t = translator_new(f->kernel, f->diag, &p.config);
	if (!t)
		return -ENOENT;
	if (f->request->is_user || is_line || translator_find_debug(t))
		err = make_by_source(f, t, p.point);
	translator_release(t);
	return err;
}
