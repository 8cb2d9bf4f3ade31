/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/features/traceable.h"

#include <stdio.h>

#include "base/file.h"
#include "base/glob.h"
#include "kernel/kernel_internal.h"

#define MAX_LIST ((size_t)64 << 20)
/*
 * ftrace's call follows a landing pad (endbr64, bti, pac) and what was put there for other
 * patches.
 */
#define MAX_SITE_OFFSET 32

/* ---- the list ---- */

/* "name", "name [module]", or with ADDRESSES "ffffffff81000010 name [module]". */
static void add_line(struct traceable *t, char *line, bool addresses)
{
	struct traceable_function f = {.name = line};
	void **count;
	char *blank;
	u64 site = 0;

	if (addresses) {
		site = strtoull(line, &blank, 16);
		if (!site || *blank != ' ')
			return;
		f.name = blank + 1;
	}
	blank = strchr(f.name, ' ');
	if (blank) {
		*blank = '\0';
		f.module = blank + 1 + (blank[1] == '[');
		blank[1 + strcspn(blank + 1, "]")] = '\0';
	}
	/*
	 * Functions that were discarded (weak ones that were overridden, init text) have no other
	 * name there.
	 */
	if (!*f.name || str_starts(f.name, "__ftrace_invalid_address__"))
		return;
	vector_push(&t->list, f);
	count = hashmap_put(&t->names, f.name, strlen(f.name), NULL);
	*count = (void *)((uintptr_t)*count + 1);
	if (addresses)
		vector_push(&t->sites, site);
}

static int compare_sites(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static void parse_list(struct traceable *t, bool addresses)
{
	t->names.keys_stay = true;
	for (char *line = t->text, *end; *line; line = end) {
		end = strchrnul(line, '\n');
		if (*end)
			*end++ = '\0';
		add_line(t, line, addresses);
	}
	if (t->sites.len)
		qsort(t->sites.items, t->sites.len, sizeof(u64), compare_sites);
}

static int read_list(struct kernel *k)
{
	const char *root = kernel_tracefs(k);
	struct traceable *t = &k->traceable;
	char path[96];
	int err;

	if (!root)
		return -errno;
	snprintf(path, sizeof(path), "%s/available_filter_functions_addrs", root);
	err = ksyms_has_addresses(kernel_ksyms(k)) ? file_read(path, MAX_LIST, &t->text, NULL)
						   : -ENOENT;
	if (!err) {
		parse_list(t, true);
		return 0;
	}
	path[strlen(path) - strlen("_addrs")] = '\0';
	err = file_read(path, MAX_LIST, &t->text, NULL);
	if (!err)
		parse_list(t, false);
	return err;
}

static int load(struct kernel *k)
{
	struct traceable *t = &k->traceable;

	if (!t->is_loaded) {
		t->is_loaded = true;
		t->error = read_list(k);
		/* If function tracing is locked down the file may be empty. */
		if (!t->error && !t->list.len)
			t->error = -ENODATA;
	}
	return t->error;
}

void traceable_release(struct traceable *t)
{
	hashmap_release(&t->names);
	hashmap_release(&t->namesakes);
	vector_free(&t->list);
	vector_free(&t->sites);
	free(t->text);
	*t = (struct traceable){.is_loaded = false};
}

int kernel_set_traceable(struct kernel *k, const char *path)
{
	struct traceable *t = &k->traceable;
	char *text;
	const int err = file_read(path, MAX_LIST, &text, NULL);

	if (err)
		return err;
	traceable_release(t);
	*t = (struct traceable){.is_loaded = true, .is_given = true, .text = text};
	parse_list(t, false);
	return 0;
}

bool kernel_traceable_is_given(const struct kernel *k)
{
	return k->traceable.is_given;
}

int kernel_each_traceable(struct kernel *k,
			  int (*fn)(void *arg, const struct traceable_function *f), void *arg)
{
	int rc = load(k);

	for (size_t i = 0; i < k->traceable.list.len && !rc; i++)
		rc = fn(arg, &k->traceable.list.items[i]);
	return rc;
}

/* ---- one function ---- */

static bool has_site(const struct traceable *t, u64 address, u64 end)
{
	size_t low = 0, high = t->sites.len;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (t->sites.items[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->sites.len && t->sites.items[low] < end &&
	       t->sites.items[low] - address < MAX_SITE_OFFSET;
}

static int count_own(void *arg, const struct kernel_function *f)
{
	struct traceable *t = arg;
	void **count = hashmap_put(&t->namesakes, f->own, strlen(f->own), NULL);

	*count = (void *)((uintptr_t)*count + 1);
	return 0;
}

/* The list tells how many functions have this name, but not which. */
static enum traceable_answer by_name(struct kernel *k, const struct kernel_function *f)
{
	struct traceable *t = &k->traceable;
	const uintptr_t listed = (uintptr_t)hashmap_gets(&t->names, f->own);

	if (!listed)
		return TRACEABLE_NOT;
	if (!f->address)
		return TRACEABLE;
	if (!t->namesakes.len) {
		t->namesakes.keys_stay = true;
		ksyms_each_function(kernel_ksyms(k), NULL, count_own, t);
	}
	return listed >= (uintptr_t)hashmap_gets(&t->namesakes, f->own) ? TRACEABLE
									: TRACEABLE_AMBIGUOUS;
}

enum traceable_answer kernel_function_traceable(struct kernel *k, const struct kernel_function *f)
{
	struct traceable *t = &k->traceable;
	struct kernel_symbol symbol;

	if (load(k))
		return TRACEABLE_UNKNOWN;
	if (t->is_given)
		return hashmap_gets(&t->names, f->name) || hashmap_gets(&t->names, f->own)
			       ? TRACEABLE
			       : TRACEABLE_NOT;
	if (!t->sites.len || !f->address)
		return by_name(k, f);
	if (!ksyms_at(kernel_ksyms(k), f->address, KSYM_FIRST, &symbol))
		return TRACEABLE_NOT;
	return has_site(t, f->address, symbol.end) ? TRACEABLE : TRACEABLE_NOT;
}

enum traceable_answer kernel_name_traceable(struct kernel *k, const char *name)
{
	struct kernel_function f = {.name = name, .own = name};
	struct ksyms *ks = kernel_ksyms(k);
	struct kernel_symbol symbol;

	if (load(k))
		return TRACEABLE_UNKNOWN;
	if (hashmap_gets(&k->traceable.names, name))
		return TRACEABLE;
	f.address = ksyms_address(ks, name);
	if (!f.address || !ksyms_at(ks, f.address, KSYM_FIRST, &symbol))
		return TRACEABLE_NOT;
	f.own = symbol.name;
	return kernel_function_traceable(k, &f);
}

/* ---- all that match ---- */

struct each_arg {
	struct kernel *k;
	const char *glob;
	int (*fn)(void *arg, const struct kernel_function *f, enum traceable_answer answer);
	void *arg;
	struct hashmap seen;
};

static bool is_first(struct each_arg *a, const char *name)
{
	bool is_new;

	hashmap_put(&a->seen, name, strlen(name), &is_new);
	return is_new;
}

static int each_symbol(void *arg, const struct kernel_function *f)
{
	struct each_arg *a = arg;

	if (!f->address && !is_first(a, f->name))
		return 0;
	return a->fn(a->arg, f, kernel_function_traceable(a->k, f));
}

static int each_listed(void *arg, const struct traceable_function *t)
{
	struct each_arg *a = arg;
	const struct kernel_function f = {.name = t->name, .own = t->name, .module = t->module};

	if ((a->glob && !glob_match(a->glob, t->name)) || !is_first(a, t->name))
		return 0;
	return a->fn(a->arg, &f, TRACEABLE);
}

int kernel_each_function(struct kernel *k, const char *glob,
			 int (*fn)(void *arg, const struct kernel_function *f,
				   enum traceable_answer answer),
			 void *arg)
{
	struct each_arg a = {.k = k, .glob = glob, .fn = fn, .arg = arg, .seen.keys_stay = true};
	struct ksyms *ks = kernel_ksyms(k);
	int rc;

	if (!k->traceable.is_given && (ksyms_has_addresses(ks) || load(k)))
		rc = ksyms_each_function(ks, glob, each_symbol, &a);
	else
		rc = kernel_each_traceable(k, each_listed, &a);
	hashmap_release(&a.seen);
	return rc;
}
