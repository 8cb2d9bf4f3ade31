#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Lays all C out as .clang-format says. --check only says what is laid out otherwise, or wider than 100 columns.
set -eu
cd "$(dirname "$0")/.."
files=$(find src lib include tests bench -name '*.[ch]')

# Other versions lay a few lines out in other ways.
clang-format --version 2>/dev/null | grep -q ' version 14\.' || {
	echo "format.sh: needs clang-format 14 (Debian 12's); the layout is not looked at"
	exit 0
}
case ${1:-} in
--check) how='--dry-run -Werror' ;;
*) how=-i ;;
esac
# shellcheck disable=SC2086
printf '%s\n' $files | xargs -P "$(nproc)" -n 100 clang-format $how

# shellcheck disable=SC2086
perl -CSD -ne '
	chomp;
	1 while s/\t+/" " x (length($&) * 8 - length($`) % 8)/e;
	$wide++, print "$ARGV:$.: ", length, " columns\n" if length > 100;
	close ARGV if eof;
	END { exit !!$wide }' $files
