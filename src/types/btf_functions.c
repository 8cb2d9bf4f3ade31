/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions, raw tracepoints, iterators and variables. */
#include "base/glob.h"
#include "types/btf_internal.h"

/* Where to look for a name: one object, or all of them. */
struct scope {
	struct btf_source *source;
	struct btf_blob *only;
	bool is_done;
	u32 iterator;
};

/* module NULL, "" or "*" = any. -ENOENT if there is no such module. */
static int scope_init(struct scope *scope, struct btf_source *s, const char *module)
{
	*scope = (struct scope){.source = s};
	if (!module || !*module || str_eq(module, "*"))
		return btf_open(&s->vmlinux);
	scope->only = btf_module(s, module);
	return scope->only ? btf_open(scope->only) : -ENOENT;
}

static struct btf_blob *scope_next(struct scope *scope)
{
	if (!scope->only)
		return btf_next_blob(scope->source, &scope->iterator);
	if (scope->is_done)
		return NULL;
	scope->is_done = true;
	return scope->only;
}

static u32 find_in_scope(struct scope *scope, const char *name, u32 kind, struct btf_blob **ret)
{
	u32 id;

	while ((*ret = scope_next(scope))) {
		id = btf_find_id(*ret, name, BTF_KIND_BIT(kind));
		if (id)
			return id;
	}
	return 0;
}

static int fill_function(struct btf_blob *b, u32 id, const struct type *t, struct btf_function *ret)
{
	int fd = 0, err;

	if (t->kind != TYPE_FUNCTION)
		return -EINVAL;
	err = type_complete(b->owner->store, t);
	if (err)
		return err;
	/*
	 * Without the privilege to get it, types are still usable; attaching will give the reason.
	 */
	if (b->module)
		fd = btf_object_fd(b);
	*ret = (struct btf_function){
		.id = id, .module_fd = MAX(fd, 0), .module = b->module, .type = t};
	return 0;
}

int btf_find_function(struct btf_source *s, const char *module, const char *name,
		      struct btf_function *ret)
{
	struct btf_blob *b;
	struct scope scope;
	int err = scope_init(&scope, s, module);
	u32 id;

	if (err)
		return err;
	id = find_in_scope(&scope, name, BTF_KIND_FUNC, &b);
	return id ? fill_function(b, id, btf_convert(b, id), ret) : -ENOENT;
}

/* Adds the functions whose names start with the literal prefix of the glob. */
static int each_in(struct btf_blob *b, const char *glob,
		   int (*fn)(void *arg, const char *module, const char *name, u32 id), void *arg)
{
	const struct btf_numbers *functions = &b->lists[BTF_LIST_FUNCTIONS];
	const size_t prefix = strcspn(glob, "*?[\\");
	const bool all = str_eq(glob, "*");

	for (u32 i = 0; i < functions->len; i++) {
		const struct btf_type *t = btf_nth(b, functions->items[i]);
		const char *name = btf_name_at(b, t->name_off);
		int rc;

		if (!all && (strncmp(name, glob, prefix) || !glob_match(glob, name)))
			continue;
		rc = fn(arg, b->module, name, b->first_id + functions->items[i]);
		if (rc)
			return rc;
	}
	return 0;
}

int btf_each_function(struct btf_source *s, const char *module_glob, const char *glob,
		      int (*fn)(void *arg, const char *module, const char *name, u32 id), void *arg)
{
	int err = btf_open(&s->vmlinux);

	if (err)
		return err;
	if (!module_glob || !*module_glob)
		module_glob = "*";
	if (!glob)
		glob = "*";
	if (glob_match(module_glob, "vmlinux"))
		err = each_in(&s->vmlinux, glob, fn, arg);
	btf_list_modules(s);
	for (size_t i = 0; !err && i < s->modules.len; i++) {
		struct btf_blob *b = s->modules.items[i];

		if (glob_match(module_glob, b->module) && !btf_open(b))
			err = each_in(b, glob, fn, arg);
	}
	return err;
}

int btf_each_function_in(const void *data, size_t len,
			 int (*fn)(void *arg, const char *name, u32 id), void *arg)
{
	struct btf_blob b;
	int err = btf_open_memory(&b, data, len);

	for (u32 i = 0; !err && i < b.lists[BTF_LIST_FUNCTIONS].len; i++) {
		const u32 n = b.lists[BTF_LIST_FUNCTIONS].items[i];

		err = fn(arg, btf_name_at(&b, btf_nth(&b, n)->name_off), b.first_id + n);
	}
	btf_close_memory(&b);
	return err;
}

static int each_record_in(struct btf_blob *b, const char *glob,
			  int (*fn)(void *arg, const char *module, const char *spelled), void *arg)
{
	static const char *const words[PT_BTF_KIND_MAX + 1] = {[BTF_KIND_STRUCT] = "struct",
							       [BTF_KIND_UNION] = "union",
							       [BTF_KIND_ENUM] = "enum",
							       [PT_BTF_ENUM64] = "enum"};
	struct strbuf spelled = STRBUF_INIT;
	int rc = 0;

	for (u32 i = 0; i < b->count && !rc; i++) {
		const struct btf_type *t = btf_nth(b, i);
		const u32 kind = btf_raw_kind(t);
		const char *name = btf_name_at(b, t->name_off);

		if (kind > PT_BTF_KIND_MAX || !words[kind] || !*name || !btf_raw_vlen(t))
			continue;
		strbuf_reset(&spelled);
		strbuf_addf(&spelled, "%s %s", words[kind], name);
		if (glob_match(glob, spelled.data))
			rc = fn(arg, b->module, spelled.data);
	}
	strbuf_release(&spelled);
	return rc;
}

int btf_each_record(struct btf_source *s, const char *glob,
		    int (*fn)(void *arg, const char *module, const char *spelled), void *arg)
{
	struct btf_blob *b;
	u32 next = 0;
	int err = btf_open(&s->vmlinux);

	while (!err && (b = btf_next_blob(s, &next)))
		err = each_record_in(b, glob, fn, arg);
	return err;
}

/* ---- raw tracepoints ---- */

/* The same prototype without its first parameter, void *__data; nameless ones get "argN". */
static const struct type *drop_first(struct btf_source *s, const struct type *from)
{
	struct type *t = type_new(s->store, TYPE_FUNCTION);
	const u32 n = from->count ? from->count - 1 : 0;
	struct type_member *m = arena_new_array(&s->store->arena, struct type_member, n);

	for (u32 i = 0; i < n; i++) {
		m[i] = from->members[i + 1];
		m[i].offset = 8 * i;
		if (!m[i].name)
			m[i].name = arena_printf(&s->store->arena, "arg%u", i);
	}
	t->is_complete = true;
	t->element = type_void();
	t->members = m;
	t->count = n;
	return t;
}

/* typedef void (*btf_trace_NAME)(void *, ...) */
static const struct type *tracepoint_prototype(struct btf_blob *b, u32 typedef_id)
{
	const struct type *t = btf_convert(b, typedef_id);

	if (t->kind != TYPE_POINTER || t->element->kind != TYPE_FUNCTION)
		return NULL;
	return type_complete(b->owner->store, t->element) ? NULL : t->element;
}

/*
 * The typedef's id is the one to attach to, but newer kernels leave its parameters nameless. The
 * functions that include/linux/tracepoint.h declares have the names.
 */
static const struct type *named_prototype(struct btf_blob *b, const char *name)
{
	static const char *const prefixes[] = {"__probestub_", "__traceiter_", "__bpf_trace_"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		char *function = xasprintf("%s%s", prefixes[i], name);
		const u32 id = btf_find_id(b, function, BTF_KIND_BIT(BTF_KIND_FUNC));
		const struct type *t = id ? btf_convert(b, id) : NULL;

		free(function);
		if (t && t->kind == TYPE_FUNCTION && !type_complete(b->owner->store, t))
			return t;
	}
	return NULL;
}

static bool has_names(const struct type *t)
{
	for (u32 i = 1; i < t->count; i++)
		if (!t->members[i].name)
			return false;
	return true;
}

int btf_find_raw_tracepoint(struct btf_source *s, const char *module, const char *name,
			    struct btf_function *ret)
{
	const struct type *t, *named;
	struct btf_blob *b;
	struct scope scope;
	char *alias;
	u32 id;
	int err = scope_init(&scope, s, module);

	if (err)
		return err;
	alias = xasprintf("btf_trace_%s", name);
	id = find_in_scope(&scope, alias, BTF_KIND_TYPEDEF, &b);
	free(alias);
	t = id ? tracepoint_prototype(b, id) : NULL;
	if (!t)
		return -ENOENT;
	if (!has_names(t)) {
		named = named_prototype(b, name);
		if (named && named->count == t->count)
			t = named;
	}
	return fill_function(b, id, drop_first(s, t), ret);
}

/* ---- iterators ---- */

/*
 * The context's members are __bpf_md_ptr(type, name), a union of the pointer and a u64. The
 * language shows only the pointer.
 */
static const struct type *flatten_context(struct btf_source *s, const struct type *from)
{
	struct type *t = type_new(s->store, TYPE_STRUCT);
	struct type_member *m = arena_new_array(&s->store->arena, struct type_member, from->count);

	for (u32 i = 0; i < from->count; i++) {
		m[i] = from->members[i];
		if (m[i].name || m[i].type->kind != TYPE_UNION ||
		    type_complete(s->store, m[i].type) || !m[i].type->count)
			continue;
		m[i] = m[i].type->members[0];
		m[i].offset += from->members[i].offset;
	}
	*t = *from;
	t->members = m;
	return t;
}

int btf_find_iterator(struct btf_source *s, const char *name, struct btf_function *ret,
		      const struct type **ret_context)
{
	char *function = xasprintf("bpf_iter_%s", name);
	char *context = xasprintf("struct bpf_iter__%s", name);
	int err = btf_find_function(s, NULL, function, ret);
	const struct type *t = err ? NULL : btf_lookup(s->store, context);

	free(function);
	free(context);
	if (err)
		return err;
	if (!t || type_complete(s->store, t)) /* a helper of the iterators with the same prefix */
		return -ENOENT;
	if (ret_context)
		*ret_context = flatten_context(s, t);
	return 0;
}

bool btf_has_typedef(struct btf_source *s, const char *name)
{
	return btf_find_id(&s->vmlinux, name, BTF_KIND_BIT(BTF_KIND_TYPEDEF)) != 0;
}

/* ---- variables ---- */

const struct type *btf_find_variable(struct btf_source *s, const char *name)
{
	struct btf_blob *b;
	struct scope scope;
	u32 id;

	if (scope_init(&scope, s, NULL))
		return NULL;
	id = find_in_scope(&scope, name, BTF_KIND_VAR, &b);
	return id ? btf_convert(b, id) : NULL;
}
