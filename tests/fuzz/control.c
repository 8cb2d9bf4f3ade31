// SPDX-License-Identifier: MIT
/*
 * Any bytes as a request of the control socket and as the file of a session; tests/lib/control.t
 * runs the same for a moment.
 */
#include "../lib/fuzz_control.c"
