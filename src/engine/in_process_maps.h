/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps that traced programs count into by themselves (lang/check/in_process.h): their counts are
 * added to those in the kernel's map whenever the map is read. Programs in the kernel may count
 * into the same map.
 */
#ifndef PANTRACE_ENGINE_IN_PROCESS_MAPS_H
#define PANTRACE_ENGINE_IN_PROCESS_MAPS_H

#include "engine/maps.h"

struct engine;

/*
 * Sends the predicates of probes that run in the kernel to the traced programs, which evaluate them
 * first. Called before the probes are attached.
 */
void in_process_filters(struct engine *e);
/* Programs begin to count. 0 or -errno with a diagnostic. */
int in_process_begin(struct engine *e);
void in_process_stop(struct engine *e);
void in_process_end(struct engine *e);

/*
 * Adds the processes' elements to those of the kernel. take: they are taken out in the same step.
 */
void in_process_merge(const struct open_map *m, bool take, struct map_elements *e);
/* Adds what the processes have for a key of the kernel's map. False: they have nothing. */
bool in_process_lookup(const struct open_map *m, const void *key, void *value);
void in_process_clear(struct open_map *m, bool is_zero);
void in_process_delete(const struct open_map *m, const void *key);
/*
 * Between the two, readings return what there was at freeze, and clearing does nothing: it has been
 * done.
 */
void in_process_freeze(struct open_map *m, bool is_zero);
void in_process_thaw(struct open_map *m);
/* What was not counted, as lines at the end. */
void in_process_report(struct engine *e);

#endif
