/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a variable is fetched at an address, by its attributes there. */
#include "binary/debug/access.h"

#include <dwarf.h>

#include "arch/arch.h"
#include "base/strbuf.h"
#include "binary/debug/unwind.h"
#include "binary/elf/internal.h"

enum { MAX_RANGES_TOLD = 3, WORD = 8 };

struct access access_refuse(const char *reason)
{
	return (struct access){.result = ACCESS_NONE, .reason = reason};
}

/* Up to its first comma: "it is in a floating-point register". */
const char *access_short_reason(struct arena *arena, const struct access *a)
{
	if (!a->reason)
		return "cannot be read";
	if (strstr(a->reason, "optimised out"))
		return "optimised out";
	return arena_strndup(arena, a->reason, strcspn(a->reason, ",;"));
}

struct access access_simple(struct arena *arena, enum access_result result,
			    const struct access_step *step, s64 add)
{
	const struct access_step steps[] = {*step, {.op = ACCESS_ADD, .value = add}};
	const u32 n = add ? 2 : 1;

	return (struct access){.result = result,
			       .steps = arena_memdup(arena, steps, n * sizeof(*steps)),
			       .count = n};
}

u32 access_ranges(Dwarf_Die *variable, struct debug_range *ret, u32 max)
{
	Dwarf_Addr base, start, end;
	Dwarf_Attribute a;
	ptrdiff_t at = 0;
	Dwarf_Op *ops;
	size_t n;
	u32 count = 0;

	if (!dwarf_attr_integrate(variable, DW_AT_location, &a) ||
	    dwarf_whatform(&a) == DW_FORM_exprloc)
		return 0;
	while (count < max && (at = dwarf_getlocations(&a, at, &base, &start, &end, &ops, &n)) > 0)
		if (n && start < end)
			ret[count++] = (struct debug_range){start, end};
	return count;
}

static struct access optimised_out(const struct access_site *s, Dwarf_Die *variable)
{
	struct debug_range ranges[MAX_RANGES_TOLD + 1];
	struct strbuf out = STRBUF_INIT;
	const char *declared;
	struct access ret;
	u32 n;

	if (s->is_brief)
		return access_refuse("it is optimised out");
	n = access_ranges(variable, ranges, ARRAY_SIZE(ranges));
	declared = debug_declared_in(variable);
	strbuf_addstr(&out, n ? "it is optimised out here; it is alive at" : "it is optimised out");
	for (u32 i = 0; i < MIN(n, (u32)MAX_RANGES_TOLD); i++) {
		const char *from, *to;
		u32 first, last;

		strbuf_addf(&out, "%s 0x%" PRIx64 " to 0x%" PRIx64, i ? "," : "", ranges[i].start,
			    ranges[i].end);
		/* Code that was moved, or inlined there, has lines that tell nothing. */
		if (declared && !debug_line_at(s->file, ranges[i].start, &from, &first) &&
		    !debug_line_at(s->file, ranges[i].end - 1, &to, &last) && first <= last &&
		    debug_path_ends_with(from, declared) && debug_path_ends_with(to, declared))
			strbuf_addf(&out, first == last ? " (line %u)" : " (lines %u to %u)", first,
				    last);
	}
	if (n > MAX_RANGES_TOLD)
		strbuf_addstr(&out, " ...");
	ret = access_refuse(arena_strdup(s->arena, out.data));
	strbuf_release(&out);
	return ret;
}

static struct access constant_value(const struct access_site *s, Dwarf_Attribute *a)
{
	struct access_step step = {.op = ACCESS_CONSTANT};
	Dwarf_Sword number;
	Dwarf_Block block;

	if (dwarf_formsdata(a, &number) == 0)
		step.value = number;
	else if (dwarf_formblock(a, &block) || !access_bytes(block.data, block.length, &step.value))
		return access_refuse(
			"it is a constant of more than 8 bytes, which is nowhere in memory");
	return access_simple(s->arena, ACCESS_VALUE, &step, 0);
}

/* Offsets count from where the stack pointer is once the function has made its frame: rustc, clang
 * -fomit-frame-pointer. */
static bool counts_from_stack_pointer(const struct access_site *s)
{
	Dwarf_Die function = s->function;
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;

	return dwarf_attr_integrate(&function, DW_AT_frame_base, &a) &&
	       dwarf_getlocation_addr(&a, s->address, &ops, &n, 1) == 1 && n == 1 &&
	       ops[0].atom == DW_OP_reg7;
}

/*
 * One place for the whole life of a variable, relative to the frame, is where it lies once the
 * function's first instructions have made the frame and stored the parameters. Above the return
 * address are the parameters that the caller has stored.
 */
static bool is_stored_later(const struct access_site *s, Dwarf_Attribute *a, const Dwarf_Op *ops,
			    const struct access *access)
{
	struct unwind_row row;

	if (!s->function.addr || s->address < s->entry || dwarf_whatform(a) != DW_FORM_exprloc ||
	    ops[0].atom != DW_OP_fbreg || s->is_behind_start || s->address >= access_site_body(s))
		return false;
	if (access->result == ACCESS_NONE || counts_from_stack_pointer(s)) /* no frame yet */
		return true;
	return unwind_cfa_at(s->file, s->address, &row) || access->count != 2 ||
	       access->steps[1].op != ACCESS_ADD || access->steps[1].value < row.cfa_offset;
}

/* gcc says so; others leave traces: lists of locations, and calls that are described. */
static bool is_optimised(Dwarf_Die *function)
{
	Dwarf_Attribute a;
	Dwarf_Die unit, child;
	const char *producer = NULL, *level;

	if (dwarf_diecu(function, &unit, NULL, NULL) && dwarf_attr(&unit, DW_AT_producer, &a))
		producer = dwarf_formstring(&a);
	if (producer && str_starts(producer, "GNU ")) {
		level = strstr(producer, " -O");
		return level && level[3] != '0';
	}
	if (dwarf_hasattr(function, DW_AT_call_all_calls) ||
	    dwarf_hasattr(function, DW_AT_GNU_all_call_sites))
		return true;
	for (int more = dwarf_child(function, &child); more == 0; more = debug_next_sibling(&child))
		if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
		    (!dwarf_attr(&child, DW_AT_location, &a) ||
		     dwarf_whatform(&a) != DW_FORM_exprloc))
			return true;
	return false;
}

/*
 * Optimisers leave out what functions are passed that nobody outside of the file calls: a constant,
 * or what is not used.
 */
static bool keeps_convention(const struct access_site *s)
{
	Dwarf_Die function = s->function;
	struct elf_symbol symbol;
	u64 into;

	return !is_optimised(&function) ||
	       (elf_file_symbol_at(s->file, s->entry, &symbol, &into) && !into && !symbol.is_local);
}

static u64 size_of(Dwarf_Die *variable)
{
	Dwarf_Die memory, *type = debug_type_of(variable, &memory);
	Dwarf_Word size;

	return type && dwarf_aggregate_size(type, &size) == 0 ? size : WORD;
}

struct access access_of(const struct access_site *s, Dwarf_Die *variable, bool *ret_by_convention)
{
	struct access ret;
	Dwarf_Attribute a;
	Dwarf_Op *ops;
	size_t n;
	int found;

	*ret_by_convention = false;
	if (!s->file->is_64 || s->file->machine != arch_elf_machine())
		return access_refuse("the program is of another architecture");
	if (dwarf_attr_integrate(variable, DW_AT_const_value, &a))
		return constant_value(s, &a);
	if (!dwarf_attr_integrate(variable, DW_AT_location, &a))
		return optimised_out(s, variable);
	found = dwarf_getlocation_addr(&a, s->address, &ops, &n, 1);
	if (found < 0)
		return access_refuse("its location is damaged");
	if (!found || !n)
		return optimised_out(s, variable);
	ret = access_translate(s, &a, ops, n, size_of(variable));
	if (is_stored_later(s, &a, ops, &ret)) {
		*ret_by_convention = s->address == s->entry && keeps_convention(s);
		return access_refuse("the function has only begun here, and has not stored it yet");
	}
	return ret;
}

/* ---- sites ---- */

/* The second row of the line table, or the one that says so itself, ends the prologue. */
static u64 body_of(Dwarf_Die *unit, u64 entry, u64 end)
{
	Dwarf_Lines *lines;
	u64 second = end;
	size_t count;

	if (dwarf_getsrclines(unit, &lines, &count))
		return entry;
	for (size_t i = debug_row_from(lines, count, entry + 1); i < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		bool is_body = false;
		Dwarf_Addr address;

		if (dwarf_lineaddr(line, &address) || address >= end)
			break;
		if (dwarf_lineprologueend(line, &is_body) == 0 && is_body)
			return address;
		second = MIN(second, address);
	}
	return second == end ? entry : second;
}

u64 access_site_body(const struct access_site *s)
{
	Dwarf_Die function = s->function, table;
	u64 end;

	debug_line_unit(s->file, &s->unit, &table);
	return debug_end_of(&function, s->entry, &end) ? body_of(&table, s->entry, end) : s->entry;
}

/* An inlined copy has statements of its own: large line tables need not be asked. */
static bool is_in_later_copy(Dwarf_Die *scopes, u32 n, u64 entry, u64 address)
{
	u64 begin;

	for (u32 i = 0; i < n && dwarf_tag(&scopes[i]) != DW_TAG_subprogram; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine &&
		    debug_entry_of(&scopes[i], &begin) && begin > entry && begin <= address)
			return true;
	return false;
}

bool access_site_init(struct access_site *s, struct elf_file *f, struct arena *arena,
		      Dwarf_Die *unit, u64 address)
{
	Dwarf_Die *scopes;
	const u32 n = debug_scopes_at(f, unit, address, false, &scopes);

	*s = (struct access_site){.file = f, .arena = arena, .address = address, .unit = *unit};
	for (u32 i = 0; i < n && !s->function.addr; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
			s->function = scopes[i];
	if (!s->function.addr || !debug_entry_of(&s->function, &s->entry))
		s->function.addr = NULL;
	else
		s->is_behind_start = is_in_later_copy(scopes, n, s->entry, address);
	free(scopes);
	return s->function.addr != NULL;
}
