/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls that a reader needs. All others fail with EPERM, and the run reports which call
 * it was: a call that failed in silence would look like an empty file or a missing symbol, whether
 * this list has a gap or somebody exploits the tracer.
 */
#include "kernel/sandbox/filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/arch.h"
#include "kernel/sandbox/sandbox.h"

#if defined(__x86_64__)
#define OUR_ARCH	   AUDIT_ARCH_X86_64
#define RESULT_OF(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined(__aarch64__)
#define OUR_ARCH	   AUDIT_ARCH_AARCH64
#define RESULT_OF(context) ((context)->uc_mcontext.regs[0])
#endif

#if defined(OUR_ARCH) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAVE_FILTER 1
#endif

static atomic_uint refused;

u32 sandbox_refused(void)
{
	return atomic_load(&refused);
}

#ifdef HAVE_FILTER

/* Allowed whatever the arguments, first what is called most. */
/* clang-format off */
static const u32 always[] = {
	SYS_read, SYS_write, SYS_epoll_pwait, SYS_ppoll, SYS_clock_gettime, SYS_clock_nanosleep,
	SYS_nanosleep, SYS_pselect6, SYS_gettimeofday, SYS_clock_getres, SYS_epoll_ctl,
	SYS_epoll_create1, SYS_eventfd2, SYS_signalfd4, SYS_timerfd_create, SYS_timerfd_settime,
	SYS_timerfd_gettime, SYS_accept4, /* --serve: of the socket that was made before */
	/* files that are open, or are only looked at */
	SYS_close, SYS_close_range, SYS_lseek, SYS_pread64, SYS_readv, SYS_preadv, SYS_writev,
	SYS_pwrite64, SYS_fsync, SYS_fdatasync, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs,
	SYS_fstatfs, SYS_faccessat, SYS_faccessat2, SYS_readlinkat, SYS_getdents64, SYS_getcwd,
	SYS_fcntl, SYS_dup, SYS_dup3, SYS_fadvise64, SYS_name_to_handle_at,
	/* memory */
	SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_mincore, SYS_membarrier,
	/* threads, and a copy of us to close what takes long */
	SYS_clone, SYS_clone3, SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address,
	SYS_sched_yield, SYS_sched_getaffinity, SYS_getrandom, SYS_setsid,
	/* signals, the end of the command and of us */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigpending, SYS_rt_sigtimedwait,
	SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_kill, SYS_tgkill, SYS_wait4,
	SYS_waitid, SYS_pidfd_open, SYS_exit, SYS_exit_group,
	/* who we are */
	SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
	SYS_getpgid, SYS_getsid, SYS_uname, SYS_times, SYS_getrusage, SYS_prlimit64,
	SYS_getrlimit, SYS_setrlimit, SYS_sysinfo,
#ifdef SYS_open /* the older ones, of x86-64 */
	SYS_epoll_wait, SYS_poll, SYS_select, SYS_time, SYS_stat, SYS_lstat, SYS_access,
	SYS_readlink, SYS_getdents, SYS_dup2,
#endif
};
/* clang-format on */

/* Allowed if (argument & mask) == value, of its lower half. */
struct row {
	u32 number, argument, mask, value;
};

#define READ_ONLY (O_ACCMODE | O_CREAT | O_TRUNC)
#define WHOLE	  0xffffffffu
#define BPF_ROW(cmd)                   \
	{                              \
		SYS_bpf, 0, WHOLE, cmd \
	}

static const struct row sometimes[] = {
	BPF_ROW(BPF_MAP_LOOKUP_ELEM),
	BPF_ROW(BPF_MAP_UPDATE_ELEM),
	BPF_ROW(BPF_MAP_DELETE_ELEM),
	BPF_ROW(BPF_MAP_GET_NEXT_KEY),
	BPF_ROW(BPF_MAP_LOOKUP_AND_DELETE_ELEM),
	BPF_ROW(BPF_MAP_LOOKUP_BATCH),
	BPF_ROW(BPF_MAP_LOOKUP_AND_DELETE_BATCH),
	BPF_ROW(BPF_MAP_UPDATE_BATCH),
	BPF_ROW(BPF_MAP_DELETE_BATCH),
	BPF_ROW(BPF_MAP_CREATE), /* a map that is printed and cleared: engine/map_switch.c */
	BPF_ROW(BPF_PROG_TEST_RUN),
	BPF_ROW(BPF_OBJ_GET_INFO_BY_FD),
	{SYS_openat, 2, READ_ONLY, O_RDONLY},
#ifdef SYS_open
	{SYS_open, 1, READ_ONLY, O_RDONLY},
#endif
	{SYS_open_by_handle_at, 2, READ_ONLY, O_RDONLY},
	{SYS_ioctl, 1, 0xff00, '$' << 8}, /* of perf events */
	{SYS_ioctl, 1, WHOLE, TCGETS},
	{SYS_ioctl, 1, WHOLE, TIOCGWINSZ},
	{SYS_ioctl, 1, WHOLE, FIONREAD},
	{SYS_mmap, 2, PROT_EXEC, 0}, /* no code */
	{SYS_mprotect, 2, PROT_EXEC, 0},
	{SYS_prctl, 0, WHOLE, PR_SET_NAME},
	{SYS_prctl, 0, WHOLE, PR_SET_VMA}, /* names of the allocator's memory */
};

#define ROW_SIZE     6
#define CODE_SECCOMP 1 /* siginfo.h: SYS_SECCOMP */
#define DATA(field)  (u32) offsetof(struct seccomp_data, field)

/* The calls that were reported, so that each is reported once. */
static _Atomic u64 told[16];

static void say(u32 number)
{
	char text[256];
	const char *name = arch_syscall_name(number);
	int n;

	if (number < 64 * ARRAY_SIZE(told) &&
	    atomic_fetch_or(&told[number / 64], 1ULL << number % 64) >> number % 64 & 1)
		return;
	n = snprintf(text, sizeof(text),
		     "pantrace: ERROR: its own filter of system calls refused %s (%u), and what "
		     "needed it is missing; "
		     "please report this. --" SANDBOX_OPTION_NAME " runs without the filter.\n",
		     name ? name : "a call", number);
	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		return;
}

/* SECCOMP_RET_TRAP: the call was not made; it returns what this handler sets. */
static void on_refusal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *const c = context;
	const int saved = errno;

	if (info->si_code != CODE_SECCOMP)
		return;
	atomic_fetch_add(&refused, 1);
	say((u32)info->si_syscall);
	RESULT_OF(c) = -EPERM;
	errno = saved;
}

static void add_row(struct sock_filter *to, const struct row *r)
{
	const struct sock_filter code[ROW_SIZE] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->number, 0, ROW_SIZE - 1),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(args) + 8 * r->argument),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, r->mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, r->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr)),
	};

	memcpy(to, code, sizeof(code));
}

static u32 make_filter(struct sock_filter *code)
{
	u32 n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(nr));
	for (size_t i = 0; i < ARRAY_SIZE(always); i++) {
		code[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, always[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sometimes); i++, n += ROW_SIZE)
		add_row(code + n, &sometimes[i]);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	return n;
}

int sandbox_filter(void)
{
	struct sock_filter code[2 * ARRAY_SIZE(always) + ROW_SIZE * ARRAY_SIZE(sometimes) + 5];
	struct sock_fprog program = {.filter = code, .len = (unsigned short)make_filter(code)};
	struct sigaction action = {.sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGSYS, &action, NULL))
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)
		       ? -errno
		       : 0;
}

bool sandbox_can_filter(void)
{
	u32 action = SECCOMP_RET_TRAP;

	return !syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
}

#else

int sandbox_filter(void)
{
	return -EOPNOTSUPP;
}

bool sandbox_can_filter(void)
{
	return false;
}

#endif
