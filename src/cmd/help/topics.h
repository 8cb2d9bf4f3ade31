/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `pantrace help functions|probes|language`: what scripts are made of, from the tables that
 * implement it.
 */
#ifndef PANTRACE_CMD_HELP_TOPICS_H
#define PANTRACE_CMD_HELP_TOPICS_H

#include <stdio.h>

struct help_topic {
	const char *name, *summary;
	void (*print)(FILE *out);
};

extern const struct help_topic help_topics[]; /* ends with name NULL */

#endif
