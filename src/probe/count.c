/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/count.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probe/provider.h"

int count_open(const struct perf_event_attr *attr, const struct count_place *place,
	       const struct count_options *options)
{
	struct perf_event_attr a = *attr;
	pid_t pid = place->thread ? place->thread : -1;
	unsigned long flags = 0;
	int fd, err = 0;

	a.size = sizeof(a);
	a.disabled = options->leader < 0; /* the others follow it */
	a.inherit = place->thread != 0;
	a.enable_on_exec = options->on_exec;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (place->cgroup >= 0) {
		pid = place->cgroup;
		flags = PERF_FLAG_PID_CGROUP;
	}
	fd = perf_event_open_fd(&a, pid, place->cpu, options->leader, flags);
	if (fd >= 0 && options->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, options->filter))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

void count_switch(bool on)
{
	prctl(on ? PR_TASK_PERF_EVENTS_ENABLE : PR_TASK_PERF_EVENTS_DISABLE, 0, 0, 0, 0);
}

int count_read(int fd, struct count_value *ret)
{
	u64 words[3];
	const ssize_t n = read(fd, words, sizeof(words));

	if (n != sizeof(words))
		return n < 0 ? -errno : -EIO;
	*ret = (struct count_value){words[0], words[1], words[2]};
	return 0;
}

bool count_has_program(int fd)
{
	u32 words[2 + 8] = {8}; /* struct perf_event_query_bpf with room for 8 programs */
	const struct perf_event_query_bpf *query = (const void *)words;

	/* -ENOSPC: more than those */
	return ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, words) ? errno == ENOSPC : query->prog_cnt > 0;
}

void count_refused(struct probe_env *env, const struct probe_target *t, int error)
{
	struct probe_attachments none = {0};

	attach_failed(env, t, error, &none);
}
