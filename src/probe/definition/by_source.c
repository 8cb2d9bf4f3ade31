/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Definitions whose place or arguments debug information knows: lines, variables by name. */
#include "probe/definition/internal.h"
#include "probe/provider.h"

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

	*ret = (struct source_point){
		.config = {.pid = f->request->pid, .is_live = true, .by_symbol = !f->set},
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

/* Scripts name a place of a program by its address, ftrace by its offset in the file. */
static int add_user_place(struct definition *f, struct elf_file *elf, const char *place,
			  struct strbuf *out)
{
	const char *const colon = strrchr(place, ':');
	u64 offset, base, address;

	free(elf_file_on_disk(elf, &base));
	if (!colon || !probe_parse_number(colon + 1, &offset) ||
	    elf_file_address(elf, offset - base, &address)) {
		diag_error(f->diag, f->place.at, "the place has no address: %s", place);
		return -EINVAL;
	}
	strbuf_addf(out, "%.*s:0x%" PRIx64, (int)(colon - place), place, address);
	return 0;
}

static int take_text(struct definition *f, struct translator *t, const struct translation *all)
{
	struct strbuf out = STRBUF_INIT;
	const char *text, *place, *arguments;
	int err = 0;

	if (all->places.len != 1) {
		diag_error(f->diag, f->place.at, "%s is at %zu places, and one is meant",
			   all->shown, all->places.len);
		return -EINVAL;
	}
	text = all->places.items[0].command.text.data;
	arguments = strchrnul(text, ' ');
	place = arena_strndup(&f->arena, text, (size_t)(arguments - text));
	strbuf_addf(&out, "%c%s:%s ", f->is_return ? 'r' : 'p', f->modifier,
		    f->name.text ? f->name.text : "");
	if (f->request->is_user)
		err = add_user_place(f, translator_file(t), place, &out);
	else
		strbuf_addstr(&out, place);
	strbuf_addstr(&out, arguments);
	f->result->text = strbuf_detach(&out);
	return err;
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
	if (!err && !f->set)
		err = take_text(f, t, &all);
	else if (!err)
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
	if (f->request->is_user || is_line || translator_find_debug(t) ||
	    (!f->is_return && translator_find_btf(t)))
		err = make_by_source(f, t, p.point);
	translator_release(t);
	return err;
}
