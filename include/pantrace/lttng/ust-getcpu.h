/* SPDX-License-Identifier: MIT */
/* Plugins that give LTTng-UST another getcpu() (its example getcpu-override). */
#error "pantrace: the C library's rseq area says the CPU; there is no getcpu plugin. Build the program without it."
