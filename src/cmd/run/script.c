/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a script for any command: from the request to the exit code. */
#include "cmd/run/run.h"
#include "base/nearest.h"
#include "cmd/run/aot.h"
#include "cmd/run/serve.h"

#include <unistd.h>

#include "base/process.h"
#include "cmd/list/list.h"
#include "engine/engine.h"
#include "engine/recorded/source.h"
#include "kernel/kernel.h"
#include "lang/syntax/parse.h"
#include "lang/bpf/process_image.h"
#include "view/page/script.h"

/* Everything that one run needs, torn down in one place. */
struct session {
	const struct run_config *r;
	struct arena arena;
	struct diag diag;
	struct type_store types;
	struct kernel *kernel;
	struct btf_source *btf;
	struct probe_env env;
	struct script script;
	struct child child;
	struct output out;
	struct script_server *server; /* NULL = nobody is served */
	struct recorded_source *recorded; /* NULL: programs run in the kernel */
	bool has_child, has_output;
	bool dumped;
};

static int advance_child(void *arg)
{
	struct session *s = arg;

	return s->has_child ? child_advance(&s->child, &s->diag) : 0;
}

static void session_open(struct session *s, const struct run_config *r)
{
	const char *btf = r->btf ? r->btf : getenv("BPFTRACE_BTF");

	*s = (struct session){.r = r, .diag = DIAG_INIT};
	/* A tool's script is ours: warnings of the compiler do not concern its user. */
	s->diag.no_warnings = r->no_warnings || r->is_tool;
	s->diag.command = r->is_tool ? r->name : NULL;
	type_store_init(&s->types);
	s->kernel = kernel_new();
	s->btf = btf_attach(&s->types, btf);
	s->env = (struct probe_env){
		.types = &s->types,
		.btf = s->btf,
		.kernel = s->kernel,
		.arena = &s->arena,
		.diag = &s->diag,
		.unsafe = r->unsafe,
		.list_only = r->list_only,
		.compile_only = r->dump_stage != NULL,
		.max_probes = 1024,
		.pid = r->pid,
		.debug_path = list_join_paths(&s->arena, &r->debug_dirs),
		.prepare_process = advance_child,
		.prepare_arg = s,
	};
}

static void session_close(struct session *s)
{
	if (s->has_child)
		child_stop(&s->child);
	if (s->has_output)
		output_close(&s->out);
	script_server_close(s->server);
	script_release(&s->script);
	recorded_source_close(s->recorded);
	probe_env_release(&s->env);
	btf_release(s->btf);
	kernel_release(s->kernel);
	type_store_release(&s->types);
	diag_release(&s->diag);
	arena_release(&s->arena);
}

static void print_stage(void *arg, const char *stage, const char *text)
{
	struct session *s = arg;

	if (!str_eq(s->r->dump_stage, "all") && !str_eq(s->r->dump_stage, stage))
		return;
	if (str_eq(s->r->dump_stage, "all"))
		printf("\n%s\n-------------------\n", stage);
	fputs(text, stdout);
	s->dumped = true;
}

/* PANTRACE_name, BPFTRACE_name. NULL if neither is set. */
static const char *environment(const char *name)
{
	char word[64];
	const char *value;

	snprintf(word, sizeof(word), "PANTRACE_%s", name);
	value = secure_getenv(word);
	snprintf(word, sizeof(word), "BPFTRACE_%s", name);
	return value ? value : secure_getenv(word);
}

/* What the machine of engine/recorded/ can, whatever this kernel can. */
static const struct kernel_features recorded_features = {
	.loads = true,
	.bpf_loop = true,
	.for_each_map = true,
	.attach_cookie = true,
	.percpu_lookup = true,
	.atomic_fetch = true,
	.cpu_v4 = true,
	.ktime_boot = true,
	.strncmp = true,
};

static int compile(struct session *s)
{
	const struct run_config *r = s->r;
	struct compile_options options = {
		.input = r->input,
		.system_headers = true,
		.kernel_source = environment("KERNEL_SOURCE"),
		.kernel_build = environment("KERNEL_BUILD"),
		/* Tools also trace what their command starts. */
		.pid = s->has_child && !r->is_tool ? s->child.pid : r->pid,
		.has_child = s->has_child,
		.has_unwind_target = s->has_child || r->pid || r->unwind_pid,
		.unsafe = r->unsafe,
		.show_debug_info = r->is_compatible,
		.report_helpers = r->report_helpers,
		.recorded = s->recorded != NULL,
		.features = s->recorded ? recorded_features : *kernel_features(s->kernel),
		.env = &s->env,
		.reads_environment = true,
		.dump = r->dump_stage ? print_stage : NULL,
		.dump_arg = s,
		.dump_stage = r->dump_stage && !str_eq(r->dump_stage, "all") ? r->dump_stage : NULL,
	};
	char reason[128];
	regex_t filter;
	u16 file;
	int err;

	if (r->len > LANG_MAX_SOURCE) {
		diag_error(&s->diag, NO_SPAN,
			   "the script %s is too large: it has more than %u bytes", r->name,
			   LANG_MAX_SOURCE);
		return -EFBIG;
	}
	if (r->probe_filter &&
	    (err = regcomp(&filter, r->probe_filter, REG_EXTENDED | REG_NOSUB)) != 0) {
		regerror(err, &filter, reason, sizeof(reason));
		diag_error(&s->diag, NO_SPAN, "Invalid --probe-filter regex: %s", reason);
		return -EINVAL;
	}
	options.probe_filter = r->probe_filter ? &filter : NULL;
	file = diag_add_source(&s->diag, r->name, r->text, r->len);
	options.in_process = !r->list_only && !s->recorded;
	err = script_compile(&s->arena, file, &options, &s->script);
	if (r->probe_filter)
		regfree(&filter);
	if (err && r->is_compatible && s->script.has_no_probes) {
		/* There it is no error message, though a failure. */
		s->diag.messages.len--;
		s->diag.errors--;
		if (!r->quiet)
			puts("No probes to attach");
	}
	return err;
}

/* For bpftrace's command line it is a failure without a message. */
static const char *from_script(const struct session *s, const char *name)
{
	const char *slash = strrchr(s->r->name, '/');
	const size_t n = slash ? (size_t)(slash - s->r->name) + 1 : 0;

	return n && !strncmp(name, s->r->name, n) ? name + n : name;
}

/* --aot */
static int write_aot(struct session *s)
{
	VECTOR(struct script_file) files = {0};
	struct aot program = {.text = (char *)(uintptr_t)s->r->text,
			      .is_compatible = s->r->is_compatible,
			      .unsafe = s->r->unsafe};
	int err;

	for (size_t i = 0; i < s->diag.sources.len; i++) {
		const struct source *source = &s->diag.sources.items[i];
		const struct script_file f = {.name = from_script(s, source->name),
					      .text = source->text};

		if (!str_eq(source->name, s->r->name) && !source->is_expansion)
			vector_push(&files, f);
	}
	for (u32 i = 0; i < s->r->input.include_dirs.count; i++) {
		const struct script_file f = {
			.name = STANDALONE_INCLUDE,
			.text = from_script(s, s->r->input.include_dirs.items[i])};

		vector_push(&files, f);
	}
	program.files = files.items;
	program.nfiles = (u32)files.len;
	err = aot_write(&s->diag, s->r->standalone, &program);
	vector_free(&files);
	return err;
}

/* --from, --engine user */
static int open_recordings(struct session *s)
{
	int err = 0;

	if (s->r->from.count)
		err = recorded_source_open(&s->r->from, &s->diag, &s->recorded);
	else if (s->r->in_user_space)
		s->recorded = recorded_source_of_kernel(s->kernel);
	else
		return 0;
	if (!err)
		s->env.recorded = recorded_source_events(s->recorded);
	return err;
}

static int start_child(struct session *s)
{
	int err;

	if (!s->r->command && !s->r->words)
		return 0;
	err = s->r->words ? child_start_words(&s->child, s->r->words, &s->diag)
			  : child_start(&s->child, s->r->command, &s->diag);
	s->has_child = err == 0;
	s->env.child = s->has_child ? s->child.pid : 0;
	return err;
}

/* --no-feature a,b */
static int disable_features(struct session *s)
{
	char *words = s->r->no_feature ? arena_strdup(&s->arena, s->r->no_feature) : NULL, *save;
	size_t n;
	const char *const *names = kernel_feature_names(&n);

	for (char *w = words ? strtok_r(words, ",", &save) : NULL; w;
	     w = strtok_r(NULL, ",", &save)) {
		if (!kernel_disable(s->kernel, w))
			continue;
		diag_error(&s->diag, NO_SPAN, "--no-feature: there is no feature '%s'", w);
		diag_hint_nearest(&s->diag, w, names, n);
		return -EINVAL;
	}
	return 0;
}

/* --traceable-functions */
static int use_functions(struct session *s)
{
	return s->r->traceable ? probe_use_functions(&s->env, s->r->traceable) : 0;
}

static int check_process(struct session *s)
{
	const struct {
		pid_t pid;
		const char *option;
	} wanted[] = {
		{s->r->pid, "-p"}, {s->r->ends_with, "-p"}, {s->r->unwind_pid, "--dwarf-pid"}};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (!wanted[i].pid || process_exists(wanted[i].pid))
			continue;
		diag_error(&s->diag, NO_SPAN, "there is no process %d (%s)", wanted[i].pid,
			   wanted[i].option);
		return -ESRCH;
	}
	return 0;
}

/* --page, --serve: how much of what is printed is kept; 0 = it is written. */
static size_t held_most(const struct run_config *r)
{
	return r->page ? 50u << 20 : r->serve ? 1u << 20 : 0;
}

#define TITLE_MOST 120 /* bytes */

/* The script's file; of one without, how it begins. */
static const char *title_of(struct session *s)
{
	const struct run_config *const r = s->r;
	size_t n = MIN(r->len, (size_t)TITLE_MOST);

	if (!str_eq(r->name, "stdin"))
		return r->name;
	while (n && n < r->len && ((u8)r->text[n] & 0xc0) == 0x80) /* a letter stays whole */
		n--;
	return arena_printf(&s->arena, "%.*s%s", (int)n, r->text, n < r->len ? " ..." : "");
}

static int start_server(struct session *s)
{
	const int err =
		s->r->serve ? script_server_open(title_of(s), s->r->idle_ns, &s->server) : 0;

	if (err)
		diag_error(&s->diag, NO_SPAN, "--serve: cannot listen at 127.0.0.1: %s",
			   strerror(-err));
	return err;
}

static int open_output(struct session *s)
{
	const char *const path = s->r->page ?: s->r->output;
	int err = output_open(&s->out, path, s->r->buffering, s->r->is_json);

	s->has_output = err == 0;
	s->out.held_most = held_most(s->r);
	if (err < 0) {
		diag_error(&s->diag, NO_SPAN, "Failed to open output file: \"%s\": %s", path,
			   strerror(-err));
		if (err == -ELOOP)
			diag_hint(&s->diag, "it is a symbolic link; name the file itself");
	}
	return err;
}

/* Returns an exit code: 0 unless the page is not whole. */
static int finish_page(struct session *s)
{
	struct strbuf lines = STRBUF_INIT;

	script_page_lines(&s->out, &lines);
	strbuf_release(&s->out.text);
	s->out.text = (struct strbuf)STRBUF_INIT;
	if (s->r->page)
		script_page(title_of(s), &lines, &s->out.text);
	if (s->out.dropped)
		diag_warning(&s->diag, NO_SPAN,
			     "the page has the last %zu MB of what was printed: %" PRIu64
			     " lines before are not in it",
			     s->out.held_most >> 20, s->out.dropped);
	s->out.held_most = 0;
	output_flush(&s->out);
	if (s->server) {
		diag_tell(&s->diag);
		script_server_finish(s->server, &lines);
	}
	strbuf_release(&lines);
	return output_exit_code(&s->out, &s->diag) ?: s->out.dropped ? EXIT_LOST : EXIT_OK;
}

/* bpftrace leaves out how often: "interval:ms:", "hardware:cache-misses:". */
static void print_target(const struct probe_target *t, bool is_compatible)
{
	size_t len = strlen(t->name);

	while (is_compatible && t->provider->ends_in_count && len && t->name[len - 1] != ':')
		len--;
	printf("%.*s\n", (int)len, t->name);
}

static void list_targets(const struct script *script, bool is_compatible)
{
	for (size_t i = 0; i < script->programs.len; i++)
		for (u32 t = 0; t < script->programs.items[i].ntargets; t++)
			print_target(script->programs.items[i].targets[t], is_compatible);
}

/* What the chosen engine has to do with an error. */
static void hint_engine(struct session *s)
{
	const enum exit_code code = diag_exit_code(&s->diag);
	const char *const tracefs = kernel_tracefs(s->kernel);
	bool is_about_recording = false;

	for (size_t i = 0; i < s->diag.messages.len; i++)
		is_about_recording |= strstr(s->diag.messages.items[i].text, "recording") != NULL;
	if (is_about_recording && s->r->in_user_space && !s->r->from.count)
		diag_hint(&s->diag, "with --engine user, the recording is the kernel's trace "
				    "buffer");
	else if ((code == EXIT_PRIVILEGE || code == EXIT_UNSUPPORTED) && !s->recorded &&
		 !s->r->is_tool && !kernel_ask(s->kernel, KERNEL_BPF)->yes && tracefs &&
		 !access(tracefs, W_OK | X_OK))
		diag_hint(&s->diag, "--engine user runs a script on tracepoints, kprobes and "
				    "uprobes without bpf(2)");
}

static int run(struct session *s)
{
	struct run_config config = *s->r;

	if (s->server)
		config.guest = script_server_guest(s->server);
	return engine_run(&s->script, &s->env, &config, &s->out, s->has_child ? &s->child : NULL);
}

int run_script(const struct run_config *r)
{
	struct session s;
	int err, code = EXIT_OK;

	session_open(&s, r);
	err = disable_features(&s);
	if (!err)
		err = use_functions(&s);
	if (!err)
		err = check_process(&s);
	if (!err)
		err = start_child(&s);
	if (!err)
		err = open_recordings(&s);
	if (!err)
		err = compile(&s);
	if (!err && r->list_only)
		list_targets(&s.script, r->is_compatible);
	else if (!err && r->standalone)
		err = write_aot(&s);
	else if (!err && !r->dump_stage) {
		err = open_output(&s) ?: start_server(&s);
		diag_tell(&s.diag); /* warnings of the compiler */
		s.diag.no_warnings = r->no_warnings;
		if (!err)
			code = run(&s);
		if (!err && held_most(r))
			code = finish_page(&s) ?: code;
	}
	hint_engine(&s);
	diag_tell(&s.diag);
	if (err < 0) {
		code = (int)diag_exit_code(&s.diag);
		code = code ? code : EXIT_FAILED;
	}
	session_close(&s);
	return code;
}
