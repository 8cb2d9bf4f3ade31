/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all pages share: their data, elements, the address's fragment, numbers as text. */
'use strict';

const isServed = !document.getElementById('data').textContent;

/* A page that is served asks for what it shows. */
async function servedData(query = '') {
	const answer = await fetch('data' + query, {cache: 'no-store'});
	if (!answer.ok)
		throw new Error(`${answer.status} ${answer.statusText}`);
	return new Uint8Array(await answer.arrayBuffer());
}

/* Tells the server that the page is still there; tells what goes wrong where it has gone. */
function keepServed(gone) {
	const ask = () => fetch('alive', {cache: 'no-store'}).then(answer => answer.ok || gone(), gone);
	setInterval(ask, 20000);
}

/* The data of the page, unpacked: a Promise of a Uint8Array. */
async function pageData() {
	if (isServed)
		return servedData();
	const text = atob(document.getElementById('data').textContent);
	const packed = new Uint8Array(text.length);
	for (let i = 0; i < packed.length; i++)
		packed[i] = text.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Reads what strbuf_add_leb128() and texts with their length before them have written. */
class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
		this.decoder = new TextDecoder();
	}

	/* Below 2^53. */
	number() {
		let value = 0, factor = 1, byte;
		do {
			byte = this.bytes[this.at++];
			value += (byte & 127) * factor;
			factor *= 128;
		} while (byte & 128);
		return value;
	}

	/* Any, as a BigInt. */
	big() {
		let low = 0, high = 0n, shift = 0n, count = 0, byte;
		const begin = this.at;
		do {
			byte = this.bytes[this.at++];
			low += (byte & 127) * 2 ** (7 * count++);
		} while (byte & 128);
		if (count <= 7)
			return BigInt(low);
		for (let i = begin; i < this.at; i++, shift += 7n)
			high |= BigInt(this.bytes[i] & 127) << shift;
		return high;
	}

	/* Bytes that are no UTF-8 become U+FFFD. */
	text() {
		const length = this.number();
		this.at += length;
		return this.decoder.decode(this.bytes.subarray(this.at - length, this.at));
	}
}

/* element('button', {type: 'button', onclick: f}, 'text', child...) */
function element(tag, properties, ...children) {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(properties || {})) {
		if (key in e && key !== 'list')
			e[key] = value;
		else
			e.setAttribute(key, value);
	}
	e.append(...children.filter(c => c !== null && c !== undefined));
	return e;
}

/* Control characters and those that turn the direction of text, visible. */
function visible(text) {
	return text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
		c => '\\x' + c.charCodeAt(0).toString(16).padStart(2, '0'));
}

/* A number or BigInt, its digits in groups of three. */
function grouped(value) {
	return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}

/* "1 event", "2,000 events" */
function many(count, noun) {
	return `${grouped(count)} ${noun}${Number(count) === 1 ? '' : 's'}`;
}

function percent(part, whole) {
	return whole ? (100 * part / whole).toFixed(2) + '%' : '0%';
}

/* The state of the page is in its address: #zoom=12&search=read */
const fragment = {
	get() {
		return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
	},
	/* Defaults are left out; the same state is not written again. */
	set(state, defaults) {
		const words = new URLSearchParams();
		for (const [key, value] of Object.entries(state))
			if (String(value) !== String(defaults[key]))
				words.set(key, value);
		const hash = words.toString();
		if (hash !== location.hash.slice(1))
			history.replaceState(null, '', hash ? '#' + hash : location.pathname + location.search);
	},
};

/* 32 bits, the same for the same name; of short names, too, each bit depends on all letters. */
function nameHash(name) {
	let hash = 0;
	for (let i = 0; i < name.length; i++)
		hash = Math.imul(hash, 31) + name.charCodeAt(i) | 0;
	hash = Math.imul(hash ^ hash >>> 16, 0x7feb352d);
	return Math.imul(hash ^ hash >>> 15, 0x846ca68b) >>> 0;
}

/* A colour of the style sheet. */
function styleColour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}

/* A search's test: text in any case, or /expression/. null: it matches nothing, or is no expression. */
function matcher(search) {
	if (!search)
		return null;
	const expression = search.match(/^\/(.+)\/$/);
	if (!expression)
		return name => name.toLowerCase().includes(search.toLowerCase());
	try {
		const e = new RegExp(expression[1], 'i');
		return name => e.test(name);
	} catch {
		return null;
	}
}

/* Headers of tables sort their rows; a cell may say its value: data-value. */
function sortable(table) {
	const headers = [...table.tHead.rows[0].cells];
	const value = (row, i) => row.cells[i].dataset.value ?? row.cells[i].textContent;
	headers.forEach((th, i) => {
		const text = th.textContent;
		const sort = () => {
			const down = th.getAttribute('aria-sort') !== 'descending';
			const rows = [...table.tBodies[0].rows];
			rows.sort((a, b) => {
				const x = value(a, i), y = value(b, i);
				const order = i && !isNaN(x) && !isNaN(y) ? Number(x) - Number(y) : x < y ? -1 : x > y ? 1 : 0;
				return down ? -order : order;
			});
			headers.forEach(h => h.removeAttribute('aria-sort'));
			th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
			table.tBodies[0].append(...rows);
		};
		th.replaceChildren(element('button', {type: 'button', onclick: sort}, text));
	});
}
