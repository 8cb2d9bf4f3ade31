/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/engine.h"
#include "engine/map_switch.h"
#include "engine/packets.h"

#include <linux/bpf.h>
#include <sys/resource.h>
#include <unistd.h>

#include "kernel/kernel.h"

#define LOG_FIRST (256u << 10)
#define LOG_MAX	  (64u << 20)

/* Kernels before 5.11 charge BPF memory to RLIMIT_MEMLOCK. */
static bool raise_memlock(void)
{
	struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}, now;

	if (getrlimit(RLIMIT_MEMLOCK, &now) < 0 || now.rlim_cur == RLIM_INFINITY)
		return false;
	return setrlimit(RLIMIT_MEMLOCK, &all) == 0;
}

/* Object names in the kernel: letters, digits, '_' and '.', at most 15. */
static void set_name(char *to, const char *name)
{
	size_t n = 0;

	for (; *name && n < BPF_OBJ_NAME_LEN - 1; name++) {
		bool good = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
			    (*name >= '0' && *name <= '9') || *name == '.';

		to[n++] = good ? *name : '_';
	}
}

static void report_privilege(struct diag *d, const char *what, int err)
{
	diag_error(d, NO_SPAN, "the kernel does not let this process %s: %s", what, strerror(-err));
	diag_hint(d, "run it as root (sudo), or give it the capabilities CAP_BPF and CAP_PERFMON; "
		     "`pantrace doctor` tells what is missing");
	diag_code(d, EXIT_PRIVILEGE);
}

static void report_map(struct engine *e, const struct script_map *m, int err)
{
	struct diag *d = e->env->diag;
	u64 element = (u64)m->key_size + m->value_size;

	if (err == -EPERM || err == -EACCES) {
		report_privilege(d, "create BPF maps", err);
		return;
	}
	diag_error(d, NO_SPAN, "cannot create the map %s%s (%u elements of %" PRIu64 " bytes): %s",
		   m->role == MAP_USER ? "@" : "", m->name, m->max_entries, element,
		   strerror(-err));
	if (err == -ENOMEM || err == -E2BIG)
		diag_hint(d, "make it smaller: max_map_keys (or perf_rb_pages for the event "
			     "buffer) in a config block");
	else if (err == -EINVAL)
		diag_hint(d, "this kernel may lack this kind of map; `pantrace doctor` tells what "
			     "it has");
}

/*
 * At 1,000 firings a second the reader may be 8 seconds late, on a machine that is busy with other
 * things.
 */
#define FIRINGS_OF_TIMER 8192

static bool is_send(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && !insn->src_reg &&
	       (insn->imm == BPF_FUNC_ringbuf_output || insn->imm == BPF_FUNC_ringbuf_reserve);
}

/* A jump back, or a helper that calls back. */
static bool is_loop(const struct bpf_insn *insn)
{
	u8 class = BPF_CLASS(insn->code);

	if (class != BPF_JMP && class != BPF_JMP32)
		return false;
	if (insn->code == (BPF_JMP | BPF_CALL))
		return insn->src_reg || insn->imm == BPF_FUNC_loop ||
		       insn->imm == BPF_FUNC_for_each_map_elem;
	return insn->off < 0;
}

/* How often a program may fire before the buffer is read; 0 = any number of times. */
static u32 firings_of(const struct script *s, const struct script_program *p)
{
	if (s->only_begin_end || engine_provider(p)->runs_once)
		return 1;
	return engine_provider(p)->is_slow ? FIRINGS_OF_TIMER : 0;
}

/*
 * An upper bound of what a script can send if all its output comes from timers and probes that run
 * once, without loops. Its buffer needs no more, and creating one of the usual size would take most
 * of such a run. 0 = no such bound.
 */
static u64 most_bytes(const struct script *s)
{
	u64 record = 0, sends = 0;

	for (size_t i = 0; i < s->actions.len; i++)
		if (s->actions.items[i].payload)
			record = MAX(record, s->actions.items[i].payload->size);
	for (size_t i = 0; i < s->programs.len; i++) {
		const struct script_program *p = &s->programs.items[i];
		const u32 firings = firings_of(s, p);
		bool loops = false;
		u64 n = 0;

		for (u32 k = 0; k < p->code.count; k++) {
			loops |= is_loop(&p->code.insns[k]);
			n += is_send(&p->code.insns[k]) ? p->ntargets : 0;
		}
		if (n && (loops || !firings))
			return 0;
		sends += n * firings;
	}
	return sends * (BPF_RINGBUF_HDR_SZ + 8 + ALIGN_UP(record, 8)) + 1;
}

static u32 ring_bytes(const struct engine *e, const struct script_map *m)
{
	const u64 asked = e->script->config.perf_rb_pages;
	const u64 most = asked ? 0 : most_bytes(e->script);
	u64 page = (u64)sysconf(_SC_PAGESIZE), size = page;
	u64 want = m->max_entries ? m->max_entries : asked * page;

	/* A size that the user asked for is not reduced. */
	if (most)
		want = MIN(want, most);
	while (size < want && size < (1u << 30))
		size *= 2;
	return (u32)size;
}

static int create_map(struct engine *e, const struct script_map *m, u32 *ret_entries)
{
	union bpf_attr attr = {0};
	int fd;

	attr.map_type = m->bpf_type;
	attr.key_size = m->key_size;
	attr.value_size = m->value_size;
	attr.max_entries = MAX(m->max_entries, 1u);
	attr.map_flags = m->map_flags;
	if (m->role == MAP_SWITCH)
		attr.inner_map_fd = (u32)e->maps[m->switched].fd;
	if (m->bpf_type == BPF_MAP_TYPE_RINGBUF) {
		attr.key_size = attr.value_size = 0;
		attr.max_entries = ring_bytes(e, m);
	} else if (m->bpf_type == BPF_MAP_TYPE_PERF_EVENT_ARRAY) {
		attr.key_size = attr.value_size = 4;
		attr.max_entries = kernel_possible_cpus(e->env->kernel);
	}
	*ret_entries = attr.max_entries;
	set_name(attr.map_name, *m->name ? m->name : "map");
	if (m->role == MAP_TASK_SCRATCH)
		return kernel_task_storage_create(&attr);
	fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd == -EPERM && raise_memlock())
		fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	return fd;
}

static int open_ring(struct engine *e, const struct open_map *m, u32 entries)
{
	const int err = ring_open(m->fd, entries, &e->ring);

	if (err < 0)
		diag_error(e->env->diag, NO_SPAN, "cannot map the event buffer: %s",
			   strerror(-err));
	return err;
}

static int open_packets(struct engine *e, int fd)
{
	const int err = packets_open(e, fd, &e->packets);

	if (err < 0)
		diag_error(e->env->diag, NO_SPAN, "cannot map the buffer of packets: %s",
			   strerror(-err));
	return err;
}

static int fill_map(const struct open_map *m)
{
	int err = 0;

	for (u32 i = 0; i < m->info->max_entries && !err; i++)
		if (m->info->contents[i])
			err = map_update(m, &i, &m->info->contents[i]);
	return err;
}

struct open_map *engine_find_map(struct engine *e, const char *name)
{
	for (size_t i = 0; i < e->script->maps.len; i++) {
		const struct script_map *m = &e->script->maps.items[i];

		if (m->role == MAP_USER && str_eq(m->name, name))
			return &e->maps[i];
	}
	return NULL;
}

int engine_create_maps(struct engine *e)
{
	u32 ncpus = kernel_possible_cpus(e->env->kernel);

	for (size_t i = 0; i < e->script->maps.len; i++) {
		const struct script_map *info = &e->script->maps.items[i];
		const bool unused = (info->role == MAP_SCRATCH || info->role == MAP_TASK_SCRATCH) &&
				    !info->value_size;
		u32 entries = 0;
		int fd = unused ? -1 : create_map(e, info, &entries);
		int err = 0;

		open_map_init(&e->maps[i], info, fd, ncpus);
		if (unused)
			continue;
		if (fd < 0) {
			report_map(e, info, fd);
			return fd;
		}
		if (info->role == MAP_SWITCH)
			err = map_switch_init(e, (u32)i);
		else if (info->contents)
			err = fill_map(&e->maps[i]);
		if (err < 0)
			return err;
		if (i == e->script->output_map)
			err = open_ring(e, &e->maps[i], entries);
		if (i == e->script->packet_map)
			err = open_packets(e, fd);
		if (err < 0)
			return err;
	}
	return 0;
}

int engine_create_spare(struct engine *e, const struct script_map *info)
{
	u32 entries;

	return create_map(e, info, &entries);
}

static int load_btf(const struct bpf_code *code)
{
	union bpf_attr attr = {0};

	if (!code->btf_size)
		return -ENOENT;
	attr.btf = (u64)(uintptr_t)code->btf;
	attr.btf_size = code->btf_size;
	return sys_bpf(BPF_BTF_LOAD, &attr, sizeof(attr));
}

/* The instructions with the maps' descriptors in them. */
static int patch(struct engine *e, const struct script_program *p)
{
	for (u32 i = 0; i < p->code.nrelocations; i++) {
		const struct bpf_relocation *r = &p->code.relocations[i];

		if (r->insn >= p->code.count || r->map >= e->script->maps.len ||
		    e->maps[r->map].fd < 0)
			return -EINVAL;
		p->code.insns[r->insn].imm = e->maps[r->map].fd;
	}
	return 0;
}

static void fill_load(const struct engine *e, const struct script_program *p, int btf_fd,
		      union bpf_attr *attr)
{
	const char *license = e->script->config.license ? e->script->config.license : "GPL";

	memset(attr, 0, sizeof(*attr));
	attr->prog_type = p->context.program_type;
	attr->expected_attach_type = p->context.expected_attach_type;
	attr->insns = (u64)(uintptr_t)p->code.insns;
	attr->insn_cnt = p->code.count;
	attr->license = (u64)(uintptr_t)license;
	set_name(attr->prog_name, p->name ? p->name : "pantrace");
	if (p->ir && p->ir->is_sleepable)
		attr->prog_flags |= BPF_F_SLEEPABLE;
	attr->attach_btf_id = p->context.attach_btf_id;
	if (p->context.attach_btf_fd > 0)
		attr->attach_btf_obj_fd = (u32)p->context.attach_btf_fd;
	if (btf_fd >= 0) {
		attr->prog_btf_fd = (u32)btf_fd;
		attr->func_info = (u64)(uintptr_t)p->code.func_info;
		attr->func_info_rec_size = sizeof(struct bpf_func_info);
		attr->func_info_cnt = p->code.nfunc_info;
		attr->line_info = (u64)(uintptr_t)p->code.line_info;
		attr->line_info_rec_size = sizeof(struct bpf_line_info);
		attr->line_info_cnt = p->code.nline_info;
	}
}

static int load_program(union bpf_attr *attr)
{
	int fd;

	/* -EAGAIN: a signal came while the verifier was at work. */
	do
		fd = sys_bpf(BPF_PROG_LOAD, attr, sizeof(*attr));
	while (fd == -EAGAIN);
	return fd;
}

/*
 * BPF_LOG_STATS of include/linux/bpf_verifier.h: the sentence and the statistics, not each
 * instruction.
 */
#define LOG_SENTENCE 4

/* Loads once more with a log, which is only wanted when something is wrong: it multiplies the
 * verifier's time. */
static int load_with_log(union bpf_attr *attr, u32 level, char **ret_log)
{
	u32 size = LOG_FIRST;
	char *log = NULL;
	int fd;

	do {
		log = xrealloc(log, size);
		log[0] = 0;
		attr->log_level = level;
		attr->log_buf = (u64)(uintptr_t)log;
		attr->log_size = size;
		fd = load_program(attr);
		size *= 4;
	} while (fd == -ENOSPC && size <= LOG_MAX);
	*ret_log = log;
	return fd;
}

static int load_one(struct engine *e, const struct script_program *p)
{
	int btf_fd = load_btf(&p->code), err = patch(e, p), fd;
	struct diag *d = e->env->diag;
	union bpf_attr attr;
	char *log = NULL;

	if (err < 0) {
		diag_error(d, NO_SPAN,
			   "internal error: the program %s refers to a map that does not exist",
			   p->name);
		goto out;
	}
	fill_load(e, p, btf_fd, &attr);
	fd = load_program(&attr);
	if (fd == -EPERM && raise_memlock())
		fd = load_program(&attr);
	if (fd == -EPERM) {
		report_privilege(d, "load BPF programs", fd);
		err = fd;
		goto out;
	}
	/* -E2BIG: the verifier gave up after a million instructions; such a log helps nobody. */
	if (fd < 0)
		fd = load_with_log(&attr, fd == -E2BIG && !e->options->verbose ? LOG_SENTENCE : 1,
				   &log);
	if (fd < 0)
		verifier_report(d, p, log, fd);
	err = fd;
	if (fd < 0 && e->options->verbose && log && *log)
		fprintf(stderr, "%s\n", log);
out:
	free(log);
	if (btf_fd >= 0)
		close(btf_fd);
	return err;
}

int engine_load_programs(struct engine *e)
{
	for (size_t i = 0; i < e->script->programs.len; i++) {
		if (e->script->programs.items[i].context.in_process)
			continue;
		e->programs[i] = load_one(e, &e->script->programs.items[i]);
		if (e->programs[i] < 0)
			return e->programs[i];
	}
	return 0;
}

void engine_unload(struct engine *e)
{
	packets_close(e->packets);
	e->packets = NULL;
	ring_close(e->ring);
	e->ring = NULL;
	for (size_t i = 0; i < e->script->programs.len; i++)
		if (e->programs[i] >= 0)
			close(e->programs[i]);
	for (size_t i = 0; i < e->script->maps.len; i++) {
		if (e->maps[i].fd >= 0)
			close(e->maps[i].fd);
		if (e->maps[i].fd >= 0 && e->maps[i].spare_fd >= 0)
			close(e->maps[i].spare_fd);
	}
}
