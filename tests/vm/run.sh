#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The agent and its clients inside a guest, the device outside: kernel VFIO for real, on any machine, under plain emulation.
# With a stock kernel (groups), and with the one that "make guest-kernel" builds (cdev and iommufd) when it is there. Prints
# "ok NAME", "FAIL NAME reason", "skip NAME reason".
#
#   run.sh BUILD [PATTERN]          PATTERN: only boots whose name matches it
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
only=${2:-}
# shellcheck source=tests/vm/lib.sh
. "$here/lib.sh"

tmp=$(mktemp -d /tmp/vgpu-vm.XXXXXX)
# of this shell; each boot runs in one of its own
stub='' guest='' agent=''
stop_mine() {
	for p in $guest $stub $agent; do kill -9 "$p"; done
	wait
} 2>/dev/null
cleanup() {
	for p in $(jobs -pr); do kill "$p"; done
	stop_mine
	# for whoever looks for the cause of a failure
	mkdir -p "$B/test-logs/vm" && cp "$tmp"/*.serial "$tmp"/*.qemu "$tmp"/*.stub "$B/test-logs/vm/"
	rm -rf "$tmp"
} 2>/dev/null
trap cleanup EXIT
trap 'exit 1' INT TERM

if ! vm_prepare "$B" 2>"$tmp/why"; then
	echo "skip vm $(tail -n 1 "$tmp/why")"
	exit 0
fi
programs='vecadd reduce matmul scan threads'
mkdir "$tmp/tests"
for p in $programs; do
	[ -x "$B/e2e/static-musl/$p" ] || { echo "FAIL vm static-musl/$p is not built (make e2e)"; exit 1; }
	strip -s -o "$tmp/tests/$p" "$B/e2e/static-musl/$p"
done
cp "$B"/test/vm/{outside,edu} "$tmp/tests/" || exit 1

bad=0
verdict() { # verdict NAME CONDITION...
	local name=$1
	shift
	if "$@"; then echo "ok $name"; else echo "FAIL $name ($*)"; bad=1; fi
}

vm_stub_file=bin/vgpu-stub
device() { # device NAME ARG...: serves NAME.device, says what it has to say to NAME.stub
	local name=$1
	shift
	rm -f "$tmp/$name.device"
	"$B/$vm_stub_file" --socket "$tmp/$name.device" --memory 512M "$@" >"$tmp/$name.stub" 2>&1 &
	stub=$!
	wait_for 600 "$tmp/$name.device"
}
wait_for() { # wait_for TENTHS SOCKET
	local n=$1
	while [ ! -S "$2" ] && [ "$n" -gt 0 ]; do sleep 0.1; n=$((n - 1)); done
	[ -S "$2" ]
}
end_of() { # end_of PID: it is told to end, and waited for
	kill "$1"
	wait "$1"
} 2>/dev/null

# What the guest asks of the machine, each once: a line "#word" on its serial line
serve() { # serve NAME
	local word all
	mapfile -t all < <(tr -d '\r' <"$tmp/$1.serial" | grep -o '^#[a-z-]*$')
	for word in "${all[@]:$served}"; do
		served=$((served + 1))
		case $word in
		"#kill-device") kill -9 "$stub"; gone=yes ;;
		"#stop-device") kill -STOP "$stub"; sleep 2; kill -CONT "$stub" ;;
		"#unplug") gone=yes; "$here/qmp.py" "$tmp/$1.qmp" device_del '{"id":"vgpu0"}' >>"$tmp/$1.qemu" 2>&1 ;;
		"#end") ended=yes ;;
		esac
	done
}

# boot NAME LIMIT_S LINES INITRAMFS CMDLINE QEMU-ARG...: LINES verdicts are expected. vm_stub: arguments of the device
vm_stub=''
boot() {
	local name=$1 limit=$2 lines=$3 initramfs=$4 cmdline=$5 serial=$tmp/$1.serial until gone='' ended='' got served=0
	shift 5
	# shellcheck disable=SC2086
	device "$name" $vm_stub
	rm -f "$tmp/$name.qmp"
	: >"$serial"
	vm_qemu "$tmp/$name.device" "$initramfs" "$cmdline" "$@" -qmp "unix:$tmp/$name.qmp,server=on,wait=off" -serial "file:$serial" \
		>"$tmp/$name.qemu" 2>&1 </dev/null &
	guest=$!
	until=$((SECONDS + limit))
	while kill -0 $guest 2>/dev/null; do
		serve "$name"
		# what is left of QEMU after the guest's end is not worth waiting for
		if [ -n "$ended" ] || [ $SECONDS -ge $until ]; then
			sleep 0.3
			kill -9 $guest 2>/dev/null
		fi
		sleep 0.1
	done
	wait $guest
	guest=''
	end_of "$stub"
	stub=''
	got=$(tr -d '\r' <"$serial" | grep -cE '^(ok|FAIL) ')
	# QEMU without KVM on a busy machine: a kernel that does not come up says nothing about us, once
	if [ "$got" = 0 ] && [ -z "${again:-}" ] && grep -q 'Kernel panic' "$serial"; then
		echo "$name: the guest's kernel did not come up: $(grep -m 1 'Kernel panic' "$serial"); once more"
		again=yes boot "$name" "$limit" "$lines" "$initramfs" "$cmdline" "$@"
		return
	fi
	# known of QEMU 11.1: a vfio-user device that vanishes at the wrong moment ends QEMU, not the device
	if [ -n "$gone" ] && [ "$got" != "$lines" ] && grep -q 'Assertion' "$tmp/$name.qemu" && ! grep -q '^FAIL ' "$serial"; then
		tries=$((${tries:-0} + 1))
		if [ $tries -lt 4 ]; then
			boot "$name" "$limit" "$lines" "$initramfs" "$cmdline" "$@"
		else
			echo "skip $name QEMU aborts when the device's process goes: $(tail -n 1 "$tmp/$name.qemu")"
		fi
		return
	fi
	tr -d '\r' <"$serial" | grep -E '^(ok|FAIL|  \|) '
	if [ "$got" != "$lines" ]; then
		echo "FAIL $name/end $got of $lines verdicts within $limit s; the end of the serial line:"
		tail -n 25 "$serial" | sed 's/^/  | /'
		tail -n 5 "$tmp/$name.qemu" "$tmp/$name.stub" | sed 's/^/  | /'
	fi
} 2>/dev/null

# job NAME COMMAND...: boots run side by side, as many as there are processors, four at most (1 GiB each). What each said comes in
# the order of their starts.
started=() lanes=$(nproc)
[ "$lanes" -le 4 ] || lanes=4
job() {
	local name=$1
	shift
	[[ $name =~ $only ]] || return 0
	while [ "$(jobs -pr | wc -l)" -ge "$lanes" ]; do wait -n; done
	(
		trap stop_mine EXIT
		trap 'exit 1' INT TERM
		SECONDS=0
		"$@"
		echo "  ($name: $SECONDS s)"
	) >"$tmp/$name.out" 2>&1 &
	started+=("$name")
}
judges() { grep -c '^judge ' "$here/$1"; }

vecadd() { VGPU_AGENT="$tmp/agent.sock" timeout 120 "$tmp/tests/vecadd" >"$tmp/vecadd.log"; }
# The program that is in every guest has served vfio-user out here first.
vfio_user() {
	device vfio_user
	"$B/bin/vgpu-agent" --device "vfio-user:$tmp/vfio_user.device" --listen "$tmp/agent.sock" >"$tmp/agent.log" 2>&1 &
	agent=$!
	wait_for 600 "$tmp/agent.sock"
	verdict vfio_user/vecadd vecadd
	sha256sum <"/proc/$agent/exe" >"$tmp/tests/agent.sha256"
	end_of $agent
	agent=''
	end_of "$stub"
	stub=''
}
vfio_user

# what "make guest" writes, but for the kernel's own modules
guest_image() {
	local bytes
	vm_modules=no vm_initramfs "$tmp/image.gz" init="$B/bin/vgpu-agent" shell="$here/shell.sh" \
		$(for p in $programs; do echo "programs/$p=$tmp/tests/$p"; done) || return 1
	bytes=$(stat -c %s "$tmp/image.gz")
	# five programs with the whole library in each, its linker of PTX included
	verdict "image/below_2560_kib $((bytes / 1024)) KiB" [ "$bytes" -lt $((2560 * 1024)) ]
}
guest_image

# a slot with hot plug as PCI Express has it, not as ACPI
port=(-device pcie-root-port,id=rp1,slot=1 -global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off)

# all_in_one SET: one initramfs for every boot of a kernel: the agent as /init, and the scripts that are /init in its place (rdinit=)
all_in_one() {
	local f scripts=()
	# an emulated machine unpacks for a second what is read in none; only where the agent is PID 1 it does, as with what make guest writes
	image=$tmp/$1.cpio
	for f in common owner killed edu message noiommu refuse programs; do scripts+=("$f.sh=$here/$f.sh"); done
	vm_initramfs "$image" init="$B/bin/vgpu-agent" bin/vgpu-agent@/init tests="$tmp/tests" "${scripts[@]}" || exit 1
	gzip -1c "$image" >"${image%.cpio}.gz" || exit 1
}

# the agent is PID 1, and ends when it is asked to
powered_off() { grep -q "SIGUSR2: ending" "$1" && grep -q "Power down" "$1"; }
pid1() { # pid1 WAY WORDS
	boot "pid1-$1" 300 8 "${image%.cpio}.gz" "hugepages=64 way=$1 rdinit=/init -- --modules /modules --run /programs.sh"
	verdict "pid1-$1/way" grep -q "kernel VFIO, by $2" "$tmp/pid1-$1.serial"
	verdict "pid1-$1/powers_off" powered_off "$tmp/pid1-$1.serial"
	verdict "pid1-$1/msix_outside $(grep -o 'interrupts sent.*' "$tmp/pid1-$1.stub" | tail -n 1)" \
		grep -q 'interrupts sent to it: [1-9][0-9]* by the admin queue, [1-9][0-9]* by contexts' "$tmp/pid1-$1.stub"
}

# boots WAY WORDS: what holds whichever way the kernel's VFIO is used
boots() {
	local way=$1 words=$2
	# owners come and go, and so does the device
	vm_bus=rp1 job "owner-$way" boot "owner-$way" 400 "$(judges owner.sh)" "$image" "hugepages=64 rdinit=/owner.sh -- $way" "${port[@]}"
	# its process dies; until then native code in its contexts asks for a doorbell with every command, through the machine
	VGPU_STUB_NATIVE_BELLS=1 vm_stub_file=test/hostile/bin/vgpu-stub job "killed-$way" boot "killed-$way" 300 "$(judges killed.sh)" "$image" "hugepages=64 rdinit=/killed.sh -- $way"
	job "pid1-$way" pid1 "$way" "$words"
	# a device that is not ours, by the same transport
	job "edu-$way" boot "edu-$way" 300 "$(judges edu.sh)" "$image" "rdinit=/edu.sh -- $way" \
		"${port[@]}" -device edu,bus=rp1,dma_mask=0xffffffffffffffff
}

all_in_one stock
# every access of the device is a message, so the guest's IOMMU sees it
vm_stub='--dma message' job message boot message 400 "$(judges message.sh)" "$image" "hugepages=64 rdinit=/message.sh"
boots group 'group and container'
# what cannot work is refused in words: a group shared with another driver's device, a machine without an IOMMU
vm_bus=bridge vm_addr=3 job refuse-shared boot refuse-shared 300 3 "$image" "hugepages=16 rdinit=/refuse.sh -- not_viable" \
	-device pcie-pci-bridge,id=bridge -device pci-serial,bus=bridge,addr=2
vm_iommu='' job refuse-bare boot refuse-bare 300 3 "$image" "hugepages=16 rdinit=/refuse.sh -- no_iommu"

# no function: device, agent and clients all inside, for what the kernel is to put around contexts
with_device() {
	local root=$tmp/inside f
	mkdir -p "$root"/{bin,native,lib64,lib/x86_64-linux-gnu,usr/lib/vgpu,tests}
	for f in vgpu vgpu-stub; do strip -s -o "$root/bin/$f" "$B/bin/$f"; done
	strip -s -o "$root/native/vgpu-stub" "$B/test/hostile/bin/vgpu-stub"
	cp "$B/e2e/driver/endless" "$B/test/hostile/native" "$tmp/tests/vecadd" "$root/tests/"
	cp "$B/test/vm/delegate" "$root/bin/"
	strip -s -o "$root/usr/lib/vgpu/libcuda.so.1" "$B/lib/libcuda.so.1"
	for f in "$root"/bin/vgpu-stub "$root"/bin/vgpu "$root"/tests/native; do ldd "$f"; done | awk '$3 ~ /^\/(usr\/)?lib/ {print $3}' | sort -u |
		while read -r f; do cp -L "$f" "$root/lib/x86_64-linux-gnu/"; done
	cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
	vm_initramfs "$tmp/inside.cpio" /="$root" bin/vgpu-agent="$B/bin/vgpu-agent" common.sh="$here/common.sh" cgroup.sh="$here/cgroup.sh" || return
	VGPU_VM_MEMORY=1536M boot cgroup 600 "$(judges cgroup.sh)" "$tmp/inside.cpio" "rdinit=/cgroup.sh"
}
job cgroup with_device

if vm_own_kernel 2>"$tmp/why"; then
	all_in_one own
	boots cdev 'cdev and iommufd'
	vm_iommu='' job noiommu boot noiommu 300 "$(judges noiommu.sh)" "$image" "hugepages=96 rdinit=/noiommu.sh"
else
	echo "skip cdev $(tail -n 1 "$tmp/why")"
fi
wait
for name in "${started[@]}"; do
	cat "$tmp/$name.out"
	[[ $(tail -n 1 "$tmp/$name.out") == "  ("* ]] || echo "FAIL $name it came to no end" | tee -a "$tmp/$name.out"
	! grep -q '^FAIL ' "$tmp/$name.out" || bad=1
done
exit $bad
