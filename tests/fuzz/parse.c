/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a script: no crash, and a failure always has a message. */
#include "base/strbuf.h"
#include "lang/parse.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const char *const positional[] = {"1", "x:y"};
	const struct parse_options options = {
		.positional = positional, .npositional = 2, .have_btf = true};
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
	diag_release(&diag);
	type_store_release(&types);
	arena_release(&arena);
	free(text);
	return 0;
}
