#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# NVIDIA's own cudart on our libcuda: told in one line what it is, that it cannot work, and what does.
. "$(dirname "$0")/lib.sh"
unset VGPU_AGENT
export XDG_RUNTIME_DIR=$dir
start_stub
start_agent

# any export table: none of NVIDIA's private ones exists here, whatever its key
cat >"$dir/tables.py" <<'PY'
import ctypes, sys
c = ctypes.CDLL("libcuda.so.1")
assert c.cuInit(0) == 0
for key in sys.argv[1:]:
    t = ctypes.c_void_p(1)
    r = c.cuGetExportTable(ctypes.byref(t), bytes.fromhex(key.replace("-", "")))
    assert r == 500 and not t.value, (key, r, t.value)
PY
told() {        # FILE WHO
	[ "$(grep -c "NVIDIA's own CUDA runtime" "$1")" = 1 ] && grep -q "$2.*cannot work here.*vgpu run.*cudart shared.*libcuda-lite.a" "$1"
}
for key in d4082055-bde6-704b-8d34-ba123c66e1f2 6bd5fb6c-5bf4-e74a-8987-d93912fd9df9 f8cff951-2146-4e8b-b9e2-fb469e7c0dd9 \
	00112233-4455-6677-8899-aabbccddeeff "d4082055-bde6-704b-8d34-ba123c66e1f2 6bd5fb6c-5bf4-e74a-8987-d93912fd9df9"; do
	# shellcheck disable=SC2086
	python3 "$dir/tables.py" $key 2>"$dir/err" && told "$dir/err" "libffi\|python\|ctypes" && ok "table $key" || fail "table $key: $(cat "$dir/err")"
done

# NVRTC's, which is linked into programs as well (Warp's library), compiles without an answer
python3 "$dir/tables.py" da9151d3-3ae6-cc41-a5c0-4f26d533e328 2>"$dir/err" && [ ! -s "$dir/err" ] && ok "NVRTC's table" || fail "NVRTC's table: $(cat "$dir/err")"

# CUPTI, which profilers open, is another matter: they go on without it
cat >"$dir/cupti.c" <<'C'
int cuInit(unsigned flags), cuGetExportTable(const void **table, const void *id);
int ask(void) { const void *table; return cuInit(0) | (cuGetExportTable(&table, "0123456789abcdef") != 500) | (cuGetExportTable(&table, "0123456789abcdef") != 500); }
C
cc -shared -fPIC -o "$dir/libcupti.so.12" "$dir/cupti.c" && python3 -c 'import ctypes, sys
c = ctypes.CDLL("libcuda.so.1", ctypes.RTLD_GLOBAL)
sys.exit(ctypes.CDLL(sys.argv[1]).ask())' "$dir/libcupti.so.12" 2>"$dir/err" && [ "$(grep -c . "$dir/err")" = 1 ] && grep -q "/libcupti.so.12: .*CUPTI.*vgpu trace" "$dir/err" &&
	ok "CUPTI is told as what it is" || fail "CUPTI: $(cat "$dir/err")"

# the real thing from PyPI, kept for the next run
stock=$B/stock-cudart
mkdir -p "$stock"
for v in cu12==12.8.90 13.1.80; do
	name=nvidia-cuda-runtime${v:+-$v}
	case $v in cu12*) name=nvidia-cuda-runtime-$v ;; *) name=nvidia-cuda-runtime==$v ;; esac
	if ! [ -e "$stock/$v/done" ]; then
		rm -rf "${stock:?}/$v"
		timeout 120 python3 -m pip download -q --disable-pip-version-check --retries 1 --timeout 30 --no-deps --only-binary :all: \
			-d "$stock/$v" "$name" >"$dir/pip.log" 2>&1 &&
			python3 -m zipfile -e "$stock/$v"/*.whl "$stock/$v" && rm -f "$stock/$v"/*.whl && touch "$stock/$v/done"
	fi
	if ! [ -e "$stock/$v/done" ]; then
		skip "cudart $v: pip cannot fetch $name: $(tail -n 1 "$dir/pip.log")"
		continue
	fi
	lib=$(find "$stock/$v" -name 'libcudart.so.1?' | head -n 1)
	cat >"$dir/malloc.py" <<'PY'
import ctypes, sys
c = ctypes.CDLL(sys.argv[1])
p, n = ctypes.c_void_p(), ctypes.c_int()
c.cudaGetErrorName.restype = ctypes.c_char_p
r = [c.cudaGetDeviceCount(ctypes.byref(n)), c.cudaMalloc(ctypes.byref(p), 64)]
print(*r)
PY
	python3 "$dir/malloc.py" "$lib" >"$dir/out" 2>"$dir/err"
	told "$dir/err" "$lib: " && ! grep -q '^0 0$' "$dir/out" && ok "stock cudart $v is told, with its file" ||
		fail "stock cudart $v: $(cat "$dir/out" "$dir/err")"
done
