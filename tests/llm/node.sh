#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# node-llama-cpp itself, where Node is 20 or newer. Fetches 200 MB more than run.sh.
#   node.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
L=$B/llm
have=$(node --version 2>/dev/null)
major=${have#v}
if ! [ "${major%%.*}" -ge 20 ] 2>/dev/null; then
	echo "skip node-llama-cpp: it wants Node 20, here is ${have:-none}"
	exit 0
fi
why=$("$here/build.sh" "$B" 2>&1 && "$here/fetch.sh" "$L" node 2>&1); st=$?
[ $st = 77 ] && { echo "skip node: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { echo "FAIL node: $why"; exit 1; }
cd "$L/node" || exit 1
out=$(timeout 200 "$B/bin/vgpu" run --private -- node "$here/node.mjs" "$here/model/licences.gguf" "You may copy and distribute" 2>"$L/node.log")
grep -E '^(ok|FAIL) ' <<<"$out" || echo "FAIL node: ${out:-$(tail -n 3 "$L/node.log" | tr '\n' ' ')}"
grep -q '^ok ' <<<"$out"
