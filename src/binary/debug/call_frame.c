/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of call frame information, and the entries that have them. */
#include "binary/debug/call_frame.h"

#include <dwarf.h>

#include "binary/elf/internal.h"

/* Registers of the x86-64 ABI in DWARF's numbering. */
enum { BP = 6, SP = 7, RETURN_ADDRESS = 16, REMEMBERED = 16 };

_Static_assert(RETURN_ADDRESS + 1 == UNWIND_REGISTERS, "all that functions save");

struct expression {
	const u8 *data;
	u64 len;
};

/* What the instructions have said so far. */
struct frame {
	u64 cfa_register;
	s64 cfa_offset;
	struct expression cfa; /* data not NULL: instead of the two */
	struct unwind_saved saved[UNWIND_REGISTERS];
};

#define DEBUG_FRAME_CIE UINT32_MAX

static s64 sleb(struct cursor *c)
{
	u64 v = 0;
	u32 shift = 0;
	u8 byte = 0x80;

	while (byte & 0x80 && !c->failed) {
		byte = cursor_u8(c);
		if (shift < 64)
			v |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	}
	if (shift < 64 && byte & 0x40)
		v |= ~(u64)0 << shift;
	return (s64)v;
}

/* Factored offsets; nonsense may not fit, and wraps. */
static s64 factored(const struct call_frames *r, s64 n)
{
	return (s64)((u64)n * (u64)r->cie.data_factor);
}

/* DW_EH_PE_*: low four bits the format, the next three what it is relative to. */
static u64 encoded(const struct call_frames *r, struct cursor *c, u8 encoding)
{
	const u64 at = r->address + (u64)(c->data + c->pos - r->data);
	u64 v = 0;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		v = cursor_u64(c);
		break;
	case DW_EH_PE_uleb128:
		v = cursor_uleb128(c);
		break;
	case DW_EH_PE_sleb128:
		v = (u64)sleb(c);
		break;
	case DW_EH_PE_udata2:
		v = cursor_u16(c);
		break;
	case DW_EH_PE_sdata2:
		v = (u64)(s64)(s16)cursor_u16(c);
		break;
	case DW_EH_PE_udata4:
		v = cursor_u32(c);
		break;
	case DW_EH_PE_sdata4:
		v = (u64)(s64)(s32)cursor_u32(c);
		break;
	default:
		c->failed = true;
	}
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		v += at;
	else if (encoding & 0x70)
		c->failed = true;
	return v;
}

/* ---- rows ---- */

static bool is_bytes(const struct expression *e, const u8 *bytes, size_t n)
{
	return e->len == n && !memcmp(e->data, bytes, n);
}

/* The expressions that compilers write; others are left as not known. */
static void cfa_by_expression(const struct frame *f, struct unwind_row *row)
{
	/* breg7 8; breg16 0; lit15; and; lit11 (or 10); ge; lit3; shl; plus: the linker's for .plt
	 */
	static const u8 plt[] = {DW_OP_breg7, 8,	 DW_OP_breg16, 0,
				 DW_OP_lit15, DW_OP_and, DW_OP_lit11,  DW_OP_ge,
				 DW_OP_lit3,  DW_OP_shl, DW_OP_plus};
	struct cursor c = cursor_of(f->cfa.data, f->cfa.len);
	s64 offset;

	if (is_bytes(&f->cfa, plt, sizeof(plt))) {
		row->kind = UNWIND_PLT;
		return;
	}
	if (cursor_u8(&c) != DW_OP_breg6)
		return;
	offset = sleb(&c);
	if (cursor_u8(&c) == DW_OP_deref && !c.failed && c.pos == c.len && offset > -4096 &&
	    offset < 4096) {
		row->kind = UNWIND_BP_DEREF;
		row->cfa_offset = (s32)offset;
	}
}

/* The return address lies where every call puts it. */
static bool has_return_address(const struct frame *f)
{
	const struct unwind_saved *const s = &f->saved[RETURN_ADDRESS];

	return s->how == SAVED_IN_PLACE || (s->how == SAVED_AT_CFA && s->offset == -8);
}

static void add_row(struct call_frames *r, u64 address, const struct frame *f)
{
	const struct unwind_saved *const bp = &f->saved[BP];
	struct unwind_row row = {.address = address + r->bias};

	if ((address < r->start && !r->only_cfa) || address >= r->end)
		return;
	if (r->saved)
		memcpy(r->saved, f->saved, sizeof(f->saved));
	if (r->cie.is_signal) {
		row.kind = UNWIND_SIGNAL;
		vector_push(&r->rows->list, row);
		return;
	}
	if (f->cfa.data) {
		cfa_by_expression(f, &row);
	} else if ((f->cfa_register == SP || f->cfa_register == BP) && f->cfa_offset > -(1 << 30) &&
		   f->cfa_offset < 1 << 30) {
		row.kind = f->cfa_register == SP ? UNWIND_SP : UNWIND_BP;
		row.cfa_offset = (s32)f->cfa_offset;
	}
	if (!r->only_cfa && bp->how == SAVED_AT_CFA && (bp->offset < INT16_MIN || bp->offset >= 0))
		row.kind = UNWIND_NONE;
	if (r->only_cfa) {
		vector_push(&r->rows->list, row);
		return;
	}
	if (!has_return_address(f) || bp->how == SAVED_UNKNOWN ||
	    (bp->how == SAVED_AT_BP && bp->offset) || row.kind == UNWIND_NONE)
		row = (struct unwind_row){.address = row.address};
	else if (bp->how == SAVED_AT_CFA)
		row.bp_offset = (s16)bp->offset;
	else
		row.bp_at_bp = bp->how == SAVED_AT_BP;
	vector_push(&r->rows->list, row);
}

/* ---- instructions ---- */

static void set_saved(struct frame *f, u64 reg, enum unwind_saved_how how, s64 offset)
{
	if (reg < UNWIND_REGISTERS)
		f->saved[reg] = (struct unwind_saved){.how = (u8)how, .offset = offset};
}

static void restore(struct frame *f, const struct frame *initial, u64 reg)
{
	if (reg < UNWIND_REGISTERS)
		f->saved[reg] = initial->saved[reg];
}

/* Compilers write "bp + N" for functions that align their stack; others are not understood. */
static void saved_by_expression(struct frame *f, u64 reg, const struct expression *e)
{
	struct cursor c = cursor_of(e->data, e->len);
	const bool is_bp = cursor_u8(&c) == DW_OP_breg6;
	const s64 offset = sleb(&c);
	const bool is_whole = is_bp && !c.failed && c.pos == c.len;

	set_saved(f, reg, is_whole ? SAVED_AT_BP : SAVED_UNKNOWN, is_whole ? offset : 0);
}

static struct expression read_expression(struct cursor *c)
{
	struct expression e;

	e.len = cursor_uleb128(c);
	e.data = cursor_bytes(c, e.len);
	if (!e.data)
		e.len = 0; /* cut off */
	return e;
}

/* A register's new rule. false: not such an instruction. */
static bool register_rule(const struct call_frames *r, struct cursor *c, u8 op, struct frame *f,
			  const struct frame *initial)
{
	struct expression e;
	u64 reg;

	switch (op) {
	case DW_CFA_offset_extended:
		reg = cursor_uleb128(c);
		set_saved(f, reg, SAVED_AT_CFA, factored(r, (s64)cursor_uleb128(c)));
		return true;
	case DW_CFA_offset_extended_sf:
		reg = cursor_uleb128(c);
		set_saved(f, reg, SAVED_AT_CFA, factored(r, sleb(c)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		reg = cursor_uleb128(c);
		set_saved(f, reg, SAVED_AT_CFA, factored(r, (s64)-cursor_uleb128(c)));
		return true;
	case DW_CFA_restore_extended:
		restore(f, initial, cursor_uleb128(c));
		return true;
	case DW_CFA_undefined:
		set_saved(f, cursor_uleb128(c), SAVED_NOWHERE, 0);
		return true;
	case DW_CFA_same_value: /* of the return address it makes no sense */
		reg = cursor_uleb128(c);
		set_saved(f, reg, reg == RETURN_ADDRESS ? SAVED_NOWHERE : SAVED_IN_PLACE, 0);
		return true;
	case DW_CFA_register:
		set_saved(f, cursor_uleb128(c), SAVED_UNKNOWN, 0);
		cursor_uleb128(c);
		return true;
	case DW_CFA_expression:
		reg = cursor_uleb128(c);
		e = read_expression(c);
		saved_by_expression(f, reg, &e);
		return true;
	case DW_CFA_val_expression:
		set_saved(f, cursor_uleb128(c), SAVED_UNKNOWN, 0);
		read_expression(c);
		return true;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		set_saved(f, cursor_uleb128(c), SAVED_UNKNOWN, 0);
		sleb(c);
		return true;
	default:
		return false;
	}
}

/* The CFA's new rule. false: not such an instruction. */
static bool cfa_rule(const struct call_frames *r, struct cursor *c, u8 op, struct frame *f)
{
	switch (op) {
	case DW_CFA_def_cfa:
		f->cfa_register = cursor_uleb128(c);
		f->cfa_offset = (s64)cursor_uleb128(c);
		break;
	case DW_CFA_def_cfa_sf:
		f->cfa_register = cursor_uleb128(c);
		f->cfa_offset = factored(r, sleb(c));
		break;
	case DW_CFA_def_cfa_register:
		f->cfa_register = cursor_uleb128(c);
		break;
	case DW_CFA_def_cfa_offset:
		f->cfa_offset = (s64)cursor_uleb128(c);
		break;
	case DW_CFA_def_cfa_offset_sf:
		f->cfa_offset = factored(r, sleb(c));
		break;
	case DW_CFA_def_cfa_expression:
		f->cfa = read_expression(c);
		return true;
	default:
		return false;
	}
	f->cfa = (struct expression){0};
	return true;
}

/* Runs instructions from `pc` on; initial NULL: those of a CIE, which make no rows. */
static void run(struct call_frames *r, struct cursor c, u64 pc, struct frame *f,
		const struct frame *initial)
{
	struct frame stack[REMEMBERED];
	const struct frame none = {0};
	u32 depth = 0;

	while (!c.failed && c.pos < c.len) {
		const u8 op = cursor_u8(&c), low = op & 0x3f;
		u64 step = 0;

		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			step = low;
			break;
		case DW_CFA_offset:
			set_saved(f, low, SAVED_AT_CFA, factored(r, (s64)cursor_uleb128(&c)));
			continue;
		case DW_CFA_restore:
			restore(f, initial ? initial : &none, low);
			continue;
		}
		if (op == DW_CFA_nop)
			continue;
		if (op == DW_CFA_advance_loc1)
			step = cursor_u8(&c);
		else if (op == DW_CFA_advance_loc2)
			step = cursor_u16(&c);
		else if (op == DW_CFA_advance_loc4)
			step = cursor_u32(&c);
		else if (op == DW_CFA_remember_state && depth < REMEMBERED)
			stack[depth++] = *f;
		else if (op == DW_CFA_restore_state && depth)
			*f = stack[--depth];
		else if (op == DW_CFA_GNU_args_size)
			cursor_uleb128(&c);
		else if (!step && !cfa_rule(r, &c, op, f) &&
			 !register_rule(r, &c, op, f, initial ? initial : &none)) {
			/* Not understood: nothing is known from here on. */
			if (initial)
				add_row(r, pc, &none);
			return;
		}
		if (step && initial) {
			add_row(r, pc, f);
			pc += step * r->cie.code_factor;
		}
	}
	if (initial)
		add_row(r, pc, c.failed ? &none : f);
}

/* ---- entries ---- */

static bool read_cie(struct call_frames *r, u64 offset)
{
	struct cursor c = cursor_of(r->data, r->len);
	struct cie cie = {.offset = offset, .encoding = DW_EH_PE_absptr};
	const char *augmentation;
	u64 len;
	u8 version;

	if (r->cie.is_known && r->cie.offset == offset)
		return true;
	r->cie.is_known = false;
	c.pos = offset;
	len = offset < r->len ? cursor_u32(&c) : 0;
	if (!len || len > c.len - c.pos) /* the 64-bit form is not used for .eh_frame */
		return false;
	c.len = c.pos + len;
	if (cursor_u32(&c) != (r->is_debug_frame ? DEBUG_FRAME_CIE : 0))
		return false;
	version = cursor_u8(&c);
	augmentation = cursor_string(&c);
	if (version == 4 && (cursor_u8(&c) != 8 || cursor_u8(&c) != 0))
		return false; /* bytes of an address and of a segment */
	cie.code_factor = cursor_uleb128(&c);
	cie.data_factor = sleb(&c);
	if ((version == 1 ? cursor_u8(&c) : cursor_uleb128(&c)) != RETURN_ADDRESS || c.failed ||
	    (version != 1 && version != 3 && version != 4) ||
	    (*augmentation && *augmentation != 'z'))
		return false;
	cie.has_augmentation = *augmentation == 'z';
	if (cie.has_augmentation) {
		len = cursor_uleb128(&c);
		if (len > c.len - c.pos)
			return false;
		cie.instructions = c;
		cie.instructions.pos += len;
	} else {
		cie.instructions = c;
	}
	for (const char *p = augmentation; *p && !c.failed; p++) {
		if (*p == 'R')
			cie.encoding = cursor_u8(&c);
		else if (*p == 'L')
			cursor_u8(&c);
		else if (*p == 'P')
			encoded(r, &c, cursor_u8(&c) & 0x7f);
		else if (*p == 'S')
			cie.is_signal = true;
	}
	cie.is_known = !c.failed;
	r->cie = cie;
	return cie.is_known;
}

/* What code an entry is of; the cursor is then at its instructions. False: it is of none. */
static bool read_head(struct call_frames *r, struct cursor *c, u64 *ret_start, u64 *ret_size)
{
	const u64 id_at = c->pos;
	const u32 back = cursor_u32(c);
	u64 len;

	if ((!r->is_debug_frame && back > id_at) ||
	    !read_cie(r, r->is_debug_frame ? back : id_at - back))
		return false;
	*ret_start = encoded(r, c, r->cie.encoding);
	*ret_size = encoded(r, c, r->cie.encoding & 0x0f);
	if (r->cie.has_augmentation) {
		len = cursor_uleb128(c);
		if (len > c->len - c->pos)
			return false;
		c->pos += len;
	}
	return !c->failed && *ret_size;
}

static void read_fde(struct call_frames *r, struct cursor c)
{
	struct frame f = {0}, initial;
	const struct frame none = {0};
	bool is_signal;
	u64 start, size;

	if (!read_head(r, &c, &start, &size) || start >= r->end ||
	    size > r->end - start + (1 << 20) ||
	    (r->only_cfa && (start > r->start || size <= r->start - start)))
		return;
	run(r, r->cie.instructions, start, &f, NULL);
	initial = f;
	run(r, c, start, &f, &initial);
	is_signal = r->cie.is_signal;
	r->cie.is_signal = false;
	add_row(r, start + size, &none);
	r->cie.is_signal = is_signal;
}

/* Entries one after the other; a cursor that ends where the entry does. 1: there is one. */
static int next_entry(const struct call_frames *r, struct cursor *c, struct cursor *ret)
{
	const u32 cie = r->is_debug_frame ? DEBUG_FRAME_CIE : 0;

	while (c->pos + 4 <= c->len && !c->failed) {
		const u64 len = cursor_u32(c), at = c->pos;

		if (!len) /* the end, or that of one object file's part */
			continue;
		if (len > c->len - c->pos || len < 4)
			return -EBADMSG;
		*ret = *c;
		ret->len = c->pos + len;
		c->pos += len;
		if (memcmp(r->data + at, &cie, 4) != 0)
			return 1;
	}
	return 0;
}

int call_frames_open(struct call_frames *r, struct elf_file *f, const char *name)
{
	struct elf_file *const plain = str_starts(name, ".debug_") ? elf_unpacked_file(f) : f;
	const struct elf_section *s = plain ? elf_section_named(plain, name) : NULL;

	if (!f->is_64 || f->machine != EM_X86_64 || !s || s->flags & SHF_COMPRESSED)
		return -ENODATA;
	f = plain;
	if (f->type == ET_REL && (!f->is_relocated || s->flags & SHF_ALLOC))
		return -ENODATA;
	r->data = elf_section_bytes(f, s);
	if (!r->data)
		return -ENODATA;
	r->len = s->size;
	r->address = s->address;
	r->is_debug_frame = str_eq(name, ".debug_frame");
	r->cie.is_known = false;
	return 0;
}

int call_frames_read(struct call_frames *r)
{
	struct cursor c = cursor_of(r->data, r->len), entry;
	int more;

	while ((more = next_entry(r, &c, &entry)) > 0)
		read_fde(r, entry);
	return more;
}

void call_frames_sort(struct call_frames *r)
{
	struct cursor c = cursor_of(r->data, r->len), entry, rest;
	u64 start, size;

	while (next_entry(r, &c, &entry) > 0) {
		rest = entry;
		if (!read_head(r, &rest, &start, &size))
			continue;
		range_table_add(&r->ranges, start, start + size, (u32)r->entries.len);
		vector_push(&r->entries, entry);
	}
	range_table_sort(&r->ranges);
}

void call_frames_read_at(struct call_frames *r, u64 address)
{
	const u32 i = range_table_find(&r->ranges, address);

	r->start = address;
	r->end = address + 1;
	r->only_cfa = true;
	if (i != UINT32_MAX)
		read_fde(r, r->entries.items[i]);
}

void call_frames_release(struct call_frames *r)
{
	range_table_release(&r->ranges);
	vector_free(&r->entries);
}
