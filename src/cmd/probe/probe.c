/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/probe/commands.h"

#include <signal.h>

#include "probe/kernel_debug.h"

#define TEXT(field) OPTION_STRING, offsetof(struct probe_options, field)
#define FLAG(field) OPTION_FLAG, offsetof(struct probe_options, field)
#define LIST(field) OPTION_LIST, offsetof(struct probe_options, field)

static const struct option_spec options[] = {
	{0, NULL, NULL, "what to do", OPTION_HEADING, 0},
	{'a', "add", "DEFINITION", "add a probe; also without the option", LIST(add)},
	{'D', "definition", "DEFINITION", "only print the definition for the kernel",
	 LIST(definition)},
	{'d', "del", "[GROUP:]EVENT", "remove probes; takes wildcards", LIST(del)},
	{'l', "list", "[GROUP:]EVENT", "list all probes, or these", OPTION_OPTIONAL,
	 offsetof(struct probe_options, list)},
	{'L', "line", "FUNCTION|SOURCE[:LINE[-LINE]]",
	 "show the source, with numbers at lines that can be probed (-v: and addresses)",
	 TEXT(lines)},
	{'V', "vars", "POINT",
	 "list the variables that can be read there (-v: types, locations, reasons why not)",
	 TEXT(variables)},
	{'F', "funcs", "FILTER", "list functions that can be probed", OPTION_OPTIONAL,
	 offsetof(struct probe_options, functions)},
	{0, NULL, NULL, "where", OPTION_HEADING, 0},
	{'x', "exec", "FILE", "a program or library", TEXT(exec)},
	{'m', "module", "MODULE", "a module of the kernel", TEXT(module)},
	{'k', "vmlinux", "FILE", "the kernel's file with debug information", TEXT(vmlinux)},
	{'s', "source", "DIRECTORY", "where the source is", TEXT(source)},
	{0, "symfs", "DIRECTORY", "look for all files below this directory", TEXT(symfs)},
	{0, "target-ns", "PID", "look up FILE in the mount namespace of this process", OPTION_PID,
	 offsetof(struct probe_options, target_ns)},
	{0, NULL, NULL, "how", OPTION_HEADING, 0},
	{'n', "dry-run", NULL, "change nothing", FLAG(dry_run)},
	{'f', "force", NULL, "if the event's name is taken, add _1, _2 ... to it", FLAG(force)},
	{0, "max-probes", "NUMBER", "places of one definition (128)", OPTION_POSITIVE,
	 offsetof(struct probe_options, max_probes)},
	{0, "no-inlines", NULL, "leave out inlined copies of functions", FLAG(no_inlines)},
	{0, "externs", NULL, "-V: also static and global variables; $vars: of all source files",
	 FLAG(externs)},
	{0, "range", NULL,
	 "-V: the code ranges where each has a value; also those without one here", FLAG(range)},
	{0, "filter", "FILTER",
	 "-F, -V: only these names, as in '!_* & (vfs_* | *read)' (default: '!_*' and "
	 "'!__k???tab_* & !__crc_*')",
	 TEXT(filter)},
	{0, "demangle", NULL, "-F: demangle names of C++ and Rust (default for programs)",
	 FLAG(demangle)},
	{0, "demangle-kernel", NULL, "-F: the same for the kernel's names", FLAG(demangle)},
	{0, "no-demangle", NULL, "-F: show names as they are in the file", FLAG(no_demangle)},
	{0, "cache", NULL,
	 "-a: store the definition by build-id, and use stored ones if debug information is "
	 "missing; -l, -d: list and remove stored ones",
	 FLAG(cache)},
	{0, "buildid-dir", "DIRECTORY", "the cache; default: ~/.debug, which perf uses, too",
	 TEXT(buildid_dir)},
	{0, "bootconfig", NULL, "-D: print it for the kernel's bootconfig", FLAG(bootconfig)},
	{'q', "quiet", NULL, "only errors", FLAG(quiet)},
	{'v', "verbose", NULL, "say more", OPTION_COUNT, offsetof(struct probe_options, verbose)},
	{0, "json", NULL, "one JSON object per line", FLAG(json)},
	{0},
};

static const struct command_spec spec = {
	.name = "probe",
	.synopsis =
		"[options] DEFINITION...  |  -l [EVENT]  |  -d EVENT  |  -L LINES  |  -V POINT  "
		"|  -F [FILTER]",
	.summary = "probes at functions and source lines, with local variables, that stay",
	.examples =
		"  pantrace probe -x ./app 'parse len buf:string'        # parameters\n"
		"  pantrace probe -x ./app 'parse.c:42 p->next->id'      # at a source line\n"
		"  pantrace probe -x ./app 'parse%return $retval:s32'    # what it returns\n"
		"  pantrace probe -x ./app -a 'hit=parse:7 $vars'        # all variables there\n"
		"  pantrace probe 'vfs_read file->f_path.dentry->d_name.name:string'\n"
		"  pantrace probe -x ./app -D 'parse $params'            # only print it\n"
		"  pantrace probe -x ./app -L parse                    # lines that can be probed\n"
		"  pantrace probe -x ./app -V parse:7 -v               # the variables there\n"
		"  pantrace probe -x ./app -F 'parse_* & !*_test'      # functions\n"
		"  pantrace probe -l                                     # list them\n"
		"  pantrace probe -d 'probe_app:*'                       # remove them\n",
	.details =
		"DEFINITION is [[GROUP:]EVENT=]POINT [ARGUMENT...].\n"
		"POINT is FUNCTION[@SOURCE][+OFFSET|%return|:LINE|;PATTERN], SOURCE:LINE, "
		"SOURCE;PATTERN, 0xADDRESS or %sdt_PROVIDER:EVENT. The LINE of a FUNCTION "
		"counts from the function's first line; a PATTERN matches the text of lines. "
		"FUNCTION may have wildcards. A backslash, or quotes around a name, escape special "
		"characters: 'ns::f(int)'.\n"
		"ARGUMENT is [NAME=]VALUE[:TYPE][@user]; VALUE is a variable with its members "
		"(p->next, p.in, p[2]), $params, $vars, $retval, $argN, $comm, $stackN, %register, "
		"@symbol, +OFFSET(VALUE) or \\NUMBER; TYPE is u, s, x (the variable's size), u8 "
		"to x64, string, ustring, symbol, or TYPE[N].\n"
		"A probe stays until -d removes it or the machine shuts down. Its event can be "
		"used by `pantrace tpoint probe_app:hit`, `perf record -e probe_app:hit` and "
		"trace-cmd.\n",
	.options = options,
};

/* The modes exclude each other. */
static const struct probe_mode {
	char letter;
	int (*run)(struct probe_command *p);
	size_t offset; /* value of its option: a list or a string */
	bool is_list;
	bool takes_word; /* the value of its option may be the next word */
	int (*cached)(struct probe_command *p); /* used with --cache; NULL = the same function */
} modes[] = {
	{'a', probe_add, offsetof(struct probe_options, add), true, false},
	{'D', probe_define, offsetof(struct probe_options, definition), true, false},
	{'d', probe_delete, offsetof(struct probe_options, del), true, false, probe_cached_delete},
	{'l', probe_list, offsetof(struct probe_options, list), false, true, probe_cached_list},
	{'V', probe_variables, offsetof(struct probe_options, variables), false, false},
	{'F', probe_functions, offsetof(struct probe_options, functions), false, true},
	{'L', probe_lines, offsetof(struct probe_options, lines), false, false},
};

static bool is_chosen(const struct probe_options *o, const struct probe_mode *m)
{
	const void *const field = (const char *)o + m->offset;

	return m->is_list ? ((const struct string_list *)field)->count > 0
			  : *(const char *const *)field != NULL;
}

/*
 * Returns the mode that was asked for, or NULL after an error. Without an option, arguments are
 * definitions to add.
 */
static const struct probe_mode *choose_mode(const struct probe_options *o)
{
	const struct probe_mode *chosen = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (!is_chosen(o, &modes[i]))
			continue;
		if (chosen) {
			options_usage_error(&spec, "switch `%c' cannot be used with switch `%c'",
					    modes[i].letter, chosen->letter);
			return NULL;
		}
		chosen = &modes[i];
	}
	return chosen ? chosen : &modes[0];
}

static bool is_module_file(const char *path)
{
	return str_ends(path, ".ko") || strstr(path, ".ko.");
}

/* An absolute path as the first word is the target, as with -x. */
static void take_target(struct probe_command *p)
{
	struct probe_options *o = &p->o;

	if (!p->words.count || p->words.items[0][0] != '/' || o->exec || o->module)
		return;
	if (is_module_file(p->words.items[0]))
		o->module = p->words.items[0];
	else
		o->exec = p->words.items[0];
	p->words.items++;
	p->words.count--;
}

static int check(struct probe_command *p, const struct probe_mode *m)
{
	struct probe_options *o = &p->o;

	if (o->verbose && o->quiet)
		return options_usage_error(&spec, "-v and -q are exclusive.");
	if (o->exec && (o->vmlinux || o->module))
		return options_usage_error(&spec, "-x is for programs, -%c for the kernel",
					   o->vmlinux ? 'k' : 'm');
	if (o->target_ns && kill(o->target_ns, 0) && errno == ESRCH)
		return options_usage_error(&spec, "--target-ns: there is no process %d",
					   o->target_ns);
	if (o->filter && m->letter != 'V' && m->letter != 'F')
		return options_usage_error(&spec, "--filter is for -V and -F");
	if (o->range && m->letter != 'V')
		return options_usage_error(&spec, "--range is for -V");
	if (o->demangle && o->no_demangle)
		return options_usage_error(&spec, "--demangle and --no-demangle are exclusive");
	if (o->bootconfig && m->letter != 'D')
		return options_usage_error(&spec, "--bootconfig is for -D only");
	if (o->bootconfig && o->exec)
		return options_usage_error(&spec, "bootconfig takes only probes of the kernel");
	if (o->vmlinux && m->letter == 'a' && !o->dry_run)
		return options_usage_error(
			&spec, "-k is another kernel's file: it goes with -D, -L, -V and -F");
	if (m->letter == 'l' && o->exec)
		return options_usage_error(&spec, "Don't use --list with --exec.");
	if (p->words.count && m->takes_word) {
		const char **field = (const char **)((char *)o + m->offset);

		if (**field || p->words.count > 1)
			return options_usage_error(&spec, "unexpected argument '%s'",
						   p->words.items[p->words.count - 1]);
		*field = p->words.items[0];
	} else if (p->words.count && m->letter != 'a') {
		return options_usage_error(&spec, "unexpected argument '%s'", p->words.items[0]);
	}
	if (m->letter == 'a' && !p->words.count && !o->add.count)
		return options_usage_error(&spec, "what to probe? A DEFINITION is missing");
	return OPTIONS_GO_ON;
}

struct translate_config probe_target_of(const struct probe_command *p)
{
	return (struct translate_config){
		.file = p->o.exec,
		.pid = p->o.target_ns,
		.vmlinux = p->o.vmlinux,
		.module = p->o.module,
		.symfs = p->o.symfs,
		.source = p->o.source,
		.max_probes = (u32)MIN(p->o.max_probes, (u64)1 << 20),
		.no_inlines = p->o.no_inlines,
		.externs = p->o.externs,
	};
}

struct elf_file *probe_debug_file(struct probe_command *p, struct translate_config *config,
				  struct translator **ret)
{
	char *found = config->file || config->vmlinux || config->module
			      ? NULL
			      : kernel_debug_file(config->debug_path);

	config->vmlinux = found ? found : config->vmlinux;
	*ret = translator_new(p->kernel, &p->diag, config);
	config->vmlinux = p->o.vmlinux;
	free(found);
	if (*ret && config->module && !translator_find_debug(*ret))
		translator_refuse(*ret, NO_SPAN);
	else if (*ret && translator_file(*ret))
		return translator_file(*ret);
	else if (*ret) {
		diag_error(&p->diag, NO_SPAN,
			   "Failed to find the path for the kernel: the debug "
			   "information of this one is not installed");
		diag_hint(&p->diag, "-k FILE names its vmlinux; -x FILE is for a program");
	}
	return NULL;
}

int cmd_probe(int argc, char **argv)
{
	struct probe_command p = {.spec = &spec, .diag = DIAG_INIT};
	const struct probe_mode *mode;
	int first, rc = options_parse(&spec, argc, argv, &p.o, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	p.words = (struct string_list){(const char **)argv + first, (u32)(argc - first)};
	take_target(&p);
	mode = choose_mode(&p.o);
	rc = mode ? check(&p, mode) : EXIT_USAGE;
	if (rc == OPTIONS_GO_ON) {
		p.kernel = kernel_new();
		p.diag.no_warnings = p.o.quiet;
		rc = (p.o.cache && mode->cached ? mode->cached : mode->run)(&p);
		rc = diag_close(&p.diag, rc);
		kernel_release(p.kernel);
	}
	options_release(&spec, &p.o);
	return rc;
}
