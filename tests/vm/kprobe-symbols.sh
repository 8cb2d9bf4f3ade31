# SPDX-License-Identifier: GPL-2.0-or-later
# Symbols from the kernel's own tables: what /proc/kallsyms says is the truth.
sed -n 's/^\(ffffffff8[0-9a-f]*\) [tTwW] \([^[:space:]]*\)$/0x\1 \2/p' /proc/kallsyms | grep -v '_pfx_' |
	awk '{ seen[$1]++; name[$1] = $2; order[NR] = $1 }
		END { for (i = 1; i <= NR; i++) if (seen[order[i]] == 1) print order[i], name[order[i]] }' |
	awk 'NR % 397 == 5' >/tmp/some
n=$(wc -l </tmp/some)
[ "$n" -gt 50 ]
ok "functions to ask for ($n)"
while read -r address name; do echo "printf(\"%s\n\", ksym($address)); "; done </tmp/some >/tmp/ksym.bt
pantrace -q -e "BEGIN { $(head -n 60 /tmp/ksym.bt) exit(); }" >/tmp/got 2>/tmp/err
head -n 60 /tmp/some | sed 's/.* //' >/tmp/want
is "$(grep . /tmp/got | diff - /tmp/want)" "" "names of addresses"

# data whose names stand only once
awk '{ n[$3]++ } $2 ~ /[dDbB]/ && $3 ~ /^[a-z_]*$/ && $0 !~ /\[/ && ++i % 211 == 3 { address[$3] = $1 }
	END { for (s in address) if (n[s] == 1) print s, address[s] }' /proc/kallsyms | head -n 20 | sort >/tmp/want
while read -r name address; do echo "printf(\"$name %lx\n\", kaddr(\"$name\")); "; done </tmp/want >/tmp/kaddr.bt
[ -s /tmp/kaddr.bt ]
ok "data to ask for ($(wc -l </tmp/want))"
pantrace -q -e "BEGIN { $(cat /tmp/kaddr.bt) exit(); }" >/tmp/got 2>/tmp/err
is "$(grep . /tmp/got | diff - /tmp/want)" "" "addresses of names"

# modules: their symbols lie in their own memory
sed 's/[[:space:]].*\[/ /; s/\]//' /sys/kernel/tracing/available_filter_functions | awk 'NF == 2 { print $2 ":" $1 }' | sort -u >/tmp/want
pantrace -l 'kprobe:*:*' 2>/dev/null | grep -v '^kprobe:vmlinux:' | sed 's/^kprobe://' | sort -u >/tmp/got
n=$(wc -l </tmp/want)
[ "$n" -gt 50 ]
ok "functions of modules ($n)"
is "$(diff /tmp/want /tmp/got | grep -c '^-[^-]')" 0 "each is listed"
more=$(diff /tmp/want /tmp/got | grep -c '^+[^+]')
[ "$more" -lt 5 ]
ok "and hardly another ($more)"

# A few are looked up among the sorted names, all are met one by one: both must tell the same.
pantrace -l 'kprobe:*' 2>/dev/null | sort >/tmp/all
[ "$(wc -l </tmp/all)" -gt 20000 ]
ok "all functions"
for prefix in tcp_ vfs_ do_ __x64_sys_r zs_ xfs_trans schedule no_such_; do
	pantrace -l "kprobe:$prefix*" 2>/dev/null | sort >/tmp/got
	grep -E "^kprobe:([a-z0-9_]*:)?$prefix" /tmp/all >/tmp/want
	is "$(diff /tmp/want /tmp/got)" "" "of those $(wc -l </tmp/want) begin with $prefix"
done
done_testing
