// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/announce_answers.h"

#include <string.h>

#include <pantrace/protocol.h>

#include "base/glob.h"

/* Events whose answer is kept: a hostile program could make up any number. */
#define KNOWN_MAX 16384

void answers_add(struct answers *a, const char *session, const char *glob, const char *predicate)
{
	vector_push(&a->rules, ((struct rule){xstrdup(session), xstrdup(glob),
					      predicate ? xstrdup(predicate) : NULL}));
}

static const struct rule *rule_of(const struct answers *a, const char *session, const char *event)
{
	for (size_t i = 0; i < a->rules.len; i++)
		if (str_eq(a->rules.items[i].session, session) &&
		    glob_match(a->rules.items[i].glob, event))
			return &a->rules.items[i];
	return NULL;
}

/* "ok" with the filter, or "error". */
static const char *answer_make(struct answers *a, const struct rule *rule, const char *line,
			       struct diag *d, int *ret_rc)
{
	const char *predicate = rule->predicate ? rule->predicate : "1";
	struct strbuf text = STRBUF_INIT;
	const char *answer = "error 22 the predicate does not fit the event\n";

	strbuf_addstr(&text, "ok\n");
	*ret_rc = a->compiler->line(line, predicate, d, &text);
	if (!*ret_rc && text.len <= PANTRACE_MESSAGE_MAX)
		answer = arena_strdup(&a->arena, text.data);
	strbuf_release(&text);
	return answer;
}

const char *answer_for(struct answers *a, const char *session, const char *line, bool trusted,
		       struct diag *d, int *ret_rc)
{
	const char *name = line, *answer;
	const struct rule *rule;
	char *key, *event;
	int rc = 0;

	for (int i = 0; i < 4 && *name; i++)
		name += strcspn(name, " ") + (name[strcspn(name, " ")] == ' ');
	event = xstrndup(name, strcspn(name, " "));
	rule = rule_of(a, session, event);
	if (!rule) {
		free(event);
		return "error 2 no such session\n";
	}
	key = xasprintf("%zu %s", (size_t)(rule - a->rules.items), line);
	answer = hashmap_gets(&a->known, key);
	if (!answer && a->nr_known[trusted] < KNOWN_MAX) {
		answer = answer_make(a, rule, line, d, &rc);
		hashmap_puts(&a->known, key, (void *)answer);
		a->nr_known[trusted]++;
		if (rc && rc != -EBADMSG) { /* which would not be the predicate's fault */
			*ret_rc = -EINVAL;
			a->refused++;
		}
	}
	a->refused += !answer;
	free(event);
	free(key);
	return answer ? answer : "error 28 too many events\n";
}

void answers_release(struct answers *a)
{
	for (size_t i = 0; i < a->rules.len; i++) {
		free(a->rules.items[i].session);
		free(a->rules.items[i].glob);
		free(a->rules.items[i].predicate);
	}
	vector_free(&a->rules);
	hashmap_release(&a->known);
	arena_release(&a->arena);
}
