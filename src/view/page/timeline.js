/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a time line: rows on a canvas, a list of events in step with it, and tables below. */
const AXIS = 30, PITCH = 20, BAR = 14, SLICE = 13, COUNTER = 34, LIST_ROWS = 14, ARROWS_MOST = 400;
const LEAST_SPAN = 20; /* ns: no zoom goes further */
const DEFAULTS = {from: 0, span: 0, row: '', sel: '', a: '', b: '', search: '', rows: '', order: 'use', path: '', only: '', match: '', flame: '', zoom: 0};
const STACKED = [RUNS, WOKEN, PREEMPTED, BLOCKED, STOPPED];
const ORDERS = {use: 'Time on CPUs', name: 'Name', number: 'Number', begin: 'First seen'};
const LINKS = {flame: 'Flame graph', heatmap: 'Heat map'};
const KEYS = [['\u2190 \u2192', 'pan'], ['+ \u2212, wheel with Ctrl, pinch', 'zoom'], ['0, Home', 'all'],
	['\u2191 \u2193', 'row above, below'], ['Shift and \u2190 \u2192', 'event before, after in the row'],
	['Enter, double click', 'zoom to what is selected'], ['a, b', 'marker A, B: at the pointer, or what is selected'],
	['Shift and drag', 'markers A and B'], ['z', 'zoom from A to B'], ['c', 'critical path of the wake-up before'], ['g', 'flame graph, where events have stacks'],
	['/', 'search: text, /expression/, or a condition as of report -w, comm == "make" && cpu != 0'], ['n, p', 'next match, match before'], ['f', 'filter of rows: text, /expression/, or a condition on comm, tid and pid, or on cpu'], ['Escape', 'select nothing, no markers'],
	['?', 'these keys']];

/* "1.234567 ms": all digits that are not 0. */
function duration(ns) {
	const sign = ns < 0 ? '-' : '', v = Math.abs(Math.round(ns));
	const [unit, digits] = v < 1e3 ? ['ns', 0] : v < 1e6 ? ['\u00b5s', 3] : v < 1e9 ? ['ms', 6] : ['s', 9];
	const whole = Math.floor(v / 10 ** digits), part = String(v % 10 ** digits).padStart(digits, '0').replace(/0+$/, '');
	return `${sign}${whole}${digits && part ? '.' + part : ''} ${unit}`;
}

/* Columns of one pixel, of one bar: written as pixels and drawn at once, for thousands of fillRect() are slow. */
class Strip {
	constructor() {
		this.canvas = document.createElement('canvas');
		this.context = this.canvas.getContext('2d');
		this.words = new Map();
	}

	begin(width) {
		this.isUsed = false;
		if (this.image?.width === width)
			return;
		this.canvas.width = width;
		this.canvas.height = BAR; /* slices are lower */
		this.image = this.context.createImageData(width, BAR);
		this.pixels = new Uint32Array(this.image.data.buffer);
	}

	/* Any colour of CSS as a pixel. */
	word(colour) {
		let word = this.words.get(colour);
		if (word === undefined) {
			this.context.fillStyle = colour;
			word = (parseInt(this.context.fillStyle.slice(5, 7) + this.context.fillStyle.slice(3, 5) + this.context.fillStyle.slice(1, 3), 16) | 0xff000000) >>> 0;
			this.words.set(colour, word);
		}
		return word;
	}

	/* From the top, rows `from` to `to` of column x. alpha: 0 to 1 */
	add(x, from, to, colour, alpha = 1) {
		const {pixels, canvas: {width}} = this, word = this.word(colour) & 0xffffff | Math.round(alpha * 255) << 24;
		if (!this.isUsed)
			pixels.fill(0);
		this.isUsed = true;
		for (let row = Math.max(from, 0); row < to; row++)
			pixels[row * width + x] = word;
	}

	end(context, x, y) {
		if (!this.isUsed)
			return;
		this.context.putImageData(this.image, 0, 0);
		context.drawImage(this.canvas, x, y);
	}
}

class TimelinePage {
	constructor(data) {
		this.data = data;
		this.pointers = new Map();
		this.hues = new Map();
		this.strip = new Strip();
		this.build();
		this.restore();
		addEventListener('hashchange', () => this.restore());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.later());
		document.addEventListener('keydown', e => this.onKey(e));
		new ResizeObserver(() => this.resize()).observe(this.box);
	}

	/* ---- what the page is made of ---- */

	build() {
		const button = (id, text, onclick, title) => element('button', {type: 'button', id, onclick, title: title ?? ''}, text);
		this.search = element('input', {type: 'search', id: 'search', placeholder: 'Search: text or condition',
			'aria-label': 'Search', oninput: () => this.find()});
		this.filter = element('input', {type: 'search', id: 'rows', placeholder: 'Rows: text or condition',
			'aria-label': 'Filter of rows', oninput: () => this.arrange()});
		this.order = element('select', {id: 'order', 'aria-label': 'Order of threads', onchange: () => this.arrange()},
			...Object.entries(ORDERS).map(([value, text]) => element('option', {value}, text)));
		this.matched = element('output', {id: 'matched', className: 'soft'});
		this.note = element('output', {id: 'note', className: 'soft'});
		this.markers = element('output', {id: 'markers', className: 'soft'});
		/* of what is selected or between A and B, else of what is in view */
		this.links = isServed ? ['flame', 'heatmap'].map(name => element('a', {id: name, target: '_blank', rel: 'noopener',
			onfocus: e => this.link(e.target), onpointerenter: e => this.link(e.target), onclick: e => this.link(e.target)}, LINKS[name])) : [];
		if (this.data.stacks)
			this.buildGraph();
		this.pathButton = button('path', 'Critical path', () => this.togglePath(), 'of the wake-up before what is selected');
		this.help = element('dialog', {}, element('table', {}, element('tbody', {}, ...KEYS.map(([key, what]) =>
			element('tr', {}, element('td', {}, key), element('td', {}, what))))),
			element('form', {method: 'dialog'}, element('button', {}, 'Close')));
		this.canvas = element('canvas', {tabIndex: 0, role: 'img', id: 'rowsCanvas', ondblclick: e => this.zoomToHit(e),
			onpointerdown: e => this.onDown(e), onpointermove: e => this.onMove(e), onpointerup: e => this.onUp(e),
			onpointercancel: e => this.onUp(e)});
		this.canvas.addEventListener('wheel', e => this.onWheel(e), {passive: false});
		this.context = this.canvas.getContext('2d');
		this.spacer = element('div', {});
		this.box = element('div', {className: 'view timeline', onscroll: () => this.later()}, this.canvas, this.spacer);
		this.detail = element('div', {className: 'detail', id: 'detail', 'aria-live': 'polite'});
		document.getElementById('picture').append(
			element('div', {className: 'bar', role: 'toolbar'}, button('out', '\u2212', () => this.zoom(2), 'zoom out'),
				button('in', '+', () => this.zoom(0.5), 'zoom in'), button('all', 'Show all', () => this.look(0, 0)),
				button('setA', 'A', () => this.mark('a'), 'marker A at what is selected'),
				button('setB', 'B', () => this.mark('b'), 'marker B at what is selected'), this.markers, this.pathButton, this.graphButton ?? '', ...this.links,
				element('span', {className: 'space'}), this.note, this.matched, this.search, this.filter,
				element('label', {className: 'soft'}, 'Order ', this.order), button('keys', 'Keys', () => this.help.showModal())),
			this.legend(), this.box, this.detail, this.graph?.box ?? '', this.buildList(), this.help);
		document.querySelectorAll('#tables table').forEach(table => this.linkTable(table));
	}

	legend() {
		const mark = (className, text) => element('span', {}, element('i', {className}), text);
		return element('div', {className: 'legend'}, ...[RUNS, WOKEN, PREEMPTED, SLEEPS, BLOCKED, STOPPED].map(s => mark('state' + s, STATES[s])),
			this.data.losses.length ? mark('lost', 'events are missing') : null);
	}

	buildList() {
		this.only = element('input', {type: 'checkbox', id: 'only', onchange: () => {
			this.state.only = this.only.checked ? 1 : '';
			this.later();
		}});
		this.matching = element('input', {type: 'checkbox', id: 'match', onchange: () => {
			this.state.match = this.matching.checked ? 1 : '';
			this.later();
		}});
		this.list = element('tbody', {});
		const columns = ['Time', 'CPU', 'Thread', 'Event', this.data.texts ? 'Fields' : ''].filter(Boolean);
		this.listTable = element('table', {id: 'list', tabIndex: 0, 'aria-label': 'Events', onkeydown: e => this.onListKey(e)},
			element('thead', {}, element('tr', {}, ...columns.map(text => element('th', {}, text)))), this.list);
		this.listTable.addEventListener('wheel', e => {
			e.preventDefault();
			this.step(Math.sign(e.deltaY) * 3);
		}, {passive: false});
		return element('section', {}, element('h2', {}, 'Events in view ', element('label', {className: 'soft'}, this.only, ' of the row only'), ' ',
			element('label', {className: 'soft'}, this.matching, ' that match the search only')),
			element('div', {className: 'scroll'}, this.listTable));
	}

	/* A row of a table selects the row of the picture. */
	linkTable(table) {
		sortable(table);
		for (const tr of table.tBodies[0].rows)
			if (tr.dataset.row)
				tr.cells[0].replaceChildren(element('button', {type: 'button', onclick: () => {
					this.select(tr.dataset.row, -1);
					this.reveal();
					this.box.scrollIntoView({block: 'nearest'});
				}}, tr.cells[0].textContent));
	}

	/* ---- state ---- */

	restore() {
		const t = this.data, s = this.state = {...DEFAULTS, ...fragment.get()};
		const number = (v, most) => v !== '' && Number(v) >= 0 && Number(v) <= most ? Number(v) : '';
		s.from = number(s.from, t.last) || 0;
		s.span = number(s.span, t.last) || 0;
		this.wanted = number(s.sel, (t.part?.total ?? t.events.count) - 1);
		s.sel = this.localEvent(this.wanted);
		s.a = number(s.a, t.last);
		s.b = number(s.b, t.last);
		s.row = t.rows.has(s.row) ? s.row : '';
		s.order = ORDERS[s.order] ? s.order : DEFAULTS.order;
		this.restoreGraph();
		this.order.value = s.order;
		this.filter.value = s.rows;
		this.search.value = s.search;
		this.only.checked = Boolean(s.only);
		this.matching.checked = Boolean(s.match);
		this.from = s.from;
		this.span = s.span || Math.max(t.last, LEAST_SPAN);
		this.find();
		this.arrange();
		this.choosePath();
		this.describe();
		this.drawGraph();
	}

	keep() {
		const s = this.state, t = this.data, isAll = this.from === 0 && this.span >= this.data.last;
		s.zoom = this.graph ? this.graph.zoom : 0;
		s.from = isAll ? 0 : Math.round(this.from);
		s.span = isAll ? 0 : Math.round(this.span);
		fragment.set({...s, sel: s.sel === '' ? '' : t.part ? t.part.numbers[s.sel] : s.sel}, DEFAULTS);
	}

	/* ---- parts, where the page is served ---- */

	/* The event of this number in the whole; '' if the part has it not. */
	localEvent(number) {
		const part = this.data.part;
		if (!part || number === '')
			return number;
		const i = firstThat(0, part.numbers.length, k => part.numbers[k] >= number);
		return part.numbers[i] === number ? i : '';
	}

	/* Is there more to know of what is looked at? */
	lacks() {
		const {part} = this.data, to = this.from + this.span, all = part.to - part.from;
		return this.from < part.from || to > part.to || part.columns > 0 && (all > 1.5 * this.span || all / part.columns > 2 * this.span / this.plot);
	}

	/* Asks for what is looked at and as much before and behind it; for one part at a time. */
	async load() {
		if (!this.data.part || this.isLoading || this.isGone || !this.lacks())
			return;
		const margin = this.span / 4, from = Math.max(Math.floor(this.from - margin), 0), to = Math.ceil(this.from + this.span + margin);
		this.isLoading = true;
		try {
			const bytes = await servedData(`?from=${from}&to=${to}&columns=${Math.min(Math.ceil(this.plot * 1.5), 4000)}`);
			this.show(makeRows(readTimeline(new ColumnReader(bytes))));
		} catch {
			this.gone();
		}
		this.isLoading = false;
		this.later();
	}

	show(data) {
		const s = this.state, number = s.sel === '' ? this.wanted : this.data.part.numbers[s.sel];
		this.data = data;
		s.sel = this.localEvent(number);
		s.row = data.rows.has(s.row) ? s.row : '';
		this.find();
		this.arrange();
		this.choosePath();
		this.describe();
	}

	gone() {
		this.isGone = true;
		this.note.value = 'pantrace has ended: nothing more can be loaded';
	}

	/* What of the picture is not loaded. */
	tellPart() {
		const {part} = this.data;
		if (part && !this.isGone)
			this.note.value = part.columns ? 'zoom in: events, slices and wake-ups are seen where there are at most 200,000 in view' : '';
	}

	/* Text or an expression in its label; or a condition on its thread, or its CPU. */
	rowTest() {
		const condition = conditionOf(this.filter.value), test = matcher(this.filter.value);
		if (!condition)
			return row => !test || test(row.label);
		return row => {
			const thread = row.isThread ? row.index : -1, cpu = row.lane && !row.isThread ? row.index : -1;
			return condition.test(name => this.variableOf(thread, cpu, name) ?? null) === true;
		};
	}

	/* Which rows there are, and where. */
	arrange() {
		const t = this.data, s = this.state;
		const order = {use: (x, y) => y.ns[RUNS] - x.ns[RUNS] || x.index - y.index, number: (x, y) => t.threads.tid[x.index] - t.threads.tid[y.index],
			name: (x, y) => x.label < y.label ? -1 : 1, begin: (x, y) => x.first - y.first || x.index - y.index};
		s.rows = this.filter.value;
		s.order = this.order.value;
		const shown = [...t.rows.values()].filter(this.rowTest());
		const threads = shown.filter(row => row.isThread).sort(order[s.order]);
		this.shown = [...shown.filter(row => row.lane && !row.isThread), ...threads, ...shown.filter(row => row.points)];
		let y = 0;
		for (const row of t.rows.values())
			row.y = -1;
		for (const row of this.shown) {
			row.y = y;
			row.height = row.points ? COUNTER : PITCH + row.depth * SLICE;
			y += row.height;
		}
		this.total = y;
		this.resize();
	}

	/* Names, kinds and threads that match; events that have to do with them. */
	find() {
		const t = this.data, {events, slices, changes} = t, condition = conditionOf(this.search.value);
		const test = condition ? null : matcher(this.search.value);
		this.state.search = this.search.value;
		if (condition)
			return this.findBy(condition);
		this.names = test && Uint8Array.from(t.names, name => test(name) ? 1 : 0);
		this.hits = null;
		let count = 0;
		if (test) {
			const threads = Uint8Array.from({length: t.threads.count}, (_, i) => test(t.threadName(i)) ? 1 : 0);
			this.hits = new Uint8Array(events.count);
			for (let i = 0; i < events.count; i++)
				this.hits[i] = this.names[t.kinds.name[events.kind[i]]] || (events.thread[i] ? threads[events.thread[i] - 1] : 0);
			for (let i = 0; i < slices.count; i++)
				this.hits[slices.begin[i]] |= this.names[slices.name[i]];
			for (let i = 0; i < changes.count; i++)
				this.hits[changes.event[i]] |= threads[changes.thread[i]];
			count = this.hits.reduce((a, b) => a + b, 0);
			this.threadHits = threads;
		}
		this.matched.value = test ? `matched: ${many(count, 'event')}${t.part ? ' of those that are loaded' : ''}, ${percent(count, events.count)}` : this.search.value ? 'no expression' : '';
		this.later();
	}

	/* Events for which a condition holds; what none of them has is said. */
	findBy({test, names}) {
		const t = this.data, {events} = t, known = new Set();
		this.names = this.threadHits = null;
		this.hits = new Uint8Array(events.count);
		let count = 0;
		for (let i = 0; i < events.count; i++) {
			let fields = null;
			const value = name => {
				const v = this.variable(i, name) ?? (fields ??= this.fieldsOf(i)).get(name) ?? null;
				if (v !== null)
					known.add(name);
				return v;
			};
			this.hits[i] = test(value) === true ? 1 : 0;
			count += this.hits[i];
		}
		const unknown = [...names].filter(name => !known.has(name));
		this.matched.value = `matched: ${many(count, 'event')}${t.part ? ' of those that are loaded' : ''}, ${percent(count, events.count)}`
			+ (unknown.length ? `; no event has ${unknown.join(', ')}` : '');
		this.later();
	}

	/* What all events have, as conditions name it; undefined: no such. */
	variable(event, name) {
		const {events} = this.data;
		return this.variableOf(events.thread[event] - 1, events.cpu[event] - 1, name);
	}

	/* By a thread's and a CPU's index; -1: none. */
	variableOf(thread, cpu, name) {
		const t = this.data, number = n => n < 0 ? null : BigInt(n);
		switch (name) {
		case 'cpu': return cpu < 0 ? null : number(t.cpus.number[cpu]);
		case 'tid': return thread < 0 ? null : number(t.threads.tid[thread]);
		case 'pid': return thread < 0 ? null : number(t.threads.pid[thread] - 1);
		case 'comm': return thread < 0 || !t.threads.name[thread] ? null : t.names[t.threads.name[thread] - 1];
		}
	}

	/* "prev_comm=a b prev_pid=4": the page has no more of them than this text. */
	fieldsOf(event) {
		const text = this.data.texts ? this.eventText(event) : '';
		return new Map([...text.matchAll(/(?:^| )(\w+)=(.*?)(?= \w+=|$)/gs)].map(([, name, value]) => [name, conditionValue(value)]));
	}

	nextMatch(step) {
		const n = this.data.events.count;
		if (!this.hits)
			return;
		for (let i = (this.state.sel === '' ? this.firstSeen() - (step > 0) : this.state.sel) + step; i >= 0 && i < n; i += step)
			if (this.hits[i])
				return this.selectEvent(i);
	}

	/* ---- what is selected ---- */

	/* A row, and the event that its interval, slice or mark begins with; -1: the row alone. */
	select(row, event) {
		this.state.row = row;
		this.state.sel = event < 0 ? '' : event;
		this.wanted = '';
		if (this.state.path)
			this.choosePath();
		this.describe();
		this.later();
	}

	/* An event, in the row of its thread or CPU unless it is one of the selected row. */
	selectEvent(event, row = '') {
		const {events, rows} = this.data, time = events.time[event];
		const own = events.thread[event] ? 't' + (events.thread[event] - 1) : 'c' + (events.cpu[event] - 1);
		this.select(row || (rows.has(own) ? own : ''), event);
		if (time < this.from || time > this.from + this.span)
			this.look(time - this.span / 2, this.span);
		this.reveal();
	}

	/* Scrolls to the selected row. */
	reveal() {
		const row = this.data.rows.get(this.state.row), room = this.height - AXIS;
		if (!row || row.y < 0)
			return;
		if (row.y < this.box.scrollTop || row.y + row.height > this.box.scrollTop + room)
			this.box.scrollTop = Math.max(0, row.y - room / 3);
	}

	/* What of the selected row begins with the selected event: {lane, i}, slices first. */
	selected() {
		const row = this.data.rows.get(this.state.row), event = this.state.sel;
		if (!row || !row.lane || event === '')
			return null;
		const found = lane => {
			const i = firstThat(0, lane.count, k => lane.begin[k] >= event);
			return i < lane.count && lane.begin[i] === event ? {lane, i} : null;
		};
		for (const lane of row.lanes.toReversed())
			if (found(lane))
				return found(lane);
		return found(row.lane);
	}

	choosePath() {
		const row = this.data.rows.get(this.state.row), before = row?.wakeups ?? [];
		const k = firstThat(0, before.length, i => before[i] > (this.state.sel === '' ? Infinity : this.state.sel)) - 1;
		this.path = this.state.path && k >= 0 ? {thread: row.index, event: before[k], ...criticalPath(this.data, before[k])} : null;
		this.pathButton.setAttribute('aria-pressed', Boolean(this.state.path));
	}

	togglePath() {
		this.state.path = this.state.path ? '' : 1;
		this.choosePath();
		this.describe();
		this.later();
	}

	timeText(time, digits = 9) {
		const t = this.data, ns = t.clock + BigInt(Math.round(time)), second = ns / 1000000000n;
		const part = digits ? '.' + String(ns % 1000000000n).padStart(9, '0').slice(0, digits) : '';
		if (t.isUnplaced)
			return second + part;
		return [second / 3600n % 24n, second / 60n % 60n, second % 60n].map(v => String(v).padStart(2, '0')).join(':') + part;
	}

	threadOf(event) {
		const thread = this.data.events.thread[event];
		return thread ? this.data.threadName(thread - 1) : 'an interrupt or idle CPU';
	}

	eventText(event) {
		const t = this.data, [from, to] = t.texts ? t.texts[event] : [0, 0];
		return t.reader.decoder.decode(t.reader.bytes.subarray(from, to));
	}

	/* A state: why it is in it, and what ends it. */
	stateWords(row, i) {
		const t = this.data, lane = row.lane, state = lane.what[i], words = [STATES[state]], next = lane.end[i];
		const isWoken = i + 1 < lane.count && lane.what[i + 1] === WOKEN;
		const within = row.lanes.findLast(depth => depth.at(lane.from(i)) >= 0);
		if (state === RUNS)
			words.push(`on CPU ${t.cpus.number[t.events.cpu[lane.begin[i]] - 1]}`);
		if (state === WOKEN)
			words.push(`woken by ${this.threadOf(lane.begin[i])}`);
		if (within)
			words.push(`in ${t.names[within.what[within.at(lane.from(i))]]}`);
		if (isWoken && state >= SLEEPS && !lane.cut[i])
			words.push(`until ${this.threadOf(next)} woke it`);
		return words;
	}

	describe() {
		const t = this.data, s = this.state, row = t.rows.get(s.row), found = this.selected();
		let title = `${many(t.part?.total ?? t.events.count, 'event')} in ${duration(t.last)}`, words = [`${many(t.threads.count, 'thread')}, ${many(t.cpus.count, 'CPU')}`];
		if (row)
			[title, words] = [row.label, []];
		if (found) {
			const {lane, i} = found, isState = lane === row.lane;
			words = !isState ? [t.names[lane.what[i]]] : row.isThread ? this.stateWords(row, i) : [`${t.threadName(lane.what[i])} runs`];
			words.push(duration(lane.to(i) - lane.from(i)) + (lane.cut[i] ? ' at most: its end is not known' : ''),
				`${this.timeText(lane.from(i))} to ${this.timeText(lane.to(i))}`);
		} else if (s.sel !== '') {
			words.push(t.names[t.kinds.name[t.events.kind[s.sel]]], this.timeText(t.events.time[s.sel]));
		} else if (row?.isThread) {
			words.push(...[RUNS, WOKEN, PREEMPTED, SLEEPS, BLOCKED].map(state => [STATES[state], row.ns[state]])
				.filter(([, ns]) => ns).map(([text, ns]) => `${text} ${duration(ns)}`));
		}
		this.detail.replaceChildren(element('b', {}, visible(title)), element('br', {}), visible(words.join(', ')),
			...(s.sel !== '' && t.texts ? [element('br', {}), element('span', {className: 'soft'}, visible(this.eventText(s.sel)))] : []),
			...(this.path ? [element('ol', {id: 'steps'}, ...this.pathWords().map(text => element('li', {}, visible(text))))] : []));
		this.canvas.setAttribute('aria-label', visible(`${title}: ${words.join(', ')}`));
		const at = key => s[key] === '' ? '' : `${key.toUpperCase()} ${this.timeText(s[key])}`;
		this.links.forEach(a => this.link(a));
		this.markers.value = [at('a'), at('b'), s.a !== '' && s.b !== '' ? `B\u2212A ${duration(s.b - s.a)}` : ''].filter(Boolean).join('   ');
	}

	pathWords() {
		const {path, data: t} = this;
		return [`${t.threadName(path.thread)} was woken at ${this.timeText(t.events.time[path.event])}`,
			...path.steps.map(step => `by ${t.threadName(step.thread)}, itself awake for ${duration(step.to - step.from)}`), path.end];
	}

	/* What other pictures are of: [from, to, row]: what is selected, or what lies between A and B, or what is in view. */
	range() {
		const {a, b, row} = this.state, found = this.selected();
		const range = found ? [found.lane.from(found.i), found.lane.to(found.i)] : a !== '' && b !== '' ? [a, b].sort((x, y) => x - y)
			: [Math.floor(this.from), Math.ceil(this.from + this.span)];
		return [...range, this.data.rows.get(row)];
	}

	/* Another picture: of the selected thread, if there is one. */
	link(a) {
		const [from, to, row] = this.range();
		a.href = `${a.id}?from=${from}&to=${to}${row?.isThread ? '&thread=' + row.index : ''}`;
	}

	/* ---- the flame graph of it, where the page has the stacks ---- */

	/* Which kinds of events have stacks, those with the most first. */
	buildGraph() {
		const {stacks, events, kinds, names} = this.data, counts = new Uint32Array(kinds.count);
		events.kind.forEach((kind, i) => counts[kind] += stacks.frame[i] > 0);
		const of = [...counts.keys()].filter(kind => counts[kind]).sort((x, y) => counts[y] - counts[x]);
		this.graph = new RangeGraph(stacks.tree, () => this.keep());
		this.stacksOf = element('select', {id: 'stacksOf', 'aria-label': 'Events whose stacks are drawn', onchange: () => this.openGraph(this.stacksOf.value)},
			...of.map(kind => element('option', {value: kind}, `${visible(names[kinds.name[kind]])} (${grouped(counts[kind])})`)));
		this.graphButton = element('button', {type: 'button', id: 'flame', onclick: () => this.toggleGraph()}, 'Flame graph');
		this.graph.title.after(this.stacksOf);
	}

	restoreGraph() {
		const s = this.state, kinds = [...this.stacksOf?.options ?? []].map(option => option.value);
		s.flame = kinds.includes(s.flame) ? s.flame : '';
		if (!this.graph)
			return;
		this.graph.zoom = Number(s.zoom);
		this.stacksOf.value = s.flame || kinds[0];
		this.drawn = '';
	}

	toggleGraph() {
		this.openGraph(this.state.flame === '' ? this.stacksOf.value : '');
		if (this.state.flame !== '')
			this.graph.focus();
	}

	/* kind: '' closes it */
	openGraph(kind) {
		this.state.flame = kind;
		this.drawGraph();
		this.later();
	}

	drawGraph() {
		const {graph, state: s} = this, {stacks, events} = this.data;
		if (!graph)
			return;
		graph.box.hidden = s.flame === '';
		this.graphButton.setAttribute('aria-pressed', s.flame !== '');
		const [from, to, row] = this.range(), key = [s.flame, from, to, row?.id].join();
		if (s.flame === '' || key === this.drawn)
			return;
		this.drawn = key;
		const self = new BigUint64Array(stacks.tree.count), kind = Number(s.flame);
		const isIn = !row || row.points ? () => true : row.isThread ? i => events.thread[i] === row.index + 1 : i => events.cpu[i] === row.index + 1;
		for (let i = firstThat(0, events.count, k => events.time[k] >= from); i < events.count && events.time[i] <= to; i++)
			if (stacks.frame[i] && events.kind[i] === kind && isIn(i))
				self[stacks.frame[i] - 1]++;
		graph.show(`Stacks of ${row && !row.points ? row.label : 'all'}, ${this.timeText(from)} to ${this.timeText(to)}`, self);
	}

	/* ---- the view ---- */

	/* span 0: all */
	look(from, span) {
		const last = Math.max(this.data.last, LEAST_SPAN);
		this.span = span ? Math.min(Math.max(span, LEAST_SPAN), last) : last;
		this.from = Math.min(Math.max(from, 0), last - this.span);
		this.later();
	}

	/* The time under x stays where it is; x: default what is selected, if it is seen, or the middle. */
	zoom(factor, x) {
		const selected = this.state.sel === '' ? -1 : this.x(this.data.events.time[this.state.sel]);
		const at = x ?? (selected >= this.left && selected <= this.width ? selected : this.left + this.plot / 2);
		const time = this.time(at), span = Math.min(Math.max(this.span * factor, LEAST_SPAN), Math.max(this.data.last, LEAST_SPAN));
		this.look(time - (at - this.left) / this.plot * span, span);
	}

	zoomToSelected() {
		const found = this.selected();
		if (!found)
			return;
		const from = found.lane.from(found.i), length = Math.max(found.lane.to(found.i) - from, LEAST_SPAN / 2);
		this.look(from - length / 4, length * 1.5);
	}

	mark(key, time) {
		const event = this.state.sel, selected = event === '' ? this.from + this.span / 2 : this.data.events.time[event];
		this.state[key] = Math.round(Math.min(Math.max(time ?? selected, 0), this.data.last));
		this.describe();
		this.later();
	}

	x(time) {
		return this.left + (time - this.from) / this.span * this.plot;
	}

	time(x) {
		return this.from + (x - this.left) / this.plot * this.span;
	}

	resize() {
		const ratio = devicePixelRatio || 1;
		this.width = this.box.clientWidth;
		this.left = this.width < 640 ? 92 : 176;
		this.plot = Math.max(Math.floor(this.width - this.left), 10);
		this.height = Math.min(this.total + AXIS + 8, Math.max(240, Math.floor(innerHeight * 0.62)));
		this.box.style.height = this.height + 2 + 'px'; /* with its border */
		this.canvas.width = Math.max(1, Math.round(this.width * ratio));
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.height = this.height + 'px';
		this.spacer.style.height = Math.max(0, this.total + AXIS - this.height) + 'px';
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.draw(); /* at once: paper waits for no next frame */
		this.later();
	}

	later() {
		this.frame ??= requestAnimationFrame(() => {
			this.frame = null;
			this.draw();
			this.fillList();
			this.tellPart();
			this.load();
		});
		/* browsers refuse addresses that change with every frame */
		clearTimeout(this.keeping);
		this.keeping = setTimeout(() => {
			this.drawGraph();
			this.keep();
		}, 100);
	}

	/* ---- drawing ---- */

	draw() {
		const c = this.context, top = this.box.scrollTop - AXIS;
		const isDark = matchMedia('(prefers-color-scheme: dark)').matches;
		if (isDark !== this.isDark)
			this.hues.clear();
		this.isDark = isDark;
		this.colours = STATE_COLOURS[Number(this.isDark)];
		this.ink = Object.fromEntries(['ground', 'ink', 'soft', 'line', 'hold', 'found'].map(name => [name, styleColour(name)]));
		c.fillStyle = this.ink.ground;
		c.fillRect(0, 0, this.width, this.height);
		c.font = '11px ui-monospace, monospace';
		c.textBaseline = 'middle';
		this.letter = c.measureText('m').width;
		for (const row of this.shown)
			if (row.y + row.height > this.box.scrollTop && row.y - top < this.height)
				this.drawRow(row, row.y - top);
		c.save();
		c.beginPath();
		c.rect(this.left, AXIS, this.plot, this.height);
		c.clip();
		this.drawArrows(top);
		this.drawPath(top);
		this.drawLosses();
		c.restore();
		this.drawAxis();
		this.drawMarkers();
	}

	drawRow(row, y) {
		const c = this.context, isSelected = row.id === this.state.row;
		const label = visible(row.label), room = Math.floor((this.left - 12) / this.letter);
		if (isSelected) {
			c.fillStyle = this.ink.hold;
			c.globalAlpha = 0.1;
			c.fillRect(0, y, this.width, row.height);
			c.globalAlpha = 1;
		}
		c.fillStyle = this.names && row.isThread && this.threadHits[row.index] ? this.ink.found : isSelected ? this.ink.hold : this.ink.ink;
		c.fillText(label.length > room ? label.slice(0, room - 8) + '\u2026' + label.slice(-7) : label, 6, y + PITCH / 2);
		c.fillStyle = this.ink.line;
		c.globalAlpha = 0.6;
		c.fillRect(0, y + row.height - 1, this.width, 0.5);
		c.globalAlpha = 1;
		c.save();
		c.beginPath();
		c.rect(this.left, y, this.plot, row.height);
		c.clip();
		if (row.points) {
			this.drawCounter(row, y);
		} else {
			const step = this.span / this.plot, bar = y + (PITCH - BAR) / 2;
			if (row.isThread)
				this.drawStates(row.lane, bar, step);
			else
				this.drawRunning(row.lane, bar, step);
			row.lanes.forEach((lane, depth) => this.drawSlices(lane, y + PITCH + depth * SLICE - 2, step));
			this.drawMarks(row.marks, bar, step);
			this.drawSelected(row, bar, y);
		}
		c.restore();
	}

	/* Where several begin in a pixel: their shares from below, in the order of STACKED. */
	drawStates(lane, y, step) {
		const c = this.context, strip = this.strip;
		strip.begin(this.plot);
		lane.draw(this.from, step, this.plot, (i, x, width) => {
			const state = lane.what[i], left = this.left + x, isSleep = state === SLEEPS;
			if (state === UNKNOWN || state === ENDED)
				return;
			c.globalAlpha = lane.cut[i] ? 0.35 : 1;
			c.fillStyle = this.colours[state];
			c.fillRect(left, isSleep ? y + BAR - 3 : y, width, isSleep ? 3 : BAR);
			c.globalAlpha = 1;
			this.name(STATES[state], left, width, y + BAR / 2, isSleep || lane.cut[i] ? this.ink.soft : state === RUNS || state === BLOCKED ? '#fff' : '#111');
		}, (x, shares) => {
			let at = BAR;
			if (shares[SLEEPS])
				strip.add(x, BAR - 3, BAR, this.colours[SLEEPS]);
			for (const state of STACKED) {
				const height = Math.min(Math.ceil(shares[state] * BAR - 0.2), at);
				if (shares[state])
					strip.add(x, at - Math.max(height, 1), at, this.colours[state]);
				at -= height;
			}
		});
		strip.end(c, this.left, y);
	}

	drawRunning(lane, y, step) {
		const c = this.context, t = this.data, strip = this.strip;
		strip.begin(this.plot);
		lane.draw(this.from, step, this.plot, (i, x, width) => {
			const thread = lane.what[i], left = this.left + x, name = t.threadName(thread);
			c.globalAlpha = lane.cut[i] ? 0.35 : 1;
			c.fillStyle = this.names && this.threadHits[thread] ? this.ink.found : this.hue(name.replace(/-\d+$/, ''));
			c.fillRect(left, y, Math.max(width - 0.5, 0.5), BAR);
			c.globalAlpha = 1;
			this.name(name, left, width, y + BAR / 2, lane.cut[i] ? this.ink.soft : '#111');
		}, (x, [share]) => strip.add(x, BAR - Math.max(Math.round(share * BAR), 1), BAR, this.colours[RUNS]));
		strip.end(c, this.left, y);
	}

	drawSlices(lane, y, step) {
		const c = this.context, t = this.data, strip = this.strip;
		strip.begin(this.plot);
		lane.draw(this.from, step, this.plot, (i, x, width) => {
			const left = this.left + x, name = lane.what[i];
			c.globalAlpha = lane.cut[i] ? 0.5 : 1;
			c.fillStyle = this.names?.[name] ? this.ink.found : this.hue(t.names[name]);
			c.fillRect(left, y, Math.max(width - 0.5, 0.5), SLICE - 1);
			c.globalAlpha = 1;
			this.name(t.names[name], left, width, y + SLICE / 2, lane.cut[i] ? this.ink.soft : '#111');
		}, (x, [share], first, end) => {
			let isFound = false;
			for (let i = first; this.names && i < Math.min(end, first + 64) && !isFound; i++)
				isFound = this.names[lane.what[i]];
			const colour = isFound ? this.ink.found : end - first === 1 ? this.hue(t.names[lane.what[first]]) : this.ink.soft;
			strip.add(x, 0, SLICE - 1, colour, 0.3 + 0.7 * Math.min(share, 1));
		});
		strip.end(c, this.left, y);
	}

	/* One tick in a pixel, however many there are. */
	drawMarks(marks, y, step) {
		const {time, kind} = this.data.events, t = this.data, n = marks.length;
		const c = this.context, end = this.from + this.span;
		let i = firstThat(0, n, k => time[marks[k]] >= this.from);
		while (i < n && time[marks[i]] <= end) {
			const x = Math.floor((time[marks[i]] - this.from) / step), edge = this.from + (x + 1) * step;
			c.fillStyle = this.hits?.[marks[i]] ? this.ink.found : this.hue(t.names[t.kinds.name[kind[marks[i]]]], 45);
			c.fillRect(this.left + x, y - 2, 1.5, 6);
			i = firstThat(i, n, k => time[marks[k]] >= edge);
		}
	}

	drawCounter(row, y) {
		const c = this.context, {event, value} = row.points, {time} = this.data.events, n = event.length;
		if (!n)
			return;
		row.most ??= value.reduce((a, b) => Math.max(a, b), -Infinity);
		row.least ??= Math.min(0, value.reduce((a, b) => Math.min(a, b), Infinity));
		const height = v => y + COUNTER - 4 - (v - row.least) / (row.most - row.least || 1) * (COUNTER - 8);
		c.beginPath();
		for (let i = Math.max(firstThat(0, n, k => time[event[k]] >= this.from) - 1, 0); i < n && time[event[i]] <= this.from + this.span; i++) {
			const x = this.x(time[event[i]]);
			if (i)
				c.lineTo(x, height(value[i - 1]));
			c.lineTo(x, height(value[i]));
			if (i === n - 1 || time[event[i + 1]] > this.from + this.span)
				c.lineTo(this.left + this.plot, height(value[i]));
		}
		c.strokeStyle = this.ink.hold;
		c.lineWidth = 1;
		c.stroke();
		c.fillStyle = this.ink.soft;
		c.fillText(grouped(row.most), this.left + 3, y + 8);
	}

	drawSelected(row, bar, y) {
		const found = row.id === this.state.row && this.selected();
		if (!found)
			return;
		const c = this.context, {lane, i} = found, depth = row.lanes.indexOf(lane);
		const x = Math.max(this.x(lane.from(i)), this.left - 4), right = Math.min(this.x(lane.to(i)), this.width + 4);
		c.strokeStyle = this.ink.hold;
		c.lineWidth = 2;
		c.strokeRect(x, depth < 0 ? bar : y + PITCH + depth * SLICE - 2, Math.max(right - x, 2), depth < 0 ? BAR : SLICE - 1);
	}

	hue(name, darker = 0) {
		const key = darker ? name + '\n' : name;
		let colour = this.hues.get(key);
		if (!colour)
			this.hues.set(key, colour = `hsl(${nameHash(name) % 360} 48% ${(this.isDark ? 62 : 74) - darker * (this.isDark ? -0.3 : 1)}%)`);
		return colour;
	}

	name(text, x, width, y, colour) {
		const left = Math.max(x, this.left), room = Math.floor((Math.min(x + width, this.width) - left - 6) / this.letter);
		if (room < 2)
			return;
		const shown = visible(text);
		this.context.fillStyle = colour;
		this.context.fillText(shown.length > room ? shown.slice(0, room - 1) + '\u2026' : shown, left + 3, y);
	}

	/* Where an event's thread, or else its CPU, has its row: the middle of its bar. */
	rowY(event, top) {
		const t = this.data, row = t.rows.get('t' + (t.events.thread[event] - 1)) ?? t.rows.get('c' + (t.events.cpu[event] - 1));
		return row && row.y >= 0 ? row.y - top + PITCH / 2 : NaN;
	}

	arrow(x, from, to, colour) {
		const c = this.context, way = Math.sign(to - from), end = to - way * 7;
		if (isNaN(from) || isNaN(to) || from === to || Math.max(from, to) < AXIS || Math.min(from, to) > this.height)
			return;
		c.strokeStyle = c.fillStyle = colour;
		c.beginPath();
		c.moveTo(x, from);
		c.lineTo(x, end);
		c.stroke();
		c.beginPath();
		c.moveTo(x, to - way * 3);
		c.lineTo(x - 3, end - way * 2);
		c.lineTo(x + 3, end - way * 2);
		c.fill();
	}

	/* All that are in view; where these are too many, those from and to the selected row. */
	drawArrows(top) {
		const t = this.data, {wakeups, events} = t, n = wakeups.count, row = t.rows.get(this.state.row);
		const first = firstThat(0, n, k => events.time[wakeups.event[k]] >= this.from);
		const last = firstThat(first, n, k => events.time[wakeups.event[k]] > this.from + this.span);
		this.context.lineWidth = 1;
		for (let i = first, drawn = 0; i < last && drawn < ARROWS_MOST; i++) {
			const event = wakeups.event[i], isOfRow = row?.isThread && (wakeups.thread[i] === row.index || events.thread[event] - 1 === row.index);
			if (last - first > ARROWS_MOST && !isOfRow)
				continue;
			const woken = t.rows.get('t' + wakeups.thread[i]);
			this.context.globalAlpha = isOfRow ? 0.9 : 0.45;
			this.arrow(this.x(events.time[event]), this.rowY(event, top), woken.y < 0 ? NaN : woken.y - top + PITCH / 2, isOfRow ? this.ink.hold : this.ink.soft);
			drawn++;
		}
		this.context.globalAlpha = 1;
	}

	drawPath(top) {
		const t = this.data, c = this.context;
		if (!this.path)
			return;
		let woken = t.rows.get('t' + this.path.thread);
		c.lineWidth = 2;
		for (const step of this.path.steps) {
			const row = t.rows.get('t' + step.thread), y = row.y < 0 ? NaN : row.y - top + PITCH / 2;
			const x = Math.max(this.x(step.from), this.left - 4), right = Math.min(this.x(step.to), this.width + 4);
			c.strokeStyle = this.ink.found;
			if (right > x)
				c.strokeRect(x, y - PITCH / 2 + 1, right - x, PITCH - 2);
			this.arrow(this.x(step.to), y, woken.y < 0 ? NaN : woken.y - top + PITCH / 2, this.ink.found);
			woken = row;
		}
	}

	drawLosses() {
		const {losses, events} = this.data, c = this.context;
		c.fillStyle = this.ink.found;
		c.globalAlpha = 0.6;
		for (let i = firstThat(0, losses.length, k => events.time[losses[k]] >= this.from); i < losses.length && events.time[losses[i]] <= this.from + this.span;) {
			const x = Math.floor(this.x(events.time[losses[i]]));
			c.fillRect(x, AXIS, 1, this.height);
			i = firstThat(i, losses.length, k => this.x(events.time[losses[k]]) >= x + 1);
		}
		c.globalAlpha = 1;
	}

	drawAxis() {
		const c = this.context, scale = 10 ** Math.floor(Math.log10(this.span)), wanted = this.span / Math.max(this.plot / 150, 1);
		const step = Math.max([0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5].map(f => f * scale).find(s => s >= wanted) ?? scale, 1);
		const digits = Math.min(Math.max(Math.ceil(9 - Math.log10(step) - 1e-9), 0), 9), zero = Number(this.data.clock % BigInt(Math.max(Math.round(step), 1)));
		c.fillStyle = this.ink.ground;
		c.fillRect(0, 0, this.width, AXIS - 1);
		c.fillStyle = this.ink.line;
		c.fillRect(0, AXIS - 1, this.width, 1);
		c.fillRect(this.left, 1, this.plot, 3); /* the whole, and what is seen of it */
		c.fillStyle = this.ink.hold;
		c.fillRect(this.left + this.from / Math.max(this.data.last, 1) * this.plot, 1, Math.max(Math.min(this.span / Math.max(this.data.last, 1), 1) * this.plot, 3), 3);
		c.fillStyle = this.ink.soft;
		c.fillText(duration(this.span), 6, AXIS / 2 + 2);
		for (let time = Math.ceil((this.from + zero) / step) * step - zero; time < this.from + this.span; time += step) {
			const x = this.x(time), text = this.timeText(time, digits);
			c.fillRect(x, AXIS - 6, 1, 5);
			if (x + text.length * this.letter < this.width)
				c.fillText(text, x + 3, AXIS / 2 + 2);
		}
	}

	drawMarkers() {
		const c = this.context, {a, b} = this.state;
		for (const [text, time] of [['A', a], ['B', b]]) {
			const x = this.x(time);
			if (time === '' || x < this.left || x > this.width)
				continue;
			c.fillStyle = this.ink.hold;
			c.fillRect(x, AXIS - 14, 1.5, this.height);
			c.fillRect(x, AXIS - 14, 11, 12);
			c.fillStyle = this.ink.ground;
			c.fillText(text, x + 2.5, AXIS - 8);
		}
	}

	/* ---- the list of events ---- */

	/* Of the row or of all: how many, and which is number i. */
	listed() {
		const row = this.state.only && this.data.rows.get(this.state.row), {firstWhole: first, endWhole: end} = this.data;
		const from = row ? firstThat(0, row.events.length, i => row.events[i] >= first) : first;
		const to = row ? firstThat(from, row.events.length, i => row.events[i] >= end) : end;
		const all = {count: to - from, at: i => row ? row.events[from + i] : from + i};
		return this.state.match && this.hits ? this.listedMatches(all, row) : all;
	}

	listedMatches({count, at}, row) {
		const last = this.lastListed;
		if (last?.hits !== this.hits || last.row !== row) {
			const events = [];
			for (let i = 0; i < count; i++)
				if (this.hits[at(i)])
					events.push(at(i));
			this.lastListed = {hits: this.hits, row, events};
		}
		return {count: this.lastListed.events.length, at: i => this.lastListed.events[i]};
	}

	firstSeen() {
		const {count, time} = this.data.events;
		return firstThat(0, count, i => time[i] >= this.from);
	}

	/* From the first event in view on, or so that the selected one is seen. */
	fillList() {
		const t = this.data, {count, at} = this.listed(), {time, cpu, kind} = t.events, selected = this.state.sel;
		const isSeen = selected !== '' && time[selected] >= this.from && time[selected] <= this.from + this.span;
		const begin = firstThat(0, count, i => at(i) >= this.firstSeen());
		let first = isSeen ? firstThat(0, count, i => at(i) >= selected) - 3 : begin;
		first = Math.max(Math.min(first, count - LIST_ROWS), 0);
		const rows = [];
		for (let i = first; i < Math.min(first + LIST_ROWS, count); i++) {
			const event = at(i), thread = t.events.thread[event];
			const texts = [this.timeText(time[event]), cpu[event] ? t.cpus.number[cpu[event] - 1] : '', thread ? t.threadName(thread - 1) : '',
				t.names[t.kinds.name[kind[event]]]];
			if (t.texts)
				texts.push(this.eventText(event));
			rows.push(element('tr', {className: event === selected ? 'chosen' : this.hits?.[event] ? 'found' : '',
				onclick: () => this.selectEvent(event, this.state.only ? this.state.row : '')}, ...texts.map(text => element('td', {}, visible(String(text))))));
		}
		this.list.replaceChildren(...rows);
	}

	/* To the event so many further in the list. */
	step(by) {
		const {count, at} = this.listed(), from = this.state.sel === '' ? this.firstSeen() - 1 : this.state.sel;
		const i = firstThat(0, count, k => at(k) >= from), k = Math.min(Math.max(i + by, 0), count - 1);
		if (count)
			this.selectEvent(at(k), this.state.only ? this.state.row : '');
	}

	onListKey(event) {
		const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: LIST_ROWS, PageUp: -LIST_ROWS};
		if (!steps[event.key])
			return;
		event.preventDefault();
		event.stopPropagation();
		this.step(steps[event.key]);
	}

	/* ---- pointer and keys ---- */

	place(event) {
		const box = this.canvas.getBoundingClientRect();
		return [event.clientX - box.left, event.clientY - box.top];
	}

	/* The row, and the event of what is under the pointer: [row, event or -1] */
	hit(x, y) {
		const at = y - AXIS + this.box.scrollTop, row = y < AXIS ? null : this.shown.find(r => at >= r.y && at < r.y + r.height);
		if (!row || x < this.left || row.points)
			return [row?.id ?? '', -1];
		const depth = Math.floor((at - row.y - PITCH + 2) / SLICE), time = this.time(x), near = 3 * this.span / this.plot;
		if (depth < 0) {
			const times = this.data.events.time, k = firstThat(0, row.marks.length, i => times[row.marks[i]] >= time - near);
			if (k < row.marks.length && times[row.marks[k]] <= time + near)
				return [row.id, row.marks[k]];
		}
		const lane = depth < 0 ? row.lane : row.lanes[depth];
		const i = lane ? lane.endsAfter(time) : 0;
		return [row.id, lane && i < lane.count && lane.from(i) <= time + near ? lane.begin[i] : -1];
	}

	onDown(event) {
		const [x, y] = this.place(event);
		this.canvas.focus({preventScroll: true});
		this.canvas.setPointerCapture(event.pointerId);
		this.pointers.set(event.pointerId, x);
		this.drag = {x, y, from: this.from, span: this.span, isMarking: event.shiftKey, hasMoved: false};
		this.held = [...this.pointers.values()].map(at => this.time(at));
		if (event.shiftKey) {
			this.state.b = '';
			this.mark('a', this.time(x));
		}
	}

	onMove(event) {
		const [x] = this.place(event);
		this.pointer = x;
		if (!this.pointers.has(event.pointerId))
			return;
		this.pointers.set(event.pointerId, x);
		this.drag.hasMoved ||= Math.abs(x - this.drag.x) > 4;
		if (this.pointers.size === 2)
			this.pinch();
		else if (this.drag.isMarking)
			this.mark('b', this.time(x));
		else if (this.drag.hasMoved)
			this.look(this.drag.from - (x - this.drag.x) / this.plot * this.drag.span, this.drag.span);
	}

	/* Both fingers keep the times that they were put on. */
	pinch() {
		const [x0, x1] = [...this.pointers.values()], [t0, t1] = this.held;
		const span = (t1 - t0) / (x1 - x0 || 1) * this.plot;
		this.drag.hasMoved = true;
		if (span > 0)
			this.look(t0 - (x0 - this.left) / this.plot * span, span);
	}

	onUp(event) {
		if (!this.pointers.delete(event.pointerId))
			return;
		if (this.pointers.size) { /* the other finger goes on alone */
			const x = [...this.pointers.values()][0];
			this.drag = {...this.drag, x, from: this.from, span: this.span};
		} else if (!this.drag.hasMoved && event.type === 'pointerup') {
			this.select(...this.hit(...this.place(event)));
		}
	}

	onWheel(event) {
		const [x] = this.place(event);
		if (!event.ctrlKey && !event.shiftKey && Math.abs(event.deltaX) <= Math.abs(event.deltaY))
			return; /* up and down: the box scrolls */
		event.preventDefault();
		if (event.ctrlKey)
			this.zoom(1.002 ** event.deltaY, Math.max(x, this.left));
		else
			this.look(this.from + (event.deltaX || event.deltaY) / this.plot * this.span, this.span);
	}

	zoomToHit(event) {
		this.select(...this.hit(...this.place(event)));
		this.zoomToSelected();
	}

	nextRow(step) {
		const i = this.shown.findIndex(row => row.id === this.state.row) + step;
		const row = this.shown[Math.min(Math.max(i, 0), this.shown.length - 1)];
		if (row)
			this.select(row.id, -1);
		this.reveal();
	}

	/* The event of the selected row before or after the selected one, or in view. */
	nextInRow(step) {
		const row = this.data.rows.get(this.state.row);
		if (!row)
			return;
		const lane = row.lane ? [...row.lane.begin, ...row.lanes.flatMap(l => [...l.begin]), ...row.marks] : row.points.event;
		row.stops ??= Uint32Array.from(new Set(lane)).sort();
		const at = this.state.sel === '' ? this.firstSeen() - (step > 0) : this.state.sel;
		const i = step > 0 ? firstThat(0, row.stops.length, k => row.stops[k] > at) : firstThat(0, row.stops.length, k => row.stops[k] >= at) - 1;
		if (i >= 0 && i < row.stops.length)
			this.selectEvent(row.stops[i], row.id);
	}

	onKey(event) {
		if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.target.matches('input, select, dialog *'))
			return;
		const pointed = this.canvas.matches(':hover') && this.pointer >= this.left ? this.time(this.pointer) : undefined;
		const pan = part => event.shiftKey ? this.nextInRow(Math.sign(part)) : this.look(this.from + part * this.span, this.span);
		const keys = {ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), ArrowUp: () => this.nextRow(-1), ArrowDown: () => this.nextRow(1),
			'+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), 0: () => this.look(0, 0), Home: () => this.look(0, 0),
			Enter: () => this.zoomToSelected(), a: () => this.mark('a', pointed), b: () => this.mark('b', pointed),
			z: () => this.state.a !== '' && this.state.b !== '' && this.look(Math.min(this.state.a, this.state.b), Math.abs(this.state.b - this.state.a)),
			c: () => this.togglePath(), g: () => this.graph && this.toggleGraph(), '/': () => this.search.focus(), f: () => this.filter.focus(), n: () => this.nextMatch(1), p: () => this.nextMatch(-1),
			'?': () => this.help.showModal(), Escape: () => {
				Object.assign(this.state, {a: '', b: '', path: ''});
				this.choosePath();
				this.select('', -1);
			}};
		if (!keys[event.key] || (event.key === 'Enter' && event.target.matches('button')))
			return;
		event.preventDefault();
		keys[event.key]();
	}
}

pageData().then(data => {
	const page = globalThis.page = new TimelinePage(makeRows(readTimeline(new ColumnReader(data))));
	if (isServed)
		keepServed(() => page.gone());
});
