#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The steps of an administrator, and what users see.
. /opt/tests/verdicts.sh
as() { # as USER COMMAND...
	local user=$1
	shift
	setpriv --reuid="$user" --regid="$user" --init-groups timeout 100 "$@"
}
programs() {
	local p
	for p in vecadd threads vmm pool hostfn printf managed; do as member /opt/tests/$p >/tmp/program 2>&1 || { echo "$p:"; cat /tmp/program; return 1; }; done
}
options() { # options UNIT LINE...
	mkdir -p "/run/systemd/system/$1.service.d"
	printf '%s\n' '[Service]' "StandardError=append:/mnt/$1.log" "${@:2}" >"/run/systemd/system/$1.service.d/test.conf"
	systemctl daemon-reload
}

judge sysusers systemd-sysusers vgpu.conf
judge tmpfiles systemd-tmpfiles --create vgpu.conf
judge folders is "$(stat -c '%A %U %G' /run/vgpu /run/vgpu-stub | tr '\n' ,)" 'drwxr-xr-x vgpu vgpu,drwxr-x--- vgpu-stub vgpu-stub,'
ldconfig
useradd -G vgpu member
useradd stranger
options vgpu-stub 'Environment="STUB_OPTIONS=--memory 1G"'
options vgpu-agent
systemctl enable vgpu-stub vgpu-agent

judge start systemctl start vgpu-agent
state vgpu-agent active || { systemctl status --no-pager vgpu-stub vgpu-agent; cat /mnt/*.log; exit; }
judge stub_comes_too state vgpu-stub active
judge sockets is "$(stat -c '%A %U %G' /run/vgpu/agent.sock /run/vgpu-stub/stub.sock | tr '\n' ,)" 'srw-rw---- vgpu vgpu,srw-rw---- vgpu-stub vgpu-stub,'
judge users is "$(ps -o user:20= -p "$(property vgpu-agent MainPID),$(property vgpu-stub MainPID)" | sort | tr '\n' ,)" 'vgpu,vgpu-stub,'
judge status is "$(property vgpu-agent StatusText)" '1 device, listening on /run/vgpu/agent.sock'
judge options_reach_the_device grep -q '/ 1024 MiB' <(as member vgpu smi)
judge programs_of_a_member programs
judge walls grep -q '"walls":\["seccomp","user","pid","mount","net","ipc",.*"landlock"' <(as member vgpu smi -j | tr -d ' \n')
judge device_is_in_a_group_of_its_own grep -q '/vgpu-stub.service/device$' "/proc/$(property vgpu-stub MainPID)/cgroup"
judge member_is_known grep -q '"clients":\[\]' <(as member vgpu smi -j)
judge stranger_is_refused not as stranger /opt/tests/vecadd
judge device_is_the_agents not as member test -e /run/vgpu-stub/stub.sock
judge ldconfig_finds_it grep -q '/usr/local/lib/vgpu/libcuda.so.1' <(ldconfig -p)

# restarts: of the device, by the watchdog, after a crash
systemctl restart vgpu-stub
judge device_is_back soon as member /opt/tests/vecadd
# a short watchdog for this one start: on a busy machine it would catch agents that only wait for their turn
options vgpu-agent WatchdogSec=3
systemctl restart vgpu-agent
options vgpu-agent
was=$(property vgpu-agent MainPID)
kill -STOP "$was"
again() { state vgpu-agent active && not is "$(property vgpu-agent MainPID)" "$was"; }
judge watchdog_restarts_a_stopped_agent soon again
judge program_after_that soon as member /opt/tests/vecadd
was=$(property vgpu-agent MainPID)
kill -9 "$was"
judge killed_agent_is_restarted soon again
judge program_after_that_too soon as member /opt/tests/vecadd

judge stop systemctl stop vgpu-agent vgpu-stub
judge stop_is_clean is "$(property vgpu-agent Result) $(property vgpu-stub Result)" 'success success'
judge sockets_are_gone is "$(ls -A /run/vgpu /run/vgpu-stub | tr "\n" " ")" "/run/vgpu: agent.sock.devices  /run/vgpu-stub: "
judge folders_stay test -d /run/vgpu -a -d /run/vgpu-stub
cat /mnt/*.log
echo end
