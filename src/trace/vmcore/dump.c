/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/vmcore/dump.h"

#include <stdlib.h>

#include "trace/vmcore/dump_internal.h"

static const struct dump_format *const formats[] = {&dump_elf, &dump_kdump};

struct dump {
	struct dump_file file;
	const struct dump_format *format;
	void *own;
	char *info;
};

static int refuse(const char *path, int err, struct diag *d)
{
	if (err == -EMEDIUMTYPE) {
		diag_error(d, NO_SPAN, "%s: not a dump of a machine's memory", path);
		diag_hint(d, "ELF cores (/proc/vmcore, QEMU's dump-guest-memory) and "
			     "kdump-compressed files (makedumpfile) are read");
	} else if (err == -EINVAL) {
		diag_error(d, NO_SPAN, "%s: damaged or cut off", path);
	} else if (err == -EPERM) {
		diag_error(d, NO_SPAN, "%s: not a regular file", path);
	} else {
		diag_error(d, NO_SPAN, "%s: %s", path, strerror(-err));
	}
	return err;
}

static int open_format(struct dump *dp)
{
	u8 head[64];
	const int err = dump_file_read(&dp->file, 0, head, sizeof(head));

	if (err)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(formats) && !dp->format; i++)
		if (formats[i]->recognise(head, sizeof(head)))
			dp->format = formats[i];
	return dp->format ? dp->format->open(&dp->file, &dp->own, &dp->info) : -EMEDIUMTYPE;
}

int dump_open(const char *path, struct diag *d, struct dump **ret)
{
	struct dump *const dp = xzalloc(sizeof(*dp));
	int err = dump_file_open(&dp->file, path);

	if (!err)
		err = open_format(dp);
	if (err) {
		dump_close(dp);
		return refuse(path, err, d);
	}
	*ret = dp;
	return 0;
}

void dump_close(struct dump *dp)
{
	if (!dp)
		return;
	if (dp->own)
		dp->format->close(dp->own);
	dump_file_close(&dp->file);
	free(dp->info);
	free(dp);
}

int dump_read(struct dump *dp, u64 physical, void *to, size_t n)
{
	return n > UINT64_MAX - physical ? -ENODATA
					 : dp->format->read(dp->own, &dp->file, physical, to, n);
}

const char *dump_info(const struct dump *dp)
{
	return dp->info ?: "";
}
