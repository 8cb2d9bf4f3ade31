#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What is said of mistakes, word for word: scripts and texts are in error-texts.golden. A message of the language without
# an example there, or a word in error-texts.elsewhere on where it is tested instead, fails.
# parallel: traces nothing
. "$(dirname "$0")/lib.sh"
need_root

here=$(cd "$(dirname "$0")" && pwd)
cd "$programs" || exit 1
perl "$here/error-texts.pl" "$pantrace" "$here" "$top/src/lang" "$work"
