/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other pictures of what is seen in a time line that is served. */
#ifndef PANTRACE_CMD_TIMELINE_LINKS_H
#define PANTRACE_CMD_TIMELINE_LINKS_H

#include "base/strbuf.h"

struct link {
	char *const *words; /* the time line's own command line, which ends with NULL */
	s64 from_ns, to_ns; /* of the events: since the epoch, or as recorded */
	s64 tid; /* of this thread alone; -1 = of all */
	const char *title;
};

/*
 * Draws it by the command of this name, whose page is added to *ret. 0, -ENOENT (there is no such
 * command that draws), -EIO (it made no page: it said why on standard error) or -errno.
 */
int link_draw(const struct link *l, const char *command, struct strbuf *ret);

#endif
