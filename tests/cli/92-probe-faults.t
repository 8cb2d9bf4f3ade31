#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe: the thirteen faults of perf probe 6.1, by number. Each has the value that the program itself prints, recorded by a live probe, or
# a refusal with its reason.
. "$(dirname "$0")/lib.sh"
need_root
[ -e /sys/kernel/tracing/uprobe_events ] || { echo "1..0 # SKIP needs uprobes"; exit 0; }
chmod 755 "$work"
cd "$work" || exit 1
export RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}"
export HOME="$work" PERF_CONFIG=/dev/null LC_ALL=C
group=faults$$
left() { grep -q ":$group" /sys/kernel/tracing/uprobe_events; }
# Who enables all events meanwhile holds ours: a group for each time, so that nothing depends on their removal, which is waited for here.
trap 'left && until_true $pantrace probe -q -d "$group*:*"; rm -rf "$work"' EXIT

# recorded PROGRAM DEFINITION...: $said, the lines that the program prints of itself, "EVENT NAME=VALUE ...", and $seen, the same of the
# events. The name of an event is that of a line. Warnings are in $told.
recorded()
{
	recorded_app=$1 recorded_group=${group}_$((times += 1))
	shift
	for definition; do
		set -- "$@" "$recorded_group:$definition"
		shift
	done
	told=$($pantrace probe -x "$recorded_app" "$@" 2>&1 >/dev/null)
	rc=$?
	$pantrace tpoint "$recorded_group:*" -- "./$recorded_app" >trace 2>trace.err </dev/null
	seen=$(sed -n 's/^.* \([a-z_0-9]*\): (0x[0-9a-f]*) /\1 /p' trace | tr -d '"')
	said=$(grep -E '^[a-z_0-9]+ [a-z_0-9]+=' trace)
	$pantrace probe -q -d "$recorded_group:*"
}
# same EVENT TEXT: all lines of the event are as the program says them, and there are some
same()
{
	is "$(printf '%s\n' "$seen" | grep "^$1 ")" "$(printf '%s\n' "$said" | grep "^$1 ")" "$2"
	[ -n "$(printf '%s\n' "$seen" | grep "^$1 ")" ]
	ok "$2: it was hit"
}
has() { command -v "$1" >/dev/null; }

cat >faults.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct node {
	long id;
	unsigned int flags : 5, kind : 3, : 7, wide : 17;
	unsigned long most : 33, rest : 20;
	double weight;
	float small;
	struct node *next;
};
int counter = 5;
static short hidden = -7;
static long zeroed;
char text_of_all[] = "global";
static inline __attribute__((always_inline)) int mix(int x, int y)
{
	int z = x * 31 + y;

	__asm__ volatile("nop" : : "r"(z) : "memory");
	return z ^ (z >> 3);
}
static inline __attribute__((always_inline)) int once(int a, int b)
{
	__asm__ volatile("nop" ::: "memory");
	return a + b;
}
__attribute__((cold, noinline)) static void never(int x)
{
	printf("never %d\n", x);
	exit(1);
}
__attribute__((noinline)) int bits(struct node *n)
{
	printf("bits flags=%u kind=%u wide=%u most=%lu rest=%lu\n", n->flags, n->kind, n->wide, (unsigned long)n->most,
	       (unsigned long)n->rest);
	return n->flags;
}
__attribute__((noinline)) int floats(int a, double d, struct node *n, float f, long b)
{
	unsigned long raw;
	unsigned int half;

	memcpy(&raw, &n->weight, 8);
	memcpy(&half, &n->small, 4);
	printf("floats a=%d b=%ld weight=0x%lx small=0x%x\n", a, b, raw, half);
	return a + (int)d + (int)f + (int)b;
}
__attribute__((noinline)) int globals(int add)
{
	static int calls = 40;

	printf("globals counter=%d hidden=%d zeroed=%ld calls=%d text=%s\n", counter, hidden, zeroed, calls, text_of_all);
	counter += add;
	hidden -= add;
	zeroed += add;
	return calls++;
}
/* Some of its copies have no `b`, which is a constant or not there. */
__attribute__((noinline)) int copies(const char *text, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		printf("mix x=%d y=%d\n", text[i], n);
		sum += mix(text[i], n);
	}
	printf("once a=%d b=%d\n", n, 4);
	sum += once(n, 4);
	printf("once a=%d b=%d\n", sum, n);
	return once(sum, n);
}
/* Its second part lies elsewhere (.cold). */
__attribute__((noinline)) int parts(int *array, int n)
{
	int local[4] = {n, 2, 3, 4};

	for (int i = 0; i < n; i++) {
		if (array[i] < 0)
			never(array[i] + local[i & 3]);
		local[i & 3] += array[i];
		printf("parts i=%d n=%d local=%d\n", i, n, local[0]);
	}
	return local[0] + local[n & 3];
}
__attribute__((noinline)) void *real(unsigned long bytes)
{
	printf("alias bytes=%lu\n", bytes);
	return malloc(bytes);
}
extern __typeof__(real) other_name __attribute__((alias("real")));
int main(void)
{
	struct node second = {.next = NULL}, n = {.flags = 21, .kind = 5, .wide = 70001, .most = 0x1fffffffful, .rest = 999999,
						  .weight = -2.25, .small = 1.5f, .next = &second};
	int array[3] = {5, 6, 7}, sum = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < 2; i++) {
		n.flags = 21 + i;
		sum += bits(&n) + floats(i, 2.5 + i, &n, -0.5f, -4000000000l) + globals(i + 1) + copies("hey", 3) + parts(array, 3);
		free(other_name(100 + i));
	}
	return sum == 42;
}
C
gcc -g -O2 -o faults faults.c || exit 1

# ---- 1: bit-fields are read at the wrong end, or not at all ----
for form in 4 5; do
	gcc "-gdwarf-$form" -O2 -o "bits$form" faults.c
	recorded "bits$form" 'bits=bits n->flags n->kind n->wide n->most n->rest'
	same bits "fault 1: bit-fields in DWARF $form"
done

# ---- what its second part (.cold) is, says nothing of where a function begins ----
nm faults | grep -q ' parts\.cold'
ok "a function in two parts"
at=$(grep -n 'printf("parts' faults.c | cut -d: -f1)
recorded faults "parts=faults.c:$at i n local=local[0]"
same parts "a function in two parts: locals in its frame"
$pantrace probe -x faults -D parts+99999 >out 2>&1
like "$(cat out)" 'Offset 99999 is bigger than the size of parts' "a function in two parts: its size"

# ---- 2: of a location that is computed only the first operation is taken ----
recorded faults 'mix=mix y'
is "$(printf '%s\n' "$seen" | sed -n 's/^mix //p')" "$(printf '%s\n' "$said" | sed -n 's/^mix x=[0-9]* //p')" "fault 2: an inlined parameter in a register"
recorded faults 'mix=mix x'
if [ "$rc" = 0 ]; then
	is "$(printf '%s\n' "$seen" | sed -n 's/^mix //p')" "$(printf '%s\n' "$said" | sed -n 's/^mix \(.*\) y=.*/\1/p')" "fault 2: a location of several operations"
else
	like "$told" "its value is (computed|a sum)" "fault 2: what is computed is refused"
fi

# ---- 3: one floating-point parameter takes all the others down ----
recorded faults 'floats=floats $params weight=n->weight small=n->small'
is "$rc" 0 "fault 3: \$params with floating-point parameters"
like "$told" 'left out, d: it is in a floating-point register' "fault 3: those are named"
seen=$(printf '%s\n' "$seen" | sed 's/ n=0x[0-9a-f]*//')
same floats "fault 3: the others have their values, those in memory their bits"

# ---- 4: static and global variables are refused by the kernel ----
recorded faults 'globals=globals counter hidden zeroed calls text=text_of_all:string'
same globals "fault 4: global, static, zeroed, local static and text"
gcc -g -O1 -no-pie -o fixed faults.c
recorded fixed 'globals=globals counter hidden zeroed calls text=text_of_all:string'
same globals "fault 4: in a program that has a fixed address"

# ---- 5: a value that some inlined copies lack; what was added before a failure stays ----
recorded faults 'once=once a b'
is "$rc" 0 "fault 5: copies with and without a value"
same once "fault 5: each copy with what it has"
unlike "$told" 'deade12d' "fault 5: and no invented number"
$pantrace probe -q -x faults "$group:one=bits" "$group:two=mix x=%nothing" "$group:three=bits" 2>err
is "$?" 1 "fault 5: one of three is refused by the kernel"
is "$(grep -c ":$group/" /sys/kernel/tracing/uprobe_events)" 0 "fault 5: none is left"

# ---- 6: C++ and Rust ----
cat >names.cc <<'C'
#include <cstdio>
namespace ns {
struct base { int id; short half; };
struct other { long pad; int second; };
struct inner { int depth; };
struct thing : base, other {
	long value;
	const char *label;
	inner in;
	static int made;
	__attribute__((noinline)) long get(int extra) const;
};
int thing::made = 42;
struct shared : virtual base { long own; __attribute__((noinline)) long look(int n); };
long shared::look(int n) { printf("look n=%d own=%ld\n", n, own); return own + n + id; }
long thing::get(int extra) const
{
	printf("get extra=%d value=%ld id=%d half=%d second=%d label=%s depth=%d made=%d\n", extra, value, id, half, second, label, in.depth, made);
	return value + extra;
}
__attribute__((noinline)) void over(int number) { printf("over_int number=%d\n", number); }
__attribute__((noinline)) void over(const thing &t, int &n) { printf("over_thing value=%ld n=%d\n", t.value, n); }
template <class T> __attribute__((noinline)) T twice(T x) { printf("twice x=%ld\n", (long)x); return x + x; }
namespace { __attribute__((noinline)) void hidden(unsigned char *c) { printf("hidden c=%s\n", (char *)c); } }
struct pod { int a; explicit pod(int v); ~pod(); int operator+(int o) const; };
__attribute__((noinline)) pod::pod(int v) : a(v) { printf("pod v=%d\n", v); }
__attribute__((noinline)) pod::~pod() { printf("gone a=%d\n", a); }
__attribute__((noinline)) int pod::operator+(int o) const { printf("plus o=%d a=%d\n", o, a); return a + o; }
}
int main(int c, char **)
{
	ns::thing t;
	setvbuf(stdout, nullptr, _IOLBF, 0);
	t.id = 3; t.half = -7; t.second = 99; t.label = "lab"; t.value = 4000000000l; t.in.depth = 11;
	t.get(5);
	ns::shared s;
	s.id = 8; s.own = 77;
	s.look(3);
	ns::over(7);
	int number = -12;
	ns::over(t, number);
	unsigned char text[] = "text";
	ns::hidden(text);
	ns::pod p(4 + c);
	return ((p + 5) + (int)(ns::twice(8) + ns::twice(9l))) == 0;
}
C
for build in 'g++ -O0 -g' 'g++ -O2 -g' 'clang++ -O1 -g' 'clang++ -O0 -gdwarf-4'; do
	if ! has "${build%% *}" || ! $build -o names names.cc 2>/dev/null; then
		skip "fault 6: $build" "it does not compile here"
		continue
	fi
	recorded names 'get=ns::thing::get extra this->value this->id this->half this->second this->label:string depth=this->in.depth made' \
		'look=ns::shared::look n this->own' 'over_int=ns::over(int) number' "over_thing='ns::over(ns::thing const&, int&)' t.value n" \
		"hidden='ns::(anonymous namespace)::hidden' c=c:string" 'pod=ns::pod::pod v' 'gone=ns::pod::~pod this->a' "plus='ns::pod::operator+' o this->a"
	is "$rc" 0 "fault 6: $build: added" || printf '%s\n' "$told" | sed 's/^/# /' >&2
	same get "fault 6: $build: this, inherited members, a member of a member, a static member"
	same look "fault 6: $build: a class with a virtual base"
	same over_int "fault 6: $build: one overload"
	same over_thing "fault 6: $build: references"
	same hidden "fault 6: $build: an anonymous namespace"
	same pod "fault 6: $build: a constructor"
	same gone "fault 6: $build: a destructor"
	same plus "fault 6: $build: an operator"
	recorded names 'twice=ns::twice x' 'overs=ns::over'
	is "$(printf '%s\n' "$seen" | sed -n 's/^twice[_0-9]* x=//p' | tr '\n' ' ')" '8 9 ' "fault 6: $build: both instances of a template"
	is "$($pantrace probe -x names -D ns::over | wc -l)" 2 "fault 6: $build: both overloads"
	is "$($pantrace probe -x names -D _ZN2ns4overEi | wc -l)" 1 "fault 6: $build: a linkage name is one of them"
	$pantrace probe -x names -D 'ns::shared::look this->id' >out 2>&1
	like "$(cat out)" 'has no member id' "fault 6: $build: what lies in a virtual base is refused"
done
$pantrace probe -x names -D 'ns::over(ns::thing const&, int&) t.value' >out 2>&1
like "$(cat out)" "HINT: .*in quotes" "fault 6: a name with blanks: what to do"
$pantrace probe -x names -D 'ns::pod::operator+ o' >out 2>&1
like "$(cat out)" "HINT: .*in quotes" "fault 6: an operator: what to do"
is "$($pantrace probe -x names -D "'ns::(anonymous namespace)::hidden'" | sed 's/.*\///; s/ .*//')" names:0x"$(nm names | sed -n 's/^0*\([0-9a-f]*\) t .*hidden.*/\1/p')" \
	"fault 6: where an anonymous namespace's function is"
like "$($pantrace probe -x names -D "'ns::(anonymous namespace)::hidden'")" '^p:probe_names/ns__hidden ' "fault 6: and what its event is called"
cat >rust.rs <<'R'
mod deep {
    pub struct Part { pub depth: u16, pub on: bool }
    pub struct P { pub a: i32, pub b: u64, pub part: Part }
    impl P {
        #[inline(never)]
        pub fn show(&self, extra: i32, list: &[u8; 4]) -> u64 {
            let sum = self.b + extra as u64;
            println!("show extra={} a={} b={} depth={} third={}", extra, self.a, self.b, self.part.depth, list[2]);
            sum
        }
    }
    #[inline(never)]
    pub fn generic<T: std::fmt::Display + Copy>(value: T) { println!("generic value={}", value); }
}
fn main() {
    let p = deep::P { a: -4, b: 9000000000, part: deep::Part { depth: 60000, on: true } };
    if p.part.on { p.show(6, &[1, 2, 3, 4]); }
    deep::generic(-17i32);
    deep::generic(18u64);
}
R
for level in 0 2; do
	if ! has rustc || ! rustc -g -C opt-level=$level -o rust rust.rs 2>/dev/null; then
		skip "fault 6: Rust, opt-level $level" "there is no rustc that works"
		continue
	fi
	at='' third='third=list[2]:u8'
	[ $level = 0 ] || third='' # it is a constant then
	[ $level = 0 ] || at=:2
	recorded rust "show=rust::deep::P::show$at extra self.a b=self.b:u64 depth=self.part.depth:u16 $third" 'generic=rust::deep::generic value'
	[ $level = 0 ] || said=$(printf '%s\n' "$said" | sed 's/ third=.*//')
	is "$rc" 0 "fault 6: Rust, opt-level $level: a path with ::"
	same show "fault 6: Rust, opt-level $level: self, members, an element"
	if [ $level = 2 ]; then
		$pantrace probe -x rust -D 'rust::deep::P::show extra' >out 2>err
		# The compiler knows that it is always 6, and does not pass it.
		like "$(cat err)" 'has only begun here, and has not stored it yet' "fault 6: what the caller does not pass is not invented"
	fi
	is "$(printf '%s\n' "$seen" | sed -n 's/^generic[_0-9]* value=//p' | tr '\n' ' ' | sed 's/0x12/18/')" '-17 18 ' "fault 6: Rust, opt-level $level: a generic function"
done

# ---- 7: clang's optimised code is taken for unoptimised, and its beginning skipped ----
if has clang && clang -g -O2 -o clanged faults.c 2>/dev/null; then
	is "$($pantrace probe -x clanged -D 'floats a' 2>err | sed 's/ a=.*//')" "p:probe_clanged/floats $work/clanged:0x$(nm clanged | sed -n 's/^0*\([0-9a-f]*\) T floats$/\1/p')" \
		"fault 7: the probe is where the function begins"
	is "$(cat err)" "" "fault 7: and nothing is said of optimisation"
	recorded clanged 'floats=floats a b weight=n->weight small=n->small'
	same floats "fault 7: the values"
else
	skip "fault 7: clang" "it does not compile here"
fi

for build in 'clang -O0 -g -fomit-frame-pointer' 'gcc -O0 -g -fomit-frame-pointer'; do
	if ! has "${build%% *}" || ! $build -o clanged faults.c 2>/dev/null; then
		skip "fault 7: $build" "it does not compile here"
		continue
	fi
	recorded clanged 'floats=floats a b weight=n->weight small=n->small'
	same floats "fault 7: $build: offsets from the stack pointer count when there is a frame"
done

# ---- 8: split debug information ----
for build in 'gcc -gdwarf-5' 'gcc -gdwarf-4' 'clang -gdwarf-5'; do
	if ! has "${build%% *}" || ! $build -O1 -gsplit-dwarf -c -o split.o faults.c 2>/dev/null || ! ${build%% *} -o split split.o; then
		skip "fault 8: $build" "it does not compile here"
		continue
	fi
	recorded split 'globals=globals counter hidden add' 'bits=bits n->flags n->wide'
	said=$(printf '%s\n' "$said" | sed 's/^\(bits flags=[0-9]*\) .*\( wide=[0-9]*\) .*/\1\2/; s/^\(globals counter=[-0-9]* hidden=[-0-9]*\) .*/\1/')
	seen=$(printf '%s\n' "$seen" | sed 's/ add=.*//')
	same globals "fault 8: $build -gsplit-dwarf: globals"
	same bits "fault 8: $build -gsplit-dwarf: members"
	like "$($pantrace probe -x split -V bits)" 'struct node\*	n$' "fault 8: $build: -V"
	for option in -D -V; do
		mkdir away && mv ./*.dwo away/
		$pantrace probe -x split $option bits:1 >out 2>&1
		is "$?" 1 "fault 8: $build: $option without its .dwo file"
		like "$(cat out)" 'debug information of .*/split is missing: .*[.]dwo' "fault 8: $build: $option: which is named"
		mv away/*.dwo . && rmdir away
	done
	rm -f split.o ./*.dwo
	$pantrace probe -x split -D 'bits n->flags' >out 2>&1
	is "$?" 1 "fault 8: $build: without its .dwo file"
	like "$(cat out)" 'dwo' "fault 8: $build: which is named"
done

# ---- 9: another name of a function ----
recorded faults 'alias=other_name bytes=bytes:u64'
same alias "fault 9: parameters by an alias"

# ---- 10: -L of an inlined function ends with it, and no line is negative ----
is "$($pantrace probe -x faults -L mix | grep -c '^ *[0-9]')" "$($pantrace probe -x faults -L mix | grep '^ *[0-5]  ' | grep -c .)" "fault 10: no line behind the function's end"
unlike "$($pantrace probe -x faults -L mix)" '^ *[0-9]+ .*(once|never)' "fault 10: nor one of the next function"
for line in 1 2 3 4 5 6 7; do
	$pantrace probe -x faults -D "mix:$line" 2>&1
done >out
unlike "$(cat out)" ':-[0-9]|mix:[0-9]{3}' "fault 10: no hint names a line that there is not"

# ---- 11: more places than allowed ----
{
	for i in $(seq 140); do echo "__attribute__((noinline)) int many_$i(int x) { __asm__ volatile(\"\" : : : \"memory\"); return x + $i; }"; done
	echo 'int main(int c, char **v) { return 0'
	for i in $(seq 140); do echo "+ many_$i(c)"; done
	echo '; }'
} >many.c
gcc -g -O1 -o many many.c
for definition in 'many_*' 'many_* x'; do
	$pantrace probe -x many -D "$definition" >out 2>err
	is "$?$(cat out)" 1 "fault 11: '$definition': nothing instead of a part"
	like "$(cat err)" 'Too many\( > 128\) probe point found' "fault 11: '$definition': it is said"
	is "$($pantrace probe -x many --max-probes 140 -D "$definition" | wc -l)" 140 "fault 11: '$definition': --max-probes allows all"
done

# ---- 12: -D leaves nothing, and the cache never gives what was not asked for ----
rm -rf .debug
$pantrace probe -x faults -D 'bits n->flags' >out
[ ! -e .debug ]
ok "fault 12: -D makes no cache"
$pantrace probe -x faults --cache -n -q -a "$group:ev=bits n->flags n->kind"
$pantrace probe -x faults --cache -D "$group:ev=bits n->flags" >out
is "$(cat out)" "$($pantrace probe -x faults -D "$group:ev=bits n->flags")" "fault 12: another definition of a cached name has its own arguments"
objcopy --strip-debug faults bare
$pantrace probe -x bare --cache -D "$group:ev=bits n->flags" >out 2>&1
is "$?" 1 "fault 12: and is refused where only the cache could help"

# ---- 13: every failure has a text, and one of the documented codes ----
failed=''
while read -r definition; do
	$pantrace probe -x faults -D "$definition" >out 2>err
	case "$?-$(grep -c ERROR err)-$(grep -c . out)" in [12]-[1-9]*-0) ;; *) failed="$failed|$definition" ;; esac
done <<'L'
nosuch
bits nosuch
bits n->nosuch
bits n.id
bits n->id->x
bits n->id:string
bits n->flags:string
bits n->next[
bits:999
bits+99999
bits%return n
bits:1%return
faults.c
faults.c:99999
nosuch.c:1
faults.c;no such text
0x0
0xffffffffffffff
%sdt_no:such
=bits
a:=bits
a:b:c=bits
a_name_of_an_event_that_is_longer_than_the_sixty_three_characters_which_the_kernel_takes=bits
bits x=
floats d
bits n->next->next->next->next->next->next->next->next->next->next->next->next->next->next->next->id
L
is "$failed" "" "fault 13: nothing fails without a text"
done_testing
