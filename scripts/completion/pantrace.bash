# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion of pantrace and the links to it; the words come from the binary's own option tables.
_pantrace()
{
	local current=${COMP_WORDS[COMP_CWORD]} command= words=
	if [ "${COMP_WORDS[0]##*/}" != pantrace ]; then
		command=${COMP_WORDS[0]##*/}
	elif [ "$COMP_CWORD" -gt 1 ]; then
		command=${COMP_WORDS[1]}
	fi
	case $command in -*) command=run ;; esac
	case $current in
	-*) words=$(pantrace "${command:-run}" --help-words 2>/dev/null | cut -f1) ;;
	*) [ -n "$command" ] || words=$(pantrace help --words 2>/dev/null | cut -f1) ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "$current"))
	[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _pantrace pantrace "${BASH_SOURCE[0]##*/}"
