/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "types/type_internal.h"

/* Anonymous members may nest this deep; C compilers stop far earlier. */
#define MAX_NESTING 32
/* Members visited in one search: foreign type data may repeat itself exponentially. */
#define MAX_VISITS 200000

/* ---- types that need no store ---- */

#define INTEGER(bytes, is_negative, c_name)                                                      \
	{                                                                                        \
		.kind = TYPE_INT, .size = (bytes), .align = (bytes), .is_signed = (is_negative), \
		.is_complete = true, .name = (c_name)                                            \
	}
#define SIMPLE(k, bytes, alignment) \
	[k] = {.kind = (k), .size = (bytes), .align = (alignment), .is_complete = true}
#define SIGNED_SIMPLE(k, bytes) \
	[k] = {.kind = (k), .size = (bytes), .align = 8, .is_signed = true, .is_complete = true}

const struct type type_simple_table[TYPE_KIND_COUNT] = {
	SIMPLE(TYPE_NONE, 0, 1),	 SIMPLE(TYPE_VOID, 0, 1),
	SIMPLE(TYPE_BOOL, 1, 1),	 SIMPLE(TYPE_FUNCTION, 0, 1),
	SIMPLE(TYPE_KSTACK, 8, 8),	 SIMPLE(TYPE_USTACK, 16, 8),
	SIMPLE(TYPE_KSYM, 8, 8),	 SIMPLE(TYPE_USYM, 16, 8),
	SIMPLE(TYPE_INET, 20, 4),	 SIMPLE(TYPE_MAC, 8, 8),
	SIMPLE(TYPE_TIMESTAMP, 16, 8),	 SIMPLE(TYPE_CGROUP_PATH, 16, 8),
	SIMPLE(TYPE_ERRNO_NAME, 8, 8),	 SIMPLE(TYPE_STRERROR, 8, 8),
	SIMPLE(TYPE_USERNAME, 8, 8),	 SIMPLE(TYPE_PROBE_NAME, 8, 8),
	SIMPLE(TYPE_SYSCALL_NAME, 8, 8), SIMPLE(TYPE_SIGNAL_NAME, 8, 8),
	SIMPLE(TYPE_DISK_NAME, 8, 8),	 SIMPLE(TYPE_MEMINFO, 8, 8),
	SIMPLE(TYPE_COUNT, 8, 8),	 SIGNED_SIMPLE(TYPE_SUM, 8),
	SIGNED_SIMPLE(TYPE_MIN, 16),	 SIGNED_SIMPLE(TYPE_MAX, 16),
	SIGNED_SIMPLE(TYPE_AVG, 16),	 SIGNED_SIMPLE(TYPE_STATS, 16),
	SIGNED_SIMPLE(TYPE_STDDEV, 32),	 SIMPLE(TYPE_LLHIST, 8, 8),
	SIMPLE(TYPE_HIST, 8, 8),	 SIMPLE(TYPE_LHIST, 8, 8),
	SIMPLE(TYPE_TSERIES, 8, 8),
};

/* Indexed by log2(size) * 2 + is_signed. */
const struct type type_integers[10] = {
	INTEGER(1, false, "unsigned char"),	 INTEGER(1, true, "signed char"),
	INTEGER(2, false, "unsigned short"),	 INTEGER(2, true, "short"),
	INTEGER(4, false, "unsigned int"),	 INTEGER(4, true, "int"),
	INTEGER(8, false, "unsigned long"),	 INTEGER(8, true, "long"),
	INTEGER(16, false, "unsigned __int128"), INTEGER(16, true, "__int128"),
};

const struct type type_char_plain = {.kind = TYPE_INT,
				     .size = 1,
				     .align = 1,
				     .is_signed = true,
				     .is_complete = true,
				     .is_char = true,
				     .name = "char"};

const struct type *type_simple(enum type_kind kind)
{
	return &type_simple_table[kind < TYPE_KIND_COUNT ? kind : TYPE_NONE];
}

const struct type *type_none(void)
{
	return &type_simple_table[TYPE_NONE];
}

const struct type *type_void(void)
{
	return &type_simple_table[TYPE_VOID];
}

const struct type *type_bool(void)
{
	return &type_simple_table[TYPE_BOOL];
}

const struct type *type_char(void)
{
	return &type_char_plain;
}

const struct type *type_int(u32 size, bool is_signed)
{
	const u32 log = size <= 1 ? 0 : size <= 2 ? 1 : size <= 4 ? 2 : size <= 8 ? 3 : 4;

	return &type_integers[2 * log + is_signed];
}

const struct type *type_int_extreme(u32 size, s8 extreme)
{
#define EXTREME(size_, signed_, name_)                                                 \
	{                                                                              \
		.kind = TYPE_INT, .size = size_, .align = size_, .is_signed = signed_, \
		.is_complete = true, .extreme = signed_ ? -1 : 1, .name = name_        \
	}
	static const struct type negative[] = {
		EXTREME(1, true, "signed char"),
		EXTREME(2, true, "short"),
		EXTREME(4, true, "int"),
		EXTREME(8, true, "long"),
	};
	static const struct type large = EXTREME(8, false, "unsigned long");
#undef EXTREME

	return extreme > 0 ? &large : &negative[size <= 1 ? 0 : size <= 2 ? 1 : size <= 4 ? 2 : 3];
}

/* ---- derived types, interned in the store ---- */

void type_store_init(struct type_store *store)
{
	*store = (struct type_store){.arena = ARENA_INIT};
}

void type_store_release(struct type_store *store)
{
	hashmap_release(&store->named);
	hashmap_release(&store->derived);
	arena_release(&store->arena);
}

struct type *type_new(struct type_store *s, enum type_kind kind)
{
	struct type *t = arena_new(&s->arena, struct type);

	t->kind = kind;
	return t;
}

/* What makes a derived type unique. No padding: it is hashed as bytes. */
struct derived_key {
	u64 kind;
	const void *element;
	s64 a, b, c;
};

/* The interned type of this key, or a new one to fill in (*ret_new). */
static struct type *intern(struct type_store *s, const void *key, size_t key_len,
			   enum type_kind kind, bool *ret_new)
{
	void **place = hashmap_put(&s->derived, key, key_len, ret_new);

	if (*ret_new) {
		struct type *t = type_new(s, kind);

		t->is_complete = true;
		*place = t;
	}
	return *place;
}

static struct type *intern_derived(struct type_store *s, struct derived_key key, bool *ret_new)
{
	return intern(s, &key, sizeof(key), (enum type_kind)key.kind, ret_new);
}

const struct type *type_pointer(struct type_store *s, const struct type *to,
				enum address_space space)
{
	bool is_new;
	struct type *t =
		intern_derived(s, (struct derived_key){TYPE_POINTER, to, space, 0, 0}, &is_new);

	if (is_new) {
		t->size = t->align = 8;
		t->element = to;
		t->space = space;
	}
	return t;
}

const struct type *type_array(struct type_store *s, const struct type *element, u32 count)
{
	bool is_new;
	struct type *t =
		intern_derived(s, (struct derived_key){TYPE_ARRAY, element, count, 0, 0}, &is_new);
	u64 size;

	if (is_new) {
		size = (u64)element->size * count;
		t->size = size > UINT32_MAX ? 0 : (u32)size;
		t->align = type_align(element);
		t->element = element;
		t->count = count;
	}
	return t;
}

const struct type *type_note(struct type_store *s, const char *text)
{
	struct strbuf key = STRBUF_INIT;
	const u64 kind = TYPE_NOTE;
	struct type *t;
	bool is_new;

	strbuf_add(&key, &kind, sizeof(kind));
	strbuf_addstr(&key, text);
	t = intern(s, key.data, key.len, TYPE_NOTE, &is_new);
	strbuf_release(&key);
	if (is_new) {
		t->align = 1;
		t->name = arena_strdup(&s->arena, text);
	}
	return t;
}

const struct type *type_string(struct type_store *s, u32 size)
{
	bool is_new;
	struct type *t =
		intern_derived(s, (struct derived_key){TYPE_STRING, NULL, size, 0, 0}, &is_new);

	t->size = size;
	t->align = 1;
	return t;
}

const struct type *type_buffer(struct type_store *s, u32 data_size)
{
	bool is_new;
	struct type *t = intern_derived(s, (struct derived_key){TYPE_BUFFER, NULL, data_size, 0, 0},
					&is_new);

	t->size = data_size > UINT32_MAX - 4 ? UINT32_MAX : data_size + 4;
	t->align = 4;
	return t;
}

const struct type *type_stack(struct type_store *s, bool user, enum stack_mode mode, u16 depth)
{
	const enum type_kind kind = user ? TYPE_USTACK : TYPE_KSTACK;
	bool is_new;
	struct type *t =
		intern_derived(s, (struct derived_key){kind, NULL, mode, depth, 0}, &is_new);

	t->size = user ? 16 : 8;
	t->align = 8;
	t->stack_mode = (u8)mode;
	t->stack_depth = depth;
	return t;
}

const struct type *type_hist(struct type_store *s, u8 bits)
{
	bool is_new;
	struct type *t =
		intern_derived(s, (struct derived_key){TYPE_HIST, NULL, bits, 0, 0}, &is_new);

	t->size = t->align = 8;
	t->hist_bits = bits;
	return t;
}

const struct type *type_lhist(struct type_store *s, s64 min, s64 max, s64 step)
{
	bool is_new;
	struct type *t =
		intern_derived(s, (struct derived_key){TYPE_LHIST, NULL, min, max, step}, &is_new);

	t->size = t->align = 8;
	t->lhist_min = min;
	t->lhist_max = max;
	t->lhist_step = step;
	return t;
}

const struct type *type_llhist(struct type_store *s, const struct llhist *h)
{
	const s64 orders = h->low | (s64)h->high << 16;
	bool is_new;
	struct type *t = intern_derived(
		s, (struct derived_key){TYPE_LLHIST, NULL, h->base, orders, h->steps}, &is_new);

	t->size = t->align = 8;
	t->lhist_min = h->base;
	t->lhist_max = orders;
	t->lhist_step = h->steps;
	return t;
}

const struct type *type_tseries(struct type_store *s, const struct tseries *ts)
{
	const s64 kind = (s64)ts->how << 1 | ts->is_signed;
	bool is_new;
	struct type *t = intern_derived(
		s, (struct derived_key){TYPE_TSERIES, NULL, (s64)ts->interval_ns, ts->count, kind},
		&is_new);

	t->size = t->align = 8;
	t->is_signed = ts->is_signed;
	t->lhist_min = (s64)ts->interval_ns;
	t->lhist_max = ts->count;
	t->lhist_step = kind;
	return t;
}

struct tseries type_tseries_of(const struct type *t)
{
	return (struct tseries){.interval_ns = (u64)t->lhist_min,
				.count = (u32)t->lhist_max,
				.how = (enum tseries_how)(t->lhist_step >> 1),
				.is_signed = t->lhist_step & 1};
}

/* Lays members out as C does. */
static void lay_out(struct type_store *s, struct type *t, const char *const *names,
		    const struct type *const *types, u32 count)
{
	struct type_member *m = arena_new_array(&s->arena, struct type_member, count);
	u32 offset = 0, align = 1;

	for (u32 i = 0; i < count; i++) {
		const u32 a = type_align(types[i]);

		offset = ALIGN_UP(offset, a);
		align = MAX(align, a);
		m[i].name = names ? arena_strdup(&s->arena, names[i])
				  : arena_printf(&s->arena, "%u", i);
		m[i].type = types[i];
		m[i].offset = offset;
		offset += types[i]->size;
	}
	t->members = m;
	t->count = count;
	t->align = align;
	t->size = ALIGN_UP(offset, align);
}

static const struct type *make_record(struct type_store *s, enum type_kind kind,
				      const char *const *names, const struct type *const *types,
				      u32 count)
{
	struct strbuf key = STRBUF_INIT;
	const u64 k = kind;
	struct type *t;
	bool is_new;

	strbuf_add(&key, &k, sizeof(k));
	if (count)
		strbuf_add(&key, types, count * sizeof(*types));
	for (u32 i = 0; names && i < count; i++)
		strbuf_add(&key, names[i], strlen(names[i]) + 1);
	t = intern(s, key.data, key.len, kind, &is_new);
	if (is_new)
		lay_out(s, t, names, types, count);
	strbuf_release(&key);
	return t;
}

const struct type *type_tuple(struct type_store *s, const struct type *const *types, u32 count)
{
	return make_record(s, TYPE_TUPLE, NULL, types, count);
}

const struct type *type_record(struct type_store *s, const char *const *names,
			       const struct type *const *types, u32 count)
{
	return make_record(s, TYPE_RECORD, names, types, count);
}

/* ---- members and enumerators ---- */

int type_complete(struct type_store *s, const struct type *t)
{
	struct type *mutable = (struct type *)t;
	int (*complete)(struct type_store *, struct type *) = t->complete;

	if (t->is_complete || !complete)
		return 0;
	return complete(s, mutable);
}

struct member_search {
	struct type_store *store;
	const char *name;
	u32 visits;
};

static const struct type_member *search_member(struct member_search *search, const struct type *t,
					       u32 depth, u32 *ret_offset)
{
	type_complete(search->store, t);
	if (!t->members)
		return NULL;
	/* Named members first: usually there is no need to descend. */
	for (u32 i = 0; i < t->count; i++) {
		const struct type_member *m = &t->members[i];

		if (m->name && str_eq(m->name, search->name)) {
			*ret_offset = m->offset;
			return m;
		}
	}
	search->visits += t->count;
	if (depth >= MAX_NESTING)
		return NULL;
	for (u32 i = 0; i < t->count && search->visits < MAX_VISITS; i++) {
		const struct type_member *m = &t->members[i], *found;

		if (m->name || (m->type->kind != TYPE_STRUCT && m->type->kind != TYPE_UNION))
			continue;
		found = search_member(search, m->type, depth + 1, ret_offset);
		if (found) {
			*ret_offset += m->offset;
			return found;
		}
	}
	return NULL;
}

const struct type_member *type_find_member(struct type_store *s, const struct type *t,
					   const char *name, u32 *ret_offset)
{
	struct member_search search = {.store = s, .name = name};
	const struct type_member *m;
	u32 offset = 0;

	if (!type_is_record(t))
		return NULL;
	m = search_member(&search, t, 0, &offset);
	if (m && ret_offset)
		*ret_offset = offset;
	return m;
}

const struct type *type_find_enumerator(struct type_store *s, const char *name, s64 *ret_value)
{
	hashmap_each (&s->named, e) {
		const struct type *t = e->value;

		if (!t || t->kind != TYPE_ENUM || !t->is_complete)
			continue;
		for (u32 i = 0; i < t->count; i++) {
			if (!str_eq(t->enumerators[i].name, name))
				continue;
			*ret_value = t->enumerators[i].value;
			return t;
		}
	}
	return s->lookup_enumerator ? s->lookup_enumerator(s, name, ret_value) : NULL;
}

const char *type_enumerator_name(struct type_store *s, const struct type *t, s64 value)
{
	if (t->kind != TYPE_ENUM)
		return NULL;
	type_complete(s, t);
	if (!t->enumerators)
		return NULL;
	for (u32 i = 0; i < t->count; i++)
		if (t->enumerators[i].value == value)
			return t->enumerators[i].name;
	return NULL;
}

/* ---- properties ---- */

static bool equal_within(const struct type *a, const struct type *b, u32 depth);

static bool equal_members(const struct type *a, const struct type *b, bool names, u32 depth)
{
	if (a->count != b->count)
		return false;
	for (u32 i = 0; i < a->count; i++) {
		const struct type_member *x = &a->members[i], *y = &b->members[i];

		if (names && (!x->name != !y->name || (x->name && !str_eq(x->name, y->name))))
			return false;
		if (x->offset != y->offset || !equal_within(x->type, y->type, depth + 1))
			return false;
	}
	return true;
}

/* Structs, unions and enums are compared by tag; without a tag by their source, else by members. */
static bool equal_tagged(const struct type *a, const struct type *b, u32 depth)
{
	if (a->name && b->name)
		return str_eq(a->name, b->name) && (!a->size || !b->size || a->size == b->size);
	if (a->name || b->name || a->size != b->size)
		return false;
	if (a->source_id && a->source_id == b->source_id && a->complete == b->complete)
		return true;
	if (a->kind == TYPE_ENUM || !a->is_complete || !b->is_complete)
		return false;
	return equal_members(a, b, true, depth);
}

static bool equal_within(const struct type *a, const struct type *b, u32 depth)
{
	if (a == b)
		return true;
	if (!a || !b || a->kind != b->kind || depth > MAX_NESTING)
		return false;
	switch (a->kind) {
	case TYPE_POINTER:
		return equal_within(a->element, b->element, depth + 1);
	case TYPE_ARRAY:
		return a->count == b->count && equal_within(a->element, b->element, depth + 1);
	case TYPE_STRUCT:
	case TYPE_UNION:
	case TYPE_ENUM:
		return equal_tagged(a, b, depth);
	case TYPE_TUPLE:
		return equal_members(a, b, false, depth);
	case TYPE_RECORD:
		return equal_members(a, b, true, depth);
	case TYPE_FUNCTION:
		return equal_within(a->element, b->element, depth + 1) &&
		       equal_members(a, b, false, depth);
	case TYPE_KSTACK:
	case TYPE_USTACK:
		return a->stack_mode == b->stack_mode && a->stack_depth == b->stack_depth;
	case TYPE_HIST:
		return a->hist_bits == b->hist_bits;
	case TYPE_LHIST:
	case TYPE_LLHIST:
	case TYPE_TSERIES:
		return a->lhist_min == b->lhist_min && a->lhist_max == b->lhist_max &&
		       a->lhist_step == b->lhist_step;
	default:
		return a->size == b->size && a->is_signed == b->is_signed;
	}
}

bool type_equal(const struct type *a, const struct type *b)
{
	return equal_within(a, b, 0);
}

u32 type_align(const struct type *t)
{
	u32 a = 1;

	if (t->align)
		return t->align;
	if (t->kind == TYPE_ARRAY && t->element)
		return type_align(t->element);
	/* Alignment of structs that are not read yet: the largest that the size allows. */
	while (a < 8 && t->size && t->size % (2 * a) == 0)
		a *= 2;
	return a;
}

bool type_is_scalar(const struct type *t)
{
	switch (t->kind) {
	case TYPE_INT:
		return t->size <= 8;
	case TYPE_BOOL:
	case TYPE_ENUM:
	case TYPE_POINTER:
	case TYPE_KSTACK:
	case TYPE_KSYM:
	case TYPE_STRERROR:
	case TYPE_ERRNO_NAME:
	case TYPE_USERNAME:
	case TYPE_PROBE_NAME:
	case TYPE_SYSCALL_NAME:
	case TYPE_SIGNAL_NAME:
	case TYPE_DISK_NAME:
	case TYPE_MEMINFO:
		return true;
	default:
		return false;
	}
}
