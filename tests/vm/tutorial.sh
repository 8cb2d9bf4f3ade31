# SPDX-License-Identifier: GPL-2.0-or-later
# The command lines of doc/tutorial.md that need kprobes and BTF.
# guest: older
awk '/^```sh kprobe$/ { on = 1; next } /^```/ { on = 0 } on' /tests/tutorial.md >/tmp/lines
while IFS= read -r line; do
	begin sh -c "exec $line" && cat /etc/passwd >/dev/null && end && ! grep -q ERROR /tmp/err
	ok "$line" || head -5 /tmp/err | sed 's/^/# /'
done </tmp/lines
done_testing
