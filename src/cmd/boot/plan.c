/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What to trace at boot, checked against the running kernel. */
#include "cmd/boot/boot.h"
#include "cmd/hist/hist.h"
#include "kernel/features/traceable.h"
#include "kernel/symbols/ksyms.h"
#include "kernel/tracefs/buffer_size.h"
#include "kernel/tracefs/event_name.h"
#include "kernel/tracefs/tracefs.h"
#include "probe/definition/translate.h"
#include "record/probes.h"

#define BUFFER_DEFAULT_KB (4u << 10) /* a boot is short, and memory is scarce then */

/* ---- events ---- */

int boot_claim_events(struct record_request *r, struct kernel *k, struct diag *d)
{
	for (size_t i = 0; i < r->events.len; i++) {
		struct record_event *const e = &r->events.items[i];

		e->source = &record_kernel;
		if (record_probe_is(e->text)) {
			diag_error(d, NO_SPAN, "-e '%s': a probe at boot is --kprobe", e->text);
			diag_code(d, EXIT_USAGE);
			return -EINVAL;
		}
		if (!record_kernel.claims(k, r, e->text))
			return event_name_refuse(k, d, NO_SPAN, NULL, e->text);
	}
	return 0;
}

/*
 * A module's events come after the command line was read. Whose an event is says the function that
 * calls its probes; those of system calls have none, and are the kernel's own.
 */
static int check_is_built_in(struct boot_plan *p, const struct kernel_event *e)
{
	struct ksyms *const symbols = kernel_ksyms(p->kernel);
	char *const function = xasprintf("__traceiter_%s", e->name);
	struct kernel_symbol found;
	int err = 0;

	if (ksyms_at(symbols, ksyms_address(symbols, function), KSYM_FIRST, &found) &&
	    found.module && str_eq(found.name, function)) {
		diag_error(p->diag, NO_SPAN,
			   "%s:%s is an event of the module %s, which comes after the command line "
			   "was read",
			   e->system, e->name, found.module);
		diag_hint(p->diag, "a recording can begin later; -x leaves the event out");
		err = -EOPNOTSUPP;
	}
	free(function);
	return err;
}

static int add_condition(struct boot_plan *p, const struct kernel_event *e)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	const int err = kernel_event_condition(e, p->kernel, p->diag, &c);

	vector_push(&p->conditions, c.text.len ? arena_strdup(&p->diag->arena, c.text.data) : NULL);
	tracefs_command_release(&c);
	return err;
}

static int find_events(struct boot_plan *p)
{
	struct record_run run = {
		.request = &p->options->request, .diag = p->diag, .kernel = p->kernel};
	int err = kernel_events_find(&p->events, &run);

	for (size_t i = 0; i < p->events.all.len && !err; i++) {
		const struct kernel_event *const e = &p->events.all.items[i];

		err = check_is_built_in(p, e);
		if (!err && e->asked)
			err = add_condition(p, e);
		else
			vector_push(&p->conditions, NULL);
		for (size_t t = 0; !err && e->asked && t < e->asked->triggers.len; t++)
			vector_push(&p->triggers,
				    (struct boot_trigger){e->system, e->name,
							  e->asked->triggers.items[t]});
	}
	return err;
}

static int count_event(void *arg, const char *system, const char *event)
{
	++*(size_t *)arg;
	return 0;
}

bool boot_plan_has_system(const struct boot_plan *p, const char *system)
{
	size_t there = 0, asked = 0;

	tracefs_each_event(p->kernel, system, "*", count_event, &there);
	for (size_t i = 0; i < p->events.all.len; i++)
		asked += p->events.all.items[i].asked &&
			 str_eq(p->events.all.items[i].system, system);
	return asked == there;
}

/* ---- probes ---- */

/* "FUNCTION+OFFSET ...": of several functions of one name the kernel would choose one, or none. */
static int check_place(struct boot_plan *p, const char *definition)
{
	char *const name = xstrndup(definition, strcspn(definition, "+ "));
	const bool is_shared = ksyms_count(kernel_ksyms(p->kernel), name) > 1;
	int err = 0;

	if (is_shared || strchr(name, ':')) {
		diag_error(p->diag, NO_SPAN,
			   is_shared ? "there are several functions '%s': at boot a probe is told "
				       "by its name alone"
				     : "'%s': modules come after the command line was read",
			   name);
		diag_code(p->diag, EXIT_UNSUPPORTED);
		err = -EOPNOTSUPP;
	}
	free(name);
	return err;
}

static int add_probe(struct boot_plan *p, struct translator *t, const char *text)
{
	struct translation result = {0};
	int err = translate(t, text, &result);

	for (size_t i = 0; i < result.places.len && !err; i++) {
		const struct translated_place *const place = &result.places.items[i];

		err = check_place(p, place->command.text.data);
		vector_push(
			&p->probes,
			(struct boot_probe){.is_return = result.is_return,
					    .event = arena_strdup(&p->diag->arena, place->event),
					    .definition = arena_strdup(&p->diag->arena,
								       place->command.text.data)});
	}
	translation_release(&result);
	return err;
}

static int find_probes(struct boot_plan *p)
{
	const struct string_list *const list = &p->options->probes;
	const struct translate_config config = {.is_live = true, .by_symbol = true};
	struct translator *t = NULL;
	int err = 0;

	if (list->count) {
		t = translator_new(p->kernel, p->diag, &config);
		err = t ? 0 : -EINVAL;
	}
	for (u32 i = 0; i < list->count && !err; i++)
		err = add_probe(p, t, list->items[i]);
	translator_release(t);
	return err;
}

/* ---- options and functions ---- */

static int check_options(struct boot_plan *p)
{
	const struct string_list *const list = &p->options->request.trace_options;
	struct instance *top = NULL;
	int err = list->count ? instance_open_standing(p->kernel, p->diag, "", &top) : 0;

	for (u32 i = 0; i < list->count && !err; i++) {
		const char *const word = list->items[i];

		if (instance_has_option(top, word) ||
		    (str_starts(word, "no") && instance_has_option(top, word + 2)))
			continue;
		diag_error(p->diag, NO_SPAN, "-O %s: the kernel has no such option", word);
		diag_code(p->diag, EXIT_UNSUPPORTED);
		err = -EOPNOTSUPP;
	}
	instance_close(top);
	return err;
}

static int is_for_boot(void *arg, const struct kernel_function *f, enum traceable_answer answer)
{
	return answer != TRACEABLE_NOT && !f->module;
}

/* If none of the names were a function, the kernel would trace all functions. */
static int check_functions(struct boot_plan *p)
{
	const struct record_request *const r = &p->options->request;
	const struct string_list *const lists[] = {&r->functions, &r->not_functions,
						   &r->graph_functions};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		for (u32 k = 0; k < lists[i]->count; k++) {
			const char *const name = lists[i]->items[k];

			if (kernel_each_function(p->kernel, name, is_for_boot, NULL))
				continue;
			diag_error(p->diag, NO_SPAN,
				   "the kernel has no function '%s' that can be traced at boot",
				   name);
			return -ENOENT;
		}
	return 0;
}

/* ---- histograms ---- */

static int add_histogram(struct boot_plan *p, struct hist_run *run, const char *text)
{
	struct tracefs_command c = TRACEFS_COMMAND_INIT;
	const char *why;
	struct hist_spec s;
	int err = hist_spec_parse(run->arena, p->diag, text, true, &s);

	if (!err)
		err = hist_resolve_spec(run, &s);
	if (err)
		return err;
	vector_push(&run->specs, s);
	if (!hist_kernel_can(run, &why) || s.name) {
		diag_error(p->diag, NO_SPAN, "--hist: the kernel's histograms cannot do this: %s",
			   why ?: "name=");
		diag_code(p->diag, EXIT_UNSUPPORTED);
		return -EOPNOTSUPP;
	}
	hist_trigger(&s, &c);
	if (s.condition) {
		tracefs_command_add(&c, " if ");
		err = predicate_kernel(s.condition, NULL, p->diag, &c);
	}
	if (!err)
		vector_push(&p->triggers,
			    (struct boot_trigger){s.system, s.event,
						  arena_strdup(run->arena, c.text.data)});
	tracefs_command_release(&c);
	return err;
}

static int find_histograms(struct boot_plan *p)
{
	const struct string_list *const list = &p->options->histograms;
	const struct hist_options none = {0};
	struct type_store types;
	struct hist_run run = {.o = &none,
			       .arena = &p->diag->arena,
			       .diag = p->diag,
			       .kernel = p->kernel,
			       .types = &types};
	int err = 0;

	type_store_init(&types);
	for (u32 i = 0; i < list->count && !err; i++)
		err = add_histogram(p, &run, list->items[i]);
	vector_free(&run.specs);
	type_store_release(&types);
	return err;
}

/* ---- triggers ---- */

/* Checked by the running kernel, in a buffer that traces nothing. */
static int check_triggers(struct boot_plan *p)
{
	struct instance *in = NULL;
	int err = p->triggers.len ? instance_open(p->kernel, p->diag, INSTANCE_ANY_CLOCK, &in) : 0;

	for (size_t i = 0; i < p->triggers.len && !err; i++) {
		const struct boot_trigger *const t = &p->triggers.items[i];
		struct tracefs_command c = TRACEFS_COMMAND_INIT;

		tracefs_command_from(&c, p->diag, "trigger", t->text);
		err = instance_add_trigger(in, t->system, t->event, &c);
		tracefs_command_release(&c);
	}
	instance_close(in);
	return err;
}

/* ---- where to ---- */

static int refuse(struct boot_plan *p, enum exit_code code, const char *what)
{
	diag_error(p->diag, NO_SPAN, "%s", what);
	diag_code(p->diag, code);
	return code == EXIT_USAGE ? -EINVAL : -EOPNOTSUPP;
}

static bool is_instance_name(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_-")];
}

/* Tracers, probes and triggers on the command line exist for the top buffer only. */
static int choose_buffer(struct boot_plan *p)
{
	const struct boot_options *const o = p->options;
	const char *const tracer = o->request.tracer;
	const bool has_instances =
		o->bootconfig || boot_parameter_ask(p->kernel, BOOT_INSTANCE) != BOOT_IS_UNKNOWN;
	const bool wants_top = !o->bootconfig && (tracer || p->probes.len || p->triggers.len);

	if (o->name && !is_instance_name(o->name))
		return refuse(p, EXIT_USAGE, "-B takes a name of letters, digits, '_' and '-'");
	if ((o->name || o->persistent) && o->top)
		return refuse(p, EXIT_USAGE,
			      "--top is the kernel's own buffer: it cannot be an "
			      "instance (-B, --persistent), too");
	if ((o->name || o->persistent) && wants_top)
		return refuse(p, EXIT_UNSUPPORTED,
			      "the command line has tracers (-p), probes (-k) and triggers (-R, "
			      "--hist) for the kernel's own buffer only, not for an instance (-B, "
			      "--persistent)");
	if ((o->name || o->persistent) && !has_instances)
		return refuse(p, EXIT_UNSUPPORTED,
			      "this kernel makes no instances at boot (trace_instance=, since "
			      "Linux 6.3)");
	p->instance = o->top || wants_top || !has_instances ? "" : o->name ?: BOOT_INSTANCE_DEFAULT;
	return 0;
}

static int choose_size(struct boot_plan *p)
{
	const struct boot_options *const o = p->options;
	const struct record_request *const r = &o->request;
	int err = record_buffer_kb(r, KERNEL_BUFFER_MOST_KB, &p->buffer_kb);

	if (err)
		return refuse(p, EXIT_USAGE,
			      "-b takes the KB of each CPU's buffer, or a size, as "
			      "64M");
	if (o->persistent && r->buffer)
		return refuse(p, EXIT_USAGE,
			      "--persistent is the size of all CPUs' buffers "
			      "together: -b cannot be given, too");
	if (o->persistent && o->bootconfig)
		return refuse(p, EXIT_UNSUPPORTED,
			      "a boot configuration has no persistent "
			      "memory: that is on the command line");
	if (o->persistent)
		return parse_value(OPTION_SIZE, o->persistent, &p->persistent_bytes)
			       ? refuse(p, EXIT_USAGE, "--persistent takes a size, as 16M")
			       : 0;
	if (p->buffer_kb)
		return buffer_check(p->kernel, p->diag, p->buffer_kb);
	p->buffer_kb = MIN(buffer_default_kb(p->kernel), (u64)BUFFER_DEFAULT_KB);
	return 0;
}

static int check_tracer(struct boot_plan *p)
{
	const char *const tracer = p->options->request.tracer;

	return tracer ? kernel_tracer_check(p->kernel, p->diag, tracer) : 0;
}

int boot_plan_make(struct boot_plan *p, const struct boot_options *o, struct kernel *k,
		   struct diag *d)
{
	static int (*const steps[])(struct boot_plan * p) = {
		find_events,	 find_probes,	check_tracer,  find_histograms, check_triggers,
		check_functions, check_options, choose_buffer, choose_size,
	};
	int err = 0;

	*p = (struct boot_plan){.options = o, .kernel = k, .diag = d};
	for (size_t i = 0; i < ARRAY_SIZE(steps) && !err; i++)
		err = steps[i](p);
	return err;
}

void boot_plan_release(struct boot_plan *p)
{
	kernel_events_release(&p->events);
	vector_free(&p->conditions);
	vector_free(&p->probes);
	vector_free(&p->triggers);
}
