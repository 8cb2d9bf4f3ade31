/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols by name, straight from the tables: the hash table of .dynsym first, then one linear pass.
 * No index is built.
 *
 * Where symbols come from: the file's own .symtab and .dynsym; if it has no .symtab, also its
 * separate debug file and its .gnu_debugdata ("mini debug info").
 */
#include "base/hashmap.h"
#include "binary/elf/internal.h"

enum {
	VERSION_HIDDEN = 0x8000, /* .gnu.version: not the default version of the name */
	MAX_SYMBOLS = 1 << 25,
	MAX_NAME = 1 << 16
};

/* ---- tables ---- */

static void add_table(struct elf_file *owner, struct elf_file *f, u32 type)
{
	for (u32 i = 1; i < f->section_count; i++) {
		const struct elf_section *s = &f->sections[i], *strings, *versions;
		struct elf_table t = {
			.file = f, .entry_size = f->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym)};
		const char *last;

		if (s->type != type || s->link >= f->section_count || s->entry_size != t.entry_size)
			continue;
		strings = &f->sections[s->link];
		if (strings->type != SHT_STRTAB || !strings->size)
			continue;
		t.symbols = elf_section_bytes(f, s);
		t.count = MIN(s->size / t.entry_size, (u64)MAX_SYMBOLS);
		t.strings = (const char *)elf_section_bytes(f, strings);
		last = t.symbols && t.strings ? memrchr(t.strings, 0, strings->size) : NULL;
		if (!last)
			continue;
		t.strings_len = (u64)(last - t.strings) + 1;
		versions = type == SHT_DYNSYM ? elf_section_named(f, ".gnu.version") : NULL;
		if (versions && versions->type == SHT_GNU_versym && versions->size / 2 >= t.count)
			t.versions = elf_section_bytes(f, versions);
		vector_push(&owner->tables, t);
	}
}

void elf_read_tables(struct elf_file *f, enum elf_tables wanted)
{
	if (!f->dynamic_read) {
		f->dynamic_read = true;
		add_table(f, f, SHT_DYNSYM);
		f->dynamic_tables = (u32)f->tables.len;
	}
	if (wanted >= ELF_OWN && !f->own_read) {
		f->own_read = true;
		add_table(f, f, SHT_SYMTAB);
		f->has_symtab = f->tables.len > f->dynamic_tables;
	}
	if (wanted == ELF_ALL && !f->has_symtab && !f->debug_read) {
		struct elf_file *debug = elf_debug_file(f), *mini = elf_mini_file(f);

		f->debug_read = true;
		if (debug)
			add_table(f, debug, SHT_SYMTAB);
		if (mini)
			add_table(f, mini, SHT_SYMTAB);
	}
}

static bool in_text(const struct elf_file *f, u16 section, u64 address)
{
	const struct elf_section *s;

	if (section >= f->section_count)
		return false;
	s = &f->sections[section];
	return s->flags & SHF_EXECINSTR && address >= s->address && address - s->address < s->size;
}

static const char *table_name(const struct elf_table *t, u64 i)
{
	u32 at;

	memcpy(&at, t->symbols + i * t->entry_size,
	       sizeof(at)); /* st_name comes first in both classes */
	return at < t->strings_len ? t->strings + at : "";
}

bool elf_table_symbol(const struct elf_table *t, u64 i, struct elf_symbol *ret)
{
	const u8 *p = t->symbols + i * t->entry_size;
	const char *name = table_name(t, i);
	struct elf_symbol s = {.name = name};
	u16 section;
	u8 info;

	if (t->entry_size == sizeof(Elf64_Sym)) {
		Elf64_Sym sym;

		memcpy(&sym, p, sizeof(sym));
		s.address = sym.st_value, s.size = sym.st_size, info = sym.st_info,
		section = sym.st_shndx;
	} else {
		Elf32_Sym sym;

		memcpy(&sym, p, sizeof(sym));
		s.address = sym.st_value, s.size = sym.st_size, info = sym.st_info,
		section = sym.st_shndx;
	}
	if (!*name || section == SHN_UNDEF || section == SHN_ABS)
		return false;
	if (t->file->type == ET_REL && section < t->file->section_count)
		s.address += t->file->sections[section].address;
	s.is_weak = ELF64_ST_BIND(info) == STB_WEAK;
	s.is_local = ELF64_ST_BIND(info) == STB_LOCAL;
	switch (ELF64_ST_TYPE(info)) {
	case STT_GNU_IFUNC:
		s.is_ifunc = true; /* fall through */
	case STT_FUNC:
		s.is_function = true;
		break;
	case STT_OBJECT:
	case STT_COMMON:
		s.is_object = true;
		break;
	case STT_NOTYPE: /* labels of assembler files; not the mapping symbols ($x, $d) and .L
			    labels */
		if (*name == '$' || *name == '.' || !in_text(t->file, section, s.address))
			return false;
		s.is_function = true;
		break;
	default:
		return false;
	}
	*ret = s;
	return true;
}

/* .gnu.version says that another symbol is the default for this name; "name@V" in .symtab says the
 * same. */
static bool is_hidden_version(const struct elf_table *t, u64 i, const char *name)
{
	const char *at = t->versions ? NULL : strchr(name, '@');
	u16 version = 0;

	if (t->versions)
		memcpy(&version, t->versions + 2 * i, sizeof(version));
	return version & VERSION_HIDDEN || (at && at[1] != '@');
}

const char *elf_plain_name(struct elf_file *f, const char *name)
{
	const char *at = strchr(name, '@');

	return at && at > name ? arena_strndup(&f->names, name, (size_t)(at - name)) : name;
}

/* ---- one name ---- */

struct search {
	const char *name;
	size_t len;
	struct elf_symbol best;
	int score; /* of best; 0 = nothing yet */
};

enum { SCORE_FUNCTION = 16, SCORE_DEFAULT = 8, SCORE_GLOBAL = 4, SCORE_WEAK = 2, SCORE_ANY = 1 };
enum { SCORE_PERFECT = SCORE_FUNCTION + SCORE_DEFAULT + SCORE_GLOBAL + SCORE_ANY };

static void consider(struct search *q, const struct elf_table *t, u64 i)
{
	struct elf_symbol s;
	int score;

	if (!elf_table_symbol(t, i, &s))
		return;
	score = SCORE_ANY + (s.is_function ? SCORE_FUNCTION : 0) +
		(is_hidden_version(t, i, s.name) ? 0 : SCORE_DEFAULT) +
		(s.is_local  ? 0
		 : s.is_weak ? SCORE_WEAK
			     : SCORE_GLOBAL);
	if (score > q->score) {
		q->score = score;
		q->best = s;
	}
}

static bool name_equals(const struct search *q, const char *name)
{
	return strncmp(name, q->name, q->len) == 0 && (name[q->len] == 0 || name[q->len] == '@');
}

static void search_linear(struct search *q, const struct elf_table *t)
{
	for (u64 i = 0; i < t->count && q->score < SCORE_PERFECT; i++)
		if (name_equals(q, table_name(t, i)))
			consider(q, t, i);
}

/*
 * .gnu.hash: u32 buckets, first symbol, bloom words, bloom shift; the bloom filter (words of the
 * file's class); u32 bucket[buckets]; u32 chain[], parallel to the symbols from the first one on,
 * bit 0 ends a chain.
 */
static bool search_hash(struct search *q, const struct elf_table *t)
{
	const struct elf_section *s = elf_section_named(t->file, ".gnu.hash");
	struct cursor c = elf_section_cursor(t->file, s);
	u32 buckets = cursor_u32(&c), first = cursor_u32(&c), bloom = cursor_u32(&c), hash = 5381,
	    at, i;
	const u8 *bucket, *chain;
	u64 chains;

	cursor_u32(&c);
	cursor_bytes(&c, (size_t)bloom * (t->file->is_64 ? 8 : 4));
	bucket = cursor_bytes(&c, (size_t)buckets * 4);
	if (!s || s->type != SHT_GNU_HASH || !buckets || !bucket)
		return false;
	chain = c.data + c.pos;
	chains = (c.len - c.pos) / 4;
	for (const char *p = q->name; *p; p++)
		hash = hash * 33 + (u8)*p;
	memcpy(&i, bucket + 4 * (size_t)(hash % buckets), sizeof(i));
	for (; i >= first && i - first < chains && i < t->count; i++) {
		memcpy(&at, chain + 4 * (size_t)(i - first), sizeof(at));
		if ((at | 1) == (hash | 1) && str_eq(table_name(t, i), q->name))
			consider(q, t, i);
		if (at & 1)
			break;
	}
	return true;
}

/* The last identifier of a demangled name before its parameters: it stands in the mangled name as
 * it is. */
static char *rarest_word(const char *name)
{
	const char *end = name + strcspn(name, "(<"), *begin = end;

	while (begin > name && (begin[-1] == '_' || (begin[-1] >= '0' && begin[-1] <= '9') ||
				((begin[-1] | 32) >= 'a' && (begin[-1] | 32) <= 'z')))
		begin--;
	return strstr(name, "operator") ? xstrdup("") : xstrndup(begin, (size_t)(end - begin));
}

static void search_demangled(struct search *q, const struct elf_file *f)
{
	char *word = rarest_word(q->name);

	for (size_t i = 0; i < f->tables.len; i++) {
		const struct elf_table *t = &f->tables.items[i];

		for (u64 n = 0; n < t->count && q->score < SCORE_PERFECT; n++) {
			const char *name = table_name(t, n);
			char *full, *plain = NULL;

			if (name[0] != '_' || !strchr("ZRD", name[1]) || !name[1] ||
			    !strstr(name, word))
				continue;
			full = demangle(name);
			if (full && (str_eq(full, q->name) ||
				     ((plain = demangle_without_parameters(name)) &&
				      str_eq(plain, q->name))))
				consider(q, t, n);
			free(full);
			free(plain);
		}
	}
	free(word);
}

bool elf_file_names_only(struct elf_file *f, const char *name, u64 address)
{
	bool found = false;
	struct elf_symbol s;

	elf_read_tables(f, ELF_ALL);
	for (size_t i = 0; i < f->tables.len; i++) {
		const struct elf_table *t = &f->tables.items[i];

		for (u64 n = 0; n < t->count; n++) {
			if (!str_eq(table_name(t, n), name) || !elf_table_symbol(t, n, &s))
				continue;
			if (s.address != address)
				return false;
			found = true;
		}
	}
	return found;
}

const char *elf_file_name_at(struct elf_file *f, u64 address)
{
	struct elf_symbol s;

	elf_read_tables(f, ELF_ALL);
	for (size_t i = 0; i < f->tables.len; i++)
		for (u64 n = 0; n < f->tables.items[i].count; n++)
			if (elf_table_symbol(&f->tables.items[i], n, &s) && s.address == address)
				return elf_plain_name(f, s.name);
	return NULL;
}

int elf_file_find_symbol(struct elf_file *f, const char *name, struct elf_symbol *ret)
{
	struct search q = {.name = name, .len = strlen(name)};
	size_t own;

	if (!q.len || q.len > MAX_NAME)
		return -ENOENT;
	elf_read_tables(f, ELF_DYNAMIC);
	for (size_t i = 0; i < f->dynamic_tables && q.score < SCORE_PERFECT; i++)
		if (!search_hash(&q, &f->tables.items[i]))
			search_linear(&q, &f->tables.items[i]);
	if (q.score < SCORE_PERFECT)
		elf_read_tables(f, ELF_OWN);
	own = f->tables.len;
	for (size_t i = f->dynamic_tables; i < own && q.score < SCORE_PERFECT; i++)
		search_linear(&q, &f->tables.items[i]);
	if (!(q.score & SCORE_FUNCTION)) {
		elf_read_tables(f, ELF_ALL);
		for (size_t i = own; i < f->tables.len; i++)
			search_linear(&q, &f->tables.items[i]);
	}
	if (!q.score)
		search_demangled(&q, f);
	if (!q.score)
		return -ENOENT;
	*ret = q.best;
	ret->name = elf_plain_name(f, q.best.name);
	return 0;
}

/* ---- all of them ---- */

/* Address and name of what was given out already: open addressing, at most half full. */
struct seen {
	struct seen_symbol {
		u64 address;
		const char *name; /* NULL = free */
	} * slots;
	size_t mask, used;
};

static bool seen_before(struct seen *s, u64 address, const char *name);

static void seen_grow(struct seen *s)
{
	struct seen old = *s;

	s->mask = old.slots ? old.mask * 2 + 1 : 1023;
	s->slots = xzalloc((s->mask + 1) * sizeof(*s->slots));
	s->used = 0;
	for (size_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].name)
			seen_before(s, old.slots[i].address, old.slots[i].name);
	free(old.slots);
}

static bool same_plain_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "@");

	return n == strcspn(b, "@") && memcmp(a, b, n) == 0;
}

static bool seen_before(struct seen *s, u64 address, const char *name)
{
	size_t i;

	if (!s->slots || s->used * 2 > s->mask)
		seen_grow(s);
	i = (hash_bytes(name, strcspn(name, "@")) ^ (address * 0x9e3779b97f4a7c15u) >> 32) &
	    s->mask;
	for (; s->slots[i].name; i = (i + 1) & s->mask)
		if (s->slots[i].address == address && same_plain_name(s->slots[i].name, name))
			return true;
	s->slots[i] = (struct seen_symbol){address, name};
	s->used++;
	return false;
}

static int each_symbol(struct elf_file *f, struct seen *seen,
		       int (*fn)(void *arg, const struct elf_symbol *s), void *arg)
{
	struct elf_symbol s;
	int result = 0;

	elf_read_tables(f, ELF_ALL);
	for (size_t i = 0; i < f->tables.len && !result; i++) {
		const struct elf_table *t = &f->tables.items[i];

		for (u64 n = 0; n < t->count && !result; n++) {
			if (!elf_table_symbol(t, n, &s) || !s.is_function ||
			    (seen && seen_before(seen, s.address, s.name)))
				continue;
			s.name = elf_plain_name(f, s.name);
			result = fn(arg, &s);
		}
	}
	return result;
}

int elf_file_each_symbol(struct elf_file *f, int (*fn)(void *arg, const struct elf_symbol *s),
			 void *arg)
{
	struct seen seen = {0};
	const int result = each_symbol(f, &seen, fn, arg);

	free(seen.slots);
	return result;
}

int elf_file_walk_symbols(struct elf_file *f, int (*fn)(void *arg, const struct elf_symbol *s),
			  void *arg)
{
	return each_symbol(f, NULL, fn, arg);
}

/* ---- variables of libraries ---- */

/* Without PT_DYNAMIC, or marked as a position-independent executable, it is a program. */
static bool is_library(struct elf_file *f)
{
	const size_t size = f->is_64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);

	for (u32 i = 0; i < f->segment_count && f->type == ET_DYN; i++) {
		const struct elf_segment *s = &f->segments[i];
		const u8 *bytes =
			s->type == PT_DYNAMIC ? elf_file_bytes(f, s->offset, s->file_size) : NULL;

		for (u64 at = 0; bytes && at + size <= s->file_size; at += size) {
			Elf64_Dyn d;
			Elf32_Dyn d32;

			memcpy(&d32, bytes + at, sizeof(d32));
			if (f->is_64)
				memcpy(&d, bytes + at, sizeof(d));
			else
				d = (Elf64_Dyn){.d_tag = d32.d_tag, .d_un.d_val = d32.d_un.d_val};
			if (d.d_tag == DT_FLAGS_1 && d.d_un.d_val & DF_1_PIE)
				return false;
		}
		if (bytes)
			return true;
	}
	return false;
}

bool elf_file_may_be_copied(struct elf_file *f, u64 address)
{
	if (!is_library(f))
		return false;
	elf_read_tables(f, ELF_DYNAMIC);
	for (u32 i = 0; i < f->dynamic_tables; i++) {
		const struct elf_table *t = &f->tables.items[i];

		for (u64 n = 0; n < t->count; n++) {
			struct elf_symbol s;

			if (elf_table_symbol(t, n, &s) && s.is_object && !s.is_local &&
			    address - s.address < MAX(s.size, 1))
				return true;
		}
	}
	return false;
}
