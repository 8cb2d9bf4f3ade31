/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one model of C types and of the language's own types. BTF, DWARF, tracefs
 * format files, definitions in scripts and CTF metadata all become struct type; the
 * compiler, the printers and the writers know no other.
 *
 * Types are immutable once handed out, live in the arena of their type_store, and are compared by
 * type_equal() (structure) - pointer equality is only a shortcut. Typedefs, const, volatile and
 * restrict are resolved away by the readers (a typedef's name is kept in `alias` for printing).
 * Members of structs are filled in on first use through type_complete().
 */
#ifndef PANTRACE_TYPES_TYPE_H
#define PANTRACE_TYPES_TYPE_H

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/strbuf.h"

enum type_kind {
	TYPE_NONE, /* no value: a statement-like call; a map without key */
	TYPE_VOID,
	TYPE_INT, /* size 1, 2, 4, 8 (16 only as a struct member); is_signed */
	TYPE_BOOL, /* size 1 */
	TYPE_FLOAT, /* only as a struct member or argument: printable, no arithmetic */
	TYPE_ENUM, /* an integer with names; size, is_signed */
	TYPE_POINTER, /* to `element`; `space` says whose memory */
	TYPE_ARRAY, /* `count` x `element`; count 0 = flexible */
	TYPE_STRUCT, /* members with offsets */
	TYPE_UNION,
	TYPE_FUNCTION, /* only behind a pointer */
	/* The language's own values. Layouts as they stand in maps and records: */
	TYPE_STRING, /* char[size], NUL-terminated and zero-padded */
	TYPE_BUFFER, /* u32 length, then size - 4 bytes */
	TYPE_TUPLE, /* members "0", "1", ... with C alignment */
	TYPE_RECORD, /* named members, with C alignment */
	TYPE_KSTACK, /* u64 id of the stack map (hash of the frames; 0 = no stack); size 8 */
	TYPE_USTACK, /* u64 id, u32 tgid, u32 tid; size 16 */
	TYPE_KSYM, /* u64 address; size 8 */
	TYPE_USYM, /* u64 address, u32 tgid, u32 tid; size 16 */
	TYPE_INET, /* u32 family (AF_INET 2, AF_INET6 10), u8 address[16]; size 20 */
	TYPE_MAC, /* u8 address[6]; size 8 */
	/*
	 * u64 ns, u32 index of the strftime format, u32 clock (CLOCK_BOOTTIME, CLOCK_TAI ...); size
	 * 16
	 */
	TYPE_TIMESTAMP,
	TYPE_CGROUP_PATH, /* u64 cgroup id, u32 index of the filter pattern, u32 pad; size 16 */
	TYPE_STRERROR, /* u64 errno; size 8: prints strerror() */
	TYPE_ERRNO_NAME, /* u64 errno; size 8: prints ENOENT, 0 if there was none */
	TYPE_USERNAME, /* u64 uid; size 8 */
	TYPE_PROBE_NAME, /* u64 index into script.probe_names; size 8: the `probe` builtin */
	TYPE_SYSCALL_NAME, /* u64 nr; size 8 */
	TYPE_SIGNAL_NAME, /* u64 nr; size 8 */
	/*
	 * u64 index of a name among the strings; size 8: prints this line of /proc/meminfo, in MB
	 */
	TYPE_MEMINFO,
	/*
	 * u64 dev_t of the kernel (12 bits of major, 20 of minor); size 8: prints "sda", else "8,0"
	 */
	TYPE_DISK_NAME,
	TYPE_NOTE, /* size 0: `name` is printed for a value that a record cannot hold */
	/* Aggregations: only as the value of a map. Per-CPU layout: */
	TYPE_COUNT, /* u64 */
	TYPE_SUM, /* u64/s64 total */
	TYPE_MIN, /* u64/s64 value, u64 is_set */
	TYPE_MAX,
	TYPE_AVG, /* s64 total, u64 count */
	TYPE_STATS, /* s64 total, u64 count */
	TYPE_STDDEV, /* s64 total, u64 count, u64 low, u64 high: 128 bits of the sum of squares */
	TYPE_HIST, /* one element per bucket: key ++ u64 bucket -> u64 count; see hist_bits */
	TYPE_LHIST, /* the same; lhist_{min,max,step} */
	TYPE_LLHIST, /* the same; struct llhist below, packed into lhist_{min,max,step} */
	/*
	 * one element per interval, as hist: s64/u64 value, u64 meta, u64 number of the interval;
	 * struct tseries below
	 */
	TYPE_TSERIES,
	TYPE_KIND_COUNT
};

/* The address space that a pointer points into, or that a value lies in. */
enum address_space {
	SPACE_UNKNOWN, /* decided at run time by the address (bit 63: kernel) */
	SPACE_KERNEL, /* read by bpf_probe_read_kernel */
	SPACE_USER, /* read by bpf_probe_read_user */
	SPACE_CONTEXT, /* the program's context: direct loads at constant offsets */
	/* our own memory (stack, map value, ring-buffer record): direct loads and stores */
	SPACE_BPF,
	/* a kernel pointer that the verifier knows (iterators, BTF arguments): direct loads */
	SPACE_TRUSTED,
};

struct type;
struct type_store;

struct type_member {
	const char *name; /* NULL: anonymous struct or union */
	const struct type *type;
	u32 offset; /* bytes; of the storage unit for bit-fields */
	/* bit-fields: bits to shift right after loading the unit at `offset` (little endian) */
	u8 bit_offset;
	u8 bit_size; /* 0 = not a bit-field */
	/* tracefs __data_loc / __rel_loc: u32 (length << 16 | offset) points to the value */
	bool is_data_loc;
	bool is_rel_loc;
	bool is_user; /* a pointer to user memory (syscall arguments) */
};

struct type_enumerator {
	const char *name;
	s64 value;
};

struct type {
	enum type_kind kind;
	u32 size; /* bytes; 0 for incomplete or void */
	u32 align; /* bytes; 0 = size's natural */
	bool is_signed;
	/*
	 * TYPE_INT: 1 = the values include a constant above INT64_MAX, -1 = they include a negative
	 * one. No type can hold both; equal types may differ in this.
	 */
	s8 extreme;
	bool is_complete; /* members filled in */
	bool is_percpu_pointer; /* __percpu */
	bool is_variadic; /* TYPE_FUNCTION: more arguments than members may follow */
	bool is_char; /* TYPE_INT of size 1 that is C `char`: char * and char[] print as text */
	u8 hist_bits; /* TYPE_HIST: k of hist(n, k) */
	u8 stack_mode; /* TYPE_KSTACK/TYPE_USTACK: enum stack_mode */
	u16 stack_depth; /* frames to print */
	enum address_space space; /* TYPE_POINTER */
	/* tag of struct, union, enum; C spelling of an integer ("unsigned int") */
	const char *name;
	const char *alias; /* name of the typedef that led to it, or NULL */
	const struct type *element; /* pointee, array element, function's return type */
	u32 count; /* array elements; members; enumerators; function parameters */
	const struct type_member *members; /* also function parameters */
	const struct type_enumerator *enumerators;
	s64 lhist_min, lhist_max, lhist_step;
	/* How to fill in the members later; NULL when complete. Returns 0 or -errno. */
	int (*complete)(struct type_store *store, struct type *type);
	/* for complete(): BTF type id (module in the upper half), DWARF offset ... */
	u64 source_id;
};

enum stack_mode { STACK_BPFTRACE, STACK_PERF, STACK_RAW, STACK_BUILD_ID };

/*
 * Owns types and their names; one per compilation. Sources (BTF, ...) attach themselves by a
 * callback.
 */
struct type_store {
	struct arena arena;
	/*
	 * "struct task_struct", "enum foo", "typedef_name" -> struct type * (script definitions and
	 * cache)
	 */
	struct hashmap named;
	struct hashmap derived; /* canonical pointers, arrays, ints */
	/*
	 * Looks a name up outside the script (BTF ...): "struct x", "union x", "enum x" or a bare
	 * typedef name. Returns NULL if unknown. Set by btf_attach(); NULL = no source.
	 */
	struct type *(*lookup)(struct type_store *store, const char *name);
	/*
	 * The value of an enumerator anywhere (e.g. TCP_ESTABLISHED). Returns its enum type or
	 * NULL.
	 */
	const struct type *(*lookup_enumerator)(struct type_store *store, const char *name,
						s64 *ret_value);
	void *source; /* of the two callbacks */
};

void type_store_init(struct type_store *store);
void type_store_release(struct type_store *store);

/* Constructors; results are shared, do not modify. */
const struct type *type_none(void);
const struct type *type_void(void);
const struct type *type_bool(void);
const struct type *type_int(u32 size, bool is_signed); /* s8 ... u64 */
/* type of such a constant: signed if -1, else u64 */
const struct type *type_int_extreme(u32 size, s8 extreme);
const struct type *type_char(void);
const struct type *type_simple(enum type_kind kind); /* the fixed-size language types above */
const struct type *type_pointer(struct type_store *s, const struct type *to,
				enum address_space space);
const struct type *type_array(struct type_store *s, const struct type *element, u32 count);
const struct type *type_note(struct type_store *s, const char *text); /* "<optimised out>" */
const struct type *type_string(struct type_store *s, u32 size); /* size includes the NUL */
const struct type *type_buffer(struct type_store *s, u32 data_size);
const struct type *type_tuple(struct type_store *s, const struct type *const *types, u32 count);
const struct type *type_record(struct type_store *s, const char *const *names,
			       const struct type *const *types, u32 count);
const struct type *type_stack(struct type_store *s, bool user, enum stack_mode mode, u16 depth);
const struct type *type_hist(struct type_store *s, u8 bits);
const struct type *type_lhist(struct type_store *s, s64 min, s64 max, s64 step);
/* Log-linear histograms (type_llhist.c). base^(high + 1) must fit 63 bits. */
struct llhist {
	u32 base, low, high, steps;
};
/*
 * One order of magnitude: [from, to) in `buckets` parts of `width`, numbered from first_bucket on.
 */
struct llhist_order {
	u64 from, to, width;
	u32 first_bucket, buckets;
};
const struct type *type_llhist(struct type_store *s, const struct llhist *h);
struct llhist type_llhist_of(const struct type *t);
void llhist_begin(const struct llhist *h, struct llhist_order *o); /* the order `low` */
void llhist_next(const struct llhist *h, struct llhist_order *o);
void llhist_measure(const struct llhist *h, struct llhist_order *o);
u32 llhist_buckets(const struct llhist *h);
/* False: the bucket has no lower bound (the first one), or there is no such bucket. */
bool llhist_lower_bound(const struct llhist *h, u32 bucket, s64 *ret);
/*
 * Time series: values by interval of the clock, the last `count` intervals. meta of an element:
 * when the value was stored (last), how many there were (avg), whether there is one (min, max).
 */
enum tseries_how { TSERIES_LAST, TSERIES_AVG, TSERIES_MAX, TSERIES_MIN, TSERIES_SUM };
struct tseries {
	u64 interval_ns;
	u32 count;
	enum tseries_how how;
	bool is_signed;
};
#define TSERIES_ELEMENT_SIZE 24
const struct type *type_tseries(struct type_store *s, const struct tseries *ts);
struct tseries type_tseries_of(const struct type *t);
/* A new mutable type for a reader to fill in. */
struct type *type_new(struct type_store *s, enum type_kind kind);

/*
 * By spelling: "struct task_struct", "int32", "uint64_t", "unsigned long", "char", "size_t",
 * "string"; no '*' or '[]'. NULL if unknown.
 */
const struct type *type_named(struct type_store *s, const char *name);
/* Fills in members/enumerators unless they are already read. Returns 0 or -errno. */
int type_complete(struct type_store *s, const struct type *t);
/*
 * Finds a member by name, also inside anonymous structs and unions. On success *ret_offset is the
 * byte offset from the start of t (the member's own offset included). NULL if there is none.
 */
const struct type_member *type_find_member(struct type_store *s, const struct type *t,
					   const char *name, u32 *ret_offset);
const struct type *type_find_enumerator(struct type_store *s, const char *name, s64 *ret_value);
/* The name of a value of an enum type, or NULL. */
const char *type_enumerator_name(struct type_store *s, const struct type *t, s64 value);

bool type_equal(const struct type *a, const struct type *b);
u32 type_align(const struct type *t);
/*
 * As the language spells it: "uint64", "struct task_struct *", "string[64]", "(int64,string[16])".
 */
void type_format(struct strbuf *out, const struct type *t);
const char *type_str(struct arena *a, const struct type *t);

static inline bool type_is(const struct type *t, enum type_kind k)
{
	return t->kind == k;
}
/* Integer-like in arithmetic: int, bool, enum. */
static inline bool type_is_integer(const struct type *t)
{
	return t->kind == TYPE_INT || t->kind == TYPE_ENUM || t->kind == TYPE_BOOL;
}
static inline bool type_is_aggregation(const struct type *t)
{
	return t->kind >= TYPE_COUNT && t->kind <= TYPE_TSERIES;
}
/* Counts by bucket. */
static inline bool type_is_histogram(const struct type *t)
{
	return t->kind == TYPE_HIST || t->kind == TYPE_LHIST || t->kind == TYPE_LLHIST;
}
/* A map of these has one element per key and bucket. */
static inline bool type_is_bucketed(const struct type *t)
{
	return type_is_histogram(t) || t->kind == TYPE_TSERIES;
}
static inline bool type_is_record(const struct type *t) /* has members with offsets */
{
	return t->kind == TYPE_STRUCT || t->kind == TYPE_UNION || t->kind == TYPE_TUPLE ||
	       t->kind == TYPE_RECORD;
}
/*
 * Fits a register as a value: integers, enum, bool, pointer, and the 8-byte language types held by
 * value.
 */
bool type_is_scalar(const struct type *t);

#endif
