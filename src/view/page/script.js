/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page of what a script printed. Its data are the lines of `-f json` (doc/json.md). What was
 * printed stays text; maps become tables, histograms bars, time series lines, and maps by stacks
 * flame graphs. Of a map that was printed several times the last is open, those before are folded.
 * Histograms become a heat map as well, by the times at which they were printed, or by their keys; so
 * do time series of several keys. (A line "printed" says when the one behind it was.)
 */
const DEFAULTS = {search: ''};
const KEYS = [['/', 'search'], ['p', 'a live page: pause, go on'], ['arrows, Enter, Backspace, Escape', 'in a flame graph: move, zoom, zoom out, all'], ['arrows, Shift and arrows', 'in a heat map: move from cell to cell, choose a range'], ['?', 'these keys']];
/* Messages that are no output of the script's own. */
const NOTES = {printed: () => '', lost_events: d => `${grouped(d.events ?? 0)} events were lost\n`, attached_probes: () => '',
	dropped_lines: d => `${grouped(d.lines)} lines that were printed before are not kept\n`};
const FRAME = '\n        '; /* stands before each frame of a stack in a key */
const OPEN_MOST = 8; /* histograms of a map that are not folded */
const FILLED_MOST = 1000; /* columns between two keys that are numbers; farther ones stand side by side */
const TICK_MOST = 12; /* letters of a key at an axis */
const SERIES_MOST = 12, HUES = [210, 30, 140, 280, 0, 180, 50, 320, 100, 240, 160, 75];

/* Numbers beyond 2^53 come as texts of their digits. */
function isNumber(v) {
	return typeof v === 'number' || typeof v === 'string' && /^-?\d+$/.test(v);
}

function isPlain(v) {
	return v === null || typeof v !== 'object';
}

/* [[key, value]]: of a map without a key, key ''. */
function rowsOf(value, isOne) {
	return isOne(value) ? [['', value]] : Object.entries(value);
}

function shown(v) {
	return isNumber(v) ? grouped(v) : visible(isPlain(v) ? String(v) : JSON.stringify(v));
}

/* A key with a stack: the other parts of the key, then its frames, the outermost first. */
function stackOf(key) {
	const lines = key.split('\n'), frames = lines.filter(line => line.startsWith('        ')).map(line => line.trim().replace(/\+\d+$/, ''));
	const others = lines.filter(line => line && !line.startsWith('        ')).flatMap(line => line.split(',')).filter(Boolean);
	return [...others, ...frames.reverse()];
}

/* "8 to 15" */
function rangeText({min, max}) {
	return min === undefined ? `up to ${grouped(max)}` : max === undefined ? `${grouped(min)} and more`
		: min === max ? grouped(min) : `${grouped(min)} to ${grouped(max)}`;
}

/* The ranges of all histograms, the lowest first, and one for each gap between them. */
function rangesOf(histograms) {
	const ranges = new Map(histograms.flat().map(({min, max}) => [String(min), {min, max}]));
	const sorted = [...ranges.values()].sort((a, b) => Number(a.min ?? -Infinity) - Number(b.min ?? -Infinity));
	return sorted.flatMap((range, i) => {
		const end = sorted[i - 1]?.max;
		const isGap = end !== undefined && range.min !== undefined && BigInt(range.min) > BigInt(end) + 1n;
		return isGap ? [{min: String(BigInt(end) + 1n), max: String(BigInt(range.min) - 1n)}, range] : [range];
	});
}

function tickOf(v) {
	return grouped(v).length > TICK_MOST + 1 ? Number(v).toExponential(2) : grouped(v);
}

/* rows: [{text, tick}], cells: [[column, row, count]] */
function heatOf(columnTexts, rows, cells) {
	const heat = {columns: columnTexts.length, rows: rows.length, columnTexts: [...columnTexts, ''], counted: '', full: 0,
		rowTexts: rows.map(r => r.text), ticks: rows.map(r => r.tick),
		counts: new Float64Array(columnTexts.length * rows.length)};
	for (const [column, row, count] of cells)
		heat.counts[column * rows.length + row] += Number(count);
	heat.total = heat.counts.reduce((a, b) => a + b, 0);
	heat.most = heat.counts.reduce((a, b) => Math.max(a, b), 0);
	return heat;
}

/* columns: [{text, buckets}] */
function heatOfHistograms(columns) {
	const ranges = rangesOf(columns.map(c => c.buckets)), row = new Map(ranges.map(({min}, i) => [String(min), i]));
	return heatOf(columns.map(c => c.text), ranges.map(r => ({text: rangeText(r), tick: r.min === undefined ? '' : tickOf(r.min)})),
		columns.flatMap(({buckets}, i) => buckets.map(b => [i, row.get(String(b.min)), b.count])));
}

/* Of one print: a column for each key; where all are whole numbers, for those between them, too. */
function columnsOfKeys(rows) {
	const isNumbers = rows.every(([key]) => /^-?\d{1,15}$/.test(key)), by = new Map(rows);
	const keys = isNumbers ? [...by.keys()].map(Number).sort((a, b) => a - b) : [...by.keys()];
	const length = isNumbers ? keys.at(-1) - keys[0] + 1 : Infinity;
	const all = length <= FILLED_MOST ? Array.from({length}, (_, i) => keys[0] + i) : keys;
	return all.map(key => ({text: visible(String(key)), buckets: by.get(String(key)) ?? []}));
}

/* A heat map with what is chosen told below. */
class PrintedHeat extends HeatDrawing {
	constructor(heat) {
		super(heat);
		this.told = element('div', {className: 'detail', 'aria-live': 'polite'});
		this.whole = element('div', {className: 'heats'}, element('div', {className: 'bar'}, this.ramp, this.legend), this.box, this.told);
		this.describe();
	}

	describe() {
		const {heat} = this, words = [];
		if (this.from < 0) {
			words.push(`${grouped(heat.total)} in all`, `${grouped(heat.columns)} columns, ${grouped(heat.rows)} rows; most in a cell: ${grouped(heat.most)}`);
		} else {
			const [c0, c1, r0, r1] = this.bounds(), between = (texts, a, b) => [...new Set([texts[a], texts[b]])].join('  to  ');
			words.push(`${between(heat.columnTexts, c0, c1)}: ${between(heat.rowTexts, r0, r1)}`, `${grouped(this.sum())}, ${percent(this.sum(), heat.total)} of all`);
		}
		this.told.replaceChildren(element('b', {}, words[0]), element('br', {}), words[1]);
		this.canvas.setAttribute('aria-label', `Heat map: ${words.join(', ')}; arrow keys go from cell to cell`);
	}

	/* What is chosen, while the rows stay. */
	places() {
		return {rows: this.heat.rows, from: this.from, to: this.to};
	}

	goTo(places) {
		if (places?.rows === this.heat.rows && places.from >= 0)
			this.choose(places.from, places.to);
	}
}

/*
 * What a reader has made of the page: open folds, sorted tables, zoomed and scrolled drawings. By the
 * names of maps, so that it is found again when all of them are drawn anew.
 */
class View {
	constructor(body, drawings) {
		this.parts = new Map([...View.each(body)].map(([key, e]) => [key, {
			open: e.open, left: e.scrollLeft, top: e.scrollTop, frames: drawings.find(d => d.box === e)?.places(),
			clicks: [...e.tHead?.rows[0].cells ?? []].map(th => ['descending', 'ascending'].indexOf(th.getAttribute('aria-sort')) + 1)}]));
		this.top = [...View.each(body)].map(([key, e]) => [key, e.getBoundingClientRect()]).find(([, box]) => box.bottom > 0);
	}

	/* [key, element] of each part */
	static *each(body) {
		const seen = {};
		for (const e of body.querySelectorAll('section, details, table, .scroll, .view, .heat')) {
			const name = `${e.tagName} ${(e.closest('section') ?? e.querySelector('section')).firstChild.textContent}`;
			seen[name] = (seen[name] ?? 0) + 1;
			yield [`${seen[name]} ${name}`, e];
		}
	}

	apply(body, drawings) {
		for (const [key, e] of View.each(body)) {
			const was = this.parts.get(key);
			if (!was)
				continue;
			if (e.open !== undefined)
				e.open = was.open;
			was.clicks.forEach((n, i) => { for (; n; n--) e.tHead.rows[0].cells[i].firstChild.click(); });
			drawings.find(d => d.box === e)?.goTo(was.frames);
			e.scrollTo(was.left, was.top);
		}
		for (const [key, e] of View.each(body))
			if (key === this.top?.[0])
				scrollBy(0, e.getBoundingClientRect().top - this.top[1].top);
	}
}

class ScriptPage {
	constructor(lines) {
		const main = document.getElementById('picture');
		this.search = element('input', {type: 'search', id: 'search', placeholder: 'Search: text or /expression/',
			'aria-label': 'Search', oninput: () => this.find()});
		this.matched = element('output', {id: 'matched', className: 'soft'});
		this.note = element('output', {id: 'note', className: 'soft'});
		this.pause = element('button', {type: 'button', id: 'pause', hidden: true, 'aria-pressed': 'false', onclick: () => this.togglePause()}, 'Pause');
		this.help = element('dialog', {}, element('table', {}, element('tbody', {}, ...KEYS.map(([key, what]) =>
			element('tr', {}, element('td', {}, key), element('td', {}, what))))),
			element('form', {method: 'dialog'}, element('button', {}, 'Close')));
		this.body = element('div', {id: 'output'});
		main.append(element('div', {className: 'bar', role: 'toolbar'}, this.pause, this.note, element('span', {className: 'space'}), this.matched, this.search,
			element('button', {type: 'button', onclick: () => this.help.showModal()}, 'Keys')), this.body, this.help);
		this.fill(lines);
		document.addEventListener('keydown', e => this.onKey(e));
		addEventListener('hashchange', () => this.restore());
		matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => [...this.drawings, ...this.heats].forEach(d => d.draw()));
		this.restore();
	}

	fill(lines) {
		const view = this.drawings && new View(this.body, [...this.drawings, ...this.heats]);
		this.drawings = [];
		this.heats = [];
		this.isTimed = lines.some(({type}) => type === 'printed');
		this.prints = new Map(); /* a histogram's name: [{at, value}] */
		this.tables = [];
		this.printed = null; /* the text that goes on */
		this.before = new Map(); /* a map's name: what it was printed as last */
		this.body.replaceChildren();
		for (const line of lines)
			this.add(line);
		this.drawHeats();
		this.drawings.forEach(d => d.resize());
		view?.apply(this.body, [...this.drawings, ...this.heats]);
	}

	/* ---- live ---- */

	/* Each second, where anything has changed. */
	async follow(data) {
		this.pause.hidden = false;
		for (let last = data;;) {
			await new Promise(done => setTimeout(done, 1000));
			try {
				const next = await servedData();
				if (this.isPaused || (next.length === last.length && next.every((byte, i) => byte === last[i])))
					continue;
				last = next;
				this.fill(linesOf(next));
				this.find();
				this.note.value = `live: as of ${new Date().toLocaleTimeString()}`;
			} catch {
				this.note.value = 'pantrace has ended: this is what it showed last';
				this.pause.hidden = true;
				return;
			}
		}
	}

	togglePause() {
		this.isPaused = !this.isPaused;
		this.pause.setAttribute('aria-pressed', this.isPaused);
		this.note.value = this.isPaused ? 'paused' : 'live';
	}

	/* ---- lines ---- */

	add({type, data}) {
		const maps = {map: v => this.map(v), hist: v => this.histograms(v), tseries: v => this.series(v), stats: v => this.map(v)};
		if (type === 'printed')
			this.at = data;
		if (!maps[type])
			return this.text(type, data);
		for (const [name, value] of Object.entries(data)) {
			const section = element('section', {}, element('h2', {}, visible(name)), ...maps[type](value));
			this.printed = null;
			this.fold(name);
			this.before.set(name, section);
			this.body.append(section);
			if (type === 'hist')
				this.prints.set(name, [...this.prints.get(name) ?? [], {at: this.at, value}]);
		}
		this.at = null;
	}

	text(type, data) {
		const text = NOTES[type] ? NOTES[type](data) : typeof data === 'string' ? data : JSON.stringify(data) + '\n';
		if (!text)
			return;
		if (!this.printed)
			this.body.append(this.printed = element('pre', {className: 'printed'}));
		this.printed.append(visible(text).replaceAll('\\x0a', '\n').replaceAll('\\x09', '\t'));
	}

	/* What was printed of it before goes into a fold, with what was folded just before it. */
	fold(name) {
		const section = this.before.get(name), last = section?.previousElementSibling;
		if (!section)
			return;
		const folded = last?.matches('details.before') ? last : element('details', {className: 'before'}, element('summary', {className: 'soft'}));
		section.replaceWith(folded);
		folded.append(section);
		const names = [...new Set([...folded.querySelectorAll('h2')].map(h => h.textContent))], times = folded.children.length - 1;
		folded.firstChild.textContent = `${names.join(', ')}: printed before${times > 1 ? `, ${grouped(times)} times` : ''}`;
	}

	/* Above the last print: all of them by time or, of a single one, its keys side by side. */
	drawHeats() {
		for (const [name, prints] of this.prints) {
			const all = prints.map(({value}) => rowsOf(value, Array.isArray));
			const columns = prints.length > 1 ? prints.map(({at}, i) => ({text: at ?? (this.isTimed ? 'last' : `print ${i + 1}`), buckets: all[i].flatMap(([, buckets]) => buckets)}))
				: columnsOfKeys(all[0]);
			if (columns.length > (prints.length > 1 ? 1 : OPEN_MOST)) /* fewer keys are seen by their bars */
				this.before.get(name).firstChild.after(this.heat(heatOfHistograms(columns)));
		}
	}

	heat(heat) {
		const drawing = new PrintedHeat(heat);
		this.heats.push(drawing);
		return drawing.whole;
	}

	/* ---- maps ---- */

	map(value) {
		const rows = rowsOf(value, v => isPlain(v) || Array.isArray(v)), parts = rows.find(([, v]) => !isPlain(v) && !Array.isArray(v))?.[1];
		if (rows.some(([key]) => key.includes(FRAME)) && rows.every(([, v]) => isNumber(v)))
			return [this.flame(rows)];
		if (rows.length === 1 && rows[0][0] === '')
			return [element('pre', {className: 'printed'}, shown(rows[0][1]))];
		if (rows.every(([, v]) => isNumber(v)))
			rows.sort(([, x], [, y]) => Number(y) - Number(x));
		return [this.table(['Key', ...parts ? Object.keys(parts) : ['Value']], rows.map(([key, v]) => [key, ...parts ? Object.values(v) : [v]]))];
	}

	table(titles, rows) {
		const cell = v => element('td', isNumber(v) ? {'data-value': v} : {}, shown(v));
		const table = element('table', {}, element('thead', {}, element('tr', {}, ...titles.map(text => element('th', {}, text)))),
			element('tbody', {}, ...rows.map(([key, ...values]) => element('tr', {}, element('td', {'data-value': key}, visible(key)), ...values.map(cell)))));
		sortable(table);
		this.tables.push(table);
		return element('div', {className: 'scroll'}, table);
	}

	flame(rows) {
		const keys = new Set(rows.map(([key]) => key));
		/* keys that read alike bear a number (doc/json.md) */
		const stack = key => { const k = key.replace(/ \(\d+\)$/, ''); return stackOf(keys.has(k) ? k : key); };
		const tree = treeOfStacks(rows.map(([key, v]) => [stack(key), BigInt(v)]), ''), whole = {now: tree.total[0], old: 0};
		const told = element('div', {className: 'detail', 'aria-live': 'polite'});
		const tell = (drawing, i) => {
			const words = [grouped(tree.exact[i]), percent(tree.total[i], whole.now)];
			told.replaceChildren(element('b', {}, visible(tree.names[tree.name[i]])), element('br', {}), words.join(', '));
			drawing.canvas.setAttribute('aria-label', `${visible(tree.names[tree.name[i]])}: ${words.join(', ')}`);
		};
		const drawing = new Drawing(tree, {up: true, whole, tell, zoomed: () => {}});
		this.drawings.push(drawing);
		tell(drawing, 0);
		return element('div', {}, drawing.box, told, element('details', {}, element('summary', {}, 'As a table'),
			this.table(['Stack', 'Value'], rows.map(([key, v]) => [stack(key).join(';'), v]))));
	}

	histograms(value) {
		const total = buckets => buckets.reduce((sum, b) => sum + Number(b.count), 0);
		const tables = rowsOf(value, Array.isArray).sort(([, x], [, y]) => total(y) - total(x)).map(([key, buckets]) => {
			const most = buckets.reduce((m, b) => Math.max(m, Number(b.count)), 0), all = total(buckets);
			const table = element('table', {className: 'barred'}, element('caption', {}, visible(key)), element('tbody', {}, ...buckets.map(b => {
				const bar = element('i', {});
				bar.style.width = `${100 * b.count / (most || 1)}%`;
				return element('tr', {}, element('td', {}, rangeText(b)), element('td', {}, grouped(b.count)), element('td', {}, percent(b.count, all)), element('td', {}, bar));
			})));
			this.tables.push(table);
			return table;
		});
		const rest = tables.splice(OPEN_MOST);
		return rest.length ? [...tables, element('details', {}, element('summary', {}, `${rest.length} more`), ...rest)] : tables;
	}

	/* The longest series as lines; all of them in a table. */
	series(value) {
		const rows = rowsOf(value, Array.isArray), drawn = [...rows].sort(([, x], [, y]) => y.length - x.length).slice(0, SERIES_MOST);
		const times = [...new Set(rows.flatMap(([, points]) => points.map(p => p.interval_start)))].sort();
		const ms = time => Date.parse(time.slice(0, 23).replace(' ', 'T')), begin = ms(times[0] ?? ''), length = ms(times.at(-1) ?? '') - begin;
		const values = rows.flatMap(([, points]) => points.map(p => Number(p.value)));
		const most = values.reduce((a, b) => Math.max(a, b), 0), least = values.reduce((a, b) => Math.min(a, b), 0);
		const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
		svg.setAttribute('viewBox', '0 0 1000 100');
		svg.setAttribute('preserveAspectRatio', 'none');
		svg.setAttribute('class', 'lines');
		svg.setAttribute('role', 'img');
		svg.setAttribute('aria-label', `${rows.length} series from ${times[0]} to ${times.at(-1)}, up to ${grouped(most)}; the table below has all values`);
		const legend = element('div', {className: 'legend'}, element('span', {}, `${times[0] ?? ''} to ${times.at(-1) ?? ''}, ${grouped(least)} to ${grouped(most)}`));
		drawn.forEach(([key, points], k) => {
			const line = document.createElementNS(svg.namespaceURI, 'polyline'), colour = `hsl(${HUES[k]} 60% 50%)`, mark = element('i', {});
			const place = p => [1000 * (ms(p.interval_start) - begin) / (length || 1), 96 - 92 * (Number(p.value) - least) / (most - least || 1)];
			line.setAttribute('points', points.map(p => place(p).map(v => v.toFixed(1)).join(',')).join(' '));
			line.style.stroke = mark.style.background = colour;
			svg.append(line);
			legend.append(element('span', {}, mark, visible(key || 'value')));
		});
		if (drawn.length < rows.length)
			legend.append(element('span', {}, `${rows.length - drawn.length} shorter ones are in the table alone`));
		const heat = rows.length > 1 && least >= 0 ? [element('details', {open: drawn.length < rows.length}, element('summary', {}, 'As a heat map'),
			this.heat(heatOf(times.map(time => time.slice(0, 23)), rows.map(([key]) => ({text: visible(key), tick: key.length > TICK_MOST ? visible(key.slice(0, TICK_MOST - 1)) + '\u2026' : visible(key)})),
				rows.flatMap(([, points], row) => points.map(p => [times.indexOf(p.interval_start), row, p.value])))))] : [];
		return [svg, legend, ...heat, element('details', {}, element('summary', {}, 'As a table'),
			this.table(['From', 'Key', 'Value'], rows.flatMap(([key, points]) => points.map(p => [p.interval_start, key, p.value]))))];
	}

	/* ---- search ---- */

	restore() {
		this.state = {...DEFAULTS, ...fragment.get()};
		this.search.value = this.state.search;
		this.find();
	}

	/* Rows whose key matches; of flame graphs the share of the frames that do. */
	find() {
		const test = matcher(this.search.value), shares = [];
		let count = 0;
		for (const table of this.tables) {
			const isFound = test && table.caption && test(table.caption.textContent);
			table.classList.toggle('found', Boolean(isFound));
			count += isFound ? 1 : 0;
			for (const row of table.caption ? [] : table.tBodies[0].rows) {
				const is = Boolean(test && [...row.cells].some(cell => test(cell.textContent)));
				row.classList.toggle('found', is);
				count += is ? 1 : 0;
			}
		}
		for (const drawing of this.drawings) {
			const names = test && drawing.tree.names.map(test);
			drawing.test = names;
			drawing.draw();
			if (names)
				shares.push(percent(matchedWeight(drawing.tree, names), drawing.tree.total[0]));
		}
		this.matched.value = test ? `matched: ${many(count, 'row')}${shares.map(s => `, ${s}`).join('')}` : this.search.value ? 'no expression' : '';
		this.state.search = this.search.value;
		fragment.set(this.state, DEFAULTS);
	}

	onKey(event) {
		const keys = {p: () => this.pause.hidden || this.togglePause(), '/': () => this.search.focus(), '?': () => this.help.showModal()};
		if (event.ctrlKey || event.altKey || event.metaKey || event.target.matches('input, dialog *') || !keys[event.key])
			return;
		event.preventDefault();
		keys[event.key]();
	}
}

function linesOf(data) {
	return new TextDecoder().decode(data).split('\n').filter(Boolean).map(line => JSON.parse(line));
}

pageData().then(data => {
	const page = globalThis.page = new ScriptPage(linesOf(data));
	const output = document.getElementById('output');
	if (isServed)
		page.follow(data);
	else if (!output.childElementCount)
		output.append(element('p', {className: 'soft'}, 'The script printed nothing.'));
});
