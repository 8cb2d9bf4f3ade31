/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a definition: split at blanks, with backslashes and quotes. */
#include "base/strbuf.h"
#include "probe/definition/internal.h"

/* \"TEXT" is one thing: a text as the kernel's probes take it. */
static bool begins_text(const char *p)
{
	return p[0] == '\\' && p[1] == '"';
}

const char *word_skip(const char *p)
{
	const char *const begin = p + begins_text(p);
	const char *end;

	if (*begin == '\\')
		return begin[1] ? begin + 2 : begin + 1;
	if (*begin != '\'' && *begin != '"')
		return begin + 1;
	end = strchr(begin + 1, *begin);
	return end ? end + 1 : begin + strlen(begin);
}

const char *word_find(const char *p, const char *set)
{
	while (*p && !strchr(set, *p))
		p = word_skip(p);
	return *p ? p : NULL;
}

const char *word_plain(struct arena *arena, const char *p, size_t len, bool *ret_quoted)
{
	const char *const end = p + len;
	struct strbuf out = STRBUF_INIT;
	const char *ret;

	if (ret_quoted)
		*ret_quoted = false;
	while (p < end) {
		const char *next = word_skip(p);
		const bool is_quote = *p == '\'' || *p == '"';

		next = MIN(next, end);
		if (is_quote)
			strbuf_add(&out, p + 1, (size_t)(next - p) - 1 - (next - p > 1));
		else if (*p == '\\')
			strbuf_add(&out, p + 1, (size_t)(next - p) - 1);
		else
			strbuf_addch(&out, *p);
		if (ret_quoted)
			*ret_quoted |= is_quote;
		p = next;
	}
	ret = arena_strndup(arena, out.data, out.len);
	strbuf_release(&out);
	return ret;
}

static bool is_closed(const char *p, const char *end)
{
	const char quote = begins_text(p) ? '"' : *p;

	return (quote != '\'' && quote != '"') ||
	       (end - p > 1 + begins_text(p) && end[-1] == quote);
}

int words_split(struct arena *arena, struct diag *d, const char *text, u16 file, struct words *ret)
{
	for (size_t i = 0; text[i];) {
		const size_t begin = i + strspn(text + i, " \t\n");
		const char *p = text + begin;

		while (*p && !strchr(" \t\n", *p)) {
			const char *const next = word_skip(p);

			if (!is_closed(p, next)) {
				diag_error(d,
					   (struct span){(u32)(p - text), (u32)(next - text), file},
					   "the quote is not closed");
				diag_code(d, EXIT_USAGE);
				return -EINVAL;
			}
			p = next;
		}
		i = (size_t)(p - text);
		if (i > begin)
			vector_push(&ret->list,
				    (struct definition_word){
					    .text = arena_strndup(arena, text + begin, i - begin),
					    .at = {(u32)begin, (u32)i, file}});
	}
	return 0;
}
