/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be traced, without asking ftrace: its list is written by one search in kallsyms for each
 * function, 50 ms on hardware and 2 s in a virtual machine without help. What it holds are the
 * functions that begin with ftrace's nop, and those bytes can be read: kallsyms tells where,
 * /proc/kcore (fs/proc/kcore.c) is the memory.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/glob.h"
#include "kernel/kernel_internal.h"

/* vmlinux is read once from begin to end, in pieces of 32 KB. A module's symbols come in no order:
 * its pieces are kept. */
#define WINDOW	     ((u64)32 << 10)
#define MAX_SEGMENTS 512

struct core {
	int fd;
	Elf64_Phdr *segments;
	u32 nsegments;
	struct arena arena;
	struct hashmap pieces; /* start -> struct piece, of modules */
	struct piece *last;
};

struct piece {
	u64 start;
	size_t len;
	u8 bytes[WINDOW + ARCH_TRACE_SITE_SIZE]; /* the code of one function may lie in two */
};

static int core_open(struct core *c)
{
	Elf64_Ehdr header;
	size_t size;

	*c = (struct core){.fd = open("/proc/kcore", O_RDONLY | O_CLOEXEC)};
	if (c->fd < 0)
		return -errno;
	if (pread(c->fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phnum > MAX_SEGMENTS)
		return -EINVAL;
	size = header.e_phnum * sizeof(Elf64_Phdr);
	c->segments = xmalloc(size + 1);
	c->last = xzalloc(sizeof(*c->last));
	if (pread(c->fd, c->segments, size, (off_t)header.e_phoff) != (ssize_t)size)
		return -EIO;
	c->nsegments = header.e_phnum;
	return 0;
}

static void core_close(struct core *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->segments);
	free(c->last);
	hashmap_release(&c->pieces);
	arena_release(&c->arena);
}

/* What lies in no segment reads as zeros. */
static void read_piece(struct core *c, struct piece *p, u64 start)
{
	p->start = start;
	p->len = 0;
	memset(p->bytes, 0, sizeof(p->bytes));
	for (u32 i = 0; i < c->nsegments; i++) {
		const Elf64_Phdr *s = &c->segments[i];
		const u64 from = MAX(start, (u64)s->p_vaddr);
		const u64 to = MIN(start + sizeof(p->bytes), (u64)(s->p_vaddr + s->p_memsz));
		ssize_t len;

		if (s->p_type != PT_LOAD || from >= to)
			continue;
		len = pread(c->fd, p->bytes + (from - start), (size_t)(to - from),
			    (off_t)(s->p_offset + (from - s->p_vaddr)));
		if (len > 0)
			p->len = MAX(p->len, (size_t)(from - start) + (size_t)len);
	}
}

/* The code at an address, ARCH_TRACE_SITE_SIZE bytes, or NULL. */
static const u8 *core_at(struct core *c, u64 address, bool is_module)
{
	const u64 start = address & ~(WINDOW - 1);
	struct piece *p = c->last;
	bool is_new = p->start != start;

	if (is_module) {
		void **place = hashmap_put(&c->pieces, &start, sizeof(start), &is_new);

		if (is_new)
			*place = arena_new(&c->arena, struct piece);
		p = *place;
	}
	if (is_new)
		read_piece(c, p, start);
	return address - start + ARCH_TRACE_SITE_SIZE <= p->len ? p->bytes + (address - start)
								: NULL;
}

struct each {
	struct kernel *k;
	const char *glob;
	struct core core;
	int (*fn)(void *arg, const char *name, const char *module, u64 address);
	void *arg;
	u64 last; /* names for one address: the first in the file is ftrace's, too */
	u64 init_from, init_to; /* freed and used for something else */
	bool any;
};

static bool is_ftrace_call(struct kernel *k, u64 target)
{
	struct kernel_symbol symbol;

	return kernel_symbol_at(k, target, &symbol) &&
	       (str_eq(symbol.name, "ftrace_caller") || str_eq(symbol.name, "ftrace_regs_caller") ||
		str_starts(symbol.name, "ftrace_trampoline") ||
		str_starts(symbol.name, "bpf_trampoline"));
}

static int each_function(void *arg, const char *name, const char *module, u64 address)
{
	struct each *e = arg;
	enum arch_trace_site site;
	const u8 *code;
	s64 target;

	if (address == e->last || str_starts(name, "__pfx_") || str_starts(name, "__cfi_"))
		return 0;
	e->last = address;
	if (e->glob && !glob_match(e->glob, name))
		return 0;
	if (address >= e->init_from && address < e->init_to)
		return 0;
	if (module && (str_eq(module, "bpf") || str_starts(module, "__builtin")))
		return 0;
	code = core_at(&e->core, address, module != NULL);
	if (!code)
		return 0;
	site = arch_trace_site(code, &target);
	if (site == TRACE_SITE_NONE ||
	    (site == TRACE_SITE_CALL && !is_ftrace_call(e->k, address + (u64)target)))
		return 0;
	e->any = true;
	return e->fn(e->arg, name, module, address);
}

int kernel_each_entry(struct kernel *k, const char *glob,
		      int (*fn)(void *arg, const char *name, const char *module, u64 address),
		      void *arg)
{
	struct each e = {.k = k, .glob = glob, .fn = fn, .arg = arg};
	const char *root = kernel_tracefs(k);
	char path[64];
	int err, fd;

	if (!root || kernel_traceable_is_given(k))
		return -EOPNOTSUPP;
	snprintf(path, sizeof(path), "%s/available_filter_functions", root);
	fd = open(path, O_RDONLY | O_CLOEXEC); /* only who may see the list; it is not read */
	if (fd < 0)
		return -EOPNOTSUPP;
	close(fd);
	e.init_from = kernel_symbol_address(k, "_sinittext");
	e.init_to = kernel_symbol_address(k, "_einittext");
	if (!e.init_from || !e.init_to)
		return -EOPNOTSUPP;
	err = core_open(&e.core);
	if (!err)
		err = kernel_each_function(k, each_function, &e);
	core_close(&e.core);
	return e.any ? err : -EOPNOTSUPP;
}
