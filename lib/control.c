// SPDX-License-Identifier: MIT
/*
 * The helper: one thread that sleeps until a tool connects (sleep.h, pantrace/protocol.h). It has a
 * descriptor table of its own (unshare(CLONE_FILES)): the program neither sees nor can close its
 * socket, and gets the same descriptor numbers as without it. If that is refused, the helper shares
 * the program's table, uses high numbers, and checks before each use that the socket is still its
 * own.
 */
#include "children.h"
#include "code.h"
#include "context.h"
#include "control_socket.h"
#include "sleep.h"
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define STACK_SIZE  (256u << 10)
#define IDLE_MS	    50
#define LOOK_NS	    2000000l /* of the process's CPU time: the kernel adds up to a tick */
#define CHILDREN_NS 10000000l
#define LOOK_MS	    10 /* used if there is no timer of the process's CPU time */
#define YOUNG_MS    1100
/* how often to look for libraries that were loaded, while events carry addresses */
#define OBJECTS_MS 100
#define START_MS   5 /* until there is a socket */
#define CHILD_MS   50
#define END_PAUSES (1u << 22) /* at most; some 50 to 200 ms */

static struct {
	bool child_safe; /* of a fork that is going on */
	bool own_table;
	bool helps; /* a helper exists or is about to be made */
	bool ending; /* main() is over */
	bool ended; /* the helper has seen that */
	int seccomp; /* mode when the library was loaded */
} control;

static __thread bool is_helper __attribute__((tls_model("initial-exec")));

/* Threads that make rings ask for this while the helper may be ending. */
static void helps_set(bool helps)
{
	__atomic_store_n(&control.helps, helps, __ATOMIC_RELAXED);
}

/* Defined by ThreadSanitizer: is the program built with it? */
extern void __tsan_init(void) __attribute__((weak));

static void table_unshare(void)
{
	struct rlimit limit = {0};

	/*
	 * TSan takes equal numbers in two tables for one descriptor and reports races that do not
	 * exist; its reports about the helper would go to a descriptor that is closed here
	 */
	control.own_table = !__tsan_init && !unshare(CLONE_FILES);
	if (!control.own_table || !syscall(SYS_close_range, 0u, ~0u, 0u))
		return;
	/* before Linux 5.9 */
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = 0; fd < (int)(limit.rlim_cur > 65536 ? 65536 : limit.rlim_cur); fd++)
		close(fd);
}

/* ---- the thread ---- */

static int least(int a_ms, int b_ms)
{
	return a_ms < 0 || b_ms < a_ms ? b_ms : a_ms;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/*
 * Does what is due. Returns after how many milliseconds it must be called again at the latest, or
 * -1.
 */
static int tend(void)
{
	const unsigned int watch = pt_sessions_follow();

	if (watch & (PT_WATCH_WORK | PT_WATCH_CHILDREN) &&
	    !pt_sleep_until_run(watch & PT_WATCH_WORK ? LOOK_NS : CHILDREN_NS))
		return LOOK_MS;
	return watch & PT_WATCH_TIME ? YOUNG_MS : -1;
}

/*
 * Waits for a connection, up to LIMIT_MS (-1: for ever). A descriptor or -1; EAGAIN: nobody
 * connected. If the program can close the socket, only accept() keeps it open while waiting.
 */
static int client_wait(int listener, int limit_ms)
{
	const struct timeval limit = {limit_ms > 0 ? limit_ms / 1000 : 0,
				      limit_ms > 0 ? limit_ms % 1000 * 1000 : 0};
	int client, saved;

	if (control.own_table) {
		pt_sleep(listener, limit_ms);
		return accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	setsockopt(listener, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	saved = errno;
	pt_sleep_guard();
	errno = saved;
	return client;
}

bool pt_control_ends(void)
{
	return __atomic_load_n(&control.ending, __ATOMIC_SEQ_CST);
}

/*
 * Delays making the socket: a program that ends at once, or a child that only calls exec, then
 * leaves none behind. Its rings are served from the start.
 */
static void socket_put_off(uint64_t ms)
{
	const uint64_t until = now_ms() + ms;

	for (uint64_t now = now_ms(); now < until && !pt_control_ends(); now = now_ms())
		pt_sleep(-1, least(tend(), (int)(until - now)));
}

/* The helper ends: nobody serves rings from here on. */
static void *helper_end(void)
{
	helps_set(false);
	pt_sessions_populate();
	return NULL;
}

/* The process is ending: removes what it would leave behind. Never returns. */
static void process_end(void)
{
	pt_socket_remove();
	if (pt_state) {
		pt_lock();
		pt_children_sweep(UINT_MAX);
		pt_unlock();
	}
	__atomic_store_n(&control.ended, true, __ATOMIC_SEQ_CST);
	for (;;)
		pt_sleep(-1, tend());
}

static void *helper(void *delay_ms)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	uint64_t quiet_from = 0; /* when nobody waits for what was put off; 0: nothing was */
	int listener = -1;

	is_helper = true;
	prctl(PR_SET_NAME, "pantrace");
	table_unshare();
	pt_socket_forget(false);
	pt_sleep_begin(control.own_table);
	socket_put_off((uintptr_t)delay_ms);
	while (!pt_control_ends()) {
		bool is_new = false;
		int fd, wait_ms;

		if (!pt_socket_ours()) {
			pt_socket_remove();
			listener = pt_socket_make(!control.own_table);
			if (listener < 0)
				break;
			if (control.own_table)
				pt_sleep_listen(listener);
			is_new = control.own_table;
			/*
			 * sessions that were described since this process began, before it had a
			 * socket to be asked by
			 */
			pt_join_waiting();
		}
		/*
		 * delayed work that nobody waits for is done when nobody has connected for a while
		 */
		if (quiet_from && now_ms() >= quiet_from) {
			pt_sessions_bury();
			quiet_from = 0;
		}
		if (pt_sessions_addresses())
			pantrace_objects();
		pt_sites_go_on();
		wait_ms = tend();
		if (quiet_from)
			wait_ms = least(wait_ms, IDLE_MS);
		if (pt_sessions_addresses())
			wait_ms = least(wait_ms, OBJECTS_MS);
		/* a client that connected before pt_sleep_listen() does not end a sleep */
		fd = client_wait(listener, is_new ? 0 : wait_ms);
		if (fd < 0) {
			if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
			    errno == ENOBUFS)
				nanosleep(&pause, NULL);
			else if (errno == EPERM || errno == ENOSYS)
				break;
			continue;
		}
		pt_socket_serve(fd);
		close(fd);
		quiet_from = now_ms() + IDLE_MS;
	}
	if (pt_control_ends())
		process_end();
	return helper_end();
}

extern void *dlopen(const char *file, int mode) __attribute__((weak));

/*
 * Keeps the helper's code loaded: a plugin that contains the library may be unloaded while the
 * program runs. (libpantrace.so has this in its own flags; a static program has no dlopen().)
 */
static void object_pin(void)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (dlopen && dladdr1((void *)object_pin, &info, (void **)&map, RTLD_DL_LINKMAP) && map &&
	    map->l_name && *map->l_name)
		dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void helper_start(uintptr_t delay_ms)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool made;

	helps_set(false);
	if (pthread_attr_init(&attr))
		return;
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all,
			&before); /* handlers are the program's threads' business */
	/* not after making the thread: the helper may have ended by then, and have cleared it */
	helps_set(true);
	made = !pthread_create(&thread, &attr, helper, (void *)delay_ms);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (made)
		return;
	helps_set(false);
	pt_sessions_populate();
}

/*
 * A child gets a helper of its own if making a thread is safe there: that calls malloc(), whose
 * locks another thread may have held during the fork. The C library's malloc copes with that.
 */
static void fork_prepare(void)
{
	Dl_info one, other;
	struct stat st;

	/* this thread, the helper, and the two entries that every directory has */
	control.child_safe = (dladdr((void *)malloc, &one) && dladdr((void *)getpid, &other) &&
			      one.dli_fbase == other.dli_fbase && getauxval(AT_BASE)) ||
			     (!stat("/proc/self/task", &st) && st.st_nlink <= 4);
}

static void fork_child(void)
{
	pt_forks++;
	/* even where a seccomp filter might object: the event would fault */
	pt_rings_of_parent();
	pt_contexts_of_parent();
	pt_code_mend();
	pt_socket_forget(!control.own_table);
	pt_sleep_forget(!control.own_table);
	helps_set(false);
	if (prctl(PR_GET_SECCOMP) != control.seccomp)
		return;
	helps_set(control.child_safe);
	pt_sessions_of_child();
	if (control.child_safe)
		helper_start(CHILD_MS);
}

void pt_control_wake(void)
{
	/* a helper that waits for a connection is given one */
	if (!pt_sleep_ends_soon() && !pt_sleep_until_run(LOOK_NS))
		pt_socket_touch();
}

bool pt_control_confined(void)
{
	return control.seccomp > 0;
}

bool pt_control_is_helper(void)
{
	return is_helper;
}

bool pt_control_helps(void)
{
	return __atomic_load_n(&control.helps, __ATOMIC_RELAXED);
}

/*
 * Called by the thread that ends the program. It may have confined itself, so it makes no system
 * call here: the helper removes what children left, if its timer expires while this waits. A socket
 * that stays is removed by the next process, as that of a killed one.
 */
static void process_ends(void)
{
	__atomic_store_n(&control.ending, true, __ATOMIC_SEQ_CST);
	if (!pt_control_helps() || !pt_sleep_ends_soon() || !pt_children_noted())
		return;
	for (unsigned int i = 0; i < END_PAUSES; i++) {
		if (__atomic_load_n(&control.ended, __ATOMIC_SEQ_CST))
			return;
		_mm_pause();
	}
}

void pt_control_begin(void)
{
	const char *given = getenv("PANTRACE_CONTROL");

	control.seccomp = prctl(PR_GET_SECCOMP);
	/* whoever starts a program that has more privileges does not control it */
	if (getauxval(AT_SECURE) || (given && !strcmp(given, "0")) || pt_state_get())
		return;
	/* this is free while there is only one thread; later it waits for all CPUs */
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0);
	helps_set(true);
	pt_code_begin();
	pt_join_begin();
	pt_join_waiting();
	object_pin();
	pthread_atfork(fork_prepare, NULL, fork_child);
	atexit(process_ends); /* before destructors */
	helper_start(START_MS);
}
