/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NVMe commands from word 10 on, as drivers/nvme/host/trace.c prints them, and the target's
 * (drivers/nvme/target/trace.c); numbers of include/linux/nvme.h. Little endian.
 */
#include "trace/print_format_driver.h"

static const struct part delete_sq[] = {PART("sqid=", 0, 2), {0}};
static const struct part delete_cq[] = {PART("cqid=", 0, 2), {0}};
static const struct part create_sq[] = {
	PART("sqid=", 0, 2),
	PART(", qsize=", 2, 2),
	PART_AS(", sq_flags=", 4, 2, PART_HEX),
	PART(", cqid=", 6, 2),
	{0},
};
static const struct part create_cq[] = {
	PART("cqid=", 0, 2),
	PART(", qsize=", 2, 2),
	PART_AS(", cq_flags=", 4, 2, PART_HEX),
	PART(", irq_vector=", 6, 2),
	{0},
};
static const struct part identify[] = {PART("cns=", 0, 1), PART(", ctrlid=", 2, 2), {0}};
static const struct part set_features[] = {
	PART_AS("fid=", 0, 1, PART_HEX),
	{", sv=", 3, 1, 0, 8, PART_HEX, NULL, 0},
	PART_AS(", cdw11=", 4, 4, PART_HEX),
	{0},
};
static const struct part get_features[] = {
	PART_AS("fid=", 0, 1, PART_HEX),
	{", sel=", 1, 1, 0, 7, PART_HEX, NULL, 0},
	PART_AS(", cdw11=", 4, 4, PART_HEX),
	{0},
};
static const struct part target_get_features[] = {
	PART_AS("fid=", 0, 1, PART_HEX),
	{" sel=", 1, 1, 0, 7, PART_HEX, NULL, 0},
	PART_AS(" cdw11=", 4, 4, PART_HEX),
	{0},
};
static const struct part lba_status[] = {
	PART_AS("slba=", 0, 8, PART_HEX),
	PART_AS(", mndw=", 8, 4, PART_HEX),
	PART_AS(", rl=", 12, 2, PART_HEX),
	PART(", atype=", 15, 1),
	{0},
};
static const struct part format_nvm[] = {
	PART_AS("lbaf=", 0, 2, PART_LBA_FORMAT),
	PART_BITS(", mset=", 0, 4, 1),
	PART_BITS(", pi=", 0, 5, 7),
	PART_BITS(", pil=", 1, 0, 1),
	PART_BITS(", ses=", 1, 1, 7),
	{0},
};
static const struct part read_write[] = {
	PART("slba=", 0, 8),	  PART(", len=", 8, 2),	    PART_AS(", ctrl=", 10, 2, PART_HEX),
	PART(", dsmgmt=", 12, 4), PART(", reftag=", 16, 4), {0},
};
static const struct part dsm[] = {PART("nr=", 0, 4), PART(", attributes=", 4, 4), {0}};

static const char *const zone_send_names[] = {
	[0x01] = "close zone", [0x02] = "finish zone",	[0x03] = "open zone",
	[0x04] = "reset zone", [0x05] = "offline zone", [0x10] = "set zone descriptor extension",
};
static const char *const zone_receive_names[] = {
	[0x00] = "list all zones",
	[0x01] = "list the zones in the ZSE: Empty state",
	[0x02] = "list the zones in the ZSIO: Implicitly Opened state",
	[0x03] = "list the zones in the ZSEO: Explicitly Opened state",
	[0x04] = "list the zones in the ZSC: Closed state",
	[0x05] = "list the zones in the ZSF: Full state",
	[0x06] = "list the zones in the ZSRO: Read Only state",
	[0x07] = "list the zones in the ZSO: Offline state",
	[0x09] = "list the zones that have the zone attribute",
};
static const char *const register_names[] = {"register", "unregister", "replace"};
static const char *const acquire_names[] = {"acquire", "preempt", "preempt and abort"};
static const char *const release_names[] = {"release", "clear"};
static const char *const reservation_names[] = {
	"reserved",
	"write exclusive",
	"exclusive access",
	"write exclusive registrants only",
	"exclusive access registrants only",
	"write exclusive all registrants",
	"exclusive access all registrants",
};

static const struct part zone_send[] = {
	PART("slba=", 0, 8),
	PART_NAMES(", zsa=", 12, 0, zone_send_names),
	PART(", all=", 13, 1),
	{0},
};
static const struct part zone_receive[] = {
	PART("slba=", 0, 8),   PART(", numd=", 8, 4),
	PART(", zra=", 12, 1), PART_NAMES(", zrasf=", 13, 0, zone_receive_names),
	PART(", pr=", 14, 1),  {0},
};
static const struct part reservation_register[] = {
	PART_NAMES("rrega=", 0, 7, register_names),
	PART_BITS(", iekey=", 0, 3, 1),
	PART_BITS(", ptpl=", 3, 6, 3),
	{0},
};
static const struct part reservation_acquire[] = {
	PART_NAMES("racqa=", 0, 7, acquire_names),
	PART_BITS(", iekey=", 0, 3, 1),
	PART_NAMES(", rtype=", 1, 0, reservation_names),
	{0},
};
static const struct part reservation_release[] = {
	PART_NAMES("rrela=", 0, 7, release_names),
	PART_BITS(", iekey=", 0, 3, 1),
	PART_NAMES(", rtype=", 1, 0, reservation_names),
	{0},
};
static const struct part reservation_report[] = {
	PART("numd=", 0, 4),
	PART_BITS(", eds=", 4, 0, 1),
	{0},
};
static const struct part property_set[] = {
	PART("attrib=", 0, 1),
	PART_AS(", ofst=", 4, 4, PART_HEX),
	PART_AS(", value=", 8, 8, PART_HEX),
	{0},
};
static const struct part property_get[] = {
	PART("attrib=", 0, 1),
	PART_AS(", ofst=", 4, 4, PART_HEX),
	{0},
};
static const struct part fabrics_connect[] = {
	PART("recfmt=", 0, 2),	PART(", qid=", 2, 2),  PART(", sqsize=", 4, 2),
	PART(", cattr=", 6, 1), PART(", kato=", 8, 4), {0},
};
static const struct part auth_send[] = {
	PART_AS("spsp0=", 1, 1, PART_HEX2),
	PART_AS(", spsp1=", 2, 1, PART_HEX2),
	PART_AS(", secp=", 3, 1, PART_HEX2),
	PART(", tl=", 4, 4),
	{0},
};
static const struct part auth_receive[] = {
	PART_AS("spsp0=", 1, 1, PART_HEX2),
	PART_AS(", spsp1=", 2, 1, PART_HEX2),
	PART_AS(", secp=", 3, 1, PART_HEX2),
	PART(", al=", 4, 4),
	{0},
};

struct command {
	u8 opcode;
	const struct part *parts; /* NULL = the end */
};

static const struct command admin_commands[] = {
	{0x00, delete_sq},    {0x01, create_sq},
	{0x04, delete_cq},    {0x05, create_cq},
	{0x06, identify},     {0x09, set_features},
	{0x0a, get_features}, {0x80, format_nvm},
	{0x86, lba_status},   {0},
};
static const struct command io_commands[] = {
	{0x01, read_write}, /* write */
	{0x02, read_write}, /* read */
	{0x08, read_write}, /* write_zeroes */
	{0x09, dsm},
	{0x0d, reservation_register},
	{0x0e, reservation_report},
	{0x11, reservation_acquire},
	{0x15, reservation_release},
	{0x79, zone_send},
	{0x7a, zone_receive},
	{0x7d, read_write}, /* zone_append */
	{0},
};
static const struct command fabrics_commands[] = {
	{0x00, property_set}, {0x01, fabrics_connect}, {0x04, property_get},
	{0x05, auth_send},    {0x06, auth_receive},    {0},
};
static const struct command target_admin_commands[] = {
	{0x06, identify},
	{0x0a, target_get_features},
	{0x86, lba_status},
	{0},
};
static const struct command target_io_commands[] = {
	{0x01, read_write}, {0x02, read_write}, {0x08, read_write}, {0x09, dsm}, {0},
};

/* Of the others, 24 bytes in hex. */
static void print(const struct command *c, u64 opcode, const char *label, const struct pf_bytes *b,
		  struct strbuf *out)
{
	while (c->parts && c->opcode != (u8)opcode)
		c++;
	if (c->parts) {
		parts_print(c->parts, b, false, out);
		return;
	}
	strbuf_addstr(out, label);
	for (size_t i = 0; i < MIN(b->len, (size_t)24); i++) {
		if (i)
			strbuf_addch(out, ' ');
		text_hex_padded(out, b->at[i], 2);
	}
}

void driver_nvme_admin(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		       struct strbuf *out)
{
	print(admin_commands, numbers[0], "cdw10=", b, out);
}

void driver_nvme_io(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		    struct strbuf *out)
{
	print(io_commands, numbers[0], "cdw10=", b, out);
}

void driver_nvme_fabrics(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			 struct strbuf *out)
{
	print(fabrics_commands, numbers[0], "specific=", b, out);
}

void driver_nvmet_admin(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
			struct strbuf *out)
{
	print(target_admin_commands, numbers[0], "cdw10=", b, out);
}

void driver_nvmet_io(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		     struct strbuf *out)
{
	print(target_io_commands, numbers[0], "cdw10=", b, out);
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
