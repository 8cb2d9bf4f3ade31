/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/print_format/driver.h"

#define MAX_NUMBERS 5

static driver_printer driver_prq, driver_untrusted;

/* Behind the buffer that the kernel writes to, if that is an argument: n a number, b bytes of the
 * record. */
static const struct driver_function {
	const char *name, *arguments;
	driver_printer *print;
} functions[] = {
	{"scsi_trace_parse_cdb", "bn", driver_scsi_cdb},
	{"libata_trace_parse_status", "n", driver_ata_status},
	{"libata_trace_parse_host_stat", "n", driver_ata_host_stat},
	{"libata_trace_parse_eh_action", "n", driver_ata_error},
	{"libata_trace_parse_eh_err_mask", "n", driver_ata_error},
	{"libata_trace_parse_qc_flags", "n", driver_ata_qc_flags},
	{"libata_trace_parse_tf_flags", "n", driver_ata_tf_flags},
	{"libata_trace_parse_subcmd", "nnn", driver_ata_subcommand},
	{"nvme_trace_parse_admin_cmd", "nb", driver_nvme_admin},
	{"nvme_trace_parse_nvm_cmd", "nb", driver_nvme_io},
	{"nvme_trace_parse_fabrics_cmd", "nb", driver_nvme_fabrics},
	{"nvme_trace_disk_name", "b", driver_nvme_disk},
	{"nvmet_trace_parse_admin_cmd", "nb", driver_nvme_admin},
	{"nvmet_trace_parse_nvm_cmd", "nb", driver_nvme_io},
	{"nvmet_trace_parse_fabrics_cmd", "nb", driver_nvme_fabrics},
	{"nvmet_trace_disk_name", "b", driver_nvme_disk},
	{"nullb_trace_disk_name", "b", driver_nvme_disk},
	{"decode_prq_descriptor", "bnnnnn", driver_prq},
	{"nvmet_trace_ctrl_id", "n", driver_nvmet_controller},
	{"__trace_print_untrusted_str", "bn", driver_untrusted},
};

/* ---- calls ---- */

int pf_driver_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (pf_word_is(name, len, functions[i].name))
			return (int)i;
	return -1;
}

/* "p", the sequence that the kernel prints to. */
static u32 is_buffer(struct pf_node **args, u32 count)
{
	return count && args[0]->kind == PF_VARIABLE &&
	       pf_word_is(args[0]->text, args[0]->text_len, "p");
}

struct pf_node *pf_driver_call(struct pf_parser *p, int function, struct pf_node **args, u32 count)
{
	const struct driver_function *f = &functions[function];
	const u32 skip = is_buffer(args, count);
	struct pf_node *n;

	if (count != strlen(f->arguments) + skip) {
		pf_refuse(p, "%s() with %u arguments", f->name, count);
		return NULL;
	}
	for (u32 i = skip; i < count; i++)
		if (args[i]->type.value != (f->arguments[i - skip] == 'n' ? PF_NUMBER : PF_BYTES) ||
		    args[i]->type.unknown) {
			pf_refuse(p, "argument %u of %s()", i + 1, f->name);
			return NULL;
		}
	n = pf_new(p, PF_DRIVER, (struct pf_type){.value = PF_TEXT, .size = 8});
	n->op = (u8)function;
	n->count = count - skip;
	n->args = arena_memdup(p->arena, args + skip, n->count * sizeof(*args));
	return n;
}

void pf_print_driver(const struct pf_run *r, const struct pf_node *n, struct strbuf *out)
{
	const struct driver_function *f = &functions[n->op];
	struct pf_bytes bytes = {0};
	u64 numbers[MAX_NUMBERS] = {0};
	u32 count = 0;

	for (u32 i = 0; i < n->count; i++)
		if (f->arguments[i] == 'n')
			numbers[count++] = pf_eval(r, n->args[i]);
		else
			bytes = pf_eval_bytes(r, n->args[i]);
	if (strchr(f->arguments, 'b') && !bytes.at)
		strbuf_addstr(out, "(bad)");
	else
		f->print(r, numbers, &bytes, out);
}

/* ---- intel_iommu:prq_report (drivers/iommu/intel/iommu.h) ---- */

/* The buffer's size, four words of a page request. */
static void driver_prq(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		       struct strbuf *out)
{
	const u64 *const w = numbers + 1;

	strbuf_addf(out,
		    "rid=0x%" PRIx64 " addr=0x%" PRIx64 " %c%c%c%c%c pasid=0x%" PRIx64
		    " index=0x%" PRIx64,
		    w[0] >> 16 & 0xffff, w[1] >> 12, w[1] & 1 ? 'r' : '-', w[1] & 2 ? 'w' : '-',
		    w[0] >> 52 & 1 ? 'x' : '-', w[0] >> 53 & 1 ? 'p' : '-', w[1] & 4 ? 'l' : '-',
		    w[0] >> 32 & 0xfffff, w[1] >> 3 & 0x1ff);
	if (w[0] & 1 << 9)
		strbuf_addf(out, " private=0x%" PRIx64 "/0x%" PRIx64 "\n", w[2], w[3]);
}

/* ---- landlock (include/trace/events/landlock.h) ---- */

/*
 * string_escape_mem() with ESCAPE_SPACE | ESCAPE_SPECIAL | ESCAPE_NAP | ESCAPE_APPEND |
 * ESCAPE_OCTAL and " ='\"\\": what is printed can be taken apart again. The kernel cuts it at about
 * 6 KiB.
 */
static void driver_untrusted(const struct pf_run *r UNUSED, const u64 *numbers,
			     const struct pf_bytes *b, struct strbuf *out)
{
	static const char named[] = "\n\r\t\v\f\\\a\033\"", letters[] = "nrtvf\\ae\"";
	const size_t n = MIN(numbers[0], (u64)b->len);

	for (size_t i = 0; i < n; i++) {
		const u8 c = b->at[i];
		const char *name = c ? strchr(named, c) : NULL;

		if (name)
			strbuf_addf(out, "\\%c", letters[name - named]);
		else if (c > ' ' && c < 0x7f && c != '=' && c != '\'')
			strbuf_addch(out, (char)c);
		else
			strbuf_addf(out, "\\%03o", c);
	}
}

/* ---- parts ---- */

static bool part_value(const struct part *p, const struct pf_bytes *b, bool big_endian, u64 *ret)
{
	u64 v = 0;

	if ((size_t)p->at + p->size > b->len)
		return false;
	for (u32 i = 0; i < p->size; i++)
		v |= (u64)b->at[p->at + i] << 8 * (big_endian ? p->size - 1u - i : i);
	v >>= p->shift;
	*ret = p->mask ? v & p->mask : v;
	return true;
}

static void print_value(const struct part *p, u64 v, struct strbuf *out)
{
	switch (p->style) {
	case PART_HEX:
		strbuf_addstr(out, "0x");
		text_hex(out, v);
		break;
	case PART_BLOCKS_6:
		text_unsigned(out, v ? v : 256);
		break;
	case PART_UNMAP_REGIONS:
		text_unsigned(out, ((u32)v - 8u) / 16);
		break;
	default:
		text_unsigned(out, v);
	}
}

void parts_print(const struct part *p, const struct pf_bytes *b, bool big_endian,
		 struct strbuf *out)
{
	u64 v;

	for (; p->label; p++) {
		strbuf_addstr(out, p->label);
		if (part_value(p, b, big_endian, &v))
			print_value(p, v, out);
		else
			strbuf_addstr(out, "(bad)");
	}
}
