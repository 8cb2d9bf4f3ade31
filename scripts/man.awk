# SPDX-License-Identifier: GPL-2.0-or-later
# A manual page from two sources: what the binary says of its own options, and NAME.8.md.
#
#   pantrace NAME --help-man >generated; awk -f scripts/man.awk generated tools/NAME.8.md >NAME.8
#
# NAME.8.md is Markdown: `# NAME(8)` first, `## SECTION`, `### Subsection`, paragraphs, fenced code, `- ` lists, tables,
# `term` + line `:   meaning`, **bold**, *italic*, `code`. The line `<!-- generated -->` in a section stands for the section of that
# name in the binary's page (SYNOPSIS, OPTIONS, EXAMPLES, FIELDS); NAME, RUNNING and EXIT STATUS are always the binary's. man pages so
# made are clean for `man --warnings`.

# Text as troff takes it, without markup.
function plain(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	return s
}

# A line of prose: **bold**, *italic*, `code`.
function prose(s,	out, i, c, end, at_start)
{
	out = ""
	at_start = 1
	while (s != "") {
		c = substr(s, 1, 1)
		if (c == "`" && (end = index(substr(s, 2), "`"))) {
			out = out "\\fB" plain(substr(s, 2, end - 1)) "\\fR"
			s = substr(s, end + 2)
		} else if (substr(s, 1, 2) == "**" && (end = index(substr(s, 3), "**"))) {
			out = out "\\fB" plain(substr(s, 3, end - 1)) "\\fR"
			s = substr(s, end + 4)
		} else if (c == "*" && substr(s, 2, 1) != " " && (end = index(substr(s, 2), "*"))) {
			out = out "\\fI" plain(substr(s, 2, end - 1)) "\\fR"
			s = substr(s, end + 2)
		} else {
			if (at_start && (c == "." || c == "'"))
				out = out "\\&"
			out = out plain(c)
			s = substr(s, 2)
		}
		at_start = 0
	}
	return out
}

# A cell of a table: a long name may be broken behind its colons.
function cell(s)
{
	s = prose(s)
	gsub(/:/, ":\\:", s)
	return s
}

function flush_table(	i, n, cells, row, layout)
{
	if (!ntable)
		return
	n = split(table[1], cells, /[ \t]*\|[ \t]*/)
	layout = ""
	for (i = 2; i < n; i++)
		layout = layout (i > 2 ? " " : "") "lx"
	print ".ad l\n.TS"
	print layout "."
	for (row = 1; row <= ntable; row++) {
		if (table[row] ~ /^\|[-:| \t]+\|$/)
			continue
		n = split(table[row], cells, /[ \t]*\|[ \t]*/)
		for (i = 2; i < n; i++) # a block of text each, so that long ones are broken
			print (i > 2 ? "T}\t" : "") "T{\n" (row == 1 ? "\\fB" plain(cells[i]) "\\fR" : cell(cells[i]))
		print "T}"
	}
	print ".TE\n.ad b"
	ntable = 0
	fresh = 0
	wants_paragraph = 1
}

function fail(why)
{
	print FILENAME ": " why >"/dev/stderr"
	failed = 1
}

function put(name)
{
	if (!(name in made)) {
		fail("the binary's own page has no section " name)
		return
	}
	printf "%s", made[name]
	done[name] = 1
}

FNR == NR {
	if ($1 == ".TH")
		title = $0
	else if ($1 == ".SH") {
		section = substr($0, 5)
		made[section] = ""
	} else if (section != "")
		made[section] = made[section] $0 "\n"
	next
}

{ text[++nlines] = $0 }

# A section that no text has: it says the same for all.
function put_own(name)
{
	if (!(name in made) || name in done)
		return
	print ".SH " name
	put(name)
}

function begin_section(name)
{
	if (name == "SEE ALSO") {
		put_own("RUNNING")
		put_own("EXIT STATUS")
	}
	section = name
	print ".SH " name
	fresh = 1
	wants_paragraph = 0
}

function code_line(s)
{
	s = plain(s)
	print (s ~ /^[.']/ ? "\\&" s : s)
}

function paragraph_line(s)
{
	if (wants_paragraph && !fresh)
		print ".PP"
	fresh = wants_paragraph = 0
	sub(/^[ \t]+/, "", s)
	print prose(s)
}

function one_line(i,	s)
{
	s = text[i]
	if (s ~ /^```/) {
		in_code = !in_code
		print in_code ? ".PP\n.RS 4\n.nf" : ".fi\n.RE"
		fresh = 0
		wants_paragraph = 1
	} else if (in_code)
		code_line(s)
	else if (s ~ /^\|/)
		table[++ntable] = s
	else if (s ~ /^## /)
		begin_section(substr(s, 4))
	else if (s ~ /^### /) {
		print ".SS " plain(substr(s, 5))
		fresh = 1
	} else if (s == "<!-- generated -->") {
		put(section)
		fresh = 0
		wants_paragraph = 1
	} else if (s ~ /^[ \t]*$/)
		wants_paragraph = 1
	else if (s ~ /^- /) {
		print ".IP \\(bu 2\n" prose(substr(s, 3))
		fresh = wants_paragraph = 0
	} else if (s ~ /^:   /)
		print prose(substr(s, 5))
	else if (i < nlines && text[i + 1] ~ /^:   /)
		print ".TP\n" prose(s)
	else if (s !~ /^<!--.*-->$/)
		paragraph_line(s)
}

END {
	if (text[1] !~ /^# /)
		fail("it does not begin with `# NAME(8)`")
	for (i = 1; i <= nlines; i++)
		if (text[i] ~ /^\|/)
			has_table = 1
	if (has_table)
		print "'\\\" t"
	print title
	print ".SH NAME"
	put("NAME")
	for (i = 2; i <= nlines && !failed; i++) {
		if (text[i] !~ /^\|/)
			flush_table()
		one_line(i)
	}
	flush_table()
	exit failed
}
