/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF types -> struct type; members and enumerators when they are asked for. */
#include <dwarf.h>

#include "binary/debug/internal.h"
#include "binary/elf/internal.h"

/* Types within types: foreign data may go in circles. */
enum { MAX_DEPTH = 64, MAX_MEMBERS = 65536, MAX_SIZE = 1 << 30 };

/* What a type that is still to be completed points back to (type.source_id). */
struct origin {
	struct elf_file *file;
	Dwarf *dwarf; /* the file's, or that of a split unit */
	Dwarf_Off offset;
};

static const struct type *convert(struct elf_file *f, struct type_store *store, Dwarf_Die *die,
				  u32 depth);
static int complete(struct type_store *store, struct type *type);

Dwarf_Die *debug_type_of(Dwarf_Die *die, Dwarf_Die *memory)
{
	Dwarf_Attribute a;

	return dwarf_attr_integrate(die, DW_AT_type, &a) ? dwarf_formref_die(&a, memory) : NULL;
}

static bool number_of(Dwarf_Die *die, unsigned int name, u64 *ret)
{
	Dwarf_Attribute a;
	Dwarf_Word v;

	if (!dwarf_attr_integrate(die, name, &a) || dwarf_formudata(&a, &v))
		return false;
	*ret = v;
	return true;
}

static u32 size_of(Dwarf_Die *die)
{
	u64 size = 0;

	return number_of(die, DW_AT_byte_size, &size) && size <= MAX_SIZE ? (u32)size : 0;
}

static const char *name_of(struct type_store *store, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return name ? arena_strdup(&store->arena, name) : NULL;
}

static struct type *new_lazy(struct elf_file *f, struct type_store *store, Dwarf_Die *die,
			     enum type_kind kind)
{
	struct origin *o = arena_new(&store->arena, struct origin);
	struct type *t = type_new(store, kind);

	*o = (struct origin){f, dwarf_cu_getdwarf(die->cu), dwarf_dieoffset(die)};
	t->source_id = (u64)(uintptr_t)o;
	t->complete = complete;
	t->name = name_of(store, die);
	t->size = size_of(die);
	return t;
}

/* ---- one function per tag ---- */

static const struct type *convert_base(struct type_store *store, Dwarf_Die *die)
{
	u32 size = size_of(die);
	u64 encoding = 0;
	struct type *t;

	number_of(die, DW_AT_encoding, &encoding);
	if (encoding == DW_ATE_float || encoding == DW_ATE_complex_float ||
	    encoding == DW_ATE_decimal_float) {
		t = type_new(store, TYPE_FLOAT);
		t->size = size;
		t->name = name_of(store, die);
		t->is_complete = true;
		return t;
	}
	if (encoding == DW_ATE_boolean && size == 1)
		return type_bool();
	if (encoding == DW_ATE_signed_char && size == 1)
		return type_char();
	if (size == 1 || size == 2 || size == 4 || size == 8 || size == 16)
		return type_int(size, encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
	return type_array(store, type_int(1, false), size);
}

/* Elements of one dimension: DW_AT_count, or the upper bound (from 0) and one; 0 = not known. */
static u32 dimension(Dwarf_Die *range)
{
	u64 n = 0;

	if (!number_of(range, DW_AT_count, &n) && number_of(range, DW_AT_upper_bound, &n))
		n++;
	return n <= MAX_SIZE ? (u32)n : 0;
}

static const struct type *convert_array(struct elf_file *f, struct type_store *store,
					Dwarf_Die *die, u32 depth)
{
	const struct type *t = convert(f, store, debug_type_of(die, &(Dwarf_Die){0}), depth);
	u32 counts[8], n = 0;
	Dwarf_Die child;

	for (int more = dwarf_child(die, &child); more == 0 && n < ARRAY_SIZE(counts);
	     more = dwarf_siblingof(&child, &child))
		if (dwarf_tag(&child) == DW_TAG_subrange_type)
			counts[n++] = dimension(&child);
	for (u64 total = t->size; n > 0; n--) {
		total *= counts[n - 1];
		if (total > MAX_SIZE)
			return type_void();
		t = type_array(store, t, counts[n - 1]);
	}
	return t;
}

static const struct type *convert_enum(struct elf_file *f, struct type_store *store, Dwarf_Die *die)
{
	struct type *t = new_lazy(f, store, die, TYPE_ENUM);
	Dwarf_Die memory, *base = debug_type_of(die, &memory);
	u64 encoding = 0;

	if (t->size != 1 && t->size != 2 && t->size != 8)
		t->size = 4;
	t->align = t->size;
	t->is_signed =
		base && number_of(base, DW_AT_encoding, &encoding) && encoding == DW_ATE_signed;
	return t;
}

static const struct type *convert_typedef(struct elf_file *f, struct type_store *store,
					  Dwarf_Die *die, u32 depth)
{
	const struct type *to = convert(f, store, debug_type_of(die, &(Dwarf_Die){0}), depth);
	const char *name = name_of(store, die);
	struct type *t;

	if (!name || to->kind == TYPE_VOID)
		return to;
	t = type_new(store, to->kind);
	*t = *to;
	t->alias = name;
	return t;
}

static const struct type *convert(struct elf_file *f, struct type_store *store, Dwarf_Die *die,
				  u32 depth)
{
	if (!die || depth > MAX_DEPTH)
		return type_void();
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
		return convert_base(store, die);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return type_pointer(
			store, convert(f, store, debug_type_of(die, &(Dwarf_Die){0}), depth + 1),
			f->is_kernel ? SPACE_KERNEL : SPACE_USER);
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		return convert(f, store, debug_type_of(die, &(Dwarf_Die){0}), depth + 1);
	case DW_TAG_typedef:
		return convert_typedef(f, store, die, depth + 1);
	case DW_TAG_array_type:
		return convert_array(f, store, die, depth + 1);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		return new_lazy(f, store, die, TYPE_STRUCT);
	case DW_TAG_union_type:
		return new_lazy(f, store, die, TYPE_UNION);
	case DW_TAG_enumeration_type:
		return convert_enum(f, store, die);
	case DW_TAG_subroutine_type:
		return new_lazy(f, store, die, TYPE_FUNCTION);
	default:
		return type_void();
	}
}

const struct type *debug_convert_type(struct elf_file *f, struct type_store *types, Dwarf_Die *die)
{
	return convert(f, types, die, 0);
}

/* ---- spelling ---- */

static bool spell(struct strbuf *out, Dwarf_Die *die, u32 depth)
{
	static const struct {
		int tag;
		const char *before, *after;
	} rows[] = {
		{DW_TAG_pointer_type, "", "*"},
		{DW_TAG_reference_type, "", "&"},
		{DW_TAG_rvalue_reference_type, "", "&&"},
		{DW_TAG_const_type, "const ", " const"},
		{DW_TAG_volatile_type, "volatile ", " volatile"},
		{DW_TAG_restrict_type, "", ""},
		{DW_TAG_atomic_type, "", ""},
		{DW_TAG_structure_type, "struct ", ""},
		{DW_TAG_class_type, "class ", ""},
		{DW_TAG_union_type, "union ", ""},
		{DW_TAG_enumeration_type, "enum ", ""},
		{DW_TAG_base_type, "", ""},
		{DW_TAG_typedef, "", ""},
	};
	Dwarf_Die memory, *of;
	const char *name;

	if (!die) {
		strbuf_addstr(out, "void");
		return true;
	}
	name = dwarf_diename(die);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && depth < MAX_DEPTH; i++) {
		const bool qualifies = *rows[i].before && *rows[i].after;

		if (dwarf_tag(die) != rows[i].tag)
			continue;
		if (name) {
			strbuf_addf(out, "%s%s", rows[i].before, name);
			return true;
		}
		of = debug_type_of(die, &memory);
		/* "const char", but "char* const" */
		if (qualifies && !(of && dwarf_tag(of) == DW_TAG_pointer_type)) {
			strbuf_addstr(out, rows[i].before);
			return spell(out, of, depth + 1);
		}
		if (!spell(out, of, depth + 1))
			return false;
		strbuf_addstr(out, rows[i].after);
		return !*rows[i].before || qualifies;
	}
	return false;
}

const char *debug_spell_type(struct type_store *types, Dwarf_Die *die)
{
	struct strbuf out = STRBUF_INIT;
	const char *ret = spell(&out, die, 0) ? arena_strdup(&types->arena, out.data) : NULL;

	strbuf_release(&out);
	return ret;
}

/* ---- members ---- */

/*
 * Bit-fields: DWARF 4 and 5 count the bits from the start of the struct, DWARF 2 and 3 from the
 * most significant bit of a storage unit. Ours: the aligned unit of the member's type, and bits
 * from its least significant one.
 */
static void place_bits(Dwarf_Die *die, u64 bytes, struct type_member *m)
{
	u64 bits = 0, start, unit = m->type->size ? m->type->size : 1, storage = unit;

	if (!number_of(die, DW_AT_bit_size, &bits) || !bits || bits > 64)
		return;
	if (!number_of(die, DW_AT_data_bit_offset, &start)) {
		if (!number_of(die, DW_AT_bit_offset, &start))
			return;
		number_of(die, DW_AT_byte_size, &storage);
		start = bytes * 8 + storage * 8 - start - bits;
	}
	m->offset = (u32)(start / 8 / unit * unit);
	m->bit_offset = (u8)(start - (u64)m->offset * 8);
	m->bit_size = (u8)bits;
}

static bool read_member(const struct origin *o, struct type_store *store, Dwarf_Die *die,
			struct type_member *ret)
{
	int tag = dwarf_tag(die);
	struct type_member m = {0};
	u64 offset = 0;
	Dwarf_Die memory;

	if (tag == DW_TAG_enumerator ||
	    (tag != DW_TAG_member && tag != DW_TAG_inheritance && tag != DW_TAG_formal_parameter))
		return false;
	if (tag == DW_TAG_member &&
	    dwarf_hasattr(die, DW_AT_external)) /* static member of a class */
		return false;
	/* A virtual base class has an expression for an offset: it has no fixed place. */
	if (tag != DW_TAG_formal_parameter &&
	    !number_of(die, DW_AT_data_member_location, &offset) &&
	    dwarf_hasattr(die, DW_AT_data_member_location))
		return false;
	m.name = tag == DW_TAG_inheritance ? NULL : name_of(store, die);
	m.type = convert(o->file, store, debug_type_of(die, &memory), 0);
	m.offset = offset <= MAX_SIZE ? (u32)offset : 0;
	if (tag == DW_TAG_member)
		place_bits(die, offset, &m);
	*ret = m;
	return true;
}

static bool read_enumerator(struct type_store *store, Dwarf_Die *die, struct type_enumerator *ret)
{
	Dwarf_Attribute a;
	Dwarf_Sword v;

	if (dwarf_tag(die) != DW_TAG_enumerator || !dwarf_attr(die, DW_AT_const_value, &a) ||
	    dwarf_formsdata(&a, &v))
		return false;
	*ret = (struct type_enumerator){.name = name_of(store, die), .value = v};
	return ret->name != NULL;
}

/* Where a struct that is only declared here is defined: another unit of the file. */
static bool find_definition(struct elf_file *f, Dwarf_Die *die);

static int complete(struct type_store *store, struct type *type)
{
	const struct origin *o = (const struct origin *)(uintptr_t)type->source_id;
	VECTOR(struct type_enumerator) enumerators = {0};
	VECTOR(struct type_member) members = {0};
	struct type_enumerator e;
	struct type_member m;
	Dwarf_Die die, child;

	if (!dwarf_offdie(o->dwarf, o->offset, &die))
		return -ENOENT;
	if (dwarf_hasattr(&die, DW_AT_declaration) && !find_definition(o->file, &die))
		return -ENOENT;
	if (type->kind == TYPE_FUNCTION)
		type->element = convert(o->file, store, debug_type_of(&die, &(Dwarf_Die){0}), 0);
	else if (!type->size)
		type->size = size_of(&die);
	for (int more = dwarf_child(&die, &child); more == 0;
	     more = dwarf_siblingof(&child, &child)) {
		if (members.len + enumerators.len >= MAX_MEMBERS)
			break;
		if (read_member(o, store, &child, &m))
			vector_push(&members, m);
		else if (read_enumerator(store, &child, &e))
			vector_push(&enumerators, e);
	}
	if (type->kind == TYPE_ENUM) {
		type->enumerators =
			arena_memdup(&store->arena, enumerators.items, enumerators.len * sizeof(e));
		type->count = (u32)enumerators.len;
	} else {
		type->members = arena_memdup(&store->arena, members.items, members.len * sizeof(m));
		type->count = (u32)members.len;
	}
	vector_free(&members);
	vector_free(&enumerators);
	type->is_complete = true;
	return 0;
}

/* ---- types by name ---- */

struct find_type {
	const char *name;
	int tag, tag2;
	Dwarf_Die found;
};

static int find_in_unit(void *arg, Dwarf_Die *unit)
{
	struct find_type *q = arg;
	Dwarf_Die child;

	for (int more = dwarf_child(unit, &child); more == 0;
	     more = dwarf_siblingof(&child, &child)) {
		const char *name;

		if ((dwarf_tag(&child) != q->tag && dwarf_tag(&child) != q->tag2) ||
		    dwarf_hasattr(&child, DW_AT_declaration))
			continue;
		name = dwarf_diename(&child);
		if (name && str_eq(name, q->name)) {
			q->found = child;
			return 1;
		}
	}
	return 0;
}

/* By the index, if there is one by now. */
static int find_named(struct elf_file *f, struct find_type *q)
{
	const struct debug_index *index = debug_index_opened(f);
	struct index_list found = {0};
	Dwarf_Die die;
	int result = 0;

	if (!index)
		return debug_each_unit(f, find_in_unit, q);
	index_types(index, q->name, &found);
	for (size_t i = 0; i < found.list.len && !result; i++) {
		if (!debug_die_at(f, found.list.items[i], 0, &die) ||
		    (dwarf_tag(&die) != q->tag && dwarf_tag(&die) != q->tag2))
			continue;
		q->found = die;
		result = 1;
	}
	vector_free(&found.list);
	return result;
}

static bool find_definition(struct elf_file *f, Dwarf_Die *die)
{
	struct find_type q = {
		.name = dwarf_diename(die), .tag = dwarf_tag(die), .tag2 = dwarf_tag(die)};

	if (!q.name || !find_named(f, &q))
		return false;
	*die = q.found;
	return true;
}

const struct type *debug_type_named(struct elf_file *f, struct type_store *types, const char *name)
{
	static const struct {
		const char *word;
		int tag, tag2;
	} rows[] = {
		{"struct ", DW_TAG_structure_type, DW_TAG_class_type},
		{"class ", DW_TAG_structure_type, DW_TAG_class_type},
		{"union ", DW_TAG_union_type, DW_TAG_union_type},
		{"enum ", DW_TAG_enumeration_type, DW_TAG_enumeration_type},
		{"", DW_TAG_typedef, DW_TAG_typedef},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct find_type q = {.tag = rows[i].tag, .tag2 = rows[i].tag2};

		if (!str_starts(name, rows[i].word))
			continue;
		q.name = name + strlen(rows[i].word);
		return find_named(f, &q) ? convert(f, types, &q.found, 0) : NULL;
	}
	return NULL;
}
