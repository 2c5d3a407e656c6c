#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, as /init: who owns the device, and what happens when the owner goes, or resets or unplugs it. The host
# reads the verdicts from the serial line.
family=owner-${1:-group}
. /common.sh

judge absent refused 'no PCI device at' --device 0000:00:1e.7
judge unbound refused "fix, as root: vgpu-agent --bind $address" --device auto
mkdir -m 1777 /tmp /etc
printf 'root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n' >/etc/passwd
judge bind_no_permission eval '! su nobody -c "vgpu-agent --bind auto" >$log 2>&1 && says $log "may not be written: this needs root"'
judge bind eval 'vgpu-agent --bind auto >$log 2>&1 && says $log "is bound to vfio-pci"'
judge no_permission eval '! su nobody -c "vgpu-agent --device auto --listen /tmp/b.sock" >$log 2>&1 && says $log "fix: run as root or chown"'
judge dma_outside_refused timeout 120 /tests/outside "$address"
judge unbind eval 'vgpu-agent --unbind "$address" >$log 2>&1 && [ ! -e $sys/driver ]'
judge bind_again eval 'vgpu-agent --bind "$address" >$log 2>&1 && vgpu-agent --bind "$address" >>$log 2>&1'

judge start start
judge address says $log "at $address"
judge way says $log "kernel VFIO, by .*$way"
judge doorbells_mapped says $log 'doorbells: their page is mapped'
judge same_program same_program $agent
judge programs vecadd
judge second_owner refused 'is busy: another process owns it' --device 1b36:7667
judge second_owner_group refused 'is busy: another process owns it' --device auto --vfio group
no_cdev='is busy: another process owns it'
[ $way = cdev ] || no_cdev='has groups only (CONFIG_VFIO_DEVICE_CDEV is not set); fix: --vfio group'
judge second_owner_cdev refused "$no_cdev" --device auto --vfio cdev

# the owner dies with a client at work: the client hears of it, the next owner gets the device
load
kill -9 $agent
wait $agent 2>/dev/null
judge agent_killed_client_hears within 60 lost $client
place=$address
judge agent_restarted start
judge agent_restarted_programs vecadd
judge by_address says $log "debug: $address: doorbells"

# a function-level reset behind the owner's back, under load
load
echo 1 >$sys/reset
judge flr_client_hears within 60 lost $client
judge flr_said within 60 says $log 'is lost: '
judge flr_back within 60 says $log 'is back: '
judge flr_programs vecadd

# taken away while in use, then there again
load
before=$(now)
timeout 40 sh -c "echo 1 >$sys/remove"
took=$(($(now) - before))
judge remove_at_once [ $took -le 1500 ]
judge remove_client_hears within 60 lost $client
echo 1 >/sys/bus/pci/rescan
vgpu-agent --bind auto >/run/bind 2>&1
judge remove_back within 60 eval '[ $(grep -c "is back: " $log) = 2 ]'
judge remove_programs vecadd

# The machine's own unplug comes last: QEMU 11.1 aborts when a vfio-user device has left (its finalizer takes a region out
# of a container that is gone). Between the guest's letting go and that lies the second that a slot's power takes.
load
asked=$(grep -c 'asks for it back' $log)
echo "#unplug"
# the slot's button blinks for 5 s first
judge unplug_asked within 60 eval '[ $(grep -c "asks for it back" $log) -gt $asked ]'
judge unplug_client_hears within 20 lost $client
judge unplug_gone within 20 [ ! -e $sys ]
end
