/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fetch arguments: what people may write more freely than the kernel takes it. The rest is the
 * kernel's to judge. */
#include <ctype.h>
#include <stdio.h>

#include "arch/arch.h"
#include "binary/elf/file.h"
#include "probe/definition/internal.h"

struct raw_argument {
	const struct argument_place *place;
	const struct definition_word *word;
	struct strbuf out;
	const char *type; /* that a part of a register implies, if none is given */
	bool changed;
	int err;
};

static size_t name_length(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || s[n] == '_')
		n++;
	return n;
}

bool definition_is_variable(const char *word)
{
	const size_t name = name_length(word);
	const char *const value = name && word[name] == '=' ? word + name + 1 : word;

	return isalpha((unsigned char)*value) || *value == '_' || str_eq(value, "$params") ||
	       str_eq(value, "$vars");
}

bool definition_is_argument(const char *word)
{
	const size_t name = name_length(word);

	return strchr("$%@+-\\\"", *word) != NULL || (name && word[name] == '=');
}

/* at: the offset in the word. */
static void refuse(struct raw_argument *t, size_t at, size_t len, const char *what,
		   const char *hint)
{
	struct span s = t->word->at;

	s.begin += (u32)at;
	s.end = s.begin + (u32)MAX(len, (size_t)1);
	diag_error(t->place->diag, s, "%s", what);
	if (hint)
		diag_hint(t->place->diag, "%s", hint);
	t->err = -EINVAL;
}

/* "%edi" -> "%di", of type x32. Returns the bytes that were taken. */
static size_t translate_register(struct raw_argument *t, const char *p)
{
	static const char *const types[] = {[1] = "x8", [2] = "x16", [4] = "x32"};
	const size_t n = name_length(p + 1), at = (size_t)(p - t->word->text);
	char name[32];
	const struct arch_register *r = NULL;

	if (n < sizeof(name)) {
		memcpy(name, p + 1, n);
		name[n] = '\0';
		r = arch_register_find(name);
	}
	if (!r) {
		/* Segment registers and the like: the kernel knows. */
		strbuf_add(&t->out, p, n + 1);
		return n + 1;
	}
	if (r->shift) {
		refuse(t, at, n + 1, "this part of a register cannot be fetched",
		       "fetch the whole one, as %ax:b8@8/16");
		return n + 1;
	}
	strbuf_addf(&t->out, "%%%s", r->name);
	t->changed |= !str_eq(r->name, name);
	/* Only where the register is the value; as a base the kernel needs all of it. */
	if (r->size < 8 && (p == t->word->text || p[-1] == '='))
		t->type = types[r->size];
	return n + 1;
}

/* "$arg1" of a user function: by the calling convention. */
static size_t translate_dollar(struct raw_argument *t, const char *p)
{
	const size_t n = name_length(p + 1), at = (size_t)(p - t->word->text);
	const struct arch_register *r;
	int offset;
	u32 number;

	if (!t->place->is_user || !str_starts(p, "$arg") || !isdigit((unsigned char)p[4])) {
		strbuf_add(&t->out, p, n + 1);
		return n + 1;
	}
	number = (u32)strtoul(p + 4, NULL, 10);
	t->changed = true;
	if (t->place->is_return) {
		refuse(t, at, n + 1, "a function's arguments are gone when it returns",
		       "probe its entry (p:) for them");
	} else if (!t->place->at_entry) {
		refuse(t, at, n + 1,
		       "arguments have a known place at a function's first instruction only",
		       "name the register that holds it here, as %di");
	} else if (!number || number > 128) {
		refuse(t, at, n + 1, "there is no such argument", "they are counted from $arg1");
	} else if ((offset = arch_argument_offset(number - 1)) >= 0 &&
		   (r = arch_register_at((u16)offset)) != NULL) {
		strbuf_addf(&t->out, "%%%s", r->name);
	} else {
		strbuf_addf(&t->out, "+%u(%%sp)", arch_stack_argument_offset(number - 1));
	}
	return n + 1;
}

/* "@counter" of a user program: the kernel takes "@+OFFSET", counted from the mapping of the probed
 * file (kernel/trace/trace_uprobe.c, translate_user_vaddr()). */
static size_t translate_symbol(struct raw_argument *t, const char *p)
{
	const size_t n = name_length(p + 1), at = (size_t)(p - t->word->text);
	struct elf_symbol s;
	char name[256];
	u64 address;
	s64 add = 0;
	char *end = (char *)p + 1 + n;

	if (!t->place->is_user || !n || isdigit((unsigned char)p[1]) || n >= sizeof(name)) {
		strbuf_add(&t->out, p, n + 1);
		return n + 1;
	}
	memcpy(name, p + 1, n);
	name[n] = '\0';
	if (*end == '+' || *end == '-')
		add = strtoll(end, &end, 0);
	if (elf_file_find_symbol(t->place->file, name, &s) ||
	    elf_file_address(t->place->file, t->place->offset, &address)) {
		refuse(t, at, n + 1, "the file has no symbol of this name", NULL);
	} else {
		strbuf_addf(&t->out, "@+0x%" PRIx64,
			    s.address + (u64)add - (address - t->place->offset));
		t->changed = true;
	}
	return (size_t)(end - p);
}

int definition_argument(const struct argument_place *place, const struct definition_word *w,
			struct tracefs_command *out)
{
	struct raw_argument t = {.place = place, .word = w, .out = STRBUF_INIT};
	const char *p = w->text;

	while (*p && !t.err) {
		if (*p == '\\') { /* an immediate value: nothing in it is a name */
			strbuf_addstr(&t.out, p);
			break;
		}
		if (*p == '%' && name_length(p + 1) && (p == w->text || p[-1] != ':')) {
			p += translate_register(&t, p); /* behind ':' it is a type, %pd */
		} else if (*p == '$') {
			p += translate_dollar(&t, p);
		} else if (*p == '@' &&
			   !strchr(t.out.data, ':')) { /* behind ':' it belongs to a bit field */
			p += translate_symbol(&t, p);
		} else {
			strbuf_addch(&t.out, *p++);
		}
	}
	if (!t.err && t.type && !strchr(t.out.data, ':')) {
		strbuf_addf(&t.out, ":%s", t.type);
		t.changed = true;
	}
	if (!t.err) {
		tracefs_command_add(out, " ");
		if (t.changed)
			tracefs_command_stands_for(out, t.out.data, w->at);
		else
			tracefs_command_user(out, w->text, strlen(w->text), w->at.file,
					     w->at.begin);
	}
	strbuf_release(&t.out);
	return t.err;
}
