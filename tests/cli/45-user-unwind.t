#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# dw_ustack: the frames of a program without frame pointers are those that gdb finds, through callbacks of
# libraries, aligned frames, alloca, signal handlers and code that was loaded later.
# parallel: traces only itself or its own child
. "$(dirname "$0")/lib.sh"
need_root
if ! command -v gcc >/dev/null || ! command -v gdb >/dev/null; then
	echo "1..0 # SKIP needs gcc and gdb"
	exit 0
fi

cat >"$work/plugin.c" <<'C'
static volatile int sink;
void plugin_call(void (*f)(int)) { int deep[40]; deep[sink & 7] = 1; f(2); sink += deep[3]; }
C
cat >"$work/gdb" <<'G'
set pagination off
set backtrace past-main on
set breakpoint pending on
handle SIGUSR1 nostop noprint pass
break *leaf
commands
silent
python
f = gdb.newest_frame()
while f:
    if f.type() in (gdb.NORMAL_FRAME, gdb.SIGTRAMP_FRAME):
        s = gdb.execute("info symbol 0x%x" % f.pc(), to_string=True).split()
        own = s[0] in ("leaf", "aligned", "allocates", "compare", "recurse", "handler", "raises", "main", "_start", "plugin_call")
        print("f " + s[0] + "+" + (s[2] if len(s) > 2 and s[1] == "+" else "0") if own else "f lib")
    f = f.older()
print("f ---")
end
continue
end
G
own='(leaf|aligned|allocates|compare|recurse|handler|raises|main|_start|plugin_call)[+]'
for flags in "-O2" "-O1 -no-pie" "-Os" "-O3 -fcf-protection"; do
	gcc $flags -g -fomit-frame-pointer -o "$work/frames" "$top/tests/programs/frames.c" -ldl
	gcc $flags -fomit-frame-pointer -shared -fPIC -o "$work/plugin.so" "$work/plugin.c"
	gdb -q -batch -x "$work/gdb" -ex "run 2 $work/plugin.so" "$work/frames" 2>/dev/null | sed -n 's/^f //p' >"$work/want"
	for ms in 300 5000 30000; do # what the plugin's code needs is read while the program waits: on a busy machine this takes longer
		run -q -c "$work/frames 2 $work/plugin.so $ms" -e "uprobe:$work/frames:leaf { printf(\"%s---\n\", dw_ustack); }"
		echo "$out" | awk -v own="^$own" 'NF == 0 { next } { sub(/^ +/, "") } $0 == "---" || $0 ~ own { print; next } { print "lib" }' >"$work/got"
		! cmp -s "$work/got" "$work/want" || break
	done
	is "$(diff "$work/got" "$work/want")" "" "frames equal gdb's: gcc $flags"
done

run -q -c "$work/frames 50" -e "uprobe:$work/frames:leaf { @[ustack(dwarf)] = count(); }"
is "$(echo "$out" | grep -c ': 50$')" 3 "a stack is a key: three paths, each as often as it was taken"
run -q -c "$work/frames 50" -e "uprobe:$work/frames:leaf { @[ustack(dwarf, 2)] = count(); }"
is "$(echo "$out" | grep -c '+')" 4 "a limit of frames"
run -q -c "$work/frames 200" -e "tracepoint:syscalls:sys_enter_clock_nanosleep /pid == cpid/ { @[dw_ustack] = count(); }"
like "$out" '^ *main[+]' "from within the kernel"
like "$out" ']: 200$' "  each time"
run -q -e "uprobe:$work/frames:leaf { print(dw_ustack) }"
like "$err" 'dw_ustack requires a target process' "without a process it is refused"

# ustack walks frame pointers: at the first instruction of a function the caller is known from the stack alone.
gcc -O2 -g -fno-omit-frame-pointer -o "$work/entry" "$top/tests/programs/entry.c"
cat >"$work/gdb" <<'G'
set pagination off
set backtrace past-main off
break *bare
commands
bt
continue
end
break *pushes
commands
bt
continue
end
run
G
gdb -q -batch -x "$work/gdb" "$work/entry" 2>/dev/null | sed -En 's/^#[0-9]+ +(0x[0-9a-f]+ in )?([a-z]+) \(.*/\2/p' >"$work/want"
run -q -c "$work/entry" -e "uprobe:$work/entry:bare, uprobe:$work/entry:pushes { print(ustack); }"
echo "$out" | sed -En 's/^ *(bare|pushes|recurse|main)[+][0-9]+$/\1/p' >"$work/got"
is "$(cat "$work/got")" "$(cat "$work/want")" "the caller at a function's first instruction, with and without push"
run -q -c "$work/entry" -e "uprobe:$work/entry:bare { @[ustack(2)] = count(); }"
is "$(echo "$out" | grep -c '[+]')" 2 "  within the limit of frames"
done_testing
