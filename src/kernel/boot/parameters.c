/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/boot/parameters.h"

#include <stdio.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "kernel/symbols/ksyms.h"

static const struct {
	const char *name;
	const char *setup; /* the kernel's function that takes the value */
	const char *since; /* the first release that has it */
	const char
		*config; /* the option of the kernel's build that it needs; NULL = that of ftrace */
} rows[BOOT_PARAMETERS] = {
	[BOOT_RESERVE_MEM] = {"reserve_mem", "reserve_mem", "6.12"},
	[BOOT_INSTANCE] = {"trace_instance", "boot_instance", "6.3"},
	[BOOT_EVENT] = {"trace_event", "setup_trace_event", "2.6"},
	[BOOT_TRIGGER] = {"trace_trigger", "setup_trace_triggers", "6.3"},
	[BOOT_KPROBE] = {"kprobe_event", "set_kprobe_boot_events", "5.3", "KPROBE_EVENTS"},
	[BOOT_TRACER] = {"ftrace", "set_cmdline_ftrace", "2.6"},
	[BOOT_FILTER] = {"ftrace_filter", "set_ftrace_filter", "2.6", "DYNAMIC_FTRACE"},
	[BOOT_NOTRACE] = {"ftrace_notrace", "set_ftrace_notrace", "2.6", "DYNAMIC_FTRACE"},
	[BOOT_GRAPH] = {"ftrace_graph_filter", "set_graph_function", "2.6",
			"FUNCTION_GRAPH_TRACER"},
	[BOOT_OPTIONS] = {"trace_options", "set_trace_boot_options", "3.8"},
	[BOOT_CLOCK] = {"trace_clock", "set_trace_boot_clock", "3.9"},
	[BOOT_BUFFER_SIZE] = {"trace_buf_size", "set_buf_size", "2.6"},
};

const char *boot_parameter_name(enum boot_parameter p)
{
	return rows[p].name;
}

const char *boot_parameter_since(enum boot_parameter p)
{
	return rows[p].since;
}

const char *boot_parameter_config(enum boot_parameter p)
{
	return rows[p].config;
}

static bool is_since(const char *release)
{
	unsigned int major, minor, its_major, its_minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &its_major, &its_minor) == 2 &&
	       sscanf(release, "%u.%u", &major, &minor) == 2 &&
	       (its_major > major || (its_major == major && its_minor >= minor));
}

enum boot_knowledge boot_parameter_ask(struct kernel *k, enum boot_parameter p)
{
	if (ksyms_count(kernel_ksyms(k), rows[p].setup))
		return BOOT_IS_KNOWN;
	if (rows[p].config && kernel_config(k, rows[p].config) == 'n')
		return BOOT_IS_UNKNOWN;
	/* kernels may have renamed it; older ones than the first that had it have not */
	return is_since(rows[p].since) ? BOOT_MAY_BE_KNOWN : BOOT_IS_UNKNOWN;
}

/* ---- command lines ---- */

bool boot_word_next(const char **at, struct boot_word *ret)
{
	const char *p = *at + strspn(*at, " \t\n"), *begin = p, *equals = NULL;
	bool is_quoted = false;
	size_t len;

	for (; *p && (is_quoted || !strchr(" \t\n", *p)); p++) {
		if (*p == '"')
			is_quoted = !is_quoted;
		else if (*p == '=' && !equals)
			equals = p;
	}
	*at = p;
	if (*begin == '"') { /* around all of it */
		begin++;
		p -= p > begin && p[-1] == '"';
	}
	len = (size_t)(p - begin);
	*ret = (struct boot_word){.name = begin, .name_len = len};
	if (equals) {
		ret->name_len = (size_t)(equals - begin);
		ret->value = equals + 1;
		ret->value_len = len - ret->name_len - 1;
	}
	if (ret->value_len >= 2 && *ret->value == '"' && ret->value[ret->value_len - 1] == '"') {
		ret->value++;
		ret->value_len -= 2;
	}
	return len;
}

bool boot_word_is(const struct boot_word *w, enum boot_parameter p)
{
	return w->name_len == strlen(rows[p].name) && !memcmp(w->name, rows[p].name, w->name_len);
}

static bool has_word(const char *line, const struct boot_word *wanted)
{
	struct boot_word w;

	while (boot_word_next(&line, &w))
		if (w.name_len == wanted->name_len && w.value_len == wanted->value_len &&
		    !memcmp(w.name, wanted->name, w.name_len) &&
		    !memcmp(w.value ?: "", wanted->value ?: "", w.value_len))
			return true;
	return false;
}

bool boot_line_has(const char *line, const char *others)
{
	struct boot_word w;

	while (boot_word_next(&others, &w))
		if (!has_word(line, &w))
			return false;
	return true;
}

char *boot_line(void)
{
	char *text;

	if (file_read("/proc/cmdline", 1 << 20, &text, NULL))
		return xstrdup("");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

struct boot_traced boot_traced_of(const char *line)
{
	struct boot_traced t = {0};
	struct boot_word w;
	bool is_top = false;

	while (boot_word_next(&line, &w)) {
		if (!w.value)
			continue;
		is_top |= boot_word_is(&w, BOOT_EVENT) || boot_word_is(&w, BOOT_KPROBE) ||
			  boot_word_is(&w, BOOT_TRACER);
		if (!t.instance && boot_word_is(&w, BOOT_INSTANCE)) {
			char *const name = xstrndup(w.value, w.value_len);
			const size_t n = strcspn(name, ",^@");

			t.is_persistent = name[n + strcspn(name + n, "@,")] == '@';
			name[n] = '\0';
			t.instance = name;
		}
	}
	if (!t.instance && is_top)
		t.instance = xstrdup("");
	return t;
}
