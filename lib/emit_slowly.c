// SPDX-License-Identifier: MIT
/*
 * What the fast ways of an event (emit.c) do not do: switching to the next sub-buffer, waiting for
 * room, counting losses, and rings of threads, which are used without rseq.
 */
#include "section.h"
#include "thread.h"
#include <string.h>
#include <x86intrin.h>

#define RETRIES 10000 /* aborts in a row after which we assume that a debugger single-steps us */

const uint64_t pt_one_event[2] __attribute__((aligned(16))) = {0, 1};
__thread struct rseq pt_no_rseq __attribute__((tls_model("initial-exec"))) = {
	.cpu_id = (uint32_t)RSEQ_CPU_ID_UNINITIALIZED};

static __thread struct {
	uint32_t ring; /* + 1 */
	uint32_t generation;
} thread_slot[PT_SESSIONS] __attribute__((tls_model("initial-exec")));
/* The number of forks + 1, while the thread writes to a ring of threads. */
static __thread volatile uint32_t thread_writes __attribute__((tls_model("initial-exec")));

uint32_t pt_forks;

/*
 * What is read of a session once and for all. A signal handler may fork() at any moment: in the
 * child the session's places are empty or those of new rings, while these go on to name the
 * parent's, where the child has memory of its own (pt_rings_of_parent()). A child of another kind
 * of fork, which runs no handlers of pthread_atfork(), must not return from a signal handler.
 */
struct writer {
	struct pantrace_shm *shm;
	struct pantrace_ring *rings;
	char *data; /* of the first ring, the others follow */
	uint64_t sub_mask, ring_mask;
	uint32_t nr_rings, sub_size, mode, block_us, number, generation;
};

/* False: it is not of that GENERATION, or not any more. */
static bool writer_get(const struct pt_session *session, uint32_t generation, struct writer *ret)
{
	*ret = (struct writer){
		.shm = session->shm,
		.rings = session->rings,
		.data = session->data[0],
		.sub_mask = session->sub_mask,
		.ring_mask = session->ring_mask,
		.nr_rings = session->nr_rings,
		.sub_size = session->sub_size,
		.mode = session->mode,
		.block_us = session->block_us,
		.number = session->number,
		.generation = generation,
	};
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&session->generation, __ATOMIC_RELAXED) == generation;
}

static char *data_of(const struct writer *w, uint32_t ring)
{
	return w->data + ring * (w->ring_mask + 1);
}

uint32_t pt_session_users(const struct pt_session *session)
{
	return __atomic_load_n(&session->users[pt_forks % PT_FORKS], __ATOMIC_SEQ_CST);
}

bool pt_rseq_here(void)
{
	return (int32_t)rseq_area()->cpu_id >= 0;
}

/* Whether an event of SIZE bytes lacks only memory: its sub-buffer would have room for it. */
static bool lacks_memory(const struct writer *w, const struct pantrace_ring *ring, uint64_t size)
{
	const uint64_t from = __atomic_load_n(&ring->position, __ATOMIC_RELAXED);
	const uint64_t start = ((from + 7) & ~7ull) & w->sub_mask;

	return start && start + size <= w->sub_size &&
	       from + 7 + size > __atomic_load_n(&ring->had, __ATOMIC_RELAXED);
}

/* False when a reader has yet to take the sub-buffer that comes next, or there is no memory for it.
 */
static bool change_plan(const struct writer *w, const struct pantrace_ring *ring, char *data,
			struct pantrace_packet *scratch, struct change *ret)
{
	const uint64_t sub = w->sub_size, mask = w->ring_mask;
	const uint64_t from = __atomic_load_n(&ring->position, __ATOMIC_ACQUIRE);
	const uint64_t events = __atomic_load_n(&ring->events, __ATOMIC_RELAXED);
	const uint64_t next = from ? ((from - 1) & ~(sub - 1)) + sub : 0;
	const uint64_t consumed = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) & ~(sub - 1);

	if (w->mode != PANTRACE_OVERWRITE && next - consumed > mask)
		return false;
	*ret = (struct change){
		.from = from,
		.to = next + sizeof(struct pantrace_packet),
		.old = scratch,
		.new = (struct pantrace_packet *)(data + (next & mask)),
		.discarded = __atomic_load_n(&ring->lost, __ATOMIC_RELAXED),
		.image =
			{
				.magic = PANTRACE_CTF_MAGIC,
				.packet_size = sub * 8,
				.packet_seq_num = next / sub,
				.events_before = events,
				.cpu_id = ring->cpu,
			},
	};
	memcpy(ret->image.uuid, w->shm->uuid, sizeof(ret->image.uuid));
	if (from) {
		ret->old = (struct pantrace_packet *)(data + ((next - sub) & mask));
		ret->content = (from - (next - sub)) * 8;
	}
	return ret->to <= __atomic_load_n(&ring->had, __ATOMIC_ACQUIRE);
}

static void lose(uint64_t *count)
{
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

/*
 * PANTRACE_BLOCK: waits until a reader frees room or the helper provides memory, for at most
 * block_us. False: neither happened, the event is lost. If there was no progress since the last
 * wait that failed, nobody reads, and no event waits again. It polls: sleeping takes a system call,
 * for which a seccomp filter may kill.
 */
static bool room_wait(const struct pt_session *session, const struct writer *w,
		      struct pantrace_ring *ring)
{
	const uint64_t consumed = __atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE);
	const uint64_t had = __atomic_load_n(&ring->had, __ATOMIC_ACQUIRE);
	const uint64_t hz = __atomic_load_n(&w->shm->tsc_hz, __ATOMIC_RELAXED);
	const uint64_t ticks = (uint64_t)((unsigned __int128)w->block_us * hz / 1000000);
	const uint64_t since = __rdtsc();

	if (w->mode != PANTRACE_BLOCK || !w->block_us ||
	    __atomic_load_n(&ring->vain, __ATOMIC_RELAXED) == consumed + 1)
		return false;
	while (__rdtsc() - since < ticks && __atomic_load_n(&session->active, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&session->generation, __ATOMIC_RELAXED) == w->generation) {
		if (__atomic_load_n(&ring->consumed, __ATOMIC_ACQUIRE) != consumed ||
		    __atomic_load_n(&ring->had, __ATOMIC_ACQUIRE) != had)
			return true;
		_mm_pause();
	}
	__atomic_store_n(&ring->vain, consumed + 1, __ATOMIC_RELAXED);
	return false;
}

/*
 * Records in the ring of this CPU, with all it takes. The session cannot change meanwhile. False:
 * this is a forked child by now, with other rings.
 */
static bool record_on_cpu(struct pt_session *session, const struct writer *w, struct rseq *area,
			  const void *record, uint64_t size)
{
	struct pantrace_packet scratch;
	struct change change;

	if (size > w->sub_size - sizeof(struct pantrace_packet)) {
		lose(&w->shm->lost);
		return true;
	}
	for (int i = 0; i < RETRIES; i++) {
		const enum outcome outcome =
			section_record(session, w->generation, area, record, size);
		const uint32_t cpu = __atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);

		if (outcome == DONE || outcome == STALE)
			return outcome == DONE;
		/* stopped: an event of a session that is off is neither recorded nor lost */
		if (!__atomic_load_n(&session->active, __ATOMIC_ACQUIRE))
			return true;
		if (cpu >= w->nr_rings)
			break;
		if (outcome != FULL)
			continue;
		if (!lacks_memory(w, &w->rings[cpu], size) &&
		    change_plan(w, &w->rings[cpu], data_of(w, cpu), &scratch, &change)) {
			section_change(session, area, cpu, &w->rings[cpu], &change);
		} else if (!room_wait(session, w, &w->rings[cpu])) {
			lose(&w->rings[cpu].lost);
			return true;
		}
	}
	lose(&w->shm->lost);
	return true;
}

/* ---- rings of threads ---- */

/*
 * Takes a free ring: its number + 1, or 0. The helper frees the rings of threads that have ended
 * (memory.c).
 */
static uint32_t ring_claim(const struct writer *w)
{
	const uint32_t self = (uint32_t)pt_thread_id();
	uint32_t found = 0;

	for (uint32_t i = 0; i < w->nr_rings && !found; i++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&w->rings[i].owner, &none, self, false,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			found = i + 1;
	}
	thread_slot[w->number].generation = w->generation;
	thread_slot[w->number].ring = found;
	return found;
}

static void publish(struct pantrace_ring *ring, uint64_t position, uint64_t events)
{
	const __m128i pair = _mm_set_epi64x((long long)events, (long long)position);

	__asm__ volatile("movdqa %1, (%0)" : : "r"(ring), "x"(pair) : "memory");
}

static void record_on_thread(const struct pt_session *session, const struct writer *w, void *record,
			     uint64_t size)
{
	const uint32_t before = thread_writes, writes = pt_forks + 1;
	uint32_t slot = thread_slot[w->number].generation == w->generation
				? thread_slot[w->number].ring
				: 0;
	struct pantrace_packet scratch;
	struct pantrace_ring *ring;
	uint64_t start, tsc;
	struct change change;

	/*
	 * A signal handler that interrupts a write of its own thread cannot write: the event is
	 * counted as lost, never torn.
	 */
	if (before == writes) {
		lose(&w->shm->lost);
		return;
	}
	thread_writes = writes;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!slot)
		slot = ring_claim(w);
	if (!slot || size > w->sub_size - sizeof(struct pantrace_packet)) {
		lose(&w->shm->lost);
		goto out;
	}
	ring = &w->rings[slot - 1];
	start = (ring->position + 7) & ~7ull;
	if (lacks_memory(w, ring, size)) {
		lose(&ring->lost);
		goto out;
	}
	if (!(start & w->sub_mask) || (start & w->sub_mask) + size > w->sub_size) {
		while (!change_plan(w, ring, data_of(w, slot - 1), &scratch, &change)) {
			if (__atomic_load_n(&session->active, __ATOMIC_ACQUIRE) &&
			    room_wait(session, w, ring))
				continue;
			lose(&ring->lost);
			goto out;
		}
		tsc = __rdtsc();
		change.image.timestamp_begin = tsc;
		*change.new = change.image;
		change.old->content_size = change.content;
		change.old->events_discarded = change.discarded;
		change.old->timestamp_end = tsc;
		publish(ring, change.to, ring->events);
		start = change.to;
	}
	tsc = __rdtsc();
	memcpy(record, &tsc, sizeof(tsc));
	memcpy(data_of(w, slot - 1) + (start & w->ring_mask), record, size);
	publish(ring, start + size, ring->events + 1);
out:
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	thread_writes = before;
}

bool pt_record_slowly(struct pt_session *session, uint32_t generation, void *record, size_t size)
{
	uint32_t *const users = &session->users[pt_forks % PT_FORKS];
	struct writer w;
	bool same = true;

	/*
	 * seen by the thread that unmaps the rings; a handler that interrupts this counts itself
	 * separately
	 */
	__atomic_fetch_add(users, 1, __ATOMIC_SEQ_CST);
	/* from here on the session cannot change, but by a fork */
	if (!__atomic_load_n(&session->active, __ATOMIC_SEQ_CST))
		;
	else if (!writer_get(session, generation, &w))
		same = false;
	else if (session->per_thread)
		record_on_thread(session, &w, record, size);
	else if (pt_rseq_here())
		same = record_on_cpu(session, &w, rseq_area(), record, size);
	else
		lose(&w.shm->lost);
	__atomic_fetch_sub(users, 1, __ATOMIC_SEQ_CST);
	return same;
}
