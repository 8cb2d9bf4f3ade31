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
	{21, "CAP_SYS_ADMIN", "pin objects, mount tracefs"},
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
	bool is_json;
	struct strbuf out;
	struct json json; /* into out */
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

/* Whatever a provider needs besides, it needs bpf(2). */
static const struct kernel_answer *provider_answer(struct doctor *d, const struct probe_provider *p)
{
	const struct kernel_answer *own = kernel_ask(d->kernel, (enum kernel_capability)p->needs);

	return own->yes ? kernel_ask(d->kernel, KERNEL_BPF) : own;
}

static const char *why_not(const struct kernel_answer *a)
{
	return a->why ? a->why : a->error ? strerror(a->error) : "the kernel does not offer it";
}

/* ---- headings: as text, or as members of one object ---- */

static void begin(struct doctor *d, const char *heading, const char *key, bool is_list)
{
	if (!d->is_json) {
		strbuf_addf(&d->out, "\n%s\n", heading);
		return;
	}
	json_key(&d->json, key);
	if (is_list)
		json_array(&d->json);
	else
		json_object(&d->json);
}

static void end(struct doctor *d, char close)
{
	if (d->is_json)
		json_end(&d->json, close);
}

static void show_head(struct doctor *d)
{
	struct utsname u;
	const u32 *cpus;
	const struct kernel_answer *a = kernel_ask(d->kernel, KERNEL_LOCKDOWN_NONE);
	const char *lockdown = a->yes ? "none" : why_not(a);

	uname(&u);
	if (d->is_json) {
		json_object(&d->json);
		json_member_text(&d->json, "version", PANTRACE_VERSION);
		json_member_text(&d->json, "release", u.release);
		json_member_text(&d->json, "machine", u.machine);
		json_member_text(&d->json, "lockdown", lockdown);
		return;
	}
	strbuf_addf(&d->out, "pantrace %s on Linux %s %s, %u CPUs online, uid %u\nlockdown: %s\n",
		    PANTRACE_VERSION, u.release, u.machine, kernel_online_cpus(d->kernel, &cpus),
		    (unsigned int)geteuid(), lockdown);
}

/* doc: printed if it works; NULL = nothing, and hints are printed. */
static void show_answer(struct doctor *d, const char *name, int width, const char *doc,
			const struct kernel_answer *a)
{
	struct json *const j = &d->json;

	if (d->is_json) {
		json_object(j);
		json_member_text(j, "name", name);
		json_member_bool(j, "available", a->yes);
		json_member_s64(j, "errno", a->yes ? 0 : a->error);
		json_member_text(j, "cause", a->yes ? NULL : why_not(a));
		json_member_text(j, "hint", a->yes ? NULL : a->hint);
		json_end(j, '}');
		return;
	}
	if (a->yes && !doc)
		strbuf_addf(&d->out, "  yes  %s\n", name);
	else
		strbuf_addf(&d->out, "  %-4s %-*s %s\n", a->yes ? "yes" : "NO", width, name,
			    a->yes ? doc : why_not(a));
	if (!a->yes && !doc && a->hint)
		strbuf_addf(&d->out, "       %-*s -> %s\n", width, "", a->hint);
}

static void show_providers(struct doctor *d)
{
	begin(d, "Probes", "probes", true);
	for (u32 i = 0; probe_providers[i]; i++)
		show_answer(d, probe_providers[i]->name, 14, probe_providers[i]->doc,
			    provider_answer(d, probe_providers[i]));
	end(d, ']');
}

static void show_kernel(struct doctor *d)
{
	begin(d, "Kernel", "kernel", true);
	for (enum kernel_capability c = 0; c < KERNEL_CAPABILITY_COUNT; c++)
		show_answer(d, kernel_capability_name(c), 22, NULL, kernel_ask(d->kernel, c));
	end(d, ']');
}

static void show_feature(struct doctor *d, const struct ftrace_feature *f)
{
	if (d->is_json) {
		json_object(&d->json);
		json_member_text(&d->json, "name", f->name);
		json_member_bool(&d->json, "available", f->yes);
		json_member_s64(&d->json, "errno", f->error);
		json_end(&d->json, '}');
		return;
	}
	strbuf_addf(&d->out, "  %-4s %-24s %s", f->yes ? "yes" : "NO", f->name, f->doc);
	if (!f->yes && f->error != ENOENT)
		strbuf_addf(&d->out, " (%s)", strerror(f->error));
	strbuf_addch(&d->out, '\n');
}

static void show_ftrace(struct doctor *d)
{
	struct ftrace_feature *f;
	const size_t n = ftrace_features(d->kernel, &f);

	if (n || d->is_json)
		begin(d, "Ftrace", "ftrace", true);
	for (size_t i = 0; i < n; i++)
		show_feature(d, &f[i]);
	if (n || d->is_json)
		end(d, ']');
	free(f);
}

static void show_capabilities(struct doctor *d)
{
	const u64 held = effective_capabilities();

	begin(d, "Privileges", "capabilities", false);
	for (u32 i = 0; i < ARRAY_SIZE(capabilities); i++) {
		const bool has = held >> capabilities[i].bit & 1;

		if (d->is_json)
			json_member_bool(&d->json, capabilities[i].name, has);
		else
			strbuf_addf(&d->out, "  %-4s %-22s %s\n", has ? "yes" : "NO",
				    capabilities[i].name, capabilities[i].why);
	}
	end(d, '}');
}

/* What is kept when everything is attached; all other privileges are dropped. */
static void show_reading(struct doctor *d)
{
	const bool can_filter = sandbox_can_filter();

	begin(d, "Privileges while events are read", "reading", false);
	if (d->is_json) {
		json_key(&d->json, "capabilities");
		json_object(&d->json);
	}
	for (const struct sandbox_capability *c = sandbox_capabilities; c->name; c++) {
		const char *how = c->needs ? "some" : "kept";

		if (d->is_json)
			json_member_text(&d->json, c->name, how);
		else
			strbuf_addf(&d->out, "  %-4s %-22s %s\n", how, c->name, c->why);
	}
	end(d, '}');
	if (d->is_json) {
		json_member_bool(&d->json, "no_new_privs", true);
		json_member_bool(&d->json, "seccomp", can_filter);
		json_end(&d->json, '}');
		return;
	}
	strbuf_addf(
		&d->out,
		"  %-4s %-22s given up, and no program that is run gets new ones (no_new_privs)\n"
		"  %-4s %-22s only those that reading takes (seccomp), in scripts and tools "
		"without files or sockets of their own%s\n"
		"  \"some\": by runs that need it. Scripts with system() or events of instrumented "
		"programs keep all, as does --%s.\n",
		"no", "all others", can_filter ? "some" : "NO", "system calls",
		can_filter ? "" : "; this kernel cannot do it", SANDBOX_OPTION_NAME);
}

static void show_settings(struct doctor *d)
{
	begin(d, "Settings", "settings", false);
	for (u32 i = 0; i < ARRAY_SIZE(settings); i++) {
		char *value = first_line(settings[i].path);

		if (d->is_json) {
			json_member_text(&d->json, settings[i].name, *value ? value : NULL);
		} else {
			strbuf_addf(&d->out, "  %-36s", settings[i].name);
			escape_line(&d->out, *value ? value : "?", *value ? strlen(value) : 1);
			strbuf_addf(&d->out, "%*s(%s)\n", MAX(1, 9 - (int)strlen(value)), "",
				    settings[i].meaning);
		}
		free(value);
	}
	end(d, '}');
}

static const struct option_spec options[] = {
	{0, "json", NULL, "one JSON object", OPTION_FLAG, offsetof(struct doctor, is_json)},
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
	.takes_no_argument = true,
};

int cmd_doctor(int argc, char **argv)
{
	struct doctor d = {.out = STRBUF_INIT};
	int first, rc = options_parse(&spec, argc, argv, &d, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	d.kernel = kernel_new();
	d.json = (struct json)JSON_INIT(&d.out);
	show_head(&d);
	show_providers(&d);
	show_kernel(&d);
	show_ftrace(&d);
	show_capabilities(&d);
	show_reading(&d);
	show_settings(&d);
	end(&d, '}');
	if (d.is_json)
		json_end_line(&d.json);
	fwrite(d.out.data, 1, d.out.len, stdout);
	strbuf_release(&d.out);
	kernel_release(d.kernel);
	return EXIT_OK;
}
