// SPDX-License-Identifier: MIT
/*
 * The metadata of a CTF 1.8 trace. The text only grows, event by event, so that a reader that
 * follows a trace can go on where it was.
 */
#include <errno.h>
#include <pantrace/reader.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "ctf.h"

#define HEX(size, is_signed) \
	"integer { size = " #size "; align = 8; signed = " #is_signed "; base = 16; }"
#define U64_HEX HEX(64, false)

static const char *const integer_types[PANTRACE_T_STRING] = {
	[PANTRACE_T_I8] = "integer { size = 8; align = 8; signed = true; }",
	[PANTRACE_T_U8] = "integer { size = 8; align = 8; signed = false; }",
	[PANTRACE_T_I16] = "integer { size = 16; align = 8; signed = true; }",
	[PANTRACE_T_U16] = "integer { size = 16; align = 8; signed = false; }",
	[PANTRACE_T_I32] = "integer { size = 32; align = 8; signed = true; }",
	[PANTRACE_T_U32] = "integer { size = 32; align = 8; signed = false; }",
	[PANTRACE_T_I64] = "integer { size = 64; align = 8; signed = true; }",
	[PANTRACE_T_U64] = "integer { size = 64; align = 8; signed = false; }",
	[PANTRACE_T_F32] = "floating_point { exp_dig = 8; mant_dig = 24; align = 8; }",
	[PANTRACE_T_F64] = "floating_point { exp_dig = 11; mant_dig = 53; align = 8; }",
	[PANTRACE_T_PTR] = U64_HEX,
	[PANTRACE_T_BOOL] = "integer { size = 8; align = 8; signed = false; }",
};

static const char *const hex_types[PANTRACE_T_U64 + 1] = {
	[PANTRACE_T_I8] = HEX(8, true),	  [PANTRACE_T_U8] = HEX(8, false),
	[PANTRACE_T_I16] = HEX(16, true), [PANTRACE_T_U16] = HEX(16, false),
	[PANTRACE_T_I32] = HEX(32, true), [PANTRACE_T_U32] = HEX(32, false),
	[PANTRACE_T_I64] = HEX(64, true), [PANTRACE_T_U64] = U64_HEX,
};

/* What a field of TYPE, or each of its elements, is: an integer or a floating point number. */
static const char *element_type(unsigned char type)
{
	const unsigned char element = type & PANTRACE_T_ELEMENT;

	return type & PANTRACE_T_HEX ? hex_types[element] : integer_types[element];
}

/* Names go between quotes and into identifiers: anything else becomes '_'. */
static void put_name(FILE *file, const char *name)
{
	for (; *name; name++) {
		const char c = *name;
		const int good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				 (c >= '0' && c <= '9') || c == '_';

		fputc(good ? c : '_', file);
	}
}

/*
 * The value that a field of the integer TYPE holds after VALUE was stored in it. False: it cannot
 * hold it, or readers do not accept it. Trace Compass refuses the whole trace for one value outside
 * the range of its integer, or beyond 63 bits and a sign.
 */
static bool enum_value(unsigned char type, long long value, long long *ret)
{
	const bool is_signed = type <= PANTRACE_T_U64 && type & 1;
	const unsigned int bits = type <= PANTRACE_T_U64   ? 8u << (type - 1) / 2
				  : type == PANTRACE_T_PTR ? 64
							   : 8;
	const long long values = bits < 64 ? 1ll << bits : 0;

	*ret = value;
	if (bits == 64)
		return is_signed ? value > INT64_MIN : value >= 0;
	if (value < -values / 2 || value >= values)
		return false;
	*ret = value & (values - 1);
	if (is_signed && *ret >= values / 2)
		*ret -= values;
	return true;
}

/*
 * enum { "red" = 0, ... }: the names of EXTRA, quoted; a repeated value has several. Without any it
 * is the integer.
 */
static void put_enum(FILE *file, const struct pantrace_field_type *field)
{
	const unsigned char type = field->type & PANTRACE_T_ELEMENT;
	const char *const integer = integer_types[type];
	const char *p = type == PANTRACE_T_F32 || type == PANTRACE_T_F64 ? "" : field->extra;
	unsigned int n = 0;

	while (*p) {
		const char *const name = p, *const end = p + strcspn(p, "=");
		char *rest = (char *)end;
		const long long given = *end ? strtoll(end + 1, &rest, 10) : 0;
		const bool is_range = !strncmp(rest, "...", 3);
		const long long until = is_range ? strtoll(rest + 3, &rest, 10) : given;
		long long value, last;

		p = rest + strcspn(rest, ",");
		p += *p == ',';
		if (!enum_value(type, given, &value) || !enum_value(type, until, &last) ||
		    value > last)
			continue;
		if (!n++)
			fprintf(file, "enum : %s { \"", integer);
		else
			fputs(", \"", file);
		for (const char *c = name; c < end; c++)
			fputc(*c < ' ' || *c == '"' || *c == '\\' || *c > '~' ? '_' : *c, file);
		fprintf(file, "\" = %lld", value);
		if (is_range)
			fprintf(file, " ... %lld", last);
	}
	fputs(n ? " } _" : integer, file);
	fputs(n ? "" : " _", file);
}

static bool has_length(const struct pantrace_field_type *field)
{
	return field->type == PANTRACE_T_TEXT ||
	       (field->type & PANTRACE_T_KIND) == PANTRACE_T_SEQUENCE;
}

/*
 * Whether the field NAME and the length of OF, with COUNT underscores in front, could be confused.
 */
static bool alike(const char *name, const char *of, size_t count)
{
	const size_t here = strspn(name, "_"), there = strspn(of, "_");
	const size_t n = strlen(of + there);

	/* one '_' more or less is no difference: see name_taken() in event.c */
	return here + 2 >= there + count && there + count >= here &&
	       !strncmp(name + here, of + there, n) && !strcmp(name + here + n, "_length");
}

/*
 * The length of a text or sequence NAME is called __NAME_length: with two underscores, or as many
 * as make it differ from all fields.
 */
static size_t length_bars(const struct pantrace_event_type *type)
{
	size_t count = 2;

	for (uint32_t i = 0; i < type->nr_fields; i++)
		for (uint32_t j = 0; has_length(&type->field[i]) && j < type->nr_fields; j++)
			if (alike(type->field[j].name, type->field[i].name, count)) {
				count++;
				i = UINT32_MAX; /* from the first again */
				break;
			}
	return count;
}

static void put_length_name(FILE *file, const struct pantrace_field_type *field, size_t bars)
{
	while (bars--)
		fputc('_', file);
	put_name(file, field->name);
	fputs("_length", file);
}

static void put_field(FILE *file, const struct pantrace_field_type *field, size_t bars)
{
	const unsigned char type = field->type, kind = type & PANTRACE_T_KIND;

	fputs("\t\t", file);
	if (type == PANTRACE_T_STRUCT) {
		fputs("struct {\n", file); /* its name is after its members: put_event() */
		return;
	} else if (type == PANTRACE_T_STRING) {
		fputs("string { encoding = UTF8; } _", file);
	} else if (kind == PANTRACE_T_ENUM) {
		put_enum(file, field);
	} else if (kind == PANTRACE_T_ARRAY) {
		fprintf(file, "%s _", element_type(type));
		put_name(file, field->name);
		fprintf(file, "[ %u ];\n", field->count);
		return;
	} else if (has_length(field)) {
		fprintf(file, "%s ", integer_types[PANTRACE_T_U16]);
		put_length_name(file, field, bars);
		fprintf(file, ";\n\t\t%s _",
			type == PANTRACE_T_TEXT ? "integer { size = 8; align = 8; signed = false; "
						  "encoding = UTF8; }"
						: element_type(type));
		put_name(file, field->name);
		fputs("[ ", file);
		put_length_name(file, field, bars);
		fputs(" ];\n", file);
		return;
	} else {
		fprintf(file, "%s _", element_type(type));
	}
	put_name(file, field->name);
	fputs(";\n", file);
}

void pt_ctf_put_quoted(FILE *file, const char *text, size_t size)
{
	fputc('"', file);
	for (size_t i = 0; i < size && text[i]; i++) {
		const unsigned char c = (unsigned char)text[i];

		fputc(c < ' ' || c == '"' || c == '\\' || c > '~' ? '_' : c, file);
	}
	fputc('"', file);
}

static void put_event_name(FILE *file, const struct pantrace_event_type *type)
{
	if (!*type->provider) {
		pt_ctf_put_quoted(file, type->name, strlen(type->name));
		return;
	}
	fputc('"', file);
	put_name(file, type->provider);
	fputc(':', file);
	put_name(file, type->name);
	fputc('"', file);
}

/* All types known, structures closed. */
static bool fields_good(const struct pantrace_event_type *type)
{
	static const unsigned char zeros[8];
	int depth = 0;

	for (uint32_t i = 0; i < type->nr_fields; i++) {
		struct pantrace_field_type field = type->field[i];

		if (field.count > 1)
			field.count = 1;
		if (pantrace_field_size(&field, zeros, sizeof(zeros)) < 0)
			return false;
		depth += (field.type == PANTRACE_T_STRUCT) - (field.type == PANTRACE_T_STRUCT_END);
		if (depth < 0 || depth > 8)
			return false;
	}
	return !depth;
}

void pt_ctf_put_event(FILE *file, const struct pantrace_event_type *type)
{
	const size_t bars = length_bars(type);
	const char *open[8] = {""};
	unsigned int depth = 0;

	fputs("event {\n\tname = ", file);
	put_event_name(file, type);
	fprintf(file, ";\n\tid = %u;\n\tstream_id = 0;\n\tloglevel = %u;\n\tfields := struct {\n",
		type->id, type->level);
	for (uint32_t i = 0; i < type->nr_fields; i++) {
		const struct pantrace_field_type *const field = &type->field[i];

		if (field->type == PANTRACE_T_STRUCT)
			open[depth++ & 7] = field->name;
		if (field->type != PANTRACE_T_STRUCT_END) {
			put_field(file, field, bars);
			continue;
		}
		fputs("\t\t} _", file);
		put_name(file, open[--depth & 7]);
		fputs(";\n", file);
	}
	fputs("\t};\n};\n\n", file);
}

static void put_uuid(FILE *file, const uint8_t uuid[16])
{
	for (int i = 0; i < 16; i++)
		fprintf(file, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static const char *const context_fields[PANTRACE_CONTEXT_MAX] = {
	[PANTRACE_CONTEXT_VPID] = "\t\tint32_t _vpid;\n",
	[PANTRACE_CONTEXT_VTID] = "\t\tint32_t _vtid;\n",
	[PANTRACE_CONTEXT_PROCNAME] = "\t\tinteger { size = 8; align = 8; signed = true; encoding "
				      "= UTF8; } _procname[16];\n",
	[PANTRACE_CONTEXT_CPU_ID] = "\t\tuint32_t _cpu_id;\n",
	[PANTRACE_CONTEXT_CONTEXT_SWITCHES] = "\t\tuint64_t _perf_thread_context_switches;\n",
	[PANTRACE_CONTEXT_PAGE_FAULTS] = "\t\tuint64_t _perf_thread_page_faults;\n",
	[PANTRACE_CONTEXT_IP] = "\t\t" U64_HEX " _ip;\n",
	[PANTRACE_CONTEXT_USER_STACK] =
		"\t\tinteger { size = 16; align = 8; signed = false; } __callstack_user_length;\n"
		"\t\t" U64_HEX " _callstack_user[ __callstack_user_length ];\n",
};

static void put_contexts(FILE *file, uint64_t mask)
{
	for (; mask; mask &= mask - 1)
		fputs(context_fields[__builtin_ctzll(mask)], file);
}

static void put_env(FILE *file, const struct pantrace_shm *h)
{
	const time_t start = (time_t)(h->realtime_start_ns / 1000000000u);
	struct utsname system;
	struct tm tm;
	char date[32];

	fputs("\tdomain = \"ust\";\n\ttracer_name = \"pantrace\";\n\ttracer_major = 0;\n"
	      "\ttracer_minor = 1;\n\tarchitecture_bit_width = 64;\n\tprocname = ",
	      file);
	pt_ctf_put_quoted(file, h->comm, sizeof(h->comm));
	fprintf(file, ";\n\tvpid = %u;\n", h->pid);
	if (!uname(&system)) {
		fputs("\thostname = ", file);
		pt_ctf_put_quoted(file, system.nodename, sizeof(system.nodename));
		fputs(";\n", file);
	}
	if (gmtime_r(&start, &tm) && strftime(date, sizeof(date), "%Y%m%dT%H%M%S+0000", &tm))
		fprintf(file, "\ttrace_creation_datetime = \"%s\";\n", date);
}

/* Stream 1: which objects were loaded where. Its events are the library's own. */
static void put_objects(FILE *file)
{
	static const char *const names[] = {"load", "unload"};

	for (unsigned int i = 0; i < 2; i++)
		fprintf(file,
			"event {\n\tname = \"pantrace:object_%s\";\n\tid = %u;\n\tstream_id = 1;\n"
			"\tfields := struct {\n\t\t%s _base;\n\t\t%s _start;\n\t\t%s _end;\n"
			"\t\tstring { encoding = UTF8; } _build_id;\n"
			"\t\tstring { encoding = UTF8; } _path;\n\t};\n};\n\n",
			names[i], i, U64_HEX, U64_HEX, U64_HEX);
}

void pt_ctf_put_stream(FILE *file, unsigned int id, const char *contexts)
{
	fprintf(file,
		"stream {\n\tid = %u;\n\tpacket.context := struct {\n"
		"\t\ttsc_t timestamp_begin;\n\t\ttsc_t timestamp_end;\n"
		"\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
		"\t\tuint64_t packet_seq_num;\n\t\tuint64_t events_discarded;\n"
		"\t\tuint32_t cpu_id;\n\t};\n"
		"\tevent.header := struct {\n\t\ttsc_t timestamp;\n\t\tuint32_t id;\n"
		"\t} align(64);\n",
		id);
	if (*contexts)
		fprintf(file, "\tevent.context := struct {\n%s\t};\n", contexts);
	fputs("};\n\n", file);
}

void pt_ctf_put_head(FILE *file, const uint8_t uuid[16], const char *env,
		     const struct pt_ctf_clock *clock)
{
	fputs("/* CTF 1.8 */\n\n"
	      "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	      "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n\n"
	      "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"",
	      file);
	put_uuid(file, uuid);
	fprintf(file,
		"\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
		"\t\tuint32_t magic;\n"
		"\t\tinteger { size = 8; align = 8; signed = false; } uuid[16];\n"
		"\t\tuint32_t stream_id;\n\t};\n};\n\n"
		"env {\n%s};\n\n"
		"clock {\n\tname = \"%s\";\n\tdescription = \"%s\";\n"
		"\tfreq = %-12llu;\n\toffset_s = %-12lld;\n\toffset = %-12llu;\n"
		"\tabsolute = %s;\n};\n\n"
		"typealias integer { size = 64; align = 8; signed = false; map = clock.%s.value; } "
		":= tsc_t;\n\n",
		env, clock->name, clock->description, (unsigned long long)clock->hz,
		(long long)clock->offset_s, (unsigned long long)clock->offset,
		clock->absolute ? "true" : "false", clock->name);
}

static int text_of(const struct pantrace_shm *h, void (*put)(FILE *, const struct pantrace_shm *),
		   char **ret)
{
	size_t size;
	FILE *file = open_memstream(ret, &size);

	if (!file)
		return -ENOMEM;
	put(file, h);
	return fclose(file) ? -ENOMEM : 0;
}

static void put_contexts_of(FILE *file, const struct pantrace_shm *h)
{
	put_contexts(file, h->contexts);
}

static int put_begin(FILE *file, const struct pantrace_shm *h)
{
	/* the clock's origin: the real time at counter 0, as seconds and ticks */
	const unsigned __int128 ticks =
		(unsigned __int128)h->realtime_start_ns * h->tsc_hz / 1000000000u;
	const unsigned __int128 offset = ticks > h->tsc_start ? ticks - h->tsc_start : 0;
	/* the rate that CLOCK_MONOTONIC had when the session began */
	const struct pt_ctf_clock clock = {.name = "tsc",
					   .description = "time stamp counter",
					   .hz = h->tsc_hz,
					   .offset_s = (int64_t)(offset / h->tsc_hz),
					   .offset = (uint64_t)(offset % h->tsc_hz),
					   .absolute = true};
	char *env = NULL, *contexts = NULL;
	int rc = text_of(h, put_env, &env);

	if (!rc)
		rc = text_of(h, put_contexts_of, &contexts);
	if (!rc) {
		pt_ctf_put_head(file, h->uuid, env, &clock);
		pt_ctf_put_stream(file, 0, contexts);
		pt_ctf_put_stream(file, 1, "");
		put_objects(file);
	}
	free(env);
	free(contexts);
	return rc;
}

int pantrace_ctf_metadata_from(struct pantrace_reader *reader, uint32_t *at, char **ret_text,
			       size_t *ret_size)
{
	const struct pantrace_event_type *type;
	uint32_t id = *at ? *at : 1;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int rc = 0;

	if (!file)
		return -ENOMEM;
	if (!*at)
		rc = put_begin(file, pantrace_reader_header(reader));
	for (; (type = pantrace_reader_type(reader, id)); id++)
		if (fields_good(type))
			pt_ctf_put_event(file, type);
	if (fclose(file))
		rc = -ENOMEM;
	if (rc) {
		free(text);
		return rc;
	}
	*at = id;
	*ret_text = text;
	*ret_size = size;
	return 0;
}

int pantrace_ctf_metadata(struct pantrace_reader *reader, char **ret_text, size_t *ret_size)
{
	uint32_t at = 0;

	return pantrace_ctf_metadata_from(reader, &at, ret_text, ret_size);
}
