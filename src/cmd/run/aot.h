/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --aot: makes a program of a script. The file is this binary with the script appended; it is
 * compiled when it starts, in milliseconds and with the types of the running kernel, so it also
 * runs on other kernels than the one it was made on.
 */
#ifndef PANTRACE_CMD_RUN_AOT_H
#define PANTRACE_CMD_RUN_AOT_H

#include "base/diag.h"
#include "lang/syntax/parse.h"

#define STANDALONE_INCLUDE "-I" /* the name of a "file" that is a directory for #include */

struct aot {
	char *text; /* of the script, NUL-terminated, malloc'ed */
	struct script_file *files; /* that it reads; malloc'ed, the strings lie in text */
	u32 nfiles;
	bool is_compatible, unsafe; /* how it was made */
};

/* Writes an executable file. 0, or -errno with a diagnostic. */
int aot_write(struct diag *d, const char *path, const struct aot *s);
/* Is this process such a program? 1: yes, 0: no, -EBADMSG: it was, but is damaged. */
int aot_find(struct aot *ret);

#endif
