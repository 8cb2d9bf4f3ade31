# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the guest: the time from exec until the first timer fires (all is attached then), and from Ctrl-C to the end.
export BPFTRACE_MAX_PROBES=100000 PANTRACE_MAX_PROBES=100000 LD_LIBRARY_PATH=/lib/x86_64-linux-gnu
ulimit -n 65536
now() { read -r up rest </proc/uptime; echo "${up%.*}${up#*.}"; } # hundredths of a second

measure() # TRACER PATTERN
{
	begin=$(now)
	$1 -e "kprobe:$2 { @ = count(); } interval:ms:20 { printf(\"ATTACHED\\n\"); }" >/tmp/out 2>&1 &
	tracer=$!
	while ! grep -q '^ATTACHED' /tmp/out && kill -0 $tracer 2>/dev/null; do sleep 0.02; done
	attached=$(now)
	kill -INT $tracer
	wait $tracer
	end=$(now)
	probes=$(sed -n 's/^Attach[a-z]* \([0-9]*\) probe.*/\1/p' /tmp/out | head -1)
	echo "$1 kprobe:$2: ${probes:-no} probes, attach $((attached - begin))0 ms, detach $((end - attached))0 ms"
}

set -f
patterns=$(cat /patterns)
for p in ${patterns:-b*}; do
	measure pantrace "$p"
	[ -x /bin/bpftrace ] && measure bpftrace "$p"
done
true
ok "measured on $(uname -r)"
done_testing
