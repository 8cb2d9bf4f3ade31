# SPDX-License-Identifier: GPL-2.0-or-later
# Reads, writes and discards of disks (SCSI, ATA, NVMe) in events, line by line beside the kernel's own text (tests/unit/trace_live.c).
# guest: older; check-all: newer
if [ ! -x /programs/trace_live ]; then
	skip "trace_live" "the unit tests were not built"
	done_testing
	exit
fi
# Those that the drivers' events come from. The drivers begin before anything is recorded: what they ask a disk first is no read or write.
while read -r m; do
	case $m in
	scsi_debug | ata_piix) ;;
	*) insmod /modules/$m.ko 2>/dev/null ;;
	esac
done </modules/drivers

# io DISK: reads, writes, a discard
cat >/tmp/io <<'END'
dd if=/dev/zero of=$1 bs=4k count=20 seek=100 conv=fsync 2>/dev/null
echo 3 >/proc/sys/vm/drop_caches
dd if=$1 of=/dev/null bs=64k count=40 2>/dev/null
blkdiscard -o 1048576 -l 1048576 $1 2>/dev/null
sync
END
insmod /modules/scsi_debug.ko dev_size_mb=16 lbpu=1 lbpws=1 lbpws10=1 delay=0
insmod /modules/ata_piix.ko
for _ in $(seq 480); do
	[ -b /dev/sda ] && [ -b /dev/sdb ] && break
	usleep 250000
done
sleep 1
cat >/tmp/work <<'END'
for d in /dev/sda /dev/sdb /dev/nvme0n1; do sh /tmp/io $d; done
END
events="scsi:scsi_dispatch_cmd_start scsi:scsi_dispatch_cmd_done nvme:nvme_setup_cmd nvme:nvme_complete_rq"
[ -e /sys/kernel/tracing/events/libata ] &&
	events="$events libata:ata_qc_issue libata:ata_qc_complete_done libata:ata_exec_command libata:ata_tf_load libata:ata_bmdma_status"
/programs/trace_live 8192 'sh /tmp/work' "$events"
rc=$?
rmmod scsi_debug ata_piix 2>/dev/null
exit $rc
