/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/agent/agent.h"

#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <linux/vm_sockets.h>

#include "base/options.h"

struct arguments {
	u64 peer;
	bool once, quiet, tracecmd;
};

static const struct option_spec options[] = {
	{0, "once", NULL, "end when the first host has left", OPTION_FLAG,
	 offsetof(struct arguments, once)},
	{0, "peer", "CID", "of vsock: who may connect (default: 2, the host)", OPTION_U64,
	 offsetof(struct arguments, peer)},
	{0, "trace-cmd", NULL, "for `trace-cmd record -A` on the host, at vsock port 823",
	 OPTION_FLAG, offsetof(struct arguments, tracecmd)},
	{'q', "quiet", NULL, "say nothing of hosts that come and go", OPTION_FLAG,
	 offsetof(struct arguments, quiet)},
	{0},
};

static const struct command_spec spec = {
	.name = "agent",
	.synopsis = "[options] [WHERE]",
	.summary = "record, and run scripts, in a guest or on any other machine, for a host",
	.examples = "pantrace agent                          # in the guest: on its virtio-serial "
		    "port, or vsock\n"
		    "pantrace record --guest /run/vm1.sock -e 'sched:*' -d 5   # on the host, over "
		    "the port\n"
		    "pantrace record -e 'kvm:*' --guest 3 -e 'sched:*' -d 5    # host and guest, "
		    "over vsock CID 3\n"
		    "pantrace record --guest ssh:root@db -e 'block:*' -d 5     # over ssh, which "
		    "starts the agent\n"
		    "pantrace run --guest db script.bt       # a script in the guest named db\n"
		    "pantrace agent unix:/run/agent.sock     # on a socket, for a container\n"
		    "pantrace agent --trace-cmd              # for `trace-cmd record -A`\n",
	.details = "WHERE is vsock[:PORT] (1983), the path of a virtio-serial port, unix:SOCKET, "
		   "the path of a socket to be made, or - for standard input and output. The "
		   "default is the port named pantrace.0 or, if there is none, vsock.\n\n"
		   "For the port, QEMU needs: -device virtio-serial-pci -chardev "
		   "socket,id=pt,path=/run/vm1.sock,server=on,wait=off -device "
		   "virtserialport,chardev=pt,name=pantrace.0. For vsock: -device "
		   "vhost-vsock-pci,guest-cid=3, and the module vhost_vsock on the host.\n\n"
		   "Whoever can connect to the agent can record everything that happens on its "
		   "machine, as `pantrace record` and scripts can. The agent writes no files and "
		   "runs no commands, nor scripts that do (--unsafe). The port and the socket "
		   "belong to root; over vsock only root on the host can connect (from a port "
		   "below 1024). The agent never listens on a network port: use ssh.\n\n"
		   "With --trace-cmd the host runs `trace-cmd record -A CID:PORT` instead of "
		   "pantrace, over vsock only. Any user of the host can connect then, as with "
		   "trace-cmd's own agent; other guests cannot. The options after -A are those of "
		   "`pantrace record`.\n\n"
		   "It serves one host at a time. While the host does not read, the buffers of "
		   "the kernel and of programs fill up and count what they lose. When the host "
		   "leaves, or the agent is killed, the recording ends and what it had set up is "
		   "removed.",
	.options = options,
};

static int serve(struct agent_door *door, const struct arguments *a, int stop)
{
	bool goes_on = true;
	int in, out;

	while (goes_on && !agent_door_wait(door, stop, &in, &out)) {
		if (!a->quiet && door->kind != DOOR_STDIO)
			complain("agent", "a host is there");
		if (a->tracecmd)
			agent_converse_tracecmd(in, door->peer, stop, a->quiet);
		else
			agent_converse(in, out, stop, a->quiet);
		agent_door_part(door, in, out);
		goes_on = !a->once && door->kind != DOOR_STDIO;
	}
	return EXIT_OK;
}

int cmd_agent(int argc, char **argv)
{
	struct arguments a = {.peer = VMADDR_CID_HOST};
	struct diag d = DIAG_INIT;
	struct agent_door door;
	sigset_t ends;
	int first, stop, rc = options_parse(&spec, argc, argv, &a, &first);

	if (rc != OPTIONS_GO_ON)
		return rc;
	if (argc - first > 1)
		return options_usage_error(&spec, "one WHERE: what is '%s'?", argv[first + 1]);
	if (a.peer >= VMADDR_CID_ANY)
		return options_usage_error(&spec, "--peer takes a CID");
	if ((a.tracecmd ? agent_door_open_tracecmd : agent_door_open)(&door, argv[first],
								      (u32)a.peer, &d))
		return diag_close(&d, EXIT_FAILED);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	stop = signalfd(-1, &ends, SFD_CLOEXEC);
	if (!a.quiet && door.kind != DOOR_STDIO)
		complain("agent", "waiting at %s", door.name);
	rc = serve(&door, &a, stop);
	close(stop);
	agent_door_close(&door);
	return diag_close(&d, rc);
}
