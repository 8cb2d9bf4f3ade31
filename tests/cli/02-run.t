#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The command line: where scripts come from, parameters, how runs end, forms of output.
# among tracers: asks how runs begin and end
. "$(dirname "$0")/lib.sh"
need_root

run -q -e 'begin { printf("hello %s\n", "world"); exit(); }'
is "$out" "hello world" "-e"
is "$rc" 0 "exit()"
run -q -e 'BEGIN { printf("old spelling\n"); exit(); }'
is "$out" "old spelling" "BEGIN, the older spelling"
printf '#!/usr/bin/env pantrace\nbegin { printf("%%s %%d %%d\\n", str($1), $2 + 1, $#); exit(); }\n' >"$work/a.bt"
run -q "$work/a.bt" one 41
is "$out" "one 42 2" "a file with positional parameters"
out=$(printf 'begin { print(3); exit(); }' | "$pantrace" -q -)
is "$out" 3 "standard input"
run -q -e 'begin { exit(7); }'
is "$rc" 7 "exit(7)"
run -q -e 'begin { @a = 1; @b[1, "x"] = 2; @c = count(); } end { printf("end\n"); }'
is "$out" "end


@a: 1
@b[1, x]: 2
@c: 1" "a script of begin and end ends by itself, maps are printed"
run -q -c '/bin/sh -c "exit 3"' -e 'end { printf("over\n"); }'
is "$out" "over" "-c ends with the command"
is "$rc" 3 "and passes its code on"
run -e 'begin { exit(); }'
is "$err" "Attached 1 probe" "Attached N probes on stderr"
run -q -f json -e 'begin { @m[1, "a"] = 5; print((1, "x")); printf("hi\n"); exit(); }'
is "$out" '{"type": "value", "data": [1,"x"]}
{"type": "printf", "data": "hi\n"}
{"type": "map", "data": {"@m": {"1,a": 5}}}' "-f json"
run -q -o "$work/file" -e 'begin { printf("x\n"); exit(); }'
is "$(cat "$work/file")" x "-o FILE"
ln -s "$work/file" "$work/link"
run -q -o "$work/link" -e 'begin { printf("y\n"); exit(); }'
is "$rc" 1 "-o never writes through a symbolic link"

start -q -e 'interval:ms:10 { @n++; }'
sleep 0.3
stop
is "$rc" 0 "Ctrl-C: exit code"
like "$out" '^@n: [0-9]+$' "Ctrl-C: maps are printed"

"$pantrace" -q -e 'interval:ms:1 { printf("line\n"); }' 2>"$work/err" | head -3 >"$work/out"
is "$(cat "$work/out")" "line
line
line" "a closed pipe ends the run"
is "$(cat "$work/err")" "" "without a complaint"

for stage in ast types ir bpf; do
	run -d $stage -e 'begin { @x = hist(pid); }'
	[ $rc -eq 0 ] && [ -n "$out" ]; ok "-d $stage"
done
run --dry-run -e 'tracepoint:syscalls:sys_enter_openat { printf("%s\n", str(args.filename)); }'
is "$rc" 0 "--dry-run"
run --info
like "$out" 'btf: yes' "--info"
run --version
like "$out" '^pantrace [0-9]' "--version"
run run --help
like "$out" 'Examples:' "--help begins with examples"
failing=
for command in $("$pantrace" help | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 } on { print $1 }'); do
	run "$command" --help
	[ "$rc" -eq 0 ] || failing="$failing $command"
done
is "$failing" "" "every command has --help"
missing=
for name in $("$pantrace" help --examples | cut -f1 | grep -vE '[1-9][0-9]*$'); do
	"$pantrace" help functions | grep -qE "^  $name( |\$)" || missing="$missing $name"
done
is "$missing" "" "help functions has a line for every function"
run help probes
like "$out" 'uprobe:FILE' 'tracepoint:CATEGORY:EVENT' "help probes has the forms"
run help language
like "$out" 'kprobe:vfs_' "help language shows the language"
run help functoins
is "$rc" 2 "help of nothing: exit code"
like "$err" "did you mean 'functions'" "help of nothing: the nearest topic"
# One layout, no line wider than 100 columns, but for commands to be copied and words that cannot be broken.
wide=
for name in $("$pantrace" help --words | cut -f1); do
	"$pantrace" "$name" --help | grep -vE '^  (pantrace|[^ ]*$)' | grep -qE '^.{101}' && wide="$wide $name"
done
is "$wide" "" "help texts fit 100 columns"
run --help
like "$out" '^Commands:' "--help names the commands"
like "$out" ' opensnoop' "and the tools"
ln -s "$pantrace" "$work/bpftrace"
"$work/bpftrace" --version >"$work/out"
like "$(cat "$work/out")" '^bpftrace v' "as bpftrace: its version line"
"$work/bpftrace" -q -e 'BEGIN { printf("as bpftrace\n"); exit(); }' >"$work/out"
is "$(cat "$work/out")" "as bpftrace" "as bpftrace: runs"
ln -s "$pantrace" "$work/execsnoop"
"$work/execsnoop" --help >"$work/out"
like "$(cat "$work/out")" 'pantrace execsnoop' "a link named like a tool is the tool"
for tool in execsnoop opensnoop killsnoop syscount; do
	run $tool --help
	is "$rc" 0 "$tool --help"
	run $tool --nonsense
	is "$rc" 2 "$tool: unknown option"
done
# --- what bpftrace has and this has not ---
run --emit-llvm out -e 'begin { }'
is "$rc" 2 "--emit-llvm: exit code"
like "$err" "emit-llvm is not offered: there is no LLVM; -d ir" "and what there is instead"
run -dd -e 'begin { $a = 1 }'
is "$rc" 0 "-dd: the old spelling of -d all"
like "$out" "^bpf$" "shows every stage"
run -d -e 'begin { }'
like "$err" "-d takes a stage; -d all shows every one" "-d without a stage"

done_testing
