/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/hist.h"

bool hist_kernel_can(struct hist_run *run, const char **ret_why)
{
	*ret_why = "not yet";
	return false;
}

int hist_run_kernel(struct hist_run *run)
{
	return EXIT_UNSUPPORTED;
}
