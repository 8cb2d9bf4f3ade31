/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many kernel functions by one kprobe_multi link (5.18). */
#include "probe/kprobe_multi.h"

#include "probe/uapi.h"

struct multi {
	struct probe_env *env;
	struct probe_target *const *targets;
	const char **names;
	const u64 *addresses; /* NULL = not all are known */
	u64 *cookies;
	int prog_fd;
	u32 attach_type;
	bool is_return, has_cookies;
	struct probe_attachments *out;
};

static int create_multi(struct multi *m, u32 first, u32 n)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (u32)m->prog_fd;
	attr.link_create.attach_type = m->attach_type;
	attr.link_create.kprobe_multi.flags = m->is_return ? BPF_F_KPROBE_MULTI_RETURN : 0;
	attr.link_create.kprobe_multi.cnt = n;
	if (m->addresses)
		attr.link_create.kprobe_multi.addrs = (u64)(uintptr_t)(m->addresses + first);
	else
		attr.link_create.kprobe_multi.syms = (u64)(uintptr_t)(m->names + first);
	/* The kernel sorts what has cookies. */
	if (m->has_cookies)
		attr.link_create.kprobe_multi.cookies = (u64)(uintptr_t)(m->cookies + first);
	return attach_link_create(&attr, sizeof(attr));
}

static bool is_final(int error)
{
	return error == -EPERM || error == -EACCES || error == -EOPNOTSUPP;
}

/* One function that cannot be attached fails the whole link: halve until the bad ones stand alone.
 */
static void attach_range(struct multi *m, u32 first, u32 n)
{
	const int fd = create_multi(m, first, n);

	if (fd >= 0) {
		attach_done(m->out,
			    (struct probe_attachment){.fd = fd, .event_fd = -1, .targets = n});
		return;
	}
	if (n == 1 || is_final(fd)) {
		attach_failed(m->env, m->targets[first], fd, m->out);
		m->out->failed += n - 1;
		return;
	}
	attach_range(m, first, n / 2);
	attach_range(m, first + n / 2, n - n / 2);
}

int kprobe_multi_attach(struct probe_env *env, int prog_fd, const struct probe_context *context,
			struct probe_target *const *targets, const u64 *entries, u32 n,
			struct probe_attachments *out)
{
	const u32 attached = out->attached;
	struct multi m = {.env = env,
			  .targets = targets,
			  .prog_fd = prog_fd,
			  .attach_type = context->expected_attach_type,
			  .is_return = n && targets[0]->provider == &probe_kretprobe,
			  .has_cookies = context->has_cookie,
			  .addresses = entries,
			  .out = out};

	m.names = xreallocarray(NULL, n, sizeof(*m.names));
	m.cookies = xreallocarray(NULL, n, sizeof(*m.cookies));
	for (u32 i = 0; i < n; i++) {
		m.names[i] = targets[i]->function;
		m.cookies[i] = targets[i]->cookie;
		if (!entries[i])
			m.addresses = NULL;
	}
	attach_range(&m, 0, n);
	free(m.names);
	free(m.cookies);
	return out->attached > attached ? 0 : -EIO;
}
