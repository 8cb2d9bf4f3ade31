/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/run.h"
#include "cmd/standalone.h"

#include <signal.h>
#include <unistd.h>

#include "base/file.h"
#include "base/options.h"
#include "cmd/list.h"
#include "engine/engine.h"
#include "kernel/kernel.h"
#include "lang/process_image.h"
#include "lang/parse.h"

/* ---- running a script ---- */

/* Everything that one run needs, torn down in one place. */
struct session {
	const struct run_request *r;
	struct arena arena;
	struct diag diag;
	struct type_store types;
	struct kernel *kernel;
	struct btf_source *btf;
	struct probe_env env;
	struct script script;
	struct child child;
	struct output out;
	bool has_child, has_output;
	bool dumped;
};

static bool is_colourful(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !getenv("NO_COLOR") && term && !str_eq(term, "dumb");
}

static int advance_child(void *arg)
{
	struct session *s = arg;

	return s->has_child ? child_advance(&s->child, &s->diag) : 0;
}

static void session_open(struct session *s, const struct run_request *r)
{
	const char *btf = r->btf ? r->btf : getenv("BPFTRACE_BTF");

	*s = (struct session){.r = r, .diag = DIAG_INIT};
	/* A tool's script is ours: what the compiler warns of in it is no news for its user. */
	s->diag.no_warnings = r->no_warnings || r->is_tool;
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
		.debug_path = list_join_paths(&s->arena, r->debug_dirs, r->ndebug_dirs),
		.prepare_process = advance_child,
		.prepare_arg = s,
	};
}

static void script_release(struct script *s)
{
	vector_free(&s->maps);
	vector_free(&s->actions);
	vector_free(&s->programs);
	vector_free(&s->probe_names);
	vector_free(&s->strings);
}

static void session_close(struct session *s)
{
	if (s->has_child)
		child_stop(&s->child);
	if (s->has_output)
		output_close(&s->out);
	script_release(&s->script);
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

static int compile(struct session *s)
{
	const struct run_request *r = s->r;
	struct compile_options options = {
		.positional = r->positional,
		.npositional = r->npositional,
		.named = r->named,
		.nnamed = r->nnamed,
		.include_dirs = r->include_dirs,
		.ninclude_dirs = r->ninclude_dirs,
		.files = r->files,
		.nfiles = r->nfiles,
		.pid = s->has_child ? s->child.pid : r->pid,
		.has_child = s->has_child,
		.has_unwind_target = s->has_child || r->pid || r->unwind_pid,
		.unsafe = r->unsafe,
		.show_debug_info = r->is_compatible,
		.report_helpers = r->report_helpers,
		.features = *kernel_features(s->kernel),
		.env = &s->env,
		.setting = settings_apply,
		.setting_arg = &s->diag,
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
	options.in_process = !r->list_only;
	err = script_compile(&s->arena, file, &options, &s->script);
	if (!err && !process_images_good(&s->script)) {
		/* all in the kernel, then; warnings are the same again */
		vector_free(&s->diag.messages);
		script_release(&s->script);
		options.in_process = false;
		err = script_compile(&s->arena, file, &options, &s->script);
	}
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

/* The name of a file as seen from the script, which has no place of its own any more when it is part of a program. */
static const char *from_script(const struct session *s, const char *name)
{
	const char *slash = strrchr(s->r->name, '/');
	const size_t n = slash ? (size_t)(slash - s->r->name) + 1 : 0;

	return n && !strncmp(name, s->r->name, n) ? name + n : name;
}

/* --aot */
static int write_standalone(struct session *s)
{
	VECTOR(struct script_file) files = {0};
	struct standalone program = {.text = (char *)(uintptr_t)s->r->text,
				     .is_compatible = s->r->is_compatible,
				     .unsafe = s->r->unsafe};
	int err;

	for (size_t i = 0; i < s->diag.sources.len; i++) {
		const struct source *source = &s->diag.sources.items[i];
		const struct script_file f = {.name = from_script(s, source->name), .text = source->text};

		if (!str_eq(source->name, s->r->name) && !source->is_expansion)
			vector_push(&files, f);
	}
	for (u32 i = 0; i < s->r->ninclude_dirs; i++) {
		const struct script_file f = {.name = STANDALONE_INCLUDE, .text = from_script(s, s->r->include_dirs[i])};

		vector_push(&files, f);
	}
	program.files = files.items;
	program.nfiles = (u32)files.len;
	err = standalone_write(&s->diag, s->r->standalone, &program);
	vector_free(&files);
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
	const int err = s->r->traceable ? kernel_set_traceable(s->kernel, s->r->traceable) : 0;

	if (err)
		diag_error(&s->diag, NO_SPAN, "Could not read functions from %s: %s",
			   s->r->traceable, strerror(-err));
	return err;
}

static int check_process(struct session *s)
{
	if (!s->r->pid || kill(s->r->pid, 0) == 0 || errno == EPERM)
		return 0;
	diag_error(&s->diag, NO_SPAN, "there is no process %d (-p)", s->r->pid);
	return -ESRCH;
}

static int open_output(struct session *s)
{
	int err = output_open(&s->out, s->r->output, s->r->buffering, s->r->is_json);

	s->has_output = err == 0;
	if (err < 0) {
		diag_error(&s->diag, NO_SPAN, "Failed to open output file: \"%s\": %s",
			   s->r->output, strerror(-err));
		if (err == -ELOOP)
			diag_hint(&s->diag, "it is a symbolic link; name the file itself");
	}
	return err;
}

/* bpftrace leaves out how often: "interval:ms:", "hardware:cache-misses:". */
static void print_target(const struct probe_target *t, bool is_compatible)
{
	static const char *const counted[] = {"interval", "profile", "software", "hardware"};
	size_t len = strlen(t->name);

	for (size_t i = 0; is_compatible && i < ARRAY_SIZE(counted); i++)
		if (str_eq(t->provider->name, counted[i]))
			while (len && t->name[len - 1] != ':')
				len--;
	printf("%.*s\n", (int)len, t->name);
}

static void list_targets(const struct script *script, bool is_compatible)
{
	for (size_t i = 0; i < script->programs.len; i++)
		for (u32 t = 0; t < script->programs.items[i].ntargets; t++)
			print_target(script->programs.items[i].targets[t], is_compatible);
}

static int execute(struct session *s)
{
	const struct run_request *r = s->r;
	struct engine_options options = {
		.out = &s->out,
		.pid = r->pid,
		.unwind_pid = r->unwind_pid,
		.child = s->has_child ? &s->child : NULL,
		.is_compatible = r->is_compatible,
		.quiet = r->quiet,
		.verbose = r->verbose,
		.no_warnings = r->no_warnings,
		.unsafe = r->unsafe,
		.dry_run = r->dry_run,
		.inlines = r->inlines,
		.is_tool = r->is_tool,
		.trial = r->trial,
		.colour = is_colourful(),
		.duration_ns = r->duration_ns,
		.rows = r->rows,
		.reporter = r->reporter,
	};

	diag_print(&s->diag, stderr, options.colour); /* warnings of the compiler */
	s->diag.no_warnings = r->no_warnings;
	return engine_run(&s->script, &s->env, &options);
}

int run_script(const struct run_request *r)
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
		err = compile(&s);
	if (!err && r->list_only)
		list_targets(&s.script, r->is_compatible);
	else if (!err && r->standalone)
		err = write_standalone(&s);
	else if (!err && !r->dump_stage) {
		err = open_output(&s);
		if (!err)
			code = execute(&s);
	}
	diag_print(&s.diag, stderr, is_colourful());
	if (err < 0) {
		code = (int)diag_exit_code(&s.diag);
		code = code ? code : EXIT_FAILED;
	}
	session_close(&s);
	return code;
}

/* ---- the command line ---- */

struct run_options {
	const char *program, *command, *pid, *unwind_pid, *output, *format, *buffering, *stage,
		*no_feature, *probe_filter, *traceable, *btf, *mode, *standalone;
	struct string_list include_dirs, includes, debug_dirs;
	int verbose, dump;
	bool test, bench;
	bool list, inlines, quiet, unsafe, info, dry_run, no_warnings, warnings, version, help;
};

#define O(field) offsetof(struct run_options, field)
static const struct option_spec run_table[] = {
	{0, NULL, NULL, "What to run", OPTION_HEADING, 0},
	{'e', NULL, "PROGRAM", "run this program", OPTION_STRING, O(program)},
	{'c', "cmd", "COMMAND", "run this command, trace until it ends", OPTION_STRING, O(command)},
	{'p', "pid", "PID", "trace this process, until it ends", OPTION_STRING, O(pid)},
	{'l', "list", NULL, "list probes (of a pattern, or of the script)", OPTION_FLAG, O(list)},
	{0, "unsafe", NULL, "allow system(), signal() and the like", OPTION_FLAG, O(unsafe)},
	{'I', NULL, "DIR", "where #include looks", OPTION_LIST, O(include_dirs)},
	{0, "include", "FILE", "#include this file first", OPTION_LIST, O(includes)},
	{0, "aot", "FILE", "make a program of the script, to be run here or elsewhere, and end",
	 OPTION_STRING, O(standalone)},
	{0, "btf", "FILE", "BTF of the kernel (/dev/null: do without)", OPTION_STRING, O(btf)},
	{0, NULL, NULL, "Output", OPTION_HEADING, 0},
	{'o', "output", "FILE", "write to a file", OPTION_STRING, O(output)},
	{'f', "format", "FORMAT", "text or json", OPTION_STRING, O(format)},
	{'B', NULL, "MODE", "buffering: line, full or none", OPTION_STRING, O(buffering)},
	{'q', "quiet", NULL, "no messages but errors", OPTION_FLAG, O(quiet)},
	{'k', "warnings", NULL, "say when a helper function of the kernel fails", OPTION_FLAG,
	 O(warnings)},
	{0, "no-warnings", NULL, "no warnings", OPTION_FLAG, O(no_warnings)},
	{'v', "verbose", NULL, "more detail; with -l the arguments of probes", OPTION_COUNT,
	 O(verbose)},
	{0, NULL, NULL, "Looking inside", OPTION_HEADING, 0},
	{'d', "debug", "STAGE", "print a stage of the compiler and end: ast, types, ir, bpf, all",
	 OPTION_STRING, O(stage)},
	{0, "test", NULL, "run the probes test:NAME", OPTION_FLAG, O(test)},
	{0, "bench", NULL, "measure the probes bench:NAME", OPTION_FLAG, O(bench)},
	{0, "mode", "MODE", "test or bench, as --test and --bench", OPTION_STRING, O(mode)},
	{0, "dry-run", NULL, "compile and load, but attach nothing", OPTION_FLAG, O(dry_run)},
	{0, "info", NULL, "what the kernel offers, as bpftrace reports it", OPTION_FLAG, O(info)},
	{'V', "version", NULL, "print the version", OPTION_FLAG, O(version)},
	{'h', "help", NULL, "this text", OPTION_FLAG, O(help)},
	{0, "usdt-file-activation", NULL, "accepted; semaphores are always activated by file",
	 OPTION_IGNORED, 0},
	{0, "verify-llvm-ir", NULL, "accepted; there is no LLVM", OPTION_IGNORED, 0},
	{0, "emit-llvm", NULL, "there is no LLVM; -d ir and -d bpf show what is made of a script", OPTION_REFUSED, 0},
	{0, "emit-elf", NULL, "-d bpf shows the programs, --aot FILE makes a program of a script", OPTION_REFUSED, 0},
	{0, "fmt", NULL, "scripts are not laid out anew", OPTION_REFUSED, 0},
	{0, "no-feature", "LIST",
	 "pretend that the kernel lacks these: kprobe_multi,ring_buffer,...", OPTION_STRING,
	 O(no_feature)},
	{0, "probe-filter", "REGEX", "use only the probes whose names match (begin and end always)",
	 OPTION_STRING, O(probe_filter)},
	{0, "inlines", NULL, "user stacks with the functions that were inlined (needs debug info)",
	 OPTION_FLAG, O(inlines)},
	{0, "dwarf-pid", "PID", "the process whose stacks dw_ustack unwinds, without -p or -c",
	 OPTION_STRING, O(unwind_pid)},
	{0, "debuginfo", "DIR", "look for separate debug files there, too (may be repeated)",
	 OPTION_LIST, O(debug_dirs)},
	{0, "traceable-functions", "FILE",
	 "names of the functions that kprobes may be put on, instead of the kernel's list",
	 OPTION_STRING, O(traceable)},
	{0},
};

static const struct command_spec run_spec = {
	.name = "run",
	.synopsis = "[options] -e PROGRAM | FILE | -  [ARGUMENTS] [-- --name=value ...]",
	.summary = "Compiles a script (the language of bpftrace) to BPF and runs it.",
	.examples = "  pantrace -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", "
		    "comm, str(args.filename)) }'\n"
		    "  pantrace -e 'profile:hz:99 { @[ustack] = count() }' -c ./program\n"
		    "  pantrace script.bt 100\n",
	.options = run_table,
};

static int parse_pid(const char *s, pid_t *ret)
{
	char *end;
	long v;

	if (s[0] < '0' || s[0] > '9') {
		fprintf(stderr, "ERROR: Failed to parse pid: invalid integer: %s\n", s);
		return -EINVAL;
	}
	errno = 0;
	v = strtol(s, &end, 10);
	if (*end) {
		fprintf(stderr, "ERROR: Failed to parse pid: invalid trailing bytes: %s\n", s);
		return -EINVAL;
	}
	if (errno || v < 1 || v > 0x400000) { /* PID_MAX_LIMIT */
		fprintf(stderr, "ERROR: Pid out of range: %s\n", s);
		return -EINVAL;
	}
	*ret = (pid_t)v;
	return 0;
}

/* Words like "text" and "json" -> their number. */
static int parse_word(const char *value, const char *const *words, const char *what, u32 *ret)
{
	for (u32 i = 0; words[i]; i++) {
		if (str_eq(words[i], value)) {
			*ret = i;
			return 0;
		}
	}
	fprintf(stderr, "ERROR: Invalid %s \"%s\"\nValid values:", what, value);
	for (u32 i = 0; words[i]; i++)
		fprintf(stderr, "%s '%s'", i ? "," : "", words[i]);
	fputc('\n', stderr);
	return -EINVAL;
}

static int fill_request(const struct run_options *o, struct run_request *r)
{
	static const char *const formats[] = {"text", "json", NULL};
	static const char *const bufferings[] = {"line", "full", "none", NULL};
	static const char *const stages[] = {"ast", "types", "ir", "bpf", "all", NULL};
	static const char *const modes[] = {"", "test", "bench", NULL};
	const char *stage_name = o->stage;
	u32 format = 0, buffering = 0, stage = 0, mode = o->bench ? TRIAL_BENCH : o->test;

	if (o->test + o->bench + (o->mode != NULL) > 1) {
		fprintf(stderr, "ERROR: USAGE: --%s conflicts with existing --mode\n",
			o->bench ? "bench" : "test");
		return -EINVAL;
	}

	/* -d and -dd without a stage were the whole dump once. */
	if (stage_name && str_eq(stage_name, "d"))
		stage_name = "all";
	if (stage_name && *stage_name == '-') {
		fprintf(stderr, "ERROR: -d takes a stage; -d all shows every one\n");
		return -EINVAL;
	}
	if (o->command && o->pid) {
		fprintf(stderr, "ERROR: Cannot use both -c and -p.\n");
		return -EINVAL;
	}
	if ((o->format && parse_word(o->format, formats, "output format", &format)) ||
	    (o->buffering && parse_word(o->buffering, bufferings, "buffering mode", &buffering)) ||
	    (o->mode && parse_word(o->mode, modes, "mode", &mode)) ||
	    (stage_name && parse_word(stage_name, stages, "stage", &stage)) ||
	    (o->pid && parse_pid(o->pid, &r->pid)) ||
	    (o->unwind_pid && parse_pid(o->unwind_pid, &r->unwind_pid)))
		return -EINVAL;
	r->is_json = format == 1;
	r->trial = (enum trial_mode)mode;
	r->buffering = (enum output_buffering)buffering;
	r->dump_stage = stage_name;
	r->standalone = o->standalone;
	r->command = o->command;
	r->output = o->output;
	r->btf = o->btf;
	r->no_feature = o->no_feature;
	r->probe_filter = o->probe_filter;
	r->traceable = o->traceable;
	r->quiet = o->quiet;
	r->verbose = o->verbose > 0;
	r->unsafe = o->unsafe;
	r->dry_run = o->dry_run;
	r->inlines = o->inlines;
	r->no_warnings = o->no_warnings;
	r->report_helpers = o->warnings;
	r->list_only = o->list;
	r->include_dirs = o->include_dirs.items;
	r->ninclude_dirs = o->include_dirs.count;
	r->debug_dirs = o->debug_dirs.items;
	r->ndebug_dirs = o->debug_dirs.count;
	return 0;
}

/* The script's text, malloc'ed, with the --include files before it. */
static int read_script(const struct run_options *o, const char *file, struct run_request *r,
		       char **ret_text)
{
	struct strbuf text = STRBUF_INIT;
	char *data = NULL;
	size_t len = 0;
	int err = 0;

	r->name = o->program || str_eq(file, "-") ? "stdin" : file;
	if (!o->program)
		err = str_eq(file, "-") ? file_read_fd(STDIN_FILENO, LANG_MAX_SOURCE, &data, &len)
					: file_read(file, LANG_MAX_SOURCE, &data, &len);
	if (err == -EFBIG) {
		fprintf(stderr, "ERROR: the script %s is too large: it has more than %u bytes\n",
			r->name, LANG_MAX_SOURCE);
		return err;
	}
	if (err < 0) {
		fprintf(stderr, "ERROR: failed to open file '%s': %s\n", file, strerror(-err));
		return err;
	}
	for (u32 i = 0; i < o->includes.count; i++)
		strbuf_addf(&text, "#include \"%s\"\n", o->includes.items[i]);
	if (o->program)
		strbuf_addstr(&text, o->program);
	else
		strbuf_add(&text, data, len);
	free(data);
	r->len = text.len;
	*ret_text = text.cap ? strbuf_detach(&text) : xstrdup("");
	r->text = *ret_text;
	return 0;
}

/* -l without a script. */
static int list_pattern(const struct run_options *o, const char *pattern, bool is_compatible)
{
	char **words = xreallocarray(NULL, o->debug_dirs.count + 8, 2 * sizeof(*words));
	int n = 0, code;

	words[n++] = "list";

	if (pattern && strlen(pattern) > 3 && str_eq(pattern + strlen(pattern) - 3, ".bt"))
		fprintf(stderr,
			"WARNING: It appears that '%s' is a filename but the file does not exist. "
			"Treating '%s' as a search pattern.\n",
			pattern, pattern);
	if (is_compatible)
		words[n++] = "--all";
	if (o->verbose)
		words[n++] = "-v";
	if (o->pid) {
		words[n++] = "-p";
		words[n++] = (char *)(uintptr_t)o->pid;
	}
	for (u32 i = 0; i < o->debug_dirs.count; i++) {
		words[n++] = "--debuginfo";
		words[n++] = (char *)(uintptr_t)o->debug_dirs.items[i];
	}
	if (pattern)
		words[n++] = (char *)(uintptr_t)pattern;
	words[n] = NULL;
	code = cmd_list(n, words);
	free(words);
	return is_compatible && code == EXIT_FAILED ? EXIT_OK
						    : code; /* nothing found is no failure there */
}

/* -c as bpftrace reads it: words between blanks, quotes are part of them. text is cut up. */
static char **split_command(char *text)
{
	char **words = xreallocarray(NULL, strlen(text) / 2 + 2, sizeof(*words)), *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	words[n] = NULL;
	return words;
}

/* What follows the script: `--name=value` (which can only stand behind `--`) and the rest. */
static void split_arguments(char **words, int n, struct run_request *r)
{
	const char **sorted = xreallocarray(NULL, (size_t)n + 1, sizeof(*sorted));
	u32 npositional = 0, nnamed = 0;

	for (int i = 0; i < n; i++)
		if (!str_starts(words[i], "--"))
			sorted[npositional++] = words[i];
	for (int i = 0; i < n; i++)
		if (str_starts(words[i], "--"))
			sorted[npositional + nnamed++] = words[i];
	r->positional = sorted;
	r->npositional = npositional;
	r->named = sorted + npositional;
	r->nnamed = nnamed;
}

static void print_version(bool is_compatible)
{
	/* Programs look for a version of bpftrace: that of the language we follow. */
	if (is_compatible)
		printf("bpftrace v0.26.0 (pantrace %s)\n", PANTRACE_VERSION);
	else
		printf("pantrace %s\n", PANTRACE_VERSION);
}

static void print_help(bool is_compatible, FILE *out)
{
	if (is_compatible)
		fputs("USAGE:\n    bpftrace [options] filename\n    bpftrace [options] - <stdin "
		      "input>\n"
		      "    bpftrace [options] -e 'program'\n\n",
		      out);
	options_help(&run_spec, out);
}

static void free_options(struct run_options *o)
{
	free(o->include_dirs.items);
	free(o->debug_dirs.items);
	free(o->includes.items);
}

/* packed: the script came with this program, as words of argv; NULL = it did not. */
static int run_command(int argc, char **argv, bool is_compatible, const struct standalone *packed)
{
	struct run_request r = {.is_compatible = is_compatible,
				.files = packed ? packed->files : NULL,
				.nfiles = packed ? packed->nfiles : 0};
	struct run_options o = {0};
	int first = argc, rc = options_parse(&run_spec, argc, argv, &o, &first);
	char *text = NULL, *command = NULL, **words = NULL;

	if (rc == EXIT_USAGE && is_compatible)
		print_help(true, stderr);
	if (rc != OPTIONS_GO_ON)
		goto out;
	rc = EXIT_OK;
	if (o.help)
		print_help(is_compatible, stdout);
	else if (o.version)
		print_version(is_compatible);
	else if (o.info)
		rc = cmd_info(1, argv);
	else if (o.list && !o.program && (first >= argc || access(argv[first], R_OK) < 0))
		rc = list_pattern(&o, first < argc ? argv[first] : NULL, is_compatible);
	else if (!o.program && first >= argc)
		rc = options_usage_error(
			&run_spec,
			"a script is needed: -e PROGRAM, a file, or - for standard input");
	else if (fill_request(&o, &r) < 0)
		rc = EXIT_FAILED;
	else if (read_script(&o, argv[first], &r, &text) < 0)
		rc = EXIT_FAILED;
	else {
		if (!o.program)
			first++;
		split_arguments(argv + first, argc - first, &r);
		if (is_compatible && o.command && *o.command) {
			command = xstrdup(o.command);
			words = split_command(command);
			r.words = words[0] ? words : NULL;
		}
		rc = run_script(&r);
		free((void *)(uintptr_t)r.positional);
	}
out:
	free(text);
	free(words);
	free(command);
	free_options(&o);
	return rc;
}

int cmd_run(int argc, char **argv)
{
	return run_command(argc, argv, false, NULL);
}

int cmd_run_compatible(int argc, char **argv)
{
	return run_command(argc, argv, true, NULL);
}

int cmd_run_standalone(const struct standalone *s, int argc, char **argv)
{
	char **words = xreallocarray(NULL, (size_t)argc + 4 + 2 * (size_t)s->nfiles, sizeof(*words));
	int n = 0, rc;

	words[n++] = argv[0];
	for (u32 i = 0; i < s->nfiles; i++) {
		if (!str_eq(s->files[i].name, STANDALONE_INCLUDE))
			continue;
		words[n++] = (char *)(uintptr_t)s->files[i].name;
		words[n++] = (char *)(uintptr_t)s->files[i].text;
	}
	if (s->unsafe)
		words[n++] = (char *)(uintptr_t) "--unsafe";
	words[n++] = (char *)(uintptr_t) "-e";
	words[n++] = s->text;
	for (int i = 1; i < argc; i++)
		words[n++] = argv[i];
	words[n] = NULL;
	rc = run_command(n, words, s->is_compatible, s);
	free(words);
	return rc;
}
