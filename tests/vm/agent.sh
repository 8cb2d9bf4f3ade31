# SPDX-License-Identifier: GPL-2.0-or-later
# An agent: reached within the guest by vsock, and from the machine outside by a virtio-serial port: agent.host runs there meanwhile.
# guest: newer; check-all: older
# modules: virtio_console vsock_loopback
cd /tmp

# ---- vsock: CID 1 is this machine, so that both ends are here
pantrace agent --peer 1 vsock >/dev/null 2>agent.err &
agent=$!
until_true grep -q 'waiting at' agent.err
if grep -q 'waiting at' agent.err; then
	pantrace record -e sched:sched_process_exec --guest here=1 -e sched:sched_process_exec -o both -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do /bin/busybox true; done' >out 2>err
	is $? 0 "record by vsock" || cat err
	pantrace report --json both | grep '"filename":"/bin/busybox"' >events
	is "$(grep -c '"host":"here"' events) $(grep -vc '"host":"here"' events)" "10 10" "both ends have seen the same"
	pantrace run --guest 1 -e 'kprobe:vfs_read { @ = count(); exit(5) } BEGIN { printf("here\n") }' >out 2>err
	is "$? $(head -n 1 out)" "5 here" "a script by vsock" || cat out err
	kill $agent
	wait $agent
	is $? 0 "the agent ends"
	pantrace agent vsock >/dev/null 2>agent.err &
	agent=$!
	until_true grep -q 'waiting at' agent.err
	pantrace record --guest 1 -e sched:sched_process_exec -o none >out 2>err
	is "$? $(grep -c 'CID 1, port 1023 is refused' agent.err)" "1 1" "who is not the host is refused" || cat err agent.err
	kill $agent
	wait $agent
else
	skip "vsock" "$(cat agent.err)"
fi

# ---- from outside: ticks on the console, which is a pipe there
cp /bin/busybox busybox-ticker
pantrace agent >/dev/null 2>agent.err &
agent=$!
until_true grep -q 'waiting at /dev/vport' agent.err
ok "the virtio-serial port is found by its name" || cat agent.err
enabled() { grep -qs 1 /sys/kernel/tracing/instances/*/events/syscalls/sys_enter_write/enable; }
until_true enabled
ok "the host records"
instance() { ls -d /sys/kernel/tracing/instances/pantrace-* | head -n 1; }
first=$(instance)
usleep 500000 # what was said before has left the port of the console by then
for i in $(seq 10 59); do
	./busybox-ticker echo "tick $i"
done
until_true [ ! -e "$first" ] # the host's next one may be there by then
ok "it ends, and nothing of it stays"
until_true enabled
second=$(instance)
for i in $(seq 50); do
	./busybox-ticker echo "$i" >/dev/null
	usleep 20000
done
until_true [ ! -e "$second" ]
ok "so does the one of which the host says that it was paused"
sleep 3 # what the agent says of it is on its way to the host
kill $agent
wait $agent
is $? 0 "and so does the agent"
