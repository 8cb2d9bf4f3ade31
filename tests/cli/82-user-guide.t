#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# doc/libpantrace-guide.md: every command is run; what the page shows comes, but for times, ids, sizes and addresses.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/user-lib.sh"
mkdir "$work/bin" "$work/guide"
cd "$work/guide" || exit 1
page=$top/doc/libpantrace-guide.md
sed -n '/^```c$/,/^```$/p' "$page" | sed '/^```/d' >shop.c
ln -s "$pantrace" "$work/bin/pantrace"
make -C "$top" -s NO_DEPS=1 lib-install PREFIX="$work/installed" >"$work/out" 2>&1
ok "make lib-install" || sed 's/^/# /' "$work/out" | tail -5 >&2
PKG_CONFIG_PATH=$work/installed/lib/pkgconfig
export PKG_CONFIG_PATH
printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nexec sh -c "$3"\n' >ssh
chmod +x ssh
PATH=$work/bin:$PATH

# Numbers are any number, "..." is anything; words and punctuation are themselves.
pattern()
{
	printf '%s\n' "$1" | sed 's/[][\\.^$*+?(){}|]/\\&/g; s/\\\.\\\.\\\./@/g; s/0x[0-9A-Fa-f]*/0x[0-9A-Fa-f]+/g; s/\\?\(\\?\)*/.*/g' |
		sed 's/\[0-9A-Fa-f\]/#/g; s/[0-9][0-9]*\(\\\.[0-9][0-9]*\)\{0,1\}/[0-9.]+/g; s/#/[0-9A-Fa-f]/g; s/@/.*/g; s/  */ +/g; s/vm:/[^ ]*:/; s/"vm"/"[^"]*"/'
}

check()
{
	[ -n "$command" ] || return
	sh -c "$command" >"$work/got" 2>&1
	ok "\$ $command" || sed 's/^/# /' "$work/got" | head -5 >&2
	while IFS= read -r line; do
		[ -z "$line" ] || grep -Eq -- "$(pattern "$line")" "$work/got"
		ok "  $line" || sed 's/^/# /' "$work/got" | head -5 >&2
	done <"$work/want"
}

command=
sed -n 's/^    //p' "$page" >"$work/commands"
: >"$work/want"
while IFS= read -r text; do
	case $text in
	'$ '*)
		check <&3
		command=${text#\$ }
		: >"$work/want"
		;;
	*) printf '%s\n' "$text" >>"$work/want" ;;
	esac
done 3</dev/null <"$work/commands"
check
done_testing
