// SPDX-License-Identifier: MIT
/* What programs call (pantrace/control.h): the session that they start themselves, number 0. */
#include "session.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int pantrace_start(const struct pantrace_options *given)
{
	struct pt_settings *const set = &pt_settings[0];
	struct pantrace_options options = {0};
	struct pt_spec spec = {0};
	int rc = pt_state_get();

	if (rc)
		return rc;
	if (given && given->size < offsetof(struct pantrace_options, directory))
		return -EINVAL;
	if (given)
		memcpy(&options, given,
		       given->size < sizeof(options) ? given->size : sizeof(options));
	if (options.directory && strlen(options.directory) >= sizeof(spec.directory))
		return -ENAMETOOLONG;
	snprintf(spec.directory, sizeof(spec.directory), "%s",
		 options.directory ? options.directory : "");
	if (options.mode >= PANTRACE_MODE_MAX)
		return -EINVAL;
	spec.mode = options.mode;
	spec.sub_size = options.sub_size;
	spec.nr_subs = options.nr_subs;
	spec.per_thread = options.per_thread;
	spec.block_us = options.block_us;
	spec.contexts = options.contexts;
	pt_lock();
	rc = set->state != PT_NONE || !pt_rings_free(set) ? -EBUSY : pt_settings_take(set, &spec);
	if (rc)
		goto out;
	rc = pt_rings_make(set, (uint32_t)getpid(), 0);
	if (rc)
		goto out;
	set->state = PT_RUNNING;
	pt_sites_follow();
out:
	pt_unlock();
	return rc;
}

int pantrace_stop(void)
{
	struct pt_settings *const set = &pt_settings[0];
	int rc = -ENOENT;

	if (!pt_state)
		return rc;
	pt_lock();
	if (set->state != PT_NONE) {
		set->state = PT_NONE;
		pt_sites_follow();
		pt_rings_quiesce(set);
		pt_rings_unmap(set);
		rc = 0;
	}
	pt_unlock();
	return rc;
}

static int rule_set(const char *glob, bool on)
{
	int rc = pt_state_get();

	if (rc)
		return rc;
	if (!glob)
		return -EINVAL;
	pt_lock();
	rc = pt_rules_add(&pt_settings[0].rules, glob, strlen(glob), on, PT_LEVEL_ANY, false);
	if (!rc && pt_settings[0].state == PT_RUNNING)
		rc = pt_sites_follow();
	pt_unlock();
	return rc;
}

int pantrace_enable(const char *pattern)
{
	return rule_set(pattern, true);
}

int pantrace_disable(const char *pattern)
{
	return rule_set(pattern, false);
}

int pantrace_fd(void)
{
	return pt_settings[0].state == PT_RUNNING && pt_rings_fd_ours(&pt_settings[0])
		       ? pt_settings[0].fd
		       : -ENOENT;
}

int pantrace_count(struct pantrace_counts *ret)
{
	struct pt_state *const state = pt_state;

	if (!state || !__atomic_load_n(&state->session[0].active, __ATOMIC_ACQUIRE))
		return -ENOENT;
	pt_session_count(&state->session[0], ret);
	return 0;
}

void pt_environment_start(void)
{
	const char *directory = secure_getenv("PANTRACE_RECORD");
	const char *events = secure_getenv("PANTRACE_EVENTS");
	const char *mode = secure_getenv("PANTRACE_MODE");
	const struct pantrace_options options = {
		.size = sizeof(options),
		.directory = directory,
		.mode = mode && !strcmp(mode, "overwrite") ? PANTRACE_OVERWRITE : PANTRACE_DISCARD,
	};
	char pattern[256];

	if (!directory || !*directory || pantrace_start(&options))
		return;
	for (const char *p = events ? events : "*"; *p;) {
		const size_t n = strcspn(p, ",");

		snprintf(pattern, sizeof(pattern), "%.*s", (int)n, p);
		pantrace_enable(pattern);
		p += n + (p[n] == ',');
	}
}
