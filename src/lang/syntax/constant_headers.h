/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The headers whose constants scripts have without #include; scripts/constants.sh reads them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/if_ether.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
/* behind <net/if.h> */
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
