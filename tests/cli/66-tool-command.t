#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Tools with `-- COMMAND` trace it and what it starts, nobody else, and end with it, with its code. On a terminal they say what they
# trace, and rows fit; elsewhere they say nothing, and rows are whole.
# among tracers: traces its own commands
. "$(dirname "$0")/lib.sh"
need_root
c=$programs/calls.dyn
long=$work/$(printf '%0120d' 0)

# Others do the same all the time.
(
	trap 'exit 0' TERM
	while :; do
		"$c" 3
		cat /nonexistent/theirs
		sleep 0.02
	done
) >/dev/null 2>&1 &
noise=$!
trap 'kill $noise 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT

cat >"$work/command" <<E
#!/bin/sh
cat $long
$c 2 >/dev/null
kill -0 \$\$
(exit 7)
E
chmod +x "$work/command"

# LINES that hold the pattern, as often as the command does it; pattern; words
while IFS='|' read -r count pattern words <&3; do
	# shellcheck disable=SC2086
	timeout -k 1 120 "$pantrace" $words -- "$work/command" >"$work/out" 2>"$work/err" </dev/null
	is $? 7 "$words: the command's code"
	is "$(grep -Ec -- "$pattern" "$work/out")" "$count" "$words: $count times $pattern" || head -5 "$work/out" "$work/err" | sed 's/^/# /'
	unlike "$(cat "$work/err")" 'Tracing' "$words: nothing is said where no terminal is"
done 3<<TABLE
1|$long|opensnoop -x
0|theirs|opensnoop
1|cat |execsnoop
2|^ +[0-9]+ +[0-9.]+ work$|funcslower -u $c work 0
1|^work +2$|funccount -u $c work
1|^command +|syscount
0|sleep|syscount
1|command +[0-9]+ +[0-9]+ +0 +0|killsnoop
1|^ +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+%|cachestat 100
2|: work: |uprobe p:$c:work
2| main\\+0x|uprobe -s p:$c:work
0|theirs|tpoint syscalls:sys_enter_openat
1|sched_process_exec: filename=$c |tpoint tracepoint:sched:sched_process_exec
TABLE
sed -i 's/(exit 7)/kill -TERM $$/' "$work/command"
"$pantrace" opensnoop -- "$work/command" >/dev/null 2>&1
is $? 143 "opensnoop: the command's signal"
"$pantrace" tpoint sched:sched_process_exec -- "$work/command" >/dev/null 2>&1
is $? 143 "tpoint: the command's signal"

# A terminal of 70 columns.
cat >"$work/terminal.py" <<'P'
import fcntl, os, pty, re, select, signal, struct, sys, termios, time
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execv(sys.argv[2], sys.argv[2:])
out, asked, began, end = b"", False, 0, time.time() + 120
while time.time() < end:
    if select.select([fd], [], [], 0.2)[0]:
        try: data = os.read(fd, 65536)
        except OSError: break
        if not data: break
        out += data
    began = began or b"Ctrl-C to end." in out and time.time()
    if began and not asked and (out.count(b"\n") > 30 or time.time() > began + 0.5):
        os.kill(pid, signal.SIGINT)
        asked = True
os.waitpid(pid, 0)
sys.stdout.write(out.decode("utf-8", "replace").replace("\r\n", "\n"))
P
(while :; do cat "$long"; sleep 0.01; done) >/dev/null 2>&1 &
reader=$!
for tool in $("$pantrace" help --words | sed -n 's/	tool$//p') tpoint uprobe hist; do
	case $tool in
	funccount) set -- -u "$c" work ;;
	funcslower) set -- -u "$c" work 0 ;;
	perf-stat-hist) set -- sched:sched_switch next_pid ;;
	tpoint) set -- sched:sched_process_exec ;;
	uprobe) set -- "p:$c:work" ;;
	hist) set -- sched:sched_process_exec keys=filename ;;
	execsnoop) set -- -x ;;
	*) set -- ;;
	esac
	python3 "$work/terminal.py" 70 "$pantrace" $tool "$@" >"$work/out" 2>"$work/err"
	like "$(cat "$work/out")" '^Tracing .*Ctrl-C to end\.$' "$tool says what it traces, and how to end"
	case $tool in
	tpoint | uprobe) ;; # events as the kernel prints them: whole
	*) is "$(grep -vE '^(Tracing|pantrace [a-z-]*: warning)' "$work/out" | awk 'length($0) > 70' | head -1)" "" "$tool: lines fit a terminal of 70 columns" ;;
	esac
done
kill $reader
python3 "$work/terminal.py" 70 "$pantrace" opensnoop -x -- cat "$long" >"$work/out" 2>"$work/err"
like "$(cat "$work/out")" '^cat .*>$' "what was cut is marked"
done_testing
