/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/selection.h"

#include <time.h>

#include "cmd/report/time.h"

int selection_conditions(struct selection *s, struct diag *d)
{
	for (u32 i = 0; i < s->arguments->where.count; i++) {
		const struct expr *e = predicate_recorded(d, s->arguments->where.items[i]);

		if (!e)
			return -EINVAL;
		vector_push(&s->where, e);
	}
	return 0;
}

int selection_window(struct selection *s, struct recordings *all, const struct command_spec *spec)
{
	const struct selection_arguments *const a = s->arguments;
	s64 day;

	s->begin_ns = INT64_MIN;
	s->end_ns = INT64_MAX;
	if (!recordings_peek(all, &day))
		day = (s64)time(NULL) * 1000000000;
	if (a->begin && report_time_parse(a->begin, a->utc, day, &s->begin_ns))
		return options_usage_error(spec, "'%s' is no time", a->begin);
	if (a->end && report_time_parse(a->end, a->utc, day, &s->end_ns))
		return options_usage_error(spec, "'%s' is no time", a->end);
	s->is_all = !a->begin && !a->end && !s->where.len;
	return 0;
}

static struct field_value look_up(void *arg, const char *name, bool only_field)
{
	struct recording *const r = arg;

	return r->reader->value(r, name, only_field);
}

bool selection_holds(const struct selection *s, struct recording *r)
{
	if (r->ns < s->begin_ns || r->ns > s->end_ns)
		return false;
	for (size_t i = 0; i < s->where.len; i++)
		if (!predicate_holds(s->where.items[i], look_up, r))
			return false;
	return true;
}

bool selection_is_over(const struct selection *s)
{
	return s->arguments->limit && s->count >= s->arguments->limit;
}

void selection_release(struct selection *s)
{
	vector_free(&s->where);
}
