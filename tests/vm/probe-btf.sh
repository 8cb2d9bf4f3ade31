# SPDX-License-Identifier: GPL-2.0-or-later
# Parameters of a module's functions without debug information: BTF of the module has them. What dd asks of a loop device says what they are.
# guest: older newer
dd if=/dev/zero of=/tmp/disk bs=65536 count=1 2>/dev/null
losetup /dev/loop0 /tmp/disk
read_disk()
{
	dd if=/dev/loop0 of=/dev/null bs=4096 skip=3 count=2 iflag=direct 2>/dev/null
}

is "$(pantrace probe -m loop -D 'loop_queue_rq $params')" 'p:probe/loop_queue_rq loop:loop_queue_rq+0 hctx=%di:x64 bd=%si:x64' "-D"
is "$(pantrace probe -m loop -D 'loop_process_work lo->lo_number lo->lo_disk->disk_name:string' | sed 's/[0-9][0-9]*(/N(/g')" \
	'p:probe/loop_process_work loop:loop_process_work+0 lo_number=+N(%dx):s32 disk_name=+N(+N(%dx)):string' "structs of the module itself"
pantrace probe -m loop 'asked=loop_queue_rq len=bd->rq->__data_len sector=bd->rq->__sector' 'worked=loop_process_work lo->lo_number name=lo->lo_disk->disk_name:string' 2>/tmp/err
is "$?" 0 "they are added" || cat /tmp/err
begin pantrace -e 'tracepoint:probe:asked /comm == "dd"/ { @asked[args.len, args.sector] = count(); } tracepoint:probe:worked { @worked[args.lo_number, str(args.name)] = count(); }'
read_disk
end
is "$(grep '^@' /tmp/out | sort | sed 's/\(@worked.*\): .*/\1/' | tr '\n' ' ')" "@asked[4096, 24]: 1 @asked[4096, 32]: 1 @worked[0, loop0] " "values are what dd asks" || cat /tmp/out /tmp/err
pantrace probe -q -d probe:asked -d probe:worked
is "$?" 0 "removed"
pantrace kprobe -q 'p:loop:loop_queue_rq len=bd->rq->__data_len bd->last' 'len == 4096' -- dd if=/dev/loop0 of=/dev/null bs=4096 skip=3 count=2 iflag=direct >/tmp/out 2>/tmp/err
is "$?/$(sed -n 's/.*: loop_queue_rq: (.*) len=//p' /tmp/out | tr '\n' ';')" '0/0x1000 last=0x1;0x1000 last=0x1;' "kprobe" || cat /tmp/out /tmp/err
begin pantrace -e '
	kprobe:loop:loop_queue_rq /comm == "dd"/ { @module[args.bd->rq->__data_len, args.bd->rq->__sector] = count(); }
	kprobe:loop_queue_rq /comm == "dd"/ { @name[args.bd->last] = count(); }
	kprobe:loop:loop_process_work { @own[args.lo->lo_number, str(args.lo->lo_disk->disk_name)] = count(); }'
read_disk
end
is "$rc$(cat /tmp/err)$(grep '^@' /tmp/out | sort | sed 's/\(@own.*\): .*/\1/' | tr '\n' ' ')" \
	"0Attached 3 probes@module[4096, 24]: 1 @module[4096, 32]: 1 @name[true]: 2 @own[0, loop0] " "scripts" || cat /tmp/out /tmp/err
pantrace probe -m loop -D 'loop_queue_rq nosuch' >/tmp/out 2>&1
like "$?$(cat /tmp/out)" "^1.*only what a function is passed is known, and not under this name" "what is no parameter"
pantrace -e 'kprobe:loop:loop_queue_rq:3 { exit(); }' >/tmp/out 2>&1
like "$?$(cat /tmp/out)" "^1.*the debug information of the module loop is not installed" "lines need debug information"
losetup -d /dev/loop0

# Of the kernel itself, many at once.
pantrace probe --max-probes 512 'vfs_* $params' >/tmp/out 2>&1
is "$?" 0 "\$params of many functions" || tail -5 /tmp/out
like "$(cat /sys/kernel/tracing/kprobe_events)" 'p:probe/vfs_write _text\+[0-9]+ file=%di:x64 buf=%si:x64 count=%dx:x64 pos=%cx:x64' "one of them"
begin pantrace -e 'tracepoint:probe:vfs_write /comm == "dd" && args.count == 777/ { @[args.count] = count(); }'
dd if=/dev/zero of=/tmp/disk bs=777 count=3 2>/dev/null
end
is "$(grep '^@' /tmp/out)" "@[777]: 3" "  is what dd writes" || cat /tmp/out /tmp/err
pantrace probe -q -d 'probe:*'
is "$?$(cat /sys/kernel/tracing/kprobe_events)" 0 "  all are removed"
