# SPDX-License-Identifier: GPL-2.0-or-later
# The lines of doc/one-liners.md that need kprobes or the function tracer.
(
	while :; do
		cat /etc/passwd /proc/stat
		sync
		sleep 0.3
	done
) >/dev/null 2>&1 &
noise=$!
# run_lines BLOCK MODE
run_lines()
{
	awk -v block="\`\`\`$1" '$0 == block { on = 1; next } /^```/ { on = 0 } on && !/^#/' /tests/one-liners.md >/tmp/lines
	while IFS= read -r line; do
		case $line in *' -d '*) limit=60 ;; *) limit=6 ;; esac
		timeout -s INT $limit sh -c "exec $line" >/tmp/out 2>/tmp/err </dev/null
		! grep -Eq 'ERROR|rror:' /tmp/err && { [ "$2" = quiet ] || [ -s /tmp/out ]; }
		ok "$line" || head -5 /tmp/err | sed 's/^/# /'
	done </tmp/lines
}
run_lines 'sh guest' loud
run_lines 'sh guest quiet' quiet
kill $noise
done_testing
