#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Counts per system call equal what strace -c -f says of the same command.
. "$(dirname "$0")/lib.sh"
need_root

# "name count" lines from a table, sorted by name
strace -c -f -o "$work/strace" "$programs/syscalls" 500
awk '$1 ~ /^[0-9.]+$/ && $NF != "total" { print $NF, $4 }' "$work/strace" | sort >"$work/want"

run syscount -c "$programs/syscalls" 500
is "$rc" 0 "syscount -c COMMAND ends with the command"
# strace -c counts a call when it returns; exit_group never does
like "$out" '^exit_group +3$' "three processes ended"
awk '$1 == "SYSCALL" { t = 1; next } t && NF == 2 && $1 != "exit_group" { print $1, $2 }' "$work/out" | sort >"$work/got"
is "$(cat "$work/got")" "$(cat "$work/want")" "counts per system call equal strace's"

like "$out" '^SYSCALL +COUNT$' "columns of syscount -c"

run syscount "$programs/syscalls" 100
like "$out" '^COMM +COUNT$' "columns of syscount"
total=$(awk '$1 == "syscalls" { print $2 }' "$work/out")
strace -c -f -o "$work/strace" "$programs/syscalls" 100
want=$(awk '$1 ~ /^[0-9.]+$/ && $NF != "total" { n += $4 } END { print n }' "$work/strace")
# and the three exit_group; the execve itself still carries the caller's name
is "$total" "$((want + 3 - 1))" "all calls of the command by name"

run syscount -cv -t 2 "$programs/syscalls" 50
is "$(echo "$out" | awk '$1 == "PID" { t = 1; next } t' | wc -l | tr -d ' ')" 2 "-t 2 shows two rows"

start syscount -v -d 30
i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); : <"$work"; done
stop
like "$out" "^$$ +" "the shell that ran beside it is counted"
unlike "$out" "^$tracer +" "the tool's own calls are not counted"
done_testing
