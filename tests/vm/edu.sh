#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, as /init: QEMU's teaching device driven by the agent's VFIO transport (edu.c), and what the IOMMU says to it.
family=edu-${1:-group}
. /common.sh

place() { for d in /sys/bus/pci/devices/*; do [ "$(cat $d/vendor)$(cat $d/device)" = 0x12340x11e8 ] && echo "${d##*/}"; done; }
judge bind eval 'vgpu-agent --bind 1234:11e8 >$log 2>&1 && says $log "is bound to vfio-pci"'
judge way eval 'timeout 120 /tests/edu $way >/run/edu 2>&1; says /run/edu "opened by .*$way.* at $(place)"'
yes() { says /run/edu "$1.*: yes"; }
judge identity yes 'identity'
judge register yes 'inverts'
judge mapped yes 'as well'
judge factorial yes '10! ='
judge msi yes 'MSI by its raise'
judge msi_when_done yes 'MSI when 7!'
judge dma yes 'came round'
judge dma_not_after_unmap yes 'changes nothing'
judge dma_after_map_again yes 'reaches it again'
judge map_twice_refused yes 'second map'
judge reset yes 'reset'
judge open_again yes 'opened again'
judge all_checks says /run/edu '^edu: 0 failures'
# one DMA to where nothing ever was, one to what was unmapped
judge dmar_faults eval '[ $(dmesg | grep -c "DMAR: \[DMA Write.*fault addr 0x\(90000000\|10010000\)") -ge 2 ]'
sed 's/^/  # /' /run/edu
dmesg | grep -i dmar | sed 's/^/  # /' | tail -n 6
end
