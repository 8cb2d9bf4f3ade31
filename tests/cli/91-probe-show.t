#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe -L, -V, -F: what can be probed, as perf probe shows it; where perf is wrong, as it is.
# parallel: nothing is traced
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
export HOME="$work" PERF_CONFIG=/dev/null
cat >demo.c <<'C'
#include <stdio.h>
#include <string.h>

struct node {
	long id;
	int arr[4];
	const char *name;
};
int counter;
static long global_seen;

static inline __attribute__((always_inline)) int mix(int x, int y)
{
	int z = x * 31;

	z ^= y;
	return z;
}

__attribute__((noinline)) int handle(struct node *n, const char *msg, int len)
{
	int sum = 0;

	for (int i = 0; i < len; i++) {
		sum += mix(msg[i], n->arr[i & 3]);
		n->id++;
	}
	global_seen += sum;
	counter++;
	return sum;
}

__attribute__((noinline)) static int fact(int n)
{
	return n < 2 ? 1 : n * fact(n - 1);
}

int main(int argc, char **argv)
{
	struct node n = {.name = argv[0]};
	char buf[32];

	snprintf(buf, sizeof(buf), "%s", "hello");
	printf("%d\n", handle(&n, buf, (int)strlen(buf)) + mix(argc, argc) + fact(5));
	return 0;
}
C
gcc -g -O2 -o demo demo.c || exit 1
has_perf() { command -v perf >/dev/null && perf probe --help >/dev/null 2>&1; }

# ---- -L ----
run probe -x demo -L handle:4-5
is "$out" "<handle@$work/demo.c:4>
      4  	for (int i = 0; i < len; i++) {
      5  		sum += mix(msg[i], n->arr[i & 3]);" "lines of a function"
run probe -x demo -L mix -v
like "$out" '^      4  .*z \^= y;   <- (main|handle)\+[0-9]+ \(inlined\)' "-v: where inlining put a line"
taken=''
for line in 0 1 2 3 4 5 6 7 10 12 15; do
	"$pantrace" probe -x demo -D mix:$line >/dev/null 2>&1 && taken="$taken $line"
done
is " $(printf '%s\n' "$out" | sed -n 's/^ *\([0-9][0-9]*\)  .*/\1/p' | tr '\n' ' ')" "$taken " "lines of an inlined function are those that -D takes, and none of what it is inlined in"
run probe -x demo -L handle --json
is "$(printf '%s\n' "$out" | python3 -c '
import json, sys
for l in map(json.loads, sys.stdin):
	if l["function_line"] == 0: print(l["function_line"], l["line"], l["places"][0]["symbol"])')" "0 20 handle" "--json"
run probe -x demo -L handle+3
is "$rc" 2 "an offset is no line"
like "$err" "'handle\+3' is not a valid function name" "and that is said"
run probe -x demo -L handle:x
like "$err" "'start line' is not a valid number" "what is no number"
run probe -x demo -L handle:5-2
like "$err" "Start line must be smaller than end line" "a range that goes back"
run probe -x demo -L handle:2-3q
like "$err" "Tailing with invalid str 'q'" "what stands behind it"
run probe -x demo -L nosuch
is "$rc" 1 "a function that there is not"
run probe -x demo -L handle:50
like "$err" "the nearest line with code is handle:10" "a line without code: the nearest"
run probe -x demo -L demo.c:1-3
like "$err" "the nearest line with code is demo.c:1[0-9]" "of a file, too"
run probe -x demo -L handle -a main
is "$rc" 2 "not with another mode"
like "$err" "switch .L' cannot be used with switch .a'|switch .a' cannot be used with switch .L'" "as perf says"

if has_perf; then
	differ=''
	for what in handle main fact handle:2 handle:2-5 handle:2+3 main@demo.c:3 demo.c demo.c:20-30 demo.c:40 main:0-3; do
		"$pantrace" probe -x demo -L "$what" >ours 2>/dev/null
		perf probe -x ./demo -L "$what" >perfs 2>/dev/null
		cmp -s ours perfs || differ="$differ $what"
	done
	is "$differ" "" "-L: the same as perf's, byte by byte"
else
	skip "-L as perf" "perf is not installed"
fi

# Rows of an inlined copy may be lines of what it is inlined in: perf lists these.
cat >inlined.c <<'C'
static inline __attribute__((always_inline)) int mix(const unsigned char *p, int y)
{
	int z = p[0] * 31;

	z ^= p[1] + y;
	z *= p[2];
	return z + y;
}
volatile int sink;
__attribute__((noinline)) int use(const unsigned char *p, int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		sum += mix(p + i, n);
		sink += sum;
		sum ^= mix(p + 2 * i, i);
	}
	return sum;
}
int main(int argc, char **argv)
{
	return use((unsigned char *)argv[0], argc);
}
C
gcc -g -O2 -o inlined inlined.c
run probe -x inlined -L mix
like "$out" '^ +[45]  ' "an inlined function"
unlike "$out" '^ +[0-9]+  .*(sum|sink)' "ends at its own last line"

# ---- the source ----
mkdir moved
mv demo.c moved/
run probe -x demo -L handle
is "$rc" 1 "the source is not where it was"
like "$err" "$work/demo.c cannot be read: No such file" "the path that was looked for"
like "$err" "HINT: .*-s DIRECTORY" "and -s"
run probe -x demo -L handle -s moved
like "$out" "^<handle@moved/demo.c:0>" "-s: where it is now"
run probe -x demo -L handle -s nowhere
like "$err" "-s DIRECTORY is the directory that contains $work/demo.c" "-s elsewhere"
touch -d '+1 hour' moved/demo.c
run probe -x demo -L handle -s moved
like "$err" "WARNING: moved/demo.c is newer than .*/demo" "a source that is newer"
printf 'int x;\n' >moved/demo.c
run probe -x demo -L handle -s moved
like "$err" "Source file is shorter than expected" "one that is shorter"
rm moved/demo.c
mkfifo moved/demo.c
run probe -x demo -L handle -s moved
like "$err" "it is no regular file" "a FIFO is not opened"
rm moved/demo.c
{ yes '' | head -n 19; printf 'a\033[31mb\n'; yes '' | head -n 30; } >moved/demo.c
run probe -x demo -L handle -s moved
like "$out" 'a\\x1b\[31mb' "what controls a terminal is escaped"

# ---- -F ----
is "$("$pantrace" probe -x demo -F 'main | ha* & !*x' | tr '\n' ' ')" "handle main " "-F: functions by a filter"
unlike "$("$pantrace" probe -x demo -F)" '^_|^counter$|^global_seen$' "-F: neither what begins with _ nor variables"
is "$("$pantrace" probe -x demo -F --filter '_start')" _start "--filter takes the place of the usual one"
run probe -x demo -L main --filter 'a*'
is "$rc" 2 "--filter is not for -L"
run probe -x demo -F 'a(b'
is "$rc" 2 "a filter that is none"
like "$err" "^ ~" "its place"
cat >over.cc <<'C'
namespace ns { int over(int a) { return a + 1; } int over(double d) { return (int)d; } template <class T> T get(T t) { return t; } }
int main(int c, char **v) { return ns::over(c) + ns::over(2.0) + ns::get(c) + (int)ns::get(2.5); }
C
g++ -g -O0 -o over over.cc
is "$("$pantrace" probe -x over -F 'ns::*' | tr '\n' ',')" "ns::get<double>(double),ns::get<int>(int),ns::over(double),ns::over(int)," "C++: each overload and template"
is "$("$pantrace" probe -x over -F --no-demangle --filter '_ZN2ns4overEi')" _ZN2ns4overEi "--no-demangle"
is "$("$pantrace" probe -x over -F --json 'ns::over' | jq -r .symbol | tr '\n' ' ')" "_ZN2ns4overEd _ZN2ns4overEi " "--json"
if has_perf; then
	"$pantrace" probe -x demo -F '*' >ours
	perf probe -x ./demo -F '*' | grep -v '@plt$' | sort -u >perfs
	# perf names data, too: what the symbol table calls a function is the same
	nm demo | sed -n 's/.* [tTwW] //p' | sort -u >code
	is "$(comm -12 perfs code | grep -v '^data_start$')" "$(comm -12 ours code)" "-F: the functions that perf lists"
else
	skip "-F as perf" "perf is not installed"
fi
if [ -r /proc/kallsyms ]; then
	like "$("$pantrace" probe -F 'vfs_re*')" '^vfs_read$' "-F: the kernel's"
else
	skip "-F of the kernel" "no symbols of it"
fi

# ---- -V ----
tab=$(printf '\t')
is "$("$pantrace" probe -x demo -V handle --filter '!sum')" "Available variables at handle
$tab@<handle+0>
$tab${tab}char*${tab}msg
$tab${tab}int${tab}len
$tab${tab}struct node*${tab}n" "-V: as perf has it"
like "$("$pantrace" probe -x demo -V handle --externs --filter 'counter')" "^$tab${tab}int${tab}counter\$" "--externs"
like "$("$pantrace" probe -x demo -V handle --range)" "^$tab$tab\[VAL\]${tab}int${tab}len$tab@<handle\+\[0-[0-9]+" "--range"
run probe -x demo -V handle -v
like "$out" "const char\*${tab}msg${tab}in %si" "-v: types as in the source, and where each lives"
run probe -x demo -V main -v
like "$out" "char\[32\]${tab}buf${tab}not readable here: the function has only begun" "-v: why one cannot be read"
run probe -x demo -V mix -v
like "$out" "int${tab}z${tab}not readable here: it is optimised out" "-v: what is optimised out"
like "$out" "struct node\*${tab}n${tab}in %[a-z0-9]*${tab}of handle" "-v: of the function around an inlined one"
run probe -x demo -V handle --json
is "$(printf '%s\n' "$out" | jq -r 'select(.name == "len") | [.type, .kind, .readable, .location] | join(" ")')" "int parameter true %dx" "--json"
run probe -x demo -V 'handle len'
is "$rc" 2 "a point has no arguments"
run probe -x demo -V nosuch
like "$err" "Probe point 'nosuch' not found" "a point that there is not"
run probe -x demo -V handle --filter 'a('
is "$rc" 2 "a filter that is none"
if has_perf; then
	differ=''
	# perf leaves out constants (sum in handle), and gives places on the stack that is not there yet (main)
	for what in handle mix fact demo.c:30 handle:5 handle:6 handle:9; do
		for more in '' --externs; do
			"$pantrace" probe -x demo -V "$what" $more --filter '!sum' >ours 2>/dev/null
			perf probe -x ./demo -V "$what" $more --filter '!sum' >perfs 2>/dev/null
			cmp -s ours perfs || differ="$differ $what$more"
		done
	done
	is "$differ" "" "-V: the same as perf's, byte by byte"
else
	skip "-V as perf" "perf is not installed"
fi

objcopy --strip-debug demo stripped
run probe -x stripped -L handle
like "$err" "has no debug information" "without debug information"
like "$err" "HINT: Rebuild with -g" "what to do"
# debuginfod's cache, and Fedora's way under another root
id=$(readelf -n demo | sed -n 's/.*Build ID: //p')
mkdir -p "client/$id"
objcopy --only-keep-debug demo "client/$id/debuginfo"
like "$(DEBUGINFOD_CACHE_PATH=$work/client "$pantrace" probe -x stripped -V handle)" "struct node\*${tab}n" "debuginfod's cache is searched"
mkdir -p ".cache/debuginfod_client/$id"
cp "client/$id/debuginfo" ".cache/debuginfod_client/$id/debuginfo"
like "$("$pantrace" probe -x stripped -V handle)" "struct node\*${tab}n" "also where it is by default"
gcc -g -O1 -o .cache/debuginfod_client/$id/debuginfo inlined.c
run probe -x stripped -V handle
is "$rc" 1 "a file of another build is not taken"
rm -r .cache
mkdir .debug
cp "client/$id/debuginfo" .debug/stripped
like "$("$pantrace" probe -x stripped -V handle)" "struct node\*${tab}n" ".debug/NAME beside the program"
done_testing
