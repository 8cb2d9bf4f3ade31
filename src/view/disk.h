/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of block devices. A name is looked up once and kept: records of a device that is gone still
 * show it.
 */
#ifndef PANTRACE_VIEW_DISK_H
#define PANTRACE_VIEW_DISK_H

#include "base/strbuf.h"

struct disk_names;

/*
 * dev: MKDEV() of include/linux/kdev_t.h, 12 bits of major and 20 of minor. "vda1", or "254,1" if
 * there is no such device.
 */
void disk_name_text(struct disk_names **names, struct strbuf *out, u64 dev);
void disk_names_release(struct disk_names **names);

#endif
