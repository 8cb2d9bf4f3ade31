/* SPDX-License-Identifier: MIT */
/* Plugins that give LTTng-UST another clock (its example clock-override). */
#error "pantrace: times are of the processor's time stamp counter; there is no clock plugin. Build the program without it."
