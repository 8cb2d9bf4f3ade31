/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Joining programs to events. Everything here hangs on file descriptors: a BPF link (5.15 for perf
 * events), or the perf event itself. When the process ends, however it ends, the kernel detaches.
 */
#include <dirent.h>
#include <linux/version.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/function.h"
#include "probe/provider.h"
#include "probe/uapi.h"

#define PARALLEL_FROM 32 /* events; below that starting threads costs more than it saves */
#define MAX_THREADS   16 /* attaching and detaching wait for RCU, they do not compute */

int attach_link_create(const void *attr, size_t size)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	memcpy(&a, attr, MIN(size, sizeof(a)));
	return sys_bpf(BPF_LINK_CREATE, &a, sizeof(a));
}

int attach_raw_tracepoint(int prog_fd, const char *name, u64 cookie, bool with_cookie)
{
	union {
		union bpf_attr attr;
		struct uapi_raw_tracepoint_open open;
	} a;

	memset(&a, 0, sizeof(a));
	a.open.name = (u64)(uintptr_t)name;
	a.open.prog_fd = (u32)prog_fd;
	if (with_cookie)
		a.open.cookie = cookie;
	return sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &a.attr,
		       with_cookie ? sizeof(a.open)
				   : offsetof(struct uapi_raw_tracepoint_open, cookie));
}

int attach_perf_event(int prog_fd, int event_fd, u64 cookie, struct probe_attachment *ret)
{
	union bpf_attr attr;
	int link;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (u32)prog_fd;
	attr.link_create.target_fd = (u32)event_fd;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link == -EINVAL && !cookie) {
		/* Before 5.15 the event itself holds the program. */
		link = ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, prog_fd) ? -errno : event_fd;
	} else if (link == -EINVAL) {
		attr.link_create.perf_event.bpf_cookie = 0;
		link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
		if (link == -EINVAL)
			link = ioctl(event_fd, PERF_EVENT_IOC_SET_BPF, prog_fd) ? -errno : event_fd;
	}
	if (link < 0) {
		close(event_fd);
		return link;
	}
	*ret = (struct probe_attachment){
		.fd = link, .event_fd = link == event_fd ? -1 : event_fd, .targets = 1};
	return 0;
}

void attach_done(struct probe_attachments *out, struct probe_attachment a)
{
	vector_push(&out->list, a);
	out->attached += a.targets;
}

static const char *attach_reason(int error)
{
	static const struct {
		int error;
		const char *text;
	} rows[] = {
		{EPERM, "the kernel does not permit it"},
		{EACCES, "the kernel does not permit it"},
		{ENOENT, "there is no such event or function"},
		{ESRCH, "the process is gone"},
		{ENODEV, "this machine or kernel has no such event"},
		{EOPNOTSUPP, "the kernel does not support it"},
		{EMFILE, "too many open files (raise `ulimit -n`)"},
		{ENFILE, "too many open files in the system"},
		{ENOSPC, "no debug register or slot is free"},
		{EBUSY, "another tracer holds it"},
		{E2BIG, "too many programs are attached there already"},
		{EEXIST, "the program is attached there already"},
		{EIO, "the file has no such code"},
		{524, "the kernel cannot probe the instruction there"}, /* ENOTSUPP */
	};

	for (u32 i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].error == error)
			return rows[i].text;
	return strerror(error);
}

void attach_failed(struct probe_env *env, const struct probe_target *t, int error,
		   struct probe_attachments *out)
{
	static const struct probe_provider *const functions[] = {&probe_kprobe, &probe_kretprobe,
								 &probe_fentry, &probe_fexit};
	const int e = error < 0 ? -error : error;
	const char *reason = NULL, *hint = NULL;
	bool is_function = false;

	for (u32 i = 0; i < ARRAY_SIZE(functions) && t->function && !t->address; i++)
		is_function |= t->provider == functions[i];
	out->failed++;
	if (out->failed > 1)
		return;
	if (e == EILSEQ) {
		diag_error(env->diag, NO_SPAN,
			   "Possible attachment attempt in the middle of an instruction, try a "
			   "different offset.");
		diag_hint(env->diag,
			  "no instruction begins at %s; `objdump -d` or a debugger shows where "
			  "they do",
			  t->name);
		return;
	}
	if (is_function && e != EPERM && e != EACCES)
		reason = function_refusal(env, t, e, &hint);
	diag_error(env->diag, NO_SPAN, "Unable to attach probe: %s: %s (errno %d)", t->name,
		   reason ? reason : attach_reason(e), e);
	if (hint) {
		diag_hint(env->diag, "%s", hint);
	} else if (e == EPERM || e == EACCES) {
		diag_hint(env->diag, "run as root, or with CAP_BPF and CAP_PERFMON; `pantrace "
				     "doctor` shows what is missing");
		diag_code(env->diag, EXIT_PRIVILEGE);
	} else if (e == EOPNOTSUPP || e == ENODEV) {
		diag_hint(env->diag, "`pantrace doctor` shows what this kernel offers");
		diag_code(env->diag, EXIT_UNSUPPORTED);
	} else if ((e == ENOENT || e == EINVAL || e == EADDRNOTAVAIL) && is_function && !reason) {
		/* BTF also names functions that are inlined, renamed or not to be traced */
		function_missing_hint(env, t->provider->name, t->function);
	}
}

void attach_link(struct probe_env *env, const struct probe_target *t, int fd_or_error,
		 struct probe_attachments *out)
{
	if (fd_or_error < 0)
		attach_failed(env, t, fd_or_error, out);
	else
		attach_done(out, (struct probe_attachment){
					 .fd = fd_or_error, .event_fd = -1, .targets = 1});
}

/* ---- many at once ---- */

struct batch {
	struct probe_target *const *targets;
	u32 n;
	int prog_fd;
	open_event_fn open_event;
	void *arg;
	struct {
		struct probe_attachment attachment;
		int error;
	} * results;
	_Atomic u32 next;
};

static void *batch_worker(void *arg)
{
	struct batch *b = arg;

	for (u32 i; (i = atomic_fetch_add_explicit(&b->next, 1, memory_order_relaxed)) < b->n;) {
		int fd = b->open_event(b->targets[i], b->arg);

		b->results[i].error =
			fd < 0 ? fd
			       : attach_perf_event(b->prog_fd, fd, b->targets[i]->cookie,
						   &b->results[i].attachment);
	}
	return NULL;
}

/* Runs worker(arg) in as many threads as n jobs deserve, this one included. */
static void run_parallel(void *(*worker)(void *), void *arg, u32 n)
{
	pthread_t threads[MAX_THREADS];
	u32 started = 0;

	for (u32 want = n < PARALLEL_FROM ? 0 : MAX_THREADS - 1; started < want; started++)
		if (pthread_create(&threads[started], NULL, worker, arg))
			break;
	worker(arg);
	while (started)
		pthread_join(threads[--started], NULL);
}

int attach_perf_events(struct probe_env *env, int prog_fd, struct probe_target *const *targets,
		       u32 n, open_event_fn open_event, void *arg, struct probe_attachments *out)
{
	struct batch b = {.targets = targets,
			  .n = n,
			  .prog_fd = prog_fd,
			  .open_event = open_event,
			  .arg = arg};
	const u32 failed = out->failed;

	b.results = xzalloc(n * sizeof(*b.results));
	run_parallel(batch_worker, &b, n);
	for (u32 i = 0; i < n; i++)
		if (b.results[i].error)
			attach_failed(env, targets[i], b.results[i].error, out);
		else
			attach_done(out, b.results[i].attachment);
	free(b.results);
	return out->failed - failed == n && n ? -EIO : 0;
}

struct detach {
	struct probe_attachments *a;
	_Atomic size_t next;
};

/* What ends the program: the link, or the event itself where it holds the program. */
static void *detach_worker(void *arg)
{
	struct detach *d = arg;

	for (size_t i;
	     (i = atomic_fetch_add_explicit(&d->next, 1, memory_order_relaxed)) < d->a->list.len;)
		if (d->a->list.items[i].fd >= 0)
			close(d->a->list.items[i].fd);
	return NULL;
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* In a process of its own: nobody waits for what it holds, and it holds nothing else. fds rise. */
static void close_slowly(const int *fds, size_t n)
{
	u32 next = 0;

	setsid();
	prctl(PR_SET_NAME, "pantrace: close");
	for (size_t i = 0; i < n; next = (u32)fds[i++] + 1)
		if ((u32)fds[i] > next)
			syscall(SYS_close_range, next, (u32)fds[i] - 1, 0);
	syscall(SYS_close_range, next, ~0u, 0);
	_exit(0);
}

/*
 * Events without their programs cost nothing but time: where each is freed after a grace period of
 * RCU, with a lock held, 70 uprobes take 7 s (6.18), and as long if the process just ends. So
 * another one holds them last.
 */
static void close_events(struct probe_attachments *a)
{
	int *fds = xreallocarray(NULL, a->list.len + 1, sizeof(*fds));
	size_t n = 0;

	for (size_t i = 0; i < a->list.len; i++)
		if (a->list.items[i].event_fd >= 0)
			fds[n++] = a->list.items[i].event_fd;
	qsort(fds, n, sizeof(*fds), compare_fds);
	/* close_range(2) is from 5.9; without it the other process would hold everything. */
	if (n > 1 && (!syscall(SYS_close_range, ~0u, ~0u, 0) || errno != ENOSYS) && !fork())
		close_slowly(fds, n);
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	free(fds);
}

void probe_detach_all(struct probe_attachments *a)
{
	struct detach d = {.a = a};

	run_parallel(detach_worker, &d, (u32)a->list.len);
	close_events(a);
	vector_free(&a->list);
	a->attached = a->failed = 0;
}

/* ---- sampling events ---- */

/* fn-like loop body: opens attr for (pid, cpu), joins the program, keeps it. 0 or -errno. */
static int sample_one(struct perf_event_attr *attr, int prog_fd, u64 cookie, pid_t pid, int cpu,
		      struct probe_attachments *out)
{
	struct probe_attachment a;
	int fd = perf_event_open_fd(attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	int err =
		fd < 0 || attr->disabled ? MIN(fd, 0) : attach_perf_event(prog_fd, fd, cookie, &a);

	if (err)
		return err;
	if (attr->disabled) /* only asked for */
		a = (struct probe_attachment){.fd = fd, .event_fd = -1};
	a.targets = 0;
	a.watched = attr->type == PERF_TYPE_BREAKPOINT ? attr->bp_addr : 0;
	attach_done(out, a);
	return 0;
}

static int sample_cpus(struct probe_env *env, struct perf_event_attr *attr, int prog_fd, u64 cookie,
		       struct probe_attachments *out)
{
	const u32 *cpus;
	const u32 n = kernel_online_cpus(env->kernel, &cpus);
	int err = -ENODEV;

	for (u32 i = 0; i < n; i++) {
		err = sample_one(attr, prog_fd, cookie, -1, (int)cpus[i], out);
		if (err == -ENODEV && n > 1) /* went offline just now */
			err = 0;
		if (err)
			break;
	}
	return err;
}

/* Every thread that exists gets an event; those that it starts later inherit it (not its child
 * processes). */
static int sample_threads(struct perf_event_attr *attr, int prog_fd, u64 cookie, pid_t pid,
			  struct probe_attachments *out)
{
	char path[64];
	struct dirent *e;
	u32 opened = 0;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	attr->inherit = 1;
	attr->inherit_thread = 1;
	while ((e = readdir(dir))) {
		const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		err = sample_one(attr, prog_fd, cookie, tid, -1, out);
		if (err == -EINVAL && attr->inherit_thread) { /* 5.13 */
			attr->inherit_thread = 0;
			err = sample_one(attr, prog_fd, cookie, tid, -1, out);
		}
		if (err && err != -ESRCH)
			break;
		opened += !err;
		err = 0;
	}
	closedir(dir);
	return err ? err : opened ? 0 : -ESRCH;
}

int attach_sampling(struct probe_env *env, int prog_fd, const struct probe_target *t,
		    struct perf_event_attr *attr, struct probe_attachments *out)
{
	const size_t before = out->list.len;
	const u64 cookie = t->cookie;
	int err;

	attr->size = sizeof(*attr);
	attr->disabled = env->only_ask;
	err = t->pid > 0 ? sample_threads(attr, prog_fd, cookie, t->pid, out)
			 : sample_cpus(env, attr, prog_fd, cookie, out);
	if (!err) {
		out->list.items[before].targets = 1;
		out->attached++;
		return 0;
	}
	while (out->list.len > before) {
		struct probe_attachment *x = &vector_last(&out->list);

		close(x->fd);
		if (x->event_fd >= 0)
			close(x->event_fd);
		out->list.len--;
	}
	attach_failed(env, t, err, out);
	return err;
}

int attach_counting(struct probe_env *env, int prog_fd, const struct probe_context *context,
		    struct probe_target *const *targets, u32 n, struct probe_attachments *out)
{
	int ret = n ? -EIO : 0;

	for (u32 i = 0; i < n; i++) {
		struct perf_event_attr attr;

		targets[i]->provider->count(env, targets[i], &attr);
		attr.sample_period = targets[i]->config ?: 1;
		if (!attach_sampling(env, prog_fd, targets[i], &attr, out))
			ret = 0;
	}
	return ret;
}

/* ---- cookies ---- */

/* r0 = bpf_get_attach_cookie(ctx); return 0: does the verifier take it? */
bool probe_has_cookie(struct probe_env *env, u32 program_type, u32 expected_attach_type,
		      u32 attach_btf_id)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_attach_cookie},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct probe_cache *c = probe_cache_of(env);
	union bpf_attr attr;
	int fd;

	if (program_type >= 32)
		return false;
	if (c->cookie_tried[program_type])
		return c->cookie[program_type];
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = program_type;
	attr.expected_attach_type = expected_attach_type;
	attr.attach_btf_id = attach_btf_id;
	attr.insns = (u64)(uintptr_t)insns;
	attr.insn_cnt = ARRAY_SIZE(insns);
	attr.license = (u64)(uintptr_t) "GPL";
	attr.kern_version = LINUX_VERSION_CODE;
	fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
	c->cookie_tried[program_type] = true;
	c->cookie[program_type] = fd >= 0;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}
