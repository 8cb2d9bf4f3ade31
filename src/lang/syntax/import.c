/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * import "x.bt", "x.h", "directory": relative to the script that it stands in, each file once. At
 * the top level the file is read at that place, so that its #defines hold from there on; imports
 * within a block are read behind the script.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "lang/syntax/internal.h"

#define IMPORT_MAX_ENTRIES 256

static bool ends_with(const char *s, const char *end)
{
	const size_t n = strlen(s), m = strlen(end);

	return n >= m && str_eq(s + n - m, end);
}

static const char *resolve(struct parser *p, const struct import *import)
{
	const char *self = p->diag->sources.items[import->span.file].name;
	const char *slash = strrchr(self, '/');

	if (*import->path == '/' || !slash)
		return import->path;
	return arena_printf(p->arena, "%.*s%s", (int)(slash - self) + 1, self, import->path);
}

/* What everybody may write to could be changed by anybody, and this runs as root. */
static bool is_safe(struct parser *p, const struct import *import, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dir = !slash	  ? "."
			  : slash == path ? "/"
					  : arena_strndup(p->arena, path, slash - path);
	struct stat file, folder;

	if (stat(path, &file) < 0) {
		parse_error(p, import->span, "error reading import '%s': %s", path,
			    strerror(errno));
		return false;
	}
	if (!(file.st_mode & S_IWOTH) && stat(dir, &folder) == 0 && !(folder.st_mode & S_IWOTH))
		return true;
	parse_error(
		p, import->span,
		"cowardly refusing to import from a directory with global write permissions: '%s'",
		path);
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A script of imports, one for each file of the directory that can be imported. */
static void import_directory(struct parser *p, const struct import *import, const char *path)
{
	struct strbuf text = STRBUF_INIT;
	VECTOR(char *) names = {0};
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if ((ends_with(entry->d_name, ".bt") || ends_with(entry->d_name, ".h")) &&
		    !strpbrk(entry->d_name, "\"\\\n"))
			vector_push(&names, xstrdup(entry->d_name));
	if (dir)
		closedir(dir);
	if (names.len > IMPORT_MAX_ENTRIES)
		parse_error(p, import->span, "'%s' has %zu files to import, more than %d", path,
			    names.len, IMPORT_MAX_ENTRIES);
	if (names.len)
		qsort(names.items, names.len, sizeof(*names.items), by_name);
	for (size_t i = 0; i < names.len; i++) {
		strbuf_addf(&text, "import \"%s\";\n", names.items[i]);
		free(names.items[i]);
	}
	vector_free(&names);
	if (!p->failed)
		preprocess_open_text(&p->pp, import->span,
				     arena_printf(p->arena, "%s/imports", path), text.data,
				     text.len);
	strbuf_release(&text);
}

/* What was read already; the script itself is, too. */
static bool is_new_file(struct parser *p, const char *path)
{
	char *real = realpath(path, NULL);
	const char *name = real ? real : path;
	bool is_new;

	hashmap_put(&p->imported, name, strlen(name), &is_new);
	free(real);
	return is_new;
}

void parse_import_file(struct parser *p, const struct import *import)
{
	const bool packed = p->pp.options->input.files != NULL;
	const char *path = resolve(p, import);
	struct stat st;

	if (!packed && !is_safe(p, import, path))
		return;
	is_new_file(p, p->diag->sources.items[p->file].name);
	if (!is_new_file(p, path))
		return;
	if (packed &&
	    preprocess_open(&p->pp, import->span, arena_printf(p->arena, "%s/imports", path)))
		return;
	if (!packed && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		import_directory(p, import, path);
		return;
	}
	if (!ends_with(path, ".bt") && !ends_with(path, ".h")) {
		parse_error(p, import->span, "unknown file type of import: '%s'", path);
		diag_hint(p->diag,
			  ends_with(path, ".c") || ends_with(path, ".o")
				  ? "compiled C cannot be imported; declarations can, from a file "
				    "named .h"
				  : "scripts (.bt), declarations of C (.h) and directories of them "
				    "can be imported");
		return;
	}
	if (!preprocess_open(&p->pp, import->span, path))
		parse_error(p, import->span, "error reading import '%s': %s", path,
			    strerror(errno));
	p->failed |= p->pp.failed;
}

bool parse_is_script_file(const struct parser *p, u16 file)
{
	const char *name = p->diag->sources.items[file].name;

	return file == p->file || ends_with(name, ".bt") || ends_with(name, "/imports");
}
