/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of a flame graph. */

const DEFAULTS = {view: 'flame', zoom: 0, search: '', of: '', sum: ''};
const VIEWS = {flame: 'Flame graph', icicle: 'Icicle', sandwich: 'Callers and callees'};
const KEYS = [['arrows', 'move from frame to frame'], ['Enter, click', 'zoom to the frame'],
	['Backspace', 'zoom out by one frame'], ['Shift and click, space', 'add the frame to a sum, or take it out'], ['Escape', 'all, no sum'], ['/', 'search'],
	['f, i', 'flame graph, icicle'], ['s', 'callers and callees of the frame'], ['?', 'these keys']];

class Page {
	constructor(tree) {
		this.tree = tree;
		this.whole = {now: tree.total[0], old: tree.before ? tree.before[0] : 0};
		this.state = {...DEFAULTS, ...fragment.get()};
		this.looked = [tree, 0];
		this.build();
		addEventListener('hashchange', () => {
			this.state = {...DEFAULTS, ...fragment.get()};
			this.show();
		});
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
		document.addEventListener('keydown', e => this.onKey(e));
		this.show();
	}

	build() {
		const main = document.getElementById('picture');
		this.buttons = Object.entries(VIEWS).map(([view, label]) => element('button',
			{type: 'button', onclick: () => this.choose(view), id: view}, label));
		this.search = element('input', {type: 'search', id: 'search',
			placeholder: 'Search: text or /expression/', 'aria-label': 'Search', oninput: () => this.find()});
		this.matched = element('output', {id: 'matched', className: 'soft'});
		this.sum = element('output', {id: 'sum', className: 'soft'});
		this.back = element('button', {type: 'button', id: 'all', onclick: () => this.drawings[0].zoomTo(0)}, 'Show all');
		this.help = element('dialog', {}, element('table', {}, element('tbody', {}, ...KEYS.map(([key, what]) =>
			element('tr', {}, element('td', {}, key), element('td', {}, what))))),
			element('form', {method: 'dialog'}, element('button', {}, 'Close')));
		this.place = element('div', {id: 'drawings'});
		this.detail = element('div', {className: 'detail', id: 'detail', 'aria-live': 'polite'});
		main.append(element('div', {className: 'bar', role: 'toolbar'}, ...this.buttons, this.back,
			element('span', {className: 'space'}), this.sum, this.matched, this.search,
			element('button', {type: 'button', onclick: () => this.help.showModal()}, 'Keys')),
			this.legend(), this.place, this.detail, this.help);
		const table = document.querySelector('#tables table');
		if (table)
			this.linkTable(table);
	}

	legend() {
		const used = new Set(this.tree.kind);
		const of = this.tree.before ? [['hsl(0 80% 65%)', 'more than before'], ['hsl(220 80% 65%)', 'less than before']]
			: PALETTE.map(([hue, more, s], k) => [`hsl(${hue + more / 2} ${s}% 65%)`, KINDS[k], k]).filter(x => used.has(x[2]));
		return element('div', {className: 'legend'}, ...of.map(([colour, text]) => {
			const mark = element('i', {});
			mark.style.background = colour;
			return element('span', {}, mark, text);
		}));
	}

	/* A name in the table opens its callers and callees. */
	linkTable(table) {
		sortable(table);
		for (const row of table.tBodies[0].rows) {
			const cell = row.cells[0], name = Number(row.dataset.name);
			cell.replaceChildren(element('button', {type: 'button', onclick: () => {
				this.state.of = name;
				this.choose('sandwich');
			}}, cell.textContent));
		}
	}

	choose(view) {
		if (view === 'sandwich' && this.state.of === '')
			this.state.of = this.looked[0].name[this.looked[1]];
		this.state.view = view;
		if (view !== 'sandwich')
			this.state.of = '';
		this.show();
	}

	show() {
		const s = this.state;
		if (!VIEWS[s.view])
			s.view = DEFAULTS.view;
		const two = s.view === 'sandwich' ? sandwich(this.tree, Number(s.of)) : null;
		if (s.view === 'sandwich' && !two)
			s.view = DEFAULTS.view;
		const common = {whole: this.whole, tell: (d, i) => this.describe(d.tree, i), zoomed: (d, i) => this.onZoom(d, i),
			chose: d => this.onChosen(d)};
		this.drawings = two ? [new Drawing(two[0], {...common, up: true}), new Drawing(two[1], {...common, up: false})]
			: [new Drawing(this.tree, {...common, up: s.view === 'flame'})];
		this.place.replaceChildren(...(two ? [element('h2', {}, 'Callers'), this.drawings[0].box,
			element('h2', {}, 'Callees'), this.drawings[1].box] : [this.drawings[0].box]));
		this.drawings.forEach(d => d.resize());
		if (!two)
			this.drawings[0].chosen = new Set(s.sum.split('.').map(Number).filter(i => i > 0 && i in this.tree.name));
		this.onChosen(this.drawings[0]);
		const zoom = Number(s.zoom);
		if (!two && zoom > 0 && zoom in this.tree.name)
			this.drawings[0].zoomTo(zoom);
		this.buttons.forEach(b => b.setAttribute('aria-pressed', b.id === s.view));
		this.search.value = s.search;
		this.describe(this.drawings[0].tree, this.drawings[0].at);
		this.find();
	}

	redraw() {
		this.drawings.forEach(d => d.draw());
	}

	onZoom(drawing, i) {
		this.state.zoom = drawing.tree === this.tree ? i : 0;
		this.back.disabled = !this.drawings.some(d => d.zoom);
		fragment.set(this.state, DEFAULTS);
	}

	onChosen(drawing) {
		const sum = drawing.chosenWeight(), {size} = drawing.chosen;
		this.sum.value = size ? `${many(size, 'frame')}: ${grouped(sum)} ${drawing.tree.unit}, ${percent(Number(sum), this.whole.now)}` : '';
		if (drawing.tree === this.tree)
			this.state.sum = [...drawing.chosen].join('.');
		fragment.set(this.state, DEFAULTS);
	}

	describe(tree, i) {
		const whole = this.whole, total = tree.total[i];
		this.looked = [tree, i];
		const words = [`${grouped(tree.exact[i])} ${tree.unit}`, percent(total, whole.now)];
		if (BigInt(tree.self[i]) && BigInt(tree.self[i]) !== tree.exact[i])
			words.push(`${grouped(tree.self[i])} of its own`);
		if (tree.before) {
			const d = 100 * (total / (whole.now || 1) - tree.before[i] / (whole.old || 1));
			words.push(`before: ${grouped(tree.exactOld[i])}, ${d > 0 ? '+' : ''}${d.toFixed(2)}%`);
		}
		if (tree.kind[i])
			words.push(KINDS[tree.kind[i]]);
		this.detail.replaceChildren(element('b', {}, visible(tree.names[tree.name[i]])), element('br', {}), words.join(', '));
		for (const d of this.drawings ?? [])
			if (d.tree === tree)
				d.canvas.setAttribute('aria-label', `${visible(tree.names[tree.name[i]])}: ${words.join(', ')}`);
	}

	/* Frames whose names match, and their share of all: of one in another only the outer counts. */
	find() {
		const t = this.tree, test = matcher(this.search.value);
		const names = test && t.names.map(test);
		const sum = names ? matchedWeight(t, names) : 0;
		this.drawings.forEach(d => {
			d.test = names;
			d.draw();
		});
		this.matched.value = names ? `matched: ${percent(sum, this.whole.now)}` : this.search.value ? 'no expression' : '';
		this.state.search = this.search.value;
		this.back.disabled = !this.drawings.some(d => d.zoom);
		fragment.set(this.state, DEFAULTS);
	}

	onKey(event) {
		if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches('input, dialog *'))
			return;
		const keys = {'/': () => this.search.focus(), f: () => this.choose('flame'), i: () => this.choose('icicle'),
			s: () => {
				this.state.of = '';
				this.choose('sandwich');
			}, '?': () => this.help.showModal()};
		if (!keys[event.key])
			return;
		event.preventDefault();
		keys[event.key]();
	}
}

pageData().then(data => {
	globalThis.page = new Page(readTree(new Reader(data)));
});
