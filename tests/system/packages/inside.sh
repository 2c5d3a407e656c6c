#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The administrator of a Debian machine: installs, upgrades, purges. /opt/old and /opt/new have the packages.
. /opt/tests/verdicts.sh
export DEBIAN_FRONTEND=noninteractive
# the second is how an administrator asks that not each dpkg reads all man pages of the machine anew
rm -f /usr/sbin/policy-rc.d /var/lib/man-db/auto-update
as() { # as USER COMMAND...
	local user=$1
	shift
	setpriv --reuid="$user" --regid="$user" --init-groups timeout 100 "$@"
}
# Every file that this machine, and not the one below it, has written or removed; folders of ours; who is who. Not the packager's own books.
snapshot() {
	(cd /.upper && find . \( -path ./mnt -o -path ./tmp -o -path ./opt -o -path ./var/lib/dpkg -o -path ./var/log -o -path ./var/cache -o -path ./etc/ld.so.cache \) \
		-prune -o ! -type d -printf '%P %y\n') | sort
	find /etc /usr /lib /var/lib \( -path /var/lib/dpkg -o -path /usr/local \) -prune -o -type d \( -name '*vgpu*' -o -name 'ollama.service.d' \) -print | sort
	ls -d /run/vgpu* 2>/dev/null
	sort /etc/passwd /etc/group
}
running() { is "$(property vgpu-agent MainPID) $(property vgpu-stub MainPID)" "$1" && state vgpu-agent active && state vgpu-stub active; }
finds() { ldconfig -p | grep -q "$1"; }

useradd member
useradd stranger
# what systemd makes when it starts has been made
systemctl start sysinit.target
snapshot >/mnt/before

judge install dpkg -i /opt/old/vgpu_*.deb /opt/old/libcuda-lite_*.deb
snapshot >/mnt/installed
judge files_are_seen grep -q '^usr/bin/vgpu-agent f' /mnt/installed
judge enabled is "$(systemctl is-enabled vgpu-agent vgpu-stub vgpu-bind@ 2>&1 | tr '\n' ' ')" 'enabled enabled disabled '
judge started soon state vgpu-agent active
judge users is "$(ps -o user:20= -p "$(property vgpu-agent MainPID),$(property vgpu-stub MainPID)" | sort | tr '\n' ,)" 'vgpu,vgpu-stub,'
judge folders is "$(stat -c '%A %U %G' /run/vgpu /run/vgpu-stub | tr '\n' ,)" 'drwxr-xr-x vgpu vgpu,drwxr-x--- vgpu-stub vgpu-stub,'
usermod -aG vgpu member
judge the_loader_is_left_alone not finds /usr/lib/vgpu
judge run_gives_one_program_the_libraries as member vgpu run -- /opt/tests/vecadd
judge and_uses_the_service grep -q '"version":"0.' <(as member vgpu smi -j | tr -d ' \n')
judge beside_nvidias dpkg -i /opt/libcuda1.deb
judge system_not_beside_nvidias not dpkg -i /opt/old/libcuda-lite-system_*.deb
dpkg --purge libcuda-lite-system libcuda1
judge system dpkg -i /opt/old/libcuda-lite-system_*.deb
judge the_loader_has_ours finds '/usr/lib/vgpu/libcuda.so.1'
judge every_program as member /opt/tests/vecadd
judge nor_nvidias_beside_system not dpkg -i /opt/libcuda1.deb
dpkg --purge libcuda1
judge stranger_is_refused not as stranger /opt/tests/vecadd
# what belongs to the package of headers is told so
: >/tmp/x.cu
judge cc_names_the_package grep -q libcuda-lite-dev <(vgpu cc /tmp/x.cu 2>&1)
judge toolkit_names_the_package grep -q libcuda-lite-dev <(vgpu toolkit /tmp/toolkit 2>&1)
judge dev dpkg -i /opt/old/libcuda-lite-dev_*.deb
judge man test -e /usr/share/man/man1/vgpu.1.gz
if command -v gcc >/dev/null && command -v pkg-config >/dev/null; then
	cat >/tmp/x.c <<'C'
#include <cuda.h>
int main(void) { int n = 0; return cuInit(0) || cuDeviceGetCount(&n) || n != 1; }
C
	# shellcheck disable=SC2046
	judge compiles_by_pkg_config gcc -o /tmp/shared /tmp/x.c $(pkg-config --cflags --libs cuda)
	judge and_runs as member /tmp/shared
	# shellcheck disable=SC2046
	judge links_statically gcc -static -o /tmp/static /tmp/x.c $(pkg-config --cflags --libs --static libcuda-lite)
	judge runs_too as member /tmp/static
fi

# an upgrade leaves who computes alone
pids="$(property vgpu-agent MainPID) $(property vgpu-stub MainPID)"
echo '# by hand' >>/etc/ld.so.conf.d/zz-vgpu.conf
judge upgrade dpkg -i --force-confold /opt/new/*.deb
judge services_go_on running "$pids"
judge conffile_is_kept grep -q 'by hand' /etc/ld.so.conf.d/zz-vgpu.conf
judge new_library_old_agent as member /opt/tests/vecadd
systemctl restart vgpu-stub vgpu-agent
judge restarted soon state vgpu-agent active
judge after_the_restart soon as member /opt/tests/threads

# turned off by the administrator is turned off
systemctl disable --now vgpu-agent vgpu-stub
judge again dpkg -i --force-confold /opt/new/*.deb
judge stays_disabled is "$(systemctl is-enabled vgpu-agent vgpu-stub 2>&1 | tr '\n' ' ')" 'disabled disabled '
judge stays_stopped state vgpu-agent inactive
systemctl enable --now vgpu-stub vgpu-agent

judge remove dpkg --remove libcuda-lite-dev libcuda-lite-system vgpu libcuda-lite
judge services_are_gone not state vgpu-agent active
judge the_loader_forgets not finds /usr/lib/vgpu
judge purge dpkg --purge libcuda-lite-dev libcuda-lite-system vgpu libcuda-lite
snapshot >/mnt/after
judge nothing_stays diff <(cat /mnt/before) <(cat /mnt/after)
cat /mnt/*.log 2>/dev/null
echo end
