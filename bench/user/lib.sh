# SPDX-License-Identifier: MIT
# For the measurements of this directory; sourced after $here (this directory), $lib (where the library is) and $dir (scratch)
# are set. LTTng takes part where it is installed: $lttng is then "yes".
flags="-O2 -std=gnu17 -D_GNU_SOURCE -Iinclude -I$here"
lttng=
if command -v lttng >/dev/null && [ -n "$(find /usr/include -path '*lttng/tracepoint.h' -print -quit)" ]; then
	lttng=yes
	printf '#define LTTNG_UST_TRACEPOINT_CREATE_PROBES\n#include "lttng_provider.h"\n' >"$dir/probes.c"
else
	echo "bench/user: lttng-tools and liblttng-ust-dev are not installed: without LTTng" >&2
fi

# build_ours FILE PROGRAM, build_theirs FILE PROGRAM: with libpantrace; with LTTng's events
build_ours()
{
	# shellcheck disable=SC2086
	gcc $flags "$1" -o "$2" "$lib/libpantrace.a" -lpthread
}
build_theirs()
{
	# shellcheck disable=SC2086
	gcc $flags -DLTTNG "$1" "$dir/probes.c" -o "$2" "$lib/libpantrace.a" -llttng-ust -ldl -lpthread
}

# lttng_daemon: there may be one already
lttng_daemon()
{
	lttng --no-sessiond list >/dev/null 2>&1 || lttng-sessiond --daemonize --no-kernel >/dev/null
}

# lttng_both NAME SESSION EVENTS: one program of $here/NAME.c, $dir/NAME, with the events of both where there is LTTng, and a
# session that has EVENTS, yet to be started; else with ours only
lttng_both()
{
	if [ -z "$lttng" ]; then
		build_ours "$here/$1.c" "$dir/$1"
		return
	fi
	build_theirs "$here/$1.c" "$dir/$1"
	lttng_daemon
	lttng create "$2" --snapshot >/dev/null
	lttng enable-event -u -s "$2" "$3" >/dev/null
}

# ended RC FILE: a tracer may have lost events (3), which is measured; anything else but success ends the bench with what FILE says
ended()
{
	case $1 in
	0 | 3) ;;
	*)
		cat "$2" >&2
		exit "$1"
		;;
	esac
}
