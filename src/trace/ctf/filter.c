/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/glob.h"
#include "trace/ctf/filter.h"

int ctf_condition_parse(const char *text, struct ctf_condition *ret)
{
	static const struct {
		const char *text;
		enum ctf_comparison how;
	} operators[] = {{"==", CTF_EQUAL},	    {"!=", CTF_DIFFERENT}, {"<=", CTF_LESS_EQUAL},
			 {">=", CTF_GREATER_EQUAL}, {"=", CTF_EQUAL},	   {"<", CTF_LESS},
			 {">", CTF_GREATER}};
	const size_t n = strcspn(text, "=!<>");
	char *end;

	*ret = (struct ctf_condition){0};
	for (size_t i = 0; n && i < ARRAY_SIZE(operators); i++) {
		if (!str_starts(text + n, operators[i].text))
			continue;
		ret->how = operators[i].how;
		ret->field = xstrndup(text, n);
		ret->value = xstrdup(text + n + strlen(operators[i].text));
		ret->number = strtod(ret->value, &end);
		ret->is_number = *ret->value && !*end;
		errno = 0;
		ret->integer = strtoll(ret->value, &end, 0);
		ret->is_integer = *ret->value && !*end && !errno;
		ret->is_number |= ret->is_integer;
		if (ret->how < CTF_LESS || ret->is_number)
			return 0;
		ctf_condition_release(ret);
		return -EINVAL;
	}
	return -EINVAL;
}

void ctf_condition_release(struct ctf_condition *c)
{
	free(c->field);
	free(c->value);
	*c = (struct ctf_condition){0};
}

static bool compare(enum ctf_comparison how, int order)
{
	static const bool holds[6][3] = {
		[CTF_EQUAL] = {false, true, false},   [CTF_DIFFERENT] = {true, false, true},
		[CTF_LESS] = {true, false, false},    [CTF_LESS_EQUAL] = {true, true, false},
		[CTF_GREATER] = {false, false, true}, [CTF_GREATER_EQUAL] = {false, true, true},
	};

	return holds[how][order + 1];
}

static bool text_holds(const struct ctf_condition *k, const char *s, size_t n)
{
	char *text = xstrndup(s ? s : "", n);
	const bool match = glob_match(k->value, text);

	free(text);
	return k->how == CTF_EQUAL ? match : k->how == CTF_DIFFERENT && !match;
}

static bool integer_holds(const struct ctf_condition *k, u64 value, bool is_signed)
{
	char text[32];

	if (!k->is_number) {
		snprintf(text, sizeof(text), is_signed ? "%lld" : "%llu",
			 (unsigned long long)value);
		return text_holds(k, text, strlen(text));
	}
	if (k->is_integer && (is_signed || k->integer < 0)) {
		if (!is_signed)
			return compare(k->how, 1); /* nothing unsigned is below 0 */
		return compare(k->how, ((s64)value > k->integer) - ((s64)value < k->integer));
	}
	if (k->is_integer)
		return compare(k->how, (value > (u64)k->integer) - (value < (u64)k->integer));
	{
		const double x = is_signed ? (double)(s64)value : (double)value;

		return compare(k->how, (x > k->number) - (x < k->number));
	}
}

static bool value_holds(const struct ctf_condition *k, struct ctf_cursor *c,
			const struct ctf_field *f)
{
	const struct ctf_type *t = f->type;
	const char *s;
	size_t n;
	double x;
	u32 at = 0;
	u64 value;

	switch (t->kind) {
	case CTF_INTEGER:
		return integer_holds(k, ctf_noted(c, t, f->slot), t->is_signed);
	case CTF_ENUM:
		value = ctf_noted(c, t, f->slot);
		if (k->is_number)
			return integer_holds(k, value, t->is_signed);
		while ((s = ctf_label(t, value, &at)))
			if (glob_match(k->value, s))
				return k->how == CTF_EQUAL;
		return k->how == CTF_DIFFERENT;
	case CTF_FLOAT:
		x = ctf_float(c, t);
		return k->is_number && compare(k->how, (x > k->number) - (x < k->number));
	case CTF_STRING:
		s = ctf_string(c, &n);
		return text_holds(k, s, n);
	default:
		if (!ctf_is_text(t)) {
			ctf_skip(c, t);
			return false;
		}
		s = ctf_text(c, t, &n);
		return text_holds(k, s, n);
	}
}

/* 1: holds, 0: does not, -1: there is no such field in here. */
static int in_struct(const struct ctf_condition *k, const char *name, struct ctf_cursor *c,
		     const struct ctf_type *t)
{
	const size_t n = strcspn(name, ".");

	ctf_align(c, t->align);
	for (u32 i = 0; i < t->count && !c->failed; i++) {
		const struct ctf_field *f = &t->fields[i];

		if (!strncmp(f->shown, name, n) && !f->shown[n]) {
			if (name[n])
				return f->type->kind == CTF_STRUCT
					       ? in_struct(k, name + n + 1, c, f->type)
					       : 0;
			return value_holds(k, c, f);
		}
		if (f->slot != CTF_NO_SLOT)
			ctf_noted(c, f->type, f->slot);
		else
			ctf_skip(c, f->type);
	}
	return -1;
}

bool ctf_condition_holds(const struct ctf_condition *condition, const struct ctf_event *event)
{
	const struct ctf_type *parts[] = {event->stream->class->event_context,
					  event->class->context, event->class->fields};
	const struct ctf_type *packet = event->stream->class->packet_context;
	struct ctf_cursor c = ctf_event_cursor(event);
	int found = -1;

	for (size_t i = 0; i < ARRAY_SIZE(parts) && found < 0; i++)
		if (parts[i])
			found = in_struct(condition, condition->field, &c, parts[i]);
	if (found < 0 && packet && !c.failed) {
		c = ctf_event_cursor(event);
		c.at = event->stream->context_at;
		found = in_struct(condition, condition->field, &c, packet);
	}
	return found > 0 && !c.failed;
}
