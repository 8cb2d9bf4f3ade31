/* SPDX-License-Identifier: GPL-2.0-or-later */
/* __print_flags() and its kin, as kernel/trace/trace_output.c writes them. */
#include "trace/print_format/internal.h"

static void print_flags(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	u64 flags = pf_eval(r, n->a);
	bool first = true;

	for (const struct pf_name *name = n->names; name->text && flags; name++) {
		if ((flags & name->value) != name->value)
			continue;
		flags &= ~name->value;
		if (!first)
			strbuf_add(out, n->text ? n->text : "", n->text_len);
		first = false;
		strbuf_add(out, name->text, name->len);
	}
	if (!flags)
		return;
	if (!first)
		strbuf_add(out, n->text ? n->text : "", n->text_len);
	strbuf_addstr(out, "0x");
	text_hex(out, flags);
}

static void print_symbolic(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	const u64 value = pf_eval(r, n->a);
	const struct pf_name *name = n->names;

	while (name->text && name->value != value)
		name++;
	if (name->text && name->len) {
		strbuf_add(out, name->text, name->len);
		return;
	}
	if (n->text) {
		strbuf_add(out, n->text, n->text_len);
		return;
	}
	/* Also for a name of no characters: the kernel looks whether anything was printed. */
	strbuf_addstr(out, "0x");
	text_hex(out, value);
}

static void print_hex(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	const struct pf_bytes b = pf_eval_bytes(r, n->a);
	const u64 len = pf_eval(r, n->b);

	for (u64 i = 0; b.at && i < len && i < b.len; i++) {
		if (i && !n->op)
			strbuf_addch(out, ' ');
		text_hex_padded(out, b.at[i], 2);
	}
}

static u64 load_element(const u8 *p, u64 size)
{
	u64 v = 0;

	memcpy(&v, p, size);
	return v;
}

static void print_array(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	const struct pf_bytes b = pf_eval_bytes(r, n->a);
	const u64 count = pf_eval(r, n->b), size = pf_eval(r, n->c);
	const bool known = size == 1 || size == 2 || size == 4 || size == 8;
	const u64 step = known ? size : 1;

	strbuf_addch(out, '{');
	for (u64 i = 0; b.at && i < count && (i + 1) * step <= b.len; i++) {
		if (i)
			strbuf_addch(out, ',');
		if (!known)
			strbuf_addf(out, "BAD SIZE:%" PRIu64 " ", size);
		strbuf_addstr(out, "0x");
		text_hex(out, load_element(b.at + i * step, step));
	}
	strbuf_addch(out, '}');
}

/* %*pb: groups of 32 bits, the highest first. */
static void print_bitmask(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	const struct pf_bytes b = pf_eval_bytes(r, n->a);
	u64 groups = b.len / 4;

	if (!b.at) {
		strbuf_addstr(out, "(bad)");
		return;
	}
	while (groups--) {
		text_hex_padded(out, load_element(b.at + groups * 4, 4), 8);
		if (groups)
			strbuf_addch(out, ',');
	}
}

/* A line of hex_dump_to_buffer(). */
static void dump_line(const u8 *line, u64 len, u64 row, u64 group, bool ascii, struct strbuf *out)
{
	const size_t begin = out->len;
	const u64 ascii_column = row * 2 + row / group + 1;

	if (len % group)
		group = 1;
	for (u64 i = 0; i < len; i += group) {
		if (i)
			strbuf_addch(out, ' ');
		text_hex_padded(out, load_element(line + i, group), (u32)group * 2);
	}
	if (!ascii)
		return;
	strbuf_addchars(out, ' ', (int)(ascii_column - MIN(ascii_column, out->len - begin)));
	for (u64 i = 0; i < len; i++)
		strbuf_addch(out, line[i] >= ' ' && line[i] < 0x7f ? (char)line[i] : '.');
}

/* trace_print_hex_dump_seq(): DUMP_PREFIX_NONE, _ADDRESS, _OFFSET. */
static void print_hex_dump(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	const struct pf_bytes b = pf_eval_bytes(r, n->args[4]);
	const u64 prefix = pf_eval(r, n->args[1]);
	const u64 row = pf_eval(r, n->args[2]) == 32 ? 32 : 16;
	const u64 len = b.at ? MIN(pf_eval(r, n->args[5]), b.len) : 0;
	u64 group = pf_eval(r, n->args[3]);

	if (group != 1 && group != 2 && group != 4 && group != 8)
		group = 1;
	strbuf_addch(out, '\n');
	for (u64 i = 0; i < len; i += row) {
		pf_print_string(r, n->args[0], -1, out);
		if (prefix == 2) {
			text_hex_padded(out, i, 8);
			strbuf_addstr(out, ": ");
		}
		dump_line(b.at + i, MIN(row, len - i), row, group, pf_eval(r, n->args[6]), out);
		strbuf_addch(out, '\n');
	}
}

void pf_print_text(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	switch (n->kind) {
	case PF_LITERAL:
		strbuf_add(out, n->text, n->text_len);
		break;
	case PF_FLAGS:
		print_flags(r, n, out);
		break;
	case PF_SYMBOLIC:
		print_symbolic(r, n, out);
		break;
	case PF_HEX:
		print_hex(r, n, out);
		break;
	case PF_ARRAY:
		print_array(r, n, out);
		break;
	case PF_BITMASK:
		print_bitmask(r, n, out);
		break;
	case PF_HEX_DUMP:
		print_hex_dump(r, n, out);
		break;
	case PF_SEQUENCE:
		pf_print_sequence(r, n, out);
		break;
	case PF_DRIVER:
		pf_print_driver(r, n, out);
		break;
	default:
		break;
	}
}
