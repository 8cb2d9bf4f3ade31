#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Names of addresses: user stacks, also of processes that have ended by then, C++ names, kernel stacks, several stacks apart.
. "$(dirname "$0")/lib.sh"
need_root

run -q -c "$programs/calls.dyn 3" -e "uprobe:$programs/calls.dyn:work { @[ustack] = count(); }"
like "$out" '^ *work\+0$' "ustack: the function"
like "$out" '^ *run\+[0-9]+$' "ustack: its caller"
like "$out" '^ *main\+[0-9]+$' "ustack: main"
like "$out" '\]: 3$' "one stack, three times"

start -q -e "uprobe:$programs/calls.dyn:work { @[ustack(3), comm] = count(); }"
for _ in 1 2 3 4 5; do "$programs/calls.dyn" 2; done
sleep 0.2
stop
like "$out" '^ *run\+[0-9]+$' "symbols of processes that have ended"

cat >"$work/cxx.cc" <<'C'
#include <string>
namespace outer { struct thing { __attribute__((noinline)) int method(const std::string &s) { asm volatile(""); return (int)s.size(); } }; }
int main() { outer::thing t; return t.method("abc") - 3; }
C
g++ -g -O1 -fno-omit-frame-pointer -o "$work/cxx" "$work/cxx.cc"
run -q -c "$work/cxx" -e "uprobe:$work/cxx:*method* { @[ustack(1)] = count(); }"
like "$out" 'outer::thing::method\(' "C++ names are demangled"
run -q -c "$work/cxx" -e "uprobe:$work/cxx:cpp:\"outer::thing::method\" { printf(\"called\n\"); }"
is "$out" called "a C++ function by its name"

objcopy --only-keep-debug "$work/cxx" "$work/cxx.debug"
strip "$work/cxx" && (cd "$work" && objcopy --add-gnu-debuglink=cxx.debug cxx)
run -q -c "$work/cxx" -e "uprobe:$work/cxx:*method* { @[ustack(1)] = count(); }"
like "$out" 'outer::thing::method\(' "symbols from a separate debug file"

run -q -c "$programs/spawn 20 /bin/true" -e 'tracepoint:sched:sched_process_exec { @[kstack] = count(); }'
like "$out" '(exec_binprm|bprm_execve|do_execve)' "kstack names kernel functions"
run -q -e 'begin { printf("%s\n", ksym(kaddr("vfs_read"))); exit(); }'
is "$out" "vfs_read" "ksym(kaddr(x)) is x"
done_testing
