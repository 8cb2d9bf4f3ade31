/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/options_internal.h"

#include <ctype.h>
#include <math.h>

#include "base/diag.h"
#include "base/nearest.h"
#include "base/strbuf.h"

struct parser {
	const struct command_spec *spec;
	int argc;
	char **argv;
	int at; /* next word */
	void *values;
};

const struct option_spec options_none[] = {{0}};

int parse_u64(const char *s, u64 *ret)
{
	char *end;
	u64 v;

	if (!isdigit((unsigned char)s[0]))
		return -EINVAL;
	errno = 0;
	v = strtoull(s, &end, 0);
	if (*end)
		return -EINVAL;
	if (errno)
		return -errno;
	*ret = v;
	return 0;
}

int parse_double(const char *s, double *ret)
{
	char *end;
	double v;

	if (!isdigit((unsigned char)s[0]) && s[0] != '.')
		return -EINVAL;
	v = strtod(s, &end);
	if (*end || !isfinite(v))
		return -EINVAL;
	*ret = v;
	return 0;
}

static int parse_any(const char *s, void *ret)
{
	return parse_u64(s, ret);
}

static int parse_fraction(const char *s, void *ret)
{
	return parse_double(s, ret);
}

static int parse_positive(const char *s, void *ret)
{
	u64 n;
	const int err = parse_u64(s, &n);

	if (err || !n)
		return err ? err : -EINVAL;
	*(u64 *)ret = n;
	return 0;
}

static int parse_seconds(const char *s, void *ret)
{
	double seconds;

	if (parse_double(s, &seconds) || seconds < 0.001 || seconds > 1e9)
		return -EINVAL;
	*(u64 *)ret = (u64)(seconds * 1e9);
	return 0;
}

static int parse_size(const char *s, void *ret)
{
	static const char units[] = "KMG";
	const size_t digits = strspn(s, "0123456789");
	const char *unit = s[digits] ? strchr(units, s[digits] & ~0x20) : NULL;
	const u32 shift = unit ? 10 * (u32)(unit - units + 1) : 0;
	char number[24];
	u64 n;

	if (digits >= sizeof(number) || (s[digits] && (!unit || !*unit || s[digits + 1])))
		return -EINVAL;
	snprintf(number, sizeof(number), "%.*s", (int)digits, s);
	if (parse_positive(number, &n) || n > UINT64_MAX >> shift)
		return -EINVAL;
	*(u64 *)ret = n << shift;
	return 0;
}

static int parse_pid(const char *s, void *ret)
{
	u64 n;

	if (parse_positive(s, &n) || n > INT32_MAX)
		return -EINVAL;
	*(pid_t *)ret = (pid_t)n;
	return 0;
}

static int add_pid(const char *s, void *ret)
{
	struct pid_list *list = ret;

	list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
	if (parse_pid(s, &list->items[list->count]))
		return -EINVAL;
	list->count++;
	return 0;
}

/* Kinds whose values need parsing. */
static const struct {
	int (*parse)(const char *s, void *ret);
	const char *takes;
} kinds[OPTION_REFUSED + 1] = {
	[OPTION_U64] = {parse_any, "a number"},
	[OPTION_POSITIVE] = {parse_positive, "a number above 0"},
	[OPTION_DOUBLE] = {parse_fraction, "a number"},
	[OPTION_SECONDS] = {parse_seconds, "a time in seconds, as 5 or 0.5"},
	[OPTION_SIZE] = {parse_size, "a number of bytes, as 65536, 64K, 2M or 1G"},
	[OPTION_PID] = {parse_pid, "the number of a process or thread"},
	[OPTION_PIDS] = {add_pid, "the number of a process"},
};

int parse_value(enum option_kind kind, const char *s, void *ret)
{
	return kinds[kind].parse(s, ret);
}

const char *option_kind_takes(enum option_kind kind)
{
	return kinds[kind].takes;
}

static bool is_last(const struct option_spec *o)
{
	return !o->help;
}

static bool takes_value(const struct option_spec *o)
{
	return kinds[o->kind].parse || o->kind == OPTION_STRING || o->kind == OPTION_LIST ||
	       o->kind == OPTION_WORDS || o->kind == OPTION_IGNORED_VALUE;
}

static const struct option_spec *find_short(const struct command_spec *spec, char c)
{
	for (const struct option_spec *o = spec->options; !is_last(o); o++)
		if (o->kind != OPTION_HEADING && o->short_name == c)
			return o;
	return NULL;
}

static const struct option_spec *find_long(const struct command_spec *spec, const char *name,
					   size_t len)
{
	for (const struct option_spec *o = spec->options; !is_last(o); o++)
		if (o->long_name && strlen(o->long_name) == len &&
		    !strncmp(o->long_name, name, len))
			return o;
	return NULL;
}

bool option_is_offered(const struct option_spec *o)
{
	return o->kind != OPTION_HEADING && o->kind != OPTION_IGNORED &&
	       o->kind != OPTION_IGNORED_VALUE && o->kind != OPTION_REFUSED;
}

const struct option_spec *option_that_waits(const struct command_spec *spec, const char *word)
{
	const struct option_spec *o;

	if (word[1] == '-') {
		o = find_long(spec, word + 2, strlen(word + 2));
		return o && takes_value(o) ? o : NULL;
	}
	while (*++word) {
		o = find_short(spec, *word);
		if (!o || o->kind == OPTION_OPTIONAL)
			return NULL;
		if (takes_value(o))
			return word[1] ? NULL : o;
	}
	return NULL;
}

int options_usage_error(const struct command_spec *spec, const char *fmt, ...)
{
	va_list ap;

	struct strbuf text = STRBUF_INIT;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	complain(spec ? spec->name : NULL, "%s\nTry 'pantrace %s%s'.", text.data,
		 spec ? spec->name : "help", spec ? " --help" : "");
	strbuf_release(&text);
	return EXIT_USAGE;
}

static int unknown_long(const struct command_spec *spec, const char *name, size_t len)
{
	char *word = xstrndup(name, len);
	struct nearest n;
	int rc;

	if (str_eq(word, "json")) { /* tried everywhere; suggest nothing */
		free(word);
		return options_usage_error(spec, "--json is not offered: this command has no JSON");
	}
	nearest_init(&n, word);
	for (const struct option_spec *o = spec->options; !is_last(o); o++)
		if (o->long_name && o->kind != OPTION_REFUSED)
			nearest_offer(&n, o->long_name);
	if (n.best[0][0])
		rc = options_usage_error(spec, "unknown option --%s; did you mean --%s?", word,
					 n.best[0]);
	else
		rc = options_usage_error(spec, "unknown option --%s", word);
	free(word);
	return rc;
}

/* Stores one option; word is how the user wrote it. */
static int store(struct parser *p, const struct option_spec *o, const char *word, const char *value)
{
	void *field = (char *)p->values + o->offset;

	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		break;
	case OPTION_COUNT:
		(*(int *)field)++;
		break;
	case OPTION_PRESENT:
		*(const char **)field = "";
		break;
	case OPTION_STRING:
	case OPTION_OPTIONAL:
		*(const char **)field = value;
		break;
	case OPTION_LIST: {
		struct string_list *list = field;

		list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
		list->items[list->count++] = value;
		break;
	}
	case OPTION_WORDS: {
		struct option_words *list = field;

		list->items = xreallocarray(list->items, list->count + 1, sizeof(*list->items));
		list->items[list->count++] = (struct option_word){o->short_name, value};
		break;
	}
	case OPTION_REFUSED:
		return options_usage_error(p->spec, "%s is not offered: %s", word, o->help);
	default:
		if (kinds[o->kind].parse && kinds[o->kind].parse(value, field))
			return options_usage_error(p->spec, "%.*s takes %s, not '%s'",
						   (int)strcspn(word, "="), word,
						   kinds[o->kind].takes, value);
		break;
	}
	return OPTIONS_GO_ON;
}

static int parse_long(struct parser *p, const char *word)
{
	static const struct {
		const char *name;
		void (*print)(const struct command_spec *spec, FILE *out);
	} helps[] = {
		{"help", options_help}, {"help-man", options_man}, {"help-words", options_words}};
	const char *name = word + 2, *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct option_spec *o = find_long(p->spec, name, len);
	const char *value = eq ? eq + 1 : NULL;

	if (!o && str_eq(name, "help-complete")) {
		options_complete(p->spec, p->argc - p->at, p->argv + p->at, stdout);
		return EXIT_OK;
	}
	if (!o)
		for (size_t i = 0; i < ARRAY_SIZE(helps); i++)
			if (str_eq(name, helps[i].name)) {
				helps[i].print(p->spec, stdout);
				return EXIT_OK;
			}
	if (!o)
		return unknown_long(p->spec, name, len);
	if (takes_value(o) && !value) {
		if (p->at >= p->argc)
			return options_usage_error(p->spec, "%s needs a value (%s)", word,
						   o->value);
		value = p->argv[p->at++];
	}
	if (value && !takes_value(o) && o->kind != OPTION_OPTIONAL)
		return options_usage_error(p->spec, "--%s takes no value", o->long_name);
	return store(p, o, word, value ? value : "");
}

static int parse_short(struct parser *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		const struct option_spec *o = find_short(p->spec, *c);
		const char shown[3] = {'-', *c, '\0'};
		const char *value = "";
		int rc;

		if (!o && *c == 'h') {
			options_help(p->spec, stdout);
			return EXIT_OK;
		}
		if (!o)
			return options_usage_error(p->spec, "unknown option -%c", *c);
		if (takes_value(o)) {
			if (c[1])
				value = c + 1;
			else if (p->at < p->argc)
				value = p->argv[p->at++];
			else
				return options_usage_error(p->spec, "-%c needs a value (%s)", *c,
							   o->value);
		} else if (o->kind == OPTION_OPTIONAL) {
			value = c + 1;
		}
		rc = store(p, o, shown, value);
		if (rc != OPTIONS_GO_ON || takes_value(o) || o->kind == OPTION_OPTIONAL)
			return rc;
	}
	return OPTIONS_GO_ON;
}

int options_command(const struct command_spec *spec, int *argc, char **argv, char *const **ret)
{
	int end = 1;

	while (end < *argc && !str_eq(argv[end], "--"))
		end++;
	if (end + 1 == *argc)
		return options_usage_error(spec, "a command is missing behind '--'");
	*ret = NULL;
	if (end < *argc) {
		*ret = argv + end + 1;
		argv[end] = NULL; /* as after the last word */
	}
	*argc = end;
	return OPTIONS_GO_ON;
}

void options_release(const struct command_spec *spec, void *values)
{
	for (const struct option_spec *o = spec->options; !is_last(o); o++) {
		struct string_list *list = (void *)((char *)values + o->offset);

		if (o->kind != OPTION_LIST && o->kind != OPTION_PIDS && o->kind != OPTION_WORDS)
			continue;
		free(list->items);
		*list = (struct string_list){0};
	}
}

int options_parse(const struct command_spec *spec, int argc, char **argv, void *values,
		  int *ret_first)
{
	struct parser p = {.spec = spec, .argc = argc, .argv = argv, .at = 1, .values = values};
	VECTOR(char *) arguments = {0};
	int rc = OPTIONS_GO_ON;

	while (p.at < argc) {
		char *word = argv[p.at++];

		if (word[0] != '-' || !word[1]) {
			vector_push(&arguments, word);
			if (spec->stop_at_argument)
				break;
			continue;
		}
		if (str_eq(word, "--"))
			break;
		rc = word[1] == '-' ? parse_long(&p, word) : parse_short(&p, word);
		if (rc != OPTIONS_GO_ON)
			goto out;
	}
	while (p.at < argc)
		vector_push(&arguments, argv[p.at++]);
	*ret_first = argc - (int)arguments.len;
	for (size_t i = 0; i < arguments.len; i++)
		argv[*ret_first + (int)i] = arguments.items[i];
	if (spec->takes_no_argument && arguments.len)
		rc = options_usage_error(spec, "unexpected argument '%s'", argv[*ret_first]);
out:
	vector_free(&arguments);
	return rc;
}
