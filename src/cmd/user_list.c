// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>
#include <unistd.h>

#include <pantrace/ring.h>

#include "base/escape.h"
#include "base/glob.h"
#include "cmd/user.h"

#define ASK_MS 2000

struct list_options {
	struct string_list pids, names;
	bool json;
};

static const struct option_spec list_table[] = {
	{'p', "pid", "PID", "only this process (may be repeated)", OPTION_LIST,
	 offsetof(struct list_options, pids)},
	{'n', "name", "NAME", "only programs of this name, * and ? allowed", OPTION_LIST,
	 offsetof(struct list_options, names)},
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

/* An event of a process; sites of other files of the same name are added up. */
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

/* EXTRA, of N bytes: names of an enum, length of an array. */
static void type_text(struct strbuf *out, unsigned long type, const char *extra, size_t n)
{
	const unsigned long kind = type & ~0x1ful, element = type & 0x1f;
	const char *name = element < ARRAY_SIZE(type_names) ? type_names[element] : NULL;

	if (type == PANTRACE_T_STRUCT) {
		strbuf_addstr(out, "struct");
	} else if (!name || kind > PANTRACE_T_ARRAY) {
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

/* "red=0,green=1" as the text or the JSON of an enum's names. */
static void values_text(struct strbuf *out, const char *extra, size_t n, bool json)
{
	const char *const end = extra + n;
	bool first = true;

	strbuf_addstr(out, json ? ",\"values\":{" : " {");
	while (extra < end) {
		const char *comma = memchr(extra, ',', (size_t)(end - extra));
		const char *const to = comma ? comma : end;
		const char *equals = memchr(extra, '=', (size_t)(to - extra));

		if (equals) {
			strbuf_addstr(out, first ? "" : json ? "," : ", ");
			strbuf_addstr(out, json ? "\"" : "");
			(json ? escape_json : escape_line)(out, extra, (size_t)(equals - extra));
			strbuf_addf(out, json ? "\":%lld" : "=%lld", strtoll(equals + 1, NULL, 10));
			first = false;
		}
		extra = to + 1;
	}
	strbuf_addch(out, '}');
}

/* A field without what is behind it: members of a structure, the brace that ends it. */
static void field_text(struct strbuf *out, unsigned long type, const char *name, size_t n,
		       bool json)
{
	const char *colon = memchr(name, ':', n);
	const size_t length = colon ? (size_t)(colon - name) : n;
	const char *const extra = colon ? colon + 1 : name + n;
	const size_t more = (size_t)(name + n - extra);

	if (json) {
		strbuf_addstr(out, "{\"name\":\"");
		escape_json(out, name, length);
		strbuf_addstr(out, "\",\"type\":\"");
		type_text(out, type, extra, more);
		strbuf_addch(out, '"');
	} else {
		type_text(out, type, extra, more);
		strbuf_addch(out, ' ');
		escape_line(out, name, length);
	}
	if ((type & ~0x1ful) == PANTRACE_T_ENUM)
		values_text(out, extra, more, json);
}

/* "7:id 13:url" as the text or the JSON of a list of fields. */
static void fields_text(struct strbuf *out, const char *fields, bool json)
{
	bool first = true;

	for (const char *p = fields; *p;) {
		char *end;
		const unsigned long type = strtoul(p, &end, 10);
		size_t n;

		if (*end != ':')
			return;
		end++;
		n = strcspn(end, " ");
		p = end + n + (end[n] == ' ');
		if (type == PANTRACE_T_STRUCT_END) {
			strbuf_addstr(out, json ? "]}" : "}");
			first = false;
			continue;
		}
		strbuf_addstr(out, first ? "" : json ? "," : ", ");
		field_text(out, type, end, n, json);
		first = type == PANTRACE_T_STRUCT;
		if (first)
			strbuf_addstr(out, json ? ",\"members\":[" : " {");
		else if (json)
			strbuf_addch(out, '}');
	}
}

typedef VECTOR(struct event) event_vector;

/* "event SITES SESSIONS LEVEL PROVIDER:NAME FIELDS": what a process says is anybody's text. */
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

static void print_event(struct strbuf *out, const struct user_process *p, const struct event *e,
			bool json)
{
	if (json) {
		strbuf_addf(out, "{\"pid\":%d,\"uid\":%u,\"program\":\"", (int)p->pid,
			    (unsigned int)p->uid);
		escape_json(out, p->name, strlen(p->name));
		strbuf_addstr(out, "\",\"event\":\"");
		escape_json(out, e->name, strlen(e->name));
		strbuf_addf(out,
			    "\",\"sessions\":%" PRIu64 ",\"sites\":%" PRIu64 ",\"level\":%" PRIu64
			    ",\"fields\":[",
			    e->sessions, e->sites, e->level);
		fields_text(out, e->fields, true);
		strbuf_addstr(out, "]}\n");
		return;
	}
	strbuf_addf(out, "%-8d ", (int)p->pid);
	escape_line(out, p->name, strlen(p->name));
	strbuf_addchars(out, ' ', 16 - (int)strlen(p->name));
	strbuf_addf(out, " %2" PRIu64 " %5" PRIu64 " ", e->sessions, e->sites);
	escape_line(out, e->name, strlen(e->name));
	if (*e->fields) {
		strbuf_addstr(out, " (");
		fields_text(out, e->fields, false);
		strbuf_addch(out, ')');
	}
	strbuf_addch(out, '\n');
}

int user_list(int argc, char **argv)
{
	struct list_options o = {0};
	struct user_processes processes = {0};
	struct strbuf out = STRBUF_INIT;
	struct diag d = DIAG_INIT;
	struct user_session_options which = {0};
	struct user_session_arguments a = {0};
	pid_t *pids = NULL;
	char *request;
	size_t shown = 0;
	int first, rc = options_parse(&list_spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first > 1)
		return options_usage_error(&list_spec, "one pattern of events at most");
	a.pids = o.pids;
	a.names = o.names;
	rc = user_session_options_from(&list_spec, &a, &which, &pids);
	if (rc != OPTIONS_GO_ON)
		goto out;
	user_connect(&processes, &which.which);
	request = user_request("list", NULL);
	user_ask(&processes, request, ASK_MS);
	free(request);
	user_warn(&processes, &d);
	if (!o.json && processes.all.len)
		strbuf_addf(&out, "%-8s %-16s %2s %5s %s\n", "PID", "PROGRAM", "ON", "SITES",
			    "EVENT");
	for (size_t i = 0; i < processes.all.len; i++) {
		struct user_process *const p = &processes.all.items[i];
		event_vector events = {0};

		if (!p->error)
			events_of(p, argv[first], &events);
		for (size_t e = 0; e < events.len; e++)
			print_event(&out, p, &events.items[e], o.json);
		shown += events.len;
		vector_free(&events);
	}
	fwrite(out.data, 1, out.len, stdout);
	if (!shown && !o.json)
		fprintf(stderr, "pantrace user list: %s\n",
			processes.all.len ? "no process has such an event"
					  : "no instrumented process answers");
	rc = fflush(stdout) ? EXIT_FAILED : EXIT_OK;
	diag_print(&d, stderr, isatty(2) && !getenv("NO_COLOR"));
out:
	strbuf_release(&out);
	user_processes_release(&processes);
	diag_release(&d);
	user_session_arguments_release(&a);
	free(pids);
	return rc;
}
