/* SPDX-License-Identifier: MIT */
/*
 * Writes a byte of the program's code while threads run through it. It goes through /proc/self/mem,
 * so that the page keeps its protection and is never writable and executable at once. If that is
 * refused (no /proc, no permission, proc_mem.force_override), the page is made writable for the
 * moment of one store; it stays executable.
 */
#ifndef PANTRACE_LIB_CODE_H
#define PANTRACE_LIB_CODE_H

#include "internal.h"

/*
 * The descriptor that pt_code_write() takes, or -1, which will do if only the second way is
 * possible.
 */
PT_HIDDEN int pt_code_open(void);
/*
 * Called before main(): objects that are loaded later are switched by threads that may have
 * confined themselves.
 */
PT_HIDDEN void pt_code_begin(void);
PT_HIDDEN void pt_code_close(int fd);
/*
 * 0, or why neither way works: -ETXTBSY the memory is shared with other processes, -EPERM it is
 * sealed, -EACCES the system forbids writing to code (SELinux, PR_SET_MDWE), -EFAULT it is no
 * object's code. -EAGAIN: left to the helper.
 */
PT_HIDDEN int pt_code_write(int fd, unsigned char *code, unsigned char byte);
/* In a forked child whose parent was just writing: makes the page read-only again. */
PT_HIDDEN void pt_code_mend(void);

#endif
