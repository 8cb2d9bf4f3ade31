/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checked tree -> IR. lower.c drives; lang/lower/expr.c, lang/lower/stmt.c, lang/lower/map.c,
 * lang/lower/memory.c and the builtins do the work.
 *
 * A value is one of:
 *	VALUE_NONE       nothing
 *	VALUE_REGISTER   a scalar in a virtual register (always extended to 64 bits according to its
 *                       type)
 *	VALUE_CONSTANT   a scalar known now
 *	VALUE_MEMORY     an aggregate (string, tuple, struct, array, stack ...) at reg + offset in
 *                       `space`. SPACE_BPF can be loaded directly; SPACE_KERNEL/USER/UNKNOWN must
 *                       be read by a helper; SPACE_CONTEXT and SPACE_TRUSTED by direct loads at
 *                       constant offsets.
 *
 * Errors in lowering are internal (the checker should have refused) or limits; report with
 * lower_error(), never assert.
 */
#ifndef PANTRACE_LANG_LOWER_LOWER_H
#define PANTRACE_LANG_LOWER_LOWER_H

#include "lang/check/check.h"
#include "lang/ir/ir.h"

enum value_kind { VALUE_NONE, VALUE_REGISTER, VALUE_CONSTANT, VALUE_MEMORY };

struct value {
	enum value_kind kind;
	const struct type *type;
	ir_reg reg;
	s64 constant; /* VALUE_CONSTANT; VALUE_MEMORY: byte offset from reg */
	enum address_space space;
	/*
	 * TYPE_STRING/TYPE_BUFFER in SPACE_BPF: register with the number of bytes in use (NUL
	 * included), 0 = unknown. Lets records be short.
	 */
	ir_reg length;
	/* TYPE_STRING: bytes after the NUL are known to be zero (needed for keys and map values) */
	bool is_zero_padded;
	/* A bit-field of SPACE_* memory not loaded yet: see type_member. bit_size 0 = none. */
	u8 bit_offset, bit_size;
};

struct lower {
	struct check *check;
	struct script *script;
	struct arena *arena;
	struct type_store *types;
	struct diag *diag;
	struct unit *unit;
	const struct kernel_features *features;
	struct script_program *program;
	struct ir_program *ir;
	struct ir_function *f; /* being built */
	ir_reg context; /* in the main function; 0 in callbacks (see lower_context()) */
	u32 break_block, continue_block; /* of the innermost loop in this function */
	bool in_callback;
	u32 return_block;
	/* of the inlined function being lowered: its returns go there; 0 = none */
	u32 function_end;
	bool failed;
	/*
	 * While the builtin of `@m[k] = count()` is lowered: the map assigned to and its key
	 * expressions (nargs 0 = scalar). The aggregation builds the key by lower_map_key(l,
	 * l->assign_map, l->assign_keys, l->assign_nkeys, call->span) after its own arguments are
	 * evaluated. NULL elsewhere.
	 */
	struct map_symbol *assign_map;
	struct expr *const *assign_keys;
	u32 assign_nkeys;
	void *private; /* lower.c's own */
};

/*
 * Of the units of probes that may run in the traced process, keeps those for there if all of a
 * probe can, else the spare ones. Returns 0.
 */
int lower_choose(struct check *c, struct script *script);
/* All programs of the script: IR, then code. */
int lower_script(struct check *c, struct script *script);

/* ---- for builtins and each other ---- */
void lower_error(struct lower *l, struct span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void lower_expr(struct lower *l, struct expr *e, struct value *ret);
void lower_block(struct lower *l, struct block *b);
void lower_stmt(struct lower *l, struct stmt *s);
/*
 * The value of e in a register (constants materialised; scalars in memory are read by their space).
 */
ir_reg lower_scalar(struct lower *l, struct expr *e);
ir_reg lower_to_register(struct lower *l, const struct value *v);
struct value value_register(const struct type *t, ir_reg r);
struct value value_constant(const struct type *t, s64 c);
struct value value_memory(const struct type *t, ir_reg base, s64 offset, enum address_space space);
/* The saved registers / context of the probe, also inside callbacks. */
ir_reg lower_context(struct lower *l);
/* Reads one argument by its location into a register. */
ir_reg lower_location(struct lower *l, const struct location *loc);
/* The same as a value of type t, which may be an aggregate. */
struct value lower_located(struct lower *l, const struct location *loc, const struct type *t);

/* Memory. */
/* A slot for a value of this type, address in *ret_addr; not zeroed. */
u32 lower_slot(struct lower *l, const struct type *t, const char *label, ir_reg *ret_addr);
/*
 * probe_read_{kernel,user} size bytes from address `from` + offset into dst; on failure the bytes
 * are zero (the helper does that). Returns the helper's result.
 */
ir_reg lower_read(struct lower *l, ir_reg dst, s64 dst_offset, u32 size, ir_reg from,
		  s64 from_offset, enum address_space space);
/*
 * probe_read_*_str, at most size bytes with NUL. Returns the length with NUL or a negative error.
 */
ir_reg lower_read_string(struct lower *l, ir_reg dst, s64 dst_offset, u32 size, ir_reg from,
			 enum address_space space);
/* The same two with a size in a register, which the caller has bounded for the verifier. */
ir_reg lower_read_sized(struct lower *l, ir_reg dst, ir_reg size, ir_reg from,
			enum address_space space);
ir_reg lower_read_string_sized(struct lower *l, ir_reg dst, ir_reg size, ir_reg from,
			       enum address_space space);
/*
 * Copies/converts v into memory that holds a value of type `to` (C layout of type.h): integers are
 * truncated or extended, strings zero-padded or cut, remote structs read, tuples member by member.
 * dst is directly addressable.
 */
void lower_store_value(struct lower *l, ir_reg dst, s64 dst_offset, const struct type *to,
		       const struct value *v, struct span at);
/*
 * Makes sure that v is in directly addressable memory, zero-padded to the size of its type; returns
 * its address value.
 */
struct value lower_materialise(struct lower *l, const struct value *v, struct span at);
/*
 * A bounded loop: for (i = 0; i < count; i++) body. Used by builtins
 * for strings and arrays.
 */
struct lower_loop {
	u32 head, body, end, next;
	ir_reg index;
};
void lower_loop_begin(struct lower *l, struct lower_loop *loop, ir_reg count, u32 max_count);
void lower_loop_end(struct lower *l, struct lower_loop *loop);

/* Maps. */
/*
 * Address of the key of map m built from args (NULL-terminated semantics: nargs 0 = scalar) in a
 * slot. For bucketed maps room for the u64 bucket follows at offset lower_bucket_offset(m).
 */
ir_reg lower_map_key(struct lower *l, struct map_symbol *m, struct expr *const *args, u32 nargs,
		     struct span at);
u32 lower_bucket_offset(const struct map_symbol *m);
/* Lookup; dst = address or 0. */
ir_reg lower_map_lookup(struct lower *l, struct map_symbol *m, ir_reg key);
/*
 * Address of the element, created with zeros if absent; when the map is full counts LOST_MAP_FULL,
 * reports and jumps to `otherwise`.
 */
ir_reg lower_map_element(struct lower *l, struct map_symbol *m, ir_reg key, u32 otherwise,
			 struct span at);
/* The index of the map in script.maps for helpers. */
ir_reg lower_map_address(struct lower *l, u32 map);
/* The map itself for helpers: of a map with a switch (script.h) the generation in use. */
ir_reg lower_map_pointer(struct lower *l, const struct map_symbol *m);
/*
 * Adds to a u64 of a per-CPU or shared element: atomically where another program might interrupt us
 * (see map_symbol.programs).
 */
void lower_add(struct lower *l, struct map_symbol *m, ir_reg element, s64 offset, ir_reg amount);

/*
 * The element's value as `m`'s language type: aggregations are summed over the CPUs into a scalar,
 * absent = 0 or zeroes.
 */
void lower_map_read(struct lower *l, struct map_symbol *m, ir_reg key, struct value *ret,
		    struct span at);
/* Stores v (converted to m->value) under key. */
void lower_map_write(struct lower *l, struct map_symbol *m, ir_reg key, const struct value *v,
		     struct span at);
/* Deletes the element (zeroes a scalar map); result of the helper, 0 = it was there. */
ir_reg lower_map_delete(struct lower *l, struct map_symbol *m, ir_reg key);

/*
 * Compares n bytes of directly addressable memory: a register that is 1 if equal, else 0. Both must
 * be 8-aligned when n is a multiple of 8.
 */
ir_reg lower_compare_memory(struct lower *l, ir_reg a, s64 a_offset, ir_reg b, s64 b_offset,
			    u32 size);
/*
 * 1 if two strings are equal up to the NUL, at most `limit` bytes (0 = no limit); sizes may differ.
 */
ir_reg lower_compare_strings(struct lower *l, const struct value *a, const struct value *b,
			     u32 limit, struct span at);

/* Output records. */
/*
 * Sends action with these payload values (types as in action->payload's members, in order). One
 * call does everything: room in the ring buffer or scratch, header, members, tail string cut to its
 * length, counting LOST_EVENTS when the buffer is full.
 */
void lower_send(struct lower *l, u32 action, const struct value *values, u32 nvalues,
		struct span at);
/*
 * Adds an action; its payload is made from the types (has_tail: the last string or buffer is put at
 * the end, see script.h). Returns its index.
 */
u32 lower_action(struct lower *l, enum action_kind kind, const struct type *const *types,
		 u32 ntypes, struct span at);
/*
 * After a helper that may fail: if result < 0, send ACTION_HELPER_ERROR (only when the user asked
 * with -k; else nothing).
 */
/* it did */
void lower_helper_failed(struct lower *l, u32 helper, const struct value *result, struct span at);
/* Says once per event that something went wrong at `at`. */
void lower_runtime_error(struct lower *l, const char *message, struct span at);
void lower_helper_error(struct lower *l, u32 helper, ir_reg result, struct span at);

#endif
