#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# scripts/install.sh BINARY MAN_DIR DESTDIR PREFIX: the binary, a link for each tool, manual pages, examples, completions.
set -eu
binary=$1 man=$2 root=$3$4
share=$root/share
install -d "$root/bin" "$share/man/man7" "$share/man/man8" "$share/doc/pantrace/examples" "$share/bash-completion/completions" \
	"$share/zsh/site-functions" "$share/fish/vendor_completions.d"
install -m 755 -s "$binary" "$root/bin/pantrace"
install -m 644 "$man"/*.7 "$share/man/man7/"
install -m 644 "$man"/*.8 "$share/man/man8/"
install -m 644 README.md doc/*.md "$share/doc/pantrace/"
install -m 644 tools/*.example.txt "$share/doc/pantrace/examples/"

# The words of their own: every page that is not named after pantrace.
tools=$(cd "$man" && ls -- *.8 | sed 's/\.8$//' | grep -v '^pantrace' | tr '\n' ' ')
install -m 644 scripts/completion/pantrace.bash "$share/bash-completion/completions/pantrace"
sed "1s/.*/#compdef pantrace $tools/" scripts/completion/_pantrace >"$share/zsh/site-functions/_pantrace"
install -m 644 scripts/completion/pantrace.fish "$share/fish/vendor_completions.d/pantrace.fish"
for tool in $tools; do
	ln -sf pantrace "$root/bin/$tool"
	ln -sf pantrace "$share/bash-completion/completions/$tool"
	ln -sf pantrace.fish "$share/fish/vendor_completions.d/$tool.fish"
done
