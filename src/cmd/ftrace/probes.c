/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/ftrace/probes.h"

#include <ctype.h>

#include "kernel/tracefs/event_probe.h"
#include "kernel/tracefs/tracefs.h"
#include "lang/predicate/predicate.h"

int ftrace_probes_show(struct ftrace_session *s)
{
	for (size_t i = 0; i < dynamic_events_count(s->events); i++) {
		const struct dynamic_event *e = dynamic_events_at(s->events, i);
		char *text;

		if (tracefs_event_format(s->kernel, e->group, e->name, &text))
			continue;
		strbuf_addf(&s->out.text, "name: %s\n%s", e->shown, text + strcspn(text, "\n") + 1);
		free(text);
	}
	return EXIT_OK;
}

int ftrace_probes_filter(struct ftrace_session *s, const char *definition, const char *filter)
{
	int err = 0;

	for (size_t i = 0; i < dynamic_events_count(s->events) && !err; i++) {
		const struct dynamic_event *e = dynamic_events_at(s->events, i);

		err = ftrace_filter_set(s, e->group, e->name, e->shown, filter);
	}
	if (err)
		diag_hint(&s->diag, "`pantrace %s -v '%s'` shows the fields", s->spec->name,
			  definition);
	return err;
}

int ftrace_filter_set(struct ftrace_session *s, const char *system, const char *event,
		      const char *shown, const char *filter)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	struct predicate_event e;
	int err;

	predicate_event_live(&s->diag.arena, s->kernel, system, event, shown, &e);
	if (shown)
		e.hint = NULL; /* the definition shows it */
	err = predicate_to_kernel(filter, &e, &s->diag, &c);
	if (!err)
		err = instance_set_filter(s->instance, system, event, &c);
	predicate_event_release(&e);
	tracefs_command_release(&c);
	return err;
}

#define KERNEL_ENOTSUPP 524 /* include/linux/errno.h; not among those of libc */

static void refuse_place(struct ftrace_session *s, const struct dynamic_event *e, int err)
{
	diag_error(&s->diag, NO_SPAN, "the kernel cannot put a probe on '%s': %s", e->shown,
		   err == -KERNEL_ENOTSUPP ? "it cannot execute the instruction there out of line"
					   : strerror(-err));
	diag_hint(&s->diag,
		  "another place in the function (+OFFSET) may do, or one of its callers");
}

int ftrace_probes_enable(struct ftrace_session *s, u32 *ret_enabled)
{
	const size_t count = dynamic_events_count(s->events);
	u32 enabled = 0;
	int err = 0;

	for (size_t i = 0; i < count; i++) {
		const struct dynamic_event *e = dynamic_events_at(s->events, i);
		char *file = xasprintf("events/%s/%s/enable", e->group, e->name);

		err = instance_try(s->instance, file, "1");
		free(file);
		if (!err)
			ftrace_session_expect(s, e->group, e->name, e->shown);
		else if (!enabled && i + 1 == count)
			refuse_place(s, e, err);
		enabled += !err;
	}
	*ret_enabled = enabled;
	return enabled ? 0 : err;
}

/* ---- event probes ---- */

bool ftrace_probes_is_definition(const char *text)
{
	return str_starts(text, "e:") || str_starts(text, "e ");
}

static int malformed(struct ftrace_session *s, struct span at, const char *what)
{
	diag_error(&s->diag, at, "%s", what);
	diag_hint(&s->diag,
		  "an event probe is e:[NAME] SYSTEM:EVENT [FIELD=$FIELD[:TYPE]...], for example "
		  "'e:myopen syscalls:sys_enter_openat file=+0($filename):ustring'");
	diag_code(&s->diag, EXIT_USAGE);
	return -EINVAL;
}

static size_t word_length(const char *p)
{
	return strcspn(p, " \t\n");
}

/* The kernel only says which event is missing; here the nearest names are known. */
static int check_event(struct ftrace_session *s, const char *system, const char *event)
{
	char *file = xasprintf("events/%s/%s/format", system, event);
	const bool known = instance_has(s->instance, file);

	free(file);
	return known ? 0 : instance_enable_event(s->instance, system, event, true);
}

/* The first `$field` of the arguments that is a pointer and that the kernel would misread. */
static const char *find_misread(struct ftrace_session *s, const char *system, const char *event,
				const char *arguments, size_t *ret_len)
{
	const char *found = NULL;
	char *format;

	if (tracefs_event_format(s->kernel, system, event, &format))
		return NULL;
	for (const char *at = arguments; !found && (at = strchr(at, '$')); at++) {
		*ret_len =
			1 +
			strspn(at + 1,
			       "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
		if (event_probe_is_pointer(format, at + 1, *ret_len - 1))
			found = at;
	}
	free(format);
	return found && !event_probe_reads_pointers(s->kernel) ? found : NULL;
}

static int check_pointers(struct ftrace_session *s, const char *system, const char *event,
			  const char *arguments, u16 source, u32 begin)
{
	size_t len;
	const char *const found = find_misread(s, system, event, arguments, &len);
	const u32 at = begin + (u32)(found ? found - arguments : 0);

	if (!found)
		return 0;
	diag_error(&s->diag, (struct span){at, at + (u32)len, source},
		   "the event probes of this kernel read one byte of '%.*s', which is a pointer to "
		   "text",
		   (int)len, found);
	diag_hint(
		&s->diag,
		"`pantrace -e 'tracepoint:%s:%s { printf(\"%%s %%s\\n\", comm, str(args.%.*s)) }'` "
		"reads the text",
		system, event, (int)len - 1, found + 1);
	diag_code(&s->diag, EXIT_UNSUPPORTED);
	return -EOPNOTSUPP;
}

int ftrace_probes_attach(struct ftrace_session *s, const char *text)
{
	const u16 source = diag_add_source(&s->diag, "definition", text, strlen(text));
	const char *const name = text + 1 + (text[1] == ':');
	const size_t name_len = word_length(name);
	const char *const place = name + name_len + strspn(name + name_len, " \t\n");
	const size_t place_len = word_length(place), system_len = strcspn(place, ":./ \t\n");
	const struct span at = {(u32)(place - text), (u32)(place - text + place_len), source};
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	const struct dynamic_event *made;
	char *system, *event, *shown, *joined;
	int err;

	for (size_t i = 0; i < name_len; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return malformed(s,
					 (struct span){(u32)(name - text),
						       (u32)(name - text + name_len), source},
					 "a probe's name has letters, digits and '_' only");
	if (!system_len || system_len + 1 >= place_len)
		return malformed(s, place_len ? at : NO_SPAN, "the event to probe is missing");
	system = xstrndup(place, system_len);
	event = xstrndup(place + system_len + 1, place_len - system_len - 1);
	shown = name_len ? xstrndup(name, name_len) : xstrdup(event);
	joined = xasprintf("%s.%s", system, event);
	err = check_event(s, system, event);
	if (!err)
		err = check_pointers(s, system, event, place + place_len, source,
				     (u32)(place + place_len - text));
	if (!err) {
		tracefs_command_stands_for(&c, joined, at);
		tracefs_command_user(&c, place + place_len, strlen(place + place_len), source,
				     (u32)(place + place_len - text));
		err = dynamic_events_define(s->events, DYNAMIC_EPROBE, shown, &c, &made);
	}
	tracefs_command_release(&c);
	free(joined);
	free(shown);
	free(event);
	free(system);
	return err;
}
