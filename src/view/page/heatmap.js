/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a heat map. */
const LISTED_MOST = 1000; /* events */
const DEFAULTS = {from: '', to: '', scale: 'root', search: '', zoom: 0};
const KEYS = [['arrows', 'move from cell to cell'], ['Shift and arrows, drag', 'choose a range'],
	['Enter', 'go to the flame graph of the range, where events have stacks'], ['Escape', 'choose nothing'], ['m', 'the fullest cell'],
	['c', 'another scale of colours'], ['/', 'search, where there is a flame graph'], ['?', 'these keys']];

function readHeat(reader) {
	const heat = {counted: reader.text(), files: reader.text(), full: reader.number(), step: reader.number(),
		columns: reader.number(), rows: reader.number(), bySecond: reader.number()};
	heat.columnTexts = Array.from({length: heat.columns + 1}, () => reader.text());
	heat.ticks = [];
	heat.rowTexts = [];
	for (let i = 0; i < heat.rows; i++) {
		heat.ticks.push(reader.text());
		heat.rowTexts.push(reader.text());
	}
	heat.counts = Float64Array.from({length: heat.columns * heat.rows}, () => reader.number());
	heat.total = heat.counts.reduce((a, b) => a + b, 0);
	heat.most = heat.counts.reduce((a, b) => Math.max(a, b), 0);
	const hasStacks = reader.number(), hasEvents = reader.number();
	if (hasStacks) {
		heat.stacksOf = reader.text();
		heat.tree = readTree(reader);
		heat.stacks = [];
	}
	heat.events = hasEvents ? [] : null;
	heat.reader = reader;
	heat.counts.forEach((count, cell) => {
		if (hasStacks)
			heat.stacks[cell] = count ? readStacks(reader) : null;
		if (hasEvents && count)
			heat.events[cell] = readEvents(reader, count);
	});
	return heat;
}

/* [number among all events, where its text begins, where it ends] of each event of a cell. */
function readEvents(reader, count) {
	let number = 0;
	return Array.from({length: count}, () => {
		number += reader.number();
		const length = reader.number();
		reader.at += length;
		return [number, reader.at - length, reader.at];
	});
}

/* [frame, weight, frame, weight ...] of a cell. */
function readStacks(reader) {
	const n = reader.number(), stacks = new Float64Array(2 * n);
	let frame = 0;
	for (let i = 0; i < 2 * n; i += 2) {
		const step = reader.number();
		frame += step % 2 ? -(step - 1) / 2 : step / 2;
		stacks[i] = frame;
		stacks[i + 1] = reader.number();
	}
	return stacks;
}

class HeatPage extends HeatDrawing {
	constructor(heat) {
		super(heat);
		this.build();
		this.restore();
		addEventListener('hashchange', () => this.restore());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
		document.addEventListener('keydown', e => this.onKey(e));
	}

	build() {
		this.canvas.id = 'heat';
		this.scale = element('select', {id: 'scale', 'aria-label': 'Scale of colours', onchange: () => this.takeScale(this.scale.value)},
			...Object.entries(SCALES).map(([value, text]) => element('option', {value}, text)));
		this.help = element('dialog', {}, element('table', {}, element('tbody', {}, ...KEYS.map(([key, what]) =>
			element('tr', {}, element('td', {}, key), element('td', {}, what))))),
			element('form', {method: 'dialog'}, element('button', {}, 'Close')));
		this.detail = element('div', {className: 'detail', id: 'detail', 'aria-live': 'polite'});
		const bar = element('div', {className: 'bar', role: 'toolbar'}, element('label', {className: 'soft'}, 'Colours ',
			this.heat.full ? null : this.scale), this.ramp, this.legend, element('span', {className: 'space'}));
		if (this.heat.tree) {
			this.graph = new RangeGraph(this.heat.tree, () => this.keep());
			this.matched = element('output', {id: 'matched', className: 'soft'});
			this.search = element('input', {type: 'search', id: 'search', placeholder: 'Search: text or /expression/',
				'aria-label': 'Search', oninput: () => this.find()});
			bar.append(this.matched, this.search);
		}
		this.listTitle = element('h2', {});
		this.list = element('pre', {className: 'printed', id: 'events', tabIndex: 0});
		this.listed = element('section', {}, this.listTitle, this.list);
		bar.append(element('button', {type: 'button', onclick: () => this.help.showModal()}, 'Keys'));
		document.getElementById('picture').append(bar, this.box, this.detail, this.listed, this.graph?.box ?? '', this.help);
		document.querySelectorAll('#tables table').forEach(sortable);
	}

	restore() {
		const cells = this.heat.counts.length, cell = text => /^\d+$/.test(text) && Number(text) < cells ? Number(text) : -1;
		this.state = {...DEFAULTS, ...fragment.get()};
		if (!SCALES[this.state.scale])
			this.state.scale = DEFAULTS.scale;
		this.scale.value = this.scaleName = this.state.scale;
		if (this.graph) {
			this.search.value = this.state.search;
			this.graph.zoom = Number(this.state.zoom);
		}
		const from = cell(this.state.from), to = cell(this.state.to);
		this.choose(from, from < 0 || to < 0 ? from : to);
	}

	takeScale(name) {
		this.state.scale = this.scaleName = this.scale.value = name;
		this.draw();
		this.keep();
	}

	chosen() {
		this.state.from = this.from < 0 ? '' : this.from;
		this.state.to = this.to < 0 || this.to === this.from ? '' : this.to;
		this.drawGraph();
		this.listEvents();
		this.keep();
	}

	keep() {
		if (this.graph)
			this.state.zoom = this.graph.zoom;
		fragment.set(this.state, DEFAULTS);
	}

	where() {
		const {rows, columnTexts, rowTexts} = this.heat, a = Math.min(this.from, this.to), b = Math.max(this.from, this.to);
		if (this.heat.bySecond && a !== b)
			return `${columnTexts[Math.floor(a / rows)]}, ${rowTexts[a % rows]}  to  ${columnTexts[Math.floor(b / rows)]}, ${rowTexts[b % rows]}`;
		const [c0, c1, r0, r1] = this.bounds();
		const between = (x, y) => x === y ? x : `${x}  to  ${y}`;
		return `${columnTexts[c0]} to ${columnTexts[c1 + 1]}, ${between(rowTexts[r0], rowTexts[r1])}`;
	}

	/* When it begins and ends, as report takes it. */
	times() {
		const {rows, columnTexts, bySecond} = this.heat, [c0, c1] = this.bounds();
		const at = cell => `${columnTexts[Math.floor(cell / rows)]}.${String(1000 / rows * (cell % rows)).padStart(3, '0')}`;
		return bySecond ? [at(Math.min(this.from, this.to)), at(Math.max(this.from, this.to) + 1)] : [columnTexts[c0], columnTexts[c1 + 1]];
	}

	describe() {
		const heat = this.heat, unit = heat.counted;
		if (this.from < 0) {
			this.detail.replaceChildren(element('b', {}, `${grouped(heat.total)} ${unit} in all`), element('br', {}),
				`${grouped(heat.columns)} columns, ${grouped(heat.rows)} rows; most in a cell: ${grouped(heat.most)}`);
			this.canvas.setAttribute('aria-label', `${grouped(heat.total)} ${unit}; arrow keys go from cell to cell`);
			return;
		}
		const sum = this.sum();
		const words = [`${grouped(sum)} ${sum === 1 && unit === 'events' ? 'event' : unit}`, `${percent(sum, heat.total)} of all`];
		if (heat.full && this.from === this.to)
			words.push(`${percent(sum, heat.full)} of the cell`);
		else if (!this.heat.bySecond)
			words.push(this.above());
		const [begin, end] = this.times(), options = `-b '${begin}' -E '${end}' ${heat.files}`;
		this.detail.replaceChildren(element('b', {}, this.where()), element('br', {}), words.filter(Boolean).join(', '),
			...heat.columnTexts[0].startsWith('+') ? [] : ['report', 'view'].flatMap(command =>
				[element('br', {}), element('code', {className: 'soft'}, visible(`pantrace ${command} ${options}`))]));
		this.canvas.setAttribute('aria-label', `${this.where()}: ${words.join(', ')}`);
	}

	/* How much lies as high as the lowest chosen row, or above. */
	above() {
		const {rows, counts, total} = this.heat, [,, low] = this.bounds();
		let sum = 0;
		for (let cell = 0; cell < counts.length; cell++)
			if (cell % rows >= low)
				sum += counts[cell];
		return this.heat.full ? '' : `${percent(sum, total)} are there or above`;
	}

	/* ---- the events and the flame graph of what is chosen ---- */

	listEvents() {
		const {events, reader} = this.heat, found = events && this.from >= 0 ? events.filter((_, cell) => this.isChosen(cell)).flat() : [];
		found.sort((a, b) => a[0] - b[0]);
		this.listed.hidden = !found.length;
		this.listTitle.textContent = found.length > LISTED_MOST ? `The first ${grouped(LISTED_MOST)} of ${grouped(found.length)} events` : 'Events';
		this.list.textContent = found.slice(0, LISTED_MOST).map(([, from, to]) => visible(reader.decoder.decode(reader.bytes.subarray(from, to)))).join('\n');
	}

	drawGraph() {
		const {tree, stacks, stacksOf} = this.heat, all = this.from < 0;
		if (!tree)
			return;
		const self = new BigUint64Array(tree.count);
		for (let cell = 0; cell < stacks.length; cell++) {
			const of = all || this.isChosen(cell) ? stacks[cell] ?? [] : [];
			for (let i = 0; i < of.length; i += 2)
				self[of[i]] += BigInt(of[i + 1]);
		}
		this.graph.show(`Stacks of ${stacksOf}, ${all ? 'all' : 'in the range'}`, self);
		this.find();
	}

	find() {
		this.matched.value = this.graph.find(this.search.value);
		this.state.search = this.search.value;
		this.keep();
	}

	onKey(event) {
		if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.target.matches('input, dialog *, select'))
			return;
		const keys = {'?': () => this.help.showModal(), Escape: () => this.choose(-1, -1), m: () => {
			const cell = this.heat.counts.indexOf(this.heat.most);
			this.choose(cell, cell);
		}, c: () => {
			const names = Object.keys(SCALES);
			this.takeScale(names[(names.indexOf(this.scaleName) + 1) % names.length]);
		}};
		if (this.graph) {
			keys['/'] = () => this.search.focus();
			keys.Enter = () => this.graph.focus();
		}
		if (!keys[event.key])
			return;
		event.preventDefault();
		keys[event.key]();
	}
}

pageData().then(data => {
	globalThis.page = new HeatPage(readHeat(new Reader(data)));
});
