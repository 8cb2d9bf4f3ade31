#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# kprobe:FUNCTION:LINE, kprobe@SOURCE:LINE and the variables there, by debug information of this kernel: here a program plays the
# kernel, whose build-id is bound over the real one. tests/vm/kernel-lines.sh has the values.
. "$(dirname "$0")/lib.sh"
need_root
mkdir "$work/fs" "$work/boot"
cat >"$work/fs/play.c" <<'C'
struct file { int mode; const char *name; struct file *next; };
long counter = 5;
__attribute__((section(".data..percpu"))) long own = 1;
static __attribute__((noinline)) long vfs_play(struct file *file, char *buf, unsigned long count)
{
	long sum = counter + own;
	for (unsigned long i = 0; i < count; i++)
		sum += buf[i] + file->next->mode;
	return sum;
}
int main(int argc, char **argv) { struct file f = {0}; f.next = &f; return (int)vfs_play(&f, argv[0], (unsigned long)argc); }
C
(cd "$work" && gcc -O1 -g -no-pie -Wl,--build-id -Wl,--defsym=_text=0x400000 -Wl,--unique=.data..percpu -o "boot/vmlinux-$(uname -r)" fs/play.c)
objcopy -O binary --only-section=.note.gnu.build-id "$work/boot/vmlinux-$(uname -r)" "$work/notes"
run -d ir -e 'kprobe:vfs_read:4 { print(vars.count); }' --debuginfo "$work"
is "$rc" 1 "debug information of another build is not taken"
like "$err" "the debug information of this kernel is not installed" "which is said"
like "$err" "HINT: .*linux-image-...-dbg.*--debuginfo DIR" "and what to do"
if ! unshare -m mount --bind "$work/notes" /sys/kernel/notes 2>/dev/null; then
	skip "lines of the kernel" "no file can be bound over /sys/kernel/notes"
	done_testing
	exit
fi
# compiled SCRIPT: as run, on the played kernel
compiled()
{
	unshare -m sh -c "mount --bind '$work/notes' /sys/kernel/notes && exec '$pantrace' --debuginfo '$work' -d ir -e '$1'" >"$work/out" 2>"$work/err"
	rc=$?
	out=$(cat "$work/out")
	err=$(cat "$work/err")
}
counter=$(printf %d 0x"$(nm "$work/boot/vmlinux-$(uname -r)" | sed -n 's/ D counter$//p')")
compiled 'kprobe:vfs_play:0 { print(vars.counter); print(vars.file->next->mode); print(args.count); print(vars); }'
is "$rc$err" 0 "a function's beginning"
like "$out" "= const $counter\$" "a global variable is at its address"
like "$out" 'call probe_read_kernel' "members are in the kernel's memory"
is "$(echo "$out" | grep -c probe_read_user)" 0 "and nowhere else"
for point in kprobe:vfs_play:3 kprobe@fs/play.c:8 kprobe:@play.c:8 kprobe:vmlinux@fs/play.c:8 'kprobe@fs/play.c:8/pid == 1/' k:vfs_play:3; do
	compiled "$point { print(vars.sum); print(args); }"
	is "$rc$err" 0 "$point"
done
# refused SCRIPT WHY WHAT
refused()
{
	compiled "$1 }"
	is "$rc" 1 "$3"
	like "$err" "$2" "  the reason"
}
refused 'kprobe:vfs_play:300 { print(1);' "vfs_play has no code at line 300 or behind it" "a line behind the end"
refused 'kprobe:vfs_plai:3 { print(1);' "knows no function 'vfs_plai'" "no such function"
refused 'kprobe@fs/none.c:3 { print(1);' "Unable to map 'fs/none.c:3' to address" "no such file"
refused 'kprobe@fs/play.c:x { print(1);' "Invalid line number: 'x'" "no number"
refused 'kretprobe:vfs_play:3 { print(1);' "Source code location not allowed" "a return at a line"
refused 'kprobe:play:vfs_play:3 { print(1);' "the debug information of the module play is not installed" "a module"
refused 'kprobe:vfs_play:0 { print(vars.nothing);' "No variable 'nothing' is visible here" "no such variable"
refused 'kprobe:vfs_play:3 { print(args.sum);' "No parameter 'sum' is visible here" "no such parameter"
refused 'kprobe:vfs_play:0 { print(vars.own);' "every CPU has one of its own" "a per-CPU variable"
refused 'kretprobe:vfs_read { print(vars.sum);' "the function has returned" "variables after the return"

# fetched by debuginfod's client
id=$(readelf -n "$work/boot/vmlinux-$(uname -r)" | sed -n 's/.*Build ID: //p')
mkdir -p "$work/fetched/$id" "$work/elsewhere"
mv "$work/boot/vmlinux-$(uname -r)" "$work/fetched/$id/debuginfo"
export DEBUGINFOD_CACHE_PATH="$work/fetched"
compiled 'kprobe:vfs_play:3 { print(vars.sum); }'
is "$rc$err" 0 "debug information that debuginfod's client has fetched"
unset DEBUGINFOD_CACHE_PATH
mv "$work/fetched/$id/debuginfo" "$work/boot/vmlinux-$(uname -r)"

# without it: definitions in the cache of a machine that had it
export HOME="$work/home"
mkdir "$HOME"
$pantrace probe -q -k "$work/boot/vmlinux-$(uname -r)" --cache -n -a 'vfs_play:3 sum name=file->next->name:string' -a 'other=vfs_play:3 count' -a 'fs/play.c:8 sum' 2>"$work/err"
is "$?$(cat "$work/err")" 0 "definitions for the cache"
mv "$work/boot/vmlinux-$(uname -r)" "$work/elsewhere"
compiled 'kprobe:vfs_play:3 { print(vars.sum); print(vars.count); print(str(vars.name)); print(vars); }'
is "$rc$err" 0 "a line of the cache, and what several definitions of it fetch"
like "$out" 'call probe_read_kernel_str' "texts are in the kernel's memory"
compiled 'kprobe@play.c:8 { print(vars.sum); }'
is "$rc$err" 0 "by source"
refused 'kprobe:vfs_play:3 { print(vars.file);' "No variable 'file' is visible here" "a variable that no definition fetches"
like "$err" "HINT: the cache's definition of this line says which are" "  and what to do"
refused 'kprobe:vfs_play:4 { print(1);' "debug information of this kernel is not installed" "a line that is not in the cache"
like "$err" "HINT: .*copy ~/.debug from a machine that has them" "  and what to do"
refused 'kprobe:vfs_play:0 { print(vars.sum);' "debug information of this kernel is not installed" "a function's beginning has no definition"
chmod o+w "$HOME/.debug/[kernel.kallsyms]"/*/probes
refused 'kprobe:vfs_play:3 { print(vars.sum);' "others may write to it" "a cache that others can write to is not believed"
done_testing
