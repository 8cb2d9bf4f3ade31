#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Arguments of a function equal what gdb prints; return values; counts are exact under concurrency.
. "$(dirname "$0")/lib.sh"
need_root

target=$programs/calls.dyn
cat >"$work/gdb" <<'G'
set pagination off
set print address off
break work
commands
silent
printf "%d %s %d %s %d %lu %d %d\n", number, text, record->id, record->name, small, wide, sixth, seventh
continue
end
run 5
G
gdb -q -batch -x "$work/gdb" "$target" 2>/dev/null | grep '^[0-9]* item' >"$work/want"
run -q -c "$target 5" -e "
struct record { int id; char name[16]; };
uprobe:$target:work {
	\$r = (struct record *)arg2;
	printf(\"%d %s %d %s %d %lu %d %d\n\", arg0, str(arg1), \$r->id, \$r->name, (int8)arg3, arg4, arg5,
	       *(int32 *)uptr(reg(\"sp\") + 8));
}"
is "$out" "$(cat "$work/want")" "arguments equal gdb's"

run -q -c "$target 5" -e "uretprobe:$target:negative { printf(\"%d\n\", retval); }"
is "$out" "0
-1
-2
-3
-4" "return values"

run -q -c "$target 20000 4" -e "
uprobe:$target:work { @plain++; @count = count(); @sum = sum(arg0); @by[arg0 % 10] = count(); @h = hist(arg0);
	@l = lhist(arg0, 0, 20000, 1000); @s = stats(arg0); @min = min(arg0); @max = max(arg0); @add += 2; }"
like "$out" '^@plain: 80000$' "@x++ is exact with four threads"
like "$out" '^@count: 80000$' "count() is exact"
like "$out" '^@sum: 799960000$' "sum() is exact"
like "$out" '^@add: 160000$' "@x += n is exact"
like "$out" '^@s: \{ \.count = 80000, \.average = 9999, \.total = 799960000 \}$' "stats()"
like "$out" '^@min: 0$' "min()"
like "$out" '^@max: 19999$' "max()"
is "$(echo "$out" | grep -c '^@by\[[0-9]\]: 8000$')" 10 "count() by key is exact"
total()
{
	echo "$out" | awk -v m="$1" '$0 ~ "^@" { on = $1 == m } on && match($0, /[)\]] +[0-9]+ +\|/) { s = substr($0, RSTART + 1, RLENGTH - 2); n += s } END { print n }'
}
is "$(total @h:)" 80000 "hist() holds every event"
is "$(total @l:)" 80000 "lhist() holds every event"
# Programs of user probes may be preempted by themselves on one CPU: their strings must not mix.
run -q -c "$target 20000 8" -e "uprobe:$target:work { printf(\"%d %s\n\", arg0, str(arg1)); }"
is "$(awk '$2 != "item-" $1' "$work/out" | grep -vc '^Lost')" 0 "strings of threads that preempt each other do not mix"
# Kernels execute the copy of an AVX-512 instruction wrongly: a probe on one crashes the program.
cat >"$work/wide.c" <<'END'
__asm__(".globl wide\n.type wide, @function\nwide: .byte 0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xc6\nret\n.size wide, . - wide\n");
int main(void) { return 0; }
END
gcc -no-pie "$work/wide.c" -o "$work/wide"
run --dry-run -e "uprobe:$work/wide:wide { @ = count(); }"
like "$err" 'would crash programs' "no probe on an AVX-512 instruction, by name"
run --dry-run -e "uprobe:$work/wide:0x$(nm "$work/wide" | sed -n 's/ T wide$//p') { @ = count(); }"
like "$err" 'would crash programs' "nor by address"
is "$rc" 1 "exit code"
# Linux 6.18 makes a call of a probed nop of five bytes, which kills children that are forked later: events and children, or a refusal.
gcc -O1 -o "$work/nops" "$top/tests/programs/nops.c"
for f in one five ten split; do
	run -q -c "$work/nops 20" -e "uprobe:$work/nops:$f { @ = count(); }"
	case $err in
	*'would crash programs'* | *'cannot probe the instruction'*)
		is "$rc-$(echo "$out" | grep -c child)" 1-0 "a nop that cannot be probed is refused ($f)"
		;;
	*)
		like "$out" '^child 0$' "a child of a program with a probed nop lives ($f)"
		like "$out" '^@: 20$' "and the nop is counted ($f)"
		;;
	esac
done
# --- what glibc 2.34 moved into libc ---
if "$pantrace" -l 'uprobe:libc:pthread_create' >/dev/null 2>&1 && ! "$pantrace" -l 'uprobe:libpthread:pthread_create' >/dev/null 2>&1; then
	run -q -c /bin/true -e 'uprobe:libpthread:pthread_create { @ = count(); } begin { printf("attached\n") }'
	is "$out" attached "a function of libpthread that lives in libc now"
	like "$err" "WARNING: libpthread.so.0 is part of libc.so.6 here .*pthread_create is probed there" "and it is said"
	run -q -c "$programs/calls.dyn 1 3" -e 'config = { missing_probes = ignore } uprobe:libpthread:pthread_create, uprobe:libc:pthread_create { @ = count(); }'
	is "$(echo "$out" | grep .)$err" "@: 2" "both places named, one of which may be missing: each call once"
	run -q -e 'uprobe:libpthread:pthread_creat { }'
	is "$rc" 1 "one that is in neither"
	like "$err" "No matches for uprobe .*libpthread.so.0:pthread_creat" "is looked for where it was asked for"
fi
# --- 32-bit programs: arguments on the stack, words of 4 bytes ---
cat >"$work/small.c" <<'C'
__attribute__((noinline)) int work(int a, int b, char *s) { __asm__ volatile("" : "+m"(*s)); return a + b + s[0]; }
void _start(void)
{
	char text[] = "hello";
	volatile int r = 0;
	for (int i = 0; i < 3; i++)
		r += work(i, -7, text);
	__asm__ volatile("int $0x80" :: "a"(1), "b"(0));
}
C
if gcc -m32 -O1 -nostdlib -static -fno-stack-protector -o "$work/small" "$work/small.c" 2>/dev/null && "$work/small"; then
	run -q -c "$work/small" -e "uprobe:$work/small:work { printf(\"%d %d %s\\n\", (int32)arg0, (int32)arg1, str(arg2)); } uretprobe:$work/small:work { printf(\"= %d\\n\", (int32)retval); }"
	is "$(echo "$out" | tr '\n' ,)" "0 -7 hello,= 97,1 -7 hello,= 98,2 -7 hello,= 99," "a 32-bit program: arguments and results"
	run -q -e "uprobe:$work/small:work { print(sarg0); }"
	is "$rc" 1 "sarg0 of a 32-bit program is refused"
	like "$err" "sarg0 reads 64-bit arguments; this is a 32-bit program" "and why"
fi
# --- a package of split debug information (.dwp), without the .dwo files that it was made of ---
mkdir "$work/split"
cat >"$work/split/a.c" <<'C'
struct point { int x; long y; };
extern int second(struct point *p, char c);
__attribute__((noinline)) int first(int alpha, char beta) { return alpha + beta; }
int main(void) { struct point p = {3, 4}; return first(5, 'q') + second(&p, 'z') == 0; }
C
cat >"$work/split/b.c" <<'C'
struct point { int x; long y; };
__attribute__((noinline)) int second(struct point *p, char c) { return p->x + c; }
C
if (cd "$work/split" && gcc -gdwarf-4 -gsplit-dwarf -O1 -c a.c b.c && gcc -o p a.o b.o && timeout 10 dwp -e p -o p.dwp && rm ./*.dwo) >/dev/null 2>&1; then
	run -lv "uprobe:$work/split/p:second"
	is "$(echo "$out" | tail -n +2)" "    struct point* p
    char c" "a .dwp: the parameters of a function of its second unit"
	run -q -c "$work/split/p" -e "uprobe:$work/split/p:first { print((args.alpha, args.beta)); } uprobe:$work/split/p:second { print((*args.p, args.c)); } uprobe:$work/split/p@a.c:3 { print(\"line\"); }"
	is "$(echo "$out" | tr '\n' ' ')" "(5, 113) line ({ .x = 3, .y = 4 }, 122) " "a .dwp: arguments, types and lines"
	size=$(stat -c %s "$work/split/p.dwp")
	cp "$work/split/p.dwp" "$work/split/good"
	crashed=0
	for i in $(seq 1 40); do
		cp "$work/split/good" "$work/split/p.dwp"
		printf "\\$(printf %o $((i * 37 % 256)))" | dd of="$work/split/p.dwp" bs=1 seek=$((i * 7919 % size)) conv=notrunc 2>/dev/null
		run -lv "uprobe:$work/split/p:second"
		[ "$rc" -lt 128 ] || crashed=$((crashed + 1))
	done
	is "$crashed" 0 "a damaged .dwp does no harm"
fi
done_testing
