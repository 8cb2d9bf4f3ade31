/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads what the back end made into this kernel and runs it. Programs put results into the array
 * map RESULTS. */
#ifndef PANTRACE_TESTS_EMIT_RUN_H
#define PANTRACE_TESTS_EMIT_RUN_H

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lang/bpf/emit.h"

enum { RESULTS, HASH, SCRATCH, NMAPS };
enum { NRESULTS = 512, SCRATCH_SIZE = 32768 };

struct run {
	int maps[NMAPS];
	volatile u64 *results; /* of map RESULTS */
};

static int run_open(struct run *r)
{
	LIBBPF_OPTS(bpf_map_create_opts, mmapable, .map_flags = BPF_F_MMAPABLE);
	void *p;

	r->maps[RESULTS] =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "results", 4, NRESULTS * 8, 1, &mmapable);
	if (r->maps[RESULTS] < 0)
		return -errno;
	p = mmap(NULL, NRESULTS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, r->maps[RESULTS], 0);
	if (p == MAP_FAILED)
		return -errno;
	r->results = p;
	r->maps[HASH] = bpf_map_create(BPF_MAP_TYPE_HASH, "hash", 8, 8, 1024, NULL);
	r->maps[SCRATCH] =
		bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "scratch", 4, SCRATCH_SIZE, 2, NULL);
	return 0;
}

static void run_close(struct run *r)
{
	for (int i = 0; i < NMAPS; i++)
		close(r->maps[i]);
	munmap((void *)r->results, NRESULTS * 8);
}

static struct ir_program run_program(struct arena *a)
{
	return (struct ir_program){
		.arena = a, .name = "test prog", .scratch_map = SCRATCH, .scratch_index = 1};
}

static void run_print(const char *text)
{
	for (const char *end; *text; text = end) {
		end = strchrnul(text, '\n');
		printf("# %.*s\n", (int)(end - text), text);
		end += *end == '\n';
	}
}

/* Returns a program descriptor, or -errno after printing why. */
static int run_load(const struct run *r, const struct ir_program *p, struct bpf_code *code)
{
	static char log[1 << 20];
	LIBBPF_OPTS(bpf_btf_load_opts, btf_opts, .log_buf = log, .log_size = sizeof(log),
		    .log_level = 1);
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .func_info_rec_size = sizeof(struct bpf_func_info),
		    .line_info_rec_size = sizeof(struct bpf_line_info));
	int fd;

	for (u32 i = 0; i < code->nrelocations; i++)
		code->insns[code->relocations[i].insn].imm = r->maps[code->relocations[i].map];
	log[0] = '\0';
	opts.prog_btf_fd = (u32)bpf_btf_load(code->btf, code->btf_size, &btf_opts);
	if ((int)opts.prog_btf_fd < 0) {
		printf("# BTF: %s\n", strerror(errno));
		run_print(log);
		return -errno;
	}
	opts.func_info = code->func_info;
	opts.func_info_cnt = code->nfunc_info;
	opts.line_info = code->line_info;
	opts.line_info_cnt = code->nline_info;
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "test", "GPL", code->insns, code->count,
			   &opts);
	if (fd < 0) {
		struct strbuf dump = STRBUF_INIT;

		printf("# load: %s\n", strerror(errno));
		opts.log_buf = log;
		opts.log_size = sizeof(log);
		opts.log_level = 1;
		fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "test", "GPL", code->insns,
				   code->count, &opts);
		run_print(strlen(log) > 6000 ? log + strlen(log) - 6000 : log);
		if (code->count < 400) {
			emit_dump(&dump, p, code);
			run_print(dump.data);
		}
		strbuf_release(&dump);
	}
	close((int)opts.prog_btf_fd);
	return fd;
}

static const u64 run_args[8] = {11, 22, 33, 0x8877665544332211, (u64)-5, 66, 77, 88};

/* Compiles, loads and runs. Returns the program's return value, or a negative number after printing
 * why. */
static s64 run_ir(const struct run *r, struct ir_program *p, const struct emit_options *options,
		  struct bpf_code *code)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = run_args, .ctx_size_in = sizeof(run_args));
	struct diag diag = DIAG_INIT;
	struct strbuf text = STRBUF_INIT;
	const char *source = "kprobe:f\n{ @x = count(); }\n";
	int fd, ret;

	diag_add_source(&diag, "script.bt", source, strlen(source));
	if (getenv("EMIT_DUMP")) {
		ir_dump(&text, p);
		run_print(text.data);
	}
	ir_assign_slots(p);
	ret = emit_program(p, &diag, &diag, options, code);
	if (ret < 0) {
		diag_print(&diag, stdout, false);
		strbuf_release(&text);
		diag_release(&diag);
		return ret;
	}
	if (getenv("EMIT_DUMP")) {
		strbuf_reset(&text);
		emit_dump(&text, p, code);
		run_print(text.data);
	}
	strbuf_release(&text);
	diag_release(&diag);
	fd = run_load(r, p, code);
	if (fd < 0)
		return fd;
	ret = bpf_prog_test_run_opts(fd, &opts);
	close(fd);
	if (ret < 0) {
		printf("# run: %s\n", strerror(-ret));
		return ret;
	}
	return opts.retval;
}

/* results[index] = value */
UNUSED static void emit_result(struct ir_function *f, u32 index, ir_reg value)
{
	const ir_reg base = ir_reg_new(f);

	ir_add(f, (struct ir_insn){.op = IR_MAP_VALUE, .dst = base, .imm = RESULTS});
	ir_store(f, base, index * 8, 8, value);
}

#endif
