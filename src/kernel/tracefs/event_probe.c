/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/tracefs/event_probe.h"

#include <stdio.h>
#include <unistd.h>

#include "kernel/tracefs/dynamic_event.h"
#include "kernel/tracefs/instance.h"

bool event_probe_is_pointer(const char *format, const char *field, size_t len)
{
	static const char *const types[] = {"field:char * ", "field:const char * "};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		const size_t type_len = strlen(types[i]);

		for (const char *at = format; (at = strstr(at, types[i])); at += type_len)
			if (!strncmp(at + type_len, field, len) && at[type_len + len] == ';')
				return true;
	}
	return false;
}

/* Traces a call that changes nothing and whose argument is known. */
static bool reads_pointer(struct instance *in, const struct dynamic_event *e)
{
	static const char path[] = "";
	char wanted[32], *text;
	bool yes = true;

	if (instance_enable_event(in, e->group, e->name, true))
		return true;
	if (!chdir(path) || instance_read(in, "trace", &text))
		return true;
	snprintf(wanted, sizeof(wanted), "pointer=0x%lx\n", (unsigned long)(uintptr_t)path);
	yes = strstr(text, wanted) || !strstr(text, "pointer=");
	free(text);
	return yes;
}

bool event_probe_reads_pointers(struct kernel *k)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	struct diag quiet = DIAG_INIT;
	struct dynamic_events *set = dynamic_events_new(k, &quiet);
	const struct dynamic_event *e;
	struct instance *in = NULL;
	bool yes = true;

	tracefs_command_add(&c, "syscalls.sys_enter_chdir pointer=$filename:x64");
	if (!instance_open(k, &quiet, INSTANCE_OWN, &in) &&
	    !dynamic_events_define(set, DYNAMIC_EPROBE, "trial_of_pointers", &c, &e))
		yes = reads_pointer(in, e);
	instance_close(in);
	dynamic_events_release(set);
	tracefs_command_release(&c);
	diag_release(&quiet);
	return yes;
}
