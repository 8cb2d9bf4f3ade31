# SPDX-License-Identifier: GPL-2.0-or-later
# boot --persistent: what the kernel's command line needs for a recording that outlives a crash; crash-kernel.sh is the crash.
# guest: newer
line=$(pantrace boot --persistent 12M -B last -e sched:sched_process_exec,sched:sched_switch,workqueue:workqueue_execute_start 2>/tmp/err)
is "$line" "reserve_mem=4096K:4096:last_above reserve_mem=12288K:4096:last trace_instance=last^traceoff@last,sched:sched_process_exec,sched:sched_switch,workqueue:workqueue_execute_start" "memory, and an instance in it"
pantrace crash --kernel -o /tmp/last.dat 2>/tmp/err
like "$? $(cat /tmp/err)" '^1 .*no memory for recordings that outlives a crash' "this boot has none"
echo "@@ line crash-kernel $line"
done_testing
