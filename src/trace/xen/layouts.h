/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layouts of records: id, name, fields (facts from xen/include/public/trace.h, from the code of Xen
 * 4.6 to 4.17 that writes them, and from xenalyze).
 *
 * A field is NAME:BITS, from the first word's lowest bit on; x = shown in base 16, s = signed,
 * =LABELS. Names without bits are computed (events.c): "states", "args", "isa". Of several rows
 * with one id, the first that the record has enough words for is used: the longest stands first.
 * Where 4.6 has another order than later versions, fields are left as one number: unit, domain and
 * virtual CPU of the schedulers credit2 and rtds. In pf_xen, Xen writes the error code first,
 * although xenalyze reads the address first.
 */
#ifndef PANTRACE_TRACE_XEN_LAYOUTS_H
#define PANTRACE_TRACE_XEN_LAYOUTS_H

#include "base/base.h"

struct xen_layout {
	u32 id;
	const char *name, *fields;
};

#define VCPU "dom:32 vcpu:32"

/* clang-format off */
/* An event whose addresses have 32 or 64 bits. */
#define BY_WIDTH(id, name, narrow, wide) \
	{id, name, narrow}, {(id) | XEN_64, name, wide}
/* One of shadow paging: guests with two levels of page tables, three, four. */
#define BY_LEVELS(id, name, two, three, four) \
	{id, name, two}, {(id) | 0x100, name, three}, {(id) | 0x200, name, four}
#define SHADOW_ADDRESS(id, name) \
	BY_LEVELS(id, name, "va:32x", "va:32x", "va:64x")
#define SHADOW_ENTRY(id, name) \
	BY_LEVELS(id, name, "gl1e:32x va:32x flags:32x", "gl1e:64x va:32x flags:32x", \
		  "gl1e:64x va:64x flags:32x")
#define SHADOW_FRAME(id, name) \
	BY_LEVELS(id, name, "gfn:32x va:32x", "gfn:64x va:32x", "gfn:64x va:64x")
#define EITHER_FRAME(id, name) \
	{id, name, "gfn:64x"}, {id, name, "gfn:32x"}
/* The data are missing where they were behind a pointer. */
#define ACCESS(id, name, where) \
	{id, name, where ":32x data:32x"}, {id, name, where ":32x"}, \
	{(id) | XEN_64, name, where ":64x data:64x"}, {(id) | XEN_64, name, where ":64x"}

static const struct xen_layout layouts[] = {
	{XEN_LOST_RECORDS, "xen_gen:lost_records", "lost:32 dom:16 vcpu:16 first_tsc:64"},
	{XEN_LOST_RECORDS_END, "xen_gen:lost_records_end", ""},
	{0x1f004, "xen_gen:trace_irq", "vector:32 count:32 cycles:32 max_cycles:32"},

	{XEN_RUNSTATE_CHANGE, "xen_sched:runstate_change", "vcpu:16 dom:16 states"},
	{XEN_CONTINUE_RUNNING, "xen_sched:continue_running", "vcpu:16 dom:16"},
	{0x22001, "xen_sched:credit_tasklet", ""},
	{0x22002, "xen_sched:credit_account_start", VCPU " active:32"},
	{0x22003, "xen_sched:credit_account_stop", VCPU " active:32"},
	{0x22004, "xen_sched:credit_stolen_unit", "from_cpu:32 " VCPU},
	{0x22005, "xen_sched:credit_picked_cpu", VCPU " new_cpu:32"},
	{0x22006, "xen_sched:credit_tickle", "tickled_cpu:32"},
	{0x22007, "xen_sched:credit_boost_start", VCPU},
	{0x22008, "xen_sched:credit_boost_end", VCPU},
	{0x22009, "xen_sched:credit_schedule", "on_cpu:16 tasklet:8 idle:8"},
	{0x2200a, "xen_sched:credit_ratelimit", "unit:32x runtime:32"},
	{0x2200b, "xen_sched:credit_steal_check", "peer_cpu:32 checked:32"},
	{0x22201, "xen_sched:credit2_tick", ""},
	{0x22202, "xen_sched:credit2_runq_pos", "unit:32x pos:32"},
	{0x22203, "xen_sched:credit2_credit_burn", "unit:32x credit:32s budget:32s delta:32s"},
	{0x22203, "xen_sched:credit2_credit_burn", "unit:32x credit:32s delta:32s"},
	{0x22204, "xen_sched:credit2_credit_add", ""},
	{0x22205, "xen_sched:credit2_tickle_check", "unit:32x credit:32s score:32s"},
	{0x22205, "xen_sched:credit2_tickle_check", "unit:32x credit:32s"},
	{0x22206, "xen_sched:credit2_tickle", "tickled_cpu:16"},
	{0x22207, "xen_sched:credit2_credit_reset", "unit:32x credit_start:32s credit_end:32s"},
	{0x22208, "xen_sched:credit2_tasklet", ""},
	{0x22209, "xen_sched:credit2_update_load", ""},
	{0x2220a, "xen_sched:credit2_runq_assign", "unit:32x runq:16"},
	{0x2220b, "xen_sched:credit2_update_unit_load", "avgload:64 unit:32x shift:32"},
	{0x2220c, "xen_sched:credit2_update_runq_load",
		"avgload:64 b_avgload:64 load:16 runq:8 shift:8"},
	{0x2220d, "xen_sched:credit2_tickle_new", "unit:32x processor:32 credit:32s"},
	{0x2220e, "xen_sched:credit2_runq_max_weight", "runq:16 max_weight:16"},
	{0x2220f, "xen_sched:credit2_migrate", "unit:32x runq:16 to_runq:16"},
	{0x22210, "xen_sched:credit2_load_check", "runq:16 other_runq:16 delta:32"},
	{0x22211, "xen_sched:credit2_load_balance",
		"b_avgload:64 other_b_avgload:64 runq:16 other_runq:16"},
	{0x22213, "xen_sched:credit2_picked_cpu", "b_avgload:64 unit:32x runq:16 new_cpu:16"},
	{0x22214, "xen_sched:credit2_runq_candidate", "unit:32x tickled_cpu:32s credit:32s"},
	{0x22215, "xen_sched:credit2_schedule",
		"on_cpu:16 runq:16 tasklet:8 idle:8 smt_idle:8 tickled:8"},
	{0x22216, "xen_sched:credit2_ratelimit", "unit:32x runtime:32"},
	{0x22217, "xen_sched:credit2_runq_cand_check", "unit:32x"},
	{0x22801, "xen_sched:rtds_tickle", "tickled_cpu:16"},
	{0x22802, "xen_sched:rtds_runq_pick", "unit:32x deadline:64 budget:64"},
	{0x22803, "xen_sched:rtds_budget_burn",
		"unit:32x budget:64 delta:32s priority:32 extratime:8"},
	{0x22803, "xen_sched:rtds_budget_burn", "unit:32x budget:64 delta:32s priority:32"},
	{0x22803, "xen_sched:rtds_budget_burn", "unit:32x budget:64 delta:32s"},
	{0x22804, "xen_sched:rtds_budget_replenish", "unit:32x priority:32 deadline:64 budget:64"},
	{0x22804, "xen_sched:rtds_budget_replenish", "unit:32x deadline:64 budget:64"},
	{0x22805, "xen_sched:rtds_tasklet", ""},
	{0x22806, "xen_sched:rtds_schedule", "on_cpu:16 tasklet:8 tickled:4 idle:4"},
	{0x22a01, "xen_sched:null_picked_cpu", "vcpu:16 dom:16 new_cpu:32"},
	{0x22a02, "xen_sched:null_assign", "vcpu:16 dom:16 new_cpu:32"},
	{0x22a03, "xen_sched:null_deassign", "vcpu:16 dom:16 old_cpu:32"},
	{0x22a04, "xen_sched:null_migrate", "vcpu:16 dom:16 old_cpu:16 new_cpu:16"},
	{0x22a05, "xen_sched:null_schedule", "tasklet:16 on_cpu:16 vcpu:16 dom:16"},
	{0x22a06, "xen_sched:null_tasklet", ""},
	{0x28001, "xen_sched:dom_add", "dom:32"},
	{0x28002, "xen_sched:dom_rem", "dom:32"},
	{0x28003, "xen_sched:sleep", VCPU},
	{0x28004, "xen_sched:wake", VCPU},
	{0x28005, "xen_sched:yield", VCPU},
	{0x28006, "xen_sched:block", VCPU},
	{0x28007, "xen_sched:shutdown", VCPU " reason:32"},
	{0x28008, "xen_sched:ctl", ""},
	{0x28009, "xen_sched:adjdom", "dom:32"},
	{0x2800a, "xen_sched:switch", "prev_dom:32 prev_vcpu:32 next_dom:32 next_vcpu:32"},
	{0x2800b, "xen_sched:s_timer_fn", ""},
	{0x2800c, "xen_sched:t_timer_fn", ""},
	{0x2800d, "xen_sched:dom_timer_fn", ""},
	{0x2800e, "xen_sched:switch_infprev", VCPU " runtime_ns:32"},
	{0x2800e, "xen_sched:switch_infprev", "dom:32 runtime_ns:32"},
	{0x2800f, "xen_sched:switch_infnext", VCPU " waited_ns:32 slice_ns:32s"},
	{0x2800f, "xen_sched:switch_infnext", "dom:32 waited_ns:32 slice_ns:32s"},
	{0x28010, "xen_sched:shutdown_code", VCPU " reason:32"},
	{0x28011, "xen_sched:switch_infcont", VCPU " runtime_ns:32 slice_ns:32s"},

	{0x41001, "xen_dom0op:dom_add", "dom:32"},
	{0x41002, "xen_dom0op:dom_rem", "dom:32"},

	{0x81001, "xen_hvm:vmentry", ""},
	BY_WIDTH(0x81002, "xen_hvm:vmexit", "exit_reason:32x=exit rip:32x isa",
		"exit_reason:32x=exit rip:64x isa"),
	BY_WIDTH(0x81003, "xen_hvm:vmexit", "exit_reason:32x=exit rip:32x isa",
		"exit_reason:32x=exit rip:64x isa"), /* of SVM, from 4.18 on */
	{0x81401, "xen_hvm:nested_vmentry", ""},
	BY_WIDTH(0x81402, "xen_hvm:nested_vmexit", "exit_reason:32x=exit rip:32x isa",
		"exit_reason:32x=exit rip:64x isa"),
	BY_WIDTH(0x81403, "xen_hvm:nested_vmexit", "exit_reason:32x=exit rip:32x isa",
		"exit_reason:32x=exit rip:64x isa"),
	BY_WIDTH(0x82001, "xen_hvm:pf_xen", "error_code:32x address:32x",
		"error_code:32x address:64x"),
	BY_WIDTH(0x82002, "xen_hvm:pf_inject", "error_code:32x address:32x",
		"error_code:32x address:64x"),
	{0x82003, "xen_hvm:inj_exc", "vector:32x error_code:32x"},
	{0x82004, "xen_hvm:inj_virq", "vector:32x fake:32"},
	{0x82005, "xen_hvm:reinj_virq", "vector:32x"},
	{0x82006, "xen_hvm:io_read", "port:32x size:32"},
	{0x82007, "xen_hvm:io_write", "port:32x size:32"},
	BY_WIDTH(0x82008, "xen_hvm:cr_read", "cr:32 value:32x", "cr:32 value:64x"),
	BY_WIDTH(0x82009, "xen_hvm:cr_write", "cr:32 value:32x", "cr:32 value:64x"),
	{0x8200a, "xen_hvm:dr_read", ""},
	{0x8200b, "xen_hvm:dr_write", ""},
	{0x8200c, "xen_hvm:msr_read", "msr:32x value:64x"},
	{0x8200d, "xen_hvm:msr_write", "msr:32x value:64x"},
	{0x8200e, "xen_hvm:cpuid",
		"leaf:32x subleaf:32x eax:32x ebx:32x ecx:32x edx:32x"},
	{0x8200e, "xen_hvm:cpuid", "leaf:32x eax:32x ebx:32x ecx:32x edx:32x"},
	{0x8200f, "xen_hvm:intr", "vector:32x"},
	{0x8200f, "xen_hvm:intr", ""},
	{0x82010, "xen_hvm:nmi", ""},
	{0x82011, "xen_hvm:smi", ""},
	{0x82012, "xen_hvm:vmmcall", "op:32=hypercall"},
	{0x82013, "xen_hvm:hlt", "pending:32"},
	BY_WIDTH(0x82014, "xen_hvm:invlpg", "invlpga:32 address:32x", "invlpga:32 address:64x"),
	{0x82015, "xen_hvm:mce", ""},
	ACCESS(0x82016, "xen_hvm:ioport_read", "port"),
	ACCESS(0x82216, "xen_hvm:ioport_write", "port"),
	ACCESS(0x82017, "xen_hvm:iomem_read", "address"),
	ACCESS(0x82217, "xen_hvm:iomem_write", "address"),
	{0x82018, "xen_hvm:clts", ""},
	BY_WIDTH(0x82019, "xen_hvm:lmsw", "value:32x", "value:64x"),
	{0x8201a, "xen_hvm:rdtsc", "value:64"},
	{0x82020, "xen_hvm:intr_window", "vector:32x source:32 info:32x"},
	{0x82021, "xen_hvm:npf", "gpa:64x mfn:64x qualification:32x p2mt:32"},
	{0x82022, "xen_hvm:realmode_emulate", ""},
	{0x82023, "xen_hvm:trap", "vector:32x"},
	{0x82024, "xen_hvm:trap_debug", "qualification:32x"},
	{0x82025, "xen_hvm:vlapic", ""},
	{0x82126, "xen_hvm:xcr_read", "xcr:32 value:64x"},
	{0x82127, "xen_hvm:xcr_write", "xcr:32 value:64x"},
	{0x84001, "xen_hvm:hpet_start_timer", "timer:32 irq:32 delta_ns:64 period_ns:64"},
	{0x84002, "xen_hvm:pit_start_timer", "delta:32 period:32"},
	{0x84003, "xen_hvm:rtc_start_timer", "delta:32 period:32"},
	{0x84004, "xen_hvm:lapic_start_timer", "delta:64 period:64 irq:32"},
	{0x84005, "xen_hvm:hpet_stop_timer", "timer:32"},
	{0x84006, "xen_hvm:pit_stop_timer", ""},
	{0x84007, "xen_hvm:rtc_stop_timer", ""},
	{0x84008, "xen_hvm:lapic_stop_timer", ""},
	{0x84009, "xen_hvm:pit_timer_cb", ""},
	{0x8400a, "xen_hvm:lapic_timer_cb", ""},
	{0x8400b, "xen_hvm:pic_int_output", "int_output:32 is_master:32 irq:32"},
	{0x8400c, "xen_hvm:pic_kick", "irq:32"},
	{0x8400d, "xen_hvm:pic_intack", "is_master:32 irq:32"},
	{0x8400e, "xen_hvm:pic_posedge", "irq:32"},
	{0x8400f, "xen_hvm:pic_negedge", "irq:32"},
	{0x84010, "xen_hvm:pic_pend_irq_call", "accept:32 int_output:32"},
	{0x84011, "xen_hvm:lapic_pic_intr", "target:32 accept:32"},

	{0x10f001, "xen_mem:page_grant_map", "dom:32"},
	{0x10f002, "xen_mem:page_grant_unmap", "dom:32"},
	{0x10f003, "xen_mem:page_grant_transfer", "dom:32"},
	{0x10f004, "xen_mem:set_p2m_entry", "gfn:64x mfn:64x p2mt:32 dom:16 order:16"},
	{0x10f005, "xen_mem:decrease_reservation", "gfn:64x dom:16 order:16"},
	{0x10f010, "xen_mem:pod_populate", "gfn:64x mfn:64x dom:16 order:16"},
	{0x10f011, "xen_mem:pod_zero_reclaim", "gfn:64x mfn:64x dom:16 order:16"},
	{0x10f012, "xen_mem:pod_superpage_splinter", "gfn:64x dom:16"},

	BY_WIDTH(0x201001, "xen_pv:hypercall", "rip:32x op:32=hypercall",
		"rip:64x op:32=hypercall"),
	BY_WIDTH(0x201003, "xen_pv:trap", "rip:32x trapnr:15 use_error_code:1 error_code:16x",
		"rip:64x trapnr:15 use_error_code:1 error_code:16x"),
	BY_WIDTH(0x201004, "xen_pv:page_fault", "rip:32x address:32x error_code:32x",
		"rip:64x address:64x error_code:32x"),
	BY_WIDTH(0x201005, "xen_pv:forced_invalid_op", "rip:32x", "rip:64x"),
	BY_WIDTH(0x201006, "xen_pv:emulate_privop", "rip:32x", "rip:64x"),
	BY_WIDTH(0x201007, "xen_pv:emulate_4gb", "rip:32x", "rip:64x"),
	BY_WIDTH(0x201008, "xen_pv:math_state_restore", "", ""),
	BY_WIDTH(0x201009, "xen_pv:paging_fixup", "rip:32x address:32x", "rip:64x address:64x"),
	BY_WIDTH(0x20100a, "xen_pv:gdt_ldt_mapping_fault", "rip:32x offset:32x",
		"rip:64x offset:64x"),
	BY_WIDTH(0x20100b, "xen_pv:ptwr_emulation", "pte:64x address:32x rip:32x",
		"pte:64x address:64x rip:64x"),
	BY_WIDTH(0x20100c, "xen_pv:ptwr_emulation_pae", "pte:64x address:32x rip:32x",
		"pte:64x address:64x rip:64x"),
	{0x20100d, "xen_pv:hypercall", "op:20=hypercall args"},
	{0x20200e, "xen_pv:hypercall_subcall", "op:20=hypercall args"},

	SHADOW_ENTRY(0x40f001, "xen_shadow:not_shadow"),
	SHADOW_ADDRESS(0x40f002, "xen_shadow:fast_propagate"),
	SHADOW_ADDRESS(0x40f003, "xen_shadow:fast_mmio"),
	SHADOW_ADDRESS(0x40f004, "xen_shadow:false_fast_path"),
	SHADOW_ADDRESS(0x40f005, "xen_shadow:mmio"),
	SHADOW_ENTRY(0x40f006, "xen_shadow:fixup"),
	SHADOW_ADDRESS(0x40f007, "xen_shadow:domf_dying"),
	BY_LEVELS(0x40f008, "xen_shadow:emulate",
		"gl1e:32x written:32x va:32x flags:29x emulations:3",
		"gl1e:64x written:64x va:32x flags:29x emulations:3",
		"gl1e:64x written:64x va:64x flags:29x emulations:3"),
	SHADOW_FRAME(0x40f009, "xen_shadow:emulate_unshadow_user"),
	SHADOW_FRAME(0x40f00a, "xen_shadow:emulate_unshadow_evtinj"),
	SHADOW_FRAME(0x40f00b, "xen_shadow:emulate_unshadow_unhandled"),
	EITHER_FRAME(0x40f00c, "xen_shadow:wrmap_bf"),
	EITHER_FRAME(0x40f00d, "xen_shadow:prealloc_unpin"),
	EITHER_FRAME(0x40f00e, "xen_shadow:resync_full"),
	EITHER_FRAME(0x40f00f, "xen_shadow:resync_only"),

	{0x801001, "xen_hw:freq_change", "old_mhz:32 new_mhz:32"},
	{0x801002, "xen_hw:idle_entry", "state:32 tick:32 expected:32 predicted:32"},
	{0x801003, "xen_hw:idle_exit", "state:32 tick:32 irq1:32 irq2:32 irq3:32 irq4:32"},
	{0x802001, "xen_hw:irq_move_cleanup_delay", "irq:32 vector:32x on_cpu:32"},
	{0x802002, "xen_hw:irq_move_cleanup", "irq:32 vector:32x on_cpu:32"},
	{0x802003, "xen_hw:irq_bind_vector", "irq:16 vector:16x cpus:64x"},
	{0x802004, "xen_hw:irq_clear_vector", "irq:16 vector:16x cpus:64x"},
	{0x802005, "xen_hw:irq_move_finish", "irq:32 vector:32x on_cpu:32"},
	{0x802006, "xen_hw:irq_assign_vector", "irq:16 vector:16x cpus:64x"},
	{0x802007, "xen_hw:irq_unmapped_vector", "vector:32x"},
	{0x802008, "xen_hw:irq_handled", "irq:32 began_tsc:32 ended_tsc:32"},
};

/* What is in none of the rows, by its highest bits. */
static const struct {
	u32 id; /* of its class */
	const char *name;
} classes[] = {
	{0x1f000, "xen_gen:unknown"},	 {0x2f000, "xen_sched:unknown"},
	{0x4f000, "xen_dom0op:unknown"}, {0x8f000, "xen_hvm:unknown"},
	{0x10f000, "xen_mem:unknown"},	 {0x20f000, "xen_pv:unknown"},
	{0x40f000, "xen_shadow:unknown"}, {0x80f000, "xen_hw:unknown"},
	{0x800f000, "xen_guest:unknown"}, {0, "xen:unknown"},
};
/* clang-format on */

#endif
