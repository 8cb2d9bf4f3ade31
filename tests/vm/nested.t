#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A machine in the machine: the guest is the host of another one, which KVM runs with the AMD SVM that QEMU emulates. It has one CPU:
# with two, the inner kernel does not boot. It takes what Debian's QEMU needs into its initramfs, and the inner machine's own.
# tests/vm/nested.sh runs in it.
cd "$(dirname "$0")/../.." || exit 1
VM_KERNEL=build/vm/kernel-newer
if [ ! -e $VM_KERNEL/vmlinuz ]; then
	echo "1..0 # SKIP Debian has no newer kernel than its own here"
	exit 0
fi
binary=${PANTRACE:-build/pantrace} qemu=$(command -v qemu-system-x86_64)
VM_EXTRA=$PWD/build/vm/nested.$$
trap 'rm -rf "$VM_EXTRA"' EXIT
trap 'exit 1' INT TERM
set -e
# the inner machine
inner=$VM_EXTRA/inner.root
mkdir -p "$inner/bin" "$inner/dev" "$inner/proc" "$inner/sys" "$inner/tmp" "$VM_EXTRA/inner"
cp /bin/busybox build/programs/cpuid "$inner/bin"
cp "$binary" "$inner/bin/pantrace"
strip -g "$inner/bin/pantrace"
cat >"$inner/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tracefs tracefs /sys/kernel/tracing
pantrace agent &
exec cpuid
INIT
chmod 755 "$inner/init"
(cd "$inner" && find . | cpio -o -H newc --quiet >../inner/initramfs)
rm -rf "$inner"
cp $VM_KERNEL/vmlinuz "$VM_EXTRA/inner/"
# its QEMU
for file in "$qemu" $(ldd "$qemu" | grep -o '/[^ ]*') /usr/share/seabios/bios-256k.bin /usr/share/qemu/linuxboot_dma.bin /usr/share/qemu/kvmvapic.bin; do
	cp -L --parents "$file" "$VM_EXTRA"
done
VM_GUEST=nested VM_CPUS=1 VM_MEMORY=2048
export VM_KERNEL VM_GUEST VM_CPUS VM_MEMORY VM_EXTRA
perl tests/vm/boot.pl
