/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of the parser share: a script in, its tree or its first error as text out. */
#ifndef PANTRACE_TESTS_PARSE_H
#define PANTRACE_TESTS_PARSE_H

#include "base/strbuf.h"
#include "lang/syntax/parse.h"
#include "tap.h"

struct parsed {
	struct arena arena;
	struct diag diag;
	struct type_store types;
	struct ast ast;
	int r;
};

/* A script as the name of a test: TAP wants one line. */
__attribute__((unused)) static const char *one_line(const char *s)
{
	static char line[200];

	snprintf(line, sizeof(line), "%s", s);
	for (char *c = line; *c; c++)
		*c = strchr("\n\t#", *c) ? ' ' : *c;
	return line;
}

__attribute__((unused)) static void parsed_init(struct parsed *t, const char *script, bool have_btf)
{
	static const char *const positional[] = {"one", "a:b"};
	const struct parse_options options = {.input = {.positional = positional, .npositional = 2},
					      .have_btf = have_btf};

	*t = (struct parsed){.diag = DIAG_INIT};
	type_store_init(&t->types);
	t->r = parse_script(&t->arena, &t->types, &t->diag,
			    diag_add_source(&t->diag, "stdin", script, strlen(script)), &options,
			    &t->ast);
}

__attribute__((unused)) static void parsed_release(struct parsed *t)
{
	diag_release(&t->diag);
	type_store_release(&t->types);
	arena_release(&t->arena);
}

/* "stdin:1:2-3: ERROR: text" of all messages, without the excerpts. */
__attribute__((unused)) static char *parsed_messages(struct parsed *t)
{
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < t->diag.messages.len; i++) {
		const struct diag_message *m = &t->diag.messages.items[i];
		u32 line, column;

		if (i)
			strbuf_addch(&out, '\n');
		if (m->span.begin != UINT32_MAX) {
			diag_place(&t->diag.sources.items[m->span.file], m->span.begin, &line,
				   &column);
			strbuf_addf(&out, "%s:%u:%u-%u: ", t->diag.sources.items[m->span.file].name,
				    line, column, column + MAX(m->span.end - m->span.begin, 1u));
		}
		strbuf_addf(&out, "%s: %s",
			    m->level == DIAG_ERROR     ? "ERROR"
			    : m->level == DIAG_WARNING ? "WARNING"
						       : "HINT",
			    m->text);
	}
	return strbuf_detach(&out);
}

__attribute__((unused)) static char *parse_dump(const char *script)
{
	struct parsed t;
	struct strbuf out = STRBUF_INIT;
	char *text = NULL;

	parsed_init(&t, script, true);
	if (t.r)
		text = parsed_messages(&t);
	else
		ast_dump(&out, &t.ast, false);
	text = text ? text : strbuf_detach(&out);
	parsed_release(&t);
	return text;
}

/* The statements of a probe, two blanks less deep. */
__attribute__((unused)) static char *parse_body(const char *body)
{
	char *script = xasprintf("begin { %s }", body), *dump = parse_dump(script), *out = dump, *s;

	s = strstr(dump, " body\n");
	if (s)
		for (s += strlen(" body\n"); *s;) {
			const size_t n = strcspn(s, "\n") + 1;

			memmove(out, s + 2, n - 2);
			out += n - 2;
			s += n;
		}
	if (s)
		*out = '\0';
	free(script);
	return dump;
}

/* All messages of a script that must fail; NULL if it did not. */
__attribute__((unused)) static char *parse_fails(const char *script)
{
	struct parsed t;
	char *text;

	parsed_init(&t, script, true);
	text = t.r ? parsed_messages(&t) : NULL;
	parsed_release(&t);
	return text;
}

/* is_str() for a text that is freed. */
__attribute__((unused)) static void is_text(char *got, const char *want, const char *name)
{
	is_str(got, want, name);
	free(got);
}

/* Does the script fail with this among its messages? */
__attribute__((unused)) static bool fails_with(const char *script, const char *part)
{
	char *message = parse_fails(script);
	const bool yes = message && strstr(message, part);

	free(message);
	return yes;
}

#endif
