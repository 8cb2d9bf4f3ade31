/* SPDX-License-Identifier: MIT */
/* Plugins that give LTTng-UST another clock (its example clock-override). */
#error "pantrace has no clock plugins: its times are of the time stamp counter. Leave this out."
