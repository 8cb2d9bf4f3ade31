/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <strings.h>

#include "base/diag.h"
#include "base/options.h"
#include "cmd/run.h"

enum setting_kind { SETTING_NUMBER, SETTING_BOOL, SETTING_NOT, SETTING_WORD, SETTING_TEXT };

struct setting {
	const char *name; /* behind BPFTRACE_ or PANTRACE_ */
	enum setting_kind kind;
	size_t offset;
	const char *const *words; /* SETTING_WORD: their index is the value */
};

static const char *const missing_words[] = {"error", "warn", "ignore", NULL};
static const char *const cache_words[] = {"NONE", "PER_PROGRAM", "PER_PID", NULL};
static const char *const stack_words[] = {"bpftrace", "perf", "raw", "build_id", NULL};

#define FIELD(f) offsetof(struct script_config, f)
static const struct setting settings[] = {
	{"MAX_STRLEN", SETTING_NUMBER, FIELD(max_strlen), NULL},
	{"STRLEN", SETTING_NUMBER, FIELD(max_strlen), NULL}, /* bpftrace 0.17 */
	{"MAX_MAP_KEYS", SETTING_NUMBER, FIELD(max_map_keys), NULL},
	{"MAP_KEYS_MAX", SETTING_NUMBER, FIELD(max_map_keys), NULL},
	{"MAX_PROBES", SETTING_NUMBER, FIELD(max_probes), NULL},
	{"MAX_BPF_PROGS", SETTING_NUMBER, FIELD(max_bpf_progs), NULL},
	{"MAX_CAT_BYTES", SETTING_NUMBER, FIELD(max_cat_bytes), NULL},
	{"CAT_BYTES_MAX", SETTING_NUMBER, FIELD(max_cat_bytes), NULL},
	{"ON_STACK_LIMIT", SETTING_NUMBER, FIELD(on_stack_limit), NULL},
	{"PERF_RB_PAGES", SETTING_NUMBER, FIELD(perf_rb_pages), NULL},
	{"LOG_SIZE", SETTING_NUMBER, FIELD(log_size), NULL},
	{"PRINT_MAPS_ON_EXIT", SETTING_BOOL, FIELD(print_maps_on_exit), NULL},
	{"CPP_DEMANGLE", SETTING_BOOL, FIELD(cpp_demangle), NULL},
	{"NO_CPP_DEMANGLE", SETTING_NOT, FIELD(cpp_demangle), NULL},
	{"LAZY_SYMBOLICATION", SETTING_BOOL, FIELD(lazy_symbolication), NULL},
	{"SHOW_DEBUG_INFO", SETTING_BOOL, FIELD(show_debug_info), NULL},
	{"MISSING_PROBES", SETTING_WORD, FIELD(missing_probes), missing_words},
	{"CACHE_USER_SYMBOLS", SETTING_WORD, FIELD(cache_user_symbols), cache_words},
	{"STACK_MODE", SETTING_WORD, FIELD(stack_mode), stack_words},
	{"STR_TRUNC_TRAILER", SETTING_TEXT, FIELD(str_trunc_trailer), NULL},
	{"LICENSE", SETTING_TEXT, FIELD(license), NULL},
	{"DUMMY_TS_MAP", SETTING_TEXT, FIELD(clock_map), NULL}, /* of bpftrace's tests */
};

static int parse_bool(const char *s, bool *ret)
{
	if (str_eq(s, "1") || !strcasecmp(s, "true") || !strcasecmp(s, "yes") ||
	    !strcasecmp(s, "on"))
		*ret = true;
	else if (str_eq(s, "0") || !strcasecmp(s, "false") || !strcasecmp(s, "no") ||
		 !strcasecmp(s, "off"))
		*ret = false;
	else
		return -EINVAL;
	return 0;
}

/* stack_mode is an enum, the other words are bytes. */
static int store_word(const struct setting *s, void *field, const char *value)
{
	for (u32 i = 0; s->words[i]; i++) {
		if (strcasecmp(s->words[i], value))
			continue;
		if (s->words == stack_words)
			*(enum stack_mode *)field = (enum stack_mode)i;
		else
			*(u8 *)field = (u8)i;
		return 0;
	}
	return -EINVAL;
}

static int store(const struct setting *s, struct script_config *config, const char *value)
{
	void *field = (char *)config + s->offset;
	bool b;

	switch (s->kind) {
	case SETTING_NUMBER:
		return parse_u64(value, field);
	case SETTING_BOOL:
	case SETTING_NOT:
		if (parse_bool(value, &b))
			return -EINVAL;
		*(bool *)field = b == (s->kind == SETTING_BOOL);
		return 0;
	case SETTING_WORD:
		return store_word(s, field, value);
	case SETTING_TEXT:
		*(const char **)field = value;
		return 0;
	}
	return -EINVAL;
}

int settings_apply(void *diag, struct script_config *config)
{
	static const char *const prefixes[] = {"BPFTRACE_", "PANTRACE_"};

	for (size_t i = 0; i < 2 * ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i / 2];
		char name[64];
		const char *value;

		snprintf(name, sizeof(name), "%s%s", prefixes[i % 2], s->name);
		value = getenv(name);
		if (!value || store(s, config, value) == 0)
			continue;
		diag_error(diag, NO_SPAN, "Invalid value for %s: '%s'", name, value);
		for (u32 w = 0; s->words && s->words[w]; w++)
			if (!w)
				diag_hint(diag, "it may be one of: %s, %s, %s%s%s", s->words[0],
					  s->words[1], s->words[2], s->words[3] ? ", " : "",
					  s->words[3] ? s->words[3] : "");
		return -EINVAL;
	}
	return 0;
}
