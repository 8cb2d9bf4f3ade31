// SPDX-License-Identifier: MIT
/*
 * A thread keeps its ids, its name and its counters in thread-local storage, found out at its first
 * event in a session and again when GENERATION says that it is a forked child's. Costs, an event:
 *
 *	vpid, vtid, cpu_id, ip		a load and a store
 *	procname			a copy of 16 bytes; asked for again every NAME_AGE events
 *	context_switches		two loads: the kernel writes the count into a page whenever
 *it puts the thread on a CPU (perf_swevent_add() calls perf_event_update_userpage(),
 *kernel/events/core.c), which is exactly when this count changes page_faults			a
 *system call: no page shows this count as it changes
 *	user_stack			two loads a frame, along frame pointers
 *
 * No descriptor stays open: a page keeps its counter alive, and a program may close all
 *descriptors.
 */
#include "context.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pantrace/ring.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_AGE 256 /* events after which a thread asks for its name again */
#define PAGE	 4096

struct range {
	uintptr_t low, high;
};

static __thread struct thread {
	uint32_t generation;
	uint32_t name_age;
	int32_t pid, tid;
	char name[16];
	const struct perf_event_mmap_page *switches; /* NULL: not asked for yet, or not to be had */
	bool switches_tried;
	uint64_t switches_base;
	struct range stack[2]; /* the thread's, and an alternate one of signal handlers */
	unsigned int next_stack;
} self __attribute__((tls_model("initial-exec")));

/* ---- the count of context switches ---- */

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void page_unmap(void *page)
{
	self.switches = NULL;
	munmap(page, PAGE);
}

static void key_make(void)
{
	if (pthread_key_create(&key, page_unmap))
		key = (pthread_key_t)-1;
}

static uint64_t switches_slowly(void)
{
	struct rusage usage;

	if (syscall(SYS_getrusage, RUSAGE_THREAD, &usage))
		return 0;
	return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static void switches_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
	};
	void *page = MAP_FAILED;
	int fd;

	self.switches_tried = true;
	self.switches_base = switches_slowly();
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return;
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return;
	madvise(page, PAGE, MADV_DONTFORK);
	pthread_once(&key_once, key_make);
	if (key == (pthread_key_t)-1 || pthread_setspecific(key, page)) {
		munmap(page, PAGE);
		return;
	}
	self.switches = page;
}

static uint64_t switches(void)
{
	uint32_t sequence;
	uint64_t count;

	if (__builtin_expect(!self.switches_tried, 0))
		switches_open();
	if (!self.switches)
		return switches_slowly() - self.switches_base;
	do { /* the thread itself is not on a CPU while the kernel writes: mostly once */
		sequence = __atomic_load_n(&self.switches->lock, __ATOMIC_ACQUIRE);
		count = (uint64_t)__atomic_load_n(&self.switches->offset, __ATOMIC_ACQUIRE);
	} while (sequence != __atomic_load_n(&self.switches->lock, __ATOMIC_ACQUIRE));
	return count;
}

static uint64_t page_faults(void)
{
	struct rusage usage;

	if (syscall(SYS_getrusage, RUSAGE_THREAD, &usage))
		return 0;
	return (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* ---- the stack ---- */

static unsigned int hex_digit(char c)
{
	return c >= 'a' ? (unsigned int)(c - 'a' + 10) : (unsigned int)(c - '0');
}

/* The mapping that holds ADDRESS, from /proc/self/maps by system calls alone. */
static struct range mapping_of(uintptr_t address)
{
	struct range now = {0, 0};
	enum { LOW, HIGH, REST } part = LOW;
	const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char text[1024];
	long n;

	if (fd < 0)
		return now;
	while ((n = syscall(SYS_read, fd, text, sizeof(text))) > 0) {
		for (long i = 0; i < n; i++) {
			const char c = text[i];

			if (c == '\n') {
				now = (struct range){0, 0};
				part = LOW;
			} else if (part == LOW) {
				if (c == '-')
					part = HIGH;
				else
					now.low = now.low << 4 | hex_digit(c);
			} else if (part == HIGH) {
				if (c != ' ') {
					now.high = now.high << 4 | hex_digit(c);
					continue;
				}
				part = REST;
				if (address >= now.low && address < now.high)
					goto out;
			}
		}
	}
	now = (struct range){0, 0};
out:
	syscall(SYS_close, fd);
	return now;
}

static uintptr_t stack_end(uintptr_t address)
{
	for (unsigned int i = 0; i < 2; i++)
		if (address >= self.stack[i].low && address < self.stack[i].high)
			return self.stack[i].high;
	self.next_stack ^= 1;
	self.stack[self.next_stack] = mapping_of(address);
	/* a stack grows down: only its end is remembered for certain */
	return self.stack[self.next_stack].high;
}

/* Each frame is {frame of the caller, return address}; what is none ends the walk. */
__attribute__((no_sanitize("address", "undefined"))) static unsigned char *
put_stack(const void *ip, void *frame, unsigned char *to)
{
	unsigned char *const count_at = to;
	uintptr_t at = (uintptr_t)frame;
	const uintptr_t end = stack_end(at);
	uint64_t address = (uintptr_t)ip;
	uint16_t count = 1;

	to += 2;
	memcpy(to, &address, 8);
	to += 8;
	while (count < PT_STACK_DEPTH) {
		uintptr_t next;

		if (at + 16 > end || at & 7)
			break;
		memcpy(&next, (const void *)at, 8);
		if (next <= at || next + 16 > end || next & 7)
			break;
		memcpy(&address, (const void *)(next + 8), 8);
		if (!address)
			break;
		memcpy(to, &address, 8);
		to += 8;
		count++;
		at = next;
	}
	memcpy(count_at, &count, 2);
	return to;
}

/* ---- all of them ---- */

static __attribute__((noinline)) void thread_begin(uint32_t generation)
{
	const int32_t pid = (int32_t)syscall(SYS_getpid);

	if (self.pid && self.pid != pid) { /* the parent's page is not mapped here */
		self.switches = NULL;
		self.switches_tried = false;
	}
	self.pid = pid;
	self.tid = (int32_t)syscall(SYS_gettid);
	self.name_age = 0;
	self.generation = generation;
}

size_t pt_context_room(uint64_t mask)
{
	static const unsigned short sizes[PANTRACE_CONTEXT_MAX] = {
		[PANTRACE_CONTEXT_VPID] = 4,
		[PANTRACE_CONTEXT_VTID] = 4,
		[PANTRACE_CONTEXT_PROCNAME] = 16,
		[PANTRACE_CONTEXT_CPU_ID] = 4,
		[PANTRACE_CONTEXT_CONTEXT_SWITCHES] = 8,
		[PANTRACE_CONTEXT_PAGE_FAULTS] = 8,
		[PANTRACE_CONTEXT_IP] = 8,
		[PANTRACE_CONTEXT_USER_STACK] = 2 + 8 * PT_STACK_DEPTH,
	};
	size_t room = 0;

	for (; mask; mask &= mask - 1)
		room += sizes[__builtin_ctzll(mask)];
	return room;
}

#define WANTED(context) (mask & (1u << (context)))

unsigned char *pt_context_put(uint64_t mask, uint32_t generation, const void *ip, void *frame,
			      unsigned char *to)
{
	const int saved = errno;

	if (__builtin_expect(self.generation != generation, 0))
		thread_begin(generation);
	if (WANTED(PANTRACE_CONTEXT_VPID)) {
		memcpy(to, &self.pid, 4);
		to += 4;
	}
	if (WANTED(PANTRACE_CONTEXT_VTID)) {
		memcpy(to, &self.tid, 4);
		to += 4;
	}
	if (WANTED(PANTRACE_CONTEXT_PROCNAME)) {
		if (__builtin_expect(!self.name_age, 0)) {
			prctl(PR_GET_NAME, self.name);
			self.name_age = NAME_AGE;
		}
		self.name_age--;
		memcpy(to, self.name, 16);
		to += 16;
	}
	if (WANTED(PANTRACE_CONTEXT_CPU_ID)) {
		const int cpu = sched_getcpu(); /* glibc reads it where rseq keeps it */

		memcpy(to, &cpu, 4);
		to += 4;
	}
	if (WANTED(PANTRACE_CONTEXT_CONTEXT_SWITCHES)) {
		const uint64_t count = switches();

		memcpy(to, &count, 8);
		to += 8;
	}
	if (WANTED(PANTRACE_CONTEXT_PAGE_FAULTS)) {
		const uint64_t count = page_faults();

		memcpy(to, &count, 8);
		to += 8;
	}
	if (WANTED(PANTRACE_CONTEXT_IP)) {
		memcpy(to, &ip, 8);
		to += 8;
	}
	if (WANTED(PANTRACE_CONTEXT_USER_STACK))
		to = put_stack(ip, frame, to);
	errno = saved;
	return to;
}
