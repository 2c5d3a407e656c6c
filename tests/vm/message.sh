#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, as /init: a device that asks for each of its accesses by message (vgpu-stub --dma message), so that the IOMMU of this
# machine checks them one by one. What is mapped works; what is not is refused, and the kernel says which address.
family=message
. /common.sh

vgpu-agent --bind auto >$log 2>&1
judge dma_outside_refused timeout 60 /tests/outside "$address"
# IDENTIFY writes there, CTX_CREATE and the rings are read there (outside.c: NOWHERE)
faults() { dmesg | grep -c "DMAR: \[DMA $1 .*\[${address#0000:}\] fault addr 0x90000[0-9a-f]*000 "; }
judge dmar_fault_write [ "$(faults Write)" -gt 0 ]
judge dmar_fault_read [ "$(faults Read)" -gt 0 ]
before=$(dmesg | grep -c 'DMAR: \[DMA')
judge agent_identifies start
judge no_context_said eval '! vecadd; says /run/vecadd "."'
judge agent_lives kill -0 $agent
judge no_more_faults [ "$(dmesg | grep -c 'DMAR: \[DMA')" = "$before" ]
dmesg | grep -i 'dmar: \[' | sed 's/^/  # /' | tail -n 8
sed 's/^/  # /' /run/vecadd
end
