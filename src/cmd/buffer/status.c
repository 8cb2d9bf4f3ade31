/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace status`: what the kernel traces now in all buffers, whose they are, what is in them. */
#include <stdio.h>
#include <time.h>

#include "base/escape.h"
#include "base/json.h"
#include "cmd/buffer/buffer.h"
#include "kernel/tracefs/lasting_buffer.h"
#include "kernel/tracefs/state.h"
#include "trace/ring/live.h"

#define EVENTS_SHOWN 6 /* without -v */

struct status_options {
	const char *name;
	bool json;
	int verbose;
};

static const struct option_spec status_table[] = {
	{'B', "name", "BUFFER", "only this session or instance", OPTION_STRING,
	 offsetof(struct status_options, name)},
	{'v', "verbose", NULL, "all events, each CPU, all settings", OPTION_COUNT,
	 offsetof(struct status_options, verbose)},
	{'j', "json", NULL, "one JSON object per buffer, and per probe and synthetic event",
	 OPTION_FLAG, offsetof(struct status_options, json)},
	{0},
};

static const struct command_spec status_spec = {
	.name = "status",
	.synopsis = "[-B NAME] [-vj]",
	.summary = "what the kernel traces now, into which buffers, and whose they are",
	.examples = "pantrace status\n"
		    "pantrace status -v -B main   # all events, each CPU\n"
		    "pantrace status --json | jq 'select(.overwritten > 0)'\n",
	.details =
		"It lists the sessions of `pantrace start`, running pantrace processes, instances "
		"of other programs, and the kernel's own (top) buffer, each with its events, "
		"tracer, filters, triggers, and settings that differ from those after boot; and "
		"how many events are in the buffer, were overwritten, had no room, and were read. "
		"Probes and synthetic events belong to no buffer.\n\n"
		"For users of trace-cmd: this is trace-cmd stat; `pantrace stat` counts events.\n",
	.options = status_table,
	.takes_no_argument = true,
};

/* ---- what there is ---- */

struct session {
	char *name, *instance, *command;
	u64 began_ns;
	bool stands;
};

struct status {
	struct status_options o;
	const char *tracefs;
	VECTOR(struct session) sessions;
	struct tracefs_state state;
	struct strbuf out;
	struct json json;
	u32 shown;
};

/* One buffer. */
struct buffer {
	const char *instance; /* "" = top */
	const struct session *session; /* NULL = none */
	pid_t owner; /* of a run of ours; 0 = none */
	bool alive;
	char *directory, *tracer, *clock, *size, *on;
	struct ring_counts all, *each;
	u32 *cpus, cpu_count;
};

static int add_session(void *arg, const struct lasting_buffer *b)
{
	struct status *const s = arg;

	vector_push(&s->sessions, (struct session){xstrdup(b->name), xstrdup(b->instance),
						   xstrdup(b->command), b->began_ns, b->stands});
	return 0;
}

static char *value_of(const struct buffer *b, const char *file)
{
	char *value;

	return tracefs_value_read(b->directory, file, &value) ? xstrdup("") : value;
}

static void read_counts(struct buffer *b)
{
	if (ring_cpus(b->directory, &b->cpus, &b->cpu_count))
		b->cpu_count = 0;
	b->each = xzalloc(MAX(b->cpu_count, 1u) * sizeof(*b->each));
	for (u32 i = 0; i < b->cpu_count; i++) {
		ring_counts(b->directory, b->cpus[i], &b->each[i]);
		ring_counts_add(&b->all, &b->each[i]);
	}
}

static struct buffer open_buffer(const struct status *s, const char *instance)
{
	struct buffer b = {.instance = instance};

	b.directory = *instance ? xasprintf("%s/instances/%s", s->tracefs, instance)
				: xstrdup(s->tracefs);
	for (size_t i = 0; i < s->sessions.len; i++)
		if (str_eq(s->sessions.items[i].instance, instance))
			b.session = &s->sessions.items[i];
	b.tracer = value_of(&b, "current_tracer");
	b.clock = value_of(&b, "trace_clock");
	b.size = value_of(&b, "buffer_size_kb");
	b.on = value_of(&b, "tracing_on");
	read_counts(&b);
	return b;
}

static void close_buffer(struct buffer *b)
{
	free(b->directory);
	free(b->tracer);
	free(b->clock);
	free(b->size);
	free(b->on);
	free(b->cpus);
	free(b->each);
}

static const char *kind_of(const struct buffer *b)
{
	return b->session ? "session" : b->owner ? "run" : *b->instance ? "instance" : "top";
}

/* The buffer's next item from *at on that is of one of these kinds (a bit set); NULL = none. */
static const struct state_item *next_item(const struct status *s, const struct buffer *b,
					  unsigned int kinds, size_t *at)
{
	while (*at < s->state.items.len) {
		const struct state_item *const i = &s->state.items.items[(*at)++];

		if (kinds & 1u << i->kind && str_eq(i->instance, b->instance))
			return i;
	}
	return NULL;
}

#define EVENTS	 (1u << STATE_EVENT)
#define FILTERS	 (1u << STATE_FILTER)
#define TRIGGERS (1u << STATE_TRIGGER)
#define SETTINGS (1u << STATE_SETTING | 1u << STATE_LIST)
#define GLOBAL	 (1u << STATE_PROBE | 1u << STATE_SYNTHETIC)

/* "events/sched/sched_switch/enable" -> "sched:sched_switch"; malloc'ed */
static char *event_of(const char *file)
{
	const char *system = str_starts(file, "events/") ? file + strlen("events/") : file;
	const char *slash = strchr(system, '/'), *end = slash ? strchr(slash + 1, '/') : NULL;

	if (!end)
		return xstrdup(file);
	return xasprintf("%.*s:%.*s", (int)(slash - system), system, (int)(end - slash - 1),
			 slash + 1);
}

/* Shown already, in the lines above. */
static bool is_said(const struct state_item *i)
{
	static const char *const files[] = {"current_tracer", "trace_clock", "buffer_size_kb",
					    "tracing_on"};

	for (size_t n = 0; n < ARRAY_SIZE(files); n++)
		if (str_eq(i->file, files[n]))
			return true;
	return false;
}

/* ---- text ---- */

static void line(struct status *s, const char *label, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void line(struct status *s, const char *label, const char *fmt, ...)
{
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_addf(&s->out, "  %-10s ", label);
	escape_line(&s->out, text.data, text.len);
	strbuf_addch(&s->out, '\n');
	strbuf_release(&text);
}

static void text_head(struct status *s, const struct buffer *b)
{
	const char *const tracing = str_eq(b->on, "0") ? "stopped" : "tracing";
	struct tm tm;
	char began[32];
	time_t at;

	if (b->session) {
		at = (time_t)(b->session->began_ns / 1000000000);
		strftime(began, sizeof(began), "%Y-%m-%d %H:%M:%S", localtime_r(&at, &tm));
		strbuf_addf(&s->out, "session %s: %s, since %s%s\n", b->session->name, tracing,
			    began, b->session->stands ? "" : " (being made or removed)");
		line(s, "begun by", "%s", b->session->command);
	} else if (b->owner) {
		strbuf_addf(&s->out, "run of pantrace, process %d%s: %s\n", (int)b->owner,
			    b->alive ? "" : " (dead; `pantrace reset-ftrace --stale` removes it)",
			    tracing);
	} else if (*b->instance) {
		strbuf_addstr(&s->out, "instance ");
		escape_line(&s->out, b->instance, strlen(b->instance));
		strbuf_addf(&s->out, " of another program: %s\n", tracing);
	} else {
		strbuf_addf(&s->out, "the kernel's top buffer: %s\n",
			    str_eq(b->on, "0") ? "stopped" : "on");
	}
}

static void text_events(struct status *s, const struct buffer *b)
{
	struct strbuf names = STRBUF_INIT;
	const struct state_item *i;
	u32 count = 0;

	for (size_t at = 0; (i = next_item(s, b, EVENTS, &at)); count++) {
		char *const name = event_of(i->file);

		if (s->o.verbose || count < EVENTS_SHOWN)
			strbuf_addf(&names, "%s%s", count ? ", " : "", name);
		free(name);
	}
	if (count)
		line(s, "events", "%u: %s%s", count, names.data,
		     !s->o.verbose && count > EVENTS_SHOWN ? ", ... (-v shows all)" : "");
	strbuf_release(&names);
}

static void text_commands(struct status *s, const struct buffer *b, unsigned int kinds,
			  const char *label)
{
	const struct state_item *i;

	for (size_t at = 0; (i = next_item(s, b, kinds, &at));) {
		char *const name = event_of(i->file);

		line(s, label, "%s: %s", name, i->value);
		free(name);
	}
}

static void text_settings(struct status *s, const struct buffer *b)
{
	const struct state_item *i;

	for (size_t at = 0; (i = next_item(s, b, SETTINGS, &at));)
		/* our own buffers all have the same settings: only with -v */
		if (!is_said(i) &&
		    (s->o.verbose || i->kind == STATE_LIST || (!b->session && !b->owner)))
			line(s, i->kind == STATE_LIST ? "list" : "setting", "%s: %s", i->file,
			     i->value);
}

static void text_counts(struct status *s, const char *label, const struct ring_counts *c)
{
	line(s, label,
	     "%" PRIu64 " event%s in %" PRIu64 " KB; %" PRIu64 " overwritten, %" PRIu64
	     " without room, %" PRIu64 " read",
	     c->entries, plural(c->entries), (c->bytes + 1023) / 1024, c->overrun, c->dropped,
	     c->read);
}

static void text_buffer(struct status *s, const struct buffer *b)
{
	text_head(s, b);
	line(s, "buffer", "%s%s%s KB for each of %u CPUs, clock %s", b->instance,
	     *b->instance ? ", " : "", b->size, b->cpu_count, b->clock);
	if (!str_eq(b->tracer, "nop"))
		line(s, "tracer", "%s", b->tracer);
	text_events(s, b);
	text_commands(s, b, FILTERS, "filter");
	text_commands(s, b, TRIGGERS, "trigger");
	text_settings(s, b);
	text_counts(s, "holds", &b->all);
	for (u32 i = 0; i < b->cpu_count && s->o.verbose; i++) {
		char label[24];

		snprintf(label, sizeof(label), "CPU %u", b->cpus[i]);
		text_counts(s, label, &b->each[i]);
	}
}

static void text_global(struct status *s, const struct state_item *i)
{
	char whose[64] = "";

	if (i->owner)
		snprintf(whose, sizeof(whose), "  (run of pantrace, process %d%s)", (int)i->owner,
			 i->alive ? "" : ", dead");
	line(s, i->kind == STATE_PROBE ? "probe" : "synthetic", "%s%s", i->value, whose);
}

/* ---- JSON ---- */

static void json_counts(struct json *j, const struct ring_counts *c)
{
	json_member_u64(j, "entries", c->entries);
	json_member_u64(j, "bytes", c->bytes);
	json_member_u64(j, "overwritten", c->overrun);
	json_member_u64(j, "dropped", c->dropped);
	json_member_u64(j, "read", c->read);
}

static void json_items(struct status *s, const struct buffer *b, const char *key,
		       unsigned int kinds, const char *what)
{
	struct json *const j = &s->json;
	const struct state_item *i;

	json_key(j, key);
	json_array(j);
	for (size_t at = 0; (i = next_item(s, b, kinds, &at));) {
		char *const name = event_of(i->file);

		if (kinds == EVENTS) {
			json_text(j, name);
		} else if (kinds != SETTINGS || !is_said(i)) {
			json_object(j);
			json_member_text(j, kinds == SETTINGS ? "file" : "event", name);
			json_member_text(j, what, i->value);
			json_end(j, '}');
		}
		free(name);
	}
	json_end(j, ']');
}

static void json_buffer(struct status *s, const struct buffer *b)
{
	struct json *const j = &s->json;

	json_object(j);
	json_member_text(j, "kind", kind_of(b));
	json_member_text(j, "instance", b->instance);
	if (b->session) {
		json_member_text(j, "session", b->session->name);
		json_member_text(j, "command", b->session->command);
		json_member_u64(j, "began_ns", b->session->began_ns);
	}
	if (b->owner) {
		json_member_s64(j, "process", b->owner);
		json_member_bool(j, "alive", b->alive);
	}
	json_member_bool(j, "tracing", !str_eq(b->on, "0"));
	json_member_text(j, "tracer", b->tracer);
	json_member_text(j, "clock", b->clock);
	json_member_text(j, "size_kb", b->size); /* "X" where CPUs differ */
	json_items(s, b, "events", EVENTS, NULL);
	json_items(s, b, "filters", FILTERS, "filter");
	json_items(s, b, "triggers", TRIGGERS, "trigger");
	json_items(s, b, "settings", SETTINGS, "value");
	json_counts(j, &b->all);
	json_key(j, "cpus");
	json_array(j);
	for (u32 i = 0; i < b->cpu_count; i++) {
		json_object(j);
		json_member_u64(j, "cpu", b->cpus[i]);
		json_counts(j, &b->each[i]);
		json_end(j, '}');
	}
	json_end(j, ']');
	json_end(j, '}');
	json_end_line(j);
}

static void json_global(struct status *s, const struct state_item *i)
{
	struct json *const j = &s->json;

	json_object(j);
	json_member_text(j, "kind", state_kind_name(i->kind));
	json_member_text(j, "definition", i->value);
	if (i->owner) {
		json_member_s64(j, "process", i->owner);
		json_member_bool(j, "alive", i->alive);
	}
	json_end(j, '}');
	json_end_line(j);
}

/* ---- all ---- */

static bool is_wanted(const struct status *s, const struct buffer *b)
{
	if (!s->o.name)
		return true;
	return str_eq(s->o.name, b->session ? b->session->name : b->instance) ||
	       (*b->instance && str_eq(s->o.name, b->instance));
}

static void show_buffer(struct status *s, const char *instance, pid_t owner, bool alive)
{
	struct buffer b = open_buffer(s, instance);

	b.owner = owner;
	b.alive = alive;
	if (b.cpu_count && is_wanted(s, &b)) { /* else it is gone meanwhile */
		if (s->o.json)
			json_buffer(s, &b);
		else
			text_buffer(s, &b);
		s->shown++;
	}
	close_buffer(&b);
}

static void show(struct status *s, struct kernel *k)
{
	const pid_t top = instance_top_owner(k);
	bool has_heading = s->o.json;

	for (size_t n = 0; n < s->state.items.len; n++) {
		const struct state_item *const i = &s->state.items.items[n];

		if (i->kind == STATE_INSTANCE)
			show_buffer(s, i->instance, i->owner, i->alive);
	}
	show_buffer(s, "", top > 0 ? top : 0, top != 0);
	for (size_t n = 0; n < s->state.items.len && !s->o.name; n++) {
		const struct state_item *const i = &s->state.items.items[n];

		if (!(GLOBAL & 1u << i->kind))
			continue;
		if (!has_heading)
			strbuf_addstr(&s->out, "events of all buffers\n");
		has_heading = true;
		(s->o.json ? json_global : text_global)(s, i);
	}
	if (s->state.unreadable && s->o.verbose && !s->o.json)
		strbuf_addf(&s->out, "%u file%s could not be read\n", s->state.unreadable,
			    plural(s->state.unreadable));
}

static int run(struct status *s, struct diag *d)
{
	struct kernel *const k = kernel_new();
	int err = buffer_check_tracefs(k, d);

	if (!err) {
		s->tracefs = kernel_tracefs(k);
		lasting_buffers_each(add_session, s);
		err = tracefs_state_read(k, STATE_OF_RUNS, &s->state);
		if (err)
			diag_error(d, NO_SPAN, "tracefs cannot be read: %s", strerror(-err));
	}
	if (!err) {
		show(s, k);
		fwrite(s->out.data, 1, s->out.len, stdout);
		if (!s->shown) {
			diag_error(d, NO_SPAN, "there is no session or instance '%s'", s->o.name);
			diag_hint(d, "`pantrace status` shows all");
		}
	}
	kernel_release(k);
	return err;
}

int cmd_status(int argc, char **argv)
{
	struct status s = {.out = STRBUF_INIT};
	struct diag d = DIAG_INIT;
	int first, rc = options_parse(&status_spec, argc, argv, &s.o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	s.json = (struct json)JSON_INIT(&s.out);
	rc = run(&s, &d) ? EXIT_FAILED : EXIT_OK;
	for (size_t i = 0; i < s.sessions.len; i++) {
		free(s.sessions.items[i].name);
		free(s.sessions.items[i].instance);
		free(s.sessions.items[i].command);
	}
	vector_free(&s.sessions);
	tracefs_state_release(&s.state);
	strbuf_release(&s.out);
	return diag_close(&d, rc);
}
