#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Pictures as text on a terminal: as many colours as it has, by TERM and COLORTERM; none with NO_COLOR, or where it is no terminal.
# parallel: it draws files only
import os
import pty
import re
import subprocess

from tap import done, equal, ok, pantrace, scratch

scratch()
with open('stacks', 'w', encoding='utf-8') as f:
    f.write('main;parse;read 30\nmain;parse 20\nmain;print 50\n')
with open('script.txt', 'w', encoding='utf-8') as f:
    f.write(''.join(f'w {10 + i % 3} [000] {i / 10:.6f}: cpu-clock: 1000: 1 main (w)\n\n' for i in range(40)))


def drawn(words, **environment):
    """What pantrace writes on a terminal."""
    master, slave = pty.openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ('TERM', 'COLORTERM', 'NO_COLOR')}
    p = subprocess.Popen([pantrace, *words], stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.STDOUT, env=kept | environment)
    os.close(slave)
    seen = b''
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:
            break
        if not more:
            break
        seen += more
    os.close(master)
    equal(p.wait(), 0, f'{words[0]} {environment}')
    return seen.decode()


FORMS = {  # what a colour looks like, and only this
    '24 bits': (r'\x1b\[38;2;[\d;]+;48;2;\d+;\d+;\d+m', {'TERM': 'xterm-256color', 'COLORTERM': 'truecolor'}),
    '256': (r'\x1b\[38;5;\d+;48;5;\d+m', {'TERM': 'screen-256color'}),
    '16': (r'\x1b\[(?:30|97);4[0-7]m', {'TERM': 'linux'}),
}
PICTURES = ['flame', '--text', 'stacks'], ['heatmap', '--text', 'script.txt']
for words in PICTURES:
    plain = subprocess.run([pantrace, *words], capture_output=True, text=True)
    equal(plain.returncode, 0, f'{words[0]}: {plain.stderr}')
    ok('\x1b' not in plain.stdout, f'{words[0]}: no colours where it is no terminal')
    for name, (form, environment) in FORMS.items():
        text = drawn(words, **environment)
        ok(re.search(form, text) and '\x1b' not in re.sub(form + r'|\x1b\[0m', '', text), f'{words[0]}: {name} colours', repr(text[:300]))
    for environment in ({'TERM': 'xterm', 'NO_COLOR': '1'}, {'TERM': 'dumb'}, {'TERM': 'vt100'}, {}):
        text = drawn(words, **environment)
        ok('\x1b' not in text, f'{words[0]}: none', repr(text[:300]))
done()
