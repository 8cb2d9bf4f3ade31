/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the metadata of a CTF 1.8 trace says (TSDL; https://diamon.org/ctf/v1.8.3/). Types live in
 * the arena of the metadata and are constant once it is parsed. Anybody's file: names, depths,
 * counts and sizes are bounded.
 *
 * CTF fields have lengths and alternatives that only the data tells and lie at any bit, which
 * struct type (types/type.h) has no words for.
 */
#ifndef PANTRACE_TRACE_CTF_METADATA_H
#define PANTRACE_TRACE_CTF_METADATA_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/vector.h"

enum ctf_kind {
	CTF_INTEGER,
	CTF_FLOAT,
	CTF_ENUM,
	CTF_STRING,
	CTF_STRUCT,
	CTF_VARIANT,
	CTF_ARRAY,
	CTF_SEQUENCE
};

enum ctf_byte_order { CTF_NATIVE, CTF_LITTLE, CTF_BIG };

struct ctf_clock {
	const char *name;
	u64 frequency, offset_s, offset;
	bool absolute;
	u8 uuid[16];
	bool has_uuid;
};

struct ctf_mapping {
	const char *label;
	s64 low, high; /* as u64 when the container is unsigned */
};

/*
 * Where the length of a sequence or the tag of a variant was decoded to: a number that the metadata
 * counts up.
 */
#define CTF_NO_SLOT UINT32_MAX

struct ctf_field {
	const char *name; /* as written */
	const char *shown; /* without the first underscore */
	const struct ctf_type *type;
	u32 slot; /* its value is wanted later; else CTF_NO_SLOT */
};

struct ctf_type {
	enum ctf_kind kind;
	u32 align; /* bits, a power of two */
	u32 size; /* bits: integers 1..64, floating point 32 or 64 */
	bool is_signed, is_text; /* integers: is_text when an encoding is given */
	u8 base; /* 2, 8, 10, 16 */
	enum ctf_byte_order byte_order;
	const char *clock; /* integers that are time: the clock's name */
	const struct ctf_type *element; /* arrays, sequences; the container of an enum */
	u32 count; /* arrays: elements; else fields, options or mappings */
	struct ctf_field *fields; /* structs, variants */
	const struct ctf_mapping *mappings;
	/* sequences, variants: text of the reference, NULL = still open */
	const char *reference;
	u32 reference_slot;
	const struct ctf_type *tag; /* variants: the enum */
	/* variants: for each mapping of the tag the option, -1 = none */
	const s32 *option_of;
	u32 least; /* bits of the shortest value; 0 may be too low a bound */
	/* values and structs that one value consists of, without repetition; 0 = not resolved */
	u32 weight;
};

struct ctf_event_class {
	const char *name;
	u64 id;
	s64 loglevel;
	bool has_loglevel;
	u64 stream_id;
	const struct ctf_type *context, *fields; /* structs or NULL */
	struct ctf_stream_class *stream;
	struct ctf_program *program; /* of trace/ctf/print.h: how it is printed */
	struct recorded_kind *kind; /* of trace/recording.h */
};

struct ctf_stream_class {
	u64 id;
	const struct ctf_type *packet_context, *event_header, *event_context;
	VECTOR(struct ctf_event_class *) events;
	struct ctf_event_class **by_id; /* events with small ids; NULL where there is none */
	u32 nr_by_id;
};

struct ctf_env {
	const char *name;
	const char *text; /* NULL: number */
	s64 number;
};

struct ctf_metadata {
	struct arena arena;
	u32 minor;
	enum ctf_byte_order byte_order;
	bool has_uuid;
	u8 uuid[16];
	const struct ctf_type *packet_header;
	VECTOR(struct ctf_stream_class *) streams;
	VECTOR(struct ctf_event_class *) all_events;
	VECTOR(struct ctf_clock *) clocks;
	VECTOR(struct ctf_env) env;
	u32 nr_slots;
};

/*
 * Parses a metadata file, plain or in packets. NULL with the reason and the line in d. The text is
 * not used afterwards.
 */
struct ctf_metadata *ctf_metadata_parse(const char *name, const char *data, size_t size,
					struct diag *d);
void ctf_metadata_release(struct ctf_metadata *m);
const struct ctf_env *ctf_metadata_env(const struct ctf_metadata *m, const char *name);
struct ctf_stream_class *ctf_metadata_stream(const struct ctf_metadata *m, u64 id);
struct ctf_event_class *ctf_stream_event(const struct ctf_stream_class *s, u64 id);
const struct ctf_clock *ctf_metadata_clock(const struct ctf_metadata *m, const char *name);

/* Inside: after the text is parsed (trace/ctf/resolve.c). 0 or -EINVAL with the reason in d. */
int ctf_metadata_resolve(struct ctf_metadata *m, struct diag *d);

#endif
