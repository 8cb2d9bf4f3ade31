/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Types by name: C's integers in every spelling, the language's own types, and what the script or
 * BTF defines.
 */

#include "types/type_internal.h"

static const struct type float_types[2] = {
	{.kind = TYPE_FLOAT, .size = 4, .align = 4, .is_complete = true, .name = "float"},
	{.kind = TYPE_FLOAT, .size = 8, .align = 8, .is_complete = true, .name = "double"},
};

/* min_t and similar, unsigned. */
static const struct type unsigned_aggregations[] = {
	{.kind = TYPE_SUM, .size = 8, .align = 8, .is_complete = true},
	{.kind = TYPE_MIN, .size = 16, .align = 8, .is_complete = true},
	{.kind = TYPE_MAX, .size = 16, .align = 8, .is_complete = true},
	{.kind = TYPE_AVG, .size = 16, .align = 8, .is_complete = true},
	{.kind = TYPE_STATS, .size = 16, .align = 8, .is_complete = true},
};

struct named_type {
	const char *name;
	const struct type *type;
};

#define S(n) &type_integers[n]
static const struct named_type builtin_names[] = {
	{"void", &type_simple_table[TYPE_VOID]},
	{"none", &type_simple_table[TYPE_NONE]},
	{"bool", &type_simple_table[TYPE_BOOL]},
	{"_Bool", &type_simple_table[TYPE_BOOL]},
	{"float", &float_types[0]},
	{"double", &float_types[1]},
	{"uint8", S(0)},
	{"int8", S(1)},
	{"uint16", S(2)},
	{"int16", S(3)},
	{"uint32", S(4)},
	{"int32", S(5)},
	{"uint64", S(6)},
	{"int64", S(7)},
	{"uint8_t", S(0)},
	{"int8_t", S(1)},
	{"uint16_t", S(2)},
	{"int16_t", S(3)},
	{"uint32_t", S(4)},
	{"int32_t", S(5)},
	{"uint64_t", S(6)},
	{"int64_t", S(7)},
	{"u8", S(0)},
	{"s8", S(1)},
	{"u16", S(2)},
	{"s16", S(3)},
	{"u32", S(4)},
	{"s32", S(5)},
	{"u64", S(6)},
	{"s64", S(7)},
	{"__u8", S(0)},
	{"__s8", S(1)},
	{"__u16", S(2)},
	{"__s16", S(3)},
	{"__u32", S(4)},
	{"__s32", S(5)},
	{"__u64", S(6)},
	{"__s64", S(7)},
	{"__le16", S(2)},
	{"__be16", S(2)},
	{"__le32", S(4)},
	{"__be32", S(4)},
	{"__le64", S(6)},
	{"__be64", S(6)},
	{"uchar", S(0)},
	{"u_char", S(0)},
	{"ushort", S(2)},
	{"uint", S(4)},
	{"ulong", S(6)},
	{"unsigned", S(4)},
	{"size_t", S(6)},
	{"ssize_t", S(7)},
	{"loff_t", S(7)},
	{"off_t", S(7)},
	{"intptr_t", S(7)},
	{"uintptr_t", S(6)},
	{"ptrdiff_t", S(7)},
	{"pid_t", S(5)},
	{"uid_t", S(4)},
	{"gid_t", S(4)},
	{"mode_t", S(4)},
	{"umode_t", S(2)},
	{"dev_t", S(4)},
	{"time_t", S(7)},
	{"clockid_t", S(5)},
	{"sector_t", S(6)},
	{"gfp_t", S(4)},
	{"__int128", S(9)},
	{"count_t", &type_simple_table[TYPE_COUNT]},
	{"sum_t", &type_simple_table[TYPE_SUM]},
	{"min_t", &type_simple_table[TYPE_MIN]},
	{"max_t", &type_simple_table[TYPE_MAX]},
	{"avg_t", &type_simple_table[TYPE_AVG]},
	{"stats_t", &type_simple_table[TYPE_STATS]},
	{"usum_t", &unsigned_aggregations[0]},
	{"umin_t", &unsigned_aggregations[1]},
	{"umax_t", &unsigned_aggregations[2]},
	{"uavg_t", &unsigned_aggregations[3]},
	{"ustats_t", &unsigned_aggregations[4]},
	{"hist_t", &type_simple_table[TYPE_HIST]},
	{"lhist_t", &type_simple_table[TYPE_LHIST]},
	{"llhist_t", &type_simple_table[TYPE_LLHIST]},
	{"stddev_t", &type_simple_table[TYPE_STDDEV]},
	{"tseries_t", &type_simple_table[TYPE_TSERIES]},
	{"ksym_t", &type_simple_table[TYPE_KSYM]},
	{"usym_t", &type_simple_table[TYPE_USYM]},
	{"kstack", &type_simple_table[TYPE_KSTACK]},
	{"ustack", &type_simple_table[TYPE_USTACK]},
	{"username_t", &type_simple_table[TYPE_USERNAME]},
	{"inet", &type_simple_table[TYPE_INET]},
	{"macaddr_t", &type_simple_table[TYPE_MAC]},
	{"mac_address", &type_simple_table[TYPE_MAC]},
	{"timestamp", &type_simple_table[TYPE_TIMESTAMP]},
	{"cgroup_path_t", &type_simple_table[TYPE_CGROUP_PATH]},
};
#undef S

static const struct type *find_builtin_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(builtin_names); i++)
		if (str_eq(builtin_names[i].name, name))
			return builtin_names[i].type;
	return NULL;
}

/* The words of a C arithmetic type in any order: "long unsigned int". NULL if it is none. */
static const struct type *parse_c_integer(const char *name)
{
	enum { UNSIGNED, SIGNED, LONG, SHORT, INT, CHAR, DOUBLE, WORD_COUNT };
	static const char *const words[WORD_COUNT] = {"unsigned", "signed", "long",  "short",
						      "int",	  "char",   "double"};
	u32 seen[WORD_COUNT] = {0};

	while (*name) {
		const size_t len = strcspn(name, " ");
		u32 w = 0;

		while (w < WORD_COUNT && (strlen(words[w]) != len || memcmp(words[w], name, len)))
			w++;
		if (w == WORD_COUNT || ++seen[w] > (w == LONG ? 2 : 1))
			return NULL;
		name += len;
		name += *name == ' ';
	}
	if (seen[DOUBLE])
		return seen[LONG] ? NULL : &float_types[1];
	if (seen[UNSIGNED] && seen[SIGNED])
		return NULL;
	if (seen[CHAR])
		return seen[UNSIGNED] ? type_int(1, false)
				      : (seen[SIGNED] ? type_int(1, true) : type_char());
	return type_int(seen[SHORT] ? 2 : (seen[LONG] ? 8 : 4), !seen[UNSIGNED]);
}

/* Single blanks, no blank at the ends, no qualifiers. */
static char *normalize(struct type_store *s, const char *name)
{
	static const char *const qualifiers[] = {"const", "volatile", "restrict", "__restrict"};
	char *out = arena_alloc(&s->arena, strlen(name) + 1), *end = out;

	while (*name) {
		bool skip = false;
		size_t len;

		name += strspn(name, " \t\n");
		len = strcspn(name, " \t\n");
		for (size_t i = 0; i < ARRAY_SIZE(qualifiers); i++)
			skip |= strlen(qualifiers[i]) == len && !memcmp(qualifiers[i], name, len);
		if (!skip && len) {
			if (end != out)
				*end++ = ' ';
			memcpy(end, name, len);
			end += len;
		}
		name += len;
	}
	*end = '\0';
	return out;
}

static bool needs_normalizing(const char *name)
{
	return strchr(name, ' ') && !str_starts(name, "struct ") && !str_starts(name, "union ") &&
	       !str_starts(name, "enum ");
}

static bool has_odd_blanks(const char *name)
{
	return strpbrk(name, "\t\n") || strstr(name, "  ") || name[0] == ' ' ||
	       (name[0] && name[strlen(name) - 1] == ' ');
}

const struct type *type_named(struct type_store *s, const char *name)
{
	const struct type *t;

	if (needs_normalizing(name) || has_odd_blanks(name))
		name = normalize(s, name);
	if (!*name)
		return NULL;
	/* The script's own definitions win. */
	t = hashmap_gets(&s->named, name);
	if (!t)
		t = find_builtin_name(name);
	if (!t)
		t = parse_c_integer(name);
	if (t)
		return t;
	if (str_eq(name, "string"))
		return type_string(s, 0);
	if (str_eq(name, "buffer"))
		return type_buffer(s, 0);
	return s->lookup ? s->lookup(s, name) : NULL;
}
