/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the image of a program that the library runs inside of a traced process (lib/vm.h). */
#ifndef PANTRACE_LANG_BPF_PROCESS_IMAGE_H
#define PANTRACE_LANG_BPF_PROCESS_IMAGE_H

#include "base/strbuf.h"
#include "lang/script.h"

/*
 * Appends the image of a program in the form that the library accepts. 0, or -errno with a
 * diagnostic (unless diag is NULL) at the place of what cannot be done in a process.
 */
int process_image(const struct script *script, const struct script_program *program,
		  struct diag *diag, struct strbuf *ret);

#endif
