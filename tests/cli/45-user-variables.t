#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Variables of the source at lines of programs: what is recorded is what the program itself prints, for each compiler, level and form of
# debug information; what cannot be read is refused.
. "$(dirname "$0")/lib.sh"
need_root

cat >"$work/t.c" <<'C'
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
enum color { RED = 1, GREEN = 5 };
struct item {
	unsigned kind : 3, flags : 5, wide : 11;
	enum color color;
	long value;
	char name[12];
	struct item *next;
};
struct pair { int a, b; };
int total = 7;
static short quiet = -3;
int table[4] = {10, 20, -30, 40};
static inline __attribute__((always_inline)) void step(int x, unsigned char y)
{
	long z = (long)x * 3 - y;
	printf("STEP x=%d y=%d z=%ld\n", x, y, z);
}
__attribute__((noinline)) int keep(struct item *p, const char *text, signed char small, bool flag, struct pair pair, int *numbers, long seventh, int last)
{
	quiet -= small;
	return p->next->next->flags + text[0] + flag + pair.b + numbers[1] + (int)seventh + last;
}
__attribute__((noinline)) int loop(const char *text, int count)
{
	int sum = 0;
	for (int i = 0; i < count; i++) {
		long twice = 2l * text[i] + total;
		sum += (int)twice;
		printf("LOOP i=%d sum=%d twice=%ld count=%d\n", i, sum, twice, count);
		step(text[i], (unsigned char)(i + 250));
	}
	return sum;
}
int main(int argc, char **argv)
{
	struct item third = {.kind = 5, .flags = 17, .wide = 1500, .color = GREEN, .value = -4000000000, .name = "third"};
	struct item second = {.name = "second", .next = &third}, first = {.name = "first", .next = &second};
	setvbuf(stdout, NULL, _IOLBF, 0);
	quiet += (short)argc;
	for (int k = 0; k < 3; k++) {
		struct item *p = &first;
		printf("KEEP %s %u %u %u GREEN %ld t%d %d true %d %d %d %d %d %d -12345678901 %d\n", p->next->next->name, third.kind, third.flags, third.wide,
		       third.value, k, -5 - k, k, k + 1, table[2], total, quiet, table[3], k * 100);
		char text[3] = {'t', (char)('0' + k), 0};
		total += keep(p, text, (signed char)(-5 - k), true, (struct pair){k, k + 1}, table, -12345678901, k * 100) & 1;
	}
	return loop("hello", 5) == 0;
}
C
line()
{
	grep -n "$1" "$work/t.c" | cut -d: -f1
}
# Pairs "number name value" of each hit: as the program says it, as it was recorded.
said()
{
	sed -n "s/^$1 //p" "$2" | awk '{ for (i = 1; i <= NF; i++) { split($i, a, "="); print NR, a[1], a[2] } }'
}
recorded()
{
	sed -n "s/^$1 { //p" "$2" | awk '{ n = split($0, w, ", "); for (i = 1; i <= n; i++) if (match(w[i], /^\.[a-z]+ = -?[0-9]+/)) { split(w[i], a, " "); print NR, substr(a[1], 2), a[3] } }'
}
# compare NAME SAID RECORDED: every recorded pair that the program said something of is equal; the number of them in $equal.
compare()
{
	said "$2" "$work/out" >"$work/said"
	recorded "$3" "$work/tool" >"$work/recorded"
	equal=$(grep -cxFf "$work/recorded" "$work/said")
	awk 'NR == FNR { want[$1 " " $2] = $3; next } ($1 " " $2) in want && want[$1 " " $2] != $3 { print "# " $0 ", not " want[$1 " " $2] }' "$work/said" "$work/recorded" >"$work/wrong"
	cat "$work/wrong"
	is "$(wc -l <"$work/wrong")" 0 "$1: no value is another than the program's"
}

form='%s %u %u %u %s %ld %s %d %s %d %d %d %d %d %d %ld %d'
values='vars.p->next->next->name, vars.p->next->next->kind, vars.p->next->next->flags, vars.p->next->next->wide, vars.p->next->next->color,
	vars.p->next->next->value, str(vars.text), vars.small, vars.flag ? "true" : "false", vars.pair.a, vars.pair.b, vars.numbers[2], vars.total,
	vars.quiet, vars.table[3], vars.seventh, vars.last'
at_loop=$(line 'printf("LOOP') at_step=$(line 'printf("STEP')
for build in 'gcc -O0 -gdwarf-5' 'gcc -O1 -gdwarf-4' 'gcc -O2 -gdwarf-5' 'gcc -O2 -gdwarf-4 -gz' 'gcc -O2 -g -gsplit-dwarf' 'gcc -O0 -gdwarf-4 -gsplit-dwarf' 'gcc -O2 -g -no-pie' \
	'clang -O0 -gdwarf-5' 'clang -O1 -gdwarf-4' 'clang -O2 -gdwarf-5' 'clang -O2 -gdwarf-5 -gsplit-dwarf' 'clang -O2 -gdwarf-4 -gz'; do
	if ! (cd "$work" && $build -w -c t.c -o t.o && ${build%% *} $(echo "$build" | grep -o -- '-no-pie') -o t t.o) 2>/dev/null; then
		skip "$build" "it does not compile here"
		continue
	fi
	those=$values
	# clang describes the first half of a struct in a register only.
	case $build in
	'clang -O'[12]*)
		those=$(echo "$values" | sed 's,vars.pair.a,vars.last / 100,; s,vars.pair.b,vars.last / 100 + 1,')
		run -q -e "uprobe:$work/t:keep:0 { print(vars.pair); }"
		like "$err" "HINT: a part of it is optimised out" "$build: half of a struct is refused"
		;;
	esac
	run -q -o "$work/tool" -c "$work/t" -e "
		uprobe:$work/t:keep:0 { printf(\"IS $form\\n\", $those); }
		uprobe:$work/t@t.c:$at_loop { printf(\"LOOPED \"); print(vars); }
		uprobe:$work/t@t.c:$at_step { printf(\"STEPPED \"); print(vars); }"
	is "$rc$err" 0 "$build"
	is "$(sed -n 's/^IS //p' "$work/tool")" "$(sed -n 's/^KEEP //p' "$work/out")" "$build: parameters, members, bit-fields, globals"
	compare "$build: locals" LOOP LOOPED
	case $build in
	*-O0*) is "$equal" 20 "$build: and all of them are there" ;;
	*) is "$((equal > 9))" 1 "$build: and most of them are there" ;;
	esac
	compare "$build: an inlined function" STEP STEPPED
done

# --- what cannot be read is refused ---
gcc -O2 -g -w -o "$work/t" "$work/t.c"
run -q -e "uprobe:$work/t:keep:0 { print(vars.smal); }"
like "$err" "No variable 'smal' is visible here" "a name that no variable has"
like "$err" "HINT: .*small" "and the one that was meant"
cat >"$work/gone.c" <<'C'
#include <stdio.h>
__thread int own = 4;
__attribute__((noinline)) int half(double weight, int n)
{
	int unused = n * 7;
	int sum = n + 1;
	printf("%d\n", sum);
	puts("end");
	return own + (int)weight;
}
int main(int argc, char **argv) { return half(2.5, argc) == 0; }
C
gcc -O2 -g -w -o "$work/gone" "$work/gone.c"
for row in 'weight floating-point' 'own thread-local' 'unused what.the.caller.passed|optimised.out' 'n what.the.caller.passed|optimised.out.here'; do
	run -q -e "uprobe:$work/gone@gone.c:8 { print(vars.${row%% *}); }"
	is "$rc-$(echo "$err" | grep -c "Can't read variable ${row%% *} here")" 1-1 "${row%% *} is refused"
	like "$err" "HINT: .*(${row#* })" "and why"
done
# --- print(vars) leaves nothing out without a word ---
cat >"$work/odd.c" <<'C'
#include <stdio.h>
#include <string.h>
struct mixed { int n; double d; };
static double use(double *p, float *f, char *a, char *b, struct mixed *m, char *v) { return *p + *f + a[0] + b[0] + m->n + v[0]; }
int work(int n, double weight)
{
	double local = weight * 2 + n;
	float half = (float)n / 2;
	char a[8] = "text", large[4096] = "";
	struct mixed m = {n, local};
	char v[n + 1];
	memset(v, 0, (size_t)n + 1);
	printf("ODD { .n = %d, .weight = %.9g, .local = %.9g, .half = %.9g, .a = %s, .large = <4096 bytes: too large>, .m = { .n = %d, .d = %.9g }, .v = <its size is known to the program only> }\n",
	       n, weight, local, (double)half, a, m.n, m.d);
	return use(&local, &half, a, large, &m, v) > 0;
}
int main(void) { return work(3, 2.5) + work(5, -1e100) == 0; }
C
gcc -O0 -g -w -o "$work/odd" "$work/odd.c"
run -q -c "$work/odd" -e "uprobe:$work/odd@odd.c:$(grep -n 'printf("ODD' "$work/odd.c" | cut -d: -f1) { print(vars); @ = vars; }"
is "$rc$err" 0 "variables that cannot be shown"
is "$(grep '^{' "$work/out")" "$(sed -n 's/^ODD //p' "$work/out")" "floating-point ones are, and the place of the others says why"
like "$out" '^@: \{ \.n = 5, .*\.large = <4096 bytes: too large>' "in maps, too"
run -q -f json -c "$work/odd" -e "uprobe:$work/odd@odd.c:13 { print(vars); }"
is "$(sed -n 's/^{/{/p' "$work/out" | jq -c 'select(.type == "value") | .data | [.n, .half, .large, .m.d]' | head -1)" '[3,1.5,"<4096 bytes: too large>",8]' "and as JSON"
run -q -e "uprobe:$work/odd@odd.c:13 { print(vars.local); }"
like "$err" "HINT: the language has no floating-point numbers; as a part of a whole, as in print.vars., it is shown" "by name there is a hint"
run -q -c "$work/gone" -e "uprobe:$work/gone@gone.c:8 { print(vars); } uprobe:$work/gone:half { print(args); }"
like "$out" '\.n = <(optimised out|it is what the caller passed)>' "what is optimised out"
like "$out" '^\{ \.weight = <float: cannot be shown>, \.n = 1 \}' "and parameters in floating-point registers"

cat >"$work/lib.c" <<'C'
int shown = 7;
static int kept = 8;
__attribute__((noinline)) int touch(int n) { return kept += n + shown; }
C
echo 'extern int shown; int touch(int); int main(void) { shown = 30; return touch(1) != 39; }' >"$work/user.c"
gcc -O1 -g -fPIC -shared -o "$work/libcopied.so" "$work/lib.c"
gcc -O1 -g -o "$work/user" "$work/user.c" -L"$work" -lcopied -Wl,-rpath,"$work"
run -q -e "uprobe:$work/libcopied.so:touch:0 { print(vars.shown); }"
like "$err" "a program may use a copy of its own of a library's exported variable" "a variable that may have been copied is refused"
run -q -c "$work/user" -e "uprobe:$work/libcopied.so:touch:0 { print(vars.kept); }"
is "$rc $out" "0 8" "one that stays in its library is read"
run -q -e "uretprobe:$work/t:keep { print(vars.p); }"
like "$err" "the function has returned" "no variables of a function that has returned"
strip -o "$work/bare" "$work/t"
run -q -e "uprobe:$work/bare:0x$(nm "$work/t" | sed -n 's/ T keep$//p') { print(vars); }" --unsafe
like "$err" "has no debug information" "a program without debug information"
run -q -e "uprobe:$work/bare:keep:3 { print(vars); }"
like "$err" "No DWARF debug info found" "nor lines of its functions"
run -q -e "uprobe:$work/t:kep:3 { print(vars); }"
like "$err" "knows no function 'kep'" "lines of a function that is not there"
run -q -e "uprobe:$work/t:keep:300 { print(1); }"
like "$err" "keep has no code at line 300 or behind it" "a line behind the function's end"

# --- C++: overloads, templates, methods ---
cat >"$work/p.cc" <<'C'
#include <cstdio>
namespace ns {
struct base { int id; };
struct thing : base {
	long value;
	__attribute__((noinline)) long get(int extra) const;
};
long thing::get(int extra) const
{
	long sum = value + extra;
	printf("GET %d %ld %d %ld\n", id, value, extra, sum);
	return sum;
}
__attribute__((noinline)) void over(int number) { printf("OVER %d\n", number); }
__attribute__((noinline)) void over(const thing &number) { printf("OVER %ld\n", number.value); }
template <class T> __attribute__((noinline)) T twice(T x) { return x + x; }
}
int main()
{
	ns::thing t;
	t.id = 3;
	t.value = 4000000000l;
	t.get(5);
	ns::over(7);
	ns::over(t);
	return (int)(ns::twice(8) + ns::twice(9l)) == 0;
}
C
for build in 'g++ -O0 -g' 'g++ -O2 -g' 'clang++ -O1 -g'; do
	if ! (cd "$work" && $build -w -o p p.cc) 2>/dev/null; then
		skip "$build" "it does not compile here"
		continue
	fi
	run -q -c "$work/p" -e "
		uprobe:$work/p:\"ns::thing::get\":0 { printf(\"IS %d %ld %d\n\", vars.this->id, vars.this->value, vars.extra); }
		uprobe:$work/p:\"ns::thing::get\":3 { printf(\"IS %ld\n\", vars.sum); }
		uprobe:$work/p:\"ns::over\":0 { printf(\"over\\n\"); }
		uprobe:$work/p:\"_ZN2ns4overEi\":0 { printf(\"IS %d\\n\", vars.number); }
		uprobe:$work/p:\"ns::twice\":0 { printf(\"twice %d\\n\", vars.x); }"
	is "$rc$err" 0 "$build"
	is "$(sed -n 's/^IS //p' "$work/out" | tr '\n' ,)" "3 4000000000 5,4000000005,7," "$build: this, members of a base class, locals, one overload"
	is "$(grep -c ^over "$work/out")" 2 "$build: both overloads"
	is "$(sed -n 's/^twice //p' "$work/out" | tr '\n' ,)" "8,9," "$build: both instances of a template"
done

# --- Rust ---
cat >"$work/r.rs" <<'R'
mod deep {
    pub struct P { pub a: i32, pub b: u64 }
    impl P {
        #[inline(never)]
        pub fn show(&self, extra: i32) -> u64 {
            let sum = self.b + extra as u64;
            println!("SHOW {} {} {} {}", self.a, self.b, extra, sum);
            sum
        }
    }
}
fn main() {
    let p = deep::P { a: -4, b: 9000000000 };
    p.show(6);
}
R
if command -v rustc >/dev/null && (cd "$work" && rustc -g -o r r.rs) 2>/dev/null; then
	run -q -c "$work/r" -e "uprobe:$work/r:\"r::deep::P::show\":2 { printf(\"IS %d %lu %d %lu\\n\", vars.self->a, vars.self->b, vars.extra, vars.sum); }"
	is "$rc$err" 0 "Rust"
	is "$(sed -n 's/^IS //p' "$work/out")" "$(sed -n 's/^SHOW //p' "$work/out")" "Rust: a path, members, locals"
else
	skip "Rust" "no rustc"
fi
done_testing
