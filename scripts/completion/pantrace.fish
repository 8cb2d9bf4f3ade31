# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion of pantrace and, through links of this file, of each link to it.
set -l name (string replace -r '\.fish$' '' (path basename (status filename) 2>/dev/null; or basename (status filename)))

function __pantrace_options
	set -l line (commandline -opc)
	set -l command (basename $line[1])
	if test $command = pantrace
		set command run
		if set -q line[2]; and not string match -q -- '-*' $line[2]
			set command $line[2]
		end
	end
	pantrace $command --help-words 2>/dev/null
end

complete -c pantrace -n __fish_use_subcommand -a '(pantrace help --words 2>/dev/null)'
for each in pantrace $name
	complete -c $each -n 'string match -q -- "-*" (commandline -ct)' -a '(__pantrace_options)'
end
