/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -F: functions that can be probed by name. Unlike perf, it does not list variables. */
#include <stdio.h>

#include "base/escape.h"
#include "base/json.h"
#include "base/name_filter.h"
#include "binary/elf/file.h"
#include "cmd/probe/commands.h"
#include "kernel/symbols/ksyms.h"

#define DEFAULT_FILTER "!_*"

struct function {
	char *name; /* as shown */
	char *symbol; /* as in the file; NULL = the same */
	u64 address, size; /* 0 = unknown */
};

struct function_list {
	struct probe_command *command;
	const struct name_filter *filter;
	bool demangle;
	struct arena arena;
	VECTOR(struct function) found;
	u64 seen; /* number of functions in the file, before the filter */
};

/* "ns::over" of "ns::over(int) const": filters are written without parameters. */
static char *without_parameters(const char *name)
{
	const char *p = strrchr(name, ')');
	int depth = 0;

	for (; p && p > name; p--) {
		depth += *p == ')' ? 1 : *p == '(' ? -1 : 0;
		if (!depth)
			return xstrndup(name, (size_t)(p - name));
	}
	return xstrdup(name);
}

static void add(struct function_list *l, const char *symbol, u64 address, u64 size)
{
	char *readable = l->demangle ? demangle(symbol) : NULL;
	const char *const shown = readable ? demangled_name(readable) : symbol;
	char *bare = without_parameters(shown);

	if (name_filter_match(l->filter, bare))
		vector_push(&l->found, (struct function){
					       .name = xstrdup(shown),
					       .symbol = readable ? xstrdup(symbol) : NULL,
					       .address = address,
					       .size = size,
				       });
	free(readable);
	free(bare);
}

static int add_symbol(void *arg, const struct elf_symbol *s)
{
	struct function_list *l = arg;

	if (!s->is_function)
		return 0;
	l->seen++;
	add(l, s->name, s->address, s->size);
	return 0;
}

static int add_symbols(struct function_list *l, struct elf_file *f)
{
	elf_file_each_symbol(f, add_symbol, l);
	if (l->seen)
		return 0;
	diag_error(&l->command->diag, NO_SPAN, "%s has no symbols of functions", elf_file_path(f));
	diag_hint(&l->command->diag, "it was stripped, or is truncated");
	return -ENODATA;
}

static int add_kernel_function(void *arg, const struct kernel_function *f)
{
	struct function_list *l = arg;
	const char *module = l->command->o.module;

	if (module ? f->module && str_eq(f->module, module) : !f->module)
		add(l, f->name, f->address, 0);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void print_json(struct strbuf *out, const struct function *f)
{
	struct json j = JSON_INIT(out);

	json_object(&j);
	json_member_text(&j, "name", f->name);
	json_member_text(&j, "symbol", f->symbol ? f->symbol : f->name);
	if (f->address) {
		json_key(&j, "address");
		json_hex(&j, f->address);
	}
	if (f->size)
		json_member_u64(&j, "size", f->size);
	json_end(&j, '}');
	json_end_line(&j);
}

/* Text has each name once, JSON has each function. */
static void print(struct function_list *l)
{
	struct strbuf out = STRBUF_INIT;

	if (l->found.len)
		qsort(l->found.items, l->found.len, sizeof(*l->found.items), compare);
	for (size_t i = 0; i < l->found.len; i++) {
		const struct function *f = &l->found.items[i];

		if (l->command->o.json) {
			print_json(&out, f);
		} else if (!i || !str_eq(f[-1].name, f->name)) {
			escape_line(&out, f->name, strlen(f->name));
			strbuf_addch(&out, '\n');
		}
	}
	fwrite(out.data, 1, out.len, stdout);
	strbuf_release(&out);
}

/* A module given by its path is treated like any other file. */
static int add_file(struct function_list *l, const char *path)
{
	struct elf_file *f;
	int err = elf_file_open(path, &f);

	if (err) {
		diag_error(&l->command->diag, NO_SPAN, "cannot read %s: %s", path,
			   err == -ENOEXEC ? "it is no ELF file" : strerror(-err));
		return err;
	}
	err = add_symbols(l, f);
	elf_file_close(f);
	return err;
}

static int find(struct function_list *l)
{
	struct probe_command *p = l->command;
	struct translate_config config = probe_target_of(p);
	struct translator *t;
	int err = 0;

	if (p->o.module && strchr(p->o.module, '/'))
		return add_file(l, p->o.module);
	t = translator_new(p->kernel, &p->diag, &config);
	if (!t)
		return -ENOENT;
	if (translator_file(t))
		err = add_symbols(l, translator_file(t));
	else
		err = ksyms_each_function(kernel_ksyms(p->kernel), NULL, add_kernel_function, l);
	translator_release(t);
	if (err < 0 && !p->diag.errors)
		diag_error(&p->diag, NO_SPAN, "the kernel's functions cannot be read: %s",
			   strerror(-err));
	else if (p->o.module && !l->found.len && !l->command->diag.errors)
		diag_warning(&p->diag, NO_SPAN, "no function of a module '%s' is in the kernel",
			     p->o.module);
	return err;
}

const struct name_filter *probe_filter(struct probe_command *p, struct arena *arena,
				       const char *usual)
{
	const struct name_filter *f =
		name_filter_parse(arena, &p->diag, p->o.filter ? p->o.filter : usual);

	if (!f)
		diag_code(&p->diag, EXIT_USAGE);
	return f;
}

int probe_functions(struct probe_command *p)
{
	struct function_list l = {.command = p, .demangle = !p->o.no_demangle};
	int err = -EINVAL;

	/* the kernel's are C names */
	if (!p->o.exec && !p->o.demangle)
		l.demangle = false;
	l.filter = probe_filter(p, &l.arena, *p->o.functions ? p->o.functions : DEFAULT_FILTER);
	if (l.filter)
		err = find(&l);
	if (!err)
		print(&l);
	for (size_t i = 0; i < l.found.len; i++) {
		free(l.found.items[i].name);
		free(l.found.items[i].symbol);
	}
	vector_free(&l.found);
	arena_release(&l.arena);
	return err ? EXIT_FAILED : EXIT_OK;
}
