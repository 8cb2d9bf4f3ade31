#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What events are called: fields of every type in `user list`, 10,000 events, more than there is room for, and addresses in a
# library that has no events and is loaded in the middle of a recording.
# parallel: has directories of its own where programs and recorders meet
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
cd "$work" || exit 1
flags="-O0 -std=gnu17 -D_GNU_SOURCE -I$top/include"
mkdir -m 700 "$PANTRACE_RUNTIME"

# ready PID: waits until it can be asked
ready()
{
	until_true [ -S "$PANTRACE_RUNTIME/$1" ]
}

# ---- types
cat >types.c <<'EOF'
#include <pantrace/pantrace.h>
#include <unistd.h>
enum colour { red, green = 5 };
PANTRACE_ENUM(colour, red, PT_LABEL("dark \"green\"", green));
int main(void)
{
	int numbers[3] = {1, 2, 3};

	for (;;) {
		PANTRACE(types, all, PT_NAMED(paint, PT_ENUM(colour, green)), PT_ARRAY(numbers),
			 PT_NAMED(some, PT_SEQ(numbers, 2)),
			 PT_STRUCT(point, PT_NAMED(x, 1u), PT_STRUCT(inner, PT_NAMED(name, "p"))), PT_NAMED(last, 1.5));
		usleep(10000);
	}
}
EOF
# shellcheck disable=SC2086
gcc $flags types.c -o types "$lib/libpantrace.a" -lpthread
ok "a program with fields of all kinds" || { done_testing; exit; }
./types &
pid=$!
ready $pid
run user list 'types:*'
like "$out" 'types:all \(enum [su]32 paint \{red=0, dark_+green_+=5\}, s32\[3\] numbers, s32\[\] some, struct point \{u32 x, struct inner \{str name\}\}, double last\)' \
	"user list shows the types of all fields"
run user list 'types:*' --json
is "$(printf '%s' "$out" | python3 -c '
import json, sys
f = {f["name"]: f for f in json.load(sys.stdin)["fields"]}
print(f["paint"]["type"][:4], f["paint"]["values"]["red"], f["numbers"]["type"], f["point"]["members"][1]["members"][0]["name"], f["last"]["type"])')" \
	"enum 0 s32[3] name double" "also as JSON"
kill $pid
wait $pid 2>/dev/null

# ---- 10,000 events
python3 - >many.c <<'EOF'
print('#include <pantrace/pantrace.h>\n#include <unistd.h>')
for b in range(100):
    print(f"static void f{b}(int i)\n{{")
    for k in range(100):
        print(f"\tPANTRACE(many, event_{b}_{k}, i);")
    print("}")
print("int main(int argc, char **argv)\n{")
for b in range(100):
    print(f"\tf{b}({b});")
print("\twhile (argc > 1)\n\t\tpause();\n\treturn 0;\n}")
EOF
# shellcheck disable=SC2086
gcc $flags many.c -o many "$lib/libpantrace.a" -lpthread
ok "a program with 10,000 events"
run record -u 'many:*' -o recorded -- ./many
is "$rc" 0 "recorded" || printf '# %s\n' "$err"
is "$(babeltrace2 recorded 2>"$work/warnings" | grep -o 'many:event_[0-9]*_[0-9]*: { cpu_id = [0-9]* }, { i = [0-9]*' |
	sed 's/event_\([0-9]*\)_.*i = \([0-9]*\)/\1 \2/' | awk '$1 == "many:" $2 { n++ } END { print n }')" 10000 \
	"each with its name and value"
is "$(babeltrace2 recorded | grep -o 'many:event[^:]*:' | sort -u | grep -c .)" 10000 "10,000 names"
is "$(cat warnings)" "" "babeltrace2 warns of nothing"
./many wait &
pid=$!
ready $pid
run user list 'many:*'
is "$(printf '%s\n' "$out" | grep -c "^$pid .*many:event_")" 10000 "listed"
kill $pid
wait $pid 2>/dev/null

# ---- more than there is room for: 30,000 names of 150 bytes
cat >crowd.c <<'EOF'
#include <pantrace/pantrace.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static struct pantrace_event *events[30000];
static char told[30000];
int main(void)
{
	char name[160];

	memset(name, 'n', sizeof(name));
	for (int i = 0; i < 30000; i++) {
		sprintf(name + 140, "%d", i);
		events[i] = pantrace_dynamic("crowd", name, "i:i32", 6);
		if (!events[i])
			return 1;
	}
	fclose(fopen("crowd.ready", "w"));
	for (;; usleep(20000)) {
		int on = 0;

		for (int i = 0; i < 30000; i++) {
			const struct pantrace_value value = {.value.i = i};

			if (!pantrace_dynamic_enabled(events[i]))
				continue;
			on++;
			if (!told[i])
				pantrace_dynamic_emit(events[i], &value);
			told[i] = 1;
		}
		if (on) {
			printf("%d\n", on);
			fflush(stdout);
		}
	}
}
EOF
# shellcheck disable=SC2086
gcc $flags crowd.c -o crowd "$lib/libpantrace.a" -lpthread
./crowd >on &
pid=$!
ready $pid
until_true [ -e crowd.ready ]
start record -u 'crowd:*' -p $pid -o crowded
# until it prints the same number ten times: whatever there is room for is on
same_number() { [ "$(tail -10 on | uniq -c | sed 's/^ *//; s/ .*//')" = 10 ]; }
until_true same_number
most=$(sort -n on | tail -1)
stop
like "$err" "process $pid \(crowd\): [0-9]+ events are not recorded: there is no room for their names" "events that are too many are refused, and said"
refused=$(printf '%s\n' "$err" | sed -n 's/.*(crowd): \([0-9]*\) events are not.*/\1/p' | head -1)
is "$((${refused:-0} + ${most:-0}))" 30000 "the others are on: $most, ${refused:-none} refused"
is "$(babeltrace2 crowded 2>/dev/null | grep -o 'crowd:n*[0-9]*:' | sort -u | grep -c .)" "$most" "and are recorded"
kill $pid
wait $pid 2>/dev/null

# ---- a library without events
cat >through.c <<'EOF'
void through(void (*callback)(void));
__attribute__((noinline)) void through(void (*callback)(void))
{
	callback();
	__asm__ volatile("");
}
EOF
cat >loads.c <<'EOF'
#include <dlfcn.h>
#include <pantrace/pantrace.h>
#include <unistd.h>
static __attribute__((noinline)) void event(void)
{
	PANTRACE(loads, event, PT_NAMED(one, 1));
}
int main(int argc, char **argv)
{
	void *library;
	void (*through)(void (*)(void));

	event();
	usleep(300000);
	library = dlopen(argv[1], RTLD_NOW);
	through = library ? (void (*)(void (*)(void)))dlsym(library, "through") : NULL;
	if (!through)
		return 1;
	through(event);
	usleep(argc > 2 ? 0 : 2000000);
	return 0;
}
EOF
# shellcheck disable=SC2086
gcc $flags -fno-omit-frame-pointer -shared -fPIC through.c -o libthrough.so &&
	gcc $flags -fno-omit-frame-pointer loads.c -o loads "$lib/libpantrace.a" -lpthread -ldl
ok "a library without events"
run record -u 'loads:*' -c user_stack -o loaded -- ./loads "$work/libthrough.so"
is "$rc" 0 "an event that comes through it"
run report loaded
is "$(printf '%s\n' "$out" | grep -c 'through')" 1 "its function is named: the library is noted though it was loaded later" || printf '%s\n' "$out" | sed 's/^/# /'
gcc $flags -fno-omit-frame-pointer loads.c -o loads-shared -L"$lib" -lpantrace -Wl,-rpath,"$lib" -lpthread -ldl
run record -u 'loads:*' -c user_stack -o loaded2 -- env LD_PRELOAD="$lib/libpantrace-dl.so" ./loads-shared "$work/libthrough.so" at-once
run report loaded2
is "$(printf '%s\n' "$out" | grep -c 'through')" 1 "at once with libpantrace-dl.so" || printf '%s\n' "$out" | sed 's/^/# /'
done_testing
