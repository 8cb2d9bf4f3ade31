/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/report/rounds.h"

#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "view/terminal/parts.h"
#include "view/terminal/signals.h"

#define LOOK_MS 500 /* for signals that came just before it waits */

struct rounds {
	const struct asked *asked;
	struct live *live;
	report_record_fn *record;
	bool is_over, has_lost;
	/* ---- the screen; not open = tables are printed ---- */
	struct terminal terminal;
	struct screen screen;
	struct text_lines lines;
	struct arena arena; /* of their text */
	char title[120];
};

/* ---- the screen ---- */

static int draw(struct rounds *w)
{
	if (!terminal_is_open(&w->terminal))
		return 0;
	screen_begin(&w->screen, &w->terminal);
	text_lines_draw(&w->lines, &w->screen, w->title, 0);
	screen_put(&w->screen, w->screen.rows - 1, 0, w->screen.columns, STYLE_DIM, "q quit");
	return screen_end(&w->screen);
}

static void press(struct rounds *w, u32 key)
{
	const s64 by = key_moves_by(key, w->screen.rows);

	if (by)
		w->lines.first = (size_t)MAX((s64)w->lines.first + by, (s64)0);
	w->is_over |= key == 'q' || key == KEY_F10 || key == KEY_GONE;
}

static void show_lines(struct rounds *w, const char *text)
{
	w->lines.items.len = 0;
	arena_release(&w->arena);
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		text_lines_add(&w->lines, w->lines.items.len ? STYLE_PLAIN : STYLE_STRONG,
			       arena_strndup(&w->arena, text, n));
	}
}

static int show(struct rounds *w, const struct strbuf *text)
{
	if (terminal_is_open(&w->terminal)) {
		show_lines(w, text->len ? text->data : "nothing happened");
		return draw(w);
	}
	return write_all(STDOUT_FILENO, text->data, text->len);
}

/* ---- a round ---- */

/* Until the recorder has ended, or is told to. Its exit code. */
static int wait_for(struct rounds *w, pid_t pid)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	const bool has_screen = terminal_is_open(&w->terminal);
	struct pollfd p[] = {{.fd = fd, .events = POLLIN},
			     {.fd = has_screen ? w->terminal.in : -1, .events = POLLIN}};
	int status;
	u32 key;

	while (!p[0].revents && !w->is_over) {
		if (poll(p, 2, LOOK_MS) < 0)
			p[0].revents = 0;
		w->is_over |= terminal_end_asked;
		if (!has_screen)
			continue;
		terminal_measure(&w->terminal);
		while (!w->is_over && (key = terminal_key(&w->terminal)))
			press(w, key);
		w->is_over |= draw(w) != 0;
	}
	if (!p[0].revents)
		kill(pid, SIGINT);
	if (fd >= 0)
		close(fd);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

static int record_round(struct rounds *w)
{
	const struct arguments *const a = w->asked->arguments;
	struct live_arguments mine = a->recording;
	struct live *const l = w->live;
	int rc = live_open(l, "report");
	pid_t pid;

	if (rc)
		return rc;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGINT);
		mine.duration_ns = a->every_ns;
		l->arguments = &mine;
		rc = w->record(a, w->asked->row, l);
		_exit(rc ?: l->has_lost ? EXIT_LOST : EXIT_OK);
	}
	return pid < 0 ? EXIT_FAILED : wait_for(w, pid);
}

static int show_round(struct rounds *w)
{
	struct reading r = {.interrupted = &terminal_end_asked, .is_quiet = true};
	struct report_table table = {0};
	struct strbuf text = STRBUF_INIT;
	int err;

	reading_run(&r, w->asked, (char *[]){w->live->path, NULL}, &table);
	if (table.columns)
		report_table_text(w->asked, &r, &table, &text);
	err = show(w, &text);
	table_release(&table);
	reading_release(&r);
	strbuf_release(&text);
	return err ? EXIT_FAILED : EXIT_OK;
}

static int run(struct rounds *w)
{
	const struct arguments *const a = w->asked->arguments;
	const u64 begin = clock_now_ns(CLOCK_MONOTONIC);
	int rc = EXIT_OK;

	while (rc == EXIT_OK && !w->is_over && !terminal_end_asked) {
		rc = record_round(w);
		w->has_lost |= rc == EXIT_LOST;
		if ((rc == EXIT_OK || rc == EXIT_LOST) && !w->is_over)
			rc = show_round(w);
		live_release(w->live);
		w->is_over |= a->recording.duration_ns &&
			      clock_now_ns(CLOCK_MONOTONIC) - begin >= a->recording.duration_ns;
	}
	return rc == EXIT_OK && w->has_lost ? EXIT_LOST : rc;
}

int report_rounds(const struct asked *asked, struct live *l, report_record_fn *record)
{
	const struct arguments *const a = asked->arguments;
	struct rounds w = {.asked = asked, .live = l, .record = record};
	char *const name = live_name(l);
	int rc = 0;

	snprintf(w.title, sizeof(w.title), "%s: of each %g s", name, (double)a->every_ns / 1e9);
	free(name);
	if (a->on_terminal && !a->json && !a->format && !terminal_refusal()) {
		terminal_guard();
		rc = -terminal_open(&w.terminal);
	}
	terminal_signals();
	rc = rc ? EXIT_FAILED : draw(&w) ? EXIT_FAILED : run(&w);
	terminal_close(&w.terminal);
	screen_release(&w.screen);
	vector_free(&w.lines.items);
	arena_release(&w.arena);
	return rc;
}
