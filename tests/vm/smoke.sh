# SPDX-License-Identifier: GPL-2.0-or-later
# The rig itself: the guest has what this kernel lacks, and the binary runs.
# guest: older
[ -e /sys/kernel/tracing/kprobe_events ]; ok "the guest has kprobes"
[ -e /sys/bus/event_source/devices/kprobe/type ]; ok "the guest has the kprobe PMU"
grep -q function_graph /sys/kernel/tracing/available_tracers; ok "the guest has function_graph"
[ -e /sys/kernel/btf/vmlinux ]; ok "the guest has BTF"
pantrace --version >/tmp/version 2>&1; ok "pantrace runs"
like "$(cat /tmp/version)" '^pantrace [0-9]+\.[0-9]+' "it says its version"
done_testing
