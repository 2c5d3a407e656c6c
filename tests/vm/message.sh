#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, as /init: a device that asks for each of its accesses by message (vgpu-stub --dma message), so that the IOMMU of this
# machine checks them one by one. What is mapped works; what is not is refused, and the kernel says which address.
family=message
. /common.sh

vgpu-agent --bind auto >$log 2>&1
judge dma_outside_refused timeout 120 /tests/outside "$address"
# IDENTIFY writes there, CTX_CREATE and the rings are read there (outside.c: NOWHERE)
faults() { dmesg | grep -c "DMAR: \[DMA $1 .*\[${address#0000:}\] fault addr 0x90000[0-9a-f]*000 "; }
judge dmar_fault_write [ "$(faults Write)" -gt 0 ]
judge dmar_fault_read [ "$(faults Read)" -gt 0 ]
before=$(dmesg | grep -c 'DMAR: \[DMA')
judge agent_identifies start
judge vecadd vecadd
judge reduce eval 'timeout 120 /tests/reduce >/run/vecadd 2>&1'
judge matmul eval 'timeout 120 /tests/matmul >/run/vecadd 2>&1'
judge threads eval 'timeout 120 /tests/threads >/run/vecadd 2>&1'
judge agent_lives kill -0 $agent
# under load: a reset drops what is queued; the owner goes, and with it all that is awaited of it
load
echo 1 >$sys/reset
judge flr_client_hears within 60 lost $client
judge flr_back within 60 says $log 'is back: '
judge flr_programs vecadd
load
kill -9 $agent
wait $agent 2>/dev/null
judge agent_killed_client_hears within 60 lost $client
judge agent_restarted start
judge agent_restarted_programs vecadd
judge no_more_faults [ "$(dmesg | grep -c 'DMAR: \[DMA')" = "$before" ]
dmesg | grep -i 'dmar: \[' | sed 's/^/  # /' | tail -n 8
sed 's/^/  # /' /run/vecadd
end
