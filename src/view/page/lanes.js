/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data of a time line (view/timeline/page.c has its layout) and its lanes: intervals that do not
 * overlap, in order. Times are nanoseconds since the first event; everything refers to events by
 * their numbers. Drawing costs by the pixels, not by the intervals: where several begin in one pixel,
 * they are drawn as one column of their shares, from sums that are kept of every BLOCK of them.
 */
const STATES = ['unknown', 'running', 'runnable', 'preempted', 'sleeping', 'blocked', 'stopped', 'ended'];
const UNKNOWN = 0, RUNS = 1, WOKEN = 2, PREEMPTED = 3, SLEEPS = 4, BLOCKED = 5, STOPPED = 6, ENDED = 7;
/* The same as in view/timeline/model.c: on light ground, on dark. */
const STATE_COLOURS = [['#fff', '#2f7d4f', '#f0a030', '#e07020', '#d5d9de', '#a03c9c', '#7a6a5a', '#fff'],
	['#16181c', '#4fae78', '#f0b050', '#e8803a', '#3a3f47', '#c56ac2', '#a09080', '#16181c']];
const BLOCK = 16;

/* The first i of [from, to) for which is(i); to if none. Once true, it stays so. */
function firstThat(from, to, is) {
	let step = 1;
	while (from + step < to && !is(from + step)) {
		from += step;
		step *= 2;
	}
	to = Math.min(to, from + step + 1);
	while (from < to) {
		const middle = (from + to) >>> 1;
		if (is(middle))
			to = middle;
		else
			from = middle + 1;
	}
	return from;
}

/* ---- data ---- */

/* Columns of numbers: of each of n items the same member. */
class ColumnReader extends Reader {
	column(n, into = new Uint32Array(n)) {
		const bytes = this.bytes;
		let at = this.at;
		for (let i = 0; i < n; i++) {
			let byte = bytes[at++], value = byte & 127, factor = 128;
			while (byte & 128) {
				byte = bytes[at++];
				value += (byte & 127) * factor;
				factor *= 128;
			}
			into[i] = value;
		}
		this.at = at;
		return into;
	}

	/* What was written as differences. */
	rising(n, into) {
		const column = this.column(n, into);
		for (let i = 1; i < n; i++)
			column[i] += column[i - 1];
		return column;
	}

	signed(n) {
		const column = this.column(n, new Float64Array(n));
		return column.map(v => v % 2 ? -(v - 1) / 2 : v / 2);
	}

	bigSigned() {
		const v = this.big();
		return v & 1n ? -(v >> 1n) : v >> 1n;
	}
}

function readTimeline(reader) {
	const t = {files: reader.text(), isUnplaced: reader.number(), clock: reader.bigSigned()};
	let n = reader.number();
	t.names = Array.from({length: n}, () => reader.text());
	n = reader.number();
	t.hosts = Array.from({length: n}, () => reader.number());
	n = reader.number();
	t.threads = {count: n, tid: reader.column(n), pid: reader.column(n), name: reader.column(n), host: reader.column(n)};
	n = reader.number();
	t.cpus = {count: n, number: reader.column(n), host: reader.column(n)};
	n = reader.number();
	t.kinds = {count: n, name: reader.column(n)};
	t.kinds.isMark = t.kinds.name.map(v => v & 1);
	t.kinds.name = t.kinds.name.map(v => v >>> 1);
	n = reader.number();
	t.events = {count: n, time: reader.rising(n, new Float64Array(n)), kind: reader.column(n),
		thread: reader.column(n), cpu: reader.column(n)};
	n = reader.number();
	t.changes = {count: n, event: reader.rising(n), thread: reader.column(n), state: reader.column(n, new Uint8Array(n))};
	n = reader.number();
	t.wakeups = {count: n, event: reader.rising(n), thread: reader.column(n)};
	n = reader.number();
	t.slices = {count: n, row: reader.column(n), begin: reader.signed(n), length: reader.column(n, new Float64Array(n)),
		name: reader.column(n), depth: reader.column(n)};
	for (let i = 1; i < n; i++)
		t.slices.begin[i] += t.slices.begin[i - 1];
	n = reader.number();
	t.counters = {count: n, event: reader.rising(n), name: reader.column(n), value: reader.signed(n)};
	n = reader.number();
	t.losses = reader.rising(n);
	t.texts = reader.number() ? Array.from({length: t.events.count}, () => {
		const length = reader.number();
		reader.at += length;
		return [reader.at - length, reader.at];
	}) : null;
	t.stacks = reader.number() ? {tree: readTree(reader), frame: reader.column(t.events.count)} : null;
	t.reader = reader;
	t.part = reader.number() ? readPart(reader, t) : null;
	t.last = t.part ? t.part.last : t.events.time[t.events.count - 1];
	/* events between which none is missing */
	[t.firstWhole, t.endWhole] = t.part ? [t.part.first, t.part.end] : [0, t.events.count];
	return t;
}

/* What view/timeline/part.c tells of a part of a time line. */
function readPart(reader, t) {
	const [last, total, from, to, first, end] = Array.from({length: 6}, () => reader.number());
	const p = {last, total, from, to, first, end, numbers: reader.rising(t.events.count)};
	p.ns = STATES.map(() => reader.column(t.threads.count, new Float64Array(t.threads.count)));
	p.begin = reader.column(t.threads.count, new Float64Array(t.threads.count));
	p.depths = {t: reader.column(t.threads.count), c: reader.column(t.cpus.count)};
	p.columns = reader.number();
	if (p.columns) {
		p.states = Array.from({length: t.threads.count}, () => new CoarseLane(reader, p, STATES.length));
		p.running = Array.from({length: t.cpus.count}, () => new CoarseLane(reader, p, 1));
	}
	return p;
}

/* ---- lanes ---- */

class Lane {
	/* begin, end: events; what: a state, thread or name; cut: its end is not known. classes: what is summed */
	constructor(time, begin, end, what, cut, classes) {
		Object.assign(this, {time, begin, end, what, cut, classes, count: begin.length});
	}

	from(i) {
		return this.time[this.begin[i]];
	}

	to(i) {
		return this.time[this.end[i]];
	}

	/* The one that t is in, else -1. */
	at(t) {
		const i = this.endsAfter(t);
		return i < this.count && this.from(i) <= t ? i : -1;
	}

	/* The first that ends behind t; that begins at t or later, from number i on. */
	endsAfter(t) {
		const {time, end} = this;
		return firstThat(0, this.count, k => time[end[k]] > t);
	}

	beginsFrom(t, i = 0) {
		const {time, begin} = this;
		return firstThat(i, this.count, k => time[begin[k]] >= t);
	}

	/* Of each class, the time of all before each BLOCK; made when it is first needed. */
	makeSums() {
		this.sums = Array.from({length: this.classes}, () => new Float64Array(Math.ceil(this.count / BLOCK) + 1));
		const {time, begin, end, what, cut, classes} = this, all = new Float64Array(classes);
		for (let i = 0; i <= this.count; i++) {
			for (let c = 0; i % BLOCK === 0 && c < classes; c++)
				this.sums[c][i / BLOCK] = all[c];
			if (i < this.count && !cut[i])
				all[classes > 1 ? what[i] : 0] += time[end[i]] - time[begin[i]];
		}
	}

	/* The time of a class in all before number n. */
	before(n, c) {
		const {time, begin, end, what, cut, classes} = this;
		let i = Math.floor(n / BLOCK), sum = this.sums[c][i];
		for (i *= BLOCK; i < n; i++)
			if (!cut[i] && (classes === 1 || what[i] === c))
				sum += time[end[i]] - time[begin[i]];
		return sum;
	}

	/*
	 * What is seen from t0 on, `step` a pixel, n pixels: one(i, x, width) of those that are a pixel
	 * wide, many(x, shares, first, end) of pixels where narrower ones begin.
	 */
	draw(t0, step, n, one, many) {
		const t1 = t0 + step * n;
		let i = this.endsAfter(t0);
		const shares = new Float64Array(this.classes);
		while (i < this.count && this.from(i) < t1) {
			const x = (this.from(i) - t0) / step, width = (this.to(i) - this.from(i)) / step;
			if (width >= 1) {
				one(i, x, width);
				i++;
				continue;
			}
			const pixel = Math.floor(x), edge = t0 + (pixel + 1) * step, first = i;
			i = this.beginsFrom(edge, i);
			if (i === first)
				i++;
			else if (this.to(i - 1) - this.from(i - 1) >= step && i - 1 > first)
				i--;
			if (!this.sums)
				this.makeSums();
			for (let c = 0; c < this.classes; c++)
				shares[c] = i - first === 1 ? 0 : (this.before(i, c) - this.before(first, c)) / step;
			if (i - first === 1)
				shares[this.classes > 1 ? this.what[first] : 0] = width;
			many(pixel, shares, first, i);
		}
	}
}

/* A lane of which only the shares in columns of time are known: it has no intervals. */
class CoarseLane {
	constructor(reader, part, classes) {
		const runs = reader.number();
		Object.assign(this, {part, classes, count: 0, begin: [], ends: new Uint32Array(runs), shares: new Uint8Array(runs * classes)});
		for (let run = 0, column = 0; run < runs; run++) {
			this.ends[run] = column += reader.number();
			this.shares.set(reader.bytes.subarray(reader.at, reader.at += classes), run * classes);
		}
	}

	at() {
		return -1;
	}

	endsAfter() {
		return 0;
	}

	makeSums() {}

	/* As Lane's. */
	draw(t0, step, n, one, many) {
		const {from, to, columns} = this.part, width = Math.max((to - from) / columns, 1), shares = new Float64Array(this.classes);
		for (let x = 0, run = 0; x < n; x++) {
			const column = Math.floor((t0 + (x + 0.5) * step - from) / width);
			if (column < 0 || column >= columns)
				continue;
			run = firstThat(run, this.ends.length, k => this.ends[k] > column);
			for (let c = 0; c < this.classes; c++)
				shares[c] = this.shares[run * this.classes + c] / 255;
			if (shares.some(Boolean))
				many(x, shares);
		}
	}
}

/* Indices of 0 to n - 1 by their row, in order; those whose row is -1 are nowhere. */
function byRow(n, rows, rowOf) {
	const start = new Uint32Array(rows + 2), order = new Uint32Array(n);
	for (let i = 0; i < n; i++)
		start[rowOf(i) + 2]++;
	start[1] = 0;
	for (let r = 1; r <= rows; r++)
		start[r + 1] += start[r];
	const at = start.slice(1);
	for (let i = 0; i < n; i++) {
		const row = rowOf(i);
		if (row >= 0)
			order[at[row]++] = i;
	}
	return {of: r => order.subarray(start[r + 1], start[r + 2])};
}

/* The states of each thread, and who ran on each CPU. */
function makeStates(t) {
	const {changes, threads, cpus, events} = t, last = events.count - 1;
	if (t.part?.columns) {
		t.states = t.part.states;
		t.running = t.part.running;
		return;
	}
	const by = byRow(changes.count, threads.count, i => changes.thread[i]);
	const endOf = new Uint32Array(changes.count), cutOf = new Uint8Array(changes.count);
	t.states = Array.from({length: threads.count}, (_, thread) => {
		const of = by.of(thread), n = of.length;
		const begin = new Uint32Array(n), end = new Uint32Array(n), what = new Uint8Array(n), cut = new Uint8Array(n);
		for (let k = 0; k < n; k++) {
			const change = of[k], state = changes.state[change];
			begin[k] = changes.event[change];
			end[k] = endOf[change] = k + 1 < n ? changes.event[of[k + 1]] : last;
			what[k] = state >>> 1;
			cut[k] = cutOf[change] = k + 1 < n ? state & 1 : 1;
		}
		return new Lane(events.time, begin, end, what, cut, STATES.length);
	});
	const onCpu = byRow(changes.count, cpus.count, i => changes.state[i] >>> 1 === RUNS ? events.cpu[changes.event[i]] - 1 : -1);
	t.running = Array.from({length: cpus.count}, (_, cpu) => {
		const of = onCpu.of(cpu);
		return new Lane(events.time, of.map(i => changes.event[i]), of.map(i => endOf[i]), of.map(i => changes.thread[i]),
			of.map(i => cutOf[i]), 1);
	});
}

/* Of each row that has slices its lanes, by their depth. */
function makeSlices(t) {
	const s = t.slices, lanes = {t: [], c: []};
	for (let first = 0, end; first < s.count; first = end) {
		const row = s.row[first], counts = [];
		for (end = first; end < s.count && s.row[end] === row; end++)
			counts[s.depth[end]] = (counts[s.depth[end]] ?? 0) + 1;
		const of = counts.map(n => new Lane(t.events.time, new Uint32Array(n), new Uint32Array(n), new Uint32Array(n), new Uint8Array(n), 1));
		const at = new Uint32Array(counts.length);
		for (let i = first; i < end; i++) {
			const lane = of[s.depth[i]], k = at[s.depth[i]]++;
			lane.begin[k] = s.begin[i];
			lane.end[k] = s.begin[i] + Math.floor(s.length[i] / 2);
			lane.what[k] = s.name[i];
			lane.cut[k] = s.length[i] % 2;
		}
		lanes[row & 1 ? 'c' : 't'][row >>> 1] = of;
	}
	t.slicesOf = lanes;
}

/* What the rows show, each found by its id: "t12" is a thread, "c0" a CPU, "v3" a counter. */
function makeRows(t) {
	const {events, threads, cpus, kinds, wakeups, counters} = t;
	makeStates(t);
	makeSlices(t);
	const isMark = kinds.isMark.some(Boolean), none = new Uint32Array(0);
	const marks = (of, is) => isMark ? of.filter(e => kinds.isMark[events.kind[e]] && is(e)) : none;
	const ofThread = byRow(events.count, threads.count, i => events.thread[i] - 1);
	const ofCpu = byRow(events.count, cpus.count, i => events.cpu[i] - 1);
	const woken = byRow(wakeups.count, threads.count, i => wakeups.thread[i]);
	const host = of => t.hosts.length && t.hosts[of] ? t.names[t.hosts[of] - 1] + ' ' : '';
	const name = i => threads.name[i] ? t.names[threads.name[i] - 1] : '?';
	t.threadName = i => `${host(threads.host[i])}${name(i)}-${threads.tid[i]}`;
	t.cpuName = i => `${host(cpus.host[i])}CPU ${cpus.number[i]}`;
	t.rows = new Map();
	const add = (id, index, label, more) => {
		const lanes = t.slicesOf[id]?.[index] ?? [], depth = Math.max(lanes.length, t.part?.depths[id]?.[index] ?? 0);
		t.rows.set(id + index, {id: id + index, index, label, lanes, depth, isThread: id === 't', ...more});
	};
	for (let i = 0; i < cpus.count; i++)
		add('c', i, t.cpuName(i), {lane: t.running[i], events: ofCpu.of(i),
			marks: marks(ofCpu.of(i), e => !events.thread[e])});
	for (let i = 0; i < threads.count; i++) {
		const states = t.states[i], first = ofThread.of(i)[0] ?? Infinity;
		states.makeSums();
		add('t', i, t.threadName(i), {lane: states, first: t.part ? t.part.begin[i] : first, events: ofThread.of(i), pid: threads.pid[i] - 1,
			marks: marks(ofThread.of(i), () => true),
			wakeups: woken.of(i).map(w => wakeups.event[w]),
			ns: STATES.map((_, state) => t.part ? t.part.ns[state][i] : states.before(states.count, state))});
	}
	const ofCounter = byRow(counters.count, t.names.length, i => counters.name[i]);
	t.names.forEach((text, i) => {
		const of = ofCounter.of(i);
		if (of.length)
			add('v', i, text, {points: {event: of.map(k => counters.event[k]), value: Float64Array.from(of, k => counters.value[k])},
				events: of.map(k => counters.event[k])});
	});
	return t;
}

/*
 * The critical path to a wake-up: [{event, thread, from, to}], the latest first. The thread that woke
 * did so because of the event that had woken it, and so on; an interrupt, or what nobody recorded,
 * ends it: {end: why}.
 */
function criticalPath(t, event, most = 500) {
	const steps = [];
	for (;;) {
		const time = t.events.time[event], thread = t.events.thread[event] - 1;
		const interrupt = t.rows.get('c' + (t.events.cpu[event] - 1))?.lanes.findLast(lane => lane.at(time) >= 0);
		if (interrupt)
			return {steps, end: `woken in ${t.names[interrupt.what[interrupt.at(time)]]}`};
		if (thread < 0)
			return {steps, end: 'woken by an interrupt of an idle CPU'};
		const before = t.rows.get('t' + thread).wakeups;
		const k = firstThat(0, before.length, i => before[i] >= event) - 1;
		steps.push({event, thread, from: k < 0 ? 0 : t.events.time[before[k]], to: time});
		if (k < 0)
			return {steps, end: t.part ? 'not woken before in the part that is loaded' : 'not woken before in this recording'};
		if (steps.length === most)
			return {steps, end: `after ${most} wake-ups it goes on`};
		event = before[k];
	}
}
