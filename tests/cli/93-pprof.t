#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
# Profiles of pprof are read: made here by an encoder of protobuf of the test's own, as Go, C++ and others write them.
# parallel: traces nothing
import gzip
import json

from tap import done, equal, ok, run, scratch

scratch()


def varint(v):
    v &= (1 << 64) - 1
    out = b''
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def number(field, v):
    return varint(field << 3) + varint(v)


def data(field, b):
    return varint(field << 3 | 2) + varint(len(b)) + b


def message(field, **numbers):
    """f1=7: field 1 is 7."""
    return data(field, b''.join(number(int(name[1:]), v) for name, v in numbers.items()))


class Profile:
    def __init__(self, *types, default=None):
        self.strings, self.functions, self.body = [b''], [], b''
        self.types = b''.join(message(1, f1=self.text(t), f2=self.text(u)) for t, u in types)
        self.default = default

    def text(self, s):
        s = s if isinstance(s, bytes) else s.encode()
        if s not in self.strings:
            self.strings.append(s)
        return self.strings.index(s)

    def mapping(self, ident, path, **more):
        self.body += message(3, f1=ident, f5=self.text(path), **more)

    def location(self, ident, mapping, *names, address=0):
        """Names: what is inlined first."""
        lines = b''
        for name in names:
            self.functions.append(message(5, f1=1000 - len(self.functions), f2=self.text(name)))
            lines += data(4, number(1, 1001 - len(self.functions)))
        self.body += data(4, number(1, ident) + (number(2, mapping) if mapping else b'') + number(3, address) + lines)

    def sample(self, locations, values, packed=True, **labels):
        if packed:
            body = data(1, b''.join(map(varint, locations))) + data(2, b''.join(map(varint, values)))
        else:
            body = b''.join(number(1, l) for l in locations) + b''.join(number(2, v) for v in values)
        for key, v in ((key, v) for key, all in labels.items() for v in (all if isinstance(all, list) else [all])):
            body += data(3, number(1, self.text(key)) + (number(3, v) if isinstance(v, int) else number(2, self.text(v))))
        self.body += data(2, body)

    def bytes(self):
        last = number(14, self.text(self.default)) if self.default else b''
        return (self.types + self.body + b''.join(self.functions) + b''.join(data(6, s) for s in self.strings) +
                number(9, 1700000000 * 10**9) + last)

    def write(self, name, pack=True, before=b''):
        with open(name, 'wb') as f:
            f.write(gzip.compress(before + self.bytes()) if pack else before + self.bytes())


def usual(**default):
    p = Profile(('samples', 'count'), ('cpu', 'nanoseconds'), **default)
    p.mapping(1, '/usr/bin/shop', f2=0x400000, f3=0x500000)
    p.mapping(2, '/lib/libc.so.6')
    p.location(7, 1, 'main', address=0x401000)
    p.location(3, 1, 'small', 'work', address=0x402000)
    p.location(9, 2, 'read', address=0x7f0000001000)
    p.location(4, 0, 'vfs_read', address=0xffffffff81000000)
    p.sample([3, 7], [2, 20000000])
    p.sample([4, 9, 7], [1, 10000000], packed=False, thread='worker', request='<b>\x1b[31m')
    p.sample([7], [0, 0])
    return p


def folded(path, *words):
    code, out, err = run('convert', '--to', 'folded', *words, path, '-')
    return code, sorted(out.splitlines()), err


want = ['shop;main 0', 'shop;main;work;small 20000000', 'worker;main;read;vfs_read 10000000']
usual().write('cpu.pb.gz')
usual().write('plain.pprof', pack=False)
usual().write('go.pb.gz', before=number(9, 1700000000 * 10**9) + number(10, 10**9))
usual().write('heap.pb.gz', before=message(11, f1=3, f2=4) + number(12, 524288))
for name in 'cpu.pb.gz', 'plain.pprof', 'go.pb.gz', 'heap.pb.gz':
    equal(folded(name), (0, want, ''), f'{name}: its stacks')
usual(default='samples').write('samples.pb.gz')
equal(folded('samples.pb.gz')[1], ['shop;main 0', 'shop;main;work;small 2', 'worker;main;read;vfs_read 1'], 'the type that it names')

code, out, err = run('flame', '--text', 'cpu.pb.gz')
equal((code, [' '.join(l.split()) for l in out.splitlines()]), (0, [
    'Flame graph of cpu.pb.gz', 'SHARE ns FRAME', '100.00% 30000000 all', '66.67% 20000000 shop', '66.67% 20000000 main',
    '66.67% 20000000 work', '66.67% 20000000 small', '33.33% 10000000 worker', '33.33% 10000000 main', '33.33% 10000000 read',
    '33.33% 10000000 vfs_read']), 'flame: widths in time')
for words in ['--count'], ['--weight', 'samples']:
    code, out, err = run('flame', '--text', *words, 'cpu.pb.gz')
    ok(code == 0 and ' 3  all' in out and ' samples ' in out, f'{words[0]}: as many samples as it says', out, err)
code, out, err = run('flame', '--text', '-w', 'request != ""', 'cpu.pb.gz')
ok(code == 0 and 'worker' in out and 'shop' not in out, 'labels are fields', out, err)
code, out, err = run('flame', '-o', 'cpu.svg', 'cpu.pb.gz')
svg = open('cpu.svg', encoding='utf-8').read()
ok(code == 0 and 'vfs_read' in svg, 'SVG', err)
code, out, err = run('report', 'cpu.pb.gz')
ok(code == 0 and 'worker: samples=1 cpu=10000000 thread=worker request=<b>\\x1b[31m\n\tffffffff81000000 vfs_read ([unknown])\n' in out and
   'small (inlined)' in out, 'as text, escaped', out, err)
code, out, err = run('convert', '--to', 'ndjson', 'cpu.pb.gz', '-')
equal([json.loads(l)['fields'] for l in out.splitlines()][:2], [
    {'samples': 2, 'cpu': 20000000}, {'samples': 1, 'cpu': 10000000, 'thread': 'worker', 'request': '<b>\x1b[31m'}], 'as JSON')
code, out, err = run('report', '--top', 'cpu.pb.gz')
ok(code == 0 and '66.67%' in out and 'small' in out, 'report --top', out, err)
run('convert', 'cpu.pb.gz', 'again.pb.gz')
equal(folded('again.pb.gz'), (0, want, ''), 'written and read again')
code, out, err = run('flame', '--text', '--count', 'again.pb.gz')
ok(' 3  all' in out, 'with as many samples', out, err)
code, out, err = run('convert', '--to', 'speedscope', 'cpu.pb.gz', '-')
equal(json.loads(out)['profiles'][0]['unit'], 'nanoseconds', 'its unit is handed on')
code, out, err = run('view', '-o', 'view.svg', 'cpu.pb.gz')
ok(code == 0 and '`pantrace flame`' in err, 'view draws a flame graph', err)
with open('one.folded', 'w', encoding='utf-8') as f:
    f.write('a;b 0\na;c 2\n')
for command in 'heatmap', 'timeline':
    for name in 'cpu.pb.gz', 'one.folded':
        code, out, err = run(command, '-o', 'none.svg', name)
        ok(code == 1 and 'nothing says when its events were' in err and f"`pantrace flame '{name}'`" in err, f'{command} of {name}: refused', code, err)
code, out, err = run('flame', '--text', 'one.folded')
ok(' 2  all' in out and 'b' not in out.split('all')[1], 'folded: 0 is nothing', out)

# ---- odd ones ----

p = Profile(('space', 'bytes'))
deep = list(range(1, 4001))
for i in deep:
    p.location(i, 0, f'f{i}' if i > 1 else b'<script>"\x1b[31m\xff' + b'x' * 10000)
p.sample(deep, [2**53 + 1])
p.sample([4000], [2**62])
p.write('odd.pb.gz')
code, out, err = run('flame', '--text', 'odd.pb.gz')
ok(code == 0 and f'{2**62 + 2**53 + 1}  all' in out and f'{2**53 + 1} ' in out, '4,000 deep, beyond 2^53', code, err)
ok('\x1b' not in out, 'hostile names are escaped')
code, out, err = run('flame', '-o', 'odd.html', 'odd.pb.gz')
ok(code == 0 and '<script>"' not in open('odd.html', encoding='utf-8').read(), 'in the page, too', err)
p = Profile(('cpu', '<script>'))
p.location(1, 0, 'main')
p.sample([1], [1])
p.write('unit.pb.gz')
code, out, err = run('flame', '--text', 'unit.pb.gz')
ok(code == 0 and 'events' in out and '<script>' not in out, 'a hostile unit', out)

# ---- wrong ones ----


def refused(name, why, what):
    code, out, err = run('flame', '--text', name)
    ok(code == 1 and why in err and 'all' not in out, what, code, out, err)


whole = usual().bytes()
with open('cut.pb.gz', 'wb') as f:
    f.write(gzip.compress(whole)[:-20])
refused('cut.pb.gz', 'is damaged, or cut short', 'gzip cut short')
with open('cut.pprof', 'wb') as f:
    f.write(whole[:-30])
refused('cut.pprof', 'is damaged, or cut short', 'cut short')
p = Profile(('cpu', 'nanoseconds'))
p.write('none.pb.gz')
refused('none.pb.gz', 'no event was recorded', 'no sample')
p.sample([5], [1])
p.write('unknown.pb.gz')
refused('unknown.pb.gz', 'sample 1 of 1 cannot be read', 'an unknown location')
p = Profile(('cpu', 'nanoseconds'))
p.location(5, 6, 'main')
p.write('mapping.pb.gz')
refused('mapping.pb.gz', 'a location cannot be read', 'an unknown mapping')
p = Profile(('cpu', 'nanoseconds'))
p.location(5, 0, 'main')
p.sample([5], [1, 2])
p.write('values.pb.gz')
refused('values.pb.gz', 'sample 1 of 1 cannot be read', 'a value too many')
p = Profile(('cpu', 'nanoseconds'))
p.location(5, 0, 'main')
p.sample([5], [-7])
p.write('difference.pb.gz')
refused('difference.pb.gz', 'cpu of a sample is -7: the profile is a difference', 'a difference of two profiles')
with open('bomb.pb.gz', 'wb') as f:
    f.write(gzip.compress(message(1, f1=1, f2=2) + varint(6 << 3 | 2) + varint(300 << 20)) + 300 * gzip.compress(bytes(1 << 20)))
refused('bomb.pb.gz', 'more than 256 MiB', 'a bomb')
with open('text.gz', 'wb') as f:
    f.write(gzip.compress(b'\n\x04only text\n'))
refused('text.gz', 'is not a recording', 'another file that gzip packed')
# labels of one name, and of the name of a type; two types of one name
p = Profile(('cpu', 'ns'), ('cpu', 'count'))
p.location(1, 0, 'main')
p.sample([1], [5, 6], k=['v1', 'v2', 'v3'], cpu=9)
p.write('twice.pb')
code, out, err = run('convert', '--to', 'ndjson', 'twice.pb', '-')
fields = json.loads(out, object_pairs_hook=lambda pairs: pairs)
equal(dict(fields).get('fields'), [('cpu', 5), ('cpu (2)', 6), ('k', 'v1'), ('k (2)', 'v2'), ('k (3)', 'v3'), ('cpu (3)', 9)],
      'no object has the same name twice')

# a few KB of it become GB here
with open('large.pb.gz', 'wb') as f:
    f.write(gzip.compress(usual().bytes() + data(4, b'') * (5 << 20)))
code, out, err = run('flame', '--text', 'large.pb.gz')
ok(code == 1 and 'larger than any' in err, 'a profile of empty parts is refused', code, err)

done()
