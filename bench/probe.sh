#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/probe.sh BINARY VMLINUX [RUNS]: questions about the kernel's debug information (a vmlinux with DWARF: Debian's linux-image-*-dbg), and
# about a program that is made here, beside perf probe; without an index, with one, and making it. CPU time (user and system, the least of
# RUNS), and peak memory. Adding 1,000 uprobes takes root.
set -eu
binary=$(realpath "$1")
vmlinux=$(realpath "$2")
runs=${3:-5}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME="$dir" XDG_CACHE_HOME="$dir/cache" PERF_CONFIG=/dev/null
mkdir "$dir/cache"

# cost COMMAND...: "SECONDS MEGABYTES"
cost()
{
	for _ in $(seq "$runs"); do
		/usr/bin/time -f '%U %S %M' -o "$dir/time" "$@" >/dev/null 2>&1 || :
		tail -1 "$dir/time"
	done | awk '{ s = $1 + $2; if (NR == 1 || s < best) { best = s; m = $3 } } END { printf "%.2f %.0f\n", best, m / 1024 }'
}

# row WHAT ARGUMENTS...
row()
{
	what=$1
	shift
	without=$(PANTRACE_INDEX=never cost "$binary" probe "$@")
	with=$(PANTRACE_INDEX=always cost "$binary" probe "$@")
	theirs=$(cost perf probe "$@")
	printf '%s\n' "$what|$without|$with|$theirs" |
		awk -F'|' '{ split($2, a, " "); split($3, b, " "); split($4, p, " "); f = p[1] < 0.01 ? 0.01 : p[1]
			printf "| %s | %.2f s, %d MB | %.2f s, %d MB | %.2f s, %d MB | %.2f | %.2f |\n",
				$1, a[1], a[2], b[1], b[2], p[1], p[2], a[1] / f, b[1] / f }'
}

echo "| what | without an index | with | perf probe | ratio without | ratio with |"
echo "|---|---|---|---|---|---|"
made=$(runs=1 && cost "$binary" probe -k "$vmlinux" -D nosuchfunction)
for definition in vfs_read 'vfs_read $params' vfs_read:3 fs/read_write.c:469 get_page nosuchfunction; do
	row "kernel: \`-D '$definition'\`" -k "$vmlinux" -D "$definition"
done
# At its limit perf gives up its search, and answers by the symbols alone.
row "kernel: \`-D 'vfs_*'\`, all of its copies" -k "$vmlinux" --max-probes 1000 -D 'vfs_*'
row 'kernel: `-D kmalloc`, all of its copies' -k "$vmlinux" --max-probes 20000 -D kmalloc
row 'kernel: `-V vfs_read`' -k "$vmlinux" -V vfs_read
row 'kernel: `-V get_page`' -k "$vmlinux" -V get_page

perl -e 'for my $i (0 .. 1199) { print "__attribute__((noinline)) int fn_$i(int a, const char *s, long len) { for (long k = 0; k < len; k++) a += s[k] * $i; return a; }\n" }
	print "int main(void) { return 0; }\n"' >"$dir/many.c"
gcc -g -O2 -o "$dir/many" "$dir/many.c"
row 'program: `fn*` with `$params`, 1,200 functions' -x "$dir/many" --max-probes 2000 -D 'fn* $params'
echo
echo "The index of the kernel is made in (seconds, MB): $made; it has $(stat -c %s "$dir"/cache/pantrace/index/* | sort -n | tail -1) bytes."
[ "$(id -u)" = 0 ] || exit 0
for tool in "$binary" perf; do
	for _ in $(seq "$runs"); do
		/usr/bin/time -f '%U %S' -o "$dir/time" "$tool" probe -q -x "$dir/many" --max-probes 2000 -a 'benched=fn_1*' >/dev/null 2>&1 || :
		awk '{ print $1 + $2 }' "$dir/time"
		"$tool" probe -q -d 'probe_many:*' >/dev/null 2>&1 || :
	done | sort -n | head -1 | sed "s|^|311 places of one event by $(basename "$tool"): seconds |"
	for _ in $(seq "$runs"); do
		/usr/bin/time -f '%U %S' -o "$dir/time" "$tool" probe -q -x "$dir/many" --max-probes 2000 -a 'fn_*' >/dev/null 2>&1 || :
		awk '{ print $1 + $2 }' "$dir/time"
		"$tool" probe -q -d 'probe_many:*' >/dev/null 2>&1 || :
	done | sort -n | head -1 | sed "s|^|1,200 events by $(basename "$tool"): seconds |"
done
