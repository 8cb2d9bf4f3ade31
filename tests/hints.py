#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands that messages of the sources name, one a line: `pantrace ...` in strings, with what printf puts in as %s. Where a hint
names one without the `` around it, a line "BARE FILE TEXT": people could not tell where it ends. Help texts are not of interest."""
import os
import re
import sys

LITERALS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI[a-z0-9]+\s*)?"(?:[^"\\\n]|\\.)*")*')
HELP = re.compile(r"\.(details|doc|examples|summary|help)\s*=\s*$")
HINT = re.compile(r"(hint\w*\((?:[^;\"]*)|hint\w*\s*=[^;\"]*)$")

commands = set()
for folder, _, names in sorted(os.walk(sys.argv[1])):
    for name in sorted(names):
        if not name.endswith((".c", ".h")) or os.path.basename(folder) == "help":
            continue
        text = open(os.path.join(folder, name), encoding="utf-8").read()
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        for found in LITERALS.finditer(text):
            before = text[max(0, found.start() - 200) : found.start()]
            if HELP.search(before):
                continue
            said = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', found.group()))
            said = re.sub(r'\\(["\\])', r"\1", said)
            commands.update(re.findall(r"`(pantrace [^`]*)`", said))
            if HINT.search(before) and re.search(r"pantrace -|pantrace [a-z]+ [-%A-Z]|'pantrace", re.sub(r"`[^`]*`", "", said)):
                print("BARE", name, said)
print("\n".join(sorted(commands)))
