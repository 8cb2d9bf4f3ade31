/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fields of the record, and members of structs that lie in it. */
#include <stdio.h>

#include "trace/print_format/internal.h"

static const struct pf_type type_u64 = {.value = PF_NUMBER, .size = 8, .is_signed = false};

static struct pf_type element_type(const struct type *t)
{
	struct pf_type r = {.value = PF_BYTES, .size = 8};

	if (type_is_record(t)) {
		r.element = t;
	} else {
		r.element_size = t->size <= 8 ? (u8)t->size : 0;
		r.element_signed = t->is_signed;
	}
	return r;
}

struct pf_node *pf_field_node(struct pf_parser *p, const struct type_member *m)
{
	const struct type *t = m->type;
	struct pf_node *n;
	u32 end = m->offset + (m->is_data_loc ? 4 : t->size);

	/* Arguments of system calls are whole registers, whatever the type of the parameter. */
	if (p->is_syscall && m->offset >= 16 && !m->is_data_loc && type_is_scalar(t)) {
		n = pf_new(p, PF_LOAD, pf_integer(8, false));
		n->offset = m->offset;
		p->fixed_end = MAX(p->fixed_end, m->offset + 8);
		return n;
	}
	if (m->is_data_loc || m->is_rel_loc) {
		struct pf_type type = element_type(t->kind == TYPE_ARRAY ? t->element : t);

		n = pf_new(p, m->is_rel_loc ? PF_RELATIVE : PF_DYNAMIC, type);
		end = m->offset + 4;
	} else if (t->kind == TYPE_ARRAY) {
		n = pf_new(p, PF_PLACE, element_type(t->element));
		n->bytes = t->size;
	} else if (t->size != 1 && t->size != 2 && t->size != 4 && t->size != 8) {
		n = pf_new(p, PF_PLACE, element_type(t));
		n->bytes = t->size;
	} else if (type_is_record(t)) {
		/* Small structs (sockaddr-like ids): a place, and a number where one is wanted. */
		n = pf_new(p, PF_PLACE, element_type(t));
		n->bytes = t->size;
	} else {
		n = pf_new(p, PF_LOAD,
			   (struct pf_type){.value = PF_NUMBER,
					    .size = (u8)t->size,
					    .is_signed = t->is_signed});
		if (t->kind == TYPE_POINTER) {
			n->type.is_pointer = true;
			n->type.is_signed = false;
			n->type.element_size = t->element && t->element->kind == TYPE_INT
						       ? (u8)t->element->size
						       : 0;
			n->type.element =
				t->element && type_is_record(t->element) ? t->element : NULL;
		}
	}
	n->offset = m->offset;
	p->fixed_end = MAX(p->fixed_end, end);
	return n;
}

const struct type_member *pf_member(struct pf_parser *p, const char *name, size_t len)
{
	static const char prefix[] = "__data_loc_";

	for (u32 i = 0; i < p->record->count; i++)
		if (pf_word_is(name, len, p->record->members[i].name))
			return &p->record->members[i];
	if (len > sizeof(prefix) && !memcmp(name, prefix, sizeof(prefix) - 1))
		return pf_member(p, name + sizeof(prefix) - 1, len - (sizeof(prefix) - 1));
	return NULL;
}

/* "->name" behind REC was read up to the name. */
struct pf_node *pf_record_field(struct pf_parser *p)
{
	const char *w;
	size_t len = pf_word(p, &w);
	const struct type_member *m = len ? pf_member(p, w, len) : NULL;
	struct pf_node *n;

	/* struct trace_entry, the head of each record: "ent.pid" is the field common_pid. */
	if (!m && pf_word_is(w, len, "ent") && pf_accept(p, ".")) {
		char name[32];

		len = pf_word(p, &w);
		snprintf(name, sizeof(name), "common_%.*s", (int)MIN(len, sizeof(name)), w);
		m = pf_member(p, name, strlen(name));
	}
	if (!m) {
		pf_refuse(p, "no field '%.*s'", (int)len, w);
		return NULL;
	}
	if (len > 11 && !memcmp(w, "__data_loc_", 11)) { /* the descriptor itself */
		n = pf_new(p, PF_LOAD, pf_integer(4, false));
		n->offset = m->offset;
		p->fixed_end = MAX(p->fixed_end, m->offset + 4);
		return n;
	}
	return pf_field_node(p, m);
}

/* A member of a struct that lies in the record. */
struct pf_node *pf_struct_member(struct pf_parser *p, struct pf_node *base)
{
	const char *w;
	const size_t len = pf_word(p, &w);
	const struct type_member *m;
	struct pf_node *n, *place;
	char *name;
	u32 offset;

	if (!len || base->type.value != PF_BYTES || !base->type.element) {
		pf_refuse(p, "member '%.*s' of something outside of the record", (int)len, w);
		return NULL;
	}
	name = xstrndup(w, len);
	m = type_find_member(p->store, base->type.element, name, &offset);
	free(name);
	if (m && base->kind == PF_PACKED)
		return pf_packed_member(p, base, m, offset);
	if (!m || m->bit_size) {
		pf_refuse(p, "no member '%.*s'", (int)len, w);
		return NULL;
	}
	place = pf_new(p, PF_ADVANCE,
		       element_type(m->type->kind == TYPE_ARRAY ? m->type->element : m->type));
	place->a = base;
	place->number = 1; /* bytes a step */
	place->b = pf_new(p, PF_CONST, type_u64);
	place->b->number = offset;
	if (m->type->kind == TYPE_ARRAY || type_is_record(m->type))
		return place;
	n = pf_new(p, PF_ELEMENT,
		   (struct pf_type){.value = PF_NUMBER,
				    .size = (u8)m->type->size,
				    .is_signed = m->type->is_signed});
	n->a = place;
	return n;
}
