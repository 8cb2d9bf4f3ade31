/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any bytes as the packets of a trace, whose metadata is one of two: ours, and one with every kind
 * of field; or, behind a length, the input's own.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/ctf/field.h"
#include "trace/ctf/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const metadata[] = {
	"/* CTF 1.8 */ typealias integer { size = 64; align = 8; signed = false; map = "
	"clock.t.value; } := t64;\n"
	"typealias integer { size = 64; align = 8; signed = false; } := u64; typealias integer { "
	"size = 32; align = 8; signed = false; } := u32;\n"
	"trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; u32 "
	"stream_id; }; };\n"
	"clock { name = t; freq = 2596123456; offset_s = 1700000000; offset = 5; };\n"
	"stream { id = 0; packet.context := struct { t64 timestamp_begin; t64 timestamp_end; u64 "
	"content_size; u64 packet_size;\n"
	"u64 packet_seq_num; u64 events_discarded; u32 cpu_id; }; event.header := struct { t64 "
	"timestamp; u32 id; } align(64); };\n"
	"event { name = \"a:b\"; id = 1; stream_id = 0; fields := struct { u32 _i; string _s; u32 "
	"__n; u64 _a[__n]; }; };\n",
	"/* CTF 1.8 */ typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
	"typealias integer { size = 27; align = 1; signed = false; map = clock.t.value; } := t27;\n"
	"typealias integer { size = 64; align = 8; signed = false; map = clock.t.value; } := t64;\n"
	"typealias integer { size = 5; align = 1; signed = false; } := u5; typealias integer { "
	"size = 13; align = 1; signed = true; byte_order = be; } := s13;\n"
	"trace { major = 1; minor = 8; byte_order = be; packet.header := struct { u8 stream_id; }; "
	"};\n"
	"clock { name = t; freq = 1000000000; };\n"
	"stream { id = 0; event.header := struct { enum : u5 { compact = 0 ... 30, extended = 31 } "
	"id; variant <id> {\n"
	"struct { t27 timestamp; } compact; struct { u8 id; t64 timestamp; } extended; } v; } "
	"align(8); event.context := struct { u8 c; }; };\n"
	"event { name = one; id = 0; stream_id = 0; fields := struct { s13 _x; u5 n; "
	"floating_point { exp_dig = 8; mant_dig = 24; align = 1; } f;\n"
	"enum e : u8 { \"r\" = 0, b = 2 ... 5, z } tag; variant <tag> { string r; struct { u8 len; "
	"u8 bytes[len][2]; } b; u8 z; } v;\n"
	"integer { size = 8; align = 8; encoding = UTF8; } text[stream.event.context.c]; u8 "
	"fixed[3]; }; };\n",
};

static void put(const char *directory, const char *name, const void *data, size_t size)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "w");
	if (!f)
		abort();
	fwrite(data, 1, size, f);
	fclose(f);
}

static void events(struct ctf_set *set, struct ctf_printer *p, struct diag *d)
{
	struct ctf_event event;

	while (ctf_set_next(set, &event, d) > 0) {
		struct ctf_cursor c = ctf_event_cursor(&event);

		ctf_event_field(&event, "s");
		ctf_event_field(&event, "r.e");
		if (event.clock % 5 == 0) {
			ctf_set_skip(set, &event, d);
			continue;
		}
		ctf_print(p, &event, &c);
		ctf_set_done(set, &event, &c, d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char directory[64];
	struct ctf_print_options print = {0};
	struct diag d = DIAG_INIT;
	struct ctf_printer *p;
	struct ctf_set *set;
	const char *text;
	uint8_t kind;
	size_t half;

	if (!*directory) {
		snprintf(directory, sizeof(directory), "/dev/shm/ctf-fuzz-%d", (int)getpid());
		mkdir(directory, 0700);
	}
	if (!size)
		return 0;
	kind = *data;
	text = metadata[kind & 1];
	print.format = (enum ctf_format)(kind / 2 % 3);
	if (*data & 128 && size > 5) {
		uint32_t length;

		memcpy(&length, data + 1, sizeof(length));
		length = (uint32_t)MIN((size_t)length, size - 5);
		put(directory, "metadata", data + 5, length);
		data += 4 + length;
		size -= 4 + length;
	} else {
		put(directory, "metadata", text, strlen(text));
	}
	half = kind & 128 ? size - 1 : (size - 1) / 2;
	put(directory, "ring_0", data + 1, half);
	put(directory, kind & 64 ? "ring_1.zst" : "ring_1", data + 1 + half, size - 1 - half);
	set = ctf_set_new(&(struct ctf_options){.live = kind & 32});
	p = ctf_printer_new(&print, STDIN_FILENO);
	if (!ctf_set_add(set, directory, &d)) {
		events(set, p, &d);
		if (kind & 32)
			ctf_set_refresh(set, &d);
	}
	ctf_printer_release(p);
	ctf_set_release(set);
	diag_release(&d);
	{
		char path[96];

		snprintf(path, sizeof(path), "%s/ring_1.zst", directory);
		unlink(path);
		snprintf(path, sizeof(path), "%s/ring_1", directory);
		unlink(path);
	}
	return 0;
}
