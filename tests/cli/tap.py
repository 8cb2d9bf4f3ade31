# SPDX-License-Identifier: GPL-2.0-or-later
"""For tests in Python: TAP, the binary, and a scratch folder that goes away, in which the test runs."""
import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

pantrace = os.environ.get('PANTRACE', os.path.dirname(os.path.abspath(__file__)) + '/../../build/pantrace')
tests = 0
failed = 0


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f'1..0 # SKIP no {program}')
            sys.exit(0)


def scratch():
    work = tempfile.mkdtemp(prefix='pantrace-test.')
    atexit.register(shutil.rmtree, work, True)
    os.chdir(work)
    return work


def tell(what, *why):
    """Goes to stderr, as in tap.sh: prove passes that on."""
    print(f'# Failed test {tests} of {sys.argv[0]}: {what}', file=sys.stderr)
    for text in why:
        for line in str(text).splitlines()[:40]:
            print('# ' + line[:1000], file=sys.stderr, flush=True)


def uncaught(*exception):
    tell('it ended by an exception', *traceback.format_exception(*exception))


sys.excepthook = uncaught


def ok(condition, what, *why):
    global tests, failed
    tests += 1
    failed += not condition
    print(('' if condition else 'not ') + f'ok {tests} - {what}', flush=True)
    if not condition:
        tell(what, *why)


def equal(got, want, what):
    ok(got == want, what, f'got: {got!r}', f'want: {want!r}')


def run(*words):
    """Exit code, stdout, stderr."""
    r = subprocess.run([pantrace, *words], capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr


def done():
    print(f'1..{tests}')
    sys.exit(failed != 0)
