#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/install.sh BINARY DESTDIR PREFIX: the binary, a link per tool, manual pages, licences.
set -eu
binary=$1 root=$2$3
install -d "$root/bin" "$root/share/man/man8" "$root/share/doc/pantrace/examples" \
	"$root/share/bash-completion/completions" "$root/share/zsh/site-functions" "$root/share/fish/vendor_completions.d"
install -m 755 -s "$binary" "$root/bin/pantrace"
for tool in tools/*.bt; do
	name=$(basename "$tool" .bt)
	ln -sf pantrace "$root/bin/$name"
	"$binary" man "$name" >"$root/share/man/man8/$name.8"
	[ ! -e "tools/$name.example.txt" ] || install -m 644 "tools/$name.example.txt" "$root/share/doc/pantrace/examples/"
done
"$binary" man >"$root/share/man/man8/pantrace.8"
"$binary" completion bash >"$root/share/bash-completion/completions/pantrace"
"$binary" completion zsh >"$root/share/zsh/site-functions/_pantrace"
"$binary" completion fish >"$root/share/fish/vendor_completions.d/pantrace.fish"
