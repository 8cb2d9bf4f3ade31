/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/vmcore/state.h"

#define TASKS_MAX    (1u << 22)
#define STRINGS_MAX  (1u << 20)
#define STRING_MAX   4096
#define UTS_NAME_MAX 64

/* ---- strings that events point to ---- */

/* As the kernel's printk_formats has it. */
static void print_string(struct dead_kernel *k, struct strbuf *out, u64 address)
{
	char *const text = out->len > DEAD_TEXT_MAX ? NULL : dead_string(k, address, STRING_MAX);

	if (text) {
		strbuf_addf(out, "0x%" PRIx64 " : \"", address);
		for (const char *at = text; *at; at++)
			switch (*at) {
			case '\n':
				strbuf_addstr(out, "\\n");
				break;
			case '\t':
				strbuf_addstr(out, "\\t");
				break;
			case '\\':
				strbuf_addstr(out, "\\");
				break;
			case '"':
				strbuf_addstr(out, "\\\"");
				break;
			default:
				strbuf_addch(out, *at);
			}
		strbuf_addstr(out, "\"\n");
	}
	free(text);
}

/* An array of pointers between two symbols. */
static void print_strings(struct dead_kernel *k, struct strbuf *out, const char *begin,
			  const char *end)
{
	const u64 from = dead_symbol(k, begin), to = dead_symbol(k, end);
	u64 address;

	if (!from || to < from || (to - from) / sizeof(address) > STRINGS_MAX)
		return;
	for (u64 at = from; at < to && !dead_u64(k, at, &address); at += sizeof(address))
		print_string(k, out, address);
}

struct module_strings {
	struct dead_kernel *kernel;
	struct strbuf *out;
};

static int print_module_string(void *arg, u64 fmt)
{
	const struct module_strings *const m = arg;
	u64 address;

	if (!dead_member(m->kernel, fmt, F(trace_bprintk_fmt, fmt), &address))
		print_string(m->kernel, m->out, address);
	return 0;
}

static void read_strings(struct dead_kernel *k, struct dat_contents *c)
{
	const u64 of_modules = dead_symbol(k, "trace_bprintk_fmt_list");
	struct strbuf out = STRBUF_INIT;
	struct module_strings m = {k, &out};

	print_strings(k, &out, "__start___trace_bprintk_fmt", "__stop___trace_bprintk_fmt");
	if (of_modules && dead_has(k, F(trace_bprintk_fmt, fmt)))
		dead_each(k, of_modules, F(trace_bprintk_fmt, list), false, print_module_string,
			  &m);
	print_strings(k, &out, "__start___tracepoint_str", "__stop___tracepoint_str");
	dat_contents_strings(c, out.data, out.len);
	strbuf_release(&out);
}

/* ---- names of tasks ---- */

/* Returns false where the dump has nothing more. */
static bool print_task(struct dead_kernel *k, struct strbuf *out, u64 pid_at, u64 name_at)
{
	char *name;
	u32 pid;

	if (dead_read(k, pid_at, &pid, sizeof(pid)))
		return false;
	if ((s32)pid <= 0)
		return true;
	name = dead_string(k, name_at, dead_size(k, F(task_struct, comm)) - 1);
	if (name && *name) {
		for (char *at = name; *at; at++)
			*at = *at == '\n' ? '?' : *at;
		strbuf_addf(out, "%u %s\n", pid, name);
	}
	free(name);
	return true;
}

/* Those that the kernel keeps for its traces (kernel/trace/trace_sched_switch.c). */
static void read_tasks(struct dead_kernel *k, struct dat_contents *c)
{
	const u64 variable = dead_symbol(k, "savedcmd");
	struct strbuf out = STRBUF_INIT;
	u64 saved, pids, names, count = 0;

	if (variable && !dead_u64(k, variable, &saved) && saved &&
	    !dead_member_array(k, saved, F(saved_cmdlines_buffer, map_cmdline_to_pid), &pids) &&
	    !dead_member_array(k, saved, F(saved_cmdlines_buffer, saved_cmdlines), &names) &&
	    dead_member(k, saved, F(saved_cmdlines_buffer, cmdline_num), &count))
		count = 0;
	count = MIN(count, (u64)TASKS_MAX);
	for (u64 i = 0; i < count && print_task(k, &out, pids + i * sizeof(u32),
						names + i * dead_size(k, F(task_struct, comm)));
	     i++)
		;
	dat_contents_tasks(c, out.data, out.len);
	strbuf_release(&out);
}

/* ---- the machine ---- */

static char *uname_of(struct dead_kernel *k)
{
	static const enum dead_field fields[] = {F(new_utsname, sysname), F(new_utsname, nodename),
						 F(new_utsname, release), F(new_utsname, machine)};
	const u64 variable = dead_symbol(k, "init_uts_ns");
	const u64 names = variable + dead_offset(k, F(uts_namespace, name));
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		char *const text =
			variable ? dead_string(k, names + dead_offset(k, fields[i]), UTS_NAME_MAX)
				 : NULL;

		strbuf_addf(&out, "%s%s", i ? " " : "", text && *text ? text : "unknown");
		free(text);
	}
	return strbuf_detach(&out);
}

void dead_state_read(struct dead_kernel *k, struct dat_contents *c, char **ret_uname)
{
	const struct strbuf *const symbols = dead_kallsyms(k);

	dat_contents_symbols(c, symbols->data, symbols->len);
	read_strings(k, c);
	read_tasks(k, c);
	c->uname = *ret_uname = uname_of(k);
}
