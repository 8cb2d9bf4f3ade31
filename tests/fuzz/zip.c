/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a ZIP archive with a library in it; and as the same with something before it. */
#include <sys/mman.h>
#include <unistd.h>

#include "binary/elf/file.h"
#include "binary/elf/zip.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static int fd = -1;
	u64 offset, size;
	const char *why;

	if (fd < 0)
		fd = memfd_create("zip", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, len, 0) != (ssize_t)len)
		return 0;
	if (!zip_find(fd, "lib/libz.so", &offset, &size, &why) &&
	    (offset > len || size > len - offset))
		abort();
	zip_find(fd, "", &offset, &size, &why);
	return 0;
}
