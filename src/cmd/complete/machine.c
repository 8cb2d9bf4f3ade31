/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates that are read from this machine: processes, disks, users, sessions, buffers. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/complete/lister.h"
#include "kernel/tracefs/lasting_buffer.h"
#include "kernel/tracefs/tracefs.h"
#include "kernel/tracefs/walk.h"
#include "user/session.h"

/* Offers processes by PID, or by name. */
static void each_process(struct lister *s, bool by_name)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	char path[64], name[64];

	lister_split_behind(s, ",");
	while (proc && (e = readdir(proc))) {
		int fd;
		ssize_t n;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/comm", e->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue;
		n = read(fd, name, sizeof(name) - 1);
		close(fd);
		if (n <= 0)
			continue;
		name[n] = '\0';
		name[strcspn(name, "\n")] = '\0';
		if (!by_name)
			lister_offer(s, e->d_name, name);
		else if (!strpbrk(name, "/ :"))
			lister_offer_part(s, name);
	}
	if (proc)
		closedir(proc);
}

void machine_processes(struct lister *s)
{
	each_process(s, false);
}

void machine_process_names(struct lister *s)
{
	each_process(s, true);
}

void machine_disks(struct lister *s)
{
	DIR *dir = opendir("/sys/class/block");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			lister_offer(s, e->d_name, "");
	if (dir)
		closedir(dir);
}

/* "NAME:..." of each line. */
static void names_of(struct lister *s, const char *file)
{
	char *text, *line, *save;

	if (file_read(file, 1 << 20, &text, NULL))
		return;
	lister_split_behind(s, ",");
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line[strcspn(line, ":")] = '\0';
		lister_offer(s, line, "");
	}
	free(text);
}

void machine_users(struct lister *s)
{
	names_of(s, "/etc/passwd");
}

void machine_groups(struct lister *s)
{
	names_of(s, "/etc/group");
}

void machine_sessions(struct lister *s)
{
	struct user_sessions all = {0};

	user_sessions_load(&all);
	for (size_t i = 0; i < all.all.len; i++)
		if (!all.all.items[i].anonymous)
			lister_offer(s, all.all.items[i].name,
				     user_mode_name(all.all.items[i].mode));
	user_sessions_release(&all);
}

static int offer_buffer(void *arg, const struct lasting_buffer *b)
{
	struct lister *s = arg;

	if (b->stands)
		lister_offer(s, b->name, arena_strdup(&s->arena, b->command));
	return 0;
}

static void offer_instance(void *arg, const char *name)
{
	if (!str_starts(name, LASTING_PREFIX))
		lister_offer(arg, name, "");
}

/* Sessions of `start`, and instances of others. */
void machine_buffers(struct lister *s)
{
	const char *const tracefs = kernel_tracefs(s->env.kernel);

	lasting_buffers_each(offer_buffer, s);
	if (tracefs)
		tracefs_each_folder(arena_printf(&s->arena, "%s/instances", tracefs),
				    offer_instance, s);
}

void machine_triggers(struct lister *s)
{
	struct user_sessions all = {0};

	user_sessions_load(&all);
	for (size_t i = 0; i < all.all.len; i++)
		if (all.all.items[i].trigger && all.all.items[i].recorder_alive)
			lister_offer(s, all.all.items[i].name, all.all.items[i].trigger);
	user_sessions_release(&all);
}
