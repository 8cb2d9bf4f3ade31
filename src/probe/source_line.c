/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "binary/debug/lines.h"
#include "binary/debug/variable.h"
#include "probe/source_line.h"
#include "probe/user.h"

static int bad_number(struct probe_env *env, const struct probe_request *r, const char *what,
		      const char *word)
{
	diag_error(env->diag, r->span, "Invalid %s number: '%s'", what, word);
	diag_hint(env->diag, "the form is FILE@SOURCE:LINE[:COLUMN], as in ./app@parse.c:42");
	return -EINVAL;
}

static bool is_of_programs(const struct probe_request *r)
{
	const struct probe_provider *p = probe_find_provider(r->parts[0]);

	return !p || p->takes_path;
}

int source_line_parse(struct probe_env *env, const struct probe_request *r, struct source_line *ret)
{
	const char *at = r->count >= 2 ? strrchr(r->parts[1], '@') : NULL;
	u64 line, column = 0;

	/* A file may have the character in its name: then a function stands behind it. */
	if (!at || (r->count == 3 && is_of_programs(r) && !probe_parse_number(r->parts[2], &line) &&
		    !glob_has_wildcard(r->parts[1]) && strchr(at, '/')))
		return 0;
	ret->target = arena_strndup(env->arena, r->parts[1], (size_t)(at - r->parts[1]));
	ret->source = at + 1;
	if (r->count < 3 || r->count > 4 || !*ret->source ||
	    (!*ret->target && r->pid <= 0 && is_of_programs(r))) {
		diag_error(env->diag, r->span,
			   "Invalid %s arguments, expected format: %s:TARGET@FILE:LINE[:COL]",
			   r->parts[0], r->parts[0]);
		return -EINVAL;
	}
	if (glob_has_wildcard(ret->target) || glob_has_wildcard(ret->source)) {
		diag_error(env->diag, r->span, "Cannot use wildcards with source code location");
		return -EINVAL;
	}
	if (!probe_parse_number(r->parts[2], &line) || !line || line > UINT32_MAX)
		return bad_number(env, r, "line", r->parts[2]);
	if (r->count == 4 && (!probe_parse_number(r->parts[3], &column) || column > UINT32_MAX))
		return bad_number(env, r, "column", r->parts[3]);
	ret->line = (u32)line;
	ret->column = (u32)column;
	return 1;
}

static int no_debug_info(struct probe_env *env, const struct probe_request *r, struct elf_file *f)
{
	diag_error(env->diag, r->span,
		   "No DWARF debug info found for '%s', cannot attach by source code location.",
		   elf_file_path(f));
	diag_hint(env->diag, "build it with -g, install its debug symbols, or name their place by "
			     "--debuginfo DIR");
	return -ENODATA;
}

/* ---- lines of a function ---- */

struct function_line {
	struct elf_file *file;
	u32 line; /* from the declaration */
	const struct debug_entry *entry; /* the copy that is looked at */
	source_line_fn fn;
	void *arg;
	u32 found, copies, parts;
	bool with_parts; /* also where the rest of a split function begins */
	u32 nearest; /* the next line with code, from the declaration; UINT32_MAX = none */
};

static int offer_function_line(void *arg, u64 address)
{
	const struct function_line *q = arg;
	const struct debug_entry *const e = q->entry;

	return q->fn(q->arg,
		     &(struct debug_point){q->file, address, e->linkage ? e->linkage : e->name});
}

static int add_function_line(void *arg, const struct debug_entry *e)
{
	struct function_line *q = arg;
	u32 nearest = 0;
	int err;

	if (!e->line)
		return 0;
	q->copies++;
	q->entry = e;
	if (!q->line && e->is_part && !q->with_parts) {
		q->parts++;
		return 0;
	}
	if (!q->line) {
		q->found++;
		return offer_function_line(q, e->address);
	}
	err = debug_each_line_of(q->file, e, e->line + q->line, offer_function_line, q, &nearest);
	if (err == -ENOENT && nearest > e->line)
		q->nearest = MIN(q->nearest, nearest - e->line);
	q->found += !err;
	return err == -ENOENT || err == -ENODATA ? 0 : err;
}

static int no_function_line(struct probe_env *env, const struct probe_request *r,
			    const struct function_line *q, const char *function)
{
	if (!q->copies) {
		diag_error(env->diag, r->span, "the debug info of %s knows no function '%s'",
			   elf_file_path(q->file), function);
		diag_hint(env->diag, "`pantrace list '%s:%s%s*%s*'` shows functions of such names",
			  r->parts[0], is_of_programs(r) ? elf_file_path(q->file) : "",
			  is_of_programs(r) ? ":" : "", function);
		return -ENOENT;
	}
	diag_error(env->diag, r->span, "%s has no code at line %u or behind it", function, q->line);
	diag_hint(env->diag, "lines count from the one where the function is declared: 0");
	return -ENOENT;
}

int function_line_each(struct probe_env *env, const struct probe_request *r, struct elf_file *f,
		       const char *function, u32 line, source_line_fn fn, void *arg)
{
	struct function_line q = {
		.file = f, .line = line, .fn = fn, .arg = arg, .nearest = UINT32_MAX};
	int err = debug_each_entry(f, function, add_function_line, &q);

	/* Of the function's beginning nothing may be left. */
	if (!err && !q.found && q.parts) {
		q.with_parts = true;
		err = debug_each_entry(f, function, add_function_line, &q);
	}
	if ((err == -ENODATA || err == -ENOENT) && user_check_files(env, r->span))
		return -ESTALE;
	if (debug_available(f))
		return no_debug_info(env, r, f);
	if (err && err != -ENOENT)
		return err;
	if (q.found)
		return 0;
	if (q.nearest == UINT32_MAX)
		return no_function_line(env, r, &q, function);
	diag_warning(env->diag, r->span, "no code stands at line %u of %s: the probe is at line %u",
		     line, function, q.nearest);
	q.line = q.nearest;
	return debug_each_entry(f, function, add_function_line, &q);
}

/* ---- lines of a file ---- */

struct file_line {
	struct elf_file *file;
	const struct source_line *line;
	source_line_fn fn;
	void *arg;
	u32 found; /* the line that has code */
};

static int offer_line(void *arg, u64 address)
{
	const struct file_line *q = arg;
	const u32 line = q->found ? q->found : q->line->line;

	return q->fn(q->arg, &(struct debug_point){q->file, address,
						   debug_function_of_line(q->file, address,
									  q->line->source, line)});
}

int source_line_each(struct probe_env *env, const struct probe_request *r, struct elf_file *f,
		     const struct source_line *line, source_line_fn fn, void *arg)
{
	struct diag *d = env->diag;
	const u32 column = line->column;
	struct file_line q = {.file = f, .line = line, .fn = fn, .arg = arg};
	u32 found = 0;
	int err;

	err = debug_each_address(f, line->source, line->line, column, offer_line, &q, &q.found);
	found = q.found;
	if ((err == -ENODATA || err == -ENOENT) && user_check_files(env, r->span))
		return -ESTALE;
	if (err == -ENODATA)
		return no_debug_info(env, r, f);
	if (err == -ENOENT) {
		diag_error(d, r->span, "Unable to map '%s:%u%s' to address", line->source,
			   line->line, column ? arena_printf(env->arena, ":%u", column) : "");
		diag_hint(d,
			  "no code of %s comes from there; the name of the source matches from "
			  "its end, as in parse.c or lib/parse.c",
			  elf_file_path(f));
	} else if (!err && found != line->line) {
		diag_warning(d, r->span, "no code stands at %s:%u: the probe is at line %u",
			     line->source, line->line, found);
	}
	return err;
}
