/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of variables from registers and memory that are known: steps, and what is not known. */
#include "binary/debug/evaluate.h"

#include "tap.h"

#define STEP(o, ...)                          \
	{                                     \
		.op = ACCESS_##o, __VA_ARGS__ \
	}

static const u8 bytes[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0xf0, 0xff, 0xff, 0xff};

/* sp is 0x1000, where the memory is; bx is not known */
static struct known_thread thread_of_test(void)
{
	struct known_thread t = {.memory = {bytes, 0x1000, sizeof(bytes)}, .bias = 0x400000};

	known_register_set(&t, arch_register_find("sp")->offset, 0x1000);
	known_register_set(&t, arch_register_find("di")->offset, (u64)-6);
	return t;
}

static int evaluate(enum access_result result, const struct access_step *steps, u32 n, u64 size,
		    s64 *ret)
{
	const struct known_thread t = thread_of_test();
	const struct access a = {.result = result, .steps = steps, .count = n};

	*ret = 0;
	return access_evaluate(&a, &t, ret, size);
}

#define EVALUATE(result, size, ret, ...)                                 \
	({                                                               \
		const struct access_step steps_[] = {__VA_ARGS__};       \
		evaluate(result, steps_, ARRAY_SIZE(steps_), size, ret); \
	})

int main(void)
{
	const u16 sp = arch_register_find("sp")->offset, di = arch_register_find("di")->offset,
		  bx = arch_register_find("bx")->offset;
	s64 v;

	ok(!EVALUATE(ACCESS_PLACE, 4, &v, STEP(REGISTER, .offset = sp), STEP(ADD, .value = 4)) &&
		   v == 0x08070605,
	   "memory above a register");
	ok(EVALUATE(ACCESS_PLACE, 8, &v, STEP(REGISTER, .offset = sp), STEP(ADD, .value = 12)) ==
		   -ENODATA,
	   "half of it is not known: all of it is not");
	ok(EVALUATE(ACCESS_PLACE, 1, &v, STEP(REGISTER, .offset = sp), STEP(ADD, .value = -1)) ==
		   -ENODATA,
	   "below it");
	ok(EVALUATE(ACCESS_VALUE, 8, &v, STEP(REGISTER, .offset = bx)) == -ENODATA,
	   "a register that is not known");
	ok(!EVALUATE(ACCESS_VALUE, 8, &v, STEP(REGISTER, .offset = di)) && v == -6, "one that is");
	ok(!EVALUATE(ACCESS_VALUE, 2, &v, STEP(REGISTER, .offset = di)) && v == 0xfffa,
	   "of a value the lowest bytes count");
	ok(!EVALUATE(ACCESS_VALUE, 8, &v, STEP(STATIC, .value = 0x10)) && v == 0x400010,
	   "a static's address has the file's bias");
	ok(!EVALUATE(ACCESS_VALUE, 8, &v, STEP(REGISTER, .offset = sp), STEP(ADD, .value = 8),
		     STEP(DEREF, .size = 4), STEP(EXTEND, .size = 4, .is_signed = true)) &&
		   v == -16,
	   "a number in memory, with its sign");
	ok(!EVALUATE(ACCESS_VALUE, 8, &v, STEP(REGISTER, .offset = di), STEP(CONSTANT, .value = 1),
		     STEP(SHIFT_SIGNED)) &&
		   v == -3,
	   "a shift that keeps the sign");
	ok(!EVALUATE(ACCESS_VALUE, 8, &v, STEP(REGISTER, .offset = di), STEP(CONSTANT, .value = 64),
		     STEP(SHIFT_RIGHT)) &&
		   v == 0,
	   "one by more bits than there are");
	ok(!EVALUATE(ACCESS_VALUE, 8, &v, STEP(REGISTER, .offset = di), STEP(CONSTANT, .value = 2),
		     STEP(LESS)) &&
		   v == 1,
	   "comparisons are of signed numbers");
	ok(EVALUATE(ACCESS_VALUE, 8, &v, STEP(REGISTER, .offset = di), STEP(PLUS)) == -EINVAL &&
		   EVALUATE(ACCESS_VALUE, 16, &v, STEP(REGISTER, .offset = di)) == -EINVAL &&
		   EVALUATE(ACCESS_NONE, 8, &v, STEP(REGISTER, .offset = di)) == -EINVAL,
	   "what makes no sense is refused");
	return tap_done();
}
