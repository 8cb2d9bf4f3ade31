/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/engine.h"

#include <ctype.h>

#include "base/escape.h"
#include "lang/lower/loop_steps.h"

/* What a sentence of the verifier (kernel/bpf/verifier.c) means for the author of a script. */
static const struct {
	const char *part, *hint;
} hints[] = {
	{"unknown func",
	 "this kernel lacks the helper function behind it; `pantrace doctor` tells what it has"},
	{"program of this type cannot use helper",
	 "this kind of probe may not do that; try another probe type"},
	{"not allowed in probe", "this kind of probe may not do that; try another probe type"},
	{"too many instructions",
	 "the script is too large for this kernel; split the probe or shorten its loops"},
	{"infinite loop",
	 "the verifier cannot see that the loop ends; bound its counter by a constant"},
	{"combined stack size", "too much is on the stack; lower on_stack_limit in a config block"},
	{"invalid access to map value",
	 "internal error of the compiler: please report it with the script"},
	{"invalid bpf_context access", "the probe's context has no such field on this kernel"},
	{"cannot call GPL-restricted", "set license = \"GPL\" in the config block"},
	{"in-kernel BTF", "the kernel's BTF is missing or malformed; `pantrace doctor` tells more"},
	{"not found in kernel BTF", "the kernel has no such function"},
};

/* "12: (85) call ..." or "12: R1=..." -> 12; -1 for other lines. */
static long instruction_number(const char *line, size_t n)
{
	size_t i = 0;
	long v = 0;

	while (i < n && isdigit((unsigned char)line[i]) && i < 8)
		v = v * 10 + (line[i++] - '0');
	return i && i + 1 < n && line[i] == ':' && line[i + 1] == ' ' ? v : -1;
}

static bool starts(const char *line, size_t n, const char *word)
{
	size_t len = strlen(word);

	return n >= len && memcmp(line, word, len) == 0;
}

/*
 * Lines of the log that are not the complaint itself: statistics at the end, source lines, register
 * states, branches.
 */
static bool is_frame(const char *line, size_t n)
{
	static const char *const words[] = {
		"processed ",	"verification time", "stack depth", "; ",	"from ",
		"mark_precise", "parent ",	     "last_idx",    "regs=",	"R0",
		"live regs",	"Live regs",	     "func#",	    "insn_cnt", "old_",
		"old state",	"cur state",	     "frame"};
	size_t blanks = 0;

	while (blanks < n && isspace((unsigned char)line[blanks]))
		blanks++;
	if (blanks == n || instruction_number(line, n) >= 0)
		return true;
	/* "R0" begins a register state, but "R0 invalid mem access" is a sentence: states have '='.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (starts(line, n, words[i]) && !(words[i][0] == 'R' && !memchr(line, '=', n)))
			return true;
	return false;
}

/*
 * The log reads "; source line", "12: (bf) r1 = r0", ..., then the complaint, then "processed 13
 * insns ...". The complaint is the last line of no other kind; its place is the last instruction
 * before it.
 */
static void parse_log(const char *log, const char **ret_sentence, size_t *ret_len, long *ret_insn)
{
	long insn = -1;

	*ret_sentence = NULL;
	*ret_insn = -1;
	for (const char *line = log; *line;) {
		size_t n = strcspn(line, "\n");
		long number = instruction_number(line, n);

		if (number >= 0)
			insn = number;
		else if (!is_frame(line, n)) {
			*ret_sentence = line;
			*ret_len = n;
			*ret_insn = insn;
		}
		line += n + (line[n] == '\n');
	}
}

/*
 * "helper bpf_d_path not allowed in probe": newer kernels say which one, the older ones only
 * "helper call".
 */
static bool name_helper(struct strbuf *text, const struct script_program *p, long insn)
{
	const char *name;

	if (!strstr(text->data, "helper call is not allowed in probe") || insn < 0 ||
	    (u32)insn >= p->code.count || p->code.insns[insn].code != (BPF_JMP | BPF_CALL))
		return false;
	name = bpf_helper_name((u32)p->code.insns[insn].imm);
	if (!name)
		return false;
	strbuf_reset(text);
	strbuf_addf(text, "helper bpf_%s not allowed in probe", name);
	return true;
}

static void add_hint(struct diag *d, const char *sentence, int error)
{
	for (size_t i = 0; sentence && i < ARRAY_SIZE(hints); i++) {
		if (strstr(sentence, hints[i].part)) {
			diag_hint(d, "%s", hints[i].hint);
			return;
		}
	}
	if (error == -E2BIG)
		diag_hint(d, "the script is too large for this kernel; split the probe or shorten "
			     "its loops");
	else
		diag_hint(d, "-v shows the verifier's whole log");
}

/* BPF_COMPLEXITY_LIMIT_INSNS and BPF_COMPLEXITY_LIMIT_JMP_SEQ of the kernel (verifier.c). */
#define LIMIT_STEPS 1000000
#define LIMIT_JUMPS 8192

/*
 * The verifier gave up at its limit; its log ends in the middle of a line. Where it stopped says
 * little, so the loop that costs it the most steps is named.
 */
static bool report_limit(struct diag *d, const struct script_program *p, const char *log)
{
	const bool jumps = strstr(log, "8193 jumps is too complex");
	const struct stmt *loop;

	if (!jumps && !strstr(log, "BPF program is too large. Processed"))
		return false;
	loop = loop_heaviest(p->body);
	diag_error(d,
		   loop	      ? loop->span
		   : p->probe ? p->probe->span
			      : NO_SPAN,
		   "the kernel's verifier gives up on this %s: it takes more than %d %s to look at "
		   "every way through it, the kernel's limit",
		   loop ? "loop" : "probe", jumps ? LIMIT_JUMPS : LIMIT_STEPS,
		   jumps ? "branches" : "steps");
	if (loop)
		diag_hint(d, "of loops within loops it walks every round of each: fewer rounds or "
			     "less in them, or `for ($i : a..b)`, which it walks only a few times "
			     "on Linux 5.17 and later");
	else
		diag_hint(d, "split the probe, or shorten strings and stacks");
	return true;
}

void verifier_report(struct diag *d, const struct script_program *program, const char *log,
		     int error)
{
	const char *raw = NULL;
	struct strbuf text = STRBUF_INIT;
	struct span at = program->probe ? program->probe->span : NO_SPAN;
	size_t n = 0;
	long insn = -1;

	if (log && report_limit(d, program, log))
		return;
	if (log)
		parse_log(log, &raw, &n, &insn);
	if (insn >= 0 && (u32)insn < program->code.count && program->code.spans)
		at = program->code.spans[insn];
	if (raw) {
		const char *prefix;

		escape_line(&text, raw, n);
		prefix = name_helper(&text, program, insn) ? ""
							   : "the kernel's verifier refuses this: ";
		diag_error(d, at, "%s%s", prefix, text.data);
	} else {
		diag_error(d, at, "the kernel refuses the program of %s: %s",
			   program->ntargets ? program->targets[0]->name : program->name,
			   strerror(-error));
	}
	add_hint(d, raw ? text.data : NULL, error);
	if (error == -EPERM || error == -EACCES)
		diag_code(d, error == -EPERM ? EXIT_PRIVILEGE : EXIT_FAILED);
	strbuf_release(&text);
}
