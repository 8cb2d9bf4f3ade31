/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/inputs.h"

#include <dirent.h>
#include <sys/stat.h>

#include "cmd/report/kernel.h"

/* NAME.dat in a directory. */
static void recordings_in(const char *path, struct report_recordings *ret)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		const size_t n = strlen(e->d_name);
		char *file;

		if (n < 5 || !str_eq(e->d_name + n - 4, ".dat"))
			continue;
		file = xasprintf("%s/%s", path, e->d_name);
		if (report_kernel_is(file))
			vector_push(&ret->paths, file);
		else
			free(file);
	}
	if (dir)
		closedir(dir);
}

/* What is neither a directory nor a file is not opened: a FIFO would be waited for. */
static int refuse_kind(const char *path, struct diag *d)
{
	struct stat st;

	if (stat(path, &st) || S_ISDIR(st.st_mode))
		return 0;
	if (S_ISREG(st.st_mode))
		diag_error(d, NO_SPAN, "'%s' is no trace.dat", path);
	else
		diag_error(d, NO_SPAN, "'%s' is neither a directory nor a file", path);
	diag_hint(d, "a trace is a directory with a file named metadata (CTF), or a "
		     "trace.dat");
	return -EINVAL;
}

/* A directory may have CTF traces, recordings of the kernel, or both; nothing is an error. */
static int add_directory(const char *path, struct ctf_set *set,
			 struct report_recordings *recordings, struct diag *d)
{
	const size_t before = recordings->paths.len;
	struct diag nothing = DIAG_INIT;
	int rc;

	recordings_in(path, recordings);
	rc = ctf_set_add(set, path, recordings->paths.len > before ? &nothing : d);
	if (rc != -ENOENT && recordings->paths.len > before)
		diag_tell(&nothing);
	diag_release(&nothing);
	return rc == -ENOENT && recordings->paths.len > before ? 0 : rc;
}

int report_input_add(const char *path, bool is_recording, struct ctf_set *set,
		     struct report_recordings *recordings, struct diag *d)
{
	int rc;

	if (is_recording || report_kernel_is(path)) {
		vector_push(&recordings->paths, xstrdup(path));
		return 0;
	}
	rc = refuse_kind(path, d);
	return rc ? rc : add_directory(path, set, recordings, d);
}

void report_recordings_release(struct report_recordings *recordings)
{
	for (size_t i = 0; i < recordings->paths.len; i++)
		free(recordings->paths.items[i]);
	vector_free(&recordings->paths);
}
