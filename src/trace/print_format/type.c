/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Type names of casts and sizeof. */
#include <stdio.h>

#include "trace/print_format/internal.h"

static const struct {
	const char *name;
	u8 size;
	bool is_signed;
} named_types[] = {
	{"u8", 1, false},
	{"u16", 2, false},
	{"u32", 4, false},
	{"u64", 8, false},
	{"s8", 1, true},
	{"s16", 2, true},
	{"s32", 4, true},
	{"s64", 8, true},
	{"__u8", 1, false},
	{"__u16", 2, false},
	{"__u32", 4, false},
	{"__u64", 8, false},
	{"__s8", 1, true},
	{"__s16", 2, true},
	{"__s32", 4, true},
	{"__s64", 8, true},
	{"__le16", 2, false},
	{"__le32", 4, false},
	{"__le64", 8, false},
	{"__be16", 2, false},
	{"__be32", 4, false},
	{"__be64", 8, false},
	{"uint8_t", 1, false},
	{"uint16_t", 2, false},
	{"uint32_t", 4, false},
	{"uint64_t", 8, false},
	{"int8_t", 1, true},
	{"int16_t", 2, true},
	{"int32_t", 4, true},
	{"int64_t", 8, true},
	{"size_t", 8, false},
	{"ssize_t", 8, true},
	{"uintptr_t", 8, false},
	{"pid_t", 4, true},
	{"dev_t", 4, false},
	{"loff_t", 8, true},
	{"sector_t", 8, false},
	{"bool", 1, false},
	{"_Bool", 1, false},
	{"gfp_t", 4, false},
	{"umode_t", 2, false},
	{"ino_t", 8, false},
	{"phys_addr_t", 8, false},
	{"dma_addr_t", 8, false},
	{"resource_size_t", 8, false},
	{"blk_opf_t", 4, false},
	{"ktime_t", 8, true},
	{"off_t", 8, true},
	{"uid_t", 4, false},
	{"gid_t", 4, false},
	{"uint", 4, false},
	{"ulong", 8, false},
	{"isolate_mode_t", 4, false},
	{"time64_t", 8, true},
	{"blk_status_t", 1, false},
	{"vm_fault_t", 4, false},
	{"unchar", 1, false},
};

/* What was seen of a type so far. */
struct specifiers {
	bool any, is_unsigned, is_signed, is_char, is_short, is_void;
	u8 longs;
	struct pf_type named;
	bool has_named;
	const struct type *record;
};

static void type_of_store(const struct type *t, struct specifiers *s)
{
	s->any = s->has_named = true;
	if (type_is_record(t)) {
		s->record = t;
		return;
	}
	s->named = (struct pf_type){
		.value = PF_NUMBER, .size = (u8)MIN(t->size, 8u), .is_signed = t->is_signed};
	if (t->kind == TYPE_POINTER)
		s->named.is_pointer = true;
}

static bool tagged_type(struct pf_parser *p, const char *keyword, struct specifiers *s)
{
	const char *w;
	const size_t len = pf_word(p, &w);
	char spelled[160];
	const struct type *t;

	if (!len || snprintf(spelled, sizeof(spelled), "%s %.*s", keyword, (int)len, w) >=
			    (int)sizeof(spelled))
		return false;
	t = type_named(p->store, spelled);
	s->any = s->has_named = true;
	s->named = (struct pf_type){.value = PF_NUMBER, .size = 4, .is_signed = false};
	if (t && t->size)
		type_of_store(t, s);
	else if (keyword[0] != 'e')
		s->is_void = true; /* only pointers to it can be used */
	return true;
}

static bool typedef_name(struct pf_parser *p, const char *w, size_t len, struct specifiers *s)
{
	const struct type *t;
	char *name;

	for (size_t i = 0; i < ARRAY_SIZE(named_types); i++)
		if (pf_word_is(w, len, named_types[i].name)) {
			s->any = s->has_named = true;
			s->named = (struct pf_type){.value = PF_NUMBER,
						    .size = named_types[i].size,
						    .is_signed = named_types[i].is_signed};
			return true;
		}
	if (len < 3 || memcmp(w + len - 2, "_t", 2))
		return false;
	name = xstrndup(w, len);
	t = type_named(p->store, name);
	free(name);
	if (!t || !t->size || (!type_is_record(t) && !type_is_scalar(t)))
		return false;
	type_of_store(t, s);
	return true;
}

/* One word of a type; false: it is something else. */
static bool type_word(struct pf_parser *p, const char *w, size_t len, struct specifiers *s)
{
	static const char *const ignored[] = {"const",	   "volatile", "__user",     "__force",
					      "__bitwise", "register", "__restrict", "__iomem",
					      "static",	   "__rcu",    "__private"};

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (pf_word_is(w, len, ignored[i]))
			return true;
	if (pf_word_is(w, len, "unsigned"))
		return s->any = s->is_unsigned = true;
	if (pf_word_is(w, len, "signed") || pf_word_is(w, len, "int"))
		return s->any = s->is_signed = true;
	if (pf_word_is(w, len, "char"))
		return s->any = s->is_char = true;
	if (pf_word_is(w, len, "short"))
		return s->any = s->is_short = true;
	if (pf_word_is(w, len, "void"))
		return s->any = s->is_void = true;
	if (pf_word_is(w, len, "long")) {
		s->longs++;
		return s->any = true;
	}
	if (pf_word_is(w, len, "struct"))
		return tagged_type(p, "struct", s);
	if (pf_word_is(w, len, "union"))
		return tagged_type(p, "union", s);
	if (pf_word_is(w, len, "enum"))
		return tagged_type(p, "enum", s);
	return !s->any && typedef_name(p, w, len, s);
}

static struct pf_type base_of(const struct specifiers *s)
{
	struct pf_type t = {.value = PF_NUMBER, .size = 4, .is_signed = !s->is_unsigned};

	if (s->has_named)
		t = s->named;
	else if (s->is_char)
		t.size = 1;
	else if (s->is_short)
		t.size = 2;
	else if (s->longs)
		t.size = 8;
	return t;
}

/* Reads a type name ("const struct foo *"). False, with nothing read, if there is none. */
bool pf_parse_type(struct pf_parser *p, struct pf_type *ret)
{
	struct specifiers s = {0};
	const char *const start = p->at, *before, *w;
	struct pf_type t;
	u32 stars = 0;
	size_t len;

	for (;;) {
		pf_skip_blanks(p);
		before = p->at;
		len = pf_word(p, &w);
		if (!len || !type_word(p, w, len, &s))
			break;
	}
	p->at = before;
	if (!s.any) {
		p->at = start;
		return false;
	}
	while (pf_accept(p, "*") || pf_accept(p, "const ") || pf_accept(p, "const*"))
		stars += p->at[-1] == '*';
	t = base_of(&s);
	if (stars == 1) {
		t = (struct pf_type){.value = PF_NUMBER,
				     .size = 8,
				     .is_pointer = true,
				     .element_size = s.is_void && !s.has_named ? 1 : (u8)t.size,
				     .element_signed = t.is_signed,
				     .element = s.record};
		if (s.record || (s.is_void && s.has_named))
			t.element_size = 0;
	} else if (stars) {
		t = (struct pf_type){
			.value = PF_NUMBER, .size = 8, .is_pointer = true, .element_size = 8};
	} else {
		t.element = s.record;
	}
	*ret = t;
	return true;
}
