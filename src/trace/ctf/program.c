/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/ctf/program.h"

#include "base/json.h"
#include "base/vector.h"
#include "trace/ctf/value.h"

struct compiler {
	const struct ctf_print_options *options;
	VECTOR(struct ctf_print_step) steps;
	struct strbuf text; /* all pieces */
	struct json json; /* of a line of JSON, into text */
	size_t piece; /* where the current one begins */
};

static void add_step(struct compiler *k, enum ctf_print_step_kind kind, const struct ctf_type *t,
		     u32 slot)
{
	struct ctf_print_step step = {
		.kind = kind,
		.align = t ? MAX(t->align, 1u) : 1,
		.slot = slot,
		.text = (u32)k->piece,
		.text_size = (u32)(k->text.len - k->piece),
		.type = t,
	};

	vector_push(&k->steps, step);
	k->piece = k->text.len;
}

static enum ctf_print_step_kind kind_of(const struct ctf_type *t)
{
	static const enum ctf_print_step_kind plain[2][4] = {
		{STEP_U8, STEP_U16, STEP_U32, STEP_U64}, {STEP_S8, STEP_S16, STEP_S32, STEP_S64}};
	const u32 bytes = t->size / 8;

	if (t->kind == CTF_STRING)
		return STEP_STRING;
	if (t->kind != CTF_INTEGER || t->size % 8 || t->align < 8 || t->byte_order != CTF_LITTLE ||
	    (bytes & (bytes - 1)))
		return STEP_OTHER;
	if (t->base == 10)
		return plain[t->is_signed][__builtin_ctz(bytes)];
	return t->base == 16 ? STEP_HEX : STEP_OTHER;
}

static bool shows_addresses(const struct compiler *k, const struct ctf_field *f)
{
	return k->options->format == CTF_FORMAT_TEXT && k->options->address &&
	       ctf_is_address(f->shown);
}

static void compile_struct(struct compiler *k, const struct ctf_type *t)
{
	const bool all = k->options->format == CTF_FORMAT_BABELTRACE;
	bool first = true;

	if (t->align > 8)
		add_step(k, STEP_ALIGN, t, CTF_NO_SLOT);
	strbuf_addch(&k->text, '{');
	for (u32 i = 0; i < t->count; i++) {
		const struct ctf_field *f = &t->fields[i];
		enum ctf_print_step_kind kind =
			f->slot == CTF_NO_SLOT ? kind_of(f->type) : STEP_OTHER;

		if (!all && ctf_is_length(t, i)) {
			add_step(k, STEP_SKIP, f->type, f->slot);
			continue;
		}
		strbuf_addf(&k->text, "%s%s = ", first ? " " : ", ", f->shown);
		first = false;
		if (f->type->kind == CTF_STRUCT) {
			compile_struct(k, f->type);
			continue;
		}
		if (kind == STEP_HEX && shows_addresses(k, f))
			kind = STEP_ADDRESS;
		if (f->type->kind == CTF_SEQUENCE && shows_addresses(k, f) &&
		    f->type->element->kind == CTF_INTEGER)
			kind = STEP_ADDRESSES;
		add_step(k, kind, f->type, f->slot);
	}
	strbuf_addstr(&k->text, " }");
}

/* ---- programs of JSON ---- */

static enum ctf_print_step_kind json_kind(const struct ctf_field *f)
{
	struct ctf_type t = *f->type;
	enum ctf_print_step_kind kind;

	t.base = 10;
	kind = f->slot == CTF_NO_SLOT ? kind_of(&t) : STEP_OTHER;
	switch (kind) {
	case STEP_U64:
		return STEP_JSON_U64;
	case STEP_S64:
		return STEP_JSON_S64;
	case STEP_STRING:
		return STEP_JSON_STRING;
	case STEP_OTHER:
		return STEP_JSON;
	default:
		return kind;
	}
}

static bool has_named_address(const struct compiler *k, const struct ctf_type *t)
{
	for (u32 i = 0; i < t->count && k->options->address; i++)
		if (ctf_is_address(t->fields[i].shown))
			return true;
	return false;
}

static void compile_json(struct compiler *k, const struct ctf_type *t)
{
	if (has_named_address(k, t)) {
		json_hole(&k->json);
		add_step(k, STEP_JSON, t, CTF_NO_SLOT);
		return;
	}
	if (t->align > 8)
		add_step(k, STEP_ALIGN, t, CTF_NO_SLOT);
	json_object(&k->json);
	for (u32 i = 0; i < t->count; i++) {
		const struct ctf_field *f = &t->fields[i];

		if (ctf_is_length(t, i)) {
			add_step(k, STEP_SKIP, f->type, f->slot);
			continue;
		}
		json_key(&k->json, f->shown);
		if (f->type->kind == CTF_STRUCT) {
			compile_json(k, f->type);
			continue;
		}
		json_hole(&k->json);
		add_step(k, json_kind(f), f->type, f->slot);
	}
	json_end(&k->json, '}');
}

/* What stands between time and CPU. */
static void json_head(const struct ctf_event *event, struct strbuf *out)
{
	const struct ctf_metadata *m = event->stream->trace->metadata;
	const struct ctf_env *process = ctf_metadata_env(m, "procname"),
			     *pid = ctf_metadata_env(m, "vpid");
	struct json j = {.out = out, .has_value = true};

	json_member_text(&j, "event", event->class->name);
	if (event->stream->trace->hostname)
		json_member_text(&j, "host", event->stream->trace->hostname);
	if (process && process->text)
		json_member_text(&j, "process", process->text);
	if (pid && !pid->text)
		json_member_s64(&j, "pid", pid->number);
}

/* ---- programs of both ---- */

static void head_of(const struct ctf_event *event, struct strbuf *out)
{
	const struct ctf_metadata *m = event->stream->trace->metadata;
	const struct ctf_env *process = ctf_metadata_env(m, "procname"),
			     *pid = ctf_metadata_env(m, "vpid");
	const char *host = event->stream->trace->hostname;

	if (host)
		strbuf_addstr(out, host);
	if (process && process->text)
		strbuf_addf(out, "%s%s", out->len ? ":" : "", process->text);
	if (pid && !pid->text)
		strbuf_addf(out, "%s(%lld)", out->len ? ":" : "", (long long)pid->number);
	if (out->len)
		strbuf_addch(out, ' ');
	strbuf_addf(out, "%s: ", *event->class->name ? event->class->name : "<unknown>");
}

struct ctf_program *ctf_program(const struct ctf_print_options *options, struct arena *arena,
				const struct ctf_event *event)
{
	static const char *const keys[] = {"context", "event_context", "fields"};
	const struct ctf_type *parts[] = {event->stream->class->event_context,
					  event->class->context, event->class->fields};
	const bool json = options->format == CTF_FORMAT_JSON;
	struct compiler k = {.options = options,
			     .text = STRBUF_INIT,
			     .json = {.out = &k.text, .has_value = true}};
	struct strbuf head = STRBUF_INIT;
	struct ctf_program *program = arena_new(arena, struct ctf_program);
	bool first = true;

	if (json)
		json_head(event, &head);
	else
		head_of(event, &head);
	program->head_size = (u32)head.len;
	program->head =
		arena_alloc(arena, head.len + 64); /* copied 32 bytes at a time, as the pieces */
	memcpy(program->head, head.data, head.len);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i])
			continue;
		if (json) {
			json_key(&k.json, keys[i]);
			compile_json(&k, parts[i]);
			continue;
		}
		if (!first)
			strbuf_addstr(&k.text, ", ");
		first = false;
		compile_struct(&k, parts[i]);
	}
	if (json)
		json_end(&k.json, '}');
	strbuf_addch(&k.text, '\n');
	add_step(&k, STEP_END, NULL, CTF_NO_SLOT);
	program->room = head.len + k.text.len + 32 * k.steps.len + 256;
	program->text = arena_alloc(arena, k.text.len + 64);
	memcpy(program->text, k.text.data, k.text.len);
	program->steps = arena_memdup(arena, k.steps.items, k.steps.len * sizeof(*k.steps.items));
	strbuf_release(&head);
	strbuf_release(&k.text);
	vector_free(&k.steps);
	return program;
}
