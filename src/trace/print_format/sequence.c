/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Formats that print into the kernel's buffer themselves (arch/x86/kvm/mmu/mmutrace.h):
 *
 *	({ const char *saved = trace_seq_buffer_ptr(p); static const char *names[] = { "a", "b" };
 *	   union u v; v.word = REC->word;
 *	   trace_seq_printf(p, "level %u %s", v.level, names[v.access]); saved; })
 *
 * The buffer's place is a list of formats, a union a number whose members are bits of it, an array
 * of strings a list of names.
 */
#include "trace/print_format/internal.h"

#define MAX_PIECES 8

static const struct pf_type type_text = {.value = PF_TEXT, .size = 8};

/* ---- declarations ---- */

static struct pf_node *strings(struct pf_parser *p)
{
	struct pf_name names[32] = {0};
	struct pf_node *n = pf_new(p, PF_STRINGS, type_text);

	while (*p->at && *p->at != ']')
		p->at++;
	if (!pf_expect(p, "]") || !pf_expect(p, "=") || !pf_expect(p, "{"))
		return NULL;
	while (!pf_accept(p, "}")) {
		struct pf_name *name = &names[n->count];

		if (n->count == ARRAY_SIZE(names) - 1) {
			pf_refuse(p, "too many strings");
			return NULL;
		}
		name->value = n->count;
		name->text = pf_parse_string(p, &name->len);
		if (!name->text) {
			pf_refuse(p, "a string expected");
			return NULL;
		}
		n->count++;
		pf_accept(p, ",");
	}
	n->names = arena_memdup(p->arena, names, (n->count + 1) * sizeof(*names));
	return n;
}

struct pf_node *pf_declaration(struct pf_parser *p, const struct pf_type *t)
{
	struct pf_node *n;

	if (pf_accept(p, "["))
		return strings(p);
	pf_skip_blanks(p);
	if (*p->at != ';' || !t->element || t->is_pointer)
		return NULL;
	n = pf_new(p, PF_PACKED,
		   (struct pf_type){.value = PF_BYTES, .size = 8, .element = t->element});
	return n;
}

/* ---- unions ---- */

bool pf_assignment(struct pf_parser *p)
{
	const char *const start = p->at, *w;
	struct pf_node *n, *value;
	size_t len = pf_word(p, &w);

	n = len ? pf_local_value(p, w, len) : NULL;
	if (n && n->kind == PF_PACKED && pf_accept(p, ".")) {
		len = pf_word(p, &w);
		if (len && pf_accept(p, "=") && *p->at != '=') {
			const struct type_member *m;
			char *name = xstrndup(w, len);
			u32 offset;

			m = type_find_member(p->store, n->type.element, name, &offset);
			free(name);
			value = pf_parse_expression(p);
			if (value && (!m || m->bit_size || offset ||
				      m->type->size != n->type.element->size || m->type->size > 8 ||
				      value->type.value != PF_NUMBER))
				pf_refuse(p, "an assignment to a part");
			n->a = value;
			return true;
		}
	}
	p->at = start;
	return false;
}

static struct pf_node *binary(struct pf_parser *p, u8 op, struct pf_node *a, u64 number)
{
	struct pf_node *n = pf_new(p, PF_BINARY, pf_integer(8, false));

	n->op = op;
	n->a = a;
	n->b = pf_new(p, PF_CONST, pf_integer(8, false));
	n->b->number = number;
	return n;
}

struct pf_node *pf_packed_member(struct pf_parser *p, struct pf_node *base,
				 const struct type_member *m, u32 offset)
{
	const u32 bits = m->bit_size ? m->bit_size : m->type->size * 8;
	struct pf_node *n, *word;

	if (!base->a || offset * 8 + m->bit_offset + bits > 64 || !type_is_integer(m->type) ||
	    m->type->is_signed) {
		pf_refuse(p, "member '%s' is not known", m->name);
		return NULL;
	}
	word = pf_new(p, PF_CAST, pf_integer(8, false));
	word->a = base->a;
	n = binary(p, PF_SHR, word, offset * 8 + m->bit_offset);
	return bits < 64 ? binary(p, '&', n, (1ULL << bits) - 1) : n;
}

/* ---- the buffer ---- */

/* "p" of the arguments was to come. */
static bool buffer_argument(struct pf_parser *p)
{
	const char *w;
	const size_t len = pf_word(p, &w);

	return len == 1 && *w == 'p';
}

static bool has_sequence(const struct pf_node *n)
{
	if (!n)
		return false;
	if (n->kind == PF_SEQUENCE || has_sequence(n->a) || has_sequence(n->b) ||
	    has_sequence(n->c))
		return true;
	for (u32 i = 0; n->args && i < n->count; i++)
		if (has_sequence(n->args[i]))
			return true;
	return false;
}

/* A text within itself would have no end. */
static bool prints_a_sequence(const struct print_format *f)
{
	for (u32 i = 0; i < f->count; i++)
		if (has_sequence(f->ops[i].node) || has_sequence(f->ops[i].node_width) ||
		    has_sequence(f->ops[i].node_precision))
			return true;
	return false;
}

static struct pf_node *add_piece(struct pf_parser *p)
{
	struct pf_node *s = p->sequence, *n = pf_new(p, PF_CONST, pf_integer(4, true));
	struct pf_node *piece = pf_new(p, PF_SEQUENCE, type_text);
	bool ends;

	piece->format = pf_parse_format(p, &ends);
	if (!piece->format || !pf_expect(p, ")"))
		return NULL;
	if (s->count == MAX_PIECES || prints_a_sequence(piece->format)) {
		pf_refuse(p, s->count == MAX_PIECES ? "too many parts" : "a text within itself");
		return NULL;
	}
	/* number: the text has ended. */
	if (!s->number)
		s->args[s->count++] = piece;
	s->number |= ends;
	return n;
}

struct pf_node *pf_sequence_call(struct pf_parser *p, const char *name, size_t len)
{
	struct pf_node *n;

	if (!buffer_argument(p)) {
		pf_refuse(p, "%.*s() of something else than the buffer", (int)len, name);
		return NULL;
	}
	if (pf_word_is(name, len, "trace_seq_buffer_ptr")) {
		n = pf_new(p, PF_SEQUENCE, type_text);
		n->args = arena_alloc(p->arena, MAX_PIECES * sizeof(struct pf_node *));
		p->sequence = n;
		return pf_expect(p, ")") ? n : NULL;
	}
	if (!p->sequence) {
		pf_refuse(p, "%.*s() before the buffer's place was taken", (int)len, name);
		return NULL;
	}
	return pf_expect(p, ",") ? add_piece(p) : NULL;
}

bool pf_is_sequence_call(const char *name, size_t len)
{
	return pf_word_is(name, len, "trace_seq_buffer_ptr") ||
	       pf_word_is(name, len, "trace_seq_printf");
}

void pf_print_sequence(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	for (u32 i = 0; i < n->count; i++)
		print_format_run(n->args[i]->format, r->context, r->record, r->size, out);
}
