/* SPDX-License-Identifier: MIT */
/* Plugins that give LTTng-UST another getcpu() (its example getcpu-override). */
#error "pantrace has no getcpu plugins: the CPU is the one that rseq says. Leave this out."
