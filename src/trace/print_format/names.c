/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the kernel that give a number's name. Numbers that change between kernels are asked
 * of its own types. */
#include "trace/print_format/internal.h"

struct known_name {
	const char *text;
	u32 value; /* where there is no prefix */
};

/* include/linux/blk_types.h, enum req_op; block/blk-core.c: blk_op_str() */
static const struct known_name block_operations[] = {
	{"READ", 0},	       {"WRITE", 0},	    {"FLUSH", 0},
	{"DISCARD", 0},	       {"SECURE_ERASE", 0}, {"ZONE_RESET", 0},
	{"ZONE_RESET_ALL", 0}, {"ZONE_OPEN", 0},    {"ZONE_CLOSE", 0},
	{"ZONE_FINISH", 0},    {"ZONE_APPEND", 0},  {"WRITE_ZEROES", 0},
	{"DRV_IN", 0},	       {"DRV_OUT", 0},	    {0},
};

/* include/uapi/linux/blkzoned.h; block/blk-zoned.c: blk_zone_cond_str() */
static const struct known_name zone_conditions[] = {
	{"NOT_WP", 0},	 {"EMPTY", 1},	  {"IMP_OPEN", 2},
	{"EXP_OPEN", 3}, {"CLOSED", 4},	  {"READONLY", 13},
	{"FULL", 14},	 {"OFFLINE", 15}, {0},
};

/* include/xen/interface/xen.h; arch/x86/xen/trace.c: xen_hypercall_name() */
static const struct known_name hypercalls[] = {
	{"(set_trap_table)", 0},
	{"(mmu_update)", 1},
	{"(set_gdt)", 2},
	{"(stack_switch)", 3},
	{"(set_callbacks)", 4},
	{"(fpu_taskswitch)", 5},
	{"(sched_op_compat)", 6},
	{"(platform_op)", 7},
	{"(set_debugreg)", 8},
	{"(get_debugreg)", 9},
	{"(update_descriptor)", 10},
	{"(memory_op)", 12},
	{"(multicall)", 13},
	{"(update_va_mapping)", 14},
	{"(set_timer_op)", 15},
	{"(event_channel_op_compat)", 16},
	{"(xen_version)", 17},
	{"(console_io)", 18},
	{"(physdev_op_compat)", 19},
	{"(grant_table_op)", 20},
	{"(vm_assist)", 21},
	{"(update_va_mapping_otherdomain)", 22},
	{"(iret)", 23},
	{"(vcpu_op)", 24},
	{"(set_segment_base)", 25},
	{"(mmuext_op)", 26},
	{"(xsm_op)", 27},
	{"(nmi_op)", 28},
	{"(sched_op)", 29},
	{"(callback_op)", 30},
	{"(xenoprof_op)", 31},
	{"(event_channel_op)", 32},
	{"(physdev_op)", 33},
	{"(hvm_op)", 34},
	{"(sysctl)", 35},
	{"(domctl)", 36},
	{"(kexec_op)", 37},
	{"(tmem_op)", 38},
	{"(xc_reserved_op)", 39},
	{"(xenpmu_op)", 40},
	{"(dm_op)", 41},
	{"(arch_0)", 48},
	{"(arch_1)", 49},
	{"(arch_2)", 50},
	{"(arch_3)", 51},
	{"(arch_4)", 52},
	{"(arch_5)", 53},
	{"(arch_6)", 54},
	{"(arch_7)", 55},
	{0},
};

static const struct {
	const char *name, *prefix; /* prefix: of the enumerators; NULL = the values above */
	const struct known_name *names;
	const char *other;
} functions[] = {
	{"blk_op_str", "REQ_OP_", block_operations, "UNKNOWN"},
	{"blk_zone_cond_str", NULL, zone_conditions, "UNKNOWN"},
	{"xen_hypercall_name", NULL, hypercalls, ""},
};

int pf_names_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (pf_word_is(name, len, functions[i].name))
			return (int)i;
	return -1;
}

/* Those of the names that this kernel has. */
static const struct pf_name *list_names(struct pf_parser *p, const struct known_name *known,
					const char *prefix)
{
	struct pf_name *names;
	u32 count = 0, n = 0;

	while (known[count].text)
		count++;
	names = arena_alloc(p->arena, (count + 1) * sizeof(*names));
	for (u32 i = 0; i < count; i++) {
		char *word = prefix ? arena_printf(p->arena, "%s%s", prefix, known[i].text) : NULL;
		s64 value = known[i].value;

		if (word && (!p->store->lookup_enumerator ||
			     !p->store->lookup_enumerator(p->store, word, &value)))
			continue;
		names[n++] =
			(struct pf_name){(u64)value, known[i].text, (u32)strlen(known[i].text)};
	}
	names[n] = (struct pf_name){0};
	return names;
}

struct pf_node *pf_names_call(struct pf_parser *p, int function, struct pf_node **args, u32 count)
{
	struct pf_node *n;

	if (count != 1 || args[0]->type.value != PF_NUMBER) {
		pf_refuse(p, "%s() takes one number", functions[function].name);
		return NULL;
	}
	n = pf_new(p, PF_SYMBOLIC, (struct pf_type){.value = PF_TEXT, .size = 8});
	n->type.unknown = args[0]->type.unknown;
	n->a = args[0];
	n->names = list_names(p, functions[function].names, functions[function].prefix);
	if (!n->names->text) {
		pf_refuse(p, "the numbers of %s() are not known", functions[function].name);
		return NULL;
	}
	while (n->names[n->count].text)
		n->count++;
	n->text = functions[function].other;
	n->text_len = (u32)strlen(n->text);
	return n;
}
