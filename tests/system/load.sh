#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the device is said to be, and to do: how busy, by whom, one UUID each, a place on no bus of the machine, lost and back.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}

$CC -O1 -Ilibcuda-lite/include -o "$dir/load" tests/system/load.c "$B/lib/libcuda.so.1" || { fail "the load does not build"; exit 1; }
cat >"$dir/ask.c" <<'C'
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NK(c) do { nvmlReturn_t r_ = (c); if (r_) { printf("%s: %d\n", #c, r_); exit(1); } } while (0)
int main(int argc, char **argv)
{
	nvmlUtilization_t u;
	nvmlEventData_t e;
	nvmlEventSet_t set;
	nvmlMemory_t m;
	nvmlDevice_t d;
	unsigned n;
	char uuid[96];

	NK(nvmlInit_v2());
	NK(nvmlDeviceGetCount_v2(&n));
	NK(nvmlDeviceGetHandleByIndex_v2(0, &d));
	NK(nvmlDeviceGetUUID(d, uuid, sizeof uuid));
	if (!strcmp(argv[1], "often")) {
		for (int i = 0; i < 2000; i++)
			NK(nvmlDeviceGetUtilizationRates(d, &u));
		puts("asked");
	} else if (!strcmp(argv[1], "share")) {
		NK(nvmlDeviceGetUtilizationRates(d, &u));
		printf("%u\n", u.gpu);
	} else if (!strcmp(argv[1], "events")) {
		NK(nvmlEventSetCreate(&set));
		NK(nvmlDeviceRegisterEvents(d, nvmlEventTypeXidCriticalError, set));
		puts("waiting");
		fflush(stdout);
		NK(nvmlEventSetWait_v2(set, &e, 60000));
		printf("xid %llu\n", e.eventData);
	} else {
		printf("%u %s %d\n", n, uuid, nvmlDeviceGetMemoryInfo(d, &m));
	}
	return 0;
}
C
$CC -O1 -Wno-unused -Ilibcuda-lite/include -o "$dir/ask" "$dir/ask.c" "$B/lib/libnvidia-ml.so.1" || { fail "the monitor does not build"; exit 1; }

# a user whose container has no number for the agent's group: a socket in a folder of his own
also=
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 711 "$dir"
	install -d -o 65534 -g root -m 0770 "$dir/also"
	also="--also-listen $dir/also/agent.sock"
fi
start_stub
# shellcheck disable=SC2086
start_agent $also
if [ -z "$also" ]; then
	skip "--also-listen: not root"
elif as=$(VGPU_AGENT=$dir/also/agent.sock setpriv --reuid=65534 --regid=65534 --clear-groups unshare -Ur "$V/vgpu" smi -j 2>&1); then
	grep -q '"state":"ready"' <<<"$as" && ok "--also-listen: reached from a user namespace" || fail "--also-listen: $as"
	VGPU_AGENT=$dir/also/agent.sock setpriv --reuid=65533 --regid=65533 --clear-groups "$V/vgpu" smi >"$dir/out" 2>&1 &&
		fail "--also-listen: another user gets in" || { grep -q 'may not search the folder' "$dir/out" && ok "--also-listen: not by another user"; }
elif grep -qi unshare <<<"$as"; then
	skip "--also-listen from a user namespace: $as"
else
	fail "--also-listen: $as"
fi

# --- how busy: what is counted while a program works lies between what its events say and how long it waited. A device that is kept
# from its processor just after its work counts that too, so the best of some tries; sleep taken for work would be there in each.
counted() { "$V/vgpu" metrics | awk '/^vgpu_device_busy_seconds_total/ { printf "%d", $2 * 1000 }'; }
busy() { # WHAT ROUNDS
	local before after
	mkfifo "$dir/go.$1"
	: >"$dir/worked"
	"$dir/load" "$1" "$2" held <"$dir/go.$1" >"$dir/worked" & load=$!
	exec 5>"$dir/go.$1"
	until_true grep -q begins "$dir/worked"
	before=$(counted)
	echo >&5
	until_true grep -q worked "$dir/worked"
	after=$(counted)
	exec 5>&-
	wait $load
	rm "$dir/go.$1"
	read -r _ least _ most _ whole _ < <(grep worked "$dir/worked")
	have=$((after - before))
}
for what in COPY KERNEL; do
	for try in 1 2 3 4 5 6; do
		busy $what 30
		[ "$have" -ge $((least * 95 / 100)) ] && [ "$have" -le $((most + most / 10 + whole / 20)) ] && break
	done
	[ "$have" -ge $((least * 95 / 100)) ] && [ "$have" -le $((most + most / 10 + whole / 20)) ] && ok "$what: busy for $have ms, between $least and $most of $whole" ||
		fail "$what: busy for $have ms, not between $least and $most of $whole"
done
# NVML's look at it, which says nothing else
ask() { "$dir/ask" share 2>>"$dir/err"; }
seen() { [ "$(ask)" -gt 0 ]; }
rests() { [ "$(ask)" = 0 ]; }
"$dir/load" KERNEL 1000000 >/dev/null & load=$!
until_true seen && [ "$(ask)" -le 100 ] && ok "NVML sees kernels" || fail "NVML sees nothing of a device that works"
# 2,000 times: one that waits for its own samples, a tenth of a second each, would be at it for minutes
[ "$(timeout 100 "$dir/ask" often 2>>"$dir/err")" = asked ] && ok "the question does not wait" || fail "the question waits"
kill $load; wait $load 2>/dev/null
until_true rests && ok "nothing runs: 0 %" || fail "nothing runs, and it is busy: $(ask) %"
# a minute of rest would look the same: no samples are taken, and the first work after it counts
"$dir/load" KERNEL 1000000 >/dev/null & load=$!
until_true seen && ok "work after a rest is seen" || fail "work after a rest is not seen"
kill $load; wait $load 2>/dev/null
[ ! -s "$dir/err" ] || fail "NVML says something on stderr: $(head -n 2 "$dir/err")"

# --- place and name
id=$("$V/vgpu" smi -j | sed 's/.*"bus_id":"\([^"]*\)".*/\1/')
[ -n "$id" ] && [ ! -e "/sys/bus/pci/devices/$id" ] && ok "its bus id $id is nobody's here" || fail "bus id '$id' is a device of this machine"
uuid=$("$V/vgpu" smi -j | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
"$V/vgpu-stub" --socket "$dir/stub2" 2>"$dir/stub2.log" & second=$!
until_true test -S "$dir/stub2"
"$V/vgpu-agent" --device "vfio-user:$dir/stub2" --listen "$dir/agent2" --pidfile "$dir/pid2" 2>"$dir/agent2.log" & other=$!
until_true env VGPU_AGENT="$dir/agent2" "$V/vgpu" smi -j
uuid2=$(VGPU_AGENT=$dir/agent2 "$V/vgpu" smi -j | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
[ -n "$uuid2" ] && [ "$uuid" != "$uuid2" ] && ok "two devices of a machine have two UUIDs" || fail "UUIDs $uuid and $uuid2"
kill $other $second; wait $other $second 2>/dev/null
for n in 3 4; do
	"$V/vgpu-stub" --socket "$dir/stub$n" --uuid GPU-01234567-89ab-cdef-0123-456789abcdef 2>"$dir/stub$n.log" &
	eval "s$n=\$!"
	until_true test -S "$dir/stub$n"
done
out=$(timeout 20 "$V/vgpu-agent" --device "vfio-user:$dir/stub3" --device "vfio-user:$dir/stub4" --listen "$dir/agent3" --pidfile "$dir/pid3" 2>&1)
st=$?
[ $st = 1 ] && grep -q 'UUID of device 0' <<<"$out" && ok "two devices of one UUID are refused: both are named" || fail "two devices of one UUID: exit $st: $out"
"$V/vgpu-agent" --device "vfio-user:$dir/stub3" --listen "$dir/agent3" --pidfile "$dir/pid3" 2>/dev/null & other=$!
until_true env VGPU_AGENT="$dir/agent3" "$V/vgpu" smi -j
VGPU_AGENT=$dir/agent3 "$V/vgpu" smi -j | grep -q GPU-01234567-89ab-cdef-0123-456789abcdef && ok "--uuid names the device" || fail "--uuid is not what smi says"
kill $other $s3 $s4; wait $other $s3 $s4 2>/dev/null
for bad in GPU-1 GPU-00000000-0000-0000-0000-000000000000 GPU-01234567-89ab-cdef-0123-456789abcdeg; do
	"$V/vgpu-stub" --socket "$dir/no" --uuid $bad 2>/dev/null && fail "--uuid $bad was taken" || ok "--uuid $bad is refused"
done

# --- lost, and seen as lost
"$dir/ask" events >"$dir/events" & ev=$!
until_true grep -q waiting "$dir/events"
kill -KILL "$stub"; wait "$stub" 2>/dev/null; stub=
wait $ev
grep -q '^xid 79$' "$dir/events" && ok "who waits for events hears that the device is lost" || fail "events of a lost device: $(cat "$dir/events")"
out=$("$dir/ask" list)
[ "$out" = "1 $uuid 15" ] && ok "NVML counts a lost device, by its UUID, and says that it is lost" || fail "NVML of a lost device: $out"
out=$("$V/vgpu" smi)
grep -q 'LOST' <<<"$out" && grep -q "$uuid" <<<"$out" && ok "smi shows a lost device as lost" || fail "smi of a lost device: $out"
"$V/vgpu" smi -j | grep -q '"state":"lost"' && ok "smi -j: state lost" || fail "smi -j of a lost device: $("$V/vgpu" smi -j)"
"$V/vgpu" metrics | grep -qx "vgpu_device_up{gpu=\"0\",uuid=\"$uuid\"} 0" && ok "metrics: a lost device is there, and down" || fail "metrics of a lost device: $("$V/vgpu" metrics | grep device_up)"
rm -f "$dir/stub"
start_stub
until_true sh -c "'$V/vgpu' smi -j | grep -q '\"state\":\"ready\"'" && ok "it is back" || fail "it does not come back"
"$V/vgpu" smi -j | grep -q "$uuid" && ok "with the same UUID" || fail "it came back as another"
