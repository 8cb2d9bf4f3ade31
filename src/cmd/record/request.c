/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests shared by several commands: events with conditions and triggers, tasks, tracers. */
#include <ctype.h>

#include "cmd/record/record.h"

int record_take_events(const struct command_spec *spec, const struct option_words *words,
		       struct record_request *r)
{
	for (u32 i = 0; i < words->count; i++) {
		const struct option_word *const w = &words->items[i];

		if (w->option == 'e') {
			vector_push(&r->events, (struct record_event){.text = w->value});
			continue;
		}
		if (!r->events.len)
			return options_usage_error(spec, "-%c belongs to the event (-e) before it",
						   w->option);
		if (w->option == 'R')
			vector_push(&vector_last(&r->events).triggers, w->value);
		else if (!vector_last(&r->events).filter)
			vector_last(&r->events).filter = w->value;
		else
			return options_usage_error(spec, "two conditions (-f) of '%s'",
						   vector_last(&r->events).text);
	}
	return OPTIONS_GO_ON;
}

int record_take_targets(const struct command_spec *spec, const struct string_list *targets,
			struct record_request *r)
{
	for (u32 i = 0; i < targets->count; i++) {
		const char *const word = targets->items[i];

		if (isalpha((unsigned char)*word) && !r->tracer)
			r->tracer = word;
		else if (isalpha((unsigned char)*word))
			return options_usage_error(spec, "only one tracer at a time (-p)");
		else if (parse_value(OPTION_PIDS, word, &r->pids))
			return options_usage_error(spec,
						   "-p takes %s or the name of a tracer, not '%s'",
						   option_kind_takes(OPTION_PIDS), word);
	}
	return OPTIONS_GO_ON;
}

void record_request_release(struct record_request *r)
{
	for (size_t i = 0; i < r->events.len; i++)
		vector_free(&r->events.items[i].triggers);
	vector_free(&r->events);
	for (size_t i = 0; i < r->guests.len; i++)
		free(r->guests.items[i].words);
	vector_free(&r->guests);
}
