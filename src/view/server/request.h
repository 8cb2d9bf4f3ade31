/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request of HTTP/1.1 (RFC 9112), as our pages send it: GET of a short target, without a body.
 * Anything else is refused.
 */
#ifndef PANTRACE_VIEW_SERVER_REQUEST_H
#define PANTRACE_VIEW_SERVER_REQUEST_H

#include "base/base.h"

enum {
	HTTP_REQUEST_MAX = 16384, /* bytes, with all headers */
	HTTP_TARGET_MAX = 512,
};

enum http_status {
	HTTP_MORE = 0, /* the request is incomplete */
	HTTP_OK = 200,
	HTTP_BAD = 400,
	HTTP_FORBIDDEN = 403,
	HTTP_NOT_FOUND = 404,
	HTTP_METHOD = 405,
	HTTP_TOO_LARGE = 431,
	HTTP_VERSION = 505,
};

struct http_request {
	char path[HTTP_TARGET_MAX]; /* "/TOKEN/events": only letters, digits and "-_./" */
	char query[HTTP_TARGET_MAX]; /* "from=1&to=2", "" = none; and "=&," */
	char host[256]; /* "127.0.0.1:4711" */
	bool is_foreign; /* from a page of another origin, by the browser's Sec-Fetch-Site */
};

/* Of the bytes received so far; *ret is set only with HTTP_OK. */
enum http_status http_parse(const char *text, size_t len, struct http_request *ret);
/* A number in the query; false: it has none with this name. */
bool http_number(const struct http_request *r, const char *name, u64 *ret);

#endif
