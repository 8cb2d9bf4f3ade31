/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends signals in every way: kill, tkill, tgkill, rt_sigqueueinfo, pidfd_send_signal, and two that
 * fail.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	pid_t child = fork();
	siginfo_t info;
	int fd;

	if (!child) {
		for (;;)
			pause();
	}
	printf("%d\n", (int)child);
	fflush(stdout);
	signal(SIGUSR1, SIG_IGN);
	kill(child, 0);
	syscall(SYS_tkill, child, SIGWINCH);
	syscall(SYS_tgkill, child, child, SIGURG);
	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	syscall(SYS_rt_sigqueueinfo, child, SIGCHLD, &info);
	fd = (int)syscall(SYS_pidfd_open, child, 0);
	syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
	kill(0x7ffffff, SIGTERM);
	kill(child, 99);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
