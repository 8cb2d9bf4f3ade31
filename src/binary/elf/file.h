/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An executable or library as tracing needs it: symbols, program headers, build-id, separate debug
 * files, USDT notes. Bounds-checked, and read into memory of our own: foreign files never crash the
 * tool, also when they change while they are read.
 */
#ifndef PANTRACE_BINARY_ELF_FILE_H
#define PANTRACE_BINARY_ELF_FILE_H

#include "base/diag.h"

struct elf_file;

/*
 * Opens and checks the ELF header. Returns 0 or -errno (-ENOEXEC: not ELF). path is copied; it may
 * be "ARCHIVE!/ENTRY" (zip.h).
 */
int elf_file_open(const char *path, struct elf_file **ret);
/* the descriptor stays the caller's */
int elf_file_open_fd(int fd, const char *path, struct elf_file **ret);
void elf_file_close(struct elf_file *f); /* NULL is fine */
const char *elf_file_path(const struct elf_file *f);
/*
 * The file on disk that it is in, malloc'ed, and the byte of that with which it begins: 0, but for
 * entries of archives.
 */
char *elf_file_on_disk(const struct elf_file *f, u64 *ret_base);
bool elf_file_is_64(const struct elf_file *f);
bool elf_file_is_dynamic(const struct elf_file *f); /* ET_DYN */
/*
 * More places of separate debug files, separated by ':'; a relative one is also looked for beside
 * the file. The string must outlive f.
 */
void elf_file_set_debug_path(struct elf_file *f, const char *path);
/*
 * Where debuginfod's client keeps its files (debuginfod_find_debuginfo(3)): one place after the
 * other, "" where the environment does not name one, NULL after the last. free() it.
 */
char *debuginfod_folder(u32 i);
/* It is the kernel: pointers of its debug information are the kernel's. Before types are read. */
void elf_file_set_kernel(struct elf_file *f);
/* Hex build-id in the file's memory, NULL = none. */
const char *elf_file_build_id(struct elf_file *f);

struct elf_symbol {
	const char *name; /* mangled, version suffix removed; valid while the file is open */
	u64 address; /* virtual */
	u64 size;
	bool is_function, is_ifunc, is_object, is_weak, is_local;
};
/*
 * Every function symbol of .symtab, .dynsym and the separate debug file (each address+name once).
 */
int elf_file_each_symbol(struct elf_file *f, int (*fn)(void *arg, const struct elf_symbol *s),
			 void *arg);
/* The same, where those that are in several tables may come several times: it needs no memory. */
int elf_file_walk_symbols(struct elf_file *f, int (*fn)(void *arg, const struct elf_symbol *s),
			  void *arg);
/*
 * By exact (mangled or demangled) name. 0 or -ENOENT. Functions preferred over objects, global over
 * local.
 */
int elf_file_find_symbol(struct elf_file *f, const char *name, struct elf_symbol *ret);
/* Is there a symbol of exactly this name at the address, and none of this name elsewhere? */
bool elf_file_names_only(struct elf_file *f, const char *name, u64 address);
/* The name of a symbol that begins exactly there; NULL = none. Lives as long as f. */
const char *elf_file_name_at(struct elf_file *f, u64 address);
/* The function that contains a virtual address. False if none. *ret_offset = address - symbol. */
bool elf_file_symbol_at(struct elf_file *f, u64 address, struct elf_symbol *ret, u64 *ret_offset);
/* Is a virtual address in the section of this name? */
bool elf_file_is_in_section(const struct elf_file *f, const char *section, u64 address);
/* The section of its memory that has the address, and where that begins; NULL = none. */
const char *elf_file_section_at(const struct elf_file *f, u64 address, u64 *ret_begin);
/* Virtual address <-> file offset through PT_LOAD, never through sections. 0 or -ENOENT. */
int elf_file_offset(struct elf_file *f, u64 address, u64 *ret_offset);
int elf_file_address(struct elf_file *f, u64 offset, u64 *ret_address);
/*
 * The same for a file of debug information alone, which has no code, nor says where that was in
 * the program's file: AT bytes after the begin of a mapping of SIZE bytes. -ENOENT: that is not
 * the size of its one segment of code. -EINVAL: it has its code.
 */
int elf_file_mapped_address(struct elf_file *f, u64 size, u64 at, u64 *ret_address);
/*
 * What must be added to virtual addresses when the file's bytes from `offset` on are mapped
 * executable at `start`. 0 or -ENOENT.
 */
int elf_file_load_bias(struct elf_file *f, u64 start, u64 offset, u64 *ret_bias);
/* n bytes of the file, in its memory; NULL if they are not all there. */
const void *elf_file_bytes(struct elf_file *f, u64 offset, u64 n);
/*
 * Why bytes that the headers name could not be read: -ESTALE, the file was cut short or written
 * over since it was opened; 0.
 */
int elf_file_error(const struct elf_file *f);
bool elf_file_is_executable_offset(struct elf_file *f, u64 offset); /* inside a PT_LOAD with PF_X */
u64 elf_file_entry(const struct elf_file *f);
/*
 * Is it a library whose exported variable is at this virtual address? A program that was linked
 * with it may have a copy, which is then in use in place of this one (copy relocations).
 */
bool elf_file_may_be_copied(struct elf_file *f, u64 address);

/* ---- usdt.c ---- */
struct usdt_note {
	const char *provider, *name, *args; /* args: "-4@%edi 8@-16(%rbp)" */
	u64 address; /* virtual, prelink-adjusted by .stapsdt.base */
	u64 offset; /* file offset */
	u64 semaphore; /* file offset of the semaphore, 0 = none */
};
int elf_file_each_usdt(struct elf_file *f, int (*fn)(void *arg, const struct usdt_note *n),
		       void *arg);
/*
 * Parses one note's argument string for the machine of this build. Returns the number of arguments
 * (at most max) or -EINVAL. Registers are named by offset in struct pt_regs.
 */
struct location;
int usdt_parse_args(const char *args, struct location *ret, u32 max);
/*
 * The same with the symbols of global variables resolved ("4@counter(%rip)"). In both, an argument
 * that no program can read (floating point, thread-local, unknown symbol) has kind LOCATION_NONE;
 * the others are not affected.
 */
int usdt_note_args(struct elf_file *f, const struct usdt_note *n, struct location *ret, u32 max);

/* ---- library.c ---- */
/*
 * The file that a user means by a name: an absolute or relative path as it is; else in $PATH
 * (executables); else a soname or its stem ("libc", "c", "libssl.so.3") through /etc/ld.so.cache
 * and the usual directories (matching our word size). pid != 0: within /proc/PID/root and its maps
 * first. Malloc'ed path or NULL. Wildcards: binary_each_path().
 */
char *binary_resolve(const char *name, pid_t pid);
/* The same, but a file of the working directory comes before $PATH, as perf's commands have it. */
char *binary_resolve_here(const char *name, pid_t pid);
/*
 * Every ELF file whose name matches, each once: as a path where the pattern has a slash, otherwise
 * in the working directory, in $PATH, among the libraries of /etc/ld.so.cache; pid != 0: what the
 * process has mapped. Ends when fn returns non-zero, and returns that.
 */
int binary_each_path(const char *glob, pid_t pid, int (*fn)(void *arg, const char *path),
		     void *arg);

/* ---- demangle.c ---- */
/* C++ (Itanium), Rust (legacy and v0) and D names; malloc'ed or NULL if it is not mangled. */
char *demangle(const char *mangled);
/* The name in "int ns::f<int>(int)": names of templates have the return type before them. */
char *demangled_name(char *demangled);
/*
 * Calls fn for each way in which people may write a mangled name: "ns::f<int>(int)", "ns::f<int>",
 * "ns::f" ... fn's non-zero result, or 0.
 */
int mangled_each_name(const char *mangled, int (*fn)(void *arg, const char *name), void *arg);
/* Does a name or glob, as people write it, mean this one? "ns::f": also ns::f(int), ns::f<T>(T). */
bool mangled_name_matches(const char *pattern, const char *mangled);

#endif
