/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/page/picture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/diag.h"
#include "base/file.h"
#include "base/stall.h"

static const char *const suffixes[] = {
	[PICTURE_PAGE] = ".html", [PICTURE_SVG] = ".svg", [PICTURE_TEXT] = ".txt"};

int picture_choose(struct picture *p)
{
	const struct picture_arguments *const a = p->arguments;

	if (a->svg && a->text)
		return options_usage_error(p->spec,
					   "--svg and --text are two pictures; choose one");
	if (a->json && (a->svg || a->text))
		return options_usage_error(p->spec, "--json or a picture; choose one");
	p->form = a->json   ? PICTURE_JSON
		  : a->svg  ? PICTURE_SVG
		  : a->text ? PICTURE_TEXT
			    : PICTURE_PAGE;
	for (u32 i = 0; a->output && p->form == PICTURE_PAGE && i < ARRAY_SIZE(suffixes); i++)
		if (str_ends(a->output, suffixes[i]))
			p->form = (enum picture_form)i;
	if (p->form == PICTURE_PAGE || p->form == PICTURE_SVG)
		snprintf(p->usual, sizeof(p->usual), "%s%s", p->spec->name, suffixes[p->form]);
	p->path = a->output ?: *p->usual ? p->usual : "-";
	if (p->form == PICTURE_PAGE && str_eq(p->path, "-") && isatty(STDOUT_FILENO))
		return options_usage_error(p->spec, "a page is not for a terminal: write it to a "
						    "file, or use --text");
	return 0;
}

static const char *where(const struct picture *p)
{
	return str_eq(p->path, "-") ? "standard output" : p->path;
}

static void ask_terminal(struct picture *p)
{
	struct winsize size;

	if (!isatty(p->file.fd))
		return;
	if (!ioctl(p->file.fd, TIOCGWINSZ, &size))
		p->columns = size.ws_col;
	p->colours = terminal_colours(p->file.fd);
}

/* A picture is drawn again and again; what has another name may be a recording. */
static bool has_name_of_picture(const char *path)
{
	bool yes = str_ends(path, ".json");

	for (u32 i = 0; i < ARRAY_SIZE(suffixes); i++)
		yes |= str_ends(path, suffixes[i]);
	return yes;
}

int picture_open(struct picture *p)
{
	const int rc = new_file_open(&p->file, p->path, has_name_of_picture(p->path));

	if (rc) {
		complain(p->spec->name, "cannot write %s: %s", where(p),
			 rc == -EEXIST ? "it is there, and by its name no picture: not replaced"
				       : strerror(-rc));
		return EXIT_FAILED;
	}
	ask_terminal(p);
	return 0;
}

int picture_write(struct picture *p, const struct strbuf *out)
{
	int rc = (stall_is_possible(p->file.fd) ? stall_write : write_all)(p->file.fd, out->data,
									   out->len);

	rc = rc ?: new_file_keep(&p->file);
	new_file_drop(&p->file);
	if (!rc || rc == -EPIPE)
		return EXIT_OK;
	if (rc == -ETIMEDOUT) {
		complain(p->spec->name, "nobody read the output any more: the rest of it is lost");
		return EXIT_LOST;
	}
	complain(p->spec->name, "cannot write %s: %s", where(p), strerror(-rc));
	return EXIT_FAILED;
}

void picture_drop(struct picture *p)
{
	new_file_drop(&p->file);
}
