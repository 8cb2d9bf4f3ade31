/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/probe_event.h"

#include <ctype.h>
#include <stdio.h>

#include "base/file.h"
#include "binary/debug/variable.h"
#include "kernel/symbols/ksyms.h"
#include "kernel/tracefs/lasting_event.h"

enum { MAX_NESTING = 16, WORD = 8, LIST_MAX = 64 << 20 };

/* ---- where a value is: documentation of the kernel, trace/kprobetrace and uprobetracer ---- */

struct fetch {
	struct probe_env *env;
	bool is_user, is_return;
	struct access_step steps[ACCESS_MAX_STEPS];
	u32 count;
	bool is_place; /* the steps lead to the address of the value */
	const char *reason; /* not NULL: programs cannot read it */
};

static void refuse(struct fetch *f, const char *reason)
{
	if (!f->reason)
		f->reason = reason;
}

static void add_step(struct fetch *f, struct access_step step)
{
	if (f->count == ACCESS_MAX_STEPS)
		refuse(f, "its definition is too complicated");
	else
		f->steps[f->count++] = step;
}

static void add_register(struct fetch *f, u16 offset)
{
	add_step(f, (struct access_step){.op = ACCESS_REGISTER, .size = WORD, .offset = offset});
}

static void add_number(struct fetch *f, u8 op, s64 value)
{
	add_step(f, (struct access_step){.op = op, .value = value});
}

/* The address becomes what is there, as wide as a pointer. */
static void add_pointer(struct fetch *f)
{
	if (f->is_place)
		add_step(f, (struct access_step){.op = ACCESS_DEREF, .size = WORD});
	f->is_place = false;
}

static void parse_register(struct fetch *f, const char *name)
{
	const struct arch_register *r = arch_register_find(name);

	if (r && r->size == WORD && !r->shift)
		add_register(f, r->offset);
	else
		refuse(f, "the kernel's programs do not see that register");
}

/* "stack", "stack3", "retval", "arg2" */
static void parse_special(struct fetch *f, const char *name)
{
	u32 number;
	char end;

	if (str_eq(name, "stack")) {
		add_register(f, arch_sp_offset());
	} else if (sscanf(name, "stack%u%c", &number, &end) == 1) {
		add_register(f, arch_sp_offset());
		add_number(f, ACCESS_ADD, (s64)number * WORD);
		f->is_place = true;
		add_pointer(f);
	} else if (str_eq(name, "retval") && f->is_return) {
		add_register(f, arch_retval_offset());
	} else if (sscanf(name, "arg%u%c", &number, &end) == 1 && number && !f->is_return &&
		   arch_argument_offset(number - 1) >= 0) {
		add_register(f, (u16)arch_argument_offset(number - 1));
	} else if (str_eq(name, "comm")) {
		refuse(f, "it is the name of the thread: comm");
	} else {
		refuse(f, "no program knows that value");
	}
}

/* "@0xffffffff81000000", "@jiffies+8", of programs "@+0x4010" */
static void parse_memory(struct fetch *f, const char *word)
{
	const size_t len = strcspn(word, "+-");
	char *symbol = xstrndup(word, len), *end;
	u64 number;
	s64 add = 0;

	f->is_place = true;
	if (*word == '+' && f->is_user && !f->is_return && probe_parse_number(word + 1, &number)) {
		add_number(f, ACCESS_STATIC, (s64)number);
	} else if (probe_parse_number(word, &number)) {
		add_number(f, ACCESS_CONSTANT, (s64)number);
	} else {
		number = f->is_user ? 0 : kernel_symbol_address(f->env->kernel, symbol);
		if (word[len])
			add = strtoll(word + len, &end, 0);
		if (number && !(word[len] && *end))
			add_number(f, ACCESS_CONSTANT, (s64)(number + (u64)add));
		else
			refuse(f, "its address is not known");
	}
	free(symbol);
}

static void parse_value(struct fetch *f, char *word, u32 nesting);

/* "+8(%si)", "-0x10(+0(%di))", "+u0(%si)" */
static void parse_dereference(struct fetch *f, char *word, u32 nesting)
{
	const bool is_other = word[1] == 'u' && !f->is_user;
	char *const digits = word + 1 + (word[1] == 'u'), *open, *close;
	long long offset;

	offset = strtoll(digits, &open, 0);
	close = strrchr(open, ')');
	if (open == digits || *open != '(' || !close || close[1]) {
		refuse(f, "its definition is not understood");
		return;
	}
	*close = '\0';
	parse_value(f, open + 1, nesting + 1);
	add_pointer(f);
	add_number(f, ACCESS_ADD, *word == '-' ? -offset : offset);
	f->is_place = true;
	if (is_other)
		refuse(f, "it is in the memory of a program, while the event is the kernel's");
}

/* Cuts the word up. */
static void parse_value(struct fetch *f, char *word, u32 nesting)
{
	u64 number;

	if (nesting > MAX_NESTING)
		refuse(f, "its definition is too complicated");
	else if (*word == '%')
		parse_register(f, word + 1);
	else if (*word == '$')
		parse_special(f, word + 1);
	else if (*word == '@')
		parse_memory(f, word + 1);
	else if (*word == '+' || *word == '-')
		parse_dereference(f, word, nesting);
	else if (*word == '\\' && word[1] == '-' && probe_parse_number(word + 2, &number))
		add_number(f, ACCESS_CONSTANT, (s64)(0 - number));
	else if (*word == '\\' && probe_parse_number(word + 1, &number))
		add_number(f, ACCESS_CONSTANT, (s64)number);
	else
		refuse(f, "its definition is not understood");
}

/* ---- what it is ---- */

struct field_type {
	const struct type *type;
	bool is_text, is_user_text;
	u32 bits, shift; /* of a bit-field; bits 0 = it is none */
	u32 count; /* of an array; 0 = it is none */
};

/* "u8" to "x64", "char", "symbol"; NULL = none of these. */
static const struct type *number_type(const char *name)
{
	char letter, end;
	u32 bits;

	if (str_eq(name, "char"))
		return type_char();
	if (str_eq(name, "symbol") || str_eq(name, "symstr"))
		return type_int(WORD, false);
	if (sscanf(name, "%c%u%c", &letter, &bits, &end) != 2 || !strchr("usx", letter) ||
	    (bits != 8 && bits != 16 && bits != 32 && bits != 64))
		return NULL;
	return type_int(bits / 8, letter == 's');
}

static bool parse_type(char *name, struct field_type *ret)
{
	char *const bracket = strchr(name, '[');
	u32 container;
	char end;

	*ret = (struct field_type){0};
	if (bracket) {
		if (sscanf(bracket, "[%u%c", &ret->count, &end) != 2 || end != ']' || !ret->count)
			return false;
		*bracket = '\0';
	}
	if (str_eq(name, "string") || str_eq(name, "ustring")) {
		ret->is_text = true;
		ret->is_user_text = *name == 'u';
		return true;
	}
	if (sscanf(name, "b%u@%u/%u%c", &ret->bits, &ret->shift, &container, &end) == 3) {
		ret->type = type_int(container / 8, false);
		return (container == 8 || container == 16 || container == 32 || container == 64) &&
		       ret->bits && ret->bits <= container && ret->shift <= container - ret->bits;
	}
	ret->type = number_type(name);
	return ret->type != NULL;
}

/* The bits of a number, which stands in memory or in a register. */
static void add_bits(struct fetch *f, const struct field_type *is)
{
	if (f->is_place)
		add_step(f, (struct access_step){.op = ACCESS_DEREF, .size = (u8)is->type->size});
	f->is_place = false;
	add_number(f, ACCESS_CONSTANT, is->shift);
	add_number(f, ACCESS_SHIFT_RIGHT, 0);
	if (is->bits == 64)
		return;
	add_number(f, ACCESS_CONSTANT, (s64)((1ull << is->bits) - 1));
	add_number(f, ACCESS_AND, 0);
}

/* A text is its address; an array has to be in memory. */
static const struct type *whole_type(struct fetch *f, const struct field_type *is)
{
	struct type_store *const types = f->env->types;

	if (is->is_text) {
		if (is->count || (!f->is_place && !f->reason))
			refuse(f, "it is no single text in memory");
		f->is_place = false;
		return type_pointer(types, type_char(),
				    f->is_user || is->is_user_text ? SPACE_USER : SPACE_KERNEL);
	}
	if (is->bits)
		add_bits(f, is);
	if (is->count && (is->bits || !f->is_place))
		refuse(f, "it is an array that is not in memory");
	return is->count ? type_array(types, is->type, is->count) : is->type;
}

struct location probe_event_field(struct probe_env *env, const char *argument, bool is_user,
				  bool is_return, u64 place, const char **ret_name,
				  const struct type **ret_type)
{
	struct fetch f = {.env = env, .is_user = is_user, .is_return = is_return};
	char *text = arena_strdup(env->arena, argument), *value = strchr(text, '='), *colon;
	struct field_type is = {.type = type_int(WORD, false)};
	struct access a = {0};

	*ret_name = value ? text : "";
	if (value)
		*value++ = '\0';
	else
		value = text;
	colon = strrchr(value, ':');
	if (colon)
		*colon++ = '\0';
	if (colon && !parse_type(colon, &is)) {
		is = (struct field_type){.type = type_int(WORD, false)};
		refuse(&f, "its type is not known");
	}
	parse_value(&f, value, 0);
	*ret_type = whole_type(&f, &is);
	a.result = f.reason ? ACCESS_NONE : f.is_place ? ACCESS_PLACE : ACCESS_VALUE;
	a.reason = f.reason;
	a.count = f.count;
	a.steps = arena_memdup(env->arena, f.steps, f.count * sizeof(*f.steps));
	return debug_location(env->arena, &a, *ret_type, place);
}

/* ---- which events are such ---- */

struct search {
	struct probe_env *env;
	const struct probe_target *target;
	struct lasting_event found; /* the first line of it; strings in the arena */
	u64 place;
	u32 lines;
	bool is_alike; /* the fields of all its places are found alike */
};

static u64 place_in_file(const struct lasting_event *e)
{
	const char *colon = e->is_user ? strrchr(e->place, ':') : NULL;

	return colon ? strtoull(colon + 1, NULL, 16) : 0;
}

static int find(void *arg, const struct lasting_event *e)
{
	struct search *s = arg;
	struct arena *a = s->env->arena;

	if (!str_eq(e->group, s->target->module) || !str_eq(e->name, s->target->function))
		return 0;
	if (s->lines++) {
		s->is_alike &= str_eq(e->arguments, s->found.arguments) &&
			       (!strstr(e->arguments, "@+") || place_in_file(e) == s->place);
		return 0;
	}
	s->found = *e;
	s->found.group = s->target->module;
	s->found.name = s->target->function;
	s->found.place = arena_strdup(a, e->place);
	s->found.arguments = arena_strdup(a, e->arguments);
	s->place = place_in_file(e);
	s->is_alike = true;
	return 0;
}

static void describe_fields(struct search *s, struct probe_context *ret)
{
	static const struct access differs = {
		.reason = "the event has several places, which have it in different ones: a script "
			  "can name them itself, as uprobe or kprobe"};
	struct type_store *types = s->env->types;
	char *text = arena_strdup(&types->arena, s->found.arguments), *word, *rest;
	VECTOR(struct type_member) members = {0};
	VECTOR(struct location) locations = {0};
	struct type *args;

	for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		struct type_member m = {0};
		struct location l =
			probe_event_field(s->env, word, s->found.is_user, s->found.is_return,
					  s->place, &m.name, &m.type);

		if (!s->is_alike)
			l = (struct location){.kind = LOCATION_NONE, .access = &differs};
		vector_push(&members, m);
		vector_push(&locations, l);
	}
	if (!members.len)
		return;
	args = type_new(types, TYPE_STRUCT);
	args->name = arena_printf(&types->arena, "%s:%s", s->target->module, s->target->function);
	args->members =
		arena_memdup(&types->arena, members.items, members.len * sizeof(*members.items));
	args->count = (u32)members.len;
	args->is_complete = true;
	ret->args = args;
	ret->locations = arena_memdup(&types->arena, locations.items,
				      locations.len * sizeof(*locations.items));
	vector_free(&members);
	vector_free(&locations);
}

/* Is it an event that is made at run time of others: "e:group/name sched.sched_switch ..."? */
static bool is_made_of_events(struct probe_env *env, const struct probe_target *t)
{
	char *path = xasprintf("%s/dynamic_events", kernel_tracefs(env->kernel)), *text, *at;
	char *wanted = xasprintf(":%s/%s ", t->module, t->function);
	bool yes = str_eq(t->module, "synthetic");

	if (!yes && !file_read(path, LIST_MAX, &text, NULL)) {
		for (at = strstr(text, wanted); at && !yes; at = strstr(at + 1, wanted)) {
			while (at > text && isdigit((unsigned char)at[-1]))
				at--;
			yes = at > text && strchr("efst", at[-1]);
		}
		free(text);
	}
	free(wanted);
	free(path);
	return yes;
}

/* Events that were made at run time, of any kind: mostly there are none. */
static bool has_made_events(struct probe_env *env)
{
	struct probe_cache *c = probe_cache_of(env);
	char *path, *text;
	int err;

	if (!c->made_tried && kernel_tracefs(env->kernel)) {
		path = xasprintf("%s/dynamic_events", kernel_tracefs(env->kernel));
		err = file_read(path, LIST_MAX, &text, NULL);
		c->has_made_events = err ? err == -ENOENT : *text != '\0';
		free(path);
		if (!err)
			free(text);
	}
	c->made_tried = true;
	return c->has_made_events;
}

int probe_event_describe(struct probe_env *env, const struct probe_target *t, struct span at,
			 struct probe_context *ret)
{
	struct search s = {.env = env, .target = t};

	if (!has_made_events(env) || lasting_events_each(env->kernel, find, &s))
		return 0;
	if (!s.lines && is_made_of_events(env, t)) {
		diag_error(env->diag, at,
			   "%s is made by ftrace of other events: no program can be attached to it",
			   t->name);
		diag_hint(env->diag,
			  "a script can use those events themselves; `pantrace tpoint "
			  "%s:%s` prints this one",
			  t->module, t->function);
		return -EINVAL;
	}
	if (!s.lines)
		return 0;
	*ret = (struct probe_context){
		.space = s.found.is_user ? SPACE_USER : SPACE_KERNEL,
		.has_cookie = kernel_features(env->kernel)->attach_cookie,
		.has_function = true,
		.is_return = s.found.is_return,
		.layout_key = arena_printf(env->arena, "%c%s:%s:%s", s.found.is_return ? 'r' : 'p',
					   t->module, t->function, s.found.place),
	};
	probe_describe_registers(ret, false);
	ret->argn_count = 0; /* nothing says that a function begins there */
	if (s.found.is_return)
		ret->retval_location = (struct location){
			.kind = LOCATION_REGISTER, .size = WORD, .offset = arch_retval_offset()};
	describe_fields(&s, ret);
	return 1;
}
