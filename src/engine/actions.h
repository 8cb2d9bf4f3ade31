/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out what one record requests (print, exit, clear ...). Only for src/engine. */
#ifndef PANTRACE_ENGINE_ACTIONS_H
#define PANTRACE_ENGINE_ACTIONS_H

#include "engine/engine.h"

struct record {
	const struct action *action;
	const u8 *payload; /* holds action->payload->size bytes, zero-padded */
	u32 used; /* bytes that were sent */
	const struct action *next; /* of the record after it, NULL = unknown */
};

/* False if the record's action does not exist (no program of ours sends such a record). */
bool action_perform(struct engine *e, const struct record *r);

/* Member n of the payload as a number; 0 if there is none. */
u64 record_u64(const struct record *r, u32 member);
/* The text, or {"type": TYPE, "data": "text"}; is_foreign: escaped for the terminal. */
void action_text(struct engine *e, const char *type, const char *s, size_t n, bool is_foreign);
/*
 * Begins to print a value; the caller writes it to the medium returned. Text: on a line of its own.
 * JSON: in {"type": "value", "data": ...
 */
struct medium action_value_begin(struct engine *e, struct json *j);
void action_value_end(const struct medium *to);
/* {"type": TYPE, "count": n, "data": {WHAT: n}} */
void action_json_count(struct engine *e, const char *type, const char *what, u64 n);
/* All three. */
void action_print_value(struct engine *e, const struct type *t, const u8 *value);
/* Prints the diagnostics to stderr at once, after what standard output has buffered. */
void action_print_diagnostics(struct engine *e);

/* ---- map_actions.c ---- */
void do_print_map(struct engine *e, const struct record *r);
void do_print_map_key(struct engine *e, const struct record *r);
void do_clear(struct engine *e, const struct record *r);
void do_zero(struct engine *e, const struct record *r);
void do_table(struct engine *e, const struct record *r);
void do_trunc(struct engine *e, const struct record *r);
void do_normalize(struct engine *e, const struct record *r);
void do_sort(struct engine *e, const struct record *r);
void engine_map_failed(struct engine *e, const struct open_map *m, const char *what, int err);

/* ---- speculate.c ---- */
void do_commit(struct engine *e, const struct record *r);
void do_discard(struct engine *e, const struct record *r);

/* ---- printa.c ---- */
void do_printa(struct engine *e, const struct record *r);

#endif
