/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that the engine runs itself: begin, end, self. */
#include "engine/engine.h"

#include <linux/bpf.h>
#include <signal.h>

#include "kernel/kernel.h"

int engine_test_run(int prog_fd, u32 *ret_value)
{
	union bpf_attr attr = {0};
	int r;

	attr.test.prog_fd = (u32)prog_fd;
	r = sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr));
	if (ret_value)
		*ret_value = attr.test.retval;
	return r < 0 ? r : 0;
}

/*
 * Programs that the engine runs at this moment, each once per attach point. Returns how many, or
 * -errno.
 */
int engine_run_begin_end(struct engine *e, enum probe_runner runner)
{
	int count = 0;

	for (size_t i = 0; i < e->script->programs.len; i++) {
		const struct script_program *p = &e->script->programs.items[i];
		int err = 0;

		if (engine_provider(p)->runner != runner)
			continue;
		for (u32 t = 0; t < p->ntargets && !err; t++, count++)
			err = engine_test_run(e->programs[i], NULL);
		if (err < 0) {
			diag_error(e->env->diag, p->probe ? p->probe->span : NO_SPAN,
				   "cannot run the %s probe: %s", engine_provider(p)->name,
				   strerror(-err));
			if (err == -EINVAL || err == -524) /* ENOTSUPP */
				diag_hint(e->env->diag, "running it needs Linux 5.10");
			return err;
		}
	}
	return count;
}

u32 engine_count_targets(const struct engine *e, enum probe_runner runner)
{
	u32 n = 0;

	for (size_t i = 0; i < e->script->programs.len; i++)
		if (engine_provider(&e->script->programs.items[i])->runner == runner)
			n += e->script->programs.items[i].ntargets;
	return n;
}

u32 engine_count_internal(const struct engine *e)
{
	u32 n = 0;

	for (size_t i = 0; i < e->script->programs.len; i++)
		if (e->script->programs.items[i].probe &&
		    e->script->programs.items[i].probe->is_internal)
			n += e->script->programs.items[i].ntargets;
	return n;
}

void engine_run_signal(struct engine *e, u32 signo)
{
	bool any = false;

	for (size_t i = 0; i < e->script->programs.len; i++) {
		const struct script_program *p = &e->script->programs.items[i];

		if (engine_provider(p)->runner != PROBE_BY_SIGNAL)
			continue;
		for (u32 t = 0; t < p->ntargets; t++) {
			if (p->targets[t]->config != signo)
				continue;
			engine_test_run(e->programs[i], NULL);
			any = true;
		}
	}
	if (!any && signo == SIGUSR1)
		engine_print_maps(e);
}

bool engine_has_signal(const struct engine *e, u32 signo)
{
	for (size_t i = 0; i < e->script->programs.len; i++) {
		const struct script_program *p = &e->script->programs.items[i];

		if (engine_provider(p)->runner != PROBE_BY_SIGNAL)
			continue;
		for (u32 t = 0; t < p->ntargets; t++)
			if (p->targets[t]->config == signo)
				return true;
	}
	return false;
}
