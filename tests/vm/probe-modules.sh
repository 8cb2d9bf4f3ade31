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
