#!/bin/sh
# SPDX-License-Identifier: MIT
# What events say of their threads.
. tests/tap.sh
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. tests/lib/builds.sh

one contexts "gcc -O0, CET" gcc -O0 -fcf-protection -- "$dir/contexts"
one contexts "clang -O3" clang -O3 -- "$dir/contexts"
one contexts "gcc LTO" gcc -O2 -flto -- "$dir/contexts"
one contexts "no rseq of the C library" gcc -O2 -- GLIBC_TUNABLES=glibc.pthread.rseq=0 "$dir/contexts"
one contexts "ASan, UBSan" gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -- "$dir/contexts"
one contexts "TSan" gcc -O1 -fsanitize=thread -- TSAN_OPTIONS=report_signal_unsafe=0:die_after_fork=0 "$dir/contexts"
done_testing
