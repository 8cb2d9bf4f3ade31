/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a script: no crash, and a failure always has a message. What can be laid out means
 * the same then and stays as it is the second time.
 */
#include "base/strbuf.h"
#include "lang/fmt/script.h"
#include "lang/syntax/parse.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/*
 * What is too deep for the parser with all its parentheses is refused; anything else that is not
 * laid out has an error.
 */
static bool is_failure(const struct diag_message *m)
{
	return m->span.begin == NO_SPAN.begin && !strstr(m->text, "deep");
}

static int lay_out(const char *text, size_t len, struct strbuf *out)
{
	struct diag diag = DIAG_INIT;
	const int err = script_format(&diag, diag_add_source(&diag, "fuzz", text, len), out);

	if (err && (!diag.errors || is_failure(&diag.messages.items[0])))
		abort();
	diag_release(&diag);
	return err;
}

static void lay_out_twice(const char *text)
{
	struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;

	if (!lay_out(text, strlen(text), &once) &&
	    (lay_out(once.data, once.len, &twice) || once.len != twice.len ||
	     memcmp(once.data, twice.data, once.len) != 0))
		abort();
	strbuf_release(&once);
	strbuf_release(&twice);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const char *const positional[] = {"1", "x:y"};
	const struct parse_options options = {.input = {.positional = positional, .npositional = 2},
					      .have_btf = true};
	struct arena arena = ARENA_INIT;
	struct diag diag = DIAG_INIT;
	struct type_store types;
	struct ast ast;
	char *text = xstrndup((const char *)data, size);

	type_store_init(&types);
	if (parse_script(&arena, &types, &diag, diag_add_source(&diag, "fuzz", text, strlen(text)),
			 &options, &ast) == 0) {
		struct strbuf dump = STRBUF_INIT;

		ast_dump(&dump, &ast, false);
		for (u32 i = 0; i < ast.nprobes; i++)
			ast_clone_block(&arena, ast.probes[i].body);
		strbuf_release(&dump);
	} else if (!diag.errors) {
		abort();
	}
	lay_out_twice(text);
	diag_release(&diag);
	type_store_release(&types);
	arena_release(&arena);
	free(text);
	return 0;
}
