#!/bin/sh
# SPDX-License-Identifier: MIT
# Conservation in every build that matters; TSan and ASan see the library's own code.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

in_every_build conserve "$dir/conserve" "$dir/rings"
one conserve "rings of threads" gcc -O2 -- "$dir/conserve" "$dir/rings" per_thread

# shellcheck disable=SC2086
gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined $flags tests/lib/damage.c lib/*.c -o "$dir/damage" -lpthread &&
	"$dir/damage" >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
ok "damaged files do no harm" || sed 's/^/# /' "$dir/out" | head -20 >&2
done_testing
