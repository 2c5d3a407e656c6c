#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# In fresh namespaces: this machine's root as an overlay that goes with them, its own /proc, /run, /tmp and /dev, then
# systemd with one unit of ours. FOLDER/stage is copied over the root, FOLDER/share is /mnt.
#
#   boot.sh FOLDER
set -e
dir=$1
mkdir "$dir/root"
mount -t tmpfs tmpfs "$dir/root"
mkdir "$dir"/root/{upper,work,merged}
mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/root/upper,workdir=$dir/root/work" "$dir/root/merged"
r=$dir/root/merged
cp -a "$dir/stage/." "$r/"
mount -t proc proc "$r/proc"
mount -t sysfs -o ro sysfs "$r/sys"
mount -t cgroup2 cgroup2 "$r/sys/fs/cgroup"
mount --bind "$dir/share" "$r/mnt"
for d in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$r/$d"; done
chmod 1777 "$r/tmp"
cp -a /dev/{null,zero,full,random,urandom,tty} "$r/dev/"
mkdir "$r/dev/pts" "$r/dev/shm"
touch "$r/dev/console"
mount -t tmpfs -o mode=1777 tmpfs "$r/dev/shm"
ln -s pts/ptmx "$r/dev/ptmx"
ln -s /proc/self/fd "$r/dev/fd"
for i in 0 1 2; do n=(stdin stdout stderr); ln -s fd/$i "$r/dev/${n[i]}"; done
# nothing of this machine's own services
for d in etc/systemd/system usr/local/lib/systemd/system; do
	rm -rf "${r:?}/$d"/*.wants "${r:?}/$d"/vgpu-*.service.d
done
ln -sf /dev/null "$r/etc/systemd/system/systemd-journald.service"
cat >"$r/etc/systemd/system/inside.service" <<'END'
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/bash /opt/tests/inside.sh
ExecStopPost=/bin/systemctl exit --force
END
# what this machine has written, and nobody else: for tests that look for it
mkdir "$r/.upper"
mount --bind "$dir/root/upper" "$r/.upper"
mkdir "$r/.old"
cd "$r"
pivot_root . .old
umount -l /.old
exec env -i container=vgpu-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --system --unit=inside.service --log-target=console --show-status=0
