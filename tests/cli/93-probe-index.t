#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe's index of debug information: it changes no answer, is made anew where it is not whole or of another file, and nobody else's is read.
# parallel: nothing is traced
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
export HOME="$work/home"
unset XDG_CACHE_HOME
mkdir home
gcc -g -O2 -o app "$top/tests/programs/typed.c"
cat >cxx.cc <<'CXX'
#include <map>
#include <string>
namespace ns {
template <typename T> __attribute__((noinline)) T twice(T v) { return v + v; }
int counter = 3;
struct P {
	int a;
	__attribute__((noinline)) int over(int x) const { return x + a; }
	__attribute__((noinline)) int over(double d) const { return (int)d + a; }
	P operator+(const P &o) const { return P{a + o.a}; }
};
}
int main(int argc, char **argv)
{
	std::map<std::string, int> m;
	const ns::P p{argc};
	for (int i = 0; i < argc; i++)
		m[argv[i]] = (p + ns::P{i}).over(i);
	return m.size() + ns::twice(argc) + (int)ns::twice(2.5) + p.over(1.5) + ns::counter;
}
CXX
g++ -g -O1 -o plus cxx.cc 2>/dev/null
index=$HOME/.cache/pantrace/index

# answers PROGRAM: what it says of functions, lines, variables, globals, patterns and what is not there
answers()
{
	for f in $("$pantrace" probe -x "$1" -F | grep -v '^std::' | head -n 25) nosuch 'm*' '*[aeiou]n*'; do
		for ask in -D -V -L; do
			echo "$ask $f"
			"$pantrace" probe -x "$1" --max-probes 2000 $ask "$f" 2>&1
		done
		"$pantrace" probe -x "$1" --max-probes 2000 -D "$f \$params" 2>&1
	done
	for line in 1 10 20 30 40 60 100; do
		for source in typed.c tests/programs/typed.c cxx.cc none.c; do "$pantrace" probe -x "$1" -D "$source:$line" 2>&1; done
	done
	for f in 'ns::*' ns::P::over 'ns::P::over(int)' get twice 'ns::twice<int>' 'operator*' ns::P::operator+ push_back 'main ns::counter' 'main counter'; do
		"$pantrace" probe -x "$1" --max-probes 2000 -D "$f" 2>&1
	done
	"$pantrace" probe -x "$1" -L typed.c:1-60 2>&1
	"$pantrace" probe -x "$1" -V main --externs 2>&1
	"$pantrace" probe -x "$1" -D 'main nosuch' 2>&1
}
# of the index of app: its inode tells whether it was written again
state() { stat -c %i "$index/$id" 2>&1; }

PANTRACE_INDEX=never answers app >without
[ ! -e "$HOME/.cache" ] && [ "$(wc -l <without)" -gt 100 ]
ok "without an index: nothing is written"
run probe -x app -D main
[ ! -e "$HOME/.cache" ]
ok "what is small has none"

export PANTRACE_INDEX=always
answers app >first
id=$(readelf -n app | sed -n 's/.*Build ID: //p')
is "$(cmp without first 2>&1; ls "$index")" "$id" "with an index that is being made: the same answers"
is "$(stat -c '%a %a' "$HOME/.cache/pantrace" "$index" | sort -u)" "700 700" "its folders are the user's own"
is "$(stat -c %a "$index/$id")" 600 "and so is the file"
before=$(state)
answers app >second
is "$(cmp without second 2>&1; state)" "$before" "with the index: the same answers, and it is not made again"
# clang's first statement of a function is of the line with its brace: only its declaration is of the one before.
if command -v clang >/dev/null; then
	printf '%s\n' '__attribute__((noinline)) int early(int x)' '{' '	return x * 3;' '}' >early.h
	printf '%s\n' '#include "early.h"' 'int main(int argc, char **argv) { return early(argc); }' >early.c
	clang -g -O1 -o early early.c
	run probe -x early -D early.h:1
	is "$rc/$out" "0/$(PANTRACE_INDEX=never "$pantrace" probe -x early -D early.h:1)" "a line of a header that declares a function"
	like "$out" '^p:probe_early/early ' "is its beginning"
	rm "$index/$(readelf -n early | sed -n 's/.*Build ID: //p')"
else
	skip "a line of a header that declares a function" "no clang"
fi
rm -r "$index"
answers app >third
is "$(cmp without third 2>&1; ls "$index")" "$id" "after it was removed: the same, and it is there again"
if [ -e plus ]; then
	PANTRACE_INDEX=never answers plus >without.plus
	answers plus >first.plus
	answers plus >second.plus
	is "$(cmp without.plus first.plus 2>&1; cmp without.plus second.plus 2>&1)" "" "C++: the same without, with a new one, and with it"
fi
# Without an index a unit is passed over if a name is not among its bytes: but it may be that of another one.
printf '%s\n' 'int shared(int);' 'int f(int);' 'int main(int argc, char **argv) { return shared(argc) + f(argc); }' >one.c
printf '%s\n' 'int shared(int n) { int s = 0; while (n-- > 0) s += n ^ s; return s; }' 'int f(int n) { return n * n / 3; }' >two.c
gcc -g -O2 -flto -o lto one.c two.c
gcc -g -O1 -o apart one.c two.c
built="lto apart"
clang -gdwarf-5 -O1 -o table one.c two.c 2>/dev/null && built="$built table"
for f in shared f; do
	for program in $built; do
		PANTRACE_INDEX=never run probe -x $program -D $f
		is "$rc/$out" "0/$("$pantrace" probe -x $program -D $f)" "$f in $program, without an index and with one"
	done
done
for program in $built; do rm "$index/$(readelf -n $program | sed -n 's/.*Build ID: //p')"; done

# --- .debug_names, without an index ---
# named OUTPUT NAME: the answers by it
named() { PANTRACE_INDEX=never "$pantrace" probe -x "$1" -D "$2" 2>&1; echo $?; }
# read_by PROGRAM NAME: bytes
read_by()
{
	PANTRACE_INDEX=never strace -e trace=pread64 -o reads "$pantrace" probe -x "$1" -D "$2" >/dev/null 2>&1
	awk '{ sum += $NF } END { print sum }' reads
}
cat >inlined.c <<'C'
static volatile int counter;
static inline __attribute__((always_inline)) int step(int n) { counter += n; return counter * n; }
__attribute__((noinline)) int both(int n) { return step(n) + 1; }
int main(int argc, char **argv) { return both(argc) + step(argc); }
C
perl -e 'print "int counter;\n"; print "__attribute__((noinline)) int fn_$_(int a, long b) { for (long k = 0; k < b; k++) counter += k * $_; return a; }\n" for 1 .. 2000' >many.c
if clang -gdwarf-5 -gpubnames -O1 -o names inlined.c 2>/dev/null && readelf -S names | grep -q debug_names; then
	clang -gdwarf-5 -gpubnames -O1 -o large inlined.c many.c
	clang++ -gdwarf-5 -gpubnames -O1 -o plus_names cxx.cc
	bad=
	for program in names large plus_names; do
		mkdir plain && objcopy -R .debug_names $program plain/$program
		for name in step both main nosuch fn_77 counter twice ns::twice 'ns::twice<int>' ns::P::over 'operator+' _ZNK2ns1P4overEi 'ns::P::over(int)'; do
			[ "$(named $program "$name")" = "$(named plain/$program "$name" | sed 's|/plain/|/|')" ] || bad="$bad $program:$name"
		done
		rm -r plain
	done
	is "$bad" "" "the same with .debug_names and by a walk"
	objcopy -R .debug_names large walked
	[ $(($(read_by large nosuch) * 4)) -lt $(($(read_by walked nosuch) * 3)) ]
	ok "units that do not have the name are not read"
	# A damaged one is found out, or changes nothing.
	truth=$(named names step; named names both)
	set -- $(readelf -SW names | sed -n 's/.*\.debug_names *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/0x\1 0x\2/p')
	bad=
	cp names kept
	for at in $(seq 0 5 $(($2 - 1))); do
		perl -0777 -pe "substr(\$_, $1 + $at, 1) ^= chr(1)" kept >names
		[ "$(named names step; named names both)" = "$truth" ] || bad="$bad $at"
	done
	is "$bad" "" "a damaged one takes nothing away"
	# Two that are well-formed: many entries, each with the last of many abbreviations; and a second table that has one name of the unit.
	cat >made.py <<'PY'
import struct, sys
def table(name, abbreviations, entries):  # for a name of `old`
    text = 5381
    for c in name:
        text = (text * 33 + c) & 0xffffffff
    string = strings[hashes.index(text)]
    body = struct.pack('<HH7I', 5, 0, 1, 0, 0, 1, 1, len(abbreviations), 8) + b'LLVM0700' + struct.pack('<5I', 0, 1, text, string, 0) + abbreviations + entries
    return struct.pack('<I', len(body)) + body
old = open('old', 'rb').read()
count = struct.unpack_from('<I', old, 24)[0]
at = 0x30 + 4 * struct.unpack_from('<I', old, 20)[0]
hashes, strings = struct.unpack_from(f'<{count}I', old, at), struct.unpack_from(f'<{count}I', old, at + 4 * count)
die = int(sys.argv[1], 16).to_bytes(4, 'little')
rows = b''.join(bytes((i & 127 | 128, i >> 7 & 127 | 128, i >> 14 & 127 | 128, 1, 0x2e, 0, 0)) for i in range(200000))
open('many', 'wb').write(table(b'main', rows + b'\x2e\x2e\x03\x13\0\0\0', (b'\x2e' + die) * 200000 + b'\0\0\0'))
open('second', 'wb').write(old + table(b'main', b'\x01\x2e\0\0\0', b'\0\0\0\0'))
PY
	cp kept names
	objcopy -O binary -j .debug_names --set-section-flags .debug_names=alloc names old
	python3 made.py "$(readelf --debug-dump=info names 2>/dev/null | awk '/DW_TAG_subprogram/ { sub(/.*></, ""); sub(/>.*/, ""); die = $0 } /DW_AT_name.*: main$/ { print die }')"
	for case in many:main second:step; do
		objcopy --update-section .debug_names=${case%:*} kept names
		is "$(PANTRACE_INDEX=never timeout 60 "$pantrace" probe -x names -D ${case#*:} 2>&1; echo $?)" "$(named kept ${case#*:} | sed 's/kept/names/g')" "$case is found"
	done
else
	skip "clang writes no .debug_names"
fi

# --- what is not whole ---
size=$(stat -c %s "$index/$id")
few() { "$pantrace" probe -x app -D 'main $params' 2>&1; "$pantrace" probe -x app -L typed.c 2>&1; "$pantrace" probe -x app -D 'm*' 2>&1; }
PANTRACE_INDEX=never few >few
bad=
for cut in 0 1 8 100 $((size / 2)) $((size - 1)); do
	cp "$index/$id" kept && truncate -s $cut "$index/$id"
	few >now
	cmp few now >/dev/null && cmp "$index/$id" kept >/dev/null || bad="$bad $cut"
done
is "$bad" "" "a file that was cut short is not believed, and made again"
bad=
for at in 0 9 17 30 200 300 400 $((size / 3)) $((size / 2)) $((size - 9)); do
	cp "$index/$id" kept
	printf '\377\376\375' | dd of="$index/$id" bs=1 seek=$at conv=notrunc 2>/dev/null
	few >now
	cmp few now >/dev/null && cmp "$index/$id" kept >/dev/null || bad="$bad $at"
done
is "$bad" "" "bytes that have changed are noticed wherever they are"

# --- of another file ---
cp "$index/$id" old
sed 's/^int main(/int before_main(int n) { return n + 1; }\n&/' "$top/tests/programs/typed.c" >other.c
gcc -g -O2 -I "$top/tests/programs" -o app other.c
new=$(readelf -n app | sed -n 's/.*Build ID: //p')
is "$("$pantrace" probe -x app -D before_main 2>&1 | wc -l)$([ "$new" != "$id" ] && ls "$index/$new")" "1$index/$new" "a program that was built again has an index of its own"
cp old "$index/$new"
PANTRACE_INDEX=never few >few
few >now
is "$(cmp few now 2>&1; cmp -s old "$index/$new" && echo kept)" "" "an index under another build-id is not believed"
cp -p "$index/$new" old
touch -d '2 hours ago' app
few >now
is "$(cmp few now 2>&1; cmp -s old "$index/$new" && echo kept)" "" "nor one of a file that has another time"

# --- of others ---
id=$new
mkdir away
mv "$index" away && ln -s "$work/away/index" "$index"
cp "away/index/$id" kept && : >"away/index/$id"
few >now
is "$(cmp few now 2>&1; stat -c %s "away/index/$id")" 0 "a link in place of the folder is not followed"
rm "$index" && mv away/index "$index"
ln -sf "$work/few" "$index/$id" && cp few few.kept
few >now
is "$(cmp few.kept few 2>&1; cmp few now 2>&1; stat -c %F "$index/$id")" "regular file" "nor one in place of the file: it is replaced"
chmod 777 "$index" && : >"$index/$id"
few >now
is "$(cmp few now 2>&1; stat -c %s "$index/$id")" 0 "a folder that others can write to is not used"
chmod 700 "$index"
few >now
chmod 666 "$index/$id"
before=$(state)
few >now
[ "$(cmp few now 2>&1)$(state)" != "$before" ]
ok "nor is a file"

# --- no place for it ---
for home in "" /nonexistent /proc /dev/null; do
	HOME=$home few >now
	cmp few now >/dev/null || bad="$bad $home"
done
is "$bad" "" "without a home it works as well, without a word"
is "$(XDG_CACHE_HOME=$work/xdg few | cmp - few; ls "$work/xdg/pantrace/index")" "$id" "XDG_CACHE_HOME is the folder"

# --- many at once, and too many ---
rm -r "$index"
for n in 1 2 3 4 5 6; do few >many.$n & done
wait
is "$(for n in 1 2 3 4 5 6; do cmp few many.$n; done; ls -A "$index")" "$id" "several make it at once"
truncate -s 600M "$index/aaaa" && touch -d '3 days ago' "$index/aaaa"
: >"$index/.new-1-1" && touch -d '3 days ago' "$index/.new-1-1"
: >"$index/.new-1-2"
: >"$index/$id"
few >now
is "$(cmp few now 2>&1; ls -A "$index" | tr '\n' ' ')" ".new-1-2 $id " "the oldest go where they are too many, and what a killed one has left"
# Listed with their sizes, and removed.
rm -rf "$HOME/.cache"
is "$("$pantrace" cache indexes)$?" 0 "there are none"
PANTRACE_INDEX=always "$pantrace" probe -x ./app -D main >/dev/null 2>&1
name=$(ls "$index")
is "$("$pantrace" cache indexes --json | jq -r '"\(.build_id) \(.size)"')" "$name $(stat -c %s "$index/$name")" "cache indexes: what is kept, with its size"
touch "$index/.new-1" "$index/not hex"
like "$("$pantrace" cache purge -n)" "^Would remove the index of $name, [0-9]+ bytes\$" "purge -n says what would go"
[ -e "$index/$name" ]
ok "  and removes nothing"
"$pantrace" cache purge >/dev/null
is "$?$(ls "$index")" "0not hex" "purge removes indexes, and nothing else"
"$pantrace" cache purge --buildid-dir "$work" 2>/dev/null
is "$?" 2 "--buildid-dir is of the other cache"
chmod 777 "$index"
"$pantrace" cache purge >/dev/null 2>"$work/err"
is "$?" 1 "a folder that others may write to"
like "$(cat "$work/err")" 'the indexes cannot be read: their folder' "is refused"
done_testing
