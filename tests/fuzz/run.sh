#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/fuzz/run.sh TARGET SECONDS: runs one fuzz target over seeds made from the project's own scripts, this machine's programs and
#	recordings of other tools.
# tests/fuzz/run.sh all SECONDS: runs each target, SECONDS for all together, and prints how many inputs each ran and what was found.
# Build first: make BUILD=fuzz fuzz        (O=DIR here as there). The inputs that are found are kept beside the targets; what was mended
#	goes to tests/fuzz/found/TARGET-WHAT, which every later run begins with.
set -eu
target=$1 seconds=$2
out=${O:-build}/fuzz

# Texts of C string literals, one script a line.
unquote() { sed 's/\\"/"/g; s/\\n/\n/g; s/\\\\/\\/g'; }

skipped() { echo "$target: no seeds $1" >&2; }

# u32 N: little endian
u32() { printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $(($1 & 255)) $(($1 >> 8 & 255)) $(($1 >> 16 & 255)) $(($1 >> 24 & 255)))"; }

size_of() { stat -c %s "$1"; }

# Programs small enough to be seeds whole.
small() { compiler=$1; shift; "$compiler" -shared -fPIC -nostdlib -Wl,-z,noseparate-code,-z,max-page-size=512 "$@"; }

seeds_of_dwarf()
{
	made=$(realpath "$out")/dwarf-made top=$(pwd)
	rm -rf "$made"
	mkdir -p "$made"
	for flags in "gcc -O1 -gdwarf-5" "gcc -O2 -gdwarf-4" "gcc -O0 -g -gz=zlib" "clang -O1 -gdwarf-5" "clang -O1 -gdwarf-5 -gpubnames" "clang -O2 -gdwarf-4"; do
		set -- $flags
		command -v "$1" >/dev/null || { skipped "by $1"; continue; }
		for source in calls typed frames; do
			small "$@" -o "$corpus/$source-$(echo "$flags" | tr -c 'a-z0-9\n' _)" "tests/programs/$source.c"
		done
		# libdw is asked for units by name: the file is looked for in the working directory
		(cd "$made" && small "$@" -gsplit-dwarf "-fdebug-prefix-map=$made=." -c -o split.o "$top/tests/programs/typed.c" &&
			small "$1" -o program split.o && { { printf o; u32 "$(size_of program)"; cat program split.dwo; } >"$corpus/dwo-$1$2$3"
			! dwp -e program -o program.dwp 2>/dev/null || { printf p; u32 "$(size_of program)"; cat program program.dwp; } >"$corpus/dwp-$1$2$3"; })
	done
	# Debian's debug packages
	find /usr/lib/debug/.build-id -name '*.debug' -size -64k 2>/dev/null | head -n 40 | while read -r file; do cp "$file" "$corpus/debian-$(basename "$file")"; done
}

# What the tool makes of small programs.
seeds_of_index()
{
	tool=${PANTRACE:-build/pantrace} made=$(realpath "$out")/index-made
	[ -x "$tool" ] || { skipped "of the tool: it is not built"; return; }
	rm -rf "$made"
	mkdir -p "$made"
	for source in calls typed frames; do
		gcc -g -O2 -shared -fPIC -Wl,--build-id -o "$made/program" "tests/programs/$source.c" &&
			PANTRACE_INDEX=always XDG_CACHE_HOME="$made" "$tool" probe -x "$made/program" -D 'no*such' >/dev/null 2>&1 || :
	done
	cp "$made"/pantrace/index/* "$corpus" 2>/dev/null || skipped "of the tool"
}

seeds_of_unwind()
{
	for file in /bin/true /bin/ls /bin/dash /lib/x86_64-linux-gnu/lib[a-m]*.so.?; do
		[ -f "$file" ] && objcopy -O binary --only-section=.eh_frame "$file" "$corpus/$(basename "$file")" 2>/dev/null || continue
		[ "$(size_of "$corpus/$(basename "$file")")" -lt 65536 ] || rm "$corpus/$(basename "$file")"
	done
	for source in calls frames; do small gcc -O2 -o "$corpus/$source.so" "tests/programs/$source.c"; done
}

# What LTTng writes of a program of its own: each stream behind the metadata.
seeds_of_lttng()
{
	[ -e "$corpus/lttng-0" ] && return
	command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null || { skipped "by LTTng: it is not installed"; return; }
	made=$(realpath "$out")/ctf-made
	rm -rf "$made"
	mkdir -p "$made/home"
	printf '#include <lttng/tracef.h>\nint main(void) { for (int i = 0; i < 40; i++) tracef("number %%d of %%s", i, "fuzz"); return 0; }\n' >"$made/app.c"
	(
		cd "$made" && export LTTNG_HOME="$made/home" HOME="$made/home" && gcc -o app app.c -llttng-ust -ldl && session=fuzz$$ &&
			{ lttng --no-sessiond list || lttng-sessiond --daemonize --no-kernel; } && lttng create $session --output="$made/trace" &&
			lttng enable-channel -u --subbuf-size=4096 --num-subbuf=4 small && lttng enable-event -u -c small -a && lttng start && ./app && lttng destroy $session
	) >/dev/null 2>&1
	n=0
	for file in "$made"/trace/ust/uid/*/*/small_* "$made"/trace/ust/pid/*/small_*; do
		[ -s "$file" ] || continue
		metadata=$(dirname "$file")/metadata
		{ printf '\200'; u32 "$(size_of "$metadata")"; cat "$metadata" "$file"; } >"$corpus/lttng-$n"
		n=$((n + 1))
	done
	[ $n -gt 0 ] || skipped "by LTTng: it did not record"
}

# What perf record writes: files and pipes, packed or not, of tracepoints and samples, with chains. Small ones, or each run reads 90 KB
# of the kernel's printk formats and names of threads: perf sees none.
seeds_of_perf()
{
	command -v perf >/dev/null || { skipped "by perf: it is not installed"; return; }
	rm -f "$corpus"/file-* "$corpus"/pipe-*
	perf() { unshare -m sh -c 'for file in printk_formats saved_cmdlines; do mount --bind /dev/null /sys/kernel/tracing/$file; done; exec perf "$@"' perf "$@"; }
	for events in cpu-clock "sched:sched_process_exec,page-faults" "raw_syscalls:sys_exit"; do
		for how in "" -g -z "-d -W --data" "--call-graph dwarf,512"; do
			name=$(echo "$events$how" | tr -c 'a-z0-9\n' _)
			perf record -q -m 4 -o "$corpus/file-$name" -e "$events" $how -- true >/dev/null 2>&1 || rm -f "$corpus/file-$name"
			perf record -q -m 4 -o - -e "$events" $how -- true >"$corpus/pipe-$name" 2>/dev/null || rm -f "$corpus/pipe-$name"
		done
	done
}

# Two bytes choose reader and format; then what perf script and trace-cmd report print, folded stacks, a trace.dat, a perf.data, a profile.
seeds_of_text()
{
	perf='sh -x 926/927 [001] 36585.188777:     250000 cpu-clock:u: \n\tffffffff82203249 do_idle+0x19 ([kernel.kallsyms])\n\t 1139 ns::f(int) (/tmp/a (deleted))\n\t 7f [unknown] ([unknown])\n\n  sh 7 1.000000: sched:sched_switch: prev_comm=a b prev_pid=7 prev_state=R ==> next_comm=c next_pid=8\nsh 7 1.1: PERF_RECORD_LOST lost 4\nsh 7 [000] 1.2: raw_syscalls:sys_enter: NR 1 (1, 2)\nsh 7 [000] 1.3: raw_syscalls:sys_exit: NR 1 = -2\n'
	ftrace='cpus=2\n    ls-926   [001] d..2. 36585.188777: sched_wakeup: comm=a pid=7 prio=120\nCPU:1 [LOST 5 EVENTS]\n <idle>-0 (-----) [000] 36585.2: kernel_stack: <stack trace >\n=> do_idle+0x5 (ffffffff82203249)\n b-1 [000] 3.4: irq_handler_entry: irq=1 name=x\n b-1 [000] 3.5: irq_handler_exit: irq=1 ret=handled\n'
	folded='sh;main;f(int);[libc.so] 17\nsh;main 18446744073709551615\nmain 1\n# x\n'
	for format in 0 1 2 3 4 5 6; do
		n=$(printf '\\%03o' $format)
		printf "\\000$n$perf" >"$corpus/perf-$format"
		printf "\\001$n$ftrace" >"$corpus/ftrace-$format"
		printf "\\002$n$folded" >"$corpus/folded-$format"
	done
	tool=${PANTRACE:-build/pantrace}
	if [ -x "$tool" ]; then
		printf "$folded" >"$corpus/x.folded"
		"$tool" convert --to pprof "$corpus/x.folded" - 2>/dev/null | gzip -dc | { printf '\005\002'; cat; } >"$corpus/pprof"
		rm "$corpus/x.folded"
	else
		skipped "of profiles: the tool is not built"
	fi
	tests/fuzz/seeds.pl text "$corpus"
	seeds_of_perf
	for file in "$corpus"/file-*; do
		[ ! -f "$file" ] || { printf '\004\005'; cat "$file"; } >"$corpus/data-${file##*/file-}"
	done
	rm -f "$corpus"/file-* "$corpus"/pipe-*
}

# seeds: those of $target into $corpus; further options of libFuzzer in $options
seeds()
{
	options=-max_len=16384
	case $target in
	parse | compile)
		cp tools/*.bt tests/fuzz/seeds/*.bt tests/cli/fmt/*.bt "$corpus/"
		cp /usr/share/bpftrace/tools/*.bt "$corpus/" 2>/dev/null || skipped "of bpftrace's tools: they are not installed"
		# every string of the unit tests that looks like a script
		sed -n 's/^[[:space:]]*{\{0,1\}"\(.*[{}].*\)",\{0,1\}.*/\1/p' tests/unit/*.c | unquote | split -a 4 -l 1 - "$corpus/unit-"
		# one script for each builtin
		sed -n 's/^[[:space:]]*{"[a-z_0-9]*", "\(.*\)"},$/\1/p' src/lang/builtin/examples.c | unquote | split -a 4 -l 1 - "$corpus/builtin-"
		# what the documentation shows
		sed -n "s/^\$ pantrace .*-e '\(.*\)'.*/\1/p" doc/language.md doc/tutorial.md | split -a 4 -l 1 - "$corpus/doc-"
		{
			sed -n 's/^[[:space:]]*{"\([a-z_0-9]*\)", "[^"].*/"\1("/p' src/lang/builtin_*.c | sort -u
			grep -v '^# ' tests/fuzz/words | sed 's/[\\"]/\\&/g; s/.*/"&"/'
		} >"$out/words.dict"
		options="$options -dict=$(realpath "$out")/words.dict"
		;;
	elf)
		for source in calls frames sdt typed; do
			small gcc -O1 -g -gz=zlib -o "$corpus/$source.so" "tests/programs/$source.c"
			strip -o "$corpus/$source.stripped" "$corpus/$source.so"
		done
		;;
	btf)
		for source in calls typed kills; do
			gcc -gbtf -c -o "$out/seed.o" "tests/programs/$source.c"
			objcopy --dump-section .BTF="$corpus/$source.btf" "$out/seed.o"
		done
		;;
	tsdl)
		sed -n 's/^	*"\(.*\)\\n"$/\1/p' tests/fuzz/ctf.c lib/ctf.c | unquote | split -a 4 -l 40 - "$corpus/metadata-"
		;;
	dwarf)
		options=-max_len=65536
		seeds_of_dwarf
		;;
	unwind)
		options=-max_len=65536
		seeds_of_unwind
		;;
	definition)
		sed -n 's/^[[:space:]]*check("\([^"]*\)".*/\1/p' tests/unit/definition.c | tr '#' / | split -a 4 -l 1 - "$corpus/unit-"
		grep -oh '[pr][0-9]*:[a-zA-Z_0-9]* [^" ]*[^"]*' tests/cli/*probe*.t tests/vm/*probe*.sh tests/cli/*hist*.t tests/vm/*hist*.sh 2>/dev/null | split -a 4 -l 1 - "$corpus/test-"
		;;
	cache)
		sed -n 's/^[[:space:]]*{"\([^"]*\)", .*/\1/p' tests/unit/name_filter.c tests/unit/cache_entries.c | unquote | split -a 4 -l 1 - "$corpus/unit-"
		sed -n 's/.*"\([#p%].*\)\\n".*/\1/p' tests/unit/cache_entries.c | unquote >"$corpus/text"
		;;
	index)
		options=-max_len=65536
		seeds_of_index
		;;
	hist)
		grep -oh "keys=[^\"']*" tests/cli/*.t tests/vm/*.sh doc/*.md src/cmd/*.c | sort -u | split -a 4 -l 1 - "$corpus/test-"
		;;
	control)
		options=-max_len=4096
		tests/fuzz/seeds.pl "$target" "$corpus"
		;;
	zip)
		options=-max_len=65536
		command -v python3 >/dev/null && python3 - "$corpus" <<'PY' || skipped "by python3's zipfile"
import sys, zipfile
for name, method, pad in (('stored', zipfile.ZIP_STORED, 0), ('packed', zipfile.ZIP_DEFLATED, 0), ('aligned', zipfile.ZIP_STORED, 4096 - 30 - 11 - 4)):
    with zipfile.ZipFile(sys.argv[1] + '/' + name, 'w') as z:
        info = zipfile.ZipInfo('lib/libz.so')
        info.compress_type = method
        info.extra = b'\x35\xd9' + pad.to_bytes(2, 'little') + bytes(pad) if pad else b''
        z.writestr(info, b'\x7fELF' + bytes(60))
        z.comment = b'a comment'
PY
		;;
	http)
		printf 'GET /0123456789abcdef/data?from=1&to=2 HTTP/1.1\r\nHost: 127.0.0.1:4711\r\nSec-Fetch-Site: none\r\n\r\n' >"$corpus/get"
		printf 'POST / HTTP/1.0\r\nHost: [::1]\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n' >"$corpus/post"
		;;
	text)
		options=-max_len=65536
		seeds_of_text
		;;
	perf)
		seeds_of_perf
		;;
	xen)
		(cd "$corpus" && python3 "$OLDPWD/tests/cli/xen/records.py" write all) || skipped "by python3"
		xz -dc tests/cli/xen/lost.xz | head -c 2100 >"$corpus/lost"
		;;
	vmcore)
		for format in elf zlib snappy flat; do
			python3 tests/vmcore_image.py "$corpus/$format" $format >/dev/null || skipped "by python3"
		done
		options=-max_len=131072
		;;
	ctf)
		tests/fuzz/seeds.pl "$target" "$corpus"
		seeds_of_lttng
		;;
	*)
		tests/fuzz/seeds.pl "$target" "$corpus"
		;;
	esac
}

# fuzz TARGET SECONDS: its result is libFuzzer's
fuzz()
{
	target=$1
	corpus=$out/corpus-$target
	mkdir -p "$corpus"
	corpus=$(realpath "$corpus")
	seeds
	for input in tests/fuzz/found/"$target"-*; do [ ! -f "$input" ] || cp "$input" "$corpus/"; done
	export PANTRACE_CONTROL=0 # of the library in `control`: no socket
	# Imports of the seeds are relative to this directory, which nobody else writes to.
	binary=$(realpath "$out")/$target
	(cd tests/fuzz/seeds && exec "$binary" -max_total_time="$2" -timeout=120 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$binary-" $options "$corpus") &
	pid=$!
	trap 'kill $pid' INT TERM
	rc=0
	wait $pid || rc=$?
	trap - INT TERM
	rm -rf "/dev/shm/$target-fuzz-$pid"
	return $rc
}

findings() { find "$out" -maxdepth 1 \( -name "$1-crash-*" -o -name "$1-leak-*" -o -name "$1-timeout-*" -o -name "$1-oom-*" \) | wc -l; }

if [ "$target" != all ]; then
	fuzz "$target" "$seconds"
	exit
fi
targets=$(basename -s .c tests/fuzz/*.c)
each=$((seconds / $(echo "$targets" | wc -l)))
failed=0
printf '%-12s %12s %8s %9s\n' TARGET RUNS SECONDS FINDINGS
for name in $targets; do
	before=$(findings "$name") began=$(date +%s)
	fuzz "$name" $((each > 0 ? each : 1)) >"$out/$name.log" 2>&1 || failed=1
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$out/$name.log")
	printf '%-12s %12s %8s %9s\n' "$name" "${runs:-?}" $(($(date +%s) - began)) $(($(findings "$name") - before))
done
exit $failed
