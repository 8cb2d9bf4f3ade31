/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The declaration at the head of a tool's script (see tools.h). */
#include <ctype.h>

#include "cmd/tools/tools.h"

const struct embedded_tool *tool_find(const char *name)
{
	for (const struct embedded_tool *t = embedded_tools; t->name; t++)
		if (str_eq(t->name, name))
			return t;
	return NULL;
}

/* Cuts the next '|'-separated part off *rest, trimmed. NULL when there is none. */
static char *next_part(char **rest)
{
	char *part = *rest, *bar, *end;

	if (!part)
		return NULL;
	bar = strstr(part, " | ");
	*rest = bar ? bar + 3 : NULL;
	end = bar ? bar : part + strlen(part);
	while (end > part && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	while (isspace((unsigned char)*part))
		part++;
	return part;
}

static int parse_effect(char *words, struct tool_option *o)
{
	static const struct {
		const char *word;
		enum tool_effect effect;
	} effects[] = {
		{"show", TOOL_SHOW},	   {"match", TOOL_MATCH},     {"limit", TOOL_LIMIT},
		{"heatmap", TOOL_HEATMAP}, {"command", TOOL_COMMAND}, {"text", TOOL_TEXT},
		{"name", TOOL_NAME},	   {"numbers", TOOL_NUMBERS}, {"number", TOOL_NUMBER},
		{"filter", TOOL_FILTER},   {"probes", TOOL_PROBES},   {"events", TOOL_EVENTS},
		{"seconds", TOOL_SECONDS}, {"count", TOOL_COUNT},     {"duration", TOOL_DURATION},
		{"device", TOOL_DEVICE},   {"glob", TOOL_GLOB},	      {"list", TOOL_LIST},
		{"format", TOOL_FORMAT},   {"pid", TOOL_PID},	      {"thread", TOOL_THREAD},
		{"event", TOOL_EVENT},	   {"field", TOOL_FIELD}};
	char *save, *word;

	if (!words)
		return 0;
	word = strtok_r(words, " ", &save);
	for (size_t i = 0; word && i < ARRAY_SIZE(effects); i++)
		if (str_eq(word, effects[i].word)) {
			o->effect = effects[i].effect;
			o->column = strtok_r(NULL, "", &save);
			if (o->effect == TOOL_NUMBER && o->column) {
				o->column = strtok_r((char *)(uintptr_t)o->column, " ", &save);
				word = strtok_r(NULL, " ", &save);
				o->least = word ? strtoull(word, NULL, 10) : 0;
			}
			return o->column || o->effect >= TOOL_COMMAND ? 0 : -EINVAL;
		}
	return -EINVAL;
}

/* "-p --pid PID | help | effect" */
static int parse_option(struct tool_spec *spec, char *rest)
{
	struct tool_option o = {0};
	char *names = next_part(&rest), *save, *word;

	o.help = next_part(&rest);
	for (word = strtok_r(names, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (word[0] == '-' && word[1] == '-')
			o.long_name = word + 2;
		else if (word[0] == '-')
			o.short_name = word[1];
		else
			o.value = word;
	}
	if (!o.long_name || !o.help || parse_effect(next_part(&rest), &o))
		return -EINVAL;
	vector_push(&spec->options, o);
	return 0;
}

static int parse_argument(struct tool_spec *spec, char *rest)
{
	struct tool_option o = {0};
	char *name = next_part(&rest), *end;

	o.value = name;
	o.is_optional = *name == '[';
	name += o.is_optional;
	end = name + strlen(name);
	if (end > name && end[-1] == ']')
		*--end = '\0';
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	o.long_name = name;
	if (parse_effect(next_part(&rest), &o))
		return -EINVAL;
	vector_push(&spec->arguments, o);
	return 0;
}

static void parse_pair(char *rest, struct tool_field *ret)
{
	ret->name = next_part(&rest);
	ret->meaning = next_part(&rest);
}

static int parse_line(struct tool_spec *spec, char *key, char *rest)
{
	struct tool_field pair;
	char *save;

	if (str_eq(key, "tool"))
		spec->name = rest;
	else if (str_eq(key, "summary"))
		spec->summary = rest;
	else if (str_eq(key, "what"))
		spec->what = rest;
	else if (str_eq(key, "usage"))
		spec->usage = rest;
	else if (str_eq(key, "option"))
		return parse_option(spec, rest);
	else if (str_eq(key, "argument"))
		return parse_argument(spec, rest);
	else if (str_eq(key, "have")) {
		pair.name = strtok_r(rest, " ", &save);
		pair.meaning = strtok_r(NULL, " ", &save);
		if (!pair.meaning)
			return -EINVAL;
		vector_push(&spec->haves, pair);
	} else if (str_eq(key, "need"))
		parse_pair(rest, &spec->need);
	else if (str_eq(key, "hide"))
		for (char *w = strtok_r(rest, " ", &save); w; w = strtok_r(NULL, " ", &save))
			vector_push(&spec->hidden, w);
	else if (str_eq(key, "example") || str_eq(key, "field")) {
		parse_pair(rest, &pair);
		if (!pair.meaning)
			return -EINVAL;
		if (key[0] == 'e')
			vector_push(&spec->examples, pair);
		else
			vector_push(&spec->fields, pair);
	} else
		return -EINVAL;
	return 0;
}

int tool_parse(struct arena *a, const char *text, struct tool_spec *ret)
{
	const char *end = strstr(text, "*/");
	char *line, *save;

	*ret = (struct tool_spec){0};
	if (!str_starts(text, "/*") || !end)
		return -EINVAL;
	for (line = strtok_r(arena_strndup(a, text + 2, (size_t)(end - text) - 2), "\n", &save);
	     line; line = strtok_r(NULL, "\n", &save)) {
		char *colon;

		line += strspn(line, " \t*");
		if (!*line || str_starts(line, "SPDX"))
			continue;
		colon = strchr(line, ':');
		if (!colon)
			return -EINVAL;
		*colon = '\0';
		if (parse_line(ret, line, colon + 1 + strspn(colon + 1, " ")))
			return -EINVAL;
	}
	return ret->name && ret->summary && ret->usage && ret->what ? 0 : -EINVAL;
}

void tool_spec_release(struct tool_spec *spec)
{
	vector_free(&spec->examples);
	vector_free(&spec->options);
	vector_free(&spec->fields);
	vector_free(&spec->hidden);
	vector_free(&spec->arguments);
	vector_free(&spec->haves);
}
