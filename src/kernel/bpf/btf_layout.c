/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/bpf/btf_layout.h"

/* Ids and name offsets are used as 32-bit numbers with room to add one. */
#define MAX_SECTION ((u32)1 << 30)

int btf_find_sections(const u8 *data, size_t len, struct btf_sections *ret)
{
	struct btf_header h;
	u64 types, strings;

	if (len < sizeof(h))
		return -EINVAL;
	memcpy(&h, data, sizeof(h));
	if (h.magic != BTF_MAGIC || h.version != BTF_VERSION || h.hdr_len < sizeof(h))
		return -EINVAL;
	types = (u64)h.hdr_len + h.type_off;
	strings = (u64)h.hdr_len + h.str_off;
	if (types + h.type_len > len || strings + h.str_len > len || h.type_len > MAX_SECTION ||
	    h.str_len > MAX_SECTION || !h.str_len || (uintptr_t)(data + types) % 4)
		return -EINVAL;
	if (data[strings + h.str_len - 1])
		return -EINVAL;
	*ret = (struct btf_sections){.types = data + types,
				     .strings = (const char *)data + strings,
				     .types_len = h.type_len,
				     .strings_len = h.str_len};
	return 0;
}

const struct btf_kind_size btf_kind_sizes[32] = {
#define SIZE(more, each)                               \
	{                                              \
		sizeof(struct btf_type) + (more), each \
	}
	[BTF_KIND_INT] = SIZE(4, 0),
	[BTF_KIND_PTR] = SIZE(0, 0),
	[BTF_KIND_ARRAY] = SIZE(sizeof(struct btf_array), 0),
	[BTF_KIND_STRUCT] = SIZE(0, sizeof(struct btf_member)),
	[BTF_KIND_UNION] = SIZE(0, sizeof(struct btf_member)),
	[BTF_KIND_ENUM] = SIZE(0, sizeof(struct btf_enum)),
	[BTF_KIND_FWD] = SIZE(0, 0),
	[BTF_KIND_TYPEDEF] = SIZE(0, 0),
	[BTF_KIND_VOLATILE] = SIZE(0, 0),
	[BTF_KIND_CONST] = SIZE(0, 0),
	[BTF_KIND_RESTRICT] = SIZE(0, 0),
	[BTF_KIND_FUNC] = SIZE(0, 0),
	[BTF_KIND_FUNC_PROTO] = SIZE(0, sizeof(struct btf_param)),
	[BTF_KIND_VAR] = SIZE(sizeof(struct btf_var), 0),
	[BTF_KIND_DATASEC] = SIZE(0, sizeof(struct btf_var_secinfo)),
	[BTF_KIND_FLOAT] = SIZE(0, 0),
	[BTF_KIND_DECL_TAG] = SIZE(4, 0),
	[PT_BTF_TYPE_TAG] = SIZE(0, 0),
	[PT_BTF_ENUM64] = SIZE(0, 12),
#undef SIZE
};
