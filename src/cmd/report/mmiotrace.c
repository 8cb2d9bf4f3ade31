/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --mmiotrace: what drivers read from and wrote to each part of the memory of a device that they
 * had mapped, as the tracer mmiotrace saw it (Documentation/trace/mmiotrace.rst).
 */
#include "base/hashmap.h"
#include "cmd/report/analysis.h"

enum { ACCESS = ANALYSIS_ROLES, MAP };

static const struct analysis_event events[] = {
	{"ftrace:mmiotrace_rw", ACCESS, true},
	{"mmiotrace_rw", ACCESS, true},
	{"ftrace:mmiotrace_map", MAP},
	{"mmiotrace_map", MAP},
	{0},
};

/* enum mm_io_opcode */
enum { OP_READ = 1, OP_WRITE, OP_PROBE };

struct mapping {
	const char *name; /* "0xfebc0000, 131072 bytes"; NULL: its beginning was not recorded */
	u64 counts[6]; /* reads, bytes; writes, bytes; unknown; the first address + 1 */
};

struct mmio {
	struct arena arena;
	struct hashmap maps; /* {host, number} -> struct mapping */
	VECTOR(struct mapping *) order;
};

static void *mmio_begin(const struct analysis_request *q, struct diag *d)
{
	return xzalloc(sizeof(struct mmio));
}

static void mmio_release(void *state)
{
	struct mmio *const m = state;

	vector_free(&m->order);
	hashmap_release(&m->maps);
	arena_release(&m->arena);
	free(m);
}

static u64 number(struct recording *r, const char *name)
{
	return analysis_number(r, (const char *const[]){name, NULL});
}

static void mmio_feed(void *state, struct recording *r, u8 role)
{
	struct mmio *const m = state;
	const u64 key[] = {analysis_host(r), number(r, "map_id")}, op = number(r, "opcode"),
		  width = number(r, "width");
	void **const at = hashmap_put(&m->maps, key, sizeof(key), NULL);
	struct mapping *map = *at;

	if (!map) {
		map = *at = arena_new(&m->arena, struct mapping);
		vector_push(&m->order, map);
	}
	if (role == MAP && op == OP_PROBE) {
		map->name = arena_printf(&m->arena, "0x%" PRIx64 ", %" PRIu64 " bytes",
					 number(r, "phys"), number(r, "len"));
	} else if (role == ACCESS) {
		const u32 i = op == OP_READ ? 0 : op == OP_WRITE ? 2 : 4;

		map->counts[i]++;
		if (i < 4)
			map->counts[i + 1] += width;
		map->counts[5] = map->counts[5] ?: number(r, "phys") + 1;
	}
}

static const struct table_column columns[] = {
	{"reads", "READS", TABLE_COUNT, true},	   {"read_bytes", "BYTES", TABLE_COUNT, true},
	{"writes", "WRITES", TABLE_COUNT, true},   {"written_bytes", "BYTES", TABLE_COUNT, true},
	{"unknown", "UNKNOWN", TABLE_COUNT, true}, {0},
};

static void mmio_finish(void *state, struct report_table *ret, struct diag *d)
{
	struct mmio *const m = state;

	*ret = (struct report_table){.keys = {"map"}, .nr_keys = 1, .columns = columns};
	for (size_t i = 0; i < m->order.len; i++) {
		const struct mapping *const map = m->order.items[i];
		struct table_row *row;

		if (!map->counts[5]) /* nothing was done with it */
			continue;
		row = table_add_flat(ret, map->name
						  ?: arena_printf(&ret->arena, "at 0x%" PRIx64,
								  map->counts[5] - 1));
		memcpy(row->values, map->counts, 5 * sizeof(u64));
	}
	table_sort(ret);
}

const struct report_analysis analysis_mmiotrace = {
	.events = events,
	.record_command = "pantrace record -p mmiotrace -d 60",
	.needs_no_times = true,
	.begin = mmio_begin,
	.feed = mmio_feed,
	.finish = mmio_finish,
	.release = mmio_release,
};
