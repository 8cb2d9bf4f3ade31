/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translations become events of a run. */
#include "probe/definition/translate.h"

/* The event of an earlier place with the same name and arguments; NULL = none. */
static const struct dynamic_event *alike(const struct translation *t, size_t i,
					 const struct dynamic_event *const *made)
{
	for (size_t n = 0; n < i; n++)
		if (made[n] && translated_place_is_alike(&t->places.items[n], &t->places.items[i]))
			return made[n];
	return NULL;
}

static enum dynamic_kind kind_of(const struct translation *t)
{
	if (t->is_user)
		return t->is_return ? DYNAMIC_URETPROBE : DYNAMIC_UPROBE;
	return t->is_return ? DYNAMIC_KRETPROBE : DYNAMIC_KPROBE;
}

int translation_make(const struct translation *t, struct dynamic_events *set, const char *modifier,
		     const char *shown,
		     void (*fn)(void *arg, const struct dynamic_event *e,
				const struct translated_place *place),
		     void *arg)
{
	const struct dynamic_event **const made =
		xzalloc(t->places.len * sizeof(struct dynamic_event *));
	int err = 0;

	for (size_t i = 0; i < t->places.len && !err; i++) {
		const struct translated_place *const place = &t->places.items[i];
		const struct dynamic_event *const known = alike(t, i, made);

		if (known) {
			err = dynamic_events_extend(set, known, &place->command);
			continue;
		}
		err = dynamic_events_define_as(set, kind_of(t), modifier, shown ?: place->event,
					       &place->command, &made[i]);
		if (!err)
			fn(arg, made[i], place);
	}
	free(made);
	return err;
}
