#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Wheels that carry NVIDIA's cudart inside, unmodified from PyPI: CuPy (CUDA 13), ctranslate2 and xgboost (CUDA 12), catboost (CUDA 11), and
# two majors in one process. Some 500 MB: only where VGPU_TEST_WHEELS=1 asks for them; kept in BUILD/turn/venv.
[ "${VGPU_TEST_WHEELS:-}" = 1 ] || { echo "500 MB of wheels: VGPU_TEST_WHEELS=1 asks for them"; exit 77; }
. "$(dirname "$0")/../system/lib.sh"
unset LD_LIBRARY_PATH VGPU_AGENT
export XDG_RUNTIME_DIR=$dir CUPY_CACHE_DIR=$dir/cupy
here=$(cd "$(dirname "$0")" && pwd)
venv=$B/turn/venv
if ! [ -e "$venv/done-2" ]; then
	rm -rf "$venv"
	if ! python3 -m venv "$venv" || ! timeout 900 "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 --only-binary :all: cupy-cuda13x==14.2.0 \
		ctranslate2==4.8.5 'nvidia-cuda-nvrtc==13.1.*' 'nvidia-cuda-runtime==13.1.*' scipy pandas six >"$dir/pip.log" 2>&1 ||
		! timeout 900 "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 --no-deps xgboost==3.2.0 catboost==1.2.10 >"$dir/pip.log" 2>&1; then
		echo "pip cannot fetch the wheels: $(tail -n 1 "$dir/pip.log")"
		exit 77
	fi
	touch "$venv/done-2"
fi
# each line of wheels.py's output is a scenario; its own kernels have PTX for 12.0 only, xgboost's too
for part in cupy ctranslate2 xgboost catboost both; do
	CUPY_COMPILE_WITH_PTX=1 timeout 280 "$V/vgpu" run --private --cc 12.0 -- "$venv/bin/python" "$here/wheels.py" $part >"$dir/out" 2>"$dir/err"; st=$?
	grep -E '^(ok|FAIL) ' "$dir/out"
	[ $st = 0 ] || echo "FAIL $part: status $st: $(grep -v '^ ' "$dir/err" | head -n 3 | cut -c1-400)"
	grep -q "cannot work here" "$dir/err" && fail "$part: a runtime was not turned over"
done
exit 0
