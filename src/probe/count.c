/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/count.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
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

/* ---- BPF programs that decide what is counted ---- */

#define MAX_PROGRAMS	 64 /* the kernel's own bound for one event: BPF_TRACE_MAX_PROGS */
#define MAX_INSTRUCTIONS (1u << 20) /* the verifier takes no more */

/*
 * Is 1 all that comes out of a function of n instructions: is it what each exit finds in r0, just
 * put there?
 */
static bool returns_one(const struct bpf_insn *code, u32 n)
{
	const struct bpf_insn one = {.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1};
	u32 exits = 0;

	for (u32 i = 0; i < n; i++) {
		const u8 class = BPF_CLASS(code[i].code), op = BPF_OP(code[i].code);
		const bool is_jump = class == BPF_JMP || class == BPF_JMP32;
		s64 to = (s64)i + 1 + code[i].off;

		if (code[i].code == (BPF_JMP | BPF_EXIT)) {
			if (!i || memcmp(&code[i - 1], &one, sizeof(one)))
				return false;
			exits++;
		} else if (is_jump && op != BPF_CALL) {
			if (code[i].code == (BPF_JMP32 | BPF_JA))
				to = (s64)i + 1 + code[i].imm;
			if (to < 0 || to >= n || code[to].code == (BPF_JMP | BPF_EXIT))
				return false;
		}
	}
	return exits > 0;
}

/* Of a program's first function. False also if nobody may look at it. */
static bool program_returns_one(u32 id)
{
	struct bpf_func_info functions[2] = {0}; /* the second begins where the first ends */
	struct bpf_prog_info info = {0};
	struct bpf_insn *code = NULL;
	union bpf_attr attr = {.prog_id = id};
	const int fd = sys_bpf(BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	bool ret = false;
	u32 size;

	if (fd < 0)
		return false;
	if (sys_bpf_info(fd, &info, sizeof(info)) ||
	    info.xlated_prog_len > MAX_INSTRUCTIONS * sizeof(*code))
		goto out;
	size = info.xlated_prog_len;
	code = xzalloc(size + 1);
	info = (struct bpf_prog_info){.xlated_prog_len = size,
				      .xlated_prog_insns = (u64)(uintptr_t)code,
				      .nr_func_info = ARRAY_SIZE(functions),
				      .func_info_rec_size = sizeof(functions[0]),
				      .func_info = (u64)(uintptr_t)functions};
	/* Instructions that may not be looked at are none: xlated_prog_insns is 0 then. */
	if (!sys_bpf_info(fd, &info, sizeof(info)) && info.xlated_prog_insns) {
		if (info.nr_func_info > 1)
			size = MIN(size, functions[1].insn_off * (u32)sizeof(*code));
		ret = returns_one(code, size / (u32)sizeof(*code));
	}
out:
	free(code);
	close(fd);
	return ret;
}

bool count_is_decided(int fd)
{
	u32 words[2 + MAX_PROGRAMS] = {MAX_PROGRAMS};
	const struct perf_event_query_bpf *query = (const void *)words;

	if (ioctl(fd, PERF_EVENT_IOC_QUERY_BPF, words))
		return errno == ENOSPC; /* more than those */
	for (u32 i = 0; i < query->prog_cnt; i++)
		if (!program_returns_one(query->ids[i]))
			return true;
	return false;
}

void count_refused(struct probe_env *env, const struct probe_target *t, int error)
{
	struct probe_attachments none = {0};

	attach_failed(env, t, error, &none);
}
