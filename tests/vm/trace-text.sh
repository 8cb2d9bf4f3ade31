# SPDX-License-Identifier: GPL-2.0-or-later
# Events printed from raw pages, line by line beside the kernel's own text (tests/unit/trace_live.c).
# guest: none; check-all: older
if [ -x /programs/trace_live ]; then
	/programs/trace_live 4096
	exit $?
fi
skip "trace_live" "the unit tests were not built"
done_testing
