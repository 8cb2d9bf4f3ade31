/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Libraries that are mapped from a ZIP archive, as Android's linker does: "ARCHIVE!/ENTRY". Such an
 * entry is not compressed and begins at a page boundary.
 */
#ifndef PANTRACE_BINARY_ELF_ZIP_H
#define PANTRACE_BINARY_ELF_ZIP_H

#include "base/base.h"

/* Where the archive's name ends ("!/" behind it), NULL: the path names no entry of an archive. */
const char *zip_separator(const char *path);
/* Where the entry's bytes are in the archive. 0, or -errno with the reason in *ret_why (static). */
int zip_find(int fd, const char *entry, u64 *ret_offset, u64 *ret_size, const char **ret_why);

#endif
