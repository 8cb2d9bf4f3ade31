/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SCSI commands as drivers/scsi/scsi_trace.c prints them; numbers of include/scsi/scsi_proto.h
 * (SBC, SPC, ZBC). Big endian. */
#include "trace/print_format_driver.h"

static const struct part rw6[] = {
	{"lba=", 1, 3, 0, 0x1fffff, PART_DECIMAL, NULL, 0},
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
static const struct part rw32[] = {
	PART("_32 lba=", 12, 8),
	PART(" txlen=", 28, 4),
	PART_BITS(" protect=", 10, 5, 0),
	PART(" ei_lbrt=", 20, 4),
	{0},
};
static const struct part atomic16[] = {
	PART("lba=", 2, 8),
	PART(" txlen=", 12, 2),
	PART(" boundary_size=", 10, 2),
	{0},
};
static const struct part regions[] = {PART_AS("regions=", 7, 2, PART_UNMAP_REGIONS), {0}};
static const struct part service_in[] = {
	PART(" lba=", 2, 8),
	PART(" alloc_len=", 10, 4),
	{0},
};
static const struct part maintenance[] = {PART(" alloc_len=", 6, 4), {0}};
static const struct part zones_in[] = {
	PART(" zone=", 2, 8),
	PART(" alloc_len=", 10, 4),
	PART_BITS(" options=", 14, 0, 0x3f),
	PART_BITS(" partial=", 14, 7, 1),
	{0},
};
static const struct part zones_out[] = {
	PART(" zone=", 2, 8),
	PART_BITS(" all=", 14, 0, 1),
	{0},
};
/* Behind the others of WRITE SAME. */
static const struct part same[] = {PART_BITS(" unmap=", 1, 3, 1), {0}};
static const struct part same32[] = {PART_BITS(" unmap=", 10, 3, 1), {0}};

/* Where the service action is: in byte 1, or in bytes 8 and 9 of a command of variable length. */
static const struct part action_16 = PART_BITS("", 1, 0, 0x1f);
static const struct part action_32 = PART("", 8, 2);

struct action {
	u16 number;
	const char *name; /* NULL = the end */
	const struct part *more; /* behind the parts of all actions; NULL = none */
};

static const struct action actions_32[] = {
	{0x09, "READ", NULL},
	{0x0a, "VERIFY", NULL},
	{0x0b, "WRITE", NULL},
	{0x0d, "WRITE_SAME", same32},
	{0},
};
static const struct action actions_service_in[] = {
	{0x10, "READ_CAPACITY_16", NULL},
	{0x12, "GET_LBA_STATUS", NULL},
	{0},
};
static const struct action actions_maintenance_in[] = {
	{0x05, "REPORT_IDENTIFYING_INFORMATION", NULL},
	{0x0a, "REPORT_TARGET_PORT_GROUPS", NULL},
	{0x0b, "REPORT_ALIASES", NULL},
	{0x0c, "REPORT_SUPPORTED_OPERATION_CODES", NULL},
	{0x0d, "REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS", NULL},
	{0x0e, "REPORT_PRIORITY", NULL},
	{0x0f, "REPORT_TIMESTAMP", NULL},
	{0x10, "MANAGEMENT_PROTOCOL_IN", NULL},
	{0},
};
static const struct action actions_maintenance_out[] = {
	{0x06, "SET_IDENTIFYING_INFORMATION", NULL},
	{0x0a, "SET_TARGET_PORT_GROUPS", NULL},
	{0x0b, "CHANGE_ALIASES", NULL},
	{0x0e, "SET_PRIORITY", NULL},
	{0x0f, "SET_TIMESTAMP", NULL},
	{0x10, "MANAGEMENT_PROTOCOL_OUT", NULL},
	{0},
};
static const struct action actions_zones_in[] = {{0x00, "REPORT_ZONES", NULL}, {0}};
static const struct action actions_zones_out[] = {
	{0x01, "CLOSE_ZONE", NULL},
	{0x02, "FINISH_ZONE", NULL},
	{0x03, "OPEN_ZONE", NULL},
	{0x04, "RESET_WRITE_POINTER", NULL},
	{0},
};

static const struct command {
	u8 opcode;
	const struct part *parts, *more; /* more: behind them; NULL = none */
	const struct action *actions; /* NULL = it has none */
	const struct part *action_at;
	const char *unknown; /* an action that is not in the list */
} commands[] = {
	{0x08, rw6, NULL, NULL, NULL, NULL}, /* READ_6 */
	{0x0a, rw6, NULL, NULL, NULL, NULL}, /* WRITE_6 */
	{0x28, rw10, NULL, NULL, NULL, NULL}, /* READ_10 */
	{0x2a, rw10, NULL, NULL, NULL, NULL}, /* WRITE_10 */
	{0x2f, rw10, NULL, NULL, NULL, NULL}, /* VERIFY */
	{0x41, rw10, same, NULL, NULL, NULL}, /* WRITE_SAME */
	{0x42, regions, NULL, NULL, NULL, NULL}, /* UNMAP */
	{0xa8, rw12, NULL, NULL, NULL, NULL}, /* READ_12 */
	{0xaa, rw12, NULL, NULL, NULL, NULL}, /* WRITE_12 */
	{0xaf, rw12, NULL, NULL, NULL, NULL}, /* VERIFY_12 */
	{0x88, rw16, NULL, NULL, NULL, NULL}, /* READ_16 */
	{0x8a, rw16, NULL, NULL, NULL, NULL}, /* WRITE_16 */
	{0x8f, rw16, NULL, NULL, NULL, NULL}, /* VERIFY_16 */
	{0x93, rw16, same, NULL, NULL, NULL}, /* WRITE_SAME_16 */
	{0x9c, atomic16, NULL, NULL, NULL, NULL}, /* WRITE_ATOMIC_16 */
	{0x7f, rw32, NULL, actions_32, &action_32, "-"},
	{0x9e, service_in, NULL, actions_service_in, &action_16, "UNKNOWN"},
	{0xa3, maintenance, NULL, actions_maintenance_in, &action_16, "UNKNOWN"},
	{0xa4, maintenance, NULL, actions_maintenance_out, &action_16, "UNKNOWN"},
	{0x95, zones_in, NULL, actions_zones_in, &action_16, "UNKNOWN"},
	{0x94, zones_out, NULL, actions_zones_out, &action_16, "UNKNOWN"},
};

static void print_action(const struct command *c, const struct pf_bytes *b, struct strbuf *out)
{
	const struct action *a = c->actions;
	u64 number;

	if (!part_value(c->action_at, b, true, &number)) {
		strbuf_addstr(out, "(bad)");
		return;
	}
	while (a->name && a->number != number)
		a++;
	strbuf_addstr(out, a->name ? a->name : c->unknown);
	if (!a->name)
		return;
	parts_print(c->parts, b, true, out);
	if (a->more)
		parts_print(a->more, b, true, out);
}

void driver_scsi_cdb(const struct pf_run *r, const u64 *numbers, const struct pf_bytes *b,
		     struct strbuf *out)
{
	const struct command *c = commands, *const end = c + ARRAY_SIZE(commands);

	if (!b->len) {
		strbuf_addstr(out, "(bad)");
		return;
	}
	while (c < end && c->opcode != b->at[0])
		c++;
	if (c == end) {
		strbuf_addch(out, '-');
	} else if (c->actions) {
		print_action(c, b, out);
	} else {
		parts_print(c->parts, b, true, out);
		if (c->more)
			parts_print(c->more, b, true, out);
	}
}
