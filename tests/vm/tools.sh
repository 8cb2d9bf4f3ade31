# SPDX-License-Identifier: GPL-2.0-or-later
# The tools on a distribution's kernel.
# guest: older
begin pantrace execsnoop
/programs/spawn 100 /bin/true one 'two words'
end
is "$(grep -c '/bin/true one two words [0-9]*$' /tmp/out)" 100 "execsnoop: 100 of 100"

begin pantrace opensnoop -e -n '^opens$'
/programs/opens
end
like "$(cat /tmp/out)" '^opens +[0-9]+ +[0-9]+ +0 +/tmp/pantrace-opens/sub/inner$' "opensnoop: a name relative to a descriptor"
like "$(cat /tmp/out)" '^opens +[0-9]+ +-1 +ENOENT +/tmp/pantrace-opens/missing$' "opensnoop: a failed call"

begin pantrace killsnoop -n '^kills$'
child=$(/programs/kills)
end
is "$(awk '$1 == "kills" { print $3, $4, $5 }' /tmp/out | tr '\n' ';')" \
	"$child 0 0;$child 28 0;$child 23 0;$child 17 0;$child 18 0;134217727 15 ESRCH;$child 99 EINVAL;$child 9 0;" "killsnoop: every way to signal"

out=$(pantrace syscount -c /programs/syscalls 100 2>&1)
like "$out" '^getppid +300$' "syscount -c: getppid of three processes"
like "$out" '^write +300$' "syscount -c: write"
done_testing
