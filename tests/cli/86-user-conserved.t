#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What is kept and what is lost is what programs produced, by their own counts: many that start and end, where there is no memory for rings,
# where a program has a /dev/shm and a /tmp of its own, as units of systemd have.
# parallel: has directories of its own where programs and recorders meet
. "$(dirname "$0")/alone.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-app.sh"
cd "$work" || exit 1
mkdir -m 700 "$PANTRACE_RUNTIME"

# made COUNT [WAIT]: emits so many events, and adds the number to the file "made" of its directory
cat >made.c <<'EOC'
#include <pantrace/pantrace.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const int to = open("made.txt", O_WRONLY | O_CREAT | O_APPEND, 0644);
	int n = atoi(argv[1]);

	for (int i = 0; i < n; i++)
		PANTRACE(made, event, i, PT_NAMED(text, "some text that takes a while to fill a ring with"));
	return dprintf(to, "%d\n", n) < 0;
}
EOC
gcc -O2 -std=gnu17 -D_GNU_SOURCE -I"$top/include" made.c "$lib/libpantrace.a" -o made || exit 1

produced() { awk '{ n += $1 } END { print n + 0 }' made.txt; rm -f made.txt; }
kept() { babeltrace2 "$1" 2>/dev/null | grep -c made:event; }
lost() { printf '%s\n' "$err" | sed -n 's/.*; \([0-9]*\) lost.*/\1/p'; }
# conserved DIRECTORY NAME
conserved()
{
	want=$(produced) kept=$(kept "$1") lost=$(lost)
	is "$((kept + lost))" "$want" "$2: $kept kept, $lost lost" || printf '%s\n' "$err" | head -5 | sed 's/^/# /'
}

# ---- many that start and end
run record -u 'made:event' -o many -- sh -c "for i in \$(seq ${STARTS:-250}); do ./made \$((i % 50)); done"
conserved many "${STARTS:-250} programs that start and end"
is "$rc" 0 "none of which is missing"
run record -u 'made:event' --sub-size 16K --subs 2 -o small -- sh -c './made 30000 & ./made 30000 & wait'
conserved small "programs that are faster than their rings are read"
is "$rc" "$([ "$(lost)" = 0 ] && echo 0 || echo 3)" "what is lost is an exit code"

# ---- a unit's own /dev/shm and /tmp
if [ "$(id -u)" = 0 ]; then
	mkdir own
	start record -u 'made:event' -o unit
	(cd own && unshare -m sh -c 'mount -t tmpfs none /dev/shm; exec ../made 5000')
	(cd own && unshare -m sh -c 'mount -t tmpfs -o size=64k none /dev/shm; exec ../made 5000')
	stop
	mv own/made.txt .
	conserved unit "programs with a /dev/shm of their own, and a small one"
	is "$rc" 0 "none of which is missing"

	# ---- /dev/shm is full: before a program begins, and while programs run
	cat >full.sh <<'END'
mount -t tmpfs -o size=${1} none /dev/shm
exec "$0" record -u made:event -o full -- sh -c './made 20000; ./made 20000; ./made 20000'
END
	for size in 64k 600k 2m 5m; do
		rm -rf full
		unshare -m sh -c "$(cat full.sh)" "$pantrace" $size >out 2>err
		rc=$? err=$(cat err)
		# one that had no memory and got it when it was asked again is in the recording, with what it lost until then
		named=$(printf '%s\n' "$err" | sed -n 's/.*process \([0-9]*\) .* does not take part.*/\1/p' |
			while read -r pid; do [ -e full/made-$pid ] || echo $pid; done | grep -c .)
		want=$(produced) kept=$(kept full) lost=$(lost)
		is "$((kept + lost + 20000 * named)) $([ $((lost + named)) = 0 ] || echo 3)" "$want $([ $rc = 0 ] || echo $rc)" \
			"/dev/shm of $size: $kept kept, $lost lost, $named programs named" || printf '%s\n' "$err" | head -5 | sed 's/^/# /'
	done
fi
done_testing
