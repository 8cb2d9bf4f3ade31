/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/source_text.h"

#include "binary/debug/source.h"

#define TAB 8

static struct debug_source *read_file(struct source_texts *s, const char *file, struct diag *d)
{
	struct debug_source *const source = xzalloc(sizeof(*source));
	int err = debug_source_read(file, s->directory, NULL, NULL, source);

	for (u32 i = 0; err && i < s->places->count; i++) {
		debug_source_release(source);
		err = debug_source_read(file, s->directory, s->places->items[i], NULL, source);
	}
	if (err) {
		diag_warning(d, NO_SPAN, "%s cannot be read: %s", file, debug_source_why(err));
		diag_hint(d, "--files DIRECTORY looks for it there, too");
	}
	return source;
}

/* Where a line begins; NULL: the file ends before it. */
static const char *find_line(struct source_texts *s, const struct debug_source *source, u32 line)
{
	if (s->source != source || s->line > line) {
		s->source = source;
		s->line = 1;
		s->at = source->text;
	}
	for (; s->at && s->line < line; s->line++) {
		const char *const end = strchr(s->at, '\n');

		s->at = end ? end + 1 : NULL;
	}
	return s->at && *s->at ? s->at : NULL;
}

const char *source_texts_line(struct source_texts *s, const char *file, u32 line, struct diag *d)
{
	void **const at = hashmap_put(&s->files, file, strlen(file) + 1, NULL);
	const char *text;

	if (!*at)
		*at = read_file(s, file, d);
	text = find_line(s, *at, line);
	if (!text)
		return NULL;
	if (!s->text.cap)
		s->text = (struct strbuf)STRBUF_INIT;
	strbuf_reset(&s->text);
	for (; *text && *text != '\n' && *text != '\r'; text++)
		if (*text == '\t')
			strbuf_addchars(&s->text, ' ', TAB - (int)(s->text.len % TAB));
		else
			strbuf_addch(&s->text, *text);
	return s->text.data;
}

void source_texts_release(struct source_texts *s)
{
	hashmap_each (&s->files, e) {
		debug_source_release(e->value);
		free(e->value);
	}
	hashmap_release(&s->files);
	strbuf_release(&s->text);
}
