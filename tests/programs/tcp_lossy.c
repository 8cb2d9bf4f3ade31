// SPDX-License-Identifier: GPL-2.0-or-later
// A TCP connection that stops being acknowledged when its tester says so.
//
//	tcp_lossy serve ADDRESS PORT
//		accepts one connection, says "accepted", reads until it ends
//	tcp_lossy send ADDRESS PORT BYTES
//		connects, sends a little, says "ready PORT"; when a line has come on standard input
//		sends BYTES, waits 2 s and for the next retransmission, says "RETRANSMITS"
//		(tcpi_total_retrans) and resets the connection
//	tcp_lossy answer ADDRESS PORT BYTES
//		the same from the side that accepts; "listening" first
//	tcp_lossy read ADDRESS PORT
//		connects and reads until it ends
#include <arpa/inet.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static socklen_t parse(const char *address, const char *port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((unsigned short)atoi(port));
		return sizeof(*v6);
	}
	if (inet_pton(AF_INET, address, &v4->sin_addr) != 1)
		exit(2);
	v4->sin_family = AF_INET;
	v4->sin_port = htons((unsigned short)atoi(port));
	return sizeof(*v4);
}

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	perror(what);
	exit(1);
}

static void say(const char *word, int n)
{
	printf("%s %d\n", word, n);
	fflush(stdout);
}

static int accept_one(const char *address, const char *port)
{
	struct sockaddr_storage a;
	const socklen_t len = parse(address, port, &a);
	const int on = 1, s = socket(a.ss_family, SOCK_STREAM, 0);
	int c;

	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	check(bind(s, (void *)&a, len), "bind");
	check(listen(s, 1), "listen");
	say("listening", atoi(port));
	c = accept(s, NULL, NULL);
	check(c, "accept");
	close(s);
	return c;
}

static int connect_to(const char *address, const char *port)
{
	struct sockaddr_storage a;
	const socklen_t len = parse(address, port, &a);
	const int s = socket(a.ss_family, SOCK_STREAM, 0);

	check(connect(s, (void *)&a, len), "connect");
	return s;
}

static int own_port(int s)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	check(getsockname(s, (void *)&a, &len), "getsockname");
	/* At the same place in both families. */
	return ntohs(((struct sockaddr_in *)&a)->sin_port);
}

static unsigned int retransmits(int s)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);

	check(getsockopt(s, IPPROTO_TCP, TCP_INFO, &info, &len), "TCP_INFO");
	return info.tcpi_total_retrans;
}

static void lose(int s, size_t bytes)
{
	const struct linger reset = {1, 0};
	unsigned int before;
	char line[16], *data = calloc(1, bytes);

	for (int i = 0; i < 5; i++) {
		check((int)send(s, "x", 1, 0), "send");
		usleep(20000);
	}
	say("ready", own_port(s));
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
	check((int)send(s, data, bytes, MSG_DONTWAIT), "send");
	usleep(2000000);
	before = retransmits(s);
	/*
	 * Just behind one, the next is more than a second away: none comes between the count and
	 * the end.
	 */
	for (int ms = 0; ms < 10000 && retransmits(s) == before; ms++)
		usleep(1000);
	say("retransmits", (int)retransmits(s));
	setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(s);
}

int main(int argc, char **argv)
{
	char buffer[4096];
	int s;

	if (argc == 4 && !strcmp(argv[1], "serve")) {
		s = accept_one(argv[2], argv[3]);
		say("accepted", atoi(argv[3]));
		while (recv(s, buffer, sizeof(buffer), 0) > 0)
			;
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "read")) {
		s = connect_to(argv[2], argv[3]);
		while (recv(s, buffer, sizeof(buffer), 0) > 0)
			;
		return 0;
	}
	if (argc == 5 && !strcmp(argv[1], "send"))
		lose(connect_to(argv[2], argv[3]), strtoul(argv[4], NULL, 0));
	else if (argc == 5 && !strcmp(argv[1], "answer"))
		lose(accept_one(argv[2], argv[3]), strtoul(argv[4], NULL, 0));
	else
		return 2;
	return 0;
}
