/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two tables of the same analysis and shows the largest changes first. Values that grow
 * with the length of the recording are compared as a share of the total and as a rate per second;
 * others (averages, maxima) are compared directly.
 */
#include <math.h>

#include "base/hashmap.h"
#include "cmd/report/table.h"

struct pair {
	const struct table_row *rows[2];
};

static void add_all(struct hashmap *pairs, struct arena *a, const struct report_table *t, u32 which)
{
	struct strbuf key = STRBUF_INIT;

	for (size_t i = 0; i < t->rows.len; i++) {
		const struct table_row *const row = t->rows.items[i];
		void **at;

		if (row->depth + 1 != t->nr_keys)
			continue;
		strbuf_reset(&key);
		for (u32 k = 0; k < t->nr_keys; k++)
			strbuf_add(&key, row->names[k], strlen(row->names[k]) + 1);
		at = hashmap_put(pairs, key.data, key.len, NULL);
		if (!*at)
			*at = arena_new(a, struct pair);
		((struct pair *)*at)->rows[which] = row;
	}
	strbuf_release(&key);
}

static u64 total(const struct report_table *t)
{
	u64 sum = 0;

	for (size_t i = 0; i < t->rows.len; i++)
		if (t->rows.items[i]->depth + 1 == t->nr_keys)
			sum += t->rows.items[i]->values[t->main];
	return sum;
}

static u64 rounded(double v)
{
	return (u64)(s64)llround(v);
}

/*
 * Columns for values that grow with time, and for those that do not. The last, hidden one is the
 * sort key.
 */
static const struct table_column grown[] = {
	{"change_points", "CHANGE", TABLE_POINTS, false},
	{"old_percent", "OLD", TABLE_PERCENT, false},
	{"new_percent", "NEW", TABLE_PERCENT, false},
	{"old_per_second", "OLD/s", TABLE_MILLI, false},
	{"new_per_second", "NEW/s", TABLE_MILLI, false},
	{0},
};

enum { WEIGHT = TABLE_COLUMNS - 1 };

static void fill_grown(struct table_row *to, const u64 values[2], const u64 totals[2],
		       const double seconds[2])
{
	double percent[2], rate[2];

	for (u32 i = 0; i < 2; i++) {
		percent[i] = totals[i] ? 1e4 * (double)values[i] / (double)totals[i] : 0;
		rate[i] = seconds[i] > 0 ? 1e3 * (double)values[i] / seconds[i] : 0;
		to->values[1 + i] = rounded(percent[i]);
		to->values[3 + i] = rounded(rate[i]);
	}
	to->values[0] = to->values[2] - to->values[1];
	to->values[WEIGHT] = rounded(fabs(percent[1] - percent[0]) * 1e6);
}

static void fill_plain(struct table_row *to, const u64 values[2])
{
	to->values[0] = values[1] - values[0];
	to->values[1] = values[0];
	to->values[2] = values[1];
	to->values[WEIGHT] = (s64)to->values[0] < 0 ? -to->values[0] : to->values[0];
}

/* Rates of time are shown in the column's unit per second, for example milliseconds per second. */
static double unit_of(enum table_unit unit)
{
	return unit == TABLE_MS ? 1e6 : unit == TABLE_US ? 1e3 : 1;
}

void table_compare(const struct report_table *before, const struct report_table *after,
		   const double seconds[2], struct report_table *ret)
{
	const struct table_column *const main = &before->columns[before->main];
	const struct report_table *const tables[2] = {before, after};
	const u64 totals[2] = {total(before), total(after)};
	const double scaled[2] = {seconds[0] * unit_of(main->unit),
				  seconds[1] * unit_of(main->unit)};
	struct table_column *plain;
	struct hashmap pairs = {0};

	*ret = (struct report_table){.nr_keys = before->nr_keys, .is_flat = true, .main = WEIGHT};
	memcpy(ret->keys, before->keys, sizeof(ret->keys));
	plain = arena_new_array(&ret->arena, struct table_column, 4);
	plain[0] = (struct table_column){
		"change", "CHANGE", main->unit == TABLE_COUNT ? TABLE_SIGNED : main->unit, false};
	plain[1] = (struct table_column){"old", "OLD", main->unit, false};
	plain[2] = (struct table_column){"new", "NEW", main->unit, false};
	ret->columns = main->grows ? grown : plain;
	for (u32 i = 0; i < 2; i++)
		add_all(&pairs, &ret->arena, tables[i], i);
	hashmap_each (&pairs, e) {
		const struct pair *const pair = e->value;
		const struct table_row *const any = pair->rows[1] ?: pair->rows[0];
		u64 values[2] = {0};
		struct table_row *row;
		const char **names = arena_new_array(&ret->arena, const char *, ret->nr_keys + 1);

		for (u32 i = 0; i < ret->nr_keys; i++)
			names[i] = arena_strdup(&ret->arena, any->names[i]);
		for (u32 i = 0; i < 2; i++)
			if (pair->rows[i])
				values[i] = pair->rows[i]->values[before->main];
		row = table_add(ret, ret->nr_keys - 1, names);
		if (main->grows)
			fill_grown(row, values, totals, scaled);
		else
			fill_plain(row, values);
	}
	hashmap_release(&pairs);
	table_sort(ret);
}
