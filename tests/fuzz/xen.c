/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a trace of Xen: its records in order, and all values of each. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "trace/xen/events.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static void look_at(const struct xen_events *events, const struct xen_record *r)
{
	const struct xen_event *const e = xen_events_get(events, r);
	struct xen_value values[XEN_VALUES_MAX];

	for (enum xen_isa isa = XEN_ISA_UNKNOWN; isa <= XEN_ISA_SVM; isa++) {
		const u32 n = xen_event_values(e, r, isa, values);

		if (n > XEN_VALUES_MAX)
			abort();
		for (u32 i = 0; i < n; i++)
			if (!*values[i].name || (values[i].label && !*values[i].label))
				abort();
	}
}

static int count(void *arg, const struct xen_record *r)
{
	++*(u64 *)arg;
	return xen_record_proves(r) == XEN_ISA_SVM;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static struct xen_events *events;
	struct diag d = DIAG_INIT;
	struct xen_record r;
	struct xen_file *f;
	char path[32];
	u64 n = 0;
	const int fd = memfd_create("xen", MFD_CLOEXEC);

	if (!events)
		events = xen_events_new();
	if (fd < 0 || write_all(fd, (const char *)data, len))
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	xen_file_is(data, len);
	if (!xen_file_open(path, &d, &f)) {
		while (xen_file_next(f, &r))
			look_at(events, &r);
		xen_file_each(f, count, &n);
		xen_file_damage(f, &d);
		xen_file_close(f);
	}
	close(fd);
	diag_release(&d);
	return 0;
}
