/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registers and flags of libata, which reads and writes have, as drivers/ata/libata-trace.c prints
 * them; numbers of include/linux/ata.h and libata.h.
 */
#include "trace/print_format/driver.h"

struct flag {
	u32 mask; /* any of its bits; 0 = the end */
	const char *name;
};

static void print_names(u32 v, const struct flag *f, struct strbuf *out)
{
	strbuf_addstr(out, "{ ");
	for (; f->mask; f++) {
		if (!(v & f->mask))
			continue;
		strbuf_addstr(out, f->name);
		strbuf_addch(out, ' ');
	}
	strbuf_addch(out, '}');
}

static void print_flags(u32 v, const struct flag *f, struct strbuf *out)
{
	text_hex(out, v);
	if (v)
		print_names(v, f, out);
}

void driver_ata_status(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		       struct strbuf *out)
{
	static const struct flag flags[] = {
		{1 << 7, "BUSY"},  {1 << 6, "DRDY"}, {1 << 5, "DF"},
		{1 << 4, "DSC"},   {1 << 3, "DRQ"},  {1 << 2, "CORR"},
		{1 << 1, "SENSE"}, {1 << 0, "ERR"},  {0},
	};

	print_names((u8)numbers[0], flags, out);
}

void driver_ata_host_stat(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			  struct strbuf *out)
{
	static const struct flag flags[] = {
		{1 << 2, "INTR"},
		{1 << 1, "ERR"},
		{1 << 0, "ACTIVE"},
		{0},
	};

	print_names((u8)numbers[0], flags, out);
}

/* What the handling of errors does and found. */
void driver_ata_error(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		      struct strbuf *out)
{
	text_hex(out, (u32)numbers[0]);
}

void driver_ata_qc_flags(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			 struct strbuf *out)
{
	static const struct flag flags[] = {
		{1 << 0, "ACTIVE"},
		{1 << 1, "DMAMAP"},
		{1 << 3, "IO"},
		{1 << 4, "RESULT_TF"},
		{1 << 5, "CLEAR_EXCL"},
		{1 << 6, "QUIET"},
		{1 << 7, "RETRY"},
		{1 << 16, "FAILED"},
		{1 << 17, "SENSE_VALID"},
		{1 << 18, "EH_SCHEDULED"},
		{0},
	};

	print_flags((u32)numbers[0], flags, out);
}

void driver_ata_tf_flags(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			 struct strbuf *out)
{
	static const struct flag flags[] = {
		{1 << 0, "LBA48"}, {1 << 1, "ISADDR"}, {1 << 2, "DEV"},	 {1 << 3, "WRITE"},
		{1 << 4, "LBA"},   {1 << 5, "FUA"},    {1 << 6, "POLL"}, {0},
	};

	print_flags((u32)numbers[0], flags, out);
}

/*
 * command, feature, upper half of the sector count: the discard among the queued commands that
 * send.
 */
void driver_ata_subcommand(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			   struct strbuf *out)
{
	if ((u8)numbers[0] == 0x64 && !(numbers[2] & 0x5f))
		strbuf_addstr(out, " DATASET_MANAGEMENT");
}
