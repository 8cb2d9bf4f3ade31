/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/xen/events.h"

#include "arch/arch.h"
#include "base/hashmap.h"
#include "trace/xen/layouts.h"

typedef const char *label_fn(u64 number, enum xen_isa isa);

struct field {
	const char *name;
	u16 at, bits; /* in the words of the record */
	bool is_signed, is_hex;
	label_fn *label; /* NULL = none */
	/* computed, not read: adds its values to ret, returns how many */
	u32 (*compute)(const struct xen_record *r, enum xen_isa isa, struct xen_value *ret);
};

struct xen_event {
	const char *name;
	u32 nr_words; /* needed by its fields */
	bool is_raw; /* all words, as they are */
	u32 nr_fields;
	struct field fields[XEN_VALUES_MAX];
	const struct xen_event *shorter, *raw; /* of the same id */
};

struct xen_events {
	struct arena arena;
	struct hashmap by_id; /* u32 -> struct xen_event */
	struct hashmap names; /* each text once */
	struct hashmap fields;
	struct xen_event *classes[ARRAY_SIZE(classes)];
};

/* ---- labels ---- */

static const char *state_label(u64 number, enum xen_isa isa)
{
	static const char *const names[XEN_STATES] = {"running", "runnable", "blocked", "offline"};

	return number < XEN_STATES ? names[number] : NULL;
}

/* xen/include/public/xen.h, __HYPERVISOR_* */
static const char *hypercall_label(u64 number, enum xen_isa isa)
{
	static const char *const names[] = {
		"set_trap_table",
		"mmu_update",
		"set_gdt",
		"stack_switch",
		"set_callbacks",
		"fpu_taskswitch",
		"sched_op_compat",
		"platform_op",
		"set_debugreg",
		"get_debugreg",
		"update_descriptor",
		NULL,
		"memory_op",
		"multicall",
		"update_va_mapping",
		"set_timer_op",
		"event_channel_op_compat",
		"xen_version",
		"console_io",
		"physdev_op_compat",
		"grant_table_op",
		"vm_assist",
		"update_va_mapping_otherdomain",
		"iret",
		"vcpu_op",
		"set_segment_base",
		"mmuext_op",
		"xsm_op",
		"nmi_op",
		"sched_op",
		"callback_op",
		"xenoprof_op",
		"event_channel_op",
		"physdev_op",
		"hvm_op",
		"sysctl",
		"domctl",
		"kexec_op",
		"tmem_op",
		"argo_op",
		"xenpmu_op",
		"dm_op",
		"hypfs_op",
		[48] = "arch_0",
		"arch_1",
		"arch_2",
		"arch_3",
		"arch_4",
		"arch_5",
		"arch_6",
		"arch_7",
	};

	return number < ARRAY_SIZE(names) ? names[number] : NULL;
}

static const char *exit_label(u64 number, enum xen_isa isa)
{
	return arch_kvm_exit_name(isa, (u32)number);
}

static const struct {
	const char *name;
	label_fn *fn;
} labels[] = {{"hypercall", hypercall_label}, {"exit", exit_label}};

/* ---- computed values ---- */

/* The id of runstate_change has both states. */
static u32 states_of(const struct xen_record *r, enum xen_isa isa, struct xen_value *ret)
{
	static const char *const names[] = {"old_state", "new_state"};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		const u32 state = r->event >> (i ? 4 : 8) & 15;

		ret[i] = (struct xen_value){.name = names[i],
					    .number = state,
					    .bits = 8,
					    .label = state_label(state, isa)};
	}
	return ARRAY_SIZE(names);
}

/* From bit 20 on, two bits for each of six arguments: 0 = left out, 1 = 32 bits, 2 = 64. */
static u32 args_of(const struct xen_record *r, enum xen_isa isa, struct xen_value *ret)
{
	static const char *const names[] = {"arg0", "arg1", "arg2", "arg3", "arg4", "arg5"};
	u32 n = 0, at = 1;

	for (u32 i = 0; i < ARRAY_SIZE(names); i++) {
		const u32 words = r->words[0] >> (20 + 2 * i) & 3;

		if (words == 0)
			continue;
		if (words == 3 || at + words > r->nr_words)
			break;
		ret[n] = (struct xen_value){.name = names[i],
					    .number = r->words[at],
					    .bits = (u8)(32 * words),
					    .is_hex = true};
		if (words == 2)
			ret[n].number |= (u64)r->words[at + 1] << 32;
		at += words;
		n++;
	}
	return n;
}

static u32 isa_of(const struct xen_record *r, enum xen_isa isa, struct xen_value *ret)
{
	static const char *const names[] = {NULL, "vmx", "svm"};

	*ret = (struct xen_value){.name = "isa", .number = isa, .bits = 8, .label = names[isa]};
	return isa != XEN_ISA_UNKNOWN;
}

static const struct {
	const char *name;
	u32 (*fn)(const struct xen_record *r, enum xen_isa isa, struct xen_value *ret);
	const char *fields[6]; /* names of its values */
} computed[] = {
	{"states", states_of, {"old_state", "new_state"}},
	{"args", args_of, {"arg0", "arg1", "arg2", "arg3", "arg4", "arg5"}},
	{"isa", isa_of, {"isa"}},
};

static const char *const raw_names[XEN_WORDS_MAX] = {"word1", "word2", "word3", "word4",
						     "word5", "word6", "word7"};

/* ---- reading the table ---- */

/* The one copy of this text. */
static const char *unique(struct xen_events *all, struct hashmap *names, const char *text,
			  size_t len)
{
	void **const at = hashmap_put(names, text, len, NULL);

	if (!*at)
		*at = arena_strndup(&all->arena, text, len);
	return *at;
}

static void add_computed(struct xen_events *all, struct field *f, const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(computed); i++) {
		const char *const *const names = computed[i].fields;

		if (strlen(computed[i].name) != len || memcmp(computed[i].name, text, len) != 0)
			continue;
		f->compute = computed[i].fn;
		for (u32 k = 0; k < ARRAY_SIZE(computed[i].fields) && names[k]; k++)
			unique(all, &all->fields, names[k], strlen(names[k]));
	}
}

/* NAME:BITS[x|s][=LABELS] */
static void add_field(struct xen_events *all, struct xen_event *e, const char *text, size_t len,
		      u32 *at)
{
	struct field *const f = &e->fields[e->nr_fields++];
	const char *const colon = memchr(text, ':', len);
	const char *end = text + len;
	char *after;

	if (!colon) {
		add_computed(all, f, text, len);
		return;
	}
	f->name = unique(all, &all->fields, text, (size_t)(colon - text));
	f->at = (u16)*at;
	f->bits = (u16)strtoul(colon + 1, &after, 10);
	f->is_hex = *after == 'x';
	f->is_signed = *after == 's';
	after += f->is_hex || f->is_signed;
	for (size_t i = 0; i < ARRAY_SIZE(labels) && *after == '='; i++)
		if (strlen(labels[i].name) == (size_t)(end - after - 1) &&
		    !memcmp(labels[i].name, after + 1, (size_t)(end - after - 1)))
			f->label = labels[i].fn;
	*at += f->bits;
}

static struct xen_event *read_layout(struct xen_events *all, const char *name, const char *fields)
{
	struct xen_event *const e = arena_new(&all->arena, struct xen_event);
	u32 at = 0;

	e->name = unique(all, &all->names, name, strlen(name));
	for (size_t len; *fields; fields += len + (fields[len] == ' ')) {
		len = strcspn(fields, " ");
		add_field(all, e, fields, len, &at);
	}
	e->nr_words = (at + 31) / 32;
	return e;
}

static struct xen_event *raw_event(struct xen_events *all, const char *name)
{
	struct xen_event *const e = read_layout(all, name, "");

	e->is_raw = true;
	e->raw = e;
	return e;
}

struct xen_events *xen_events_new(void)
{
	struct xen_events *const all = xzalloc(sizeof(*all));

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		const struct xen_layout *const l = &layouts[i];
		struct xen_event *const e = read_layout(all, l->name, l->fields);
		void **const at = hashmap_put(&all->by_id, &l->id, sizeof(l->id), NULL);
		struct xen_event *last = *at;

		if (!last)
			*at = e;
		while (last && last->shorter)
			last = (struct xen_event *)last->shorter;
		if (last)
			last->shorter = e;
		e->raw = last ? last->raw : raw_event(all, l->name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		all->classes[i] = raw_event(all, classes[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(raw_names); i++)
		unique(all, &all->fields, raw_names[i], strlen(raw_names[i]));
	unique(all, &all->fields, "event", strlen("event"));
	return all;
}

void xen_events_release(struct xen_events *all)
{
	hashmap_release(&all->by_id);
	hashmap_release(&all->names);
	hashmap_release(&all->fields);
	arena_release(&all->arena);
	free(all);
}

static int each_text(const struct hashmap *names, int (*fn)(void *arg, const char *name), void *arg)
{
	int rc = 0;

	hashmap_each (names, e)
		rc = rc ?: fn(arg, e->value);
	return rc;
}

int xen_events_each(const struct xen_events *all, int (*fn)(void *arg, const char *name), void *arg)
{
	return each_text(&all->names, fn, arg);
}

int xen_fields_each(const struct xen_events *all, int (*fn)(void *arg, const char *name), void *arg)
{
	return each_text(&all->fields, fn, arg);
}

/* ---- records ---- */

static const struct xen_event *class_of(const struct xen_events *all, u32 event)
{
	size_t i = 0;

	while (classes[i].id && event >> 16 != classes[i].id >> 16)
		i++;
	return all->classes[i];
}

const struct xen_event *xen_events_get(const struct xen_events *all, const struct xen_record *r)
{
	const u32 id = xen_is_runstate_change(r->event) ? XEN_RUNSTATE_CHANGE : r->event;
	const struct xen_event *const longest = hashmap_get(&all->by_id, &id, sizeof(id));
	const struct xen_event *e = longest;

	if (!e)
		return class_of(all, id);
	while (e && e->nr_words > r->nr_words)
		e = e->shorter;
	return e ?: longest->raw;
}

const char *xen_event_name(const struct xen_event *e)
{
	return e->name;
}

static u8 round_bits(u32 bits)
{
	return bits <= 8 ? 8 : bits <= 16 ? 16 : bits <= 32 ? 32 : 64;
}

/* A field spans at most two words. */
static u64 bits_of(const struct xen_record *r, const struct field *f)
{
	const u32 word = f->at / 32, shift = f->at % 32;
	const u64 low = r->words[word], high = word + 1 < r->nr_words ? r->words[word + 1] : 0;
	const u64 all = (low | high << 32) >> shift;

	return f->bits == 64 ? all : all & ((1ull << f->bits) - 1);
}

static u32 raw_values(const struct xen_record *r, struct xen_value *ret)
{
	*ret++ =
		(struct xen_value){.name = "event", .number = r->event, .bits = 32, .is_hex = true};
	for (u32 i = 0; i < r->nr_words; i++)
		*ret++ = (struct xen_value){
			.name = raw_names[i], .number = r->words[i], .bits = 32, .is_hex = true};
	return 1 + r->nr_words;
}

u32 xen_event_values(const struct xen_event *e, const struct xen_record *r, enum xen_isa isa,
		     struct xen_value *ret)
{
	u32 n = 0;

	if (e->is_raw)
		return raw_values(r, ret);
	for (u32 i = 0; i < e->nr_fields; i++) {
		const struct field *const f = &e->fields[i];
		u64 number;

		if (f->compute) {
			n += f->compute(r, isa, &ret[n]);
			continue;
		}
		number = bits_of(r, f);
		if (f->is_signed)
			number = (u64)(s64)(s32)number;
		ret[n++] = (struct xen_value){
			.name = f->name,
			.number = number,
			.bits = round_bits(f->bits),
			.is_signed = f->is_signed,
			.is_hex = f->is_hex,
			.label = f->label ? f->label(number, isa) : NULL,
		};
	}
	return n;
}

/* ---- VMX or SVM ---- */

/*
 * SVM's reasons (AMD's manual, volume 2, appendix C): from 0 on reads and writes of CR0 to CR15, of
 * which only 0, 2, 3, 4 and 8 exist; from 0x20 on those of DR0 to DR15, of which 0 to 7 exist; from
 * 0x40 on exceptions; from 0x60 on all else, where VMX has no reasons. -1: the guest's state is
 * invalid; for that VMX sets bit 31 of a reason.
 */
static enum xen_isa reason_proves(u32 reason)
{
	const u32 reg = reason & 15;
	const bool no_cr =
		reason < 0x20 && reg != 0 && reg != 2 && reg != 3 && reg != 4 && reg != 8;
	const bool no_dr = reason >= 0x20 && reason < 0x40 && reg > 7;

	if (reason == UINT32_MAX || (reason >= 0x60 && reason < 1u << 31))
		return XEN_ISA_SVM;
	return no_cr || no_dr || reason >= 1u << 31 ? XEN_ISA_VMX : XEN_ISA_UNKNOWN;
}

enum xen_isa xen_record_proves(const struct xen_record *r)
{
	const u32 id = r->event & ~(u32)(XEN_64 | 0x400 /* of a nested guest */);

	return id == 0x81003		       ? XEN_ISA_SVM
	       : id != 0x81002 || !r->nr_words ? XEN_ISA_UNKNOWN
					       : reason_proves(r->words[0]);
}
