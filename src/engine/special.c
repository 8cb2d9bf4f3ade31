/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that the engine runs itself: begin, end, self. */
#include "engine/engine.h"

#include <linux/bpf.h>
#include <signal.h>

#include "kernel/kernel.h"

bool engine_is_provider(const struct script_program *p, const char *name)
{
	return p->ntargets && str_eq(p->targets[0]->provider->name, name);
}

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

/* Programs of one special provider, each once per attach point. Returns how many, or -errno. */
int engine_run_special(struct engine *e, const char *provider)
{
	int count = 0;

	for (size_t i = 0; i < e->script->programs.len; i++) {
		const struct script_program *p = &e->script->programs.items[i];
		int err = 0;

		if (!engine_is_provider(p, provider))
			continue;
		for (u32 t = 0; t < p->ntargets && !err; t++, count++)
			err = engine_test_run(e->programs[i], NULL);
		if (err < 0) {
			diag_error(e->env->diag, p->probe ? p->probe->span : NO_SPAN,
				   "cannot run the %s probe: %s", provider, strerror(-err));
			if (err == -EINVAL || err == -524) /* ENOTSUPP */
				diag_hint(e->env->diag, "running it needs Linux 5.10");
			return err;
		}
	}
	return count;
}

u32 engine_count_targets(const struct engine *e, const char *provider)
{
	u32 n = 0;

	for (size_t i = 0; i < e->script->programs.len; i++)
		if (engine_is_provider(&e->script->programs.items[i], provider))
			n += e->script->programs.items[i].ntargets;
	return n;
}

u32 engine_count_internal(const struct engine *e)
{
	u32 n = 0;

	for (size_t i = 0; i < e->script->programs.len; i++)
		if (e->script->programs.items[i].probe && e->script->programs.items[i].probe->is_internal)
			n += e->script->programs.items[i].ntargets;
	return n;
}

void engine_run_signal(struct engine *e, u32 signo)
{
	bool any = false;

	for (size_t i = 0; i < e->script->programs.len; i++) {
		const struct script_program *p = &e->script->programs.items[i];

		if (!engine_is_provider(p, "self"))
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

		for (u32 t = 0; engine_is_provider(p, "self") && t < p->ntargets; t++)
			if (p->targets[t]->config == signo)
				return true;
	}
	return false;
}
