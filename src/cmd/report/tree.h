/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events counted along paths of names: what --top and --calls make their tables of. An event counts
 * in each row of its path; a node is a path's end.
 */
#ifndef PANTRACE_CMD_REPORT_TREE_H
#define PANTRACE_CMD_REPORT_TREE_H

#include "base/hashmap.h"
#include "cmd/report/analysis.h"
#include "view/quantiles.h"

#define TREE_DEPTH_MAX (TABLE_KEYS + 256) /* deeper frames count in those around them */

struct tree_node {
	struct tree_node *parent; /* NULL = the root */
	const char *name;
	u32 depth; /* the node's key; NULL for the root */
	u64 count, weight; /* including its children and callees */
	u64 self_count, self_weight;
	u64 last_event; /* last event that was added: recursion counts once */
	struct quantiles *values; /* --sum */
	VECTOR(struct tree_node *) children; /* set by tree_table() */
	u32 number;
};

struct tree {
	struct arena arena;
	struct tree_node root;
	struct hashmap nodes; /* key: u32 number of the parent, name */
	u32 nr_nodes;
	struct strbuf key;
	bool has_values; /* percentiles of the weights are wanted */
	bool is_too_large; /* a weight, or a sum of them */
};

void tree_begin(struct tree *t);
void tree_release(struct tree *t);
struct tree_node *tree_child(struct tree *t, struct tree_node *parent, const char *name,
			     size_t len);
/* Event number EVENT (from 1 on) ends its path there. */
void tree_count(struct tree *t, struct tree_node *n, u64 event, u64 weight, bool is_self);
/* Is the node, or one around it, the one of these names (depth + 1)? */
bool tree_is_within(const struct tree_node *n, const char *const *names, u32 depth);

/* How the table is made. */
struct tree_table {
	const struct analysis_request *request; /* which columns, percent_limit */
	bool is_weighed; /* weights are no mere counts */
	bool by_weight; /* shares and order are of weights */
	bool has_events; /* rows of depth 0 are kinds of events, each a whole of its own */
};

/* Adds the rows and sets columns and main; keys are the caller's. Once. */
void tree_table(struct tree *t, const struct tree_table *how, struct report_table *ret);

#endif
