/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request for completion: what candidates.c and machine.c offer names to. */
#ifndef PANTRACE_CMD_COMPLETE_LISTER_H
#define PANTRACE_CMD_COMPLETE_LISTER_H

#include "cmd/complete/candidates.h"
#include "probe/probe.h"

/*
 * One request: where names come from, and the text in front of the part of the word that is
 * completed.
 */
struct lister {
	const struct completion *c;
	/* "sched:sched_waking,", "p:"; put in front of each name that is offered */
	const char *prefix;
	const char *rest; /* of the word after the prefix */
	size_t skip; /* bytes to skip at the start of each name: "kprobe:" */
	struct hashmap seen;
	struct arena arena;
	struct diag diag; /* where diagnostics go: nobody reads them */
	struct type_store types;
	struct probe_env env;
};

void lister_open(struct lister *s, const struct completion *c);
void lister_close(struct lister *s);
/* The prefix ends after the last of these characters. */
void lister_split_behind(struct lister *s, const char *characters);
/* Offers this name if it begins with what was typed. help: "" = none. */
void lister_offer(struct lister *s, const char *name, const char *help);
/*
 * The same, up to the end of the part that is being typed, and each name once. arg: the lister.
 * Returns 0.
 */
int lister_offer_part(void *arg, const char *name);

/* What this machine has now. */
void machine_processes(struct lister *s);
void machine_process_names(struct lister *s);
void machine_disks(struct lister *s);
void machine_users(struct lister *s);
void machine_groups(struct lister *s);
void machine_sessions(struct lister *s);
void machine_buffers(struct lister *s);
void machine_triggers(struct lister *s);

#endif
