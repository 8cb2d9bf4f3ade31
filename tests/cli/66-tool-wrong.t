#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Tools say what is wrong with what they were given in one sentence, in the user's own words: no place in a script that nobody wrote, no
# second error that follows from the first. Without privilege that is said first.
# among tracers: asks what is refused
. "$(dirname "$0")/lib.sh"
need_root
c=$programs/calls.dyn

# CODE; a word of the user's that the sentence holds; the words of the tool.
cat >"$work/table" <<TABLE
2|'x'|opensnoop -d x
2|'-1'|opensnoop -d -1
2|'x'|opensnoop -p x
2|'0'|opensnoop -p 0
1|process 4194303|opensnoop -p 4194303
1|thread 4194303|opensnoop -L 4194303
2|'('|opensnoop -n (
2|'['|opensnoop [
2|'('|execsnoop (
2|'x'|execsnoop -a x
2|'0'|execsnoop -a 0
1|process 4194303|killsnoop -p 4194303
2|'y'|killsnoop -p y
1|process 4194303|syscount -p 4194303
2|'x'|syscount -t x
1|process 4194303|bitesize -p 4194303
2|'5,3'|bitesize -b 5,3
2|'x'|bitesize -b x
2|'nosuch'|bitesize -D nosuch
2|'x'|bitesize x
2|'nosuch'|iosnoop -d nosuch
1|process 4194303|iosnoop -p 4194303
2|'('|iosnoop -n (
2|'nosuch'|iolatency -d nosuch
2|'x'|iolatency x
2|'0'|iolatency 1 0
2|'x.png'|iolatency -m x.png
1|process 4194303|cachestat -p 4194303
2|'x'|cachestat x
2|'x'|cachestat 1 x
2|'5'|cachestat 1 2 5
2|FUNCTIONS|funccount
2|'a b'|funccount a\\ b
2|'x'|funccount -i x -u $c work
2|'-3'|funccount -t -3 -u $c work
1|/nonexistent|funccount -u /nonexistent work
1|wrok|funccount -u $c wrok
1|process 4194303|funccount -p 4194303 -u $c work
2|MICROSECONDS|funcslower work
2|'x'|funcslower -u $c work x
1|wrok|funcslower -u $c wrok 1
1|process 4194303|funcslower -p 4194303 -u $c work 1
1|thread 4194303|funcslower -L 4194303 -u $c work 1
1|sched:sched_swich|perf-stat-hist sched:sched_swich next_pid 1
1|shced:sched_switch|perf-stat-hist shced:sched_switch next_pid 1
2|'nothing'|perf-stat-hist nothing next_pid 1
1|nxt_pid|perf-stat-hist sched:sched_switch nxt_pid 1
1|next_comm|perf-stat-hist sched:sched_switch next_comm 1
2|'a;b'|perf-stat-hist sched:sched_switch a;b 1
1|nxt_pid|perf-stat-hist -f nxt_pid>1 sched:sched_switch next_pid 1
2|next_pid;|perf-stat-hist -f next_pid; sched:sched_switch next_pid 1
2|'0'|perf-stat-hist -P 0 sched:sched_switch next_pid 1
2|'1'|perf-stat-hist -P 1 sched:sched_switch next_pid 1
2|'x'|perf-stat-hist -P x sched:sched_switch next_pid 1
2|'0'|perf-stat-hist -m 0 sched:sched_switch next_pid 1
2|'9 4'|perf-stat-hist -b 9\\ 4 sched:sched_switch next_pid 1
2|'x'|perf-stat-hist sched:sched_switch next_pid x
2|FIELD|perf-stat-hist sched:sched_switch
1|process 4194303|perf-stat-hist -p 4194303 sched:sched_switch next_pid 1
2|--no-such|tcpretrans --no-such
2|--faild|opensnoop --faild
1|/nonexistent|opensnoop -o /nonexistent/x -d 1
1|/nonexistent|opensnoop -- /nonexistent/program
2|'--'|opensnoop --
2|'x'|tpoint -d x sched:sched_switch
2|'x'|tpoint -p x sched:sched_switch
2|'x'|tpoint -b x sched:sched_switch
1|process 4194303|tpoint -p 4194303 sched:sched_switch
1|thread 4194303|tpoint -L 4194303 sched:sched_switch
1|sched:sched_swich|tpoint sched:sched_swich
1|sched:sched_swich|tpoint tracepoint:sched:sched_swich
1|sched:sched_swich|tpoint -v sched:sched_swich
1|nothing|tpoint nothing
1|process 4194303|uprobe -p 4194303 p:$c:work
1|wrok|uprobe p:$c:wrok
1|/nonexistent|uprobe p:/nonexistent:work
2|'x'|uprobe -d x p:$c:work
2|'x'|hist -d x sched:sched_switch keys=next_pid
1|sched:sched_swich|hist sched:sched_swich keys=next_pid
1|nxt_pid|hist sched:sched_switch keys=nxt_pid
2|'--'|tpoint sched:sched_switch --
1|/nonexistent|tpoint sched:sched_switch -- /nonexistent/program
2|a command|tpoint -p 1 sched:sched_switch -- true
TABLE
# one_sentence FILE: a line, then a hint or where help is; the user's own text may stand between, with marks below it
one_sentence()
{
	sed '/^HINT: /d; /^Try .pantrace /d; /^ *~*$/d' "$1" >"$work/rest"
	if grep -q '^[a-z]*:1:[0-9-]*: ERROR: ' "$work/rest"; then
		[ "$(wc -l <"$work/rest")" -le 2 ] && ! grep -q '\$field\|getopt' "$work/rest"
	else
		[ "$(wc -l <"$work/rest")" = 1 ]
	fi
}
while IFS='|' read -r code word words <&3; do
	# "a\ b" is one word
	(set -f; eval "set -- $(printf '%s' "$words" | sed 's/[(;>[]/\\&/g')"; exec timeout -k 1 60 "$pantrace" "$@") >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	is "$rc" "$code" "$words: the exit code"
	grep -qF -- "$word" "$work/err"
	ok "$words: names $word" || sed 's/^/# /' "$work/err" >&2
	one_sentence "$work/err"
	ok "$words: in one sentence" || sed 's/^/# /' "$work/err" >&2
	unlike "$(cat "$work/err")" '(stdin|\.bt|snoop|count|slower|stat-hist|stat|size|latency|retrans):[0-9]+:[0-9]' "$words: no script is shown"
done 3<"$work/table"

# Every tool is in the table; and none runs without privilege, which is said first, in one sentence, with code 4.
cp "$pantrace" "$work/pantrace"
chmod 755 "$work" "$work/pantrace"
nobody() { (cd / && exec setpriv --reuid nobody --regid nogroup --clear-groups "$work/pantrace" "$@"); }
for tool in $("$pantrace" help --words | sed -n 's/	tool$//p') tpoint uprobe kprobe functrace funcgraph hist; do
	case $tool in
	kprobe | functrace | funcgraph) ;; # not of every kernel
	*)
		grep -q "|$tool" "$work/table"
		ok "$tool is in the table"
		;;
	esac
	case $tool in
	funccount) set -- "vfs_*" ;;
	funcslower) set -- vfs_read 10 ;;
	perf-stat-hist) set -- sched:sched_switch next_pid 1 ;;
	tpoint) set -- sched:sched_switch ;;
	uprobe) set -- "p:$c:work" ;;
	kprobe) set -- p:vfs_read ;;
	functrace | funcgraph) set -- vfs_read ;;
	hist) set -- sched:sched_switch keys=next_pid ;;
	*) set -- ;;
	esac
	nobody $tool "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	is "$rc" 4 "$tool without privilege: code 4"
	one_sentence "$work/err"
	ok "$tool without privilege: in one sentence" || sed 's/^/# /' "$work/err" >&2
	unlike "$(cat "$work/err")" ':[0-9]+:[0-9]' "$tool without privilege: no script is shown"
done
done_testing
