/* SPDX-License-Identifier: GPL-2.0-or-later */
/* USDT probes of all argument sizes and signs, with and without a semaphore: sdt N. */
#define _SDT_HAS_SEMAPHORES 1
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

__extension__ unsigned short pantrace_test_plain_semaphore __attribute__((section(".probes")));
__extension__ unsigned short pantrace_test_guarded_semaphore __attribute__((section(".probes")));

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 3;

	for (long i = 0; i < n; i++) {
		int8_t s8 = (int8_t)(-1 - i);
		uint8_t u8 = (uint8_t)(200 + i);
		int16_t s16 = (int16_t)(-300 - i);
		int32_t s32 = (int32_t)(-70000 - i);
		uint64_t u64 = 0x1122334455667788u + (uint64_t)i;
		const char *text = "hello usdt";

		/* BPF reads only what is in memory: touch the page. */
		*(const volatile char *)text;

		DTRACE_PROBE6(pantrace_test, plain, s8, u8, s16, s32, u64, text);
		if (pantrace_test_guarded_semaphore)
			DTRACE_PROBE2(pantrace_test, guarded, i, pantrace_test_guarded_semaphore);
	}
	return 0;
}
