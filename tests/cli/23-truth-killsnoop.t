#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every way to send a signal, with target and result.
. "$(dirname "$0")/lib.sh"
need_root

start killsnoop -n '^kills$' -c
child=$("$programs/kills")
sleep 0.3
stop
want="kill $child 0 0
tkill $child 28 0
tgkill $child 23 0
rt_sigqueueinfo $child 17 0
pidfd_send_signal $child 18 0
kill 134217727 15 ESRCH
kill $child 99 EINVAL
kill $child 9 0"
got=$(echo "$out" | awk '$1 == "kills" { print $3, $4, $5, $6 }')
is "$got" "$want" "all calls with target, signal and result"

start killsnoop -s
child=$("$programs/kills")
sleep 0.3
stop
like "$out" "^kills +[0-9]+ +$child +SIGKILL +0\$" "-s shows names"
like "$out" '^COMM +PID +TPID +SIGNAL +RETURN$' "columns"
done_testing
