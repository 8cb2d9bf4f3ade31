/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the tree and may replace nodes. */
#ifndef PANTRACE_LANG_SYNTAX_AST_WALK_H
#define PANTRACE_LANG_SYNTAX_AST_WALK_H

#include "lang/syntax/ast.h"

#define AST_MAX_HEIGHT 1000 /* far above LANG_MAX_DEPTH, which the parser keeps */

struct ast_walk {
	/* Called with the address of each expression; descends by ast_walk_children(). */
	void (*expr)(struct ast_walk *w, struct expr **slot);
	/* The same for statements; NULL = always descend. */
	void (*stmt)(struct ast_walk *w, struct stmt **slot);
	bool skip_types; /* expressions within the names of types are left out */
	u32 depth;
};

void ast_walk_children(struct ast_walk *w, struct expr *e);
void ast_walk_stmt(struct ast_walk *w, struct stmt *s);
void ast_walk_block(struct ast_walk *w, struct block *b);

#endif
