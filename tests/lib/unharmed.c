// SPDX-License-Identifier: MIT
/*
 * A recording does not harm the program: not by memory that there is none of, or limits that
 * the program has. What could not be recorded is counted, and the program goes on.
 *
 *   unharmed DIRECTORY	the directory becomes PANTRACE_RUNTIME
 */
#include "../unit/tap.h"
#include "client.h"
#include "worker.h"
#include "../../lib/vm.h"
#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pantrace/aggregate.h>
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static char self[512];

/* ---- workers ---- */

static void say(char c)
{
	if (write(1, &c, 1) != 1)
		_exit(3);
}

/* N events of 40 bytes, each with a number of its own. */
static void produce(int n)
{
	static int number;

	for (int i = __atomic_fetch_add(&number, n, __ATOMIC_RELAXED); n--; i++)
		PANTRACE(worker, one, i, (long)i, "sixteen bytes .");
}

/*
 * From here on every system call but these is the end of the process. FLAGS: whose, besides the
 * thread's.
 */
static void confine(unsigned int flags)
{
	static const int allowed[] = {SYS_read, SYS_write, SYS_exit, SYS_exit_group,
				      SYS_rt_sigreturn};
	enum { N = sizeof(allowed) / sizeof(*allowed) };
	struct sock_filter code[1 + 2 * N + 1] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
	const struct sock_fprog filter = {2 * N + 2, code};

	for (unsigned int i = 0; i < N; i++) {
		code[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							       (unsigned int)allowed[i], 0, 1);
		code[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[2 * N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter))
		_exit(5);
}

static void *confined_thread(void *arg)
{
	(void)arg;
	confine(0);
	produce(1000);
	syscall(SYS_exit, 0); /* how the C library ends a thread is not for such a filter */
	return NULL;
}

/* Events of a thread that confines itself before its first one. */
static void from_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, confined_thread, NULL))
		_exit(6);
	pthread_detach(thread);
}

/*
 * e: a thousand events, b: twenty thousand, t: a thousand by a confined thread; c, C: the thread,
 * or all of them, are confined; f: a child that says nothing; q: ends, x: returns from main()
 */
static int obey(void)
{
	char c;

	say('r');
	while (read(0, &c, 1) == 1) {
		if (c == 'e')
			produce(1000);
		if (c == 'b')
			produce(20000);
		if (c == 't')
			from_thread();
		if (c == 'c')
			confine(0);
		if (c == 'C')
			confine(SECCOMP_FILTER_FLAG_TSYNC);
		if (c == 'q')
			syscall(SYS_exit_group, 0); /* and nothing of a sanitizer's */
		if (c == 'x')
			return 0;
		if (c == 'f' && !fork())
			_exit(0);
		if (c == 'f')
			wait(NULL);
		say('d');
	}
	return 0;
}

static int worker(const char *kind)
{
	const struct rlimit file = {1 << 20, 1 << 20};

	if (!strncmp(kind, "small-files", 11))
		setrlimit(RLIMIT_FSIZE, &file);
	if (!strcmp(kind, "small-files-exec")) {
		execl(self, self, "worker", "plain", NULL);
		return 4;
	}
	return obey();
}

/* ---- what is promised ---- */

/* Bytes of memory that files of rings in PATH have. */
static long long memory_of(const char *path)
{
	char command[400];
	long long kib = -1;
	FILE *pipe;

	snprintf(command, sizeof(command), "du -sk %s", path);
	pipe = popen(command, "r");
	if (pipe && fscanf(pipe, "%lld", &kib) != 1)
		kib = -1;
	if (pipe)
		pclose(pipe);
	return kib * 1024;
}

static void counts(pid_t pid, const char *session, long long *events, long long *lost)
{
	char format[100];

	*events = *lost = -1;
	ask(pid, "status %s\n", session);
	snprintf(format, sizeof(format), "ok\nsession %s running %%lld %%lld", session);
	sscanf(answer, format, events, lost);
}

/* Files of rings in the directory. */
static int rings_left(void)
{
	DIR *const d = opendir(directory);
	const struct dirent *entry;
	int n = 0;

	while (d && (entry = readdir(d)))
		n += strstr(entry->d_name, ".pantrace") != NULL;
	if (d)
		closedir(d);
	return n;
}

static bool mounted(const char *path, const char *size)
{
	mkdir(path, 0700);
	if (!mount("none", path, "tmpfs", 0, size))
		return true;
	tap_skip("a file system of its own", strerror(errno));
	return false;
}

static void unmount(const char *path)
{
	umount2(path, MNT_DETACH);
	rmdir(path);
}

static void idle(void)
{
	struct child c = start(self, "plain");
	long long events, lost, before;
	char path[200];

	snprintf(path, sizeof(path), "%s/idle", directory);
	if (!mounted(path, "size=64m"))
		return;
	expect(&c, 'r');
	said(ask(c.pid, "start\nname i\ndirectory %s\nenable worker:*\n", path), "i running 0 0 /",
	     "a session of a program that has nothing to say");
	for (int i = 0; i < 200 && memory_of(path) > 400 << 10; i++)
		usleep(100000);
	before = memory_of(path);
	ok(before < 400 << 10, "costs %lld KiB of memory", before >> 10);
	ok(order(&c, 'e'), "it speaks");
	counts(c.pid, "i", &events, &lost);
	ok(events == 1000 && !lost, "%lld events, %lld lost", events, lost);
	for (int i = 0; i < 200 && memory_of(path) < 2 << 20; i++) {
		order(&c, 'e');
		usleep(10000);
	}
	ok(memory_of(path) >= 2 << 20, "and gets memory as it goes on: %lld KiB",
	   memory_of(path) >> 10);
	is_int(finish(&c), 0, "and ends well");
	unmount(path);
}

/* The rest of a file system. */
static void fill(const char *path)
{
	static char block[65536];
	char name[220];
	int fd;

	snprintf(name, sizeof(name), "%s/fill", path);
	fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (size_t n = sizeof(block); n >= 512; n /= 2)
		while (write(fd, block, n) == (ssize_t)n)
			;
	close(fd);
}

/* MODE: of the session; what has no memory is lost, and no write is a SIGBUS. */
static void full(const char *mode)
{
	struct child c = start(self, "plain");
	long long events, lost;
	char path[200];

	snprintf(path, sizeof(path), "%s/small", directory);
	if (!mounted(path, "size=1500k"))
		return;
	expect(&c, 'r');
	said(ask(c.pid, "start\nname f\ndirectory %s\n%s\nenable worker:*\n", path, mode),
	     "f running 0 0 /", "rings that are larger than the file system");
	fill(path);
	for (int i = 0; i < 5; i++)
		ok(order(&c, 'b'), "%.*s: events, while there is no memory",
		   (int)strcspn(mode, "\n"), mode);
	counts(c.pid, "f", &events, &lost);
	is_int(events + lost, 100000, "each is there or counted as lost");
	ok(events > 0 && lost > 0, "%lld are there, %lld are lost", events, lost);
	is_int(finish(&c), 0, "and the program ends well");
	unmount(path);
}

static void limits(void)
{
	struct child c = start(self, "small-files");

	expect(&c, 'r');
	said(ask(c.pid, "start\nname l\ndirectory %s\nenable worker:*\n", directory), "error 27",
	     "rings larger than files may be are refused");
	said(answer, "ulimit -f", "with the limit as the reason");
	said(ask(c.pid, "start\nname l\nenable worker:*\n"), "error 27", "those in memory, too");
	said(ask(c.pid, "start\nname l\ndirectory %s\nmap count 8 100000\nenable worker:*\n",
		 directory),
	     "error 27", "and tables");
	ok(order(&c, 'e'), "the program works");
	said(ask(c.pid, "start\nname l\ndirectory %s\nsub-size 4096\nsubs 2\nenable worker:*\n",
		 directory),
	     "error 27", "what is behind the rings counts");
	is_int(finish(&c), 0, "and ends well");
}

/* TEXT: of a session that waits for programs, whose rings this one cannot have as it begins. */
static void limited_from_start(const char *text)
{
	char path[200];
	struct child c;
	int fd;

	snprintf(path, sizeof(path), "%s/sessions", directory);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/sessions/w", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dprintf(fd, "pantrace-session 1\nname w\nfor all\ndirectory %s\n%senable worker:*\n",
		directory, text);
	close(fd);
	c = start(self, "small-files-exec");
	ok(expect(&c, 'r') && order(&c, 'e'), "a program that begins with the limit works");
	is_int(finish(&c), 0, "and ends well");
	unlink(path);
}

/* A session of SPEC begins when the thread cannot make a system call any more. */
static void confined(const char *name, const char *spec)
{
	struct child c = start(self, "plain");
	long long events = 0, lost;

	expect(&c, 'r');
	said(ask(c.pid, "hello\n"), "ok\nlibrary", "there is a helper");
	ok(order(&c, 't') && order(&c, 'c'), "%s: a thread that is confined", name);
	said(ask(c.pid, "start\nname s\ndirectory %s\n%senable worker:*\n", directory, spec),
	     "s running 0 0 /", "is recorded");
	for (int i = 0; i < 10; i++)
		ok(order(&c, 'e'), "and lives");
	for (int i = 0; i < 500 && events < 1000; i++) {
		order(&c, 'e');
		counts(c.pid, "s", &events, &lost);
	}
	ok(events >= 1000, "%s: %lld events, %lld lost", name, events, lost);
	said(ask(c.pid, "destroy s\n"), "ok", "the session ends");
	is_int(finish(&c), 0, "and so does the program, well");
}

/* With threads that are confined as they begin, while a session goes on. */
static void confined_threads(const char *name, const char *spec)
{
	struct child c = start(self, "plain");
	long long events = 0, lost = 0;

	expect(&c, 'r');
	said(ask(c.pid, "start\nname s\ndirectory %s\n%senable worker:*\n", directory, spec),
	     "s running 0 0 /", "a session");
	for (int i = 0; i < 10; i++)
		order(&c, 't');
	for (int i = 0; i < 500 && events + lost < 10000; i++) {
		usleep(10000);
		counts(c.pid, "s", &events, &lost);
	}
	is_int(events + lost, 10000, "events of new threads are there or counted");
	ok(events > 0, "%s: %lld events, %lld lost", name, events, lost);
	is_int(finish(&c), 0, "and the program ends well");
}

/* Of worker:one, as `list` of PID tells its fields: what programs that count are known by. */
static unsigned long long worker_hash(pid_t pid)
{
	unsigned long long hash = 0xcbf29ce484222325ull;
	const char *line;

	ask(pid, "list\n");
	line = strstr(answer, "worker:one ");
	for (; line && *line && *line != '\n'; line++)
		hash = (hash ^ (unsigned char)*line) * 0x100000001b3ull;
	return hash & INT64_MAX;
}

/* What a session of worker:one that counts the events of each number is described by. */
static const char *tables_spec(pid_t pid)
{
	static const struct {
		struct pt_vm_image head;
		struct bpf_insn insns[8];
	} image = {{.magic = PT_VM_MAGIC, .version = PT_VM_VERSION, .nr_insns = 8},
		   {
			   {.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = 6, .src_reg = 1},
			   {.code = BPF_STX | BPF_MEM | BPF_DW,
			    .dst_reg = 10,
			    .src_reg = 6,
			    .off = -8},
			   {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1},
			   {.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10},
			   {.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 2, .imm = -8},
			   {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = 1},
			   {.code = BPF_JMP | BPF_CALL, .imm = PT_VM_COUNT},
			   {.code = BPF_JMP | BPF_EXIT},
		   }};
	static char text[1000];
	int n = snprintf(text, sizeof(text), "aggregate %llu ", worker_hash(pid));

	for (size_t i = 0; i < sizeof(image); i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%02x",
			      ((const unsigned char *)&image)[i]);
	snprintf(text + n, sizeof(text) - (size_t)n, "\nenable worker:*\n");
	return text;
}

/* The updates in the one file of tables in PATH; those without memory are lost. */
static void tables_read(const char *path, long long *counted, long long *lost, long long *full)
{
	struct pantrace_aggregates *t;
	char file[512] = "";
	struct stat st = {0};
	const struct dirent *entry;
	DIR *const d = opendir(path);
	int fd;

	*counted = *lost = *full = -1;
	while (d && (entry = readdir(d)))
		if (strstr(entry->d_name, ".pantrace"))
			snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
	if (d)
		closedir(d);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	t = fd < 0 || fstat(fd, &st)
		    ? MAP_FAILED
		    : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (t == MAP_FAILED)
		return;
	*counted = 0;
	*lost = (long long)t->lost;
	*full = (long long)t->map[0].full;
	for (uint64_t s = 0; s < t->map[0].stripes; s++) {
		const uint64_t *const value =
			(const void *)((const char *)t + t->map[0].values_off +
				       s * t->map[0].records * t->map[0].value_size);

		for (uint64_t i = 0; i < t->map[0].used && i < t->map[0].records; i++)
			*counted += (long long)value[i];
	}
	munmap(t, (size_t)st.st_size);
}

/* A thread that cannot make a system call meets keys that the tables have no memory for yet. */
static void confined_tables(void)
{
	struct child c = start(self, "plain");
	long long counted = 0, before = 0, lost = 0, full;
	char path[200];

	snprintf(path, sizeof(path), "%s/tables", directory);
	mkdir(path, 0700);
	expect(&c, 'r');
	said(ask(c.pid, "start\nname s\ndirectory %s\nmap count 8 1000000\n%s", path,
		 tables_spec(c.pid)),
	     "s running 0 0 /", "a session that counts");
	for (int i = 0; i < 10; i++)
		order(&c, 't');
	ok(order(&c, 'c'), "a thread is confined");
	for (int i = 0; i < 10; i++)
		ok(order(&c, 'b'), "and lives, with keys that are new");
	for (int i = 0; i < 500 && counted + lost < 210000; i++) {
		usleep(10000);
		tables_read(path, &counted, &lost, &full);
	}
	is_int(counted + lost, 210000, "each event is counted or lost");
	ok(counted > 0 && !full, "%lld are counted, %lld lost", counted, lost);
	before = counted;
	for (int i = 0; i < 500 && counted < before + 1000; i++) {
		order(&c, 'e');
		usleep(10000);
		tables_read(path, &counted, &lost, &full);
	}
	ok(counted >= before + 1000, "the helper follows: %lld more are counted", counted - before);
	is_int(finish(&c), 0, "and the program ends well");
	rmdir(path);
}

/* As full(), for tables. */
static void full_tables(void)
{
	struct child c = start(self, "plain");
	long long counted, lost, full;
	char path[200];

	snprintf(path, sizeof(path), "%s/small", directory);
	if (!mounted(path, "size=4m"))
		return;
	expect(&c, 'r');
	said(ask(c.pid, "start\nname f\ndirectory %s\nmap count 8 100000\n%s", path,
		 tables_spec(c.pid)),
	     "f running 0 0 /", "tables that are larger than the file system");
	fill(path);
	for (int i = 0; i < 5; i++)
		ok(order(&c, 'b'), "tables: events, while there is no memory");
	tables_read(path, &counted, &lost, &full);
	is_int(counted + lost, 100000, "each is counted or lost");
	ok(counted > 0 && lost > 0, "%lld are counted, %lld are lost", counted, lost);
	is_int(finish(&c), 0, "and the program ends well");
	unmount(path);
}

/* Until the helper of PID sleeps: in read(). */
static void helper_sleeps(pid_t pid)
{
	char command[200];

	snprintf(command, sizeof(command),
		 "for i in $(seq 200); do for t in /proc/%d/task/*; do "
		 "grep -qx pantrace $t/comm && grep -q '^0 ' $t/syscall && exit; done; sleep .05; "
		 "done",
		 (int)pid);
	usleep(1500000); /* until it has nothing to look after */
	if (system(command))
		printf("# cannot see whether the helper sleeps\n");
}

/* The helper, too: nobody controls the process any more, and it goes on. */
static void confined_all(void)
{
	struct child c = start(self, "plain");

	expect(&c, 'r');
	said(ask(c.pid, "start\nname s\ndirectory %s\nenable worker:*\n", directory),
	     "s running 0 0 /", "a session");
	ok(order(&c, 'e'), "with events");
	helper_sleeps(c.pid);
	ok(order(&c, 'C'), "all threads are confined");
	for (int i = 0; i < 50; i++)
		order(&c, 'b');
	ask_once(c.pid, "pantrace 1 test hello\n", 22, 3);
	ok(!*answer, "it does not answer");
	ok(order(&c, 'e'), "and lives");
	is_int(finish(&c), 0, "and ends well");

	c = start(self, "plain");
	expect(&c, 'r');
	helper_sleeps(c.pid);
	ok(order(&c, 'C'), "all threads are confined");
	for (int i = 0; i < 20; i++) {
		kill(c.pid, SIGSTOP);
		usleep(5000);
		kill(c.pid, SIGCONT);
		ok(order(&c, 'e'), "it is stopped, goes on, and lives");
	}
	is_int(finish(&c), 0, "and ends well");
}

#ifndef __SANITIZE_ADDRESS__ /* which does much at the end of a program */
static bool socket_left(pid_t pid)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/%d", directory, (int)pid);
	return !access(path, F_OK);
}

/* main() is left by a thread that may not make a system call any more. */
static void confined_end(void)
{
	struct child c = start(self, "plain"), other;
	const int before = rings_left();
	const pid_t pid = c.pid;

	expect(&c, 'r');
	said(ask(c.pid, "hello\n"), "ok\nlibrary", "there is a helper");
	ok(order(&c, 'c'), "a thread that is confined");
	ok(write(c.in, "x", 1) == 1, "returns from main()");
	is_int(finish(&c), 0, "and ends well");
	for (int i = 0; i < 100 && socket_left(pid); i++) {
		usleep(100000);
		other = start(self, "plain");
		expect(&other, 'r');
		ask(other.pid, "hello\n"); /* its helper has begun, and looked */
		finish(&other);
	}
	ok(!socket_left(pid), "the next programs remove its socket");

	c = start(self, "plain");
	expect(&c, 'r');
	said(ask(c.pid, "start\nname s\ndirectory %s\nenable worker:*\n", directory),
	     "s running 0 0 /", "a session");
	for (int i = 0; i < 30; i++)
		order(&c, 'f');
	ok(order(&c, 'c'), "a thread that is confined and had children");
	ok(write(c.in, "x", 1) == 1, "returns from main()");
	is_int(finish(&c), 0, "and ends well");
	/* a helper that a busy machine lets wait for long is not waited for */
	ok(rings_left() - before <= 4, "few of the children's rings are left: %d",
	   rings_left() - before - 1);
}
#endif

static const struct {
	const char *name, *spec;
} sessions[] = {
	{"discard", ""},
	{"overwrite", "mode overwrite\n"},
	{"block", "mode block\nblock 1000\nsub-size 65536\nsubs 2\n"},
	{"rings of threads", "threads\n"},
	{"contexts", "contexts vpid,vtid,procname,cpu_id\n"},
	{"counts", "contexts context_switches,page_faults,procname\n"},
	{"stacks", "contexts ip,user_stack\n"},
	{"all contexts, rings of threads",
	 "threads\ncontexts "
	 "vpid,vtid,procname,cpu_id,context_switches,page_faults,ip,user_stack\n"},
};

int main(int argc, char **argv)
{
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0 || argc < 2)
		return 2;
	if (argc == 3 && !strcmp(argv[1], "worker"))
		return worker(argv[2]);
	snprintf(directory, sizeof(directory), "%s", argv[1]);
	setenv("PANTRACE_RUNTIME", directory, 1);
	signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && !strcmp(argv[2], "confined"))
		goto confined;
	idle();
	full("mode discard");
	full("mode overwrite");
	full("mode block\nblock 1000");
	full("threads");
	full_tables();
	limits();
	limited_from_start("");
	limited_from_start("map count 8 100000\n");
confined:
	for (size_t i = 0; i < sizeof(sessions) / sizeof(*sessions); i++) {
		confined(sessions[i].name, sessions[i].spec);
		confined_threads(sessions[i].name, sessions[i].spec);
	}
	confined_tables();
	confined_all();
#ifndef __SANITIZE_ADDRESS__
	confined_end();
#endif
	return tap_done();
}
