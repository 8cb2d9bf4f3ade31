# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands that show full screens: on a pseudo-terminal, for its settings and what is sent; in tmux, for what is to be seen."""
import atexit
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

from tap import ok, pantrace

ENTER, LEAVE = b'\x1b[?1049h', b'\x1b[?1049l'


class Pty:
    """pantrace on a pseudo-terminal, beside its terminal's settings."""

    def __init__(self, *words, term='xterm-256color', env=None):
        self.fd, self.slave = pty.openpty()
        self.resize(80, 24)
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen(['setsid', '-c', pantrace, *words], stdin=self.slave, stdout=self.slave, stderr=self.slave,
                                        env=os.environ | {'TERM': term} | (env or {}))
        self.pid = self.process.pid
        atexit.register(self.process.kill)
        self.seen = b''

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))

    def until(self, what, since=0, seconds=120):
        end = time.time() + seconds
        while what not in self.seen[since:] and time.time() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.fd, 65536)
                except OSError:
                    break
        return what in self.seen[since:]

    def is_restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def end(self):
        """The exit code; of a signal, negative."""
        for _ in range(1200):
            self.until(b'never', 0, 0.1)
            code = self.process.poll()
            if code is not None:
                break
        os.close(self.slave)
        os.close(self.fd)
        return code


def check_endings(words, sign):
    """However it ends, the terminal is as it was. sign: what its screen has."""
    endings = {'q': b'q', 'F10': b'\x1b[21~', 'Ctrl-C': b'\x03', 'SIGTERM': signal.SIGTERM, 'SIGSEGV': signal.SIGSEGV}
    for name, ending in endings.items():
        p = Pty(*words)
        ok(p.until(sign), f'{name}: the screen', p.seen)
        if isinstance(ending, bytes):
            os.write(p.fd, ending)
        else:
            os.kill(p.pid, ending)
        left = p.until(LEAVE)
        for _ in range(3000):
            if p.is_restored():
                break
            time.sleep(0.02)
        restored = p.is_restored()
        code = p.end()
        ok(left and restored and p.seen.rstrip().endswith(LEAVE) and code == (-ending if name == 'SIGSEGV' else 0),
           f'{name}: the terminal is as it was', left, restored, p.seen[-60:], code)
    p = Pty(*words)
    p.until(sign)
    while select.select([p.fd], [], [], 0)[0]:  # from here on nobody reads
        os.read(p.fd, 65536)
    os.write(p.fd, b'\x0c' * 200)
    time.sleep(1)
    p.process.terminate()
    ok(p.process.wait(120) == 0, 'SIGTERM ends it where nobody reads the terminal')
    p.end()


class Tmux:
    """A shell in a terminal of tmux."""

    def __init__(self):
        self.server = f'pantrace-test-{os.getpid()}'
        atexit.register(self.ask, 'kill-server')
        self.ask('-f', '/dev/null', 'new-session', '-d', '-x', '130', '-y', '40', 'bash --norc -i')

    def ask(self, *words):
        return subprocess.run(['tmux', '-u', '-L', self.server, *words], capture_output=True, text=True).stdout

    def screen(self, *keys):
        for key in keys:
            self.ask('send-keys', key)
        return self.ask('capture-pane', '-p')

    def resize(self, columns, rows):
        self.ask('resize-window', '-x', str(columns), '-y', str(rows))

    def shows(self, what, pattern, *keys):
        """After these keys the screen comes to match."""
        text = self.screen(*keys)
        for _ in range(1200):
            if re.search(pattern, text, re.M | re.S):
                break
            time.sleep(0.05)
            text = self.screen()
        ok(re.search(pattern, text, re.M | re.S), what, *text.splitlines())
        return text

    def check_stopping(self, sign):
        """Ctrl-Z, fg, q: the shell's terminal is as in the file "before", which stty wrote."""
        self.shows('Ctrl-Z: it stops', r'Stopped', 'C-z')
        self.screen('stty -a >stopped; fg', 'Enter')
        self.shows('fg: the screen is back', sign)
        self.shows('q: the screen from before', r'Stopped.*fg', 'q')
        self.screen('stty -a >after', 'Enter')
        for _ in range(1200):
            if os.path.exists('after') and os.path.getsize('after'):
                break
            time.sleep(0.05)
        settings = [open(name, encoding='utf-8').read() for name in ('before', 'stopped', 'after')]
        ok(settings[0] and settings[0] == settings[1] == settings[2], 'stty finds the terminal as it was', *settings)
