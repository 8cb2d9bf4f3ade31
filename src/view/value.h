/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One value of the language, as text or JSON, by its type. Layouts of values: types/type.h.
 *
 * Strings that come from the traced world are escaped for the terminal here, where it is still
 * known which bytes are theirs and which are the script's own (a script may print colours; a
 * process name may not). With `raw` nothing is escaped: the caller wraps the whole text in a JSON
 * string.
 */
#ifndef PANTRACE_VIEW_VALUE_H
#define PANTRACE_VIEW_VALUE_H

#include "base/hashmap.h"
#include "base/json.h"
#include "binary/process/symbolize.h"
#include "types/type.h"
#include "view/sink.h"

#define VALUE_MAX_FRAMES 1024u

/*
 * What a value refers to: names, stacks, symbols. Everything is asked only when such a value is
 * printed.
 */
struct value_printer {
	struct type_store *types;
	const char *trunc_trailer; /* after strings that were cut; NULL = nothing */
	u32 max_strlen; /* strings of this size can have been */
	const char *const *probe_names; /* TYPE_PROBE_NAME */
	size_t nprobe_names;
	const char *const *strings; /* TYPE_TIMESTAMP formats, TYPE_CGROUP_PATH filters */
	size_t nstrings;
	bool raw;
	/* newlines and tabs in strings are escaped, too: the text is a cell of a table */
	bool one_line;
	bool show_inlines; /* user frames with the functions inlined there */
	bool show_debug_info; /* frames with @file:line */
	bool is_compatible; /* as bpftrace does even where that is less than could be said */
	void *arg;
	struct symbolizer *(*symbols)(void *arg); /* made on first use; NULL result = no symbols */
	/* Over recordings: names of frames, in place of symbols; false: unknown. NULL = live */
	bool (*frame)(void *arg, bool is_user, u32 process, u64 address, struct symbol_name *ret);
	void *frame_arg;
	/* Frames of a stack by its id; returns how many, 0 = not found. */
	u32 (*stack)(void *arg, bool is_user, u64 id, u64 *frames, u32 max);
	void (*cgroup_path)(void *arg, struct strbuf *out, u64 id, const char *filter);
	struct hashmap users; /* uid -> name, read from /etc/passwd once */
	bool have_users;
	struct disk_names *disks; /* made on first use */
	u32 nesting, members; /* of the record that is printed: how deep, how many so far */
	s64 boot_offset_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME */
	s64 mono_offset_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	bool have_offsets;
};

void value_printer_release(struct value_printer *p);

/* data holds at least t->size bytes. */
void value_text(struct value_printer *p, struct strbuf *out, const struct type *t,
		const void *data);
void value_json(struct value_printer *p, struct json *j, const struct type *t, const void *data);
void value_add(struct value_printer *p, const struct medium *to, const struct type *t,
	       const void *data);
/* The members of a key list (@x[a, b]) or the key itself. JSON: without quotes, not escaped. */
void value_key_text(struct value_printer *p, struct strbuf *out, const struct type *t, bool is_list,
		    const void *data);
void value_key_json(struct value_printer *p, struct strbuf *out, const struct type *t,
		    const void *data);

/* An integer (also enum, bool, pointer, bit-field) widened to 64 bits. */
s64 value_integer(const struct type *t, const void *data);
s64 value_bit_field(const struct type_member *m, const void *record);
/* Bytes of a TYPE_BUFFER as %r, %rx and %rh print them. */
void value_buffer_text(struct strbuf *out, const u8 *data, size_t n, bool keep_ascii, bool with_x);
/* strftime() with %f (microseconds), %k (nanoseconds) and %l (milliseconds), local time. */
void time_text(struct strbuf *out, const char *format, u64 realtime_ns);

#endif
