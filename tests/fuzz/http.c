/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of whoever connects (view/server/request.h). */
#include "view/server/request.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct http_request r;
	u64 from;

	if (http_parse((const char *)data, size, &r) != HTTP_OK)
		return 0;
	if (r.path[0] != '/' || strstr(r.path, "..") || strchr(r.path, '%') || !r.host[0])
		__builtin_trap();
	http_number(&r, "from", &from);
	return 0;
}
