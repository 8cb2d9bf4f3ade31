/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report --count: the number of events of each kind. */
#include <stdio.h>

#include "base/escape.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "cmd/report/counts.h"

/* Several kinds may share a name, for example in traces of several programs. */
static void count(void *arg, struct recorded_kind *k)
{
	struct hashmap *const counts = arg;
	void **at;

	if (!k->count)
		return;
	at = hashmap_put(counts, k->name, strlen(k->name) + 1, NULL);
	*at = (void *)((uintptr_t)*at + k->count);
}

static int by_count(const void *a, const void *b)
{
	const struct hashmap_entry *x = a, *y = b;

	if (x->value != y->value)
		return (uintptr_t)x->value < (uintptr_t)y->value ? 1 : -1;
	return strcmp(x->key, y->key);
}

void report_counts_print(struct recordings *all, bool is_json)
{
	struct strbuf out = STRBUF_INIT;
	struct json j = JSON_INIT(&out);
	struct hashmap counts = {0};
	struct hashmap_entry *rows;

	recordings_each_kind(all, count, &counts);
	rows = xreallocarray(NULL, counts.len + 1, sizeof(*rows));
	if (counts.len)
		memcpy(rows, counts.entries, counts.len * sizeof(*rows));
	qsort(rows, counts.len, sizeof(*rows), by_count);
	for (size_t i = 0; i < counts.len; i++) {
		strbuf_reset(&out);
		if (is_json) {
			json_object(&j);
			json_member_string(&j, "event", rows[i].key, rows[i].key_len - 1);
			json_member_u64(&j, "count", (uintptr_t)rows[i].value);
			json_end(&j, '}');
			json_end_line(&j);
		} else {
			strbuf_addf(&out, "%10zu  ", (size_t)(uintptr_t)rows[i].value);
			escape_line(&out, rows[i].key, rows[i].key_len - 1);
			strbuf_addch(&out, '\n');
		}
		fwrite(out.data, 1, out.len, stdout);
	}
	strbuf_release(&out);
	hashmap_release(&counts);
	free(rows);
}
