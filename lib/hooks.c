// SPDX-License-Identifier: MIT
#include "hooks.h"
#include "aggregate_session.h"
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PROGRAMS 4096 /* different filters in the life of a process */
#define ARENA	 65536

static const struct pt_vm *programs[PROGRAMS];
static unsigned int nr_programs;

/* ---- filters ---- */

/* Programs are never freed: a thread may still run one long after its session has ended. */
static int program_get(const void *image, size_t size, const struct pt_vm **ret)
{
	struct pt_vm *vm;
	int rc;

	for (unsigned int i = 0; i < nr_programs; i++) {
		*ret = programs[i];
		if (pt_vm_same(programs[i], image, size))
			return 0;
	}
	if (nr_programs == PROGRAMS)
		return -E2BIG;
	rc = pt_vm_load(image, size, &vm, NULL);
	if (rc)
		return rc;
	*ret = programs[nr_programs++] = vm;
	return 0;
}

static void *hooks_memory(size_t size)
{
	static char *arena;
	static size_t used = ARENA;

	size = (size + 15) & ~15ul;
	if (used + size > ARENA) {
		char *more = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);

		if (more == MAP_FAILED)
			return NULL;
		arena = more;
		used = 0;
	}
	used += size;
	return arena + used - size;
}

/* As rules are copied, a name is kept once, and stays as its program does. */
static int glob_get(const char *glob, size_t n, const char **ret)
{
	static struct name {
		const struct name *next;
		char text[];
	} const *names;
	struct name *made;

	for (const struct name *name = names; name; name = name->next) {
		*ret = name->text;
		if (!strncmp(name->text, glob, n) && !name->text[n])
			return 0;
	}
	made = hooks_memory(sizeof(*made) + n + 1);
	if (!made)
		return -ENOMEM;
	made->next = names;
	memcpy(made->text, glob, n);
	made->text[n] = '\0';
	*ret = made->text;
	names = made;
	return 0;
}

/* The last one counts: one for the same goes. */
static int filter_append(struct pt_rules *rules, const struct pt_rule_filter *filter)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < rules->nr_filters; i++)
		if (rules->filter[i].glob != filter->glob || rules->filter[i].hash != filter->hash)
			rules->filter[kept++] = rules->filter[i];
	rules->nr_filters = kept;
	if (kept == PT_FILTERS)
		return -E2BIG;
	rules->filter[rules->nr_filters++] = *filter;
	return 0;
}

int pt_filter_add(struct pt_rules *rules, const char *glob, size_t n, uint64_t hash,
		  const void *image, size_t size)
{
	struct pt_rule_filter filter = {.hash = hash};
	int rc;

	if (!n || n >= PT_RULE_GLOB)
		return n ? -ENAMETOOLONG : -EINVAL;
	rc = program_get(image, size, &filter.vm);
	if (!rc)
		rc = glob_get(glob, n, &filter.glob);
	if (rc)
		return rc;
	if (pt_vm_aggregates(filter.vm)) /* a filter has no maps */
		return -EPERM;
	return filter_append(rules, &filter);
}

static int nibble(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int image_of_hex(const char *hex, size_t digits, unsigned char **ret)
{
	const size_t size = digits / 2;
	unsigned char *image;

	if (digits & 1 || !size)
		return -EINVAL;
	image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (image == MAP_FAILED)
		return -ENOMEM;
	for (size_t i = 0; i < size; i++) {
		const int high = nibble(hex[2 * i]), low = nibble(hex[2 * i + 1]);

		if (high < 0 || low < 0) {
			munmap(image, size);
			return -EINVAL;
		}
		image[i] = (unsigned char)(high << 4 | low);
	}
	*ret = image;
	return 0;
}

int pt_filter_add_hex(struct pt_rules *rules, const char *glob, size_t n, uint64_t hash,
		      const char *hex, size_t digits)
{
	unsigned char *image;
	int rc = image_of_hex(hex, digits, &image);

	if (rc)
		return rc;
	rc = pt_filter_add(rules, glob, n, hash, image, digits / 2);
	munmap(image, digits / 2);
	return rc;
}

int pt_aggregate_add_hex(struct pt_rules *rules, uint64_t hash, const char *hex, size_t digits)
{
	struct pt_rule_aggregate *const to = &rules->aggregate[rules->nr_aggregates];
	unsigned char *image;
	int rc;

	if (rules->nr_aggregates == PT_AGGREGATES)
		return -ENOSPC;
	rc = image_of_hex(hex, digits, &image);
	if (rc)
		return rc;
	rc = program_get(image, digits / 2, &to->vm);
	munmap(image, digits / 2);
	if (rc)
		return rc;
	to->hash = hash;
	rules->nr_aggregates++;
	return 0;
}

int pt_filters_append(struct pt_rules *to, const struct pt_rules *from)
{
	int rc = 0;

	if (to->nr_aggregates + from->nr_aggregates > PT_AGGREGATES)
		return -ENOSPC;
	memcpy(&to->aggregate[to->nr_aggregates], from->aggregate,
	       from->nr_aggregates * sizeof(from->aggregate[0]));
	to->nr_aggregates += from->nr_aggregates;
	for (unsigned int i = 0; i < from->nr_filters && !rc; i++)
		rc = filter_append(to, &from->filter[i]);
	return rc;
}

/* FNV-1a over "provider:name" and the fields as pt_event_fields() has them. */
static uint64_t event_hash(const struct pantrace_event *event)
{
	uint64_t hash = 0xcbf29ce484222325ull;
	char text[4096];
	int n;

	n = snprintf(text, sizeof(text), "%.255s:%.255s", event->provider, event->name);
	pt_event_fields(event, text + n, sizeof(text) - (size_t)n);
	for (const char *p = text; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3ull;
	return hash & INT64_MAX;
}

enum pt_filter_fit pt_filter_of(const struct pt_rules *rules, const struct pantrace_event *event,
				const char *full, const struct pt_vm **ret)
{
	enum pt_filter_fit fit = PT_FILTER_NONE;
	uint64_t hash = 0;

	for (unsigned int i = rules->nr_filters; i-- > 0;) {
		const struct pt_rule_filter *const filter = &rules->filter[i];

		if (fnmatch(filter->glob, full, 0))
			continue;
		fit = PT_FILTER_OTHER;
		if (filter->hash && !hash)
			hash = event_hash(event);
		if (filter->hash != hash && filter->hash)
			continue;
		if (ret)
			*ret = filter->vm;
		return PT_FILTER_FITS;
	}
	return fit;
}

/* ---- hooks ---- */

static struct pantrace_hooks *hooks_new(void)
{
	return hooks_memory(sizeof(struct pantrace_hooks));
}

#define LISTS 1024 /* how many different lists a process can have in its life */

/*
 * The programs of RULES for the event, in their order. Equal lists are stored once, as none is ever
 * freed.
 */
static int programs_of(const struct pt_rules *rules, uint64_t hash, const struct pt_programs **ret)
{
	static const struct pt_programs *lists[LISTS];
	static unsigned int nr_lists;
	struct pt_programs list = {0}, *made;

	for (unsigned int i = 0; i < rules->nr_aggregates; i++) {
		if (rules->aggregate[i].hash != hash)
			continue;
		if (list.nr == PT_PROGRAMS)
			return -ENOSPC;
		list.vm[list.nr++] = rules->aggregate[i].vm;
	}
	for (unsigned int i = 0; i < nr_lists; i++) {
		*ret = lists[i];
		if (!memcmp(lists[i], &list, sizeof(list)))
			return 0;
	}
	made = nr_lists < LISTS ? hooks_memory(sizeof(list)) : NULL;
	if (!made)
		return -ENOMEM;
	*made = list;
	*ret = lists[nr_lists++] = made;
	return 0;
}

/* Events go the slow way while the range is changed. */
static void range_follow(struct pantrace_hooks *hooks, uint32_t sessions, uint32_t filtered,
			 uint32_t scripts)
{
	const struct pt_vm *const vm = filtered ? hooks->filter[__builtin_ctz(filtered)] : NULL;
	struct pt_vm_range range = {0};
	bool is_so;

	if (vm && filtered == sessions && !scripts && !(sessions & (sessions - 1)))
		range = pt_vm_range_of(vm, &hooks->view);
	is_so = range.is_so;
	range.is_so = hooks->range.is_so;
	if (is_so && !hooks->range.size) {
		range.is_so = false;
		hooks->range = range;
	}
	/* not changed if another thread may be reading it: it can only be set once */
	__atomic_store_n(&hooks->range.is_so,
			 is_so && !memcmp(&range, &hooks->range, sizeof(range)), __ATOMIC_RELEASE);
}

int pt_hooks_follow(struct pantrace_event *event, uint32_t sessions)
{
	struct pantrace_hooks *hooks = event->hooks;
	uint32_t filtered = 0, scripts = 0, aggregates = 0;
	char full[2 * PT_RULE_GLOB];

	pt_event_full(event, full);
	for (uint32_t left = sessions; left; left &= left - 1) {
		const unsigned int i = (unsigned int)__builtin_ctz(left);
		const struct pt_vm *vm = NULL;

		pt_filter_of(pt_session_rules_of(i), event, full, &vm);
		if (pt_session_is_script(i))
			scripts |= 1u << i;
		if (pt_session_aggregates(i))
			aggregates |= 1u << i;
		if (!vm)
			continue;
		if (!hooks && !(hooks = hooks_new()))
			return -ENOMEM;
		__atomic_store_n(&hooks->filter[i], vm, __ATOMIC_RELEASE);
		filtered |= 1u << i;
	}
	if (!hooks && (scripts | aggregates) && !(hooks = hooks_new()))
		return -ENOMEM;
	if (!hooks)
		return 0;
	if (!hooks->hash) {
		pt_vm_view_make(event->types, &hooks->view);
		hooks->hash = event_hash(event);
	}
	for (uint32_t left = aggregates; left; left &= left - 1) {
		const unsigned int i = (unsigned int)__builtin_ctz(left);
		const struct pt_programs *list;
		const int rc = programs_of(pt_session_rules_of(i), hooks->hash, &list);

		if (rc)
			return rc;
		__atomic_store_n(&hooks->programs[i], list, __ATOMIC_RELEASE);
	}
	range_follow(hooks, sessions, filtered, scripts | aggregates);
	__atomic_store_n(&hooks->aggregates, aggregates, __ATOMIC_RELEASE);
	__atomic_store_n(&hooks->scripts, scripts, __ATOMIC_RELEASE);
	__atomic_store_n(&hooks->filtered, filtered, __ATOMIC_RELEASE);
	/* without hooks the fast way is used again */
	__atomic_store_n(&event->hooks, filtered | scripts | aggregates ? hooks : NULL,
			 __ATOMIC_RELEASE);
	return 0;
}

/*
 * Where scripts attach: 64 places of 16 bytes, chosen by the event's hash, so that a tool is rarely
 * called for events that it did not ask for; the program of the uprobe compares the whole hash
 * (rdi). rsi is the context of vm.h. Not a nop of five bytes: Linux 6.18 and later turn it into a
 * call, which is a third faster, but children that are forked after that crash (6.18.15, 6.18.44).
 */
__asm__("	.pushsection .text.pantrace_script,\"ax\",@progbits\n"
	"	.balign 16\n"
	"	.globl pantrace_script_places\n"
	"	.hidden pantrace_script_places\n"
	"	.type pantrace_script_places, @function\n"
	"pantrace_script_places:\n"
	"	.rept 64\n"
	"	.balign 16\n"
	"	endbr64\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n" /* so that user stacks begin with the caller's frame */
	"	.byte 0x90, 0x0f, 0x1f, 0x40, 0x00\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.endr\n"
	"	.size pantrace_script_places, . - pantrace_script_places\n"
	"	.popsection\n"
	"	.pushsection .note.stapsdt,\"\",\"note\"\n"
	"	.balign 4\n"
	"	.4byte 995f - 994f, 997f - 996f, 3\n"
	"994:	.asciz \"stapsdt\"\n"
	"995:	.balign 4\n"
	"996:	.8byte pantrace_script_places + 8\n"
	"	.8byte _.stapsdt.base\n"
	"	.8byte 0\n"
	"	.asciz \"libpantrace\"\n"
	"	.asciz \"script\"\n"
	"	.asciz \"8@%rdi 8@%rsi\"\n"
	"997:	.balign 4\n"
	"	.popsection\n"
	"	.ifndef _.stapsdt.base\n"
	"	.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"
	"	.weak _.stapsdt.base\n"
	"	.hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	"	.size _.stapsdt.base, 1\n"
	"	.popsection\n"
	"	.endif\n");

extern const char pantrace_script_places[] __attribute__((visibility("hidden")));

static __attribute__((noinline)) void script_call(const struct pantrace_hooks *hooks,
						  const unsigned char *record, size_t size)
{
	void (*const place)(uint64_t hash, const uint64_t *context) =
		(void (*)(uint64_t, const uint64_t *))(uintptr_t)(pantrace_script_places +
								  16 * (hooks->hash & 63));
	uint64_t context[PT_VM_SLOTS];
	char texts[PT_VM_TEXTS];

	pt_vm_context(&hooks->view, record, size, context);
	pt_vm_end_texts(&hooks->view, context, texts);
	place(hooks->hash, context);
	__asm__ volatile("" ::"r"(context), "r"(texts) : "memory");
}

bool pt_hooks_accept(const struct pantrace_event *event, unsigned int number,
		     const unsigned char *record, size_t size)
{
	const uint32_t bit = 1u << number;
	const struct pantrace_hooks *hooks;
	const struct pt_vm *vm;

	/* checked before and after: hooks are set before the session and removed after it */
	if (!(__atomic_load_n(&event->sessions, __ATOMIC_ACQUIRE) & bit))
		return false;
	hooks = __atomic_load_n(&event->hooks, __ATOMIC_ACQUIRE);
	if (hooks && __atomic_load_n(&hooks->filtered, __ATOMIC_ACQUIRE) & bit) {
		vm = __atomic_load_n(&hooks->filter[number], __ATOMIC_ACQUIRE);
		if (!pt_vm_run(vm, &hooks->view, record, size))
			return false;
	}
	return __atomic_load_n(&event->sessions, __ATOMIC_ACQUIRE) & bit;
}

/*
 * Runs the session's programs, each on its own. The tables are looked up before the session is
 * checked, so that they belong to these programs; those of a session that has ended are memory that
 * nobody reads.
 */
static __attribute__((noinline)) void count_event(const struct pantrace_event *event,
						  const struct pantrace_hooks *hooks,
						  unsigned int number, const unsigned char *record,
						  size_t size)
{
	struct pt_tables *const tables = pt_tables_of(number);
	const struct pt_programs *list;

	if (!tables || !pt_hooks_accept(event, number, record, size))
		return;
	list = __atomic_load_n(&hooks->programs[number], __ATOMIC_ACQUIRE);
	if (!list->nr)
		__atomic_fetch_add(&tables->shm->mismatched, 1, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < list->nr; i++)
		pt_vm_count(list->vm[i], &hooks->view, record, size, tables);
}

static bool accepted_by_any(const struct pantrace_event *event, uint32_t sessions,
			    const unsigned char *record, size_t size)
{
	for (; sessions; sessions &= sessions - 1)
		if (pt_hooks_accept(event, (unsigned int)__builtin_ctz(sessions), record, size))
			return true;
	return false;
}

uint32_t pt_hooks_run(const struct pantrace_event *event, uint32_t sessions,
		      const unsigned char *record, size_t size)
{
	const struct pantrace_hooks *const hooks = __atomic_load_n(&event->hooks, __ATOMIC_ACQUIRE);
	uint32_t scripts, aggregates;

	if (!hooks)
		return sessions;
	scripts = sessions & __atomic_load_n(&hooks->scripts, __ATOMIC_RELAXED);
	if (__builtin_expect(scripts, 0) && accepted_by_any(event, scripts, record, size))
		script_call(hooks, record, size);
	aggregates = sessions & __atomic_load_n(&hooks->aggregates, __ATOMIC_RELAXED);
	for (uint32_t each = aggregates; each; each &= each - 1)
		count_event(event, hooks, (unsigned int)__builtin_ctz(each), record, size);
	return sessions & ~scripts & ~aggregates;
}

int pantrace_filter(const char *pattern, const void *image, size_t size)
{
	int rc = pt_state_get();

	if (rc)
		return rc;
	if (!pattern || !image)
		return -EINVAL;
	pt_lock();
	rc = pt_filter_add(pt_session_rules_of(0), pattern, strlen(pattern), 0, image, size);
	if (!rc)
		rc = pt_sites_follow();
	pt_unlock();
	return rc < 0 ? rc : 0;
}
