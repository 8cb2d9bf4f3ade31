#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Events of instrumented programs in scripts, and filters that run in them. The program counts what it does once the event is on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
cat >"$work/app.c" <<'END'
#include <pantrace/pantrace.h>
#include <stdio.h>
#include <unistd.h>
enum kind { get, put };
PANTRACE_ENUM(kind, get, put);
static __attribute__((noinline)) void handle(int i)
{
	static const char *const urls[] = { "/index", "/a", "/bb" };
	int codes[2] = { i, i + 1 };

	PANTRACE(app, request_done, PT_NAMED(status, i % 7 * 100), PT_NAMED(url, urls[i % 3]), PT_NAMED(latency, i * 10l),
		 PT_NAMED(kind, PT_ENUM(kind, i & 1)), PT_NAMED(text, PT_STRN("abcdef", 4)), PT_SEQ(codes, 2),
		 PT_NAMED(ratio, 0.5), PT_STRUCT(inner, PT_NAMED(minus, (short)-i)));
}
static __attribute__((noinline)) int is_on(void) { return PANTRACE_ENABLED(app, request_done); }
/* FILE: 2,100 events each time that the event is on and FILE is there, which is removed */
int main(int argc, char **argv)
{
	for (;;) {
		while (!is_on() || unlink(argv[argc - 1]))
			usleep(1000);
		for (int i = 0; i < 2100; i++)
			handle(i);
		printf("done\n");
		fflush(stdout);
		while (is_on())
			usleep(1000);
		printf("off\n");
		fflush(stdout);
	}
}
END
gcc -O1 -fno-omit-frame-pointer -I"$top/include" "$work/app.c" -o "$work/app" "$lib/libpantrace.a" -lpthread || exit 1
"$work/app" "$work/go" >"$work/said.app" &
app=$!
ready $app
trap 'kill $app 2>/dev/null; rm -rf "$work"' EXIT

run -l 'user:*'
is "$out" "user:app:request_done" "programs are asked for their events"
run -lv 'user:app:request_done'
like "$out" 'int status' "with fields"
like "$out" 'char \*url' "and types"

start -e 'user:app:request_done /args.status >= 500/ { @[str(args.url)] = count(); @h = hist(args.latency); @k[args.kind] = sum(args.codes[1]); }
	user:app:request_done { @all = count(); @min = min(args.inner_minus); @text[str(args.text), args.text_length] = count(); @who[comm, pid] = count() }'
: >"$work/go"
said app done 1
stop
like "$out" '@all: 2100' "every event arrives once"
like "$out" '@\[/index\]: 200' "a predicate on a field, a key from a string"
like "$out" '@\[/bb\]: 200' "strings"
like "$out" "@who\[app, $app\]: 2100" "comm and pid are the program's"
like "$out" '@min: -2099' "members of structures, signed"
like "$out" '@text\[abcd, 4\]: 2100' "bounded strings"
like "$out" '@k\[put\]: 3[0-9]*' "enums by name, elements of sequences"
said app off 1
ok "the event is off again when the script has ended"

start -p $app -e 'user:app:request_done { @[ustack] = count() }'
: >"$work/go"
said app done 2
stop
like "$out" 'handle\+[0-9]*' "user stacks have the function of the event"
like "$out" 'main\+[0-9]*' "and its callers"
said app off 2

start -e 'user:app:request_done { @ = count() }'
kill -9 $tracer
wait $tracer 2>/dev/null
is_off() { "$pantrace" user list | grep -Eq 'app +0 +1 app:request_done'; }
until_true is_off
ok "a killed tracer leaves nothing on"
no_session() { [ -z "$(ls "$PANTRACE_RUNTIME/sessions")" ]; }
until_true no_session
is "$(ls "$PANTRACE_RUNTIME/sessions")" "" "and no session behind"

run -e 'user:app:request_don { @ = count() }'
like "$err" "did you mean 'request_done'" "a misspelt event"
run -e 'user:app:request_done /args.statu/ { @ = count() }'
like "$err" "did you mean 'status'" "a misspelt field"
run -e 'user:app:request_done /args.ratio > 0/ { @ = count() }'
is "$rc" 1 "floating point is refused, not read as 0"
like "$err" 'let the program give an integer' "and told what to do"
run -e 'user:app:request_done { @[args.ratio] = count() }'
like "$err" "Can't read field ratio" "nor is it a key"
run -e 'user:app:request_done /args.status > 0.5/ { @ = count() }'
like "$err" 'the language has no floating-point numbers' "there are no such literals"

# filter PREDICATE: how many events are recorded
filter()
{
	rm -rf "$work/recorded"
	n=$(grep -c done "$work/said.app")
	start record -u app:request_done --filter "$1" -o "$work/recorded"
	: >"$work/go"
	said app done $((n + 1))
	stop
	said app off $((n + 1))
	babeltrace2 "$work/recorded" 2>/dev/null | grep -c request_done
}
is "$(filter 'args.status >= 500')" 600 "a filter in the program: a number"
is "$(filter 'args.status == 100 && str(args.url) == "/a"')" 100 "numbers and strings"
is "$(filter 'strcontains(str(args.url), "b") || args.kind == 1')" 1400 "a loop; an enum"
is "$(filter 'str(args.text) == "abcd" && args.inner_minus < -2000')" 99 "a text; a member of a structure"
"$pantrace" record -u app:request_done --filter 'args.statu > 1' -o "$work/none" >"$work/out" 2>"$work/err"
is $? 1 "a filter that does not fit the event is refused"
like "$(cat "$work/err")" "did you mean 'status'" "at its place"
"$pantrace" record -u app:request_done --filter 'kstack != 0' -o "$work/none" >"$work/out" 2>"$work/err"
like "$(cat "$work/err")" 'runs in the program and cannot' "so is what only the kernel could tell"
done_testing
