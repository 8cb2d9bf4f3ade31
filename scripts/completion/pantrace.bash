# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion of pantrace and the links to it; the binary itself knows what may stand where.
_pantrace()
{
	local candidate kind line=${COMP_LINE:0:COMP_POINT}
	COMPREPLY=()
	while IFS= read -r candidate; do
		case $candidate in
		:files) kind=-f ;;
		:directories) kind=-d ;;
		:commands) kind=-c ;;
		*) COMPREPLY+=("$candidate") ;;
		esac
	done < <(pantrace complete --line "$line" "$COMP_WORDBREAKS" 2>/dev/null | cut -f1)
	if [ ${#COMPREPLY[@]} -eq 0 ] && [ -n "$kind" ]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen "$kind" -- "${COMP_WORDS[COMP_CWORD]}")
	fi
	case ${COMPREPLY[0]} in *[:=,/]) compopt -o nospace 2>/dev/null ;; esac
}
complete -F _pantrace pantrace "${BASH_SOURCE[0]##*/}"
