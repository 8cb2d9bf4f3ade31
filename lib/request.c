// SPDX-License-Identifier: MIT
/* Requests of tools and their answers (pantrace/protocol.h). One thread at a time. */
#include "internal.h"
#include "refusal.h"
#include <errno.h>
#include <pantrace/protocol.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ANSWER_MAX (16u << 20)

/* Room for N more bytes; false when the answer is as long as it may be. */
static bool answer_room(struct pt_answer *answer, size_t n)
{
	size_t room = answer->room ? answer->room : 65536;
	void *text;

	while (room - answer->used < n)
		room *= 2;
	if (room == answer->room)
		return true;
	if (room > ANSWER_MAX)
		return false;
	if (answer->text)
		text = mremap(answer->text, answer->room, room, MREMAP_MAYMOVE);
	else
		text = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (text == MAP_FAILED)
		return false;
	answer->text = text;
	answer->room = room;
	return true;
}

void pt_answer_add(struct pt_answer *answer, const char *format, ...)
{
	va_list args;
	int n;

	if (answer->cut)
		return;
	if (!answer_room(answer, 4096)) {
		answer->cut = true;
		return;
	}
	va_start(args, format);
	n = vsnprintf(answer->text + answer->used, 4096, format, args);
	va_end(args);
	/* a line that does not fit is left out entirely */
	if (n > 0 && n < 4096)
		answer->used += (size_t)n;
	else
		answer->cut = true;
}

static const char *const states[] = {"none", "armed", "running", "stopped"};

static void refused_line(struct pt_answer *answer)
{
	if (pantrace_refused() || pt_sites_nameless())
		pt_answer_add(answer, "refused %u %u %d\n", pantrace_refused(), pt_sites_nameless(),
			      -pt_sites_why());
}

static void session_line(struct pt_answer *answer, const struct pt_session_info *info)
{
	pt_answer_add(
		answer, "session %s %s %llu %llu %s%s%s\n",
		*info->spec.name ? info->spec.name : ".",
		info->untracked && info->state != PT_STOPPED ? "untracked" : states[info->state],
		(unsigned long long)info->counts.events, (unsigned long long)info->counts.lost,
		*info->file ? info->spec.directory : "-", *info->file ? "/" : "", info->file);
	if (info->unheard)
		pt_answer_add(answer, "unheard\n");
	refused_line(answer);
}

/* The session's number, or 0. */
static unsigned int session_by_name(const char *name, struct pt_session_info *ret)
{
	for (unsigned int i = 1; i < PT_SESSIONS; i++)
		if (pt_session_info(i, ret) && !strcmp(ret->spec.name, name))
			return i;
	return 0;
}

static int do_hello(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	char comm[17] = "";

	prctl(PR_GET_NAME, comm);
	pt_answer_add(answer, "process %d %d\n", (int)getpid(), (int)getppid());
	for (unsigned int i = 0; i < PT_SESSIONS; i++) {
		struct pt_session_info info;

		if (pt_session_info(i, &info))
			session_line(answer, &info);
	}
	return 0;
}

struct listing {
	struct pt_answer *answer;
	const struct pantrace_event *event; /* whose sites are being counted */
	unsigned int sites;
};

static void listing_flush(struct listing *listing)
{
	const struct pantrace_event *const event = listing->event;
	char fields[2048];

	if (!event || *event->types == PANTRACE_T_GATE)
		return;
	pt_event_fields(event, fields, sizeof(fields));
	pt_answer_add(listing->answer, "event %u %d %u %s:%s%s\n", listing->sites,
		      __builtin_popcount(event->sessions), pt_event_level(event), event->provider,
		      event->name, fields);
}

static void list_site(const struct pantrace_event *event, void *ctx)
{
	struct listing *const listing = ctx;

	if (event != listing->event) {
		listing_flush(listing);
		listing->event = event;
		listing->sites = 0;
	}
	listing->sites++;
}

static int do_list(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	struct listing listing = {.answer = answer};
	const int rc = pt_state_get();

	if (rc)
		return rc;
	pt_lock();
	pt_sites_each(list_site, &listing);
	listing_flush(&listing);
	pt_unlock();
	refused_line(answer);
	return 0;
}

static int with_session(const char *name, struct pt_answer *answer)
{
	struct pt_session_info info;

	if (!session_by_name(name, &info))
		return -ENOENT;
	session_line(answer, &info);
	return 0;
}

static struct pt_description description; /* too large for the helper's stack */

static int describe(const char *text, size_t n, struct pt_answer *answer)
{
	const int rc = pt_description_parse(text, n, &description);
	const bool with_reason = rc == -EOPNOTSUPP || rc == -E2BIG;

	if (rc)
		pt_answer_add(answer, "line %u of the description%s%s", description.line,
			      with_reason ? ": " : "", with_reason ? pt_refusal_reason(-rc) : "");
	return rc;
}

static int do_start(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	int rc = describe(text, n, answer);
	const char *why;

	if (rc)
		return rc;
	if (!*description.spec.name)
		return -EINVAL;
	rc = pt_session_start(&description.spec, &description.rules, &why);
	if (rc == -ENOSPC) { /* destroyed sessions may still occupy the places */
		pt_sessions_bury();
		rc = pt_session_start(&description.spec, &description.rules, &why);
	}
	if (rc && why)
		pt_answer_add(answer, "%s", why);
	return rc ? rc : with_session(description.spec.name, answer);
}

static int do_rules(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	int rc = describe(text, n, answer);

	if (rc)
		return rc;
	rc = pt_session_rules(name, &description.rules);
	if (rc == -E2BIG)
		pt_answer_add(answer, "%s", pt_refusal_reason(-rc));
	return rc;
}

static int do_track(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	int rc = describe(text, n, answer);

	if (!rc)
		rc = pt_session_track(name, &description.spec.tracked);
	return rc ? rc : with_session(name, answer);
}

static int do_stop(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	const int rc = pt_session_stop(name);

	if (!rc)
		with_session(name, answer);
	return rc;
}

static int do_resume(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	const int rc = pt_session_resume(name);

	if (rc && rc != -ENOENT && pt_refusal_reason(-rc))
		pt_answer_add(answer, "%s", pt_refusal_reason(-rc));
	return rc ? rc : with_session(name, answer);
}

static int do_status(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	return with_session(name, answer);
}

static int do_attach(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	struct pt_session_info info;
	const unsigned int number = session_by_name(name, &info);

	if (!number)
		return -ENOENT;
	session_line(answer, &info);
	answer->fd = pt_session_fd(number);
	return 0;
}

static int do_destroy(const char *name, const char *text, size_t n, struct pt_answer *answer)
{
	return pt_session_destroy(name);
}

static const struct verb {
	const char *word;
	bool names_session;
	int (*run)(const char *name, const char *text, size_t n, struct pt_answer *answer);
} verbs[] = {
	{"hello", false, do_hello},  {"list", false, do_list},	  {"start", false, do_start},
	{"rules", true, do_rules},   {"stop", true, do_stop},	  {"resume", true, do_resume},
	{"status", true, do_status}, {"attach", true, do_attach}, {"destroy", true, do_destroy},
	{"track", true, do_track},
};

int pt_request(const char *text, size_t n, struct pt_answer *answer)
{
	char name[PANTRACE_SESSION_NAME] = "";
	const char *at = text, *const end = text + n;
	struct pt_line line, word, version;
	uint64_t protocol;

	if (!pt_line_next(&at, end, &line) || !pt_word_next(&line, &word) ||
	    !pt_word_is(&word, "pantrace") || !pt_word_next(&line, &word) ||
	    !pt_word_number(&word, UINT32_MAX, &protocol) || !pt_word_next(&line, &version)) {
		pt_answer_add(answer, "not a request");
		return -EBADMSG;
	}
	if (protocol != PANTRACE_PROTOCOL) {
		pt_answer_add(
			answer,
			"libpantrace %s speaks protocol %d, the tool %.*s speaks protocol %llu",
			PANTRACE_LIB_VERSION, PANTRACE_PROTOCOL,
			(int)(version.end - version.at > 32 ? 32 : version.end - version.at),
			version.at, (unsigned long long)protocol);
		return -EPROTONOSUPPORT;
	}
	if (!pt_word_next(&line, &word))
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		struct pt_line session;
		int rc;

		if (!pt_word_is(&word, verbs[i].word))
			continue;
		if (verbs[i].names_session &&
		    (!pt_word_next(&line, &session) || !pt_word_name(&session, name)))
			return -EINVAL;
		if (line.at < line.end)
			return -EINVAL;
		if (i == 0)
			pt_answer_add(answer, "library %d %s\n", PANTRACE_PROTOCOL,
				      PANTRACE_LIB_VERSION);
		rc = verbs[i].run(name, at, (size_t)(end - at), answer);
		return answer->cut && !rc ? -EMSGSIZE : rc;
	}
	return -EOPNOTSUPP;
}
