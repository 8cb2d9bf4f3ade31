// SPDX-License-Identifier: MIT
/*
 * The sites of all loaded objects, and switching them while threads run through them. A switch
 * changes one byte of the instruction (see pantrace.h; code.h has how it is written). A thread
 * executes the old instruction or the new one; after membarrier(SYNC_CORE) no thread executes the
 * old one.
 */
#include "announce.h"
#include "code.h"
#include "context.h"
#include "hooks.h"
#include "internal.h"
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <string.h>
#include <unistd.h>

#define OFF 0xa9 /* test $imm32, %eax */
#define ON  0xe9 /* jmp rel32 */

static struct pantrace_object *objects;
static struct pantrace_event *dynamic; /* the newest; linked by pt_dynamic_next() */
static uint32_t refused; /* sites that could not be written */
static int refused_why; /* of the last of them, a negative errno */
static bool left; /* some are for the helper to write */
static uint32_t nameless; /* events for whose records there was no room */

static unsigned char *site_code(const struct pantrace_site *site)
{
	return (unsigned char *)&site->code + site->code;
}

static struct pantrace_event *site_event(const struct pantrace_site *site)
{
	return (struct pantrace_event *)((char *)&site->event + site->event);
}

static bool same_name(const struct pantrace_event *a, const struct pantrace_event *b)
{
	return !strcmp(a->name, b->name) && !strcmp(a->provider, b->provider);
}

/* PANTRACE_ENABLED() has no level of its own: it is on when an event of its name is. */
static uint32_t gate_sessions(const struct pantrace_event *gate)
{
	uint32_t sessions = 0;
	bool found = false;

	for (const struct pantrace_object *object = objects; object; object = object->next) {
		const struct pantrace_event *last = NULL;

		for (const struct pantrace_site *site = object->sites; site < object->end; site++) {
			const struct pantrace_event *const event = site_event(site);

			if (event == last || *event->types == PANTRACE_T_GATE)
				continue;
			last = event;
			if (!same_name(event, gate))
				continue;
			found = true;
			sessions |= pt_sessions_wanting(event);
		}
	}
	return found ? sessions : pt_sessions_wanting(gate);
}

/* Brings EVENT to what the sessions want; 0 or a negative errno. */
static int event_follow(struct pantrace_event *event)
{
	const bool gate = *event->types == PANTRACE_T_GATE;
	uint32_t sessions = gate ? gate_sessions(event) : pt_sessions_wanting(event);
	int rc = 0;

	/*
	 * Sessions that no longer want the event are removed before the hooks are, as an event
	 * checks before and after them; its id and hooks are set before new sessions are added.
	 */
	__atomic_store_n(&event->sessions, event->sessions & sessions, __ATOMIC_RELEASE);
	if (sessions && !gate) {
		rc = pt_event_id(event) ? pt_hooks_follow(event, sessions) : -ENOSPC;
		if (!event->id) {
			__atomic_fetch_add(&nameless, 1, __ATOMIC_RELAXED);
			pt_sessions_refused(sessions, 0, 1);
		}
		if (rc)
			sessions = 0;
	}
	__atomic_store_n(&event->sessions, sessions, __ATOMIC_RELEASE);
	__atomic_store_n(&event->only, gate || event->hooks ? NULL : pt_session_only(sessions),
			 __ATOMIC_RELEASE);
	if (!sessions && event->hooks)
		pt_hooks_follow(event, 0);
	return rc;
}

/*
 * 1: changed; 0: it was so already, or something else (a breakpoint) is in its place; negative
 * errno.
 */
static int site_switch(int fd, const struct pantrace_site *site, bool on)
{
	const unsigned char from = on ? OFF : ON, to = on ? ON : OFF;
	unsigned char *const code = site_code(site);
	int rc;

	if (*(volatile unsigned char *)code != from)
		return 0;
	rc = pt_code_write(fd, code, to);
	if (!rc)
		return 1;
	if (rc == -EAGAIN)
		__atomic_store_n(&left, true, __ATOMIC_RELEASE);
	/* the site stays as it is */
	if (on) {
		__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&refused_why, rc, __ATOMIC_RELAXED);
		pt_sessions_refused(site_event(site)->sessions, 1, 0);
	}
	return rc;
}

/* Brings the sites of FIRST and all further objects (or of FIRST alone) to what is wanted. */
static int follow(struct pantrace_object *first, bool only_first)
{
	const struct pantrace_event *last = NULL;
	int changed = 0, rc = 0, fd;

	/* a session that ends is told the counts from before */
	if (!only_first && pt_running()) {
		__atomic_store_n(&nameless, 0, __ATOMIC_RELAXED);
		pt_sessions_refused(~0u, 0, 0);
	}
	if (!only_first)
		__atomic_store_n(&refused, 0, __ATOMIC_RELAXED);
	if (!only_first)
		for (struct pantrace_event *event = dynamic; event; event = pt_dynamic_next(event))
			rc = event_follow(event) ? -ENOSPC : rc;
	if (!first)
		return rc;
	fd = pt_code_open();
	for (struct pantrace_object *object = first; object;
	     object = only_first ? NULL : object->next) {
		for (const struct pantrace_site *site = object->sites; site < object->end; site++) {
			struct pantrace_event *event = site_event(site);

			int one = event == last ? 0 : event_follow(event);

			last = event;
			rc = one ? one : rc;
			one = site_switch(fd, site, event->sessions);
			rc = one < 0 ? one : rc;
			changed += one > 0;
		}
	}
	pt_code_close(fd);
	if (changed)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	if (__atomic_load_n(&left, __ATOMIC_RELAXED))
		pt_control_wake();
	return rc && !changed ? rc : changed;
}

int pt_sites_follow(void)
{
	pt_objects_scan();
	pt_announce();
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	return follow(objects, false);
}

void pt_sites_go_on(void)
{
	if (!__atomic_exchange_n(&left, false, __ATOMIC_ACQ_REL))
		return;
	pt_lock();
	follow(objects, false);
	pt_unlock();
}

uint32_t pt_sites_nameless(void)
{
	return __atomic_load_n(&nameless, __ATOMIC_RELAXED);
}

int pt_sites_why(void)
{
	return __atomic_load_n(&refused_why, __ATOMIC_RELAXED);
}

uint32_t pantrace_refused(void)
{
	return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

void pt_dynamic_add(struct pantrace_event *event)
{
	dynamic = event;
	pt_announce();
	event_follow(event);
}

struct pantrace_event *pt_dynamic_first(void)
{
	return dynamic;
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
		if (pt_running()) {
			pt_objects_scan();
			pt_announce();
			follow(object, true);
		}
	}
	pt_unlock();
}

void pantrace_object_remove(struct pantrace_object *object)
{
	const bool ends = pt_control_ends();

	if (!pt_state || (ends && !pt_lock_quietly()))
		return;
	if (!ends)
		pt_lock();
	if (object->users && !--object->users) {
		for (struct pantrace_object **at = &objects; *at; at = &(*at)->next) {
			if (*at == object) {
				*at = object->next;
				break;
			}
		}
	}
	if (ends)
		pt_unlock_quietly();
	else
		pt_unlock();
}

void pt_sites_each(void (*fn)(const struct pantrace_event *event, void *ctx), void *ctx)
{
	for (const struct pantrace_object *object = objects; object; object = object->next)
		for (const struct pantrace_site *site = object->sites; site < object->end; site++)
			fn(site_event(site), ctx);
	for (struct pantrace_event *event = dynamic; event; event = pt_dynamic_next(event))
		fn(event, ctx);
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
	for (struct pantrace_event *event = dynamic; event && !rc; event = pt_dynamic_next(event))
		rc = fn(event->provider, event->name, event->sessions != 0, ctx);
	pt_unlock();
	return rc;
}
