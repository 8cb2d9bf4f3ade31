#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What `make install` puts in place: for each tool a manual page with all its sections and options, examples, a link, completion.
# among tracers: asks for files and options
. "$(dirname "$0")/lib.sh"

mkdir "$work/man"
(cd "$top" && scripts/man.sh "$pantrace" "$work/man") 2>"$work/err"
is "$(cat "$work/err")" "" "every page is made, without a complaint"
if strip -o "$work/stripped" "$pantrace" 2>/dev/null && [ -d "$work/man" ]; then
	(cd "$top" && scripts/install.sh "$pantrace" "$work/man" "$work/root" /usr) >"$work/out" 2>&1
	ok "install succeeds" || sed 's/^/# /' "$work/out" >&2
fi
root=$work/root/usr
PATH=$root/bin:$PATH
export PATH

# The text of a section.
section() { awk -v name="$2" '$1 == ".SH" { on = substr($0, 5) == name; next } on' "$1"; }
formats=yes
command -v man >/dev/null || formats=

tools=$(cd "$work/man" && ls -- *.8 | sed 's/\.8$//' | grep -v '^pantrace')
is "$(echo "$tools" | grep -cE '^(execsnoop|opensnoop|killsnoop|iosnoop|iolatency|bitesize|syscount|cachestat|tcpretrans|perf-stat-hist|funccount|funcslower)$')" \
	12 "all tools have pages"
for tool in $tools; do
	page=$root/share/man/man8/$tool.8 missing=
	for name in NAME SYNOPSIS OPTIONS EXAMPLES FIELDS OVERHEAD 'EXIT STATUS' 'SEE ALSO'; do
		[ -n "$(section "$page" "$name")" ] || missing="$missing $name"
	done
	is "$missing" "" "$tool.8 has all sections"
	section "$page" OPTIONS | tr -d '\\' >"$work/options"
	"$pantrace" "$tool" --help-words | cut -f1 >"$work/words"
	[ -s "$work/words" ] && missing=
	while read -r word; do
		grep -qF -e "fB${word}fR" -e "fB--fRfB${word#--}fR" "$work/options" || missing="$missing $word"
	done <"$work/words"
	is "$missing" "" "$tool.8 has every option of the table"
	if [ "$tool" != reset-ftrace ]; then
		like "$(section "$page" RUNNING | tr '\n' ' ')" 'Tracing \.\.\. .*COMMAND.*: run this command' "$tool.8: how it runs"
		like "$("$pantrace" "$tool" --help)" '^ *-- COMMAND +run this command' "$tool --help: the command"
	fi
	like "$(section "$page" OVERHEAD)" '[0-9]' "$tool.8: the overhead in figures"
	if [ -n "$formats" ]; then
		is "$(LC_ALL=C.UTF-8 MANWIDTH=100 man -l --warnings "$page" 2>&1 >/dev/null)" "" "$tool.8 is clean"
	fi
	[ -s "$root/share/doc/pantrace/examples/$tool.example.txt" ]
	ok "$tool has examples"
	is "$("$root/bin/$tool" --help 2>&1 | head -3)" "$("$pantrace" "$tool" --help | head -3)" "the link $tool works"
done
for page in pantrace.8 pantrace-run.8 pantrace-list.8 pantrace-doctor.8 pantrace-language.7; do
	file=$root/share/man/man${page##*.}/$page
	[ -s "$file" ]
	ok "$page is there"
	[ -z "$formats" ] || is "$(LC_ALL=C.UTF-8 man -l --warnings "$file" 2>&1 >/dev/null)" "" "$page is clean"
done
missing=
for name in $("$pantrace" help --words | cut -f1); do
	grep -qE "^\.BR (pantrace\\\\-)?$name " "$root/share/man/man8/pantrace.8" || missing="$missing $name"
done
is "$missing" "" "pantrace.8 names every command and tool"
missing=
for name in $("$pantrace" help --examples | cut -f1); do
	section "$root/share/man/man7/pantrace-language.7" DESCRIPTION | grep -qFx ".SS $name" || missing="$missing $name"
done
is "$missing" "" "pantrace-language.7 has every function"

# Every option that the perf-tools of this name have is there.
while read -r tool letters; do
	"$pantrace" "$tool" --help-words >"$work/words" 2>/dev/null || { skip "$tool" "is not in this build"; continue; }
	missing=
	for letter in $letters; do
		grep -q "^-$letter	" "$work/words" || missing="$missing -$letter"
	done
	is "$missing" "" "$tool has every option of the original"
done <<T
execsnoop r t a d
opensnoop t x d p L n
killsnoop s t d p n
iosnoop Q s t d i p n
iolatency Q T d i
bitesize b
cachestat D t
tcpretrans l s
perf-stat-hist b P m f
syscount c v t p d
funccount T i d t
funcslower a C H P t T p L d
tpoint H s v d p L l
kprobe F H s v d p L
uprobe F H s v d p L l
functrace H p L d
funcgraph a C D H P t T m p L d
reset-ftrace f q
T

# Completion is in place for every link (68-completion.t: what it says).
if command -v bash >/dev/null; then
	bash -n "$root/share/bash-completion/completions/iosnoop"
	ok "bash: the function is well-formed, under the tool's name"
else
	skip "bash" "no bash here"
fi
if command -v zsh >/dev/null; then
	is "$(zsh -f -c "fpath=($root/share/zsh/site-functions); autoload -Uz compinit 2>/dev/null; fpath+=(/usr/share/zsh/functions/*(N/))
		compinit -u -D; echo \${_comps[iosnoop]} \${_comps[pantrace]}")" "_pantrace _pantrace" "zsh: tools and sub-commands"
	zsh -n "$root/share/zsh/site-functions/_pantrace"
	ok "zsh: the function is well-formed"
else
	skip "zsh" "no zsh here"
fi
if command -v fish >/dev/null; then
	fish_words() { (cd "$work" && HOME=$work fish -N -c "set -p fish_complete_path $root/share/fish/vendor_completions.d; complete -C '$1'"); }
	like "$(fish_words 'iosnoop --dev')" '^--device	only this disk' "fish: an option of a tool by its link, with its help"
	like "$(fish_words 'pantrace iosnoop --dev')" '^--device	' "fish: of a sub-command"
	like "$(fish_words 'pantrace iosn')" '^iosnoop	' "fish: the sub-command"
else
	skip "fish" "no fish here"
fi
done_testing
