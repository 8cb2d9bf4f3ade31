// SPDX-License-Identifier: MIT
/*
 * The sites of all loaded objects, and switching them while threads run through them.
 *
 * A switch is one byte of the instruction (see pantrace.h), written through /proc/self/mem: the
 * page keeps its protection, becomes private to the process, and is never writable and executable
 * at once. A thread executes the old instruction or the new one; membarrier(SYNC_CORE) ends the
 * time in which it may still be the old one.
 */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OFF	     0xa9 /* test $imm32, %eax */
#define ON	     0xe9 /* jmp rel32 */

static struct pantrace_object *objects;

static unsigned char *site_code(const struct pantrace_site *site)
{
	return (unsigned char *)&site->code + site->code;
}

static struct pantrace_event *site_event(const struct pantrace_site *site)
{
	return (struct pantrace_event *)((char *)&site->event + site->event);
}

/* 1: changed, 0: was so, or something else (a breakpoint) is in place; negative errno. */
static int site_switch(int fd, const struct pantrace_site *site, bool on)
{
	const unsigned char from = on ? OFF : ON, to = on ? ON : OFF;
	unsigned char *const code = site_code(site);

	if (*(volatile unsigned char *)code != from)
		return 0;
	if (pwrite(fd, &to, 1, (off_t)(uintptr_t)code) != 1)
		return errno ? -errno : -EIO;
	return 1;
}

/* Brings the sites of FIRST and all further objects (or of FIRST alone) to what is wanted. */
static int follow(struct pantrace_object *first, bool alone)
{
	const struct pantrace_event *last = NULL;
	bool last_on = false;
	int changed = 0, rc = 0, fd;

	if (!first)
		return 0;
	fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (struct pantrace_object *object = first; object; object = alone ? NULL : object->next) {
		for (const struct pantrace_site *site = object->sites; site < object->end; site++) {
			struct pantrace_event *event = site_event(site);

			if (event != last) {
				last = event;
				uint32_t sessions = pt_sessions_wanting(event);

				/* an id first: whoever jumps finds it */
				if (sessions && *event->types != PANTRACE_T_GATE && !pt_event_id(event)) {
					sessions = 0;
					rc = -ENOSPC;
				}
				__atomic_store_n(&event->sessions, sessions, __ATOMIC_RELEASE);
				last_on = sessions;
			}
			const int one = site_switch(fd, site, last_on);

			if (one < 0)
				rc = one;
			else
				changed += one;
		}
	}
	close(fd);
	if (changed)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	return rc && !changed ? rc : changed;
}

int pt_sites_follow(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	return follow(objects, false);
}

void pantrace_object_add(struct pantrace_object *object, const struct pantrace_site *sites,
			 const struct pantrace_site *end)
{
	if (pt_state_get())
		return;
	pt_lock();
	if (!object->users++) {
		object->sites = sites;
		object->end = end;
		object->next = objects;
		objects = object;
		if (pt_running())
			follow(object, true);
	}
	pt_unlock();
}

void pantrace_object_remove(struct pantrace_object *object)
{
	if (!pt_state)
		return;
	pt_lock();
	if (object->users && !--object->users) {
		for (struct pantrace_object **at = &objects; *at; at = &(*at)->next) {
			if (*at == object) {
				*at = object->next;
				break;
			}
		}
	}
	pt_unlock();
}

void pt_sites_each(void (*fn)(const struct pantrace_event *event, void *ctx), void *ctx)
{
	for (const struct pantrace_object *object = objects; object; object = object->next)
		for (const struct pantrace_site *site = object->sites; site < object->end; site++)
			fn(site_event(site), ctx);
}

int pantrace_sites(int (*fn)(const char *provider, const char *name, int on, void *ctx), void *ctx)
{
	int rc = pt_state_get();

	if (rc)
		return rc;
	pt_lock();
	for (const struct pantrace_object *object = objects; object && !rc; object = object->next) {
		for (const struct pantrace_site *site = object->sites; site < object->end && !rc;
		     site++) {
			const struct pantrace_event *event = site_event(site);

			rc = fn(event->provider, event->name, *site_code(site) == ON, ctx);
		}
	}
	pt_unlock();
	return rc;
}
