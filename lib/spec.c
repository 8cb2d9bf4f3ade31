// SPDX-License-Identifier: MIT
/*
 * Parses the text that describes a session (pantrace/protocol.h). It is not trusted: everything is
 * bounded.
 */
#include "hooks.h"
#include "internal.h"
#include <errno.h>
#include <pantrace/protocol.h>
#include <string.h>
#include <sys/stat.h>

bool pt_line_next(const char **text, const char *end, struct pt_line *ret)
{
	const char *newline;

	if (*text >= end)
		return false;
	newline = memchr(*text, '\n', (size_t)(end - *text));
	ret->at = *text;
	ret->end = newline ? newline : end;
	*text = newline ? newline + 1 : end;
	return true;
}

bool pt_word_next(struct pt_line *line, struct pt_line *ret)
{
	const char *blank;

	if (line->at >= line->end)
		return false;
	blank = memchr(line->at, ' ', (size_t)(line->end - line->at));
	ret->at = line->at;
	ret->end = blank ? blank : line->end;
	line->at = blank ? blank + 1 : line->end;
	return ret->end > ret->at;
}

bool pt_word_is(const struct pt_line *word, const char *text)
{
	const size_t n = strlen(text);

	return (size_t)(word->end - word->at) == n && !memcmp(word->at, text, n);
}

bool pt_word_number(const struct pt_line *word, uint64_t most, uint64_t *ret)
{
	uint64_t value = 0;

	if (word->at >= word->end)
		return false;
	for (const char *p = word->at; p < word->end; p++) {
		const unsigned int digit = (unsigned int)*p - '0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (value > most)
		return false;
	*ret = value;
	return true;
}

/* Copies a word that has no NUL; false when it does not fit. */
static bool word_copy(const struct pt_line *word, char *ret, size_t size)
{
	const size_t n = (size_t)(word->end - word->at);

	if (!n || n >= size || memchr(word->at, 0, n))
		return false;
	memcpy(ret, word->at, n);
	ret[n] = 0;
	return true;
}

bool pt_word_name(const struct pt_line *word, char ret[PANTRACE_SESSION_NAME])
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	return word_copy(word, ret, PANTRACE_SESSION_NAME) && *ret != '.' &&
	       strspn(ret, good) == strlen(ret);
}

static int take_name(struct pt_description *to, struct pt_line *values)
{
	struct pt_line word;

	return pt_word_next(values, &word) && pt_word_name(&word, to->spec.name) ? 0 : -EINVAL;
}

static int take_number(struct pt_line *values, uint64_t most, uint32_t *ret)
{
	struct pt_line word;
	uint64_t value;

	if (!pt_word_next(values, &word) || !pt_word_number(&word, most, &value))
		return -EINVAL;
	*ret = (uint32_t)value;
	return 0;
}

static int take_for(struct pt_description *to, struct pt_line *values)
{
	struct pt_line word;

	if (!pt_word_next(values, &word))
		return -EINVAL;
	if (pt_word_is(&word, "all")) {
		to->join_all = true;
		return 0;
	}
	if (pt_word_is(&word, "environment")) {
		to->join_environment = true;
		return 0;
	}
	if (pt_word_is(&word, "child"))
		return take_number(values, INT32_MAX, &to->join_child);
	/* an answer goes to whoever was asked: the rest of the line is skipped */
	if (pt_word_is(&word, "pid")) {
		values->at = values->end;
		return 0;
	}
	if (!pt_word_is(&word, "name"))
		return -EINVAL;
	if (to->nr_join == PT_JOIN_NAMES)
		return -ENOSPC;
	/* the rest of the line: names of programs may have blanks */
	if (!word_copy(values, to->join[to->nr_join], sizeof(to->join[0])))
		return -EINVAL;
	to->nr_join++;
	values->at = values->end;
	return 0;
}

static int take_directory(struct pt_description *to, struct pt_line *values)
{
	if (!word_copy(values, to->spec.directory, sizeof(to->spec.directory)) ||
	    to->spec.directory[0] != '/')
		return -EINVAL;
	values->at = values->end;
	return 0;
}

/* A comment line: older libraries skip it. */
static void take_note(struct pt_description *to, struct pt_line *line)
{
	struct pt_line word, device, inode;

	if (pt_word_next(line, &word) && pt_word_next(line, &word) &&
	    pt_word_is(&word, "directory-id") && pt_word_next(line, &device) &&
	    pt_word_next(line, &inode) &&
	    pt_word_number(&device, UINT64_MAX, &to->spec.directory_device))
		pt_word_number(&inode, UINT64_MAX, &to->spec.directory_inode);
}

static int take_mode(struct pt_description *to, struct pt_line *values)
{
	static const char *const names[] = {"discard", "overwrite", "block"};
	struct pt_line word;

	if (!pt_word_next(values, &word))
		return -EINVAL;
	for (uint32_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!pt_word_is(&word, names[i]))
			continue;
		to->spec.mode = i;
		return 0;
	}
	return -EINVAL;
}

static int take_sub_size(struct pt_description *to, struct pt_line *values)
{
	return take_number(values, 1u << 30, &to->spec.sub_size);
}

static int take_subs(struct pt_description *to, struct pt_line *values)
{
	return take_number(values, 1u << 16, &to->spec.nr_subs);
}

static int take_block(struct pt_description *to, struct pt_line *values)
{
	return take_number(values, UINT32_MAX, &to->spec.block_us);
}

static int take_threads(struct pt_description *to, struct pt_line *values)
{
	(void)values;
	to->spec.per_thread = 1;
	return 0;
}

static int take_contexts(struct pt_description *to, struct pt_line *values)
{
	/* in the order of enum pantrace_context */
	static const char *const names[PANTRACE_CONTEXT_MAX] = {
		"vpid",	       "vtid", "procname",   "cpu_id", "context_switches",
		"page_faults", "ip",   "user_stack",
	};
	struct pt_line word;

	while (values->at < values->end) {
		const char *comma = memchr(values->at, ',', (size_t)(values->end - values->at));
		unsigned int i = 0;

		word = (struct pt_line){values->at, comma ? comma : values->end};
		values->at = comma ? comma + 1 : values->end;
		while (i < PANTRACE_CONTEXT_MAX && !pt_word_is(&word, names[i]))
			i++;
		if (i == PANTRACE_CONTEXT_MAX)
			return -EINVAL;
		to->spec.contexts |= 1ull << i;
	}
	return 0;
}

static int take_clock(struct pt_description *to, struct pt_line *values)
{
	uint64_t *const into[] = {&to->spec.clock.tsc_hz, &to->spec.clock.tsc,
				  &to->spec.clock.monotonic_ns, &to->spec.clock.realtime_ns};
	struct pt_line word;

	for (unsigned int i = 0; i < 4; i++)
		if (!pt_word_next(values, &word) || !pt_word_number(&word, INT64_MAX, into[i]))
			return -EINVAL;
	to->spec.has_clock = to->spec.clock.tsc_hz;
	return to->spec.has_clock ? 0 : -EINVAL;
}

static int take_rule(struct pt_description *to, struct pt_line *values, bool on)
{
	uint8_t level = PT_LEVEL_ANY;
	struct pt_line glob, word;
	bool exactly = false;
	uint64_t number;

	if (!pt_word_next(values, &glob))
		return -EINVAL;
	if (pt_word_next(values, &word)) {
		exactly = *word.at == '=';
		word.at += exactly;
		if (!pt_word_number(&word, 14, &number))
			return -EINVAL;
		level = (uint8_t)number;
	}
	return pt_rules_add(&to->rules, glob.at, (size_t)(glob.end - glob.at), on, level, exactly);
}

static int take_enable(struct pt_description *to, struct pt_line *values)
{
	return take_rule(to, values, true);
}

static int take_disable(struct pt_description *to, struct pt_line *values)
{
	return take_rule(to, values, false);
}

static int take_filter(struct pt_description *to, struct pt_line *values)
{
	struct pt_line glob, hex, hash;
	uint64_t number = 0;

	if (!pt_word_next(values, &glob) || !pt_word_next(values, &hex))
		return -EINVAL;
	if (pt_word_next(values, &hash) && !pt_word_number(&hash, INT64_MAX, &number))
		return -EINVAL;
	return pt_filter_add_hex(&to->rules, glob.at, (size_t)(glob.end - glob.at), number, hex.at,
				 (size_t)(hex.end - hex.at));
}

/* In another PID namespace counts by PID would be those of another process. */
static int take_pids(struct pt_description *to, struct pt_line *values)
{
	struct pt_line word;
	uint64_t inode;
	struct stat st;

	(void)to;
	if (!pt_word_next(values, &word) || !pt_word_number(&word, UINT64_MAX, &inode))
		return -EINVAL;
	return stat("/proc/self/ns/pid", &st) || st.st_ino == inode ? 0 : -EXDEV;
}

static int take_aggregate(struct pt_description *to, struct pt_line *values)
{
	struct pt_line hash, hex;
	uint64_t number;

	if (!pt_word_next(values, &hash) || !pt_word_next(values, &hex) ||
	    !pt_word_number(&hash, INT64_MAX, &number))
		return -EINVAL;
	return pt_aggregate_add_hex(&to->rules, number, hex.at, (size_t)(hex.end - hex.at));
}

/* A session with maps counts; it has no rings. */
static int take_map(struct pt_description *to, struct pt_line *values)
{
	/* in the order of enum pantrace_aggregate_kind */
	static const char *const names[PANTRACE_AGGREGATE_KINDS] = {"count", "pair", "min",
								    "max",   "umin", "umax"};
	struct pt_map_spec *const map = &to->spec.map[to->spec.nr_maps];
	struct pt_line word;

	if (to->spec.nr_maps == PANTRACE_AGGREGATE_MAPS)
		return -ENOSPC;
	if (!pt_word_next(values, &word))
		return -EINVAL;
	for (map->kind = 0; map->kind < PANTRACE_AGGREGATE_KINDS; map->kind++)
		if (pt_word_is(&word, names[map->kind]))
			break;
	if (map->kind == PANTRACE_AGGREGATE_KINDS ||
	    take_number(values, PANTRACE_AGGREGATE_KEY, &map->key_size) ||
	    take_number(values, PANTRACE_AGGREGATE_ENTRIES, &map->entries) || !map->entries)
		return -EINVAL;
	to->spec.nr_maps++;
	to->spec.mode = PANTRACE_AGGREGATE;
	return 0;
}

static int take_tracked(struct pt_description *to, struct pt_line *values)
{
	return pt_tracked_take(&to->spec.tracked, values);
}

static int take_stopped(struct pt_description *to, struct pt_line *values)
{
	(void)values;
	to->spec.stopped = true;
	return 0;
}

static int take_ask(struct pt_description *to, struct pt_line *values)
{
	if (!word_copy(values, to->spec.ask, sizeof(to->spec.ask)) || to->spec.ask[0] != '/')
		return -EINVAL;
	values->at = values->end;
	return 0;
}

static int take_keeper(struct pt_description *to, struct pt_line *values)
{
	if (!word_copy(values, to->spec.keeper, sizeof(to->spec.keeper)) ||
	    to->spec.keeper[0] != '/')
		return -EINVAL;
	values->at = values->end;
	return 0;
}

static int take_script(struct pt_description *to, struct pt_line *values)
{
	(void)values;
	to->spec.mode = PANTRACE_SCRIPT;
	return 0;
}

static const struct {
	const char *word;
	int (*take)(struct pt_description *to, struct pt_line *values);
} lines[] = {
	{"ask", take_ask},	 {"filter", take_filter},     {"script", take_script},
	{"pids", take_pids},	 {"map", take_map},	      {"aggregate", take_aggregate},
	{"name", take_name},	 {"for", take_for},	      {"directory", take_directory},
	{"mode", take_mode},	 {"sub-size", take_sub_size}, {"subs", take_subs},
	{"block", take_block},	 {"threads", take_threads},   {"contexts", take_contexts},
	{"clock", take_clock},	 {"enable", take_enable},     {"disable", take_disable},
	{"keeper", take_keeper}, {"tracked", take_tracked},   {"stopped", take_stopped},
};

int pt_description_parse(const char *text, size_t n, struct pt_description *ret)
{
	const char *const end = text + n;
	struct pt_line line, word;

	memset(ret, 0, sizeof(*ret));
	while (pt_line_next(&text, end, &line)) {
		int rc = -EINVAL;

		ret->line++;
		if (line.at == line.end)
			continue;
		if (*line.at == '#') {
			take_note(ret, &line);
			continue;
		}
		if (!pt_word_next(&line, &word))
			return rc;
		for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
			if (pt_word_is(&word, lines[i].word))
				rc = lines[i].take(ret, &line);
		if (!rc && line.at < line.end)
			rc = -EINVAL;
		if (rc)
			return rc;
	}
	ret->line = 0;
	return 0;
}

int pt_description_parse_file(const char *text, size_t n, struct pt_description *ret)
{
	const char *at = text, *const end = text + n;
	struct pt_line line;
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->line = 1;
	if (!pt_line_next(&at, end, &line) || !pt_word_is(&line, "pantrace-session 1"))
		return -EPROTONOSUPPORT;
	rc = pt_description_parse(at, (size_t)(end - at), ret);
	if (rc)
		ret->line++;
	else if (!*ret->spec.name)
		rc = -EINVAL;
	return rc;
}
