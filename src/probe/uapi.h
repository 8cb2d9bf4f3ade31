/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel interfaces that the headers of older distributions do not know yet
 * (include/uapi/linux/bpf.h). Numbers are ABI; names carry our prefix so that newer headers do not
 * clash.
 */
#ifndef PANTRACE_PROBE_UAPI_H
#define PANTRACE_PROBE_UAPI_H

#include "base/base.h"

#define UAPI_BPF_TRACE_UPROBE_MULTI    48 /* enum bpf_attach_type, 6.6 */
#define UAPI_BPF_TRACE_KPROBE_SESSION  56 /* 6.10 */
#define UAPI_BPF_TRACE_UPROBE_SESSION  57 /* 6.13 */
#define UAPI_BPF_F_UPROBE_MULTI_RETURN 1

/* union bpf_attr for BPF_LINK_CREATE with UAPI_BPF_TRACE_UPROBE_MULTI (6.6). */
struct uapi_link_create_uprobe_multi {
	u32 prog_fd;
	u32 target_fd;
	u32 attach_type;
	u32 flags;
	u64 path;
	u64 offsets;
	u64 ref_ctr_offsets;
	u64 cookies;
	u32 cnt;
	u32 multi_flags;
	u32 pid;
	u32 pad;
};

/*
 * union bpf_attr for BPF_RAW_TRACEPOINT_OPEN with a cookie (6.10); without it the first 16 bytes.
 */
struct uapi_raw_tracepoint_open {
	u64 name;
	u32 prog_fd;
	u32 pad;
	u64 cookie;
};

#endif
