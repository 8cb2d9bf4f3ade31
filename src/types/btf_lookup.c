/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types and enumerators by name. Modules are read only when vmlinux has no answer. */
#include "types/btf_internal.h"

static const struct {
	const char *prefix;
	u32 kinds, fallback;
	bool is_union; /* of a forward declaration */
} spellings[] = {
	{"struct ", BTF_KIND_BIT(BTF_KIND_STRUCT), BTF_KIND_BIT(BTF_KIND_FWD), false},
	{"union ", BTF_KIND_BIT(BTF_KIND_UNION), BTF_KIND_BIT(BTF_KIND_FWD), true},
	{"enum ", BTF_KIND_BIT(BTF_KIND_ENUM) | BTF_KIND_BIT(PT_BTF_ENUM64), 0, false},
	{"", BTF_KIND_BIT(BTF_KIND_TYPEDEF) | BTF_KIND_BIT(BTF_KIND_INT), 0, false},
};

static const struct type *find_anywhere(struct btf_source *s, const char *name, u32 kinds)
{
	struct btf_blob *b;
	u32 iterator = 0, id;

	while ((b = btf_next_blob(s, &iterator))) {
		id = btf_find_id(b, name, kinds);
		if (id)
			return btf_convert(b, id);
	}
	return NULL;
}

const struct type *btf_find_definition(struct btf_source *s, const char *name, u32 kind)
{
	return find_anywhere(s, name, BTF_KIND_BIT(kind));
}

const struct type *btf_next_structure(struct btf_source *s, const char *name, u32 *iterator)
{
	const struct btf_blob *const b = &s->vmlinux;

	if (btf_open(&s->vmlinux))
		return NULL;
	while (*iterator < b->count) {
		const u32 i = (*iterator)++;
		const struct btf_type *const t = btf_nth(b, i);

		if (btf_raw_kind(t) == BTF_KIND_STRUCT && btf_is_name(b, t->name_off, name))
			return btf_convert(b, b->first_id + i);
	}
	return NULL;
}

static const struct type *find_spelled(struct btf_source *s, const char *name)
{
	const struct type *t;
	size_t i = 0;

	while (!str_starts(name, spellings[i].prefix))
		i++;
	name += strlen(spellings[i].prefix);
	t = find_anywhere(s, name, spellings[i].kinds);
	if (!t && spellings[i].fallback) {
		t = find_anywhere(s, name, spellings[i].fallback);
		if (t && t->kind != (spellings[i].is_union ? TYPE_UNION : TYPE_STRUCT))
			t = NULL;
	}
	return t;
}

struct type *btf_lookup(struct type_store *store, const char *name)
{
	struct btf_source *s = store->source;
	struct btf_answer *answer = hashmap_gets(&s->names, name);

	if (!answer) {
		answer = xzalloc(sizeof(*answer));
		answer->type = find_spelled(s, name);
		hashmap_puts(&s->names, name, answer);
	}
	return (struct type *)answer->type;
}

/* ---- enumerators ---- */

static bool enum_has(const struct btf_blob *b, const struct btf_type *t, const char *name)
{
	const u32 words = btf_raw_kind(t) == PT_BTF_ENUM64 ? 3 : 2;
	const u32 *e = (const void *)(t + 1);

	for (u32 i = 0; i < btf_raw_vlen(t); i++)
		if (btf_is_name(b, e[words * i], name))
			return true;
	return false;
}

static const struct type *find_enum_with(const struct btf_blob *b, const char *name)
{
	const u32 *enums = b->lists[BTF_LIST_ENUMS].items;

	for (u32 i = 0; i < b->lists[BTF_LIST_ENUMS].len; i++)
		if (enum_has(b, btf_nth(b, enums[i]), name))
			return btf_convert(b, b->first_id + enums[i]);
	return NULL;
}

static void find_enumerator(struct btf_source *s, const char *name, struct btf_answer *answer)
{
	const struct type *t = NULL;
	struct btf_blob *b;
	u32 iterator = 0;

	while (!t && (b = btf_next_blob(s, &iterator)))
		t = find_enum_with(b, name);
	if (!t || type_complete(s->store, t))
		return;
	for (u32 i = 0; i < t->count; i++) {
		if (!str_eq(t->enumerators[i].name, name))
			continue;
		answer->type = t;
		answer->value = t->enumerators[i].value;
		return;
	}
}

const struct type *btf_lookup_enumerator(struct type_store *store, const char *name, s64 *ret_value)
{
	struct btf_source *s = store->source;
	struct btf_answer *answer = hashmap_gets(&s->enumerators, name);

	if (!answer) {
		answer = xzalloc(sizeof(*answer));
		find_enumerator(s, name, answer);
		hashmap_puts(&s->enumerators, name, answer);
	}
	if (answer->type && ret_value)
		*ret_value = answer->value;
	return answer->type;
}
