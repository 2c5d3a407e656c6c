#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest: what the agent starts when it is ready.
export PATH=/bin:/programs PS1='guest:\w# ' HOME=/
cat <<EOF

This guest has a CUDA device: vgpu-agent is PID 1 and owns $(grep -l 0x7667 /sys/bus/pci/devices/*/device | sed 's|.*/\([^/]*\)/device|\1|') through the kernel's VFIO.
Programs: $(ls /programs | tr '\n' ' ')
"exit" powers off. Should it hang: Ctrl-A, then x.

EOF
exec sh -i
