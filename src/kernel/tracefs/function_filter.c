/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/function_filter.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/glob.h"
#include "base/hashmap.h"
#include "base/nearest.h"
#include "kernel/features/traceable.h"

/* ---- what matches nothing ---- */

static int offer(void *arg, const struct traceable_function *f)
{
	nearest_offer(arg, f->name);
	return 0;
}

static void refuse(struct instance *in, const char *word)
{
	struct kernel *k = instance_kernel(in);
	struct diag *d = instance_diag(in);
	struct nearest n;

	if (glob_has_wildcard(word)) {
		diag_error(d, NO_SPAN, "no function that can be traced matches '%s'", word);
		return;
	}
	if (kernel_symbol_address(k, word)) {
		diag_error(d, NO_SPAN,
			   "the function '%s' cannot be traced: it is inlined, marked notrace, or "
			   "has no ftrace entry",
			   word);
		diag_hint(d, "available_filter_functions in tracefs has those that can");
		return;
	}
	diag_error(d, NO_SPAN, "there is no function '%s'", word);
	nearest_init(&n, word);
	kernel_each_traceable(k, offer, &n);
	nearest_hint(&n, d, "");
}

/* ---- words ---- */

/* 0, -EINVAL where the word matches nothing, or another -errno. */
static int write_word(struct instance *in, const char *file, const char *word)
{
	const int fd = instance_open_file(in, file, O_WRONLY | O_APPEND);
	char line[512];
	int err = 0;

	if (fd < 0)
		return fd;
	/*
	 * With the newline: otherwise the word is parsed at close(), which does not report errors.
	 */
	snprintf(line, sizeof(line), "%s\n", word);
	if (write(fd, line, strlen(line)) < 0)
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	return err == -ENOENT ? -EINVAL : err;
}

/*
 * Only letters and wildcards: other words (a module after a colon, a command, a number) have their
 * own meaning in the kernel.
 */
static bool is_plain(const char *word)
{
	return !strchr("0123456789!", *word) &&
	       !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_.*?")];
}

struct filter {
	struct instance *in;
	const char *file;
	u32 added; /* by other names */
	struct hashmap counted; /* the functions that were asked for, by address */
	struct hashmap held; /* the names in the kernel's list, and how often each occurs */
	u32 left_out;
};

/* Finds a function by another of its names: the kernel compares only one. */
static int add_by_other_name(void *arg, const struct kernel_function *f)
{
	struct filter *filter = arg;

	if (!str_eq(f->name, f->own) && !write_word(filter->in, filter->file, f->own))
		filter->added++;
	return 0;
}

static int add_word(struct filter *f, const char *word)
{
	const u32 added = f->added;
	int err = write_word(f->in, f->file, word);

	if ((!err || err == -EINVAL) && is_plain(word))
		ksyms_each_function(kernel_ksyms(instance_kernel(f->in)), word, add_by_other_name,
				    f);
	if (err == -EINVAL && f->added > added)
		err = 0;
	if (err == -EINVAL)
		refuse(f->in, word);
	else if (err)
		err = instance_add(f->in, f->file, word); /* says why */
	return err;
}

static int each_word(struct filter *f, const char *list,
		     int (*fn)(struct filter *f, const char *word))
{
	char *copy = xstrdup(list), *rest = NULL;
	int err = 0;

	for (char *word = strtok_r(copy, ", \t", &rest); word && !err;
	     word = strtok_r(NULL, ", \t", &rest))
		err = fn(f, word);
	free(copy);
	return err;
}

/* ---- what patterns match and nobody may trace ---- */

static int count_function(void *arg, const struct kernel_function *f)
{
	struct filter *filter = arg;
	uintptr_t *held;
	bool is_new;

	hashmap_put(&filter->counted, &f->address, sizeof(f->address), &is_new);
	if (!is_new)
		return 0;
	held = (uintptr_t *)hashmap_put(&filter->held, f->own, strlen(f->own), NULL);
	if (*held)
		--*held;
	else
		filter->left_out++;
	return 0;
}

static int count_word(struct filter *f, const char *word)
{
	if (glob_has_wildcard(word) && is_plain(word))
		ksyms_each_function(kernel_ksyms(instance_kernel(f->in)), word, count_function, f);
	return 0;
}

static void tell_left_out(struct filter *f, const char *list)
{
	struct kernel *k = instance_kernel(f->in);
	char *text, *line, *rest = NULL;

	if (!glob_has_wildcard(list) || !ksyms_has_addresses(kernel_ksyms(k)) ||
	    instance_read(f->in, f->file, &text))
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const size_t len = strcspn(line, " \t");

		++*(uintptr_t *)hashmap_put(&f->held, line, len, NULL);
	}
	free(text);
	each_word(f, list, count_word);
	if (f->left_out)
		diag_warning(
			instance_diag(f->in), NO_SPAN,
			"%u function%s that match%s %s %s left out: notrace (the kernel allows "
			"no tracing of them)",
			f->left_out, plural(f->left_out), f->left_out == 1 ? "es" : "", list,
			is_are(f->left_out));
}

int function_filter_set(struct instance *in, const char *file, const char *list)
{
	struct filter f = {.in = in, .file = file};
	int err = instance_remember(in, file);

	if (!err && instance_is_top(in))
		err = instance_write(in, file, "");
	if (!err && !list[strspn(list, ", \t")]) {
		diag_error(instance_diag(in), NO_SPAN, "no function is named");
		err = -EINVAL;
	}
	if (!err)
		err = each_word(&f, list, add_word);
	if (!err && !strstr(file, "notrace"))
		tell_left_out(&f, list);
	hashmap_release(&f.counted);
	hashmap_release(&f.held);
	return err;
}

int function_filter_word(const struct command_spec *spec, int argc, char **argv, int first)
{
	if (first == argc)
		return options_usage_error(spec, "which function?");
	if (first + 1 < argc)
		return options_usage_error(
			spec, "unexpected argument '%s': several functions are separated by commas",
			argv[first + 1]);
	return OPTIONS_GO_ON;
}
