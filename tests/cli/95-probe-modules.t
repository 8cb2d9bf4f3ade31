#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# probe -m: variables and lines of modules, whose files are not linked (ld -r). What ld makes of the same objects says where things
# are: but for the module's name, the definitions are those of the linked file. tests/vm/probe-modules.sh has a loaded one.
. "$(dirname "$0")/lib.sh"
export XDG_CACHE_HOME="$work/cache"
mkdir "$work/src"
cd "$work/src" || exit 1
cat >one.c <<'C'
struct inner { int flags : 5, kind : 3; char tag[8]; };
struct node { struct node *next; struct inner in; unsigned short id; };
int one_count = 4;
static volatile long twin = 1;
static __attribute__((noinline)) long both(long a) { return a + twin; }
__attribute__((section(".init.text"), noinline)) long one_init(long how) { return both(how) + one_count; }
static inline __attribute__((always_inline)) int add(int first, int second)
{
	return first * 3 + second;
}
__attribute__((noinline)) long one_walk(struct node *n, const char *name, unsigned count)
{
	int sum = add((int)count, n->id);
	static int calls;
	calls += name[1];
	while (n->next)
		n = n->next;
	return sum + n->in.tag[2] + calls;
}
C
cat >two.c <<'C'
struct node;
long one_walk(struct node *n, const char *name, unsigned count), one_init(long how);
static volatile long twin = 2;
static __attribute__((noinline)) long both(long a) { return a - twin; }
__attribute__((section(".text.unlikely"), noinline)) long two_cold(long a) { return both(a) * 2; }
__attribute__((noinline)) long two_enter(struct node *node, unsigned long many)
{
	if (many > 100)
		return two_cold((long)many);
	return one_walk(node, "two", (unsigned)many) + one_init(3);
}
C
gcc -g -O2 -fno-pie -mcmodel=kernel -ffunction-sections -c one.c two.c || exit 1
# Modules have one .text each, and a build-id.
ld -r --build-id -T /dev/stdin -o some-mod.ko one.o two.o <<'L'
SECTIONS { .text : { *(.text .text.*) } .init.text : { *(.init.text) } .data : { *(.data) } .bss : { *(.bss) } }
L
ld -e two_enter -T /dev/stdin -o linked one.o two.o <<'L' || exit 1
SECTIONS { . = 0xffffffff81000000; .text : { _text = .; *(.text .text.* .init.text) } .data : { *(.data) } .bss : { *(.bss) } }
L
module=$PWD/some-mod.ko
# As the linked file has it, but for the module's name.
same()
{
	$pantrace probe -k linked -D "$1" 2>"$work/err.linked" | sed 's/^\([pr]:[^ ]* \)/\1some_mod:/' | sort >"$work/linked"
	$pantrace probe -m "$module" -D "$1" 2>"$work/err.module" | sort >"$work/module"
	is "$(cat "$work/module")" "$(cat "$work/linked")" "$1"
	like "$(cat "$work/module")" "^[pr]:" "  which is something"
}
same one_walk
same 'one_walk $params'
same 'one_walk n->id n->in.tag[2] name:string one_count'
same 'one_walk n->next->in.kind:u'
same 'one_walk:4 $vars'
same 'one.c:15 n name'
same 'add $params'
same 'one_init how'
same 'two_cold a'
same 'two_enter:3 node many'
same 'two_enter%return $retval'
for point in one_walk two_cold two.c:9; do
	is "$($pantrace probe -m "$module" -V $point -v 2>&1 | sed 's/0x[0-9a-f]*//g')" "$($pantrace probe -k linked -V $point -v 2>&1 | sed 's/0x[0-9a-f]*//g')" "-V $point"
done
is "$($pantrace probe -m "$module" -L one_walk)" "$($pantrace probe -k linked -L one_walk)" "-L"
is "$($pantrace probe -m "$module" -F)" "$($pantrace probe -k linked -F | grep -v '^_')" "-F"
out=$(PANTRACE_INDEX=always $pantrace probe -m "$module" -D 'two_enter:3 node')
is "$out$(PANTRACE_INDEX=always $pantrace probe -m "$module" -D 'two_enter:3 node')" "$out$out" "an index is made, and used"
like "$out" '^p:probe/two_enter_L3 some_mod:two_enter\+[0-9]+ node=%' "  with the same answer"

# By name, where debug packages have the files.
release=$(uname -r)
mkdir -p "$work/debug/usr/lib/debug/lib/modules/$release/kernel/drivers/some"
cp "$module" "$work/debug/usr/lib/debug/lib/modules/$release/kernel/drivers/some/some-mod.ko.debug"
# A script reads what the definition says: many=%si:x64 id=+20(%di):x16.
for place in some_mod:two_enter:3 some-mod@two.c:10; do
	run -d ir --debuginfo "$work/debug" -e "kprobe:$place { @[vars.many, args.many] = vars.node->id; }"
	is "$rc$err" 0 "a script at $place"
	is "$(echo "$out" | grep -o 'load.u64 \[%[0-9]* + 1[01][0-9]\]\|add %[0-9]*, 20' | sed 's/%[0-9]*//' | tr '\n' ';')" "load.u64 [ + 112];add , 20;load.u64 [ + 104];load.u64 [ + 104];" "  has its variables"
done
run -d ir --debuginfo "$work/debug" -e 'kprobe:some_mod:nosuch:3 { exit(); }'
is "$rc" 1 "a function that the module does not have"
like "$err" "some-mod.ko.debug knows no function 'nosuch'" "  is said"
run --debuginfo "$work/debug" -e 'kprobe:some_mod:two_enter:3 { exit(); }'
like "$rc$err" "^[1-9].*(specified module some_mod in probe kprobe:some_mod:two_enter:3 is not loaded|kprobe cannot be used here)" "a module that is not loaded is not probed"
out=$($pantrace probe -m no_such_module -D 'f $params' 2>&1)
is "$?" 1 "a module without debug information"
like "$out" "no module no_such_module is loaded, and its debug information is not installed" "is refused"
# A stripped one has the lines of its debug file.
objcopy --only-keep-debug some-mod.ko some-mod.ko.debug
objcopy --strip-debug some-mod.ko
objcopy --add-gnu-debuglink=some-mod.ko.debug some-mod.ko
same 'one_walk n->id n->in.tag[2] name:string one_count'
# Compressed in each way.
for form in zlib zlib-gnu zstd; do
	objcopy --compress-debug-sections=$form some-mod.ko.debug packed.ko 2>/dev/null && is "$($pantrace probe -m "$PWD/packed.ko" -D 'one_walk n->id n->in.tag[2] name:string')" \
		'p:probe/one_walk packed:one_walk+0 id=+20(%di):x16 tag=+11(%di):s8 name_string=+0(%si):string' "compressed by $form"
done
# What cannot be told apart, or read.
$pantrace probe -m "$module" -D both 2>"$work/err"
is "$?" 1 "two functions of one name"
like "$(cat "$work/err")" "several functions of the module some_mod are called both: the kernel cannot tell them apart" "are refused"
out=$($pantrace probe -m "$module" -D 'two_cold twin' 2>&1)
like "$out" "another symbol of the kernel has its name" "so are two variables"
like "$($pantrace probe -k linked -D 'two_cold twin' 2>&1)" 'twin=@_text\+[0-9]+:s64$' "which in the kernel itself are counted from its beginning"
for size in 0 64 500 5000; do
	head -c $size some-mod.ko.debug >cut.ko
	out=$($pantrace probe -m "$PWD/cut.ko" -D 'one_walk $params' 2>&1)
	is "$?" 1 "a file of $size bytes"
done
done_testing
