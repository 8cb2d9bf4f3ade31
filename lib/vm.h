/* SPDX-License-Identifier: MIT */
/*
 * Filters run in the traced process: eBPF (RFC 9669) whose context is the event. A program is
 * checked when it is loaded, and every access to memory again when it runs: whatever the bytecode,
 * it reads nothing but the event and writes nothing but its own stack and scratch memory. The
 * instructions that there are stand in one table, vm_ops.h.
 *
 * r1 is the context: PT_VM_SLOTS words of 64 bits. Word i is field i of the event: an integer
 * extended to 64 bits, a float or double as a double, the address of a string, text, sequence or
 * array. Word PT_VM_LENGTHS + i is the bytes of a string or text, the elements of a sequence or
 * array, else 0. Fields are counted as in event records, without the marks of structures.
 *
 * An image: struct pt_vm_image, then the instructions. LD_IMM64 with src_reg 1 is map 0, an array
 * of one value of scratch_size bytes; it and the stack begin with anything.
 */
#ifndef PANTRACE_LIB_VM_H
#define PANTRACE_LIB_VM_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PT_VM_MAGIC   0x4d565450u /* "PTVM" */
#define PT_VM_VERSION 1
#define PT_VM_SLOTS   32
#define PT_VM_LENGTHS 16
#define PT_VM_INSNS   4096 /* at most */
#define PT_VM_SCRATCH 4096 /* bytes, at most */
#define PT_VM_TEXTS   1024 /* bytes of the texts of an event that have an end */
#define PT_VM_STEPS   65536 /* instructions in one run */

/*
 * Helper: counts r3 under the key at r2 in map r1 of the session (aggregate.h); only where events
 * are counted.
 */
#define PT_VM_COUNT 0x7074
/* Helper: the bucket of r1 in a histogram by powers of two, each divided into 2^r2 buckets. */
#define PT_VM_BUCKET 0x7075

struct pt_vm_image {
	uint32_t magic;
	uint16_t version;
	uint16_t reserved;
	uint32_t nr_insns;
	uint32_t scratch_size;
};

/* Where the fields of an event are in its record (which begins with 12 bytes of time and id). */
struct pt_vm_field {
	uint16_t offset; /* from the record's begin; 0xffff: behind something of varying size */
	uint16_t count; /* of an array */
	uint8_t type; /* enum pantrace_type */
};

struct pt_vm_view {
	uint32_t nr;
	struct pt_vm_field field[PT_VM_LENGTHS];
};

/*
 * A program that accepts an event when a field at a fixed place is within a range (or is not):
 * decided by a load and a comparison.
 */
struct pt_vm_range {
	bool is_so;
	bool invert;
	uint8_t size; /* bytes: 1, 2, 4, 8 */
	bool is_signed;
	uint32_t offset; /* in the record */
	uint64_t low, span;
};

struct pt_vm; /* a loaded program; immutable */

/*
 * Checks IMAGE of SIZE bytes. 0; -EINVAL: not an image, or a bad instruction; -EPERM: what it would
 * do is not allowed; -EOPNOTSUPP: it asks for the time, which takes a system call here (clock.h);
 * -ENOMEM. *RET_AT (may be NULL) is the instruction that was refused.
 */
int pt_vm_load(const void *image, size_t size, struct pt_vm **ret, uint32_t *ret_at);
void pt_vm_unload(struct pt_vm *vm);
/* Whether VM is this image. */
bool pt_vm_same(const struct pt_vm *vm, const void *image, size_t size);

/* What the program returns; 1 when it goes on for too long or reads what is not there. */
uint64_t pt_vm_run(const struct pt_vm *vm, const struct pt_vm_view *view,
		   const unsigned char *record, size_t size);

struct pt_tables; /* aggregate.h */
/* Runs a program that counts; its return value is not used. */
void pt_vm_count(const struct pt_vm *vm, const struct pt_vm_view *view, const unsigned char *record,
		 size_t size, struct pt_tables *tables);
/* Whether it calls PT_VM_COUNT. */
bool pt_vm_aggregates(const struct pt_vm *vm);

/* Whether VM is such a program for events of VIEW. */
struct pt_vm_range pt_vm_range_of(const struct pt_vm *vm, const struct pt_vm_view *view);

static inline bool pt_vm_range_accepts(const struct pt_vm_range *r, const unsigned char *record)
{
	const unsigned char *const from = record + r->offset;
	uint64_t value;

	if (r->size == 4) {
		uint32_t x;

		__builtin_memcpy(&x, from, 4);
		value = r->is_signed ? (uint64_t)(int64_t)(int32_t)x : x;
	} else if (r->size == 8) {
		__builtin_memcpy(&value, from, 8);
	} else if (r->size == 2) {
		uint16_t x;

		__builtin_memcpy(&x, from, 2);
		value = r->is_signed ? (uint64_t)(int64_t)(int16_t)x : x;
	} else {
		value = r->is_signed ? (uint64_t)(int64_t)(int8_t)*from : *from;
	}
	return (value - r->low <= r->span) != r->invert;
}

/* The context of a record, as above. */
void pt_vm_context(const struct pt_vm_view *view, const unsigned char *record, size_t size,
		   uint64_t context[PT_VM_SLOTS]);
/*
 * Copies texts, whose length the record has, so that they end with a NUL as strings do; what does
 * not fit is cut.
 */
void pt_vm_end_texts(const struct pt_vm_view *view, uint64_t context[PT_VM_SLOTS],
		     char texts[PT_VM_TEXTS]);
/* The view of an event with these types (as in struct pantrace_event). */
void pt_vm_view_make(const unsigned char *types, struct pt_vm_view *ret);

#endif
