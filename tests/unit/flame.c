/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flame graphs: the tree against sums made by hand, in any order of stacks; depth and size. */
#include "view/flame/flame.h"

#include <stdlib.h>

#include "tap.h"

static const struct flame_options options = {.title = "t", .unit = "samples", .min_width = 0.1};

/* "main;a;b" */
static bool add(struct flame *f, const char *stack, u64 weight, enum flame_side side)
{
	struct flame_frame frames[16];
	size_t n = 0;

	for (const char *s = stack; *s; n++) {
		const size_t len = strcspn(s, ";");

		frames[n] = (struct flame_frame){flame_name_number(f, s, len), FLAME_USER};
		s += len + (s[len] == ';');
	}
	return flame_add(f, frames, n, weight, side);
}

/* "all 6(0) a 4(1) ...": in order, with totals and own weights */
static void shape(const struct flame *f, struct strbuf *out)
{
	size_t n, len;
	const struct flame_node *nodes = flame_nodes(f, &n);

	strbuf_reset(out);
	for (size_t i = 0; i < n; i++) {
		const char *name = flame_name(f, &nodes[i], &len);

		strbuf_addf(out, "%s%u:%.*s=%llu(%llu)@%llu", i ? " " : "", nodes[i].depth,
			    (int)len, name, (unsigned long long)nodes[i].total[FLAME_NEW],
			    (unsigned long long)nodes[i].self[FLAME_NEW],
			    (unsigned long long)nodes[i].start);
	}
}

static void test_tree(void)
{
	static const char *const stacks[] = {"m;a;b", "m;a", "m;c", "m;a;b", "n", ""};
	struct strbuf text = STRBUF_INIT;

	for (u32 turn = 0; turn < 2; turn++) {
		struct flame *f = flame_new();

		for (u32 i = 0; i < ARRAY_SIZE(stacks); i++) {
			const u32 at = turn ? (u32)ARRAY_SIZE(stacks) - 1 - i : i;

			add(f, stacks[at], at + 1, FLAME_NEW);
		}
		flame_finish(f);
		shape(f, &text);
		is_str(text.data,
		       "0:all=21(6)@0 1:m=10(0)@6 2:a=7(2)@6 3:b=5(5)@8 2:c=3(3)@13 1:n=5(5)@16",
		       turn ? "the same, whatever the order" : "a tree");
		is_int(flame_depth(f), 3, "its depth");
		flame_release(f);
	}
	strbuf_release(&text);
}

static void test_sums(void)
{
	struct flame *f = flame_new();
	struct strbuf text = STRBUF_INIT;

	ok(add(f, "a", UINT64_MAX - 1, FLAME_NEW) && add(f, "b", 1, FLAME_NEW), "up to 2^64 - 1");
	ok(!add(f, "a", 1, FLAME_NEW), "no further");
	flame_finish(f);
	flame_text(f, &options, &text);
	ok(strstr(text.data, "18446744073709551615  all") != NULL, "the sum, exactly");
	flame_release(f);
	strbuf_release(&text);
}

static void test_empty(void)
{
	struct flame *f = flame_new();
	struct strbuf text = STRBUF_INIT;

	flame_finish(f);
	flame_svg(f, &options, &text);
	ok(strstr(text.data, "no samples") != NULL, "SVG of nothing says so");
	strbuf_reset(&text);
	flame_text(f, &options, &text);
	ok(strstr(text.data, "no samples") != NULL, "text, too");
	strbuf_reset(&text);
	flame_page(f, &options, &text);
	ok(strstr(text.data, "</html>") != NULL, "a page");
	flame_release(f);
	strbuf_release(&text);
}

static void test_deep(void)
{
	enum { DEPTH = 4000 };
	struct flame *f = flame_new();
	struct flame_frame *frames = xzalloc(DEPTH * sizeof(*frames));
	struct strbuf text = STRBUF_INIT;

	for (u32 i = 0; i < DEPTH; i++)
		frames[i] = (struct flame_frame){
			.name = flame_name_number(f, i & 1 ? "even" : "odd", i & 1 ? 4 : 3)};
	ok(flame_add(f, frames, DEPTH, 1, FLAME_NEW), "4,000 frames");
	flame_finish(f);
	is_int(flame_depth(f), DEPTH, "are as deep");
	flame_svg(f, &options, &text);
	flame_text(f, &options, &text);
	flame_page(f, &options, &text);
	ok(strstr(text.data, "</html>") != NULL, "and are drawn");
	flame_release(f);
	free(frames);
	strbuf_release(&text);
}

static void test_comparison(void)
{
	struct flame *f = flame_new();
	struct strbuf text = STRBUF_INIT;
	const struct flame_node *nodes;
	size_t n;

	add(f, "a", 30, FLAME_OLD);
	add(f, "b", 10, FLAME_OLD);
	add(f, "b", 4, FLAME_NEW);
	flame_finish(f);
	nodes = flame_nodes(f, &n);
	flame_describe(f, &nodes[1], &options, &text);
	is_str(text.data, "0 samples, 0.00%; -75.00%", "what has gone");
	ok((flame_colour(f, &nodes[1]) & 0xff) == 0xf0, "is blue");
	strbuf_reset(&text);
	flame_describe(f, &nodes[2], &options, &text);
	is_str(text.data, "4 samples, 100.00%; +75.00%", "what has grown");
	ok(flame_colour(f, &nodes[2]) >> 16 == 0xf0, "is red");
	flame_release(f);
	strbuf_release(&text);
}

int main(void)
{
	test_tree();
	test_sums();
	test_empty();
	test_deep();
	test_comparison();
	return tap_done();
}
