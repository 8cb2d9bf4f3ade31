/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers and flags of libata as drivers/ata/libata-trace.c prints them; numbers of
 * include/linux/ata.h and libata.h. */
#include "trace/print_format_driver.h"

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

void driver_ata_eh_action(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			  struct strbuf *out)
{
	static const struct flag flags[] = {
		{1 << 0, "REVALIDATE"},
		{1 << 1 | 1 << 2, "RESET"},
		{1 << 3, "ENABLE_LINK"},
		{1 << 5, "PARK"},
		{0},
	};

	print_flags((u32)numbers[0], flags, out);
}

void driver_ata_err_mask(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			 struct strbuf *out)
{
	static const struct flag flags[] = {
		{1 << 0, "DEV"},	{1 << 1, "HSM"},     {1 << 2, "TIMEOUT"},
		{1 << 3, "MEDIA"},	{1 << 4, "ATA_BUS"}, {1 << 5, "HOST_BUS"},
		{1 << 6, "SYSTEM"},	{1 << 7, "INVALID"}, {1 << 8, "OTHER"},
		{1 << 9, "NODEV_HINT"}, {1 << 10, "NCQ"},    {0},
	};

	print_flags((u32)numbers[0], flags, out);
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

/* command, feature, upper half of the sector count: which of the commands within the command it is.
 */
void driver_ata_subcommand(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			   struct strbuf *out)
{
	enum { FEATURE = 1, HOB_NSECT = 2 };
	static const struct {
		u8 command, argument, mask, value;
		const char *name;
	} rows[] = {
		{0x65, HOB_NSECT, 0x5f, 0x01, " READ_LOG_DMA_EXT"}, /* FPDMA_RECV */
		{0x65, HOB_NSECT, 0x5f, 0x02, " ZAC_MGMT_IN"},
		{0x64, HOB_NSECT, 0x5f, 0x00, " DATASET_MANAGEMENT"}, /* FPDMA_SEND */
		{0x64, HOB_NSECT, 0x5f, 0x02, " WRITE_LOG_DMA_EXT"},
		{0x63, FEATURE, 0xff, 0x00, " ABORT_QUEUE"}, /* NCQ_NON_DATA */
		{0x63, FEATURE, 0xff, 0x05, " SET_FEATURES"},
		{0x63, FEATURE, 0xff, 0x06, " ZERO_EXT"},
		{0x63, FEATURE, 0xff, 0x07, " ZAC_MGMT_OUT"},
		{0x4a, FEATURE, 0xff, 0x00, " REPORT_ZONES"}, /* ZAC_MGMT_IN */
		{0x9f, FEATURE, 0xff, 0x01, " CLOSE_ZONE"}, /* ZAC_MGMT_OUT */
		{0x9f, FEATURE, 0xff, 0x02, " FINISH_ZONE"},
		{0x9f, FEATURE, 0xff, 0x03, " OPEN_ZONE"},
		{0x9f, FEATURE, 0xff, 0x04, " RESET_WRITE_POINTER"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].command == (u8)numbers[0] &&
		    rows[i].value == (numbers[rows[i].argument] & rows[i].mask))
			strbuf_addstr(out, rows[i].name);
}
