/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sockets with a name. */
#ifndef PANTRACE_BASE_LISTEN_H
#define PANTRACE_BASE_LISTEN_H

/*
 * Listens at a path, for our own user only; what a killed process of ours left there is replaced. A
 * descriptor that does not wait, or -errno. The caller removes the path at its end.
 */
int listen_unix(const char *path);

#endif
