/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/doctor.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/file.h"
#include "base/json.h"
#include "base/options.h"
#include "kernel/features/ftrace_features.h"
#include "kernel/kernel.h"
#include "kernel/sandbox/sandbox.h"
#include "probe/probe.h"

/* include/uapi/linux/capability.h; why each matters here. */
static const struct {
	u32 bit;
	const char *name, *why;
} capabilities[] = {
	{39, "CAP_BPF", "load BPF programs and maps"},
	{38, "CAP_PERFMON", "attach to kernel events, read kernel memory"},
	{21, "CAP_SYS_ADMIN", "both of these, on kernels before 5.8; pin objects, mount tracefs"},
	{19, "CAP_SYS_PTRACE", "look into other users' processes"},
	{34, "CAP_SYSLOG", "see kernel addresses"},
	{2, "CAP_DAC_READ_SEARCH", "read tracefs and other users' executables"},
	{24, "CAP_SYS_RESOURCE", "lock memory for maps, on kernels before 5.11"},
};

static const struct {
	const char *name, *path, *meaning;
} settings[] = {
	{"kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid",
	 "above -1: CAP_PERFMON is needed for what the kernel does"},
	{"kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict",
	 "1: CAP_SYSLOG is needed for addresses; 2: nobody sees them"},
	{"kernel.unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled",
	 "not 0: CAP_BPF is needed for bpf(2)"},
	{"kernel.perf_event_max_sample_rate", "/proc/sys/kernel/perf_event_max_sample_rate",
	 "the highest profile:hz:N"},
	{"net.core.bpf_jit_enable", "/proc/sys/net/core/bpf_jit_enable",
	 "0: programs are interpreted, ten times slower"},
};

struct doctor {
	struct kernel *kernel;
	struct strbuf out;
};

/* First line of a small file without the newline; "" if it cannot be read. Malloc'ed. */
static char *first_line(const char *path)
{
	char *text;
	size_t len;

	if (file_read(path, 4096, &text, &len))
		return xstrdup("");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static u64 effective_capabilities(void)
{
	char *text, *line;
	size_t len;
	u64 ret = 0;

	if (file_read("/proc/self/status", 1 << 16, &text, &len))
		return 0;
	line = strstr(text, "CapEff:");
	if (line)
		ret = strtoull(line + 7, NULL, 16);
	free(text);
	return ret;
}

/* Whatever a provider needs of its own, it needs bpf(2) too. */
static const struct kernel_answer *provider_answer(struct doctor *d, const struct probe_provider *p)
{
	const struct kernel_answer *own = kernel_ask(d->kernel, (enum kernel_capability)p->needs);

	return own->yes ? kernel_ask(d->kernel, KERNEL_BPF) : own;
}

static const char *why_not(const struct kernel_answer *a)
{
	return a->why ? a->why : a->error ? strerror(a->error) : "the kernel does not offer it";
}

/* ---- text ---- */

static void text_head(struct doctor *d)
{
	struct utsname u;
	const u32 *cpus;
	const struct kernel_answer *lockdown = kernel_ask(d->kernel, KERNEL_LOCKDOWN_NONE);

	uname(&u);
	strbuf_addf(&d->out, "pantrace %s on Linux %s %s, %u CPUs online, uid %u\n",
		    PANTRACE_VERSION, u.release, u.machine, kernel_online_cpus(d->kernel, &cpus),
		    (unsigned int)geteuid());
	strbuf_addf(&d->out, "lockdown: %s\n", lockdown->yes ? "none" : why_not(lockdown));
}

static void text_providers(struct doctor *d)
{
	strbuf_addstr(&d->out, "\nProbes\n");
	for (u32 i = 0; probe_providers[i]; i++) {
		const struct probe_provider *p = probe_providers[i];
		const struct kernel_answer *a = provider_answer(d, p);

		if (a->yes)
			strbuf_addf(&d->out, "  yes  %-14s %s\n", p->name, p->doc);
		else
			strbuf_addf(&d->out, "  NO   %-14s %s\n", p->name, why_not(a));
	}
}

static void text_kernel(struct doctor *d)
{
	strbuf_addstr(&d->out, "\nKernel\n");
	for (u32 c = 0; c < KERNEL_CAPABILITY_COUNT; c++) {
		const struct kernel_answer *a = kernel_ask(d->kernel, (enum kernel_capability)c);
		const char *name = kernel_capability_name((enum kernel_capability)c);

		if (a->yes) {
			strbuf_addf(&d->out, "  yes  %s\n", name);
			continue;
		}
		strbuf_addf(&d->out, "  NO   %-22s %s\n", name, why_not(a));
		if (a->hint)
			strbuf_addf(&d->out, "       %-22s -> %s\n", "", a->hint);
	}
}

static void text_ftrace(struct doctor *d)
{
	struct ftrace_feature *f;
	const size_t n = ftrace_features(d->kernel, &f);

	if (n)
		strbuf_addstr(&d->out, "\nFtrace\n");
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(&d->out, "  %-4s %-24s %s", f[i].yes ? "yes" : "NO", f[i].name,
			    f[i].doc);
		if (!f[i].yes && f[i].error != ENOENT)
			strbuf_addf(&d->out, " (%s)", strerror(f[i].error));
		strbuf_addch(&d->out, '\n');
	}
	free(f);
}

/* What is kept when everything is attached; all else is given up. */
static void text_reading(struct doctor *d)
{
	strbuf_addstr(&d->out, "\nPrivileges while events are read\n");
	for (const struct sandbox_capability *c = sandbox_capabilities; c->name; c++)
		strbuf_addf(&d->out, "  %-4s %-22s %s\n", c->needs ? "some" : "kept", c->name,
			    c->why);
	strbuf_addf(
		&d->out,
		"  %-4s %-22s given up, and no program that is run gets new ones "
		"(no_new_privs)\n"
		"  %-4s %-22s only those that reading takes (seccomp), in scripts and tools "
		"without "
		"files or sockets of their own%s\n"
		"  \"some\": by runs that need it. Scripts with system() or events of instrumented "
		"programs keep all, as does --%s.\n",
		"no", "all others", sandbox_can_filter() ? "some" : "NO", "system calls",
		sandbox_can_filter() ? "" : "; this kernel cannot do it", SANDBOX_OPTION_NAME);
}

static void text_privileges(struct doctor *d)
{
	const u64 held = effective_capabilities();

	strbuf_addstr(&d->out, "\nPrivileges\n");
	for (u32 i = 0; i < ARRAY_SIZE(capabilities); i++)
		strbuf_addf(&d->out, "  %-4s %-22s %s\n",
			    held >> capabilities[i].bit & 1 ? "yes" : "NO", capabilities[i].name,
			    capabilities[i].why);
	text_reading(d);
	strbuf_addstr(&d->out, "\nSettings\n");
	for (u32 i = 0; i < ARRAY_SIZE(settings); i++) {
		char *value = first_line(settings[i].path);

		strbuf_addf(&d->out, "  %-36s", settings[i].name);
		escape_line(&d->out, *value ? value : "?", *value ? strlen(value) : 1);
		strbuf_addf(&d->out, "%*s(%s)\n", MAX(1, 9 - (int)strlen(value)), "",
			    settings[i].meaning);
		free(value);
	}
}

/* ---- JSON: one object ---- */

static void json_answer(struct json *j, const char *name, const struct kernel_answer *a)
{
	json_object(j);
	json_member_text(j, "name", name);
	json_member_bool(j, "available", a->yes);
	json_member_s64(j, "errno", a->yes ? 0 : a->error);
	json_member_text(j, "cause", a->yes ? NULL : why_not(a));
	json_member_text(j, "hint", a->yes ? NULL : a->hint);
	json_end(j, '}');
}

static void json_answers(struct doctor *d, struct json *j)
{
	json_key(j, "probes");
	json_array(j);
	for (u32 i = 0; probe_providers[i]; i++)
		json_answer(j, probe_providers[i]->name, provider_answer(d, probe_providers[i]));
	json_end(j, ']');
	json_key(j, "kernel");
	json_array(j);
	for (u32 c = 0; c < KERNEL_CAPABILITY_COUNT; c++)
		json_answer(j, kernel_capability_name((enum kernel_capability)c),
			    kernel_ask(d->kernel, (enum kernel_capability)c));
	json_end(j, ']');
}

static void json_ftrace(struct doctor *d, struct json *j)
{
	struct ftrace_feature *f;
	const size_t n = ftrace_features(d->kernel, &f);

	json_key(j, "ftrace");
	json_array(j);
	for (size_t i = 0; i < n; i++) {
		json_object(j);
		json_member_text(j, "name", f[i].name);
		json_member_bool(j, "available", f[i].yes);
		json_member_s64(j, "errno", f[i].error);
		json_end(j, '}');
	}
	json_end(j, ']');
	free(f);
}

static void json_privileges(struct json *j)
{
	const u64 held = effective_capabilities();

	json_key(j, "capabilities");
	json_object(j);
	for (u32 i = 0; i < ARRAY_SIZE(capabilities); i++)
		json_member_bool(j, capabilities[i].name, held >> capabilities[i].bit & 1);
	json_end(j, '}');
	json_key(j, "reading");
	json_object(j);
	json_key(j, "capabilities");
	json_object(j);
	for (const struct sandbox_capability *c = sandbox_capabilities; c->name; c++)
		json_member_text(j, c->name, c->needs ? "some" : "kept");
	json_end(j, '}');
	json_member_bool(j, "no_new_privs", true);
	json_member_bool(j, "seccomp", sandbox_can_filter());
	json_end(j, '}');
	json_key(j, "settings");
	json_object(j);
	for (u32 i = 0; i < ARRAY_SIZE(settings); i++) {
		char *value = first_line(settings[i].path);

		json_member_text(j, settings[i].name, *value ? value : NULL);
		free(value);
	}
	json_end(j, '}');
}

static void json_all(struct doctor *d)
{
	const struct kernel_answer *lockdown = kernel_ask(d->kernel, KERNEL_LOCKDOWN_NONE);
	struct json j = JSON_INIT(&d->out);
	struct utsname u;

	uname(&u);
	json_object(&j);
	json_member_text(&j, "version", PANTRACE_VERSION);
	json_member_text(&j, "release", u.release);
	json_member_text(&j, "machine", u.machine);
	json_member_text(&j, "lockdown", lockdown->yes ? "none" : why_not(lockdown));
	json_answers(d, &j);
	json_ftrace(d, &j);
	json_privileges(&j);
	json_end(&j, '}');
	json_end_line(&j);
}

struct doctor_options {
	bool json;
};

static const struct option_spec options[] = {
	{0, "json", NULL, "one JSON object", OPTION_FLAG, offsetof(struct doctor_options, json)},
	{0},
};

static const struct command_spec spec = {
	.name = "doctor",
	.synopsis = "[--json]",
	.summary = "show what can be traced here, and why the rest cannot",
	.examples = "pantrace doctor          # everything that may be missing, with what to do "
		    "about it\n"
		    "pantrace doctor --json   # the same for programs",
	.options = options,
};

int cmd_doctor(int argc, char **argv)
{
	struct doctor_options o = {0};
	struct doctor d = {.out = STRBUF_INIT};
	int first, rc = options_parse(&spec, argc, argv, &o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (first < argc)
		return options_usage_error(&spec, "unexpected argument '%s'", argv[first]);
	d.kernel = kernel_new();
	if (o.json) {
		json_all(&d);
	} else {
		text_head(&d);
		text_providers(&d);
		text_kernel(&d);
		text_ftrace(&d);
		text_privileges(&d);
	}
	fwrite(d.out.data, 1, d.out.len, stdout);
	strbuf_release(&d.out);
	kernel_release(d.kernel);
	return EXIT_OK;
}
