/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/bpf/process_image.h"

#include "lib/vm.h"

/* Its only map is the scratch memory. */
static void add_code(const struct script_program *program, struct strbuf *ret)
{
	for (u32 i = 0; i < program->code.count; i++) {
		struct bpf_insn insn = program->code.insns[i];

		for (u32 k = 0; k < program->code.nrelocations; k++) {
			const struct bpf_relocation *r = &program->code.relocations[k];

			if (r->insn != i)
				continue;
			insn.src_reg = BPF_PSEUDO_MAP_FD;
			/* any other map is refused by the check below */
			insn.imm = r->map == program->ir->scratch_map ? 0 : 1;
		}
		strbuf_add(ret, &insn, sizeof(insn));
	}
}

int process_image(const struct script *script, const struct script_program *program,
		  struct diag *diag, struct strbuf *ret)
{
	struct pt_vm_image head = {.magic = PT_VM_MAGIC,
				   .version = PT_VM_VERSION,
				   .nr_insns = program->code.count,
				   .scratch_size = program->ir->scratch_size};
	const size_t start = ret->len;
	struct pt_vm *vm;
	u32 at = 0;
	int err;

	if (head.scratch_size > PT_VM_SCRATCH || head.nr_insns > PT_VM_INSNS) {
		if (!diag)
			return -E2BIG;
		diag_error(diag, NO_SPAN, "the filter needs %u bytes of memory and %u instructions",
			   head.scratch_size, head.nr_insns);
		diag_hint(diag, "%u and %u are what a filter has; shorter strings: str(args.x, 64)",
			  PT_VM_SCRATCH, PT_VM_INSNS);
		return -E2BIG;
	}
	strbuf_add(ret, &head, sizeof(head));
	add_code(program, ret);
	err = pt_vm_load(ret->data + start, ret->len - start, &vm, &at);
	if (!err) {
		pt_vm_unload(vm);
		return 0;
	}
	if (!diag)
		return err;
	if (err == -EOPNOTSUPP) {
		diag_error(diag, program->code.spans[at],
			   "a filter cannot ask for nsecs here: with this machine's clock source "
			   "reading "
			   "the clock is a system call, and an event of a program makes none");
		diag_hint(diag,
			  "cat /sys/devices/system/clocksource/clocksource0/current_clocksource "
			  "shows it (tsc and kvm-clock can be read without)");
		return err;
	}
	diag_error(diag, at < head.nr_insns ? program->code.spans[at] : NO_SPAN,
		   "a filter runs in the program and cannot do this");
	diag_hint(diag, "it has the fields of the event (args), comm, pid, tid, uid, cpu, nsecs "
			"and strings");
	return err;
}
