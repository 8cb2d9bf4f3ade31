/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BTF (Documentation/bpf/btf.rst) as a lazy source of types: the blob is mapped, a name is found by
 * searching the string section and one pass over the type headers, and only the types that are
 * needed are converted. Nothing is read before the first lookup.
 */
#ifndef PANTRACE_TYPES_BTF_H
#define PANTRACE_TYPES_BTF_H

#include "types/type.h"

struct btf_source; /* vmlinux + modules, opened on first use */

/* path NULL = /sys/kernel/btf/vmlinux; "/dev/null" = no BTF. Sets store->lookup*. */
struct btf_source *btf_attach(struct type_store *store, const char *path);
/* The object of another kernel, in memory: malloc'ed, and taken. It is not trusted. */
struct btf_source *btf_attach_data(struct type_store *store, void *data, size_t len);
void btf_release(struct btf_source *btf);
/* 0 if BTF can be read, else -errno (-ENOENT: kernel without BTF). */
int btf_available(struct btf_source *btf);
/* The same, decided by the first bytes of the file: all 5 MB are read only when they are needed. */
bool btf_exists(struct btf_source *btf);

/*
 * A kernel function: its BTF id (and the fd of its module's BTF object or 0), type of kind
 * TYPE_FUNCTION. module NULL = any.
 */
struct btf_function {
	u32 id;
	/* of the module's BTF object for attach_btf_obj_fd; 0 = vmlinux. Owned by btf_source */
	int module_fd;
	const char *module;
	const struct type *type; /* parameters in members[], return type in element */
};
int btf_find_function(struct btf_source *btf, const char *module, const char *name,
		      struct btf_function *ret);
/* Calls fn for each function whose name matches the glob. */
int btf_each_function(struct btf_source *btf, const char *module_glob, const char *glob,
		      int (*fn)(void *arg, const char *module, const char *name, u32 id),
		      void *arg);
/*
 * The same for one object in memory, such as a BPF program's own; id is the FUNC's id there. The
 * data is not trusted: -EINVAL if it is wrong.
 */
int btf_each_function_in(const void *data, size_t len,
			 int (*fn)(void *arg, const char *name, u32 id), void *arg);
/*
 * Calls fn for each struct, union and enum that has a name; spelled is "struct NAME" and matches
 * the glob. Forward declarations are left out.
 */
int btf_each_record(struct btf_source *btf, const char *glob,
		    int (*fn)(void *arg, const char *module, const char *spelled), void *arg);
/*
 * The prototype of a raw tracepoint: parameters of typedef btf_trace_NAME without the first (void
 * *).
 */
int btf_find_raw_tracepoint(struct btf_source *btf, const char *module, const char *name,
			    struct btf_function *ret);
/*
 * Iterator targets: functions bpf_iter_NAME; context struct bpf_iter__NAME. id is for
 * attach_btf_id.
 */
int btf_find_iterator(struct btf_source *btf, const char *name, struct btf_function *ret,
		      const struct type **ret_context);
/*
 * Structures of vmlinux with this name ("" = without one), of which there may be several: the first
 * one behind *iterator, which begins with 0. NULL: there is no further.
 */
const struct type *btf_next_structure(struct btf_source *btf, const char *name, u32 *iterator);
bool btf_has_typedef(struct btf_source *btf, const char *name); /* of vmlinux */
/* A global variable: its type, NULL if unknown. */
const struct type *btf_find_variable(struct btf_source *btf, const char *name);

#endif
