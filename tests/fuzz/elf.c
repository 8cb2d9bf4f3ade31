/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everything that is read from foreign bytes in src/binary: ELF files, USDT notes, ld.so.cache,
 * maps, perf maps, names. */
#include "binary/elf/internal.h"
#include "binary/elf/ld_cache.h"
#include "binary/process/perf_map.h"
#include "binary/process/maps.h"
#include "probe/probe.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static int on_symbol(void *arg, const struct elf_symbol *s)
{
	u64 *sum = arg;

	*sum += s->address + strlen(s->name);
	return 0;
}

static int on_note(void *arg, const struct usdt_note *n)
{
	struct location locations[12];
	struct elf_file *f = arg;

	usdt_note_args(f, n, locations, ARRAY_SIZE(locations));
	return 0;
}

static int on_library(void *arg, const char *soname, const char *path)
{
	u64 *sum = arg;

	*sum += strlen(soname) + strlen(path);
	return 0;
}

static void fuzz_elf(const u8 *data, size_t len)
{
	struct elf_file *f;
	struct elf_symbol s;
	u64 sum = 0, offset;
	void *copy = xmalloc(len + 1);

	memcpy(copy, data, len);
	if (elf_file_open_buffer(copy, len, "/nonexistent/fuzz", &f) < 0)
		return;
	elf_file_build_id(f);
	elf_file_find_symbol(f, "main", &s);
	elf_file_find_symbol(f, "ns::f", &s);
	elf_file_each_symbol(f, on_symbol, &sum);
	elf_file_each_usdt(f, on_note, f);
	for (u64 at = 0; at < 8; at++) {
		elf_file_symbol_at(f, f->entry + at * 16, &s, &offset);
		elf_file_offset(f, f->entry + at * 16, &offset);
		elf_file_address(f, at * 64, &offset);
		elf_file_load_bias(f, at << 12, at << 6, &offset);
	}
	elf_file_close(f);
}

static void fuzz_text(u8 what, const char *text, size_t len)
{
	struct location locations[12];
	struct process_maps maps = {0};
	struct perf_map *map;
	u64 sum = 0;

	switch (what) {
	case 0:
		usdt_parse_args(text, locations, ARRAY_SIZE(locations));
		break;
	case 1:
		process_maps_parse(&maps, text);
		process_maps_find(&maps, 0x1000);
		process_maps_release(&maps);
		break;
	case 2:
		map = perf_map_parse(text, len);
		perf_map_find(map, 0x1000, &sum);
		perf_map_release(map);
		break;
	case 3:
		free(demangle(text));
		break;
	default:
		ld_cache_parse(text, len, on_library, &sum);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	char *text;

	if (len >= 4 && memcmp(data, ELFMAG, SELFMAG) == 0) {
		fuzz_elf(data, len);
		return 0;
	}
	if (!len)
		return 0;
	text = xstrndup((const char *)data + 1, len - 1);
	fuzz_text(data[0] % 5, data[0] % 5 == 4 ? (const char *)data + 1 : text,
		  data[0] % 5 == 4 ? len - 1 : strlen(text));
	free(text);
	return 0;
}
