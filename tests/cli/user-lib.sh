# SPDX-License-Identifier: GPL-2.0-or-later
# For tests of recorded events; after lib.sh. $traced is a program that counts what it publishes.
. "$(dirname "$0")/user-app.sh"
traced=$work/traced
gcc -O1 -g -fno-omit-frame-pointer -I"$top/include" "$top/tests/lib/traced.c" -o "$traced" "$lib/libpantrace.a" -lpthread || exit 1

# same_text DIRECTORY NAME: what babeltrace2 prints equals what report prints; babeltrace2 warns of nothing
same_text()
{
	babeltrace2 "$1" >"$work/theirs" 2>"$work/warnings"
	"$pantrace" report --format babeltrace "$1" >"$work/ours" 2>"$work/err"
	[ -s "$work/ours" ] && cmp "$work/theirs" "$work/ours"
	ok "$2: $(grep -c . "$work/ours") lines equal babeltrace2's" || diff "$work/theirs" "$work/ours" | head -6 | sed 's/^/# /'
}

# ssh_serve PORT COMMAND: an sshd of this machine alone, and COMMAND, a file, that logs in there as ssh would. $sshd is its pid.
ssh_serve()
{
	ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
	ssh-keygen -q -t ed25519 -N '' -f "$work/key"
	mkdir -p /run/sshd
	cp "$work/key.pub" "$work/authorized"
	/usr/sbin/sshd -D -e -f /dev/null -h "$work/host_key" -p "$1" -o ListenAddress=127.0.0.1 -o "AuthorizedKeysFile=$work/authorized" \
		-o StrictModes=no -o PidFile=none -o UsePAM=no >"$work/sshd.log" 2>&1 &
	sshd=$!
	printf '#!/bin/sh\nexec /usr/bin/ssh -i "%s/key" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "$@"\n' "$work" >"$2"
	chmod +x "$2"
	until_true "$2" -p "$1" -- root@127.0.0.1 true
}
ssh_end()
{
	kill $sshd
	wait $sshd 2>/dev/null
}
