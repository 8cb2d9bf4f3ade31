// SPDX-License-Identifier: MIT
#include "refusal.h"
#include <errno.h>
#include <stddef.h>

const char *pt_refusal_reason(int error)
{
	static const struct {
		int error;
		const char *reason;
	} reasons[] = {
		{EACCES, "the kernel does not let it count context switches or page faults "
			 "(kernel.perf_event_paranoid)"},
		{E2BIG, "the session has more filters for its events than a program takes"},
		{EFBIG, "files of the program may not be as large as its rings (ulimit -f)"},
		{EINVAL,
		 "it does not understand the session's description: its libpantrace is of another "
		 "version"},
		{ENOSPC, "there is no memory left for its rings where they are to be"},
		{EMFILE, "the program has no descriptor left for its rings"},
		{ENFILE, "the system has no descriptor left for its rings"},
		{ENOMEM, "the program may not map as much memory as its rings take"},
		{EOPNOTSUPP,
		 "its filter or count asks for nsecs, which takes a system call with this "
		 "machine's clock source, and an event makes none"},
		{ESRCH, "there is no /proc where it runs, from which the contexts procname, "
			"user_stack and the counts of threads are taken"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (reasons[i].error == error)
			return reasons[i].reason;
	return NULL;
}
