// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/latecomers.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pantrace/protocol.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "user/description.h"

#define ASK_MS	       1000
#define ASK_BRIEFLY_MS 20
#define YOUNG_MAX      16384
#define AT_ONCE_MAX    1024
#define OLD	       33 /* looks */
#define LOOK_NS	       50000000ull

#define WAIT_MS 3000 /* in all, and a twentieth of the time: rings fill up meanwhile */

typedef VECTOR(pid_t) pid_vector;

/* How long an answer is waited for: any user can start programs that do not answer. */
static int patience(const struct latecomers *l)
{
	const u64 now = clock_now_ms(CLOCK_MONOTONIC);
	const u64 may = WAIT_MS + (l->began_ms ? now - l->began_ms : 0) / 20;

	return l->waited_ms < may ? ASK_MS : ASK_BRIEFLY_MS;
}

/* The line of the session in what the process said, or NULL. */
static const char *session_line(const struct user_session *session, const struct user_process *p)
{
	char *word = xasprintf("session %s ", session->name);
	const char *const line = p->error || !p->text ? NULL : strstr(p->text, word);
	const char *const rest = line ? line + strlen(word) : NULL;

	free(word);
	return rest;
}

/* Whether it waits for filters, and could not ask for them. */
static bool is_unheard(const struct user_session *session, const struct user_process *p)
{
	const char *const line = session_line(session, p);
	const char *const next = line ? strchr(line, '\n') : NULL;

	return next && str_starts(next, "\nunheard\n");
}

/*
 * Whether it sees other files than we do: in a container, or below another root. RET_GONE may be
 * NULL.
 */
static bool is_elsewhere(pid_t pid, bool *ret_gone)
{
	static const char *const places[] = {"ns/mnt", "root"};
	struct stat here, there;
	char path[48];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, places[i]);
		if (stat(path, &there)) {
			if (ret_gone)
				*ret_gone |= errno == ENOENT;
			continue;
		}
		snprintf(path, sizeof(path), "/proc/self/%s", places[i]);
		if (!stat(path, &here) &&
		    (here.st_dev != there.st_dev || here.st_ino != there.st_ino))
			return true;
	}
	return false;
}

/*
 * What is told to those found late: each the filters of its own events, in as many messages as they
 * take.
 */
struct notice {
	const char *text; /* how the first message begins, */
	const char *more; /* and the next ones */
	struct hashmap filters; /* of the events of each, by PID: struct strbuf */
	u32 number; /* of the message */
};

/* The lines that the message has for process PID; *RET_SIZE 0: it has all. */
static const char *notice_lines(const struct notice *n, pid_t pid, size_t *ret_size)
{
	const struct strbuf *const filters = hashmap_get(&n->filters, &pid, sizeof(pid));
	const size_t room = PANTRACE_MESSAGE_MAX - MAX(strlen(n->text), strlen(n->more)) - 1;
	const char *lines = filters && filters->data ? filters->data : "";

	for (u32 i = 0;; i++) {
		const size_t most = strnlen(lines, room);
		const char *const last = lines[most] ? memrchr(lines, '\n', most) : NULL;

		*ret_size = last ? (size_t)(last + 1 - lines) : most;
		if (i == n->number || !*ret_size)
			return lines;
		lines += *ret_size;
	}
}

static char *notice_for(const void *arg, const struct user_process *p)
{
	const struct notice *const n = arg;
	size_t size;
	const char *const lines = notice_lines(n, p->pid, &size);

	return xasprintf("%s%.*s", n->number ? n->more : n->text, (int)size, lines);
}

static void notice_release(struct notice *n)
{
	hashmap_each (&n->filters, e) {
		strbuf_release(e->value);
		free(e->value);
	}
	hashmap_release(&n->filters);
}

/* The lines of filters that a process would be answered for the events that it has. */
static struct strbuf *filters_make(struct latecomers *l, const struct user_session *session,
				   const struct user_process *p, struct diag *d)
{
	struct strbuf *const ret = xmalloc(sizeof(*ret));
	char *rest = p->error ? NULL : p->text, *line;

	*ret = (struct strbuf)STRBUF_INIT;
	while (rest && (line = strsep(&rest, "\n"))) {
		unsigned int level;
		char *event;
		int n = 0;

		if (sscanf(line, "event %*u %*u %u %n", &level, &n) != 1 || !n ||
		    !user_description_wants(session->text, line + n, level))
			continue;
		/* as it would ask itself */
		event = xasprintf("event 1 0 %u %s", level, line + n);
		announce_filters(l->announce, session->name, event, !p->uid || p->uid == geteuid(),
				 d, ret);
		free(event);
	}
	return ret;
}

static void filters_add(struct latecomers *l, const struct user_session *session,
			const struct user_selection *which, struct notice *ret)
{
	struct user_processes listed = {0};
	struct diag d = DIAG_INIT;
	char *request = user_request("list", NULL);

	user_ask(&listed, which, request, patience(l));
	for (size_t i = 0; i < listed.all.len; i++) {
		const struct user_process *const p = &listed.all.items[i];

		if (p->pid)
			*hashmap_put(&ret->filters, &p->pid, sizeof(p->pid), NULL) =
				filters_make(l, session, p, &d);
	}
	diag_close(&d, 0);
	user_processes_release(&listed);
	free(request);
}

static void say(struct latecomers *l, const struct user_process *p, const char *what)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "process %d (", (int)p->pid);
	escape_line(&text, p->name, strlen(p->name));
	strbuf_addf(&text, ") %s: its events before that are not recorded", what);
	l->say(l->arg, text.data);
	strbuf_release(&text);
}

static void refusal_say(struct latecomers *l, const struct user_process *p)
{
	struct strbuf text = STRBUF_INIT;

	user_refusal_text(&text, p->pid, p->name,
			  p->text && *p->text ? p->text : strerror(-p->error), -p->error);
	l->say(l->arg, text.data);
	strbuf_release(&text);
}

/* What one that was not in the session answered to "start". */
static void start_say(struct latecomers *l, const struct user_session *session,
		      const struct user_process *p)
{
	const char *const line = session_line(session, p);

	if (line && str_starts(line, "running ") && (l->started || !session->untold))
		say(l, p,
		    is_elsewhere(p->pid, NULL)
			    ? "is in a container and was found after it had begun"
			    : "does not see the session and was found after it had begun");
	if (p->error == -ETIMEDOUT && l->started)
		say(l, p, "was found after it had begun, and is stopped or too busy to answer");
	/* as a session begins those who refuse are named already */
	if (user_is_refusal(p) && (l->started || !session->refused))
		refusal_say(l, p);
}

/* One that does not take its filters: it is told again each time that all are asked. */
static void filters_refusal_say(struct latecomers *l, const struct user_process *p)
{
	const u64 key[] = {p->device, p->inode};
	bool is_new;

	if (!user_is_refusal(p))
		return;
	hashmap_put(&l->refused, key, sizeof(key), &is_new);
	if (is_new)
		refusal_say(l, p);
}

/* The next messages, to those who need them. */
static void tell_more(struct latecomers *l, const pid_vector *pids, struct notice *notice)
{
	pid_vector some = {0};
	size_t size;

	do {
		struct user_processes told = {0};

		some.len = 0;
		notice->number++;
		for (size_t i = 0; i < pids->len; i++) {
			notice_lines(notice, pids->items[i], &size);
			if (size)
				vector_push(&some, pids->items[i]);
		}
		if (!some.len)
			break;
		user_ask_each(
			&told,
			&(struct user_selection){.pids = some.items, .nr_pids = (u32)some.len},
			notice_for, notice, patience(l));
		for (size_t i = 0; i < told.all.len; i++)
			filters_refusal_say(l, &told.all.items[i]);
		user_processes_release(&told);
	} while (some.len);
	vector_free(&some);
}

/* Those who are not in the session are told of it, others of their filters. */
static void tell(struct latecomers *l, const struct user_session *session, const pid_vector *pids,
		 bool start)
{
	const struct user_selection which = {.pids = pids->items, .nr_pids = (u32)pids->len};
	struct user_processes told = {0};
	char *const rules = user_request("rules", session->name);
	char *const request = user_request("start", NULL);
	char *const text = xasprintf("%s%s", request, session->text);
	struct notice notice = {.text = start ? text : rules, .more = rules};

	if (session->ask && l->announce)
		filters_add(l, session, &which, &notice);
	user_ask_each(&told, &which, notice_for, &notice, patience(l));
	for (size_t i = 0; i < told.all.len; i++) {
		const struct user_process *const p = &told.all.items[i];

		if (start)
			start_say(l, session, p);
		else
			filters_refusal_say(l, p);
		if (!start && !p->error)
			say(l, p,
			    "could not ask for the filter of its events, and was found later");
	}
	tell_more(l, pids, &notice);
	user_processes_release(&told);
	notice_release(&notice);
	free(text);
	free(request);
	free(rules);
}

/* NOTED: of the processes that are not in the session. */
static bool take(struct latecomers *l, const struct user_session *session,
		 const struct user_processes *asked, struct hashmap *noted)
{
	pid_vector late = {0}, unheard = {0};
	bool any;

	for (size_t i = 0; i < asked->all.len; i++) {
		const struct user_process *const p = &asked->all.items[i];
		const u64 key[] = {p->device, p->inode};
		const bool is_new = !hashmap_get(&l->strangers, key, sizeof(key));

		if (p->pid && is_unheard(session, p))
			vector_push(&unheard, p->pid);
		/* one that was too busy to answer this time is what it was */
		if (!p->pid || (p->error != -ENOENT && (is_new || !p->error)))
			continue;
		*hashmap_put(noted, key, sizeof(key), NULL) = l;
		if (is_new && user_description_means(session->text, p->name, p->pid))
			vector_push(&late, p->pid);
	}
	if (late.len)
		tell(l, session, &late, true);
	if (unheard.len)
		tell(l, session, &unheard, false);
	any = late.len || unheard.len;
	vector_free(&late);
	vector_free(&unheard);
	return any;
}

bool latecomers_find(struct latecomers *l, const struct user_session *session,
		     const struct user_processes *asked)
{
	const u64 begin = clock_now_ms(CLOCK_MONOTONIC);
	struct hashmap still = {0};
	const bool any = take(l, session, asked, &still);

	l->waited_ms += clock_now_ms(CLOCK_MONOTONIC) - begin;
	hashmap_release(&l->strangers);
	l->strangers = still; /* those who have ended are forgotten */
	l->started = true;
	return any;
}

/* Of our pid namespace; 0: not known. */
static pid_t newest_process(void)
{
	char *text, *last;
	pid_t pid = 0;
	size_t len;

	if (file_read("/proc/loadavg", 256, &text, &len))
		return 0;
	last = strrchr(text, ' ');
	if (last)
		pid = (pid_t)atoi(last + 1);
	free(text);
	return pid;
}

/* A program comes after its process, its namespaces, and its socket after the program. */
static bool is_due(u32 age)
{
	return !(age & (age - 1));
}

static bool ask(struct latecomers *l, const struct user_session *session, const pid_vector *pids)
{
	const struct user_selection which = {.pids = pids->items, .nr_pids = (u32)pids->len};
	struct user_processes asked = {0};
	char *request = user_request("attach", session->name);
	bool any;

	user_ask(&asked, &which, request, patience(l));
	any = take(l, session, &asked, &l->strangers);
	user_processes_release(&asked);
	free(request);
	return any;
}

static void young_add(struct latecomers *l, pid_t pid)
{
	if (l->young.len < YOUNG_MAX)
		vector_push(&l->young, ((struct newcomer){.pid = pid}));
	else
		l->is_crowded = true;
}

/* Of many numbers, or of those that have begun anew, the ones whose processes are there. */
static void young_list(struct latecomers *l, pid_t before, pid_t newest)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		const pid_t pid = (pid_t)atoi(entry->d_name);

		if (pid > 0 && (newest < before ? pid > before || pid <= newest
						: pid > before && pid <= newest))
			young_add(l, pid);
	}
	if (dir)
		closedir(dir);
}

bool latecomers_look(struct latecomers *l, const struct user_session *session)
{
	const u64 now = clock_now_ns(CLOCK_MONOTONIC);
	const pid_t before = l->newest;
	pid_vector elsewhere = {0};
	size_t kept = 0;
	pid_t newest;
	bool any;

	if (now - l->looked_ns < LOOK_NS)
		return false;
	if (!l->began_ms)
		l->began_ms = now / 1000000;
	l->newest = newest = newest_process();
	for (size_t i = 0; i < l->young.len; i++) {
		struct newcomer *const n = &l->young.items[i];
		bool gone = false;

		if (is_due(++n->age) && is_elsewhere(n->pid, &gone))
			vector_push(&elsewhere, n->pid);
		if (!gone && n->age < OLD)
			l->young.items[kept++] = *n;
	}
	l->young.len = kept;
	any = elsewhere.len && ask(l, session, &elsewhere);
	l->waited_ms += (clock_now_ns(CLOCK_MONOTONIC) - now) / 1000000;
	l->looked_ns = clock_now_ns(CLOCK_MONOTONIC);
	vector_free(&elsewhere);
	if (!before || newest == before)
		return any;
	if (newest < before || newest - before > AT_ONCE_MAX)
		young_list(l, before, newest);
	for (pid_t pid = before + 1; pid <= newest && newest - before <= AT_ONCE_MAX; pid++)
		young_add(l, pid);
	return any;
}

void latecomers_release(struct latecomers *l)
{
	vector_free(&l->young);
	hashmap_release(&l->strangers);
	hashmap_release(&l->refused);
}
