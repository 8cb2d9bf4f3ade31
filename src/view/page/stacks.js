/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drawings of flame graphs. Their data (view/flame/page.c): unit, flags, names, and the frames of
 * the tree, depth first. A tree is a struct of arrays; frame 0 is all. Drawing looks only at frames
 * that are at least half a pixel wide: a narrower one is skipped with everything above it.
 */
const ROW = 18, FONT = 12, LEAST = 0.5;
const KINDS = ['other', 'program', 'library', 'kernel', 'inlined', 'JIT'];
/* hue, how far it varies, saturation */
const PALETTE = [[170, 120, 12], [14, 24, 75], [42, 14, 72], [214, 16, 60], [315, 20, 40], [125, 25, 42]];

/* ---- trees ---- */

/* From arrays name, kind, depth, self (BigInt) and old: totals, parents, ends, starts. */
function finishTree(tree) {
	const n = tree.depth.length, last = [];
	tree.count = n;
	tree.parent = new Uint32Array(n);
	tree.end = new Uint32Array(n);
	tree.exact = BigUint64Array.from(tree.self);
	tree.exactOld = tree.old && BigUint64Array.from(tree.old);
	for (let i = 0; i < n; i++) {
		last[tree.depth[i]] = i;
		tree.parent[i] = tree.depth[i] ? last[tree.depth[i] - 1] : 0;
		tree.end[i] = i + 1;
	}
	tree.deepest = tree.depth.reduce((a, b) => Math.max(a, b), 0);
	for (let i = n - 1; i > 0; i--) {
		const p = tree.parent[i];
		tree.exact[p] += tree.exact[i];
		if (tree.old)
			tree.exactOld[p] += tree.exactOld[i];
		if (tree.end[p] < tree.end[i])
			tree.end[p] = tree.end[i];
	}
	tree.total = Float64Array.from(tree.exact, Number);
	tree.before = tree.old && Float64Array.from(tree.exactOld, Number);
	tree.start = new Float64Array(n);
	const taken = Float64Array.from(tree.self, Number);
	for (let i = 1; i < n; i++) {
		const p = tree.parent[i];
		tree.start[i] = tree.start[p] + taken[p];
		taken[p] += tree.total[i];
	}
	return tree;
}

function readTree(reader) {
	const unit = reader.text(), flags = reader.number();
	const names = Array.from({length: reader.number()}, () => reader.text());
	const n = reader.number();
	const tree = {unit, names, name: new Uint32Array(n), kind: new Uint8Array(n), depth: new Uint32Array(n),
		self: new BigUint64Array(n), old: flags & 1 ? new BigUint64Array(n) : null};
	for (let i = 0; i < n; i++) {
		const word = reader.number(), up = reader.number();
		tree.name[i] = Math.floor(word / 8);
		tree.kind[i] = word % 8;
		tree.depth[i] = i ? tree.depth[i - 1] + 1 - up : 0;
		tree.self[i] = reader.big();
		if (tree.old)
			tree.old[i] = reader.big();
	}
	return finishTree(tree);
}

/* A tree that grows from paths of another one's frames. */
class Merge {
	constructor(of, root) {
		this.of = of;
		this.roots = {name: of.name[root], kind: of.kind[root], self: 0n, old: 0n, children: new Map()};
	}

	child(at, frame) {
		return this.named(at, this.of.name[frame], this.of.kind[frame]);
	}

	named(at, name, kind) {
		const key = name * 8 + kind;
		let c = at.children.get(key);
		if (!c) {
			c = {name, kind, self: 0n, old: 0n, children: new Map()};
			at.children.set(key, c);
		}
		return c;
	}

	finish() {
		const tree = {unit: this.of.unit, names: this.of.names, name: [], kind: [], depth: [], self: [],
			old: this.of.old ? [] : null};
		const todo = [[this.roots, 0]];
		const order = (a, b) => this.of.names[a.name] < this.of.names[b.name] ? 1 : -1;
		while (todo.length) {
			const [node, depth] = todo.pop();
			tree.name.push(node.name);
			tree.kind.push(node.kind);
			tree.depth.push(depth);
			tree.self.push(node.self);
			tree.old?.push(node.old);
			for (const c of [...node.children.values()].sort(order))
				todo.push([c, depth + 1]);
		}
		return finishTree(tree);
	}
}

/* What all frames weigh whose names match ([name]): of one in another only the outer counts. */
function matchedWeight(tree, names) {
	let sum = 0;
	for (let i = 0; i < tree.count;) {
		if (names[tree.name[i]]) {
			sum += tree.total[i];
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return sum;
}

/* A tree of [frames' names, the outermost first; weight as a BigInt] */
function treeOfStacks(stacks, unit) {
	const numbers = new Map([['all', 0]]), names = ['all'];
	const merge = new Merge({unit, names, name: [0], kind: [0], old: null}, 0);
	for (const [frames, weight] of stacks) {
		let at = merge.roots;
		for (const frame of frames) {
			if (!numbers.has(frame))
				numbers.set(frame, names.push(frame) - 1);
			at = merge.named(at, numbers.get(frame), 1);
		}
		at.self += weight;
	}
	return merge.finish();
}

/* Callers and callees of a function, as two trees whose root it is. A recursion counts once. */
function sandwich(tree, name) {
	let callers = null, callees = null;
	for (let i = 0; i < tree.count; i++) {
		if (tree.name[i] !== name)
			continue;
		callers ??= new Merge(tree, i);
		callees ??= new Merge(tree, i);
		let at = callers.roots;
		for (let p = i; p && tree.parent[p];)
			at = callers.child(at, p = tree.parent[p]);
		at.self += tree.exact[i];
		if (tree.old)
			at.old += tree.exactOld[i];
		const path = [callees.roots];
		for (let j = i; j < tree.end[i]; j++) {
			const d = tree.depth[j] - tree.depth[i];
			if (d)
				path[d] = callees.child(path[d - 1], j);
			path[d].self += BigInt(tree.self[j]);
			if (tree.old)
				path[d].old += BigInt(tree.old[j]);
		}
		i = tree.end[i] - 1;
	}
	return callers && [callers.finish(), callees.finish()];
}

/* ---- one drawing ---- */

class Drawing {
	/* up: the root is at the bottom; whole: what shares are of; tell(i): frame i is looked at; chose: of others are chosen, if they can be */
	constructor(tree, {up, whole, tell, zoomed, chose}) {
		Object.assign(this, {tree, up, whole, tell, zoomed, chose, zoom: 0, at: 0, test: null, chosen: new Set()});
		this.canvas = element('canvas', {tabIndex: 0, role: 'img', onclick: e => this.onClick(e),
			onpointermove: e => e.pointerType === 'mouse' && this.look(this.hit(e)),
			ondblclick: e => this.zoomTo(this.hit(e)), onkeydown: e => this.onKey(e)});
		this.spacer = element('div', {});
		this.box = element('div', {className: 'view', onscroll: () => this.later()}, this.canvas, this.spacer);
		this.rows = tree.deepest + 1;
		this.context = this.canvas.getContext('2d');
		new ResizeObserver(() => this.resize()).observe(this.box);
	}

	resize() {
		const height = this.rows * ROW;
		this.height = Math.min(height, Math.max(ROW * 4, Math.floor(innerHeight * 0.7)));
		this.box.style.height = this.height + 2 + 'px'; /* with its border */
		this.width = this.box.clientWidth;
		const ratio = devicePixelRatio || 1;
		this.canvas.width = Math.max(1, Math.round(this.width * ratio));
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.height = this.height + 'px';
		this.spacer.style.height = height - this.height + 'px';
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		if (this.up && !this.wasSized)
			this.box.scrollTop = height;
		this.wasSized = true;
		this.draw();
	}

	later() {
		this.frame ??= requestAnimationFrame(() => {
			this.frame = null;
			this.draw();
		});
	}

	scale() {
		return this.width / (this.tree.total[this.zoom] || 1);
	}

	row(depth) {
		return (this.up ? this.rows - 1 - depth : depth) * ROW - this.box.scrollTop;
	}

	colour(i) {
		const t = this.tree;
		if (this.test && this.test[t.name[i]])
			return this.found;
		if (t.before) {
			const d = t.total[i] / (this.whole.now || 1) - t.before[i] / (this.whole.old || 1);
			const size = Math.min(1, Math.abs(d) * 5);
			return `hsl(${d > 0 ? 0 : 220} ${Math.round(90 * size)}% ${this.dark ? 55 : 86 - 26 * size}%)`;
		}
		const key = t.name[i] * 8 + t.kind[i];
		let colour = this.colours.get(key);
		if (!colour)
			this.colours.set(key, colour = this.nameColour(t.names[t.name[i]], PALETTE[t.kind[i]]));
		return colour;
	}

	nameColour(name, [hue, more, saturation]) {
		const hash = nameHash(name);
		const lightness = this.lightness + 8 * (hash >>> 16 & 255) / 255;
		return `hsl(${hue + more * (hash >>> 8 & 255) / 255} ${saturation}% ${lightness}%)`;
	}

	draw() {
		const c = this.context, t = this.tree, scale = this.scale(), origin = t.start[this.zoom];
		this.dark = matchMedia('(prefers-color-scheme: dark)').matches;
		this.lightness = parseFloat(styleColour('lightness'));
		c.fillStyle = styleColour('ground');
		c.fillRect(0, 0, this.width, this.height);
		c.font = `${FONT}px ui-monospace, monospace`;
		c.textBaseline = 'middle';
		this.letter = c.measureText('m').width;
		this.found = styleColour('found');
		this.colours = new Map();
		for (let p = this.zoom; p; p = t.parent[p])
			this.drawFrame(t.parent[p], 0, this.width);
		for (let i = this.zoom; i < t.end[this.zoom];) {
			const width = t.total[i] * scale;
			if (width < LEAST) {
				i = t.end[i];
				continue;
			}
			this.drawFrame(i, (t.start[i] - origin) * scale, width);
			i++;
		}
	}

	drawFrame(i, x, width) {
		const c = this.context, t = this.tree, y = this.row(t.depth[i]);
		if (y < -ROW || y > this.height)
			return;
		c.globalAlpha = i < this.zoom && t.end[i] > this.zoom && i !== this.zoom ? 0.5 : 1;
		c.fillStyle = this.colour(i);
		c.fillRect(x, y, Math.max(width - 0.5, 0.5), ROW - 1);
		const room = Math.floor((width - 6) / this.letter);
		if (room >= 2) {
			const name = visible(t.names[t.name[i]]);
			c.fillStyle = '#111';
			c.fillText(name.length > room ? name.slice(0, room - 1) + '\u2026' : name, Math.max(x, 0) + 3, y + ROW / 2);
		}
		c.globalAlpha = 1;
		const isHeld = i === this.at && document.activeElement === this.canvas;
		if (isHeld || this.chosen.has(i)) {
			c.strokeStyle = styleColour(isHeld ? 'hold' : 'ink');
			c.lineWidth = 2;
			c.strokeRect(x + 1, y + 1, Math.max(width - 2.5, 1), ROW - 3);
		}
	}

	/* The frame under the pointer, or -1. */
	hit(event) {
		const t = this.tree, box = this.canvas.getBoundingClientRect();
		const line = Math.floor((event.clientY - box.top + this.box.scrollTop) / ROW);
		const depth = this.up ? this.rows - 1 - line : line;
		const weight = t.start[this.zoom] + (event.clientX - box.left) / this.scale();
		let i = this.zoom;
		if (depth < 0)
			return -1;
		while (t.depth[i] > depth)
			i = t.parent[i];
		while (t.depth[i] < depth) {
			const next = this.childAt(i, weight);
			if (next < 0)
				return -1;
			i = next;
		}
		return i;
	}

	childAt(i, weight) {
		const t = this.tree;
		for (let c = i + 1; c < t.end[i]; c = t.end[c])
			if (weight >= t.start[c] && weight < t.start[c] + t.total[c])
				return c;
		return -1;
	}

	look(i) {
		if (i < 0 || i === this.at)
			return;
		this.at = i;
		this.tell(this, i);
		if (document.activeElement === this.canvas)
			this.later();
	}

	zoomTo(i) {
		if (i < 0)
			return;
		this.zoom = i;
		this.look(i);
		this.zoomed(this, i);
		const y = this.row(this.tree.depth[i]);
		if (y < 0 || y > this.height - ROW)
			this.box.scrollTop += y - (this.up ? this.height - 3 * ROW : 2 * ROW);
		this.draw();
	}

	/* The zoomed frame and the one that is looked at, by their names from the root; has the keyboard? */
	places() {
		const t = this.tree, path = i => i ? [...path(t.parent[i]), t.names[t.name[i]]] : [];
		return {zoom: path(this.zoom), at: path(this.at), isFocused: document.activeElement === this.canvas};
	}

	/* Places of another tree, as far as this one has them. */
	goTo({zoom, at, isFocused}) {
		const t = this.tree, frame = path => path.reduce((i, name) => {
			for (let c = i + 1; c < t.end[i]; c = t.end[c])
				if (t.names[t.name[c]] === name)
					return c;
			return i;
		}, 0);
		if (isFocused)
			this.canvas.focus({preventScroll: true});
		this.zoom = frame(zoom);
		this.look(frame(at));
		this.draw();
	}

	/* A frame more, or one less. */
	choose(i) {
		if (i < 0 || !this.chose)
			return;
		if (!this.chosen.delete(i))
			this.chosen.add(i);
		this.chose(this);
		this.draw();
	}

	/* Of one in another only the outer counts. */
	chosenWeight() {
		let sum = 0n, end = 0;
		for (const i of [...this.chosen].sort((a, b) => a - b))
			if (i >= end) {
				sum += this.tree.exact[i];
				end = this.tree.end[i];
			}
		return sum;
	}

	onClick(event) {
		const i = this.hit(event);
		this.canvas.focus({preventScroll: true});
		this.look(i);
		if (event.shiftKey)
			this.choose(i);
		else if (event.detail === 1 && i >= 0)
			this.zoomTo(i);
	}

	/* The widest child; a neighbour with the same parent. */
	widest(i) {
		const t = this.tree;
		let best = -1;
		for (let c = i + 1; c < t.end[i]; c = t.end[c])
			if (best < 0 || t.total[c] > t.total[best])
				best = c;
		return best;
	}

	sibling(i, step) {
		const t = this.tree, all = [];
		if (!i)
			return -1;
		for (let c = t.parent[i] + 1; c < t.end[t.parent[i]]; c = t.end[c])
			all.push(c);
		return all[all.indexOf(i) + step] ?? -1;
	}

	onKey(event) {
		const t = this.tree, outward = this.up ? 'ArrowUp' : 'ArrowDown', inward = this.up ? 'ArrowDown' : 'ArrowUp';
		const steps = {
			[outward]: () => this.look(this.widest(this.at)),
			[inward]: () => this.look(this.at ? t.parent[this.at] : -1),
			ArrowLeft: () => this.look(this.sibling(this.at, -1)),
			ArrowRight: () => this.look(this.sibling(this.at, 1)),
			Enter: () => this.zoomTo(this.at),
			Backspace: () => this.zoomTo(t.parent[this.zoom]),
			' ': () => this.choose(this.at),
			Escape: () => {
				this.chosen.clear();
				this.chose?.(this);
				this.zoomTo(0);
			},
			Home: () => this.look(this.zoom),
		};
		if (event.ctrlKey || event.altKey || event.metaKey || !steps[event.key])
			return;
		event.preventDefault();
		steps[event.key]();
		const y = this.row(t.depth[this.at]);
		if (y < 0 || y > this.height - ROW)
			this.box.scrollTop += y - this.height / 2;
		this.draw();
	}
}

/* The flame graph of a part of a recording. `changed` is called when another frame is zoomed to. */
class RangeGraph {
	constructor(tree, changed) {
		Object.assign(this, {tree, zoom: 0});
		this.told = element('div', {className: 'detail', 'aria-live': 'polite'});
		this.title = element('h2', {});
		this.drawing = new Drawing(tree, {up: false, whole: {}, tell: (_, i) => this.tell(i), zoomed: (_, i) => {
			this.zoom = i;
			changed();
		}});
		this.box = element('section', {id: 'graph'}, this.title, this.drawing.box, this.told);
	}

	get canvas() {
		return this.drawing.canvas;
	}

	/* self: what each frame of the tree weighs itself in this part, as a BigUint64Array */
	show(title, self) {
		const {names, name, kind, depth, unit} = this.tree, d = this.drawing;
		d.tree = finishTree({names, name, kind, depth, unit, self, old: null});
		this.title.textContent = visible(title);
		this.zoom = this.zoom > 0 && d.tree.total[this.zoom] ? this.zoom : 0;
		d.zoom = d.at = this.zoom;
		this.tell(this.zoom);
		d.resize();
	}

	/* Marks the frames that match; returns what is told of them. */
	find(search) {
		const d = this.drawing, test = matcher(search), names = test && d.tree.names.map(test);
		d.test = names;
		d.draw();
		return names ? `matched: ${percent(matchedWeight(d.tree, names), d.tree.total[0])}` : search ? 'no expression' : '';
	}

	tell(i) {
		const {tree} = this.drawing;
		this.told.replaceChildren(element('b', {}, visible(tree.names[tree.name[i]])), element('br', {}),
			`${grouped(tree.exact[i])} ${tree.unit}, ${percent(tree.total[i], tree.total[0])} of the range`);
	}

	focus() {
		this.canvas.focus();
		this.box.scrollIntoView();
	}
}
