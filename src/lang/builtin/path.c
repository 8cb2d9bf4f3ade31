/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of directories and files of the current task: cwd() and fdpath(fd).
 *
 * The name is put together from the dentries, last component first (as prepend_path() in
 * fs/d_path.c does): at the root of a mount the walk goes on at the mount point of its parent. It
 * ends at the root of the mount namespace.
 */
#include <fcntl.h>

#include "lang/builtin/util.h"

#define PATH_SIZE      4096 /* bytes that a name may have; a power of two for the verifier */
#define NAME_SIZE      256 /* NAME_MAX and the NUL */
#define MAX_COMPONENTS 64

/* Where the members lie, by BTF. */
struct path_offsets {
	u32 task_fs, fs_pwd, task_files, files_fdt, fdt_max, fdt_fd, file_path;
	u32 path_mnt, path_dentry, dentry_parent, dentry_name, name_len, name_text;
	u32 vfsmount_root, mount_mnt, mount_parent, mount_mountpoint;
};

static const struct {
	const char *structure, *member;
	size_t offset;
} wanted[] = {
	{"struct task_struct", "fs", offsetof(struct path_offsets, task_fs)},
	{"struct fs_struct", "pwd", offsetof(struct path_offsets, fs_pwd)},
	{"struct task_struct", "files", offsetof(struct path_offsets, task_files)},
	{"struct files_struct", "fdt", offsetof(struct path_offsets, files_fdt)},
	{"struct fdtable", "max_fds", offsetof(struct path_offsets, fdt_max)},
	{"struct fdtable", "fd", offsetof(struct path_offsets, fdt_fd)},
	{"struct file", "f_path", offsetof(struct path_offsets, file_path)},
	{"struct path", "mnt", offsetof(struct path_offsets, path_mnt)},
	{"struct path", "dentry", offsetof(struct path_offsets, path_dentry)},
	{"struct dentry", "d_parent", offsetof(struct path_offsets, dentry_parent)},
	{"struct dentry", "d_name", offsetof(struct path_offsets, dentry_name)},
	{"struct qstr", "len", offsetof(struct path_offsets, name_len)},
	{"struct qstr", "name", offsetof(struct path_offsets, name_text)},
	{"struct vfsmount", "mnt_root", offsetof(struct path_offsets, vfsmount_root)},
	{"struct mount", "mnt", offsetof(struct path_offsets, mount_mnt)},
	{"struct mount", "mnt_parent", offsetof(struct path_offsets, mount_parent)},
	{"struct mount", "mnt_mountpoint", offsetof(struct path_offsets, mount_mountpoint)},
};

static void check_path(struct check *c, struct expr *call)
{
	struct path_offsets *o = call->annotation;
	const struct type *t;

	call->type = type_string(c->types, PATH_SIZE);
	if (call->nargs && check_known(c, call->args[0]))
		check_arg_integer(c, call, 0);
	if (o)
		return;
	call->annotation = o = arena_new(c->arena, struct path_offsets);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!builtin_member(c, wanted[i].structure, wanted[i].member, &t,
				    (u32 *)((char *)o + wanted[i].offset))) {
			check_error(c, call->span, "%s() needs the kernel's BTF (%s.%s is unknown)",
				    call->builtin->name, wanted[i].structure, wanted[i].member);
			return;
		}
}

/*
 * One walk. Its variables are in memory behind the buffer, not in registers: the verifier does not
 * track the contents of scratch memory, so all rounds of the loop look the same to it.
 */
struct walk {
	struct lower *l;
	const struct path_offsets *o;
	ir_reg word; /* address of an 8-byte slot that reads go through */
	/*
	 * filled from PATH_SIZE downwards; with room for a second name behind, which the verifier
	 * demands
	 */
	ir_reg buffer;
};

enum walk_variable { WALK_DENTRY, WALK_MOUNT, WALK_USED, WALK_VARIABLES };

#define WALK_MEMORY(v) (2 * PATH_SIZE + 8 + 8 * (v))

static ir_reg get(struct walk *w, enum walk_variable v)
{
	return ir_load(w->l->f, w->buffer, WALK_MEMORY(v), 8, false);
}

static void set(struct walk *w, enum walk_variable v, ir_reg value)
{
	ir_store(w->l->f, w->buffer, WALK_MEMORY(v), 8, value);
}

/* The pointer (or integer of `size` bytes) at base + offset in kernel memory. */
static ir_reg follow(struct walk *w, ir_reg base, u32 offset, u32 size)
{
	lower_read(w->l, w->word, 0, size, base, offset, SPACE_KERNEL);
	return ir_load(w->l->f, w->word, 0, size, false);
}

/* Address of the name so far. The mask tells the verifier that it lies in the buffer. */
static ir_reg begin_of(struct walk *w)
{
	return ir_binary(w->l->f, IR_ADD, w->buffer,
			 ir_binary_imm(w->l->f, IR_AND, get(w, WALK_USED), PATH_SIZE - 1));
}

/* Prepends "/name" of the dentry; jumps to `full` when there is no room. */
static void prepend_name(struct walk *w, u32 full)
{
	struct ir_function *f = w->l->f;
	const u32 fits = ir_block_new(f, "path.fits");
	ir_reg len, text, at, slash;

	len = follow(w, get(w, WALK_DENTRY), w->o->dentry_name + w->o->name_len, 4);
	len = ir_binary_imm(f, IR_AND, len, NAME_SIZE - 1);
	text = follow(w, get(w, WALK_DENTRY), w->o->dentry_name + w->o->name_text, 8);
	at = ir_binary_imm(f, IR_SUB, ir_binary(f, IR_SUB, get(w, WALK_USED), len), 1);
	ir_branch_imm(f, IR_SLT, at, 1, full, fits);
	ir_switch_to(f, fits);
	set(w, WALK_USED, ir_binary_imm(f, IR_AND, at, PATH_SIZE - 1));
	slash = begin_of(w);
	ir_store_imm(f, slash, 0, 1, '/');
	ir_call_n(f, BPF_FUNC_probe_read_kernel, ir_binary_imm(f, IR_ADD, slash, 1), len, text);
}

/*
 * At the root of a mount: continues at the mount point in the parent mount, or jumps to `done` at
 * the topmost.
 */
static void leave_mount(struct walk *w, u32 done)
{
	struct ir_function *f = w->l->f;
	const u32 up = ir_block_new(f, "path.up");
	ir_reg parent = follow(w, get(w, WALK_MOUNT), w->o->mount_parent, 8);

	ir_branch(f, IR_EQ, parent, get(w, WALK_MOUNT), done, up);
	ir_switch_to(f, up);
	set(w, WALK_DENTRY, follow(w, get(w, WALK_MOUNT), w->o->mount_mountpoint, 8));
	set(w, WALK_MOUNT, parent);
}

/* Copies the finished name to the start of `string`; if there is no name at all, "?". */
static void finish(struct walk *w, const struct type *type, ir_reg string, struct value *ret)
{
	struct ir_function *f = w->l->f;
	const u32 unknown = ir_block_new(f, "path.unknown"), known = ir_block_new(f, "path.known");
	const u32 copy = ir_block_new(f, "path.copy"), end = ir_block_new(f, "path.end");
	ir_reg len, begin;

	ir_branch_imm(f, IR_EQ, get(w, WALK_DENTRY), 0, unknown, known);
	ir_switch_to(f, unknown);
	set(w, WALK_USED,
	    ir_binary_imm(f, IR_AND, ir_binary_imm(f, IR_SUB, get(w, WALK_USED), 1),
			  PATH_SIZE - 1));
	ir_store_imm(f, begin_of(w), 0, 1, '?');
	ir_jump(f, known);
	ir_switch_to(f, known);
	begin = ir_binary_imm(f, IR_AND, get(w, WALK_USED), PATH_SIZE - 1);
	/* With no component at all (used == PATH_SIZE) this is 0: the root itself. */
	len = ir_binary_imm(f, IR_AND, ir_binary(f, IR_SUB, ir_const(f, PATH_SIZE), begin),
			    PATH_SIZE - 1);
	ir_store_imm(f, w->buffer, PATH_SIZE, 1, 0);
	ir_store_imm(f, string, 0, 2, '/');
	ir_branch_imm(f, IR_EQ, len, 0, end, copy);
	ir_switch_to(f, copy);
	ir_call_n(f, BPF_FUNC_probe_read_kernel, string, ir_binary_imm(f, IR_ADD, len, 1),
		  ir_binary(f, IR_ADD, w->buffer, begin));
	ir_jump(f, end);
	ir_switch_to(f, end);
	*ret = value_memory(type, string, 0, SPACE_BPF);
	ret->length = ir_binary_imm(f, IR_ADD, len, 2);
}

static struct walk walk_new(struct lower *l, struct expr *call)
{
	struct walk w = {.l = l, .o = call->annotation};

	w.word = ir_slot_address(l->f, ir_slot(l->f, 8, 8, "path.word"));
	w.buffer =
		ir_slot_address(l->f, ir_slot(l->f, WALK_MEMORY(WALK_VARIABLES), 8, "path.buffer"));
	set(&w, WALK_USED, ir_const(l->f, PATH_SIZE));
	return w;
}

/* Prepends the name of the struct path at kernel address `path`. */
static void walk_up(struct walk *w, ir_reg path)
{
	struct ir_function *f = w->l->f;
	const u32 done = ir_block_new(f, "path.done"), name = ir_block_new(f, "path.name");
	const u32 top = ir_block_new(f, "path.top"), inner = ir_block_new(f, "path.inner"),
		  next = ir_block_new(f, "path.next");
	struct lower_loop loop;
	ir_reg root, parent;

	set(w, WALK_DENTRY, follow(w, path, w->o->path_dentry, 8));
	set(w, WALK_MOUNT,
	    ir_binary_imm(f, IR_SUB, follow(w, path, w->o->path_mnt, 8), w->o->mount_mnt));
	lower_loop_begin(w->l, &loop, ir_const(f, MAX_COMPONENTS), MAX_COMPONENTS);
	root = follow(w, get(w, WALK_MOUNT), w->o->mount_mnt + w->o->vfsmount_root, 8);
	ir_branch(f, IR_EQ, get(w, WALK_DENTRY), root, top, inner);
	ir_switch_to(f, top);
	leave_mount(w, done);
	ir_jump(f, next);
	ir_switch_to(f, inner);
	parent = follow(w, get(w, WALK_DENTRY), w->o->dentry_parent, 8);
	ir_branch(f, IR_EQ, parent, get(w, WALK_DENTRY), done,
		  name); /* not below any mount: pipes, sockets, memfds */
	ir_switch_to(f, name);
	prepend_name(w, done);
	set(w, WALK_DENTRY, follow(w, get(w, WALK_DENTRY), w->o->dentry_parent, 8));
	ir_jump(f, next);
	ir_switch_to(f, next);
	lower_loop_end(w->l, &loop);
	ir_jump(f, done);
	ir_switch_to(f, done);
}

static ir_reg read_pointer(struct lower *l, ir_reg base, u32 offset)
{
	ir_reg word = ir_slot_address(l->f, ir_slot(l->f, 8, 8, "path.pointer"));

	lower_read(l, word, 0, 8, base, offset, SPACE_KERNEL);
	return ir_load(l->f, word, 0, 8, false);
}

/* Address of the current task's working directory (a struct path). */
static ir_reg cwd_path(struct lower *l, const struct path_offsets *o)
{
	ir_reg task = ir_call(l->f, BPF_FUNC_get_current_task, 0, NULL);

	return ir_binary_imm(l->f, IR_ADD, read_pointer(l, task, o->task_fs), o->fs_pwd);
}

/*
 * Address of the struct path of an open file. If fd is not open it is at address 0, where reads
 * fail.
 */
static ir_reg fd_path(struct lower *l, const struct path_offsets *o, ir_reg fd)
{
	struct ir_function *f = l->f;
	const u32 open = ir_block_new(f, "fd.open"), end = ir_block_new(f, "fd.end");
	ir_reg table, array, limit, file = ir_reg_new(f), word, task;

	task = ir_call(f, BPF_FUNC_get_current_task, 0, NULL);
	table = read_pointer(l, read_pointer(l, task, o->task_files), o->files_fdt);
	word = ir_slot_address(f, ir_slot(f, 8, 8, "fd.limit"));
	lower_read(l, word, 0, 4, table, o->fdt_max, SPACE_KERNEL);
	limit = ir_load(f, word, 0, 4, false);
	ir_assign_const(f, file, 0);
	ir_branch(f, IR_LT, fd, limit, open, end); /* unsigned: negative numbers are out too */
	ir_switch_to(f, open);
	array = ir_binary(f, IR_ADD, read_pointer(l, table, o->fdt_fd),
			  ir_binary_imm(f, IR_SHL, fd, 3));
	ir_assign(f, file, read_pointer(l, array, 0));
	ir_jump(f, end);
	ir_switch_to(f, end);
	return ir_binary_imm(f, IR_ADD, file, o->file_path);
}

static void lower_cwd(struct lower *l, struct expr *call, struct value *ret)
{
	struct walk w = walk_new(l, call);
	ir_reg string;

	lower_slot(l, call->type, "path", &string);
	walk_up(&w, cwd_path(l, w.o));
	finish(&w, call->type, string, ret);
}

static void lower_fdpath(struct lower *l, struct expr *call, struct value *ret)
{
	struct walk w = walk_new(l, call);
	ir_reg fd = lower_scalar(l, call->args[0]), string;

	lower_slot(l, call->type, "path", &string);
	walk_up(&w, fd_path(l, w.o, fd));
	finish(&w, call->type, string, ret);
}

/* Puts the relative name (n bytes with its NUL, in string) at the end of the buffer. */
static void put_relative(struct walk *w, ir_reg string, ir_reg n)
{
	struct ir_function *f = w->l->f;
	ir_reg len = ir_binary_imm(f, IR_AND, ir_binary_imm(f, IR_SUB, n, 1), PATH_SIZE - 1);
	ir_reg slash;

	set(w, WALK_USED,
	    ir_binary_imm(f, IR_AND, ir_binary(f, IR_SUB, ir_const(f, PATH_SIZE - 1), len),
			  PATH_SIZE - 1));
	slash = begin_of(w);
	ir_store_imm(f, slash, 0, 1, '/');
	/*
	 * The verifier does not relate used to len, so the buffer has room for a whole name behind
	 * its end.
	 */
	ir_call_n(f, BPF_FUNC_probe_read_kernel, ir_binary_imm(f, IR_ADD, slash, 1), len, string);
}

static void lower_abspath(struct lower *l, struct expr *call, struct value *ret)
{
	struct ir_function *f = l->f;
	const u32 test = ir_block_new(f, "abs.test"), relative = ir_block_new(f, "abs.relative");
	const u32 here = ir_block_new(f, "abs.here"), there = ir_block_new(f, "abs.there"),
		  walk = ir_block_new(f, "abs.walk");
	const u32 end = ir_block_new(f, "abs.end");
	struct walk w = walk_new(l, call);
	ir_reg fd = ir_move(f, lower_scalar(l, call->args[0])),
	       name = lower_scalar(l, call->args[1]);
	ir_reg string, n = ir_reg_new(f), path = ir_reg_new(f), length = ir_reg_new(f);

	lower_slot(l, call->type, "path", &string);
	ir_store_imm(f, string, 0, 1, 0);
	ir_assign(f, n,
		  ir_call_n(f, BPF_FUNC_probe_read_user_str, string, ir_const(f, PATH_SIZE), name));
	ir_assign_const(f, length, 1);
	ir_branch_imm(f, IR_SGT, n, 1, test, end);
	ir_switch_to(f, test);
	ir_assign(f, length, n);
	ir_branch_imm(f, IR_EQ, ir_load(f, string, 0, 1, false), '/', end, relative);
	ir_switch_to(f, relative);
	put_relative(&w, string, n);
	ir_branch_imm(f, IR_EQ, ir_extend(f, fd, 4, true), AT_FDCWD, here, there);
	ir_switch_to(f, here);
	ir_assign(f, path, cwd_path(l, w.o));
	ir_jump(f, walk);
	ir_switch_to(f, there);
	ir_assign(f, path, fd_path(l, w.o, fd));
	ir_jump(f, walk);
	ir_switch_to(f, walk);
	walk_up(&w, path);
	finish(&w, call->type, string, ret);
	ir_assign(f, length, ret->length);
	ir_jump(f, end);
	ir_switch_to(f, end);
	*ret = value_memory(call->type, string, 0, SPACE_BPF);
	ret->length = builtin_bound(l, length, PATH_SIZE);
}

const struct builtin builtins_path[] = {
	{"cwd", "string cwd()",
	 "Name of the current working directory of the current task, from the root of its mount "
	 "namespace.",
	 "5.5", BUILTIN_LIVE | VARIABLE_OR_CALL, 0, 0, check_path, lower_cwd},
	{"fdpath", "string fdpath(int fd)",
	 "Name of the file that a descriptor of the current task refers to; \"?\" if it is not "
	 "open.",
	 "5.5", BUILTIN_LIVE | BUILTIN_CALL, 1, 1, check_path, lower_fdpath},
	{"abspath", "string abspath(int dirfd, char *name)",
	 "Full name of a file as a system call of the current task means it: relative names are "
	 "resolved from the directory dirfd, or from the working directory (AT_FDCWD).",
	 "5.5", BUILTIN_LIVE | BUILTIN_CALL, 2, 2, check_path, lower_abspath},
	{0},
};
