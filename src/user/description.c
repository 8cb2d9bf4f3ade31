// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/description.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pantrace/protocol.h>
#include <pantrace/ring.h>

#include "base/file.h"
#include "base/foreign.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "base/options.h"
#include "base/process.h"
#include "user/clock.h"
#include "user/runtime.h"

#define NOTES_MAX 8192

static const char *const modes[] = {"discard", "overwrite", "block"};
static const char *const levels[] = {
	"emerg",	"alert",      "crit",		"err",		 "warning",
	"notice",	"info",	      "debug_system",	"debug_program", "debug_process",
	"debug_module", "debug_unit", "debug_function", "debug_line",	 "debug"};

const char *user_mode_name(u32 mode)
{
	return mode < ARRAY_SIZE(modes) ? modes[mode] : "?";
}

int user_mode_parse(const char *text, u32 *ret_mode, u64 *ret_block_us)
{
	static const struct {
		const char *unit;
		double us;
	} units[] = {{"", 1e3}, {"us", 1}, {"ms", 1e3}, {"s", 1e6}};
	const size_t n = strcspn(text, "=");
	char *end;
	double value;

	for (u32 i = 0; i < ARRAY_SIZE(modes); i++) {
		if (strlen(modes[i]) != n || strncmp(modes[i], text, n) != 0)
			continue;
		*ret_mode = i;
		if (i == PANTRACE_BLOCK)
			*ret_block_us = 100000;
		if (!text[n])
			return 0;
		if (i != PANTRACE_BLOCK)
			return -EINVAL;
		value = strtod(text + n + 1, &end);
		for (size_t u = 0; u < ARRAY_SIZE(units); u++) {
			if (end == text + n + 1 || !str_eq(end, units[u].unit) || !(value >= 0) ||
			    value * units[u].us > 3600e6)
				continue;
			*ret_block_us = (u64)(value * units[u].us);
			return 0;
		}
	}
	return -EINVAL;
}

/* ---- the text ---- */

static int level_text(const char *level, char ret[8], struct diag *d)
{
	const bool exactly = level && *level == '=';
	const char *word = level ? level + exactly : "";
	u64 number;

	*ret = '\0';
	if (!level)
		return 0;
	for (u32 i = 0; i < ARRAY_SIZE(levels); i++) {
		if (!str_eq(levels[i], word) && (parse_u64(word, &number) || number != i))
			continue;
		snprintf(ret, 8, " %s%u", exactly ? "=" : "", i);
		return 0;
	}
	diag_error(d, NO_SPAN, "unknown log level '%s'", level);
	diag_hint_nearest(d, word, levels, ARRAY_SIZE(levels));
	return -EINVAL;
}

static int pattern_check(const char *pattern, struct diag *d)
{
	if (strpbrk(pattern, " \n\t") || !*pattern) {
		diag_error(d, NO_SPAN, "'%s' is not a pattern of events", pattern);
		return -EINVAL;
	}
	if (!strchr(pattern, ':') && !str_eq(pattern, "*")) {
		diag_error(d, NO_SPAN, "'%s' names a provider, no events", pattern);
		diag_hint(d, "write '%s:*' for all of its events", pattern);
		return -EINVAL;
	}
	return 0;
}

int user_description_rules(bool on, const char *const *events, u32 n, const char *level,
			   struct strbuf *text, struct diag *d)
{
	char of_level[8];
	int rc = level_text(level, of_level, d);

	for (u32 i = 0; i < n && !rc; i++) {
		rc = pattern_check(events[i], d);
		strbuf_addf(text, "%s %s%s\n", on ? "enable" : "disable", events[i], of_level);
	}
	return rc;
}

/* What a rule is about: the line without its first word. */
static bool same_rule(const char *line, const char *other)
{
	const char *const a = strchr(line, ' '), *const b = strchr(other, ' ');
	const size_t n = strcspn(a, "\n");

	return strcspn(b, "\n") == n && !strncmp(a, b, n);
}

static bool is_rule(const char *line)
{
	return str_starts(line, "enable ") || str_starts(line, "disable ");
}

static const char *next_line(const char *line)
{
	const char *const end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

int user_description_add(struct user_session *s, const char *rules)
{
	struct strbuf text = STRBUF_INIT;
	u32 nr = 0;

	for (const char *line = s->text; *line; line = next_line(line)) {
		bool replaced = false;

		for (const char *rule = rules; is_rule(line) && *rule; rule = next_line(rule))
			replaced |= same_rule(line, rule);
		if (replaced)
			continue;
		nr += is_rule(line);
		strbuf_add(&text, line, (size_t)(next_line(line) - line));
	}
	for (const char *rule = rules; *rule; rule = next_line(rule))
		nr++;
	strbuf_addstr(&text, rules);
	if (nr > PANTRACE_RULES_MAX) {
		strbuf_release(&text);
		return -E2BIG;
	}
	free(s->text);
	s->text = strbuf_detach(&text);
	return user_description_write(s, false, false);
}

/* Writes the file with LINES in place of those that begin with WORD. */
static int lines_replace(struct user_session *s, const char *word, const char *lines)
{
	struct strbuf text = STRBUF_INIT;

	for (const char *line = s->text; *line; line = next_line(line))
		if (!str_starts(line, word))
			strbuf_add(&text, line, (size_t)(next_line(line) - line));
	strbuf_addstr(&text, lines);
	free(s->text);
	s->text = strbuf_detach(&text);
	return user_description_write(s, false, false);
}

int user_description_track(struct user_session *s, const char *lines)
{
	return lines_replace(s, "tracked ", lines);
}

int user_description_stop(struct user_session *s, bool stopped)
{
	s->stopped = stopped;
	return lines_replace(s, "stopped\n", stopped ? "stopped\n" : "");
}

static void put_selection(struct strbuf *text, const struct user_session_options *o)
{
	if (o->environment)
		strbuf_addstr(text, "for environment\n");
	for (u32 i = 0; i < o->which.nr_names; i++)
		strbuf_addf(text, "for name %s\n", o->which.names[i]);
	for (u32 i = 0; i < o->which.nr_pids; i++)
		strbuf_addf(text, "for pid %d\n", (int)o->which.pids[i]);
	if (!o->environment && !o->which.nr_names && !o->which.nr_pids)
		strbuf_addstr(text, "for all\n");
}

int user_description_make(const struct user_session_options *o, const char *name,
			  const char *runtime, const char *directory, struct strbuf *text,
			  struct diag *d)
{
	struct pt_clock clock;
	char level[8];
	int rc = level_text(o->level, level, d);

	for (u32 i = 0; i < o->nr_events && !rc; i++)
		rc = pattern_check(o->events[i], d);
	for (u32 i = 0; i < o->nr_excluded && !rc; i++)
		rc = pattern_check(o->excluded[i], d);
	if (rc)
		return rc;
	if (o->nr_events + o->nr_excluded > PANTRACE_RULES_MAX ||
	    o->which.nr_names > PANTRACE_NAMES_MAX) {
		diag_error(d, NO_SPAN, "more than %d patterns of events or %d names of programs",
			   PANTRACE_RULES_MAX, PANTRACE_NAMES_MAX);
		return -E2BIG;
	}
	user_clock_read(runtime, &clock);
	strbuf_addf(text, "name %s\n", name);
	put_selection(text, o);
	user_rings_lines(directory, text);
	strbuf_addf(text, "mode %s\n", user_mode_name(o->mode));
	if (o->sub_size)
		strbuf_addf(text, "sub-size %" PRIu64 "\n", o->sub_size);
	if (o->subs)
		strbuf_addf(text, "subs %" PRIu64 "\n", o->subs);
	if (o->mode == PANTRACE_BLOCK)
		strbuf_addf(text, "block %" PRIu64 "\n", o->block_us);
	if (o->threads)
		strbuf_addstr(text, "threads\n");
	if (o->contexts)
		strbuf_addf(text, "contexts %s\n", o->contexts);
	strbuf_addf(text, "clock %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", clock.tsc_hz,
		    clock.tsc, clock.monotonic_ns, clock.realtime_ns);
	for (u32 i = 0; i < o->nr_events; i++)
		strbuf_addf(text, "enable %s%s\n", o->events[i], level);
	for (u32 i = 0; i < o->nr_excluded; i++)
		strbuf_addf(text, "disable %s\n", o->excluded[i]);
	user_tracked_lines(&o->tracked, 0, text);
	if (o->stopped)
		strbuf_addstr(text, "stopped\n");
	if (o->keeper)
		strbuf_addf(text, "keeper %s\n", o->keeper);
	if (o->ask)
		strbuf_addf(text, "ask %s\n", o->ask);
	else if (o->filters)
		strbuf_addstr(text, o->filters);
	/* with the tool's own notes */
	if (text->len < PANTRACE_MESSAGE_MAX - NOTES_MAX)
		return 0;
	diag_error(d, NO_SPAN,
		   "the filters of these events take %zu KB, and a session without a "
		   "recorder has room for %d",
		   text->len / 1024, (PANTRACE_MESSAGE_MAX - NOTES_MAX) / 1024);
	diag_hint(d,
		  "a recorder tells each program its own: `pantrace record -o DIRECTORY -u EVENTS` "
		  "with --session and --filter; or name fewer events");
	return -E2BIG;
}

/* A line "WORD VALUE" of the description, or NULL; the value is malloc'ed. */
static char *line_value(const char *text, const char *word)
{
	const size_t n = strlen(word);

	for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, word, n))
			return xstrndup(p + n, strcspn(p + n, "\n"));
	return NULL;
}

/* As pt_settings_take() in lib/session.c. */
static u32 power_of_two(const char *text, const char *word, u32 otherwise, u32 least, u32 most)
{
	char *value = line_value(text, word);
	u64 asked = value ? strtoull(value, NULL, 10) : 0;
	u32 power = least;

	free(value);
	asked = asked ? asked : otherwise;
	while (power < asked && power < most)
		power *= 2;
	return power;
}

void user_description_rings(const char *text, u32 *ret_sub_size, u32 *ret_subs)
{
	*ret_sub_size = power_of_two(text, "sub-size ", 1 << 18, 4096, 1 << 30);
	*ret_subs = power_of_two(text, "subs ", 8, 2, 1 << 16);
}

bool user_description_means(const char *text, const char *program, pid_t pid)
{
	bool means = false;

	for (const char *line = text; *line; line = next_line(line)) {
		char *const rule = xstrndup(line, strcspn(line, "\n"));

		means |= str_eq(rule, "for all") ||
			 (str_starts(rule, "for name ") && glob_match(rule + 9, program)) ||
			 (str_starts(rule, "for pid ") && atoi(rule + 8) == pid);
		free(rule);
	}
	return means;
}

bool user_description_wants(const char *text, const char *event, u32 level)
{
	char *const name = xstrndup(event, strcspn(event, " "));
	bool wants = false;

	for (const char *line = text; *line; line = next_line(line)) {
		char *const rule = xstrndup(line, strcspn(line, "\n")), *rest = rule;
		char *const word = strsep(&rest, " "), *const glob = strsep(&rest, " ");
		const bool exactly = rest && *rest == '=';
		const u32 of = rest ? (u32)strtoul(rest + exactly, NULL, 10) : UINT32_MAX;

		if (is_rule(line) && glob && glob_match(glob, name) &&
		    (exactly ? level == of : level <= of))
			wants = str_eq(word, "enable");
		free(rule);
	}
	free(name);
	return wants;
}

int user_description_put(const char *file, const char *text, bool fresh)
{
	char *temporary = xasprintf("%s.%d", file, (int)getpid());
	char *slash = strrchr(temporary, '/');
	int fd, rc;

	/* hidden from programs that read the directory meanwhile */
	slash[1] = '.';
	fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
		  geteuid() ? 0600 : 0644);
	if (fd < 0) {
		rc = -errno;
		goto out;
	}
	rc = write_all(fd, text, strlen(text));
	if (!rc && fchmod(fd, geteuid() ? 0600 : 0644))
		rc = -errno;
	close(fd);
	if (!rc && fresh && link(temporary, file))
		rc = -errno;
	if (!rc && !fresh && rename(temporary, file))
		rc = -errno;
	if (rc || fresh)
		unlink(temporary);
out:
	free(temporary);
	return rc;
}

int user_description_write(const struct user_session *s, bool recorder, bool fresh)
{
	struct strbuf text = STRBUF_INIT;
	int rc;

	strbuf_addstr(&text, "pantrace-session 1\n");
	if (recorder || s->recorder_alive) {
		const pid_t of = recorder ? getpid() : s->recorder;

		strbuf_addf(&text, "# recorder %d %" PRIu64 "\n", (int)of, process_start_time(of));
	}
	if (s->output)
		strbuf_addf(&text, "# output %s\n", s->output);
	if (s->anonymous)
		strbuf_addstr(&text, "# anonymous\n");
	if (s->predicate)
		strbuf_addf(&text, "# predicate %s\n", s->predicate);
	if (s->trigger)
		strbuf_addf(&text, "# trigger %s\n", s->trigger);
	strbuf_addstr(&text, s->text);
	rc = user_description_put(s->file, text.data, fresh);
	strbuf_release(&text);
	return rc;
}

/* ---- read ---- */

/* "# recorder PID START" */
static void recorder_parse(const char *line, struct user_session *s, u64 *ret_started)
{
	int pid = 0;

	if (line && sscanf(line, "%d %" SCNu64, &pid, ret_started) == 2 && pid > 0)
		s->recorder = pid;
}

static int parse(const char *text, const char *file, const char *name, struct user_session *ret,
		 u64 *ret_started)
{
	struct user_session s = {.file = xstrdup(file)};
	const char *const lines = strstr(text, "\nname ");
	char *line;

	snprintf(s.name, sizeof(s.name), "%s", name);
	s.directory = line_value(text, "directory ");
	s.output = line_value(text, "# output ");
	s.predicate = line_value(text, "# predicate ");
	s.trigger = line_value(text, "# trigger ");
	s.ask = line_value(text, "ask ");
	s.keeper = line_value(text, "keeper ");
	line = line_value(text, "# anonymous");
	s.anonymous = line;
	free(line);
	line = line_value(text, "# recorder ");
	recorder_parse(line, &s, ret_started);
	free(line);
	line = line_value(text, "mode ");
	for (u32 i = 0; line && i < ARRAY_SIZE(modes); i++)
		if (str_eq(line, modes[i]))
			s.mode = i;
	free(line);
	s.text = xstrdup(lines ? lines + 1 : "");
	s.stopped = strstr(s.text, "\nstopped\n");
	if (!s.directory || *s.directory != '/') {
		user_session_release(&s);
		return -EBADMSG;
	}
	*ret = s;
	return 0;
}

int user_description_parse(const char *text, const char *file, const char *name,
			   struct user_session *ret)
{
	u64 started;

	return parse(text, file, name, ret, &started);
}

int user_description_read(int directory, const char *name, struct user_session *ret)
{
	char runtime[512], *text, *file;
	struct stat st;
	u64 started = 0;
	int rc = foreign_read(directory, name, 65536, &text, NULL, &st);

	if (rc)
		return rc;
	rc = st.st_uid == geteuid() ? user_runtime(runtime, sizeof(runtime)) : -EPERM;
	if (!rc) {
		file = xasprintf("%s/sessions/%s", runtime, name);
		rc = parse(text, file, name, ret, &started);
		free(file);
	}
	if (!rc)
		ret->recorder_alive =
			ret->recorder && started && process_start_time(ret->recorder) == started;
	free(text);
	return rc;
}
