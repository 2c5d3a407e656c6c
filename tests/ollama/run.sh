#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unmodified Ollama on VGPU-STUB: what it finds, what it writes, what it says when something dies. One line per scenario: ok,
# FAIL or skip.
#   run.sh BUILD [PATTERN]      PATTERN: only groups whose name matches it;  VGPU_TEST_LONG=1: ten clients for a minute, not for ten seconds
. "$(dirname "$0")/../system/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
only=${2:-}
unset LD_LIBRARY_PATH LD_PRELOAD VGPU_AGENT CUDA_VISIBLE_DEVICES
why=$("$here/build.sh" "$B" 2>&1); st=$?
[ $st = 77 ] && { skip "ollama: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { fail "ollama: $why"; exit 1; }
R=$B/ollama/release
model=$here/../llm/model/licences.gguf
. "$here/servers.sh"
group() { [[ $1 =~ $only ]]; }
client() { python3 "$here/client.py" "$@"; }
judge() { # judge NAME COMMAND...: its last line goes with the name
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then ok "$name: $(tail -n 1 <<<"$out")"; else fail "$name: $(tail -n 3 <<<"$out")"; tail -n 15 "$dir/${log:-device}.log" | sed 's/^/  | /'; fi
}

# serve NAME COMMAND...: an `ollama serve` with a port, home and log of its own; `url` is where it answers
serve() {
	local name=$1
	shift
	port=$(python3 "$here/../system/port.py") log=$name
	url=http://127.0.0.1:$port
	mkdir -p "$dir/$name.home"
	: >"$dir/$name.log"     # of a server of the same name before
	# one thread for what ggml computes on the CPU: more of them wait for each other without sleep; and no debugger when it aborts
	env HOME="$dir/$name.home" OLLAMA_HOST=127.0.0.1:$port OLLAMA_MODELS="$dir/models" OLLAMA_NO_CLOUD=1 OLLAMA_DEBUG=1 LLAMA_ARG_THREADS=1 GGML_NO_BACKTRACE=1 "$@" >"$dir/$name.log" 2>&1 &
	servers+=($!)
	server=$!
	until_true grep -qE 'inference compute' "$dir/$name.log" || { fail "$name: ollama serve does not answer"; tail -n 15 "$dir/$name.log"; return 1; }
}
quit() { kill "$1" && wait "$1"; } 2>/dev/null
ollama() { OLLAMA_HOST=${url#http://} HOME=$dir "$R/bin/ollama" "$@"; }
found() { # found NAME REGEXP: in the server's line about its device
	if grep 'inference compute' "$dir/$log.log" | grep -qE "$2"; then ok "$1"; else fail "$1: $(grep 'inference compute' "$dir/$log.log")"; fi
}
used() { "$V/vgpu" smi -j | python3 -c 'import json,sys; d = json.load(sys.stdin); sys.exit(any(c["contexts"] for c in d["clients"]))'; }
whole_gpu() { # whole_gpu NAME MODEL: loaded, all layers, 100 % GPU
	local line
	line=$(client say "$url" "$2" "You may copy and distribute" 4 && client ps "$url")
	if [[ $line == *"$2:latest 100"* ]] && grep -qE 'offloaded ([0-9]+)/\1 layers to GPU' "$dir/$log.log"; then ok "$1"; else fail "$1: $line"; tail -n 20 "$dir/$log.log"; fi
}
# what the CPU repacks, for AMX above all, it rounds otherwise than by its plain kernels: a reference is to be the same on any machine
cpu_server() { serve cpu env LLAMA_ARG_REPACK=0 "$R/bin/ollama" serve; cpu_url=$url; found "without us: the CPU" 'library=cpu'; }

# --- one server by `vgpu run`, the README's way by hand
start_stub --memory 4G
start_agent
client key "$model" "$dir/pool.gguf" llama.pooling_type 1 || exit 1
client key "$model" "$dir/second.gguf" vgpu.copy 2 || exit 1
serve device "$V/vgpu" run -- "$R/bin/ollama" serve || exit 1
device_url=$url device_server=$server
found "discovery: library, device, compute capability" 'library=CUDA compute=6\.1 name=CUDA0 description="VGPU-STUB'
echo "discovery took $(sed -nE 's/.*GPU bootstrap discovery took" duration=//p' "$dir/device.log")"
found "discovery: driver and PCI id" 'driver=13\.1 pci_id=[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.0'
cp "$model" "$dir/licences.gguf"
for m in licences second pool; do
	# what asks for no number ends when this model says so, or the context is full
	printf 'FROM %s\nPARAMETER num_predict 120\n' "$dir/$m.gguf" >"$dir/Modelfile"
	ollama create $m -f "$dir/Modelfile" >"$dir/create.log" 2>&1 || { fail "ollama create"; cat "$dir/create.log"; exit 1; }
done
whole_gpu "100 % GPU, all layers" licences
[ -n "$only" ] && ! group text || { cpu_server || exit 1; }

if group text; then
	url=$device_url log=device
	judge "text against the CPU's" client text "$device_url" "$cpu_url" licences 128 "You may copy and distribute" "This License does not" "The purpose of" "A cat is a small animal that"
	judge "embeddings against the CPU's" client embed "$device_url" "$cpu_url" pool
	judge "two models at once" client mixed "$device_url" licences second "Redistributions of source code must retain"
	out=$(ollama run licences "Redistributions of source" 2>&1 </dev/null | wc -c)
	[ "$out" -gt 20 ] && ok "ollama run writes" || fail "ollama run: $out bytes"
	judge "crowd" client crowd "$device_url" "$([ -n "${VGPU_TEST_LONG:-}" ] && echo 60 || echo 10)" 10 licences second
fi

if group memory; then
	url=$device_url log=device
	client say "$url" licences "You may" 2 >/dev/null && ! used && ok "a loaded model has memory" || fail "a loaded model has memory"
	for m in licences pool second; do ollama stop $m; done >/dev/null 2>&1
	until_true used && ok "ollama stop gives all memory back" || { fail "ollama stop"; "$V/vgpu" smi; }
	curl() { python3 -c 'import sys, urllib.request; urllib.request.urlopen(urllib.request.Request(sys.argv[1], sys.argv[2].encode()), timeout=120).read()' "$@"; }
	curl "$url/api/generate" '{"model":"licences","prompt":"You may","raw":true,"stream":false,"keep_alive":"1s","options":{"num_predict":2}}'
	until_true used && ok "the end of keep-alive gives all memory back" || { fail "keep-alive"; "$V/vgpu" smi; }
fi

# --- deaths
dies() { # dies NAME VICTIM: killed in the middle of a text, the request ends with an error
	local pid out t0 t1
	: >"$dir/start.out"     # what is behind & opens it when it gets to run
	client start "$url" licences >"$dir/start.out" 2>&1 &
	pid=$!
	until_true grep -q started "$dir/start.out" || { fail "$1: no text began: $(cat "$dir/start.out")"; return; }
	t0=${EPOCHREALTIME/./}
	# shellcheck disable=SC2086
	kill -9 $2
	wait $pid
	t1=${EPOCHREALTIME/./}
	out=$(tail -n 1 "$dir/start.out")
	case $out in
	done | started) fail "$1: the text ended as if nothing had happened" ;;
	*) ok "$1: told after $(((t1 - t0) / 1000)) ms: $out" ;;
	esac
}
# of this run, all that have a model: one that is ending may still be there, and numbers of processes begin anew, so that none is
# known to be the last; Ollama starts llama-server without a model, too, to look at the device's memory
runner() { pgrep -f "^$R/lib/ollama/llama-server --model $dir/"; }
back() { # back NAME: the next request is answered on the GPU
	local line
	line=$(client say "$url" licences "You may copy and distribute" 4 2>&1 && client ps "$url")
	[[ $line == *"licences:latest 100"* ]] && ok "$1" || { fail "$1: $line"; tail -n 20 "$dir/$log.log"; }
}
if group deaths; then
	url=$device_url log=device
	client say "$url" licences "You may" 1 >/dev/null
	dies "runner killed in a text" "$(runner)"
	until_true used && ok "its memory is free" || fail "its memory is free"
	back "the next request works"
	# shellcheck disable=SC2046
	kill -9 $(runner)
	back "runner killed in idle: the next request works"
	dies "agent killed in a text" "$agent"
	wait "$agent" 2>/dev/null
	out=$(client say "$url" second "You may copy" 4 2>&1) && fail "without an agent another model was computed somewhere: $out, $(client ps "$url")" || ok "without an agent another model is an error: $(tail -c 160 <<<"$out" | tr '\n' ' ')"
	start_agent
	back "agent back, Ollama not restarted: on the GPU"
	dies "device killed in a text" "$stub"
	wait "$stub" 2>/dev/null
	start_stub --memory 4G
	until_true device_ready || fail "the agent does not attach the device again: $(tail -n 3 "$dir/agent.log")"
	back "device back: on the GPU"
	kill -9 "$agent"; wait "$agent" 2>/dev/null
	start_agent
	# the loaded model was on the device of before: its next request is the one that says so
	out=$(client say "$url" licences "You may copy" 4 2>&1) && fail "agent replaced in idle: answered by nobody knows what: $out" ||
		ok "agent replaced in idle, next request: $(tr '\n' ' ' <<<"$out" | head -c 120)"
	back "the one after that: on the GPU"
fi
quit "$device_server"

# --- the agent gone before Ollama starts: what it left behind keeps Ollama from the CPU. The same world without VGPU_REQUIRED goes there.
if group required; then
	kill "$agent"; wait "$agent" 2>/dev/null
	serve silent LD_LIBRARY_PATH="$B/lib" "$R/bin/ollama" serve
	found "no agent, VGPU_REQUIRED not set: the CPU" 'library=cpu'
	quit "$server"
	serve required LD_LIBRARY_PATH="$B/lib" VGPU_REQUIRED=1 GGML_NO_BACKTRACE=1 "$R/bin/ollama" serve
	found "no agent at Ollama's start, VGPU_REQUIRED: its device all the same" 'library=CUDA compute=6\.1 .*VGPU-STUB.*pci_id=[0-9a-f]{4}:'
	out=$(client say "$url" licences "You may copy" 4 2>&1) && fail "without an agent it was computed somewhere: $out, $(client ps "$url")" ||
		ok "a model is an error: $(tail -c 160 <<<"$out" | tr '\n' ' ')"
	grep -q 'no vgpu-agent answers at VGPU_AGENT=' "$dir/required.log" && ok "its log has the reason" || fail "its log has no reason"
	start_agent
	back "the agent there, Ollama not restarted: on the GPU"
	quit "$server"
fi

# --- layouts, and ways to be started
layout() { # layout NAME CC REGEXP COMMAND...: a release folder $dir/NAME, laid out already
	local name=$1 want=$3
	shift 3
	serve "$name" "$@" "$dir/$name/bin/ollama" serve || return
	found "$name: $want" "$want"
	whole_gpu "$name: all on the GPU" licences
	quit "$server"
}
copy() { alike "$R" "$dir/$1"; }
if group layouts; then
	# the stock cudart that releases carry, and a cuBLAS that must never be called
	stock=$B/ollama/stock
	if [ ! -e "$stock/libcudart.so.12" ]; then
		mkdir -p "$stock"
		python3 -m pip install -q --disable-pip-version-check --no-deps --target "$stock/wheel" nvidia-cuda-runtime-cu12==12.8.90 >"$dir/pip.log" 2>&1 &&
			cp "$stock"/wheel/nvidia/cuda_runtime/lib/libcudart.so.12 "$stock/" && rm -rf "$stock/wheel"
	fi
	copy stock
	if [ -e "$stock/libcudart.so.12" ]; then
		cp "$stock/libcudart.so.12" "$dir/stock/lib/ollama/cuda_v12/"
		echo 'int cublasCreate_v2(void **h); int cublasCreate_v2(void **h) { (void)h; __builtin_trap(); }' |
			gcc -shared -fPIC -Wl,-soname,libcublas.so.12 -x c - -o "$dir/stock/lib/ollama/cuda_v12/libcublas.so.12"
		layout stock 6.1 'library=CUDA.*libdirs=ollama,cuda_v12' "$V/vgpu" run --
	else
		skip "stock cudart beside: PyPI cannot be reached: $(tail -n 1 "$dir/pip.log")"
	fi
	copy flat
	mv "$dir"/flat/lib/ollama/cuda_v12/* "$dir/flat/lib/ollama/" && rmdir "$dir/flat/lib/ollama/cuda_v12"
	layout flat 6.1 'library=CUDA' "$V/vgpu" run --
	copy traced
	layout traced 6.1 'library=CUDA' "$V/vgpu" trace -o "$dir/trace" --
	grep -q cudaLaunchKernel "$dir/trace" && ok "traced: its launches are in the trace" || fail "traced: $(tail -n 3 "$dir/trace")"
	if "$here/../llm/fetch.sh" "$B/llm" cuda13 >"$dir/fetch.log" 2>&1; then
		for w in v13 both; do
			copy $w
			mkdir "$dir/$w/lib/ollama/cuda_v13"
			alike "$B/llm/cuda13/libggml-cuda.so" "$dir/$w/lib/ollama/cuda_v13/libggml-cuda.so"
			[ $w = v13 ] && rm -r "$dir/$w/lib/ollama/cuda_v12"
		done
		layout both 6.1 'library=CUDA.*compute=6\.1.*libdirs=ollama,cuda_v12' "$V/vgpu" run --
		layout both 7.5 'library=CUDA.*compute=7\.5.*libdirs=ollama,cuda_v13' "$V/vgpu" run --cc 7.5 --
		layout v13 7.5 'library=CUDA.*libdirs=ollama,cuda_v13' "$V/vgpu" run --cc 7.5 --
	else
		skip "cuda_v13: $(tail -n 1 "$dir/fetch.log")"
	fi
fi
if group user; then
	# as the service's user, with no more than the libraries' folder in its environment
	if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
		copy user
		mkdir -p "$dir/user.home" && chmod 755 "$dir" && chmod -R a+rX "$dir/user" "$dir/models" && chmod 666 "$dir/agent"
		chown -R nobody "$dir/user.home" "$dir/models"
		libs=$B/lib
		reachable "$V/vgpu" || { libs=$dir/user.lib; mkdir "$libs" && cp -a "$B"/lib/*.so* "$libs/"; }
		layout user 6.1 'library=CUDA.*driver=13' setpriv --reuid=nobody --clear-groups env LD_LIBRARY_PATH="$libs" VGPU_AGENT="$dir/agent"
	else
		skip "another user: needs root"
	fi
fi
exit 0
