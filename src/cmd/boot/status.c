/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is installed, and what this boot traced. */
#include <stdio.h>

#include "base/escape.h"
#include "base/json.h"
#include "cmd/boot/boot.h"
#include "kernel/boot/grub.h"
#include "kernel/tracefs/walk.h"
#include "trace/ring/live.h"

struct status {
	struct grub_installed installed;
	bool is_installed, is_half_removed;
	bool holds; /* this boot's command line has it */
	struct boot_traced traced;
	bool is_there; /* does the buffer of `traced` exist? */
	char *directory; /* its */
	struct ring_counts counts;
	struct strbuf histograms; /* as the kernel prints them */
};

static void count(struct status *s)
{
	u32 cpus;

	s->counts = ring_counts_of_all(s->directory, &cpus);
	s->is_there = cpus;
}

static void add_histogram(void *arg, const char *system, const char *event)
{
	struct status *const s = arg;
	char *const file = xasprintf("events/%s/%s/hist", system, event);
	char *text;

	if (!ring_text(s->directory, file, &text)) {
		if (strstr(text, "trigger info:")) {
			strbuf_addf(&s->histograms, "%s:%s\n", system, event);
			strbuf_addstr(&s->histograms, text);
		}
		free(text);
	}
	free(file);
}

/* Those of the kernel's own buffer. Only if the command line has any: the search takes a second. */
static void find_histograms(struct status *s, const char *line)
{
	struct boot_word w;

	while (boot_word_next(&line, &w))
		if (boot_word_is(&w, BOOT_TRIGGER) &&
		    memmem(w.value, w.value_len, ".hist:", strlen(".hist:")))
			tracefs_each_event_folder(s->directory, add_histogram, s);
}

static void look(struct status *s, struct kernel *k)
{
	char *const line = boot_line();
	const char *const root = kernel_tracefs(k);

	s->is_installed = !grub_installed(&s->installed);
	s->is_half_removed = s->is_installed && !*s->installed.line;
	s->holds = s->is_installed && !s->is_half_removed && boot_line_has(line, s->installed.line);
	s->traced = boot_traced_of(line);
	if (s->traced.instance && root) {
		s->directory = *s->traced.instance
				       ? xasprintf("%s/instances/%s", root, s->traced.instance)
				       : xstrdup(root);
		count(s);
		find_histograms(s, line);
	}
	free(line);
}

static void add_line(struct strbuf *out, const char *label, const char *text)
{
	strbuf_addf(out, "  %-10s ", label);
	escape_line(out, text, strlen(text));
	strbuf_addch(out, '\n');
}

static void text(const struct status *s, struct strbuf *out)
{
	if (s->is_half_removed) {
		strbuf_addstr(out, "half removed: the boot loader's menu may still have it; "
				   "`pantrace boot remove` again\n");
	} else if (s->is_installed) {
		strbuf_addf(out, "installed in " GRUB_FILE "%s\n",
			    s->holds ? ", and this boot has it" : "; this boot does not have it");
		add_line(out, "by", s->installed.command);
		add_line(out, "line", s->installed.line);
	} else {
		strbuf_addstr(out, "nothing is installed\n");
	}
	if (!s->traced.instance) {
		strbuf_addstr(out, "the command line of this boot traces nothing\n");
		return;
	}
	strbuf_addf(out, "this boot was traced into %s%s%s\n",
		    *s->traced.instance ? "the instance " : "the kernel's own buffer",
		    s->traced.instance, s->is_there ? "" : ", which is not there (any more)");
	if (s->is_there)
		strbuf_addf(out,
			    "  holds      %" PRIu64 " event%s; %" PRIu64 " overwritten, %" PRIu64
			    " without room\n",
			    s->counts.entries, plural(s->counts.entries), s->counts.overrun,
			    s->counts.dropped);
	for (const char *p = s->histograms.data, *end; *p; p = end + (*end == '\n')) {
		end = strchrnul(p, '\n');
		escape_line(out, p, (size_t)(end - p));
		strbuf_addch(out, '\n');
	}
}

static void json(const struct status *s, struct strbuf *out)
{
	struct json j = JSON_INIT(out);

	json_object(&j);
	json_member_bool(&j, "installed", s->is_installed);
	if (s->is_installed) {
		json_member_text(&j, "file", GRUB_FILE);
		json_member_text(&j, "command", s->installed.command);
		json_member_text(&j, "line", s->installed.line);
		json_member_bool(&j, "in_this_boot", s->holds);
	}
	json_member_text(&j, "instance", s->traced.instance);
	if (s->is_there) {
		json_member_u64(&j, "entries", s->counts.entries);
		json_member_u64(&j, "overwritten", s->counts.overrun);
		json_member_u64(&j, "dropped", s->counts.dropped);
		json_member_text(&j, "histograms", s->histograms.data);
	}
	json_end(&j, '}');
	json_end_line(&j);
}

int boot_status(const struct boot_options *o, struct kernel *k, struct diag *d)
{
	struct status s = {.histograms = STRBUF_INIT};
	struct strbuf out = STRBUF_INIT;

	look(&s, k);
	(o->json ? json : text)(&s, &out);
	fwrite(out.data, 1, out.len, stdout);
	free(s.installed.command);
	free(s.installed.line);
	free(s.traced.instance);
	free(s.directory);
	strbuf_release(&s.histograms);
	strbuf_release(&out);
	return EXIT_OK;
}
