/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/help/topics.h"

#include "base/options.h"
#include "cmd/help/builtin.h"
#include "probe/probe.h"

/* Aliases in the order of the row: "k", "kfunc". */
static const char *aliases(const struct probe_provider *p, char *ret, size_t size)
{
	size_t n = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(p->aliases) && p->aliases[i]; i++)
		n += (size_t)snprintf(ret + n, n < size ? size - n : 0, "%s%s",
				      i ? ", " : " (also ", p->aliases[i]);
	if (n)
		snprintf(ret + n, n < size ? size - n : 0, ")");
	return ret;
}

static void print_probes(FILE *out)
{
	char also[64], *text;

	fputs("What a script can be attached to. Names may hold * and ?; several are separated by "
	      "commas.\n"
	      "`pantrace list PATTERN` shows what there is here, -v with the arguments; `pantrace "
	      "doctor` says\n"
	      "which kinds this kernel allows.\n",
	      out);
	for (u32 i = 0; probe_providers[i]; i++) {
		const struct probe_provider *p = probe_providers[i];

		text = xasprintf("%s%s", p->doc, aliases(p, also, sizeof(also)));
		fprintf(out, "\n  %s\n      ", p->form);
		options_wrap(out, text, 6, 6);
		free(text);
	}
}

static void print_functions(FILE *out)
{
	fputs("Functions and variables of the language. `pantrace help NAME` explains one, with an "
	      "example.\n",
	      out);
	help_families(out);
}

static void print_language(FILE *out)
{
	static const struct {
		const char *heading, *lines[14];
	} parts[] = {
		{"A script is a list of probes: attach points, a predicate, a body",
		 {"tracepoint:syscalls:sys_enter_openat /comm == \"sshd\"/ { printf(\"%s\\n\", "
		  "str(args.filename)) }",
		  "begin { ... }   end { ... }      before everything is attached, after "
		  "everything is detached",
		  "kprobe:vfs_*, kretprobe:vfs_*    several; * and ? in names (pantrace help "
		  "probes)"}},
		{"Values",
		 {"$x = 1, $s = \"text\"              variables of one run of a body",
		  "@name, @count[comm, pid]         maps, of all probes; printed at the end",
		  "self.start                       a variable of the thread",
		  "args.FIELD, retval, arg0         what the probe gives (pantrace list -v PROBE)",
		  "$1, $#, getopt(\"name\", 5)        the words behind the script, and --name=5 "
		  "behind --",
		  "(uint8)$x, ((struct file *)$p)->f_flags, $p->f_path.dentry->d_name.name",
		  "10ms, 5s, 0x1f, 'a', 1_000_000   numbers; times are nanoseconds"}},
		{"Statements",
		 {"if ($x > 3) { ... } else { ... }",
		  "while ($i < 10) { ... }          unroll(5) { ... }",
		  "for $i : 0..10 { ... }           for $kv : @map { print($kv.0) }",
		  "return;                          leaves the body",
		  "$x++, @n += 2, a ? b : c, && || ! ~ & | ^ << >>"}},
		{"Counting, where it happens",
		 {"@ = count()   @ = sum(x)   @ = avg(x)   @ = min(x)   @ = max(x)   @ = stats(x)",
		  "@ = hist(x)   @ = lhist(x, 0, 100, 10)   @ = llhist(x)   @ = tseries(x, 1s, "
		  "60)"}},
		{"Declarations",
		 {"struct pair { int a; int b; };   #define LIMIT 10   #include <linux/fs.h>",
		  "fn twice($x : int64) : int64 { return $x * 2; }",
		  "macro half($x) { $x / 2 }        import \"helpers.bt\";",
		  "config = { max_map_keys = 10000 }"}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		fprintf(out, "%s%s:\n", i ? "\n" : "", parts[i].heading);
		for (const char *const *line = parts[i].lines; *line; line++)
			fprintf(out, "  %s\n", *line);
	}
	fputs("\nIt is bpftrace's language, and more: man 7 pantrace-language has all of it, "
	      "`pantrace help functions`\n"
	      "the functions, `pantrace help probes` the attach points.\n",
	      out);
}

const struct help_topic help_topics[] = {
	{"functions", "functions and variables of the language, a line each", print_functions},
	{"probes", "what scripts can be attached to", print_probes},
	{"language", "the language on one screen", print_language},
	{0},
};
