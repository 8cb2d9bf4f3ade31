/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disassembly for -d bpf, in the notation of the kernel's verifier (kernel/bpf/disasm.c). */
#include <linux/btf.h>

#include "lang/bpf/emit.h"

struct dumper {
	struct strbuf *out;
	const struct ir_program *p;
	const struct bpf_code *code;
	u8 *is_target; /* per instruction: something jumps here */
	const char *strings; /* of the BTF blob */
};

static const char *const alu_symbols[16] = {
	"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", "neg", "%=", "^=", "=", "s>>="};
static const char *const jump_symbols[16] = {[BPF_JEQ >> 4] = "==",   [BPF_JGT >> 4] = ">",
					     [BPF_JGE >> 4] = ">=",   [BPF_JSET >> 4] = "&",
					     [BPF_JNE >> 4] = "!=",   [BPF_JSGT >> 4] = "s>",
					     [BPF_JSGE >> 4] = "s>=", [BPF_JLT >> 4] = "<",
					     [BPF_JLE >> 4] = "<=",   [BPF_JSLT >> 4] = "s<",
					     [BPF_JSLE >> 4] = "s<="};

static const char *size_name(u8 code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return "u8";
	case BPF_H:
		return "u16";
	case BPF_W:
		return "u32";
	default:
		return "u64";
	}
}

static bool is_jump(const struct bpf_insn *i)
{
	const u8 class = BPF_CLASS(i->code), op = BPF_OP(i->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static s64 jump_target(const struct bpf_insn *i, u32 at)
{
	return (s64)at + 1 + (i->code == (BPF_JMP32 | BPF_JA) ? i->imm : i->off);
}

static const char *function_at(const struct dumper *d, s64 insn)
{
	const struct btf_header *h = d->code->btf;

	for (u32 i = 0; h && i < d->code->nfunc_info; i++) {
		const char *type = (const char *)d->code->btf + h->hdr_len + h->type_off;
		const struct btf_type *t = NULL;
		u32 id = 0;

		if ((s64)d->code->func_info[i].insn_off != insn)
			continue;
		/* The blob is our own: INT, PTR, FUNC_PROTO and FUNC only. */
		while (id++ < d->code->func_info[i].type_id) {
			t = (const struct btf_type *)type;
			type += sizeof(*t);
			if (BTF_INFO_KIND(t->info) == BTF_KIND_INT)
				type += 4;
			if (BTF_INFO_KIND(t->info) == BTF_KIND_FUNC_PROTO)
				type += BTF_INFO_VLEN(t->info) * sizeof(struct btf_param);
		}
		return t ? d->strings + t->name_off : NULL;
	}
	return NULL;
}

static void dump_alu(struct dumper *d, const struct bpf_insn *i)
{
	const char r = BPF_CLASS(i->code) == BPF_ALU64 ? 'r' : 'w';
	const u8 op = BPF_OP(i->code);

	if (op == BPF_END)
		strbuf_addf(d->out, "r%u = %s%d r%u", i->dst_reg,
			    BPF_SRC(i->code) == BPF_TO_BE ? "be" : "le", i->imm, i->dst_reg);
	else if (op == BPF_NEG)
		strbuf_addf(d->out, "%c%u = -%c%u", r, i->dst_reg, r, i->dst_reg);
	else if (op == BPF_MOV && i->off)
		strbuf_addf(d->out, "r%u = (s%d)r%u", i->dst_reg, i->off, i->src_reg);
	else if (BPF_SRC(i->code) == BPF_X)
		strbuf_addf(d->out, "%c%u %s%s %c%u", r, i->dst_reg, i->off ? "s" : "",
			    alu_symbols[op >> 4] ? alu_symbols[op >> 4] : "?", r, i->src_reg);
	else
		strbuf_addf(d->out, "%c%u %s%s %d", r, i->dst_reg, i->off ? "s" : "",
			    alu_symbols[op >> 4] ? alu_symbols[op >> 4] : "?", i->imm);
}

static void dump_memory(struct dumper *d, const struct bpf_insn *i)
{
	const u8 class = BPF_CLASS(i->code);
	const char *size = size_name(i->code);

	if (class == BPF_LDX) {
		strbuf_addf(d->out, "r%u = *(%s%s *)(r%u %+d)", i->dst_reg,
			    BPF_MODE(i->code) == BPF_MEM ? "" : "s:", size, i->src_reg, i->off);
		return;
	}
	if (class == BPF_STX && BPF_MODE(i->code) == BPF_ATOMIC) {
		if (i->imm == BPF_CMPXCHG)
			strbuf_addf(d->out, "r0 = cmpxchg((%s *)(r%u %+d), r0, r%u)", size,
				    i->dst_reg, i->off, i->src_reg);
		else if (i->imm & BPF_FETCH)
			strbuf_addf(d->out, "r%u = fetch_add((%s *)(r%u %+d), r%u)", i->src_reg,
				    size, i->dst_reg, i->off, i->src_reg);
		else
			strbuf_addf(d->out, "lock *(%s *)(r%u %+d) += r%u", size, i->dst_reg,
				    i->off, i->src_reg);
		return;
	}
	strbuf_addf(d->out, "*(%s *)(r%u %+d) = ", size, i->dst_reg, i->off);
	if (class == BPF_STX)
		strbuf_addf(d->out, "r%u", i->src_reg);
	else
		strbuf_addf(d->out, "%d", i->imm);
}

static void dump_map(struct dumper *d, u32 at)
{
	for (u32 i = 0; i < d->code->nrelocations; i++) {
		const u32 map = d->code->relocations[i].map;

		if (d->code->relocations[i].insn != at)
			continue;
		if (d->p && d->p->map_names && map < d->p->nmap_names && d->p->map_names[map])
			strbuf_addf(d->out, "map[%s]", d->p->map_names[map]);
		else
			strbuf_addf(d->out, "map[%u]", map);
		return;
	}
	strbuf_addstr(d->out, "map[?]");
}

static void dump_load_imm(struct dumper *d, u32 at)
{
	const struct bpf_insn *i = &d->code->insns[at];
	const char *name;

	strbuf_addf(d->out, "r%u = ", i->dst_reg);
	switch (i->src_reg) {
	case BPF_PSEUDO_MAP_FD:
		dump_map(d, at);
		break;
	case BPF_PSEUDO_MAP_VALUE:
		dump_map(d, at);
		strbuf_addf(d->out, ".value + %d", i[1].imm);
		break;
	case BPF_PSEUDO_FUNC:
		name = function_at(d, (s64)at + 1 + i->imm);
		strbuf_addf(d->out, "function %s", name ? name : "?");
		break;
	default:
		strbuf_addf(d->out, "0x%" PRIx64 " ll",
			    (u64)(u32)i->imm | (u64)(u32)i[1].imm << 32);
		break;
	}
}

static void dump_jump(struct dumper *d, u32 at)
{
	const struct bpf_insn *i = &d->code->insns[at];
	const u8 op = BPF_OP(i->code);
	const char *name;

	if (op == BPF_EXIT) {
		strbuf_addstr(d->out, "exit");
	} else if (op == BPF_CALL && i->src_reg == BPF_PSEUDO_CALL) {
		name = function_at(d, (s64)at + 1 + i->imm);
		strbuf_addf(d->out, "call %s", name ? name : "?");
	} else if (op == BPF_CALL) {
		name = bpf_helper_name((u32)i->imm);
		strbuf_addf(d->out, "call %s#%d", name ? name : "", i->imm);
	} else if (op == BPF_JA) {
		strbuf_addf(d->out, "goto L%" PRId64, jump_target(i, at));
	} else if (BPF_SRC(i->code) == BPF_X) {
		strbuf_addf(d->out, "if r%u %s r%u goto L%" PRId64, i->dst_reg,
			    jump_symbols[op >> 4] ? jump_symbols[op >> 4] : "?", i->src_reg,
			    jump_target(i, at));
	} else {
		strbuf_addf(d->out, "if r%u %s %d goto L%" PRId64, i->dst_reg,
			    jump_symbols[op >> 4] ? jump_symbols[op >> 4] : "?", i->imm,
			    jump_target(i, at));
	}
}

static void dump_line(struct dumper *d, const struct bpf_line_info *line)
{
	const char *text = d->strings + line->line_off;

	if (!BPF_LINE_INFO_LINE_NUM(line->line_col))
		return;
	text += strspn(text, " \t");
	strbuf_addf(d->out, "; %s  (line %u)\n", text, BPF_LINE_INFO_LINE_NUM(line->line_col));
}

void emit_dump(struct strbuf *out, const struct ir_program *p, const struct bpf_code *code)
{
	struct dumper d = {.out = out, .p = p, .code = code, .is_target = xzalloc(code->count + 1)};
	const struct btf_header *h = code->btf;
	u32 line = 0, shown = 0;

	d.strings = h ? (const char *)code->btf + h->hdr_len + h->str_off : "";
	for (u32 i = 0; i < code->count; i++)
		if (is_jump(&code->insns[i]) && jump_target(&code->insns[i], i) >= 0 &&
		    jump_target(&code->insns[i], i) < code->count)
			d.is_target[jump_target(&code->insns[i], i)] = 1;
	for (u32 i = 0; i < code->count; i++) {
		const struct bpf_insn *insn = &code->insns[i];
		const char *name = function_at(&d, i);

		if (name)
			strbuf_addf(out, "%s:\n", name);
		if (line < code->nline_info && code->line_info[line].insn_off == i) {
			/* One line of the script is shown once, not per column. */
			if (BPF_LINE_INFO_LINE_NUM(code->line_info[line].line_col) != shown || name)
				dump_line(&d, &code->line_info[line]);
			shown = BPF_LINE_INFO_LINE_NUM(code->line_info[line].line_col);
			line++;
		}
		if (d.is_target[i])
			strbuf_addf(out, "L%u:\n", i);
		strbuf_addf(out, "%6u: ", i);
		switch (BPF_CLASS(insn->code)) {
		case BPF_ALU:
		case BPF_ALU64:
			dump_alu(&d, insn);
			break;
		case BPF_LD:
			dump_load_imm(&d, i++);
			break;
		case BPF_JMP:
		case BPF_JMP32:
			dump_jump(&d, i);
			break;
		default:
			dump_memory(&d, insn);
			break;
		}
		strbuf_addch(out, '\n');
	}
	free(d.is_target);
}
