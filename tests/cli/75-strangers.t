#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Root's tool among users who mean it harm: links, FIFOs and bind mounts where it looks for programs, sockets that are not what they
# seem, files of rings that name other users' processes. Nothing of anybody else's is removed, opened or believed.
alone_in="/run /tmp /dev/shm"
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
unset PANTRACE_RUNTIME XDG_RUNTIME_DIR
if ! command -v setpriv >/dev/null; then
	echo "1..0 # SKIP needs setpriv"
	exit 0
fi
chmod 755 "$work"
cd "$work" || exit 1
evil=4343
as_evil="setpriv --reuid=$evil --regid=$evil --clear-groups"
as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"

cat >counts.c <<'END'
/* counts EVENTS [USLEEP] */
#include <pantrace/pantrace.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const long n = atol(argv[1]), pause = argc > 2 ? atol(argv[2]) : 0;
	for (long i = 0; n < 0 || i < n; i++) {
		PANTRACE(counts, event, i);
		if (pause)
			usleep((useconds_t)pause);
	}
	return 0;
}
END
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$top/include" counts.c "$lib/libpantrace.a" -o counts
ok "a program is instrumented" || { done_testing; exit; }

cat >speaker.c <<'END'
/* speaker PATH HOW: listens at PATH; stale: has ended; silent: never answers; orphan: a child of the one that did listen() answers;
 * forged, refuses: says so */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	const char *answer = "ok\nevent 1 0 6 evil:event\n";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	char text[65536];
	int client;

	strcpy(address.sun_path, argv[1]);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return perror(argv[1]), 1;
	if (*argv[2] == 's' && argv[2][1] == 't')
		return 0;
	if (*argv[2] == 'f')
		answer = "error 93 old\nERROR: forged\n";
	if (*argv[2] == 'r')
		answer = "error 1 no\nERROR: forged\n";
	listen(fd, 8);
	if (*argv[2] == 'o' && fork())
		return 0;
	while (*argv[2] != 's') {
		client = accept(fd, NULL, NULL);
		if (recv(client, text, sizeof(text), 0) > 0)
			send(client, answer, strlen(answer), MSG_NOSIGNAL);
		close(client);
	}
	return pause();
}
END
gcc -O2 -D_GNU_SOURCE speaker.c -o speaker && install -m 755 counts speaker /tmp/ || exit 1

# A socket has its name before it takes connections.
listens() { grep -q " 00010000 .* $1\$" /proc/net/unix; }

# ---- the name of our directory of rings is taken
$as_evil mkdir -m 777 /dev/shm/pantrace-0
start record -u 'counts:event' -o taken
./counts 100
stop
is "$rc $(babeltrace2 taken 2>/dev/null | grep -c counts:event)" "0 100" "a stranger's /dev/shm/pantrace-0 is not used, and not in the way" || echo "# $err" >&2
is "$($as_evil ls /dev/shm/pantrace-0)" "" "nothing was made in it"
$as_evil rmdir /dev/shm/pantrace-0

# ---- links, bind mounts and what is no socket
mkdir -p -m 755 /run/pantrace /run/user /tmp/victim
victim() { (cd /tmp/victim && echo *); }
touch /tmp/victim/1 /tmp/victim/2.tar
/tmp/speaker /tmp/victim/3 stale
/tmp/speaker /run/pantrace/3999999 stale
touch /run/pantrace/3999998
before=$(victim)
install -d -o $evil -g $evil -m 700 /run/user/$evil /run/user/4344 /tmp/pantrace-4345
$as_evil ln -s /tmp/victim /run/user/$evil/pantrace
$as_evil ln -s /tmp/victim /tmp/pantrace-$evil
$as_evil mkdir /run/user/4344/pantrace
$as_evil ln -s /tmp/victim/1 /run/user/4344/pantrace/1
$as_evil ln -s /tmp/victim/3 /run/user/4344/pantrace/3
$as_evil mkfifo /run/user/4344/pantrace/4
seq 20000 | (cd /tmp/pantrace-4345 && xargs $as_evil touch)
# in a mount namespace: the directory itself, and a link to it
unshare -m sh -c 'mount --bind /tmp/victim /run/pantrace && exec sleep 100' &
bound=$!
unshare -m sh -c 'rm -rf /run/user/x; mount -t tmpfs none /run && ln -s /tmp/victim /run/pantrace && ln -s /tmp/victim /tmp/pantrace-7 && exec sleep 100' &
linked=$!
sleep 3 # what is younger is not stale
run user list
run list 'user:*'
run -l 'user:*'
run record -u 'counts:event' -o links -- true
run crash 1 -o crashed
kill $bound $linked
is "$(victim)" "$before" "nothing is removed behind a link, a bind mount or in another's directory"
[ -L /run/user/4344/pantrace/3 ] && [ -p /run/user/4344/pantrace/4 ] && [ -e /tmp/pantrace-4345/19999 ]
ok "nor what is there itself"
[ ! -e /run/pantrace/3999999 ] && [ -f /run/pantrace/3999998 ]
ok "our own stale socket is removed, and no file"
rm -rf /tmp/pantrace-7 /tmp/pantrace-$evil /tmp/pantrace-4345 /run/user/4344 /run/user/$evil

# ---- who is not root asks no other user's programs
$as_evil mkdir -m 755 /tmp/pantrace-$evil
$as_evil sh -c "umask 0; exec /tmp/speaker /tmp/pantrace-$evil/1 answers" &
speaker=$!
until_true listens /tmp/pantrace-$evil/1
run user list
like "$out" 'evil:event' "root's tool asks another user's program"
is "$($as_nobody timeout 120 "$pantrace" user list 2>&1 | grep evil)" "" "another user's does not"
kill $speaker
rm -rf /tmp/pantrace-$evil

# ---- more directories and names than can be looked at, as a container of theirs has them
./counts -1 1000 &
honest=$!
$as_evil unshare -Urm sh -c 'mount -t tmpfs none /tmp && mkdir /tmp/pantrace-1 && cd /tmp/pantrace-1 && seq 100001 | xargs touch || exit
	for i in $(seq 2 100); do mkdir /tmp/pantrace-$i && mount --bind . /tmp/pantrace-$i || exit; done
	: >/tmp/pantrace-1/made; exec sleep 100' &
many=$!
until_true [ -e /proc/$many/root/tmp/pantrace-1/made ]
run user list
like "$out" 'counts:event' "one who has a hundred thousand names in a hundred places hides no others"
run record -u 'counts:event' -o unseen -d 0.2
is "$rc" 3 "a recording says that it may not be whole" || echo "# $err" >&2
like "$err" 'programs may be missing: some user has made more sockets, directories or files' "and why"
kill $many $honest
wait $many $honest 2>/dev/null

# ---- descriptions in a directory that another user has made in our place
install -d -o $evil -g $evil -m 755 /tmp/pantrace-65534 /tmp/pantrace-65534/sessions
install -d -o 65534 -m 755 /tmp/mine
$as_nobody touch /tmp/mine/1-a.pantrace
printf 'pantrace-session 1\n# recorder 3999999 1\n# anonymous\nname record-1\nfor all\ndirectory /tmp/mine\nmode discard\n' |
	$as_evil tee /tmp/pantrace-65534/sessions/record-1 >/dev/null
$as_nobody "$pantrace" record -u 'counts:event' -o /tmp/mine/out -- true >out 2>err </dev/null
[ -f /tmp/mine/1-a.pantrace ]
ok "a description that another user wrote in /tmp removes nothing"
like "$(cat err)" "pantrace-65534.*only its owner" "and the directory is refused"
rm -rf /tmp/pantrace-65534 /tmp/mine

# ---- what is no file is not opened: somebody who waits for a reader of a FIFO would be let go
mkfifo /tmp/pipe
(echo x >/tmp/pipe; touch /tmp/opened) &
waits=$!
mkdir /tmp/trace && ln -s /tmp/pipe /tmp/trace/metadata
$as_evil ln -s /tmp/pipe /dev/shm/3999996-a.pantrace
timeout 120 "$pantrace" -l 'uprobe:/tmp/pipe:*' >out 2>err
timeout 120 "$pantrace" report /tmp/trace >out 2>err
is "$?" 1 "a FIFO is no trace" || sed 's/^/# /' err >&2
timeout 120 "$pantrace" crash 3999996 -o crash >out 2>err
like "$(cat err)" "3999996-a.pantrace" "a link is no file of rings"
[ ! -e /tmp/opened ]
ok "nothing of it was opened"
kill $waits 2>/dev/null
rm -f /dev/shm/3999996-a.pantrace

# ---- where another user waits for what root writes
$as_evil mkdir -m 777 /tmp/out
$as_evil touch /tmp/file
chmod 666 /tmp/file
run record -u 'counts:event' -o /tmp/out -- true
is "$rc $(ls /tmp/out)" "1 " "no trace goes into a directory that another user has made in /tmp"
like "$err" "another user has made it" "and the reason is told"
run -e 'BEGIN { printf("secret\n"); exit() }' -o /tmp/file
is "$rc $(cat /tmp/file)" "1 " "nor any output into such a file"
install -d -o $evil "$work/theirs"
run record -u 'counts:event' -o "$work/theirs" -- true
is "$rc" 0 "a directory of theirs elsewhere is written to"

# ---- a lock that everybody can take holds nobody up
if [ -d /sys/kernel/tracing/events ]; then
	clock=$(sed 's/.*\[\(.*\)\].*/\1/' /sys/kernel/tracing/trace_clock)
	mkdir -p -m 755 /run/pantrace
	printf 'trace_clock %d\n%s\n' ${#clock} "$clock" >/run/pantrace/pantrace-3999997-1
	$as_evil flock /run/pantrace sleep 100 &
	lock=$!
	sleep 0.3
	run reset-ftrace --stale
	[ ! -e /run/pantrace/pantrace-3999997-1 ]
	ok "what a dead run changed is put back though another user has locked the directory"
	pkill -KILL -U $evil
	wait $lock 2>/dev/null
fi

# ---- who speaks
$as_evil mkdir -m 755 /tmp/pantrace-$evil
$as_evil /tmp/speaker /tmp/pantrace-$evil/77 orphan &
until_true listens /tmp/pantrace-$evil/77
$as_evil /tmp/speaker /tmp/pantrace-$evil/78 live &
live=$!
until_true listens /tmp/pantrace-$evil/78
./counts -1 1000 &
one=$!
until_true [ -S /run/pantrace/$one ]
other=
for _ in 1 2 3; do
	unshare -m sleep 100 &
	other="$other $!"
done
sleep 0.2
run user list
is "$(printf '%s\n' "$out" | awk '/counts:event/ { print $1 }')" "$one" "a process is listed once, however many mount namespaces there are"
is "$(printf '%s\n' "$out" | awk '/evil:event/ { print $1 }')" "$live" "whoever has a socket of a process that is gone is not listed, whoever has its own is"
kill $other
pkill -KILL -U $evil

# ---- nobody waits for those who do not answer
kill -STOP $one
$as_evil rm -f /tmp/pantrace-$evil/77 /tmp/pantrace-$evil/78
$as_evil /tmp/speaker /tmp/pantrace-$evil/79 silent &
silent=$!
until_true listens /tmp/pantrace-$evil/79
for _ in 1 2 3; do # on a busy machine it takes long without them, too
	rm -rf silent
	timeout 7 "$pantrace" record -u 'counts:event' -o silent -- true >out 2>err </dev/null
	rc=$?
	[ $rc = 124 ] || break
done
is "$rc" 0 "a recording with two that do not answer does not take the time of all its questions" || sed 's/^/# /' err >&2
is "$(grep -c "process $one (counts) does not answer" err)" 1 "who is stopped is named, once"
is "$(grep -c "process $silent (speaker) does not answer" err)" 1 "and who is silent"
crowd=
for i in $(seq 12); do
	$as_evil /tmp/speaker /tmp/pantrace-$evil/9$i silent &
	crowd="$crowd $!"
	until_true listens /tmp/pantrace-$evil/9$i
done
timeout 60 "$pantrace" record -u 'counts:event' -o silent -- true >out 2>err </dev/null
is "$(grep -c "does not answer" err) $(grep -o 'WARNING: [0-9]* more processes do not answer' err)" "5 WARNING: 9 more processes do not answer" \
	"of a crowd some are named, the others counted"
kill -CONT $one
kill -KILL $silent $one $crowd
wait $silent $one $crowd 2>/dev/null

# ---- what a refusal says is one line, and a crowd of them is counted
crowd=
rm -f /tmp/pantrace-$evil/*
for i in $(seq 23); do
	$as_evil /tmp/speaker /tmp/pantrace-$evil/7$i refuses &
	crowd="$crowd $!"
	until_true listens /tmp/pantrace-$evil/7$i
done
$as_evil /tmp/speaker /tmp/pantrace-$evil/6 forged &
crowd="$crowd $!"
until_true listens /tmp/pantrace-$evil/6
run user start refused -u 'counts:event'
is "$rc" 3 "user start: programs that refuse make its code 3"
is "$(printf '%s\n' "$err" | grep -c '^ERROR')" 0 "a process's reason is not a message of its own"
is "$(printf '%s\n' "$err" | grep -c 'speaker) does not take part: no$') $(printf '%s\n' "$err" | grep -c 'WARNING: [0-9]* more processes do not take part')" "20 1" "of a crowd that refuses some are named" || echo "# $err" >&2
run user destroy refused
kill -KILL $crowd
wait $crowd 2>/dev/null

# ---- rings that name another's process
cat >forge.c <<'END'
/* forge FROM DIRECTORY PID KIND: a copy of rings or tables that says to be of PID */
#include <fcntl.h>
#include <pantrace/aggregate.h>
#include <pantrace/ring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	int from = open(argv[1], O_RDONLY), to;
	char path[4096], *bytes;
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s-abc%d.pantrace", argv[2], argv[3], (int)getpid());
	to = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (from < 0 || to < 0 || fstat(from, &st) || ftruncate(to, st.st_size))
		return perror(path), 1;
	bytes = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, from, 0);
	if (*argv[4] == 'r') {
		((struct pantrace_shm *)bytes)->pid = atoi(argv[3]);
		((struct pantrace_shm *)bytes)->pid_namespace = argc > 5 ? 1 : ((struct pantrace_shm *)bytes)->pid_namespace;
	} else {
		((struct pantrace_aggregates *)bytes)->pid = atoi(argv[3]);
	}
	/* the magic last, as programs do */
	if (pwrite(to, bytes + 8, st.st_size - 8, 8) != st.st_size - 8 || pwrite(to, bytes, 8, 0) != 8)
		return 1;
	return 0;
}
END
gcc -O2 -D_GNU_SOURCE -I"$top/include" forge.c -o forge || exit 1
install -m 755 counts forge /tmp/
start record -u 'counts:event' -o forged
rings=/dev/shm/pantrace-0/record-$tracer
$as_evil /tmp/counts 300 100000 &
theirs=$!
has_ring() { ls $rings/$theirs-*.pantrace; }
until_true has_ring >/dev/null
sleep 0.3
cp $rings/$theirs-*.pantrace /tmp/copy
# another uuid: another recording
printf 'x' | dd of=/tmp/copy bs=1 seek=$(printf '#include <stddef.h>\n#include <stdio.h>\n#include <pantrace/ring.h>\nint main(void) { printf("%%zu", offsetof(struct pantrace_shm, uuid)); }' >at.c && gcc -I"$top/include" at.c -o at && ./at) conv=notrunc 2>/dev/null
chown $evil /tmp/copy
sleep 100 &
roots=$!
$as_evil /tmp/forge /tmp/copy $rings $roots r
$as_evil ln -s /etc/passwd $rings/5-a.pantrace
$as_evil mkfifo $rings/6-a.pantrace
$as_evil mkdir $rings/7-a.pantrace
$as_evil touch $rings/$roots-0-28.pantrace # "it could not make its rings"
sleep 0.5
kill -KILL $theirs
wait $theirs 2>/dev/null
stop
like "$(ls forged)" "counts-$theirs" "another user's program takes part in root's session"
unlike "$(ls forged)" "$roots" "a file of rings that names root's process does not"
unlike "$err" "process $roots" "nor is it said to refuse"
like "$err" "2 files? of rings (is|are) not read" "and both are told of"
[ ! -e $rings ]
ok "whatever lay there: the directory of rings is gone"

# ---- who hands over rings
start record -u 'counts:event' -o handed
unshare -m sh -c "mount -t tmpfs none /dev/shm; for i in 1 2 3 4 5; do $as_evil /tmp/counts 20; done"
cat >hand.py <<'END'
import array, os, socket, sys
os.setuid(int(sys.argv[2]))
for size in [9000, 0] * 100: # a message that is too long, and an empty one, with a descriptor
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(sys.argv[1])
    s.sendmsg([b'x' * size], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])
    s.settimeout(120)
    try:
        s.recv(1)
    except ConnectionError:
        pass
END
before=$(ls /proc/$tracer/fd | wc -l)
python3 hand.py /run/pantrace/ask-$tracer $evil </dev/null
ok "descriptors of no use are handed over"
few() { [ $(ls /proc/$tracer/fd | wc -l) -lt $((before + 10)) ]; }
until_true few
ok "and not kept" || echo "# $before, then $(ls /proc/$tracer/fd | wc -l)"
stop
is "$rc $(babeltrace2 handed 2>/dev/null | grep -c counts:event)" "0 100" "rings of a stranger's short programs, which see no directory of rings" || echo "# $err" >&2

# ---- descriptors that are not to be closed: of a file whose owner does not answer, of a connection that waits to deliver
cat >unclosed.py <<'END'
"""unclosed KIND HOW PATH USER: as USER hands over (HOW: keep, or drop: unread) or answers with a descriptor of KIND fuse or linger"""
import array, ctypes, os, socket, struct, sys, threading
kind, how, path, user = *sys.argv[1:4], int(sys.argv[4])
def attributes(node, mode):
    return struct.pack("<6Q10I", node, 1 << 20, 8, 0, 0, 0, 0, 0, 0, mode, 1, user, user, 0, 4096, 0)
def serve(fuse): # of what closing a file takes, nothing is answered
    answers = {26: struct.pack("<IIIIHHII", 7, 31, 65536, 0, 16, 12, 65536, 1).ljust(64, b"\0"),
               1: struct.pack("<QQQQII", 2, 1, 1000, 1000, 0, 0) + attributes(2, 0o100666), 14: struct.pack("<QII", 1, 0, 0)}
    while True:
        request = os.read(fuse, 1 << 17)
        _, operation, number, node = struct.unpack_from("<IIQQ", request)
        answer = answers.get(operation, b"")
        if operation == 3:
            answer = struct.pack("<QII", 1000, 0, 0) + attributes(node, 0o40777 if node == 1 else 0o100666)
        if operation not in (2, 42, 25, 15):
            os.write(fuse, struct.pack("<IiQ", 16 + len(answer), 0 if answer else -38, number) + answer)
if kind == "fuse":
    mount = path + ".mount" if how == "answer" else "/tmp/fuse.mount"
    os.makedirs(mount)
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id={user},group_id={user}".encode()
    if ctypes.CDLL(None).mount(b"none", mount.encode(), b"fuse", 6, options):
        sys.exit(77)
    os.setgid(user); os.setuid(user)
    threading.Thread(target=serve, args=(fuse,), daemon=True).start()
    fd = os.open(mount + "/rings", os.O_RDWR)
else:
    listener = socket.socket(); listener.bind(("127.0.0.1", 0)); listener.listen(1)
    to = socket.socket(); to.connect(listener.getsockname())
    os.setgid(user); os.setuid(user)
    to.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 10000)); to.setblocking(False)
    try:
        while True: to.send(b"x" * 65536)
    except BlockingIOError: fd = to.detach()
files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if how == "answer":
    s.bind(path); s.listen(8)
    print("ready", flush=True)
    while True:
        client = s.accept()[0]
        client.recv(65536)
        client.sendmsg([b"ok\n"], files)
else:
    s.connect(path)
    s.sendmsg([b"pantrace 1 x keep record-1\n"], files)
    if kind == "linger": os.close(fd)
    print("ready", flush=True)
    s.recv(1) if how == "keep" else s.close()
threading.Event().wait()
END
mkdir connections && mount -t fusectl none connections 2>/dev/null
# abort: what waits for the owner of the FUSE file, himself included, goes on
abort()
{
	for number in $(awk '$5 ~ "^/tmp/.*mount$" { sub(".*:", "", $3); print $3 }' /proc/self/mountinfo); do
		echo 1 >connections/$number/abort
	done
	umount -l /tmp/fuse.mount /tmp/pantrace-$evil/91.mount 2>/dev/null
	rm -rf /tmp/fuse.mount /tmp/pantrace-$evil/91*
	kill -KILL $attacker
	wait $attacker 2>/dev/null
}
# ends HOW: it does, within a bound that is no measure; HOW it was attacked
ends()
{
	kill -INT $tracer
	gone() { ! kill -0 $tracer; }
	for _ in $(seq 600); do gone 2>/dev/null && break; sleep 0.05; done
	gone 2>/dev/null
	ok "root's recorder ends: $1" || abort
	wait $tracer
	rc=$? err=$(cat "$work/trace.err")
}
for kind in linger fuse; do
	[ $kind = linger ] || [ -e /dev/fuse ] || { skip "$kind" "no /dev/fuse"; continue; }
	rm -rf unclosed said
	start record -u 'counts:event' -o unclosed
	kill -STOP $tracer
	python3 unclosed.py $kind keep /run/pantrace/ask-$tracer $evil >said 2>&1 </dev/null &
	attacker=$!
	until_true [ -s said ]
	kill -CONT $tracer
	unshare -m sh -c "mount -t tmpfs none /dev/shm; $as_nobody /tmp/counts 20"
	ends "a descriptor of $kind was handed over"
	is "$rc $("$pantrace" report unclosed | grep -c counts:event)" "3 20" "and others' rings were taken"
	like "$err" "programs of user $evil may be missing: .* descriptor that cannot be closed" "whose it is, is said"
	abort
	rm -rf unclosed said
	start record -u 'counts:event' -o unclosed
	kill -STOP $tracer
	python3 unclosed.py $kind drop /run/pantrace/ask-$tracer $evil >said 2>&1 </dev/null &
	attacker=$!
	until_true [ -s said ]
	kill -CONT $tracer
	ends "one of $kind was left in its queue"
	abort
	rm -rf unclosed said
	start record -u 'counts:event' -o unclosed
	kill -STOP $tracer
	python3 unclosed.py $kind drop /run/pantrace/ask-$tracer $evil >said 2>&1 </dev/null &
	attacker=$!
	until_true [ -s said ]
	kill -KILL $tracer
	ends "killed with one of $kind in its queue"
	abort
	rm -rf unclosed said
	install -d -o $evil -m 700 /tmp/pantrace-$evil
	python3 unclosed.py $kind answer /tmp/pantrace-$evil/91 $evil >said 2>&1 </dev/null &
	attacker=$!
	until_true [ -s said ]
	unshare -m sh -c "mount -t tmpfs none /dev/shm; exec $as_nobody /tmp/counts -1 1000" &
	other=$!
	start record -u 'counts:event' -o unclosed
	sleep 1
	ends "one of $kind came with an answer"
	like "$("$pantrace" report unclosed | grep -c counts:event)" '^[1-9]' "and others' rings were taken"
	timeout 120 "$pantrace" user list >out 2>err
	is "$? $(grep -c "^$other .*counts:event" out)" "0 1" "user list ends, and lists others' events"
	kill -KILL $other
	wait $other 2>/dev/null
	abort
done
umount connections 2>/dev/null

# ---- one that hands over more rings than a program has
start record -u 'counts:event' -o crowded
as_root=/dev/shm/pantrace-0/record-$tracer
./counts -1 10000 &
model=$!
a_ring() { ls $as_root/$model-*.pantrace; }
until_true a_ring >/dev/null
cat >many.py <<'END'
import array, os, socket, sys
rings = bytearray(open(sys.argv[2], "rb").read())
os.setgid(int(sys.argv[4])); os.setuid(int(sys.argv[4]))
at, pid_at = (int(x) for x in sys.argv[3].split())
rings[pid_at:pid_at + 4] = os.getpid().to_bytes(4, "little")
for i in range(100):
    rings[at:at + 4] = (i + 1).to_bytes(4, "little")
    fd = os.memfd_create("rings"); os.write(fd, rings)
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])
    s.sendmsg([b"pantrace 1 x keep record\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    s.close(); os.close(fd)
print("ready", flush=True)
sys.stdin.read()
END
printf '#include <stddef.h>\n#include <stdio.h>\n#include <pantrace/ring.h>\nint main(void) { printf("%%zu %%zu", offsetof(struct pantrace_shm, uuid), offsetof(struct pantrace_shm, pid)); }' >at.c
gcc -I"$top/include" at.c -o at
mkfifo stays
sleep 100 >stays &
sleeper=$!
python3 many.py /run/pantrace/ask-$tracer "$(a_ring)" "$(./at)" $evil <stays >said-many 2>&1 &
many=$!
until_true grep -q . said-many
stop
is "$rc $(printf '%s\n' "$err" | grep -c "process $many of user $evil hands over more rings than a program has")" "3 1" "it is named, and the others are not read" || sed 's/^/# /' said-many >&2
like "$err" "in crowded" "the recording ends" || echo "# $err" >&2
kill $many $sleeper $model

# ---- rings that are larger than those that the session asks for: what reading them takes is root's memory
"$pantrace" user trigger counts:event notify >large.out 2>large.err &
watch=$!
as_root=/dev/shm/pantrace-0/watch-$watch
./counts -1 10000 &
model=$!
until_true a_ring >/dev/null
cat >large.py <<'END'
import array, os, socket, struct, sys
rings = bytearray(open(sys.argv[2], "rb").read(1 << 16))
evil = int(sys.argv[4])
os.setgid(evil); os.setuid(evil)
at, pid_at, sub_at, ring_off_at = (int(x) for x in sys.argv[3].split())
rings[at] ^= 1
struct.pack_into("<I", rings, pid_at, os.getpid())
struct.pack_into("<II", rings, sub_at - 4, 1, 1 << 30) # one ring
struct.pack_into("<I", rings, sub_at + 4, 2)
ring, data = struct.unpack_from("<QQ", rings, ring_off_at)
fd = os.memfd_create("rings"); os.write(fd, rings)
os.truncate(fd, data + (2 << 30))
os.pwrite(fd, struct.pack("<Q", (1 << 30) + 200), ring)
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])
s.sendmsg([b"pantrace 1 x keep record\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
print(os.getpid(), flush=True)
sys.stdin.read()
END
printf '#include <stddef.h>\n#include <stdio.h>\n#include <pantrace/ring.h>\nint main(void) { printf("%%zu %%zu %%zu %%zu", offsetof(struct pantrace_shm, uuid), offsetof(struct pantrace_shm, pid), offsetof(struct pantrace_shm, sub_size), offsetof(struct pantrace_shm, ring_off)); }' >at.c
gcc -I"$top/include" at.c -o at
sleep 100 >stays &
sleeper=$!
python3 large.py /run/pantrace/ask-$watch "$(a_ring)" "$(./at)" $evil <stays >said-large 2>&1 &
large=$!
until_true grep -q . said-large
until_true grep -q 'rings of other sizes' large.err
like "$(cat large.err)" "process $large of user $evil has rings of other sizes than the session's; they are not read" "they are named" || sed 's/^/# /' said-large >&2
[ "$(awk '$1 == "VmHWM:" { print $2 }' /proc/$watch/status)" -lt 600000 ]
ok "and take no memory" || grep VmHWM /proc/$watch/status | sed 's/^/# /'
kill -TERM $watch
wait $watch
is "$?" 3 "and make the code 3"
kill $large $sleeper $model

# ---- rings that lie about
sleep 0 &
dead=$!
wait $dead
$as_evil /tmp/forge /tmp/copy /dev/shm $roots r
$as_evil /tmp/forge /tmp/copy /dev/shm $dead r
chmod 644 /dev/shm/*.pantrace
run crash $roots -o planted
is "$rc" 1 "crash: rings that name a process of root's are not taken as its own"
like "$err" "is user $evil's file, not that of process $roots" "and whose they are is said"
unlike "$out" "$roots" "they are not shown"
run crash $dead -o planted-dead
like "$out" "^$dead +$evil +counts " "of a process that has ended, whose file it is stands beside it"
run crash --json $dead -o planted-json
like "$out" "\"pid\":$dead,\"uid\":$evil," "in JSON, too"
$as_nobody "$pantrace" crash $dead -o /tmp/planted-nobody >out 2>err </dev/null
like "$? $(cat err)" "^1 .*is user $evil's file" "a user is shown none but the own ones and root's"
rm -f /dev/shm/*.pantrace

# ---- tables of counts
$as_evil /tmp/counts -1 20000 &
theirs=$!
$as_evil /tmp/counts 0 &
wait $!
listed() { "$pantrace" user list -p $theirs | grep -q counts:event; }
until_true listed
start -e 'user:counts:event { @[1] = count() }'
rings=$(ls -d /dev/shm/pantrace-0/script-$tracer-*)
until_true has_ring >/dev/null
kill -STOP $theirs
cp $rings/$theirs-*.pantrace /tmp/table && chown $evil /tmp/table
kill -CONT $theirs
$as_evil /tmp/forge /tmp/table $rings $roots t
is "$?" 0 "a table of root's process is forged"
sleep 0.5
stop
like "$out" '@\[1\]: [1-9]' "there are counts"
like "$err" "1 table of counts is not read" "a table that names root's process is not added" || echo "# $err" >&2
kill $roots $theirs
done_testing
