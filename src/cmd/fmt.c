/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/fmt.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/new_file.h"
#include "base/options.h"
#include "lang/fmt/script.h"
#include "lang/syntax/parse.h"

struct fmt_options {
	const char *program, *output;
	bool in_place, check;
};

static const struct option_spec options[] = {
	{'e', NULL, "PROGRAM", "this program instead of files", OPTION_STRING,
	 offsetof(struct fmt_options, program)},
	{'i', "in-place", NULL, "write each file back where it changes", OPTION_FLAG,
	 offsetof(struct fmt_options, in_place)},
	{0, "check", NULL, "only name the files that would change; exit code 1 if there are any",
	 OPTION_FLAG, offsetof(struct fmt_options, check)},
	{'o', "output", "FILE", "write to a file", OPTION_STRING,
	 offsetof(struct fmt_options, output)},
	{0},
};

static const struct command_spec spec = {
	.name = "fmt",
	.synopsis = "[options] [FILE ...]",
	.summary = "Prints scripts in the standard layout of the language.",
	.examples = "pantrace fmt script.bt          # print it laid out\n"
		    "pantrace fmt -i tools/*.bt      # write the files back\n"
		    "pantrace fmt --check *.bt       # name those that would change\n"
		    "pantrace fmt < script.bt        # standard input\n"
		    "pantrace fmt -e 'BEGIN{exit()}' # a program of one line\n",
	.options = options,
};

struct text {
	const char *name; /* in messages */
	char *data;
	size_t len;
	char *path; /* of the file that was opened, links resolved; NULL = none */
	struct stat file;
};

/* Remembers which file was opened: the name may be another's a moment later. */
static int read_file(const char *file, struct text *ret)
{
	const int fd = open(file, O_RDONLY | O_CLOEXEC);
	char place[32];
	int err;

	if (fd < 0)
		return -errno;
	snprintf(place, sizeof(place), "/proc/self/fd/%d", fd);
	ret->path = realpath(place, NULL);
	err = fstat(fd, &ret->file) ? -errno
				    : file_read_fd(fd, LANG_MAX_SOURCE, &ret->data, &ret->len);
	close(fd);
	return err;
}

static int read_text(const char *file, struct text *ret)
{
	const bool is_stdin = str_eq(file, "-");
	int err;

	ret->name = is_stdin ? "stdin" : file;
	err = is_stdin ? file_read_fd(STDIN_FILENO, LANG_MAX_SOURCE, &ret->data, &ret->len)
		       : read_file(file, ret);
	if (err == -EFBIG)
		fprintf(stderr, "ERROR: the script %s is too large: it has more than %u bytes\n",
			ret->name, LANG_MAX_SOURCE);
	else if (err < 0)
		fprintf(stderr, "ERROR: failed to open file '%s': %s\n", file, strerror(-err));
	return err;
}

static int lay_out(const struct text *t, struct strbuf *out)
{
	struct diag diag = DIAG_INIT;
	const int err = script_format(&diag, diag_add_source(&diag, t->name, t->data, t->len), out);

	diag_close(&diag, 0);
	return err;
}

static int failed_to_write(const char *file, int err)
{
	fprintf(stderr, "ERROR: cannot write '%s': %s\n", file,
		err == -ESTALE ? "it is not a regular file, or no longer the one that was read"
			       : strerror(-err));
	return err;
}

/* The owner first: changing it clears set-user-ID bits. */
static int keep_owner_and_mode(int fd, const struct stat *of)
{
	if ((of->st_uid != geteuid() || of->st_gid != getegid()) &&
	    fchown(fd, of->st_uid, of->st_gid) < 0)
		return -errno;
	return fchmod(fd, of->st_mode & 07777) < 0 ? -errno : 0;
}

/*
 * Replaces the file completely or not at all, by a new file beside it, which is like the one that
 * was read (read; -ESTALE if that is not there any more), or like an older one of our own.
 */
static int replace(const char *path, const struct stat *read, const struct strbuf *text)
{
	struct new_file f = {.fd = -1, .directory = -1};
	struct stat older;
	int err = read && !S_ISREG(read->st_mode) ? -ESTALE : new_file_open(&f, path, true);
	const bool exists = !err && new_file_older(&f, &older);

	if (!err && read &&
	    (!exists || older.st_dev != read->st_dev || older.st_ino != read->st_ino))
		err = -ESTALE;
	if (!err && exists && (read || older.st_uid == geteuid()))
		err = keep_owner_and_mode(f.fd, &older);
	err = err ?: write_all(f.fd, text->data, text->len) ?: new_file_keep(&f);
	new_file_drop(&f);
	return err;
}

static int print(const struct strbuf *text)
{
	fwrite(text->data, 1, text->len, stdout);
	return 0; /* main() reports what could not be written there */
}

/*
 * Does what was asked with one script. Returns 0, 1 if it would change (--check), or -errno,
 * reported.
 */
static int handle(const struct fmt_options *o, const struct text *t, const char *file)
{
	struct strbuf out = STRBUF_INIT;
	int r = lay_out(t, &out);
	const bool changes = !r && (out.len != t->len || memcmp(out.data, t->data, out.len) != 0);

	if (!r && o->check) {
		r = changes;
		if (changes)
			puts(t->name);
	} else if (!r && o->in_place) {
		r = changes ? replace(t->path ?: file, &t->file, &out) : 0;
		if (r < 0)
			failed_to_write(file, r);
	} else if (!r && o->output) {
		r = replace(o->output, NULL, &out);
		if (r < 0)
			failed_to_write(o->output, r);
	} else if (!r) {
		r = print(&out);
	}
	strbuf_release(&out);
	return r;
}

static int handle_file(const struct fmt_options *o, const char *file)
{
	struct text t = {0};
	int r = read_text(file, &t);

	if (!r)
		r = handle(o, &t, file);
	free(t.data);
	free(t.path);
	return r;
}

static int handle_program(const struct fmt_options *o)
{
	const struct text t = {
		.name = "stdin", .data = (char *)(uintptr_t)o->program, .len = strlen(o->program)};

	return handle(o, &t, NULL);
}

int fmt_compatible(const char *program, const char *file, const char *output)
{
	const struct fmt_options o = {.program = program, .output = output};
	const int r = program ? handle_program(&o) : handle_file(&o, file);

	return r ? EXIT_FAILED : EXIT_OK;
}

/* Refuses options that cannot be combined. */
static int check_options(const struct fmt_options *o, int nfiles, char **files)
{
	if (o->in_place + o->check + (o->output != NULL) > 1)
		return options_usage_error(&spec, "one of -i, --check and -o");
	if (o->program && nfiles)
		return options_usage_error(&spec, "-e or files, not both: '%s'", files[0]);
	if (o->in_place && (o->program || !nfiles))
		return options_usage_error(&spec, "-i needs the files to write back");
	if (o->output && nfiles > 1)
		return options_usage_error(&spec, "-o takes one script");
	for (int i = 0; i < nfiles; i++)
		if (o->in_place && str_eq(files[i], "-"))
			return options_usage_error(&spec,
						   "standard input cannot be written back (-i)");
	return OPTIONS_GO_ON;
}

int cmd_fmt(int argc, char **argv)
{
	struct fmt_options o = {0};
	int first, rc = options_parse(&spec, argc, argv, &o, &first);

	if (rc == OPTIONS_GO_ON)
		rc = check_options(&o, argc - first, argv + first);
	if (rc != OPTIONS_GO_ON)
		return rc;
	rc = EXIT_OK;
	if (o.program)
		return handle_program(&o) ? EXIT_FAILED : EXIT_OK;
	if (first >= argc)
		return handle_file(&o, "-") ? EXIT_FAILED : EXIT_OK;
	for (int i = first; i < argc; i++)
		if (handle_file(&o, argv[i]))
			rc = EXIT_FAILED;
	return rc;
}
