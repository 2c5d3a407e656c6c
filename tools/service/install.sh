#!/bin/sh
# SPDX-License-Identifier: MIT
# What make install and make uninstall do; the one list of files is below. PREFIX, SYSCONFDIR and DESTDIR come from the
# environment.
#
#   install.sh install BUILD | uninstall | list
set -eu
cd "$(dirname "$0")/../.."
PREFIX=${PREFIX:-/usr/local} SYSCONFDIR=${SYSCONFDIR:-/etc} DESTDIR=${DESTDIR:-}
B=${2:-build}
here=tools/service
case $PREFIX$SYSCONFDIR in
*[!A-Za-z0-9/._+-]*|[!/]*) echo "install: PREFIX and SYSCONFDIR are absolute paths without blanks" >&2; exit 2 ;;
esac

# A user's own prefix: what only a machine's administrator can use is left out, and said.
system=1
if [ "$(id -u)" != 0 ] && [ -z "$DESTDIR" ]; then
	system=0
fi

# MODE SOURCE DESTINATION; "in": SOURCE has names of folders to fill in; "link": SOURCE is a symbolic link's text
files() {
	for f in vgpu vgpu-agent vgpu-stub; do
		echo "755 $B/bin/$f $PREFIX/bin/$f"
	done
	for f in libcuda-lite libcuda libcudart_static libcublas_static libcublasLt_static libnvidia-ml libnccl_static libvgpu-dl libculibos libcudadevrt; do
		for v in 12 13; do
			echo "644 $B/lib/cuda-$v/$f.a $PREFIX/lib/vgpu/cuda-$v/$f.a"
		done
	done
	for f in toolkit fetch; do
		echo "755 tools/toolkit/$f.sh $PREFIX/lib/vgpu/toolkit/$f.sh"
	done
	for v in 12 13; do
		for f in libcuda.so.1 libcudart.so.$v libcublas.so.$v libcublasLt.so.$v libnvidia-ml.so.1 libnccl.so.2 libnvrtc.so.$v; do
			echo "link ../$f $PREFIX/lib/vgpu/dev-$v/${f%.*}"
		done
		# CUDA 13 has it as headers alone
		[ $v = 13 ] || echo "link ../libnvToolsExt.so.1 $PREFIX/lib/vgpu/dev-$v/libnvToolsExt.so"
		# where the linker looks for what libcudart needs
		echo "link ../libcuda.so.1 $PREFIX/lib/vgpu/dev-$v/libcuda.so.1"
	done
	echo "link ../../../bin/vgpu $PREFIX/lib/vgpu/bin/ptxas"
	echo "link ../../../bin/vgpu $PREFIX/lib/vgpu/bin/nvlink"
	# not where the loader looks: for those alone whom vgpu run gives it
	for f in libcudnn.so.9 libcufft.so.11 libcufft.so.12 libcusparse.so.12 libcusolver.so.11 libcusolver.so.12; do
		echo "644 $B/lib/vgpu/xla/$f $PREFIX/lib/vgpu/xla/$f"
	done
	echo "644 tools/python/jax_plugins/vgpu/__init__.py $PREFIX/lib/vgpu/python/jax_plugins/vgpu/__init__.py"
	echo "644 tools/python/sitecustomize.py $PREFIX/lib/vgpu/python/sitecustomize.py"
	for f in sitecustomize vgpu_cells vgpu_quick vgpu_rest vgpu_right; do
		echo "644 tools/python/for-torch/$f.py $PREFIX/lib/vgpu/python/for-torch/$f.py"
	done
	# a folder of our own: beside NVIDIA's libraries nothing is overwritten
	for f in libcudart.so.12 libcudart.so.13 libcublas.so.12 libcublas.so.13 libcublasLt.so.12 libcublasLt.so.13 \
		 libcudart.so.11.0 libcublas.so.11 libcublasLt.so.11 libnvrtc.so.11.2 libnvrtc.so.12 libnvrtc.so.13 libnvJitLink.so.12 libnvJitLink.so.13 libnccl.so.2 libnvToolsExt.so.1 libvgpu-turn.so libcuda-lite.a; do
		echo "644 $B/lib/$f $PREFIX/lib/vgpu/$f"
	done
	# the files of the driver have its version in their names, which NVIDIA's tools look for
	for f in libcuda.so libnvidia-ml.so; do
		echo "644 $B/lib/$f.1 $PREFIX/lib/vgpu/$f.$(driver)"
		echo "link $f.$(driver) $PREFIX/lib/vgpu/$f.1"
	done
	for f in libcuda.so.1 libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libnvidia-ml.so.1 libnvrtc.so.13 libnvJitLink.so.13; do
		echo "link $f $PREFIX/lib/vgpu/${f%.*}"
	done
	echo "link ../../bin/vgpu $PREFIX/lib/vgpu/nvidia-smi"
	echo "link ../../bin/vgpu $PREFIX/lib/vgpu/compute-sanitizer"
	# a toolkit's folder for CMake: CUDAToolkit_ROOT
	echo "link ../../../../bin/vgpu $PREFIX/lib/vgpu/sdk/bin/nvcc"
	echo "link ../../../include/vgpu $PREFIX/lib/vgpu/sdk/include"
	for f in cuda cudart cublas cublasLt nvidia-ml nccl nvrtc; do
		echo "link ../../dev-13/lib$f.so $PREFIX/lib/vgpu/sdk/lib64/lib$f.so"
	done
	for f in cudart_static cublas_static cublasLt_static; do
		echo "link ../../cuda-13/lib$f.a $PREFIX/lib/vgpu/sdk/lib64/lib$f.a"
	done
	for f in libcuda-lite/include/*.h; do
		# this one is between our own libraries
		[ "${f##*/}" = vgpu_gemm.h ] || echo "644 $f $PREFIX/include/vgpu/${f##*/}"
	done
	for f in libcuda-lite/include/*/*.h; do
		echo "644 $f $PREFIX/include/vgpu/${f#libcuda-lite/include/}"
	done
	for f in libcuda-lite cuda cudart; do
		echo "644 $here/$f.pc.in $PREFIX/lib/pkgconfig/$f.pc in"
	done
	echo "644 tools/vgpu/vgpu.1 $PREFIX/share/man/man1/vgpu.1"
	echo "644 agent/vgpu-agent.8 $PREFIX/share/man/man8/vgpu-agent.8"
	echo "644 tools/vgpu-stub/vgpu-stub.8 $PREFIX/share/man/man8/vgpu-stub.8"
	echo "644 $here/vgpu.bash $PREFIX/share/bash-completion/completions/vgpu"
	for f in vgpu-agent vgpu-stub; do
		echo "link vgpu $PREFIX/share/bash-completion/completions/$f"
	done
	echo "644 $here/grafana.json $PREFIX/share/vgpu/grafana.json"
	echo "644 README.md $PREFIX/share/doc/vgpu/README.md"
	echo "644 LICENSE $PREFIX/share/doc/vgpu/LICENSE"
	[ $system = 1 ] || return 0
	for f in vgpu-agent.service vgpu-stub.service vgpu-bind@.service; do
		echo "644 $here/$f.in $PREFIX/lib/systemd/system/$f in"
	done
	echo "644 $here/vgpu-ollama.conf.in $PREFIX/lib/systemd/system/ollama.service.d/vgpu-ollama.conf in"
	echo "755 $here/slurm.sh.in $PREFIX/share/vgpu/slurm in"
	echo "644 $here/vgpu.sysusers $PREFIX/lib/sysusers.d/vgpu.conf"
	echo "644 $here/vgpu.tmpfiles $PREFIX/lib/tmpfiles.d/vgpu.conf"
	echo "644 $here/70-vgpu.rules $PREFIX/lib/udev/rules.d/70-vgpu.rules"
	echo "644 $here/ld.so.conf.in $SYSCONFDIR/ld.so.conf.d/zz-vgpu.conf in"
}

driver() { sed -n 's/^#define VGPU_NVIDIA_DRIVER "\(.*\)"/\1/p' fw-protocol/vgpu_client.h; }
version() { sed -n 's/^#define VGPU_VERSION "\(.*\)"/\1/p' fw-protocol/vgpu_version.h; }

put() {
	to=$DESTDIR$3
	mkdir -p "${to%/*}"
	if [ "$1" = link ]; then
		# by another name first: at no moment is there none
		ln -sfn "$2" "$to.new"
		mv -T "$to.new" "$to"
	elif [ "${4:-}" = in ]; then
		sed -e "s|@BINDIR@|$PREFIX/bin|g" -e "s|@PREFIX@|$PREFIX|g" -e "s|@LIBDIR@|$PREFIX/lib/vgpu|g" -e "s|@VERSION@|$(version)|g" "$2" >"$to.new"
		chmod "$1" "$to.new"
		mv "$to.new" "$to"
	else
		# a new file in place of the old one: programs that run keep theirs
		install -m "$1" "$2" "$to.new"
		mv "$to.new" "$to"
	fi
}

# Folders that are empty now: ours in any case, those above only in a staged tree.
drop_folders() {
	dir=$1
	while [ -n "$dir" ] && rmdir "$DESTDIR$dir" 2>/dev/null; do
		dir=${dir%/*}
		case $dir in */vgpu | */vgpu/*) ;; *) [ -n "$DESTDIR" ] || break ;; esac
	done
}

case ${1:-} in
list)
	files | while read -r mode source to _; do echo "$mode $to"; done
	;;
install)
	# at once, and not after half of it
	at=$DESTDIR$PREFIX
	while [ ! -e "$at" ]; do at=${at%/*}; [ -n "$at" ] || at=/; done
	[ -d "$at" ] && [ -w "$at" ] || { echo "install: $at cannot be written by user $(id -u): run it as root, or with PREFIX=\$HOME/.local" >&2; exit 1; }
	files | while read -r mode source to in; do put "$mode" "$source" "$to" "$in"; done
	[ $system = 1 ] || cat <<-END
	installed into $PREFIX, for you alone: no services, no ld.so.conf. Programs run by
	  $PREFIX/bin/vgpu run -- CMD
	which starts a device of its own, or with LD_LIBRARY_PATH=$PREFIX/lib/vgpu beside an agent.
	END
	[ -n "$DESTDIR" ] || [ $system = 0 ] || cat <<-END
	installed into $PREFIX. The libraries are found after ldconfig. To serve all users of this machine:
	  systemd-sysusers && systemd-tmpfiles --create && ldconfig && systemctl daemon-reload
	  systemctl enable --now vgpu-stub vgpu-agent
	  adduser NAME vgpu          # who may use it
	END
	;;
uninstall)
	# at once, and not after half of it
	at=$DESTDIR$PREFIX
	while [ ! -e "$at" ]; do at=${at%/*}; [ -n "$at" ] || at=/; done
	[ -d "$at" ] && [ -w "$at" ] || { echo "install: $at cannot be written by user $(id -u): run it as root, or with PREFIX=\$HOME/.local" >&2; exit 1; }
	files | while read -r mode source to _; do rm -f "$DESTDIR$to"; done
	files | while read -r mode source to _; do
		case ${to%/*} in */vgpu | */vgpu/cuda-1? | */vgpu/dev-1? | */vgpu/toolkit | */vgpu/bin | */vgpu/xla | */vgpu/python | */vgpu/python/* | */vgpu/sdk/* | */vgpu/cooperative_groups | */ollama.service.d) drop_folders "${to%/*}" ;; *) [ -z "$DESTDIR" ] || drop_folders "${to%/*}" ;; esac
	done
	;;
*)
	echo "usage: install.sh install BUILD | uninstall | list" >&2
	exit 2
	;;
esac
