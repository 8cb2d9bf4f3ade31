#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# uprobe: libraries that run from within a ZIP archive; names that several functions of a file share.
. "$(dirname "$0")/lib.sh"
need_root
cd "$work" || exit 1

# --- ARCHIVE!/ENTRY ---
cat >lib.c <<'C'
struct point { int x, y; };
__attribute__((noinline, visibility("hidden"))) int inner(int a, struct point *p) { return a + p->x; }
int outer(int a) { struct point p = {a, 2}; return inner(a, &p) + inner(a + 1, &p); }
C
cat >run.c <<'C'
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
/* run ARCHIVE OFFSET ADDRESS: maps a library that is in an archive, and calls its function, as Android's linker does it. */
int main(int argc, char **argv)
{
	const int fd = open(argv[1], O_RDONLY);
	const off_t base = strtol(argv[2], NULL, 0);
	char *start = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	Elf64_Ehdr e;
	Elf64_Phdr p;

	if (argc < 4 || pread(fd, &e, sizeof(e), base) != sizeof(e))
		return 1;
	for (int i = 0; i < e.e_phnum; i++)
		if (pread(fd, &p, sizeof(p), base + (off_t)e.e_phoff + i * (off_t)sizeof(p)) == sizeof(p) && p.p_type == PT_LOAD &&
		    mmap(start + (p.p_vaddr & ~4095ull), p.p_filesz + (p.p_vaddr & 4095), PROT_READ | (p.p_flags & PF_X ? PROT_EXEC : 0), MAP_PRIVATE | MAP_FIXED,
			 fd, base + (off_t)(p.p_offset & ~4095ull)) == MAP_FAILED)
			return 1;
	return ((int (*)(int))(start + strtol(argv[3], NULL, 16)))(5) != 21;
}
C
gcc -g -O1 -shared -fPIC -o libz.so lib.c && gcc -O1 -o run run.c || exit 1
python3 - <<'PY'
import zipfile
data = open('libz.so', 'rb').read()
def add(z, name, aligned, method=zipfile.ZIP_STORED):
    info = zipfile.ZipInfo(name)
    info.compress_type = method
    if aligned:
        pad = -(z.fp.tell() + 30 + len(name) + 4) % 4096
        info.extra = b'\x35\xd9' + pad.to_bytes(2, 'little') + bytes(pad)
    z.writestr(info, data)
    return z.fp.tell() - len(data)
with zipfile.ZipFile('app.apk', 'w') as z:
    z.writestr('readme', 'hello')
    open('offset', 'w').write(str(add(z, 'lib/x86_64/libz.so', True)))
    add(z, 'lib/odd.so', False)
    add(z, 'lib/packed.so', False, zipfile.ZIP_DEFLATED)
    z.comment = b'a comment with PK\5\6 in it'
PY
offset=$(cat offset) outer=$(nm -D libz.so | awk '$3 == "outer" {print $1}') inner=$(nm libz.so | awk '$3 == "inner" {print $1}')
lib="$work/app.apk!/lib/x86_64/libz.so"
run -l "uprobe:$lib:*nner"
is "$out" "uprobe:$lib:inner" "functions in an archive are listed"
run -lv "uprobe:$lib:inner"
is "$(echo "$out" | tail -n +2)" "    int a
    struct point* p" "with their parameters"
call="$work/run $work/app.apk $offset $outer"
run -q -c "$call" -e "uprobe:$lib:inner { print((args.a, args.p->x)); } uretprobe:$lib:inner { printf(\"= %d\\n\", retval); }"
is "$rc $(echo "$out" | tr '\n' ' ')" "0 (5, 5) = 10 (6, 5) = 11 " "a function in an archive: arguments and results"
run -q -c "$call" -e "uprobe:$lib:0x$inner { @[func] = count(); } uprobe:$lib@lib.c:3 { @lines = count(); }"
like "$out" '@lines: 1$' "by source line"
like "$out" '@\[.*\]: 2$' "and by address"
run -q -c "$call" -e "uprobe:./app.apk!/lib/x86_64/libz.so:o*er { @ = count(); }"
is "$(echo "$out" | grep -c '^@: 1$')" 1 "a relative path, a wildcard"
start uprobe "p:$lib:inner a=%di:s32"
$call
sleep 0.3
stop
is "$(echo "$out" | grep -c ': inner: (0x.*) a=[56]$')" 2 "the tool uprobe"

refused() # ENTRY REASON
{
	run -e "uprobe:$work/app.apk!/$1:inner { }"
	is "$rc" 1 "$1 is refused"
	like "$err" "cannot probe $work/app.apk!/$1: $2" "and why: $2"
}
refused lib/odd.so "the entry does not begin at a page"
refused lib/packed.so "the entry is compressed"
refused lib/none.so "the archive has no such entry"
run -e "uprobe:$work/libz.so!/x:inner { }"
like "$err" "cannot probe $work/libz.so!/x: it is no ZIP archive" "what is no archive"
run -e "uprobe:$work/none.apk!/x:inner { }"
like "$err" "No such file or library: $work/none.apk!/x" "an archive that is not there"

# --- names that are not unique ---
for i in 1 2 3; do
	printf '__attribute__((noinline)) static int twin(int n) { return n + %d; }\n%sint call%d(int n) { return twin(n) * 2; }\n' $i "$([ $i != 2 ] || echo '__attribute__((noinline)) static int alone(int n) { return n; } int use(int n) { return alone(n); } ')" $i >twin$i.c
done
printf 'int call1(int), call2(int), call3(int);\n__attribute__((noinline)) int single(int n) { return n; }\nint main(int c, char **v) { return call1(c) + call2(c) + call3(c) + single(c) == 0; }\n' >main.c
gcc -O1 -g -fno-inline -fno-ipa-cp -fno-ipa-icf -o twins main.c twin1.c twin2.c twin3.c || exit 1
set -- $(nm -n twins | awk '$3 == "twin" {sub(/^0*/, "0x", $1); print $1}')
run -q -c ./twins -e "uprobe:$work/twins:twin { print(1); }"
is "$rc" 1 "a name that three functions have is refused"
like "$err" "the name is not unique: 3 functions are called twin, at $1 \(twin1.c:1\), $2 \(twin2.c:1\), $3 \(twin3.c:1\)" "how many, and where"
like "$err" "HINT: uprobe:$work/twins:$1 means the first, uprobe:$work/twins:twi\[n\] all of them" "and how to choose"
run -q -c ./twins -e "uprobe:$work/twins:$2 { @ = count(); }"
is "$(echo "$out" | tr -d '\n')" "@: 1" "which the hint says truly: one of them"
run -q -c ./twins -e "uprobe:$work/twins:twi[n] { @ = count(); }"
is "$(echo "$out" | tr -d '\n')" "@: 3" "and all"
run -q -c ./twins -e "uprobe:$work/twins:alone, uprobe:$work/twins:single { @ = count(); }"
is "$rc $(echo "$out" | tr -d '\n')" "0 @: 1" "a local name that is unique, and a global one"
done_testing
