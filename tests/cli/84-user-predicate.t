#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Predicates for programs that start later: a command's, in a library that is loaded later, after the recorder was killed.
# The truth is arithmetic: each program counts to a thousand, the predicate holds for every other one.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
cd "$work" || exit 1

cat >shop.c <<'EOF'
#include <pantrace/pantrace.h>
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct pantrace_event *dynamic;

	for (int i = 0; i < 1000; i++) {
		PANTRACE(shop, request, i, PT_NAMED(status, i % 10 * 100), PT_NAMED(url, i % 2 ? "/odd" : "/even"));
		PANTRACE(shop, other, i);
	}
#ifndef NO_DLOPEN
	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW);
		void (*go)(void) = library ? (void (*)(void))dlsym(library, "go") : NULL;
		if (!go)
			return 1;
		go();
	}
#endif
	dynamic = pantrace_dynamic("shop", "made", "status:i32", 6);
	for (int i = 0; i < 1000; i++) {
		const struct pantrace_value value = {.value.i = i};
		pantrace_dynamic_emit(dynamic, &value);
	}
	return 0;
}
EOF
cat >late.c <<'EOF'
#include <pantrace/pantrace.h>
void go(void);
void go(void)
{
	for (int i = 0; i < 1000; i++)
		PANTRACE(shop, late, PT_NAMED(url, "/late"), PT_NAMED(status, i));
}
EOF
flags="-O2 -std=gnu17 -D_GNU_SOURCE -I$top/include"
# shellcheck disable=SC2086
gcc $flags shop.c -o shop -L"$lib" -lpantrace -Wl,-rpath,"$lib" -lpthread -ldl &&
	gcc $flags -shared -fPIC late.c -o late.so -L"$lib" -lpantrace -Wl,-rpath,"$lib" &&
	gcc $flags -DNO_DLOPEN shop.c -static -o static "$lib/libpantrace.a" -lpthread
ok "programs" || { done_testing; exit; }

# count DIR NAME: events of that name, with babeltrace2
count() { babeltrace2 "$1" 2>"$work/warnings" | grep -c "shop:$2:"; }

run record -u 'shop:request' --filter 'args.status >= 500' -o command -- ./shop
is "$rc" 0 "a predicate for a command" || printf '# %s\n' "$err"
is "$(count command request)" 500 "its events from the first one"
is "$(babeltrace2 command | grep -c 'status = [0-4]00')" 0 "and no others"
run record -u 'shop:[rlm]*' --filter 'args.status >= 500' -o late -- ./shop ./late.so
is "$(count late request) $(count late late) $(count late made)" "500 500 500" "also of a library that is loaded later, and of an event that is made"
run record -u 'shop:request' --filter 'str(args.url) == "/odd"' -o shell -- sh -c './static; ./shop; ./static'
is "$(count shell request)" 1500 "of all programs that the command starts, static ones, too"
is "$(ls "$PANTRACE_RUNTIME"/ask-* 2>/dev/null)" "" "nothing is left"

run record -u 'shop:*' --filter 'args.status >= 500' -o unfit -- sh -c './shop; sleep 30'
is "$rc" 1 "an event without such a field ends the recording"
like "$err" "the event shop:other has no field 'status'" "and that is said, with the event"
run record -u 'shop:request' --filter 'args.status >=' -o syntax -- ./shop
is "$rc" 1 "a predicate that is none"
run user start later -u 'shop:request' --filter 'args.status >= 500'
is "$rc" 1 "without a recorder nobody could compile it later"
like "$err" "start the program first" "and that is said"

# ---- programs that start by themselves; the recorder is killed, the next one goes on answering
start record -s keep -u 'shop:request' --filter 'args.status >= 500' -o keep1
./shop
sleep 0.3
kill -9 $tracer
wait $tracer 2>/dev/null
timeout 100 ./shop
ok "without a recorder a program runs"
start record -s keep -o keep2
./static
stop
is "$rc" 0 "another recorder takes the session over"
is "$(count keep1 request) $(count keep2 request)" "500 500" "each has the events of its time"
run user destroy keep
is "$rc" 0 "destroyed"
is "$(ls "$PANTRACE_RUNTIME"/ask-* 2>/dev/null)" "" "with its socket"

# ---- another user may ask as well, and keeps nobody else from it
cat >stranger.py <<'PY'
# DIRECTORY SESSION: as nobody, connections that ask nothing, and more events than are remembered
import glob, os, socket, sys
os.chdir(sys.argv[1])
path = glob.glob('ask-*')[0]
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
def connection():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    return s
asking = connection()
answers = set()
for first in range(0, 16400, 10): # ten at a time, whose answers find room: on a busy machine each change of sides takes milliseconds
    for i in range(first, first + 10):
        asking.send(b'pantrace 1 0.1.0 announce %s\nevent 1 0 6 shop:request status:i32 a%d:i32\n' % (sys.argv[2].encode(), i))
    answers.update(asking.recv(65536).split(b' ')[0] for i in range(10))
idle = [connection() for _ in range(300)]
print(answers, flush=True)
sys.stdin.read()
PY
start record -s guests -u 'shop:request' --filter 'args.status >= 500' -o guests
mkfifo guests-end
python3 stranger.py "$PANTRACE_RUNTIME" guests <guests-end >answers &
stranger=$!
exec 3>guests-end
until_true grep -q error answers
ok "another user asks for too much" || cat answers
./shop
stop
exec 3>&-
wait $stranger
is "$rc $(count guests request)" "3 500" "and holds connections: the others are answered" || printf '# %s\n' "$err"
like "$err" "WARNING: [1-9][0-9]* events of programs stayed off" "what was too much is told"
run user destroy guests

# ---- other fields under the same name, in a session without a recorder
cat >layout.c <<'END'
/* layout FILE: waits until FILE is there, then 1000 events, of which 500 have a status of at least 500 */
#include <pantrace/pantrace.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	while (argc > 1 && access(argv[1], F_OK))
		usleep(10000);
	for (int i = 0; i < 1000; i++)
#ifdef MS_FIRST
		PANTRACE(shop, status, PT_NAMED(ms, 999), PT_NAMED(status, i % 10 * 100));
#else
		PANTRACE(shop, status, PT_NAMED(status, i % 10 * 100), PT_NAMED(ms, 999));
#endif
	return 0;
}
END
# shellcheck disable=SC2086
gcc $flags layout.c -o status-first "$lib/libpantrace.a" -lpthread &&
	gcc $flags -DMS_FIRST layout.c -o ms-first "$lib/libpantrace.a" -lpthread
ok "two programs, the same name, fields in another order"
./status-first go &
first=$!
until_true [ -S "$PANTRACE_RUNTIME/$first" ]
run user start alone -u 'shop:status' --mode overwrite --filter 'args.status >= 500'
is "$rc" 0 "a predicate for a program that runs, and no recorder" || printf '# %s\n' "$err"
touch go
wait $first
./ms-first
./status-first
run user stop alone
run user snapshot alone -o alone
is "$(babeltrace2 alone | grep -c 'status = [5-9]00')" 1000 "what was compiled for these fields decides, also in a program that starts later"
is "$(count alone status)" 1000 "of a program with other fields there is nothing, right or wrong"
run user destroy alone
start record -u 'shop:status' --filter 'args.status >= 500' -o both
./ms-first
./status-first
stop
is "$(babeltrace2 both | grep -c 'status = [5-9]00') $(count both status)" "1000 1000" "a recorder compiles it for each"

# ---- triggers
run record -u 'shop:*' --mode overwrite -T 'shop:request /args.i == 700/' -o box -- sh -c './shop; sleep 2'
like "$err" "shop:request /args.i == 700/: [0-9]+ events" "a trigger with a predicate, of a command"
run record -u 'shop:*' --mode overwrite -T 'shop:request /args.i == 7000/' -o box2 -- sh -c './shop; sleep 2'
unlike "$err" "7000" "one that never holds"
run record -u 'shop:*' --mode overwrite -T 'shop:request /args.i == 1/' -T 'shop:req* /args.i == 2/' -o box3 -- ./shop
is "$rc" 1 "two predicates for one event"
like "$err" "join them" "are refused"

# ---- who may ask, and what
python3 - "$PANTRACE_RUNTIME" "$pantrace" >hostile.out 2>&1 <<'EOF'
import os, random, signal, socket, subprocess, sys, time
runtime, pantrace = sys.argv[1:]
p = subprocess.Popen([pantrace, "record", "-u", "shop:request", "--filter", "args.status >= 500", "-o", "hostile", "-q"],
                     stderr=subprocess.DEVNULL)
path = f"{runtime}/ask-{p.pid}"
for _ in range(5000):
    if os.path.exists(path): break
    time.sleep(0.02)
def dial():
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.settimeout(60)
    for _ in range(6000):
        try:
            s.connect(path)
            break
        except (BlockingIOError, ConnectionRefusedError): # the queue is full, or not there yet
            time.sleep(0.01)
    return s
head = f"pantrace 1 x announce record-{p.pid}\n".encode()
line = b"event 1 0 6 shop:request 5:i 5:status\n"
random.seed(1)
held = [dial() for _ in range(100)]
for i in range(2000):
    s = dial()
    text = bytearray(head + line if i % 2 else head)
    for _ in range(1 + random.randrange(4)):
        text[random.randrange(len(head))] = random.randrange(256)
    s.send(bytes(text[:random.randrange(1, len(text) + 1)]) if i % 5 else b"x" * 9000)
    s.close()
print("alive" if p.poll() is None else "ended", end=" ")
s = dial()
for fields in (b" 5:i 5:status\n", b" 5:i 5:status 300:x\n", b" 5:status" * 200 + b"\n"):
    s.send(head + b"event 1 0 6 shop:request" + fields)
    print(s.recv(65536)[:20])
p.send_signal(signal.SIGINT)
p.wait()
EOF
like "$(cat hostile.out)" "^alive b'ok.nfilter shop:reque'" "2000 mutilated requests do no harm" || sed 's/^/# /' hostile.out >&2
# Another user's program that has other fields does not end the recording of the others; what it lacks then is told.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work" "$PANTRACE_RUNTIME"
	start record -u 'shop:request' --filter 'args.status >= 500' -o guest
	python3 - "$PANTRACE_RUNTIME/ask-$tracer" $tracer >guest.out 2>&1 <<'EOF'
import os, socket, sys
os.setgid(65534); os.setuid(65534)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(60)
s.connect(sys.argv[1])
s.send(f"pantrace 1 x announce record-{sys.argv[2]}\nevent 1 0 6 shop:request 5:other\n".encode())
print(s.recv(65536)[:8])
EOF
	stop
	like "$(cat guest.out)" "b'error 22" "another user's event without the field is refused"
	is "$rc" 3 "which is an exit code"
	like "$err" "WARNING: 1 event of programs stayed off" "and is said"
fi

# ---- more filters than one message has room for, and more than a program takes
# many NUMBER: a program of so many events, each with an odd and an even number a round
many()
{
	{
		echo '#include <pantrace/pantrace.h>'
		echo '#include <unistd.h>'
		echo 'int main(int argc, char **argv) { int i = 0; for (;;) { i++;'
		seq "$1" | sed 's/.*/PANTRACE(many, e&, i);/'
		echo 'if (argc == 1 && i == 2) return 0; if (argc > 1) usleep(50000); } }'
	} >many$1.c
	gcc -O0 -std=gnu17 -D_GNU_SOURCE -I"$top/include" many$1.c "$lib/libpantrace.a" -o many$1
}
filter='i % 2 == 0 && i > -1000 && i < 1000000000'
many 300
many 1100
run record -u 'many:*' --filter "$filter" -o later -- ./many300
is "$rc $(babeltrace2 later 2>/dev/null | grep -c many:)" "0 300" "300 filters of a program that starts later" || echo "# $err"
./many300 go on &
program=$!
until_true [ -S "$PANTRACE_RUNTIME/$program" ]
"$pantrace" record -u 'many:*' --filter "$filter" -o running >/dev/null 2>running.err &
tracer=$!
until_true grep -q "recorder $tracer" "$PANTRACE_RUNTIME/sessions/record-$tracer"
has_all() { [ "$("$pantrace" user list -p $program 'many:*' | awk '$3 == 1' | wc -l)" = 300 ]; }
until_true has_all
ok "and of one that runs: each of its events is on" || "$pantrace" user list -p $program | sed 's/^/# /' | head
sleep 0.3
kill -INT $tracer
wait $tracer
is "$? $(babeltrace2 running 2>/dev/null | grep -c '{ i = [0-9]*[13579] }')" "0 0" "with its filter" || sed 's/^/# /' running.err >&2
run user start box -u 'many:*' --filter "$filter"
like "$rc $err" "^1 .*the filters of these events take [0-9]+ KB" "a session without a recorder, which has no room for them, is refused"
kill $program
run record -u 'many:*' --filter "$filter" -o toomany -- ./many1100
is "$rc" 3 "a program with more filters than it takes: an exit code"
like "$err" "process [0-9]+ \((many1100|it has ended)\) .*more filters for its events than a program takes" "and is named"
done_testing
