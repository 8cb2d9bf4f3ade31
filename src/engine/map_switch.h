/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_ENGINE_MAP_SWITCH_H
#define PANTRACE_ENGINE_MAP_SWITCH_H

#include "engine/engine.h"

/* A MAP_SWITCH that was just created: its user map is the one in use. */
int map_switch_init(struct engine *e, u32 index);
/*
 * Called when everything is detached: no program updates the maps any more, so that they can be
 * taken without a switch.
 */
void map_switch_rest(struct engine *e);
/*
 * Was the request being handled sent before the map was last taken? Then there is nothing left to
 * report.
 */
bool map_switch_is_answered(const struct engine *e, const struct open_map *m);
/*
 * Reads a user map and empties it (is_zero: its keys stay), without losing or repeating an update
 * if the map has a switch.
 */
int engine_take_map(struct engine *e, u32 index, bool is_zero, struct map_view *ret);

#endif
