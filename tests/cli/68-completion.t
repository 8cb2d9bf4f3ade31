#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What may stand at the end of a command line: `pantrace complete` as the shells call it, and the shells themselves on a terminal.
# parallel: traces nothing
. "$(dirname "$0")/lib.sh"
need_root

# words WORD...: the candidates for the last word
words() { "$pantrace" complete "$@" | cut -f1 | tr '\n' ' '; }

like "$(words pantrace iosn)" '^iosnoop ' "a tool"
like "$(words pantrace '')" 'report .*opensnoop .*:files' "commands, tools, and scripts of the folder"
is "$(words pantrace iosnoop --dev)" "--device " "an option"
is "$(words iosnoop --dev)" "--device " "an option of a tool by its link"
is "$(words bpftrace --inf)" "--info " "an option of bpftrace by its link"
is "$(words pantrace record --mode '')" "discard overwrite block " "values of an option"
is "$(words pantrace record --mode=o)" "--mode=overwrite " "a value behind ="
is "$(words pantrace report -f js)" "json " "a value of a letter's option"
is "$(words pantrace tpoint sch)" "sched: " "a tracepoint: its category first"
is "$(words pantrace tpoint sched:sched_wakeup_)" "sched:sched_wakeup_new " "a tracepoint"
is "$(words pantrace tpoint sched:sched_waking,sched:sched_wakeup_)" "sched:sched_waking,sched:sched_wakeup_new " "the second of a list"
is "$(words perf-stat-hist sched:sched_switch prev_p)" "prev_pid prev_prio " "a field of the event before it"
is "$(words pantrace hist sched:sched_switch keys=next_c)" "keys=next_comm " "a field of a specification"
is "$(words pantrace tpoint sched:sched_switch 'prev_pid == 1 && next_pi')" "prev_pid == 1 && next_pid " "a field in a filter"
like "$(words pantrace functrace vfs_rea)" 'vfs_read ' "a kernel function"
like "$(words pantrace kprobe p:vfs_rea)" 'p:vfs_read ' "a kernel function in a definition"
is "$(words pantrace uprobe "p:$programs/calls:wor")" "p:$programs/calls:work " "a function of a program in a definition"
is "$(words funccount -u "$programs/calls" wor)" "work " "a function of a program named by an option"
like "$(words pantrace list 'tracepoint:sched:sched_wa')" 'tracepoint:sched:sched_waking ' "a probe"
like "$(words pantrace list 'softw')" '^software: $' "a kind of probe"
is "$(words pantrace list "uprobe:$programs/typed.d")" "uprobe:$programs/typed.dyn: " "the file of a probe"
is "$(words pantrace -e 'tracepoint:sched:sched_wakeup_')" "tracepoint:sched:sched_wakeup_new " "the probe of a script"
is "$(words pantrace -e 'tracepoint:sched:sched_switch { print(args.next_c')" "tracepoint:sched:sched_switch { print(args.next_comm " \
	"a field in a script"
is "$(words pantrace -e 'begin { strft')" "begin { strftime " "a function of the language"
like "$(words pantrace opensnoop -p '')" "(^| )$$ " "a process"
is "$("$pantrace" complete pantrace opensnoop -p $$ | cut -f2)" "$(cat /proc/$$/comm)" "a process, with its name"
disk=$(ls /sys/class/block | head -1)
[ -z "$disk" ] || like "$(words pantrace iosnoop -d '')" "(^| )$disk " "a disk"
is "$(words pantrace user sna)" "snapshot " "a sub-command"
is "$(words pantrace user snapshot --out)" "--output " "an option of a sub-command"
is "$(words pantrace help lang)" "language " "a topic"
is "$(words pantrace syscount -- '')" ":commands " "a command to run"
is "$(words pantrace report '')" ":files " "files, which the shell knows"
is "$(words pantrace nonsense x)" "" "nothing for what there is not"
is "$(words pantrace)" "" "nothing for nothing"
is "$("$pantrace" complete --line 'pantrace tpoint sched:sched_wakeup_' ' :=')" "sched_wakeup_new	" "bash: behind the colon"
is "$("$pantrace" complete --line "pantrace list 'tracepoint:sched:sched_wakeup_" ' :=')" "tracepoint:sched:sched_wakeup_new	" \
	"bash: in quotes a colon ends no word"

# Names that other users give to their processes.
cat >"$work/name.py" <<'PY'
import ctypes, sys
name = sys.argv[1].encode().decode('unicode_escape').encode('latin1')
ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
print('named', flush=True)
sys.stdin.read()
PY
mkfifo "$work/hold"
exec 3<>"$work/hold"
for name in 'zq$(reboot)' 'zq;reboot' 'zq\x1b[2Jred' 'zq-plain'; do
	python3 "$work/name.py" "$name" <"$work/hold" >"$work/named" 3>&- &
	pids="$pids $!"
	until_true grep -q named "$work/named"
	rm "$work/named"
done
is "$("$pantrace" complete --line 'pantrace record -n zq' ' :=' | cut -f1 | tr '\n' ' ')" "zq-plain " \
	"bash: no name that it would run as a command, none that a terminal obeys"
is "$(words pantrace record -n zq | grep -c "$(printf '\033')")" 0 "zsh, fish: nothing that a terminal obeys"
like "$(words pantrace record -n zq)" 'zq\$\(reboot\)' "zsh, fish: they quote"
is "$("$pantrace" complete pantrace opensnoop -p '' | grep -c "$(printf '\033')")" 0 "nor in what stands beside a number"
like "$("$pantrace" complete pantrace opensnoop -p '')" 'zq\\x1b\[2Jred' "which is escaped"
kill $pids
exec 3>&-

# Each shell on a terminal of its own: what is typed, and what stands there after a tab.
cat >"$work/type.py" <<'PY'
import os, pty, select, sys, time
setup, typed, wanted, argv = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(argv[0], argv)
def until(text, seconds=60):
    got, end = '', time.time() + seconds
    while text not in got and time.time() < end:
        if select.select([fd], [], [], 1)[0]:
            try:
                got += os.read(fd, 65536).decode(errors='replace')
            except OSError:
                break
    return got
os.write(fd, (setup + '; echo rea""dy\n').encode())
until('ready')
os.write(fd, typed.encode() + b'\t')
got = until(wanted)
print('yes' if wanted in got else repr(got))
os.kill(pid, 9)
PY
mkdir "$work/bin"
ln -s "$pantrace" "$work/bin/pantrace"
typed()
{
	is "$(PATH="$work/bin:$PATH" HOME=$work TERM=dumb python3 "$work/type.py" "$setup" "$1" "$2" $shell)" yes "$name: $1"
}
for name in bash zsh fish; do
	command -v $name >/dev/null || { skip "$name" "is not installed"; continue; }
	case $name in
	bash) shell='bash --norc' setup=". $top/scripts/completion/pantrace.bash" ;;
	zsh) shell='zsh -f' setup="fpath=($top/scripts/completion \$fpath); autoload -Uz compinit; compinit -u -D" ;;
	fish) shell='fish -N' setup="source $top/scripts/completion/pantrace.fish" ;;
	esac
	typed 'pantrace iosn' 'iosnoop '
	typed 'pantrace tpoint sched:sched_wakeup_' 'sched:sched_wakeup_new '
	typed "pantrace -e 'tracepoint:sched:sched_wakeup_" 'tracepoint:sched:sched_wakeup_new'
	typed 'pantrace record --mode over' 'overwrite '
done
done_testing
