/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions of drivers that print formats call to take a device's command apart. They are functions
 * of the record alone, so the commands are tables here: scsi and nvme (trace/print_format/disk.c),
 * libata (trace/print_format/ata.c). Reads, writes and discards are taken apart, other commands are
 * bytes in hex.
 */
#ifndef PANTRACE_TRACE_PRINT_FORMAT_DRIVER_H
#define PANTRACE_TRACE_PRINT_FORMAT_DRIVER_H

#include "trace/print_format/internal.h"

enum part_style {
	PART_DECIMAL,
	PART_HEX, /* 0x... */
	PART_BLOCKS_6, /* 0 blocks are 256 (SBC-2, READ(6)) */
	/* parameter list length -> block descriptors of 16 bytes after a head of 8 */
	PART_UNMAP_REGIONS,
};

/* A number in a command. */
struct part {
	const char *label; /* NULL = the end */
	u8 at, size; /* bytes of the command */
	u8 shift;
	u32 mask; /* after the shift; 0 = all */
	u8 style;
};

#define PART(label, at, size)                       \
	{                                           \
		label, at, size, 0, 0, PART_DECIMAL \
	}
#define PART_AS(label, at, size, style)      \
	{                                    \
		label, at, size, 0, 0, style \
	}
#define PART_BITS(label, at, shift, mask)               \
	{                                               \
		label, at, 1, shift, mask, PART_DECIMAL \
	}

/* "(bad)" for what lies beyond the command's bytes. */
void parts_print(const struct part *p, const struct pf_bytes *b, bool big_endian,
		 struct strbuf *out);

/* The numbers of a call in their order; bytes: the one argument that is not a number. */
typedef void driver_printer(const struct pf_run *r, const u64 *numbers,
			    const struct pf_bytes *bytes, struct strbuf *out);

driver_printer driver_scsi_cdb;
driver_printer driver_ata_status, driver_ata_host_stat, driver_ata_error, driver_ata_qc_flags,
	driver_ata_tf_flags, driver_ata_subcommand;
driver_printer driver_nvme_admin, driver_nvme_io, driver_nvme_fabrics, driver_nvme_disk,
	driver_nvmet_controller;

#endif
