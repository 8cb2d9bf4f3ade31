/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metadata of a trace, by recursive descent: its packets, the blocks of its text. */
#include "trace/ctf/parse.h"

/* ---- blocks ---- */

/* One line of a block: KEY = value or KEY := type. False at the end. */
struct line {
	const char *key;
	struct tsdl_value value;
	struct ctf_type *type; /* of := */
};

static bool block_line(struct tsdl_parser *p, struct line *ret)
{
	while (!p->failed && !tsdl_is_char(p, '}')) {
		if (tsdl_take_word(p, "typealias")) {
			tsdl_typealias(p);
		} else if (tsdl_take_word(p, "typedef")) {
			tsdl_typedef(p);
		} else if ((tsdl_is_word(p, "struct") || tsdl_is_word(p, "enum") ||
			    tsdl_is_word(p, "variant")) &&
			   p->next.kind == CTF_TOKEN_WORD) {
			tsdl_type(p, false);
			tsdl_want_char(p, ';');
		} else {
			*ret = (struct line){.key = tsdl_dotted(p)};
			if (!ret->key)
				return false;
			if (p->token.kind == CTF_TOKEN_ASSIGN) {
				tsdl_advance(p);
				ret->type = tsdl_type(p, false);
			} else if (tsdl_want_char(p, '=')) {
				ret->value = tsdl_value(p);
			}
			return !p->failed && tsdl_want_char(p, ';');
		}
	}
	tsdl_want_char(p, '}');
	tsdl_take_char(p, ';');
	return false;
}

static bool uuid_parse(const char *text, u8 ret[16])
{
	unsigned int n = 0;

	for (; text && *text && n < 32; text++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = strchr(digits, *text | 32);

		if (*text == '-')
			continue;
		if (!digit)
			return false;
		ret[n / 2] = (u8)(ret[n / 2] << 4 | (digit - digits));
		n++;
	}
	return n == 32;
}

static const struct ctf_type *want_struct(struct tsdl_parser *p, const struct line *line)
{
	if (!line->type || line->type->kind != CTF_STRUCT)
		return tsdl_fail(p, "%.100s is a struct", line->key);
	return line->type;
}

static void trace_block(struct tsdl_parser *p)
{
	struct line line;

	while (block_line(p, &line)) {
		if (str_eq(line.key, "minor"))
			p->m->minor = (u32)line.value.number;
		else if (str_eq(line.key, "major") && line.value.number != 1)
			tsdl_fail(p, "CTF %lld: only CTF 1 can be read",
				  (long long)line.value.number);
		else if (str_eq(line.key, "uuid"))
			p->m->has_uuid = uuid_parse(line.value.text, p->m->uuid);
		else if (str_eq(line.key, "byte_order"))
			p->m->byte_order = tsdl_order(p, &line.value);
		else if (str_eq(line.key, "packet.header"))
			p->m->packet_header = want_struct(p, &line);
	}
}

static void env_block(struct tsdl_parser *p)
{
	struct line line;

	while (block_line(p, &line)) {
		struct ctf_env env = {.name = line.key,
				      .text = line.value.is_number ? NULL : line.value.text,
				      .number = line.value.number};

		vector_push(&p->m->env, env);
	}
}

static void clock_block(struct tsdl_parser *p)
{
	struct ctf_clock *clock = arena_new(&p->m->arena, struct ctf_clock);
	struct line line;

	clock->frequency = 1000000000u;
	while (block_line(p, &line)) {
		if (str_eq(line.key, "name"))
			clock->name = line.value.text;
		else if (str_eq(line.key, "freq"))
			clock->frequency = (u64)line.value.number;
		else if (str_eq(line.key, "offset_s"))
			clock->offset_s = (u64)line.value.number;
		else if (str_eq(line.key, "offset"))
			clock->offset = (u64)line.value.number;
		else if (str_eq(line.key, "absolute"))
			clock->absolute = tsdl_truth(p, &line.value);
		else if (str_eq(line.key, "uuid"))
			clock->has_uuid = uuid_parse(line.value.text, clock->uuid);
	}
	if (!clock->frequency)
		tsdl_fail(p, "a clock with the frequency 0");
	if (!clock->name)
		clock->name = "";
	vector_push(&p->m->clocks, clock);
}

static void stream_block(struct tsdl_parser *p)
{
	struct ctf_stream_class *s = arena_new(&p->m->arena, struct ctf_stream_class);
	struct line line;

	vector_push(&p->m->streams, s); /* found by whoever releases it */
	while (block_line(p, &line)) {
		if (str_eq(line.key, "id"))
			s->id = (u64)line.value.number;
		else if (str_eq(line.key, "packet.context"))
			s->packet_context = want_struct(p, &line);
		else if (str_eq(line.key, "event.header"))
			s->event_header = want_struct(p, &line);
		else if (str_eq(line.key, "event.context"))
			s->event_context = want_struct(p, &line);
	}
}

static void event_block(struct tsdl_parser *p)
{
	struct ctf_event_class *e = arena_new(&p->m->arena, struct ctf_event_class);
	struct line line;

	e->name = "";
	while (block_line(p, &line)) {
		if (str_eq(line.key, "name") && line.value.text)
			e->name = line.value.text;
		else if (str_eq(line.key, "id"))
			e->id = (u64)line.value.number;
		else if (str_eq(line.key, "stream_id"))
			e->stream_id = (u64)line.value.number;
		else if (str_eq(line.key, "loglevel"))
			e->loglevel = line.value.number, e->has_loglevel = true;
		else if (str_eq(line.key, "context"))
			e->context = want_struct(p, &line);
		else if (str_eq(line.key, "fields"))
			e->fields = want_struct(p, &line);
	}
	vector_push(&p->m->all_events, e);
}

static void callsite_block(struct tsdl_parser *p)
{
	struct line line;

	while (block_line(p, &line))
		;
}

static void top(struct tsdl_parser *p)
{
	static const struct {
		const char *word;
		void (*parse)(struct tsdl_parser *p);
	} blocks[] = {{"trace", trace_block}, {"env", env_block},
		      {"clock", clock_block}, {"stream", stream_block},
		      {"event", event_block}, {"callsite", callsite_block}};

	if (tsdl_take_char(p, ';'))
		return;
	if (tsdl_take_word(p, "typealias")) {
		tsdl_typealias(p);
		return;
	}
	if (tsdl_take_word(p, "typedef")) {
		tsdl_typedef(p);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		if (!tsdl_is_word(p, blocks[i].word) || p->next.kind != CTF_TOKEN_CHAR ||
		    p->next.c != '{')
			continue;
		tsdl_advance(p);
		tsdl_advance(p);
		blocks[i].parse(p);
		return;
	}
	if (!tsdl_type(p, false))
		tsdl_fail(p, "a block or a type expected");
	tsdl_want_char(p, ';');
}

static struct ctf_metadata *parse_text(const char *name, const char *text, size_t size,
				       struct diag *d)
{
	struct ctf_metadata *m = xzalloc(sizeof(*m));
	struct tsdl_parser p = {
		.m = m,
		.lexer = {.at = text,
			  .end = text + size,
			  .line = 1,
			  .arena = &m->arena,
			  .scratch = STRBUF_INIT},
		.d = d,
		.file = name,
	};
	struct ctf_type *integer = tsdl_new_type(&p, CTF_INTEGER);

	/* the container of enums that name none */
	integer->size = 32;
	integer->align = 8;
	integer->is_signed = true;
	integer->base = 10;
	tsdl_name_put(&p, "", "int", integer);
	ctf_lex(&p.lexer, &p.next);
	tsdl_advance(&p);
	while (!p.failed && p.token.kind != CTF_TOKEN_END)
		top(&p);
	hashmap_release(&p.names);
	strbuf_release(&p.lexer.scratch);
	if (p.failed || ctf_metadata_resolve(m, d)) {
		ctf_metadata_release(m);
		return NULL;
	}
	return m;
}

/* ---- metadata in packets (CTF 1.8, 7.1) ---- */

#define METADATA_MAGIC	0x75d11d57u
#define METADATA_HEADER 37

static u32 word_of(const u8 *p, bool swap)
{
	u32 word;

	memcpy(&word, p, 4);
	return swap ? __builtin_bswap32(word) : word;
}

static int unpack(const char *data, size_t size, bool swap, struct strbuf *text)
{
	while (size >= METADATA_HEADER) {
		const u8 *h = (const u8 *)data;
		const u64 content = word_of(h + 24, swap) / 8, packet = word_of(h + 28, swap) / 8;

		if (word_of(h, swap) != METADATA_MAGIC || content < METADATA_HEADER ||
		    content > packet || packet > size)
			return -EBADMSG;
		if (h[32] || h[33] || h[34]) /* compression, encryption, checksum */
			return -EOPNOTSUPP;
		strbuf_add(text, data + METADATA_HEADER, content - METADATA_HEADER);
		data += packet;
		size -= packet;
	}
	return size ? -EBADMSG : 0;
}

struct ctf_metadata *ctf_metadata_parse(const char *name, const char *data, size_t size,
					struct diag *d)
{
	const bool packets = size >= 4 && word_of((const u8 *)data, false) == METADATA_MAGIC;
	const bool swapped = size >= 4 && word_of((const u8 *)data, true) == METADATA_MAGIC;
	struct strbuf text = STRBUF_INIT;
	struct ctf_metadata *m;
	int rc;

	if (size && *data == 0x1e) {
		diag_error(d, NO_SPAN, "%s: CTF 2; only CTF 1.8 can be read", name);
		diag_hint(d, "lttng create --trace-format=ctf-1.8");
		return NULL;
	}
	if (!packets && !swapped)
		return parse_text(name, data, size, d);
	rc = unpack(data, size, swapped, &text);
	if (rc)
		diag_error(d, NO_SPAN, "%s: %s", name,
			   rc == -EBADMSG ? "a damaged packet of metadata"
					  : "metadata that is compressed, encrypted or summed");
	m = rc ? NULL : parse_text(name, text.data, text.len, d);
	strbuf_release(&text);
	return m;
}
