/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The helper functions of programs over recordings, as in bpf-helpers(7), but about the recorded
 * thread and time. Helpers that are not in the table would ask the running kernel.
 */
#include "engine/recorded/machine.h"

#include <linux/bpf.h>

#define MOST_LOOPS (1u << 23) /* BPF_MAX_LOOPS */
#define ERROR(n)   ((u64)(s64) - (n))

static const char not_recorded[] =
	"the recording does not hold the memory at this address, only the event's own fields";

/* ---- maps ---- */

static struct memory_map *map_of(struct machine *m, u64 map)
{
	struct memory_map *const found =
		map && map <= m->script->maps.len ? m->maps[map - 1] : NULL;

	if (!found)
		machine_fail(m, "internal: this is not a map", false);
	return found;
}

/* Returns the map in r1 and the key at r2; NULL if the run has failed. */
static const u8 *key_of(struct machine *m, const u64 *r, struct memory_map **ret)
{
	const u8 *key = NULL;

	*ret = map_of(m, r[1]);
	if (*ret)
		key = machine_at(m, r[2], memory_map_key_size(*ret));
	if (!key)
		machine_fail(m, "internal: the key is not in the script's memory", false);
	return key;
}

static u64 lookup(struct machine *m, u64 *r)
{
	struct memory_map *map;
	const u8 *const key = key_of(m, r, &map);

	return key ? (u64)(uintptr_t)memory_map_lookup(map, key) : 0;
}

static u64 lookup_percpu(struct machine *m, u64 *r)
{
	return r[3] ? 0 : lookup(m, r);
}

static u64 update(struct machine *m, u64 *r)
{
	struct memory_map *map;
	const u8 *const key = key_of(m, r, &map), *value;

	if (!key)
		return 0;
	value = machine_at(m, r[3], memory_map_info(map)->value_size);
	if (!value) {
		machine_fail(m, "internal: the value is not in the script's memory", false);
		return 0;
	}
	return (u64)(s64)memory_map_update(map, key, value, r[4]);
}

static u64 delete_element(struct machine *m, u64 *r)
{
	struct memory_map *map;
	const u8 *const key = key_of(m, r, &map);

	return key ? (u64)(s64)memory_map_remove(map, key) : 0;
}

/* Calls r2 with the map, a key, its value, and r3 for each element. */
static u64 each_element(struct machine *m, u64 *r)
{
	struct memory_map *const map = map_of(m, r[1]);
	u8 *const copy = map ? machine_heap(m, memory_map_key_size(map)) : NULL, *value;
	const u8 *key;
	u32 cursor = 0;
	u64 n = 0;

	if (!copy)
		machine_fail(m, "there is no memory for the key of a map", false);
	while (!m->failure.why && memory_map_each(map, &cursor, &key, &value)) {
		u64 arguments[] = {r[1], (u64)(uintptr_t)copy, (u64)(uintptr_t)value, r[3]};

		memcpy(copy, key, memory_map_key_size(map));
		n++;
		if (machine_call_back(m, r[2], arguments, ARRAY_SIZE(arguments)))
			break;
	}
	return n;
}

static u64 loop(struct machine *m, u64 *r)
{
	const u64 most = (u32)r[1];
	u64 i = 0;

	if (most > MOST_LOOPS)
		return ERROR(E2BIG);
	while (i < most && !m->failure.why) {
		u64 arguments[] = {i++, r[3]};

		if (machine_call_back(m, r[2], arguments, ARRAY_SIZE(arguments)))
			break;
	}
	return i;
}

/* ---- memory ---- */

/* The number of bytes that may be read from there: in the event's record or the script's memory. */
static u64 readable(const struct machine *m, u64 address)
{
	const u64 in_context = address - (u64)(uintptr_t)m->context;
	const u64 in_memory = address - (u64)(uintptr_t)m->memory;

	if (in_context < MACHINE_CONTEXT)
		return in_context < m->context_size ? m->context_size - in_context : 0;
	return in_memory < m->size ? m->size - in_memory : 0;
}

static bool is_ours(const struct machine *m, u64 address)
{
	return address - (u64)(uintptr_t)m->memory < m->size;
}

/* The r2 bytes at r1, to be written; NULL if the run has failed. */
static u8 *target(struct machine *m, const u64 *r)
{
	u8 *const to = machine_at(m, r[1], r[2]);

	if (!to)
		machine_fail(m, "internal: this is not the script's memory", false);
	return to;
}

static u64 read_bytes(struct machine *m, u64 *r)
{
	u8 *const to = target(m, r);

	if (!to)
		return 0;
	if (r[2] <= readable(m, r[3])) {
		memmove(to, (const void *)(uintptr_t)r[3], r[2]);
		return 0;
	}
	/* As in the kernel: a NULL pointer, or an address beyond the record. */
	if (r[3] && !is_ours(m, r[3]))
		machine_fail(m, not_recorded, false);
	memset(to, 0, r[2]);
	return ERROR(EFAULT);
}

static u64 read_string(struct machine *m, u64 *r)
{
	u8 *const to = target(m, r);
	const u64 room = readable(m, r[3]);
	size_t n;

	if (!to || !r[2])
		return 0;
	if (!room) {
		if (r[3] && !is_ours(m, r[3]))
			machine_fail(m, not_recorded, false);
		memset(to, 0, r[2]);
		return ERROR(EFAULT);
	}
	n = strnlen((const char *)(uintptr_t)r[3], MIN(room, r[2] - 1));
	memmove(to, (const void *)(uintptr_t)r[3], n);
	to[n] = 0;
	return n + 1;
}

static u64 compare_strings(struct machine *m, u64 *r)
{
	const u8 *const a = machine_at(m, r[1], r[2]), *const b = machine_at(m, r[3], r[2]);

	if (a && b)
		return (u64)(s64)strncmp((const char *)a, (const char *)b, r[2]);
	machine_fail(m, "internal: this is not the script's memory", false);
	return 0;
}

/* ---- the thread and the time ---- */

static u64 known(struct machine *m, s64 value, const char *otherwise)
{
	if (value < 0)
		machine_fail(m, otherwise, true);
	return (u64)value;
}

static u64 cpu(struct machine *m, u64 *r)
{
	return known(m, machine_thread(m)->cpu, "the recording does not say which CPU it was");
}

static u64 thread_id(struct machine *m, u64 *r)
{
	return known(m, machine_thread(m)->tid, "the recording does not say which thread it was");
}

static u64 ids(struct machine *m, u64 *r)
{
	const u64 tid = thread_id(m, r);

	return known(m, machine_thread(m)->pid,
		     "the recording does not say which process the thread is of")
		       << 32 |
	       (u32)tid;
}

static u64 comm(struct machine *m, u64 *r)
{
	u8 *const to = target(m, r);
	const struct machine_thread *const t = machine_thread(m);

	if (!t->comm[0])
		machine_fail(m, "the recording does not say what the thread is called", true);
	if (!to || !r[2])
		return 0;
	memset(to, 0, r[2]);
	memcpy(to, t->comm, MIN(r[2] - 1, sizeof(t->comm)));
	return 0;
}

static u64 now(struct machine *m, u64 *r)
{
	return m->event.now;
}

static u64 wall_clock(struct machine *m, u64 *r)
{
	return m->event.wall_ns;
}

static u64 random_number(struct machine *m, u64 *r)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (u32)(m->random >> 16);
}

static u64 function_address(struct machine *m, u64 *r)
{
	return m->event.function;
}

static u64 cookie(struct machine *m, u64 *r)
{
	return m->event.cookie;
}

/* r2: a buffer of r3 bytes for addresses; r4: flags. Returns the number of bytes used. */
static u64 stack(struct machine *m, u64 *r)
{
	u8 *const to = machine_at(m, r[2], r[3]);
	u64 frames[1024];
	s64 n;

	if (!to) {
		machine_fail(m, "internal: this is not the script's memory", false);
		return 0;
	}
	n = m->ask_stack(m->arg, r[4] & BPF_F_USER_STACK, frames,
			 (u32)MIN(r[3] / 8, (u64)ARRAY_SIZE(frames)));
	if (n < 0)
		machine_fail(m, "the recording does not hold the event's stack", true);
	else
		memcpy(to, frames, (size_t)n * 8);
	return n < 0 ? 0 : (u64)n * 8;
}

/* ---- what is sent ---- */

static struct machine_record *add_record(struct machine *m, u64 size)
{
	u8 *const at = machine_heap(m, size);
	const struct machine_record record = {.data = at, .size = (u32)size};

	if (!at)
		return NULL;
	vector_push(&m->records, record);
	return &m->records.items[m->records.len - 1];
}

static u64 output(struct machine *m, u64 *r)
{
	const u8 *const from = machine_at(m, r[2], r[3]);
	struct machine_record *const record = from ? add_record(m, r[3]) : NULL;

	if (!from)
		machine_fail(m, "internal: this is not the script's memory", false);
	if (!record)
		return ERROR(EAGAIN); /* the program counts it as lost */
	memcpy(record->data, from, r[3]);
	record->is_sent = true;
	return 0;
}

static u64 reserve(struct machine *m, u64 *r)
{
	const struct machine_record *const record = add_record(m, r[2]);

	return record ? (u64)(uintptr_t)record->data : 0;
}

static u64 submit(struct machine *m, u64 *r)
{
	for (size_t i = m->records.len; i-- > 0;)
		if ((u64)(uintptr_t)m->records.items[i].data == r[1]) {
			m->records.items[i].is_sent = true;
			return 0;
		}
	machine_fail(m, "internal: no such record was reserved", false);
	return 0;
}

static const struct machine_function functions[] = {
	{BPF_FUNC_map_lookup_elem, lookup, 0},
	{BPF_FUNC_map_lookup_percpu_elem, lookup_percpu, 0},
	{BPF_FUNC_map_update_elem, update, 0},
	{BPF_FUNC_map_delete_elem, delete_element, 0},
	{BPF_FUNC_for_each_map_elem, each_element, 0},
	{BPF_FUNC_loop, loop, 0},
	{BPF_FUNC_probe_read_kernel, read_bytes, 0},
	{BPF_FUNC_probe_read_user, read_bytes, 0},
	{BPF_FUNC_probe_read_kernel_str, read_string, 0},
	{BPF_FUNC_probe_read_user_str, read_string, 0},
	{BPF_FUNC_strncmp, compare_strings, 0},
	{BPF_FUNC_get_smp_processor_id, cpu, PLACE_CPU},
	{BPF_FUNC_get_current_pid_tgid, ids, PLACE_PID},
	{RECORDED_TID, thread_id, PLACE_TID},
	{BPF_FUNC_get_current_comm, comm, PLACE_COMM},
	{BPF_FUNC_get_stack, stack, PLACE_STACK},
	{BPF_FUNC_ktime_get_ns, now, 0},
	{BPF_FUNC_ktime_get_boot_ns, now, 0},
	{BPF_FUNC_ktime_get_tai_ns, wall_clock, 0},
	{BPF_FUNC_get_prandom_u32, random_number, 0},
	{BPF_FUNC_get_attach_cookie, cookie, 0},
	{BPF_FUNC_get_func_ip, function_address, 0},
	{BPF_FUNC_ringbuf_output, output, 0},
	{BPF_FUNC_ringbuf_reserve, reserve, 0},
	{BPF_FUNC_ringbuf_submit, submit, 0},
};

const struct machine_function *machine_function_find(s32 id)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (functions[i].id == id)
			return &functions[i];
	return NULL;
}
