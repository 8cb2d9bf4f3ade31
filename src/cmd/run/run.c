/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace run`: its command line, and that of bpftrace. */
#include "cmd/run/run.h"
#include "cmd/run/aot.h"

#include <unistd.h>

#include "base/file.h"
#include "base/options.h"
#include "cmd/fmt.h"
#include "cmd/run/guest.h"
#include "cmd/list/list.h"
#include "kernel/sandbox/sandbox.h"
#include "lang/syntax/parse.h"
#include "trace/agent/reach.h"
#include "view/server/server.h"

struct run_options {
	struct run_config run;
	const char *program, *pid, *unwind_pid, *format, *buffering, *mode, *engine, *guest;
	struct string_list includes;
	bool test, bench, fmt, info, version, help;
};

#define O(field) offsetof(struct run_options, field)
static const struct option_spec run_table[] = {
	{0, NULL, NULL, "What to run", OPTION_HEADING, 0},
	{'e', NULL, "PROGRAM", "run this program", OPTION_STRING, O(program)},
	{'c', "cmd", "COMMAND", "run this command, trace until it ends", OPTION_STRING,
	 O(run.command)},
	{'p', "pid", "PID", "trace this process, until it ends", OPTION_STRING, O(pid)},
	{'l', "list", NULL, "list probes (of a pattern, or of the script)", OPTION_FLAG,
	 O(run.list_only)},
	{0, "from", "FILE",
	 "run over this recording (trace.dat, perf.data, a directory) instead of live; may be "
	 "repeated",
	 OPTION_LIST, O(run.from)},
	{0, "guest", "WHERE",
	 "run on another machine, by its `pantrace agent`: " AGENT_WAYS
	 "; with a script, its arguments and -f only",
	 OPTION_STRING, O(guest)},
	{0, "engine", "kernel|user",
	 "where programs run: in the kernel (the default), or in pantrace, over events of a trace "
	 "buffer, where bpf(2) is refused",
	 OPTION_STRING, O(engine)},
	{0, "unsafe", NULL, "allow system(), signal() and the like", OPTION_FLAG, O(run.unsafe)},
	{0, SANDBOX_OPTION_NAME, NULL, SANDBOX_OPTION_HELP, OPTION_FLAG, O(run.keep_privileges)},
	{'I', NULL, "DIR", "where #include looks", OPTION_LIST, O(run.input.include_dirs)},
	{0, "include", "FILE", "#include this file first", OPTION_LIST, O(includes)},
	{0, "aot", "FILE", "make a program of the script, to be run here or elsewhere, and end",
	 OPTION_STRING, O(run.standalone)},
	{0, "btf", "FILE", "BTF of the kernel (/dev/null: none)", OPTION_STRING, O(run.btf)},
	{0, NULL, NULL, "Output", OPTION_HEADING, 0},
	{'o', "output", "FILE", "write to a file", OPTION_STRING, O(run.output)},
	{0, "page", "FILE",
	 "instead, a page of HTML: maps as tables, histograms as bars and, of several prints or "
	 "keys, as a heat map, time series as lines, stacks as flame graphs",
	 OPTION_STRING, O(run.page)},
	{0, "serve", NULL,
	 "instead, the same page live, to a browser on this machine, or after `ssh -L "
	 "PORT:127.0.0.1:PORT HOST` on another; the address is printed",
	 OPTION_FLAG, O(run.serve)},
	{0, "idle", "SECONDS",
	 "with --serve: keep serving after the run, until no page has been open for this long "
	 "(default 300)",
	 OPTION_SECONDS, O(run.idle_ns)},
	{'f', "format", "text|json", "text or json", OPTION_STRING, O(format)},
	{'B', NULL, "line|full|none", "buffering: line, full or none", OPTION_STRING, O(buffering)},
	{'q', "quiet", NULL, "no messages but errors", OPTION_FLAG, O(run.quiet)},
	{'k', "warnings", NULL, "say when a helper function of the kernel fails", OPTION_FLAG,
	 O(run.report_helpers)},
	{0, "no-warnings", NULL, "no warnings", OPTION_FLAG, O(run.no_warnings)},
	{'v', "verbose", NULL, "more detail; with -l the arguments of probes", OPTION_COUNT,
	 O(run.verbose)},
	{0, NULL, NULL, "Looking inside", OPTION_HEADING, 0},
	{'d', "debug", "ast|types|ir|bpf|all",
	 "print a stage of the compiler and end: ast, types, ir, bpf, all", OPTION_STRING,
	 O(run.dump_stage)},
	{0, "test", NULL, "run the probes test:NAME", OPTION_FLAG, O(test)},
	{0, "bench", NULL, "measure the probes bench:NAME", OPTION_FLAG, O(bench)},
	{0, "mode", "test|bench|format", "test, bench or format, as --test, --bench and --fmt",
	 OPTION_STRING, O(mode)},
	{0, "dry-run", NULL,
	 "compile, load and ask for all that attaching needs, but attach nothing", OPTION_FLAG,
	 O(run.dry_run)},
	{0, "info", NULL, "what the kernel offers, as bpftrace reports it", OPTION_FLAG, O(info)},
	{'V', "version", NULL, "print the version", OPTION_FLAG, O(version)},
	{'h', "help", NULL, "this text", OPTION_FLAG, O(help)},
	{0, "usdt-file-activation", NULL, "accepted; semaphores are always activated by file",
	 OPTION_IGNORED, 0},
	{0, "verify-llvm-ir", NULL, "accepted; there is no LLVM", OPTION_IGNORED, 0},
	{0, "emit-llvm", NULL, "there is no LLVM; -d ir and -d bpf show what is made of a script",
	 OPTION_REFUSED, 0},
	{0, "emit-elf", NULL, "-d bpf shows the programs, --aot FILE makes a program of a script",
	 OPTION_REFUSED, 0},
	{0, "fmt", NULL, "print the script in the standard layout and end", OPTION_FLAG, O(fmt)},
	{0, "no-feature", "LIST", "pretend that the kernel lacks these: kprobe_multi,bpf_loop,...",
	 OPTION_STRING, O(run.no_feature)},
	{0, "probe-filter", "REGEX", "use only the probes whose names match (begin and end always)",
	 OPTION_STRING, O(run.probe_filter)},
	{0, "inlines", NULL, "user stacks with the functions that were inlined (needs debug info)",
	 OPTION_FLAG, O(run.inlines)},
	{0, "dwarf-pid", "PID", "the process whose stacks dw_ustack unwinds, without -p or -c",
	 OPTION_STRING, O(unwind_pid)},
	{0, "debuginfo", "DIR", "look for separate debug files there, too (may be repeated)",
	 OPTION_LIST, O(run.debug_dirs)},
	{0, "traceable-functions", "FILE",
	 "names of the functions that kprobes may be put on, instead of the kernel's list",
	 OPTION_STRING, O(run.traceable)},
	{0},
};

static const struct command_spec run_spec = {
	.name = "run",
	.synopsis = "[options] -e PROGRAM | FILE | -  [ARGUMENTS] [-- --name=value ...]",
	.summary = "Compiles a script (the language of bpftrace) to BPF and runs it.",
	.examples = "  pantrace -e 'tracepoint:syscalls:sys_enter_openat { printf(\"%s %s\\n\", "
		    "comm, str(args.filename)) }'\n"
		    "  pantrace -e 'profile:hz:99 { @[ustack] = count() }' -c ./program\n"
		    "  pantrace script.bt 100\n"
		    "  pantrace --from trace.dat script.bt\n"
		    "  pantrace run --guest db script.bt   # in a guest\n",
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

/* What has no meaning over a recording. */
static int check_from(const struct run_options *o)
{
	const struct run_config *r = &o->run;
	const struct {
		const char *option;
		bool is_given;
	} live[] = {{"-c", r->command != NULL},
		    {"-p", o->pid != NULL},
		    {"--aot", r->standalone != NULL},
		    {"--dwarf-pid", o->unwind_pid != NULL},
		    {"--test", o->test},
		    {"--bench", o->bench},
		    {"--mode", o->mode != NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(live) && r->from.count; i++)
		if (live[i].is_given) {
			fprintf(stderr,
				"ERROR: --from runs over a recording; %s is for live runs\n",
				live[i].option);
			return -EINVAL;
		}
	return 0;
}

/* Options that are short for others. */
static int read_words(struct run_options *o)
{
	static const char *const formats[] = {"text", "json", NULL};
	static const char *const bufferings[] = {"line", "full", "none", NULL};
	static const char *const stages[] = {"ast", "types", "ir", "bpf", "all", NULL};
	static const char *const modes[] = {"", "test", "bench", "format", NULL};
	static const char *const engines[] = {"kernel", "user", NULL};
	struct run_config *r = &o->run;
	u32 format = 0, buffering = 0, stage = 0, engine = 0,
	    mode = o->bench ? TEST_MODE_BENCH : o->test;

	if (o->test + o->bench + o->fmt + (o->mode != NULL) > 1) {
		fprintf(stderr, "ERROR: USAGE: --%s conflicts with existing --mode\n",
			o->fmt	   ? "fmt"
			: o->bench ? "bench"
				   : "test");
		return -EINVAL;
	}

	/* -d and -dd without a stage once meant the whole dump. */
	if (r->dump_stage && str_eq(r->dump_stage, "d"))
		r->dump_stage = "all";
	if (r->dump_stage && *r->dump_stage == '-') {
		fprintf(stderr, "ERROR: -d takes a stage; -d all shows every one\n");
		return -EINVAL;
	}
	if (r->command && o->pid) {
		fprintf(stderr, "ERROR: Cannot use both -c and -p.\n");
		return -EINVAL;
	}
	if (check_from(o) < 0)
		return -EINVAL;
	if ((o->format && parse_word(o->format, formats, "output format", &format)) ||
	    (o->buffering && parse_word(o->buffering, bufferings, "buffering mode", &buffering)) ||
	    (o->engine && parse_word(o->engine, engines, "engine", &engine)) ||
	    (o->mode && parse_word(o->mode, modes, "mode", &mode)) ||
	    (r->dump_stage && parse_word(r->dump_stage, stages, "stage", &stage)) ||
	    (o->pid && parse_pid(o->pid, &r->pid)) ||
	    (o->unwind_pid && parse_pid(o->unwind_pid, &r->unwind_pid)))
		return -EINVAL;
	if ((r->page || r->serve) && (r->output || o->format)) {
		fprintf(stderr, "ERROR: --%s is instead of -%s; choose one\n",
			r->page ? "page" : "serve", r->output ? "o" : "f");
		return -EINVAL;
	}
	r->is_json = format == 1 || r->page || r->serve;
	r->idle_ns = r->idle_ns ?: SERVER_IDLE_NS;
	r->in_user_space = engine == 1;
	r->test_mode = (enum test_mode)mode;
	r->buffering = (enum output_buffering)buffering;
	return 0;
}

/* The script's text, malloc'ed, with the --include files before it. */
static int read_script(struct run_options *o, const char *file, char **ret_text)
{
	struct run_config *r = &o->run;
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

/* What is this machine's, or lets the script do more than look. */
static int check_guest(const struct run_options *o)
{
	const struct run_config *r = &o->run;
	const struct {
		bool is_given;
		const char *option;
	} rows[] = {
		{r->command, "-c"},
		{o->pid, "-p"},
		{r->unsafe, "--unsafe"},
		{r->output, "-o"},
		{r->page, "--page"},
		{r->serve, "--serve"},
		{r->from.count, "--from"},
		{r->standalone, "--aot"},
		{r->list_only, "-l"},
		{o->includes.count, "--include"},
		{r->input.include_dirs.count, "-I"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].is_given)
			return options_usage_error(&run_spec, "a script in a guest: without %s",
						   rows[i].option);
	return OPTIONS_GO_ON;
}

/* -l without a script. */
static int list_pattern(const struct run_config *r, const char *pattern)
{
	const bool is_readable = !r->traceable || !access(r->traceable, R_OK);
	int code;

	if (pattern && strlen(pattern) > 3 && str_eq(pattern + strlen(pattern) - 3, ".bt"))
		fprintf(stderr,
			"WARNING: It appears that '%s' is a filename but the file does not exist. "
			"Treating '%s' as a search pattern.\n",
			pattern, pattern);
	code = list_probes(r, r->is_compatible, pattern);
	/* There it is no failure if nothing is found. */
	return r->is_compatible && is_readable && code == EXIT_FAILED ? EXIT_OK : code;
}

/* -c as bpftrace parses it: words between blanks, quotes are part of them. Modifies text. */
static char **split_command(char *text)
{
	char **words = xreallocarray(NULL, strlen(text) / 2 + 2, sizeof(*words)), *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	words[n] = NULL;
	return words;
}

/* The arguments after the script: `--name=value` (which can only come after `--`) and the rest. */
static void split_arguments(char **words, int n, struct run_config *r)
{
	const char **sorted = xreallocarray(NULL, (size_t)n + 1, sizeof(*sorted));
	u32 npositional = 0, nnamed = 0;

	for (int i = 0; i < n; i++)
		if (!str_starts(words[i], "--"))
			sorted[npositional++] = words[i];
	for (int i = 0; i < n; i++)
		if (str_starts(words[i], "--"))
			sorted[npositional + nnamed++] = words[i];
	r->input.positional = sorted;
	r->input.npositional = npositional;
	r->input.named = sorted + npositional;
	r->input.nnamed = nnamed;
}

static void print_version(bool is_compatible)
{
	/* Programs ask for a version of bpftrace: it is that of the language we follow. */
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
	free(o->run.input.include_dirs.items);
	free(o->run.debug_dirs.items);
	free(o->run.from.items);
	free(o->includes.items);
}

/* packed: the script was appended to this program, given as words of argv; NULL = it was not. */
static int run_command(int argc, char **argv, bool is_compatible, const struct aot *packed)
{
	struct run_options o = {.run = {.is_compatible = is_compatible,
					.input = {.files = packed ? packed->files : NULL,
						  .nfiles = packed ? packed->nfiles : 0}}};
	struct run_config *r = &o.run;
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
	else if (!r->list_only && !o.program && first >= argc)
		rc = options_usage_error(
			&run_spec,
			"a script is needed: -e PROGRAM, a file, or - for standard input");
	else if (read_words(&o) < 0)
		rc = EXIT_FAILED;
	else if (o.guest && (rc = check_guest(&o)) != OPTIONS_GO_ON)
		;
	else if (r->list_only && !o.program && (first >= argc || access(argv[first], R_OK) < 0))
		rc = list_pattern(r, first < argc ? argv[first] : NULL);
	else if (o.fmt || (o.mode && str_eq(o.mode, "format")))
		rc = fmt_compatible(o.program, o.program ? NULL : argv[first], r->output);
	else if (read_script(&o, argv[first], &text) < 0)
		rc = EXIT_FAILED;
	else if (o.guest) {
		first += !o.program;
		rc = run_in_guest(o.guest, o.format ?: "text", text, argv + first, argc - first);
	} else {
		if (!o.program)
			first++;
		split_arguments(argv + first, argc - first, r);
		if (is_compatible && r->command && *r->command) {
			command = xstrdup(r->command);
			words = split_command(command);
			r->words = words[0] ? words : NULL;
		}
		rc = run_script(r);
		free((void *)(uintptr_t)r->input.positional);
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

int cmd_run_aot(const struct aot *s, int argc, char **argv)
{
	char **words =
		xreallocarray(NULL, (size_t)argc + 4 + 2 * (size_t)s->nfiles, sizeof(*words));
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
