/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cells of a heat map on a canvas: drawn, walked by keys, chosen by the pointer. A cell is a number:
 * column * rows + row, the lowest row first. What is chosen is a rectangle between two cells, of parts
 * of a second all time between them.
 */
const LEFT = 92, BELOW = 22, CELL_MOST = 40, ROW_MOST = 22, HEIGHT = 520;
/* The same as in view/heat/heat.c: from the least to the most, on light ground and on dark. */
const RAMPS = [[[254, 236, 206], [253, 174, 97], [215, 72, 39], [90, 10, 50]],
	[[62, 30, 60], [150, 44, 80], [237, 105, 60], [252, 230, 150]]];
const SCALES = {root: 'Square root', linear: 'Linear', log: 'Logarithm'};

/*
 * heat: columns, rows, their texts (columnTexts, rowTexts, ticks), counts, total and most of them; what
 * they count (counted), a full cell (full, or 0), and bySecond: columns are seconds.
 */
class HeatDrawing {
	constructor(heat) {
		this.heat = heat;
		this.from = this.to = this.cursor = -1;
		this.scaleName = 'root';
		this.canvas = element('canvas', {tabIndex: 0, role: 'img', onkeydown: e => this.onArrow(e),
			onpointerdown: e => this.onDown(e), onpointermove: e => this.onMove(e),
			onpointerup: e => this.onUp(e)});
		this.box = element('div', {className: 'heat'}, this.canvas);
		this.ramp = element('canvas', {width: 160, height: 12, className: 'ramp'});
		this.legend = element('span', {className: 'soft'});
		new ResizeObserver(() => this.resize()).observe(this.box);
	}

	/* Tells what is chosen, while it is being chosen, too. */
	describe() {}

	/* Something else is chosen. */
	chosen() {}

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
		this.describe();
		this.draw();
		this.chosen();
	}

	sum() {
		let sum = 0;
		for (let cell = 0; cell < this.heat.counts.length; cell++)
			if (this.isChosen(cell))
				sum += this.heat.counts[cell];
		return sum;
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
		const part = full ? count / full : scales[this.scaleName](count);
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
		const label = c.measureText(columnTexts.reduce((a, b) => b.length > a.length ? b : a)).width + 6, step = Math.ceil((label + 18) / w);
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
}
