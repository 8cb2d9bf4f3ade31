/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/engine.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/glob.h"

static bool has_wildcard(const struct probe *p)
{
	for (u32 i = 0; p && i < p->nattach; i++)
		for (u32 k = 1; k < p->attach_points[i].count; k++)
			if (glob_has_wildcard(p->attach_points[i].parts[k]))
				return true;
	return false;
}

/*
 * What a failed attach means for the run, by the script's setting missing_probes: an error, a
 * warning, or nothing. A wildcard usually matches a few functions that cannot be probed: these are
 * left out and counted.
 */
static int judge_missing(struct engine *e, const struct script_program *p, size_t first_message,
			 unsigned int errors_before, u32 failed, u32 n)
{
	struct diag *d = e->env->diag;
	const bool left_out = failed < n && has_wildcard(p->probe);

	if (e->script->config.missing_probes == 0 && !left_out)
		return -ENOENT;
	if (left_out && e->script->config.missing_probes != 2)
		diag_hint(d, "%u of %u probes that the wildcard matches are left out", failed, n);
	d->errors = errors_before;
	d->code = EXIT_OK;
	if (e->script->config.missing_probes == 2)
		d->messages.len = first_message;
	for (size_t i = first_message; i < d->messages.len; i++)
		if (d->messages.items[i].level == DIAG_ERROR)
			d->messages.items[i].level = DIAG_WARNING;
	return 0;
}

static int attach_program(struct engine *e, size_t index)
{
	const struct script_program *p = &e->script->programs.items[index];
	struct diag *d = e->env->diag;

	for (u32 first = 0, n; first < p->ntargets; first += n) {
		const struct probe_provider *provider = p->targets[first]->provider;
		size_t messages = d->messages.len;
		unsigned int errors = d->errors;
		u32 failed = e->attachments.failed;
		int err;

		for (n = 1; first + n < p->ntargets && p->targets[first + n]->provider == provider;
		     n++)
			;
		size_t attachments = e->attachments.list.len;

		if (!provider->attach || (e->env->only_ask && !provider->asks))
			continue;
		err = provider->attach(e->env, e->programs[index], &p->context, p->targets + first,
				       n, &e->attachments);
		/* Iterators run when their sequence files are read. */
		for (; provider->runs_when_read && attachments < e->attachments.list.len;
		     attachments++)
			vector_push(&e->iterators,
				    ((struct engine_iterator){
					    e->attachments.list.items[attachments].fd,
					    e->attachments.list.items[attachments].event_fd}));
		if (err < 0 || e->attachments.failed > failed)
			err = judge_missing(e, p, messages, errors, e->attachments.failed - failed,
					    n);
		if (err < 0) {
			if (d->errors == errors)
				diag_error(d, p->probe ? p->probe->span : NO_SPAN,
					   "cannot attach %s: %s", p->targets[first]->name,
					   strerror(-err));
			return err;
		}
	}
	return 0;
}

/* Every probe may need a link and a perf event per CPU. */
static void raise_file_limit(const struct engine *e)
{
	struct rlimit limit;
	u64 need = e->script->maps.len + 64;

	for (size_t i = 0; i < e->script->programs.len; i++)
		need += 1 + 3 * (u64)e->script->programs.items[i].ntargets;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= need)
		return;
	limit.rlim_cur = need;
	limit.rlim_max = MAX(limit.rlim_max, limit.rlim_cur);
	setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * The kernel runs the programs of one event in the order of attaching for some kinds of events and
 * in the reverse order for others; a script's own order is kept by attaching the latter from the
 * last one on. Timers run from when all the others are attached, which may take seconds.
 */
int engine_attach(struct engine *e)
{
	const struct script_program *const programs = e->script->programs.items;
	const size_t n = e->script->programs.len;
	int err = 0;

	raise_file_limit(e);
	for (size_t i = 0; i < n && !err; i++)
		if (!engine_provider(&programs[i])->runs_in_reverse &&
		    !engine_provider(&programs[i])->is_timer)
			err = attach_program(e, i);
	for (size_t i = n; i-- > 0 && !err;)
		if (engine_provider(&programs[i])->runs_in_reverse)
			err = attach_program(e, i);
	for (size_t i = 0; i < n && !err; i++)
		if (engine_provider(&programs[i])->is_timer)
			err = attach_program(e, i);
	return err;
}

/* What iterators print is left out: their maps are what is wanted. */
int engine_walk(struct engine *e)
{
	char text[4096];
	int err = 0;

	for (size_t i = 0; i < e->iterators.len && !err; i++) {
		const int fd = sys_bpf_iterator(e->iterators.items[i].link);
		ssize_t n;

		if (fd < 0)
			return fd;
		while (!err && (n = read(fd, text, sizeof(text))) != 0)
			if (n < 0 && errno != EINTR && errno != EAGAIN)
				err = -errno;
		close(fd);
	}
	return err;
}
