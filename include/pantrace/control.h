/* SPDX-License-Identifier: MIT */
/*
 * Recording from within: a program starts a session, enables events by name and stops. The session
 * is the process's; a forked child gets a session of its own with the same events when the session
 * has a directory, and none otherwise. Functions return 0 (or a count) or a negative errno; they
 * take a lock and must not be called from signal handlers.
 */
#ifndef PANTRACE_CONTROL_H
#define PANTRACE_CONTROL_H

#include <pantrace/ring.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pantrace_options {
	size_t size; /* sizeof(struct pantrace_options): lets the struct grow */
	const char *directory; /* holds PID-START.pantrace; NULL: memory only, see pantrace_fd() */
	uint32_t mode; /* enum pantrace_mode */
	uint32_t sub_size; /* bytes, rounded up to a power of two; 0: 256 KiB */
	uint32_t nr_subs; /* a CPU, rounded up to a power of two; 0: 8 */
	uint32_t per_thread; /* not 0: rings of threads even where rseq works */
	uint32_t block_us; /* PANTRACE_BLOCK: the longest that one event waits for room */
	uint64_t contexts; /* bits, enum pantrace_context */
};

struct pantrace_counts {
	uint64_t events; /* published */
	uint64_t lost;
};

int pantrace_start(const struct pantrace_options *options);
int pantrace_stop(void);

/* PATTERN is a glob over "provider:name". The count is of sites whose instruction now differs;
 * sites of objects that are loaded later follow the same patterns. */
int pantrace_enable(const char *pattern);
int pantrace_disable(const char *pattern);

/* Sites that could not be switched on when events were last switched: it is shared or sealed
 * memory, or neither /proc/self/mem nor mprotect() lets it be written. */
uint32_t pantrace_refused(void);

/*
 * Of the events that PATTERN names, the program's own session records only those that IMAGE
 * accepts: a program for the event as `pantrace user filter` makes it. It may be called before
 * events are enabled. -EINVAL: not such a program; -EPERM: it may do what is not allowed; -ENOSPC:
 * more than 16 filters.
 */
int pantrace_filter(const char *pattern, const void *image, size_t size);

/*
 * Notes what libraries are loaded now, so that addresses in events find their names: for whoever
 * wraps dlopen().
 */
void pantrace_objects(void);

/* The file of the running session, owned by the library, or -ENOENT. */
int pantrace_fd(void);
int pantrace_count(struct pantrace_counts *ret);

/* Calls FN for each site of the loaded objects until it returns non-zero, which is passed on. FN
 * must not call the library. */
int pantrace_sites(int (*fn)(const char *provider, const char *name, int on, void *ctx), void *ctx);

#ifdef __cplusplus
}
#endif

#endif
