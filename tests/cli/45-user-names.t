#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Finding functions of programs: overloads and templates of C++, sonames, wildcards, -p, a filter.
. "$(dirname "$0")/lib.sh"
need_root
if ! command -v g++ >/dev/null; then
	echo "1..0 # SKIP needs g++"
	exit 0
fi
t=$work/overloads
cat >"$t.cpp" <<'C'
#include <unistd.h>
#define APART __attribute__((noinline, noipa))
namespace ns {
struct S { int v; APART int get(int k) { return v + k; } };
APART int f(int a) { return a; }
APART int f(long a, const char *b) { return (int)a + b[0]; }
template <typename T> APART T g(T a) { return a; }
}
int main(int argc, char **argv)
{
	ns::S s{4};
	int sum = 0;
	do {
		sum += ns::f(1) + ns::f(2L, "x") + ns::g(3) + (int)ns::g(2L) + s.get(1);
		if (argc > 1)
			usleep(1000);
	} while (argc > 1);
	return sum == 0;
}
C
g++ -O1 -g -o "$t" "$t.cpp"

run -q -c "$t" -e "uprobe:$t:cpp:\"ns::f\" { @ = count(); }"
like "$out" '^@: 2$' "cpp:\"ns::f\" means all overloads"
run -q -c "$t" -e "uprobe:$t:cpp:\"ns::f(int)\" { printf(\"%d %d\\n\", arg0, args.a); }"
is "$out" "1 1" "cpp:\"ns::f(int)\" means one"
run -q -c "$t" -e "uprobe:$t:cpp:\"ns::g\" { @[args.a] = count(); }"
is "$(echo "$out" | grep @)" "@[2]: 1
@[3]: 1" "all instances of a template"
run -q -c "$t" -e "uprobe:$t:cpp:\"ns::S::get\" { printf(\"%d %d\\n\", args.k, args.this.v); }"
is "$out" "1 4" "a method and its object"
run list "uprobe:$t:cpp:\"ns::f*\""
is "$(echo "$out" | sed 's/.*:cpp://' | sort)" '"ns::f(int)"
"ns::f(long, char const*)"' "list shows them as they are written"
run list -v "uprobe:$t:cpp:\"ns::S::get\""
like "$out" '^    int k$' "  with arguments"

"$t" forever &
one=$!
"$t" forever &
two=$!
run -q -p $one -e "uprobe:$t:main, uprobe:$t:cpp:\"ns::f(int)\" { @[pid] = count(); if (++@n >= 100) { exit(); } }"
like "$out" "^@\[$one\]" "-p: that process"
unlike "$out" "^@\[$two\]" "  and no other"
run -q -p $one -e "uprobe:*:_ZN2ns* { @[probe] = count(); if (++@n >= 100) { exit(); } }"
is "$(echo "$out" | grep -c '^@\[')" 5 "-p: a wildcard for the file means its files"
kill $one $two

run -q -c "sh -c 'exit 0'" -e 'uprobe:libc:malloc, uprobe:libc.so.6:malloc { @ = count(); }'
like "$out" '^@: [1-9]' "libraries by stem and soname"
run -c true -e 'uprobe:libc:*alloc* { @ = count(); }'
like "$err" 'Attached [1-9][0-9]* probes' "wildcards in a library"
run -q --probe-filter ':200' -e 'begin { printf("begin\n"); } interval:ms:100 { printf("bad\n"); } interval:ms:200 { printf("hit\n"); exit(); }'
is "$out" "begin
hit" "--probe-filter"
run --probe-filter '[' -e 'begin { }'
like "$err" 'Invalid --probe-filter regex' "  a mistake in it"
run -q -c "$t" -e "uprobe:$t:_ZN2ns1fEi, uprobe:$t:_ZN2ns1fElPKc { if (strcontains(probe, \"lPKc\")) { print(probe); } }"
is "$out" "uprobe:$t:_ZN2ns1fElPKc" "the name of the probe as a string"
done_testing
