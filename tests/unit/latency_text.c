/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text of a latency trace comes out of the trace.dat that it was written to, in both versions,
 * and trace-cmd prints it.
 */
#include <stdlib.h>
#include <unistd.h>

#include "scratch.h"
#include "tap.h"
#include "trace/dat/trace_dat.h"
#include "trace/dat/writer.h"

static char directory[] = "/tmp/latency-text-XXXXXX";

static const char text[] =
	"# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 6.1.0\n"
	"# latency: 16 us, #2/2, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n"
	"#    | task: swapper/0-0 (uid:0 nice:0 policy:0 rt_prio:0)\n"
	"  <idle>-0       0d.s2    0us+: _raw_spin_lock_irq <-run_timer_softirq\n";

static void write_and_read(u32 version, bool compress, const char *name)
{
	static const u32 cpus[] = {0, 2};
	const struct dat_writer_options o = {.version = version,
					     .compress = compress,
					     .page_size = 4096,
					     .cpus = cpus,
					     .cpu_count = 2};
	struct dat_contents c;
	struct strbuf all = STRBUF_INIT;
	struct diag d = DIAG_INIT;
	struct trace_dat *t = NULL;
	char path[64];
	u64 size = 0;

	snprintf(path, sizeof(path), "%s/%s.dat", directory, name);
	strbuf_addstr(&all, text);
	dat_contents_init(&c);
	c.clock = "mono";
	c.clocks = "[mono]";
	c.uname = "Linux made 6.1.0 x86_64";
	c.version = "made";
	dat_contents_usual_headers(&c, 4096);
	dat_contents_symbols(&c, "", 0);
	dat_contents_strings(&c, "", 0);
	dat_contents_tasks(&c, "", 0);
	dat_contents_formats(&c, NULL, 0);
	ok(!dat_text_write(path, &o, &c, &all, &d, &size), "%s: written", name);
	ok(!trace_dat_open(path, &d, &t) && trace_dat_latency(t) &&
		   str_eq(trace_dat_latency(t), text),
	   "%s: read", name);
	ok(t && trace_dat_version(t) == version && !trace_dat_buffers(t), "%s: no buffer", name);
	trace_dat_close(t);
	dat_contents_release(&c);
	strbuf_release(&all);
	diag_release(&d);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	write_and_read(6, false, "6");
	write_and_read(7, false, "7");
	write_and_read(7, true, "zstd");
	/* of version 6 trace-cmd 3.1 forgets the first bytes */
	for (u32 i = 0; i < 2 && run_in(directory, "command -v trace-cmd >/dev/null"); i++)
		ok(run_in(directory,
			  "trace-cmd report -i %s.dat >lines; grep -q '^# tracer: irqsoff' lines &&"
			  " grep -qx '# irqsoff latency trace v1.1.5 on 6.1.0' lines &&"
			  " grep -qx '  <idle>-0 .*softirq' lines",
			  i ? "zstd" : "7"),
		   "trace-cmd prints it, %s", i ? "zstd" : "plain");
	run_in("/", "rm -r %s", directory);
	return tap_done();
}
