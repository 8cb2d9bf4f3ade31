/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on the events of a recording, whose kinds have different fields of different types: a
 * name is looked up in each event. What an event does not have makes a comparison neither true nor
 * false, and an event passes only if the whole is true. A recording has numbers with fractions,
 * too; a word that is no field is text to compare with, as the label of an enum (kind == READ). The
 * short spelling FIELD=VALUE, FIELD!=VALUE takes the value as it stands, * and ? allowed.
 */
#ifndef PANTRACE_LANG_PREDICATE_RECORDED_H
#define PANTRACE_LANG_PREDICATE_RECORDED_H

#include "lang/predicate/predicate.h"
#include "trace/field_value.h"

/* Parses a condition; NULL with a diagnostic at the place. In the arena of the diag. */
const struct expr *predicate_recorded(struct diag *d, const char *text);

/*
 * The value of a name: of the event's field, or else, unless only a field is meant, of a variable
 * (comm, pid, tid, cpu).
 */
typedef struct field_value predicate_lookup(void *arg, const char *name, bool only_field);
bool predicate_holds(const struct expr *e, predicate_lookup *lookup, void *arg);
/* Calls fn for each name that is used as a field or variable. */
void predicate_names(const struct expr *e, void (*fn)(void *arg, const char *name), void *arg);

#endif
