/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/kvm_tsc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

#define BITS_MOST 63

/* A file of one number. False: it is not there, or has none. */
static bool number(int directory, const char *name, u64 *ret)
{
	const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	char *text = NULL, *end;
	size_t n;
	bool good = fd >= 0 && !file_read_fd(fd, 64, &text, &n) && n;

	if (good) {
		/* offsets are negative, ratios may have the highest bit */
		*ret = *text == '-' ? (u64)strtoll(text, &end, 10) : strtoull(text, &end, 10);
		good = end != text && (!*end || *end == '\n');
	}
	free(text);
	if (fd >= 0)
		close(fd);
	return good;
}

/* Between two looks at what it runs. */
static bool read_vcpu(int at, struct kvm_tsc *ret)
{
	u64 nested = 0, bits = 0;

	*ret = (struct kvm_tsc){.ratio = 1};
	number(at, "guest_mode", &nested); /* kernels without it do not run guests of guests so */
	if (nested || !number(at, "tsc-offset", &ret->offset))
		return false;
	if (number(at, "tsc-scaling-ratio", &ret->ratio) &&
	    (!number(at, "tsc-scaling-ratio-frac-bits", &bits) || bits > BITS_MOST || !ret->ratio))
		return false;
	ret->bits = (u32)bits;
	number(at, "guest_mode", &nested);
	return !nested;
}

bool kvm_tsc_equal(const struct kvm_tsc *a, const struct kvm_tsc *b)
{
	return a->offset == b->offset && a->ratio == b->ratio && a->bits == b->bits;
}

/* -1: they differ; else how many said the same. */
static int read_vcpus(int machine, int found, struct kvm_tsc *ret)
{
	DIR *const dir = fdopendir(dup(machine));
	struct dirent *e;

	while (dir && found >= 0 && (e = readdir(dir))) {
		struct kvm_tsc t;
		int at;

		if (!str_starts(e->d_name, "vcpu"))
			continue;
		at = openat(machine, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (at < 0)
			continue;
		if (read_vcpu(at, &t)) {
			found = !found || kvm_tsc_equal(&t, ret) ? found + 1 : -1;
			*ret = t;
		}
		close(at);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool kvm_tsc_read(const char *directory, pid_t process, struct kvm_tsc *ret)
{
	DIR *const dir = opendir(directory);
	char begin[32];
	struct dirent *e;
	int found = 0;

	snprintf(begin, sizeof(begin), "%d-", process);
	while (dir && found >= 0 && (e = readdir(dir))) {
		int at;

		if (!str_starts(e->d_name, begin))
			continue;
		at = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (at < 0)
			continue;
		found = read_vcpus(at, found, ret);
		close(at);
	}
	if (dir)
		closedir(dir);
	return found > 0;
}

u64 kvm_tsc_ours(const struct kvm_tsc *t, u64 guest)
{
	return (u64)(((unsigned __int128)(guest - t->offset) << t->bits) / t->ratio);
}
