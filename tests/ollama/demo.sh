#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# `ollama run` writes text on the device that is there (make demo, make demo-ollama).
#   demo.sh BUILD [build]       build: its parts are made where they are missing; else that is said, and all is well
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
if [ "${2:-}" = build ]; then
	"$here/build.sh" --there "$B" >/dev/null || echo "  building Ollama from the Go proxy's and npm's sources: some four minutes on two cores, once"
	why=$("$here/build.sh" "$B" 2>&1) || { echo "  not shown: $(tail -n 1 <<<"$why")"; exit 1; }
else
	"$here/build.sh" --there "$B" >/dev/null || { echo "  not here yet: make demo-ollama builds it"; exit 0; }
	"$here/build.sh" "$B" >/dev/null 2>&1 || { echo "  not here yet: make demo-ollama builds it"; exit 0; }
fi
R=$B/ollama/release
tmp=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-ollama-XXXXXX")
export HOME=$tmp OLLAMA_MODELS=$tmp/models OLLAMA_HOST=127.0.0.1:$(python3 "$here/../system/port.py") OLLAMA_NO_CLOUD=1
"$R/bin/ollama" serve >"$tmp/log" 2>&1 &
server=$!
trap 'kill $server; wait $server; rm -rf "$tmp"' EXIT 2>/dev/null
for _ in $(seq 600); do grep -q 'inference compute' "$tmp/log" && break; sleep 0.1; done
sed -nE 's/.*msg="inference compute".* (library=.*)/  \1/p' "$tmp/log" | head -n 1
echo "FROM $here/../llm/model/licences.gguf" >"$tmp/Modelfile"
"$R/bin/ollama" create licences -f "$tmp/Modelfile" >"$tmp/create" 2>&1 || { tail -n 3 "$tmp/create"; exit 1; }
echo '  $ ollama run licences "You may copy and distribute"'
text=$(timeout 240 "$R/bin/ollama" run --nowordwrap licences "You may copy and distribute" 2>/dev/null </dev/null)
fold -s -w 120 <<<"$text" | head -n 6 | sed 's/^/  /'
"$R/bin/ollama" ps | sed 's/^/  /'
[ -n "$text" ] && "$R/bin/ollama" ps | grep -q '100% GPU'
