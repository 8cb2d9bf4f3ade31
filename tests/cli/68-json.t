#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# JSON of every command: strict, no key twice, no control character raw, no integer that a double rounds, no text that is a line.
# among tracers: asks for the form of lines
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"

cd "$work" || exit 1
export XDG_CACHE_HOME="$work/cache" PANTRACE_INDEX=always # 'cache indexes' has something to show

# Names that no JSON has as they are: C1, a turn of direction, bytes that are no UTF-8, quotes, an escape sequence.
cat >"$work/odd.py" <<'P'
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
names = [b"c1 \xc2\x9b2J", b"bidi \xe2\x80\xae!", b"no utf \xff\xc3", b'q"b\\ \x1b[2J\n', b"lrm\xe2\x80\x8e\xd8\x9c"]
folder = os.fsencode(sys.argv[1])
while True:
    for name in names:
        libc.prctl(15, name)
        try: os.open(folder + b"/" + name + b"/none", 0)
        except OSError: pass
        try: os.kill(os.getpid(), 0)
        except OSError: pass
        with open(folder + b"/" + name, "wb") as f: f.write(b"x" * 8192)
        if not os.fork():
            os.execv("/bin/true", [b"/bin/true", name])
        os.wait()
    time.sleep(0.02)
P
mkdir "$work/odd"
python3 "$work/odd.py" "$work/odd" 2>/dev/null &
odd=$!
dd if=/dev/zero of="$work/image" bs=1M count=8 2>/dev/null
loop=$(losetup -f --show "$work/image" 2>/dev/null) || loop=
(
	trap 'exit 0' TERM
	while :; do
		"$programs/calls.dyn" 20
		[ -z "$loop" ] || dd if="$loop" of=/dev/null bs=4k count=100 iflag=direct
		dd if="$work/image" of=/dev/null bs=4k count=100
		sleep 0.02
	done
) >/dev/null 2>&1 &
noise=$!
trap 'kill $odd $noise 2>/dev/null; wait 2>/dev/null; [ -z "$loop" ] || losetup -d "$loop"; rm -rf "$work"' EXIT

cat >"$work/strict.py" <<'P'
import json, re, sys
def unique(pairs):
    keys = [k for k, _ in pairs]
    assert len(keys) == len(set(keys)), "a key twice: %r" % keys
    return dict(pairs)
def constant(name): raise ValueError(name + " is no JSON")
def integer(text):
    assert abs(int(text)) <= 2**53 - 1, "a double rounds " + text
    return int(text)
text = open(sys.argv[1], "rb").read().decode("utf-8", "strict")
control = re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", text)
assert not control, "raw %r" % control
assert text.endswith("\n") or not text
lines = text.split("\n")[:-1]
for line in lines:
    one = json.loads(line, object_pairs_hook=unique, parse_constant=constant, parse_int=integer)
    assert isinstance(one, dict), line
    if sys.argv[2] != "script":
        assert one.get("type") not in ("printf", "time", "value", "cat", "join"), "a line of text: " + line
    if sys.argv[2] == "event":
        assert "fields" in one or "frames" in one or "function" in one, line
assert lines or sys.argv[2] == "rare", "nothing"
P

# strict NAME KIND: what stands in $work/out
strict()
{
	message=$(python3 "$work/strict.py" "$work/out" "$2" 2>&1)
	ok "$1" || { printf '%s\n' "$message" | tail -1 | cut -c1-300 | sed 's/^/# /'; sed 's/^/# /' "$work/err" | head -3; }
}

# Recordings to report.
(
	cd "$work" || exit 1
	"$pantrace" record -q -u 'traced:*' -o ctf -- "$traced" 40
	"$pantrace" record -q -u 'traced:*' -c ip,user_stack,vpid,procname -o contexts -- "$traced" 40
	"$pantrace" agent "$work/agent" 2>agent.err &
	until_true grep -q "waiting at" agent.err
	"$pantrace" record -q -e sched:sched_process_exec -d 0.3 --guest "there=$work/agent" -e sched:sched_process_exec -o machines
	kill $!
	"$pantrace" user start box -u 'traced:*' --mode overwrite
) >/dev/null 2>&1
"$traced" 400000 2000 >/dev/null 2>&1 &
program=$!
ready $program
if command -v trace-cmd >/dev/null; then
	# with fields of all kinds and names of all kinds
	trace-cmd record -q -e sched:sched_process_exec -e sched:sched_switch -e syscalls:sys_enter_openat -o "$work/k.dat" sleep 0.3 >/dev/null 2>&1
fi

python3 "$OLDPWD/tests/vmcore_image.py" "$work/vmcore" >/dev/null

c=$programs/calls.dyn
# KIND (rare: there may be none; refused: this kernel may not have it); words. SECONDS: few, or more where nothing happened in those.
cat >"$work/table" <<T
script|-f json -e BEGIN{printf("%s",str(\$1));@a["x,y","z"]=1;@a["x","y,z"]=2;@b=hist(-1);@c=1<<60;@d=(1,(uint8*)0);@e=avg(3);@f[kstack]=count();print(@c);time();exit()} a
plain|list --json tracepoint:sched:*
plain|list --json uprobe:$c:*
plain|doctor --json
plain|boot --json -e initcall
plain|boot status --json
plain|report --json $work/ctf
plain|report --json $work/contexts
plain|report --json -c $work/ctf
plain|report --json --top $work/ctf
event|convert --to ndjson $work/contexts -
plain|heatmap --json $work/contexts
rare|timeline --json $work/contexts
plain|convert --to chrome $work/contexts -
plain|crash --json $program
plain|crash --json --kernel $work/vmcore -o $work/dead.dat
plain|user list --json
plain|user status --json
plain|status --json
plain|hist -j -d SECONDS syscalls:sys_enter_openat -k common_pid.execname,filename.hex,flags.log2 -v dfd
plain|hist -j -d SECONDS --engine bpf syscalls:sys_enter_openat -k common_pid.execname,stacktrace
event|tpoint -j -d SECONDS sched:sched_process_exec
event|tpoint -j -s -d 0.1 sched:sched_process_exec,syscalls:sys_enter_openat,raw_syscalls:*
event|uprobe -j -d SECONDS p:$c:work n=\$arg1:s32 big=+0(\$arg2):x64
event|uprobe -j -s -d SECONDS p:$c:work
refused|kprobe -j -d SECONDS p:do_sys_openat2
refused|functrace -j -d SECONDS do_sys_openat2
refused|funcgraph -j -m 1 -d SECONDS do_sys_openat2
rare|reset-ftrace --json -d
rare|reset-ftrace --json --stale
plain|probe --json -n -x $c work
plain|cache --json list
plain|cache --json indexes
plain|stat --json -a -d SECONDS -e sched:sched_switch,cpu-clock
plain|top -j -n 1 -d SECONDS
plain|execsnoop -j -x -d SECONDS
plain|opensnoop -j -d SECONDS
plain|killsnoop -j -s -d SECONDS
plain|syscount -j -d SECONDS
plain|syscount -j -cv -d SECONDS
plain|perf-stat-hist -j syscalls:sys_exit_openat ret SECONDS
plain|cachestat -j -D SECONDS 3
plain|funccount -j -d SECONDS -u $c work
plain|funccount -j -T -i 0.3 -d SECONDS -u $c work
plain|funcslower -j -s -d SECONDS -u $c work 0
rare|tcpretrans -j -s -d SECONDS
disk|iosnoop -j --duration SECONDS
disk|iolatency -j -T SECONDS 3
disk|bitesize -j -d SECONDS
T
[ ! -e "$work/machines/there" ] || echo "plain|info --json $work/machines" >>"$work/table"
[ ! -s "$work/k.dat" ] || printf 'plain|%s --json %s\n' report "$work/k.dat" timeline "$work/k.dat" >>"$work/table"
while IFS='|' read -r kind words <&3; do
	[ "$kind" != disk ] || [ -n "$loop" ] || continue
	table_words=$words
	for seconds in 0.3 2 20; do # on a busy machine there may be no event in the first ones
		words=$(printf '%s\n' "$table_words" | sed "s/SECONDS/$seconds/")
		case $words in
		*'{'*) # a script is one word, then a name that no terminal should see
			set -- -f json -e "$(printf '%s' "${words#*-e }" | sed 's/} a$/}/')" "$(printf 'c1 \302\233 bidi \342\200\256 raw \377')"
			"$pantrace" "$@" >"$work/out" 2>"$work/err" </dev/null
			;;
		uprobe*) # the definition is one word
			set -- "${words#*p:}"
			# shellcheck disable=SC2086
			"$pantrace" ${words%%p:*} "p:$1" >"$work/out" 2>"$work/err" </dev/null
			;;
		*)
			# shellcheck disable=SC2086
			(set -f; exec timeout -k 1 300 "$pantrace" $words) >"$work/out" 2>"$work/err" </dev/null
			;;
		esac
		rc=$?
		[ ! -s "$work/out" ] && [ "$kind" != rare ] && [ "$kind" != refused ] && [ $seconds != 20 ] || break
	done
	if [ "$kind" = refused ] && [ $rc != 0 ] && [ $rc != 3 ]; then
		skip "$words" "$(sed 1q "$work/err")"
		continue
	fi
	[ $rc = 0 ] || [ $rc = 3 ]
	ok "$words (code $rc)" || sed 's/^/# /' "$work/err" | head -3 >&2
	strict "$words: strict JSON" "$kind"
done 3<"$work/table"
"$pantrace" user destroy box >/dev/null 2>&1
kill $program

# None is forgotten: every command that offers --json stands in the table.
for name in $("$pantrace" help --words | cut -f1); do
	"$pantrace" "$name" --help 2>/dev/null | grep -Eq '^  (-j, |    )--json' || continue
	grep -q "|$name " "$work/table"
	ok "$name --json is tested"
done

# The others refuse it in one sentence, and so do forms of a command that print text.
while IFS='|' read -r words <&3; do
	# shellcheck disable=SC2086
	(set -f; exec "$pantrace" $words) >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	is "$rc$(cat "$work/out")" 2 "$words is refused"
	like "$(sed 1q "$work/err")" '^pantrace [a-z -]+: .*--json' "$words: in one sentence" # the second line says where help is
	is "$(wc -l <"$work/err" | tr -d ' ')" 2 "$words: and nothing more"
done 3<<END
run --json -e BEGIN
fmt --json
record --json
relay --json
version --json
info --json
user --json
user start --json
tpoint --json -l sched:*
tpoint --json -v sched:sched_switch
uprobe --json -l $c
uprobe --json -v p:$c:work
kprobe --json -v p:vfs_read
report --json -f babeltrace $work/ctf
hist --json --kernel-layout sched:sched_switch keys=next_pid
END
run list --json 'struct file'
is "$rc" 2 "list --json of a type is refused"
done_testing
