#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest: device and agent in here, without a PCI function, on a kernel with cgroup v2, Landlock and user namespaces. A cgroup for each
# client's contexts below one that was delegated as a service manager does it: that it is there, what its limits stop when nothing else
# does (native code without the filter), that it goes with its client; what is refused and said where it cannot be. Memory, processes
# and shares are the kernel's own figures.
. /common.sh
family=cgroup
export LD_LIBRARY_PATH=/lib/x86_64-linux-gnu:/usr/lib/vgpu
cg=/sys/fs/cgroup
mount -t cgroup2 cgroup2 $cg
for c in memory pids cpu; do echo +$c >$cg/cgroup.subtree_control; done
# loopback is not up, and nobody needs it
mkdir -p /tmp /etc /run/vgpu
chmod 1777 /run/vgpu /tmp
export VGPU_STUB_NATIVE_AGENT=$VGPU_AGENT
memory=$((64 << 20)) overhead=$((64 << 20)) tables=$((288 << 20))
device= agent= honest=
stop() {
	for p in $honest $agent $device; do kill $p; wait $p; done 2>/dev/null
	device= agent= honest=
	rm -f /run/vgpu/*
	# as a service manager does with what its service left
	rmdir $unit/* $unit 2>/dev/null
}
# unit UID ARG...: the device as a unit has it, in $unit; with the tests' hook in it
unit=$cg/vgpu-stub.service
unit() {
	uid=$1
	shift
	: >/run/stub.log
	# exec: the number is the device's
	delegate $unit $uid sh -c 'export VGPU_STUB_NATIVE_PID=$$; exec /native/vgpu-stub "$@"' sh --socket /run/vgpu/stub --cores 1 --overhead 64M --overheads 4G "$@" 2>>/run/stub.log &
	device=$!
	listens
}
# what does not start ends all: nothing behind it would say more
listens() {
	within 60 test -S /run/vgpu/stub && return 0
	bad "start: $(tail -n 3 /run/stub.log)"
	end
}
owner() {
	: >$log
	VGPU_STUB= vgpu-agent --device vfio-user:/run/vgpu/stub --listen $VGPU_AGENT --pidfile /run/a.pid 2>>$log &
	agent=$!
	within 60 says $log 'ready: '
}
smi() { timeout 60 vgpu smi -j; }
walls() { smi | tr -d ' \n' | grep -o '"walls":\[[^]]*\]' | grep -o '[a-z]*' | grep -v walls | tr '\n' ' '; }
said() { sed -n 's/^vgpu-stub: walls around contexts: //p' /run/stub.log; }
# ended STATUS WORDS ARG...: a device that does not start
ended() {
	status=$1 words=$2
	shift 2
	timeout 60 "$@" >/run/ended 2>&1
	[ $? = "$status" ] && says /run/ended "$words" && return 0
	sed 's/^/  | /' /run/ended
	return 1
}
leaves() { ls -d $unit/client-* 2>/dev/null | wc -l; }
leaf() { ls -d $unit/client-* | head -n 1; }
is() { [ "$1" = "$2" ] || { echo "  | $1, not $2"; return 1; }; }
no_leaf() { [ "$(leaves)" = 0 ]; }
one_leaf() { [ "$(leaves)" = 1 ]; }
two_leaves() { [ "$(leaves)" = 2 ]; }
event() { sed -n "s/^$2 //p" "$1"; }
hang() { : >/run/hang.$1; /tests/endless hang >/run/hang.$1 2>&1 & eval "hang$1=$!"; within 60 says /run/hang.$1 running; }
end_hangs() { kill -9 $hang1 $hang2; wait $hang1 $hang2; hang1= hang2=; } 2>/dev/null
hang1= hang2=
# native NAME OUTCOME...: one of these is how it begins what it says
native() {
	out=$(timeout 110 /tests/native $1 2>/dev/null) attack=$1
	shift
	for want; do case $out in "$want"*) return 0 ;; esac; done
	echo "  | $attack: $out"
	return 1
}
refused_all() { for a; do native beyond_$a refused || return 1; done; }
honest() { : >/run/honest; /tests/vecadd loop 600 100000 >/run/honest 2>&1 & honest=$!; within 60 says /run/honest running; }
well() { kill -0 $device && kill -0 $agent && kill -0 $honest && ! says /run/honest FAIL && vecadd; }

# --- where it cannot be
: >/run/stub.log
judge not_delegated ended 1 'no wall "cgroup": .*not delegated' vgpu-stub --socket /run/vgpu/x --memory 64M --require-walls=cgroup
judge not_delegated_refused says /run/ended 'require-walls: not all of them stand'
mkdir -p $cg/busy $cg/middle/bare
judge no_controllers ended 1 'no controller "memory"' vgpu-stub --socket /run/vgpu/x --memory 64M --require-walls=cgroup --cgroup $cg/middle/bare
sleep 300 &
echo $! >$cg/busy/cgroup.procs
judge has_processes ended 1 'no wall "cgroup": .*busy' vgpu-stub --socket /run/vgpu/x --memory 64M --require-walls=cgroup --cgroup $cg/busy
kill $!

# --- as the unit has it: a user, every wall but the one for root
judge unit_user unit 990 --memory 64M --require-walls=user,pid,mount,net,ipc,landlock,cgroup
owner
judge walls_user is "$(walls)" 'seccomp user pid mount net ipc landlock cgroup '
judge walls_said is "$(said) " "$(walls)"
judge missing_said says /run/stub.log 'no wall "uid": the device does not run as root'
judge device_in_a_leaf is "$(cat $unit/device/cgroup.procs)" "$device"
judge computes vecadd
judge leaves_go within 60 no_leaf
stop

# --- as root: all of them
judge unit_root unit 0 --memory 64M --require-walls
owner
judge walls_all is "$(walls)" 'seccomp user pid mount net ipc uid landlock cgroup '
hang 1
judge leaf_is_made one_leaf
judge memory_max is "$(cat $(leaf)/memory.max)" $((memory + overhead + tables))
judge pids_max is "$(cat $(leaf)/pids.max)" 5
judge cpu_weight is "$(cat $(leaf)/cpu.weight)" 100
judge context_is_in_it is "$(for p in $(cat $(leaf)/cgroup.procs); do cat /proc/$p/comm; done)" vgpu-context
hang 2
judge a_leaf_each two_leaves
# the heavier one has three times the time: what its cgroup says, of a processor that both want
client() { smi | tr -d ' \n' | grep -o '"clients":.*' | grep -o '"id":[0-9]*,"pid":'$1, | grep -o '[0-9]*' | head -n 1; }
heavy=$(for l in $unit/client-*; do echo $l; done | tail -n 1)
judge weight eval 'vgpu ctl weight $(client $hang2) 300'
weighed() { [ "$(cat $unit/client-*/cpu.weight 2>/dev/null | sort -n | tr '\n' ' ')" = '100 300 ' ]; }
judge weight_is_set within 60 weighed
used() { for l in $unit/client-*; do [ "$(cat $l/cpu.weight)" != $1 ] || event $l/cpu.stat usage_usec; done; }
shares() {
	a=$(used 100) b=$(used 300)
	until [ $(($(used 100) + $(used 300) - a - b)) -gt 2000000 ]; do sleep 0.2; done
	a=$(($(used 100) - a)) b=$(($(used 300) - b))
	echo "  | $a and $b us"
	[ $b -gt $((2 * a)) ] && [ $b -lt $((5 * a)) ]
}
judge shares shares
end_hangs
judge leaves_go_with_clients within 60 no_leaf
stop

# --- the filter has fallen, and a process's limits with it: the cgroup alone
export VGPU_STUB_NATIVE_BEYOND=1
unit 0 --memory 64M --require-walls
owner
honest
killed() { event $unit/memory.events oom_kill; }
before=$(killed)
judge shared_memory native cgroup_shared refused
# pages of a file are no process's: the kernel may take the context for them, which is as well
judge files_in_memory native cgroup_files refused died
judge killed_by_the_cgroup eval '[ $(killed) -ge $((before + 2)) ]'
judge not_by_the_machine eval '! dmesg | grep "Out of memory: Killed"'
judge processes native cgroup_forks 'refused Resource temporarily unavailable'
judge other_groups native cgroup_leave refused
judge others_are_well well
# the same fallen filter: what namespaces, Landlock and no rights leave of the machine, on this kernel
judge beyond refused_all passwd root create proc device exec agent network see kill trace peek mount chroot setuid nice module userns
stop
unit 990 --memory 64M --walls=landlock
owner
honest
judge landlock_alone is "$(walls)" 'seccomp landlock '
judge landlock refused_all passwd root create proc device exec trace peek
stop
unset VGPU_STUB_NATIVE_BEYOND
unit 0 --memory 320M --require-walls
owner
honest
before=$(killed)
judge both_memories native cgroup_all died
judge both_memories_killed eval '[ $(killed) -gt $before ]'
judge others_are_well_too well
# --- a group that cannot be made: no context, for nobody without walls; then it can again
echo 2 >$unit/cgroup.max.descendants
judge no_leaf_no_context eval '! vecadd'
judge no_leaf_is_said says /run/stub.log 'cannot start a context process'
echo max >$unit/cgroup.max.descendants
judge again vecadd
stop

# --- a group by hand: killed, the device cannot clear up; the next one does. Two of them have none together
unit=$cg/given
mkdir $unit
given() {
	: >/run/stub.log
	vgpu-stub --socket /run/vgpu/stub --memory 64M --cores 1 --overhead 64M --require-walls --cgroup $unit 2>>/run/stub.log &
	device=$!
	listens && owner
}
judge by_hand given
honest
judge another_device ended 1 "another device's" vgpu-stub --socket /run/vgpu/x --memory 64M --require-walls=cgroup --cgroup $unit
judge leaf_by_hand one_leaf
kill -9 $device
wait $device
kill $honest $agent
wait $honest $agent
device= agent= honest=
rm -f /run/vgpu/*
judge left_behind one_leaf
judge by_hand_again given
judge cleared_up no_leaf
judge computes_again vecadd
stop
end
