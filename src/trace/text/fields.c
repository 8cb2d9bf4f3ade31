/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/text/fields.h"

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* "NAME=" at `at`, which stands at the begin or behind a blank. */
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

struct field_value text_field_value(struct text_range value)
{
	struct field_value v = {.kind = FIELD_INTEGER};
	struct text_at t = {value.at, value.at + value.size};

	v.is_signed = text_char(&t, '-');
	if (!v.is_signed && value.size > 2 && value.at[0] == '0' && value.at[1] == 'x') {
		t.at += 2;
		if (text_hex(&t, &v.integer) && t.at == t.end)
			return v;
	} else if (text_number(&t, &v.integer) && t.at == t.end &&
		   (!v.is_signed || v.integer <= INT64_MAX)) {
		v.integer = v.is_signed ? 0 - v.integer : v.integer;
		return v;
	}
	return (struct field_value){.kind = FIELD_TEXT, .text = value.at, .size = value.size};
}
