/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user of the script decides: settings (config.max_strlen) and options (getopt). */
#include "lang/builtin/util.h"
#include "lang/check/internal.h"
#include "lang/syntax/config.h"

#include <strings.h>

#define MAX_FIELDS 40

/* Turns the call into a record of literals once; later passes see only those. */
static void check_config(struct check *c, struct expr *call)
{
	struct arena *a = c->arena;
	struct config_field fields[MAX_FIELDS];
	const u32 n = config_fields(&c->script->config, fields, MAX_FIELDS);

	call->args = arena_new_array(a, struct expr *, n);
	call->names = arena_new_array(a, const char *, n);
	for (u32 i = 0; i < n; i++) {
		struct expr *e = call->args[i] = arena_new(a, struct expr);

		e->span = call->span;
		e->kind = fields[i].text      ? EXPR_STRING
			  : fields[i].is_bool ? EXPR_BOOL
					      : EXPR_INTEGER;
		e->integer = (s64)fields[i].number;
		if (fields[i].text) {
			e->string.data = arena_strdup(a, fields[i].text);
			e->string.len = (u32)strlen(fields[i].text);
		}
		call->names[i] = fields[i].name;
	}
	call->nargs = n;
	call->kind = EXPR_RECORD;
	check_expr(c, call);
}

static void lower_config(struct lower *l, struct expr *call, struct value *ret)
{
	lower_error(l, call->span, "config is a record of literals");
	*ret = (struct value){0};
}

/* ---- getopt ---- */

/* The value of --name or --name=value among the script's parameters: NULL = not given, "" = without
 * a value. The last one counts. */
static const char *value_among(const char *const *words, u32 n, const char *name)
{
	const size_t len = strlen(name);

	while (n--) {
		const char *p = words[n];

		if (!str_starts(p, "--") || strncmp(p + 2, name, len))
			continue;
		if (!p[2 + len])
			return "";
		if (p[2 + len] == '=')
			return p + 3 + len;
	}
	return NULL;
}

static const char *option_value(const struct check *c, const char *name)
{
	const struct compile_options *o = c->options;
	const char *value = value_among(o->input.named, o->input.nnamed, name);

	return value ? value : value_among(o->input.positional, o->input.npositional, name);
}

static bool word_is(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcasecmp(text, *words))
			return true;
	return false;
}

/* There is no place in the script: the command line is wrong. */
static void wrong_value(struct check *c, const char *name, const char *given, const char *why)
{
	if (!c->final)
		return;
	diag_error(c->diag, NO_SPAN, "program command line option --%s %s (value: %s)", name, why,
		   *given ? given : "true");
	c->failed = true;
}

static s64 option_bool(struct check *c, const char *name, const char *given, s64 otherwise)
{
	static const char *const yes[] = {"", "1", "true", "on", "yes", NULL}, *const no[] = {
										       "0", "false",
										       "off", "no",
										       NULL};

	if (!given)
		return otherwise;
	if (word_is(given, yes))
		return true;
	if (!word_is(given, no))
		wrong_value(c, name, given, "invalid bool: valid values are true, false, 1 or 0");
	return false;
}

static s64 option_integer(struct check *c, const char *name, const char *given, bool is_signed)
{
	const char *digits = given + (*given == '-' || *given == '+');
	s64 value;
	char *end;

	errno = 0;
	value = is_signed ? strtoll(given, &end, 0) : (s64)strtoull(given, &end, 0);
	if (!*given)
		wrong_value(c, name, given, "expects an integer");
	else if (*end || *digits < '0' || *digits > '9')
		wrong_value(c, name, given, "invalid integer");
	else if (errno || (!is_signed && *given == '-'))
		wrong_value(c, name, given, "value is out of range");
	return value;
}

/* The type of an option is set by its first use; later uses must agree with it. */
static void note_option(struct check *c, struct expr *call, const char *name, const char *otherwise,
			const char *description)
{
	struct named_option *o = NULL;

	for (size_t i = 0; i < c->named_options.len && !o; i++)
		if (str_eq(c->named_options.items[i].name, name))
			o = &c->named_options.items[i];
	if (!o) {
		vector_push(&c->named_options,
			    ((struct named_option){name, otherwise, description}));
		return;
	}
	if (!str_eq(o->otherwise, otherwise))
		check_error(c, call->span,
			    "Command line option '%s' needs to have the same default value in all "
			    "places it is used. Previous default value: %s",
			    name, o->otherwise);
	else if (description && o->description && !str_eq(description, o->description))
		check_error(c, call->span,
			    "Command line option '%s' must have the same description in all places "
			    "it's used. Hint: You can wrap it in a macro",
			    name);
	else if (!o->description)
		o->description = description;
}

static void check_getopt(struct check *c, struct expr *call)
{
	struct expr *otherwise = call->nargs > 1 ? call->args[1] : NULL;
	const char *name, *given, *text;
	bool is_signed;

	call->type = type_bool();
	if (!check_arg_literal_string(c, call, 0) ||
	    (call->nargs > 2 && !check_arg_literal_string(c, call, 2)) ||
	    (otherwise && !check_known(c, otherwise)))
		return;
	name = builtin_literal(call->args[0]);
	given = option_value(c, name);
	if (!otherwise || (otherwise->is_comptime_known && type_is(otherwise->type, TYPE_BOOL))) {
		const s64 value = otherwise ? otherwise->integer : false;

		text = value ? "true" : "false";
		builtin_set_integer(call, type_bool(), option_bool(c, name, given, value));
	} else if (otherwise->is_comptime_known && type_is_integer(otherwise->type)) {
		is_signed = otherwise->type->is_signed && otherwise->integer < 0;
		text = arena_printf(c->arena, is_signed ? "%lld" : "%llu",
				    (long long)otherwise->integer);
		builtin_set_integer(call, type_int(8, is_signed),
				    given ? option_integer(c, name, given, is_signed)
					  : otherwise->integer);
	} else if (builtin_literal(otherwise)) {
		text = builtin_literal(otherwise);
		builtin_set_string(c, call, given ? given : text, strlen(given ? given : text));
	} else {
		check_error(c, otherwise->span,
			    "Second argument to 'getopt' must be a string literal, integer "
			    "literal, or a boolean literal.");
		return;
	}
	note_option(c, call, name, text, call->nargs > 2 ? builtin_literal(call->args[2]) : NULL);
}

static bool is_option(const struct check *c, const char *word)
{
	const size_t len = strcspn(word, "=");

	for (size_t i = 0; i < c->named_options.len; i++)
		if (strlen(c->named_options.items[i].name) == len &&
		    !strncmp(c->named_options.items[i].name, word, len))
			return true;
	return false;
}

/* Lists all options of the script; for --help one a line with its description. */
static void hint_options(struct check *c, bool help)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = c->named_options.len; i-- > 0;) {
		const struct named_option *o = &c->named_options.items[i];

		strbuf_addf(&text, "%s--%s", help ? "\n" : text.len ? ", " : " ", o->name);
		if (help && o->description)
			strbuf_addf(&text, ": %s", o->description);
	}
	if (text.len)
		diag_hint(c->diag, "expected program options:%s", text.data);
	else
		diag_hint(c->diag, "no custom program options defined.");
	strbuf_release(&text);
}

int check_options(struct check *c)
{
	const struct compile_options *o = c->options;
	struct strbuf wrong = STRBUF_INIT;
	bool help = false;

	for (u32 i = 0; i < o->input.nnamed; i++) {
		const char *word = o->input.named[i] + 2;

		if (is_option(c, word))
			continue;
		if (str_eq(word, "help"))
			help = true;
		else
			strbuf_addf(&wrong, "%s--%.*s", wrong.len ? ", " : "",
				    (int)strcspn(word, "="), word);
	}
	if (wrong.len)
		diag_error(c->diag, NO_SPAN, "unexpected program command line options: %s",
			   wrong.data);
	if (wrong.len || help)
		hint_options(c, help);
	help |= wrong.len > 0;
	strbuf_release(&wrong);
	return help ? -EINVAL : 0;
}

const struct builtin builtins_config[] = {
	{"getopt", "getopt(\"name\" [, default [, \"description\"]])",
	 "The value of the script's option --name (after --), of the type of the default; without "
	 "one a bool.",
	 "", BUILTIN_CALL, 1, 3, check_getopt, builtin_lower_literal},
	{"config", "record config",
	 "The script's settings: config.max_strlen, config.missing_probes ... Known when the "
	 "script is compiled.",
	 "", VARIABLE_OR_CALL, 0, 0, check_config, lower_config},
	{0},
};
