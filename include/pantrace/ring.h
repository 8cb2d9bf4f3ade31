/* SPDX-License-Identifier: MIT */
/*
 * The rings of one traced process: a file that the process writes and a tool reads, at the same
 * time or after the process is gone. This header is the specification; all values little endian.
 *
 *   0            struct pantrace_shm      constants of the session, written once
 *   meta_off     event records            append only, meta_used says how far (release store)
 *   ring_off     struct pantrace_ring     one a CPU (or a thread slot, PANTRACE_RINGS_PER_THREAD)
 *   data_off     sub-buffers              ring r, sub-buffer s: data_off + r*ring_size + s*sub_size
 *
 * A position counts the bytes written to a ring since its creation; position & (ring_size - 1) is
 * the place in the ring. A ring is empty while its position is 0. Otherwise the sub-buffer that is
 * being written is the one of (position - 1), and it holds events up to position, which is the
 * exact end of the last event; an event begins at the next multiple of 8.
 *
 * A sub-buffer is a CTF 1.8 packet: struct pantrace_packet, then events. timestamp_end,
 * content_size and events_discarded are valid once the writer has moved on; before that a reader
 * takes the position. An event is
 *
 *   0  u64 time stamp counter     8  u32 event id     12  fields, packed
 *
 * Publishing an event is one 16-byte store of {position, events}, the last instruction of an rseq
 * critical section: a process that is killed at any moment leaves whole events only.
 */
#ifndef PANTRACE_RING_H
#define PANTRACE_RING_H

#include <stdint.h>

#define PANTRACE_SHM_MAGIC	  0x45434152544e4150ull /* "PANTRACE" */
#define PANTRACE_SHM_VERSION	  2
#define PANTRACE_CTF_MAGIC	  0xc1fc1fc1u
#define PANTRACE_SESSION_NAME	  64 /* bytes, with the NUL */
#define PANTRACE_FIELDS		  64 /* of an event, with the members of structures */
#define PANTRACE_RINGS_PER_THREAD 1u /* flag: rings belong to threads, not to CPUs */

enum pantrace_mode {
	PANTRACE_DISCARD, /* a full ring loses the new event and counts it */
	PANTRACE_OVERWRITE, /* the oldest sub-buffer gives way */
	PANTRACE_BLOCK, /* as PANTRACE_DISCARD, after waiting up to block_us for the reader */
	PANTRACE_MODE_MAX,
	/* of sessions, not of rings: events are shown to scripts and not recorded */
	PANTRACE_SCRIPT,
	PANTRACE_AGGREGATE, /* likewise: events are counted (aggregate.h) */
};

/* Types of fields, as sites and event records carry them. */
enum pantrace_type {
	PANTRACE_T_END,
	PANTRACE_T_I8,
	PANTRACE_T_U8,
	PANTRACE_T_I16,
	PANTRACE_T_U16,
	PANTRACE_T_I32,
	PANTRACE_T_U32,
	PANTRACE_T_I64,
	PANTRACE_T_U64,
	PANTRACE_T_F32,
	PANTRACE_T_F64,
	PANTRACE_T_PTR, /* 8 bytes */
	PANTRACE_T_BOOL, /* 1 byte */
	PANTRACE_T_STRING, /* bytes up to and with a NUL */
	PANTRACE_T_TEXT, /* u16 length, that many bytes */
	PANTRACE_T_MAX,
	PANTRACE_T_STRUCT = 0x16, /* the fields up to its end are members; no bytes of its own */
	PANTRACE_T_STRUCT_END = 0x17,
	PANTRACE_T_GATE = 0x1f, /* in sites: PANTRACE_ENABLED, no event of its own */
	PANTRACE_T_SEQUENCE = 0x20, /* | element type (I8 .. F64): u16 count, that many elements */
	/* | I8 .. U64, BOOL: an integer with names; extra: "NAME=VALUE,..." */
	PANTRACE_T_ENUM = 0x40,
	PANTRACE_T_ARRAY = 0x60, /* | I8 .. BOOL: extra: the count; sites have it as two bytes */
	PANTRACE_T_KIND = 0x60, /* mask: SEQUENCE, ENUM, ARRAY, or none of them */
	PANTRACE_T_ELEMENT = 0x1f, /* mask: I8 .. */
	/* | I8 .. U64, or a sequence or an array of them: to be shown with base 16 */
	PANTRACE_T_HEX = 0x80,
};

/*
 * What every event of a session can carry besides its fields, packed between the id and the fields
 * in this order.
 */
enum pantrace_context {
	PANTRACE_CONTEXT_VPID, /* i32, in the process's pid namespace */
	PANTRACE_CONTEXT_VTID, /* i32 */
	PANTRACE_CONTEXT_PROCNAME, /* char[16], of the thread, NUL-padded */
	PANTRACE_CONTEXT_CPU_ID, /* u32; packets of rings of CPUs say it too */
	/* u64, of the thread since it is counted: doc/libpantrace.md */
	PANTRACE_CONTEXT_CONTEXT_SWITCHES,
	/* u64, of the thread since it is counted: doc/libpantrace.md */
	PANTRACE_CONTEXT_PAGE_FAULTS,
	PANTRACE_CONTEXT_IP, /* u64, behind the site */
	/* u16 count, u64 each: return addresses, innermost first */
	PANTRACE_CONTEXT_USER_STACK,
	PANTRACE_CONTEXT_MAX,
};

/* Whether a field of TYPE has a string behind its name in event records. */
static inline int pantrace_type_has_extra(unsigned char type)
{
	return (type & 0x40) != 0;
}

struct pantrace_shm {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t mode;
	uint32_t nr_rings;
	uint32_t sub_size; /* bytes, a power of two */
	uint32_t nr_subs; /* a power of two, at least 2 */
	uint64_t ring_off; /* bytes from the start of the file */
	uint64_t data_off;
	uint64_t meta_off;
	uint64_t meta_size;
	uint64_t meta_used;
	uint64_t file_size;
	uint64_t tsc_hz; /* ticks a second */
	uint64_t tsc_start; /* the same moment on three clocks */
	uint64_t monotonic_start_ns;
	uint64_t realtime_start_ns;
	uint64_t lost; /* events that found no ring */
	uint32_t pid;
	uint32_t parent; /* pid whose fork made this session, or 0 */
	uint8_t uuid[16];
	char comm[16];
	uint64_t contexts; /* a bit an enum pantrace_context: what stands between id and fields */
	uint32_t block_us; /* PANTRACE_BLOCK: the longest wait of one event */
	uint32_t
		/* that the session wants and that stay off: their code cannot be written */
		refused_sites;
	uint64_t pid_namespace; /* inode; 0: unknown */
	char session[PANTRACE_SESSION_NAME]; /* "" is the session that the program itself started */
	uint32_t refused_why; /* errno of the last of these sites */
	uint32_t refused_events; /* that stay off: there was no room for their records */
};

struct pantrace_ring {
	/* the writer's line; position and events change in one store */
	uint64_t position __attribute__((aligned(64)));
	uint64_t events; /* published since the ring was made */
	uint64_t lost; /* discarded since the ring was made */
	uint32_t owner; /* thread id, in rings of threads */
	uint32_t cpu; /* the number that packets carry */
	uint64_t last_tsc; /* at least that of the last event: a lower one may not follow */
	uint64_t vain; /* `consumed` + 1 when an event last waited in vain for room */
	uint64_t had; /* position up to which there is memory; all ones: everywhere */
	/* the reader's line */
	uint64_t consumed __attribute__((aligned(64))); /* position up to which a reader is done */
	uint32_t waiters; /* writers that wait for room: a futex that the reader wakes */
	uint32_t room; /* counts up when a reader has given room back to waiters: the futex */
};

struct pantrace_packet {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t timestamp_begin;
	uint64_t timestamp_end;
	uint64_t content_size; /* bits */
	uint64_t packet_size; /* bits */
	uint64_t packet_seq_num;
	uint64_t events_discarded; /* of the ring, up to the end of the packet */
	uint64_t events_before; /* published in this ring before the packet */
	uint32_t cpu_id;
	uint32_t reserved;
};

/*
 * In the meta area: provider, name (NUL-ended each), then per field its type (one byte), its name
 * and, of enums and arrays, what else there is to know (NUL-ended each). A structure is a field
 * before its members, with its name, and one of type PANTRACE_T_STRUCT_END, without a name, behind
 * them.
 */
struct pantrace_event_record {
	uint32_t size; /* of the record with its strings, a multiple of 8 */
	uint32_t id;
	uint32_t nr_fields; /* at most PANTRACE_FIELDS */
	uint32_t level; /* 0 (emergency) .. 14 (debug) */
	char strings[];
};

/* A record with id 0 is none of an event; nr_fields says what it is. */
enum pantrace_record {
	PANTRACE_RECORD_OBJECT = 1, /* struct pantrace_object_record */
};

/* An executable or library as it was mapped: what addresses in events are to be looked up in. */
struct pantrace_object_record {
	uint32_t size; /* of the record, a multiple of 8 */
	uint32_t id; /* 0 */
	uint32_t kind; /* PANTRACE_RECORD_OBJECT */
	uint32_t unloaded; /* 1: it is gone by tsc */
	uint64_t tsc; /* when the library saw it */
	uint64_t base; /* address - base is the address in the file's own numbering */
	uint64_t start, end; /* of its mappings */
	uint32_t build_id_size; /* bytes, at most 32 */
	uint8_t build_id[32];
	char path[]; /* NUL-ended */
};

#ifdef __cplusplus
static_assert(sizeof(struct pantrace_packet) == 88, "layout");
static_assert(sizeof(struct pantrace_ring) == 128, "layout");
#else
_Static_assert(sizeof(struct pantrace_packet) == 88, "layout");
_Static_assert(sizeof(struct pantrace_ring) == 128, "layout");
#endif

#endif
