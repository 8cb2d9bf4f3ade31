#!/bin/sh
# SPDX-License-Identifier: MIT
# The program is not harmed by being recorded: in the builds that differ in it, and as a plugin that comes and goes.
. tests/tap.sh
dir=$(mktemp -d)
trap 'umount "$dir"/*/*/ 2>/dev/null; rm -rf "$dir"' EXIT
. tests/lib/builds.sh

one "gcc -O2" plain $built/plain/unharmed "$dir/rings"
one "ASan, UBSan" asan $built/asan/unharmed "$dir/rings"

# Before Linux 6.17 or so any signal interrupts fallocate(2).
tool=${PANTRACE:-${LIB_DIR:-build}/pantrace}
if command -v strace >/dev/null; then
	mkdir "$dir/cut"
	printf eq | strace -f -qq -o "$dir/calls" -e trace=fallocate -e inject=fallocate:error=EINTR:when=1+2 env PANTRACE_RECORD="$dir/cut" \
		$built/plain/unharmed worker plain >/dev/null
	is $? 0 "a program whose allocations a signal interrupts"
	like "$("$tool" crash "$dir/cut" -o "$dir/whole" 2>/dev/null)" ' 1000 +0 +0 whole' "is recorded: $(grep -c INJECTED "$dir/calls") of them were"
else
	skip "allocations that a signal interrupts" "strace is not installed"
fi

# A program that knows nothing of the library loads and unloads a plugin that has all of it.
lib=$(realpath "${LIB_DIR:-build}")
cat >"$dir/plugin.c" <<'EOF'
#include <pantrace/pantrace.h>
void plugin_speak(void);
void plugin_speak(void) { PANTRACE(plugin, speaks, 1); }
EOF
cat >"$dir/host.c" <<'EOF'
#include <dlfcn.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*speak)(void) = plugin ? (void (*)(void))dlsym(plugin, "plugin_speak") : NULL;
	char c;
	if (!speak)
		return 4;
	speak();
	while (read(0, &c, 1) == 1 && write(1, &c, 1) == 1)
		if (c == 'u' && dlclose(plugin))
			return 5;
	return 0;
}
EOF
gcc -O2 -Iinclude -fPIC -shared "$dir/plugin.c" "$lib/libpantrace.a" -o "$dir/plugin.so" -lpthread &&
	gcc -O2 "$dir/host.c" -o "$dir/host" -ldl
ok "a plugin with the library in it"
export PANTRACE_RUNTIME="$dir/runtime"
mkdir -p -m 700 "$PANTRACE_RUNTIME"
mkfifo "$dir/in" "$dir/answers"
"$dir/host" "$dir/plugin.so" <"$dir/in" >"$dir/answers" &
host=$!
exec 3>"$dir/in" 4<"$dir/answers"
printf a >&3
dd bs=1 count=1 <&4 >"$dir/out" 2>/dev/null
for _ in $(seq 100); do # its socket comes a moment after it
	"$tool" user list >"$dir/list" 2>/dev/null
	! grep -q plugin:speaks "$dir/list" || break
	sleep 0.1
done
like "$(cat "$dir/list")" 'plugin:speaks' "it is there"
printf u >&3
printf b >&3
dd bs=1 count=2 <&4 >"$dir/out" 2>/dev/null
is "$(cat "$dir/out")" ub "it is unloaded"
like "$("$tool" user list)" "$host" "its helper answers yet"
exec 3>&-
wait $host
is $? 0 "and the program ends well"
done_testing
