// SPDX-License-Identifier: MIT
/* Sessions: what the program or a tool asked for, and what becomes of it (pt_session_state). */
#include "announce.h"
#include "children.h"
#include "hooks.h"
#include "refusal.h"
#include "session.h"
#include "thread.h"
#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SUB_MIN	   4096u
#define SUB_MAX	   (1u << 30)
#define SUBS_MAX   (1u << 16)
#define LOOK_AT	   32 /* children, each time that the helper looks */
#define NR_THREADS 64u /* rings where threads have their own */

struct pt_settings pt_settings[PT_SESSIONS];

bool pt_running(void)
{
	for (unsigned int i = 0; i < PT_SESSIONS; i++)
		if (pt_settings[i].state == PT_ARMED || pt_settings[i].state == PT_RUNNING)
			return true;
	return false;
}

static uint32_t power_of_two(uint32_t value, uint32_t least, uint32_t most)
{
	uint32_t power = least;

	while (power < value && power < most)
		power *= 2;
	return power;
}

int pt_settings_take(struct pt_settings *set, const struct pt_spec *spec)
{
	const long cpus = sysconf(_SC_NPROCESSORS_CONF);

	if ((spec->mode >= PANTRACE_MODE_MAX && spec->mode != PANTRACE_SCRIPT &&
	     spec->mode != PANTRACE_AGGREGATE) ||
	    spec->sub_size > SUB_MAX || spec->nr_subs > SUBS_MAX)
		return -EINVAL;
	set->spec = *spec;
	set->spec.sub_size =
		power_of_two(spec->sub_size ? spec->sub_size : 1u << 18, SUB_MIN, SUB_MAX);
	set->spec.nr_subs = power_of_two(spec->nr_subs ? spec->nr_subs : 8, 2, SUBS_MAX);
	set->per_thread = spec->per_thread || !pt_rseq_here();
	set->nr_rings = set->per_thread ? NR_THREADS : (uint32_t)(cpus > 0 ? cpus : 1);
	if (set->nr_rings > PT_MAX_RING)
		set->nr_rings = PT_MAX_RING;
	if (!set->spec.has_clock)
		pt_clock_read(&set->spec.clock, !pt_control_confined());
	set->error = 0;
	set->refused_sites = set->refused_events = 0;
	set->begun = set->deaf = set->unheard = false;
	set->fd = -1;
	set->file[0] = 0;
	/* free if it was done already, and while there is one thread */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	return 0;
}

struct pt_rules *pt_session_rules_of(unsigned int number)
{
	return &pt_settings[number].rules;
}

bool pt_session_is_script(unsigned int number)
{
	return pt_settings[number].spec.mode == PANTRACE_SCRIPT;
}

bool pt_session_aggregates(unsigned int number)
{
	return pt_settings[number].spec.mode == PANTRACE_AGGREGATE;
}

uint32_t pt_sessions_wanting(const struct pantrace_event *event)
{
	const uint8_t level = pt_event_level(event);
	char full[2 * PT_RULE_GLOB];
	uint32_t mask = 0;

	pt_event_full(event, full);
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pt_settings *const set = &pt_settings[i];

		if ((set->state != PT_ARMED && set->state != PT_RUNNING) || set->untracked ||
		    !pt_rules_want(&set->rules, full, level) ||
		    pt_announce_pending(set, event, full))
			continue;
		if (set->state == PT_ARMED) {
			if (set->error)
				continue;
			set->error = pt_rings_make(set, (uint32_t)getpid(), 0);
			if (set->error && set->begun)
				pt_rings_refused(&set->spec, set->error);
			if (set->error)
				continue;
			set->state = PT_RUNNING;
		}
		mask |= 1u << i;
	}
	return mask;
}

void pt_sessions_refused(uint32_t sessions, uint32_t sites, uint32_t events)
{
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pt_settings *const set = &pt_settings[i];
		struct pantrace_shm *const shm = pt_session_of(set)->shm;

		if (!(sessions & 1u << i))
			continue;
		set->refused_sites = sites || events ? set->refused_sites + sites : 0;
		set->refused_events = sites || events ? set->refused_events + events : 0;
		if (set->state != PT_RUNNING || !shm)
			continue;
		__atomic_store_n(&shm->refused_sites, set->refused_sites, __ATOMIC_RELAXED);
		__atomic_store_n(&shm->refused_events, set->refused_events, __ATOMIC_RELAXED);
		__atomic_store_n(&shm->refused_why, (uint32_t)-pt_sites_why(), __ATOMIC_RELAXED);
	}
}

/* ---- by name ---- */

static struct pt_settings *session_find(const char *name)
{
	for (unsigned int i = 1; i < PT_SESSIONS; i++)
		if (pt_settings[i].state != PT_NONE && pt_settings[i].state != PT_DYING &&
		    !strcmp(pt_settings[i].spec.name, name))
			return &pt_settings[i];
	return NULL;
}

/* Calls FN with the session of that NAME under the lock: what it returns, or -ENOENT. */
static int session_with(const char *name, int (*fn)(struct pt_settings *set, const void *arg),
			const void *arg)
{
	struct pt_settings *set;
	int rc;

	if (!pt_state)
		return -ENOENT;
	pt_lock();
	set = session_find(name);
	rc = set ? fn(set, arg) : -ENOENT;
	pt_unlock();
	return rc;
}

int pt_settings_rules(struct pt_settings *set, const struct pt_rules *rules)
{
	int rc = pt_filters_append(&set->rules, rules);

	for (unsigned int i = 0; i < rules->nr && !rc; i++) {
		const struct pt_rule *const rule = &rules->rule[i];

		rc = pt_rules_add(&set->rules, rule->glob, strlen(rule->glob), rule->on,
				  rule->level, rule->exactly);
	}
	return rc;
}

static int rules_append(struct pt_settings *set, const void *arg)
{
	const int rc = pt_settings_rules(set, arg);

	set->deaf = set->unheard = false; /* there may be a new recorder */
	pt_sites_follow();
	return rc;
}

int pt_session_rules(const char *name, const struct pt_rules *rules)
{
	return session_with(name, rules_append, rules);
}

static int stop(struct pt_settings *set, const void *arg)
{
	(void)arg;
	if (set->state != PT_RUNNING && set->state != PT_ARMED)
		return 0;
	set->state = set->spec.mode == PANTRACE_SCRIPT ? PT_NONE : PT_STOPPED;
	pt_sites_follow();
	pt_rings_quiesce(set);
	return 0;
}

int pt_session_stop(const char *name)
{
	return session_with(name, stop, NULL);
}

/* Resumes recording where it stopped. */
static void go_on(struct pt_settings *set)
{
	struct pt_session *const session = pt_session_of(set);

	if (session->shm)
		pt_session_open(session, session->nr_rings);
	pt_sites_follow();
}

static int resume(struct pt_settings *set, const void *arg)
{
	(void)arg;
	if (set->state != PT_STOPPED)
		return 0;
	/* no rings: it had no such event yet, or it is a child that was forked meanwhile */
	set->state = pt_session_of(set)->shm || set->spec.mode == PANTRACE_AGGREGATE ? PT_RUNNING
										     : PT_ARMED;
	set->error = 0;
	if (!set->untracked)
		go_on(set);
	return set->error;
}

int pt_session_resume(const char *name)
{
	return session_with(name, resume, NULL);
}

/* Decides anew whether the process records: its ids, or the sets, may have changed. */
static void judge(struct pt_settings *set)
{
	const bool untracked = !pt_tracked_here(&set->spec.tracked);

	if (set->untracked == untracked && !set->stale)
		return;
	set->untracked = untracked;
	set->stale = false;
	if (set->state != PT_RUNNING && set->state != PT_ARMED)
		return;
	if (!untracked) {
		go_on(set);
		return;
	}
	pt_sites_follow();
	pt_rings_quiesce(set);
}

static int track(struct pt_settings *set, const void *arg)
{
	set->spec.tracked = *(const struct pt_tracked *)arg;
	judge(set);
	return 0;
}

int pt_session_track(const char *name, const struct pt_tracked *tracked)
{
	return session_with(name, track, tracked);
}

static int destroy(struct pt_settings *set, const void *arg)
{
	const bool stopped = set->state == PT_STOPPED;

	(void)arg;
	set->state = PT_DYING;
	if (stopped)
		return 0;
	pt_sites_follow();
	pt_rings_quiesce(set);
	return 0;
}

int pt_session_destroy(const char *name)
{
	return session_with(name, destroy, NULL);
}

/* Frees the memory of sessions that were destroyed. */
static void bury(void)
{
	for (unsigned int i = 1; i < PT_SESSIONS; i++) {
		if (pt_settings[i].state == PT_NONE)
			pt_rings_free(&pt_settings[i]);
		if (pt_settings[i].state != PT_DYING)
			continue;
		pt_rings_unmap(&pt_settings[i]);
		pt_settings[i].state = PT_NONE;
	}
}

void pt_sessions_bury(void)
{
	if (!pt_state)
		return;
	pt_lock();
	bury();
	pt_unlock();
}

/* A place for a session, or NULL. */
static struct pt_settings *place_find(void)
{
	for (unsigned int i = 1; i < PT_SESSIONS; i++)
		if (pt_settings[i].state == PT_NONE && pt_rings_free(&pt_settings[i]))
			return &pt_settings[i];
	return NULL;
}

int pt_session_start(const struct pt_spec *spec, const struct pt_rules *rules, const char **why)
{
	struct pt_settings *set = NULL;
	int rc = pt_state_get();

	*why = NULL;
	if (rc)
		return rc;
	pt_lock();
	rc = -EEXIST;
	if (session_find(spec->name))
		goto out;
	rc = -ENOSPC;
	*why = "it is in as many sessions as a process can be";
	set = place_find();
	if (!set) {
		bury(); /* they may have been destroyed a moment ago */
		set = place_find();
	}
	if (!set)
		goto out;
	*why = NULL;
	rc = pt_settings_take(set, spec);
	if (rc)
		goto out;
	set->rules = *rules;
	set->untracked = !pt_tracked_here(&spec->tracked);
	set->stale = false;
	set->state = spec->stopped ? PT_STOPPED : PT_ARMED;
	pt_sites_follow();
	rc = set->error;
	set->begun = !rc;
	if (rc) {
		*why = pt_refusal_reason(-rc);
		set->state = PT_NONE;
		pt_sites_follow();
	}
out:
	pt_unlock();
	return rc;
}

bool pt_sessions_addresses(void)
{
	const uint64_t addresses = 1u << PANTRACE_CONTEXT_IP | 1u << PANTRACE_CONTEXT_USER_STACK;

	bool found = false;

	if (!pt_state)
		return false;
	pt_lock();
	for (unsigned int i = 0; i < PT_SESSIONS; i++)
		found |= pt_settings[i].state == PT_RUNNING &&
			 pt_settings[i].spec.contexts & addresses;
	pt_unlock();
	return found;
}

void pt_sessions_populate(void)
{
	pt_lock();
	for (unsigned int i = 0; i < PT_SESSIONS; i++)
		if (pt_settings[i].state == PT_RUNNING)
			pt_memory_all(&pt_settings[i]);
	pt_unlock();
}

unsigned int pt_sessions_follow(void)
{
	unsigned int watch = 0;

	if (!pt_state)
		return 0;
	pt_lock();
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pt_settings *const set = &pt_settings[i];

		if (set->spec.tracked.limited &&
		    (set->state == PT_ARMED || set->state == PT_RUNNING)) {
			judge(set); /* the process may have changed its user */
			watch |= PT_WATCH_TIME;
		}
		watch |= pt_memory_follow(set);
		if (set->state == PT_RUNNING && pt_children_expected(set))
			watch |= PT_WATCH_CHILDREN;
	}
	pt_children_sweep(LOOK_AT);
	if (pt_running() && pt_threads_follow())
		watch |= PT_WATCH_WORK;
	pt_unlock();
	return watch;
}

void pt_session_count(const struct pt_session *session, struct pantrace_counts *ret)
{
	struct pantrace_counts counts = {0};

	for (uint32_t i = 0; i < session->nr_rings; i++) {
		counts.events += __atomic_load_n(&session->rings[i].events, __ATOMIC_ACQUIRE);
		counts.lost += __atomic_load_n(&session->rings[i].lost, __ATOMIC_ACQUIRE);
	}
	counts.lost += __atomic_load_n(&session->shm->lost, __ATOMIC_ACQUIRE);
	*ret = counts;
}

bool pt_session_info(unsigned int number, struct pt_session_info *ret)
{
	const struct pt_settings *const set = &pt_settings[number];
	const struct pt_session *session;

	if (number >= PT_SESSIONS || !pt_state)
		return false;
	pt_lock();
	session = &pt_state->session[number];
	if (set->state == PT_NONE || set->state == PT_DYING) {
		pt_unlock();
		return false;
	}
	*ret = (struct pt_session_info){
		.spec = set->spec,
		.state = set->state,
		.untracked = set->untracked,
		.error = set->error,
		.unheard = set->unheard,
	};
	memcpy(ret->file, set->file, sizeof(ret->file));
	if (session->shm && set->state != PT_ARMED)
		pt_session_count(session, &ret->counts);
	pt_unlock();
	return true;
}

/* Here and not in api.c: the linker leaves out objects of an archive that no program calls. */
__attribute__((constructor(102))) static void begin(void)
{
	pt_control_begin();
	pt_environment_start();
}
