/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as a script, through the whole compiler: lexer, parser, checker, lowering, register
 * allocation, instructions. No crash, no endless loop, and a failure always has a message. Nothing
 * is loaded or attached.
 */
#include "kernel/kernel.h"
#include "lang/script.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static const char *const positional[] = {"1", "--name=x", "text"};
	static struct kernel *kernel; /* its features are asked once: they are system calls */
	struct arena arena = ARENA_INIT;
	struct diag diag = DIAG_INIT;
	struct type_store types;
	struct script script = {0};
	struct probe_env env = {
		.types = &types, .arena = &arena, .diag = &diag, .max_probes = 16, .unsafe = true};
	struct compile_options options = {
		.env = &env, .input = {.positional = positional, .npositional = 3}, .unsafe = true};
	char *text = xstrndup((const char *)data, size);

	if (!kernel)
		kernel = kernel_new();
	env.kernel = kernel;
	options.features = *kernel_features(kernel);
	type_store_init(&types);
	env.btf = btf_attach(&types, NULL);
	if (script_compile(&arena, diag_add_source(&diag, "fuzz", text, strlen(text)), &options,
			   &script) &&
	    !diag.errors)
		abort();
	script_release(&script);
	probe_env_release(&env);
	btf_release(env.btf);
	type_store_release(&types);
	diag_release(&diag);
	arena_release(&arena);
	free(text);
	return 0;
}
