/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/text/fields.h"

#include "base/hashmap.h"

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* True if "NAME=" starts at `at`, at the beginning or after a space. */
static bool name_at(const char *at, const char *end, struct text_range *ret)
{
	const char *p = at;

	while (p < end && is_name(*p))
		p++;
	*ret = (struct text_range){at, (size_t)(p - at)};
	return p > at && p < end && *p == '=' && (p + 1 == end || p[1] != '=');
}

static struct text_range trimmed(const char *begin, const char *end)
{
	while (end > begin && (end[-1] == ' ' || end[-1] == ',' || end[-1] == ';'))
		end--;
	return (struct text_range){begin, (size_t)(end - begin)};
}

static int system_call(struct text_range text, text_field_fn *fn, void *arg)
{
	struct text_at t = {text.at, text.at + text.size};
	struct text_range id;
	int rc;

	if (!text_equals(text_word(&t), "NR"))
		return 0;
	text_blanks(&t);
	id = text_word(&t);
	rc = fn(arg, (struct text_range){"id", 2}, id);
	text_blanks(&t);
	if (rc || !text_char(&t, '='))
		return rc;
	return fn(arg, (struct text_range){"ret", 3}, text_rest(&t));
}

int text_fields_each(struct text_range text, text_field_fn *fn, void *arg)
{
	const char *const end = text.at + text.size;
	struct text_range name = {0}, next;
	const char *value = NULL;
	int rc = system_call(text, fn, arg);

	for (const char *p = text.at; p < end && !rc; p++) {
		const bool begins = p == text.at || p[-1] == ' ' || p[-1] == '(';
		const bool is_arrow = begins && end - p >= 4 && !memcmp(p, "==> ", 4);

		if (!is_arrow && !(begins && name_at(p, end, &next)))
			continue;
		if (value)
			rc = fn(arg, name, trimmed(value, p));
		value = is_arrow ? NULL : next.at + next.size + 1;
		name = next;
		p = is_arrow ? p + 3 : value - 1;
	}
	return rc || !value ? rc : fn(arg, name, trimmed(value, end));
}

static struct field_value text_field_value(struct text_range value)
{
	struct field_value v = {.kind = FIELD_INTEGER};
	struct text_at t = {value.at, value.at + value.size};

	v.is_signed = text_char(&t, '-');
	if (!v.is_signed && value.size > 2 && value.at[0] == '0' && value.at[1] == 'x') {
		t.at += 2;
		if (text_hex(&t, &v.integer) && t.at == t.end)
			return v;
	} else if (text_number(&t, &v.integer) && t.at == t.end &&
		   (!v.is_signed || v.integer <= (u64)INT64_MAX + 1)) {
		v.integer = v.is_signed ? 0 - v.integer : v.integer;
		return v;
	}
	return (struct field_value){.kind = FIELD_TEXT, .text = value.at, .size = value.size};
}

/* ---- those of an event ---- */

struct search {
	const char *name;
	struct field_value value;
};

static int is_field(void *arg, struct text_range name, struct text_range value)
{
	struct search *const s = arg;

	if (!text_equals(name, s->name))
		return 0;
	s->value = text_field_value(value);
	return 1;
}

static struct field_value number(s64 v)
{
	return (struct field_value){.kind = v < 0 ? FIELD_NONE : FIELD_INTEGER, .integer = (u64)v};
}

struct field_value text_event_value(const struct text_event *e, const char *name, bool only_field)
{
	struct search s = {.name = name};

	if (text_fields_each(e->text, is_field, &s))
		return s.value;
	if (str_eq(name, "period") && e->period)
		return (struct field_value){.kind = FIELD_INTEGER, .integer = e->period};
	if (only_field)
		return s.value;
	if (str_eq(name, "comm"))
		return (struct field_value){
			.kind = FIELD_TEXT, .text = e->comm.at, .size = e->comm.size};
	return str_eq(name, "cpu")   ? number(e->cpu)
	       : str_eq(name, "pid") ? number(e->pid)
	       : str_eq(name, "tid") ? number(e->tid)
				     : s.value;
}

struct members {
	struct json *json;
	struct hashmap names; /* none stands twice */
};

static int add_member(void *arg, struct text_range name, struct text_range value)
{
	struct members *const m = arg;
	const struct field_value v = text_field_value(value);
	bool is_new;

	hashmap_put(&m->names, name.at, name.size, &is_new);
	if (!is_new)
		return 0;
	json_key_bytes(m->json, name.at, name.size);
	if (v.kind == FIELD_TEXT)
		json_string(m->json, v.text, v.size);
	else if (v.is_signed)
		json_s64(m->json, (s64)v.integer);
	else
		json_u64(m->json, v.integer);
	return 0;
}

void text_event_json(const struct text_event *e, struct json *j)
{
	struct members m = {.json = j};

	json_object(j);
	text_fields_each(e->text, add_member, &m);
	if (e->period && !hashmap_get(&m.names, "period", 6))
		json_member_u64(j, "period", e->period);
	json_end(j, '}');
	hashmap_release(&m.names);
}

struct teller {
	field_value_fn *fn;
	void *arg;
};

static int tell_value(void *arg, struct text_range name, struct text_range value)
{
	const struct teller *const to = arg;
	struct field_value v = text_field_value(value);

	v.bits = v.kind == FIELD_INTEGER ? 64 : 0;
	to->fn(to->arg, name.at, name.size, &v);
	return 0;
}

void text_event_values(const struct text_event *e, field_value_fn *fn, void *arg)
{
	const struct field_value period = {.kind = FIELD_INTEGER, .integer = e->period, .bits = 64};
	struct teller to = {fn, arg};

	text_fields_each(e->text, tell_value, &to);
	if (e->period)
		fn(arg, "period", strlen("period"), &period);
}
