/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events/CATEGORY/EVENT/format (kernel/trace/trace_events.c, f_show()):
 *
 *	name: sys_enter_openat
 *	ID: 782
 *	format:
 *		field:unsigned short common_type;	offset:0;	size:2;	signed:0;
 *		...
 *		field:const char * filename;	offset:24;	size:8;	signed:0;
 *		field:__data_loc char[] name;	offset:32;	size:4;	signed:0;
 *
 *	print fmt: "filename: 0x%08lx", ...
 */
#include "types/tracefs_format.h"

#include <ctype.h>

#include "base/vector.h"

/* A record is at most a page of the ring buffer; anything larger is not a format file. */
#define MAX_RECORD (1u << 20)
#define MAX_FIELDS 4096

struct parser {
	struct type_store *store;
	bool is_syscall;
	VECTOR(struct type_member) members;
	u32 size;
};

/* One line, taken apart. */
struct field {
	char *type; /* without qualifiers, stars and "[]": "unsigned long", "struct sock" */
	const char *name;
	u32 stars;
	bool is_array, is_data_loc, is_rel_loc, is_percpu, is_opaque;
	u32 count; /* as written between the brackets; 0 = not a number */
	u32 offset, size;
	bool is_signed;
};

/* ---- types that are looked up only when someone looks inside ---- */

static int complete_later(struct type_store *s, struct type *t)
{
	const char *keyword = t->kind == TYPE_ENUM    ? "enum"
			      : t->kind == TYPE_UNION ? "union"
						      : "struct";
	char *name = xasprintf("%s %s", keyword, t->name);
	const struct type *found = type_named(s, name);

	free(name);
	t->complete = NULL; /* do not search again */
	if (!found || found == t || found->kind != t->kind || type_complete(s, found))
		return -ENOENT;
	t->is_complete = true;
	if (t->kind == TYPE_ENUM) {
		t->enumerators = found->enumerators;
	} else {
		t->members = found->members;
		t->size = found->size;
		t->align = found->align;
	}
	t->count = found->count;
	return 0;
}

/* "struct x", "union x", "enum x": by tag, unread. NULL: the spelling is another. size 0 = unknown.
 */
static const struct type *tagged(struct parser *p, const char *spelling, u32 size, bool is_signed)
{
	static const struct {
		const char *prefix;
		enum type_kind kind;
	} rows[] = {
		{"struct ", TYPE_STRUCT},
		{"union ", TYPE_UNION},
		{"enum ", TYPE_ENUM},
	};
	struct type *t = hashmap_gets(&p->store->named, spelling);

	if (t)
		return t;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (!str_starts(spelling, rows[i].prefix))
			continue;
		t = type_new(p->store, rows[i].kind);
		t->name = arena_strdup(&p->store->arena, spelling + strlen(rows[i].prefix));
		t->size = size;
		t->complete = complete_later;
		if (rows[i].kind == TYPE_ENUM) {
			t->size = size == 1 || size == 2 ? size : 4;
			t->align = t->size;
			t->is_signed = is_signed;
		}
		return t;
	}
	return NULL;
}

/* ---- one field's type ---- */

static const struct type *by_size(struct parser *p, u32 size, bool is_signed)
{
	if (size == 1 || size == 2 || size == 4 || size == 8)
		return type_int(size, is_signed);
	return type_array(p->store, type_int(1, false), size);
}

static const struct type *base_type(struct parser *p, const struct field *f, u32 size)
{
	const struct type *t = tagged(p, f->type, size, f->is_signed);

	if (!t && str_eq(f->type, "void"))
		return type_void();
	return t ? t : type_named(p->store, f->type);
}

static const struct type *pointer_type(struct parser *p, const struct field *f)
{
	const enum address_space space = p->is_syscall ? SPACE_USER : SPACE_KERNEL;
	const struct type *t = base_type(p, f, 0);
	struct type *copy;

	if (!t)
		t = type_void();
	for (u32 i = 0; i < MIN(f->stars, 8u); i++)
		t = type_pointer(p->store, t, space);
	if (!f->is_percpu)
		return t;
	copy = type_new(p->store, TYPE_POINTER);
	*copy = *t;
	copy->is_percpu_pointer = true;
	return copy;
}

static const struct type *array_type(struct parser *p, const struct field *f)
{
	const bool is_located = f->is_data_loc || f->is_rel_loc;
	const u32 element_size =
		!is_located && f->count && f->size % f->count == 0 ? f->size / f->count : 0;
	const struct type *e;

	e = f->stars ? pointer_type(p, f) : base_type(p, f, element_size);
	/* The count may be a named constant: the size then gives it. */
	if (!e || !e->size || (!is_located && f->size % e->size))
		e = by_size(p, element_size ? element_size : 1, f->is_signed);
	return type_array(p->store, e, is_located ? 0 : f->size / e->size);
}

static const struct type *scalar_type(struct parser *p, const struct field *f)
{
	const struct type *t = base_type(p, f, f->size);
	struct type *copy;

	if (!t || !t->size || t->size > f->size || t->kind == TYPE_STRING)
		return by_size(p, f->size, f->is_signed);
	/*
	 * Arguments of system calls take 8 bytes each; any other type must fill its field exactly.
	 */
	if (t->size < f->size && !(type_is_scalar(t) && f->size <= 8))
		return by_size(p, f->size, f->is_signed);
	if (t->is_char && t->is_signed != f->is_signed) {
		copy = type_new(p->store, TYPE_INT);
		*copy = *t;
		copy->is_signed = f->is_signed;
		return copy;
	}
	/* A user pointer hidden in a typedef, as cap_user_header_t. */
	if (t->kind == TYPE_POINTER && p->is_syscall)
		return type_pointer(p->store, t->element, SPACE_USER);
	return t;
}

static const struct type *field_type(struct parser *p, const struct field *f)
{
	if (f->is_opaque)
		return by_size(p, f->size, f->is_signed);
	if (f->is_array)
		return array_type(p, f);
	if (f->stars)
		return f->size == 8 ? pointer_type(p, f) : by_size(p, f->size, f->is_signed);
	if (f->is_data_loc || f->is_rel_loc) {
		const struct type *t = base_type(p, f, 0);

		/* __data_loc cpumask_t: a bitmap whose length is in the record. */
		return t && t->size && !type_is_record(t)
			       ? t
			       : type_array(p->store, type_int(8, false), 0);
	}
	return scalar_type(p, f);
}

/* ---- declarations ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Qualifiers of memory and access. */
static bool is_qualifier(const char *word, size_t len, struct field *f)
{
	static const char *const words[] = {"const",	"volatile", "restrict", "__restrict",
					    "__user",	"__rcu",    "__iomem",	"__kernel",
					    "__percpu", "__seg_gs", "__seg_fs"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i]) != len || memcmp(words[i], word, len))
			continue;
		f->is_percpu |= i >= 8;
		return true;
	}
	return false;
}

/* [begin, end) without the name: "__data_loc char[]", "const struct sock * *". */
static void parse_type(struct parser *p, const char *begin, const char *end, struct field *f)
{
	char *out = f->type = arena_alloc(&p->store->arena, (size_t)(end - begin) + 1);

	while (begin < end) {
		const char *word = begin;
		size_t len;

		if (*begin == '*')
			f->stars++;
		else if (*begin == '[')
			f->is_array = true;
		else if (!isspace((unsigned char)*begin) && *begin != ']' && !is_word(*begin))
			f->is_opaque = true; /* function pointers, typeof() */
		if (!is_word(*begin)) {
			begin++;
			continue;
		}
		while (begin < end && is_word(*begin))
			begin++;
		len = (size_t)(begin - word);
		if (len == 10 && !memcmp(word, "__data_loc", len))
			f->is_data_loc = true;
		else if (len == 9 && !memcmp(word, "__rel_loc", len))
			f->is_rel_loc = true;
		else if (!is_qualifier(word, len, f)) {
			if (out != f->type)
				*out++ = ' ';
			memcpy(out, word, len);
			out += len;
		}
	}
	*out = '\0';
}

/* "unsigned long args[6]" */
static int parse_declaration(struct parser *p, const char *begin, const char *end, struct field *f)
{
	const char *name_end, *name, *bracket;

	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	name_end = end;
	/* Dimensions after the name. */
	while (name_end > begin && name_end[-1] == ']') {
		bracket = name_end - 1;
		while (bracket > begin && *bracket != '[')
			bracket--;
		if (*bracket != '[')
			return -EINVAL;
		f->is_array = true;
		f->count = (u32)strtoul(bracket + 1, NULL, 10);
		name_end = bracket;
	}
	name = name_end;
	while (name > begin && is_word(name[-1]))
		name--;
	if (name == name_end || name == begin)
		return -EINVAL;
	f->name = arena_strndup(&p->store->arena, name, (size_t)(name_end - name));
	parse_type(p, begin, name, f);
	return 0;
}

/* The number after "key:" in the line, before `end`. */
static bool find_number(const char *line, const char *end, const char *key, u32 *ret)
{
	const char *at = memmem(line, (size_t)(end - line), key, strlen(key));
	char *stop;
	unsigned long v;

	if (!at)
		return false;
	v = strtoul(at + strlen(key), &stop, 10);
	if (stop == at + strlen(key) || v > MAX_RECORD)
		return false;
	*ret = (u32)v;
	return true;
}

static int parse_field(struct parser *p, const char *line, const char *end)
{
	struct field f = {0};
	struct type_member m = {0};
	const char *semicolon = memchr(line, ';', (size_t)(end - line));
	u32 is_signed = 0;
	int err;

	if (!semicolon || !find_number(semicolon, end, "\toffset:", &f.offset) ||
	    !find_number(semicolon, end, "\tsize:", &f.size))
		return -EINVAL;
	find_number(semicolon, end, "\tsigned:", &is_signed);
	f.is_signed = is_signed;
	err = parse_declaration(p, line, semicolon, &f);
	if (err || p->members.len >= MAX_FIELDS)
		return -EINVAL;
	if ((f.is_data_loc || f.is_rel_loc) && f.size != 4)
		return -EINVAL;
	m.name = f.name;
	m.type = field_type(p, &f);
	m.offset = f.offset;
	m.is_data_loc = f.is_data_loc;
	m.is_rel_loc = f.is_rel_loc;
	m.is_user = p->is_syscall && m.type->kind == TYPE_POINTER;
	vector_push(&p->members, m);
	p->size = MAX(p->size, f.offset + f.size);
	return 0;
}

static struct type *make_record(struct parser *p, const char *name, size_t name_len)
{
	struct arena *a = &p->store->arena;
	struct type *t = type_new(p->store, TYPE_STRUCT);

	t->name = arena_strndup(a, name, name_len);
	t->members = arena_memdup(a, p->members.items, p->members.len * sizeof(*p->members.items));
	t->count = (u32)p->members.len;
	t->size = p->size;
	t->align = 8;
	t->is_complete = true;
	return t;
}

int tracefs_format_parse(struct type_store *store, const char *category, const char *text,
			 const struct type **ret_record, const char **ret_print_fmt)
{
	static const char field_key[] = "field:", print_key[] = "print fmt: ",
			  name_key[] = "name: ";
	struct parser p = {.store = store, .is_syscall = str_eq(category, "syscalls")};
	const char *name = "", *print = NULL;
	size_t name_len = 0, print_len;
	int err = 0;

	for (const char *line = text, *end; *line && !err && !print; line = *end ? end + 1 : end) {
		const char *word = line + strspn(line, " \t");

		end = strchrnul(line, '\n');
		if (str_starts(word, field_key)) {
			err = parse_field(&p, word + strlen(field_key), end);
		} else if (str_starts(word, print_key)) {
			print = word + strlen(print_key);
		} else if (str_starts(word, name_key) && !name_len) {
			name = word + strlen(name_key);
			name_len = (size_t)(end - name);
		}
	}
	if (!err && p.members.len) {
		*ret_record = make_record(&p, name, name_len);
		if (ret_print_fmt) {
			print_len = print ? strlen(print) : 0;
			while (print_len && isspace((unsigned char)print[print_len - 1]))
				print_len--;
			*ret_print_fmt =
				print ? arena_strndup(&store->arena, print, print_len) : "";
		}
	} else if (!err) {
		err = -EINVAL;
	}
	vector_free(&p.members);
	return err;
}
