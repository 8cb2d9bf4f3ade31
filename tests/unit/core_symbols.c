/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's symbol tables, from a core file that is made here: the three meanings of an offset, the
 * four layouts, and what is refused. */
#include "kernel/core_symbols.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

#define BASE  0xffffffff81000000ull /* of the segment */
#define NOTE  4096 /* where the note lies in the file */
#define DATA  8192 /* the segment */
#define SPACE 65536

enum { NUM = 0, RELATIVE = 16, OFFSETS = 64, NAMES = 1024, TEXT = 8192, INDEX = 16384 };

static const struct symbol {
	const char *name; /* the kind first */
	u64 address;
} symbols[] = {
	{"Afixed_percpu_data", 0x0},
	{"Tstartup_64", BASE},
	{"T_stext", BASE},
	{"T_text", BASE},
	{"t__pfx_alpha", BASE + 0xf0},
	{"talpha", BASE + 0x100},
	{"Wbeta", BASE + 0x200},
	{"Tbeta_alias", BASE + 0x200},
	{"dtable", BASE + 0x300},
	{"Tlong_name_with_more_than_127_tokens_0123456789_0123456789_0123456789_0123456789_"
	 "0123456789_"
	 "0123456789_0123456789_0123456789_0123456789_end",
	 BASE + 0x400},
	{"B_end", BASE + 0x8000},
};

#define COUNT (sizeof(symbols) / sizeof(*symbols))

/* Where the numbers of the sorted names are. */
enum layout {
	AFTER_BASE /* Linux 6.4 */,
	BEFORE_TOKENS /* 6.2 */,
	NOWHERE,
	AFTER_OFFSETS /* 7.0, without a base */
};

static u8 data[SPACE];
static u64 tokens; /* where in it they begin */
static char path[] = "/tmp/pantrace-core-symbols-XXXXXX";

static int by_name(const void *a, const void *b)
{
	return strcmp(symbols[*(const u32 *)a].name + 1, symbols[*(const u32 *)b].name + 1);
}

/* The one marker of so few symbols is 0, as all of the memory is. */
static void make_numbers(enum layout layout)
{
	u8 *at = data + (layout == AFTER_BASE	   ? RELATIVE + 8
			 : layout == AFTER_OFFSETS ? OFFSETS + 4 * COUNT
						   : tokens - ALIGN_UP(3 * COUNT, 8));
	u32 order[COUNT];

	for (u32 i = 0; i < COUNT; i++)
		order[i] = i;
	qsort(order, COUNT, sizeof(*order), by_name);
	for (u32 i = 0; i < COUNT && layout != NOWHERE; i++)
		at[3 * i + 2] = (u8)order[i];
}

/* Every token stands for its own byte, but 1, which stands for "ta". */
static void make_tables(bool is_signed, enum layout layout)
{
	const u32 count = COUNT;
	const u64 base = BASE;
	u8 *names = data + NAMES;
	u16 index[256];
	size_t text = 0;

	memset(data, 0, sizeof(data));
	memcpy(data + NUM, &count, sizeof(count));
	memcpy(data + RELATIVE, &base, sizeof(base));
	for (u32 i = 0; i < 256; i++) {
		const char token[] = {(char)i, 0};

		index[i] = (u16)text;
		strcpy((char *)data + TEXT + text, i == 1 ? "ta" : token);
		text += strlen((char *)data + TEXT + text) + 1;
	}
	memcpy(data + INDEX, index, sizeof(index));
	/* The tokens end where their index begins. */
	tokens = (INDEX - text) & ~7ull;
	memmove(data + tokens, data + TEXT, text);
	memset(data + TEXT, 0, tokens - TEXT);
	make_numbers(layout);
	for (u32 i = 0; i < count; i++) {
		const char *s = symbols[i].name;
		const bool is_short = !strncmp(s, "ta", 2);
		const size_t len = strlen(s) - is_short;
		s64 offset = (s64)(symbols[i].address - BASE);

		if (len > 127)
			*names++ = (u8)(len & 0x7f) | 0x80;
		*names++ = (u8)(len > 127 ? len >> 7 : len);
		if (is_short)
			*names++ = 1;
		memcpy(names, s + (is_short ? 2 : 0), strlen(s) - (is_short ? 2 : 0));
		names += strlen(s) - (is_short ? 2 : 0);
		if (is_signed)
			offset = symbols[i].address >> 63 ? (s64)(base - 1 - symbols[i].address)
							  : (s64)symbols[i].address;
		else if (!(symbols[i].address >> 63))
			offset = 0;
		if (layout == AFTER_OFFSETS)
			offset -= OFFSETS + 4 * i;
		memcpy(data + OFFSETS + 4 * i, &(s32){(s32)offset}, 4);
	}
}

static void write_core(u64 stext, enum layout layout)
{
	const Elf64_Ehdr header = {.e_ident = ELFMAG,
				   .e_phoff = sizeof(header),
				   .e_phnum = 2,
				   .e_phentsize = sizeof(Elf64_Phdr)};
	char info[1024];
	Elf64_Nhdr note = {.n_namesz = sizeof("VMCOREINFO")};
	Elf64_Phdr segments[2];
	const int fd = open(path, O_RDWR | O_TRUNC);

	snprintf(info, sizeof(info),
		 "OSRELEASE=6.0\nSYMBOL(_stext)=%llx\nSYMBOL(kallsyms_names)=%llx\n"
		 "SYMBOL(kallsyms_num_syms)=%llx\nSYMBOL(kallsyms_token_table)=%llx\n"
		 "SYMBOL(kallsyms_token_index)=%llx\nSYMBOL(kallsyms_offsets)=%llx\n"
		 "%s(kallsyms_relative_base)=%llx\n",
		 (unsigned long long)stext, BASE + NAMES, BASE + NUM,
		 (unsigned long long)(BASE + tokens), BASE + INDEX, BASE + OFFSETS,
		 layout == AFTER_OFFSETS ? "NONE" : "SYMBOL", BASE + RELATIVE);
	note.n_descsz = (u32)strlen(info);
	segments[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = NOTE, .p_filesz = 2048};
	segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
				   .p_offset = DATA,
				   .p_vaddr = BASE,
				   .p_memsz = SPACE,
				   .p_filesz = SPACE};
	ok(pwrite(fd, &header, sizeof(header), 0) == sizeof(header) &&
		   pwrite(fd, segments, sizeof(segments), sizeof(header)) == sizeof(segments) &&
		   pwrite(fd, &note, sizeof(note), NOTE) == sizeof(note) &&
		   pwrite(fd, "VMCOREINFO\0", 12, NOTE + sizeof(note)) == 12 &&
		   pwrite(fd, info, strlen(info), NOTE + sizeof(note) + 12) ==
			   (ssize_t)strlen(info) &&
		   pwrite(fd, data, sizeof(data), DATA) == sizeof(data),
	   "a core file");
	close(fd);
}

static struct core_symbols *load(struct kcore *c)
{
	struct core_symbols *s = NULL;

	if (!kcore_open(c, path))
		core_symbols_load(c, &s);
	return s;
}

static bool is_refused(void)
{
	struct kcore c;
	struct core_symbols *s = load(&c);

	core_symbols_release(s);
	kcore_close(&c);
	return !s;
}

static int list(void *arg, const char *name, const char *module, u64 address, bool is_alias)
{
	char *text = arg;

	sprintf(text + strlen(text), "%.8s%s@%llx ", name, is_alias ? "(alias)" : "",
		(unsigned long long)(address - BASE));
	return 0;
}

static void list_at(void *arg, char kind, const char *name)
{
	char *text = arg;

	sprintf(text + strlen(text), "%c:%s ", kind, name);
}

static void test_good(bool is_signed, enum layout layout)
{
	static const char *const prefixes[] = {"_stex", "_tex", "beta_a", "be", "longer", NULL};
	struct core_symbols *s;
	char text[1024] = "";
	struct kcore c;
	u64 start = 0;

	make_tables(is_signed, layout);
	write_core(BASE, layout);
	s = load(&c);
	ok(s != NULL, "tables with %s offsets, layout %d", is_signed ? "signed" : "unsigned",
	   (int)layout);
	if (!s)
		return;
	core_symbols_each(s, NULL, list, text);
	is_str(text,
	       "startup_@0 _stext(alias)@0 _text(alias)@0 alpha@100 beta@200 "
	       "beta_ali(alias)@200 long_nam@400 ",
	       "functions, without their padding");
	*text = '\0';
	core_symbols_each(s, prefixes, list, text);
	is_str(text, "_stext(alias)@0 _text(alias)@0 beta@200 beta_ali(alias)@200 ",
	       "those that begin in a certain way");
	*text = '\0';
	ok(core_symbols_at(s, BASE + 0x2ff, &start, list_at, text) && start == BASE + 0x200,
	   "the symbol of an address");
	is_str(text, "W:beta T:beta_alias ", "all of its names");
	ok(!core_symbols_at(s, BASE - 1, &start, list_at, text) &&
		   !core_symbols_at(s, BASE + 0x8000, &start, list_at, text),
	   "no symbol outside of the kernel");
	is_int((long long)core_symbols_address(s, "table"), (long long)(BASE + 0x300),
	       "the address of a name");
	is_int((long long)core_symbols_address(s, symbols[9].name + 1), (long long)(BASE + 0x400),
	       "of a long one");
	is_int((long long)core_symbols_address(s, "tabl"), 0, "of none");
	core_symbols_release(s);
	kcore_close(&c);
}

static void test_bad(void)
{
	make_tables(true, AFTER_BASE);
	write_core(BASE + 0x100, AFTER_BASE);
	ok(is_refused(), "_stext elsewhere than the kernel has it");
	make_tables(true, AFTER_BASE);
	memset(data + NUM, 0xff, 4);
	write_core(BASE, AFTER_BASE);
	ok(is_refused(), "more symbols than there can be");
	make_tables(true, AFTER_BASE);
	memset(data + INDEX, 0xff, 512);
	write_core(BASE, AFTER_BASE);
	ok(is_refused(), "tokens outside of their table");
	make_tables(true, AFTER_BASE);
	data[NAMES] = 0;
	write_core(BASE, AFTER_BASE);
	ok(is_refused(), "a name without letters");
	truncate(path, DATA + 64);
	ok(is_refused(), "a file that is cut off");
	truncate(path, 80);
	ok(is_refused(), "in its headers");
}

int main(void)
{
	const int fd = mkstemp(path);

	close(fd);
	for (int layout = AFTER_BASE; layout <= NOWHERE; layout++) {
		test_good(true, (enum layout)layout);
		test_good(false, (enum layout)layout);
	}
	test_good(false, AFTER_OFFSETS);
	test_bad();
	unlink(path);
	return tap_done();
}
