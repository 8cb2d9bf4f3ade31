/* SPDX-License-Identifier: MIT */
/*
 * Why a process does not take part in a session, in words: used by the library when it is asked,
 * and by the tool when it finds an error number.
 */
#ifndef PANTRACE_LIB_REFUSAL_H
#define PANTRACE_LIB_REFUSAL_H

/*
 * The reason why rings or tables could not be made, for ERROR, an errno; NULL: the errno's own text
 * is the best.
 */
const char *pt_refusal_reason(int error) __attribute__((visibility("hidden")));

#endif
