#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input: one line saying what, the place with a caret, what next, the documented exit code.
# among tracers: asks what is refused
. "$(dirname "$0")/lib.sh"
need_root

# refused NAME CODE REGEX ARGS...
refused()
{
	name=$1 code=$2 regex=$3
	shift 3
	run "$@"
	is "$rc" "$code" "$name: exit code"
	like "$err" "$regex" "$name: message"
	[ "$(printf '%s\n' "$err" | grep -c 'ERROR:\|^pantrace')" -le 2 ]; ok "$name: short"
}

refused "unknown provider" 1 "stdin:1:1-[0-9]+: ERROR: .*(kprob|probe type)" -e 'kprob:f { 1 }'
like "$err" "did you mean 'kprobe'" "unknown provider: nearest"
refused "unknown tracepoint" 1 "ERROR: .*sys_enter_opennat" -e 'tracepoint:syscalls:sys_enter_opennat { 1 }'
like "$err" "did you mean.*sys_enter_openat" "unknown tracepoint: nearest"
refused "unknown field" 1 "stdin:1:[0-9]+-[0-9]+: ERROR: .*filenam" -e 'tracepoint:syscalls:sys_enter_openat { print(args.filenam) }'
like "$err" "did you mean 'filename'" "unknown field: nearest"
refused "unknown function" 1 "stdin:1:9-20: ERROR: Unknown function: 'prnitf'" -e 'begin { prnitf("x") }'
like "$err" "did you mean 'printf'" "unknown function: nearest"
like "$err" '^        ~~~~~~~~~~~$' "unknown function: caret"
refused "undefined variable" 1 "ERROR: Undefined or undeclared variable: \\\$x" -e 'begin { print($x) }'
refused "undefined map" 1 "ERROR: Undefined map: @x" -e 'begin { print(@x) }'
refused "map used with other keys" 1 "ERROR: .*@x" -e 'begin { @x[1] = 1; @x["a"] = 2 }'
refused "map type mismatch" 1 "ERROR: Type mismatch for @x" -e 'begin { @x = 1; @x = "a" }'
refused "type error" 1 "ERROR: .*string" -e 'begin { $a = "x" * 2 }'
refused "format and arguments" 1 "ERROR: not enough arguments for format string" -e 'begin { printf("%d %d", 1) }'
refused "cut off" 1 "ERROR: syntax error, unexpected end of file" -e 'begin { if (1) { print(1)'
refused "cut off in a string" 1 "ERROR: .*string" -e 'begin { print("abc'
printf 'begin { print("\377\376") } \200' >"$work/bad.bt"
refused "not UTF-8" 1 "bad.bt:1:[0-9]+-[0-9]+: ERROR: .*(UTF-8|character)" "$work/bad.bt"
refused "no such file" 1 "nosuch.bt" "$work/nosuch.bt"
refused "not ELF" 1 "ERROR: .*(ELF|executable)" -e "uprobe:/etc/passwd:main { 1 }"
refused "unknown symbol" 1 "ERROR: .*readlinee" -e "uprobe:/bin/bash:readlinee { 1 }"
like "$err" "did you mean.*readline" "unknown symbol: nearest"
refused "process gone" 1 "(4194000|process)" -p 4194000 -e 'uprobe:libc:malloc { 1 }'
refused "no such command" 1 "nosuchcommand" -c /bin/nosuchcommand -e 'begin { 1 }'
mkdir -p "$work/folders/true"
(PATH="$work/folders:$PATH" "$pantrace" -q -e 'begin { 1 }' -c true) >"$work/out" 2>&1
ok "a folder in \$PATH that is called like the command is passed over" || sed 's/^/# /' "$work/out" >&2
refused "no BTF" 1 "BTF cannot be read" --btf /dev/null -e 'begin { print(curtask->pid) }'
refused "unsafe" 1 "ERROR: .*unsafe" -e 'begin { system("id") }'
refused "unknown option" 2 "unknown option" --frobnicate
if ! [ -e /sys/bus/event_source/devices/kprobe ]; then
	refused "kprobes are missing" 5 "CONFIG_KPROBES" -e 'kprobe:vfs_read { 1 }'
fi
if ! grep -q '^flags.*arch_perfmon' /proc/cpuinfo; then
	refused "no hardware PMU" 5 "ERROR: .*(hardware|PMU)" -e 'hardware:cycles:1000000 { 1 }'
fi
refused "verifier" 1 "stdin:1:[0-9]+(-[0-9]+)?: ERROR: " -e 'begin { $i = 0; while ($i < 100000000) { $i++; } print($i) }'

deep=$(head -c 100000 /dev/zero | tr '\0' '(')
refused "deep nesting" 1 "ERROR: .*(nest|deep)" -e "begin { print($deep 1) }"
head -c 3000000 /dev/zero | tr '\0' 'a' >"$work/huge.bt"
refused "huge script" 1 "(1048576|1 MB|too (large|big))" "$work/huge.bt"

# a full map: counted and said
run -k -q -c "$programs/calls.dyn 6000" -e "uprobe:$programs/calls.dyn:work { @m[arg0] = 1; }"
like "$err" "Map full" "a full map is reported"

# no privilege
if id nobody >/dev/null 2>&1; then
	cp "$pantrace" "$work/pantrace" && chmod 755 "$work" "$work/pantrace"
	su -s /bin/sh nobody -c "'$work/pantrace' -e 'tracepoint:syscalls:sys_enter_openat { @ = count() }'" >"$work/out" 2>"$work/err" </dev/null
	is "$?" 4 "as nobody: exit code 4"
	like "$(cat "$work/err")" "(root|CAP_)" "as nobody: says which privilege"
fi

# control characters of the traced world do not reach the terminal
cp /bin/true "$work/$(printf 'a\033[31mb')"
run -q -e 'tracepoint:sched:sched_process_exec { printf("%s\n", str(args.filename)); @[comm] = count(); }' -c "$work/$(printf 'a\033[31mb')"
unlike "$out" "$(printf '\033')" "no escape character in the output"
like "$out" 'a\\x1b\[31mb' "it is shown as \\x1b"
done_testing
