/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/syntax/config.h"

#include <ctype.h>
#include <strings.h>

#include "base/nearest.h"
#include "base/options.h"

#define MAX_STRLEN_LIMIT (1u << 15)

enum setting_kind {
	SETTING_NUMBER,
	SETTING_BOOL,
	SETTING_WORD,
	SETTING_STACK_MODE,
	SETTING_TEXT,
	SETTING_IGNORED,
	/* only in the environment: */
	SETTING_NOT, /* the opposite of a bool */
	SETTING_VARIABLE, /* a text */
};

struct setting {
	const char *name;
	enum setting_kind kind;
	size_t offset;
	const char *const *words; /* the value is the index */
	const char *renamed; /* the current name, if this one is old */
};

static const char *const missing_words[] = {"error", "warn", "ignore", NULL};
static const char *const cache_words[] = {"NONE", "PER_PROGRAM", "PER_PID", NULL};
static const char *const stack_words[] = {"bpftrace", "perf", "raw", "build_id", NULL};
static const char *const licenses[] = {"Dual MIT/GPL",
				       "Dual BSD/GPL",
				       "Dual MPL/GPL",
				       "GPL and additional rights",
				       "GPL v2",
				       "GPL",
				       NULL};

#define FIELD(f) offsetof(struct script_config, f)
static const struct setting settings[] = {
	{"cache_user_symbols", SETTING_WORD, FIELD(cache_user_symbols), cache_words, NULL},
	{"cpp_demangle", SETTING_BOOL, FIELD(cpp_demangle), NULL, NULL},
	{"lazy_symbolication", SETTING_BOOL, FIELD(lazy_symbolication), NULL, NULL},
	{"license", SETTING_TEXT, FIELD(license), licenses, NULL},
	{"log_size", SETTING_NUMBER, FIELD(log_size), NULL, NULL},
	{"max_bpf_progs", SETTING_NUMBER, FIELD(max_bpf_progs), NULL, NULL},
	{"max_cat_bytes", SETTING_NUMBER, FIELD(max_cat_bytes), NULL, NULL},
	{"max_map_keys", SETTING_NUMBER, FIELD(max_map_keys), NULL, NULL},
	{"max_probes", SETTING_NUMBER, FIELD(max_probes), NULL, NULL},
	{"max_strlen", SETTING_NUMBER, FIELD(max_strlen), NULL, NULL},
	{"missing_probes", SETTING_WORD, FIELD(missing_probes), missing_words, NULL},
	{"on_stack_limit", SETTING_NUMBER, FIELD(on_stack_limit), NULL, NULL},
	{"perf_rb_pages", SETTING_NUMBER, FIELD(perf_rb_pages), NULL, NULL},
	{"print_maps_on_exit", SETTING_BOOL, FIELD(print_maps_on_exit), NULL, NULL},
	{"show_debug_info", SETTING_BOOL, FIELD(show_debug_info), NULL, NULL},
	{"stack_mode", SETTING_STACK_MODE, FIELD(stack_mode), stack_words, NULL},
	{"str_trunc_trailer", SETTING_TEXT, FIELD(str_trunc_trailer), NULL, NULL},
	{"strlen", SETTING_NUMBER, FIELD(max_strlen), NULL, "max_strlen"},
	{"map_keys_max", SETTING_NUMBER, FIELD(max_map_keys), NULL, "max_map_keys"},
	{"cat_bytes_max", SETTING_NUMBER, FIELD(max_cat_bytes), NULL, "max_cat_bytes"},
	{"use_blazesym", SETTING_IGNORED, 0, NULL, NULL},
	{"unstable_import_statement", SETTING_IGNORED, 0, NULL, NULL},
	{"unstable_import", SETTING_IGNORED, 0, NULL, NULL},
	{"unstable_tseries", SETTING_IGNORED, 0, NULL, NULL},
	{"unstable_typeinfo", SETTING_IGNORED, 0, NULL, NULL},
	{"unstable_dw_ustack", SETTING_IGNORED, 0, NULL, NULL},
	{"unstable_macro", SETTING_IGNORED, 0, NULL, NULL},
	{"unstable_map_decl", SETTING_IGNORED, 0, NULL, NULL},
	{"unstable_addr", SETTING_IGNORED, 0, NULL, NULL},
	{"symbol_source", SETTING_IGNORED, 0, NULL, NULL},
	{"max_type_res_iterations", SETTING_IGNORED, 0, NULL, NULL},
	{"no_cpp_demangle", SETTING_NOT, FIELD(cpp_demangle), NULL, NULL},
	{"dummy_ts_map", SETTING_VARIABLE, FIELD(clock_map), NULL, NULL}, /* of bpftrace's tests */
};

void config_defaults(struct script_config *config)
{
	*config = (struct script_config){
		.max_strlen = 1024,
		.max_map_keys = 4096,
		.max_probes = 1024,
		.max_bpf_progs = 1024,
		.max_cat_bytes = 10240,
		.on_stack_limit = 32,
		.log_size = 1000000,
		.print_maps_on_exit = true,
		.cpp_demangle = true,
		.lazy_symbolication = true,
		.cache_user_symbols = 2,
		.stack_mode = STACK_BPFTRACE,
		.str_trunc_trailer = "..",
		.license = "GPL",
	};
}

/* "max_strlen", or as the environment variable is called: "BPFTRACE_MAX_STRLEN". */
static const struct setting *find(const char *name)
{
	static const char prefix[] = "BPFTRACE_";

	if (!strncasecmp(name, prefix, sizeof(prefix) - 1))
		name += sizeof(prefix) - 1;
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (settings[i].kind <= SETTING_IGNORED && !strcasecmp(settings[i].name, name))
			return &settings[i];
	return NULL;
}

static int unknown(struct diag *diag, const struct config_entry *entry)
{
	const char *names[ARRAY_SIZE(settings)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (settings[i].kind <= SETTING_IGNORED)
			names[n++] = settings[i].name;
	diag_error(diag, entry->span, "%s: not a known configuration option", entry->name);
	diag_hint_nearest(diag, entry->name, names, n);
	return -EINVAL;
}

/* Text of a word or string, NULL for numbers. */
static const char *text_of(const struct expr *e)
{
	if (e->kind == EXPR_STRING)
		return e->string.data;
	return e->kind == EXPR_NAME ? e->name : NULL;
}

static bool number_of(const struct expr *e, u64 *ret)
{
	*ret = (u64)e->integer;
	return e->kind == EXPR_INTEGER || e->kind == EXPR_BOOL;
}

static bool bool_of(const struct expr *e, bool *ret)
{
	static const char *const yes[] = {"true", "1", "yes", "on"}, *const no[] = {"false", "0",
										    "no", "off"};
	const char *text = text_of(e);
	u64 n;

	if (!text) {
		*ret = number_of(e, &n) && n;
		return e->kind == EXPR_INTEGER || e->kind == EXPR_BOOL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		*ret = !strcasecmp(text, yes[i]);
		if (*ret || !strcasecmp(text, no[i]))
			return true;
	}
	return false;
}

static int word_of(const struct setting *s, const struct expr *e)
{
	const char *text = text_of(e);

	for (int i = 0; text && s->words[i]; i++)
		if (!strcasecmp(text, s->words[i]))
			return i;
	return -EINVAL;
}

static int store(const struct setting *s, const struct expr *e, struct script_config *config)
{
	void *field = (char *)config + s->offset;
	const char *text = text_of(e);
	bool is_not;
	int word;

	switch (s->kind) {
	case SETTING_NUMBER:
		return number_of(e, field) ? 0 : -EINVAL;
	case SETTING_BOOL:
		return bool_of(e, field) ? 0 : -EINVAL;
	case SETTING_NOT:
		if (!bool_of(e, &is_not))
			return -EINVAL;
		*(bool *)field = !is_not;
		return 0;
	case SETTING_TEXT:
	case SETTING_VARIABLE:
		if (!text || (s->words && word_of(s, e) < 0))
			return -EINVAL;
		*(const char **)field = text;
		return 0;
	case SETTING_IGNORED:
		return 0;
	default:
		word = word_of(s, e);
		if (word < 0)
			return -EINVAL;
		if (s->kind == SETTING_STACK_MODE)
			*(enum stack_mode *)field = (enum stack_mode)word;
		else
			*(u8 *)field = (u8)word;
		return 0;
	}
}

static void refuse(struct diag *diag, const struct setting *s, const struct config_entry *entry)
{
	const char *text = text_of(entry->value);
	struct strbuf words = STRBUF_INIT;

	for (int i = 0; s->words && s->words[i]; i++)
		strbuf_addf(&words, "%s%s", i ? ", " : " Valid values: ", s->words[i]);
	diag_error(diag, entry->span, "Invalid value for %s.%s%s%s%s", s->name,
		   text ? " Found: " : "", text ? text : "", text ? "." : "",
		   words.len ? words.data : "");
	if (s->kind == SETTING_BOOL)
		diag_hint(diag, "valid values are true, false, 1 or 0");
	else if (s->kind == SETTING_NUMBER)
		diag_hint(diag, "a number is expected");
	strbuf_release(&words);
}

int config_apply(struct diag *diag, const struct ast *ast, struct script_config *config)
{
	int err = 0;

	for (u32 i = 0; i < ast->nconfigs; i++) {
		const struct config_entry *entry = &ast->configs[i];
		const struct setting *s = find(entry->name);

		if (!s) {
			err = unknown(diag, entry);
			continue;
		}
		if (s->renamed)
			diag_warning(diag, entry->span, "%s has been renamed, please use %s",
				     s->name, s->renamed);
		if (store(s, entry->value, config) < 0) {
			refuse(diag, s, entry);
			err = -EINVAL;
		}
	}
	return err;
}

static int apply_variable(struct diag *diag, const struct setting *s, const char *name,
			  const char *value, struct script_config *config)
{
	struct expr e = {.kind = EXPR_STRING, .string = {.data = value, .len = (u32)strlen(value)}};
	struct strbuf words = STRBUF_INIT;
	u64 number;

	if (s->kind == SETTING_NUMBER && !parse_u64(value, &number))
		e = (struct expr){.kind = EXPR_INTEGER, .integer = number};
	if (!store(s, &e, config))
		return 0;
	diag_error(diag, NO_SPAN, "Invalid value for %s: '%s'", name, value);
	for (int i = 0; s->words && s->words[i]; i++)
		strbuf_addf(&words, "%s%s", i ? ", " : "", s->words[i]);
	if (words.len)
		diag_hint(diag, "it may be one of: %s", words.data);
	strbuf_release(&words);
	return -EINVAL;
}

int config_apply_environment(struct diag *diag, struct script_config *config)
{
	static const char *const prefixes[] = {"BPFTRACE_", "PANTRACE_"};
	int err = 0;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(settings) && !err; i++) {
		const struct setting *s = &settings[i / 2];
		char name[64];
		const char *value;

		snprintf(name, sizeof(name), "%s%s", prefixes[i % 2], s->name);
		for (char *p = name; *p; p++)
			*p = (char)toupper((unsigned char)*p);
		value = getenv(name);
		if (value)
			err = apply_variable(diag, s, name, value, config);
	}
	return err;
}

static void describe(const struct setting *s, const struct script_config *config,
		     struct config_field *ret)
{
	const void *field = (const char *)config + s->offset;

	*ret = (struct config_field){.name = s->name};
	switch (s->kind) {
	case SETTING_NUMBER:
		ret->number = *(const u64 *)field;
		break;
	case SETTING_BOOL:
		ret->is_bool = true;
		ret->number = *(const bool *)field;
		break;
	case SETTING_TEXT:
		ret->text = *(const char *const *)field;
		break;
	case SETTING_STACK_MODE:
		ret->text = s->words[*(const enum stack_mode *)field];
		break;
	default:
		ret->text = s->words[*(const u8 *)field];
		break;
	}
}

u32 config_fields(const struct script_config *config, struct config_field *fields, u32 max)
{
	u32 n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(settings) && n < max; i++)
		if (!settings[i].renamed && settings[i].kind < SETTING_IGNORED)
			describe(&settings[i], config, &fields[n++]);
	return n;
}

int config_check(struct diag *diag, const struct script_config *config)
{
	if (config->max_strlen < 1 || config->max_strlen > MAX_STRLEN_LIMIT) {
		diag_error(diag, NO_SPAN, "max_strlen is %" PRIu64 ", it may be 1 to %u",
			   config->max_strlen, MAX_STRLEN_LIMIT);
		return -EINVAL;
	}
	if (config->max_map_keys < 1 || config->max_map_keys > 1u << 27) {
		diag_error(diag, NO_SPAN, "max_map_keys is %" PRIu64 ", it may be 1 to %u",
			   config->max_map_keys, 1u << 27);
		return -EINVAL;
	}
	return 0;
}
