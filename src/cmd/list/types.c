/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/list/types.h"

#include "base/vector.h"

/* Types of a file that is not trusted may nest without end. */
#define MAX_DEPTH 16

struct found {
	char *spelled;
	const char *module;
};

struct types_found {
	VECTOR(struct found) list;
};

bool list_is_type(const char *pattern)
{
	return str_starts(pattern, "struct ") || str_starts(pattern, "union ") ||
	       str_starts(pattern, "enum ");
}

/* ---- C ---- */

static void add_body(struct strbuf *out, struct type_store *types, const struct type *t, u32 depth);

static const char *keyword(const struct type *t)
{
	if (t->kind == TYPE_ENUM)
		return "enum";
	return t->kind == TYPE_UNION ? "union" : "struct";
}

static void add_record(struct strbuf *out, struct type_store *types, const struct type *t,
		       u32 depth)
{
	strbuf_addf(out, "%s ", keyword(t));
	if (t->name)
		strbuf_addstr(out, t->name);
	else
		add_body(out, types, t, depth + 1);
}

/*
 * The type's words, then `inner`, which is built from the name outwards: "*name", "(*name)(void)",
 * "name[4]".
 */
static void declare(struct strbuf *out, struct type_store *types, const struct type *t,
		    const char *inner, u32 depth)
{
	const char *gap = *inner ? " " : "";
	struct strbuf next = STRBUF_INIT;

	if (!t || t->alias || depth > MAX_DEPTH) {
		strbuf_addf(out, "%s%s%s", t && t->alias ? t->alias : "void", gap, inner);
		return;
	}
	switch (t->kind) {
	case TYPE_ARRAY:
		strbuf_addf(&next, "%s[%u]", inner, t->count);
		declare(out, types, t->element, next.data, depth + 1);
		break;
	case TYPE_POINTER:
		if (t->element &&
		    (t->element->kind == TYPE_FUNCTION || t->element->kind == TYPE_ARRAY) &&
		    !t->element->alias)
			strbuf_addf(&next, "(*%s)", inner);
		else
			strbuf_addf(&next, "*%s", inner);
		declare(out, types, t->element, next.data, depth + 1);
		break;
	case TYPE_FUNCTION:
		type_complete(types, t);
		strbuf_addf(&next, "%s(", inner);
		for (u32 i = 0; i < t->count && t->members; i++) {
			strbuf_addstr(&next, i ? ", " : "");
			declare(&next, types, t->members[i].type, "", depth + 1);
		}
		strbuf_addstr(&next, t->count ? ")" : "void)");
		declare(out, types, t->element, next.data, depth + 1);
		break;
	case TYPE_STRUCT:
	case TYPE_UNION:
	case TYPE_ENUM:
		add_record(out, types, t, depth);
		strbuf_addf(out, "%s%s", gap, inner);
		break;
	default:
		if (t->name)
			strbuf_addstr(out, t->name);
		else
			type_format(out, t);
		strbuf_addf(out, "%s%s", gap, inner);
	}
	strbuf_release(&next);
}

static void add_body(struct strbuf *out, struct type_store *types, const struct type *t, u32 depth)
{
	type_complete(types, t);
	strbuf_addstr(out, "{\n");
	for (u32 i = 0; i < t->count && depth <= MAX_DEPTH; i++) {
		strbuf_addchars(out, '\t', (int)depth);
		if (t->kind == TYPE_ENUM) {
			strbuf_addf(out, "%s = %" PRId64 ",\n", t->enumerators[i].name,
				    t->enumerators[i].value);
			continue;
		}
		declare(out, types, t->members[i].type,
			t->members[i].name ? t->members[i].name : "", depth);
		if (t->members[i].bit_size)
			strbuf_addf(out, ": %u", t->members[i].bit_size);
		strbuf_addstr(out, ";\n");
	}
	strbuf_addchars(out, '\t', (int)depth - 1);
	strbuf_addch(out, '}');
}

/* ---- the list ---- */

static int remember(void *arg, const char *module, const char *spelled)
{
	struct types_found *f = arg;

	vector_push(&f->list, (struct found){.spelled = xstrdup(spelled), .module = module});
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->spelled, ((const struct found *)b)->spelled);
}

static int print_one(struct probe_env *env, const struct found *f, bool verbose, FILE *out)
{
	const struct type *t = verbose ? type_named(env->types, f->spelled) : NULL;
	struct strbuf text = STRBUF_INIT;
	int err;

	if (t) {
		strbuf_addf(&text, "%s: %s ", f->module && *f->module ? f->module : "vmlinux",
			    f->spelled);
		add_body(&text, env->types, t, 1);
		strbuf_addch(&text, ';');
	} else {
		strbuf_addstr(&text, f->spelled);
	}
	err = fprintf(out, "%s\n", text.data) < 0 ? -EIO : 0;
	strbuf_release(&text);
	return err;
}

s64 list_types(struct probe_env *env, const char *pattern, bool verbose, FILE *out)
{
	struct types_found f = {0};
	s64 err = env->btf ? btf_each_record(env->btf, pattern, remember, &f) : -ENOENT, count = 0;

	if (f.list.len)
		qsort(f.list.items, f.list.len, sizeof(*f.list.items), compare);
	for (size_t i = 0; i < f.list.len; i++) {
		const bool again =
			i && str_eq(f.list.items[i].spelled, f.list.items[i - 1].spelled);

		if (again || err)
			continue;
		err = print_one(env, &f.list.items[i], verbose, out);
		count++;
	}
	for (size_t i = 0; i < f.list.len; i++)
		free(f.list.items[i].spelled);
	vector_free(&f.list);
	return err ? err : count;
}
