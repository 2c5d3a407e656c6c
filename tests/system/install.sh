#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make install and make uninstall: every file with its mode, pages and units without a complaint, programs of the
# installed tree run, nothing stays behind.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH VGPU_AGENT MAKEFLAGS MAKELEVEL
export XDG_RUNTIME_DIR=$dir
tree=$dir/tree
b=$(realpath --relative-to=. "$B")

# sanitised or unusual builds are installed as they are: nothing is built here
install_to() { PREFIX=$1 SYSCONFDIR=$2 DESTDIR=$3 tools/service/install.sh install "$b" >"$dir/out" 2>&1; }

make -n B="$b" install DESTDIR=/nowhere PREFIX=/usr 2>&1 | grep -q 'PREFIX=/usr SYSCONFDIR=/etc DESTDIR=/nowhere .*install.sh install' &&
	ok "make install passes its folders on" || fail "make install: $(make -n B="$b" install DESTDIR=/nowhere PREFIX=/usr 2>&1 | tail -n 3)"
install_to /usr /etc "$tree" && ok "installs into DESTDIR" || fail "install: $(cat "$dir/out")"

# what has to be there, said again here: MODE PATH, and links with their text
sort >"$dir/want" <<'LIST'
644 etc/ld.so.conf.d/zz-vgpu.conf
755 usr/bin/vgpu
755 usr/bin/vgpu-agent
755 usr/bin/vgpu-stub
644 usr/include/vgpu/cuComplex.h
644 usr/include/vgpu/cudaProfiler.h
644 usr/include/vgpu/cuda_device_runtime_api.h
644 usr/include/vgpu/cuda_bf16.h
644 usr/include/vgpu/cuda_fp16.h
644 usr/include/vgpu/cuda_fp8.h
644 usr/include/vgpu/cuda_profiler_api.h
644 usr/include/vgpu/builtin_types.h
644 usr/include/vgpu/channel_descriptor.h
644 usr/include/vgpu/curand_kernel.h
644 usr/include/vgpu/device_atomic_functions.h
644 usr/include/vgpu/device_functions.h
644 usr/include/vgpu/device_launch_parameters.h
644 usr/include/vgpu/device_types.h
644 usr/include/vgpu/host_defines.h
644 usr/include/vgpu/library_types.h
644 usr/include/vgpu/math_constants.h
644 usr/include/vgpu/math_functions.h
644 usr/include/vgpu/surface_types.h
644 usr/include/vgpu/texture_fetch_functions.h
644 usr/include/vgpu/texture_types.h
644 usr/include/vgpu/cooperative_groups.h
644 usr/include/vgpu/cooperative_groups/memcpy_async.h
644 usr/include/vgpu/cooperative_groups/reduce.h
644 usr/include/vgpu/cooperative_groups/scan.h
644 usr/include/vgpu/cublas_api.h
644 usr/include/vgpu/cublas.h
644 usr/include/vgpu/cublasXt.h
644 usr/include/vgpu/cublas_legacy.h
644 usr/include/vgpu/cublas_levels.h
644 usr/include/vgpu/cublas_v2.h
644 usr/include/vgpu/cuda.h
644 usr/include/vgpu/cuda_runtime.h
644 usr/include/vgpu/cuda_runtime_api.h
644 usr/include/vgpu/driver_types.h
644 usr/include/vgpu/nccl.h
644 usr/include/vgpu/nvrtc.h
644 usr/include/vgpu/nvml.h
644 usr/include/vgpu/vector_functions.h
644 usr/include/vgpu/vector_types.h
644 usr/lib/pkgconfig/cuda.pc
644 usr/lib/pkgconfig/cudart.pc
644 usr/lib/pkgconfig/libcuda-lite.pc
644 usr/lib/systemd/system/ollama.service.d/vgpu-ollama.conf
644 usr/lib/systemd/system/vgpu-agent.service
644 usr/lib/systemd/system/vgpu-bind@.service
644 usr/lib/systemd/system/vgpu-stub.service
644 usr/lib/sysusers.d/vgpu.conf
644 usr/lib/tmpfiles.d/vgpu.conf
644 usr/lib/udev/rules.d/70-vgpu.rules
644 usr/lib/vgpu/cuda-12/libcuda-lite.a
644 usr/lib/vgpu/cuda-12/libcuda.a
644 usr/lib/vgpu/cuda-12/libcudart_static.a
644 usr/lib/vgpu/cuda-12/libcublas_static.a
644 usr/lib/vgpu/cuda-12/libcublasLt_static.a
644 usr/lib/vgpu/cuda-12/libnvidia-ml.a
644 usr/lib/vgpu/cuda-12/libnccl_static.a
644 usr/lib/vgpu/cuda-12/libvgpu-dl.a
644 usr/lib/vgpu/cuda-12/libculibos.a
644 usr/lib/vgpu/cuda-12/libcudadevrt.a
644 usr/lib/vgpu/cuda-13/libcuda-lite.a
644 usr/lib/vgpu/cuda-13/libcuda.a
644 usr/lib/vgpu/cuda-13/libcudart_static.a
644 usr/lib/vgpu/cuda-13/libcublas_static.a
644 usr/lib/vgpu/cuda-13/libcublasLt_static.a
644 usr/lib/vgpu/cuda-13/libnvidia-ml.a
644 usr/lib/vgpu/cuda-13/libnccl_static.a
644 usr/lib/vgpu/cuda-13/libvgpu-dl.a
644 usr/lib/vgpu/cuda-13/libculibos.a
644 usr/lib/vgpu/cuda-13/libcudadevrt.a
644 usr/lib/vgpu/libcublas.so.11
644 usr/lib/vgpu/libcublas.so.12
644 usr/lib/vgpu/libcublas.so.13
644 usr/lib/vgpu/libcublasLt.so.11
644 usr/lib/vgpu/libcublasLt.so.12
644 usr/lib/vgpu/libcublasLt.so.13
644 usr/lib/vgpu/libcuda-lite.a
644 usr/lib/vgpu/libcuda.so.590.44.01
644 usr/lib/vgpu/libcudart.so.11.0
644 usr/lib/vgpu/libcudart.so.12
644 usr/lib/vgpu/libcudart.so.13
644 usr/lib/vgpu/libnccl.so.2
644 usr/lib/vgpu/libvgpu-turn.so
644 usr/lib/vgpu/libnvJitLink.so.12
644 usr/lib/vgpu/libnvJitLink.so.13
644 usr/lib/vgpu/libnvidia-ml.so.590.44.01
644 usr/lib/vgpu/libnvToolsExt.so.1
644 usr/lib/vgpu/libnvrtc.so.11.2
644 usr/lib/vgpu/libnvrtc.so.12
644 usr/lib/vgpu/libnvrtc.so.13
755 usr/lib/vgpu/toolkit/fetch.sh
755 usr/lib/vgpu/toolkit/toolkit.sh
644 usr/lib/vgpu/xla/libcudnn.so.9
644 usr/lib/vgpu/xla/libcufft.so.11
644 usr/lib/vgpu/xla/libcufft.so.12
644 usr/lib/vgpu/xla/libcusolver.so.11
644 usr/lib/vgpu/xla/libcusolver.so.12
644 usr/lib/vgpu/xla/libcusparse.so.12
644 usr/lib/vgpu/python/jax_plugins/vgpu/__init__.py
644 usr/lib/vgpu/python/sitecustomize.py
644 usr/lib/vgpu/python/for-torch/sitecustomize.py
644 usr/lib/vgpu/python/for-torch/vgpu_cells.py
644 usr/lib/vgpu/python/for-torch/vgpu_quick.py
644 usr/lib/vgpu/python/for-torch/vgpu_rest.py
644 usr/lib/vgpu/python/for-torch/vgpu_right.py
777 usr/lib/vgpu/bin/ptxas -> ../../../bin/vgpu
777 usr/lib/vgpu/bin/nvlink -> ../../../bin/vgpu
777 usr/lib/vgpu/libcublas.so -> libcublas.so.13
777 usr/lib/vgpu/libcublasLt.so -> libcublasLt.so.13
777 usr/lib/vgpu/libcuda.so -> libcuda.so.1
777 usr/lib/vgpu/libcudart.so -> libcudart.so.13
777 usr/lib/vgpu/libnvidia-ml.so -> libnvidia-ml.so.1
777 usr/lib/vgpu/libnvrtc.so -> libnvrtc.so.13
777 usr/lib/vgpu/libnvJitLink.so -> libnvJitLink.so.13
777 usr/lib/vgpu/libcuda.so.1 -> libcuda.so.590.44.01
777 usr/lib/vgpu/libnvidia-ml.so.1 -> libnvidia-ml.so.590.44.01
777 usr/lib/vgpu/compute-sanitizer -> ../../bin/vgpu
777 usr/lib/vgpu/nvidia-smi -> ../../bin/vgpu
777 usr/lib/vgpu/sdk/bin/nvcc -> ../../../../bin/vgpu
777 usr/lib/vgpu/sdk/include -> ../../../include/vgpu
777 usr/lib/vgpu/sdk/lib64/libcuda.so -> ../../dev-13/libcuda.so
777 usr/lib/vgpu/sdk/lib64/libcudart.so -> ../../dev-13/libcudart.so
777 usr/lib/vgpu/sdk/lib64/libcublas.so -> ../../dev-13/libcublas.so
777 usr/lib/vgpu/sdk/lib64/libcublasLt.so -> ../../dev-13/libcublasLt.so
777 usr/lib/vgpu/sdk/lib64/libnvidia-ml.so -> ../../dev-13/libnvidia-ml.so
777 usr/lib/vgpu/sdk/lib64/libnccl.so -> ../../dev-13/libnccl.so
777 usr/lib/vgpu/sdk/lib64/libnvrtc.so -> ../../dev-13/libnvrtc.so
777 usr/lib/vgpu/sdk/lib64/libcudart_static.a -> ../../cuda-13/libcudart_static.a
777 usr/lib/vgpu/sdk/lib64/libcublas_static.a -> ../../cuda-13/libcublas_static.a
777 usr/lib/vgpu/sdk/lib64/libcublasLt_static.a -> ../../cuda-13/libcublasLt_static.a
777 usr/lib/vgpu/dev-12/libcuda.so -> ../libcuda.so.1
777 usr/lib/vgpu/dev-12/libcudart.so -> ../libcudart.so.12
777 usr/lib/vgpu/dev-12/libcublas.so -> ../libcublas.so.12
777 usr/lib/vgpu/dev-12/libcublasLt.so -> ../libcublasLt.so.12
777 usr/lib/vgpu/dev-12/libnvidia-ml.so -> ../libnvidia-ml.so.1
777 usr/lib/vgpu/dev-12/libnccl.so -> ../libnccl.so.2
777 usr/lib/vgpu/dev-12/libnvrtc.so -> ../libnvrtc.so.12
777 usr/lib/vgpu/dev-12/libnvToolsExt.so -> ../libnvToolsExt.so.1
777 usr/lib/vgpu/dev-12/libcuda.so.1 -> ../libcuda.so.1
777 usr/lib/vgpu/dev-13/libcuda.so -> ../libcuda.so.1
777 usr/lib/vgpu/dev-13/libcudart.so -> ../libcudart.so.13
777 usr/lib/vgpu/dev-13/libcublas.so -> ../libcublas.so.13
777 usr/lib/vgpu/dev-13/libcublasLt.so -> ../libcublasLt.so.13
777 usr/lib/vgpu/dev-13/libnvidia-ml.so -> ../libnvidia-ml.so.1
777 usr/lib/vgpu/dev-13/libnccl.so -> ../libnccl.so.2
777 usr/lib/vgpu/dev-13/libnvrtc.so -> ../libnvrtc.so.13
777 usr/lib/vgpu/dev-13/libcuda.so.1 -> ../libcuda.so.1
777 usr/share/bash-completion/completions/vgpu-agent -> vgpu
777 usr/share/bash-completion/completions/vgpu-stub -> vgpu
644 usr/share/bash-completion/completions/vgpu
644 usr/share/doc/vgpu/LICENSE
644 usr/share/doc/vgpu/README.md
644 usr/share/man/man1/vgpu.1
644 usr/share/vgpu/grafana.json
755 usr/share/vgpu/slurm
644 usr/share/man/man8/vgpu-agent.8
644 usr/share/man/man8/vgpu-stub.8
LIST
# parts of the headers above, which include them
find "$tree" -type l -printf '%m %P -> %l\n' -o -type f -printf '%m %P\n' | grep -v '^644 usr/include/vgpu/cuda_lite_[a-z_]*\.h$' | sort >"$dir/have"
diff -u "$dir/want" "$dir/have" >"$dir/diff" && ok "every file is there with its mode, and no other" || fail "files: $(cat "$dir/diff")"
grep -rlE '@[A-Z]+@' "$tree" --include='*.service' --include='*.conf' --include='*.pc' >"$dir/left" && fail "not filled in: $(cat "$dir/left")" ||
	ok "units, configuration and pkg-config file are filled in"
grep -qx /usr/lib/vgpu "$tree/etc/ld.so.conf.d/zz-vgpu.conf" && grep -q '^ExecStart=/usr/bin/vgpu-agent ' "$tree/usr/lib/systemd/system/vgpu-agent.service" &&
	ok "they name the folders under PREFIX, without DESTDIR" || fail "folders in units or ld.so.conf.d"

# programs built against the staged tree: the archive and headers, found by pkg-config, static glibc and static musl
if command -v pkg-config >/dev/null; then
	flags=$(PKG_CONFIG_LIBDIR=$tree/usr/lib/pkgconfig pkg-config --cflags --libs --static libcuda-lite 2>&1)
	for cc in gcc musl-gcc; do
		# shellcheck disable=SC2086
		$cc -std=gnu11 -static -o "$dir/vecadd" tests/e2e/vecadd.c $flags -lm >"$dir/out" 2>&1 &&
			"$tree/usr/bin/vgpu" run --private --memory 256M -- "$dir/vecadd" >"$dir/out" 2>&1 &&
			ok "a program by pkg-config and $cc runs: $(tail -n 1 "$dir/out")" || fail "pkg-config and $cc ($flags): $(cat "$dir/out")"
	done
else
	skip "pkg-config: not installed here"
fi
cat >"$dir/where.c" <<'END'
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	Dl_info i;
	CUcontext c;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || !dladdr((void *)cuInit, &i))
		return 1;
	return puts(i.dli_fname) < 0;
}
END
gcc -I"$tree/usr/include/vgpu" -o "$dir/where" "$dir/where.c" -L"$tree/usr/lib/vgpu" -lcuda -ldl >"$dir/out" 2>&1 &&
	"$tree/usr/bin/vgpu" run --private --memory 256M -- "$dir/where" >"$dir/out" 2>&1
[ "$(tail -n 1 "$dir/out")" = "$tree/usr/lib/vgpu/libcuda.so.1" ] && ok "vgpu run takes the installed libraries" || fail "vgpu run: $(cat "$dir/out")"
cat >"$dir/each.c" <<'END'
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cublas_v2.h>
#include <nvml.h>
int main(void) { return 0; }
END
gcc -Wall -Wextra -Werror -I"$tree/usr/include/vgpu" -o "$dir/each" "$dir/each.c" >"$dir/out" 2>&1 && ok "the installed headers are complete" ||
	fail "headers: $(cat "$dir/out")"

# completion asks the tool
words=$(PATH=$tree/usr/bin:$PATH bash -c '. "$1"; COMP_WORDS=(vgpu do) COMP_CWORD=1; _vgpu; echo "${COMPREPLY[@]}"' - "$tree/usr/share/bash-completion/completions/vgpu")
# complete WORD...: what comes for the last
complete_() { PATH=$tree/usr/bin:$PATH bash -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _vgpu; echo "${COMPREPLY[@]}"' - "$tree/usr/share/bash-completion/completions/vgpu" "$@"; }
[ "$(complete_ vgpu ctl dr)" = drain ] && [ "$(complete_ vgpu ctl set x mem)" = memory ] && [ "$(complete_ vgpu bench fa)" = fair ] && ok "and the words behind them" ||
	fail "completion: $(complete_ vgpu ctl dr), $(complete_ vgpu ctl set x mem), $(complete_ vgpu bench fa)"
for p in agent stub; do
	words_of=$(PATH=$tree/usr/bin:$PATH bash -c '. "$1"; COMP_WORDS=("$2" --he) COMP_CWORD=1; _vgpu_daemon "$2" --he "$2"; echo "${COMPREPLY[@]}"' - "$tree/usr/share/bash-completion/completions/vgpu" vgpu-$p)
	[ "$words_of" = --help ] && [ -e "$tree/usr/share/bash-completion/completions/vgpu-$p" ] && ok "bash completes vgpu-$p" || fail "completion of vgpu-$p --he: $words_of"
done
[ "$words" = doctor ] && ok "bash completes vgpu's subcommands" || fail "completion of 'vgpu do': $words"

# manual pages; whether other pages are installed is not their matter
if command -v mandoc >/dev/null; then
	pages=$(find "$tree/usr/share/man" -type f)
	# shellcheck disable=SC2086
	mandoc -Tlint $pages 2>/dev/null | grep -vE 'referenced manual not found|line longer than 80' >"$dir/lint" &&
		fail "mandoc: $(cat "$dir/lint")" || ok "mandoc has no complaint about the manual pages"
else
	skip "manual pages: no mandoc here"
fi
for p in vgpu-agent vgpu-stub; do
	page=$(cat "$tree/usr/share/man/man8/$p.8")
	missing=
	for o in $("$tree/usr/bin/$p" --help 2>&1 | grep -oE -e '--[a-z-]+' | sort -u); do
		case $o in --help|--version|--socket|--device) continue ;; esac
		grep -q -e "Fl ${o#-}" -e ", ${o#-}" <<<"$page" || missing+=" $o"
	done
	[ -z "$missing" ] && ok "$p.8 has every option of $p --help" || fail "$p.8 lacks$missing"
done

# units: with the folders that they name in place
if command -v systemd-analyze >/dev/null; then
	install_to "$dir/prefix" "$dir/prefix/etc" '' || fail "install: $(cat "$dir/out")"
	units=$dir/prefix/lib/systemd/system
	if systemd-analyze --man=no verify "$units"/vgpu-{agent,stub}.service "$units/vgpu-bind@.service" >"$dir/out" 2>&1 && [ ! -s "$dir/out" ]; then
		ok "systemd-analyze verify: no complaint"
	else
		fail "systemd-analyze verify: $(cat "$dir/out")"
	fi
	# The device's may make namespaces, mount and delegate its cgroup, so that its contexts have less than any unit could take away:
	# they are alone behind those walls, while the agent, which has none to put up, may do none of it.
	for u in vgpu-agent:15 vgpu-stub:16; do
		most=${u#*:} u=${u%:*}
		systemd-analyze security --no-pager --offline=yes --threshold="$most" "$units/$u.service" >"$dir/out" 2>&1 &&
			ok "systemd-analyze security of $u: $(sed -n 's/.*exposure level for [^ ]* \([0-9.]*\).*/\1/p' "$dir/out") of 10" ||
			fail "$u is more exposed than ${most:0:1}.${most:1}: $(grep -E '✗|→|rror' "$dir/out")"
	done
	PREFIX=$dir/prefix SYSCONFDIR=$dir/prefix/etc tools/service/install.sh uninstall
	left=$(find "$dir/prefix" -type f -o -type l)
	[ -z "$left" ] && [ ! -e "$dir/prefix/lib/vgpu" ] && [ ! -e "$dir/prefix/include/vgpu" ] && ok "uninstall without DESTDIR leaves no file" || fail "left: $left"
else
	skip "units: no systemd-analyze here"
fi

# a second installation over the first, then none; a stranger's file stays
install_to /usr /etc "$tree"
find "$tree" -name '*.new' | grep -q . && fail "temporary files are left" || ok "installs over itself"
touch "$tree/usr/bin/other"
PREFIX=/usr SYSCONFDIR=/etc DESTDIR=$tree tools/service/install.sh uninstall
left=$(find "$tree" -mindepth 1 -printf '%P ')
[ "$left" = "usr usr/bin usr/bin/other " ] && ok "uninstall leaves what is not ours, and nothing else" || fail "left behind: $left"
PREFIX="/a b" tools/service/install.sh install "$b" >"$dir/out" 2>&1; st=$?
[ $st = 2 ] && ok "a PREFIX with a blank is refused" || fail "PREFIX with a blank: exit $st"
