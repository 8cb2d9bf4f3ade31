/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/function_filter.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/glob.h"

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

int function_filter_set(struct instance *in, const char *file, const char *list)
{
	char *copy = xstrdup(list), *rest = NULL, *word;
	int err = instance_remember(in, file);
	u32 count = 0;

	if (!err && instance_is_top(in))
		err = instance_write(in, file, "");
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
