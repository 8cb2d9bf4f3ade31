/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an index (binary/debug/index.h draws them): shared by its reader and its builder. */
#ifndef PANTRACE_BINARY_DEBUG_INDEX_FORMAT_H
#define PANTRACE_BINARY_DEBUG_INDEX_FORMAT_H

#include "base/hashmap.h"
#include "binary/debug/index.h"

#define INDEX_MAGIC "PTINDX3" /* changes with the format */

enum index_table_id {
	INDEX_UNITS,
	INDEX_RANGES,
	INDEX_PATHS,
	INDEX_USES,
	INDEX_NAMES,
	INDEX_SITES,
	INDEX_CODE,
	INDEX_DECLARED,
	INDEX_FORMS,
	INDEX_VARIABLES,
	INDEX_TYPES,
	INDEX_STRINGS,
	INDEX_TABLES,
};

struct index_range_row {
	u64 start, end;
	u32 unit, zero;
};
struct index_path_row {
	u32 path, uses;
};
struct index_name_row {
	u32 name, linkage, sites;
};
struct index_code_row {
	u64 start;
	u32 size, die;
};
struct index_declared_row {
	u32 line, path, die;
};
struct index_form_row {
	u32 hash, name;
};
struct index_die_row {
	u32 hash, name, die;
};

struct index_header {
	char magic[8];
	u64 len, checksum;
	struct index_identity of;
	struct {
		u64 at, bytes; /* at: a multiple of 8 */
	} tables[INDEX_TABLES];
};

static inline u32 index_hash(const char *s)
{
	return hash_bytes(s, strlen(s));
}

/* Of what lies behind it in the header, and of the rest; len is a multiple of 8. */
static inline u64 index_checksum(const u8 *data, size_t len)
{
	const size_t from = offsetof(struct index_header, of);
	u64 sum = len, word;

	for (size_t i = from; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, data + i, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15;
		sum ^= sum >> 32;
	}
	return sum;
}

#endif
