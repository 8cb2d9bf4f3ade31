#!/bin/sh
# SPDX-License-Identifier: MIT
# Every kind of field: babeltrace2 says what it reads, bpftrace, perf and gdb what the USDT note says; events by name from Python.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
lib=${LIB_DIR:-build}
warn="-Wall -Wextra -Werror"

one()
{
	name=$1
	shift
	# shellcheck disable=SC2086
	"$@" $warn -D_GNU_SOURCE -Iinclude tests/lib/types.c -o "$dir/types" -x none "$lib/libpantrace.a" -lpthread
	ok "$name: builds" || return
	rm -rf "$dir/ctf"
	"$dir/types" "$dir/ctf" >"$dir/out"
	is $? 0 "$name: runs" || return
	babeltrace2 "$dir/ctf" >"$dir/text" 2>"$dir/err"
	is "$(cat "$dir/err")" "" "$name: babeltrace2 has nothing to complain of"
	is "$(grep -vc pantrace: "$dir/text")" "$(cut -d' ' -f2 "$dir/out")" "$name: it counts the same events"
	text=$(cat "$dir/text")
	like "$text" 'types:integers: .*\{ a = -1, b = 255, c = -2, d = 65535, e = -3, f = 4294967295, g = -4, h = 18446744073709551615, long_long_1 = -1, unsigned_long_long_1 = 18446744073709551615 \}' "$name: integers of all widths"
	like "$text" 'request = \{ r_id = 42, r_colour = \( "green" : container = 5 \), point = \{ x = 1\.5, y = -2\.25 \}, _r_url_length = 3, r_url = "/in" \}' "$name: nested structures"
	like "$text" 'after = \( "dark blue" : container = 6 \), r_coordinates = \[ \[0\] = -1, \[1\] = 2, \[2\] = 300 \]' "$name: enums and arrays"
	like "$text" 'r_coordinates2 = \[ \[0\] = -1, \[1\] = 2 \], last = 1' "$name: sequences; repeated names are told apart"
	like "$text" 'types:labels: .*\{ u8 = \( "none" : container = 255 \), s8 = \( "none" : container = -1 \), u32 = \( "none" : container = 4294967295 \), u64 = \( <unknown> : container = 18446744073709551615 \), s64 = \( <unknown> : container = -9223372036854775808 \), yes = \( "one" : container = 1 \) \}' "$name: names of values as fields hold them"
	is "$(perl -Mbigint -ne 'while (/enum : integer \{ size = (\d+); align = 8; signed = (\w+);[^}]*\} \{ ([^}]*) \}/g) {
		my ($bits, $least, $names) = ($1, $2 eq "true" ? -(1 << ($1 - 1)) : 0, $3);
		my $most = $least + (1 << $bits) - 1;
		while ($names =~ / = (-?\d+)/g) { my $v = 0 + $1; $all++; print "$v " if $v < $least || $v > $most || abs($v) >= 1 << 63 } }
		END { print $all > 20 ? "checked" : "few" }' "$dir/ctf/metadata")" checked "$name: names are of values in the range of their integers, and of 63 bits: Trace Compass refuses others"
	like "$text" 'types:lengths: .*\{ _+body_length = 2, body = "ab", body_length = 7, _id = 1, id2 = 2, _+body_length = 3, _body = "abc", inner = \{ _+body_length = 1, body = "a", _body_length = 5 \} \}' "$name: lengths have names of their own"
	like "$text" 'types:hexes: .*\{ flags = 0xFF, mask = 0xFFFFFFFFFFFFFFFF, short_2 = 0xFFFE, _key_length = 2, key = \[ \[0\] = 0x10, \[1\] = 0xFF \], id = \[ \[0\] = 0xAB, \[1\] = 0x1 \], in = \{ r_coordinates_2 = 0x12C, r_coordinates = \[ \[0\] = 0xFFFF, \[1\] = 0x2, \[2\] = 0x12C \] \}, yes = 1, plain = 0xFF, flags2 = 255 \}' "$name: base 16"
	like "$text" 'types:sixteen: .* x = 100, x_1 = 101, .* x_15 = 115' "$name: sixteen fields"
	like "$text" 'log:message: .*message = "x is 7, so it is"' "$name: log messages"
	like "$(tr -d '\n' <"$dir/ctf/metadata")" 'name = "types:error";[^}]*loglevel = 3;' "$name: log levels"
}

one "gcc C11 -O0" gcc -std=c11 -O0
one "gcc C -O3" gcc -std=gnu17 -O3
one "gcc C LTO static" gcc -std=gnu17 -O2 -flto -static
one "g++ C++17" g++ -std=c++17 -x c++ -O2
if command -v clang >/dev/null; then
	one "clang C11" clang -std=c11 -O2
	one "clang C -O0" clang -O0
	one "clang++ C++17" clang++ -std=c++17 -x c++ -Wno-deprecated -O2
fi

# What is off evaluates the arguments of PANTRACE_USDT and no others; other tracers read them.
gcc -O2 -D_GNU_SOURCE -Iinclude tests/lib/types.c -o "$dir/types" "$lib/libpantrace.a" -lpthread
cat >"$dir/bad.c" <<'END'
#include <pantrace/pantrace.h>
void f(const char *s) { PANTRACE_LOG("%d", s); }
END
gcc -Wformat -Werror -Iinclude -c "$dir/bad.c" -o /dev/null 2>"$dir/err"
like "$(cat "$dir/err")" 'Wformat|format' "the compiler checks the formats of PANTRACE_LOG"
for bad in 1.5 '"text"' 'PT_SEQ(d, 2)'; do
	printf '#include <pantrace/pantrace.h>\nvoid f(const double *d) { PANTRACE(a, b, PT_HEX(%s), *d); }\n' "$bad" >"$dir/bad.c"
	gcc -Iinclude -c "$dir/bad.c" -o /dev/null 2>"$dir/err"
	like "$(cat "$dir/err")" 'size of .*array.* is negative' "PT_HEX($bad) is refused: that has no base"
done
if command -v bpftrace >/dev/null && [ "$(id -u)" = 0 ]; then
	bpftrace -c "$dir/types usdt" -e "usdt:$dir/types:types:usdt { printf(\"%d %ld %d %s %p\\n\", arg0, arg1, arg2, str(arg3), arg4); }" >"$dir/out" 2>"$dir/err"
	pointer=$(grep -o '^0x[0-9a-f]*$' "$dir/out")
	like "$(cat "$dir/out")" "-5 1099511627776 200 hello $pointer" "bpftrace reads the arguments of the note"
	is "$(grep -c 'hello' "$dir/out")" 3 "bpftrace counts the same events"
fi
if command -v gdb >/dev/null; then
	gdb -batch -ex 'set breakpoint pending on' -ex 'break -probe-stap types:usdt' -ex 'run usdt' -ex 'printf "%d %ld %d %s\n", (int)$_probe_arg0, (long)$_probe_arg1, (int)$_probe_arg2, (char*)$_probe_arg3' "$dir/types" >"$dir/out" 2>&1
	like "$(cat "$dir/out")" '-5 1099511627776 200 hello' "gdb reads the arguments of the note"
fi

if command -v python3 >/dev/null; then
	cat >"$dir/dynamic.py" <<'END'
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
class Any(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("f", ctypes.c_double), ("p", ctypes.c_void_p)]
class Value(ctypes.Structure):
    _fields_ = [("v", Any), ("n", ctypes.c_uint64)]
lib.pantrace_dynamic.restype = ctypes.c_void_p
lib.pantrace_dynamic.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_int]
lib.pantrace_dynamic_emit.argtypes = [ctypes.c_void_p, ctypes.POINTER(Value)]
lib.pantrace_dynamic_enabled.argtypes = [ctypes.c_void_p]
event = lib.pantrace_dynamic(b"python", b"request", b"id:i32, ratio:f64, small:f32, url:string, body:text, codes:seq_u16, flags:x32, key:seq_x8", 6)
assert event and event == lib.pantrace_dynamic(b"python", b"request", b"id:i32, ratio:f64, small:f32, url:string, body:text, codes:seq_u16, flags:x32, key:seq_x8", 6)
for bad in (b"id", b"id:i33", b"id:seq_ptr", b"a b:i32", b"x:i8," * 17):
    assert not lib.pantrace_dynamic(b"python", b"bad", bad, 6), bad
assert not lib.pantrace_dynamic_enabled(event)
assert lib.pantrace_start(None) == 0
lib.pantrace_enable(b"python:*")
assert lib.pantrace_dynamic_enabled(event)
url, body = ctypes.create_string_buffer(b"/index"), ctypes.create_string_buffer(b"abcdef")
codes = (ctypes.c_uint16 * 2)(200, 404)
values = (Value * 8)()
values[0].v.i = -7; values[1].v.f = 0.5; values[2].v.f = 1.5
values[3].v.p = ctypes.addressof(url)
values[4].v.p = ctypes.addressof(body); values[4].n = 3
values[5].v.p = ctypes.addressof(codes); values[5].n = 2
values[6].v.i = 0xbeef
values[7].v.p = ctypes.addressof(body); values[7].n = 2
lib.pantrace_dynamic_emit(event, values)
late = lib.pantrace_dynamic(b"python", b"late", b"", 3)
assert lib.pantrace_dynamic_enabled(late)
lib.pantrace_dynamic_emit(late, values)
reader = ctypes.c_void_p()
assert lib.pantrace_reader_open_fd(lib.pantrace_fd(), 0, ctypes.byref(reader)) == 0
assert lib.pantrace_ctf_write(reader, sys.argv[2].encode()) == 0
END
	rm -rf "$dir/ctf"
	python3 "$dir/dynamic.py" "$(realpath "$lib")/libpantrace.so" "$dir/ctf" 2>"$dir/err"
	is $? 0 "events by name from Python" || sed 's/^/# /' "$dir/err"
	text=$(babeltrace2 "$dir/ctf" 2>&1)
	like "$text" 'python:request: .* id = -7, ratio = 0\.5, small = 1\.5, url = "/index", _body_length = 3, body = "abc", _codes_length = 2, codes = \[ \[0\] = 200, \[1\] = 404 \], flags = 0xBEEF, _key_length = 2, key = \[ \[0\] = 0x61, \[1\] = 0x62 \]' "with all their fields"
	like "$text" 'python:late' "and one made while the session runs"
fi
done_testing
