/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of live and ended processes: programs that print the addresses of their own functions
 * are the truth. */
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "binary/process/perf_map.h"
#include "binary/process/cache.h"
#include "binary/process/symbolize.h"
#include "scratch.h"
#include "tap.h"

static char dir[] = "/tmp/pantrace-symbolize-XXXXXX";

struct child {
	pid_t pid;
	FILE *out;
	int in; /* closing it ends the program */
};

static struct child start(const char *program, const char *argument)
{
	int out[2], in[2];
	struct child c = {0};

	if (pipe(out) < 0 || pipe(in) < 0)
		return c;
	c.pid = fork();
	if (c.pid == 0) {
		dup2(out[1], 1);
		dup2(in[0], 0);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		if (chdir(dir) == 0)
			execl(program, program, argument, NULL);
		_exit(127);
	}
	close(out[1]);
	close(in[0]);
	c.out = fdopen(out[0], "r");
	c.in = in[1];
	return c;
}

static void stop(struct child *c)
{
	close(c->in);
	waitpid(c->pid, NULL, 0);
	fclose(c->out);
}

struct truth {
	unsigned long long local, exported, library, jit, data;
};

static bool read_truth(struct child *c, struct truth *t)
{
	return fscanf(c->out, "%llx %llx %llx %llx %llx", &t->local, &t->exported, &t->library,
		      &t->jit, &t->data) == 5;
}

static void names(struct symbolizer *s, pid_t pid, u64 address, const char *want, u64 offset,
		  const char *what)
{
	struct symbol_name n;

	symbolize_user(s, pid, address, &n);
	is_str(n.function, want, what);
	if (want)
		is_int((long long)n.offset, (long long)offset, "offset");
}

static void check_all(struct symbolizer *s, pid_t pid, const struct truth *t, const char *program,
		      const char *when)
{
	struct symbol_name n;

	printf("# %s, %s\n", program, when);
	names(s, pid, t->local, "local_one", 0, "a static function");
	names(s, pid, t->local + 3, "local_one", 3, "inside of it");
	names(s, pid, t->exported, "ns::exported(int)", 0, "a C++ function");
	names(s, pid, t->library + 1, "in_library", 1, "a function of a library");
	symbolize_user(s, pid, t->library, &n);
	ok(n.module && strstr(n.module, "/lib.so"), "module %s", n.module ? n.module : "(none)");
	names(s, pid, 0x10, NULL, 0, "an address that is not mapped");
}

static void test_programs(void)
{
	static const char *const programs[][2] = {
		{"./pie", "-fPIE -pie"}, {"./fixed", "-no-pie"}, {"./lld", "-fuse-ld=lld"}};

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		struct symbolizer *s = symbolizer_new(NULL, true);
		struct symbol_name n;
		struct truth t;
		struct child c;

		if (!run_in(dir, "g++ -O1 %s -o %s p.cc ./lib.so", programs[i][1],
			    programs[i][0])) {
			tap_skip(programs[i][0], "cannot be linked here");
			continue;
		}
		c = start(programs[i][0], NULL);
		if (!ok(read_truth(&c, &t), "%s runs", programs[i][0]))
			continue;
		check_all(s, c.pid, &t, programs[i][0], "alive");
		symbolize_user(s, c.pid, t.local, &n);
		ok(n.build_id && n.file_offset, "build-id and file offset");
		run_in(dir, "rm -f %s", programs[i][0]);
		stop(&c);
		check_all(s, c.pid, &t, programs[i][0], "ended and removed");
		symbolizer_release(s);
	}
}

static void test_exec_and_deleted(void)
{
	struct symbolizer *s = symbolizer_new(NULL, true);
	struct truth before, after;
	struct child c;

	run_in(dir, "g++ -O1 -no-pie -o one p.cc ./lib.so; g++ -O1 -no-pie -DOTHER -o two p.cc "
		    "./lib.so");
	c = start("./one", "./two");
	if (!ok(read_truth(&c, &before), "the first program"))
		return;
	symbolizer_note_process(s, c.pid);
	names(s, c.pid, before.local, "local_one", 0, "before exec");
	if (write(c.in, "\n", 1) != 1 || !ok(read_truth(&c, &after), "the second program"))
		return;
	usleep(20000);
	names(s, c.pid, after.local, "other_one", 0, "after exec, at much the same address");
	run_in(dir, "rm -f two");
	stop(&c);
	names(s, c.pid, after.local, "other_one", 0, "after its end");
	symbolizer_release(s);

	s = symbolizer_new(NULL, true);
	run_in(dir, "g++ -O1 -o gone p.cc ./lib.so");
	c = start("./gone", NULL);
	if (ok(read_truth(&c, &before), "a program that is removed while it runs")) {
		run_in(dir, "rm gone");
		check_all(s, c.pid, &before, "gone", "deleted");
	}
	stop(&c);
	symbolizer_release(s);
}

static void test_jit(void)
{
	struct symbolizer *s = symbolizer_new(NULL, true);
	struct truth t;
	struct child c;
	char *path;
	FILE *f;

	run_in(dir, "g++ -O1 -o jit p.cc ./lib.so");
	c = start("./jit", NULL);
	if (!ok(read_truth(&c, &t), "a program with generated code"))
		return;
	path = xasprintf("/tmp/perf-%d.map", (int)c.pid);
	names(s, c.pid, t.jit + 4, NULL, 0, "no perf map yet");
	f = fopen(path, "w");
	fprintf(f, "%llx 10 first\n%llx 20 Lazy:~fn file.js:1\nrubbish\n%llx\n", t.jit, t.jit,
		t.jit);
	fclose(f);
	usleep(150000);
	names(s, c.pid, t.jit + 4, "Lazy:~fn file.js:1", 4,
	      "from the perf map; the later entry counts");
	if (getuid() == 0 && chown(path, 12345, 12345) == 0) {
		struct symbolizer *fresh = symbolizer_new(NULL, true);

		names(fresh, c.pid, t.jit + 4, NULL, 0,
		      "a perf map of another user is not believed");
		symbolizer_release(fresh);
	}
	stop(&c);
	names(s, c.pid, t.jit, "Lazy:~fn file.js:1", 0, "after the end");
	unlink(path);
	free(path);
	symbolizer_release(s);
}

static void test_own(void)
{
	struct symbolizer *s = symbolizer_new(NULL, false);
	struct symbol_name n;

	ok(!symbolize_user(s, 0, 0x1000, &n), "no process");
	ok(!symbolize_user(s, 0x7ffffff0, 0x1000, &n), "a process that does not exist");
	ok(!symbolize_user(s, getpid(), UINT64_MAX, &n), "the last address");
	ok(symbolize_user(s, getpid(), (u64)(uintptr_t)&test_own, &n), "our own function");
	is_str(n.function, "test_own", "its name");
	if (getauxval(AT_SYSINFO_EHDR)) {
		bool any = false;

		for (u64 at = 0; at < 0x2000 && !any; at += 16)
			any = symbolize_user(s, getpid(), getauxval(AT_SYSINFO_EHDR) + at, &n);
		ok(any && str_eq(n.module, "[vdso]"), "the vDSO has %s",
		   any ? n.function : "nothing");
	}
	symbolizer_release(s);
}

/* An ended process whose mappings are told only when they are asked for. */
struct told {
	struct symbolizer *symbols;
	pid_t pid;
	u64 start;
	struct stat file;
	char path[512];
	int asked;
};

static void tell(void *arg)
{
	struct told *t = arg;

	if (t->asked++)
		return;
	symbolizer_tell_exec(t->symbols, t->pid);
	symbolizer_tell_mapping(t->symbols, t->pid, t->start, 1 << 20, 0, t->file.st_ino, t->path);
}

static void test_asked(void)
{
	const u64 own = (u64)(uintptr_t)&test_asked;
	struct told t = {.symbols = symbolizer_new(NULL, false), .pid = 0x7ffffff0};
	struct symbolizer *here = symbolizer_new(NULL, false);
	struct symbol_name n;
	const ssize_t len = readlink("/proc/self/exe", t.path, sizeof(t.path) - 1);

	symbolize_user(here, getpid(), own, &n);
	t.start = own - n.file_offset;
	ok(len > 0 && !stat(t.path, &t.file), "our own file");
	symbolizer_ask(t.symbols, tell, &t);
	names(t.symbols, t.pid, own, "test_asked", 0, "told when it was asked");
	names(t.symbols, t.pid, own, "test_asked", 0, "and known from then on");
	is_int(t.asked, 1, "asked once");
	symbolizer_release(t.symbols);
	symbolizer_release(here);
}

static void test_many(void)
{
	struct process_cache *c = process_cache_new();
	unsigned int known = 0;

	for (int i = 0; i < 300; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			pause();
			_exit(0);
		}
		process_cache_get(c, pid);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		known += process_cache_get(c, pid) != NULL;
	}
	is_int(known, 300, "300 ended processes are remembered");
	process_cache_release(c);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	run_in(dir,
	       "cat > lib.c <<'E'\nint in_library(int x) { return x * 5 + 1; }\nE\n"
	       "cat > p.cc <<'E'\n"
	       "#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\n#include <sys/mman.h>\n"
	       "extern \"C\" { int in_library(int); int shared_data = 5; }\n"
	       "#ifdef OTHER\n#define local_one other_one\n#endif\n"
	       "extern \"C\" { __attribute__((noinline, used)) static int local_one(int x) { "
	       "return x "
	       "* 3 + shared_data; } }\n"
	       "namespace ns { __attribute__((noinline)) int exported(int x) { return local_one(x) "
	       "+ "
	       "1; } }\n"
	       "int main(int c, char **v) {\n"
	       " void *jit = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | "
	       "MAP_ANONYMOUS, -1, 0);\n"
	       " printf(\"%%p %%p %%p %%p %%p\\n\", (void *)local_one, (void *)ns::exported, (void "
	       "*)in_library, jit, (void *)&shared_data);\n"
	       " fflush(stdout); char b; if (read(0, &b, 1) == 1 && v[1]) execl(v[1], v[1], (char "
	       "*)0);\n"
	       " return ns::exported(c) == 12345; }\nE\n"
	       "gcc -O1 -shared -fPIC -Wl,-soname,$PWD/lib.so -o lib.so lib.c");
	test_programs();
	test_exec_and_deleted();
	test_jit();
	test_own();
	test_asked();
	test_many();
	run_in(dir, "rm -rf %s", dir);
	return tap_done();
}
