# SPDX-License-Identifier: GPL-2.0-or-later
# Names and addresses of kernel functions: what /proc/kallsyms and ftrace's list say is the truth.
# guest: newer; check-all: older
# modules: xfs
# One pass, as the list is long: /tmp/functions, those that are not padding, cold parts, or what ran at boot: an address, what the kernel
# calls it, its other names; /tmp/some, those of the kernel's own text that have one name; /tmp/data, data whose names stand only once.
grep -vF -e ' __pfx_' -e ' __cfi_' -e .cold -e '[bpf]' -e '[__builtin' /proc/kallsyms >/tmp/kallsyms
awk '
function finish() {
	if (names == "") return
	if (!boot) print address names >"/tmp/functions"
	if (single && ++n % 397 == 5) print "0x" address names >"/tmp/some"
	names = ""
}
{ times[$3]++ }
$1 != address { finish(); address = $1 }
$3 == "_sinittext" { boot = 1 }
$3 == "_einittext" { boot = 0 }
index("tTwW", $2) {
	single = names == "" && NF == 3
	names = names " " $3
	next
}
NF == 3 && index("dDbB", $2) && $3 ~ /^[a-z_]*$/ && ++d % 211 == 3 { at[$3] = $1 }
END { finish(); for (s in at) if (times[s] == 1) print s, at[s] >"/tmp/data" }' /tmp/kallsyms
n=$(wc -l </tmp/some)
[ "$n" -gt 50 ]
ok "functions to ask for ($n)"
while read -r address name; do echo "printf(\"%s\n\", ksym($address)); "; done </tmp/some >/tmp/ksym.bt
pantrace -q -e "BEGIN { $(head -n 60 /tmp/ksym.bt) exit(); }" >/tmp/got 2>/tmp/err
head -n 60 /tmp/some | sed 's/.* //' >/tmp/want
is "$(grep . /tmp/got | diff - /tmp/want)" "" "names of addresses"

head -n 20 /tmp/data | sort >/tmp/want
while read -r name address; do echo "printf(\"$name %lx\n\", kaddr(\"$name\")); "; done </tmp/want >/tmp/kaddr.bt
[ -s /tmp/kaddr.bt ]
ok "data to ask for ($(wc -l </tmp/want))"
pantrace -q -e "BEGIN { $(cat /tmp/kaddr.bt) exit(); }" >/tmp/got 2>/tmp/err
is "$(grep . /tmp/got | diff - /tmp/want)" "" "addresses of names"

# modules: their symbols lie in their own memory
cat /sys/kernel/tracing/available_filter_functions >/tmp/available
awk 'NF > 1 { gsub(/[][]/, "", $NF); print $NF ":" $1 }' /tmp/available | sort -u >/tmp/want
pantrace -l 'kprobe:*:*' 2>/dev/null | grep -v '^kprobe:vmlinux:' | sed 's/^kprobe://' | sort -u >/tmp/got
n=$(wc -l </tmp/want)
[ "$n" -gt 50 ]
ok "functions of modules ($n)"
is "$(diff /tmp/want /tmp/got | grep -c '^-[^-]')" 0 "each is listed"
more=$(diff /tmp/want /tmp/got | grep -c '^+[^+]')
[ "$more" -lt 5 ]
ok "and hardly another ($more)"

awk '$1 !~ /__ftrace_invalid/ { print $1 }' /tmp/available >/tmp/ftrace
# /tmp/want.PREFIX: those that ftrace has (of native_: has not) and one of whose names begins so, under what the kernel calls them if
# that does
awk -v all='tcp_ __x64_sys_r xfs_trans native_' 'BEGIN { prefixes = split(all, prefix, " ") }
	FNR == NR { traced[$1]++; next }
	{ own[$2]++ }
	!/ (tcp_|__x64_sys_r|xfs_trans|native_)/ { next }
	{ line[lines++] = $0 }
	END {
		for (l = 0; l < lines; l++) {
			n = split(line[l], w, " ")
			# several of one name, some of which are traced: not told apart here
			if (traced[w[2]] && traced[w[2]] < own[w[2]]) continue
			for (p = 1; p <= prefixes; p++) {
				for (i = 2; i <= n && index(w[i], prefix[p]) != 1; i++) ;
				if (i <= n && (prefix[p] == "native_" ? !traced[w[2]] : traced[w[2]])) print w[i] >"/tmp/want." prefix[p]
			}
		}
	}' /tmp/ftrace /tmp/functions
pantrace -l 'kprobe:tcp_*,kprobe:__x64_sys_r*,kprobe:xfs_trans*,kprobe:__x64_sys_getpp*' 2>/dev/null | sed 's/.*://' | sort -u >/tmp/all
for prefix in tcp_ __x64_sys_r xfs_trans; do
	grep "^$prefix" /tmp/all >/tmp/got
	sort -u /tmp/want.$prefix >/tmp/want
	is "$(diff /tmp/want /tmp/got | grep '^-[^-]')" "" "all that begin with $prefix, by any name ($(wc -l </tmp/want))"
	is "$(diff /tmp/want /tmp/got | grep -c '^+[^+]' | grep -v '^[0-3]$')" "" "and hardly another"
done
grep -qx __x64_sys_getppid /tmp/ftrace
is $? 1 "ftrace calls a system call without arguments otherwise"
is "$(grep getpp /tmp/all)" __x64_sys_getppid "it is listed by this name, too"
for probe in 'kprobe:__x64_sys_getppid' 'kprobe:__x64_sys_getpp*'; do
	out=$(pantrace -q -c '/programs/syscalls 100' -e "$probe { @ = count(); }" 2>&1)
	is "$(echo "$out" | grep .)" "@: 300" "$probe: its calls"
done

# What a pattern matches and the kernel does not let anybody trace is counted.
n=$(wc -l </tmp/want.native_)
[ "$n" -gt 3 ]
ok "functions that cannot be traced ($n)"
pantrace -d ast -e 'kprobe:native_* { @ = 1; } kprobe:vfs_rea* { @ = 1; }' >/tmp/out 2>/tmp/err
like "$(cat /tmp/err)" "WARNING: [0-9]+ functions that match kprobe:native_\\* are left out: $n notrace " "they are counted aloud"
unlike "$(cat /tmp/err)" 'kprobe:vfs_rea.* left out' "nothing is said where all can be traced"

# Several functions of one name, all of them traced: the first two of one with few.
shared=$(awk 'FNR == NR { traced[$1]++; next } NF == 2 { n[$2]++ } END { for (f in n) if (n[f] == 2 && traced[f] == 2 && f !~ /\./) print f }' /tmp/ftrace /tmp/functions |
	grep -vxF -f /sys/kernel/tracing/available_events | sort | grep -E '^[a-z]+_[a-z_]+$' | grep -v '^rcu_' | head -1)
[ -n "$shared" ]
ok "functions of one name ($shared)"
pantrace -e "kprobe:$shared { 1 }" >/tmp/out 2>/tmp/err
is $? 1 "a name of two functions is refused"
like "$(cat /tmp/err)" "the name is not unique: 2 functions are called $shared" "with the reason"
all=$(sed -n 's/.*HINT: kprobe:\([^ ]*\) means all of them.*/\1/p' /tmp/err)
out=$(pantrace -e "kprobe:$all { @ = count(); } interval:ms:1 { exit(); }" 2>&1)
like "$out" '^Attached 3 probes$' "the hint's pattern attaches to both (and a timer)"
pantrace -e "fentry:$shared { 1 }" >/tmp/out 2>/tmp/err
like "$(cat /tmp/err)" "(the name is not unique|No matches for fentry)" "fentry: refused, too"

# notrace: the reason, not the kernel's EINVAL or EBUSY
for probe in kprobe fentry fexit; do
	pantrace -e "$probe:trace_clock_local { @ = count(); }" >/tmp/out 2>/tmp/err
	is $? 1 "$probe of a notrace function is refused"
	like "$(cat /tmp/err)" 'trace_clock_local.*the kernel does not allow this function to be traced \(notrace\)' "$probe: the reason"
done

# The kernel's iterator and the text of kallsyms are one truth.
for without in '' '--no-feature iterators'; do
	pantrace $without -q -e 'BEGIN { printf("%lx %lx %s\n", kaddr("vfs_read"), kaddr("jiffies"), ksym(kaddr("do_nanosleep") + 5)); exit(); }' 2>&1
done | sort -u >/tmp/got
is "$(cat /tmp/got)" "$(awk '{ a[$3] = $1 } END { sub(/^0*/, "", a["vfs_read"]); print a["vfs_read"], a["jiffies"], "do_nanosleep" }' /proc/kallsyms)" "the same from the iterator and from the text" || cat /tmp/got
done_testing
