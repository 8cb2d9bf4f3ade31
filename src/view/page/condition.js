/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on events as `report -w` has them (lang/predicate/recorded.h): comparisons of fields with
 * constants, ~ with a pattern, && || ! and parentheses. What an event lacks is neither true nor false:
 * null. Integers are BigInts, so that all 64 bits count.
 */
const CONDITION_WORDS = /\s*(?:(0x[\da-f]+|\d+(?:\.\d+)?)|"((?:[^"\\]|\\.)*)"|([a-z_][\w.]*)|(&&|\|\||[=!<>]=|[<>~!()]))/iy;

/* A number's text as its value; other text is itself. */
function conditionValue(text) {
	return /^-?(0x[\da-f]+|\d+)$/i.test(text) ? text[0] === '-' ? -BigInt(text.slice(1)) : BigInt(text) : /^-?\d+\.\d+$/.test(text) ? Number(text) : text;
}

/* "make*" as an expression: the whole text is to match. */
function globExpression(pattern) {
	return new RegExp(`^${pattern.replace(/[.+^${}()|\\]/g, '\\$&').replaceAll('*', '.*').replaceAll('?', '.')}$`, 's');
}

const COMPARISONS = {'==': (x, y) => x == y, '!=': (x, y) => x != y, '<': (x, y) => x < y, '<=': (x, y) => x <= y, '>': (x, y) => x > y, '>=': (x, y) => x >= y};

class ConditionParser {
	constructor(text) {
		this.words = [];
		this.names = new Set();
		this.at = 0;
		for (CONDITION_WORDS.lastIndex = 0; CONDITION_WORDS.lastIndex < text.trimEnd().length;) {
			const word = CONDITION_WORDS.exec(text);
			if (!word)
				throw new SyntaxError(text);
			this.words.push({number: word[1], text: word[2], name: word[3], sign: word[4]});
		}
	}

	take(sign) {
		return this.words[this.at]?.sign === sign && ++this.at;
	}

	/* One level of && or ||: what decides alone does, whatever the others lack. */
	chain(sign, decides, inner) {
		const parts = [inner()];
		while (this.take(sign))
			parts.push(inner());
		return parts.length === 1 ? parts[0] : event => {
			let all = !decides;
			for (const part of parts) {
				const is = part(event);
				if (is === decides)
					return decides;
				if (is === null)
					all = null;
			}
			return all;
		};
	}

	whole() {
		return this.chain('||', true, () => this.chain('&&', false, () => this.single()));
	}

	single() {
		if (this.take('!')) {
			const inner = this.single();
			return event => { const is = inner(event); return is === null ? null : !is; };
		}
		if (this.take('(')) {
			const inner = this.whole();
			if (!this.take(')'))
				throw new SyntaxError(')');
			return inner;
		}
		return this.comparison();
	}

	/* A constant, or a name: of a field, or else, on the right of a comparison, a text. */
	operand(isRight) {
		const {number, text, name} = this.words[this.at++] ?? {};
		if (number !== undefined || text !== undefined) {
			const value = number !== undefined ? conditionValue(number) : text.replace(/\\(.)/g, '$1');
			return () => value;
		}
		if (name === undefined)
			throw new SyntaxError('operand');
		if (!isRight)
			this.names.add(name);
		return event => event(name) ?? (isRight ? name : null);
	}

	comparison() {
		const left = this.operand(false), sign = this.words[this.at]?.sign;
		if (sign === '~') {
			const pattern = this.words[++this.at]?.text;
			if (pattern === undefined)
				throw new SyntaxError('pattern');
			this.at++;
			const expression = globExpression(pattern);
			return event => { const value = left(event); return value === null ? null : expression.test(String(value)); };
		}
		if (!COMPARISONS[sign])
			return event => { const value = left(event); return value === null ? null : value != 0; };
		this.at++;
		const right = this.operand(true), compare = COMPARISONS[sign];
		return event => {
			const x = left(event), y = right(event);
			return x === null || y === null || (typeof x === 'string') !== (typeof y === 'string') ? null : compare(x, y);
		};
	}
}

/*
 * {test, names} of a text that is a condition; null of all other text. test(event): event(name) is a
 * BigInt, a number, a text, or null where the event has no such field.
 */
function conditionOf(text) {
	if (!/[=<>~]|&&|\|\||^!/.test(text))
		return null;
	try {
		const parser = new ConditionParser(text), test = parser.whole();
		return parser.at === parser.words.length ? {test, names: parser.names} : null;
	} catch {
		return null;
	}
}
