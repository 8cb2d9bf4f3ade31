/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/made_event.h"

#include <stdio.h>

#define COMMON_SIZE 8 /* bytes of the fields that all records have */
#define RECORD_MOST UINT16_MAX /* bytes: an offset has 16 bits */

void made_event_init(struct made_event *m)
{
	*m = (struct made_event){
		.shape = STRBUF_INIT, .record = STRBUF_INIT, .behind = STRBUF_INIT};
}

static void forget_fields(struct made_event *m)
{
	for (size_t i = 0; i < m->fields.len; i++)
		free(m->fields.items[i].name);
	m->fields.len = 0;
	free(m->system);
	free(m->name);
	m->system = m->name = NULL;
}

void made_event_release(struct made_event *m)
{
	forget_fields(m);
	vector_free(&m->fields);
	strbuf_release(&m->shape);
	strbuf_release(&m->record);
	strbuf_release(&m->behind);
}

/* ---- names ---- */

static char *identifier(const char *text, size_t size)
{
	char *const name = size ? xstrndup(text, size) : xstrdup("_");

	for (char *p = name; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
		      (*p >= '0' && *p <= '9' && p > name)))
			*p = '_';
	return name;
}

static bool is_taken(const struct made_event *m, const char *name)
{
	for (size_t i = 0; i < m->fields.len; i++)
		if (str_eq(m->fields.items[i].name, name))
			return true;
	return false;
}

/* "common_" is of the fields that all records have. */
static char *field_name(const struct made_event *m, const char *text, size_t size)
{
	char *const plain = identifier(text, size);
	char *const first = xasprintf("%s%s", str_starts(plain, "common_") ? "_" : "", plain);
	char *name = xstrdup(first);

	for (u32 n = 2; is_taken(m, name); n++) {
		free(name);
		name = xasprintf("%s_%u", first, n);
	}
	free(first);
	free(plain);
	return name;
}

/* ---- an event ---- */

void made_event_begin(struct made_event *m, const char *name)
{
	const char *const colon = strchr(name, ':');
	const bool has_system = colon && colon > name && colon[1];

	forget_fields(m);
	strbuf_reset(&m->shape);
	strbuf_reset(&m->record);
	strbuf_reset(&m->behind);
	m->left_out = m->labels = 0;
	m->system = has_system ? identifier(name, (size_t)(colon - name)) : xstrdup("recorded");
	name = has_system ? colon + 1 : name;
	m->name = identifier(name, strlen(name));
	strbuf_addf(&m->shape, "%s:%s", m->system, m->name);
}

static u32 size_of(const struct made_field *f)
{
	return f->kind == FIELD_INTEGER ? f->bits / 8 : 4;
}

/* Where the bytes that come now begin behind the fields: at a multiple of 8. */
static u64 align_behind(struct made_event *m)
{
	while (m->behind.len % 8)
		strbuf_addch(&m->behind, 0);
	return m->behind.len;
}

static void add_behind(struct made_event *m, struct made_field *f, const struct field_value *v)
{
	const u64 begin = align_behind(m);

	if (f->kind == FIELD_TEXT) {
		strbuf_add(&m->behind, v->text, v->size);
		strbuf_addch(&m->behind, 0);
	} else {
		for (size_t i = 0; i < v->count; i++)
			strbuf_add(&m->behind, &v->items[i], f->bits / 8);
	}
	f->value = (m->behind.len - begin) << 32 | begin;
}

void made_event_add(void *arg, const char *name, size_t size, const struct field_value *v)
{
	struct made_event *const m = arg;
	const bool is_list = v->kind == FIELD_LIST && !v->is_decimal;
	struct made_field f = {.kind = v->kind,
			       .bits = v->kind == FIELD_TEXT ? 8 : v->bits ?: 64,
			       .is_signed = v->is_signed,
			       .is_hex = v->is_hex,
			       .value = v->integer};

	/* a record that is too long already need not be finished */
	if (!(v->kind == FIELD_INTEGER || v->kind == FIELD_TEXT || is_list) ||
	    m->behind.len > RECORD_MOST) {
		m->left_out++;
		return;
	}
	m->labels += v->kind == FIELD_INTEGER && v->text;
	f.name = field_name(m, name, strnlen(name, size));
	if (f.kind != FIELD_INTEGER)
		add_behind(m, &f, v);
	strbuf_addf(&m->shape, " %c%u%c%c%s",
		    f.kind == FIELD_TEXT   ? 't'
		    : f.kind == FIELD_LIST ? 'l'
					   : 'i',
		    f.bits, f.is_signed ? 's' : 'u', f.is_hex ? 'x' : 'd', f.name);
	vector_push(&m->fields, f);
}

/* Where each field is; returns where what is behind them begins. */
static u32 lay_out(struct made_event *m)
{
	u32 at = COMMON_SIZE;

	for (size_t i = 0; i < m->fields.len; i++) {
		struct made_field *const f = &m->fields.items[i];

		f->at = ALIGN_UP(at, size_of(f));
		at = f->at + size_of(f);
	}
	return ALIGN_UP(at, 8u);
}

bool made_event_end(struct made_event *m, s32 pid)
{
	const u32 behind = lay_out(m);

	strbuf_addchars(&m->record, 0, (int)behind);
	memcpy(m->record.data + 4, &pid, sizeof(pid));
	for (size_t i = 0; i < m->fields.len; i++) {
		const struct made_field *const f = &m->fields.items[i];
		const u64 word = f->kind == FIELD_INTEGER
					 ? f->value
					 : f->value >> 32 << 16 | (behind + (u32)f->value);

		memcpy(m->record.data + f->at, &word, size_of(f));
	}
	if (m->behind.len)
		strbuf_add(&m->record, m->behind.data, m->behind.len);
	while (m->record.len % 4)
		strbuf_addch(&m->record, 0);
	return m->record.len <= RECORD_MOST;
}

/* ---- its format ---- */

static const char *type_of(const struct made_field *f)
{
	static const char *const types[][2] = {{"unsigned char", "signed char"},
					       {"unsigned short", "short"},
					       {"unsigned int", "int"},
					       {"unsigned long long", "long long"}};

	if (f->kind == FIELD_TEXT)
		return "char";
	return types[f->bits <= 8 ? 0 : f->bits <= 16 ? 1 : f->bits <= 32 ? 2 : 3][f->is_signed];
}

static void add_conversion(const struct made_field *f, struct strbuf *to)
{
	if (f->kind != FIELD_INTEGER)
		strbuf_addstr(to, "%s");
	else
		strbuf_addf(to, "%s%%%s%c", f->is_hex ? "0x" : "", f->bits == 64 ? "ll" : "",
			    f->is_hex	   ? 'x'
			    : f->is_signed ? 'd'
					   : 'u');
}

static void add_argument(const struct made_field *f, struct strbuf *to)
{
	if (f->kind == FIELD_INTEGER)
		strbuf_addf(to, ", REC->%s", f->name);
	else if (f->kind == FIELD_TEXT)
		strbuf_addf(to, ", __get_str(%s)", f->name);
	else
		strbuf_addf(to,
			    ", __print_array(__get_dynamic_array(%s), "
			    "__get_dynamic_array_len(%s) / %u, %u)",
			    f->name, f->name, f->bits / 8u, f->bits / 8u);
}

void made_event_format(const struct made_event *m, struct strbuf *to)
{
	strbuf_addf(to, "name: %s\nID: 0\nformat:\n", m->name);
	strbuf_addstr(to,
		      "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		      "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		      "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		      "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n");
	for (size_t i = 0; i < m->fields.len; i++) {
		const struct made_field *const f = &m->fields.items[i];
		const bool is_located = f->kind != FIELD_INTEGER;

		strbuf_addf(to, "\tfield:%s%s%s %s;\toffset:%u;\tsize:%u;\tsigned:%u;\n",
			    is_located ? "__data_loc " : "", type_of(f), is_located ? "[]" : "",
			    f->name, f->at, size_of(f), f->is_signed);
	}
	strbuf_addstr(to, "\nprint fmt: \"");
	for (size_t i = 0; i < m->fields.len; i++) {
		strbuf_addf(to, "%s%s=", i ? " " : "", m->fields.items[i].name);
		add_conversion(&m->fields.items[i], to);
	}
	strbuf_addch(to, '"');
	for (size_t i = 0; i < m->fields.len; i++)
		add_argument(&m->fields.items[i], to);
	strbuf_addch(to, '\n');
}
