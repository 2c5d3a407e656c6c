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
journalctl -u vgpu-agent -u "vgpu-bind@*" --no-pager -o cat | tail -n 40 | sed 's/^/  # /'
systemctl poweroff -ff
