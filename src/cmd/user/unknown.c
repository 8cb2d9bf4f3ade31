/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warns about patterns of events that no instrumented program has; most are misspelt. */
#include "base/glob.h"
#include "base/nearest.h"
#include "cmd/user/user.h"
#include "probe/user_event.h"

struct pattern {
	const char *glob;
	const char *behind; /* the glob after a literal provider; NULL = compare whole names */
	struct nearest near;
	bool found;
};

struct search {
	struct arena arena;
	struct pattern *patterns;
	u32 n;
};

static int look(void *arg, struct user_event *e)
{
	struct search *s = arg;
	const char *name = arena_printf(&s->arena, "%s:%s", e->provider, e->name);

	for (struct pattern *p = s->patterns; p < s->patterns + s->n; p++) {
		p->found |= glob_match(p->glob, name);
		nearest_offer(&p->near,
			      p->behind ? arena_printf(&s->arena, "%s%s", e->provider, p->behind)
					: name);
	}
	return 0;
}

void user_unknown_tell(const char *const *globs, u32 n, bool only_near, struct diag *d)
{
	struct search s = {.arena = ARENA_INIT, .n = n};

	s.patterns = arena_new_array(&s.arena, struct pattern, n);
	for (u32 i = 0; i < n; i++) {
		const char *const colon = strchr(globs[i], ':');

		s.patterns[i].glob = globs[i];
		s.patterns[i].behind = colon && glob_has_wildcard(colon) ? colon : NULL;
		nearest_init(&s.patterns[i].near, globs[i]);
	}
	user_event_each(&s.arena, 0, NULL, look, &s, NULL);
	for (const struct pattern *p = s.patterns; p < s.patterns + n; p++) {
		if (p->found || (only_near && !p->near.best[0][0]))
			continue;
		diag_warning(d, NO_SPAN, "no program that runs has an event '%s'", p->glob);
		nearest_hint(&p->near, d, "");
	}
	arena_release(&s.arena);
}
