/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file an #include reads. A script looks beside itself and in -I directories, then where
 * headers of the system are: those of the running kernel (/lib/modules/RELEASE, as packages of
 * kernel headers install them), what the compiler itself would bring (predefined.h), /usr/include.
 * Headers of /usr/include see only each other.
 */
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "lang/syntax/predefined.h"
#include "lang/syntax/preprocess_macro.h"

#if defined(__x86_64__)
#define KERNEL_ARCH "x86"
#define TRIPLET	    "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define KERNEL_ARCH "arm64"
#define TRIPLET	    "aarch64-linux-gnu"
#else
#define KERNEL_ARCH "generic"
#define TRIPLET	    "linux-gnu"
#endif

static const char *const user_directories[] = {"/usr/local/include", ("/usr/include/" TRIPLET),
					       "/usr/include"};

static void fail(struct preprocessor *pp)
{
	pp->failed = true;
}

/* ---- files ---- */

/* Counts an opened file: false if there are too many. */
static bool count_file(struct preprocessor *pp, struct span at, bool is_system)
{
	const int depth = is_system ? PREPROCESS_MAX_DEPTH : PREPROCESS_MAX_INCLUDES,
		  files = is_system ? PREPROCESS_MAX_HEADERS : PREPROCESS_MAX_FILES;
	u32 *opened = is_system ? &pp->headers : &pp->opened;

	if (pp->files.len < (size_t)depth && ++*opened <= (u32)files)
		return true;
	diag_error(pp->diag, at, "#include is nested too deeply (limit %d, %d files in all)", depth,
		   files);
	fail(pp);
	return false;
}

bool preprocess_open_text(struct preprocessor *pp, struct span at, const char *name,
			  const char *text, size_t len)
{
	const char *copy;

	if (!count_file(pp, at, false))
		return true;
	copy = arena_strndup(&pp->diag->arena, text, len);
	vector_push(&pp->files,
		    lexer_of(pp->arena, pp->diag,
			     diag_add_source(pp->diag, arena_strdup(&pp->diag->arena, name), copy,
					     len)));
	return true;
}

/* The text of a file, of the system or of a script that brings its files along. 0 or -errno. */
static int read_text(struct preprocessor *pp, const char *path, const char **ret, size_t *ret_len)
{
	char *text;
	int err;

	for (u32 i = 0; i < pp->options->input.nfiles; i++)
		if (str_eq(pp->options->input.files[i].name, path)) {
			*ret = pp->options->input.files[i].text;
			*ret_len = strlen(*ret);
			return 0;
		}
	if (pp->options->input.files)
		return -ENOENT;
	err = file_read(path, LANG_MAX_SOURCE, &text, ret_len);
	if (err < 0)
		return err;
	*ret = arena_strndup(&pp->diag->arena, text, *ret_len);
	free(text);
	return 0;
}

static bool is_absent(int err)
{
	return err == -ENOENT || err == -ENOTDIR || err == -EISDIR;
}

/* 1: read; 0: there is no such file; -errno with a diagnostic. */
static int read_file(struct preprocessor *pp, struct span at, const char *path,
		     const char **ret_text, size_t *ret_len)
{
	const int err = read_text(pp, path, ret_text, ret_len);

	if (is_absent(err))
		return 0;
	if (!err)
		return 1;
	diag_error(pp->diag, at, "cannot read '%s': %s", path, strerror(-err));
	fail(pp);
	return err;
}

bool preprocess_open(struct preprocessor *pp, struct span at, const char *path)
{
	const char *text;
	size_t len;
	const int read = read_file(pp, at, path, &text, &len);

	return read > 0 ? preprocess_open_text(pp, at, path, text, len) : read < 0;
}

const struct included_file *preprocess_included(const struct preprocessor *pp, u16 source)
{
	return source < pp->by_source.len ? pp->by_source.items[source] : NULL;
}

bool preprocess_is_system(const struct preprocessor *pp, u16 source)
{
	const struct included_file *f = preprocess_included(pp, source);

	return f && f->is_system;
}

void preprocess_once(struct preprocessor *pp)
{
	const u16 source = preprocess_file(pp)->file;

	if (preprocess_included(pp, source))
		pp->by_source.items[source]->once = true;
}

void preprocess_leave_file(struct preprocessor *pp)
{
	const u16 source = preprocess_file(pp)->file;

	while (pp->conditionals.len && vector_last(&pp->conditionals).span.file == source)
		pp->conditionals.len--;
	pp->pending.len = pp->delivered = 0;
	if (pp->files.len > 1)
		pp->files.len--;
}

void preprocess_include_release(struct preprocessor *pp)
{
	hashmap_release(&pp->included);
	vector_free(&pp->by_source);
	vector_free(&pp->directories);
}

/* ---- reading each header once ---- */

/* The word of the directive on the line that begins at l, and the text after it. */
static struct token directive_word(struct lexer *l, struct token *ret_next)
{
	struct token word = {.kind = TOKEN_END};

	if (!lex_skip_layout(l) || l->pos >= l->end || l->text[l->pos] != '#')
		return word;
	l->pos++;
	word = lex_next(l);
	*ret_next = lex_next(l);
	return word;
}

/* An include guard (#ifndef X, #define X) at the head of a file: the file is read once. */
static const char *find_guard(struct lexer l)
{
	struct token first, second;
	struct token word = directive_word(&l, &first);

	if (word.kind != TOKEN_NAME || !str_eq(word.text, "ifndef") || first.kind != TOKEN_NAME)
		return NULL;
	word = directive_word(&l, &second);
	if (word.kind != TOKEN_NAME || !str_eq(word.text, "define") || second.kind != TOKEN_NAME ||
	    !str_eq(first.text, second.text))
		return NULL;
	return first.text;
}

static bool was_read(const struct preprocessor *pp, const struct included_file *f)
{
	return f->once || (f->guard && hashmap_gets(&pp->macros, f->guard));
}

static void begin_file(struct preprocessor *pp, struct span at, const struct included_file *f)
{
	struct lexer l = lexer_of(pp->arena, pp->diag, f->source);

	if (!count_file(pp, at, f->is_system))
		return;
	l.is_header = f->is_system;
	vector_push(&pp->files, l);
}

static void remember(struct preprocessor *pp, struct included_file *f, const char *text, size_t len)
{
	struct lexer l;

	f->source = diag_add_source(pp->diag, arena_strdup(&pp->diag->arena, f->path), text, len);
	while (pp->by_source.len <= f->source)
		vector_push(&pp->by_source, NULL);
	pp->by_source.items[f->source] = f;
	l = lexer_of(pp->arena, pp->diag, f->source);
	l.is_header = true; /* may be any file */
	f->guard = find_guard(l);
	hashmap_puts(&pp->included, f->path, f);
}

/* False if there is no such file. kind: its kind, without path and source. */
static bool open_header(struct preprocessor *pp, struct span at, const char *path,
			const struct included_file *kind)
{
	struct included_file *f = hashmap_gets(&pp->included, path);
	const char *text;
	size_t len;
	int read;

	if (f && was_read(pp, f))
		return true;
	if (!f) {
		read = read_file(pp, at, path, &text, &len);
		if (read <= 0)
			return read < 0;
		f = arena_memdup(pp->arena, kind, sizeof(*f));
		f->path = arena_strdup(pp->arena, path);
		remember(pp, f, text, len);
	}
	begin_file(pp, at, f);
	return true;
}

/* ---- places ---- */

static void add_directory(struct preprocessor *pp, const char *tree, const char *directory)
{
	const char *path = arena_printf(pp->arena, "%s/%s", tree, directory);

	if (access(path, R_OK) == 0)
		vector_push(&pp->directories, path);
}

/*
 * As the kernel's own build searches them. `source` has what is the same for all, `build` what was
 * made for this kernel.
 */
static void find_directories(struct preprocessor *pp)
{
	const char *source = pp->options->kernel_source, *build = pp->options->kernel_build;
	struct utsname u;

	if (pp->directories.len)
		return;
	if (!source && uname(&u) == 0)
		source = arena_printf(pp->arena, "/lib/modules/%s/source", u.release);
	if (!build && pp->options->kernel_source)
		build = source;
	if (!build && uname(&u) == 0)
		build = arena_printf(pp->arena, "/lib/modules/%s/build", u.release);
	if (source && access(source, R_OK))
		source = build;
	if (source && build &&
	    access(arena_printf(pp->arena, "%s/include/linux", source), R_OK) == 0) {
		add_directory(pp, source, "arch/" KERNEL_ARCH "/include");
		add_directory(pp, build, "arch/" KERNEL_ARCH "/include/generated");
		add_directory(pp, source, "include");
		add_directory(pp, build, "include");
		add_directory(pp, source, "arch/" KERNEL_ARCH "/include/uapi");
		add_directory(pp, build, "arch/" KERNEL_ARCH "/include/generated/uapi");
		add_directory(pp, source, "include/uapi");
		add_directory(pp, build, "include/generated/uapi");
	}
	pp->kernel_directories = (u32)pp->directories.len;
	for (size_t i = 0; i < ARRAY_SIZE(user_directories); i++)
		vector_push(&pp->directories, user_directories[i]);
}

/* Headers of the kernel and of C: their types come from BTF, their constants from constants.c. */
static bool is_system_name(const char *name)
{
	static const char *const places[] = {
		"linux/",  "uapi/",    "net/",	"asm/",	  "asm-generic/", "sys/",   "bits/",
		"bpf/",	   "netinet/", "arpa/", "trace/", "scsi/",	  "sound/", "rdma/",
		"crypto/", "media/",   "drm/",	"video/", "xen/",	  "acpi/",  "generated/",
		"kvm/",	   "target/",  "vdso/", "soc/"};
	static const char *const names[] = {"stdio.h",	 "stdlib.h",  "stdint.h",   "stddef.h",
					    "stdbool.h", "stdarg.h",  "string.h",   "limits.h",
					    "errno.h",	 "fcntl.h",   "signal.h",   "unistd.h",
					    "time.h",	 "syscall.h", "inttypes.h", "poll.h",
					    "sched.h",	 "endian.h",  "vmlinux.h"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (str_starts(name, places[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(name, names[i]))
			return true;
	return false;
}

/* Defines what the kernel's build defines on the command line. */
static void enter_kernel(struct preprocessor *pp, struct span at)
{
	static const char *const first[] = {"linux/compiler_types.h", "linux/kconfig.h"};

	if (pp->in_kernel)
		return;
	pp->in_kernel = true;
	pp_define_integer(pp, "__KERNEL__", 1);
	pp_define_integer(pp, "__BPF_TRACING__", 1);
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) /* the last one is read first */
		preprocess_include(pp, at, first[i], false, false);
}

static bool open_predefined(struct preprocessor *pp, struct span at, const char *name)
{
	const char *path = arena_printf(pp->arena, "compiler/%s", name), *text;
	struct included_file *f = hashmap_gets(&pp->included, path);

	text = predefined_header(name);
	if (!text)
		return false;
	if (!f) {
		f = arena_new(pp->arena, struct included_file);
		f->path = path;
		f->is_system = true;
		f->directory = pp->kernel_directories - 1; /* #include_next begins after */
		remember(pp, f, text, strlen(text));
	}
	if (!was_read(pp, f))
		begin_file(pp, at, f);
	return true;
}

static bool open_system(struct preprocessor *pp, struct span at, const char *name,
			const struct included_file *from, bool next)
{
	const u32 first = next && from					? from->directory + 1
			  : from && from->is_system && !from->is_kernel ? pp->kernel_directories
									: 0;

	for (u32 i = first; i < pp->directories.len; i++) {
		const struct included_file kind = {
			.is_system = true, .is_kernel = i < pp->kernel_directories, .directory = i};

		if (i == pp->kernel_directories && !next && open_predefined(pp, at, name))
			return true;
		if (!open_header(pp, at,
				 arena_printf(pp->arena, "%s/%s", pp->directories.items[i], name),
				 &kind))
			continue;
		if (kind.is_kernel && !pp->failed)
			enter_kernel(pp, at);
		return true;
	}
	return false;
}

void preprocess_include(struct preprocessor *pp, struct span at, const char *name, bool quoted,
			bool next)
{
	const u16 self = preprocess_file(pp)->file;
	const struct included_file *from = preprocess_included(pp, self);
	const char *own = pp->diag->sources.items[self].name, *slash = strrchr(own, '/');
	const struct included_file kind = from ? *from : (struct included_file){.is_system = false};

	if (*name == '/' && open_header(pp, at, name, &kind))
		return;
	if (*name != '/' && quoted && !next &&
	    open_header(pp, at,
			arena_printf(pp->arena, "%.*s%s", slash ? (int)(slash - own) + 1 : 0, own,
				     name),
			&kind))
		return;
	for (u32 i = 0;
	     *name != '/' && !kind.is_system && i < pp->options->input.include_dirs.count; i++)
		if (open_header(pp, at,
				arena_printf(pp->arena, "%s/%s",
					     pp->options->input.include_dirs.items[i], name),
				&kind))
			return;
	if (*name != '/' && pp->options->system_headers) {
		find_directories(pp);
		if (open_system(pp, at, name, from, next))
			return;
	}
	/* A header of the system that has none of another one goes on without it. */
	if (kind.is_system || (*name != '/' && !strstr(name, "..") && is_system_name(name)))
		return;
	diag_error(pp->diag, at, "'%s' file not found", name);
	diag_hint(pp->diag, "-I DIR adds a directory to search");
	fail(pp);
}
