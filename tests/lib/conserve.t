#!/bin/sh
# SPDX-License-Identifier: MIT
# Conservation in every build that matters; TSan and ASan see the library's own code.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

in_every_build conserve "$dir/rings"
one "rings of threads" plain $built/plain/conserve "$dir/rings" per_thread

$built/asan/damage >"$dir/out" 2>&1 && ! grep -q '^not ok' "$dir/out"
ok "damaged files do no harm" || sed 's/^/# /' "$dir/out" | head -20 >&2
done_testing
