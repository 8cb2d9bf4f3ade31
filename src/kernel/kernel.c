/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The running kernel: its CPUs and its configuration. */
#include "kernel/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "kernel/tracefs/guard.h"
#include "kernel/kernel_internal.h"
#include "kernel/symbols/ksyms.h"

/* A configuration is 250 kB of text. */
#define MAX_CONFIG ((size_t)16 << 20)

struct kernel *kernel_new(void)
{
	return xzalloc(sizeof(struct kernel));
}

char *kernel_boot_id(void)
{
	char *text;

	if (file_read("/proc/sys/kernel/random/boot_id", 64, &text, NULL))
		return xstrdup("");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

void kernel_release(struct kernel *k)
{
	if (!k)
		return;
	guard_end(k);
	ksyms_release(k->ksyms);
	traceable_release(&k->traceable);
	kprobe_blacklist_release(&k->blacklist);
	arena_release(&k->arena);
	free(k->online);
	free(k->config);
	free(k);
}

int kernel_read_number(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[32];
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	err = n < 0 ? -errno : 0;
	close(fd);
	if (err)
		return err;
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? atoi(text) : -EINVAL;
}

/* ---- configuration ---- */

/* gzread() also passes plain text through. */
static int read_config(const char *path, char **ret, size_t *ret_len)
{
	gzFile in = gzopen(path, "rbe");
	size_t cap = (size_t)1 << 19, len = 0;
	char *text;
	int n;

	if (!in)
		return -ENOENT;
	gzbuffer(in, 1 << 16);
	text = xmalloc(cap + 1);
	while ((n = gzread(in, text + len, (unsigned int)(cap - len))) > 0) {
		len += (size_t)n;
		if (len == cap && cap < MAX_CONFIG)
			text = xrealloc(text, (cap *= 2) + 1);
		if (len == cap)
			break;
	}
	gzclose(in);
	if (n < 0 || !len) {
		free(text);
		return -EIO;
	}
	text[len] = '\0';
	*ret = text;
	*ret_len = len;
	return 0;
}

static void find_config(struct kernel *k)
{
	static const char *const forms[] = {"/boot/config-%s", "/lib/modules/%s/config",
					    "/usr/lib/modules/%s/config",
					    "/lib/modules/%s/build/.config"};
	struct utsname u;
	char path[256];

	k->config_tried = true;
	if (!read_config("/proc/config.gz", &k->config, &k->config_len) || uname(&u))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(path, sizeof(path), forms[i], u.release);
#pragma GCC diagnostic pop
		if (!read_config(path, &k->config, &k->config_len))
			return;
	}
}

char kernel_config(struct kernel *k, const char *option)
{
	const char *at;
	char key[128];
	int len;

	if (!k->config_tried)
		find_config(k);
	if (!k->config)
		return '?';
	if (str_starts(option, "CONFIG_"))
		option += strlen("CONFIG_");
	len = snprintf(key, sizeof(key), "\nCONFIG_%s=", option);
	if (len < 0 || (size_t)len >= sizeof(key))
		return '?';
	at = strstr(k->config, key);
	if (!at)
		return 'n';
	/* A number or string counts as set. */
	return at[len] == 'm' || at[len] == 'n' ? at[len] : 'y';
}

/* ---- CPUs ---- */

/* "0-3,8,10-11" (Documentation/admin-guide/cputopology.rst). Returns how many; at most max are
 * stored. */
static u32 parse_cpu_list(const char *text, u32 *cpus, u32 max, u32 *ret_highest)
{
	u32 n = 0;

	*ret_highest = 0;
	while (*text >= '0' && *text <= '9') {
		char *end;
		const unsigned long first = strtoul(text, &end, 10);
		const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		for (unsigned long cpu = first; cpu <= last && n < max; cpu++)
			cpus[n++] = (u32)cpu;
		*ret_highest = MAX(*ret_highest, (u32)MIN(last, (unsigned long)max));
		text = *end == ',' ? end + 1 : "";
	}
	return n;
}

#define MAX_CPUS 16384u

static u32 read_cpus(const char *path, u32 **ret, u32 *ret_highest)
{
	u32 *cpus = xmalloc(MAX_CPUS * sizeof(*cpus)), n = 0;
	char *text;

	*ret_highest = 0;
	if (!file_read(path, 1 << 20, &text, NULL)) {
		n = parse_cpu_list(text, cpus, MAX_CPUS, ret_highest);
		free(text);
	}
	if (!n) { /* no sysfs: count */
		const long known = sysconf(_SC_NPROCESSORS_CONF);

		n = known > 0 ? (u32)MIN(known, (long)MAX_CPUS) : 1;
		for (u32 i = 0; i < n; i++)
			cpus[i] = i;
		*ret_highest = n - 1;
	}
	*ret = xrealloc(cpus, n * sizeof(*cpus));
	return n;
}

u32 kernel_online_cpus(struct kernel *k, const u32 **ret)
{
	u32 highest;

	if (!k->online)
		k->online_count = read_cpus("/sys/devices/system/cpu/online", &k->online, &highest);
	*ret = k->online;
	return k->online_count;
}

u32 kernel_possible_cpus(struct kernel *k)
{
	u32 *cpus, highest;

	if (!k->possible) {
		read_cpus("/sys/devices/system/cpu/possible", &cpus, &highest);
		free(cpus);
		k->possible = highest + 1;
	}
	return k->possible;
}
