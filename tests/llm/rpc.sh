#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# llama.cpp's RPC: its own rpc-server, twice, each with an agent and a device of its own, as on two machines; a client without any device
# divides a model's layers between them and computes what its CPU backend does. rpc-server and the RPC backend are compiled from the
# packaged version's sources (10 s of processor time, kept in VGPU_TEST_CACHE).
#   rpc.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
L=$B/llm
why=$("$here/build.sh" "$B" 2>&1); st=$?
[ $st = 77 ] && { echo "skip rpc: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { echo "FAIL rpc: $why"; exit 1; }
npm=$(sed -n 's/^version=//p' "$here/fetch.sh")
C=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/rpc-$npm
dir=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-test-XXXXXX")
pids=()
end() { for p in "${pids[@]}"; do kill "$p"; wait "$p"; done 2>/dev/null; rm -rf "$dir"; }
trap end EXIT
bad=0
ok() { echo "ok $*"; }
fail() { echo "FAIL $*"; bad=1; }
until_true() { local until=$((SECONDS + 100)); until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $until ] || return 1; sleep 0.05; done; }

mkdir -p "$C" || { echo "skip rpc: $C cannot be made"; exit 0; }
exec 9>"$C/lock"
flock 9
if [ ! -x "$C/rpc-server" ]; then
	why=$("$here/source.sh" "$C/src" 2>&1); st=$?
	[ $st = 0 ] || { echo "skip rpc: $(tail -n 1 <<<"$why")"; exit 0; }
	f=(-O1 -DNDEBUG -std=c++17 -w -fPIC -DGGML_BACKEND_SHARED -DGGML_SHARED -I"$C/src/ggml/include" -I"$C/src/ggml/src")
	nice g++ "${f[@]}" -shared -DGGML_BACKEND_DL -DGGML_BACKEND_BUILD -o "$C/libggml-rpc.so" "$C"/src/ggml/src/ggml-rpc/{ggml-rpc,transport}.cpp "$L/lib/libggml-base.so" -lpthread &&
		nice g++ "${f[@]}" -o "$C/new" "$C/src/tools/rpc/rpc-server.cpp" "$L"/lib/libggml.v*.so "$L/lib/libggml-base.so" -Wl,--allow-shlib-undefined -lpthread ||
		{ fail "the sources do not compile"; exit 1; }
	rm -rf "$C/src"
	mv "$C/new" "$C/rpc-server"
fi
flock -u 9
export LD_LIBRARY_PATH=$L/lib GGML_RPC_NO_RDMA=1
# the server loads what lies beside it
mkdir "$dir/server"
ln -s "$L"/lib/*.so "$dir/server/" && cp "$C/rpc-server" "$C/libggml-rpc.so" "$dir/server/"

agents=() ports=()
for n in 1 2; do
	"$B/bin/vgpu-stub" --socket "$dir/stub$n" --memory 1G --name "device $n" 2>"$dir/stub$n.log" & pids+=($!)
	until_true test -S "$dir/stub$n"
	"$B/bin/vgpu-agent" --device "vfio-user:$dir/stub$n" --listen "$dir/agent$n" --pidfile "$dir/pid$n" 2>"$dir/agent$n.log" & pids+=($!)
	until_true env VGPU_AGENT="$dir/agent$n" "$B/bin/vgpu" smi -j || { fail "agent $n: $(cat "$dir/agent$n.log")"; exit 1; }
	agents+=("$dir/agent$n")
	ports+=("$(python3 "$here/../system/port.py")")
	: >"$dir/server$n.log"
	VGPU_AGENT=$dir/agent$n "$B/bin/vgpu" run -- stdbuf -oL "$dir/server/rpc-server" -H 127.0.0.$n -p "${ports[-1]}" -d CUDA0 >"$dir/server$n.log" 2>&1 & pids+=($!)
	if until_true grep -q "CUDA0: .*device $n" "$dir/server$n.log" && until_true bash -c "exec 3<>/dev/tcp/127.0.0.$n/${ports[-1]}"; then
		ok "a server on device $n"
	else
		fail "rpc-server $n: $(cat "$dir/server$n.log")"
		exit 1
	fi
done
launches() { VGPU_AGENT=$1 "$B/bin/vgpu" metrics | sed -n 's/^vgpu_kernel_seconds_count{.*} //p'; }
client() { timeout 240 env LLM_RPC="$dir/server/libggml-rpc.so,127.0.0.1:${ports[0]},127.0.0.2:${ports[1]}" VGPU_AGENT="$dir/nobody" "$L/llm" "$L/lib" "$@" >"$dir/out" 2>"$dir/err"; }
for t in f16 q8_0; do
	"$L/mkgguf" -o "$dir/$t.gguf" -t $t -e 256 -l 4 -f 512 -v 512 -H 4 -k 2 || { fail "mkgguf $t"; continue; }
	was=("$(launches "${agents[0]}")" "$(launches "${agents[1]}")")
	client logits -p 1,33,64 "$dir/$t.gguf" && grep -q '^ok' "$dir/out" && ok "$t: $(grep -c '^ok' "$dir/out") prompts, logits as on the CPU" || fail "$t: $(tail -n 2 "$dir/out" "$dir/err")"
	for n in 0 1; do
		[ "$(launches "${agents[$n]}")" -gt "${was[$n]}" ] && ok "$t: device $((n + 1)) computed its layers" || fail "$t: nothing ran on device $((n + 1))"
	done
done
client text -n 64 "$here/model/licences.gguf" "Permission is hereby granted" && grep -q '^ok' "$dir/out" && ok "text as on the CPU" || fail "text: $(tail -n 2 "$dir/out" "$dir/err")"
exit $bad
