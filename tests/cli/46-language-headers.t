#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a C compiler knows: its predefined macros, headers of the system, constants. The judge is a C compiler.
# parallel: traces nothing
. "$(dirname "$0")/lib.sh"
need_root

cc=$(command -v gcc || command -v cc)
[ -n "$cc" ] || { echo "1..0 # SKIP needs a C compiler"; exit 0; }

# same NAME HEADERS EXPRESSIONS [HEADERS OF THE SCRIPT]: integers of C, which must be the same in a script
same()
{
	: >"$work/x.c"
	: >"$work/x.bt"
	for h in $2; do echo "#include <$h>" >>"$work/x.c"; done
	for h in ${4-$2}; do echo "#include <$h>" >>"$work/x.bt"; done
	printf '#include <stdio.h>\n#include <stddef.h>\nint main(void)\n{\n' >>"$work/x.c"
	echo 'begin {' >>"$work/x.bt"
	printf '%s\n' "$3" | while IFS= read -r e; do
		[ -n "$e" ] || continue
		printf 'printf("%%s %%lld\\n", "%s", (long long)(%s));\n' "$e" "$e" >>"$work/x.c"
		printf 'printf("%%s %%lld\\n", "%s", (int64)(%s));\n' "$e" "$e" >>"$work/x.bt"
	done
	echo '}' >>"$work/x.c"
	echo '}' >>"$work/x.bt"
	"$cc" -w -D_GNU_SOURCE -o "$work/x" "$work/x.c" && "$work/x" >"$work/expected"
	run -q "$work/x.bt"
	is "$(printf '%s\n' "$out" | sed '/^$/d')" "$(cat "$work/expected")" "$1"
	[ -z "$err" ] || printf '%s\n' "$err" | sed 's/^/# /'
}

# --- predefined macros: every one of the compiler's that tells about the machine ---
"$cc" -dM -E - </dev/null | awk '{ print $2 }' >"$work/all"
machine='^(_LP64|__(LP64|ELF|CHAR_BIT|BIGGEST_ALIGNMENT|BYTE_ORDER|FLOAT_WORD_ORDER|ORDER_.*_ENDIAN|x86_64|amd64|aarch64|linux|gnu_linux|unix|SIZEOF_.*|STDC|STDC_HOSTED)__|__(x86_64|amd64|linux|unix))$'
limits='^__(U?INT(_FAST|_LEAST)?[0-9]+|U?INTMAX|U?INTPTR|PTRDIFF|SIZE|WCHAR|WINT|SIG_ATOMIC|SCHAR|SHRT|INT|LONG|LONG_LONG)_(MAX|MIN|WIDTH)__$'
same "macros of the machine and limits of types" "" "$(grep -E "$machine|$limits" "$work/all" | sort)"
same "names of types" "" "$(grep -E '^__(U?INT(_FAST|_LEAST)?[0-9]+|U?INTMAX|U?INTPTR|PTRDIFF|SIZE|WCHAR|WINT|SIG_ATOMIC|CHAR[0-9]+)_TYPE__$' "$work/all" |
	sort | sed 's/.*/sizeof(&)\
(&)-1 < 0/')"
same "in C definitions, too" "" '__INT64_C(5) + __UINT32_C(3)'
run -q -e '#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && defined(__linux__) && __SIZEOF_POINTER__ == 8
struct s { __UINT16_TYPE__ a; __INT64_TYPE__ b; };
#endif
begin { print((sizeof(struct s), offsetof(struct s, b))) }'
is "$out" "(16, 8)" "#if and struct know them"
run -q -e 'begin { print(linux) }'
like "$err" "Unknown identifier: 'linux'" "a plain word is none"

# --- constants without any header ---
same "constants are known without a header" "dirent.h sys/stat.h netinet/ip_icmp.h linux/icmpv6.h linux/capability.h linux/futex.h sys/mman.h" \
	'DT_UNKNOWN
DT_FIFO
DT_CHR
DT_DIR
DT_BLK
DT_REG
DT_LNK
DT_SOCK
DT_WHT
S_ISREG(0100644)
S_ISDIR(0100644)
S_ISDIR(0040755)
S_ISLNK(0120777)
S_ISCHR(0020666)
S_ISBLK(0060660)
S_ISFIFO(0010644)
S_ISSOCK(0140777)
ICMP_ECHO
ICMP_DEST_UNREACH
ICMP_TIME_EXCEEDED
ICMPV6_ECHO_REQUEST
CAP_SYS_ADMIN
CAP_BPF
CAP_LAST_CAP
FUTEX_WAIT
FUTEX_WAIT_BITSET_PRIVATE
FUTEX_CMD_MASK
FUTEX_BITSET_MATCH_ANY
PROT_EXEC' ""
run -q -e 'begin { $d = (uint32)0x800011; printf("%d:%d %x\n", MAJOR($d), MINOR($d), MKDEV(8, 17)) }'
is "$out" "8:17 800011" "device numbers of the kernel"
run -q -e 'macro MAJOR(d) { d + 1 } begin { print(MAJOR(4)) }'
is "$out" "5" "a script's own macro of the same name wins"

# --- headers ---
same "values and layouts of headers of C" "sys/stat.h sys/socket.h netinet/in.h signal.h time.h poll.h dirent.h sys/epoll.h sys/resource.h sys/un.h termios.h utmp.h sys/ioctl.h" \
	'sizeof(struct stat)
offsetof(struct stat, st_size)
offsetof(struct stat, st_mtim)
sizeof(struct sockaddr_in6)
offsetof(struct sockaddr_in6, sin6_scope_id)
sizeof(struct sockaddr_storage)
sizeof(struct msghdr)
sizeof(struct cmsghdr)
sizeof(siginfo_t)
sizeof(struct sigaction)
sizeof(sigset_t)
sizeof(struct timespec)
sizeof(struct tm)
sizeof(struct pollfd)
sizeof(struct dirent)
offsetof(struct dirent, d_name)
sizeof(struct epoll_event)
sizeof(struct rusage)
sizeof(struct sockaddr_un)
sizeof(struct termios)
sizeof(struct utmp)
SOCK_STREAM
IPPROTO_SCTP
EPOLLEXCLUSIVE
RLIMIT_NOFILE
CLOCK_MONOTONIC_RAW
TCGETS'
same "and of the kernel for programs" "linux/perf_event.h linux/bpf.h linux/io_uring.h linux/if_ether.h linux/ip.h linux/tcp.h linux/input.h linux/fs.h linux/netlink.h linux/seccomp.h linux/sched.h linux/sched/types.h" \
	'sizeof(struct perf_event_attr)
offsetof(struct perf_event_attr, bp_addr)
PERF_ATTR_SIZE_VER7
PERF_SAMPLE_REGS_INTR
sizeof(union bpf_attr)
BPF_PSEUDO_MAP_FD
sizeof(struct io_uring_sqe)
sizeof(struct io_uring_params)
sizeof(struct ethhdr)
sizeof(struct iphdr)
sizeof(struct tcphdr)
sizeof(struct tcp_info)
sizeof(struct input_event)
KEY_ENTER
FS_IOC_GETFLAGS
BLKGETSIZE64
NLMSG_ALIGN(5)
SECCOMP_RET_ERRNO
CLONE_NEWTIME
sizeof(struct sched_attr)'

# --- what is special in them, in a tree of its own ---
tree=$work/tree/include/linux
mkdir -p "$tree" "$work/user"
cat >"$tree/odd.h" <<'EOF'
#ifndef ODD_H
#define ODD_H
#define call(f, args...) f(0, ## args)
#define second(a, b, rest...) b
#define max(a, b) ((a) > (b) ? (a) : (b))
#define pid (get_pid())
#define ALL_ONES (~0UL >> 60)
typedef unsigned long word_t;
typedef int wide_t __attribute__((__mode__(__DI__)));
typedef int (handler_t)(int cpu);
extern int printk(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline __attribute__((always_inline)) int max3(int a, int b)
{
	return ({ typeof(a) _a = (a); __auto_type s = "}"; _a > b ? _a : b; }) + '{';
}
#define twice(name) static inline int name##_a(void) { return 1; } static inline int name##_b(void) { return 2; }
twice(foo)
twice(bar)
enum odd { ODD_A = (int)sizeof(word_t), ODD_B = (unsigned char)0x1ff, ODD_C = 1 << 31, ODD_D = -1 };
struct odd_inner { char c; long l; };
struct odd_outer {
	char pad[(sizeof(struct odd_inner) + sizeof(word_t) - 1) / sizeof(word_t)];
	unsigned char bits[(ODD_A > 4) ? 16 : 32];
	char off[__builtin_offsetof(struct odd_inner, l)];
	char same[sizeof(((struct odd_inner *)0)->l)];
	__extension__ union { word_t w; wide_t v; };
	handler_t *handler;
	typeof(struct odd_inner) inner;
} __attribute__((aligned(32)));
struct odd_vector { float f __attribute__((vector_size(16))); };
static const double pi = 3.14159e0, tiny = 0x1p-1022;
struct odd_last { struct odd_outer o; };
#endif
EOF
printf '#ifndef CONFIG_X\n#error "this kernel was built without X"\n#endif\n' >"$tree/failing.h"
tree()
{
	PANTRACE_KERNEL_SOURCE=$work/tree "$pantrace" "$@" >"$work/out" 2>"$work/err" </dev/null
	rc=$?
	out=$(cat "$work/out")
	err=$(cat "$work/err")
}
tree -q -e '#include <linux/odd.h>
begin { print((sizeof(struct odd_outer), sizeof(struct odd_last), (int32)ODD_A, (int32)ODD_B, (int32)ODD_C, second(1, 2), second(1, 2, 3, 4), ALL_ONES, sizeof(wide_t))) }'
printf '#include "%s"\n#include <stdio.h>\nint main(void) { printf("(%%zu, %%zu, %%d, %%d, %%d, %%d, %%d, %%lu, %%zu)\\n", sizeof(struct odd_outer), sizeof(struct odd_last), ODD_A, ODD_B, ODD_C, second(1, 2), second(1, 2, 3, 4), ALL_ONES, sizeof(wide_t)); }' \
	"$tree/odd.h" >"$work/y.c"
"$cc" -w -o "$work/y" "$work/y.c"
is "$out" "$("$work/y")" "casts, sizes, modes, attributes, variadic macros, inline functions"
tree -q -e '#include <linux/odd.h>
begin { print(sizeof(struct odd_vector)) }'
like "$err" 'ERROR: Cannot resolve unknown type "struct odd_vector"' "what was not understood is missed when it is needed"
like "$err" "HINT: a part of the included headers could not be read: .*/odd.h:30: vectors are not supported" "and the reason is told"
tree -q -e '#include <linux/failing.h>
begin { }'
like "$err" '#error "this kernel was built without X"' "a header's own #error counts"
tree -q -e '#include <linux/odd.h>
#include <linux/nosuch.h>
#include <linux/odd.h>
begin { @ = max(3); print((pid == 5, (int32)ODD_A)); print(@); clear(@) }'
is "$(echo $out)" "(false, 8) @: 3" "headers that are not installed are passed over, read ones not read again, words of the language stay"
printf 'struct open { int x[(1;\n' >"$tree/open.h"
PANTRACE_KERNEL_SOURCE=$work/tree timeout 60 "$pantrace" -e '#include <linux/open.h>
begin { }' >/dev/null 2>"$work/err" </dev/null
is "$?" 1 "a header with a bracket that nothing closes is refused"
like "$(cat "$work/err")" "ERROR: syntax error, unexpected end of file" "and comes to an end"
done_testing
