#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, as /init: the device's process is stopped for two seconds, at "#stop-device", and dies, at "#kill-device", by the host's hand; the
# agent and the guest go on. How long the guest stood still meanwhile is told: its agent looks at the function once a second, and the
# processor that asks waits for the answer, whatever else rings (agent/THREATS.md).
family=killed-${1:-group}
. /common.sh

vgpu-agent --bind auto >$log 2>&1
judge start start
load
(
	worst=0 last=$(now)
	while [ ! -e /run/enough ]; do
		usleep 50000
		t=$(now)
		[ $((t - last)) -le $worst ] || worst=$((t - last))
		last=$t
		echo $worst >/run/gap
	done
) &
usleep 500000
still=$(cat /run/gap)
echo "#stop-device"
usleep 5000000
echo "  | the guest stood still for 0.01 s x $still before its device was stopped, x $(cat /run/gap) while it was, for two seconds"
touch /run/enough
judge stopped_goes_on eval 'kill -0 $client && vecadd && ! says $log "is lost: "'
# not while the device is being talked to: QEMU itself may abort then
kill -STOP $client
usleep 300000
echo "#kill-device"
judge said within 60 says $log 'is lost: '
kill -CONT $client
judge client_hears within 30 lost $client
before=$(cut -d. -f1 /proc/uptime)
timeout 40 /tests/vecadd >/run/vecadd 2>&1
st=$?
took=$(($(cut -d. -f1 /proc/uptime) - before))
judge new_client_told [ $st != 0 -a $took -le 20 ]
# The kernel's close() of it hangs for a minute now, and so would open(): nobody is made to wait for that.
worst=0
for i in 1 2 3 4 5 6 7 8; do
	before=$(now)
	timeout 40 /tests/vecadd >/run/vecadd 2>&1
	took=$(($(now) - before))
	[ $took -le $worst ] || worst=$took
	sleep 0.5
done
judge nobody_waits [ $worst -le 1500 ]
judge agent_lives kill -0 $agent
judge agent_ends eval 'kill $agent; within 60 says $log "SIGTERM: ending"'
end
