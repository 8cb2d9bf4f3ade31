// SPDX-License-Identifier: MIT
/* Which events a session wants: globs over "provider:name", each with a log level. */
#include "internal.h"
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

static bool same(const struct pt_rule *a, const struct pt_rule *b)
{
	return !strcmp(a->glob, b->glob) && a->level == b->level && a->exactly == b->exactly;
}

int pt_rules_add(struct pt_rules *rules, const char *glob, size_t n, bool on, uint8_t level,
		 bool exactly)
{
	struct pt_rule rule = {.on = on, .exactly = exactly, .level = level};

	if (!n)
		return -EINVAL;
	if (n >= PT_RULE_GLOB)
		return -ENAMETOOLONG;
	memcpy(rule.glob, glob, n);
	if (strlen(rule.glob) != n)
		return -EINVAL;
	for (unsigned int i = 0; i < rules->nr; i++) {
		if (!same(&rules->rule[i], &rule))
			continue;
		memmove(&rules->rule[i], &rules->rule[i + 1],
			(rules->nr - i - 1) * sizeof(rules->rule[0]));
		rules->nr--;
		break;
	}
	if (!on && level == PT_LEVEL_ANY && !strcmp(rule.glob, "*")) {
		rules->nr = 0;
		rules->nr_filters = 0;
		rules->nr_aggregates = 0;
		return 0;
	}
	if (rules->nr == PT_RULES)
		return -ENOSPC;
	rules->rule[rules->nr++] = rule;
	return 0;
}

/* As fnmatch(3), which is slow, with a fast path for the usual forms: "app:*", "app:event". */
static bool glob_match(const char *glob, const char *full)
{
	const size_t n = strcspn(glob, "*?[\\");

	if (!glob[n])
		return !strcmp(glob, full);
	if (glob[n] == '*' && !glob[n + 1])
		return !strncmp(glob, full, n);
	return !fnmatch(glob, full, 0);
}

bool pt_rules_want(const struct pt_rules *rules, const char *full, uint8_t level)
{
	for (unsigned int i = rules->nr; i-- > 0;) {
		const struct pt_rule *rule = &rules->rule[i];

		if (rule->level != PT_LEVEL_ANY &&
		    (rule->exactly ? level != rule->level : level > rule->level))
			continue;
		if (glob_match(rule->glob, full))
			return rule->on;
	}
	return false;
}
