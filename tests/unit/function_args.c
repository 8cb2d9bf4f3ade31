/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls as the function tracers print them: what they return, and, by this kernel's BTF, what they
 * were given.
 */
#include "tap.h"
#include "trace/ftrace/function_args.h"
#include "trace/ftrace/graph_text.h"

#define F 0xffffffff81000000

static struct ksyms *symbols_of(const char *name)
{
	char *text = xasprintf("ffffffff81000000 T %s\nffffffff81000100 T next\n", name);

	return ksyms_new(text, strlen(text));
}

/* ---- arguments ---- */

static void test_args(struct function_args *f, const char *function, const char *text,
		      const char *json)
{
	static const u64 args[FUNCTION_ARGS_RECORDED] = {0xffffffff00000001, 1, 3,
							 0xfffffffb,	     5, 6};
	struct ksyms *symbols = symbols_of(function);
	struct strbuf out = STRBUF_INIT;
	struct json j = JSON_INIT(&out);
	struct btf_function found;

	if (btf_find_function(f->btf, NULL, function, &found)) {
		ok(true, "%s # SKIP not in this kernel's BTF", function);
		goto out;
	}
	function_args_print(f, symbols, F, (const u8 *)args, FUNCTION_ARGS_RECORDED, &out);
	is_str(out.data, text, function);
	strbuf_reset(&out);
	function_args_json(f, symbols, F, (const u8 *)args, FUNCTION_ARGS_RECORDED, &j);
	is_str(out.data, json, "as JSON");
	strbuf_reset(&out);
	function_args_print(f, symbols, F, (const u8 *)args, FUNCTION_ARGS_RECORDED - 1, &out);
	is_str(out.data, "()", "a record that is too short for them");
out:
	strbuf_release(&out);
	ksyms_release(symbols);
}

static void test_arguments(void)
{
	struct type_store types;
	struct function_args f = {.types = &types};
	struct strbuf out = STRBUF_INIT;
	struct ksyms *symbols = symbols_of("no_such_function");

	type_store_init(&types);
	f.btf = btf_attach(&types, NULL);
	if (btf_available(f.btf)) {
		ok(true, "arguments # SKIP the kernel has no BTF");
	} else {
		test_args(&f, "vfs_read",
			  "(file=0xffffffff00000001, buf=0x1, count=0x3, pos=0xfffffffb)",
			  "{\"file\":\"0xffffffff00000001\",\"buf\":\"0x1\",\"count\":3,"
			  "\"pos\":\"0xfffffffb\"}");
		test_args(&f, "hrtimer_nanosleep",
			  "(rqtp=-4294967295, mode=1 [HRTIMER_MODE_REL], clockid=3)",
			  "{\"rqtp\":-4294967295,\"mode\":\"HRTIMER_MODE_REL\",\"clockid\":3}");
		test_args(&f, "seq_printf", "(m=0xffffffff00000001, f=0x1, =?0x3)",
			  "{\"m\":\"0xffffffff00000001\",\"f\":\"0x1\"}");
		test_args(&f, "from_kuid", "(targ=0xffffffff00000001, kuid=(STRUCT)[0x1])",
			  "{\"targ\":\"0xffffffff00000001\",\"kuid\":[\"0x1\"]}");
		test_args(&f, "do_sock_setsockopt",
			  "(sock=0xffffffff00000001, compat=0x1, level=3, optname=4294967291, "
			  "optval=(STRUCT)[0x5:0x6], ...)",
			  "{\"sock\":\"0xffffffff00000001\",\"compat\":true,\"level\":3,"
			  "\"optname\":-5,\"optval\":[\"0x5\",\"0x6\"]}");
		f.bare_enums = true;
		test_args(&f, "hrtimer_nanosleep", "(rqtp=-4294967295, mode=1, clockid=3)",
			  "{\"rqtp\":-4294967295,\"mode\":\"HRTIMER_MODE_REL\",\"clockid\":3}");
		function_args_print(&f, symbols, F, (const u8 *)&types, FUNCTION_ARGS_RECORDED,
				    &out);
		is_str(out.data, "()", "a function that BTF does not have");
	}
	function_args_release(&f);
	btf_release(f.btf);
	type_store_release(&types);
	ksyms_release(symbols);
	strbuf_release(&out);
}

/* ---- results ---- */

#define HEAD                                                                   \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"           \
	"\tfield:unsigned long func;\toffset:8;\tsize:8;\tsigned:0;\n"
#define ENTRY                                           \
	"name: funcgraph_entry\nID: 11\nformat:\n" HEAD \
	"\tfield:int depth;\toffset:16;\tsize:4;\tsigned:1;\n"
#define ARGS "\tfield:unsigned long args[];\toffset:20;\tsize:0;\tsigned:0;\n"
#define EXIT                                                                      \
	"name: funcgraph_exit\nID: 10\nformat:\n" HEAD                            \
	"\tfield:unsigned long retval;\toffset:16;\tsize:8;\tsigned:0;\n"         \
	"\tfield:int depth;\toffset:24;\tsize:4;\tsigned:1;\n"                    \
	"\tfield:unsigned int overrun;\toffset:28;\tsize:4;\tsigned:0;\n"         \
	"\tfield:unsigned long long calltime;\toffset:32;\tsize:8;\tsigned:0;\n"  \
	"\tfield:unsigned long long rettime;\toffset:40;\tsize:8;\tsigned:0;\n\n" \
	"print fmt: \"%lx\", REC->func\n"
#define END "\nprint fmt: \"%lx\", REC->func\n"

static void test_result(const char *entry, const struct graph_text_options *o, u64 retval,
			const char *want)
{
	struct {
		u16 type;
		u8 flags, preempt;
		s32 pid;
		u64 function, retval;
		s32 depth;
		u32 overrun;
		u64 call_time, return_time;
	} record = {.type = 10, .pid = 1, .function = F, .retval = retval, .return_time = 1000};
	struct raw_event e = {.event = {.data = (const u8 *)&record, .size = sizeof(record)}};
	struct trace_text t = {.events = event_table_recorded(), .tasks = task_names_new(true)};
	struct strbuf out = STRBUF_INIT;
	struct graph_text *g;

	t.context.symbols = symbols_of("f");
	event_table_add(t.events, "ftrace", entry, strlen(entry));
	event_table_add(t.events, "ftrace", EXIT, strlen(EXIT));
	g = graph_text_new(&t, o, NULL, 1);
	graph_text_event(g, &e, &out);
	is_str(out.data, want, want);
	graph_text_release(g);
	ksyms_release(t.context.symbols);
	task_names_release(t.tasks);
	event_table_release(t.events);
	strbuf_release(&out);
}

static void test_results(void)
{
	static const struct {
		u64 retval;
		s64 error;
	} errors[] = {
		{0, 0},
		{16, 0},
		{(u64)-2, -2},
		{0xfffffffe, -2},
		{(u64)-4095, -4095},
		{(u64)-4096, 0},
		{0xfffff001, -4095},
		{0xfffff000, 0},
		{0x80000000, 0},
		{1ull << 32, 0},
		{0xffff888000000000ull, 0},
		{0x1fffffffe, 0},
	};
	const struct graph_text_options plain = {.retval = true},
					hex = {.retval = true, .retval_hex = true}, none = {0};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		ok(graph_text_error(errors[i].retval) == errors[i].error, "error of 0x%" PRIx64,
		   errors[i].retval);
	test_result(ENTRY END, &plain, 0xfffffffe, " 0)   1.000 us    |  } /* f = -2 */\n");
	test_result(ENTRY END, &plain, 0x10, " 0)   1.000 us    |  } /* f = 0x10 */\n");
	test_result(ENTRY ARGS END, &plain, (u64)-2, " 0)   1.000 us    |  } /* f ret=-2 */\n");
	test_result(ENTRY ARGS END, &hex, 0xfffffffe,
		    " 0)   1.000 us    |  } /* f ret=0xfffffffe */\n");
	test_result(ENTRY ARGS END, &none, 0x10, " 0)   1.000 us    |  } /* f */\n");
}

int main(void)
{
	test_results();
	test_arguments();
	return tap_done();
}
