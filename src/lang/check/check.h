/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The checker: names, types and sizes. It works on one *unit* (a probe body for one layout of
 * context) at a time, but map types are shared by the whole script, so passes over all units repeat
 * until nothing changes any more; only the last pass reports errors about things that were still
 * unknown.
 */
#ifndef PANTRACE_LANG_CHECK_CHECK_H
#define PANTRACE_LANG_CHECK_CHECK_H

#include "lang/builtin/builtin.h"
#include "lang/script.h"

struct variable_symbol {
	const char *name;
	const struct type *type; /* NULL until the first assignment is seen */
	enum address_space space;
	struct span span;
	bool is_declared; /* let */
	bool is_parameter; /* of a function of the script */
	bool is_assigned; /* so far in this pass, as the script is written */
	bool is_typed; /* let $x : type */
	bool is_loop; /* assigned by a for statement: read-only */
	/* used inside a for-map/bpf_loop callback but declared outside: lives in a slot */
	bool is_captured;
	bool is_bound; /* a condition that ends a while depends on it */
	u32 scope_depth;
	u32 callback_depth; /* of the declaration */
	/* used outside the block of its first assignment (older scripts): starts as 0 */
	bool is_leaked;
	bool is_visible; /* check.c: its block is open */
	/* [lower] */
	u32 slot; /* +1; 0 = in a register */
	u32 reg;
	void *annotation;
};

struct map_symbol {
	const char *name;
	struct span span; /* first use */
	/* NULL until known; TYPE_NONE = scalar; several keys: TYPE_TUPLE */
	const struct type *key;
	bool key_is_list;
	const struct type *value; /* NULL until known */
	u32 declared_type, declared_size; /* let @m = hash(N): BPF_MAP_TYPE_*; 0 = not declared */
	u32 index; /* [plan] into script.maps */
	bool is_written, is_read;
	bool is_default; /* no assignment tells its type: it holds numbers, from 0 on */
	bool has_other_keys; /* than the function that is traced, of the kernel */
	bool is_taken; /* [plan] a print clears it in the same step */
	bool is_iterated; /* [plan] for, len: programs walk over all of it */
	u32 programs; /* [plan] how many programs update it: with 1 plain additions suffice */
	const void *last_unit; /* [plan] */
	struct expr *aggregation; /* the first hist/lhist call, for its constants */
};

/* One body to be compiled: a probe for one context layout, or a subprogram. */
struct unit {
	struct probe *probe; /* syntax */
	struct expr *predicate; /* this unit's own copy */
	struct block *body;
	struct probe_context context;
	struct probe_target **targets;
	u32 ntargets;
	bool probe_is_text; /* `probe` is a string: the unit has one target */
	bool uses_args, uses_probe, uses_function, uses_stack; /* [check] */
	bool speculates; /* [check] calls speculate() */
	bool uses_context; /* [lower] lower_context() was called: the context is read */
	/* [check] a loop runs as a callback: variables are shared through memory */
	bool has_callbacks;
	VECTOR(struct variable_symbol *) variables; /* every one, in order of declaration */
	struct subprogram *subprogram; /* or NULL */
	/*
	 * [session] The returns of the same functions, part of this unit's program; NULL = none.
	 * bpf_session_is_return() tells them: its id in BTF, and how many arguments it takes.
	 */
	struct unit *returns;
	u32 session_call, session_arguments;
	bool is_joined; /* [session] it is the `returns` of another unit */
	/*
	 * for the kernel, of a probe that runs in the traced process if possible (lower_choose())
	 */
	bool is_spare;
	/* [session] from the cookie that the program gets to the one of this unit's target */
	u32 cookie_offset;
};

static inline const struct probe_provider *unit_provider(const struct unit *u)
{
	return probe_provider_of(u->targets, u->ntargets);
}

/* An option of the script that getopt() asks for. */
struct named_option {
	/* the default as text; description may be NULL */
	const char *name, *otherwise, *description;
};

struct check {
	struct script *script;
	const struct compile_options *options;
	struct arena *arena;
	struct type_store *types;
	struct diag *diag;
	struct hashmap maps; /* name -> struct map_symbol */
	VECTOR(struct unit *) units;
	struct unit *unit; /* being checked */
	bool changed; /* this pass learnt something new */
	bool final; /* errors are reported */
	u32 loop_depth, callback_depth;
	/*
	 * how often the verifier walks what is being checked: the product of the rounds of the
	 * loops around it
	 */
	u64 loop_rounds;
	struct block *function; /* inlined function being checked */
	bool failed; /* an error was reported */
	bool said; /* the last message was reported: a hint may follow */
	struct map_symbol *assign_map; /* `@m = f()`: the map while f is checked, else NULL */
	void *scopes; /* check.c's own */
	/* inside of sizeof, offsetof, typeof or typeinfo: only the type matters */
	u32 unevaluated;
	VECTOR(struct named_option) named_options; /* that the script asks for */
};

/* Annotates all units. Returns 0 or -EINVAL with diagnostics. */
int check_units(struct check *c);
/*
 * Refuses options of the command line that no getopt() asks for. Returns 0 or -EINVAL with
 * diagnostics.
 */
int check_options(struct check *c);

/* For check callbacks of builtins. */
/* sets e->type; TYPE_NONE after an error or while unknown (e->type == NULL never) */
void check_expr(struct check *c, struct expr *e);
/* reported in the final pass only */
void check_error(struct check *c, struct span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void check_hint(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
void check_hint_nearest(struct check *c, const char *word, const char *const *candidates, size_t n);
/* once */
void check_warning(struct check *c, struct span at, const char *fmt, ...) PRINTF_LIKE(3, 4);
/*
 * True if e has a type by now; in the final pass an unknown type is an error that this reports
 * ("Undefined or undeclared ...").
 */
bool check_known(struct check *c, struct expr *e);
/* A compile-time integer (literal, folded expression, positional parameter). */
bool check_constant(struct expr *e, s64 *ret);
/* "int", "string", "pointer" ...: as upstream's messages call a kind of type. */
const char *check_kind_text(struct check *c, const struct type *t);
/* The n-th argument must be ...; false + error if not. */
bool check_arg_integer(struct check *c, struct expr *call, u32 n);
bool check_arg_pointer_or_integer(struct check *c, struct expr *call, u32 n);
bool check_arg_literal_string(struct check *c, struct expr *call, u32 n);
bool check_arg_constant(struct check *c, struct expr *call, u32 n, s64 *ret);
/*
 * The n-th argument must be a map (without key); returns its symbol (made on first sight) or NULL +
 * error.
 */
struct map_symbol *check_arg_map(struct check *c, struct expr *call, u32 n);
struct map_symbol *check_map_symbol(struct check *c, const char *name, struct span at);
/*
 * Unifies a map's key/value type with a use; error on mismatch. args: the key expressions (nargs 0
 * = scalar use).
 */
void check_map_key(struct check *c, struct map_symbol *m, struct expr *const *args, u32 nargs,
		   struct span at);
void check_map_value(struct check *c, struct map_symbol *m, const struct type *value,
		     struct span at);
/* "char *", "struct task_struct **", ... of the syntax; NULL + error. */
const struct type *check_type_name(struct check *c, const struct type_name *n);

#endif
