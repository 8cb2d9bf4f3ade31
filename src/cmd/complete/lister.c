/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/complete/lister.h"

#include "kernel/kernel.h"

void lister_open(struct lister *s, const struct completion *c)
{
	*s = (struct lister){.c = c, .prefix = "", .rest = c->word, .diag = DIAG_INIT};
	type_store_init(&s->types);
	s->env = (struct probe_env){.types = &s->types,
				    .arena = &s->arena,
				    .diag = &s->diag,
				    .list_only = true,
				    .kernel = kernel_new(),
				    .btf = btf_attach(&s->types, NULL)};
}

void lister_close(struct lister *s)
{
	probe_env_release(&s->env);
	kernel_release(s->env.kernel);
	btf_release(s->env.btf);
	type_store_release(&s->types);
	diag_release(&s->diag);
	hashmap_release(&s->seen);
	arena_release(&s->arena);
}

void lister_split_behind(struct lister *s, const char *characters)
{
	const char *end = s->rest;

	for (const char *p = s->rest; *p; p++)
		if (strchr(characters, *p))
			end = p + 1;
	s->prefix = arena_printf(&s->arena, "%s%.*s", s->prefix, (int)(end - s->rest), s->rest);
	s->rest = end;
}

void lister_offer(struct lister *s, const char *name, const char *help)
{
	if (str_starts(name, s->rest))
		s->c->offer(s->c->arg, arena_printf(&s->arena, "%s%s", s->prefix, name), help);
}

int lister_offer_part(void *arg, const char *name)
{
	struct lister *s = arg;
	const size_t len = strlen(s->rest);
	const char *colon;
	char *part;

	name += s->skip;
	if (strncmp(name, s->rest, len))
		return 0;
	colon = strchr(name + len, ':');
	part = arena_strndup(&s->arena, name, colon ? (size_t)(colon + 1 - name) : strlen(name));
	if (hashmap_gets(&s->seen, part))
		return 0;
	hashmap_puts(&s->seen, part, part);
	lister_offer(s, part, "");
	return 0;
}
