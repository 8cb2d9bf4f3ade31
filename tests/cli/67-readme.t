#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# README.md: every pantrace command that it shows is taken, with the files that it names. Those that run until Ctrl-C get it.
# among tracers: asks whether they are taken
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
need_root
mkdir "$work/bin" "$work/page"
# a host that is called otherwise: what ssh would run there, where no Ctrl-C is heard
printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\ncd "%s" && exec setsid -w sh -c "$3"\n' "$work/bin" >"$work/bin/ssh"
chmod +x "$work/bin/ssh"
cd "$work/page" || exit 1
ln -s "$pantrace" "$work/bin/pantrace"
PATH=$work/bin:$PATH
echo 'begin { exit(); }' >script.bt
printf 'all:\n\ttrue\n' >Makefile
cat >shop.c <<'C'
#include <pantrace/pantrace.h>
int main(void)
{
	for (int id = 1; id <= 20; id++)
		PANTRACE(shop, order, id, PT_NAMED(price, id * 10));
}
C
gcc -g -O2 -I"$top/include" shop.c "$lib/libpantrace.a" -lpthread -o shop 2>"$work/err"
ok "the program with events of its own is built" || sed 's/^/# /' "$work/err" >&2
PANTRACE_RECORD=. PANTRACE_EVENTS='shop:*' ./shop # what `crash` looks at
pantrace record -u 'shop:*' -o trace -- ./shop >"$work/out" 2>&1
ok "and recorded"
perf record -q -F 999 -e cpu-clock -g -- sh -c 'for i in 1 2 3; do ls -R /etc; done' >/dev/null 2>&1 # perf.data
"$pantrace" convert perf.data heap.pb.gz 2>/dev/null
pantrace record -q -e sched:sched_switch,sched:sched_waking -o run.dat -- /bin/true >/dev/null 2>&1

# Commands: in the table's second column, and at the beginning of a line of the blocks, up to what explains them.
{
	sed -n 's/^|[^|]*| //p' "$top/README.md" | grep -o '`pantrace [^`]*`' | tr -d '`'
	sed -n '/^```/,/^```/s/^\(# \)\{0,1\}\(pantrace .*\)$/\2/p' "$top/README.md" | sed 's/    *[^ ].*//'
} >commands
sed -i "s/4711/./; s/ FILE$/ run.dat/; s/^pantrace report trace.dat$//" commands
[ "$(grep -c '^pantrace' commands)" -ge 20 ]
ok "the page shows commands"
while IFS= read -r command; do
	case $command in
	'') continue ;;
	*' agent' | *' --guest '* | *' kvm '* | *' crash --kernel'* | *' xen.trace')
		skip "$command" "needs a virtual machine, or a crash"
		continue
		;;
	*'-o trace'*) rm -rf trace ;;
	esac
	for seconds in 1 5 20; do # a busy machine needs longer to begin
		case $command in *'-o switches'*) rm -rf switches ;; esac
		run_a_moment $seconds "exec $command"
		case $command in *'-o switches'*) "$pantrace" report -c switches 2>/dev/null | grep -q sched_switch && break ;; *) break ;; esac
	done
	if [ $rc -eq 5 ]; then
		skip "$command" "$(head -1 "$work/err")"
	else
		case $rc in # 3: a busy machine loses samples, and they are counted
		0 | 124 | 130) ! grep -q 'ERROR' "$work/err" ;;
		3) grep -q 'lost [1-9]' "$work/err" && ! grep -q 'ERROR' "$work/err" ;;
		*) false ;;
		esac
		ok "$command" || { echo "# exit code $rc"; sed 's/^/# /' "$work/err" | head -5; }
	fi
done <commands
done_testing
