#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# probe: options that other tests leave out, each exclusion of them, what may be wrong with files, and what shells complete.
# parallel: nothing is traced
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1
export HOME="$work" PERF_CONFIG=/dev/null
cat >demo.c <<'C'
struct node { long id; };
int counter;
static int kept = 2;
static inline __attribute__((always_inline)) int twice(int x)
{
	__asm__ volatile("nop" : : "r"(x) : "memory");
	return x * 2;
}
__attribute__((noinline)) int handle(struct node *n, int len)
{
	int sum = len;

	for (int i = 0; i < len; i++)
		sum += twice(i) + kept;
	counter++;
	return sum + (int)n->id;
}
__attribute__((noinline)) int handle_more(int len)
{
	int half = len / 2;

	kept += half;
	return twice(half);
}
int main(int argc, char **argv)
{
	struct node n = {argc};

	return handle(&n, argc) + handle_more(argc);
}
C
gcc -g -O2 -o demo demo.c || exit 1
entry=0x$(nm demo | sed -n 's/^0*\([0-9a-f]*\) T handle$/\1/p')

# ---- exclusions ----
n=0
for a in "-a x" "-D x" "-d x" -l "-L x" "-V x" -F; do
	n=$((n + 1)) m=0
	for b in "-a x" "-D x" "-d x" -l "-L x" "-V x" -F; do
		m=$((m + 1))
		[ $m -gt $n ] || continue
		# shellcheck disable=SC2086
		run probe $a $b
		is "$rc" 2 "$a with $b"
		like "$err" "switch .(${a:1:1}|${b:1:1})' cannot be used with switch .(${a:1:1}|${b:1:1})'" "$a with $b: in perf's words"
	done 2>/dev/null
done
while IFS='|' read -r options text; do
	eval "run probe $options"
	is "$rc" 2 "$options: the code"
	like "$err" "$text" "$options: the reason"
done <<'L'
-x demo -q -v -F|-v and -q are exclusive
-x demo -k demo -D main|-x is for programs, -k for the kernel
-x demo -m ext4 -D main|-x is for programs, -m for the kernel
-x demo --filter a -L main|--filter is for -V and -F
-x demo --filter a -D main|--filter is for -V and -F
-x demo --range -F|--range is for -V
-x demo --demangle --no-demangle -F|--demangle and --no-demangle are exclusive
--bootconfig -a main|--bootconfig is for -D only
-x demo --bootconfig -D main|bootconfig takes only probes of the kernel
-k demo main|-k is another kernel's file
-x demo -l|Don't use --list with --exec
-x demo -L main extra|unexpected argument 'extra'
-x demo -F a b|unexpected argument 'b'
-x demo|what to probe
-x demo -D|-D needs a value|requires a value
-x demo --max-probes 0 -D main|above 0
-x demo --max-probes many -D main|number
-x demo --target-ns none -D main|process
-x demo --nosuch|unknown option
-x demo -V 'main x'|a point has no arguments
-x demo -V 'main%return'|variables are gone
-x demo -F 'a & '|Filter parse error|filter
L

# ---- options ----
is "$($pantrace probe -x demo -D 'handle*' | wc -l)" 2 "two functions of a pattern"
run probe -x demo --max-probes 1 -D 'handle*'
is "$rc$out" 1 "--max-probes 1: refused"
like "$err" 'Too many\( > 1\) probe point found' "with perf's words"
is "$($pantrace probe -x demo -D twice | wc -l)" 2 "an inlined function: its copies"
run probe -x demo --no-inlines -D twice
is "$rc$out" 1 "--no-inlines: there is none"
like "$err" "Probe point 'twice' not found" "and that is said"
is "$($pantrace probe -x demo -D 'handle $vars' 2>/dev/null | grep -c 'counter=')" 0 "\$vars has no globals"
is "$($pantrace probe -x demo --externs -D 'handle $vars' 2>/dev/null | grep -o 'counter=@+0x[0-9a-f]*:s32')" "counter=@+0x$(nm demo | sed -n 's/^0*\([0-9a-f]*\) B counter$/\1/p'):s32" \
	"--externs: it has"
like "$($pantrace probe -x demo -V handle --externs)" 'int	kept' "--externs -V: statics"
unlike "$($pantrace probe -x demo -V handle)" 'int	kept' "without it: none"
like "$($pantrace probe -x demo -V handle --range)" '\[VAL\]	int	len	@<handle\+\[0-[0-9]+' "--range"
is "$($pantrace probe -x demo -V handle --filter 'l*' | grep -c '	len$')" 1 "--filter -V: what it means"
is "$($pantrace probe -x demo -V handle --filter '!l*' | grep -c '	len$')" 0 "--filter -V: and what not"
is "$($pantrace probe -x demo -F 'handle*' | tr '\n' ' ')" "handle handle_more " "-F with a pattern"
is "$($pantrace probe -x demo -q -D 'main nosuch' 2>&1 | grep -c ERROR)" 1 "-q: errors are still said"
is "$($pantrace probe -x demo -D 'handle*' -f)" "$($pantrace probe -x demo -D 'handle*')" "-f changes nothing of -D"
echo 'namespace a { int f(int x) { return x; } } int main(int c, char **v) { return a::f(c); }' >cpp.cc
g++ -g -O0 -o cpp cpp.cc
is "$($pantrace probe -x cpp -F --demangle 'a::*')" "a::f(int)" "--demangle"
is "$($pantrace probe -x cpp -F --no-demangle '_ZN*')" _ZN1a1fEi "--no-demangle"
is "$($pantrace probe -k cpp -F --demangle-kernel 'a::*')" "a::f(int)" "--demangle-kernel"

# another root
mkdir -p root/opt
cp demo root/opt/demo
mv demo.c source.c
run probe --symfs root -x /opt/demo -D handle
is "$out" "p:probe_demo/handle /opt/demo:$entry" "--symfs: the path as it is there"
mkdir -p "root$work"
cp source.c "root$work/demo.c"
run probe --symfs root -x /opt/demo -L handle:0-2
like "$out" "^<handle@root$work/demo.c:0>" "--symfs: the source, too"
run probe --symfs root -x /opt/none -D handle
is "$rc" 1 "--symfs: no such file"
like "$err" "/opt/none" "which is named"
mv source.c demo.c
touch -r demo demo.c

# a module's file
gcc -g -O1 -c -o some-module.ko demo.c
is "$($pantrace probe -m "$work/some-module.ko" -F 'handle*' | tr '\n' ' ')" "handle handle_more " "-m FILE: its functions"
run probe -m no_such_module -F
like "$err" "no_such_module" "-m of a module that is not there"
run probe -m "$work/none.ko" -F
is "$rc" 1 "-m of a file that is not there"
like "$err" "cannot read $work/none.ko" "which is named"

# as another process sees it
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	mkdir inside
	cp demo inside/hidden
	unshare -m sh -c "mount --bind '$work/inside' /mnt && exec sleep 60" &
	until_true [ -e /proc/$!/root/mnt/hidden ]
	like "$($pantrace probe --target-ns $! -x /mnt/hidden -D handle 2>&1)" "^p:probe_hidden/handle .*:$entry\$" "--target-ns: a file of another mount namespace"
	like "$($pantrace probe --target-ns $! -x /mnt/hidden -V handle 2>&1)" 'int	len' "--target-ns: its variables"
	kill $!
	wait $! 2>/dev/null
else
	skip "--target-ns" "needs root and mount namespaces"
fi
run probe --target-ns 999999999 -x demo -D handle
is "$((rc != 0))" 1 "--target-ns of a process that there is not"

# ---- colours ----
if command -v script >/dev/null; then
	TERM=xterm script -qec "$pantrace probe -x demo -L handle:3-4" /dev/null </dev/null >out 2>&1
	like "$(cat out)" "$(printf '\033')\[34m +[34]  .*$(printf '\033')\[m" "-L on a terminal: lines that can be probed are blue"
	TERM=xterm NO_COLOR=1 script -qec "$pantrace probe -x demo -L handle:3-4" /dev/null </dev/null >out 2>&1
	unlike "$(cat out)" "$(printf '\033')" "NO_COLOR: none"
	is "$($pantrace probe -x demo -L handle:3-4 | grep -c "$(printf '\033')")" 0 "in a pipe: none"
else
	skip "colours" "script is not installed"
fi

# ---- files that are not as they should be ----
bad()
{
	run probe -x "$1" $2
	is "$rc$out" 1 "$1 $2: the code"
	like "$err" "$3" "$1 $2: the reason"
}
objcopy --strip-debug demo nodebug
objcopy --strip-all demo bare
head -c 5000 demo >short
head -c 20 demo >tiny
: >empty
echo text >text
mkfifo fifo
for file in short tiny empty text fifo; do
	for option in '-D main' '-L main' '-V main' '-F'; do
		timeout 120 "$pantrace" probe -x ./$file $option >out 2>err
		is "$?-$(grep -c . out)-$([ -s err ] && echo said)" 1-0-said "$file $option: refused with a reason"
	done
done
bad nodebug '-D handle:2' 'has no debug information'
bad nodebug '-V handle' 'has no debug information'
bad bare '-D handle' "Probe point 'handle' not found"
bad ./none '-D main' 'Failed to get the absolute path of ./none'
bad . '-D main' '.'
bad demo '-D demo.c:2' 'the next with code is demo.c:[0-9]'
bad demo '-L handle:40' 'the nearest line with code is handle:'
$pantrace probe -x demo -D 'handle_more:4 half' >out 2>err || like "$(cat err)" 'it is alive at|optimised out' "a variable that is optimised out there: where it is alive"
echo 'static int one(int x) { return x; } static int (*choose(void))(int) { return one; } int pick(int) __attribute__((ifunc("choose"))); int main(int c, char **v) { return v ? pick(c) : 0; }' >ifunc.c
gcc -g -O1 -o ifunc ifunc.c
run probe -x ifunc -D pick
like "$err" "WARNING: The probe function \(pick\) is a GNU indirect function: the probe is on its resolver" "an indirect function"
run probe -x demo -D 'handle nosuch'
like "$err" "-V 'handle'\` shows those that there are" "a variable that there is not"
{
	echo '__attribute__((noinline)) static int same(int a) { __asm__ volatile("" ::: "memory"); return a; } int NAME(int x) { return same(x); }'
} >same.c
gcc -g -O1 -DNAME=one -c -o one.o same.c
sed 's/int a/char *unused, int a/; s/same(x)/same(0, x)/' same.c >other.c
gcc -g -O1 -DNAME=two -c -o two.o other.c
echo 'int one(int); int two(int); int main(int c, char **v) { return one(c) + two(c); }' >both.c
gcc -g -O1 -o both both.c one.o two.o
is "$($pantrace probe -x both -D same | wc -l)" 2 "two functions of one name: both"
is "$($pantrace probe -x both -D same@other.c | wc -l)" 1 "FUNCTION@SOURCE: that one"
run probe -x both -L same
like "$err" "others of that name: .*other.c:1|others of that name: .*same.c:1" "-L shows one of them, and says where the other is"

# ---- what shells complete ----
# offered WORD...: what stands for the last word
offered()
{
	"$pantrace" complete pantrace probe "$@" 2>/dev/null | cut -f1 | tr '\n' ' '
}
is "$(offered -x demo -L hand)" 'handle handle_more ' "-L: functions"
is "$(offered -x demo -V handle_)" 'handle_more ' "-V: functions"
is "$(offered -x demo -F handle_)" 'handle_more ' "-F: functions"
is "$(offered -x demo -D handle_)" 'handle_more ' "-D: functions"
is "$(offered -x demo -a my=handle_)" 'my=handle_more ' "-a: behind an event's name"
is "$(offered -x demo handle_)" 'handle_more ' "without -a"
is "$(offered -x demo 'handle l')" 'handle len ' "a variable"
is "$(offered -x demo 'handle_more:4 h=ha')" 'handle_more:4 h=half ' "a variable behind a name"
is "$(offered --max)" '--max-probes ' "options"
if [ "$(id -u)" = 0 ] && [ -e /sys/kernel/tracing/uprobe_events ]; then
	"$pantrace" probe -q -x demo "complete$$:here=main" && is "$(offered -d "complete$$:he")" "complete$$:here " "-d: events that there are"
	"$pantrace" probe -q -d "complete$$:*"
else
	skip "-d: events" "needs root and uprobes"
fi
done_testing
