/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of a heat map. A cell is a number: column * rows + row, the lowest row first. What is
 * chosen is a rectangle between two cells, of parts of a second all time between them.
 */
const LEFT = 92, BELOW = 22, CELL_MOST = 40, ROW_MOST = 22, HEIGHT = 520;
/* The same as in view/heat/heat.c: from the least to the most, on light ground and on dark. */
const RAMPS = [[[254, 236, 206], [253, 174, 97], [215, 72, 39], [90, 10, 50]],
	[[62, 30, 60], [150, 44, 80], [237, 105, 60], [252, 230, 150]]];
const DEFAULTS = {from: '', to: '', scale: 'root', search: '', zoom: 0};
const SCALES = {root: 'Square root', linear: 'Linear', log: 'Logarithm'};
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
	if (reader.number()) {
		heat.stacksOf = reader.text();
		heat.tree = readTree(reader);
		heat.stacks = Array.from(heat.counts, count => count ? readStacks(reader) : null);
	}
	return heat;
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

class HeatPage {
	constructor(heat) {
		this.heat = heat;
		this.cursor = -1;
		this.build();
		this.restore();
		addEventListener('hashchange', () => this.restore());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
		document.addEventListener('keydown', e => this.onKey(e));
		new ResizeObserver(() => this.resize()).observe(this.box);
	}

	build() {
		this.canvas = element('canvas', {tabIndex: 0, role: 'img', id: 'heat', onkeydown: e => this.onArrow(e),
			onpointerdown: e => this.onDown(e), onpointermove: e => this.onMove(e),
			onpointerup: e => this.onUp(e)});
		this.box = element('div', {className: 'heat'}, this.canvas);
		this.scale = element('select', {id: 'scale', 'aria-label': 'Scale of colours', onchange: () => {
			this.state.scale = this.scale.value;
			this.draw();
			this.keep();
		}}, ...Object.entries(SCALES).map(([value, text]) => element('option', {value}, text)));
		this.ramp = element('canvas', {width: 160, height: 12, className: 'ramp'});
		this.legend = element('span', {className: 'soft'});
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
		bar.append(element('button', {type: 'button', onclick: () => this.help.showModal()}, 'Keys'));
		document.getElementById('picture').append(bar, this.box, this.detail, this.graph?.box ?? '', this.help);
		document.querySelectorAll('#tables table').forEach(sortable);
	}

	restore() {
		const cells = this.heat.counts.length, cell = text => /^\d+$/.test(text) && Number(text) < cells ? Number(text) : -1;
		this.state = {...DEFAULTS, ...fragment.get()};
		if (!SCALES[this.state.scale])
			this.state.scale = DEFAULTS.scale;
		this.scale.value = this.state.scale;
		if (this.graph) {
			this.search.value = this.state.search;
			this.graph.zoom = Number(this.state.zoom);
		}
		const from = cell(this.state.from), to = cell(this.state.to);
		this.choose(from, from < 0 || to < 0 ? from : to);
	}

	keep() {
		if (this.graph)
			this.state.zoom = this.graph.zoom;
		fragment.set(this.state, DEFAULTS);
	}

	/* ---- what is chosen ---- */

	isChosen(cell) {
		if (this.from < 0)
			return false;
		if (this.heat.bySecond)
			return cell >= Math.min(this.from, this.to) && cell <= Math.max(this.from, this.to);
		const {rows} = this.heat, column = Math.floor(cell / rows), row = cell % rows, [c0, c1, r0, r1] = this.bounds();
		return column >= c0 && column <= c1 && row >= r0 && row <= r1;
	}

	/* Columns and rows of the rectangle. */
	bounds() {
		const {rows} = this.heat, a = this.from, b = this.to;
		const columns = [Math.floor(a / rows), Math.floor(b / rows)].sort((x, y) => x - y);
		return [...columns, ...[a % rows, b % rows].sort((x, y) => x - y)];
	}

	choose(from, to) {
		this.from = from;
		this.to = to;
		this.cursor = to;
		this.state.from = from < 0 ? '' : from;
		this.state.to = to < 0 || to === from ? '' : to;
		this.describe();
		this.draw();
		this.drawGraph();
		this.keep();
	}

	sum() {
		let sum = 0;
		for (let cell = 0; cell < this.heat.counts.length; cell++)
			if (this.isChosen(cell))
				sum += this.heat.counts[cell];
		return sum;
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
		const words = [`${grouped(sum)} ${unit}`, `${percent(sum, heat.total)} of all`];
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

	/* ---- drawing ---- */

	resize() {
		const {columns, rows} = this.heat, ratio = devicePixelRatio || 1;
		this.width = this.box.clientWidth;
		this.cellWidth = Math.min((this.width - LEFT - 2) / columns, CELL_MOST);
		this.cellHeight = Math.max(Math.min(HEIGHT / rows, ROW_MOST), 3);
		this.height = rows * this.cellHeight + BELOW + 2;
		this.canvas.width = Math.max(1, Math.round(this.width * ratio));
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.height = this.height + 'px';
		this.canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
		this.draw();
	}

	colour(count) {
		const {full, most} = this.heat;
		const scales = {root: c => Math.sqrt(c / most), linear: c => c / most, log: c => Math.log1p(c) / Math.log1p(most)};
		const part = full ? count / full : scales[this.state.scale](count);
		const at = Math.min(part, 1) * 3, i = Math.min(Math.floor(at), 2);
		const mix = [0, 1, 2].map(k => this.ramps[i][k] + (this.ramps[i + 1][k] - this.ramps[i][k]) * (at - i));
		return `rgb(${mix.map(Math.round).join(' ')})`;
	}

	draw() {
		if (!this.width)
			return;
		const {columns, rows, counts} = this.heat, c = this.canvas.getContext('2d');
		const {cellWidth: w, cellHeight: h} = this, gap = w > 5 && h > 5 ? 0.5 : 0;
		this.ramps = RAMPS[matchMedia('(prefers-color-scheme: dark)').matches ? 1 : 0];
		c.fillStyle = styleColour('ground');
		c.fillRect(0, 0, this.width, this.height);
		c.strokeStyle = styleColour('line');
		c.lineWidth = 1;
		c.strokeRect(LEFT - 0.5, 0.5, columns * w + 1, rows * h + 1);
		for (let column = 0; column < columns; column++)
			for (let row = 0; row < rows; row++) {
				const cell = column * rows + row;
				if (!counts[cell])
					continue;
				c.globalAlpha = this.from < 0 || this.from === this.to || this.isChosen(cell) ? 1 : 0.35;
				c.fillStyle = this.colour(counts[cell]);
				c.fillRect(LEFT + column * w, 1 + (rows - 1 - row) * h, w - gap, h - gap);
			}
		c.globalAlpha = 1;
		this.drawAxes(c);
		if (this.cursor >= 0) {
			const x = LEFT + Math.floor(this.cursor / rows) * w, y = 1 + (rows - 1 - this.cursor % rows) * h;
			c.strokeStyle = styleColour('hold');
			c.lineWidth = 2;
			c.strokeRect(x - 0.5, y - 0.5, Math.max(w, 3) + 0.5, h + 0.5);
		}
		this.drawRamp();
	}

	drawAxes(c) {
		const {columns, rows, columnTexts, ticks} = this.heat, {cellWidth: w, cellHeight: h} = this;
		c.font = '11px system-ui, sans-serif';
		c.fillStyle = styleColour('soft');
		c.textBaseline = 'middle';
		c.textAlign = 'right';
		const every = h >= 12 ? 1 : rows % 4 || 4 * h < 11 ? Math.ceil(12 / h) : 4;
		for (let row = 0; row < rows; row += every)
			c.fillText(ticks[row], LEFT - 6, 1 + (rows - row - (every === 1 ? 0.5 : 0)) * h);
		c.textAlign = 'left';
		const label = c.measureText(columnTexts[0]).width + 6, step = Math.ceil((label + 18) / w);
		for (let column = 0; column < columns && LEFT + column * w + label < this.width; column += step) {
			c.fillRect(LEFT + column * w, rows * h + 2, 1, 4);
			c.fillText(columnTexts[column], LEFT + column * w + 3, rows * h + 13);
		}
	}

	drawRamp() {
		const {full, most} = this.heat, c = this.ramp.getContext('2d');
		for (let x = 0; x < 160; x++) {
			c.fillStyle = this.colour((full || most) * x / 159);
			c.fillRect(x, 0, 1, 12);
		}
		this.legend.textContent = full ? '0 to 100 % in use' : `up to ${grouped(most)} ${this.heat.counted}`;
	}

	/* ---- the flame graph of what is chosen ---- */

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

	/* ---- pointer and keys ---- */

	hit(event) {
		const {columns, rows} = this.heat, box = this.canvas.getBoundingClientRect();
		const column = Math.floor((event.clientX - box.left - LEFT) / this.cellWidth);
		const row = rows - 1 - Math.floor((event.clientY - box.top - 1) / this.cellHeight);
		return column >= 0 && column < columns && row >= 0 && row < rows ? column * rows + row : -1;
	}

	onDown(event) {
		const cell = this.hit(event);
		this.canvas.focus({preventScroll: true});
		if (cell < 0)
			return this.choose(-1, -1);
		this.canvas.setPointerCapture(event.pointerId);
		this.isDragged = true;
		this.choose(event.shiftKey && this.from >= 0 ? this.from : cell, cell);
	}

	onMove(event) {
		const cell = this.hit(event);
		if (this.isDragged && cell >= 0 && cell !== this.to) {
			this.to = this.cursor = cell;
			this.describe();
			this.draw();
		}
	}

	onUp() {
		if (this.isDragged)
			this.choose(this.from, this.to);
		this.isDragged = false;
	}

	onArrow(event) {
		const {columns, rows, counts} = this.heat;
		const steps = {ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0]};
		if (event.ctrlKey || event.altKey || event.metaKey || !steps[event.key])
			return;
		event.preventDefault();
		if (this.cursor < 0) {
			const first = counts.findIndex(x => x > 0);
			return this.choose(first, first);
		}
		const [dx, dy] = steps[event.key], column = Math.floor(this.cursor / rows) + dx, row = this.cursor % rows + dy;
		if (column < 0 || column >= columns || row < 0 || row >= rows)
			return;
		const cell = column * rows + row;
		this.choose(event.shiftKey ? this.from : cell, cell);
	}

	onKey(event) {
		if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.target.matches('input, dialog *, select'))
			return;
		const keys = {'?': () => this.help.showModal(), Escape: () => this.choose(-1, -1), m: () => {
			const cell = this.heat.counts.indexOf(this.heat.most);
			this.choose(cell, cell);
		}, c: () => {
			const names = Object.keys(SCALES);
			this.state.scale = this.scale.value = names[(names.indexOf(this.state.scale) + 1) % names.length];
			this.draw();
			this.keep();
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
