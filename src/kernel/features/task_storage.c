/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BPF task storage: creates such a map, and tests whether the kernel allocates it. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/btf.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/kernel_internal.h"

/*
 * Local storage is only made with BTF for its key (an int) and value (bytes):
 * bpf_local_storage_map_check_btf() in kernel/bpf/bpf_local_storage.c. Layout of BTF:
 * Documentation/bpf/btf.rst.
 */
static int describe(union bpf_attr *attr)
{
	struct {
		struct btf_header header;
		struct btf_type int_type;
		u32 int_bits;
		struct btf_type char_type;
		u32 char_bits;
		struct btf_type array_type;
		struct btf_array array;
		char strings[10];
	} __attribute__((packed)) blob = {
		.header = {.magic = BTF_MAGIC,
			   .version = BTF_VERSION,
			   .hdr_len = sizeof(struct btf_header),
			   .type_len = offsetof(typeof(blob), strings) - sizeof(struct btf_header),
			   .str_off = offsetof(typeof(blob), strings) - sizeof(struct btf_header),
			   .str_len = sizeof(blob.strings)},
		.int_type = {.name_off = 1, .info = BTF_KIND_INT << 24, .size = 4},
		.int_bits = 32,
		.char_type = {.name_off = 5, .info = BTF_KIND_INT << 24, .size = 1},
		.char_bits = 8,
		.array_type = {.info = BTF_KIND_ARRAY << 24},
		.array = {.type = 2, .index_type = 1, .nelems = attr->value_size},
		.strings = "\0int\0char",
	};
	union bpf_attr load = {0};
	int fd;

	load.btf = (u64)(uintptr_t)&blob;
	load.btf_size = sizeof(blob);
	fd = sys_bpf(BPF_BTF_LOAD, &load, sizeof(load));
	if (fd < 0)
		return fd;
	attr->btf_fd = (u32)fd;
	attr->btf_key_type_id = 1;
	attr->btf_value_type_id = 3;
	return 0;
}

int kernel_task_storage_create(union bpf_attr *attr)
{
	int fd = describe(attr);

	if (fd < 0)
		return fd;
	attr->map_type = BPF_MAP_TYPE_TASK_STORAGE;
	attr->key_size = sizeof(int);
	attr->max_entries = 0;
	attr->map_flags = BPF_F_NO_PREALLOC;
	fd = sys_bpf(BPF_MAP_CREATE, attr, sizeof(*attr));
	close((int)attr->btf_fd);
	return fd;
}

bool kernel_task_storage_allocates(u32 value_size)
{
	union bpf_attr attr = {.value_size = value_size}, update = {0};
	const int map = kernel_task_storage_create(&attr);
	int process, err = 0;
	void *value;

	if (map < 0)
		return true; /* loading the script will say what is wrong */
	process = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (process >= 0) {
		value = xzalloc(value_size);
		update.map_fd = (u32)map;
		update.key = (u64)(uintptr_t)&process;
		update.value = (u64)(uintptr_t)value;
		err = sys_bpf(BPF_MAP_UPDATE_ELEM, &update, sizeof(update));
		free(value);
		close(process);
	}
	close(map);
	return err != -ENOMEM;
}
