// SPDX-License-Identifier: MIT
/* Reads the descriptions of events and objects in a ring file, which its writer may extend. */
#include "metadata.h"
#include <stdlib.h>
#include <string.h>

static struct pantrace_event_type *type_make(const struct pantrace_event_record *record,
					     uint32_t size)
{
	const uint32_t strings = size - (uint32_t)sizeof(*record);
	const uint32_t nr_fields = __atomic_load_n(&record->nr_fields, __ATOMIC_RELAXED);
	/* no more than it needs: a record takes as few as 24 bytes */
	const size_t fixed = offsetof(struct pantrace_event_type, field) +
			     nr_fields * sizeof(struct pantrace_field_type);
	struct pantrace_event_type *type;
	const char *p, *end;

	if (nr_fields > PANTRACE_FIELDS)
		return NULL;
	type = calloc(1, fixed + strings + 1);
	if (!type)
		return NULL;
	memcpy((char *)type + fixed, record->strings, strings); /* with a NUL behind */
	p = (const char *)type + fixed;
	end = p + strings;
	type->id = record->id;
	type->nr_fields = nr_fields;
	type->level = record->level;
	type->provider = p;
	p += strlen(p) + 1;
	if (p >= end)
		goto bad;
	type->name = p;
	p += strlen(p) + 1;
	for (uint32_t i = 0; i < type->nr_fields; i++) {
		if (p >= end)
			goto bad;
		type->field[i].type = (unsigned char)*p++;
		type->field[i].name = p;
		type->field[i].extra = "";
		p += strlen(p) + 1;
		if (!pantrace_type_has_extra(type->field[i].type))
			continue;
		if (p >= end)
			goto bad;
		type->field[i].extra = p;
		type->field[i].count = (uint32_t)strtoul(p, NULL, 10);
		p += strlen(p) + 1;
	}
	return type;
bad:
	free(type);
	return NULL;
}

/* Records of other kinds than events; unknown kinds are skipped. */
static bool other_read(struct pt_metadata *meta, const struct pantrace_event_record *record,
		       uint32_t size)
{
	struct pantrace_object_record *object, **more;

	if (record->nr_fields != PANTRACE_RECORD_OBJECT || size < sizeof(*object))
		return true;
	object = malloc(size + 1u);
	more = realloc(meta->objects, (meta->nr_objects + 1) * sizeof(*more));
	if (more)
		meta->objects = more;
	if (!object || !more) {
		free(object);
		return false;
	}
	memcpy(object, record, size);
	((char *)object)[size] = 0;
	if (object->build_id_size > sizeof(object->build_id))
		object->build_id_size = 0;
	more[meta->nr_objects++] = object;
	return true;
}

void pt_metadata_read(struct pt_metadata *meta, const char *map, const struct pantrace_shm *header)
{
	const struct pantrace_shm *shared = (const void *)map;
	uint64_t used = __atomic_load_n(&shared->meta_used, __ATOMIC_ACQUIRE);

	if (used > header->meta_size)
		used = header->meta_size;
	if (used < meta->read)
		return; /* a writer never shortens this */
	while (used - meta->read >= sizeof(struct pantrace_event_record)) {
		const struct pantrace_event_record *record =
			(const void *)(map + header->meta_off + meta->read);
		const uint32_t size = __atomic_load_n(&record->size, __ATOMIC_RELAXED);
		struct pantrace_event_type *type, **more;

		if (size < sizeof(*record) || size > used - meta->read || (size & 7))
			return;
		if (!record->id) {
			if (!other_read(meta, record, size))
				return;
			meta->read += size;
			continue;
		}
		type = type_make(record, size);
		/* ids count from 1 in the order of the records */
		if (!type || type->id != meta->nr_types + 1) {
			free(type);
			return;
		}
		more = realloc(meta->types, (meta->nr_types + 1) * sizeof(*more));
		if (!more) {
			free(type);
			return;
		}
		meta->types = more;
		meta->types[meta->nr_types++] = type;
		meta->read += size;
	}
}

void pt_metadata_release(struct pt_metadata *meta)
{
	for (uint32_t i = 0; i < meta->nr_types; i++)
		free(meta->types[i]);
	free(meta->types);
	for (uint32_t i = 0; i < meta->nr_objects; i++)
		free(meta->objects[i]);
	free(meta->objects);
}
