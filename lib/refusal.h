/* SPDX-License-Identifier: MIT */
/*
 * Why a process does not take part in a session, in words: of the library when it is asked, and of
 * the tool, which finds a number.
 */
#ifndef PANTRACE_LIB_REFUSAL_H
#define PANTRACE_LIB_REFUSAL_H

/*
 * Of rings, or tables, that could not be made because of ERROR, an errno; NULL: there is no better
 * text than that of the errno.
 */
const char *pt_refusal_reason(int error) __attribute__((visibility("hidden")));

#endif
