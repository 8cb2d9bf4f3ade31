# SPDX-License-Identifier: GPL-2.0-or-later
# Wildcards: one link for all functions where the kernel has multi-links, one event for each where not.
# guest: older newer
dd if=/dev/zero of=/tmp/data bs=1000 count=1 2>/dev/null
has() { pantrace --info 2>/dev/null | grep -q "$1: yes"; }
under() { c=$1; shift; pantrace -q -c "$c" "$@" 2>&1; }

out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=50' -e 'kretprobe:vfs_re* /comm == "dd" && retval == 10/ { @[func] = count(); }')
like "$out" '^@\[vfs_read\]: 50$' "a wildcard of return probes"
out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=50' -e 'kprobe:vfs_re* /comm == "dd" && arg2 == 10/ { @[probe] = count(); }')
like "$out" '^@\[kprobe:vfs_read\]: 50$' "a wildcard: probe is the attach point"

out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=50' --probe-filter 'getppid$|vfs_read$' -e 'tracepoint:syscalls:sys_enter_getppid, kprobe:vfs_* /comm == "dd"/ { @ = count(); }')
like "$out" '^@: [56][0-9]$' "a filter that leaves out a wildcard's first functions, behind a probe of another kind"

# Registers: since 6.14 a multi-link has some of them only. Truth: a breakpoint behind the place that ftrace calls from (a call of five
# bytes, or endbr64 and a call), in the same call of the function; at its return those that a function gives back as they were.
registers()
{
	cat <<-END
		kprobe:vfs_re* /comm == "dd" && arg2 == 10/ {
			@di = reg("di"); @cx = reg("cx"); @sp = reg("sp"); @bp = reg("bp"); @bx = reg("bx"); @r12 = reg("r12"); @r13 = reg("r13"); @r15 = reg("r15");
		}
		kprobe:vfs_read+$1 /comm == "dd" && reg("dx") == 10/ {
			@arguments[@di == reg("di") && @cx == reg("cx") && @sp == reg("sp") && @bp == reg("bp")] = count();
			@others[@bx == reg("bx") && @r12 == reg("r12") && @r13 == reg("r13") && @r15 == reg("r15")] = count();
		}
		kretprobe:vfs_re* /comm == "dd" && retval == 10/ {
			@kept[@bp == reg("bp") && @bx == reg("bx") && @r12 == reg("r12") && @r13 == reg("r13") && @r15 == reg("r15")] = count();
			@popped[reg("sp") - @sp] = count();
		}
	END
}
for offset in 5 9; do
	registers $offset >/tmp/registers.bt
	out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=50' /tmp/registers.bt)
	case $out in *'middle of an instruction'*) continue ;; esac
	break
done
is "$(echo "$out" | grep '^@[a-z]*\[' | tr '\n' ' ')" "@arguments[true]: 50 @kept[true]: 50 @others[true]: 50 @popped[8]: 50 " "registers at entries and returns are those of the function"
# The same without a probe that has them all in the same place: ftrace would save them for everybody.
out=$(under 'dd if=/tmp/data of=/dev/null bs=10 count=50' -e 'kprobe:vfs_re* /comm == "dd" && arg2 == 10/ { @a = (reg("di"), reg("si"), reg("dx")); @b = (arg0, arg1, arg2); @[@a.0 == @b.0 && @a.1 == @b.1 && @a.2 == @b.2, usermode] = count(); @k[kstack(3)] = count(); }
	kretprobe:vfs_re* /comm == "dd" && retval == 10/ { @r[reg("ax"), usermode] = count(); @s[kstack(2)] = count(); }')
like "$out" '^@\[true, 0\]: 50$' "arguments by name and by register"
like "$out" '^@r\[10, 0\]: 50$' "and results"
like "$(echo "$out" | tr -s '\n\t ' '   ')" '@k\[ vfs_read\+[0-9]+ [a-z_0-9.]*read\+[0-9]+ [^]]*\]: 50' "the stack at the entry begins with the function"
like "$(echo "$out" | tr -s '\n\t ' '   ')" '@s\[ (ksys_read|__x64_sys_read)\+[0-9]+ [^]]*\]: 50' "that at the return with its caller"

if has kprobe_multi; then
	out=$(PANTRACE_MAX_PROBES=100000 pantrace -c 'dd if=/tmp/data of=/dev/null bs=10 count=50' \
		-e 'kprobe:[v-z]* /comm == "dd" && arg2 == 10/ { @[func] = count(); }' 2>&1)
	n=$(echo "$out" | sed -n 's/^Attached \([0-9]*\) probes$/\1/p')
	[ "${n:-0}" -gt 1000 ]
	ok "more than 1,000 functions ($n) by one link"
	like "$out" '^@\[vfs_read\]: 50$' "and each is seen"
else
	skip "more than 1,000 functions by one link" "the kernel has no kprobe_multi"
	skip "and each is seen" "the kernel has no kprobe_multi"
fi
if has uprobe_multi; then
	out=$(PANTRACE_MAX_PROBES=100000 under '/programs/calls' -e 'uprobe:/programs/calls:* { @[func] = count(); }')
	like "$out" '^@\[.*main\]: 1$' "all functions of a program by one link"
else
	skip "all functions of a program by one link" "the kernel has no uprobe_multi"
fi
done_testing
