/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What KVM says in debugfs of a guest's TSC, with files made up: no machine of ours scales. */
#include <stdlib.h>
#include <unistd.h>

#include "kernel/kvm_tsc.h"
#include "scratch.h"
#include "tap.h"

int main(void)
{
	char dir[] = "/tmp/pantrace-unit.XXXXXX";
	const u64 ours = 123456789012345ull;
	struct kvm_tsc t;

	if (!mkdtemp(dir))
		return 1;
	run_in(dir, "mkdir -p 42-9/vcpu0 42-9/vcpu1 421-3/vcpu0 && cd 42-9 && echo 0 >exits && "
		    "for v in 0 1; do echo -1132457 >vcpu$v/tsc-offset; echo 0 >vcpu$v/guest_mode; "
		    "done");
	ok(!kvm_tsc_read(dir, 421, &t) && !kvm_tsc_read(dir, 4, &t), "of whom nothing is told");
	ok(kvm_tsc_read(dir, 42, &t) && kvm_tsc_ours(&t, ours - 1132457) == ours, "an offset");

	run_in(dir, "for v in 0 1; do echo 48 >42-9/vcpu$v/tsc-scaling-ratio-frac-bits; "
		    "echo 422212465065984 >42-9/vcpu$v/tsc-scaling-ratio; done");
	ok(kvm_tsc_read(dir, 42, &t) && kvm_tsc_ours(&t, ours / 2 * 3 - 1132457) == ours - 1,
	   "a ratio of 1.5");

	run_in(dir, "echo 5 >42-9/vcpu1/tsc-offset");
	ok(!kvm_tsc_read(dir, 42, &t), "two virtual CPUs that differ");
	run_in(dir, "echo 1 >42-9/vcpu1/guest_mode");
	ok(kvm_tsc_read(dir, 42, &t) && t.offset == (u64)-1132457,
	   "one that runs a guest of its own shows the offset of that one");
	run_in(dir, "echo 0 >42-9/vcpu0/tsc-scaling-ratio");
	ok(!kvm_tsc_read(dir, 42, &t), "a ratio of 0");
	run_in(dir, "echo word >42-9/vcpu0/tsc-offset");
	ok(!kvm_tsc_read(dir, 42, &t), "no number");
	run_in("/tmp", "rm -r %s", dir);
	return tap_done();
}
