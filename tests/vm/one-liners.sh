# SPDX-License-Identifier: GPL-2.0-or-later
# The lines of doc/one-liners.md that need kprobes or the function tracer.
# guest: none; check-all: older
# modules: ext4 crc32c_generic mq_deadline
(
	while :; do
		cat /etc/passwd /proc/stat
		sync
		sleep 0.3
	done
) >/dev/null 2>&1 &
noise=$!
# until_shown MODE: events in the output of the line that runs; quiet: it says that it traces
until_shown()
{
	for _ in $(seq 1000); do
		[ "$1" = loud ] && [ -s /tmp/out ] && return
		[ "$1" = quiet ] && grep -qs __BPFTRACE_NOTIFY_PROBES_ATTACHED /tmp/out && return
		kill -0 $runner 2>/dev/null || return
		usleep 200000
	done
}
# run_lines BLOCK MODE
run_lines()
{
	awk -v block="\`\`\`$1" '$0 == block { on = 1; next } /^```/ { on = 0 } on && !/^#/' /tests/one-liners.md >/tmp/lines
	while IFS= read -r line; do
		rm -f /tmp/out /tmp/err
		timeout -s INT 300 sh -c "exec $line" >/tmp/out 2>/tmp/err </dev/null &
		runner=$!
		# Without an end of its own: it ends when it has something to show, or traces and may have nothing.
		case $line in *' -d '*) ;; *) until_shown $2 && sleep 1 && kill -INT $runner 2>/dev/null ;; esac
		wait $runner
		! grep -Eq 'ERROR|rror:' /tmp/err && { [ "$2" = quiet ] || [ -s /tmp/out ]; }
		ok "$line" || head -5 /tmp/err | sed 's/^/# /'
	done </tmp/lines
}
run_lines 'sh guest' loud
export __BPFTRACE_NOTIFY_PROBES_ATTACHED=1
run_lines 'sh guest quiet' quiet
kill $noise
done_testing
