#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# boot: the command line, the boot configuration, and their way into GRUB's menu and out of it, made by Debian's grub-mkconfig in
# directories of our own. What kernels make of it: tests/vm/early-boot*.sh.
# parallel: nothing is traced (triggers are judged in a buffer of their own)
. "$(dirname "$0")/lib.sh"
need_root
cd "$work" || exit 1

run boot -e initcall:initcall_level,sched:sched_process_exec -b 2M -w
is "$rc $out" "0 trace_instance=boot,initcall:initcall_level,sched:sched_process_exec trace_buf_size=2048K" "what the command line needs"
run boot --top -e initcall -x initcall_level -p nop -T -O sym-offset
is "$out" "trace_event=initcall:initcall_finish,initcall:initcall_start ftrace=nop trace_options=nooverwrite,stacktrace,sym-offset trace_buf_size=4096K trace_clock=local" \
	"into the kernel's own buffer; -x, -p, -T, -O"
run boot --json -e initcall
is "$(jq -r .parameters.trace_instance <<<"$out") $(jq -r .line <<<"$out")" "boot,initcall:* trace_instance=boot,initcall:* trace_options=nooverwrite trace_buf_size=4096K" "--json"
run boot -e initcall_start -R 'stacktrace if func > 0'
like "$out" '^trace_event=initcall:initcall_start trace_trigger="initcall_start.stacktrace if func > 0" ' "a trigger, in quotes as the kernel takes them"
# ---- scripts: what the kernel does by itself, and nothing else
script() { printf '%s\n' "$@" >script.bt; run boot $more --script script.bt; }
more=''
script 'tracepoint:initcall:initcall_start, tracepoint:sched:sched_process_e* { }' 't:sched:sched_process_fork { }'
is "$rc $out" "0 trace_instance=boot,initcall:initcall_start,sched:sched_process_exec,sched:sched_process_exit,sched:sched_process_fork trace_options=nooverwrite trace_buf_size=4096K" \
	"a script of events" || printf '%s\n' "$err" >&2
more=--bootconfig
script 'kprobe:vfs_read, kretprobe:vfs_read { }'
is "$rc $(grep -o 'kprobes.*probes = .*' <<<"$out" | sort | tr '\n' ' ')" "0 kprobes.vfs_read.probes = 'vfs_read+0' kprobes.vfs_read__return.probes = 'vfs_read+0%return' " \
	"of functions, for a boot configuration"
script 'tracepoint:sched:sched_switch /args.prev_prio < 120 && comm == "x"/ { }'
is "$rc $(grep filter <<<"$out")" "0 ftrace.instance.boot.event.sched.sched_switch.filter = 'prev_prio < 120 && COMM == \"x\"'" "and of conditions"
more=''
while IFS='|' read -r text code place; do
	script "$text"
	like "$rc $err" "^$code script.bt:1:$place" "refused: $text"
done <<'E3'
BEGIN { }|5|1-6: ERROR: at boot there are tracepoint, kprobe and kretprobe
tracepoint:sched:sched_switch /args.prev_prio < 120/ { }|5|32-52: ERROR: events on the command line have no conditions
tracepoint:sched:sched_switch /args.nope < 120/ { }|1|[0-9-]*: ERROR: the event sched:sched_switch has no field 'nope'
tracepoint:sched:nope { }|1|1-22: ERROR: there is no event 'sched:nope'
tracepoint:sched:sched_switch { @[args.nope] = count(); }|1|40-44: ERROR: the event sched:sched_switch has no field 'nope'
tracepoint:sched:sched_switch { @[comm] = count(); }|5|35-39: ERROR: the kernel's histograms take
tracepoint:sched:sched_switch { @[tid] = avg(args.prev_prio); }|5|42-61: ERROR: the kernel's histograms have count
tracepoint:sched:sched_switch { @[tid, cpu] = count(); }|5|33-54: ERROR: a histogram on the command line has one key
tracepoint:sched:sched_switch { @ = count(); }|5|33-44: ERROR: a histogram of the kernel needs a key
tracepoint:sched:sched_sw* { @[tid] = count(); }|5|1-27: ERROR: conditions and histograms are of one event each
tracepoint:sched:sched_switch { printf("x"); }|5|33-44: ERROR: at boot a probe counts in a map, or is empty
kprobe:vfs_read /tid == 1/ { }|5|18-26: ERROR: probes have no conditions at boot
kprobe:vfs_read { @[tid] = count(); }|5|19-35: ERROR: at boot the probe of a function is empty
config = { max_map_keys = 5 } tracepoint:sched:sched_switch { }|5|12-28: ERROR: the kernel has no settings
E3
run boot --script nowhere.bt
like "$rc $err" "^1 ERROR: cannot read 'nowhere.bt': No such file" "a script that is not there"

# The words that a kernel would see are as long as COMMAND_LINE_SIZE of x86 at most.
# Not those that other tests make, and take away again.
run boot $(awk -F: '!/^(probe|.*[0-9].*:)/ && seen[$1]++ < 2 { print "-e " $0 }' /sys/kernel/tracing/available_events)
like "$rc $err" "^1 ERROR: the kernel's command line would have [0-9]+ bytes, with what it has now; the kernel keeps 2047" "a line that is too long"

while IFS='|' read -r options code text; do
	eval "run boot $options"
	like "$rc $err" "^$code .*$text" "boot $options"
done <<'E2'
|2|what is to be traced\?
instal -e initcall|2|did you mean 'install'
remove -e initcall|2|remove takes nothing to trace
-e no:such|1|there is no event 'no:such'
-e 'initcall_start /func > 0/'|5|events on the command line have no conditions
-e initcall_start -R 'traceoff if comm == "a,b"'|5|have no ',' in them
-e initcall_start -R 'traceoff if comm == "x"'|5|quotes, backslashes and control characters have no way
-e initcall_start -R $'stacktrace if func > 0\t&& func > 1'|5|control characters have no way
-e initcall -B a/b|2|-B takes a name
-e initcall -t -B x|2|it cannot be an instance
-p nop -B x|5|for the kernel's own buffer only
-p no_such|5|has no tracer 'no_such'
-p function -l no_such|1|the kernel has no function 'no_such'
-p function -l 'no_such*'|1|the kernel has no function 'no_such\*'
-e initcall_start -R 'stacktrace if no_such > 0'|1|the trigger of initcall:initcall_start: Field not found
-e initcall_start -R nonsense|1|the trigger of initcall:initcall_start
-e initcall -l vfs_read|2|-l and --notrace are for -p function
-e initcall -O no_such|5|-O no_such: the kernel has no such option
-e kprobe:vfs_read|2|a probe at boot is --kprobe
install --bootconfig -e initcall|2|is only printed
extract|1|traces nothing
arm|1|no memory for recordings that outlives a crash
-e initcall --persistent 16M -b 2M|2|-b cannot be given, too
-e initcall --persistent much|2|takes a size
-e initcall --persistent 16M --top|2|it cannot be an instance
-e initcall --persistent 16M --bootconfig|5|has no persistent memory
--bootconfig -e '*' -R stacktrace|1|a boot configuration has at most 32766 bytes
E2

run boot -e initcall --persistent 16M
is "$rc $out" "0 reserve_mem=4096K:4096:boot_above reserve_mem=16384K:4096:boot trace_instance=boot^traceoff@boot,initcall:*" "--persistent"
run crash --kernel
like "$rc $err" '^1 .*no memory for recordings that outlives a crash' "crash --kernel: there is none"
run crash --kernel 1 2
is $rc 2 "which takes no processes"

run boot --bootconfig -e 'sched:sched_switch /args.prev_prio < 120/' -e initcall -e sched_process_exec -R 'traceoff if pid == 1' -p nop -w
is "$out" "ftrace.instance.boot.buffer_size = '4096KB'
ftrace.instance.boot.trace_clock = 'local'
ftrace.instance.boot.event.initcall.enable
ftrace.instance.boot.event.sched.sched_process_exec.enable
ftrace.instance.boot.event.sched.sched_switch.filter = 'prev_prio < 120'
ftrace.instance.boot.event.sched.sched_switch.enable
ftrace.instance.boot.event.sched.sched_process_exec.actions = 'traceoff if pid == 1'
ftrace.instance.boot.tracer = 'nop'" "--bootconfig: conditions, triggers and a tracer in an instance"

# ---- into the boot loader's menu
cat >install.sh <<'S'
mount -t tmpfs none /etc/default && mount -t tmpfs none /boot && mkdir /boot/grub || exit 1
touch /boot/vmlinuz-6.1.0-test
# What only a machine with a disk to boot from could say.
printf '#!/bin/sh\ncase "$*" in *target=device*) echo /dev/vda ;; *target=fs_uuid*) echo 1234 ;; *target=fs*) echo ext2 ;; esac\n' >probe
printf '#!/bin/sh\nexec /usr/sbin/grub-mkconfig -o /boot/grub/grub.cfg\n' >update-grub
chmod +x probe update-grub
mount --bind probe /usr/sbin/grub-probe || exit 1
export PATH=$PWD:$PATH
# in one line
boot() { { "$pantrace" boot "$@"; echo "code $?"; } 2>&1 | tr '\n' ' '; }
menu() { grep -h '[^a-z]linux.*vmlinuz' /boot/grub/grub.cfg; }

boot install -e initcall >no-directory
mkdir /etc/default/grub.d
update-grub 2>/dev/null
menu >before
boot install -e initcall:initcall_start -f 'func > 0' >conditions
find /etc/default -type f >refused
boot install -e initcall_start,initcall_finish -R 'stacktrace if func > 0' >installed
menu | head -1 >line
grub-script-check /boot/grub/grub.cfg && echo valid >checked
cp /etc/default/grub.d/pantrace.cfg file
boot status --json >status
(umask 0 && boot install -q $(yes -- '-e initcall' | head -6000)) >again
stat -c '%a %s' /etc/default/grub.d/pantrace.cfg >mode
menu | head -1 >line-again
boot remove >removed
menu >after
find /etc/default -type f >left
boot remove >twice
echo mine >/etc/default/grub.d/pantrace.cfg
boot install -e initcall >others
boot remove >>others
cat /etc/default/grub.d/pantrace.cfg >>others
rm /etc/default/grub.d/pantrace.cfg
mkfifo /etc/default/grub.d/pantrace.cfg
timeout 60 "$pantrace" boot status >fifo
boot install -e initcall >>fifo
rm /etc/default/grub.d/pantrace.cfg
printf '#!/bin/sh\nexit 7\n' >update-grub
boot install -e initcall >failing
find /etc/default -type f >>failing
cp file /etc/default/grub.d/pantrace.cfg
boot install -e initcall >failing-again
cmp file /etc/default/grub.d/pantrace.cfg >>failing-again 2>&1 && echo same >>failing-again
rm -f /etc/default/grub.d/pantrace.cfg
printf '#!/bin/sh\nkill -TERM 0\nsleep 60\n' >update-grub
setsid -w "$pantrace" boot install -e initcall 2>interrupted
find /etc/default -type f >>interrupted
cp file /etc/default/grub.d/pantrace.cfg
printf '#!/bin/sh\nkill -KILL $PPID\n' >update-grub
boot remove >killed
boot status >>killed
printf '#!/bin/sh\nexit 0\n' >update-grub
boot remove >>killed
find /etc/default -type f >>killed
S
if ! command -v grub-script-check >/dev/null || [ ! -x /usr/sbin/grub-mkconfig ]; then
	skip "GRUB" "there is no grub-common"
else
	export pantrace
	unshare -m bash install.sh 2>err || cat err
	like "$(cat no-directory)" 'there is no /etc/default/grub.d here.*add this to the kernel.s command line.*: trace_instance=boot,initcall:\*.*code 5' "another boot loader: what to do by hand" ||
		cat no-directory
	is "$(grep -o 'code .' conditions) $(cat refused)" "code 5 " "what is refused leaves nothing"
	like "$(cat installed)" 'code 0 $' "install"
	like "$(cat line)" "ro +trace_event=initcall:initcall_finish,initcall:initcall_start 'trace_trigger=initcall_finish.stacktrace if func > 0,initcall_start.stacktrace if func > 0' trace_options=" \
		"the line of the menu, in GRUB's quotes"
	is "$(cat checked)" valid "grub-script-check takes the menu"
	is "$(jq -c '[.installed, .in_this_boot, .command]' <(sed 's/ code 0.*//' status))" \
		"[true,false,\"pantrace boot install -e initcall_start,initcall_finish -R 'stacktrace if func > 0'\"]" "status"
	like "$(tr '\n' ' ' <again) $(cat line-again)" 'code 0 .*trace_instance=boot' "another one takes the place of the first"
	unlike "$(cat line-again)" 'trace_trigger' "of which nothing stays"
	like "$(cat mode)" '^644 [0-9]{5,}$' "a long command, with a umask of 0: nobody else may write what root's shell runs"
	is "$(cat after)" "$(cat before)" "remove: the menu is as it was"
	is "$(cat left)" "" "and no file is left"
	like "$(cat twice)" 'nothing is installed.*code 1' "nothing to remove"
	is "$(grep -o 'is not a file of ours' others | wc -l) $(grep -o 'mine$' others)" "2 mine" "a file of somebody else of that name"
	like "$(tr '\n' ' ' <fifo)" 'nothing is installed.*is not a file of ours.*code 1' "a FIFO of that name: nobody waits for it"
	unlike "$(cat interrupted)" 'pantrace.cfg$' "interrupted: nothing stays"
	like "$(cat killed)" 'code 137 half removed: .* code 0 removed: .*code 0 $' "killed before the menu was made anew: the next remove does it"
	like "$(cat failing)" 'update-grub failed.*code 1 $' "update-grub fails: nothing stays"
	like "$(cat failing-again)" 'update-grub failed.*HINT: what was installed before is still there.*code 1 same$' "or what an earlier one installed"
fi

# an instance that the command line does not name is somebody's
instance=/sys/kernel/tracing/instances/boot_test.$$
if mkdir $instance 2>/dev/null; then
	trap 'rmdir $instance 2>/dev/null; rm -rf "$work"' EXIT
	echo 1 >$instance/events/sched/sched_process_exec/enable
	/bin/true
	run boot extract -B boot_test.$$ -o nowhere/x.dat
	is "$rc $(cat $instance/tracing_on)" "1 1" "extract that fails: it goes on"
	run boot extract -B boot_test.$$ -o theirs.dat
	like "$rc $err" '^0 ' "extract -B"
	like "$err" 'is stopped, and stays' "what is not the boot's is not removed"
	[ -d $instance ]
	ok "it is there"
else
	skip "extract -B" "no instance can be made"
fi
done_testing
