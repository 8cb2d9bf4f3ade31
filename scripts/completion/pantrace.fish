# SPDX-License-Identifier: GPL-2.0-or-later
complete -c pantrace -n '__fish_use_subcommand' -a '(pantrace help --words)'
complete -c pantrace -n 'string match -q -- "-*" (commandline -ct)' -a '(pantrace (commandline -opc)[2] --help-words 2>/dev/null)'
