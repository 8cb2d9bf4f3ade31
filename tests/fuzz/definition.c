/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Definitions of probes: any text as what ftrace's probe_events take, up to the words that the
 * kernel would be told, as the same of `hist -e`, up to the words of the language, and as what
 * `probe` takes. The kernel is told nothing.
 */
#include "probe/definition/definition.c"
#include "cmd/hist/definition.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static struct elf_file *own_file(void)
{
	static struct elf_file *f;

	if (!f && elf_file_open("/proc/self/exe", &f))
		abort();
	return f;
}

static void for_ftrace(const char *text, bool is_user)
{
	const struct definition_request request = {.text = text, .is_user = is_user};
	struct tracefs_command command = TRACEFS_COMMAND_INIT;
	struct definition_result result = {0};
	struct diag d = DIAG_INIT;
	struct definition f = {.diag = &d, .request = &request, .result = &result};
	struct argument_place place = {
		.diag = &d, .is_user = is_user, .file = is_user ? own_file() : NULL};
	struct probe_request r = {0};
	const char *parts[8];

	f.file = diag_add_source(&d, "definition", text, strlen(text));
	if (!parse(&f)) {
		place.is_return = f.is_return;
		for (size_t i = f.first_argument; i < f.words.list.len; i++) {
			place.at_entry = i & 1;
			definition_argument(&place, &f.words.list.items[i], &command);
		}
		if (!is_user)
			kernel_request(&f, &r, parts);
	}
	tracefs_command_release(&command);
	vector_free(&f.words.list);
	arena_release(&f.arena);
	diag_release(&d);
}

/* As `perf probe` has them. */
static void for_probe(const char *text)
{
	struct point_definition def;
	struct diag d = DIAG_INIT;
	struct arena a = ARENA_INIT;

	if (!point_parse(&a, &d, text, &def) && def.point.pattern)
		point_pattern_matches(def.point.pattern, text);
	point_definition_release(&def);
	arena_release(&a);
	diag_release(&d);
}

static void for_language(const char *text)
{
	struct hist_definition def;
	struct type_store types;
	struct diag d = DIAG_INIT;
	struct arena a = ARENA_INIT;

	type_store_init(&types);
	hist_definition_parse(&a, &d, &types, text, true, &def);
	type_store_release(&types);
	arena_release(&a);
	diag_release(&d);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	char *text = xstrndup((const char *)data, len);

	for_ftrace(text, true);
	for_ftrace(text, false);
	for_language(text);
	for_probe(text);
	free(text);
	return 0;
}
