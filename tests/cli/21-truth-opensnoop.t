#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The list of opens equals strace's: names, results, errors, in order.
. "$(dirname "$0")/lib.sh"
need_root

rm -rf /tmp/pantrace-opens
start opensnoop -e -n '^opens$'
(cd / && strace -f -e trace=open,openat,openat2,creat -o "$work/strace" "$programs/opens")
sleep 0.3
stop

# strace: "PID openat(AT_FDCWD, "made", O_RDONLY) = 3" -> result, error and name as written
perl -ne '
	next unless /^\d+\s+(\w+)\((.*)\)\s+=\s+(-?\d+)\s*([A-Z0-9]*)/;
	my ($call, $args, $ret, $err) = ($1, $2, $3, $4);
	my $name = $args =~ /"((?:[^"\\]|\\.)*)"/ ? $1 : "";
	my $dir = "";
	$dir = "/tmp/pantrace-opens" if $name !~ m{^/} and $name ne "" and ($args =~ /^AT_FDCWD/ or $call =~ /^(open|creat)$/);
	$dir = "/tmp/pantrace-opens/sub" if $name !~ m{^/} and $args =~ /^3,/;
	$dir = "?" if $args =~ /^12345/;
	print join(" ", $ret, $err || "-", $dir ? "$dir/$name" : $name), "\n";
' "$work/strace" >"$work/want"
perl -ne '
	next unless /^opens\s+\d+\s+(-?\d+)\s+([A-Z0-9]*)\s+(\S*)$/;
	my ($fd, $err, $file) = ($1, $2, $3);
	$err = "" if $err eq "0";
	print join(" ", $fd, $err || "-", $file), "\n";
' "$work/trace" >"$work/got"
is "$(cat "$work/got")" "$(cat "$work/want")" "every open with result, error name and full file name, as strace saw them"
like "$out" '^COMM +PID +FD +ERR +FILE$' "columns of -e"

start opensnoop -x
"$programs/opens"
sleep 0.3
stop
like "$out" '^opens +[0-9]+ +-1 +ENOENT +/nonexistent/file$' "-x shows failures"
unlike "$out" '^opens .*/etc/passwd' "-x shows nothing else"

like "$out" '^COMM +PID +FD +ERR +FILE$' "-x shows the error"

start opensnoop -t -n '^opens$' passwd
"$programs/opens"
sleep 0.3
stop
is "$(echo "$out" | grep -c ' /etc/passwd$')" 1 "FILENAME matches"
unlike "$out" 'made' "FILENAME leaves the rest out"
like "$out" '^TIMEs +COMM +PID +FD +FILE$' "columns"
like "$out" '^[0-9]+\.[0-9]{6} +opens' "-t shows the time in seconds"
rm -rf /tmp/pantrace-opens
done_testing
