#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ollama without a shared object: `ollama` linked -static, llama-server linked statically against llama.cpp's ggml-cuda and our
# archives, all sources unmodified. On the device: its discovery, 100 % GPU, its text against the CPU's.
#   static.sh BUILD          what is compiled is used; where it is not, exit 77
#   static.sh BUILD build    compiled first where it is not there: all of ggml-cuda by nvcc (PyPI's wheels, for one virtual
#                            architecture and without flash attention): half an hour on two idle cores. One that was
#                            interrupted goes on where it stopped.
#
# Kept by versions in VGPU_TEST_CACHE (~/.cache/vgpu-tests): the archives and objects that llama-server is linked from, and the
# commands. The link is done by each run, with the archives of BUILD.
. "$(dirname "$0")/../system/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/go.sh"
C=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/static-$(sed -nE 's/^version=//p' "$here/../llm/source.sh")-$(sed -nE 's/^mark=done-(.*)-.*/\1/p' "$root/tools/toolkit/fetch.sh")
R=$B/ollama/static
no() { echo "$*"; exit 77; }
broken() { fail "$1: $(grep -E -m 5 'rror|undefined|cannot find|refused' "$C/log" | tr '\n' ' ')"; tail -n 5 "$C/log"; exit 1; }
unset LD_LIBRARY_PATH LD_PRELOAD LD_AUDIT VGPU_AGENT CUDA_VISIBLE_DEVICES CUDACXX CUDA_PATH CUDA_HOME

[ -e "$C/linked" ] || [ "${2:-}" = build ] || no "all of ggml-cuda by nvcc takes half an hour: tests/ollama/static.sh $1 build does it, once"
mkdir -p "$C" || no "$C cannot be made"
exec 9>"$C/lock"
flock 9
: >"$C/log"

# --- llama-server and llama-quantize, once
programs='llama-server llama-quantize'
T=$C/toolkit
if ! [ -e "$C/linked" ]; then
	for p in cmake ninja g++; do command -v $p >/dev/null || no "$p is not installed"; done
	if ! [ -e "$C/configured" ]; then
		why=$("$V/vgpu" toolkit --nvcc "$B/nvcc" "$T" 2>&1) || no "$(tail -n 1 <<<"$why")"
		why=$("$here/../llm/source.sh" "$C/src" 2>&1) || no "$(tail -n 1 <<<"$why")"
		rm -rf "$C/o"
		cmake -S "$C/src" -B "$C/o" -G Ninja -DCUDAToolkit_ROOT="$T" -DCMAKE_CUDA_COMPILER="$T/bin/nvcc" -DCMAKE_CUDA_ARCHITECTURES=75-virtual \
			-DGGML_STATIC=ON -DBUILD_SHARED_LIBS=OFF -DGGML_CUDA=ON -DGGML_CUDA_FA=OFF -DGGML_NATIVE=OFF \
			-DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS="-O1 -DNDEBUG" -DCMAKE_CXX_FLAGS="-O1 -DNDEBUG" -DCMAKE_CUDA_FLAGS="-O1 -DNDEBUG" \
			-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF \
			>>"$C/log" 2>&1 || broken "cmake"
		touch "$C/configured"
	fi
	t0=$SECONDS
	# shellcheck disable=SC2086
	nice -n 15 ninja -C "$C/o" -j "${JOBS:-$(nproc)}" $programs >>"$C/log" 2>&1 || broken "llama-server does not build"
	times >"$C/times"       # in this shell: another has waited for nobody
	echo "compiled in $((SECONDS - t0)) s, $(sed -n 2p "$C/times" | tr ' ' '+') of processor time"
	# what the links read is kept: objects, archives of llama.cpp, and the commands, in which $T is to be replaced
	for p in $programs; do
		ninja -C "$C/o" -t commands "bin/$p" | tail -n 1 >"$C/link-$p"
	done
	(cd "$C/o" && cat "$C"/link-* | tr ' ' '\n' | grep -E '\.[ao]$' | grep -v '^/' | sort -u | tar cf "$C/inputs.tar" -T -) || broken "what is linked"
	rm -rf "$C/o" "$C/src" "$C/toolkit" "$C/configured"
	mkdir "$C/o" && tar xf "$C/inputs.tar" -C "$C/o" && rm "$C/inputs.tar" && touch "$C/linked"
fi

# --- the links, with the archives of BUILD in the toolkit's places
rm -rf "$R"
mkdir -p "$R/bin" "$R/lib/ollama/cuda_v13"
t0=$SECONDS
for p in $programs; do
	# the stub of the driver stands for its archive in static links (tools/toolkit)
	link=$(sed -E "s|$T/lib(64)?/stubs/libcuda\.so|$B/lib/cuda-13/libcuda.a|g; s|$T/lib(64)?|$B/lib/cuda-13|g; s| -o bin/$p | -o $R/lib/ollama/$p |" "$C/link-$p")
	(cd "$C/o" && eval "$link") >>"$C/log" 2>&1 || broken "$p does not link"
done
ollama_install "$R/bin" "-linkmode external -extldflags '-static -Wl,--wrap=dlopen,--wrap=dlsym,--wrap=dlclose,--wrap=dlerror -L$B/lib/cuda-13 -lvgpu-dl'" ||
	case $? in 77) no "ollama $ollama cannot be had: $(tail -n 1 "$C/log")" ;; *) broken "ollama does not link" ;; esac
# Ollama asks llama-server once for each folder that has a file of such a name, and the driver where the folder is CUDA's
: >"$R/lib/ollama/cuda_v13/ggml-cuda-is-in-llama-server"
flock -u 9
echo "linked in $((SECONDS - t0)) s: $(cd "$R" && du -m bin/* lib/ollama/llama-* | awk '{printf "%s%s %s MB", (NR > 1 ? ", " : ""), $2, $1}')"

# --- no shared object
for p in bin/ollama lib/ollama/llama-server lib/ollama/llama-quantize; do
	if readelf -lW "$R/$p" | grep -q INTERP || readelf -d "$R/$p" | grep -q NEEDED || ! ldd "$R/$p" 2>&1 | grep -qE 'not a dynamic|statically'; then
		fail "$p is dynamic"
	else
		ok "$p: ldd says: $(ldd "$R/$p" 2>&1 | sed 's/^[[:space:]]*//')"
	fi
done
[ -z "$(find "$R" -name '*.so*')" ] && ok "no shared object in the folder" || fail "shared objects: $(find "$R" -name '*.so*')"

# --- on the device, without vgpu run: there is nothing to preload
servers=()
stop_all() {
	for p in "${servers[@]+${servers[@]}}"; do kill "$p"; done
	for p in "${servers[@]+${servers[@]}}"; do wait "$p"; done
} 2>/dev/null
trap 'stop_all; cleanup' EXIT
client() { python3 "$here/client.py" "$@"; }
serve() { # serve NAME ENVIRONMENT...: url is where it answers
	local name=$1
	shift
	port=$(python3 "$here/../system/port.py")
	url=http://127.0.0.1:$port
	mkdir -p "$dir/$name.home"
	env "$@" HOME="$dir/$name.home" OLLAMA_HOST=127.0.0.1:$port OLLAMA_MODELS="$dir/models" OLLAMA_NO_CLOUD=1 OLLAMA_DEBUG=1 "$R/bin/ollama" serve >"$dir/$name.log" 2>&1 &
	servers+=($!)
	server=$!
	until_true grep -qE 'inference compute' "$dir/$name.log" || { fail "$name: ollama serve does not answer"; tail -n 15 "$dir/$name.log"; exit 1; }
}
found() { # found NAME SERVER REGEXP
	if grep 'inference compute' "$dir/$2.log" | grep -qE "$3"; then ok "$1"; else fail "$1: $(grep 'inference compute' "$dir/$2.log")"; fi
}
judge() { # judge NAME COMMAND...
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then ok "$name: $(tail -n 1 <<<"$out")"; else fail "$name: $(tail -n 3 <<<"$out")"; tail -n 15 "$dir/device.log" | sed 's/^/  | /'; fi
}
used() { "$V/vgpu" smi -j | python3 -c 'import json,sys; d = json.load(sys.stdin); sys.exit(any(c["contexts"] for c in d["clients"]))'; }

start_stub --memory 4G --cc 7.5
start_agent
serve cpu VGPU_AGENT="$dir/nowhere"
cpu_url=$url
found "without an agent: the CPU" cpu 'library=cpu'
serve device
device=$server
found "discovery: library, device, compute capability" device 'library=CUDA compute=7\.5 name=CUDA0 description="VGPU-STUB'
found "discovery: driver and PCI id, asked of the driver inside" device 'driver=13\.1 pci_id=[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0'
echo "discovery took $(sed -nE 's/.*GPU bootstrap discovery took" duration=//p' "$dir/device.log")"
client key "$here/../llm/model/licences.gguf" "$dir/pool.gguf" llama.pooling_type 1 || exit 1
for m in licences pool; do
	[ $m = pool ] && echo "FROM $dir/pool.gguf" >"$dir/Modelfile" || echo "FROM $here/../llm/model/licences.gguf" >"$dir/Modelfile"
	OLLAMA_HOST=${url#http://} HOME=$dir "$R/bin/ollama" create $m -f "$dir/Modelfile" >"$dir/create.log" 2>&1 || { fail "ollama create"; cat "$dir/create.log"; exit 1; }
done
line=$(client say "$url" licences "You may copy and distribute" 4 && client ps "$url")
if [[ $line == *"licences:latest 100"* ]] && grep -qE 'offloaded ([0-9]+)/\1 layers to GPU' "$dir/device.log"; then ok "100 % GPU, all layers"; else fail "100 % GPU: $line"; tail -n 20 "$dir/device.log"; fi
# what the processes have mapped while the model is loaded
maps=$(for p in "$device" $(pgrep -P "$device"); do sed -nE 's|.* (/.*)|\1|p' "/proc/$p/maps"; done | sort -u)
if grep -q "$R/lib/ollama/llama-server" <<<"$maps" && ! grep -E 'cuda|cublas|nvidia|vgpu.*\.so|ggml' <<<"${maps//$R/}"; then
	ok "nothing of CUDA's or ours is loaded: $(grep -c '\.so' <<<"$maps") shared objects in ollama and llama-server"
else
	fail "loaded: $(tr '\n' ' ' <<<"$maps")"
fi
for how in "-p $device" "-- $R/bin/ollama serve"; do
	# shellcheck disable=SC2086
	if out=$("$V/vgpu" doctor $how 2>&1) && grep -q 'ggml backend: inside .*llama-server, with our driver' <<<"$out"; then ok "doctor ${how%% *} names no failure"; else fail "doctor $how: $out"; fi
done
judge "text against the CPU's" client text "$url" "$cpu_url" licences 64 "You may copy and distribute" "This License does not" "The purpose of"
judge "embeddings against the CPU's" client embed "$url" "$cpu_url" pool
for m in licences pool; do OLLAMA_HOST=${url#http://} HOME=$dir "$R/bin/ollama" stop $m; done >/dev/null 2>&1
until_true used && ok "ollama stop gives all memory back" || { fail "ollama stop"; "$V/vgpu" smi; }
exit 0
