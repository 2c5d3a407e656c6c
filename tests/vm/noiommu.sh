#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest without an IOMMU, as /init: nothing is used without consent, and with it everything works.
family=noiommu
. /common.sh

mode=/sys/module/vfio/parameters/enable_unsafe_noiommu_mode
judge refused_without_flag refused 'has no IOMMU group' --device auto
judge refused_by_kernel refused 'its no-IOMMU mode is off' --device auto --unsafe-noiommu
judge bind_refused_by_kernel eval '! vgpu-agent --bind auto --unsafe-noiommu >$log 2>&1 && says $log "echo Y >$mode"'
echo Y >$mode
judge bind_refused_without_flag eval '! vgpu-agent --bind auto >$log 2>&1 && says $log "has no IOMMU group" && [ ! -e $sys/driver ]'
judge bind eval 'vgpu-agent --bind auto --unsafe-noiommu >$log 2>&1 && says $log "bound to vfio-pci: /dev/vfio/noiommu-"'
judge refused_in_that_mode refused 'or say --unsafe-noiommu' --device auto
flags=--unsafe-noiommu
judge start start
judge warned says $log 'UNSAFE, by --unsafe-noiommu'
judge programs vecadd
judge matmul eval 'timeout 120 /tests/matmul >/run/vecadd 2>&1'
judge threads eval 'timeout 120 /tests/threads >/run/vecadd 2>&1'
judge second_owner refused 'is busy: another process owns it' --device 1b36:7667 --unsafe-noiommu
kill -9 $agent
wait $agent 2>/dev/null
judge agent_restarted start
judge agent_restarted_programs vecadd
end
