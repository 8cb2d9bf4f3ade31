/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `pantrace doctor`: what this kernel, these capabilities and this lockdown state allow. */
#ifndef PANTRACE_CMD_DOCTOR_H
#define PANTRACE_CMD_DOCTOR_H

int cmd_doctor(int argc, char **argv);

#endif
