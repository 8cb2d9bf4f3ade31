# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium for tests of pages, spoken to over a pipe in its DevTools protocol.

with Browser() as b:
	b.open('file:///tmp/page.html')
	b.run('document.title')		# the value of an expression of JavaScript
	b.key('Enter')
	b.complaints()				# errors and warnings of the console, requests that were made
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile

KEYS = {'Enter': 13, 'Escape': 27, 'Backspace': 8, 'ArrowUp': 38, 'ArrowDown': 40, 'ArrowLeft': 37,
        'ArrowRight': 39, 'Home': 36, 'Tab': 9}


class Browser:
    def __init__(self, dark=False, width=1200, height=900, flags=()):
        self.profile = tempfile.mkdtemp(prefix='pantrace-test.')
        to_read, self.to = os.pipe()
        self.answers, from_write = os.pipe()
        flags = [*flags, '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run', '--remote-debugging-pipe',
                 '--disable-background-networking', '--disable-dev-shm-usage', '--user-data-dir=' + self.profile,
                 f'--window-size={width},{height}']
        if dark:
            flags.append('--blink-settings=preferredColorScheme=0')

        def descriptors():  # Chromium reads from 3 and writes to 4
            os.dup2(os.dup(to_read), 3)
            os.dup2(os.dup(from_write), 4)
        # high numbers, so that neither is in the other's way
        self.process = subprocess.Popen(['chromium', *flags, 'about:blank'], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=descriptors, close_fds=False)
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.events, self.session = b'', 0, [], None
        target = next(t for t in self.ask('Target.getTargets')['targetInfos'] if t['type'] == 'page')
        self.session = self.ask('Target.attachToTarget', targetId=target['targetId'], flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.ask(domain + '.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while b'\0' not in self.buffer:
            more = os.read(self.answers, 1 << 20)
            if not more:
                raise EOFError('the browser has gone')
            self.buffer += more
        text, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        self.number += 1
        question = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            question['sessionId'] = self.session
        os.write(self.to, json.dumps(question).encode() + b'\0')
        while True:
            m = self.message()
            if m.get('id') == self.number:
                if 'error' in m:
                    raise RuntimeError(f"{method}: {m['error']['message']}")
                return m['result']
            self.events.append(m)

    def open(self, url):
        for there in ('about:blank', url):
            self.events = []
            self.ask('Page.navigate', url=there)
            while not any(e.get('method') == 'Page.loadEventFired' for e in self.events):
                self.events.append(self.message())

    def run(self, expression):
        r = self.ask('Runtime.evaluate', expression=expression, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in r:
            raise RuntimeError(r['exceptionDetails'].get('exception', {}).get('description', expression))
        return r['result'].get('value')

    def wait(self, expression):
        """Until it is true; five seconds at the most are a hang's, not a slow machine's, so sixty."""
        return self.run(f'''new Promise((yes, no) => {{
            const end = Date.now() + 60000;
            (function look() {{
                if ({expression}) yes(true);
                else if (Date.now() > end) yes(false);
                else setTimeout(look, 20);
            }})();
        }})''')

    def key(self, key):
        of = {'key': key, 'windowsVirtualKeyCode': KEYS.get(key, ord(key[0].upper()))}
        text = {'text': '\r' if key == 'Enter' else key} if key == 'Enter' or key not in KEYS else {}
        self.ask('Input.dispatchKeyEvent', type='keyDown', **of, **text)
        self.ask('Input.dispatchKeyEvent', type='keyUp', **of)

    def click(self, x, y):
        for kind in ('mousePressed', 'mouseReleased'):
            self.ask('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def screenshot(self, file):
        with open(file, 'wb') as to:
            to.write(base64.b64decode(self.ask('Page.captureScreenshot')['data']))

    def complaints(self, served=None):
        """What the page must not have: exceptions, lines of the console, requests but those of its own, at this address."""
        found = []
        for e in self.events:
            p = e.get('params', {})
            if e.get('method') == 'Runtime.exceptionThrown':
                found.append(str(p['exceptionDetails'].get('exception', {}).get('description')))
            elif e.get('method') == 'Runtime.consoleAPICalled':
                found.append(str(p['args']))
            elif e.get('method') == 'Log.entryAdded':
                found.append(p['entry']['text'])
            elif e.get('method') == 'Network.requestWillBeSent' and p.get('type') != 'Document' and not (served and p['request']['url'].startswith(served)):
                found.append(p['request']['url'][:200])
        return found
