// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include <pantrace/ring.h>

#include "base/escape.h"
#include "base/glob.h"
#include "base/json.h"
#include "cmd/user/user.h"
#include "view/sink.h"

#define ASK_MS 2000

struct list_options {
	struct user_session_arguments who; /* holds pids and names */
	bool json;
};

static const struct option_spec list_table[] = {
	{'p', "pid", "PID", "only this process (may be repeated)", OPTION_PIDS,
	 offsetof(struct list_options, who.pids)},
	{'n', "name", "NAME", "only programs of this name, * and ? allowed", OPTION_LIST,
	 offsetof(struct list_options, who.names)},
	{'j', "json", NULL, "one JSON object an event and process", OPTION_FLAG,
	 offsetof(struct list_options, json)},
	{0},
};

static const struct option_field list_fields[] = {
	{"PID, PROGRAM", "the process"},
	{"ON", "how many sessions record the event"},
	{"SITES", "places in the code"},
	{"EVENT", "provider:name and its fields"},
	{0},
};

static const struct command_spec list_spec = {
	.name = "user list",
	.synopsis = "[options] [EVENTS]",
	.summary = "instrumented processes and their events",
	.examples = "pantrace user list   # all events of all processes\n"
		    "pantrace user list 'shop:*'   # these, whoever has them\n"
		    "pantrace user list -n nginx --json   # of one program, for a script\n",
	.fields = list_fields,
	.options = list_table,
};

/* An event of a process. Sites of the same name in several files are added up. */
struct event {
	u64 sites, sessions, level;
	char *name, *fields;
};

static const char *const type_names[PANTRACE_T_MAX] = {
	[PANTRACE_T_I8] = "s8",	     [PANTRACE_T_U8] = "u8",	[PANTRACE_T_I16] = "s16",
	[PANTRACE_T_U16] = "u16",    [PANTRACE_T_I32] = "s32",	[PANTRACE_T_U32] = "u32",
	[PANTRACE_T_I64] = "s64",    [PANTRACE_T_U64] = "u64",	[PANTRACE_T_F32] = "float",
	[PANTRACE_T_F64] = "double", [PANTRACE_T_PTR] = "ptr",	[PANTRACE_T_BOOL] = "bool",
	[PANTRACE_T_STRING] = "str", [PANTRACE_T_TEXT] = "str",
};

/* Appends the type's name. `extra`, of n bytes: labels of an enum or length of an array. */
static void type_text(struct strbuf *out, unsigned long type, const char *extra, size_t n)
{
	const unsigned long kind = type & PANTRACE_T_KIND, element = type & PANTRACE_T_ELEMENT;
	const char *name = element < ARRAY_SIZE(type_names) ? type_names[element] : NULL;

	if (type & PANTRACE_T_HEX && type <= UINT8_MAX)
		strbuf_addstr(out, "hex ");
	if (type == PANTRACE_T_STRUCT) {
		strbuf_addstr(out, "struct");
	} else if (!name || type > UINT8_MAX) {
		strbuf_addf(out, "type %lu", type);
	} else if (kind == PANTRACE_T_ENUM) {
		strbuf_addstr(out, "enum ");
		strbuf_addstr(out, name);
	} else if (kind == PANTRACE_T_ARRAY) {
		strbuf_addf(out, "%s[", name);
		escape_line(out, extra, n);
		strbuf_addch(out, ']');
	} else {
		strbuf_addf(out, "%s%s", name, kind == PANTRACE_T_SEQUENCE ? "[]" : "");
	}
}

/* Appends the labels of an enum: "red=0,green=1". */
static void values_add(const struct medium *to, const char *extra, size_t n)
{
	const char *const end = extra + n;
	bool first = true;

	if (to->json) {
		json_key(to->json, "values");
		json_object(to->json);
	} else {
		strbuf_addstr(to->out, " {");
	}
	while (extra < end) {
		const char *comma = memchr(extra, ',', (size_t)(end - extra));
		const char *const next = comma ? comma : end;
		const char *equals = memchr(extra, '=', (size_t)(next - extra));

		if (equals && to->json) {
			json_key_bytes(to->json, extra, (size_t)(equals - extra));
			json_s64(to->json, strtoll(equals + 1, NULL, 10));
		} else if (equals) {
			strbuf_addstr(to->out, first ? "" : ", ");
			escape_line(to->out, extra, (size_t)(equals - extra));
			strbuf_addf(to->out, "=%lld", strtoll(equals + 1, NULL, 10));
			first = false;
		}
		extra = next + 1;
	}
	if (to->json)
		json_end(to->json, '}');
	else
		strbuf_addch(to->out, '}');
}

/* Appends a field without its suffixes: the members of a structure, the closing brace. */
static void field_add(const struct medium *to, unsigned long type, const char *name, size_t n)
{
	const char *colon = memchr(name, ':', n);
	const size_t length = colon ? (size_t)(colon - name) : n;
	const char *const extra = colon ? colon + 1 : name + n;
	const size_t more = (size_t)(name + n - extra);
	struct strbuf spelled = STRBUF_INIT;

	type_text(&spelled, type, extra, more);
	if (to->json) {
		json_object(to->json);
		json_member_string(to->json, "name", name, length);
		json_member_string(to->json, "type", spelled.data, spelled.len);
	} else {
		strbuf_add(to->out, spelled.data, spelled.len);
		strbuf_addch(to->out, ' ');
		escape_line(to->out, name, length);
	}
	if ((type & PANTRACE_T_KIND) == PANTRACE_T_ENUM)
		values_add(to, extra, more);
	strbuf_release(&spelled);
}

static void begin_members(const struct medium *to)
{
	if (to->json) {
		json_key(to->json, "members");
		json_array(to->json);
	} else {
		strbuf_addstr(to->out, " {");
	}
}

static void end_members(const struct medium *to)
{
	if (to->json) {
		json_end(to->json, ']');
		json_end(to->json, '}');
	} else {
		strbuf_addch(to->out, '}');
	}
}

/*
 * Appends a list of fields: "7:id 13:url". The text comes from the process and may be anything, so
 * whatever is still open at its end is closed.
 */
static void fields_add(const struct medium *to, const char *fields)
{
	bool first = true;
	u32 depth = 0;

	for (const char *p = fields; *p;) {
		char *end;
		const unsigned long type = strtoul(p, &end, 10);
		size_t n;

		if (*end != ':')
			break;
		end++;
		n = strcspn(end, " ");
		p = end + n + (end[n] == ' ');
		if (type == PANTRACE_T_STRUCT_END) {
			if (depth) {
				end_members(to);
				depth--;
			}
			first = false;
			continue;
		}
		if (!to->json)
			strbuf_addstr(to->out, first ? "" : ", ");
		field_add(to, type, end, n);
		first = type == PANTRACE_T_STRUCT;
		if (first) {
			begin_members(to);
			depth++;
		} else if (to->json) {
			json_end(to->json, '}');
		}
	}
	while (depth--)
		end_members(to);
}

typedef VECTOR(struct event) event_vector;

/*
 * Parses "event SITES SESSIONS LEVEL PROVIDER:NAME FIELDS". Do not trust it: any process can send
 * it.
 */
static bool event_parse(char *line, struct event *ret)
{
	char *p = line;
	u64 *const numbers[] = {&ret->sites, &ret->sessions, &ret->level};

	if (!str_starts(p, "event "))
		return false;
	p += 6;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		char *end;

		*numbers[i] = strtoull(p, &end, 10);
		if (end == p || *end != ' ')
			return false;
		p = end + 1;
	}
	ret->name = p;
	p += strcspn(p, " ");
	ret->fields = *p ? p + 1 : p;
	*p = '\0';
	return *ret->name;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct event *)a)->name, ((const struct event *)b)->name);
}

static void events_of(struct user_process *process, const char *pattern, event_vector *events)
{
	size_t kept = 0;

	for (char *line = process->text, *next; line && *line; line = next) {
		struct event event;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (event_parse(line, &event) && (!pattern || glob_match(pattern, event.name)))
			vector_push(events, event);
	}
	if (!events->len)
		return;
	qsort(events->items, events->len, sizeof(*events->items), by_name);
	for (size_t i = 1; i < events->len; i++) {
		struct event *const last = &events->items[kept];

		if (str_eq(last->name, events->items[i].name) &&
		    str_eq(last->fields, events->items[i].fields))
			last->sites += events->items[i].sites;
		else
			events->items[++kept] = events->items[i];
	}
	events->len = kept + 1;
}

static const struct sink_column columns[] = {{"pid", "PID", 8},		 {.key = "uid"},
					     {"program", "PROGRAM", 16}, {.key = "event"},
					     {"sessions", "ON", -2},	 {"sites", "SITES", -5},
					     {.key = "level"},		 {.key = "fields"},
					     {NULL, "EVENT", 0},	 {0}};

static void fields_json(const void *fields, struct json *j)
{
	json_array(j);
	fields_add(&(const struct medium){.json = j}, fields);
	json_end(j, ']');
}

static void print_event(struct sink *s, const struct user_process *p, const struct event *e)
{
	struct strbuf shown = STRBUF_INIT;

	escape_line(&shown, e->name, strlen(e->name));
	if (*e->fields) {
		strbuf_addstr(&shown, " (");
		fields_add(&(const struct medium){.out = &shown}, e->fields);
		strbuf_addch(&shown, ')');
	}
	sink_row(s, SINK_NUMBER(p->pid), SINK_NUMBER(p->uid), SINK_TEXT(p->name),
		 SINK_TEXT(e->name), SINK_NUMBER(e->sessions), SINK_NUMBER(e->sites),
		 SINK_NUMBER(e->level), SINK_PARTS(fields_json, e->fields), SINK_SHOWN(shown.data));
	strbuf_release(&shown);
}

int user_list(int argc, char **argv)
{
	struct list_options o = {0};
	struct user_processes processes = {0};
	struct strbuf out = STRBUF_INIT;
	struct sink sink = {.columns = columns, .out = &out};
	struct diag d = DIAG_INIT;
	struct user_session_options which = {0};
	char *request;
	size_t shown = 0;
	int first, rc = options_parse(&list_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first > 1)
		return options_usage_error(&list_spec, "one pattern of events at most");
	rc = user_session_options_from(&list_spec, &o.who, &which);
	if (rc != OPTIONS_GO_ON)
		goto out;
	request = user_request("list", NULL);
	user_ask(&processes, &which.which, request, ASK_MS);
	free(request);
	user_warn(&processes, &d);
	user_warn_stays_off(&processes, &d);
	sink.format = sink_of(o.json);
	if (processes.all.len)
		sink_header(&sink);
	for (size_t i = 0; i < processes.all.len; i++) {
		struct user_process *const p = &processes.all.items[i];
		event_vector events = {0};

		if (!p->error)
			events_of(p, argv[first], &events);
		for (size_t e = 0; e < events.len; e++)
			print_event(&sink, p, &events.items[e]);
		shown += events.len;
		vector_free(&events);
	}
	fwrite(out.data, 1, out.len, stdout);
	if (!shown && !o.json)
		complain("user list", processes.all.len ? "no process has such an event"
							: "no instrumented process answers");
	rc = EXIT_OK;
	diag_tell(&d);
out:
	strbuf_release(&out);
	user_processes_release(&processes);
	diag_release(&d);
	user_session_arguments_release(&o.who);
	return rc;
}
