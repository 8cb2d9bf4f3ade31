/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads symbols through the kernel's iterator over them (iter:ksym,
 * Documentation/bpf/bpf_iterators.rst): a BPF program sees each symbol and writes the fields that
 * we need. That takes half the time of /proc/kallsyms, for which the kernel formats each symbol as
 * a line. BTF says where the members of struct kallsym_iter are.
 */
#include <unistd.h>

#include "base/file.h"
#include "kernel/bpf/insn.h"
#include "kernel/bpf/btf_layout.h"
#include "kernel/kernel.h"
#include "kernel/symbols/internal.h"

#define MAX_BTF	    ((size_t)256 << 20)
#define MAX_SYMBOLS ((size_t)256 << 20)

/*
 * What the program writes for each symbol: this, the name with its NUL, and if the first letter is
 * not 0, the module's name.
 */
struct record {
	u64 address; /* 0: hidden from us by kernel.kptr_restrict */
	char type;
	bool is_exported;
	char module_letter;
};

enum { HEAD = 11, NAME = 512, MODULE = 64 };
_Static_assert(offsetof(struct record, module_letter) + 1 == HEAD, "the name follows at once");

/* ---- BTF ---- */

enum member { VALUE, TYPE, EXPORTED, SHOW_VALUE, NAME_TEXT, MODULE_NAME, MEMBER_COUNT };

struct layout {
	u32 id; /* of the iterator */
	u32 found; /* a bit for each member */
	s16 offsets[MEMBER_COUNT];
};

static void find_members(const struct btf_type *t, const struct btf_sections *s, struct layout *ret)
{
	static const char *const names[MEMBER_COUNT] = {
		[VALUE] = "value",	     [TYPE] = "type",	   [EXPORTED] = "exported",
		[SHOW_VALUE] = "show_value", [NAME_TEXT] = "name", [MODULE_NAME] = "module_name",
	};
	const struct btf_member *m = (const void *)(t + 1);

	for (u32 i = 0; i < BTF_INFO_VLEN(t->info); i++)
		for (u32 n = 0; n < MEMBER_COUNT; n++)
			if (m[i].name_off < s->strings_len && !(m[i].offset % 8) &&
			    m[i].offset / 8 < INT16_MAX &&
			    str_eq(s->strings + m[i].name_off, names[n])) {
				ret->offsets[n] = (s16)(m[i].offset / 8);
				ret->found |= 1u << n;
			}
}

static bool is_named(const struct btf_type *t, const struct btf_sections *s, u32 kind,
		     const char *name)
{
	return BTF_INFO_KIND(t->info) == kind && t->name_off < s->strings_len &&
	       str_eq(s->strings + t->name_off, name);
}

static bool find_layout(const struct btf_sections *s, struct layout *ret)
{
	const u8 *at = s->types, *end = at + s->types_len;
	u32 id = 1;

	*ret = (struct layout){.id = 0};
	for (size_t size; (size_t)(end - at) >= sizeof(struct btf_type); at += size, id++) {
		const struct btf_type *t = (const void *)at;

		size = btf_type_size(t);
		if (!size || size > (size_t)(end - at))
			break;
		if (is_named(t, s, BTF_KIND_FUNC, "bpf_iter_ksym"))
			ret->id = id;
		else if (is_named(t, s, BTF_KIND_STRUCT, "kallsym_iter"))
			find_members(t, s, ret);
	}
	return ret->id && ret->found == (1u << MEMBER_COUNT) - 1;
}

static int read_layout(struct layout *ret)
{
	static const char path[] = "/sys/kernel/btf/vmlinux";
	struct btf_sections sections;
	const void *map = NULL;
	char *copy = NULL;
	size_t len;
	int err = file_map(path, &map, &len); /* since Linux 6.16 */

	if (err)
		err = file_read(path, MAX_BTF, &copy, &len);
	if (!err)
		err = btf_find_sections(map ? map : copy, len, &sections);
	if (!err && !find_layout(&sections, ret))
		err = -EOPNOTSUPP;
	if (map)
		file_unmap(map, len);
	free(copy);
	return err;
}

/* ---- the program ---- */

static int create_buffer(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = sizeof(u32),
			       .value_size = ALIGN_UP(HEAD + NAME + MODULE, 8),
			       .max_entries = 1};

	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

#define LOAD_SIZED(size, d, s, o)  INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define STORE_SIZED(size, d, o, s) INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define JUMP(op, r, value, to)	   INSN(BPF_JMP | (op) | BPF_K, r, 0, to, value)
/* To the last two instructions. */
#define TO_END ((s16)(&insns[COUNT - 2] - at - 1))

static int load_program(int buffer, const struct layout *l)
{
	enum {
		CTX = BPF_REG_9,
		SYMBOL = BPF_REG_6,
		OUT = BPF_REG_7,
		LETTER = BPF_REG_8,
		COUNT = 45
	};
	struct bpf_insn insns[COUNT], *at = insns;
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_TRACING,
			       .expected_attach_type = BPF_TRACE_ITER,
			       .attach_btf_id = l->id,
			       .insns = (u64)(uintptr_t)insns,
			       .insn_cnt = COUNT,
			       .license = (u64)(uintptr_t) "GPL"};

	*at++ = MOV_REG(CTX, BPF_REG_1);
	*at++ = LOAD(SYMBOL, CTX, 8); /* struct bpf_iter__ksym: meta, ksym */
	*at = JUMP(BPF_JEQ, SYMBOL, 0, TO_END), at++; /* after the last one */
	*at++ = INSN(BPF_LD | BPF_DW | BPF_IMM, OUT, BPF_PSEUDO_MAP_VALUE, 0, buffer);
	*at++ = INSN(0, 0, 0, 0, 0);
	*at++ = LOAD_SIZED(BPF_W, BPF_REG_1, SYMBOL, l->offsets[SHOW_VALUE]);
	*at++ = LOAD(BPF_REG_2, SYMBOL, l->offsets[VALUE]);
	*at++ = JUMP(BPF_JNE, BPF_REG_1, 0, 1);
	*at++ = MOV_IMM(BPF_REG_2, 0);
	*at++ = STORE(OUT, offsetof(struct record, address), BPF_REG_2);
	*at++ = LOAD_SIZED(BPF_B, BPF_REG_1, SYMBOL, l->offsets[TYPE]);
	*at++ = STORE_SIZED(BPF_B, OUT, offsetof(struct record, type), BPF_REG_1);
	*at++ = LOAD_SIZED(BPF_W, BPF_REG_1, SYMBOL, l->offsets[EXPORTED]);
	*at++ = STORE_SIZED(BPF_B, OUT, offsetof(struct record, is_exported), BPF_REG_1);
	*at++ = LOAD_SIZED(BPF_B, LETTER, SYMBOL, l->offsets[MODULE_NAME]);
	*at++ = STORE_SIZED(BPF_B, OUT, offsetof(struct record, module_letter), LETTER);
	*at++ = MOV_REG(BPF_REG_1, OUT);
	*at++ = ADD_IMM(BPF_REG_1, HEAD);
	*at++ = MOV_IMM(BPF_REG_2, NAME);
	*at++ = MOV_REG(BPF_REG_3, SYMBOL);
	*at++ = ADD_IMM(BPF_REG_3, l->offsets[NAME_TEXT]);
	*at++ = CALL(FUNC_PROBE_READ_KERNEL_STR);
	*at = JUMP(BPF_JSLE, BPF_REG_0, 0, TO_END), at++;
	*at = JUMP(BPF_JGT, BPF_REG_0, NAME, TO_END), at++;
	*at++ = LOAD(BPF_REG_1, CTX, 0); /* meta, whose first member is the file */
	*at++ = LOAD(BPF_REG_1, BPF_REG_1, 0);
	*at++ = MOV_REG(BPF_REG_2, OUT);
	*at++ = MOV_REG(BPF_REG_3, BPF_REG_0);
	*at++ = ADD_IMM(BPF_REG_3, HEAD);
	*at++ = CALL(FUNC_SEQ_WRITE);
	*at = JUMP(BPF_JEQ, LETTER, 0, TO_END), at++;
	*at++ = MOV_REG(BPF_REG_1, OUT);
	*at++ = ADD_IMM(BPF_REG_1, HEAD + NAME);
	*at++ = MOV_IMM(BPF_REG_2, MODULE);
	*at++ = MOV_REG(BPF_REG_3, SYMBOL);
	*at++ = ADD_IMM(BPF_REG_3, l->offsets[MODULE_NAME]);
	*at++ = CALL(FUNC_PROBE_READ_KERNEL_STR);
	*at++ = LOAD(BPF_REG_1, CTX, 0);
	*at++ = LOAD(BPF_REG_1, BPF_REG_1, 0);
	*at++ = MOV_REG(BPF_REG_2, OUT);
	*at++ = ADD_IMM(BPF_REG_2, HEAD + NAME);
	*at++ = MOV_IMM(BPF_REG_3, MODULE);
	*at++ = CALL(FUNC_SEQ_WRITE);
	/*
	 * What did not fit was discarded by the kernel, which calls the program again for this
	 * symbol.
	 */
	*at++ = MOV_IMM(BPF_REG_0, 0);
	*at++ = EXIT();
	return sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int attach(int program)
{
	union bpf_attr attr = {.link_create.prog_fd = (u32)program,
			       .link_create.attach_type = BPF_TRACE_ITER};

	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

static int run(int link, char **ret, size_t *ret_len)
{
	const int fd = sys_bpf_iterator(link);
	int err;

	if (fd < 0)
		return fd;
	err = file_read_fd(fd, MAX_SYMBOLS, ret, ret_len);
	close(fd);
	return err;
}

static int read_records(const struct layout *l, char **ret, size_t *ret_len)
{
	const int buffer = create_buffer();
	const int program = buffer < 0 ? buffer : load_program(buffer, l);
	const int link = program < 0 ? program : attach(program);
	const int err = link < 0 ? link : run(link, ret, ret_len);

	if (link >= 0)
		close(link);
	if (program >= 0)
		close(program);
	if (buffer >= 0)
		close(buffer);
	return err;
}

/* ---- what it wrote ---- */

/* A module's symbol is shown as global where it is exported, as kallsyms has it. */
static char type_of(const struct record *r)
{
	if (!r->module_letter || (r->type | 0x20) < 'a' || (r->type | 0x20) > 'z')
		return r->type;
	return (char)(r->is_exported ? r->type & ~0x20 : r->type | 0x20);
}

static void parse(struct ksyms *ks)
{
	const char *at = ks->data, *const end = at + ks->len;

	vector_reserve(&ks->list, ks->len / 32);
	while (end - at > HEAD) {
		const char *name = at + HEAD, *stop = memchr(name, '\0', (size_t)(end - name));
		struct record r = {.address = 0};
		const char *module = NULL;

		if (!stop++)
			break;
		memcpy(&r, at, HEAD);
		if (r.module_letter) {
			module = stop;
			if (end - stop < MODULE)
				break;
			stop += MODULE;
		}
		ksyms_add(ks, r.address, type_of(&r), name, module);
		at = stop;
	}
}

int ksyms_read_iterator(struct ksyms *ks)
{
	struct layout layout;
	int err;

	if (!kernel_ask(ks->kernel, KERNEL_ITERATORS)->yes)
		return -EOPNOTSUPP;
	err = read_layout(&layout);
	if (!err)
		err = read_records(&layout, &ks->data, &ks->len);
	if (err)
		return err;
	parse(ks);
	return ks->list.len ? 0 : -EIO;
}
