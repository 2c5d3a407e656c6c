#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu run gives its private device the compute capability that the command's GPU code wants, and says so.
. "$(dirname "$0")/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT
export XDG_RUNTIME_DIR=$dir
CC=${CC:-cc}
w=$dir/w
mkdir -p "$w/beside" "$w/up"
cat >"$w/cc.c" <<'C'
#include <cuda.h>
#include <stdio.h>
int main(void)
{
	int major = 0, minor = 0;

	if (cuInit(0) || cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0) ||
	    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0))
		return 1;
	printf("%d.%d\n", major, minor);
	return 0;
}
C
# fatbin NAME ARCH...: an assembler file with one fat binary for each ARCH, or several in one, as in 61,75; each begins as $head says
head=
fatbin() {
	local name=$1 a b args
	shift
	printf '.section .nv_fatbin,"a"\n' >"$w/$name.S"
	for a in "$@"; do
		args=()
		for b in ${a//,/ }; do
			printf '.version 8.0\n.target sm_%s\n.address_size 64\n%s\n.visible .entry k() { ret; }\n' "$b" "$head" >"$w/$b.ptx"
			args+=("$b:$w/$b.ptx")
		done
		"$B/e2e/mkfatbin" -o "$w/$name.$a" "${args[@]}" || exit 1
		printf '.balign 8\n.incbin "%s"\n' "$w/$name.$a" >>"$w/$name.S"
	done
	printf '.section .note.GNU-stack,"",@progbits\n' >>"$w/$name.S"
}
program() { $CC -I"$(dirname "$0")/../../libcuda-lite/include" -o "$w/$1" "$w/cc.c" ${2:+"$w/$2.S"} "$B/lib/libcuda.so.1" ${3:-} || exit 1; }

program none
# is NAME CC COMMAND...: the device has it, and where that is not the default one line says it
is() {
	local name=$1 want=$2 got
	shift 2
	got=$("$V/vgpu" run --private -- "$@" 2>"$dir/err")
	if [ "$got" != "$want" ]; then
		fail "$name: ${got:-none}, want $want ($(cat "$dir/err"))"
	elif [ "$want" = 6.1 ] && [ -s "$dir/err" ]; then
		fail "$name: $(cat "$dir/err")"
	elif [ "$want" != 6.1 ] && { ! grep -q "^vgpu: device of compute capability $want, by .*--cc overrides" "$dir/err" || [ "$(wc -l <"$dir/err")" != 1 ]; }; then
		fail "$name: not said, or not in one line: $(cat "$dir/err")"
	else
		ok "$name: $want"
	fi
}
is "no GPU code" 6.1 "$w/none"
for t in 75:7.5 52:6.1 61:6.1 61,75,120:6.1 80,90:8.0 90:9.0 100:10.0 103:10.3 110:11.0 120:12.0 121:12.1 53,101:6.1; do
	fatbin f "${t%:*}"
	program p f
	is "PTX for ${t%:*}" "${t#*:}" "$w/p"
done
fatbin f 61,75 90 80,100
program p f
is "fat binaries of different kinds: where all run" 9.0 "$w/p"
is "behind another program" 9.0 timeout 60 "$w/p"
printf '#!%s\n' "$w/p" >"$w/script" && chmod +x "$w/script"
is "behind a script" 9.0 "$w/script"
fatbin l 103
$CC -shared -fPIC -o "$w/up/libup.so" "$w/l.S" && program linked "" "-L$w/up -Wl,--no-as-needed -lup -Wl,-rpath,$w/up"
is "in a library that it is linked with" 10.3 "$w/linked"
fatbin l 86
$CC -shared -fPIC -o "$w/beside/libbeside.so" "$w/l.S" && cp "$w/none" "$w/beside/prog"
is "in a library beside it" 8.6 "$w/beside/prog"
# NVIDIA's libcudadevrt, which nvcc links in for the highest device of its release, is none of the program's
fatbin own 80
head='.extern .func (.param .b32 r) cnpLaunchDevice (.param .b64 a);' fatbin devrt 121
cat "$w/own.S" "$w/devrt.S" >"$w/both.S"
program p both
is "beside NVIDIA's libcudadevrt" 8.0 "$w/p"
fatbin other 121
cat "$w/own.S" "$w/other.S" >"$w/both.S"
program p both
is "beside anything else" 12.1 "$w/p"
# an interpreter
ln -s "$w/none" "$w/python3.99"
is "Python" 7.5 "$w/python3.99"
# and what starts one: all that its packages want is known before anything runs
venv() {        # FOLDER PACKAGE...: a Python of its own with these in site-packages
	local at=$w/$1
	shift
	mkdir -p "$at/bin" "$at/lib/python3.99/site-packages"
	ln -s "$w/none" "$at/bin/python"
	: >"$at/bin/activate"
	printf '#!%s\n' "$at/bin/python" >"$at/bin/torchrun" && chmod +x "$at/bin/torchrun"
	for p in "$@"; do mkdir -p "$at/lib/python3.99/site-packages/$p"; done
}
starter() {     # NAME TEXT: a program in $w/bin that starts others
	mkdir -p "$w/bin"
	printf '#!/bin/sh\n%s\n' "$2" >"$w/bin/$1" && chmod +x "$w/bin/$1"
}
venv jax jax_plugins/xla_cuda12
venv cupy cupy/_core
venv plain
venv home/.cache/pypoetry/virtualenvs/x-1 jax_plugins/xla_cuda13
venv project/.venv jax_plugins/xla_cuda12
venv conda
venv conda/envs/mine cupy/_core
starter uv 'exec ../.venv/bin/python'
starter poetry 'exec "$HOME/.cache/pypoetry/virtualenvs/x-1/bin/python"'
starter train "# $w/cupy/bin/python
cd / && exec $w/jax/bin/python"
starter serve "exec train"
mkdir -p "$w/project/src" "$w/home" "$w/shims" && printf '#!/bin/sh\nexec %s/cupy/bin/python\n' "$w" >"$w/shims/python" && chmod +x "$w/shims/python"
mkdir -p "$w/versions" && mv "$w/cupy" "$w/versions/" && ln -s versions/cupy "$w/cupy"
is "Python by path, with JAX" 12.0 "$w/jax/bin/python" x.py
is "behind bash -c" 12.0 bash -c "cd / && $w/jax/bin/python"
is "behind bash -c, with quotes" 10.0 bash -c "cd '/' && '$w/cupy/bin/python'"
is "behind bash -c, a program of ours" 12.1 bash -c "$w/p"
is "behind an activated environment" 12.0 bash -c ". $w/jax/bin/activate && $w/jax/bin/python"
is "a script that pip makes" 12.0 "$w/jax/bin/torchrun"
is "behind env" 10.0 env A=b "$w/cupy/bin/python"
is "Python without any of them" 7.5 "$w/plain/bin/python"
is "and behind a shell" 7.5 sh -c "$w/plain/bin/python -c 'import x'"
PATH=$w/bin:$PATH
is "behind a script" 12.0 train
is "behind a script of a script" 12.0 bash -c "serve"
(cd "$w/project/src" && is "uv takes the project's" 12.0 uv run train.py)
HOME=$w/home is "poetry takes what is kept in a home" 12.0 poetry run python
PATH=$w/shims:$PATH is "pyenv's shims: any version" 10.0 python
is "an environment of conda's, by name" 10.0 bash -c "$w/conda/bin/python -c '' >/dev/null; exec $w/conda/envs/mine/bin/python # mine"
is "a word that is no program" 6.1 sh -c "echo jax pythonic >/dev/null; $w/none"
# when a package is imported: what it needs is there, whoever started its Python
py=$w/py && mkdir -p "$py/jax_plugins/xla_cuda12" "$py/tensorflow" "$py/nvidia/x/lib" "$py/user"
: >"$py/tensorflow/libtensorflow_cc.so.2"
: >"$py/nvidia/x/lib/libnvrtc.so.12"
cat >"$py/seen.py" <<'PY'
import os
def say():
    with open("/proc/self/maps") as f:
        maps = f.read()
    print(*(name for name in ("CUDA_ROOT", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "XLA_PYTHON_CLIENT_PREALLOCATE", "TF_FORCE_GPU_ALLOW_GROWTH", "XLA_FLAGS",
                              "CUDA_PATH", "NVRTC_PATH", "VGPU_CUDA_VERSION") if os.environ.get(name)), *(n for n in ("cudnn", "cufft", "cusparse", "cusolver") if f"/lib{n}." in maps))
PY
for p in jax tinygrad cupyx torch warp; do echo 'import seen; seen.say()' >"$py/$p.py"; done
echo 'import seen; seen.say()' >"$py/tensorflow/__init__.py"
echo 'print("a sitecustomize of the user")' >"$py/user/sitecustomize.py"
finds() {       # NAME WANT COMMAND...
	local name=$1 want=$2 got
	shift 2
	got=$(PYTHONPATH=$py "$V/vgpu" run --private --cc 7.5 -- "$@" 2>"$dir/err")
	[ "$got" = "$want" ] && ok "$name" || fail "$name: $got, want $want ($(cat "$dir/err"))"
}
xla="XLA_FLAGS cudnn cufft cusparse cusolver"
finds "jax, behind two shells" "CUDA_ROOT JAX_SKIP_CUDA_CONSTRAINTS_CHECK XLA_PYTHON_CLIENT_PREALLOCATE $xla" sh -c "exec bash -c 'python3 -c \"import jax\"'"
finds "tensorflow" "TF_FORCE_GPU_ALLOW_GROWTH $xla" python3 -c "import tensorflow"
finds "tinygrad" "CUDA_PATH NVRTC_PATH" python3 -c "import tinygrad"
finds "cupyx" "cufft cusparse cusolver" python3 -c "import cupyx"
finds "warp: a driver that is no older than its compiler" VGPU_CUDA_VERSION python3 -c "import warp"
py=$V finds "which libcuda answers then" "13050 13010" python3 -c "import ctypes, os
c, v = ctypes.CDLL('libcuda.so.1'), ctypes.c_int()
for said in ('13.5', ''):
    os.environ['VGPU_CUDA_VERSION'] = said
    c.cuDriverGetVersion(ctypes.byref(v))
    print(v.value, end=' ' if said else '')"
finds "torch: nothing" "" python3 -c "import torch"
# CUDA sources of a program's own by PyTorch: nvcc of wheels and what it is to be linked with, or the headers that a toolkit of ours has not
e=$w/extension && mkdir -p "$e/torch/utils" "$e/nvidia/cu13/bin" "$w/toolkit"
: >"$e/nvidia/cu13/bin/nvcc" && : >"$w/toolkit/.vgpu-toolkit" && : >"$e/torch/__init__.py" && : >"$e/torch/utils/__init__.py"
cat >"$e/torch/utils/cpp_extension.py" <<'PY'
import os
paths = os.environ.get("LIBRARY_PATH", "").split(":")
print(*(n for n in ("CUDA_HOME", "LIBRARY_PATH", "CPLUS_INCLUDE_PATH") if os.environ.get(n)), *(os.path.basename(p) for p in paths if os.path.exists(p + "/libcudart.so")),
      paths[0] if paths[0] == "/mine" else "", os.environ.get("CPLUS_INCLUDE_PATH", "")[-19:])


def _get_cuda_arch_flags(cflags=None):
    return [] if cflags else ["-gencode=arch=compute_75,code=compute_75"]
PY
chmod +x "$e/nvidia/cu13/bin/nvcc"
ask="import torch.utils.cpp_extension"
py=$e CUDA_HOME=$e/nvidia/cu13 LIBRARY_PATH=/mine finds "extensions of torch, nvcc of wheels" "CUDA_HOME LIBRARY_PATH dev-13 /mine " python3 -c "$ask"
py=$e CUDA_HOME=$w/toolkit finds "extensions of torch, a toolkit of ours" "CUDA_HOME CPLUS_INCLUDE_PATH  nvidia/cu13/include" python3 -c "$ask"
py=$e PATH=$e/nvidia/cu13/bin:$PATH finds "extensions of torch, nvcc of wheels on the PATH" "CUDA_HOME LIBRARY_PATH dev-13  " python3 -c "$ask"
flags='import sys; sys.stdout = None; import torch.utils.cpp_extension as e; sys.stdout = sys.__stdout__; print(*e._get_cuda_arch_flags(["-gencode", "arch=compute_90,code=sm_90"]), "|", *e._get_cuda_arch_flags())'
own=-gencode=arch=compute_75,code=compute_75
py=$e CUDA_HOME=$e/nvidia/cu13 finds "extensions of torch for machines alone get PTX, too, once" "$own | $own" python3 -c "$flags"
py=$e CUDA_HOME=$w/toolkit finds "but not by a toolkit of ours, whose ptxas leaves it" "| $own" python3 -c "$flags"
if command -v nvcc >/dev/null || [ -e /usr/local/cuda ]; then
	echo "skip choose: a toolkit is installed: extensions of torch take that"
else
	py=$e finds "extensions of torch, wheels found" "CUDA_HOME LIBRARY_PATH dev-13  " python3 -c "$ask"
fi
XLA_FLAGS=--mine finds "what a user has set stays" --mine python3 -c "import os, sys; sys.stdout = None; import jax; sys.stdout = sys.__stdout__; print(os.environ['XLA_FLAGS'])"
py=$py/user:$py finds "a sitecustomize of the user's" "a sitecustomize of the user" python3 -c pass
py=$py/user:$py finds "and behind two of vgpu run" "a sitecustomize of the user" "$V/vgpu" run --torch -- python3 -c pass
got=$("$V/vgpu" run --cc 8.9 -- "$w/p" 2>"$dir/err")
[ "$got" = 8.9 ] && [ ! -s "$dir/err" ] && ok "--cc overrides" || fail "--cc: $got $(cat "$dir/err")"
"$V/vgpu" run -v --private -- "$w/none" 2>&1 | grep -q "^vgpu: device of compute capability 6.1, by the default" && ok "-v says the default too" || fail "-v says nothing"

# a device that is too low: the line names the one that does. Nothing above the device's capability is ever loaded.
cat >"$dir/load.py" <<'PY'
import ctypes, sys
c = ctypes.CDLL("libcuda.so.1")
ctx, m = ctypes.c_void_p(), ctypes.c_void_p()
assert c.cuInit(0) == 0 and c.cuDevicePrimaryCtxRetain(ctypes.byref(ctx), 0) == 0 and c.cuCtxSetCurrent(ctx) == 0
print(c.cuModuleLoadData(ctypes.byref(m), open(sys.argv[1], "rb").read() + b"\0"))
PY
printf '.version 9.0\n.target sm_100f\n.address_size 64\n.visible .entry k() { ret; }\n' >"$w/100f.ptx"
load() {        # NAME CC FILE ERROR PATTERN
	local got
	got=$("$V/vgpu" run --private --cc "$2" -- python3 "$dir/load.py" "$w/$3" 2>"$dir/err")
	[ "$got" = "$4" ] && { [ -z "$5" ] || grep -q "$5" "$dir/err"; } && ok "$1" || fail "$1: $got $(cat "$dir/err")"
}
load "a fat binary for a newer device names it" 7.5 f.90 209 'vgpu run --cc 9.0$'
load "PTX text for a newer device names it" 6.1 75.ptx 209 'on one of 7.5 it runs: vgpu run --cc 7.5$'
load "PTX for a device that none is, the next one" 6.1 101.ptx 209 'vgpu run --cc 10.3$'
load "PTX for a family runs on its later members" 10.3 100f.ptx 0 ''
load "and on no other" 12.0 100f.ptx 209 'PTX for sm_100f'
