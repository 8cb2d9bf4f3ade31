/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/cache/entries.h"

#include <ctype.h>

#include "base/glob.h"

void cache_entries_release(struct cache_entries *e)
{
	for (size_t i = 0; i < e->list.len; i++)
		vector_free(&e->list.items[i].lines);
	vector_free(&e->list);
	arena_release(&e->arena);
}

/* Where the '=' behind the event's name is, NULL = there is no name: as perf finds it. */
static const char *name_end(const char *text)
{
	for (const char *p = text; *p && !isspace((unsigned char)*p); p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (strchr(";=@+%\"'", *p))
			return *p == '=' && p > text ? p : NULL;
	}
	return NULL;
}

static bool is_line(const char *text)
{
	const size_t n = strlen(text);

	if (!n || n > CACHE_LINE_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]) && text[i] != '\t')
			return false;
	return true;
}

static struct cache_entry *append(struct cache_entries *e, bool is_sdt, const char *text)
{
	const char *equals;

	if (!is_line(text))
		return NULL;
	text = arena_strdup(&e->arena, text);
	equals = name_end(text);
	vector_push(&e->list, (struct cache_entry){
				      .is_sdt = is_sdt,
				      .text = text,
				      .event = equals ? arena_strndup(&e->arena, text,
								      (size_t)(equals - text))
						      : NULL,
				      .command = equals ? equals + 1 : text,
			      });
	return &vector_last(&e->list);
}

bool cache_line_parse(const char *line, struct cache_line *ret)
{
	const char *p = line;

	*ret = (struct cache_line){.is_return = *p == 'r'};
	if (*p != 'p' && *p != 'r')
		return false;
	p++;
	p += ret->is_return ? strspn(p, "0123456789") : 0;
	if (*p++ != ':')
		return false;
	ret->group = p;
	ret->group_len = strcspn(p, "/ \t");
	p += ret->group_len;
	if (!ret->group_len || *p++ != '/')
		return false;
	ret->event = p;
	ret->event_len = strcspn(p, " \t");
	p += ret->event_len;
	p += strspn(p, " \t");
	ret->place = p;
	ret->place_len = strcspn(p, " \t");
	p += ret->place_len;
	ret->arguments = p + strspn(p, " \t");
	return ret->event_len && ret->place_len && !memchr(ret->event, '/', ret->event_len);
}

bool cache_entry_add_line(struct cache_entries *e, struct cache_entry *entry, const char *line)
{
	struct cache_line parts;

	if (!is_line(line) || !cache_line_parse(line, &parts))
		return false;
	vector_push(&entry->lines, arena_strdup(&e->arena, line));
	return true;
}

static bool parse_line(struct cache_entries *e, const char *line)
{
	const char *p = line + 1;

	if (*line == '#' || *line == '%')
		return append(e, *line == '%', p) != NULL;
	return e->list.len && cache_entry_add_line(e, &vector_last(&e->list), line);
}

static void cut_back(struct cache_entries *e, size_t len)
{
	while (e->list.len > len) {
		vector_free(&vector_last(&e->list).lines);
		e->list.len--;
	}
}

int cache_entries_parse(struct cache_entries *e, const char *text, size_t len, u32 *ret_line)
{
	const size_t before = e->list.len;
	const char *const end = text + len;
	u32 number = 1;

	for (const char *p = text; p < end; number++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const size_t n = (size_t)((newline ? newline : end) - p);
		char *line = xstrndup(p, n);
		const bool good = !n || (strlen(line) == n && parse_line(e, line));

		free(line);
		if (!good) {
			/* What stood above must not get the lines of what comes. */
			cut_back(e, before);
			*ret_line = number;
			return -EINVAL;
		}
		p += n + 1;
	}
	return 0;
}

void cache_entries_format(const struct cache_entries *e, struct strbuf *out)
{
	for (size_t i = 0; i < e->list.len; i++) {
		const struct cache_entry *entry = &e->list.items[i];

		strbuf_addf(out, "%c%s\n", entry->is_sdt ? '%' : '#', entry->text);
		for (size_t k = 0; k < entry->lines.len; k++)
			strbuf_addf(out, "%s\n", entry->lines.items[k]);
	}
}

struct cache_entry *cache_entries_find(const struct cache_entries *e, const char *text)
{
	for (size_t i = 0; i < e->list.len; i++)
		if (str_eq(e->list.items[i].text, text))
			return &e->list.items[i];
	return NULL;
}

static const char *without_group(const char *event)
{
	const char *colon = strchr(event, ':');

	return colon ? colon + 1 : event;
}

static bool has_name(const struct cache_entry *entry, const char *event)
{
	return entry->event &&
	       (str_eq(entry->event, event) || str_eq(without_group(entry->event), event));
}

const struct cache_entry *cache_entries_named(const struct cache_entries *e, const char *event)
{
	for (size_t i = 0; i < e->list.len; i++)
		if (has_name(&e->list.items[i], event))
			return &e->list.items[i];
	return NULL;
}

static void remove_at(struct cache_entries *e, size_t i)
{
	vector_free(&e->list.items[i].lines);
	memmove(&e->list.items[i], &e->list.items[i + 1],
		(--e->list.len - i) * sizeof(*e->list.items));
}

struct cache_entry *cache_entries_put(struct cache_entries *e, bool is_sdt, const char *text)
{
	struct cache_entry *entry = append(e, is_sdt, text);
	const struct cache_entry mine = entry ? *entry : (struct cache_entry){0};

	for (size_t i = e->list.len - 1; entry && i-- > 0;) {
		const struct cache_entry *other = &e->list.items[i];

		if (str_eq(other->text, mine.text) ||
		    (mine.event && other->event && str_eq(other->event, mine.event)))
			remove_at(e, i);
	}
	return entry ? &vector_last(&e->list) : NULL;
}

bool cache_entry_matches(const struct cache_entry *entry, const char *glob)
{
	return entry->event ? glob_match(glob, entry->event) ||
				      glob_match(glob, without_group(entry->event))
			    : glob_match(glob, entry->text);
}

u32 cache_entries_remove(struct cache_entries *e, const char *glob)
{
	u32 removed = 0;

	for (size_t i = e->list.len; i-- > 0;)
		if (cache_entry_matches(&e->list.items[i], glob)) {
			remove_at(e, i);
			removed++;
		}
	return removed;
}
