/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "types/type.h"

#include "tap.h"

static void spells(struct type_store *s, const struct type *t, const char *want)
{
	is_str(t ? type_str(&s->arena, t) : NULL, want, want);
}

static void test_spelling(struct type_store *s)
{
	const struct type *pair[] = {type_int(8, true), type_string(s, 16)};
	const char *const names[] = {"a", "b"};
	struct type *task = type_new(s, TYPE_STRUCT), *anonymous = type_new(s, TYPE_UNION);
	struct type *f = type_new(s, TYPE_FUNCTION);
	struct type_member m[] = {{.name = "x", .type = type_int(4, true)},
				  {.name = "y", .type = type_bool()}};

	task->name = "task_struct";
	anonymous->members = f->members = m;
	anonymous->count = f->count = 2;
	anonymous->is_complete = f->is_complete = true;
	f->element = type_void();
	spells(s, type_int(8, true), "int64");
	spells(s, type_int(1, false), "uint8");
	spells(s, type_char(), "int8");
	spells(s, type_bool(), "bool");
	spells(s, type_void(), "void");
	spells(s, type_none(), "none");
	spells(s, type_pointer(s, task, SPACE_KERNEL), "struct task_struct *");
	spells(s, type_pointer(s, type_pointer(s, type_char(), SPACE_USER), SPACE_USER),
	       "int8 * *");
	spells(s, type_pointer(s, f, SPACE_KERNEL), "void (*)(int32,bool)");
	spells(s, type_string(s, 64), "string[64]");
	spells(s, type_string(s, 0), "string");
	spells(s, type_buffer(s, 16), "buffer[16]");
	spells(s, type_array(s, type_int(4, true), 4), "int32[4]");
	spells(s, type_tuple(s, pair, 2), "(int64,string[16])");
	spells(s, type_tuple(s, NULL, 0), "()");
	spells(s, type_record(s, names, pair, 2), "record { .a = int64, .b = string[16] }");
	spells(s, anonymous, "union {int32,bool}");
	spells(s, type_simple(TYPE_COUNT), "count_t");
	spells(s, type_named(s, "usum_t"), "usum_t");
	spells(s, type_named(s, "sum_t"), "sum_t");
	for (u32 k = 0; k < TYPE_KIND_COUNT; k++)
		if (type_simple((enum type_kind)k)->is_complete)
			(void)type_str(&s->arena, type_simple((enum type_kind)k));
}

static void test_names(struct type_store *s)
{
	static const struct {
		const char *name, *want;
	} rows[] = {
		{"int", "int32"},
		{"unsigned", "uint32"},
		{"unsigned long", "uint64"},
		{"long unsigned int", "uint64"},
		{"long long", "int64"},
		{"unsigned long long int", "uint64"},
		{"short int", "int16"},
		{"unsigned  char", "uint8"},
		{"const volatile int", "int32"},
		{" const\tunsigned  long ", "uint64"},
		{"char", "int8"},
		{"signed char", "int8"},
		{"int8", "int8"},
		{"uint64", "uint64"},
		{"uint64_t", "uint64"},
		{"__be16", "uint16"},
		{"u32", "uint32"},
		{"size_t", "uint64"},
		{"bool", "bool"},
		{"double", "double"},
		{"string", "string"},
		{"struct nothing", NULL},
		{"nothing", NULL},
		{"", NULL},
		{"long long long", NULL},
		{"unsigned signed int", NULL},
		{"struct ", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct type *t = type_named(s, rows[i].name);

		is_str(t ? type_str(&s->arena, t) : NULL, rows[i].want, rows[i].name);
	}
	ok(type_named(s, "char")->is_char && !type_named(s, "int8")->is_char, "char is text");
}

/* struct { u8 a; union { u32 b; struct { u16 c; u16 d; }; }; } and itself inside of itself */
static void test_members(struct type_store *s)
{
	struct type *inner = type_new(s, TYPE_STRUCT), *u = type_new(s, TYPE_UNION);
	struct type *outer = type_new(s, TYPE_STRUCT), *evil = type_new(s, TYPE_STRUCT);
	struct type_member inner_m[] = {{.name = "c", .type = type_int(2, false)},
					{.name = "d", .type = type_int(2, false), .offset = 2}};
	struct type_member u_m[] = {{.name = "b", .type = type_int(4, false)}, {.type = inner}};
	struct type_member outer_m[] = {{.name = "a", .type = type_int(1, false)},
					{.type = u, .offset = 4}};
	struct type_member evil_m[] = {{.type = evil}, {.type = evil}, {.type = evil}};
	const struct type_member *m;
	u32 offset = 0;

	inner->members = inner_m;
	u->members = u_m;
	outer->members = outer_m;
	evil->members = evil_m;
	inner->count = u->count = outer->count = 2;
	evil->count = 3;
	inner->is_complete = u->is_complete = outer->is_complete = evil->is_complete = true;
	m = type_find_member(s, outer, "d", &offset);
	ok(m == &inner_m[1] && offset == 6, "a member two anonymous levels down");
	m = type_find_member(s, outer, "a", &offset);
	ok(m && offset == 0, "a member of its own");
	ok(!type_find_member(s, outer, "e", &offset), "no such member");
	ok(!type_find_member(s, type_int(4, true), "e", &offset), "not a record");
	ok(!type_find_member(s, evil, "x", NULL), "a struct that contains itself ends");
	ok(type_str(&s->arena, evil) != NULL, "and can be spelled");
	ok(type_equal(evil, evil), "and compared");
}

static void test_equality(struct type_store *s)
{
	const struct type *one[] = {type_int(8, true), type_string(s, 16)};
	const struct type *two[] = {type_int(8, true), type_string(s, 32)};
	const char *const ab[] = {"a", "b"}, *const ac[] = {"a", "c"};
	const struct type *t;

	ok(type_tuple(s, one, 2) == type_tuple(s, one, 2), "tuples are interned");
	ok(!type_equal(type_tuple(s, one, 2), type_tuple(s, two, 2)), "other tuples differ");
	ok(!type_equal(type_record(s, ab, one, 2), type_record(s, ac, one, 2)),
	   "records with other names differ");
	ok(type_equal(type_pointer(s, type_void(), SPACE_USER),
		      type_pointer(s, type_void(), SPACE_KERNEL)),
	   "pointers are equal whatever they point into");
	ok(!type_equal(type_int(4, true), type_int(4, false)), "sign matters");
	ok(!type_equal(type_array(s, type_bool(), 3), type_array(s, type_bool(), 4)),
	   "count matters");
	ok(!type_equal(type_stack(s, true, STACK_PERF, 5), type_stack(s, true, STACK_PERF, 6)),
	   "depth matters");
	ok(!type_equal(type_lhist(s, 0, 10, 1), type_lhist(s, 0, 10, 2)), "buckets matter");
	t = type_tuple(s, one, 2);
	is_int(t->size, 24, "size of a tuple");
	is_int(type_align(t), 8, "its alignment");
	is_int(t->members[1].offset, 8, "offset of its second");
	is_str(t->members[1].name, "1", "name of its second");
	is_int(type_array(s, type_int(8, false), UINT32_MAX)->size, 0, "a size that is too large");
	ok(type_is_scalar(type_bool()) && !type_is_scalar(type_int(16, true)) &&
		   !type_is_scalar(type_string(s, 8)),
	   "what fits a register");
}

static void test_enumerators(struct type_store *s)
{
	struct type *e = type_new(s, TYPE_ENUM);
	struct type_enumerator values[] = {{"RED", 1}, {"BLUE", -2}};
	s64 value = 0;

	e->name = "colour";
	e->size = 4;
	e->enumerators = values;
	e->count = 2;
	e->is_complete = true;
	hashmap_puts(&s->named, "enum colour", e);
	ok(type_find_enumerator(s, "BLUE", &value) == e && value == -2, "value of an enumerator");
	ok(!type_find_enumerator(s, "GREEN", &value), "no such enumerator");
	is_str(type_enumerator_name(s, e, 1), "RED", "name of a value");
	is_str(type_enumerator_name(s, e, 7), NULL, "a value without a name");
	ok(type_named(s, "enum colour") == e, "by its tag");
	spells(s, e, "enum colour");
}

int main(void)
{
	struct type_store s;

	type_store_init(&s);
	test_spelling(&s);
	test_names(&s);
	test_members(&s);
	test_equality(&s);
	test_enumerators(&s);
	type_store_release(&s);
	return tap_done();
}
