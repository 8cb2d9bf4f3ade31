/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --no-feature: hides a feature of this kernel, to test on any kernel what older ones get. */
#include "kernel/kernel_internal.h"

#define FEATURE(name)                                         \
	{                                                     \
#name, offsetof(struct kernel_features, name) \
	}

static const struct {
	const char *name;
	size_t offset;
} features[] = {
	FEATURE(bpf_loop),    FEATURE(for_each_map),	 FEATURE(attach_cookie),
	FEATURE(get_func_ip), FEATURE(percpu_lookup),	 FEATURE(atomic_fetch),
	FEATURE(cpu_v4),      FEATURE(no_prealloc_safe), FEATURE(task_storage),
	FEATURE(ktime_tai),   FEATURE(d_path),		 FEATURE(strncmp),
};

int kernel_disable(struct kernel *k, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		if (!str_eq(features[i].name, name))
			continue;
		kernel_features(k);
		*(bool *)((char *)&k->features + features[i].offset) = false;
		return 0;
	}
	for (int c = 0; c < KERNEL_CAPABILITY_COUNT; c++) {
		if (!str_eq(kernel_capability_name((enum kernel_capability)c), name))
			continue;
		k->asked[c] = true;
		k->answers[c] = (struct kernel_answer){.error = EOPNOTSUPP,
						       .why = "switched off by --no-feature"};
		return 0;
	}
	return -ENOENT;
}

const char *const *kernel_feature_names(size_t *ret_count)
{
	static const char *names[ARRAY_SIZE(features) + KERNEL_CAPABILITY_COUNT];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		names[n++] = features[i].name;
	for (int c = 0; c < KERNEL_CAPABILITY_COUNT; c++)
		names[n++] = kernel_capability_name((enum kernel_capability)c);
	*ret_count = n;
	return names;
}
