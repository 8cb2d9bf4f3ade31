#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# bench/run.sh BINARY [ROWS...]: builds the workloads and prints the tables.
set -eu
mkdir -p build/bench
gcc -O2 -static -o build/bench/programs bench/programs.c
binary=$1
shift
python3 bench/bench.py "$binary" build/bench/programs "$@"
exec python3 bench/tools.py "$binary" build/bench/programs "$@"
