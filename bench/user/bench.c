// SPDX-License-Identifier: MIT
/*
 * Cost of an event, ns: the floor (clock read), ours and LTTng-UST's (when built with -DLTTNG) in
 * one process, rounds interleaved. Prints median, least and greatest of the rounds.
 *
 *   bench TAG     what is on is the caller's doing for LTTng, the program's for ours
 */
#include "../../lib/vm.h"
#include <pantrace/control.h>
#include <pantrace/pantrace.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>
#ifdef LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"
#endif

#define ROUNDS 301 /* short ones: on a busy machine some are undisturbed */

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;
static const char *volatile text = "sixteen bytes ok";

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

#define BODY(name, ...)                                   \
	static __attribute__((noinline)) void name(int n) \
	{                                                 \
		for (int i = 0; i < n; i++) {             \
			__asm__ volatile("" : "+r"(i));   \
			__VA_ARGS__;                      \
		}                                         \
	}

BODY(empty, (void)0)
BODY(clock_read, sink = __rdtsc())
BODY(off, PANTRACE(off, one, i))
BODY(on_int, PANTRACE(bench, one, i))
BODY(on_string, PANTRACE(bench, string, i, text))
BODY(on_reject, PANTRACE(bench, reject, i))
#ifdef LTTNG
BODY(lttng_off, lttng_ust_tracepoint(bench_lttng, off, i))
BODY(lttng_int, lttng_ust_tracepoint(bench_lttng, one, i))
BODY(lttng_reject, lttng_ust_tracepoint(bench_lttng, reject, i))
BODY(lttng_string, lttng_ust_tracepoint(bench_lttng, string, i, text))
#endif

static const struct row {
	const char *name;
	void (*fn)(int);
	int n, threads;
} rows[] = {
	{"empty loop", empty, 400000, 1},
	{"clock read (rdtsc)", clock_read, 60000, 1},
	{"pantrace, off", off, 400000, 1},
	{"pantrace, int", on_int, 40000, 1},
	{"pantrace, int, 2 threads", on_int, 40000, 2},
	{"pantrace, int + 16-byte string", on_string, 40000, 1},
	{"pantrace, int + string, 2 threads", on_string, 40000, 2},
	{"pantrace, int, the filter rejects", on_reject, 100000, 1},
#ifdef LTTNG
	{"lttng-ust, int, the filter rejects", lttng_reject, 40000, 1},
	{"lttng-ust, off", lttng_off, 400000, 1},
	{"lttng-ust, int", lttng_int, 20000, 1},
	{"lttng-ust, int, 2 threads", lttng_int, 20000, 2},
	{"lttng-ust, int + 16-byte string", lttng_string, 20000, 1},
	{"lttng-ust, int + string, 2 threads", lttng_string, 20000, 2},
#endif
};

#define NR_ROWS (sizeof(rows) / sizeof(*rows))

struct run {
	const struct row *row;
	int cpu;
	double ns;
	pthread_barrier_t *barrier;
};

static void *thread_run(void *arg)
{
	struct run *run = arg;
	uint64_t start;

	pin(run->cpu);
	run->row->fn(1000);
	pthread_barrier_wait(run->barrier);
	start = now();
	run->row->fn(run->row->n);
	run->ns = (double)(now() - start) / run->row->n;
	return NULL;
}

static double measure(const struct row *row)
{
	pthread_barrier_t barrier;
	struct run run[2];
	pthread_t thread[2];
	double sum = 0;

	pthread_barrier_init(&barrier, NULL, (unsigned int)row->threads);
	for (int i = 0; i < row->threads; i++) {
		run[i] = (struct run){row, i, 0, &barrier};
		pthread_create(&thread[i], NULL, thread_run, &run[i]);
	}
	for (int i = 0; i < row->threads; i++) {
		pthread_join(thread[i], NULL);
		sum += run[i].ns;
	}
	pthread_barrier_destroy(&barrier);
	return sum / row->threads;
}

static int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* args.i < 0, as `pantrace record --filter` compiles it (lib/vm.h) */
static const struct {
	struct pt_vm_image head;
	struct bpf_insn insns[6];
} negative = {
	{PT_VM_MAGIC, PT_VM_VERSION, 0, 6, 0},
	{{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 5},
	 {.code = BPF_LDX | 0x80 | BPF_W, .src_reg = 1},
	 {.code = BPF_JMP | BPF_JSGE | BPF_K, .off = 1},
	 {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 5, .imm = 1},
	 {.code = BPF_ALU64 | BPF_MOV | BPF_X, .src_reg = 5},
	 {.code = BPF_JMP | BPF_EXIT}},
};

int main(void)
{
	const struct pantrace_options options = {.size = sizeof(options),
						 .mode = PANTRACE_OVERWRITE,
						 .sub_size = 512 << 10,
						 .nr_subs = 4};
	static double ns[NR_ROWS][ROUNDS];

	if (pantrace_start(&options) || pantrace_enable("bench:*") < 0 ||
	    pantrace_filter("bench:reject", &negative, sizeof(negative)))
		return 1;
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < NR_ROWS; i++)
			ns[i][round] = measure(&rows[i]);
	printf("%-38s %8s %8s %8s\n", "ns an event", "median", "least", "most");
	for (size_t i = 0; i < NR_ROWS; i++) {
		qsort(ns[i], ROUNDS, sizeof(double), ascending);
		printf("%-38s %8.2f %8.2f %8.2f\n", rows[i].name, ns[i][ROUNDS / 2], ns[i][0],
		       ns[i][ROUNDS - 1]);
	}
	return 0;
}
