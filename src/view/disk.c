/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/disk.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/hashmap.h"

struct disk_names {
	struct hashmap by_number; /* dev -> malloc'ed name */
};

/* /sys/dev/block/MAJOR:MINOR is a link that ends in the name
 * (Documentation/ABI/stable/sysfs-devices). */
static char *look_up(u32 major, u32 minor)
{
	char path[64], target[PATH_MAX], *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u", major, minor);
	n = readlink(path, target, sizeof(target) - 1);
	if (n > 0) {
		target[n] = '\0';
		slash = strrchr(target, '/');
		return xstrdup(slash ? slash + 1 : target);
	}
	snprintf(path, sizeof(path), "%u,%u", major, minor);
	return xstrdup(path);
}

void disk_name_text(struct disk_names **names, struct strbuf *out, u64 dev)
{
	bool is_new;
	void **place;

	if (!*names)
		*names = xzalloc(sizeof(**names));
	place = hashmap_put(&(*names)->by_number, &dev, sizeof(dev), &is_new);
	if (is_new)
		*place = look_up((u32)dev >> 20, (u32)dev & 0xfffff);
	strbuf_addstr(out, *place);
}

void disk_names_release(struct disk_names **names)
{
	if (!*names)
		return;
	hashmap_each (&(*names)->by_number, e)
		free(e->value);
	hashmap_release(&(*names)->by_number);
	free(*names);
	*names = NULL;
}
