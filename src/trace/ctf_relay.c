/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sink of ctf_output that sends to a relay. */
#include "trace/ctf_sink.h"

int ctf_relay_sink(struct ctf_output *o, struct diag *d)
{
	diag_error(d, NO_SPAN, "no relay can be reached at '%s'", o->options.to);
	return -EOPNOTSUPP;
}
