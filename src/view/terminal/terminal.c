/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/terminal/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/stall.h"

/* The other screen, no cursor, no wrapping at the right edge; and back. */
static const char enter_text[] = "\033[?1049h\033[?25l\033[?7l\033[0m\033[2J";
/* Where there is no other screen, what follows begins on the last line. */
static const char leave_text[] = "\033[0m\033[999;1H\033[K\033[?7h\033[?25h\033[?1049l";

/* Signals find it here; NULL = none is taken over. */
static struct terminal *volatile shown;

static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

/* ---- in handlers of signals, too: system calls only ---- */

static void enter(struct terminal *t)
{
	struct termios raw = t->before;

	/* Ctrl-C and Ctrl-Z stay signals. */
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	raw.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	tcsetattr(t->in, TCSANOW, &raw);
	stall_write(t->out, enter_text, sizeof(enter_text) - 1);
	t->is_stale = true;
}

static void leave(struct terminal *t)
{
	stall_write(t->out, leave_text, sizeof(leave_text) - 1);
	tcsetattr(t->in, TCSANOW, &t->before);
}

static void show_messages(struct terminal *t)
{
	char text[4096];
	ssize_t n;

	if (t->messages < 0)
		return;
	dup2(t->errors_before, STDERR_FILENO);
	for (off_t at = 0; (n = pread(t->messages, text, sizeof(text), at)) > 0; at += n)
		if (stall_write(STDERR_FILENO, text, (size_t)n))
			break;
	close(t->messages);
	close(t->errors_before);
	t->messages = -1;
}

static void on_crash(int sig)
{
	if (shown) {
		leave(shown);
		show_messages(shown);
	}
	shown = NULL;
	signal(sig, SIG_DFL);
	raise(sig); /* when this returns */
}

static void on_continue(int sig)
{
	const int kept = errno;

	if (shown) {
		enter(shown); /* stops again until we are in the foreground: SIGTTOU */
		kill(getpid(), SIGWINCH); /* to be drawn anew */
	}
	errno = kept;
}

static void on_stop(int sig)
{
	const struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	const int kept = errno;
	sigset_t set;

	if (shown)
		leave(shown);
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL); /* here it stops */
	sigaction(sig, &action, NULL);
	errno = kept;
}

/* ---- taking over, giving back ---- */

const char *terminal_refusal(void)
{
	const char *const name = getenv("TERM");

	if (!name || !*name)
		return "the environment has no TERM: which terminal this is nobody knows";
	if (str_eq(name, "dumb") || str_eq(name, "unknown"))
		return "this terminal cannot move its cursor (TERM says so)";
	return NULL;
}

static bool locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *const value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

void terminal_guard(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		signal(crashes[i], on_crash);
}

static void close_shown(void)
{
	if (shown)
		terminal_close(shown);
}

static void keep_messages(struct terminal *t)
{
	t->messages = -1;
	if (!isatty(STDERR_FILENO))
		return;
	t->messages = memfd_create("messages", MFD_CLOEXEC);
	t->errors_before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (t->messages >= 0 && t->errors_before >= 0)
		dup2(t->messages, STDERR_FILENO);
}

int terminal_open(struct terminal *t)
{
	static bool is_registered;
	const struct sigaction stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
	const struct sigaction go_on = {.sa_handler = on_continue, .sa_flags = SA_RESTART};

	*t = (struct terminal){.in = STDIN_FILENO};
	if (!isatty(t->in)) {
		t->in = open("/dev/tty", O_RDWR | O_CLOEXEC);
		if (t->in < 0)
			return -errno;
		t->owns_in = true;
	}
	if (tcgetattr(t->in, &t->before)) {
		const int err = -errno;

		if (t->owns_in)
			close(t->in);
		return err;
	}
	/* Opened anew, since a terminal that has room for a byte may block at the next one. */
	t->out = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (t->out < 0)
		t->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	t->colours = terminal_colours(t->out);
	t->is_utf8 = locale_is_utf8();
	terminal_measure(t);
	keep_messages(t);
	if (!is_registered)
		atexit(close_shown);
	is_registered = true;
	shown = t;
	sigaction(SIGTSTP, &stop, NULL);
	sigaction(SIGCONT, &go_on, NULL);
	enter(t);
	return 0;
}

bool terminal_is_open(const struct terminal *t)
{
	return shown == t;
}

void terminal_close(struct terminal *t)
{
	if (shown != t)
		return;
	shown = NULL;
	signal(SIGTSTP, SIG_DFL);
	signal(SIGCONT, SIG_DFL);
	leave(t);
	show_messages(t);
	close(t->out);
	if (t->owns_in)
		close(t->in);
}

/* What a terminal says of itself is not believed without end: a screen of it is in memory. */
#define COLUMNS_MOST 4096
#define ROWS_MOST    1024

void terminal_measure(struct terminal *t)
{
	struct winsize size;

	if (ioctl(t->out, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		size = (struct winsize){.ws_col = 80, .ws_row = 24};
	size.ws_col = MIN(size.ws_col, (unsigned short)COLUMNS_MOST);
	size.ws_row = MIN(size.ws_row, (unsigned short)ROWS_MOST);
	t->is_stale |= size.ws_col != t->columns || size.ws_row != t->rows;
	t->columns = size.ws_col;
	t->rows = size.ws_row;
}

int terminal_write(struct terminal *t, const struct strbuf *text)
{
	return stall_write(t->out, text->data, text->len);
}

/* ---- keys ---- */

#define ESCAPE_MS 30 /* what follows an ESC of a key comes at once; slow lines take a moment */

/* Behind ESC: as xterm, rxvt, the VT220 and the console of Linux send them. */
static const struct {
	const char *text;
	enum key key;
} sequences[] = {
	{"[A", KEY_UP},	      {"OA", KEY_UP},	      {"[B", KEY_DOWN}, {"OB", KEY_DOWN},
	{"[C", KEY_RIGHT},    {"OC", KEY_RIGHT},      {"[D", KEY_LEFT}, {"OD", KEY_LEFT},
	{"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN}, {"[H", KEY_HOME}, {"OH", KEY_HOME},
	{"[1~", KEY_HOME},    {"[7~", KEY_HOME},      {"[F", KEY_END},	{"OF", KEY_END},
	{"[4~", KEY_END},     {"[8~", KEY_END},	      {"OP", KEY_F1},	{"OQ", KEY_F2},
	{"OR", KEY_F3},	      {"OS", KEY_F4},	      {"[[A", KEY_F1},	{"[[B", KEY_F2},
	{"[[C", KEY_F3},      {"[[D", KEY_F4},	      {"[[E", KEY_F5},	{"[11~", KEY_F1},
	{"[12~", KEY_F2},     {"[13~", KEY_F3},	      {"[14~", KEY_F4}, {"[15~", KEY_F5},
	{"[17~", KEY_F6},     {"[18~", KEY_F7},	      {"[19~", KEY_F8}, {"[20~", KEY_F9},
	{"[21~", KEY_F10},
};

/* Reads what there is. False: the terminal is gone. */
static bool fill_input(struct terminal *t, int ms)
{
	struct pollfd p = {.fd = t->in, .events = POLLIN};
	ssize_t n;

	if (t->ninput == sizeof(t->input) || poll(&p, 1, ms) <= 0)
		return true;
	n = read(t->in, t->input + t->ninput, sizeof(t->input) - t->ninput);
	if (n > 0)
		t->ninput += (u32)n;
	return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

static u32 take(struct terminal *t, u32 n, u32 key)
{
	t->ninput -= n;
	memmove(t->input, t->input + n, t->ninput);
	return key;
}

/* Bytes of the sequence that begins with ESC; 0 = its end has not come. */
static u32 sequence_length(const u8 *p, u32 n)
{
	u32 i = 2;

	if (n < 2)
		return 0;
	if (p[1] != '[' && p[1] != 'O')
		return 1; /* Alt and a key: as ESC and the key */
	if (n > 2 && p[1] == '[' && p[2] == '[')
		i = 3;
	while (i < n && p[i] < 0x40)
		i++;
	return i < n ? i + 1 : 0;
}

static u32 escape_key(struct terminal *t)
{
	u32 n = sequence_length(t->input, t->ninput);

	if (!n) {
		fill_input(t, ESCAPE_MS);
		n = sequence_length(t->input, t->ninput);
	}
	if (n <= 1)
		return take(t, n ? n : t->ninput, t->ninput > 1 && !n ? KEY_OTHER : KEY_ESCAPE);
	for (size_t i = 0; i < ARRAY_SIZE(sequences); i++)
		if (strlen(sequences[i].text) == n - 1 &&
		    !memcmp(sequences[i].text, t->input + 1, n - 1))
			return take(t, n, sequences[i].key);
	return take(t, n, KEY_OTHER);
}

u32 terminal_key(struct terminal *t)
{
	const bool is_there = fill_input(t, 0);

	if (!t->ninput)
		return is_there ? KEY_NONE : KEY_GONE;
	switch (t->input[0]) {
	case 0x1b:
		return escape_key(t);
	case '\n':
		return take(t, 1, KEY_ENTER);
	case '\b':
		return take(t, 1, KEY_BACKSPACE);
	default: /* what is no ASCII is a word's business: bytes of it are handed on one by one */
		return take(t, 1, t->input[0]);
	}
}
