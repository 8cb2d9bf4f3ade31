/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When all is recorded: if KVM told of every entry into guests and every exit, their clocks are
 * bounded by that, too (trace/clock/entries.h), and what stood at a time when its virtual CPU was
 * not running is counted.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "record/ftrace/ftrace.h"
#include "record/guests/guest.h"
#include "trace/clock/entries.h"
#include "trace/recording.h"

enum { ENTRY = 1, EXIT, OTHER }; /* recorded_kind.role */

struct machine {
	struct guest *guest;
	struct clock_relation *relation; /* NULL: nothing was recorded there */
	struct clock_entries *entries;
	struct strbuf lines; /* for its file */
};

struct reading {
	struct machine *machines; /* of all guests */
	u32 count;
	struct hashmap threads; /* TID -> struct machine; NULL: of none */
};

static void found(void *arg, const struct clock_exchange *e)
{
	clock_exchange_add(arg, e);
}

static void add_relation(void *arg, struct clock_relation *r)
{
	const struct reading *const all = arg;

	for (struct machine *m = all->machines; m < all->machines + all->count; m++)
		if (m->guest->process && str_eq(m->guest->name, r->machine)) {
			m->relation = r;
			m->entries = clock_entries_new(r, found, &m->lines);
		}
}

/* Whose virtual CPU this thread is; NULL: nobody's. */
static struct machine *machine_of(struct reading *all, s64 tid)
{
	bool is_new;
	void **const at = hashmap_put(&all->threads, &tid, sizeof(tid), &is_new);
	char path[64];

	for (u32 i = 0; is_new && i < all->count && !*at; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%" PRId64,
			 all->machines[i].guest->process, tid);
		if (all->machines[i].entries && !access(path, F_OK))
			*at = &all->machines[i];
	}
	return *at;
}

static void take_host_event(struct reading *all, struct recording *r)
{
	const struct recorded_place at = recording_place(r);
	const s64 ns = r->ns - r->origin_ns;
	struct machine *m;
	s64 vcpu;

	if (!r->kind->role)
		r->kind->role = str_eq(r->kind->name, "kvm:kvm_entry")	? ENTRY
				: str_eq(r->kind->name, "kvm:kvm_exit") ? EXIT
									: OTHER;
	if (r->kind->role == OTHER || !recorded_number(r, "vcpu_id", &vcpu) || vcpu < 0)
		return;
	m = machine_of(all, at.tid);
	if (m)
		(r->kind->role == ENTRY ? clock_entries_entry : clock_entries_exit)(
			m->entries, (u32)MIN(vcpu, (s64)UINT32_MAX), ns);
}

static void take_event(struct reading *all, struct recording *r)
{
	if (r->reader != &dat_reader)
		return;
	if (!r->relation)
		take_host_event(all, r);
	for (struct machine *m = all->machines; r->relation && m < all->machines + all->count; m++)
		if (m->entries && m->relation == r->relation)
			clock_entries_event(m->entries, (u32)recording_place(r).cpu, r->machine_ns);
}

static void tell(struct machine *m)
{
	const struct guest *const g = m->guest;
	const struct clock_entries_count count = clock_entries_end(m->entries);

	if (g->clock.file >= 0)
		write_all(g->clock.file, m->lines.data, m->lines.len);
	if (count.outside && !g->run->request->quiet)
		fprintf(stderr,
			"%s: by its clock alone %" PRIu64 " of %" PRIu64
			" events stood where its virtual CPUs were not running; they are placed by "
			"kvm_entry and kvm_exit\n",
			g->name, count.outside, count.events);
	if (count.dropped)
		fprintf(stderr,
			"WARNING: %s: %" PRIu64
			" events do not fit the times when its virtual CPUs ran, and are placed by "
			"its clock alone\n",
			g->name, count.dropped);
}

void guests_clock_entries(struct guest *guests, u32 count, struct record_run *run)
{
	const struct recordings_options options = {.no_symbols = true};
	const u32 signals = record_end_asked();
	struct reading all = {.machines = xzalloc(count * sizeof(*all.machines)), .count = count};
	struct recordings *const from = recordings_new(&options);
	struct diag nothing =
		DIAG_INIT; /* what cannot be read is told when it is read for itself */
	struct recording *r;
	char place[32]; /* of the directory, whatever its path leads to by now */
	int directory = -1;

	for (u32 i = 0; i < count; i++) {
		all.machines[i] = (struct machine){.guest = &guests[i], .lines = STRBUF_INIT};
		directory = MAX(directory, guests[i].parent);
	}
	snprintf(place, sizeof(place), "/proc/self/fd/%d", directory);
	if (kernel_events_are_whole(run->request, "kvm", "kvm_entry") &&
	    kernel_events_are_whole(run->request, "kvm", "kvm_exit") &&
	    !recordings_add(from, place, &nothing) && !recordings_open(from, &nothing)) {
		recordings_each_machine(from, add_relation, &all);
		while (record_end_asked() == signals && (r = recordings_next(from, &nothing)))
			take_event(&all, r);
	}
	for (u32 i = 0; i < count; i++) {
		if (all.machines[i].entries)
			tell(&all.machines[i]);
		strbuf_release(&all.machines[i].lines);
	}
	hashmap_release(&all.threads);
	free(all.machines);
	recordings_release(from);
	diag_release(&nothing);
}
