/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/ftrace_records.h"

#include "base/vector.h"
#include "kernel/kernel_internal.h"

#define MAX_RECORDS (1u << 20)
#define MAX_PAGES   (1u << 16)
/* Of a record's place behind the function's beginning: endbr64, and a few bytes of nothing before. */
#define MAX_OFFSET 16u

/* struct ftrace_page (kernel/trace/ftrace.c): a list, first the kernel's own, then each module's. */
struct page_head {
	u64 next, records;
	s32 used, order;
};
_Static_assert(sizeof(struct page_head) == 24, "as on machines of 64 bits");

/* struct dyn_ftrace (include/linux/ftrace.h), where the architecture adds nothing; else the addresses do not ascend. */
struct dyn_record {
	u64 ip, flags;
};

struct place {
	u64 ip;
	u32 number;
};

struct ftrace_records {
	VECTOR(struct place) places; /* by ip */
};

static int by_ip(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

/* Within one page of records addresses ascend. */
static int add_page(struct ftrace_records *r, const struct page_head *head,
		    const struct dyn_record *records)
{
	u32 number;

	for (s32 i = 0; i < head->used; i++) {
		if (records[i].ip >> 47 != UINT64_MAX >> 47 ||
		    (i && records[i].ip <= records[i - 1].ip))
			return -EOPNOTSUPP;
		number = (u32)r->places.len + 1;
		vector_push(&r->places, (struct place){records[i].ip, number});
	}
	return 0;
}

static int read_page(struct ftrace_records *r, const struct kcore *core,
		     const struct page_head *head)
{
	struct dyn_record *records;
	int err;

	if (head->used < 0 || head->order < 0 || head->order > 10 ||
	    (u64)head->used * sizeof(*records) > (u64)4096 << head->order ||
	    r->places.len + (u32)head->used > MAX_RECORDS)
		return -EOPNOTSUPP;
	records = xreallocarray(NULL, (size_t)head->used + 1, sizeof(*records));
	err = kcore_read_all(core, head->records, records, (size_t)head->used * sizeof(*records))
		      ? add_page(r, head, records)
		      : -EOPNOTSUPP;
	free(records);
	return err;
}

static int read_pages(struct ftrace_records *r, struct kernel *k, const struct kcore *core)
{
	u64 at = kernel_symbol_address(k, "ftrace_pages_start");
	struct page_head head;
	int err = 0;

	if (!at || !kcore_read_all(core, at, &at, sizeof(at)))
		return -EOPNOTSUPP;
	for (u32 n = 0; at && !err; at = head.next) {
		if (++n > MAX_PAGES || !kcore_read_all(core, at, &head, sizeof(head)))
			return -EOPNOTSUPP;
		err = read_page(r, core, &head);
	}
	return err || r->places.len ? err : -EOPNOTSUPP;
}

int ftrace_records_load(struct kernel *k, struct ftrace_records **ret)
{
	const struct kcore *core = kernel_kcore(k);
	struct ftrace_records *r = xzalloc(sizeof(*r));
	const int err = core ? read_pages(r, k, core) : -EOPNOTSUPP;

	if (err) {
		ftrace_records_release(r);
		return err;
	}
	/* The kernel's own come sorted, modules where there was room. */
	qsort(r->places.items, r->places.len, sizeof(*r->places.items), by_ip);
	*ret = r;
	return 0;
}

void ftrace_records_release(struct ftrace_records *r)
{
	if (!r)
		return;
	vector_free(&r->places);
	free(r);
}

u32 ftrace_records_number(const struct ftrace_records *r, u64 function)
{
	size_t low = 0, high = r->places.len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->places.items[middle].ip < function)
			low = middle + 1;
		else
			high = middle;
	}
	return low < r->places.len && r->places.items[low].ip - function < MAX_OFFSET
		       ? r->places.items[low].number
		       : 0;
}
