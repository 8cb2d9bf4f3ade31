/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>

#include "base/escape.h"
#include "trace/ctf/value.h"
#include "trace/ftrace/number_text.h"

bool ctf_is_about_packet(const char *name)
{
	static const char *const names[] = {"timestamp_begin", "timestamp_end",
					    "content_size",    "packet_size",
					    "packet_seq_num",  "events_discarded"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(names[i], name))
			return true;
	return false;
}

bool ctf_is_length(const struct ctf_type *t, u32 index)
{
	const struct ctf_field *f = &t->fields[index];

	for (u32 i = index + 1; f->slot != CTF_NO_SLOT && i < t->count; i++)
		if (t->fields[i].type->kind == CTF_SEQUENCE &&
		    t->fields[i].type->reference_slot == f->slot)
			return true;
	return false;
}

bool ctf_is_address(const char *shown)
{
	return str_eq(shown, "ip") || str_eq(shown, "callstack_user");
}

static void put_binary(struct strbuf *out, u64 value, u32 bits)
{
	strbuf_addstr(out, "0b");
	while (bits--)
		strbuf_addch(out, value >> bits & 1 ? '1' : '0');
}

static u64 low_bits(u64 value, u32 bits)
{
	return bits < 64 ? value & ((1ull << bits) - 1) : value;
}

void ctf_put_integer(struct strbuf *out, u64 value, const struct ctf_type *t)
{
	char *p;

	switch (t->base) {
	case 16:
		/* whole digits, as babeltrace2 */
		value = low_bits(value, (t->size + 3) & ~3u);
		strbuf_addf(out, "0x%" PRIX64, value);
		return;
	case 8:
		strbuf_addf(out, "0%" PRIo64,
			    t->is_signed ? low_bits(value, (t->size + 2) / 3 * 3) : value);
		return;
	case 2:
		put_binary(out, value, t->size);
		return;
	}
	p = text_room(out, 32);
	if (t->is_signed && (s64)value < 0) {
		*p++ = '-';
		value = 0 - value;
	}
	out->len = (size_t)(text_put_digits(p, value) - out->data);
}

/* 0: as it is; else the character behind a backslash, or 'x' for \xNN. */
static char special(u8 c)
{
	static const char from[] = "\\'\"?\a\b\033\f\n\r\t\v", to[] = "\\'\"?abefnrtv";
	const char *found = c ? strchr(from, c) : NULL;

	if (found)
		return to[found - from];
	return c < 0x20 || c == 0x7f ? 'x' : 0;
}

void ctf_put_string(struct strbuf *out, const char *s, size_t n, bool escape)
{
	static const char hex[] = "0123456789abcdef";
	struct strbuf safe = STRBUF_INIT;
	char *p;

	if (escape) {
		for (size_t i = 0; i < n && escape; i++)
			escape = !((u8)s[i] & 0x80);
		escape = !escape;
	}
	p = text_room(out, n * 4 + 2);
	*p++ = '"';
	for (size_t i = 0; i < n; i++) {
		const u8 c = (u8)s[i];
		const char how = c > '?' && c != '\\' && c != 0x7f ? 0 : special(c);

		if (!how) {
			*p++ = (char)c;
			continue;
		}
		*p++ = '\\';
		*p++ = how;
		if (how == 'x') {
			*p++ = hex[c >> 4];
			*p++ = hex[c & 15];
		}
	}
	*p++ = '"';
	if (escape) {
		const size_t from = out->len;

		escape_line(&safe, out->data + from, (size_t)(p - out->data) - from);
		strbuf_add(out, safe.data, safe.len);
		strbuf_release(&safe);
		return;
	}
	out->len = (size_t)(p - out->data);
}

static void put_address(struct strbuf *out, u64 value, const struct ctf_value_style *style)
{
	if (style->options->address)
		style->options->address(style->options->arg, style->trace, style->ns, value, out);
}

/* ---- text ---- */

static void text_struct(struct strbuf *out, struct ctf_cursor *c, const struct ctf_type *t,
			const struct ctf_value_style *style)
{
	const bool all = style->options->format == CTF_FORMAT_BABELTRACE;
	bool first = true;

	ctf_align(c, t->align);
	strbuf_addch(out, '{');
	for (u32 i = 0; i < t->count && !c->failed; i++) {
		const struct ctf_field *f = &t->fields[i];

		if (!all && ctf_is_length(t, i)) {
			ctf_noted(c, f->type, f->slot);
			continue;
		}
		strbuf_addstr(out, first ? " " : ", ");
		strbuf_addstr(out, f->shown);
		strbuf_addstr(out, " = ");
		ctf_put_text(out, c, f->type, f->slot, style);
		first = false;
	}
	strbuf_addstr(out, " }");
}

static void text_enum(struct strbuf *out, u64 value, const struct ctf_type *t, bool escape)
{
	const char *label;
	u32 at = 0;
	bool first = true;

	strbuf_addstr(out, "( ");
	while ((label = ctf_label(t, value, &at))) {
		if (!first)
			strbuf_addstr(out, ", ");
		ctf_put_string(out, label, strlen(label), escape);
		first = false;
	}
	if (first)
		strbuf_addstr(out, "<unknown>");
	strbuf_addstr(out, " : container = ");
	ctf_put_integer(out, value, t->element);
	strbuf_addstr(out, " )");
}

static void text_array(struct strbuf *out, struct ctf_cursor *c, const struct ctf_type *t,
		       const struct ctf_value_style *style)
{
	u64 count;

	ctf_align(c, t->align);
	count = ctf_count(c, t);
	strbuf_addch(out, '[');
	for (u64 i = 0; i < count && !c->failed; i++) {
		strbuf_addf(out, "%s[%" PRIu64 "] = ", i ? ", " : " ", i);
		ctf_put_text(out, c, t->element, CTF_NO_SLOT, style);
	}
	strbuf_addstr(out, " ]");
}

void ctf_put_text(struct strbuf *out, struct ctf_cursor *c, const struct ctf_type *t, u32 slot,
		  const struct ctf_value_style *style)
{
	const struct ctf_field *option;
	const char *s;
	size_t n;
	u64 value;

	switch (t->kind) {
	case CTF_INTEGER:
		ctf_put_integer(out, ctf_noted(c, t, slot), t);
		break;
	case CTF_ENUM:
		value = ctf_noted(c, t, slot);
		text_enum(out, value, t, style->options->escape);
		break;
	case CTF_FLOAT:
		strbuf_addf(out, "%g", ctf_float(c, t));
		break;
	case CTF_STRING:
		s = ctf_string(c, &n);
		ctf_put_string(out, s ? s : "", n, style->options->escape);
		break;
	case CTF_STRUCT:
		text_struct(out, c, t, style);
		break;
	case CTF_VARIANT:
		option = ctf_option(c, t);
		strbuf_addstr(out, "{ ");
		if (option)
			ctf_put_text(out, c, option->type, option->slot, style);
		strbuf_addstr(out, " }");
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		if (ctf_is_text(t)) {
			s = ctf_text(c, t, &n);
			ctf_put_string(out, s ? s : "", n, style->options->escape);
		} else {
			text_array(out, c, t, style);
		}
		break;
	}
}

/* ---- JSON ---- */

static void json_integer(struct json *j, u64 value, bool is_signed)
{
	if (is_signed)
		json_s64(j, (s64)value);
	else
		json_u64(j, value);
}

/* The name of the address that was read last. */
static void json_symbol(struct json *j, const struct ctf_cursor *c, const struct ctf_type *t,
			const struct ctf_value_style *style)
{
	struct strbuf name = STRBUF_INIT;
	struct ctf_cursor again = *c;

	again.at -= t->size;
	put_address(&name, ctf_integer(&again, t), style);
	json_member_string(j, "ip_symbol", name.data, name.len);
	strbuf_release(&name);
}

static void json_struct(struct json *j, struct ctf_cursor *c, const struct ctf_type *t,
			const struct ctf_value_style *style)
{
	ctf_align(c, t->align);
	json_object(j);
	for (u32 i = 0; i < t->count && !c->failed; i++) {
		const struct ctf_field *f = &t->fields[i];

		if (ctf_is_length(t, i)) {
			ctf_noted(c, f->type, f->slot);
			continue;
		}
		json_key(j, f->shown);
		ctf_put_json(j, c, f->type, f->slot, style);
		if (ctf_is_address(f->shown) && f->type->kind == CTF_INTEGER &&
		    style->options->address && !c->failed)
			json_symbol(j, c, f->type, style);
	}
	json_end(j, '}');
}

static void json_array_of(struct json *j, struct ctf_cursor *c, const struct ctf_type *t,
			  const struct ctf_value_style *style)
{
	u64 count;

	ctf_align(c, t->align);
	count = ctf_count(c, t);
	json_array(j);
	for (u64 i = 0; i < count && !c->failed; i++)
		ctf_put_json(j, c, t->element, CTF_NO_SLOT, style);
	json_end(j, ']');
}

void ctf_put_json(struct json *j, struct ctf_cursor *c, const struct ctf_type *t, u32 slot,
		  const struct ctf_value_style *style)
{
	const struct ctf_field *option;
	const char *s;
	size_t n;
	u32 at = 0;
	u64 value;

	switch (t->kind) {
	case CTF_INTEGER:
		json_integer(j, ctf_noted(c, t, slot), t->is_signed);
		break;
	case CTF_ENUM:
		value = ctf_noted(c, t, slot);
		s = ctf_label(t, value, &at);
		if (s)
			json_text(j, s);
		else
			json_integer(j, value, t->is_signed);
		break;
	case CTF_FLOAT:
		json_double(j, ctf_float(c, t));
		break;
	case CTF_STRING:
		s = ctf_string(c, &n);
		json_string(j, s ? s : "", n);
		break;
	case CTF_STRUCT:
		json_struct(j, c, t, style);
		break;
	case CTF_VARIANT:
		option = ctf_option(c, t);
		if (option)
			ctf_put_json(j, c, option->type, option->slot, style);
		else
			json_null(j);
		break;
	case CTF_ARRAY:
	case CTF_SEQUENCE:
		if (ctf_is_text(t)) {
			s = ctf_text(c, t, &n);
			json_string(j, s ? s : "", n);
		} else {
			json_array_of(j, c, t, style);
		}
		break;
	}
}
