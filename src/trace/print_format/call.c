/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of print formats (include/trace/stages/stage3_trace_output.h) and the few of the
 * kernel that formats call. */
#include "trace/print_format/internal.h"

#include "base/vector.h"

#define MAX_NAMES 1024
#define MAX_ARGS  8

static const struct pf_type type_text = {.value = PF_TEXT, .size = 8};

static struct pf_node *constant(struct pf_parser *p, u64 v, u8 size)
{
	struct pf_node *n =
		pf_new(p, PF_CONST,
		       (struct pf_type){.value = PF_NUMBER, .size = size, .is_signed = size == 4});

	n->number = v;
	return n;
}

/* "{ VALUE, "NAME" }, ..." up to the closing parenthesis. The last may be { -1, NULL }. */
static const struct pf_name *parse_names(struct pf_parser *p)
{
	VECTOR(struct pf_name) names = {0};
	const struct pf_name *result;
	bool ended = false;

	while (!p->refused && pf_accept(p, "{")) {
		struct pf_name n = {0};
		const struct pf_node *v;

		if (pf_accept(p, "}")) /* a table without names */
			continue;
		v = pf_parse_expression(p);

		if (!pf_constant(p, v, &n.value) || !pf_expect(p, ","))
			break;
		if (v->type.size < 8 && v->type.is_signed)
			n.value = (u64)(s64)(s32)n.value;
		if (pf_accept(p, "NULL") || pf_accept(p, "((void *)0)") || pf_accept(p, "0"))
			ended = true;
		else
			n.text = pf_parse_string(p, &n.len);
		if (!n.text && !ended)
			pf_refuse(p, "a name is not a string");
		if (!ended)
			vector_push(&names, n);
		if (!pf_expect(p, "}") || names.len > MAX_NAMES || !pf_accept(p, ","))
			break;
	}
	if (names.len > MAX_NAMES)
		pf_refuse(p, "too many names");
	vector_push(&names, (struct pf_name){0});
	result = arena_memdup(p->arena, names.items, names.len * sizeof(*names.items));
	vector_free(&names);
	return result;
}

static struct pf_node *as_number(struct pf_parser *p, struct pf_node *n)
{
	if (n && n->type.value != PF_NUMBER) {
		pf_refuse(p, "a number expected");
		return NULL;
	}
	return n;
}

static struct pf_node *as_bytes(struct pf_parser *p, struct pf_node *n)
{
	if (n && n->type.value != PF_BYTES) {
		pf_refuse(p, "bytes of the record expected");
		return NULL;
	}
	return n;
}

static struct pf_node *parse_flags(struct pf_parser *p, bool symbolic)
{
	struct pf_node *n = pf_new(p, symbolic ? PF_SYMBOLIC : PF_FLAGS, type_text);

	n->a = as_number(p, pf_parse_expression(p));
	if (!n->a)
		return NULL;
	if (!symbolic) {
		if (!pf_expect(p, ","))
			return NULL;
		n->text = pf_parse_string(p, &n->text_len);
		if (!n->text && !pf_accept(p, "NULL") && !pf_accept(p, "((void *)0)"))
			pf_refuse(p, "a delimiter expected");
	}
	n->names = pf_accept(p, ",") ? parse_names(p) : arena_new(p->arena, struct pf_name);
	/* By number where they are dense, which they mostly are: see pf_print_text(). */
	while (n->names[n->count].text)
		n->count++;
	return pf_expect(p, ")") ? n : NULL;
}

/* ---- __get_*(field) ---- */

static struct pf_node *field_named(struct pf_parser *p)
{
	const char *w;
	const size_t len = pf_word(p, &w);
	const struct type_member *m = len ? pf_member(p, w, len) : NULL;

	if (!m || !(m->is_data_loc || m->is_rel_loc)) {
		pf_refuse(p, "no dynamic field '%.*s'", (int)len, w);
		return NULL;
	}
	return pf_expect(p, ")") ? pf_field_node(p, m) : NULL;
}

static struct pf_node *get_array(struct pf_parser *p)
{
	struct pf_node *n = field_named(p);

	/* It is a void *: steps of one byte. */
	if (n) {
		n->type.element_size = 1;
		n->type.element = NULL;
	}
	return n;
}

static struct pf_node *get_string(struct pf_parser *p)
{
	struct pf_node *n = field_named(p);

	if (n) {
		n->type.element_size = 1;
		n->type.element_signed = true;
		n->type.element = NULL;
	}
	return n;
}

static struct pf_node *get_length(struct pf_parser *p)
{
	struct pf_node *n = field_named(p);

	if (!n)
		return NULL;
	n->kind = PF_LENGTH;
	n->type = pf_integer(4, true);
	return n;
}

static struct pf_node *get_bitmask(struct pf_parser *p)
{
	struct pf_node *n = pf_new(p, PF_BITMASK, type_text);

	n->a = field_named(p);
	return n->a ? n : NULL;
}

/* ---- functions with arguments ---- */

static u32 parse_args(struct pf_parser *p, struct pf_node **args)
{
	u32 n = 0;

	if (pf_accept(p, ")"))
		return 0;
	do {
		if (n == MAX_ARGS) {
			pf_refuse(p, "too many arguments");
			return 0;
		}
		args[n] = pf_parse_expression(p);
		if (!args[n++])
			return 0;
	} while (pf_accept(p, ","));
	return pf_expect(p, ")") ? n : 0;
}

static struct pf_node *make_hex(struct pf_parser *p, struct pf_node **args, u8 op)
{
	struct pf_node *n = pf_new(p, PF_HEX, type_text);

	n->op = op;
	n->a = as_bytes(p, args[0]);
	n->b = as_number(p, args[1]);
	return n;
}

static struct pf_node *make_array(struct pf_parser *p, struct pf_node **args, u8 op)
{
	struct pf_node *n = pf_new(p, PF_ARRAY, type_text);

	n->a = as_bytes(p, args[0]);
	n->b = as_number(p, args[1]);
	n->c = as_number(p, args[2]);
	return n;
}

static struct pf_node *make_hex_dump(struct pf_parser *p, struct pf_node **args, u8 op)
{
	struct pf_node *n = pf_new(p, PF_HEX_DUMP, type_text);

	if (args[0]->type.value == PF_NUMBER)
		pf_refuse(p, "a prefix expected");
	as_bytes(p, args[4]);
	n->args = arena_memdup(p->arena, args, 7 * sizeof(*args));
	n->count = 7;
	for (u32 i = 1; i < 7; i++)
		if (i != 4)
			as_number(p, args[i]);
	return n;
}

static struct pf_node *binary_of(struct pf_parser *p, u8 op, struct pf_node *a, struct pf_node *b,
				 u8 size)
{
	struct pf_node *n =
		pf_new(p, PF_BINARY,
		       (struct pf_type){.value = PF_NUMBER, .size = size, .is_signed = false});

	n->op = op;
	n->a = as_number(p, a);
	n->b = b;
	return n;
}

/* op '/' or '%': seconds of nanoseconds, and the rest. */
static struct pf_node *make_ns(struct pf_parser *p, struct pf_node **args, u8 op)
{
	return binary_of(p, op, args[0], constant(p, 1000000000, 8), op == '/' ? 8 : 4);
}

static struct pf_node *make_first(struct pf_parser *p, struct pf_node **args, u8 op)
{
	return args[0];
}

static struct pf_node *make_swap(struct pf_parser *p, struct pf_node **args, u8 size)
{
	struct pf_node *n = pf_new(
		p, PF_SWAP, (struct pf_type){.value = PF_NUMBER, .size = size, .is_signed = false});

	n->a = as_number(p, args[0]);
	return n;
}

static struct pf_node *make_cast(struct pf_parser *p, struct pf_node **args, u8 size)
{
	struct pf_node *n = pf_new(
		p, PF_CAST, (struct pf_type){.value = PF_NUMBER, .size = size, .is_signed = false});

	n->a = as_number(p, args[0]);
	return n;
}

static struct pf_node *make_msecs(struct pf_parser *p, struct pf_node **args, u8 op)
{
	struct pf_node *n = pf_new(p, PF_MSECS, pf_integer(4, false));

	n->op = op;
	n->a = as_number(p, args[0]);
	return n;
}

static struct pf_node *make_constant(struct pf_parser *p, struct pf_node **args, u8 op)
{
	return constant(p, op, 4);
}

/* mc_event_error_type() of include/linux/edac.h: 0 corrected, 1 uncorrected, 2 deferred, 3 fatal,
 * else info. */
static struct pf_node *make_mc_error(struct pf_parser *p, struct pf_node **args, u8 op)
{
	static const char *const texts[] = {"Corrected", "Uncorrected", "Deferred", "Fatal"};
	struct pf_node *n = pf_new(p, PF_LITERAL, type_text), *cond;

	n->text = "Info";
	n->text_len = 4;
	for (u32 i = 0; i < ARRAY_SIZE(texts); i++) {
		struct pf_node *text = pf_new(p, PF_LITERAL, type_text);

		text->text = texts[i];
		text->text_len = (u32)strlen(texts[i]);
		cond = pf_new(p, PF_COND, type_text);
		cond->a = binary_of(p, PF_EQ, args[0], constant(p, i, 4), 4);
		cond->b = text;
		cond->c = n;
		n = cond;
	}
	return n;
}

static struct pf_node *make_dynamic_array(struct pf_parser *p, struct pf_node **args, u8 op);

static const struct function {
	const char *name;
	u8 args;
	u8 op;
	struct pf_node *(*make)(struct pf_parser *p, struct pf_node **args, u8 op);
} functions[] = {
	{"__print_hex", 2, 0, make_hex},
	{"__print_hex_str", 2, 1, make_hex},
	{"__print_array", 3, 0, make_array},
	{"__print_dynamic_array", 2, 0, make_dynamic_array},
	{"__print_hex_dump", 7, 0, make_hex_dump},
	{"__print_ns_to_secs", 1, '/', make_ns},
	{"__print_ns_without_secs", 1, '%', make_ns},
	{"__builtin_expect", 2, 0, make_first},
	{"__builtin_constant_p", 1, 0, make_constant},
	{"__builtin_bswap16", 1, 2, make_swap},
	{"__builtin_bswap32", 1, 4, make_swap},
	{"__builtin_bswap64", 1, 8, make_swap},
	{"__fswab16", 1, 2, make_swap},
	{"__fswab32", 1, 4, make_swap},
	{"__fswab64", 1, 8, make_swap},
	{"ntohs", 1, 2, make_swap},
	{"ntohl", 1, 4, make_swap},
	{"htons", 1, 2, make_swap},
	{"htonl", 1, 4, make_swap},
	{"be16_to_cpu", 1, 2, make_swap},
	{"be32_to_cpu", 1, 4, make_swap},
	{"be64_to_cpu", 1, 8, make_swap},
	{"le16_to_cpu", 1, 2, make_cast},
	{"le32_to_cpu", 1, 4, make_cast},
	{"le64_to_cpu", 1, 8, make_cast},
	{"jiffies_to_msecs", 1, 0, make_msecs},
	{"jiffies_to_usecs", 1, 1, make_msecs},
	{"mc_event_error_type", 1, 0, make_mc_error},
	{"unlikely", 1, 0, make_first},
	/* Words of page tables: structs of one number on x86_64 (arch/x86/include/asm/paravirt.h).
	 */
	{"pgd_val", 1, 0, make_first},
	{"p4d_val", 1, 0, make_first},
	{"pud_val", 1, 0, make_first},
	{"pmd_val", 1, 0, make_first},
	{"pte_val", 1, 0, make_first},
	{"native_make_pgd", 1, 0, make_first},
	{"native_make_p4d", 1, 0, make_first},
	{"native_make_pud", 1, 0, make_first},
	{"native_make_pmd", 1, 0, make_first},
	{"native_make_pte", 1, 0, make_first},
	{"likely", 1, 0, make_first},
};

/* __print_dynamic_array(field, element size): the count is length / size. The field's name was read
 * as an expression. */
static struct pf_node *make_dynamic_array(struct pf_parser *p, struct pf_node **args, u8 op)
{
	struct pf_node *length, *three[3];

	if (args[0]->kind != PF_DYNAMIC && args[0]->kind != PF_RELATIVE) {
		pf_refuse(p, "no dynamic field");
		return NULL;
	}
	length = pf_new(p, PF_LENGTH, pf_integer(4, true));
	length->offset = args[0]->offset;
	three[0] = args[0];
	three[1] = binary_of(p, '/', length, args[1], 8);
	three[2] = args[1];
	return make_array(p, three, 0);
}

static const struct {
	const char *name;
	struct pf_node *(*parse)(struct pf_parser *p);
} field_functions[] = {
	{"__get_str", get_string},
	{"__get_rel_str", get_string},
	{"__get_dynamic_array", get_array},
	{"__get_rel_dynamic_array", get_array},
	{"__get_dynamic_array_len", get_length},
	{"__get_rel_dynamic_array_len", get_length},
	{"__get_bitmask", get_bitmask},
	{"__get_rel_bitmask", get_bitmask},
	{"__get_cpumask", get_bitmask},
	{"__get_rel_cpumask", get_bitmask},
	{"__get_sockaddr", get_array},
	{"__get_sockaddr_rel", get_array},
	{"__get_rel_sockaddr", get_array},
};

static bool is_name(const char *w, size_t len, const char *name)
{
	return strlen(name) == len && !memcmp(w, name, len);
}

struct pf_node *pf_parse_call(struct pf_parser *p, const char *name, size_t len)
{
	const int driver = pf_driver_find(name, len), names = pf_names_find(name, len);
	struct pf_node *args[MAX_ARGS], *n;
	u32 count;

	if (pf_is_sequence_call(name, len))
		return pf_sequence_call(p, name, len);
	if (driver >= 0 || names >= 0) {
		count = parse_args(p, args);
		if (p->refused)
			return NULL;
		return driver >= 0 ? pf_driver_call(p, driver, args, count)
				   : pf_names_call(p, names, args, count);
	}
	if (is_name(name, len, "__print_flags") || is_name(name, len, "__print_flags_u64"))
		return parse_flags(p, false);
	if (is_name(name, len, "__print_symbolic") || is_name(name, len, "__print_symbolic_u64"))
		return parse_flags(p, true);
	for (size_t i = 0; i < ARRAY_SIZE(field_functions); i++)
		if (is_name(name, len, field_functions[i].name))
			return field_functions[i].parse(p);
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		if (!is_name(name, len, functions[i].name))
			continue;
		if (functions[i].make == make_dynamic_array) {
			/* The first one is a bare name. */
			const char *w;
			const size_t n_len = pf_word(p, &w);
			const struct type_member *m = n_len ? pf_member(p, w, n_len) : NULL;

			if (!m || !pf_expect(p, ",")) {
				pf_refuse(p, "no dynamic field");
				return NULL;
			}
			args[0] = pf_field_node(p, m);
			count = 1 + parse_args(p, args + 1);
		} else {
			count = parse_args(p, args);
		}
		if (!p->refused && count != functions[i].args)
			pf_refuse(p, "%.*s() with %u arguments", (int)len, name, count);
		if (p->refused)
			return NULL;
		n = functions[i].make(p, args, functions[i].op);
		return p->refused ? NULL : n;
	}
	pf_refuse(p, "the kernel's function %.*s()", (int)len, name);
	return NULL;
}
