#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Debian's Slurm, slurmctld and slurmd on loopback: a job with --gres=gpu computes on the device, one without gets none.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
all_there() { command -v slurmctld && command -v slurmd && command -v srun && command -v munged; } >/dev/null
lacks=
# Debian's alternatives: slurmd is slurmd-wlm
unpacked() { local f; for f in "$1"/usr/*bin/*-wlm; do ln -s "${f##*/}" "${f%-wlm}" || return; done; }
all_there || with_packages slurmctld slurmd slurm-client munge
all_there && command -v setpriv >/dev/null || { skip "Slurm: $lacks"; exit 0; }
[ "$(id -u)" = 0 ] || { skip "Slurm: not root"; exit 0; }
P=$B/e2e/driver/vecadd
reachable "$V/vgpu" || { skip "Slurm: others cannot reach the build"; exit 0; }
node=$(uname -n); node=${node%%.*}
# srun's own sockets, paths of munge: not in a folder that only root may enter
S=$dir/slurm
chmod 711 "$dir"; mkdir -m 755 "$S" "$S/ctl" "$S/d" "$S/log"
ports() { python3 -c 'import socket
s = [socket.socket() for _ in range(2)]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))'; }
read -r port_ctl port_d < <(ports)
dd if=/dev/urandom of="$S/key" bs=1024 count=1 status=none; chmod 400 "$S/key"
start_stub
start_agent --mode 0666 --admission closed
# the installed script, with this build's vgpu; Slurm runs it in an empty environment
sed "s|@BINDIR@|$V|" tools/service/slurm.sh.in >"$S/slurm"
printf '#!/bin/sh\nexport VGPU_AGENT=%s\n. "%s/by"\nexec "%s/slurm"\n' "$VGPU_AGENT" "$S" "$S" >"$S/hook"
: >"$S/by"
chmod 755 "$S/slurm" "$S/hook"
cat >"$S/slurm.conf" <<END
ClusterName=vgpu
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmctldPort=$port_ctl
SlurmdPort=$port_d
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$S/munge.sock
StateSaveLocation=$S/ctl
SlurmdSpoolDir=$S/d
SlurmctldPidFile=$S/ctl.pid
SlurmdPidFile=$S/d.pid
SlurmctldLogFile=$S/log/ctl
SlurmdLogFile=$S/log/d
ProctrackType=proctrack/cgroup
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
GresTypes=gpu
Prolog=$S/hook
Epilog=$S/hook
PrologFlags=Alloc
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 Gres=gpu:1 State=UNKNOWN
PartitionName=p Nodes=ALL Default=YES MaxTime=10 State=UP
END
echo "NodeName=$node Name=gpu File=/dev/null" >"$S/gres.conf"
v1=cgroup/v1; [ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ] && v1=cgroup/v2
printf 'CgroupPlugin=%s\nCgroupMountpoint=/sys/fs/cgroup\nConstrainDevices=no\n' $v1 >"$S/cgroup.conf"
export SLURM_CONF=$S/slurm.conf
pids=()
stop() {
	scancel -u nobody 2>/dev/null
	for p in "${pids[@]}"; do kill "$p" 2>/dev/null; done
	for p in "${pids[@]}"; do wait "$p" 2>/dev/null; done
	for f in /sys/fs/cgroup/*/slurm_"$node" /sys/fs/cgroup/*/slurm; do [ -d "$f" ] && find "$f" -depth -type d -exec rmdir {} \; ; done 2>/dev/null
	cleanup
}
trap stop EXIT
munged --foreground --key-file="$S/key" --socket="$S/munge.sock" --pid-file="$S/munge.pid" --log-file="$S/log/munge" --seed-file="$S/seed" --force >"$S/log/munged" 2>&1 & pids+=($!)
until_true test -S "$S/munge.sock"
slurmctld -D -f "$SLURM_CONF" >"$S/log/ctl.out" 2>&1 & pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$node" >"$S/log/d.out" 2>&1 & pids+=($!)
idle() { sinfo -h -o %T | grep -q idle; }
if ! until_true idle; then
	skip "Slurm: no node comes up here: $(tail -n 1 "$S/log/d" "$S/log/ctl" | tr '\n' ' ')"
	exit 0
fi
as() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
job() { as timeout 100 srun --quiet --chdir=/ "$@" >"$dir/out" 2>&1; }
job --gres=gpu:1 cat /proc/self/cgroup || { fail "a job: $(cat "$dir/out" "$S/log/d")"; exit 1; }
inside=$(cut -d: -f3- "$dir/out" | grep '/job_' | head -n 1)
[ -n "$inside" ] || { skip "Slurm: its jobs have no cgroup here: $(cat "$dir/out")"; exit 0; }
ok "a job runs in $(sed 's/job_.*/job_N/' <<<"$inside")"
job --gres=gpu:1 "$P" && grep -q ok "$dir/out" && ok "a job with --gres=gpu:1 computes on the device (File=/dev/null)" || fail "with --gres: $(cat "$dir/out"), $("$V/vgpu" ctl list), $(tail -n 5 "$S/log/d")"
job "$P"; st=$?
[ $st != 0 ] && grep -q 'is not admitted (vgpu ctl admit)' "$dir/out" && ok "one without gets no device, and is told" || fail "without --gres: exit $st: $(cat "$dir/out")"
job --gres=gpu:1 sh -c "'$P' && '$P'" && ok "as often as it likes" || fail "twice: $(cat "$dir/out")"
# one of the same user beside it, while the first is there
job --gres=gpu:1 sh -c "touch '$S/log/here' 2>/dev/null; exec sleep 8" & beside=$!
until_true sh -c "squeue -h -t R | grep -q ."
until_true sh -c "'$V/vgpu' ctl list | grep -q 'cgroup .*/job_.* is admitted'"
as timeout 60 srun --quiet --chdir=/ "$P" >"$dir/second" 2>&1
[ $? != 0 ] && grep -q 'not admitted' "$dir/second" && ok "nor one without beside another of the same user with it" || fail "beside: $(cat "$dir/second")"
wait $beside
none() { ! "$V/vgpu" ctl list | grep -qE '^(cgroup|user) .* is admitted'; }
until_true none && ok "the epilogue takes it back" || fail "left: $("$V/vgpu" ctl list)"
grep -q 'admits cgroup' "$dir/agent.log" && grep -q 'forgets cgroup' "$dir/agent.log" && ok "both are in the log" || fail "log: $(tail -n 5 "$dir/agent.log")"
# by user, where there are no cgroups to go by
echo 'export VGPU_SLURM_BY=uid' >"$S/by"
job --gres=gpu:1 "$P" && ok "by user" || fail "by user: $(cat "$dir/out")"
until_true none && ok "and the last job takes the user's leave with it" || fail "left by user: $("$V/vgpu" ctl list)"
job "$P"; [ $? != 0 ] && grep -q 'not admitted' "$dir/out" && ok "then nobody is left" || fail "after: $(cat "$dir/out")"
rmdir /run/vgpu-slurm 2>/dev/null
# contrib's plugin: installed, or unpacked into the build
where=/usr/lib/x86_64-linux-gnu/slurm-wlm plugins=$where N=$B/test/slurm
if [ ! -e $where/gpu_nvml.so ] && [ ! -e "$N$where/gpu_nvml.so" ] && [ "${VGPU_TEST_STRANGERS:-}" = 1 ]; then
	from=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 2>/dev/null | grep -m 1 '/debian/ [a-z]*$')
	mkdir -p "$N/lists/partial" "$N/cache/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $from contrib" >"$N/list"
	apt=(-o "Dir::Etc::sourcelist=$N/list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$N/lists" -o "Dir::Cache=$N/cache")
	(timeout 200 apt-get "${apt[@]}" update && cd "$N" && timeout 200 apt-get "${apt[@]}" download slurm-wlm-nvml-plugin && dpkg -x slurm-wlm-nvml-plugin_*.deb .) >"$dir/apt" 2>&1
	rm -rf "$N"/*.deb "$N/lists" "$N/cache" "$N/list"
fi
[ -e "$N$where/gpu_nvml.so" ] && plugins=$where:$N$where
if [ -e $where/gpu_nvml.so ] || [ -e "$N$where/gpu_nvml.so" ]; then
	echo "PluginDir=$plugins" >>"$SLURM_CONF"
	echo "AutoDetect=nvml" >"$S/gres.conf"
	LD_LIBRARY_PATH=$B/lib:$B/lib/dev-13 slurmd -f "$SLURM_CONF" -N "$node" -G >"$dir/out" 2>&1
	grep -q 'Gres Name=gpu Type=.*Count=1 .*File=/dev/nvidia0 Cores=[0-9]' "$dir/out" && ok "AutoDetect=nvml finds the device: $(sed -n 's/.*\(Gres Name=gpu Type=[^ ]*\).*/\1/p' "$dir/out" | head -n 1)" || fail "AutoDetect=nvml: $(cat "$dir/out")"
else
	skip "AutoDetect=nvml: this Slurm has no gpu_nvml.so (Debian's contrib: slurm-wlm-nvml-plugin; VGPU_TEST_STRANGERS=1 fetches it)"
fi
