/* SPDX-License-Identifier: MIT */
/*
 * How a tool controls an instrumented process. Needed by tools only.
 *
 * Where
 *	RUNTIME is /run/pantrace for root, $XDG_RUNTIME_DIR/pantrace for others (where that is not
 *	set, /tmp/pantrace-UID), or $PANTRACE_RUNTIME: a directory of its user's, mode 0700 (root's:
 *	0755). It holds
 *
 *	RUNTIME/PID		a socket (SOCK_SEQPACKET, mode 0600) of each instrumented process;
 *				PID-N when a process of another pid namespace has the name
 *	RUNTIME/sessions/NAME	descriptions of sessions that wait for programs
 *
 *	A program looks for sessions in its own RUNTIME and in /run/pantrace when it starts, and
 *	again when its socket is ready: who first describes a session and then asks all sockets
 *	misses nobody. PANTRACE_SESSION=FILE:FILE... names more descriptions. PANTRACE_CONTROL=0
 *	forbids the socket. Setuid programs do none of this.
 *
 * Requests
 *	One message, one answer of one or more messages, then the connection ends. Only root and the
 *	process's own user are heard (SO_PEERCRED). Text, lines end with \n; a message has at most
 *	PANTRACE_MESSAGE_MAX bytes.
 *
 *	pantrace 1 0.1.0 VERB [SESSION]		protocol, version of the tool
 *	further lines: a description, or part of one
 *
 *	hello					process, library, its sessions
 *	list					its events, and a line "refused" as of a session
 *	start					with a whole description
 *	rules SESSION				with enable and disable lines, which follow the
 *						others
 *	track SESSION				with tracked lines, in place of the others: who
 *						records from now on
 *	stop SESSION, resume SESSION		its events off and on; the rings stay. An error to
 *						resume: they cannot be made
 *	status SESSION				counts
 *	attach SESSION				the file of the rings
 *	destroy SESSION				all of it away; a file with a name is left to the
 *						tool
 *
 * Answers
 *	ok | more | error ERRNO text		the last message says ok or error, those before it
 *						more
 *	then lines of a word and its values:
 *	library PROTOCOL VERSION
 *	process PID PARENT			in the process's pid namespace
 *	event SITES SESSIONS LEVEL PROVIDER:NAME TYPE:FIELD...	SESSIONS: how many have it on
 *	refused SITES EVENTS ERRNO		behind a session's line: sites in memory that cannot
 *						be written (ETXTBSY shared, EPERM sealed, EACCES: no
 *						code of the process may be), events whose records
 *						did not fit; they stay off
 *	unheard					behind a session's line: events wait for a filter,
 *						and nobody could be asked (ask): "rules" brings it
 *	session NAME STATE EVENTS LOST FILE	armed (no site yet), running, stopped, untracked;
 *						FILE "-": see below
 *
 *	To attach, a process whose rings have no name in a directory (it may not write there, or
 *	sees another file system) passes the descriptor of its rings (SCM_RIGHTS) with the answer.
 *
 * Descriptions (sizes in bytes, times in microseconds)
 *	pantrace-session 1			first line of a file; not sent to sockets
 *	# COMMENT				the tool's own notes
 *	name NAME				letters, digits, "-", "_", "."; not first "."
 *	for all | for name GLOB | for pid N | for environment	who joins by itself when it starts
 *	directory PATH				of ring files; a process that cannot write there
 *						keeps its rings in memory
 *	# directory-id DEVICE INODE		of that directory: where the path leads to another
 *						one, rings are kept in memory, too (a comment to
 *						libraries that do not know it)
 *	mode discard|overwrite|block
 *	sub-size N, subs N			of a ring (one a CPU)
 *	block N					the longest wait of an event
 *	threads					rings of threads, not of CPUs
 *	contexts NAME,NAME...			vpid vtid procname cpu_id context_switches
 *						page_faults ip user_stack
 *	clock HZ TICKS MONOTONIC_NS REALTIME_NS	one clock for all processes
 *	enable GLOB [LEVEL | =LEVEL]		events at least as severe as LEVEL (0..14) | of this
 *						LEVEL
 *	disable GLOB [LEVEL | =LEVEL]		the last line that matches an event decides
 *	filter GLOB HEX [HASH]			of the events of GLOB only those that the program
 *						accepts (lib/vm.h); the last line that matches
 *						decides. HASH: it is for events whose names and
 *						fields have this hash (lib/hooks.c); those of GLOB
 *						that no line is for stay off
 *	ask PATH				an enabled event without a filter line stays off;
 *						the program asks at this socket (SOCK_SEQPACKET) for
 *						one, before main() begins or dlopen() returns: see
 *						below
 *	keeper PATH				at this socket a process hands over rings that have
 *						no name in the directory, as it makes them: see
 *						below
 *	for child N				who has this pid when it starts
 *	pids INODE				only processes of this pid namespace
 *	map KIND KEY_SIZE ENTRIES		no rings: events are counted in maps, numbered from
 *						0; KIND: count pair min max umin umax (aggregate.h)
 *	aggregate HASH HEX			events whose names and fields have this hash
 *						(lib/hooks.c) run the program, which counts
 *	tracked ID [NAMESPACE] N,N...		only processes with one of these ids record; the
 *						others take part, with their events off. ID: vpid
 *						vuid vgid (numbers as the process has them; the real
 *						ids), pid uid gid (numbers as the tool has them,
 *						whose pid or user namespace has the inode NAMESPACE:
 *						processes in others have none of the ids; 0: the
 *						numbers are the process's own). Each line's ids must
 *						be met; no numbers: by nobody. Judged when the
 *						session begins in a process, when the lines change,
 *						in a forked child, and by the helper while the
 *						process runs
 *	tracked none				no process records
 *	stopped					it begins with its events off, as after "stop"
 *	script					no rings: events call the places of the USDT note
 *						libpantrace:script (lib/hooks.c), where tools attach
 *
 *	An unknown word is refused: what is asked for is done, or nothing.
 *
 * Asking for a filter (the recorder listens, the program asks; any number on a connection)
 *	pantrace 1 0.1.0 announce SESSION	then one line "event ..." as in an answer to list
 *	ok					then "filter" and "disable" lines, as in
 *						descriptions
 *
 * Asking the recorder how much it has written (tools do, of root or its own user)
 *	pantrace 1 0.1.0 written SESSION	then a line "-"
 *	ok BYTES				since it began; "error": it writes snapshots only
 *
 * Handing over rings (to the same socket; no answer)
 *	pantrace 1 0.1.0 keep SESSION		with the descriptor of their memory (SCM_RIGHTS)
 *	pantrace 1 0.1.0 refused SESSION	then a line with an errno: the process does not take
 *						part because of it, and has no directory to say so
 */
#ifndef PANTRACE_PROTOCOL_H
#define PANTRACE_PROTOCOL_H

#define PANTRACE_PROTOCOL    1
#define PANTRACE_MESSAGE_MAX 65536
#define PANTRACE_RULES_MAX   64 /* enable and disable lines of a session */
#define PANTRACE_NAMES_MAX   8 /* "for name" lines */
#define PANTRACE_TRACKED_MAX 128 /* numbers of all "tracked" lines */

#endif
