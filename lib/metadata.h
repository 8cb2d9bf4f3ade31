/* SPDX-License-Identifier: MIT */
#ifndef PANTRACE_LIB_METADATA_H
#define PANTRACE_LIB_METADATA_H

#include <pantrace/reader.h>

struct pt_metadata {
	struct pantrace_event_type **types; /* by id - 1 */
	uint32_t nr_types;
	struct pantrace_object_record **objects;
	uint32_t nr_objects;
	uint64_t read; /* bytes read so far */
};

/*
 * Reads the records that were added since the last call. map: the ring file; header: a checked copy
 * of its header. Stops at the first record that is damaged.
 */
__attribute__((visibility("hidden"))) void
pt_metadata_read(struct pt_metadata *meta, const char *map, const struct pantrace_shm *header);
__attribute__((visibility("hidden"))) void pt_metadata_release(struct pt_metadata *meta);

#endif
