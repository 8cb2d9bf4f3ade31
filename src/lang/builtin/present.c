/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How maps are shown: trunc, normalize, sort, and formats over one or several maps. */
#include "lang/builtin/util.h"
#include "lang/check/internal.h"
#include "view/printf_format.h"
#include "lang/lower/present.h"
#include "view/map_order.h"

/* ---- trunc, normalize, denormalize ---- */

static bool is_keyed(struct check *c, struct expr *call, const struct map_symbol *m)
{
	if (!m->key || !type_is(m->key, TYPE_NONE))
		return true;
	check_error(c, call->args[0]->span,
		    "%s() expects a map with explicit keys (non-scalar map)", call->name);
	return false;
}

static void check_integer_argument(struct check *c, struct expr *call, u32 n)
{
	check_expr(c, call->args[n]);
	if (check_known(c, call->args[n]))
		check_arg_integer(c, call, n);
}

static void check_trunc(struct check *c, struct expr *call)
{
	struct map_symbol *m = check_arg_map(c, call, 0);

	call->type = type_none();
	if (m)
		is_keyed(c, call, m);
	if (call->nargs > 1)
		check_integer_argument(c, call, 1);
}

/* Values that can be divided when they are printed. */
static bool is_divisible(const struct type *t)
{
	return type_is(t, TYPE_INT) || type_is_aggregation(t);
}

static void check_normalize(struct check *c, struct expr *call)
{
	struct map_symbol *m = check_arg_map(c, call, 0);
	struct expr *by = call->nargs > 1 ? call->args[1] : NULL;
	s64 value = 1;

	call->type = type_none();
	if (m && m->value && !is_divisible(m->value))
		check_error(c, call->args[0]->span,
			    "%s() expects a map of numbers (@%s holds '%s')", call->name, m->name,
			    type_str(c->arena, m->value));
	if (!by)
		return;
	check_integer_argument(c, call, 1);
	if (by->is_comptime_known && check_constant(by, &value) && value < 1)
		check_error(c, by->span,
			    "normalize() expects a divisor of at least 1 (%lld provided)",
			    (long long)value);
}

static void send_numbers(struct lower *l, struct expr *call, enum action_kind kind, ir_reg a,
			 ir_reg b)
{
	const struct type *types[] = {type_int(8, true), type_int(8, true)};
	const struct value values[] = {value_register(types[0], a), value_register(types[1], b)};
	const u32 action = lower_action(l, kind, types, 2, call->span);

	l->script->actions.items[action].map = call->args[0]->map->index;
	lower_send(l, action, values, 2, call->span);
}

static void lower_number(struct lower *l, struct expr *call, struct value *ret)
{
	const bool is_trunc = str_eq(call->builtin->name, "trunc");
	const ir_reg n =
		call->nargs > 1 ? lower_scalar(l, call->args[1]) : ir_const(l->f, is_trunc ? 0 : 1);

	send_numbers(l, call, is_trunc ? ACTION_TRUNC : ACTION_NORMALIZE, n, ir_const(l->f, 0));
	*ret = (struct value){0};
}

/* ---- sort ---- */

/* One of two words, bare or as a string: its index; -1 with an error. */
static int check_word(struct check *c, struct expr *call, u32 n, const char *const words[2])
{
	const struct expr *e = call->args[n];
	const char *text = e->kind == EXPR_NAME ? e->name : builtin_literal(e);

	for (int i = 0; text && i < 2; i++)
		if (str_eq(text, words[i]))
			return i;
	check_error(c, e->span, "sort() expects '%s' or '%s' here", words[0], words[1]);
	check_hint(c, "sort(@m, key|value [, asc|desc])");
	return -1;
}

static void check_sort(struct check *c, struct expr *call)
{
	static const char *const orders[] = {"key", "value"}, *const directions[] = {"asc", "desc"};
	struct map_symbol *m = check_arg_map(c, call, 0);

	call->type = type_none();
	if (m)
		is_keyed(c, call, m);
	check_word(c, call, 1, orders);
	if (call->nargs > 2)
		check_word(c, call, 2, directions);
}

static bool is_word(const struct expr *e, const char *word)
{
	return str_eq(e->kind == EXPR_NAME ? e->name : builtin_literal(e), word);
}

static void lower_sort(struct lower *l, struct expr *call, struct value *ret)
{
	const enum map_order order = is_word(call->args[1], "key") ? ORDER_KEY : ORDER_VALUE;
	const bool is_descending = call->nargs > 2 && is_word(call->args[2], "desc");

	send_numbers(l, call, ACTION_SORT, ir_const(l->f, order), ir_const(l->f, is_descending));
	*ret = (struct value){0};
}

/* ---- printa("fmt", @a, @b ...), print(@a, "fmt" [, top]) ---- */

static void set_key(struct check *c, struct map_symbol *m, const struct type *key)
{
	if (type_equal(m->key, key))
		return;
	m->key = key;
	c->changed = true;
}

/* Both maps get the same type of key, as two uses of one map do. */
static void join_keys(struct check *c, struct expr *call, u32 first, u32 n)
{
	struct map_symbol *a = call->args[first]->map, *b = call->args[n]->map;
	const struct type *both;

	if (!a || !b || !a->key || !b->key)
		return;
	if (type_is(a->key, TYPE_NONE) || type_is(b->key, TYPE_NONE))
		both = a->key->kind == b->key->kind ? a->key : NULL;
	else
		both = check_unify(c, a->key, b->key);
	if (!both || a->key_is_list != b->key_is_list) {
		check_error(c, call->args[n]->span,
			    "%s() joins maps by their keys: @%s has '%s', @%s has '%s'", call->name,
			    a->name, type_str(c->arena, a->key), b->name,
			    type_str(c->arena, b->key));
		return;
	}
	set_key(c, a, both);
	set_key(c, b, both);
}

static void check_printa(struct check *c, struct expr *call)
{
	struct format format;
	const char *complaint;
	u32 count;

	call->type = type_none();
	if (call->nargs - 1 > PRINTA_MAX_MAPS)
		check_error(c, call->span, "printa() takes up to %d maps (%u provided)",
			    PRINTA_MAX_MAPS, call->nargs - 1);
	check_expr(c, call->args[0]);
	for (u32 i = 1; i < call->nargs; i++) {
		struct map_symbol *m = check_arg_map(c, call, i);

		if (m)
			m->is_read = true;
		if (i > 1)
			join_keys(c, call, 1, i);
	}
	if (!check_arg_literal_string(c, call, 0))
		return;
	complaint = format_parse(c->arena, call->args[0]->string.data, call->args[0]->string.len,
				 &format, &count);
	if (complaint)
		check_error(c, call->args[0]->span, "%s", complaint);
}

/*
 * "%@d" is "%d" for the format's parser; ret_marks tells which conversions were marked, in order.
 */
static const char *without_marks(struct arena *a, const struct expr *text, bool *ret_marks,
				 u32 *ret_n)
{
	char *out = arena_alloc(a, text->string.len + 1);
	u32 n = 0, used = 0;

	for (u32 i = 0; i < text->string.len; i++) {
		const char ch = text->string.data[i];

		out[used++] = ch;
		if (ch != '%')
			continue;
		if (i + 1 < text->string.len && text->string.data[i + 1] == '%') {
			out[used++] = text->string.data[++i];
			continue;
		}
		if (n < PRINTA_MAX_CONVERSIONS)
			ret_marks[n] = false;
		while (i + 1 < text->string.len &&
		       strchr("-+ #0123456789.@", text->string.data[i + 1])) {
			i++;
			if (text->string.data[i] != '@')
				out[used++] = text->string.data[i];
			else if (n < PRINTA_MAX_CONVERSIONS)
				ret_marks[n] = true;
		}
		n++;
	}
	out[used] = 0;
	*ret_n = used;
	return out;
}

static const struct type *value_type(struct lower *l, const struct type *t)
{
	if (type_is_histogram(t) || type_is(t, TYPE_STATS) || type_is(t, TYPE_TSERIES))
		return type_string(l->types, 1); /* becomes text */
	if (type_is(t, TYPE_STDDEV))
		return type_int(8, false);
	return type_is_aggregation(t) ? type_int(8, t->is_signed) : t;
}

/* The n-th part of the key, NULL if there are fewer. */
static const struct type *key_part(const struct script_map *m, u32 n)
{
	if (type_is(m->key, TYPE_NONE))
		return NULL;
	if (m->key_is_list && type_is(m->key, TYPE_TUPLE))
		return n < m->key->count ? m->key->members[n].type : NULL;
	return n ? NULL : m->key;
}

/* Fills in where each conversion takes its value from. */
static const char *assign_sources(struct lower *l, struct action *a, const bool *marks,
				  u32 *sources)
{
	const struct script_map *maps = l->script->maps.items;
	const struct type *types[PRINTA_MAX_CONVERSIONS];
	u32 key = 0, map = 0, n = 0, at;

	for (u32 i = 0; i < a->format.nparts; i++) {
		struct format_part *part = &a->format.parts[i];
		const struct type *t;

		if (part->kind != CONVERSION_ARGUMENT)
			continue;
		if (part->width == -2 || part->precision == -2)
			return "widths and precisions must be numbers here, not '*'";
		if (n == PRINTA_MAX_CONVERSIONS)
			return "too many conversions in the format";
		t = marks[n] ? NULL : key_part(&maps[a->printa_maps[0]], key);
		if (t) {
			sources[n] = key++;
		} else if (map < a->nprinta_maps) {
			sources[n] = PRINTA_MAP | map;
			t = value_type(l, maps[a->printa_maps[map++]].value);
			if (type_is(t, TYPE_STRING) && t->size == 1)
				part->conversion = 's';
		} else {
			return "the format has more conversions than the keys and maps have values";
		}
		types[n++] = t;
	}
	return format_check(l->arena, &a->format, types, n, &at);
}

void present_send(struct lower *l, struct expr *call, const struct expr *text,
		  struct expr *const *map_args, u32 nmaps, ir_reg top, u64 clears, u64 zeroes)
{
	const struct type *types[] = {type_int(8, false)};
	const struct value value = value_register(types[0], top);
	const u32 index = lower_action(l, ACTION_PRINTA, types, 1, call->span);
	u32 *sources = arena_new_array(l->arena, u32, PRINTA_MAX_CONVERSIONS);
	u32 *maps = arena_new_array(l->arena, u32, nmaps + 1);
	struct action *a = &l->script->actions.items[index];
	bool marks[PRINTA_MAX_CONVERSIONS] = {false};
	const char *plain, *wrong;
	u32 len, count;

	for (u32 i = 0; i < nmaps; i++) {
		maps[i] = map_args[i]->map->index;
		if (!type_equal(l->script->maps.items[maps[i]].key,
				l->script->maps.items[maps[0]].key)) {
			lower_error(l, map_args[i]->span,
				    "%s() joins maps by their keys: @%s has '%s', @%s has '%s'",
				    call->name, map_args[0]->name,
				    type_str(l->arena, l->script->maps.items[maps[0]].key),
				    map_args[i]->name,
				    type_str(l->arena, l->script->maps.items[maps[i]].key));
			return;
		}
	}
	plain = without_marks(l->arena, text, marks, &len);
	a->map = maps[0];
	a->printa_maps = maps;
	a->printa_sources = sources;
	a->nprinta_maps = nmaps;
	a->clears = clears;
	a->zeroes = zeroes;
	wrong = format_parse(l->arena, plain, len, &a->format, &count);
	if (!wrong)
		wrong = assign_sources(l, a, marks, sources);
	if (wrong) {
		lower_error(l, text->span, "%s(): %s", call->name, wrong);
		return;
	}
	lower_send(l, index, &value, 1, call->span);
}

static void lower_printa(struct lower *l, struct expr *call, struct value *ret)
{
	const struct present_taken *taken = call->annotation;

	*ret = (struct value){0};
	if (call->nargs - 1 <= PRINTA_MAX_MAPS)
		present_send(l, call, call->args[0], call->args + 1, call->nargs - 1,
			     ir_const(l->f, 0), taken ? taken->clears : 0,
			     taken ? taken->zeroes : 0);
}

#define OVER_MAP (BUILTIN_CALL | BUILTIN_STATEMENT | BUILTIN_RAW_ARGS)

const struct builtin builtins_present[] = {
	{"trunc", "void trunc(@map [, int64 n])",
	 "Deletes all keys of a map but the n largest, or for a negative n the smallest, when the "
	 "request is processed; without n all of them.",
	 "", OVER_MAP, 1, 2, check_trunc, lower_number},
	{"normalize", "void normalize(@map, uint64 divisor)",
	 "From now on the values of the map are divided when they are printed; what is counted "
	 "does not change. print(@m, top, div) divides once more.",
	 "", OVER_MAP, 2, 2, check_normalize, lower_number},
	{"denormalize", "void denormalize(@map)", "Ends what normalize() began.", "", OVER_MAP, 1,
	 1, check_normalize, lower_number},
	{"sort", "void sort(@map, key|value [, asc|desc])",
	 "From now on the map is printed in this order, also at the end of the run. The top "
	 "entries of print(@m, top) still are the largest.",
	 "", OVER_MAP, 2, 3, check_sort, lower_sort},
	{"printa", "void printa(const string fmt, @map, ...)",
	 "Prints each key of the maps by a format, several maps side by side: conversions take the "
	 "parts of the key, then the values of the maps; %@d always is the next map's value. A map "
	 "without the key counts as 0. The first map gives the order.",
	 "", OVER_MAP, 2, 255, check_printa, lower_printa},
	{0},
};
