// SPDX-License-Identifier: MIT
#include "internal.h"

uint32_t pt_event_id(struct pantrace_event *event)
{
	struct pantrace_event_record *record;
	int id;

	if (event->id)
		return event->id;
	record = pt_event_record(event);
	if (!record)
		return 0;
	record->id = 1; /* an event's; the number is given below */
	id = pt_record_append(record);
	if (id < 0)
		return 0;
	__atomic_store_n(&event->id, (uint32_t)id, __ATOMIC_RELEASE);
	return (uint32_t)id;
}
