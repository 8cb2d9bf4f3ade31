/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/function_filter.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/glob.h"
#include "base/vector.h"
#include "kernel/ftrace_records.h"

struct nearest {
	const char *wanted;
	char best[128];
	unsigned int distance;
	bool found; /* it is there, but cannot be traced by function tracers */
};

static int offer(void *arg, const char *name, const char *module)
{
	struct nearest *n = arg;
	const unsigned int distance = edit_distance(n->wanted, name, 3);

	if (distance < n->distance && strlen(name) < sizeof(n->best)) {
		n->distance = distance;
		strcpy(n->best, name);
	}
	return 0;
}

static int find(void *arg, const char *name, const char *module, u64 address)
{
	struct nearest *n = arg;

	n->found = str_eq(name, n->wanted);
	return n->found;
}

static void refuse(struct instance *in, const char *word)
{
	struct kernel *k = instance_kernel(in);
	struct diag *d = instance_diag(in);
	struct nearest n = {.wanted = word, .distance = 4};

	if (glob_has_wildcard(word)) {
		diag_error(d, NO_SPAN, "no function that can be traced matches '%s'", word);
		return;
	}
	kernel_each_function(k, find, &n);
	if (n.found) {
		diag_error(d, NO_SPAN,
			   "the function '%s' cannot be traced: it is inlined, marked notrace, or "
			   "has no ftrace entry",
			   word);
		diag_hint(d, "available_filter_functions in tracefs has those that can");
		return;
	}
	diag_error(d, NO_SPAN, "there is no function '%s'", word);
	kernel_each_traceable(k, offer, &n);
	if (n.best[0])
		diag_hint(d, "did you mean '%s'?", n.best);
}

/* The kernel answers EINVAL where a pattern matches nothing. */
static int add(struct instance *in, const char *file, const char *word)
{
	const int fd = instance_open_file(in, file, O_WRONLY | O_APPEND);
	char line[512];
	int err = 0;

	if (fd < 0)
		return instance_add(in, file, word); /* says why */
	/* With the newline: a word that is ended by close() is refused without anybody knowing. */
	snprintf(line, sizeof(line), "%s\n", word);
	if (write(fd, line, strlen(line)) < 0)
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (err == -EINVAL || err == -ENOENT) {
		refuse(in, word);
		return err;
	}
	return err ? instance_add(in, file, word) : 0;
}

/* ---- by numbers ---- */

/* So many numbers take as long as one pattern: each is a call of the kernel. */
#define MAX_NUMBERS 4096u

struct numbers {
	const struct ftrace_records *records;
	VECTOR(u32) list;
	bool too_many;
};

static int add_number(void *arg, const struct kernel_function *f)
{
	struct numbers *n = arg;
	const u32 number = ftrace_records_number(n->records, f->address);

	if (number)
		vector_push(&n->list, number);
	n->too_many = n->list.len > MAX_NUMBERS;
	return n->too_many;
}

/* Only letters and wildcards: the kernel's other words (a module behind a colon, a command, a number) are its own. */
static bool is_plain(const char *word)
{
	return !strchr("0123456789!", *word) &&
	       !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_.*?")];
}

/* False: one of the words is not for us, or matches nothing. */
static bool find_numbers(struct kernel *k, const char *list, struct numbers *n)
{
	char *copy = xstrdup(list), *rest = NULL, *word;
	bool ok = true;

	for (word = strtok_r(copy, ", \t", &rest); word && ok;
	     word = strtok_r(NULL, ", \t", &rest)) {
		const size_t before = n->list.len;

		ok = is_plain(word) && !kernel_each_entry(k, word, add_number, n) &&
		     n->list.len > before;
	}
	free(copy);
	return ok;
}

static int ascending(const void *a, const void *b)
{
	const u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return (x > y) - (x < y);
}

/* Two patterns may name one function. */
static void sort_once(struct numbers *n)
{
	size_t kept = 0;

	if (!n->list.len)
		return;
	qsort(n->list.items, n->list.len, sizeof(*n->list.items), ascending);
	for (size_t i = 0; i < n->list.len; i++)
		if (!kept || n->list.items[i] != n->list.items[kept - 1])
			n->list.items[kept++] = n->list.items[i];
	n->list.len = kept;
}

static bool write_numbers(const struct instance *in, const char *file, const struct numbers *n)
{
	const int fd = instance_open_file(in, file, O_WRONLY | O_TRUNC);
	struct strbuf text = STRBUF_INIT;
	bool ok = fd >= 0;

	for (size_t i = 0; i < n->list.len; i++)
		strbuf_addf(&text, "%u\n", n->list.items[i]);
	/* The kernel takes one word of each write. */
	ok = ok && !write_all(fd, text.data, text.len);
	if (fd >= 0 && close(fd))
		ok = false;
	strbuf_release(&text);
	return ok;
}

static bool matches_one(const char *list, const char *name)
{
	char *copy = xstrdup(list), *rest = NULL, *word;
	bool yes = false;

	for (word = strtok_r(copy, ", \t", &rest); word && !yes;
	     word = strtok_r(NULL, ", \t", &rest))
		yes = glob_match(word, name);
	free(copy);
	return yes;
}

/* The file shows names: as many as there are numbers, each of them one that was asked for. */
static bool holds(const struct instance *in, const char *file, const char *list, size_t count)
{
	char *text, *line, *rest = NULL;
	size_t n = 0;
	bool ok = true;

	if (instance_read(in, file, &text))
		return false;
	for (line = strtok_r(text, "\n", &rest); line && ok; line = strtok_r(NULL, "\n", &rest)) {
		line[strcspn(line, " \t")] = '\0';
		ok = matches_one(list, line);
		n++;
	}
	free(text);
	return ok && n == count;
}

/* True: done. Else the file is as it was, empty. */
static bool set_by_numbers(struct instance *in, const char *file, const char *list)
{
	struct kernel *k = instance_kernel(in);
	struct ftrace_records *records;
	struct numbers n = {0};
	bool ok;
	int fd;

	if (ftrace_records_load(k, &records))
		return false;
	n.records = records;
	ok = find_numbers(k, list, &n) && !n.too_many;
	if (ok) {
		sort_once(&n);
		ok = write_numbers(in, file, &n) && holds(in, file, list, n.list.len);
		if (!ok && (fd = instance_open_file(in, file, O_WRONLY | O_TRUNC)) >= 0)
			close(fd);
	}
	vector_free(&n.list);
	ftrace_records_release(records);
	return ok;
}

int function_filter_set(struct instance *in, const char *file, const char *list)
{
	char *copy = xstrdup(list), *rest = NULL, *word;
	int err = instance_remember(in, file);
	u32 count = 0;

	if (!err && instance_is_top(in))
		err = instance_write(in, file, "");
	/* Lists of the graph tracer take names only. */
	if (!err && str_starts(file, "set_ftrace_") && set_by_numbers(in, file, list)) {
		free(copy);
		return 0;
	}
	for (word = strtok_r(copy, ", \t", &rest); word && !err;
	     word = strtok_r(NULL, ", \t", &rest), count++)
		err = add(in, file, word);
	if (!err && !count) {
		diag_error(instance_diag(in), NO_SPAN, "no function is named");
		err = -EINVAL;
	}
	free(copy);
	return err;
}

int function_filter_word(const struct command_spec *spec, int argc, char **argv, int first)
{
	if (first == argc)
		return options_usage_error(spec, "which function?");
	if (first + 1 < argc)
		return options_usage_error(
			spec, "unexpected argument '%s': several functions are parted by commas",
			argv[first + 1]);
	return OPTIONS_GO_ON;
}
