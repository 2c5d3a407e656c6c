#!/bin/bash
# SPDX-License-Identifier: MIT
# Guest with systemd: the steps of an administrator whose machine has the PCI function, and what users see (service.sh).
exec >/dev/ttyS0 2>&1
judge() { # judge NAME COMMAND...
	local name=$1
	shift
	if "$@" >/run/said 2>&1; then echo "ok service/$name"; else echo "FAIL service/$name ($*)"; tail -n 20 /run/said | sed 's/^/  | /'; fi
}
as() { local user=$1; shift; setpriv --reuid="$user" --regid="$user" --init-groups timeout 120 "$@"; }
property() { systemctl show -P "$1" vgpu-agent; }
is() { [ "$1" = "$2" ] || { echo "$1"; return 1; }; }
soon() { local n=300; until "$@"; do n=$((n - 1)); [ $n -gt 0 ] || return 1; sleep 0.1; done; }
says() { property StatusText | grep "$1"; }

address=$(for d in /sys/bus/pci/devices/*; do [ "$(cat "$d/device")" = 0x7667 ] && echo "${d##*/}"; done)
group=$(basename "$(readlink "/sys/bus/pci/devices/$address/iommu_group")")
ldconfig; depmod
useradd -G vgpu member
useradd stranger
mkdir -p /etc/systemd/system/vgpu-agent.service.d
printf '[Service]\nEnvironment=AGENT_DEVICE=%s\n' "$address" >/etc/systemd/system/vgpu-agent.service.d/override.conf
systemctl daemon-reload

judge sysusers_and_tmpfiles is "$(stat -c '%A %U %G' /run/vgpu)" 'drwxr-xr-x vgpu vgpu'
judge not_bound_is_said eval '! systemctl start vgpu-agent; journalctl -u vgpu-agent | grep "fix, as root: vgpu-agent --bind $address"'
systemctl stop vgpu-agent
judge bind systemctl enable --now "vgpu-bind@$address"
judge udev_gives_the_group soon eval 'is "$(stat -c "%U %a" /dev/vfio/$group)" "vgpu 600"'
judge start systemctl enable --now vgpu-agent
judge active is "$(property ActiveState) $(property StatusText)" 'active 1 device, listening on /run/vgpu/agent.sock'
judge first_try is "$(property NRestarts)" 0
judge not_root is "$(ps -o user= -p "$(property MainPID)")" vgpu
judge kernel_vfio eval 'journalctl -u vgpu-agent | grep "kernel VFIO, by group and container"'
judge member_computes as member /opt/tests/vecadd
judge member_computes_with_threads as member /opt/tests/threads
judge stranger_is_refused eval '! as stranger /opt/tests/vecadd'
judge stranger_has_no_device eval '! as stranger cat /dev/vfio/$group && ! as member cat /dev/vfio/$group'

# taken away from it, and given back; then it dies
judge unbind systemctl stop "vgpu-bind@$address"
judge unbound_is_said soon says 'is lost'
judge bind_again systemctl start "vgpu-bind@$address"
judge back soon says 'is back'
judge member_computes_again as member /opt/tests/vecadd
was=$(property MainPID)
kill -9 "$was"
judge restarted soon eval '[ "$(property ActiveState)" = active ] && [ "$(property MainPID)" != "$was" ]'
judge member_computes_once_more as member /opt/tests/vecadd
judge stop eval 'systemctl stop vgpu-agent && is "$(property Result)" success'

# the device as a service too: its unit has a delegated cgroup, whose controllers and limits systemd sets; all walls but root's stand
cg=/sys/fs/cgroup/system.slice/vgpu-stub.service
of() { systemctl show -P "$1" vgpu-stub; }
leaf() { ls -d "$cg"/client-* 2>/dev/null; }
no_leaf() { [ -z "$(leaf)" ]; }
hang() { : >/run/hang; as member /opt/tests/endless hang >/run/hang 2>&1 & soon grep -q running /run/hang; }
walls() { as member vgpu smi -j | tr -d ' \n' | grep -o '"walls":[^]]*' | grep -o '[a-z]*' | grep -v walls | tr '\n' ' '; }
rm -r /etc/systemd/system/vgpu-agent.service.d
mkdir -p /etc/systemd/system/vgpu-stub.service.d
printf '[Service]\nEnvironment="STUB_OPTIONS=--memory 64M --overhead 64M --require-walls=user,pid,mount,net,ipc,landlock,cgroup"\n' \
	>/etc/systemd/system/vgpu-stub.service.d/override.conf
systemctl daemon-reload
judge stub_starts systemctl start vgpu-stub
judge stub_not_root is "$(ps -o user= -p "$(of MainPID)")" vgpu-stub
judge stub_delegates is "$(of Delegate) $(of DelegateControllers)" 'yes cpu memory pids'
judge stub_limits eval '[ "$(of MemoryMax)" != infinity ] && [ "$(cat $cg/memory.max)" != max ] && [ "$(cat $cg/pids.max)" = 8192 ]'
judge stub_and_agent systemctl start vgpu-agent
judge stub_member_computes as member /opt/tests/vecadd
judge stub_walls is "$(walls)" 'seccomp user pid mount net ipc landlock cgroup '
hang
judge stub_leaf is "$(cat "$(leaf)"/memory.max "$(leaf)"/cpu.weight | tr '\n' ' ')" "$(((64 + 64 + 288) << 20)) 100 "
judge stub_context_in_it is "$(for p in $(cat "$(leaf)/cgroup.procs"); do cat "/proc/$p/comm"; done)" vgpu-context
pkill endless
judge stub_leaf_goes soon no_leaf
hang
was=$(of MainPID)
kill -9 "$was"
judge stub_restarted soon eval '[ "$(of ActiveState)" = active ] && [ "$(of MainPID)" != "$was" ]'
judge stub_nothing_left soon no_leaf
judge stub_computes_again soon as member /opt/tests/vecadd
systemctl stop vgpu-agent vgpu-stub
journalctl -u vgpu-stub --no-pager -o cat | tail -n 20 | sed 's/^/  # /'
journalctl -u vgpu-agent -u "vgpu-bind@*" --no-pager -o cat | tail -n 40 | sed 's/^/  # /'
systemctl poweroff -ff
