/* SPDX-License-Identifier: MIT */
/*
 * Writing a byte of the program's code while threads run through it: through /proc/self/mem, by
 * which the page keeps its protection and is never writable and executable at once. Where that is
 * refused (there is no /proc, the process may not open it, the kernel does not let it write:
 * proc_mem.force_override), the page of an object's code is made writable for the moment of one
 * store; it stays executable.
 */
#ifndef PANTRACE_LIB_CODE_H
#define PANTRACE_LIB_CODE_H

#include "internal.h"

/* What pt_code_write() wants, or -1, which is as good where only the second way is left. */
PT_HIDDEN int pt_code_open(void);
/* Before main(): what is loaded later is switched by threads that may have confined themselves. */
PT_HIDDEN void pt_code_begin(void);
PT_HIDDEN void pt_code_close(int fd);
/*
 * 0, or why neither way works: -ETXTBSY the memory is shared with other processes, -EPERM it is
 * sealed, -EACCES the system has no code that is written (SELinux, PR_SET_MDWE), -EFAULT it is no
 * object's code. -EAGAIN: it is left to the helper.
 */
PT_HIDDEN int pt_code_write(int fd, unsigned char *code, unsigned char byte);
/* In a forked child, whose parent was in the midst of it: a page is not left writable. */
PT_HIDDEN void pt_code_mend(void);

#endif
