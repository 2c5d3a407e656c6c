#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest: what owner.sh and killed.sh share, both /init. Sets up the machine; $family names the verdicts.
export PATH=/bin
mount -t devtmpfs d /dev 2>/dev/null
mkdir -p /proc /sys /run
mount -t proc p /proc
mount -t sysfs s /sys
for m in /modules/*.ko; do [ ! -e "$m" ] || insmod "$m"; done
log=/run/agent.log
# from the kernel's command line, behind "--": the way that is to be seen in the log, flags of the agent
way=${1:-group} flags=${2:-} place=auto
export VGPU_AGENT=/run/a.sock

ok() { echo "ok $family/$*"; }
bad() { echo "FAIL $family/$*"; tail -n 12 $log 2>/dev/null | sed 's/^/  | /'; }
# judge NAME CONDITION...: runs it
judge() { name=$1; shift; if "$@"; then ok "$name"; else bad "$name ($*)"; fi; }
says() { grep -q -e "$2" "$1"; }
# the program of process PID is the one that served vfio-user outside, byte for byte
same_program() { [ "$(sha256sum </proc/$1/exe)" = "$(cat /tests/agent.sha256)" ]; }
# hundredths of seconds since the boot
now() { sed 's/\.\([0-9]*\) .*/\1/' /proc/uptime; }
# within SECONDS COMMAND...: waits no longer than it must. This machine is emulated by a busy one: SECONDS tell apart what comes
# from what never comes, and nothing finer.
within() { n=$(($1 * 10)); shift; while [ $n -gt 0 ]; do "$@" && return 0; n=$((n - 1)); usleep 100000; done; return 1; }
# the agent, on $place
start() {
	: >$log
	vgpu-agent --device $place $flags --listen $VGPU_AGENT --verbose 2>>$log &
	agent=$!
	within 60 says $log 'ready: '
}
# a client at work, as $client: it goes on until something happens to it
load() { : >/run/client; /tests/vecadd loop 600 >/run/client 2>&1 & client=$!; within 60 says /run/client running; usleep 200000; }
vecadd() { timeout 120 /tests/vecadd >/run/vecadd 2>&1; }
refused() { # refused PATTERN ARG...: this start fails, in these words
	want=$1; shift
	timeout 60 vgpu-agent "$@" --listen /run/b.sock >/run/refused 2>&1 && return 1
	says /run/refused "$want" || { cat /run/refused; return 1; }
}
lost() { kill -0 "$1" 2>/dev/null && return 1; wait "$1"; [ $? != 0 ]; }
address=$(for d in /sys/bus/pci/devices/*; do [ "$(cat $d/device)" = 0x7667 ] && echo "${d##*/}"; done)
sys=/sys/bus/pci/devices/$address
end() {
	sed "s/^/  # /" $log
	echo "#end"
	sync
	# isa-debug-exit: QEMU ends with (1 << 1) | 1
	printf '\001' | dd of=/dev/port bs=1 seek=244 2>/dev/null
	poweroff -f
}
