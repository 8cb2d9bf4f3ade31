/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/selection.h"

#include <time.h>

#include "cmd/report/time.h"

#define NS_MOST (INT64_MAX / 2) /* 146 years from 1970: the difference of two times fits */

static bool is_of_a_day(const char *time)
{
	return time && strchr(time, ':');
}

bool selection_takes_recorded(const struct selection_arguments *a, const char *const *paths)
{
	return !paths[1] && !is_of_a_day(a->begin) && !is_of_a_day(a->end);
}

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

int selection_window(struct selection *s, struct recordings *all, const struct command_spec *spec,
		     struct diag *d)
{
	const struct selection_arguments *const a = s->arguments;
	s64 day;

	s->begin_ns = INT64_MIN;
	s->end_ns = INT64_MAX;
	if (!recordings_peek(all, &day))
		day = (s64)time(NULL) * 1000000000;
	if (a->begin && report_time_parse(a->begin, a->utc, day, &s->begin_ns))
		return options_usage_error(spec, "'%s' is not a time", a->begin);
	if (a->end && report_time_parse(a->end, a->utc, day, &s->end_ns))
		return options_usage_error(spec, "'%s' is not a time", a->end);
	s->is_all = !a->begin && !a->end && !s->where.len;
	if (a->begin || a->end)
		recordings_narrow(all, s->begin_ns, s->end_ns, d);
	return 0;
}

int selection_open(struct selection *s, struct recordings *all, const char *const *paths,
		   const struct command_spec *spec, struct diag *d)
{
	if (selection_conditions(s, d))
		return EXIT_USAGE;
	for (; *paths; paths++)
		if (recordings_add(all, *paths, d))
			return EXIT_FAILED;
	return recordings_open(all, d) ? EXIT_FAILED : selection_window(s, all, spec, d);
}

static struct field_value look_up(void *arg, const char *name, bool only_field)
{
	struct recording *const r = arg;

	return r->reader->value(r, name, only_field);
}

bool condition_holds(const struct expr *e, struct recording *r)
{
	return predicate_holds(e, look_up, r);
}

bool selection_holds(const struct selection *s, struct recording *r)
{
	if (r->ns < s->begin_ns || r->ns > s->end_ns)
		return false;
	for (size_t i = 0; i < s->where.len; i++)
		if (!condition_holds(s->where.items[i], r))
			return false;
	return true;
}

bool selection_is_over(const struct selection *s)
{
	return s->arguments->limit && s->count >= s->arguments->limit;
}

struct recording *selection_next(struct selection *s, struct recordings *all, struct diag *d)
{
	struct recording *r;
	u64 untold = 0; /* lost before events that are left out */

	while (!selection_is_over(s) && (r = recordings_next(all, d))) {
		recording_lost(r, untold);
		if (!selection_passes(s, r)) {
			untold = s->count ? r->lost : 0;
			continue;
		}
		if (r->ns <= NS_MOST && r->ns >= -NS_MOST)
			return r;
		diag_error(d, NO_SPAN, "%s: an event's time is %" PRId64 " s: out of range",
			   r->path, r->ns / 1000000000);
		diag_hint(
			d,
			"the recording is damaged, or its clock is another: -e, -w and --end leave "
			"events out");
		break;
	}
	return NULL;
}

void selection_release(struct selection *s)
{
	vector_free(&s->where);
}
