/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/vmcore/kernel.h"

#include "trace/vmcore/kernel_internal.h"

#define BTF_MAX ((u64)256 << 20)

/* ---- what VMCOREINFO says ---- */

static const char *info_value(const struct dead_kernel *k, const char *key)
{
	const size_t n = strlen(key);

	for (const char *line = dump_info(k->dump); *line; line += strspn(line, "\n")) {
		if (!strncmp(line, key, n) && line[n] == '=')
			return line + n + 1;
		line += strcspn(line, "\n");
	}
	return NULL;
}

bool dead_info_hex(const struct dead_kernel *k, const char *key, u64 *ret)
{
	const char *const value = info_value(k, key);

	if (value)
		*ret = strtoull(value, NULL, 16);
	return value;
}

bool dead_info_number(const struct dead_kernel *k, const char *key, s64 *ret)
{
	const char *const value = info_value(k, key);

	if (value)
		*ret = strtoll(value, NULL, 10);
	return value;
}

/* ---- structures ---- */

static const struct {
	const char *structure, *member;
	bool is_needed;
} rows[] = {
#define ROW(structure, member, needed) {#structure, #member, needed},
	DEAD_FIELDS(ROW)
#undef ROW
};

/* Finds this member in a type that may be the structure. */
static bool find_member(struct dead_kernel *k, const struct type *t, u32 f)
{
	const struct type_member *m;
	u32 offset;

	m = type_find_member(&k->types, t, rows[f].member, &offset);
	k->members[f] = m ? (struct dead_member){offset, m->type->size, m->bit_offset, m->bit_size}
			  : (struct dead_member){.size = UINT32_MAX};
	return m;
}

/* Rows [f, end) are of one structure. Returns the first that is needed and not there, or end. */
static u32 find_all(struct dead_kernel *k, const struct type *t, u32 f, u32 end)
{
	while (f < end && (find_member(k, t, f) || !rows[f].is_needed))
		f++;
	return f;
}

/* There may be several structures of this name: takes the one that has all members. */
static int find_structure(struct dead_kernel *k, u32 f, u32 end)
{
	const struct type *t;
	u32 iterator = 0, missing = f;

	for (u32 i = f; i < end; i++)
		k->members[i].size = UINT32_MAX;
	while ((t = btf_next_structure(k->btf, rows[f].structure, &iterator))) {
		missing = find_all(k, t, f, end);
		if (missing == end)
			return 0;
	}
	if (!rows[f].is_needed)
		return 0;
	diag_error(k->diag, NO_SPAN, "%s: its kernel has no 'struct %s' with a member '%s'",
		   k->path, rows[f].structure, rows[missing].member);
	return -EOPNOTSUPP;
}

static int find_members(struct dead_kernel *k)
{
	int err = 0;
	u32 end;

	for (u32 f = 0; f < DEAD_FIELD_COUNT && !err; f = end) {
		for (end = f; end < DEAD_FIELD_COUNT; end++)
			if (!str_eq(rows[end].structure, rows[f].structure))
				break;
		err = find_structure(k, f, end);
	}
	return err;
}

bool dead_has(const struct dead_kernel *k, enum dead_field f)
{
	return k->members[f].size != UINT32_MAX;
}

u32 dead_offset(const struct dead_kernel *k, enum dead_field f)
{
	return k->members[f].offset;
}

u32 dead_size(const struct dead_kernel *k, enum dead_field f)
{
	return k->members[f].size;
}

int dead_member(struct dead_kernel *k, u64 structure, enum dead_field f, u64 *ret)
{
	const struct dead_member *const m = &k->members[f];
	int err;

	*ret = 0;
	if (m->size > sizeof(*ret))
		return -EOPNOTSUPP;
	err = dead_read(k, structure + m->offset, ret, m->size);
	if (!err && m->bit_size)
		*ret = *ret >> m->bit_offset & (((u64)2 << (m->bit_size - 1)) - 1);
	return err;
}

char *dead_member_string(struct dead_kernel *k, u64 structure, enum dead_field f, size_t most)
{
	u64 address;

	return dead_member(k, structure, f, &address) ? NULL : dead_string(k, address, most);
}

int dead_member_array(struct dead_kernel *k, u64 structure, enum dead_field f, u64 *ret)
{
	if (dead_size(k, f) == sizeof(*ret))
		return dead_member(k, structure, f, ret);
	*ret = structure + dead_offset(k, f);
	return 0;
}

int dead_each(struct dead_kernel *k, u64 head, enum dead_field link, bool backwards,
	      dead_list_fn *fn, void *arg)
{
	const enum dead_field next = backwards ? F(list_head, prev) : F(list_head, next);
	u64 node, mark = head; /* a loop without the head comes by the mark again (Brent) */
	int err = dead_member(k, head, next, &node);

	for (u32 i = 0; !err && node != head; i++) {
		if (i == DEAD_LIST_MAX || node == mark)
			return -ELOOP;
		if (!(i & (i - 1)))
			mark = node;
		err = fn(arg, node - dead_offset(k, link));
		if (!err)
			err = dead_member(k, node, next, &node);
	}
	return err;
}

u64 dead_symbol(struct dead_kernel *k, const char *name)
{
	return ksyms_address(k->symbols, name);
}

/* Up to Linux 6.14 the symbol of such a variable is its offset, which is no address. */
static u64 per_cpu_symbol(struct dead_kernel *k, const char *name)
{
	char *const line = xasprintf(" A %s\n", name);
	const char *const found = strstr(k->kallsyms.data, line);

	free(line);
	return found && found - k->kallsyms.data >= 16 ? strtoull(found - 16, NULL, 16)
						       : dead_symbol(k, name);
}

u64 dead_of_first_cpu(struct dead_kernel *k, const char *name)
{
	const u64 offsets = dead_symbol(k, "__per_cpu_offset"), symbol = per_cpu_symbol(k, name);
	u64 offset;

	return offsets && symbol && !dead_u64(k, offsets, &offset) ? offset + symbol : 0;
}

s64 dead_enumerator(struct dead_kernel *k, const char *name)
{
	s64 value;

	return type_find_enumerator(&k->types, name, &value) ? value : 0;
}

const struct strbuf *dead_kallsyms(const struct dead_kernel *k)
{
	return &k->kallsyms;
}

static bool has_all(struct dead_kernel *k, const struct type *t, const char *const *members)
{
	while (*members && type_find_member(&k->types, t, *members, NULL))
		members++;
	return !*members;
}

bool dead_unnamed(struct dead_kernel *k, const char *const *members, const char *wanted,
		  u32 *ret_size, u32 *ret_offset)
{
	const struct type *t;
	u32 iterator = 0;

	while ((t = btf_next_structure(k->btf, "", &iterator)))
		if (has_all(k, t, members))
			break;
	if (t)
		*ret_size = t->size;
	return t && type_find_member(&k->types, t, wanted, ret_offset);
}

/* ---- opening ---- */

int dead_refuse(const struct dead_kernel *k, int err, const char *what)
{
	const char *const why = err == -ENODATA	     ? "it is not in the dump"
				: err == -EFAULT     ? "its kernel has no memory there"
				: err == -ELOOP	     ? "it does not end"
				: err == -EINVAL     ? "it is damaged"
				: err == -EOPNOTSUPP ? "it is packed by an unknown method"
						     : strerror(-err);

	diag_error(k->diag, NO_SPAN, "%s: cannot read %s: %s", k->path, what, why);
	if (err == -ENODATA)
		diag_hint(k->diag, "makedumpfile leaves out too much where it does not know the "
				   "kernel, and says so; with -d 1 it leaves out zeros alone");
	return err;
}

static int refuse_info(struct dead_kernel *k)
{
	if (!*dump_info(k->dump)) {
		diag_error(k->diag, NO_SPAN,
			   "%s: has no VMCOREINFO, without which nothing in it can be found",
			   k->path);
		diag_hint(k->diag, "QEMU writes it if it was started with -device vmcoreinfo and "
				   "the guest has loaded qemu_fw_cfg");
	} else {
		diag_error(k->diag, NO_SPAN,
			   "%s: its kernel does not say where its symbols are, as Linux 6.0 and "
			   "later on x86-64 do",
			   k->path);
	}
	return -ENODATA;
}

static int read_symbols(struct dead_kernel *k)
{
	int err = dead_address_init(k);

	if (!err)
		err = dead_kallsyms_read(k, &k->kallsyms);
	if (err == -ENOKEY)
		return refuse_info(k);
	if (err)
		return dead_refuse(k, err, "the kernel's symbols");
	k->symbols = ksyms_new(xstrndup(k->kallsyms.data, k->kallsyms.len), k->kallsyms.len);
	return 0;
}

static int read_types(struct dead_kernel *k)
{
	const u64 begin = dead_symbol(k, "__start_BTF"), end = dead_symbol(k, "__stop_BTF");
	char *data;
	int err;

	if (!begin || end <= begin || end - begin > BTF_MAX) {
		diag_error(k->diag, NO_SPAN,
			   "%s: its kernel has no type information (CONFIG_DEBUG_INFO_BTF)",
			   k->path);
		return -EOPNOTSUPP;
	}
	data = xmalloc(end - begin);
	err = dead_read(k, begin, data, end - begin);
	if (err) {
		free(data);
		return dead_refuse(k, err, "its types (BTF)");
	}
	k->btf = btf_attach_data(&k->types, data, end - begin);
	err = btf_available(k->btf);
	return err ? dead_refuse(k, -EINVAL, "its types (BTF)") : find_members(k);
}

int dead_kernel_open(const char *path, struct diag *d, struct dead_kernel **ret)
{
	struct dead_kernel *const k = xzalloc(sizeof(*k));
	int err;

	k->path = xstrdup(path);
	k->diag = d;
	k->kallsyms = (struct strbuf)STRBUF_INIT;
	type_store_init(&k->types);
	err = dump_open(path, d, &k->dump);
	if (!err)
		err = read_symbols(k);
	if (!err)
		err = read_types(k);
	if (err) {
		dead_kernel_close(k);
		return err;
	}
	dead_kallsyms_read_modules(k, &k->kallsyms);
	*ret = k;
	return 0;
}

void dead_kernel_close(struct dead_kernel *k)
{
	if (!k)
		return;
	btf_release(k->btf);
	type_store_release(&k->types);
	ksyms_release(k->symbols);
	strbuf_release(&k->kallsyms);
	dump_close(k->dump);
	free(k->path);
	free(k);
}
