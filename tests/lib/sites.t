#!/bin/sh
# SPDX-License-Identifier: MIT
# Sites under both compilers, all optimisations, static, PIE, LTO, gc-sections, CET; babeltrace2 and
# readelf judge what comes out.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
lib=${LIB_DIR:-build}
warn="-Wall -Wextra -Werror -Wno-unused-parameter"

one()
{
	name=$1 cc=$2 cxx=$3
	shift 3
	case " $* " in *' -static '*) shared='' ;; *) shared=$dir/plugin.so ;; esac
	if [ -n "$shared" ]; then
		flags=$(printf '%s ' "$@" | sed 's/-no-pie//')
		# shellcheck disable=SC2086
		$cxx -std=c++17 $warn $flags -fPIC -shared -Iinclude tests/lib/plugin.cc -o "$shared" "$lib/libpantrace.so" || shared=missing
	fi
	case " $* " in *' -static '*) with=$lib/libpantrace.a ;; *) with=$lib/libpantrace.so ;; esac
	$cc -std=gnu17 $warn "$@" -Iinclude tests/lib/sites.c -o "$dir/sites" "$with" -Wl,-rpath,"$(realpath "$lib")" -ldl
	ok "$name: builds" || return
	rm -rf "$dir/ctf"
	# shellcheck disable=SC2086
	"$dir/sites" $shared ${shared:+"$dir/ctf"} >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
	ok "$name: sites" || sed 's/^/# /' "$dir/out" | grep -A3 -v '^# ok' | head -20
	[ -n "$shared" ] || return
	babeltrace2 "$dir/ctf" >"$dir/text" 2>"$dir/err"
	ok "$name: babeltrace2 reads the trace" || head -5 "$dir/err"
	is "$(cat "$dir/err")" "" "$name: without a warning"
	is "$(grep -vc pantrace: "$dir/text")" 13 "$name: and counts the same events"
	like "$(cat "$dir/text")" 'test:types: .*small = 200, short_3 = -3, r_url = "/index", d = 2.5' "$name: fields"
}

for cc in gcc clang; do
	case $cc in gcc) cxx=g++ ;; clang) cxx=clang++ ;; esac
	command -v $cc >/dev/null || continue
	one "$cc -O0" $cc $cxx -O0
	one "$cc -O2" $cc $cxx -O2
	one "$cc -O3 no-pie" $cc $cxx -O3 -no-pie
	one "$cc -O2 gc-sections" $cc $cxx -O2 -ffunction-sections -fdata-sections -Wl,--gc-sections
	one "$cc -O2 CET, now, relro" $cc $cxx -O2 -fcf-protection=full -Wl,-z,now,-z,relro
	one "$cc -O2 static" $cc $cxx -O2 -static
	[ $cc = clang ] || one "$cc LTO" $cc $cxx -O2 -flto
done

gcc -std=c11 $warn -D_GNU_SOURCE -O2 -Iinclude -c tests/lib/sites.c -o "$dir/sites.o"
ok "strict C11"
gcc -O2 -Iinclude tests/lib/sites.c -o "$dir/sites" "$lib/libpantrace.a"
like "$(readelf -n "$dir/sites")" 'Provider: test' "sites are USDT notes"
like "$(gdb -batch -ex 'info probes stap test' "$dir/sites" 2>/dev/null)" 'test +types' "gdb lists them"
if command -v bpftrace >/dev/null && [ "$(id -u)" = 0 ]; then
	like "$(bpftrace -l "usdt:$dir/sites:*" 2>/dev/null)" 'test:inlined' "bpftrace lists them"
fi
done_testing
