// SPDX-License-Identifier: MIT
/*
 * A CTF 1.8 trace from the rings: packets go out as they stand. What babeltrace2 refuses and
 * therefore is put right here: the last packet of a ring has no end yet, so its sizes and its last
 * time stamp come from its events.
 */
#include <errno.h>
#include <fcntl.h>
#include <pantrace/reader.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
	[PANTRACE_T_PTR] = "integer { size = 64; align = 8; signed = false; base = 16; }",
	[PANTRACE_T_BOOL] = "integer { size = 8; align = 8; signed = false; }",
};

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

static void put_field(FILE *file, const struct pantrace_field_type *field)
{
	const unsigned char type = field->type, element = type & (PANTRACE_T_SEQUENCE - 1);

	fputs("\t\t", file);
	if (type == PANTRACE_T_STRING) {
		fputs("string { encoding = UTF8; } _", file);
	} else if (type == PANTRACE_T_TEXT || type >= PANTRACE_T_SEQUENCE) {
		fprintf(file, "%s __", integer_types[PANTRACE_T_U16]);
		put_name(file, field->name);
		fprintf(file, "_length;\n\t\t%s _",
			type == PANTRACE_T_TEXT ?
				"integer { size = 8; align = 8; signed = false; encoding = UTF8; }" :
				integer_types[element]);
		put_name(file, field->name);
		fputs("[ __", file);
		put_name(file, field->name);
		fputs("_length ];\n", file);
		return;
	} else {
		fprintf(file, "%s _", integer_types[type]);
	}
	put_name(file, field->name);
	fputs(";\n", file);
}

static bool fields_good(const struct pantrace_event_type *type)
{
	static const unsigned char zeros[8];

	for (uint32_t i = 0; i < type->nr_fields; i++)
		if (pantrace_field_size(type->field[i].type, zeros, sizeof(zeros)) < 0)
			return false;
	return true;
}

static void put_event(FILE *file, const struct pantrace_event_type *type)
{
	fputs("event {\n\tname = \"", file);
	put_name(file, type->provider);
	fputc(':', file);
	put_name(file, type->name);
	fprintf(file, "\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct {\n", type->id);
	for (uint32_t i = 0; i < type->nr_fields; i++)
		put_field(file, &type->field[i]);
	fputs("\t};\n};\n\n", file);
}

static void put_uuid(FILE *file, const uint8_t uuid[16])
{
	for (int i = 0; i < 16; i++)
		fprintf(file, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void put_metadata(FILE *file, struct pantrace_reader *reader)
{
	const struct pantrace_shm *h = pantrace_reader_header(reader);
	/* the clock's origin: real time when the counter was 0, as seconds and ticks */
	const unsigned __int128 ticks =
		(unsigned __int128)h->realtime_start_ns * h->tsc_hz / 1000000000u;
	const unsigned __int128 offset = ticks > h->tsc_start ? ticks - h->tsc_start : 0;
	const struct pantrace_event_type *type;

	fputs("/* CTF 1.8 */\n\n"
	      "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n\n"
	      "trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"",
	      file);
	put_uuid(file, h->uuid);
	fputs("\";\n\tbyte_order = le;\n\tpacket.header := struct {\n"
	      "\t\tuint32_t magic;\n"
	      "\t\tinteger { size = 8; align = 8; signed = false; } uuid[16];\n"
	      "\t\tuint32_t stream_id;\n\t};\n};\n\nenv {\n"
	      "\tdomain = \"ust\";\n\ttracer_name = \"pantrace\";\n\ttracer_major = 0;\n"
	      "\ttracer_minor = 1;\n\tprocname = \"",
	      file);
	for (size_t i = 0; i < sizeof(h->comm) && h->comm[i]; i++) {
		const unsigned char c = (unsigned char)h->comm[i];

		fputc(c < ' ' || c == '"' || c == '\\' || c > '~' ? '_' : c, file);
	}
	fprintf(file,
		"\";\n\tvpid = %u;\n};\n\n"
		"clock {\n\tname = \"tsc\";\n\tdescription = \"time stamp counter\";\n"
		"\tfreq = %llu;\n\toffset_s = %llu;\n\toffset = %llu;\n\tabsolute = true;\n};\n\n"
		"typealias integer { size = 64; align = 8; signed = false; map = clock.tsc.value; } "
		":= tsc_t;\n\n",
		h->pid, (unsigned long long)h->tsc_hz, (unsigned long long)(offset / h->tsc_hz),
		(unsigned long long)(offset % h->tsc_hz));
	fputs("stream {\n\tid = 0;\n\tpacket.context := struct {\n"
	      "\t\ttsc_t timestamp_begin;\n\t\ttsc_t timestamp_end;\n"
	      "\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
	      "\t\tuint64_t packet_seq_num;\n\t\tuint64_t events_discarded;\n"
	      "\t\tuint64_t events_before;\n\t\tuint32_t cpu_id;\n\t\tuint32_t reserved;\n\t};\n"
	      "\tevent.header := struct {\n\t\ttsc_t timestamp;\n\t\tuint32_t id;\n"
	      "\t} align(64);\n};\n\n",
	      file);
	for (uint32_t id = 1; (type = pantrace_reader_type(reader, id)); id++)
		if (fields_good(type))
			put_event(file, type);
}

static int write_all(int fd, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		const ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

/* The packet with sizes that end at its last event, and a time stamp that covers it. */
static int put_packet(int fd, struct pantrace_reader *reader, const struct pantrace_packet_view *view)
{
	struct pantrace_packet packet = *view->packet;
	struct pantrace_event_view event;
	size_t at = sizeof(packet);
	int rc;

	if (!view->finished) {
		while ((rc = pantrace_reader_event(reader, view, &at, &event)) > 0)
			if (event.tsc > packet.timestamp_end)
				packet.timestamp_end = event.tsc;
		if (rc)
			return rc;
	}
	packet.content_size = view->size * 8;
	packet.packet_size = packet.content_size;
	rc = write_all(fd, &packet, sizeof(packet));
	return rc ? rc : write_all(fd, view->data + sizeof(packet), view->size - sizeof(packet));
}

static int put_ring(struct pantrace_reader *reader, uint32_t ring, int directory)
{
	struct pantrace_packet_view view;
	char name[32];
	int fd = -1, rc;

	while ((rc = pantrace_reader_packet(reader, ring, &view)) > 0) {
		if (fd < 0) {
			snprintf(name, sizeof(name), "ring_%u", ring);
			fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			if (fd < 0)
				return -errno;
		}
		rc = put_packet(fd, reader, &view);
		if (rc || !view.finished)
			break;
	}
	if (fd >= 0 && close(fd) && !rc)
		rc = -errno;
	return rc;
}

int pantrace_ctf_write(struct pantrace_reader *reader, const char *directory)
{
	int at, fd, rc = 0;
	FILE *file;

	if (mkdir(directory, 0700) && errno != EEXIST)
		return -errno;
	at = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	for (uint32_t i = 0; i < pantrace_reader_rings(reader) && !rc; i++)
		rc = put_ring(reader, i, at);
	/* after the packets: it knows every event that they hold */
	fd = openat(at, "metadata", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		rc = rc ? rc : -errno;
		if (fd >= 0)
			close(fd);
	} else {
		put_metadata(file, reader);
		if (fclose(file) && !rc)
			rc = -errno;
	}
	close(at);
	return rc;
}
