/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information: any bytes as the section .eh_frame, or as a whole file. */
#include "binary/elf/internal.h"
#include "binary/debug/unwind.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

/* An ELF file with one section besides its names. */
static u8 *wrap(const u8 *data, size_t len, size_t *ret_len)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	const u64 names_at = sizeof(Elf64_Ehdr) + len,
		  headers_at = ALIGN_UP(names_at + sizeof(names), 8);
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			     .e_type = ET_DYN,
			     .e_machine = EM_X86_64,
			     .e_shoff = headers_at,
			     .e_ehsize = sizeof(header),
			     .e_shentsize = sizeof(Elf64_Shdr),
			     .e_shnum = 3,
			     .e_shstrndx = 2};
	Elf64_Shdr sections[3] = {
		{0},
		{.sh_name = 1,
		 .sh_type = SHT_PROGBITS,
		 .sh_addr = 0x2000,
		 .sh_offset = sizeof(header),
		 .sh_size = len},
		{.sh_name = 11,
		 .sh_type = SHT_STRTAB,
		 .sh_offset = names_at,
		 .sh_size = sizeof(names)},
	};
	u8 *image = xzalloc(headers_at + sizeof(sections));

	memcpy(image, &header, sizeof(header));
	memcpy(image + sizeof(header), data, len);
	memcpy(image + names_at, names, sizeof(names));
	memcpy(image + headers_at, sections, sizeof(sections));
	*ret_len = headers_at + sizeof(sections);
	return image;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	const bool is_file = len > SELFMAG && !memcmp(data, ELFMAG, SELFMAG);
	struct unwind_rows rows = {0};
	struct elf_file *f;
	size_t size = len;
	u8 *image;

	if (is_file)
		image = memcpy(xmalloc(len), data, len);
	else
		image = wrap(data, len, &size);
	if (elf_file_open_buffer(image, size, "/nonexistent/fuzz", &f))
		return 0;
	unwind_add_file(&rows, f, 0, UINT64_MAX, 0x1000);
	unwind_add_file(&rows, f, 0x1000, 0x9000, 0);
	unwind_sort(&rows);
	for (size_t i = 1; i < rows.list.len; i++)
		if (rows.list.items[i - 1].address >= rows.list.items[i].address)
			abort();
	unwind_release(&rows);
	elf_file_close(f);
	return 0;
}
