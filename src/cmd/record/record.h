/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pantrace record: what its command line says. The run is in record/record.h. */
#ifndef PANTRACE_CMD_RECORD_RECORD_H
#define PANTRACE_CMD_RECORD_RECORD_H

#include "cmd/user/user.h"
#include "record/record.h"

struct record_options {
	struct record_request request;
	struct option_words events; /* -e, and -f and -R, which belong to the -e before them */
	struct string_list targets; /* -p: processes or a tracer */
	struct user_session_arguments what; /* of programs' events */
	const char *session;
	u64 rotate_bytes, rotate_ns, keep; /* 0 = not given */
	struct string_list triggers;
};

/* The request is part of the options. */
static inline const struct record_options *record_options_of(const struct record_request *r)
{
	return container_of(r, struct record_options, request);
}

extern const struct record_source record_user; /* cmd/record/user.c */

#endif
