/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds the parameters to the boot loader's configuration, or removes them. */
#include <signal.h>
#include <stdio.h>

#include "cmd/boot/boot.h"
#include "kernel/boot/grub.h"

static void refuse_file(struct diag *d, int err)
{
	diag_error(d, NO_SPAN, GRUB_FILE ": %s",
		   err == -EEXIST ? "is not a file of ours" : strerror(-err));
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		diag_code(d, EXIT_PRIVILEGE);
}

/* Ctrl-C ends update-grub, but us only after our file has been dealt with. */
static void hold_signals(void)
{
	sigset_t held;

	sigemptyset(&held);
	sigaddset(&held, SIGINT);
	sigaddset(&held, SIGTERM);
	sigaddset(&held, SIGHUP);
	sigaddset(&held, SIGQUIT);
	sigprocmask(SIG_BLOCK, &held, NULL);
}

static int update(struct diag *d)
{
	const int err = grub_update();

	if (err == -ENOENT) {
		diag_warning(d, NO_SPAN, "there is no update-grub");
		diag_hint(d, "make the boot loader's menu anew, as by `grub-mkconfig -o "
			     "/boot/grub/grub.cfg`");
		return 0;
	}
	if (err)
		diag_error(d, NO_SPAN, "update-grub failed%s%s", err == -EIO ? "" : ": ",
			   err == -EIO ? "" : strerror(-err));
	return err;
}

/* Without such a configuration, says what to do by hand. */
static int refuse_loader(const char *line, struct diag *d)
{
	diag_error(d, NO_SPAN,
		   "there is no /etc/default/grub.d here, where a file of our own "
		   "could be put");
	diag_hint(d, "add this to the kernel's command line where your boot loader has it: %s",
		  line);
	diag_code(d, EXIT_UNSUPPORTED);
	return EXIT_UNSUPPORTED;
}

int boot_install(const struct boot_line *l, const struct boot_options *o, struct diag *d)
{
	struct strbuf line = STRBUF_INIT, words = STRBUF_INIT;
	char *earlier = NULL;
	int err, rc = EXIT_OK;

	hold_signals();
	boot_line_text(l, &line);
	for (size_t i = 0; i < l->settings.len; i++) {
		strbuf_addstr(&words, i ? " " : "");
		grub_add_word(&words, boot_parameter_name(l->settings.items[i].parameter),
			      l->settings.items[i].value);
	}
	if (!grub_is_there()) {
		rc = refuse_loader(line.data, d);
	} else if ((err = grub_install(o->command, line.data, words.data, &earlier))) {
		refuse_file(d, err);
		rc = EXIT_FAILED;
	} else if (update(d)) {
		grub_restore(earlier); /* else somebody's next update-grub would install it */
		if (earlier)
			diag_hint(d, "what was installed before is still there: `pantrace boot "
				     "status` shows it");
		rc = EXIT_FAILED;
	} else if (!o->quiet) {
		fprintf(stderr,
			"installed in " GRUB_FILE ": %s\nIt holds from the next boot on, "
			"whose recording `boot extract` writes; `boot remove` takes it back.\n",
			line.data);
	}
	strbuf_release(&line);
	strbuf_release(&words);
	free(earlier);
	return rc;
}

int boot_remove(const struct boot_options *o, struct diag *d)
{
	int err;

	hold_signals();
	err = grub_empty();
	if (err == -ENOENT) {
		diag_error(d, NO_SPAN, "nothing is installed: there is no " GRUB_FILE);
		return EXIT_FAILED;
	}
	if (err) {
		refuse_file(d, err);
		return EXIT_FAILED;
	}
	if (update(d)) {
		diag_hint(d, "the menu may still have the parameters: when update-grub works, run "
			     "`pantrace boot remove` again");
		return EXIT_FAILED;
	}
	err = grub_remove();
	if (err) {
		refuse_file(d, err);
		return EXIT_FAILED;
	}
	if (!o->quiet)
		fprintf(stderr, "removed: from the next boot on nothing of it is traced\n");
	return EXIT_OK;
}
