/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PANTRACE_CMD_KVM_H
#define PANTRACE_CMD_KVM_H

int cmd_kvm(int argc, char **argv);

#endif
