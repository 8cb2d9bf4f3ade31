/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arguments of traced functions (the options func-args and funcgraph-args, 6.15), named and typed
 * by BTF as print_function_args() of kernel/trace/trace_output.c does: "(file=0xffff...,
 * count=0x10)".
 */
#ifndef PANTRACE_TRACE_FTRACE_FUNCTION_ARGS_H
#define PANTRACE_TRACE_FTRACE_FUNCTION_ARGS_H

#include "base/json.h"
#include "trace/ftrace/symbols.h"
#include "types/btf.h"

/*
 * Registers that the kernel records (FTRACE_REGS_MAX_ARGS on x86_64); a record without arguments
 * has none.
 */
#define FUNCTION_ARGS_RECORDED 6

struct function_args {
	struct btf_source *btf; /* NULL: "()" */
	struct type_store *types; /* that the types of btf are of */
	/* without " [NAME]" after the number of an enumerator, as 6.15 to 6.18 print them */
	bool bare_enums;
	struct hashmap functions; /* name -> type of the function, &none = unknown */
};

/* args: count unsigned longs, not aligned; fewer than the kernel records (6): "()". */
void function_args_print(struct function_args *f, struct ksyms *symbols, u64 function,
			 const u8 *args, size_t count, struct strbuf *out);
/*
 * The same as an object: {"file": "0xffff...", "count": 16}. Numbers are as wide as their types;
 * enumerators by name.
 */
void function_args_json(struct function_args *f, struct ksyms *symbols, u64 function,
			const u8 *args, size_t count, struct json *j);
void function_args_release(struct function_args *f);

#endif
