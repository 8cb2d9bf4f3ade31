/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of /proc/kallsyms (kernel/kallsyms.c, s_show()):
 *
 *	ffffffff81000000 T _stext
 *	ffffffffc0201000 t helper\t[module]
 */
#include "kernel/symbols/internal.h"

/*
 * The value of a hexadecimal digit plus one, 0 for anything else. A table, as 2 million digits are
 * read at a time.
 */
static const u8 hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,	['2'] = 3,  ['3'] = 4,	['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/*
 * The line at `at`, whose newline stands at `stop` and becomes a NUL. What is no line of kallsyms
 * is passed over.
 */
static void parse_line(struct ksyms *ks, char *at, char *stop)
{
	char *p = at, *tab;
	u64 address = 0;
	u8 digit;

	*stop = '\0';
	for (; (digit = hex_digits[(u8)*p]); p++)
		address = address << 4 | (digit - 1u);
	if (p == at || stop - p < 4 || p[0] != ' ' || p[2] != ' ')
		return;
	tab = memchr(p + 3, '\t', (size_t)(stop - p - 3));
	if (tab)
		*tab = '\0';
	if (tab && tab[1] == '[' && stop[-1] == ']') {
		stop[-1] = '\0';
		ksyms_add(ks, address, p[1], p + 3, tab + 2);
	} else {
		ksyms_add(ks, address, p[1], p + 3, NULL);
	}
}

void ksyms_parse_text(struct ksyms *ks)
{
	char *at = ks->data, *const end = ks->data + ks->len, *stop;

	if (ks->len > UINT32_MAX)
		return;
	vector_reserve(&ks->list, ks->len / 40 + 16);
	for (; at < end && (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1)
		parse_line(ks, at, stop);
}
