/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads, writes and discards in the commands of disks, as the drivers print them: SCSI
 * (drivers/scsi/scsi_trace.c; numbers of include/scsi/scsi_proto.h, big endian) and NVMe
 * (drivers/nvme/host/trace.c and target/trace.c; include/linux/nvme.h, little endian, from word 10
 * on). Of other commands the bytes are printed.
 */
#include "trace/print_format/driver.h"

/* ---- SCSI ---- */

static const struct part rw6[] = {
	{"lba=", 1, 3, 0, 0x1fffff, PART_DECIMAL},
	PART_AS(" txlen=", 4, 1, PART_BLOCKS_6),
	{0},
};
static const struct part rw10[] = {
	PART("lba=", 2, 4),
	PART(" txlen=", 7, 2),
	PART_BITS(" protect=", 1, 5, 0),
	{0},
};
static const struct part rw12[] = {
	PART("lba=", 2, 4),
	PART(" txlen=", 6, 4),
	PART_BITS(" protect=", 1, 5, 0),
	{0},
};
static const struct part rw16[] = {
	PART("lba=", 2, 8),
	PART(" txlen=", 10, 4),
	PART_BITS(" protect=", 1, 5, 0),
	{0},
};
static const struct part same10[] = {
	PART("lba=", 2, 4),
	PART(" txlen=", 7, 2),
	PART_BITS(" protect=", 1, 5, 0),
	PART_BITS(" unmap=", 1, 3, 1),
	{0},
};
static const struct part same16[] = {
	PART("lba=", 2, 8),
	PART(" txlen=", 10, 4),
	PART_BITS(" protect=", 1, 5, 0),
	PART_BITS(" unmap=", 1, 3, 1),
	{0},
};
static const struct part atomic16[] = {
	PART("lba=", 2, 8),
	PART(" txlen=", 12, 2),
	PART(" boundary_size=", 10, 2),
	{0},
};
static const struct part regions[] = {PART_AS("regions=", 7, 2, PART_UNMAP_REGIONS), {0}};

struct command {
	u8 opcode;
	const struct part *parts; /* NULL = the end */
};

static const struct command scsi_commands[] = {
	{0x08, rw6}, /* READ_6 */
	{0x0a, rw6}, /* WRITE_6 */
	{0x28, rw10}, /* READ_10 */
	{0x2a, rw10}, /* WRITE_10 */
	{0x41, same10}, /* WRITE_SAME */
	{0x42, regions}, /* UNMAP */
	{0xa8, rw12}, /* READ_12 */
	{0xaa, rw12}, /* WRITE_12 */
	{0x88, rw16}, /* READ_16 */
	{0x8a, rw16}, /* WRITE_16 */
	{0x93, same16}, /* WRITE_SAME_16 */
	{0x9c, atomic16}, /* WRITE_ATOMIC_16 */
	{0},
};

static const struct part *find(const struct command *c, u64 opcode)
{
	while (c->parts && c->opcode != (u8)opcode)
		c++;
	return c->parts;
}

/* The bytes of others are beside it in the event ("raw="). */
void driver_scsi_cdb(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		     struct strbuf *out)
{
	const struct part *parts = b->len ? find(scsi_commands, b->at[0]) : NULL;

	if (parts)
		parts_print(parts, b, true, out);
	else
		strbuf_addstr(out, b->len ? "-" : "(bad)");
}

/* ---- NVMe ---- */

static const struct part read_write[] = {
	PART("slba=", 0, 8),	  PART(", len=", 8, 2),	    PART_AS(", ctrl=", 10, 2, PART_HEX),
	PART(", dsmgmt=", 12, 4), PART(", reftag=", 16, 4), {0},
};
static const struct part discard[] = {PART("nr=", 0, 4), PART(", attributes=", 4, 4), {0}};

static const struct command nvme_commands[] = {
	{0x01, read_write}, /* write */
	{0x02, read_write}, /* read */
	{0x08, read_write}, /* write_zeroes */
	{0x09, discard},
	{0x7d, read_write}, /* zone_append */
	{0},
};

static void print_words(const char *label, const struct pf_bytes *b, struct strbuf *out)
{
	strbuf_addstr(out, label);
	for (size_t i = 0; i < MIN(b->len, (size_t)24); i++) {
		if (i)
			strbuf_addch(out, ' ');
		text_hex_padded(out, b->at[i], 2);
	}
}

void driver_nvme_io(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		    struct strbuf *out)
{
	const struct part *parts = find(nvme_commands, numbers[0]);

	if (parts)
		parts_print(parts, b, false, out);
	else
		print_words("cdw10=", b, out);
}

void driver_nvme_admin(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		       struct strbuf *out)
{
	print_words("cdw10=", b, out);
}

void driver_nvme_fabrics(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			 struct strbuf *out)
{
	print_words("specific=", b, out);
}

void driver_nvme_disk(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		      struct strbuf *out)
{
	const size_t len = strnlen((const char *)b->at, b->len);

	if (!len)
		return;
	strbuf_addstr(out, "disk=");
	pf_print_chars(r, b->at, len, out);
	strbuf_addstr(out, ", ");
}

/* A controller has its number only when it is connected. */
void driver_nvmet_controller(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			     struct strbuf *out)
{
	if (numbers[0])
		text_signed(out, (s64)numbers[0]);
	else
		strbuf_addch(out, '_');
}
