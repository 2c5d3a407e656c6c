#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, as /init: who owns the device, and what happens when the owner or the device goes. The host reads
# the verdicts from the serial line and kills the device at "#kill-device".
export PATH=/bin
mount -t devtmpfs d /dev 2>/dev/null
mkdir -p /proc /sys /run
mount -t proc p /proc
mount -t sysfs s /sys
for m in /modules/*.ko; do insmod "$m"; done
log=/run/agent.log
export VGPU_AGENT=/run/a.sock

ok() { echo "ok owner/$*"; }
bad() { echo "FAIL owner/$*"; tail -n 12 $log 2>/dev/null | sed 's/^/  | /'; }
# judge NAME CONDITION...: runs it
judge() { name=$1; shift; if "$@"; then ok "$name"; else bad "$name ($*)"; fi; }
says() { grep -q -e "$2" "$1"; }
# within SECONDS COMMAND...
within() { n=$(($1 * 10)); shift; while [ $n -gt 0 ]; do "$@" && return 0; n=$((n - 1)); usleep 100000; done; return 1; }
start() {
	: >$log
	vgpu-agent --device auto --listen $VGPU_AGENT --verbose 2>>$log &
	agent=$!
	within 10 says $log 'ready: '
}
vecadd() { timeout 40 /tests/vecadd >/run/vecadd 2>&1; }
refused() { # refused PATTERN ARG...: this start fails, in these words
	want=$1; shift
	timeout 20 vgpu-agent "$@" --listen /run/b.sock >/run/refused 2>&1 && return 1
	says /run/refused "$want" || { cat /run/refused; return 1; }
}
lost() { kill -0 "$1" 2>/dev/null && return 1; wait "$1"; [ $? != 0 ]; }
address=$(for d in /sys/bus/pci/devices/*; do [ "$(cat $d/device)" = 0x7667 ] && echo "${d##*/}"; done)
sys=/sys/bus/pci/devices/$address

judge absent refused 'no PCI device at' --device 0000:00:1e.7
judge unbound refused "fix, as root: vgpu-agent --bind $address" --device auto
judge bind eval 'vgpu-agent --bind auto >$log 2>&1 && says $log "is bound to vfio-pci"'
mkdir -m 1777 /tmp /etc
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >/etc/passwd
judge no_permission eval '! su nobody -c "vgpu-agent --device auto --listen /tmp/b.sock" >$log 2>&1 && says $log "fix: run as root or chown"'
judge dma_outside_refused timeout 30 /tests/outside "$address"
judge unbind eval 'vgpu-agent --unbind "$address" >$log 2>&1 && [ ! -e $sys/driver ]'
judge bind_again eval 'vgpu-agent --bind "$address" >$log 2>&1 && vgpu-agent --bind "$address" >>$log 2>&1'

judge start start
judge programs vecadd
judge second_owner refused 'is busy: another process owns it' --device 1b36:7667

# the owner dies with a client at work: the client hears of it, the next owner gets the device
/tests/vecadd loop 60 >/run/client 2>&1 & client=$!
sleep 1
kill -9 $agent
wait $agent 2>/dev/null
judge agent_killed_client_hears within 10 lost $client
judge agent_restarted start
judge agent_restarted_programs vecadd

# a function-level reset behind the owner's back, under load
/tests/vecadd loop 60 >/run/client 2>&1 & client=$!
sleep 1
echo 1 >$sys/reset
judge flr_client_hears within 10 lost $client
judge flr_said within 5 says $log 'is lost: '
judge flr_back within 10 says $log 'is back: '
judge flr_programs vecadd

# unplugged while in use, then plugged in again
/tests/vecadd loop 60 >/run/client 2>&1 & client=$!
sleep 1
before=$(cut -d. -f1 /proc/uptime)
timeout 20 sh -c "echo 1 >$sys/remove"
took=$(($(cut -d. -f1 /proc/uptime) - before))
judge unplug_at_once [ $took -le 3 ]
judge unplug_client_hears within 10 lost $client
echo 1 >/sys/bus/pci/rescan
vgpu-agent --bind auto >/run/bind 2>&1
judge unplug_back within 10 eval '[ $(grep -c "is back: " $log) = 2 ]'
judge unplug_programs vecadd

# the device's process dies; the agent and the guest go on
: >$log
/tests/vecadd loop 60 >/run/client 2>&1 & client=$!
sleep 1
echo "#kill-device"
judge device_killed_client_hears within 15 lost $client
judge device_killed_said within 10 says $log 'is lost: '
before=$(cut -d. -f1 /proc/uptime)
timeout 20 /tests/vecadd >/run/vecadd 2>&1
st=$?
took=$(($(cut -d. -f1 /proc/uptime) - before))
judge device_killed_new_client_told [ $st != 0 -a $took -le 12 ]
judge device_killed_agent_lives kill -0 $agent
judge device_killed_agent_ends eval 'kill $agent; within 10 says $log "SIGTERM: ending"'
sed "s/^/  # /" $log
echo "#end"
sync
# isa-debug-exit: QEMU ends with (1 << 1) | 1
printf '\001' | dd of=/dev/port bs=1 seek=244 2>/dev/null
poweroff -f
