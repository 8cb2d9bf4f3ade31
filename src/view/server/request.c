/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/server/request.h"

#include <ctype.h>
#include <strings.h>

#include "base/cursor.h"

/* A piece of the request. */
struct word {
	const char *text;
	size_t len;
};

static bool is_word(struct word w, const char *text)
{
	return w.len == strlen(text) && !strncasecmp(w.text, text, w.len);
}

/* Up to CR LF; false: there is none. */
static bool take_line(struct cursor *c, struct word *ret)
{
	const char *const at = (const char *)c->data + c->pos, *const end =
								       memmem(at, c->len - c->pos,
									      "\r\n", 2);

	if (!end)
		return false;
	*ret = (struct word){at, (size_t)(end - at)};
	return cursor_bytes(c, ret->len + 2);
}

/* Up to the next space, which is skipped; false: there is none. */
static bool take_word(struct word *line, struct word *ret)
{
	const char *const end = memchr(line->text, ' ', line->len);

	if (!end)
		return false;
	*ret = (struct word){line->text, (size_t)(end - line->text)};
	line->len -= ret->len + 1;
	line->text = end + 1;
	return true;
}

/* Our pages use neither % nor "..": both are refused. */
static bool copy(struct word from, const char *others, char *to, size_t size)
{
	if (from.len >= size)
		return false;
	for (size_t i = 0; i < from.len; i++)
		if (!isalnum((u8)from.text[i]) && (!from.text[i] || !strchr(others, from.text[i])))
			return false;
	memcpy(to, from.text, from.len);
	to[from.len] = '\0';
	return !strstr(to, "..");
}

static bool take_target(struct word target, struct http_request *ret)
{
	const char *const mark = memchr(target.text, '?', target.len);
	const size_t len = mark ? (size_t)(mark - target.text) : target.len;

	ret->query[0] = '\0';
	return len && *target.text == '/' &&
	       copy((struct word){target.text, len}, "-_./", ret->path, sizeof(ret->path)) &&
	       (!mark || copy((struct word){mark + 1, target.len - len - 1}, "-_.=&,", ret->query,
			      sizeof(ret->query)));
}

static enum http_status take_first(struct word line, struct http_request *ret)
{
	struct word method, target;

	if (!take_word(&line, &method) || !take_word(&line, &target))
		return HTTP_BAD;
	if (!is_word(line, "HTTP/1.1") && !is_word(line, "HTTP/1.0"))
		return HTTP_VERSION;
	if (method.len != 3 || memcmp(method.text, "GET", 3))
		return HTTP_METHOD;
	return take_target(target, ret) ? HTTP_OK : HTTP_BAD;
}

/* Two Host fields are ambiguous (RFC 9112, 3.2); a body is never expected. */
static enum http_status take_header(struct word line, struct http_request *ret)
{
	const char *const colon = memchr(line.text, ':', line.len);
	struct word name, value;

	if (!colon || colon == line.text)
		return HTTP_BAD;
	name = (struct word){line.text, (size_t)(colon - line.text)};
	value = (struct word){colon + 1, line.len - name.len - 1};
	for (; value.len && (*value.text == ' ' || *value.text == '\t'); value.len--)
		value.text++;
	while (value.len && (value.text[value.len - 1] == ' ' || value.text[value.len - 1] == '\t'))
		value.len--;
	if (is_word(name, "Host"))
		return !*ret->host && value.len &&
				       copy(value, "-.:[]", ret->host, sizeof(ret->host))
			       ? HTTP_OK
			       : HTTP_BAD;
	if (is_word(name, "Sec-Fetch-Site"))
		ret->is_foreign = !is_word(value, "same-origin") && !is_word(value, "none");
	if (is_word(name, "Content-Length") || is_word(name, "Transfer-Encoding"))
		return HTTP_BAD;
	return HTTP_OK;
}

enum http_status http_parse(const char *text, size_t len, struct http_request *ret)
{
	struct http_request r = {.path = ""};
	struct cursor c = cursor_of(text, len);
	enum http_status status;
	struct word line;

	if (!memmem(text, len, "\r\n\r\n", 4))
		return len < HTTP_REQUEST_MAX ? HTTP_MORE : HTTP_TOO_LARGE;
	if (!take_line(&c, &line))
		return HTTP_BAD;
	status = take_first(line, &r);
	while (status == HTTP_OK && take_line(&c, &line) && line.len)
		status = take_header(line, &r);
	if (status == HTTP_OK && !*r.host)
		status = HTTP_BAD;
	if (status == HTTP_OK)
		*ret = r;
	return status;
}

bool http_number(const struct http_request *r, const char *name, u64 *ret)
{
	const size_t len = strlen(name);

	for (const char *at = r->query; *at; at += strcspn(at, "&"), at += *at == '&') {
		char *end;

		if (strncmp(at, name, len) || at[len] != '=' || !isdigit((u8)at[len + 1]))
			continue;
		errno = 0;
		*ret = strtoull(at + len + 1, &end, 10);
		return !errno && (!*end || *end == '&');
	}
	return false;
}
