/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BTF reader against bpftool on the running kernel, and split objects made by libbpf. */
#include "types/btf.h"

#include <bpf/btf.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "tap.h"
#include "types/btf_internal.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void is_type(struct type_store *s, const struct type *t, const char *want, const char *name)
{
	is_str(t ? type_str(&s->arena, t) : NULL, want, name);
}

/* ---- every member of every struct, as bpftool prints it ---- */

struct totals {
	u32 structs, members, wrong;
};

static void compare_member(struct type_store *s, const struct type *t, u32 i, const char *line,
			   struct totals *n)
{
	char name[256] = "";
	u32 type_id, bits, width = 0;
	const struct type_member *m = i < t->count ? &t->members[i] : NULL;
	bool same;

	if (sscanf(line, " '%255[^']' type_id=%u bits_offset=%u bitfield_size=%u", name, &type_id,
		   &bits, &width) < 3)
		return;
	n->members++;
	same = m && str_eq(m->name ? m->name : "(anon)", name) &&
	       8 * m->offset + m->bit_offset == bits && m->bit_size == width;
	if (!same && n->wrong++ < 5)
		printf("# %s: %s at bit %u, width %u; got %s at %u\n", t->name, name, bits, width,
		       m && m->name ? m->name : "-", m ? 8 * m->offset + m->bit_offset : 0);
}

static void test_all_members(struct type_store *s)
{
	FILE *in =
		popen("bpftool btf dump file /sys/kernel/btf/vmlinux format raw 2>/dev/null", "r");
	const struct type *t = NULL;
	struct hashmap seen = {0};
	struct totals n = {0};
	char line[1024];
	u32 member = 0;

	while (in && fgets(line, sizeof(line), in)) {
		char kind[16], name[256], full[300];
		u32 id, size, vlen;

		if (line[0] == '\t') {
			if (t)
				compare_member(s, t, member++, line, &n);
			continue;
		}
		t = NULL;
		if (sscanf(line, "[%u] %15s '%255[^']' size=%u vlen=%u", &id, kind, name, &size,
			   &vlen) != 5)
			continue;
		if ((!str_eq(kind, "STRUCT") && !str_eq(kind, "UNION")) || str_eq(name, "(anon)"))
			continue;
		snprintf(full, sizeof(full), "%s %s", str_eq(kind, "STRUCT") ? "struct" : "union",
			 name);
		if (hashmap_gets(&seen, full)) /* different types of the same name */
			continue;
		hashmap_puts(&seen, full, full);
		t = type_named(s, full);
		member = 0;
		n.structs++;
		if (!t || type_complete(s, t) || t->size != size || t->count != vlen) {
			n.wrong++;
			printf("# %s: size or count\n", full);
			t = NULL;
		}
	}
	hashmap_release(&seen);
	if (in)
		pclose(in);
	if (!n.structs) {
		tap_skip("members of all structs", "no bpftool");
		return;
	}
	ok(!n.wrong, "%u members of %u structs and unions as bpftool has them", n.members,
	   n.structs);
}

/* ---- the running kernel ---- */

static int count_function(void *arg, const char *module, const char *name, u32 id)
{
	++*(u32 *)arg;
	return 0;
}

/* Stops at the first function of a module. */
static int find_in_module(void *arg, const char *module, const char *name, u32 id)
{
	struct btf_function *f = arg;

	if (!module || btf_find_function((struct btf_source *)f->type, module, name, f))
		return 0;
	printf("# %s:%s has id %u of %u\n", module, name, f->id, id);
	return f->id == id ? 1 : -EINVAL;
}

static void test_modules(struct btf_source *btf)
{
	/* `type` carries the source to the callback. */
	struct btf_function f = {.type = (const void *)btf};
	const int rc = btf_each_function(btf, NULL, "*", find_in_module, &f);

	if (!rc)
		tap_skip("functions of modules", "no module has BTF");
	else
		ok(rc == 1 && f.module && (f.module_fd > 0 || geteuid()) &&
			   f.type->kind == TYPE_FUNCTION,
		   "function of a module, with the descriptor of its object");
}

static void test_kernel(void)
{
	struct type_store s;
	struct btf_source *btf;
	const struct type *t, *context;
	const struct type_member *m;
	struct btf_function f;
	double start = now_ms();
	u32 offset = 0, functions = 0, id;
	s64 value = 0;

	type_store_init(&s);
	btf = btf_attach(&s, NULL);
	if (btf_available(btf)) {
		tap_skip("BTF of the running kernel", strerror(-btf_available(btf)));
		btf_release(btf);
		type_store_release(&s);
		return;
	}
	printf("# opened and indexed in %.2f ms\n", now_ms() - start);
	start = now_ms();
	t = type_named(&s, "struct task_struct");
	printf("# struct task_struct found in %.2f ms\n", now_ms() - start);
	ok(t && t->kind == TYPE_STRUCT && t->size > 1000, "struct task_struct");
	m = type_find_member(&s, t, "pid", &offset);
	ok(m && m->offset == offset && str_eq(m->type->alias, "pid_t"), "pid is a pid_t");
	is_type(&s, m->type, "int32", "pid's type");
	m = type_find_member(&s, t, "comm", NULL);
	is_type(&s, m->type, m->type->element->is_signed ? "int8[16]" : "uint8[16]", "comm");
	ok(m->type->element->is_char, "comm is text");
	m = type_find_member(&s, t, "real_parent", NULL);
	is_type(&s, m->type, "struct task_struct *", "real_parent");
	ok(m->type->space == SPACE_KERNEL, "a kernel pointer");
	m = type_find_member(&s, t, "in_execve", NULL);
	ok(m && m->bit_size == 1, "a bit-field");
	t = type_named(&s, "struct sock");
	m = type_find_member(&s, t, "__sk_common", NULL);
	m = type_find_member(&s, m->type, "skc_daddr", &offset);
	ok(m && offset == 0, "a member inside of anonymous unions and structs");
	ok(!type_find_member(&s, t, "no_such_member", NULL), "no such member");
	ok(!type_named(&s, "struct no_such_struct"), "no such struct");
	is_type(&s, type_named(&s, "pid_t"), "int32", "typedef");
	is_type(&s, type_named(&s, "atomic_t"), "atomic_t", "typedef of an anonymous struct");
	is_type(&s, type_named(&s, "enum pid_type"), "enum pid_type", "enum");
	is_str(type_enumerator_name(&s, type_named(&s, "enum pid_type"), 1), "PIDTYPE_TGID",
	       "name of an enumerator");
	start = now_ms();
	t = type_find_enumerator(&s, "TCP_LISTEN", &value);
	printf("# TCP_LISTEN found in %.2f ms\n", now_ms() - start);
	ok(t && value == 10, "value of an enumerator");
	ok(!type_find_enumerator(&s, "NO_SUCH_ENUMERATOR", &value), "no such enumerator");

	ok(!btf_find_function(btf, NULL, "vfs_read", &f), "function vfs_read");
	is_int(f.type->count, 4, "its parameters");
	is_str(f.type->members[0].name, "file", "name of the first");
	is_type(&s, f.type->members[0].type, "struct file *", "type of the first");
	is_type(&s, f.type->element, "int64", "its return type");
	ok(f.id > 0 && !f.module_fd && !f.module, "in vmlinux");
	is_int(btf_find_function(btf, "no_such_module", "vfs_read", &f), -ENOENT, "no such module");
	ok(!btf_find_raw_tracepoint(btf, NULL, "sched_switch", &f), "raw tracepoint sched_switch");
	ok(f.type->count >= 3 && str_eq(f.type->members[1].name, "prev"), "its second parameter");
	is_type(&s, f.type->members[1].type, "struct task_struct *", "its second parameter's type");
	ok(btf_find_raw_tracepoint(btf, NULL, "no_such_event", &f) < 0, "no such raw tracepoint");
	ok(!btf_find_iterator(btf, "task", &f, &context), "iterator task");
	m = type_find_member(&s, context, "task", &offset);
	ok(m && offset == 8, "its context has the task");
	is_type(&s, m->type, "struct task_struct *", "as a pointer");
	ok(btf_find_iterator(btf, "attach_task", &f, &context) < 0, "no iterator of that name");
	is_type(&s, btf_find_variable(btf, "runqueues"), "struct rq", "a variable");
	start = now_ms();
	btf_each_function(btf, "*", "*", count_function, &functions);
	printf("# %u functions in %.2f ms\n", functions, now_ms() - start);
	ok(functions > 10000, "all functions");
	functions = 0;
	btf_each_function(btf, "vmlinux", "vfs_*", count_function, &functions);
	ok(functions > 20 && functions < 300, "functions that match a glob: %u", functions);
	start = now_ms();
	for (u32 i = id = 0; i < 1000; i++)
		id += !btf_find_function(btf, NULL, i % 2 ? "vfs_read" : "vfs_wrote", &f);
	printf("# 1000 lookups in %.2f ms\n", now_ms() - start);
	is_int(id, 500, "many lookups");
	test_modules(btf);
	test_all_members(&s);
	btf_release(btf);
	type_store_release(&s);
}

/* ---- objects made here ---- */

static void save(struct btf *btf, const char *path)
{
	u32 size;
	const void *data = btf__raw_data(btf, &size);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	write_all(fd, data, size);
	close(fd);
}

/* vmlinux: int, struct outer; module: struct inner (defined), a function, a per-CPU pointer and
 * enums. */
static void make_objects(const char *dir)
{
	struct btf *base = btf__new_empty(), *split;
	char path[300];
	int int_id, fwd, ptr, inner, proto, user, percpu;

	int_id = btf__add_int(base, "int", 4, BTF_INT_SIGNED);
	fwd = btf__add_fwd(base, "inner", BTF_FWD_STRUCT);
	ptr = btf__add_ptr(base, fwd);
	btf__add_struct(base, "outer", 16);
	btf__add_field(base, "flags", int_id, 0, 3);
	btf__add_field(base, "cross", int_id, 28, 8);
	btf__add_field(base, "in", ptr, 64, 0);
	snprintf(path, sizeof(path), "%s/base", dir);
	save(base, path);

	split = btf__new_empty_split(base);
	inner = btf__add_struct(split, "inner", 8);
	btf__add_field(split, "x", int_id, 0, 0);
	btf__add_field(split, "flags", int_id, 32, 0);
	user = btf__add_ptr(split, btf__add_type_tag(split, "user", int_id));
	percpu = btf__add_ptr(split, btf__add_type_tag(split, "percpu", inner));
	proto = btf__add_func_proto(split, int_id);
	btf__add_func_param(split, "who", user);
	btf__add_func_param(split, "counters", percpu);
	btf__add_func(split, "mod_function", BTF_FUNC_GLOBAL, proto);
	btf__add_enum64(split, "wide", 8, true);
	btf__add_enum64_value(split, "WIDE_MINUS", (u64)-5);
	btf__add_enum64_value(split, "WIDE_BIG", 1ull << 40);
	snprintf(path, sizeof(path), "%s/modules/mod", dir);
	save(split, path);
	btf__free(split);
	btf__free(base);
}

static void test_split(const char *base, const char *modules)
{
	struct type_store s;
	struct btf_source *btf;
	const struct type *t;
	const struct type_member *m;
	struct btf_function f;
	s64 value = 0;

	type_store_init(&s);
	btf = btf_attach_from(&s, base, modules);
	t = type_named(&s, "struct outer");
	ok(t && !type_complete(&s, t), "struct of the base");
	m = type_find_member(&s, t, "flags", NULL);
	ok(m && m->offset == 0 && m->bit_offset == 0 && m->bit_size == 3, "bit-field");
	m = type_find_member(&s, t, "cross", NULL);
	ok(m && m->offset == 3 && m->bit_offset == 4 && m->bit_size == 8 && m->type->size == 4,
	   "a bit-field that crosses its unit begins in its first byte");
	m = type_find_member(&s, t, "in", NULL);
	t = m->type->element;
	ok(!t->is_complete && !type_complete(&s, t) && t->size == 8 && t->count == 2,
	   "a forward declaration is completed from the module");
	ok(!btf_find_function(btf, NULL, "mod_function", &f), "function of the module");
	is_str(f.module, "mod", "its module");
	ok(f.type->members[0].is_user && f.type->members[0].type->space == SPACE_USER,
	   "__user pointer");
	ok(f.type->members[1].type->is_percpu_pointer, "__percpu pointer");
	is_type(&s, f.type->members[1].type, "struct inner *", "its type");
	ok(!btf_find_function(btf, "mod", "mod_function", &f), "by module");
	is_int(btf_find_function(btf, "vmlinux", "mod_function", &f), -ENOENT, "not in vmlinux");
	t = type_find_enumerator(&s, "WIDE_BIG", &value);
	ok(t && value == 1ll << 40 && t->size == 8, "64-bit enumerator");
	ok(type_find_enumerator(&s, "WIDE_MINUS", &value) && value == -5, "negative enumerator");
	btf_release(btf);
	type_store_release(&s);
}

static void test_bad_files(void)
{
	static const char *const paths[] = {"/dev/null", "/nonexistent", "/etc/passwd",
					    "/proc/self/exe"};
	struct type_store s;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		struct btf_source *btf;

		type_store_init(&s);
		btf = btf_attach(&s, paths[i]);
		ok(btf_available(btf) < 0 && !type_named(&s, "struct x"), "no BTF in %s", paths[i]);
		btf_release(btf);
		type_store_release(&s);
	}
}

int main(void)
{
	char dir[] = "/tmp/pantrace-btf-XXXXXX", base[300], modules[300], module[400];

	test_kernel();
	if (mkdtemp(dir)) {
		snprintf(base, sizeof(base), "%s/base", dir);
		snprintf(modules, sizeof(modules), "%s/modules", dir);
		snprintf(module, sizeof(module), "%s/mod", modules);
		mkdir(modules, 0700);
		make_objects(dir);
		test_split(base, modules);
		test_bad_files();
		unlink(module);
		unlink(base);
		rmdir(modules);
		rmdir(dir);
	}
	return tap_done();
}
