# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What run.sh and guest.sh share. After vm_prepare: $qemu, $kernel (a folder), $busybox.

# vm_kept take|give PART LAST: what a build of this month has fetched is the next one's too, in VGPU_TEST_CACHE; to unpack QEMU and kernel
# takes 14 s of processor time. PART has come whole when LAST is in it.
vm_kept() {
	local all=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests} kept old
	kept=$all/vm-$(date +%Y-%m)
	if [ "$1" = take ]; then
		[ ! -e "$cache/$2/$3" ] && [ -e "$kept/$2/$3" ] || return 0
		rm -rf "${cache:?}/$2" && cp -a "$kept/$2" "$cache/$2"
	else
		[ -e "$cache/$2/$3" ] && [ ! -e "$kept/$2" ] || return 0
		mkdir -p "$kept" && cp -a "$cache/$2" "$kept/$2.$$" && mv -T "$kept/$2.$$" "$kept/$2" || rm -rf "$kept/$2.$$"
		for old in "$all"/vm-*; do [ "$old" = "$kept" ] || rm -rf "$old"; done
	fi
}

# vm_prepare BUILD: fetches or finds QEMU and kernel in BUILD/vm (or $VGPU_VM_CACHE). 77 and a reason on stderr: not here.
vm_prepare() {
	local here
	cache=${VGPU_VM_CACHE:-$1/vm}
	here=$(dirname "${BASH_SOURCE[0]}")
	mkdir -p "$cache"
	vm_kept take kernel version
	vm_kept take qemu qemu-system-x86_64
	# both at once: unpacking costs more than the line. The last line that is said is the reason of who failed.
	"$here/fetch-kernel.sh" "$cache/kernel" 2>"$cache/kernel.says" &
	qemu=$("$here/fetch-qemu.sh" "$cache/qemu") || { wait $!; return 77; }
	wait $! || { cat "$cache/kernel.says" >&2; return 77; }
	cat "$cache/kernel.says" >&2
	vm_kept give kernel version
	vm_kept give qemu qemu-system-x86_64
	# On a busy machine a process that is not dead may answer later than in the five seconds behind which QEMU gives its device up.
	vm_patience=''
	! "$qemu" -device vfio-user-pci,help 2>/dev/null | grep -q x-msg-timeout || vm_patience=',"x-msg-timeout":60000'
	kernel=$cache/kernel
	busybox=$kernel/busybox
}

# vm_own_kernel: from now on the kernel with cdev and iommufd, if it was built here. 77 and a reason on stderr: it was not.
vm_own_kernel() {
	"$(dirname "${BASH_SOURCE[0]}")/build-kernel.sh" "$cache/own" check || return
	kernel=$cache/own
}

# vm_initramfs OUT ENTRY...: busybox with its commands, the kernel's modules (vm_modules=no: without), and ENTRY...
vm_modules=yes
vm_initramfs() {
	local out=$1 cmd links=()
	shift
	for cmd in sh cat chmod cut dd dmesg echo env expr false free grep head insmod ip kill ln ls mkdir mount mv nproc poweroff printf ps pwd \
		   readlink su rm rmdir sed seq sha256sum sleep sort sync tail tee test time timeout top touch tr true umount uname \
		   usleep vi wc; do
		links+=("bin/$cmd@busybox")
	done
	[ "$vm_modules" = no ] || links+=(modules="$kernel/modules")
	"$(dirname "${BASH_SOURCE[0]}")/mkinitramfs.py" "$out" bin/busybox="$busybox" "${links[@]}" "$@"
}

# vm_device SOCKET: the device that is served there, as QEMU's -device and its monitor's device_add take it. vm_bus=b puts it
# on a bus that an argument of vm_qemu makes, at vm_addr.
vm_bus='' vm_addr=0
vm_device() {
	echo "{\"driver\":\"vfio-user-pci\",\"id\":\"vgpu0\"${vm_bus:+,\"bus\":\"$vm_bus\",\"addr\":\"$vm_addr\"}$vm_patience,\"socket\":{\"type\":\"unix\",\"path\":\"$1\"}}"
}

# vm_qemu SOCKET INITRAMFS CMDLINE ARG...: a guest with that device. Plain emulation (tcg): needs neither /dev/kvm nor
# root. The IOMMU is what makes VFIO in the guest possible; vm_iommu= leaves it out. no_timer_check: on a busy machine the
# kernel's test of its timer fails at times, and panics.
vm_iommu='intel-iommu,intremap=on,caching-mode=on,device-iotlb=on'
vm_qemu() {
	local sock=$1 initramfs=$2 cmdline=$3 mem=${VGPU_VM_MEMORY:-512M}
	shift 3
	exec "$qemu" -nodefaults -no-user-config -display none -no-reboot \
		-M q35,accel=tcg,kernel-irqchip=off,memory-backend=ram -cpu max -m "$mem" \
		-object "memory-backend-memfd,id=ram,size=$mem,share=on" \
		${vm_iommu:+-device "$vm_iommu"} \
		-device isa-debug-exit,iobase=0xf4,iosize=4 \
		-kernel "$kernel/vmlinuz" -initrd "$initramfs" -append "console=ttyS0 quiet panic=-1 no_timer_check intel_iommu=on $cmdline" \
		"$@" -device "$(vm_device "$sock")"
}
