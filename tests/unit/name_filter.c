/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/name_filter.h"
#include "tap.h"

/* Which of the words match, in their order; "!N" for an error at byte N. */
static const char *matches(const char *text)
{
	static const char *const words[] = {"main", "handle", "_init", "a*b", "a!b", "x y"};
	static char out[100];
	struct arena a = ARENA_INIT;
	struct diag d = DIAG_INIT;
	const struct name_filter *f = name_filter_parse(&a, &d, text);

	*out = '\0';
	if (!f)
		snprintf(out, sizeof(out), "!%u", d.messages.items[0].span.begin);
	for (size_t i = 0; f && i < ARRAY_SIZE(words); i++)
		if (name_filter_match(f, words[i]))
			strcat(strcat(out, *out ? "," : ""), words[i]);
	arena_release(&a);
	diag_release(&d);
	return out;
}

int main(void)
{
	static const struct {
		const char *filter, *want;
	} rows[] = {
		{"main", "main"},
		{"!_*", "main,handle,a*b,a!b,x y"},
		{"!!_*", "_init"},
		{"ma* | ha*", "main,handle"},
		{"!_* & !*a* | _init", "_init,x y"},
		{"_init | !_* & !*a*", "_init,x y"},
		{"!_* & (ma* | _*)", "main"},
		{"!(ma* | a*)", "handle,_init,x y"},
		{"!(!main)", "main"},
		{"a\\*b", "a*b"},
		{"a\\!b|x\\ y", "a!b,x y"},
		{"[!a-m]*", "_init,x y"},
		{"a[!|]b", "a*b,a!b"},
		{"?ai[n]", "main"},
		{"", "!0"},
		{"  ", "!2"},
		{"a(b", "!1"},
		{"&", "!0"},
		{"a|", "!2"},
		{"(a", "!2"},
		{"a)", "!1"},
		{"a b", "!2"},
		{"()", "!1"},
		{"!", "!1"},
	};
	char deep[401] = "";

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		is_str(matches(rows[i].filter), rows[i].want, rows[i].filter);
	memset(deep, '(', 400);
	is_str(matches(deep), "!100", "parentheses without end");
	return tap_done();
}
