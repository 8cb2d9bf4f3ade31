// SPDX-License-Identifier: GPL-2.0-or-later
#include "user/recorder.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/refusal.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/foreign.h"
#include "user/description.h"
#include "user/runtime.h"

#define ASK_MS		  1000
#define ASK_BRIEFLY_MS	  20 /* while rings fill up; who is slow is asked again */
#define PROCESS_RINGS_MAX 64 /* that another user's process may hand over */
#define USER_RINGS_MAX	  4096
#define RINGS_OF_THREADS  64u
#define META_MAX	  (16u << 20)
#define LAST_MS		  1000
#define ROUNDS_MAX	  64
#define FILES_MAX	  100000u /* in the directory of rings */
#define SAID_MAX	  50u /* programs that are named as they do not take part */

/* Anybody can start a thousand programs: some are named, all count. */
static void trouble_say(struct recorder *r, const char *text)
{
	if (++r->nr_said <= SAID_MAX)
		fprintf(stderr, "WARNING: %s\n", text);
	else if (r->nr_said == SAID_MAX + 1)
		fputs("WARNING: there are more programs that do not take part, or not with all of "
		      "their events\n",
		      stderr);
}

/* ---- finding ---- */

int recorder_open(struct recorder *r, const struct user_session *session, struct ctf_output *output,
		  bool consume)
{
	char runtime[512];
	struct stat st;

	*r = (struct recorder){
		.session = session, .output = output, .consume = consume, .inotify = -1};
	if (!stat("/proc/self/ns/pid", &st))
		r->pid_namespace = st.st_ino;
	user_description_rings(session->text, &r->sub_size, &r->nr_subs);
	r->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (r->inotify < 0)
		return 0; /* found by looking now and then */
	inotify_add_watch(r->inotify, session->directory, IN_CREATE | IN_ONLYDIR);
	if (!user_runtime(runtime, sizeof(runtime)))
		inotify_add_watch(r->inotify, runtime, IN_CREATE | IN_ONLYDIR);
	return 0;
}

int recorder_fd(const struct recorder *r)
{
	return r->inotify;
}

void recorder_fd_clear(struct recorder *r)
{
	char events[4096];

	while (r->inotify >= 0 && read(r->inotify, events, sizeof(events)) > 0)
		;
}

static bool known_rings(const struct recorder *r, struct pantrace_reader *reader)
{
	const struct pantrace_shm *const h = pantrace_reader_header(reader);

	for (size_t i = 0; i < r->sources.len; i++)
		if (!memcmp(pantrace_reader_header(r->sources.items[i].reader)->uuid, h->uuid,
			    sizeof(h->uuid)))
			return true;
	return false;
}

struct shared_range *recorder_guard(const struct pantrace_reader *reader)
{
	struct shared_range *r = xzalloc(sizeof(*r));
	size_t size;
	const void *start = pantrace_reader_mapping(reader, &size);

	shared_range_add(r, start, size);
	return r;
}

void recorder_unguard(struct shared_range *r)
{
	shared_range_remove(r);
	free(r);
}

/*
 * Whose rings they are must be so: of a file by its owner, of memory by PEER, who handed it over.
 */
static bool owner_good(struct recorder *r, const struct pantrace_shm *h, uid_t owner,
		       const struct user_process *peer)
{
	return peer ? user_owner_handed(&r->owners, owner, peer->pid, peer->uid, (pid_t)h->pid,
					h->pid_namespace)
		    : user_owner_good(&r->owners, owner, (pid_t)h->pid, h->pid_namespace);
}

/*
 * What another user's process may have: one for each time it joins, and again after execve(), of
 * the size that the session asks for, which is ours to spend. Who has others is named, once.
 */
static bool is_bounded(struct recorder *r, const struct pantrace_shm *h, bool handed, pid_t pid,
		       uid_t uid)
{
	const u32 cpus = (u32)sysconf(_SC_NPROCESSORS_CONF);
	u32 of_process = 0, of_user = 0;
	bool is_large;

	if (!uid || uid == geteuid())
		return true;
	for (size_t i = 0; i < r->sources.len; i++) {
		of_process += r->sources.items[i].peer == pid && pid;
		of_user += r->sources.items[i].uid == uid;
	}
	is_large = h->sub_size != r->sub_size || h->nr_subs != r->nr_subs ||
		   h->nr_rings > MAX(cpus, RINGS_OF_THREADS) || h->meta_size > META_MAX;
	if (!is_large && of_process < PROCESS_RINGS_MAX && (!handed || of_user < USER_RINGS_MAX))
		return true;
	r->nr_refused++;
	if (!r->crowded_told)
		fprintf(stderr, "WARNING: process %d of user %u %s; they are not read\n", (int)pid,
			(unsigned int)uid,
			is_large ? "has rings of other sizes than the session's"
				 : "hands over more rings than a program has");
	r->crowded_told = true;
	return false;
}

/*
 * Takes FD over. PEER: NULL for a file NAME. -EAGAIN: half made yet; other errors: it is not read.
 */
static int source_add(struct recorder *r, int fd, const char *name, const struct user_process *peer)
{
	struct recorder_source source = {.pidfd = -1};
	const struct pantrace_shm *h;
	struct stat st;
	pid_t pid = peer ? peer->pid : 0;
	uid_t uid;
	int rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EPERM;

	if (!rc && pantrace_reader_open_fd(fd, r->consume, &source.reader))
		rc = user_rings_late(&st) ? -EBADMSG : -EAGAIN;
	close(fd);
	if (rc)
		return rc;
	source.range = recorder_guard(source.reader);
	h = pantrace_reader_header(source.reader);
	uid = peer ? peer->uid : st.st_uid;
	if (!pid && h->pid_namespace == r->pid_namespace)
		pid = (pid_t)h->pid;
	if (strncmp(h->session, r->session->name, sizeof(h->session)) != 0 ||
	    known_rings(r, source.reader) || !owner_good(r, h, st.st_uid, peer) ||
	    !is_bounded(r, h, peer != NULL, pid, uid) ||
	    (r->output && ctf_output_add(r->output, source.reader, &source.output))) {
		recorder_unguard(source.range);
		pantrace_reader_close(source.reader);
		return -EPERM;
	}
	if (pid > 0) {
		source.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		source.ended = source.pidfd < 0 && errno == ESRCH;
	}
	source.file = name ? xstrdup(name) : NULL;
	source.peer = pid;
	source.uid = uid;
	vector_push(&r->sources, source);
	r->nr_processes++;
	return 0;
}

/* Its recorder says what there is to say: also of a snapshot that this process takes beside it. */
static bool is_told_by_other(const struct recorder *r)
{
	return r->looks_on || (r->session->recorder == getpid() && r->output && !r->consume);
}

/* What a flight recorder waits for (user/trigger.h) has the sites of its session. */
static bool has_sites_of_other(const struct recorder *r)
{
	return !r->output && r->consume && !r->session->trigger;
}

static void late_say(void *arg, const char *text)
{
	struct recorder *const r = arg;

	r->nr_refused++;
	if (!has_sites_of_other(r))
		trouble_say(r, text);
}

static bool has_rings(void *arg, pid_t inner, u64 pid_namespace)
{
	const struct recorder *const r = arg;

	for (size_t i = 0; i < r->sources.len; i++) {
		const struct pantrace_shm *const h =
			pantrace_reader_header(r->sources.items[i].reader);

		if (h->pid == (u32)inner && h->pid_namespace == pid_namespace)
			return true;
	}
	return false;
}

void recorder_find_late(struct recorder *r, struct announce *announce)
{
	r->absent = (struct absent){
		.session = r->session, .has_rings = has_rings, .say = late_say, .arg = r};
	absent_begin(&r->absent);
	r->late = (struct latecomers){.announce = announce, .say = late_say, .arg = r};
}

static void refusal_say(struct recorder *r, pid_t pid, int error)
{
	struct strbuf said = STRBUF_INIT;
	char path[32], *comm = NULL, reason[256];
	size_t len;

	r->nr_refused++;
	if (is_told_by_other(r))
		return;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (!file_read(path, 64, &comm, &len))
		comm[strcspn(comm, "\n")] = '\0';
	if (pt_refusal_reason(error))
		snprintf(reason, sizeof(reason), "%s", pt_refusal_reason(error));
	else
		snprintf(reason, sizeof(reason), "its rings cannot be made: %s", strerror(error));
	user_refusal_text(&said, pid, comm ? comm : "it has ended", reason, error);
	trouble_say(r, said.data);
	strbuf_release(&said);
	free(comm);
}

/*
 * PID-0-ERRNO.pantrace: what is left of a process that could not make its rings (lib/rings.c); not
 * of another user's process.
 */
static bool find_refusal(struct recorder *r, int directory, const char *name)
{
	int pid, error, n = 0;
	struct stat st;

	if (sscanf(name, "%d-0-%d.pantrace%n", &pid, &error, &n) != 2 || !n || name[n])
		return false;
	if (!fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
	    user_owner_good(&r->owners, st.st_uid, pid, r->pid_namespace))
		refusal_say(r, pid, error);
	return true;
}

/* What a process could not switch on, once, and again if it becomes more as the process goes on. */
static void stays_off_say(struct recorder *r, struct recorder_source *s)
{
	const struct pantrace_shm *const h = pantrace_reader_header(s->reader);
	struct strbuf said = STRBUF_INIT;
	u32 sites, events;
	int why;

	pantrace_reader_refused(s->reader, &sites, &why, &events);
	if (sites + events <= s->stays_off || is_told_by_other(r) || has_sites_of_other(r))
		return;
	r->nr_refused += !s->stays_off;
	s->stays_off = sites + events;
	user_stays_off_text(&said, (pid_t)h->pid, strndupa(h->comm, sizeof(h->comm)), sites, why,
			    events);
	trouble_say(r, said.data);
	strbuf_release(&said);
}

/* Once. */
static void unseen_say(struct recorder *r)
{
	if (r->is_unseen_said)
		return;
	r->is_unseen_said = true;
	r->nr_refused++;
	if (!is_told_by_other(r) && !has_sites_of_other(r))
		fputs("WARNING: programs may be missing: some user has made more sockets, "
		      "directories or files for them than can be looked at\n",
		      stderr);
}

static int find_file(void *arg, int directory, const char *name)
{
	struct recorder *r = arg;
	int rc;

	if (!user_rings_name(name) || hashmap_gets(&r->known, name))
		return 0;
	if (find_refusal(r, directory, name)) {
		hashmap_puts(&r->known, name, r);
		return 0;
	}
	rc = foreign_file(directory, name, O_RDWR, NULL);
	if (rc >= 0)
		rc = source_add(r, rc, name, NULL);
	if (rc != -EAGAIN && rc != -EMFILE && rc != -ENFILE)
		hashmap_puts(&r->known, name, r);
	return 0;
}

static void find_files(struct recorder *r)
{
	const int directory = user_rings_open(r->session->directory);

	if (directory < 0)
		return;
	user_owners_look(&r->owners);
	if (foreign_each(directory, FILES_MAX, find_file, r) == -E2BIG)
		unseen_say(r);
	close(directory);
}

/* True: some were told of the session, and may have rings now. */
static bool memory_take(struct recorder *r, struct user_processes *asked)
{
	bool again;

	for (size_t i = 0; i < asked->all.len; i++) {
		struct user_process *const p = &asked->all.items[i];

		if (p->error || p->fd < 0)
			continue;
		source_add(r, p->fd, NULL, p);
		p->fd = -1;
	}
	if (asked->unseen)
		unseen_say(r);
	again = r->late.say && latecomers_find(&r->late, r->session, asked);
	if (asked->left_out && !r->left_out_told) {
		r->left_out_told = true;
		r->nr_refused++;
		fprintf(stderr,
			"WARNING: programs of user %u are not asked for rings any more: one of "
			"them answered with a descriptor that cannot be closed\n",
			(unsigned int)asked->left_out_user);
	}
	user_processes_release(asked);
	return again;
}

static bool find_memory(struct recorder *r, int timeout_ms)
{
	struct user_processes asked = {0};
	char *request = user_request("attach", r->session->name);

	user_ask(&asked, NULL, request, timeout_ms);
	free(request);
	return memory_take(r, &asked);
}

static void all_stays_off_say(struct recorder *r)
{
	for (size_t i = 0; i < r->sources.len; i++)
		stays_off_say(r, &r->sources.items[i]);
}

/* Whether all are to be asked. */
static bool look_for_late(struct recorder *r)
{
	const bool before = r->late.is_crowded;
	const bool any = r->late.say && latecomers_look(&r->late, r->session);

	/* it need not be so: most find the session themselves */
	if (r->late.is_crowded && !before)
		fputs("WARNING: more processes begin than can be looked at: programs in containers "
		      "among them may be missing\n",
		      stderr);
	return any;
}

void recorder_look(struct recorder *r, bool ask)
{
	struct user_processes asked = {0};
	char *request;

	find_files(r);
	ask |= look_for_late(r);
	if (user_ask_ready(&r->asking)) {
		user_ask_end(&r->asking, &asked);
		ask |= memory_take(r, &asked);
		all_stays_off_say(r);
	}
	if (r->late.say)
		absent_look(&r->absent, false);
	if (!ask || r->asking.is_begun)
		return;
	request = user_request("attach", r->session->name);
	if (user_ask_begin(&r->asking, NULL, request, ASK_MS)) {
		find_memory(r, ASK_BRIEFLY_MS);
		all_stays_off_say(r);
	}
	free(request);
}

/* What processes have told. How many. */
static u32 told_take(struct recorder *const *recorders, size_t n, struct announce *a)
{
	struct announced_refusal refusal;
	struct announced_rings rings;
	u32 taken = 0;

	for (; announce_rings(a, &rings); taken++) {
		const struct user_process peer = {.pid = rings.pid, .uid = rings.uid};

		for (size_t i = 0; i < n; i++)
			source_add(recorders[i], dup(rings.fd), NULL, &peer);
		close(rings.fd);
	}
	for (; announce_refusal(a, &refusal); taken++)
		for (size_t i = 0; i < n; i++)
			if (str_eq(refusal.session, recorders[i]->session->name))
				refusal_say(recorders[i], refusal.pid, refusal.error);
	return taken;
}

/* Those that have not been heard to their end. */
static void unheard_say(struct recorder *r, const struct announce *a)
{
	uid_t user;
	const u32 unheard = announce_unheard(a, &user);

	if (!unheard)
		return;
	r->nr_refused += unheard;
	fprintf(stderr,
		"WARNING: programs of user %u may be missing: one of them handed over a descriptor "
		"that cannot be closed\n",
		(unsigned int)user);
}

int recorder_serve(struct recorder *const *recorders, size_t n, struct announce *a, bool last,
		   struct diag *d)
{
	const u64 until = clock_now_ms(CLOCK_MONOTONIC) + LAST_MS;
	int rc, round = 0;
	uid_t user;
	u32 taken;

	if (last)
		announce_end(a);
	/* a program's rings are all that is left of it; a stranger's need not end */
	do {
		rc = announce_serve(a, d);
		taken = told_take(recorders, n, a);
	} while (!rc && clock_now_ms(CLOCK_MONOTONIC) < until &&
		 (taken ? last || ++round < ROUNDS_MAX : last && announce_unheard(a, &user)));
	if (last)
		unheard_say(recorders[0], a);
	return rc;
}

void recorder_find(struct recorder *r, bool ask)
{
	struct user_processes asked = {0};

	if (r->asking.is_begun) {
		user_ask_end(&r->asking, &asked);
		memory_take(r, &asked);
	}
	find_files(r);
	ask |= look_for_late(r);
	if (ask) {
		const int timeout_ms = r->nr_processes && r->started ? ASK_BRIEFLY_MS : ASK_MS;

		if (find_memory(r, timeout_ms))
			find_memory(r, timeout_ms);
		all_stays_off_say(r);
	}
	if (r->late.say && r->started)
		absent_look(&r->absent, false);
	r->started = true;
}

void recorder_find_last(struct recorder *r)
{
	recorder_find(r, true);
	if (r->late.say)
		absent_look(&r->absent, true);
}

/* ---- writing ---- */

static int source_drain(struct recorder *r, struct recorder_source *s, enum ctf_drain what)
{
	int rc;

	if (s->damaged || !r->output)
		return 0;
	rc = ctf_output_drain(r->output, s->output, what);
	/* -EFAULT: packets are written from where they are */
	if (rc == -EBADMSG || rc == -EFAULT || s->range->is_cut) {
		s->damaged = true;
		r->nr_damaged++;
		rc = 0;
	}
	return rc;
}

int recorder_drain(struct recorder *r, enum ctf_drain what)
{
	const u64 before = r->output ? ctf_output_totals(r->output).packets : 0;
	int rc = 0;

	for (size_t i = 0; i < r->sources.len; i++) {
		const int one = source_drain(r, &r->sources.items[i], what);

		rc = one ? one : rc;
	}
	if (rc)
		return rc;
	return r->output && ctf_output_totals(r->output).packets != before;
}

static void source_release(struct recorder *r, struct recorder_source *s)
{
	if (s->output)
		ctf_output_remove(r->output, s->output);
	recorder_unguard(s->range);
	pantrace_reader_close(s->reader);
	if (s->pidfd >= 0)
		close(s->pidfd);
	free(s->file);
}

static void file_remove(struct recorder *r, const char *name)
{
	const int directory = user_rings_open(r->session->directory);

	if (directory < 0)
		return;
	foreign_remove(directory, name, 0);
	close(directory);
}

void recorder_reap(struct recorder *r)
{
	for (size_t i = 0; i < r->sources.len; i++) {
		struct recorder_source *const s = &r->sources.items[i];
		struct pollfd p = {s->pidfd, POLLIN, 0};

		if (!s->ended && s->pidfd >= 0 && poll(&p, 1, 0) > 0)
			s->ended = true;
		/* in a flight recorder's session the last moments of the dead are what it is for */
		if (!s->ended || (!r->consume && !r->looks_on && (r->output || !s->file)) ||
		    source_drain(r, s, CTF_ALL))
			continue;
		stays_off_say(r, s);
		r->lost += pantrace_reader_lost(s->reader);
		if (s->file && !s->damaged && r->consume)
			file_remove(r, s->file);
		if (s->damaged)
			continue;
		source_release(r, s);
		r->sources.items[i] = vector_last(&r->sources);
		r->sources.len--;
		i--;
	}
}

u64 recorder_lost(const struct recorder *r)
{
	u64 lost = r->lost;

	for (size_t i = 0; i < r->sources.len; i++)
		lost += pantrace_reader_lost(r->sources.items[i].reader);
	return lost;
}

void recorder_close(struct recorder *r)
{
	for (size_t i = 0; i < r->sources.len; i++)
		source_release(r, &r->sources.items[i]);
	vector_free(&r->sources);
	hashmap_release(&r->known);
	latecomers_release(&r->late);
	absent_release(&r->absent);
	user_owners_release(&r->owners);
	if (r->inotify >= 0)
		close(r->inotify);
}
