/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph as a page. Its data, read by view/page/flame.js (numbers and texts as page.h has
 * them):
 *
 *	unit, flags (1: a comparison)
 *	how many names, the names
 *	how many frames; each, depth first: name * 8 + kind, how many levels up from a child of the
 *	frame before, self weight, and of a comparison the old one
 */
#include <stdlib.h>

#include "base/escape.h"
#include "base/vector.h"
#include "view/flame/flame.h"
#include "view/page/page.h"

#define TABLE_ROWS 500

/* A function: all frames of one name. */
struct function {
	u32 name; /* its number in the data */
	const struct flame_node *node; /* one of them, for its name */
	u64 self, total; /* total: outermost frames only */
	u32 kinds; /* bits */
	size_t outer; /* its last outermost frame; 0 = none */
};

/* The page numbers names in order of appearance. */
struct numbers {
	u32 *of; /* by the tree's number, + 1 */
	VECTOR(struct function) functions;
};

static u32 most_names(const struct flame_node *nodes, size_t n)
{
	u32 most = 0;

	for (size_t i = 0; i < n; i++)
		most = MAX(most, nodes[i].name);
	return most;
}

/* Is node OUTER an ancestor of node I? */
static bool is_above(const struct flame_node *nodes, const size_t *path, size_t outer, size_t i)
{
	return outer && nodes[outer].depth < nodes[i].depth && path[nodes[outer].depth] == outer;
}

static void count_functions(const struct flame *f, struct numbers *numbers)
{
	size_t n;
	const struct flame_node *nodes = flame_nodes(f, &n);
	size_t *const path = xzalloc((flame_depth(f) + 1) * sizeof(*path)); /* to the node */

	numbers->of = xzalloc((most_names(nodes, n) + 1) * sizeof(*numbers->of));
	for (size_t i = 0; i < n; i++) {
		u32 *number = &numbers->of[nodes[i].name];
		struct function *function;

		if (!*number) {
			*number = (u32)numbers->functions.len + 1;
			vector_push(&numbers->functions,
				    (struct function){.name = *number - 1, .node = &nodes[i]});
		}
		function = &numbers->functions.items[*number - 1];
		function->self += nodes[i].self[FLAME_NEW];
		function->kinds |= 1u << nodes[i].kind;
		path[nodes[i].depth] = i;
		if (!is_above(nodes, path, function->outer, i)) {
			function->total += nodes[i].total[FLAME_NEW];
			function->outer = i;
		}
	}
	free(path);
}

static void add_data(const struct flame *f, const char *unit, const struct numbers *numbers,
		     struct strbuf *data)
{
	const bool compares = flame_is_comparison(f);
	u32 depth = 0;
	size_t n, len;
	const struct flame_node *nodes = flame_nodes(f, &n);

	page_add_text(data, unit, strlen(unit));
	strbuf_add_leb128(data, compares);
	strbuf_add_leb128(data, numbers->functions.len);
	for (size_t i = 0; i < numbers->functions.len; i++) {
		const char *name = flame_name(f, numbers->functions.items[i].node, &len);

		page_add_text(data, name, len);
	}
	strbuf_add_leb128(data, n);
	for (size_t i = 0; i < n; i++) {
		strbuf_add_leb128(data, (u64)(numbers->of[nodes[i].name] - 1) * 8 + nodes[i].kind);
		strbuf_add_leb128(data, i ? depth + 1 - nodes[i].depth : 0);
		strbuf_add_leb128(data, nodes[i].self[FLAME_NEW]);
		if (compares)
			strbuf_add_leb128(data, nodes[i].self[FLAME_OLD]);
		depth = nodes[i].depth;
	}
}

static void numbers_release(struct numbers *numbers)
{
	free(numbers->of);
	vector_free(&numbers->functions);
}

void flame_page_data(const struct flame *f, const char *unit, struct strbuf *data)
{
	struct numbers numbers = {0};

	count_functions(f, &numbers);
	add_data(f, unit, &numbers, data);
	numbers_release(&numbers);
}

/* ---- the table ---- */

static int by_self(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (int)(x->name > y->name) - (int)(x->name < y->name);
}

/* "kernel"; "kernel, library" if functions of both have this name */
static void add_kinds(u32 kinds, struct strbuf *out)
{
	static const char *const names[FLAME_KINDS] = {
		[FLAME_OTHER] = "",	   [FLAME_USER] = "program",	[FLAME_LIBRARY] = "library",
		[FLAME_KERNEL] = "kernel", [FLAME_INLINED] = "inlined", [FLAME_COMPILED] = "JIT"};
	bool is_first = true;

	strbuf_addstr(out, "<td>");
	for (u32 kind = FLAME_USER; kind < FLAME_KINDS; kind++) {
		if (!(kinds >> kind & 1))
			continue;
		strbuf_addf(out, "%s%s", is_first ? "" : ", ", names[kind]);
		is_first = false;
	}
	strbuf_addstr(out, "</td>");
}

static void add_row(const struct flame *f, const struct function *function, u64 all,
		    struct strbuf *out)
{
	size_t len;
	const char *name = flame_name(f, function->node, &len);

	strbuf_addf(out, "<tr data-name=\"%u\"><td>", function->name);
	escape_xml(out, name, len);
	strbuf_addf(out, "</td><td>%llu</td><td data-value=\"%.6f\">%.2f%%</td>",
		    (unsigned long long)function->self,
		    all ? (double)function->self / (double)all : 0,
		    all ? 100.0 * (double)function->self / (double)all : 0);
	strbuf_addf(out, "<td>%llu</td><td data-value=\"%.6f\">%.2f%%</td>",
		    (unsigned long long)function->total,
		    all ? (double)function->total / (double)all : 0,
		    all ? 100.0 * (double)function->total / (double)all : 0);
	add_kinds(function->kinds, out);
	strbuf_addstr(out, "</tr>\n");
}

static void add_table(const struct flame *f, const struct flame_options *o, struct numbers *numbers,
		      struct strbuf *out)
{
	size_t n, rows = numbers->functions.len - 1; /* without all */
	const u64 all = flame_nodes(f, &n)->total[FLAME_NEW];
	struct function *functions = numbers->functions.items + 1;

	qsort(functions, rows, sizeof(*functions), by_self);
	strbuf_addstr(out, "<h2>Functions</h2>\n");
	if (rows > TABLE_ROWS)
		strbuf_addf(out, "<p class=\"soft\">The first %d of %zu, by their own %s.</p>\n",
			    TABLE_ROWS, rows, o->unit);
	strbuf_addf(out,
		    "<div class=\"scroll\"><table><thead><tr><th>Function</th><th>Own %s</th>"
		    "<th>Own share</th><th>With callees</th><th>Share</th><th>Kind</th></tr>"
		    "</thead><tbody>\n",
		    o->unit);
	for (size_t i = 0; i < rows && i < TABLE_ROWS; i++)
		add_row(f, &functions[i], all, out);
	strbuf_addstr(out, "</tbody></table></div>\n");
}

void flame_page(const struct flame *f, const struct flame_options *o, struct strbuf *out)
{
	struct page page = PAGE_INIT("flame", o->title);
	struct numbers numbers = {0};

	count_functions(f, &numbers);
	add_data(f, o->unit, &numbers, &page.data);
	add_table(f, o, &numbers, &page.table);
	flame_svg(f, o, &page.still);
	page_write(&page, out);
	numbers_release(&numbers);
}
