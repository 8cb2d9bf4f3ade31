/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the providers share: making targets, refusing with a reason, nearest names, numbers in
 * attach points, and attaching (attach.c). Only for src/probe.
 */
#ifndef PANTRACE_PROBE_PROVIDER_H
#define PANTRACE_PROBE_PROVIDER_H

#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "arch/arch.h"
#include "base/glob.h"
#include "base/nearest.h"
#include "kernel/kernel.h"
#include "probe/probe.h"

/*
 * All rows, in the order of `list`: probe_NAME is in the file of the event source, and everything
 * else about it follows from there.
 */
/* clang-format off */
#define PROBE_PROVIDERS(row) \
	row(begin) \
	row(end) \
	row(self) \
	row(test) \
	row(bench) \
	row(tracepoint) \
	row(rawtracepoint) \
	row(kprobe) \
	row(kretprobe) \
	row(fentry) \
	row(fexit) \
	row(uprobe) \
	row(uretprobe) \
	row(usdt) \
	row(profile) \
	row(interval) \
	row(software) \
	row(hardware) \
	row(watchpoint) \
	row(iter) \
	row(softirq) \
	row(hardirq) \
	row(user) \
	row(user_filter)
/* clang-format on */

#define PROBE_DECLARE(name) extern const struct probe_provider probe_##name;
PROBE_PROVIDERS(PROBE_DECLARE)

/* ---- Kept for the run in env->cache ---- */
struct elf_file;
struct probe_cache {
	struct hashmap files; /* path -> struct elf_file * */
	/* "path\nname" -> const struct type * of a file's debug info */
	struct hashmap types;
	bool syscalls_tried;
	bool fprobe_tried, fprobe_is_partial; /* multi-links on kernel functions: kprobe.c */
	bool raw_tried, raw_is_preemptible; /* raw tracepoints: tracepoint.c */
	/* module, "" = the kernel itself -> struct elf_file * of `files`: kernel_image.c */
	struct hashmap kernel_images;
	bool made_tried, has_made_events; /* of kprobe_events and others: probe_event.c */
	struct probe_syscalls syscalls; /* number_offset 0: this kernel cannot */
	void *user_session; /* user_event.c: of this run's user events */
	VECTOR(int) programs; /* descriptors of BPF programs that are targets */
	bool cookie_tried[32], cookie[32]; /* bpf_get_attach_cookie, by program type */
};
struct probe_cache *probe_cache_of(struct probe_env *env);

/* ---- expand ---- */
/*
 * The request has min..max parts behind the provider's name; else a diagnostic with the form,
 * -EINVAL.
 */
int probe_check_parts(struct probe_env *env, const struct probe_request *r,
		      const struct probe_provider *p, u32 min, u32 max);
/* A new zeroed target, already appended. */
struct probe_target *probe_add_target(struct probe_env *env, struct probe_targets *out,
				      const struct probe_provider *p, const struct probe_request *r,
				      const char *name);
/* Tracepoints of the recording that the script runs over, else of this kernel. */
int probe_each_tracepoint(struct probe_env *env, const char *category_glob, const char *event_glob,
			  int (*fn)(void *arg, const char *category, const char *event), void *arg);
/* For each(): gives the name to fn if it matches. What fn returned, else 0. */
int probe_offer(const struct probe_listing *l, const char *name);
/* "1000", "0x3e8", "1_000", "1e3" with nothing behind. */
bool probe_parse_number(const char *s, u64 *ret);
/* "10ms", "1s": nanoseconds. */
bool probe_parse_duration(const char *s, u64 *ret_ns);
/*
 * The kernel cannot do it: cause and hint of kernel_ask() as a diagnostic with its exit code;
 * returns -EOPNOTSUPP or -EPERM. 0 if it can.
 */
int probe_require(struct probe_env *env, struct span at, enum kernel_capability c,
		  const char *what);
/* An errno on the way to a source: privilege or not, with its exit code. Returns err. */
int probe_refuse(struct probe_env *env, struct span at, int err, const char *what);

/* ---- describe ---- */
/*
 * A struct type whose members are a function's parameters from number `skip` on; NULL without
 * parameters.
 */
const struct type *probe_arguments_type(struct probe_env *env, const struct type *function,
					const char *name);
/* describe() of events that are sampled: nothing but registers. */
int probe_describe_sampled(struct probe_env *env, const struct probe_target *t,
			   const struct probe_use *use, struct span at, struct probe_context *ret);
void probe_describe_registers(struct probe_context *ret, bool stack_arguments);
/* Is bpf_get_attach_cookie allowed in this program type (with this attach type)? Found by trial. */
bool probe_has_cookie(struct probe_env *env, u32 program_type, u32 expected_attach_type,
		      u32 attach_btf_id);

/* ---- attach.c ---- */
/*
 * Opens what one target needs, with index i of the events per target. fd or -errno. Called from
 * several threads.
 */
typedef int (*open_event_fn)(const struct probe_target *t, void *arg);
/*
 * A perf event per target, each joined to the program by a link (or, before 5.15, by ioctl); in
 * parallel if many.
 */
int attach_perf_events(struct probe_env *env, int prog_fd, struct probe_target *const *targets,
		       u32 n, open_event_fn open_event, void *arg, struct probe_attachments *out);
/* The program on an open perf event, which it takes over (closed on failure). 0 or -errno. */
int attach_perf_event(int prog_fd, int event_fd, u64 cookie, struct probe_attachment *ret);
/*
 * attr on every online CPU (pid 0), or on every thread of pid and those to come; counted as one
 * probe.
 */
int attach_sampling(struct probe_env *env, int prog_fd, const struct probe_target *t,
		    struct perf_event_attr *attr, struct probe_attachments *out);
/* A provider's attach: samples what its count() says, every config-th time (0: every time). */
int attach_counting(struct probe_env *env, int prog_fd, const struct probe_context *context,
		    struct probe_target *const *targets, u32 n, struct probe_attachments *out);
/* Counts a failed target; the first failure of a call is told with its reason. */
void attach_failed(struct probe_env *env, const struct probe_target *t, int error,
		   struct probe_attachments *out);
void attach_done(struct probe_attachments *out, struct probe_attachment a);
/* One target on a link of its own: its descriptor, or why there is none. */
void attach_link(struct probe_env *env, const struct probe_target *t, int fd_or_error,
		 struct probe_attachments *out);
/* bpf(BPF_LINK_CREATE); fd or -errno. */
int attach_link_create(const void *attr, size_t size);
int attach_raw_tracepoint(int prog_fd, const char *name, u64 cookie, bool with_cookie);

#endif
