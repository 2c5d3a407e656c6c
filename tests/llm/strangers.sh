#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Software that nobody here wrote or chose the build of: npm's llama.node, whose one file has llama.cpp, ggml-cuda, PTX for compute
# capability 8.9 alone, and needs NCCL. It must be refused by name at 6.1, doctor must say what it wants, and at 8.9 it must
# write what it writes without the device. Fetches 70 MB, so only where VGPU_TEST_STRANGERS=1 asks for it.
#   strangers.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/npm.sh"
B=$(cd "$1" && pwd)
S=$B/llm/strangers
version=1.7.15
skip() { echo "skip strangers: $1"; exit 0; }
[ "${VGPU_TEST_STRANGERS:-}" = 1 ] || skip "VGPU_TEST_STRANGERS=1 fetches 70 MB from npm and runs them"
command -v npm >/dev/null || skip "npm is not installed"
have=$(node --version 2>/dev/null)
major=${have#v}
[ "${major%%.*}" -ge 18 ] 2>/dev/null || skip "it wants Node 18, here is ${have:-none}"
mkdir -p "$S"
cd "$S" || exit 1
P=$S/node_modules/@fugood/node-llama-linux-x64-cuda/index.node
if ! [ -e "done-$version" ]; then
	echo '{"private":true,"type":"module"}' >package.json
	# its optional packages are for every system there is: the one for CUDA comes by name
	timeout 240 npm install --loglevel=error --ignore-scripts --no-audit --no-fund --omit=optional "@fugood/llama.node@$version" >npm.log 2>&1 &&
		npm_pack "@fugood/node-llama-linux-x64-cuda@$version" "${P%/*}" ||
		skip "npm cannot fetch it: $(npm_why $?)"
	touch "done-$version"
fi
model=$here/model/licences.gguf
# run CC LAYERS FLASH_ATTENTION: the text that it writes, a JSON string; every call of it is counted
run() {
	timeout 120 "$B/bin/vgpu" trace -c -o "calls-$1-$2-$3" --private --cc "$1" -- \
		node "$here/strangers.mjs" "$model" "$2" "$3" "You may copy and distribute" 2>"err-$1-$2-$3" | grep '^"'
}
calls() { awk -v name="$2" '$NF == name {print $1}' "$1"; }
want=$(run 8.9 0 off)
[ ${#want} -gt 64 ] || echo "FAIL llama.node without layers on the device: ${want:-$(tail -n 3 err-8.9-0-off | tr '\n' ' ')}"
for fa in on off; do
	got=$(run 8.9 99 $fa)
	# the first tokens by launches, then a graph a token
	n=$(calls calls-8.9-99-$fa cudaLaunchKernel) g=$(calls calls-8.9-99-$fa cudaGraphLaunch)
	[ -n "$got" ] && [ "$got" = "$want" ] && [ "${n:-0}" -gt 100 ] && [ "${g:-0}" -gt 10 ] &&
		echo "ok llama.node at 8.9, flash attention $fa, $n launches, $g of graphs: $got, the same without the device" ||
		echo "FAIL llama.node at 8.9, flash attention $fa, ${n:-no} launches, ${g:-no} of graphs: ${got:-$(tail -n 3 err-8.9-99-$fa | tr '\n' ' ')}, without the device $want"
done
got=$(run 6.1 99 off)
[ -z "$got" ] && grep -q 'no PTX for compute capability 6.1 or below; the image has PTX: 89' err-6.1-99-off && echo "ok llama.node at 6.1 is refused by name" ||
	echo "FAIL llama.node at 6.1: ${got:-$(tail -n 3 err-6.1-99-off | tr '\n' ' ')}"
"$B/bin/vgpu" run --private -- "$B/bin/vgpu" doctor -- "$P" >out 2>&1
grep -A1 '^fail  GPU code of index.node: no PTX for this device, compute capability 6.1;' out | grep -q 'fix: vgpu run --cc 8.9' &&
	echo "ok doctor says --cc 8.9" || echo "FAIL doctor: $(grep -A1 'GPU code' out | tr '\n' ' ')"
grep -q '^ok    libnccl.so.2: .*ours' out && echo "ok libnccl.so.2 is ours" || echo "FAIL libnccl: $(grep nccl out | tr '\n' ' ')"
