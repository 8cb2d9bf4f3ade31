# SPDX-License-Identifier: GPL-2.0-or-later
# probe -m: variables and lines of a module that is loaded are what dd asks of its disk.
# guest: older
# modules: ext4 virtio_blk
# disk: debug
mkdir -p /usr/lib/debug
if ! mount -o ro -t ext4 /dev/vda /usr/lib/debug 2>/dev/null || [ ! -d /usr/lib/debug/lib/modules ]; then
	skip "variables of modules" "their debug information is not installed here (linux-image-...-dbg, or VM_DEBUG=FILE)"
	exit
fi
pantrace probe -m virtio_blk 'asked=virtio_queue_rq len=bd->rq->__data_len sector=bd->rq->__sector wq=virtblk_wq' 2>/tmp/err
is "$?" 0 "variables at a module's function"
like "$(cat /tmp/err)" 'probe:asked  *\(on virtio_queue_rq' "are told"
begin pantrace -e 'tracepoint:probe:asked /comm == "dd"/ { @[args.len, args.sector, args.wq == *kaddr("virtblk_wq")] = count(); }'
dd if=/dev/vda of=/dev/null bs=8192 skip=50000 count=2 iflag=direct 2>/dev/null
end
is "$(grep '^@' /tmp/out | sort | tr '\n' ' ')" "@[8192, 800000, true]: 1 @[8192, 800016, true]: 1 " "values are what dd asks, and the module's own variable"
pantrace probe -m virtio_blk 'virtio_queue_rq major' 2>/tmp/err
is "$?" 1 "a variable whose name the kernel itself has, too"
like "$(cat /tmp/err)" "another symbol of the kernel has its name" "is refused: the kernel would read the other one"
like "$(pantrace probe -l 2>&1)" 'probe:asked.*virtio_blk' "-l shows the module"
pantrace probe -q -d probe:asked
is "$?" 0 "removed"
pantrace probe -m virtio_blk -D 'virtio_queue_rq $params' >/tmp/out 2>/tmp/err
like "$(cat /tmp/out)" '^p:probe/virtio_queue_rq virtio_blk:virtio_queue_rq\+0 hctx=%di:x64 bd=%si:x64$' "-D"
# Scripts: 0 is the function's beginning, 17 `spin_lock_irqsave()`, behind which the request is queued.
major=$(sed -n 's/^ *\([0-9]*\) virtblk$/\1/p' /proc/devices)
begin pantrace -e '
	kprobe:virtio_blk:virtio_queue_rq:0 /comm == "dd"/ { @entry[args.bd->rq->__data_len, args.bd == vars.bd] = count(); }
	kprobe:virtio_blk:virtio_queue_rq:17 /comm == "dd"/ { @line[vars.req->__sector, (uint64)vars.vbr == (uint64)(vars.req + 1), str(vars.vblk->disk->disk_name)] = count();
		@static[vars.major, vars.virtblk_wq == *kaddr("virtblk_wq")] = count(); print(vars); }
	kprobe:virtio_queue_rq:17 /comm == "dd"/ { @found[vars.status, args.bd->last] = count(); }
	kprobe:virtio_blk:virtio_queue_rq /comm == "dd"/ { @function[vars.bd->rq->__data_len] = count(); }
	kprobe:virtio_blk@drivers/block/virtio_blk.c:366 /comm == "dd"/ { @file[vars.req->__data_len] = count(); }
	kprobe@block/virtio_blk.c:366 /comm == "dd"/ { @source[vars.req->__data_len] = count(); }'
dd if=/dev/vda of=/dev/null bs=8192 skip=50000 count=2 iflag=direct 2>/dev/null
end
is "$rc$(cat /tmp/err)" "0Attached 6 probes" "lines of a module in scripts"
is "$(grep '^@' /tmp/out | sort | tr '\n' ' ')" "@entry[8192, true]: 2 @file[8192]: 2 @found[0, true]: 2 @function[8192]: 2 @line[800000, true, vda]: 1 @line[800016, true, vda]: 1 @source[8192]: 2 @static[$major, true]: 2 " \
	"variables, parameters and the module's own statics" || cat /tmp/out
like "$(grep '^{' /tmp/out)" '\.notify = (false|0)' "print(vars)"
pantrace kprobe -q "p:virtio_blk:virtio_queue_rq:17 len=req->__data_len status" 'len == 8192' -- dd if=/dev/vda of=/dev/null bs=8192 skip=50000 count=2 iflag=direct >/tmp/out 2>/tmp/err
is "$?/$(sed -n 's/.*: virtio_queue_rq_L17: (.*) len=//p' /tmp/out | tr '\n' ';')" '0/0x2000 status=0x0;0x2000 status=0x0;' "kprobe" || cat /tmp/out /tmp/err
pantrace record -o /tmp/lines.dat -e 'kprobe:virtio_blk:virtio_queue_rq:17 len=req->__data_len' -- dd if=/dev/vda of=/dev/null bs=8192 skip=50000 count=2 iflag=direct >/tmp/out 2>/tmp/err
is "$?/$(pantrace report /tmp/lines.dat | grep -c ' dd-.*len=0x2000')" 0/2 "record -e" || { cat /tmp/out /tmp/err; pantrace report /tmp/lines.dat | head -5; }
pantrace -e 'kprobe:virtio_blk:virtio_blk_init:0 { exit(); }' >/tmp/out 2>/tmp/err
is "$?" 1 "what ran when the module was loaded"
like "$(cat /tmp/err)" 'kprobe:virtio_blk:virtio_blk_init:0 cannot be probed: the memory was given back' "is gone, whoever has its memory now" || cat /tmp/err
pantrace -e 'kprobe:virtio_ring:virtqueue_add_sgs:1 { exit(); }' >/tmp/out 2>/tmp/err
like "$?$(cat /tmp/err)" '^1.*the debug information of the module virtio_ring is not installed' "a module without debug information" || cat /tmp/err
export HOME=/tmp/home
mkdir -p $HOME
pantrace probe -q --cache -n -m virtio_blk -a 'virtio_queue_rq:17 len=req->__data_len status' 2>/tmp/err
is "$?$(cat /tmp/err)" 0 "a definition for machines without debug information"
umount /usr/lib/debug
begin pantrace -e 'kprobe:virtio_blk:virtio_queue_rq:17 /comm == "dd"/ { @cached[vars.len, vars.status] = count(); }'
dd if=/dev/vda of=/dev/null bs=8192 skip=50000 count=2 iflag=direct 2>/dev/null
end
is "$rc$(cat /tmp/err)$(grep '^@' /tmp/out)" "0Attached 1 probe@cached[8192, 0]: 2" "its line without debug information"
