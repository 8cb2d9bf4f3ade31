/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's extensions of %p that events use (Documentation/core-api/printk-formats.rst). */
#include "trace/print_format/internal.h"

#include <string.h>

typedef void pointer_printer(const struct pf_run *r, const struct pf_spec *spec,
			     const struct pf_bytes *b, u64 value, struct strbuf *out);

/* ---- addresses of the network ---- */

static void ip4(const u8 *a, bool zeros, struct strbuf *out)
{
	for (int i = 0; i < 4; i++) {
		if (i)
			strbuf_addch(out, '.');
		if (zeros && a[i] < 100)
			strbuf_addstr(out, a[i] < 10 ? "00" : "0");
		text_unsigned(out, a[i]);
	}
}

static u32 word_at(const u8 *a, u32 i)
{
	return (u32)a[2 * i] << 8 | a[2 * i + 1];
}

static void ip6_full(const u8 *a, bool colons, struct strbuf *out)
{
	for (u32 i = 0; i < 8; i++) {
		if (i && colons)
			strbuf_addch(out, ':');
		text_hex_padded(out, word_at(a, i), 4);
	}
}

/* ip6_compressed_string(): the first of the longest runs of zeros is left out, also a run of one is
 * not. */
static void ip6_compressed(const u8 *a, struct strbuf *out)
{
	static const u8 mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	const bool isatap = (a[8] & ~2u) == 0 && a[9] == 0 && a[10] == 0x5e && a[11] == 0xfe;
	const bool use_ip4 = !memcmp(a, mapped, 12) || isatap;
	const u32 range = use_ip4 ? 6 : 8;
	u32 longest = 1, position = 99;
	bool colon = false;

	for (u32 i = 0; i < range; i++) {
		u32 n = 0;

		while (i + n < range && !word_at(a, i + n))
			n++;
		if (n > longest) {
			longest = n;
			position = i;
		}
	}
	for (u32 i = 0; i < range; i++) {
		if (i == position) {
			if (colon || i == 0)
				strbuf_addch(out, ':');
			strbuf_addch(out, ':');
			colon = false;
			i += longest - 1;
			continue;
		}
		if (colon)
			strbuf_addch(out, ':');
		text_hex(out, word_at(a, i));
		colon = true;
	}
	if (use_ip4) {
		if (colon)
			strbuf_addch(out, ':');
		ip4(a + 12, false, out);
	}
}

static void too_short(struct strbuf *out)
{
	strbuf_addstr(out, "(bad)");
}

/* %pI4, %pi4, %pI6, %pi6, %pI6c */
static void print_ip(const struct pf_run *r, const struct pf_spec *s, const struct pf_bytes *b,
		     u64 value, struct strbuf *out)
{
	const bool six = s->pointer[1] == '6';

	if (!b->at || b->len < (six ? 16 : 4))
		too_short(out);
	else if (!six)
		ip4(b->at, s->pointer[0] == 'i', out);
	else if (s->pointer[0] == 'I' && s->pointer[2] == 'c')
		ip6_compressed(b->at, out);
	else
		ip6_full(b->at, s->pointer[0] == 'I', out);
}

/* struct sockaddr: %pIS, with p a port, c compressed, f flow label, s scope. */
static void print_sockaddr(const struct pf_run *r, const struct pf_spec *s,
			   const struct pf_bytes *b, u64 value, struct strbuf *out)
{
	const bool port = strchr(s->pointer + 2, 'p'), compressed = strchr(s->pointer + 2, 'c');
	u16 family = 0;

	if (b->at && b->len >= 2)
		memcpy(&family, b->at, 2);
	if (family == 2 && b->len >= 8) {
		ip4(b->at + 4, s->pointer[0] == 'i', out);
	} else if (family == 10 && b->len >= 24) {
		if (port)
			strbuf_addch(out, '[');
		if (compressed)
			ip6_compressed(b->at + 8, out);
		else
			ip6_full(b->at + 8, true, out);
		if (port)
			strbuf_addch(out, ']');
	} else {
		strbuf_addstr(out, "(einval)");
		return;
	}
	if (port) {
		strbuf_addch(out, ':');
		text_unsigned(out, word_at(b->at, 1));
	}
}

/* %pM: a:b; %pMF: a-b; %pm: without; R: reversed */
static void print_mac(const struct pf_run *r, const struct pf_spec *s, const struct pf_bytes *b,
		      u64 value, struct strbuf *out)
{
	const char separator = s->pointer[1] == 'F' ? '-' : ':';
	const bool reversed = s->pointer[1] == 'R';

	if (!b->at || b->len < 6) {
		too_short(out);
		return;
	}
	for (u32 i = 0; i < 6; i++) {
		text_hex_padded(out, b->at[reversed ? 5 - i : i], 2);
		if (i < 5 && s->pointer[0] == 'M')
			strbuf_addch(out, separator);
	}
}

static void print_uuid(const struct pf_run *r, const struct pf_spec *s, const struct pf_bytes *b,
		       u64 value, struct strbuf *out)
{
	static const u8 little[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	const bool is_little = s->pointer[1] == 'l' || s->pointer[1] == 'L';
	const bool upper = s->pointer[1] == 'B' || s->pointer[1] == 'L';
	const struct pf_spec two = {.base = 16, .zero = true, .upper = upper, .conversion = 'u'};

	if (!b->at || b->len < 16) {
		too_short(out);
		return;
	}
	for (u32 i = 0; i < 16; i++) {
		pf_print_number(out, b->at[is_little ? little[i] : i], &two, 2, -1);
		if (i == 3 || i == 5 || i == 7 || i == 9)
			strbuf_addch(out, '-');
	}
}

/* %*ph: as many bytes as the width says, at most 64; C ':', D '-', N nothing between. */
static void print_hex_string(const struct pf_run *r, const struct pf_spec *s,
			     const struct pf_bytes *b, u64 width, struct strbuf *out)
{
	const char c = s->pointer[1];
	const size_t n = MIN(MIN(width ? width : 1, (u64)64), b->len);

	if (!b->at) {
		too_short(out);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (i && c != 'N')
			strbuf_addch(out, c == 'C' ? ':' : c == 'D' ? '-' : ' ');
		text_hex_padded(out, b->at[i], 2);
	}
}

static bool bit_at(const struct pf_bytes *b, u64 i)
{
	return i / 8 < b->len && b->at[i / 8] >> (i % 8) & 1;
}

/* "0-3,7" */
static void bitmap_list(const struct pf_bytes *b, u64 bits, struct strbuf *out)
{
	bool first = true;

	for (u64 i = 0, end; i < bits; i = end) {
		end = i + 1;
		if (!bit_at(b, i))
			continue;
		while (end < bits && bit_at(b, end))
			end++;
		if (!first)
			strbuf_addch(out, ',');
		first = false;
		text_unsigned(out, i);
		if (end - i > 1) {
			strbuf_addch(out, '-');
			text_unsigned(out, end - 1);
		}
	}
}

/* %*pb, %*pbl: the width is the number of bits. */
static void print_bitmap(const struct pf_run *r, const struct pf_spec *s, const struct pf_bytes *b,
			 u64 width, struct strbuf *out)
{
	const u64 bits = MIN(width, (u64)b->len * 8);

	if (!b->at) {
		too_short(out);
		return;
	}
	if (s->pointer[1] == 'l') {
		bitmap_list(b, bits, out);
		return;
	}
	for (u64 chunk = (bits + 31) / 32; chunk-- > 0;) {
		const u64 in_chunk = MIN(bits - chunk * 32, (u64)32);
		u64 v = 0;

		for (u64 i = 0; i < in_chunk; i++)
			v |= (u64)bit_at(b, chunk * 32 + i) << i;
		text_hex_padded(out, v, (u32)(in_chunk + 3) / 4);
		if (chunk)
			strbuf_addch(out, ',');
	}
}

/* %pa: a phys_addr_t in the record. */
static void print_physical(const struct pf_run *r, const struct pf_spec *s,
			   const struct pf_bytes *b, u64 value, struct strbuf *out)
{
	u64 v;

	if (!b->at || b->len < 8) {
		too_short(out);
		return;
	}
	memcpy(&v, b->at, 8);
	strbuf_addstr(out, "0x");
	text_hex_padded(out, v, 16);
}

/* ---- numbers ---- */

static void print_symbol(const struct pf_run *r, const struct pf_spec *s, const struct pf_bytes *b,
			 u64 value, struct strbuf *out)
{
	const char c = s->pointer[0];

	symbol_print(r->context->symbols, value,
		     c == 's' || c == 'f' ? SYMBOL_MODULE
		     : c == 'B'		  ? SYMBOL_BACKTRACE
					  : SYMBOL_OFFSET,
		     out);
}

/* Unhashed, as with the option nohash-ptr. */
static void print_address(const struct pf_run *r, const struct pf_spec *s, const struct pf_bytes *b,
			  u64 value, struct strbuf *out)
{
	text_hex_padded(out, value, 16);
}

static void print_error(const struct pf_run *r, const struct pf_spec *s, const struct pf_bytes *b,
			u64 value, struct strbuf *out)
{
	const char *name =
		(s64)value < 0 && (s64)value >= -4095 ? strerrorname_np((int)-(s64)value) : NULL;

	if (!name) {
		text_hex_padded(out, value, 16);
		return;
	}
	strbuf_addch(out, '-');
	strbuf_addstr(out, name);
}

static const struct pointer_row {
	const char *prefix;
	bool bytes; /* takes a place in the record, else a number */
	bool takes_width; /* the width is an argument of it */
	pointer_printer *print;
} rows[] = {
	{"IS", true, false, print_sockaddr}, {"iS", true, false, print_sockaddr},
	{"I4", true, false, print_ip},	     {"i4", true, false, print_ip},
	{"I6", true, false, print_ip},	     {"i6", true, false, print_ip},
	{"M", true, false, print_mac},	     {"m", true, false, print_mac},
	{"U", true, false, print_uuid},	     {"h", true, true, print_hex_string},
	{"b", true, true, print_bitmap},     {"a", true, false, print_physical},
	{"S", false, false, print_symbol},   {"s", false, false, print_symbol},
	{"F", false, false, print_symbol},   {"f", false, false, print_symbol},
	{"B", false, false, print_symbol},   {"x", false, false, print_address},
	{"K", false, false, print_address},  {"e", false, false, print_error},
};

static const struct pointer_row plain = {"", false, false, print_address};

static const struct pointer_row *find(const struct pf_spec *s)
{
	if (!s->pointer[0])
		return &plain;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_starts(s->pointer, rows[i].prefix))
			return &rows[i];
	return NULL;
}

const char *pf_pointer_check(const struct pf_spec *spec, const struct pf_node *n)
{
	const struct pointer_row *row = find(spec);

	if (!row)
		return "a pointer printed as something that only the kernel can read";
	if (row->bytes != (n->type.value == PF_BYTES))
		return row->bytes ? "a pointer to memory outside of the record"
				  : "an address of the kernel's buffer";
	return NULL;
}

void pf_print_pointer(const struct pf_run *r, const struct pf_spec *spec, const struct pf_node *n,
		      int width, struct strbuf *out)
{
	const struct pointer_row *row = find(spec);
	struct pf_bytes b = {0};
	const size_t begin = out->len;
	u64 value = 0;
	int pad;

	if (row->bytes)
		b = pf_eval_bytes(r, n);
	else
		value = pf_eval(r, n);
	row->print(r, spec, &b, row->takes_width ? (u64)MAX(width, 0) : value, out);
	pad = row->takes_width ? 0 : width - (int)(out->len - begin);
	if (pad <= 0)
		return;
	strbuf_addchars(out, ' ', pad);
	if (spec->left)
		return;
	memmove(out->data + begin + pad, out->data + begin, out->len - begin - (size_t)pad);
	memset(out->data + begin, ' ', (size_t)pad);
}
