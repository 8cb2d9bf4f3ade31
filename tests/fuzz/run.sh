#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tests/fuzz/run.sh TARGET SECONDS: runs one fuzz target over seeds made from the project's own scripts.
# Build first: make BUILD=fuzz fuzz        (O=DIR here as there)
set -eu
target=$1 seconds=$2
out=${O:-build}/fuzz
corpus=$out/corpus-$target
mkdir -p "$corpus"

# Texts of C string literals, one script a line.
unquote() { sed 's/\\"/"/g; s/\\n/\n/g; s/\\\\/\\/g'; }

case $target in
parse | compile)
	cp tools/*.bt tests/fuzz/seeds/*.bt tests/cli/fmt/*.bt "$corpus/"
	# every string of the unit tests that looks like a script
	sed -n 's/^[[:space:]]*{\{0,1\}"\(.*[{}].*\)",\{0,1\}.*/\1/p' tests/unit/*.c | unquote |
		split -a 4 -l 1 - "$corpus/unit-"
	# one script for each builtin
	sed -n 's/^[[:space:]]*{"[a-z_0-9]*", "\(.*\)"},$/\1/p' src/lang/builtin_examples.c | unquote |
		split -a 4 -l 1 - "$corpus/builtin-"
	# what the documentation shows
	sed -n "s/^\$ pantrace .*-e '\(.*\)'.*/\1/p" doc/language.md doc/tutorial.md |
		split -a 4 -l 1 - "$corpus/doc-"
	{
		sed -n 's/^[[:space:]]*{"\([a-z_0-9]*\)", "[^"].*/"\1("/p' src/lang/builtin_*.c | sort -u
		grep -v '^# ' tests/fuzz/words | sed 's/[\\"]/\\&/g; s/.*/"&"/'
	} >"$out/words.dict"
	set -- -dict="$(realpath "$out")/words.dict"
	;;
elf)
	# small enough to be seeds whole
	for source in calls frames sdt typed; do
		gcc -O1 -g -gz=zlib -shared -fPIC -nostdlib -Wl,-z,noseparate-code,-z,max-page-size=512 -o "$corpus/$source.so" "tests/programs/$source.c"
		strip -o "$corpus/$source.stripped" "$corpus/$source.so"
	done
	set --
	;;
btf)
	for source in calls typed kills; do
		gcc -gbtf -c -o "$out/seed.o" "tests/programs/$source.c"
		objcopy --dump-section .BTF="$corpus/$source.btf" "$out/seed.o"
	done
	set --
	;;
tsdl)
	sed -n 's/^	*"\(.*\)\\n"$/\1/p' tests/fuzz/ctf.c lib/ctf.c | unquote | split -a 4 -l 40 - "$corpus/metadata-"
	set --
	;;
ctf | format | page | relay | vm)
	tests/fuzz/seeds.pl "$target" "$corpus"
	set --
	;;
*) set -- ;;
esac
# Imports of the seeds are relative to this directory, which nobody else writes to.
out=$(realpath "$out") corpus=$(realpath "$corpus")
cd tests/fuzz/seeds
"$out/$target" -max_total_time="$seconds" -max_len=16384 -timeout=120 -rss_limit_mb=4096 -print_final_stats=1 \
	-artifact_prefix="$out/" "$@" "$corpus" &
pid=$!
trap 'kill $pid' INT TERM
rc=0
wait $pid || rc=$?
rm -rf "/dev/shm/ctf-fuzz-$pid" "/dev/shm/relay-fuzz-$pid"
exit $rc
