#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/install.sh BINARY DESTDIR PREFIX: the binary, a link per tool, manual pages, completions.
set -eu
binary=$1 root=$2$3
install -d "$root/bin" "$root/share/man/man8" "$root/share/doc/pantrace/examples" \
	"$root/share/bash-completion/completions" "$root/share/zsh/site-functions" "$root/share/fish/vendor_completions.d"
install -m 755 -s "$binary" "$root/bin/pantrace"
for tool in tools/*.bt; do
	name=$(basename "$tool" .bt)
	ln -sf pantrace "$root/bin/$name"
	"$binary" "$name" --help-man >"$root/share/man/man8/$name.8"
	[ ! -e "tools/$name.example.txt" ] || install -m 644 "tools/$name.example.txt" "$root/share/doc/pantrace/examples/"
done
"$binary" run --help-man | sed '1s/RUN/PANTRACE/; s/^run \\-/pantrace \\-/' >"$root/share/man/man8/pantrace.8"
for command in list doctor; do "$binary" $command --help-man >"$root/share/man/man8/pantrace-$command.8"; done
install -m 644 README.md doc/*.md "$root/share/doc/pantrace/"
install -m 644 scripts/completion/pantrace.bash "$root/share/bash-completion/completions/pantrace"
install -m 644 scripts/completion/_pantrace "$root/share/zsh/site-functions/_pantrace"
install -m 644 scripts/completion/pantrace.fish "$root/share/fish/vendor_completions.d/pantrace.fish"
