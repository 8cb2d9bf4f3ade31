/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's command line in the configuration of GRUB, as Debian and its children have it: files
 * of /etc/default/grub.d are read behind /etc/default/grub. Ours is one of its own, and all that is
 * ever changed:
 *
 *	# Made by pantrace boot install; pantrace boot remove takes it away.
 *	# command: WORDS
 *	# line: PARAMETERS
 *	GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX PARAMETERS"
 */
#ifndef PANTRACE_KERNEL_BOOT_GRUB_H
#define PANTRACE_KERNEL_BOOT_GRUB_H

#include "base/strbuf.h"

#define GRUB_FILE "/etc/default/grub.d/pantrace.cfg"

/* Is there the directory of such files? */
bool grub_is_there(void);
/*
 * Appends a parameter as it stands in the file: within the double quotes of a shell, and in single
 * ones of GRUB's own language if it needs them. Neither may have quotes or backslashes.
 */
void grub_add_word(struct strbuf *out, const char *name, const char *value);
/*
 * Writes the file anew. command: as the user said it; line: as the kernel gets it; words: of
 * grub_add_word(). *ret_earlier: the text of the file that it takes the place of, malloc'ed, or
 * NULL. 0 or -errno: -EEXIST: one lies there that is not ours.
 */
int grub_install(const char *command, const char *line, const char *words, char **ret_earlier);
/* Takes an installation back: the earlier file is there again, or none. 0 or -errno. */
int grub_restore(const char *earlier);
/*
 * Takes the parameters out of the file. It stays until grub_remove(), so that a removal that was
 * killed before the menu was made anew can be done again. 0 or -errno: -ENOENT: nothing is
 * installed; -EEXIST: it is not ours.
 */
int grub_empty(void);
/* As grub_empty(). */
int grub_remove(void);

struct grub_installed {
	char *command, *line; /* free() both; "": a removal that was not finished */
};

/* As grub_empty(). */
int grub_installed(struct grub_installed *ret);
/*
 * Runs update-grub, which makes the boot loader's menu anew; what it says goes to standard error,
 * and no signal is blocked in it.
 * 0, -ENOENT: there is no such program; -EIO: it failed.
 */
int grub_update(void);

#endif
