/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/dat/made_stack.h"

#define USER_FRAMES 8 /* that the kernel's format has room for */

#define COMMON_FIELDS                                                                  \
	"format:\n"                                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

#define CALLERS                                                                                   \
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"                   \
	"print fmt: \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> "    \
	"%ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], " \
	"(void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], "                \
	"(void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]\n"

const struct made_stack_kind made_stack_kinds[2] = {
	{true, 4,
	 "name: kernel_stack\nID: 4\n" COMMON_FIELDS
	 "\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n" CALLERS},
	{false, 13,
	 "name: user_stack\nID: 13\n" COMMON_FIELDS
	 "\tfield:unsigned int tgid;\toffset:8;\tsize:4;\tsigned:0;\n" CALLERS},
};

bool made_stack(const struct made_stack_kind *kind, const struct recorded_stack *stack,
		const struct recorded_place *place, struct strbuf *ret)
{
	const s32 tid = (s32)MAX(place->tid, 0);
	u32 count = 0, word;

	strbuf_reset(ret);
	strbuf_addchars(ret, 0, 16);
	for (size_t i = 0; i < stack->len; i++) {
		const struct recorded_frame *const f = &stack->items[i];

		if (f->is_kernel != kind->is_kernel || f->is_inlined)
			continue;
		strbuf_add(ret, &f->address, sizeof(f->address));
		count++;
	}
	for (u32 i = count; i < USER_FRAMES && !kind->is_kernel; i++)
		strbuf_addchars(ret, 0, sizeof(u64));
	word = kind->is_kernel ? count : (u32)MAX(place->pid, 0);
	memcpy(ret->data + 4, &tid, sizeof(tid));
	memcpy(ret->data + 8, &word, sizeof(word));
	return count;
}
