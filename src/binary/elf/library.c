/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From what a user types to the file that is meant: paths, $PATH, sonames, and what a process has
 * mapped. */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/file.h"
#include "base/foreign.h"
#include "base/glob.h"
#include "base/hashmap.h"
#include "binary/elf/internal.h"
#include "binary/elf/ld_cache.h"
#include "binary/process/maps.h"
#include "binary/elf/zip.h"

/* Where ld.so looks without a cache; files for another machine are passed over by is_elf(). */
static const char *const library_dirs[] = {
	"/lib/x86_64-linux-gnu",
	"/lib/aarch64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
	"/usr/local/lib",
};

/* ---- single files ---- */

/* A regular ELF file; native_only: that can be loaded into our kind of process. */
static bool is_elf(const char *path, bool native_only)
{
	const int fd = foreign_open(path, NULL);
	u8 head[20];
	bool yes;

	if (fd < 0)
		return false;
	yes = pread(fd, head, sizeof(head), 0) == sizeof(head) &&
	      memcmp(head, ELFMAG, SELFMAG) == 0;
	close(fd);
	if (yes && native_only)
		yes = head[EI_CLASS] == (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) &&
		      (u16)(head[18] | head[19] << 8) == arch_elf_machine();
	return yes;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* An absolute path as process pid sees it: the path itself when it is the same file for us. NULL if
 * it has none there. */
char *process_path(pid_t pid, const char *path)
{
	char *rooted = xasprintf("/proc/%d/root%s", (int)pid, path);

	if (access(rooted, F_OK) < 0 || same_file(rooted, path)) {
		bool here = access(rooted, F_OK) == 0;

		free(rooted);
		return here ? xstrdup(path) : NULL;
	}
	return rooted;
}

/* ---- names of libraries ---- */

const char *path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libc.so.6" is meant by "libc.so.6", "libc.so", "libc" and "c". */
bool library_name_matches(const char *file, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(file, name, n) == 0 && (!file[n] || str_starts(file + n, ".so") ||
					    (file[n] == '.' && n > 3 && strstr(name, ".so"))))
		return true;
	return str_starts(file, "lib") && strncmp(file + 3, name, n) == 0 &&
	       str_starts(file + 3 + n, ".so");
}

struct find_library {
	const char *name;
	pid_t pid;
	char *found;
};

static int try_mapping(void *arg, const struct process_mapping *m)
{
	struct find_library *q = arg;

	if (m->kind == MAPPING_FILE && library_name_matches(path_base_name(m->path), q->name))
		q->found = process_path(q->pid, m->path);
	return q->found != NULL;
}

static int try_cached(void *arg, const char *soname, const char *path)
{
	struct find_library *q = arg;

	if (library_name_matches(soname, q->name) && is_elf(path, true))
		q->found = xstrdup(path);
	return q->found != NULL;
}

static char *find_in_directories(const char *name)
{
	static const char *const affixes[][2] = {{"", ""}, {"", ".so"}, {"lib", ".so"}};

	for (size_t i = 0; i < ARRAY_SIZE(library_dirs); i++)
		for (size_t k = 0; k < ARRAY_SIZE(affixes); k++) {
			char *path = xasprintf("%s/%s%s%s", library_dirs[i], affixes[k][0], name,
					       affixes[k][1]);

			if (is_elf(path, true))
				return path;
			free(path);
		}
	return NULL;
}

/*
 * "libc" where only libc.so.6 is: without development files and without a cache, as in an
 * initramfs.
 */
static char *find_versioned(const char *name)
{
	char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(library_dirs) && !found; i++) {
		char *pattern = xasprintf("%s/*.so.*", library_dirs[i]);
		glob_t g;

		if (glob(pattern, 0, NULL, &g) == 0) {
			for (size_t k = 0; k < g.gl_pathc && !found; k++)
				if (library_name_matches(path_base_name(g.gl_pathv[k]), name) &&
				    is_elf(g.gl_pathv[k], true))
					found = xstrdup(g.gl_pathv[k]);
			globfree(&g);
		}
		free(pattern);
	}
	return found;
}

static char *find_in_path(const char *name)
{
	const char *path = getenv("PATH");

	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		char *candidate = xasprintf("%.*s%s%s", (int)n, p, n ? "/" : "", name);
		struct stat st;

		if (stat(candidate, &st) == 0 && S_ISREG(st.st_mode) &&
		    access(candidate, X_OK) == 0)
			return candidate;
		free(candidate);
		p += n + (p[n] == ':');
	}
	return NULL;
}

/* "ARCHIVE!/ENTRY": the archive is what is looked for. */
static char *resolve_entry(const char *name, size_t len, pid_t pid)
{
	char *archive = xstrndup(name, len), *found = binary_resolve(archive, pid);

	free(archive);
	archive = found;
	if (found)
		found = xasprintf("%s%s", archive, name + len);
	free(archive);
	return found;
}

char *binary_resolve(const char *name, pid_t pid)
{
	struct find_library q = {.name = name, .pid = pid};
	const char *separator = zip_separator(name);
	char *found;

	if (!*name)
		return NULL;
	if (separator && access(name, F_OK))
		return resolve_entry(name, (size_t)(separator - name), pid);
	if (*name == '/' && pid && (found = process_path(pid, name)))
		return found;
	if (strchr(name, '/'))
		return access(name, F_OK) == 0 ? xstrdup(name) : NULL;
	if (pid)
		process_each_mapping(pid, try_mapping, &q);
	if (!q.found)
		q.found = find_in_path(name);
	if (!q.found)
		ld_cache_each("/etc/ld.so.cache", try_cached, &q);
	if (!q.found)
		q.found = find_in_directories(name);
	if (!q.found)
		q.found = find_versioned(name);
	if (!q.found && access(name, F_OK) == 0)
		q.found = xstrdup(name);
	return q.found;
}

char *binary_resolve_here(const char *name, pid_t pid)
{
	struct stat st;

	if (!pid && !stat(name, &st) && S_ISREG(st.st_mode))
		return xstrdup(name);
	return binary_resolve(name, pid);
}

/* ---- wildcards ---- */

struct each_path {
	const char *glob;
	pid_t pid;
	int (*fn)(void *arg, const char *path);
	void *arg;
	struct hashmap
		seen; /* device and inode: a probe on two names of a file would count twice */
	int result;
};

static int offer(struct each_path *q, const char *path)
{
	struct {
		u64 device, inode;
	} id = {0};
	struct stat st;
	bool is_new;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	id.device = st.st_dev;
	id.inode = st.st_ino;
	hashmap_put(&q->seen, &id, sizeof(id), &is_new);
	if (is_new && is_elf(path, false))
		q->result = q->fn(q->arg, path);
	return q->result;
}

static int offer_mapping(void *arg, const struct process_mapping *m)
{
	struct each_path *q = arg;
	const char *name = strchr(q->glob, '/') ? m->path : path_base_name(m->path ? m->path : "");
	char *path;

	if (m->kind != MAPPING_FILE ||
	    !(glob_match(q->glob, name) || library_name_matches(name, q->glob)))
		return 0;
	path = process_path(q->pid, m->path);
	if (path)
		offer(q, path);
	free(path);
	return q->result;
}

static int offer_cached(void *arg, const char *soname, const char *path)
{
	struct each_path *q = arg;

	return glob_match(q->glob, soname) && is_elf(path, true) ? offer(q, path) : 0;
}

static void offer_files(struct each_path *q, const char *pattern)
{
	glob_t g;

	if (glob(pattern, 0, NULL, &g) != 0)
		return;
	for (size_t i = 0; i < g.gl_pathc && !q->result; i++)
		offer(q, g.gl_pathv[i]);
	globfree(&g);
}

static void offer_path(struct each_path *q)
{
	const char *path = getenv("PATH");

	for (const char *p = path ? path : "/usr/bin:/bin"; *p && !q->result;) {
		size_t n = strcspn(p, ":");
		char *pattern = xasprintf("%.*s/%s", (int)n, p, q->glob);

		if (n)
			offer_files(q, pattern);
		free(pattern);
		p += n + (p[n] == ':');
	}
}

int binary_each_path(const char *pattern, pid_t pid, int (*fn)(void *arg, const char *path),
		     void *arg)
{
	struct each_path q = {.glob = pattern, .pid = pid, .fn = fn, .arg = arg};

	if (pid)
		process_each_mapping(pid, offer_mapping, &q);
	if (!q.result && strchr(pattern, '/')) {
		offer_files(&q, pattern);
	} else if (!pid) {
		offer_files(&q, pattern); /* here, then where programs are, then libraries */
		if (!q.result)
			offer_path(&q);
		if (!q.result)
			ld_cache_each("/etc/ld.so.cache", offer_cached, &q);
	}
	hashmap_release(&q.seen);
	return q.result;
}
