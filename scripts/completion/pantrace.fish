# SPDX-License-Identifier: GPL-2.0-or-later
# fish completion of pantrace and, through links of this file, of each link to it. The binary itself knows what may stand where.
set -l name (string replace -r '\.fish$' '' (path basename (status filename) 2>/dev/null; or basename (status filename)))

function __pantrace_candidates
	set -l words (commandline -opc)
	set -l found (pantrace complete $words "$(commandline -ct | string unescape)" 2>/dev/null)
	for line in $found
		switch $line
			case ':files'
				test (count $found) -gt 1; or __fish_complete_path (commandline -ct)
			case ':directories'
				__fish_complete_directories (commandline -ct)
			case ':commands'
				__fish_complete_command
			case '*'
				echo $line
		end
	end
end

for each in pantrace $name
	complete -c $each -f -a '(__pantrace_candidates)'
end
