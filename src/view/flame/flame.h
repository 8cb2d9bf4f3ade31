/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flame graphs: stacks with weights, merged into a tree of frames, drawn as a page of HTML, as SVG,
 * or as text.
 *
 *	struct flame *f = flame_new();
 *	frames[0].name = flame_name_number(f, "main", 4);
 *	flame_add(f, frames, n, 1, FLAME_NEW);	// any number of stacks, outermost frame first
 *	flame_finish(f);
 *	flame_svg(f, &options, out);
 *
 * With weights of FLAME_OLD, too, it is a comparison: widths are those of FLAME_NEW, colours tell
 * what became more and what less.
 */
#ifndef PANTRACE_VIEW_FLAME_FLAME_H
#define PANTRACE_VIEW_FLAME_FLAME_H

#include "base/strbuf.h"
#include "view/terminal/colour.h"

enum flame_kind {
	FLAME_OTHER, /* a process, a thread, or a frame of unknown kind */
	FLAME_USER,
	FLAME_LIBRARY,
	FLAME_KERNEL,
	FLAME_INLINED,
	FLAME_COMPILED, /* by a JIT */
	FLAME_KINDS
};

struct flame_frame {
	u32 name; /* flame_name_number() */
	enum flame_kind kind;
};

enum flame_side { FLAME_NEW, FLAME_OLD, FLAME_SIDES };

/* A frame of the finished tree; they stand in order, a parent before what it called. */
struct flame_node {
	u32 name; /* see flame_name() */
	u32 depth; /* 0 = all */
	u8 kind;
	u64 self[FLAME_SIDES]; /* weight of the stacks that end in this frame */
	u64 total[FLAME_SIDES]; /* weight of the stacks that contain this frame */
	u64 start; /* weight (FLAME_NEW) of everything to its left */
};

struct flame;

struct flame_options {
	const char *title;
	const char *unit; /* "samples" */
	bool icicle; /* the root on top */
	double min_width; /* in pixels; what is narrower is left out of SVG */
	u32 columns; /* of text */
	enum colours colours; /* of text */
};

struct flame *flame_new(void);
void flame_release(struct flame *f);
/* Of any bytes, which are copied; the same for the same name. */
u32 flame_name_number(struct flame *f, const char *name, size_t len);
/* False: the sum of all weights does not fit 64 bits; nothing was added. */
bool flame_add(struct flame *f, const struct flame_frame *frames, size_t n, u64 weight,
	       enum flame_side side);
/* The number of the stack that was added before: the same for the same frames. */
u32 flame_last(const struct flame *f);
/* Puts frames into order, by name. Nothing may be added then. */
void flame_finish(struct flame *f);

/* ---- of a finished one ---- */

const struct flame_node *flame_nodes(const struct flame *f, size_t *ret_n);
const char *flame_name(const struct flame *f, const struct flame_node *node, size_t *ret_len);
/* The index of the node in which a stack ends: a number that flame_last() gave. */
u32 flame_node_of_stack(const struct flame *f, u32 stack);
/* Were stacks of FLAME_OLD added? */
bool flame_is_comparison(const struct flame *f);
u32 flame_depth(const struct flame *f); /* depth of the deepest frame */

/* "12,345 samples, 6.78%": of its parent's root, and what it was before */
void flame_describe(const struct flame *f, const struct flame_node *node,
		    const struct flame_options *options, struct strbuf *out);
/* 0xrrggbb, the same for the same name. */
u32 flame_colour(const struct flame *f, const struct flame_node *node);

/* What a page's script reads as a tree (page.c has the layout). */
void flame_page_data(const struct flame *f, const char *unit, struct strbuf *data);
void flame_svg(const struct flame *f, const struct flame_options *options, struct strbuf *out);
void flame_text(const struct flame *f, const struct flame_options *options, struct strbuf *out);
void flame_page(const struct flame *f, const struct flame_options *options, struct strbuf *out);

#endif
