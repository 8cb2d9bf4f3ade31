/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which buffer a command means. */
#include "cmd/buffer/buffer.h"

#include "kernel/tracefs/lasting_buffer.h"
#include "kernel/tracefs/tracefs.h"

typedef VECTOR(char *) name_vector;

static int add_standing(void *arg, const struct lasting_buffer *b)
{
	if (b->stands)
		vector_push((name_vector *)arg, xstrdup(b->name));
	return 0;
}

void buffer_each_session(void (*fn)(void *arg, const char *name), void *arg)
{
	name_vector names = {0};

	lasting_buffers_each(add_standing, &names);
	for (size_t i = 0; i < names.len; i++) {
		fn(arg, names.items[i]);
		free(names.items[i]);
	}
	vector_free(&names);
}

int buffer_check_tracefs(struct kernel *k, struct diag *d)
{
	struct instance *top;
	const int err = instance_open_standing(k, d, "", &top);

	instance_close(top);
	return err;
}

/* ---- a session ---- */

struct looking {
	const char *name; /* NULL = any */
	char *session, *instance; /* of the first one */
	u32 count;
	struct strbuf names;
};

static int look(void *arg, const struct lasting_buffer *b)
{
	struct looking *const l = arg;

	if (!b->stands || (l->name && !str_eq(l->name, b->name)))
		return 0;
	strbuf_addf(&l->names, "%s%s", l->count ? ", " : "", b->name);
	if (l->count++)
		return 0;
	l->session = xstrdup(b->name);
	l->instance = xstrdup(b->instance);
	return 0;
}

/* Without -B and -t there must be exactly one session. */
static int refuse_default(const struct looking *l, struct diag *d)
{
	if (!l->count) {
		diag_error(d, NO_SPAN, "there is no session");
		diag_hint(d, "`pantrace start -e sched` begins one; -B NAME is an instance of "
			     "another program, --top the kernel's own buffer; `pantrace status` "
			     "shows all");
		return -ENOENT;
	}
	diag_error(d, NO_SPAN, "which session? There are %u: %s", l->count, l->names.data);
	diag_hint(d, "-B NAME says which one");
	diag_code(d, EXIT_USAGE);
	return -EINVAL;
}

/* ---- all ---- */

/* Refuses the instance of a pantrace that is running. */
static int check_run(struct kernel *k, struct diag *d, const char *instance)
{
	struct tracefs_owner owner;

	if (!tracefs_owner_parse(instance, &owner, NULL) || !tracefs_owner_alive(k, &owner))
		return 0;
	diag_error(d, NO_SPAN, "instance %s belongs to a running pantrace, process %d", instance,
		   (int)owner.pid);
	diag_hint(d, "it goes away when that process ends");
	return -EBUSY;
}

static int open_other(const struct buffer_choice *c, enum buffer_use use, struct kernel *k,
		      struct diag *d, struct chosen_buffer *ret)
{
	int err = use == BUFFER_CHANGE && c->name ? check_run(k, d, c->name) : 0;

	if (!err)
		err = instance_open_standing(k, d, c->top ? "" : c->name, &ret->instance);
	if (err == -ENOENT)
		diag_hint(d, "`pantrace status` shows which sessions and instances there are");
	ret->label = c->top ? xstrdup("the top buffer") : xasprintf("instance %s", c->name);
	return err;
}

int buffer_choose(const struct buffer_choice *c, enum buffer_use use, struct kernel *k,
		  struct diag *d, struct chosen_buffer *ret)
{
	struct looking l = {.name = c->name, .names = STRBUF_INIT};
	int err = buffer_check_tracefs(k, d);

	*ret = (struct chosen_buffer){0};
	if (err)
		return err;
	if (c->top && c->name) {
		diag_error(d, NO_SPAN, "-B and --top cannot be combined");
		diag_code(d, EXIT_USAGE);
		return -EINVAL;
	}
	if (!c->top)
		lasting_buffers_each(look, &l);
	if (l.count == 1) {
		err = instance_open_standing(k, d, l.instance, &ret->instance);
		if (err)
			diag_hint(d, "its instance was removed; `pantrace reset -B %s` forgets it",
				  l.session);
		ret->session = l.session;
		ret->label = xasprintf("session %s", l.session);
		l.session = NULL;
	} else if (c->top || c->name) {
		err = open_other(c, use, k, d, ret);
	} else {
		err = refuse_default(&l, d);
	}
	free(l.session);
	free(l.instance);
	strbuf_release(&l.names);
	return err;
}

void buffer_release(struct chosen_buffer *b)
{
	instance_close(b->instance);
	free(b->session);
	free(b->label);
}

int buffer_cpu_file(struct diag *d, const struct instance *in, const char *cpu, const char *file,
		    char **ret)
{
	char *folder;
	u64 number;
	bool is_there;

	if (!cpu) {
		*ret = xstrdup(file);
		return 0;
	}
	if (parse_u64(cpu, &number)) {
		diag_error(d, NO_SPAN, "-c takes the number of a CPU, not '%s'", cpu);
		diag_code(d, EXIT_USAGE);
		return -EINVAL;
	}
	folder = xasprintf("per_cpu/cpu%" PRIu64, number);
	is_there = instance_has(in, folder);
	free(folder);
	if (!is_there) {
		diag_error(d, NO_SPAN, "there is no CPU %" PRIu64, number);
		return -ENOENT;
	}
	*ret = xasprintf("per_cpu/cpu%" PRIu64 "/%s", number, file);
	return 0;
}
