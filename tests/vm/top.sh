# SPDX-License-Identifier: GPL-2.0-or-later
# top on other kernels: its script loads, and its walk over the tasks finds those that there are.
# guest: older newer
dd if=/dev/zero of=/dev/null bs=1 >/dev/null 2>&1 &
worker=$!
pantrace top -j -d 1 -n 1 -p $worker >/tmp/out 2>/tmp/err
is "$?" 0 "top -j" || head -3 /tmp/err | sed 's/^/# /'
like "$(cat /tmp/out)" '"pid":'"$worker"',.*"comm":"dd".*"syscalls":[1-9][0-9][0-9][0-9]+,' "its row"
kill $worker
wait
TERM=linux pantrace top -b -d 0.5 -n 1 >/tmp/out 2>/dev/null
like "$(cat /tmp/out)" '  +1 +1 [RS] ' "the first process"
done_testing
