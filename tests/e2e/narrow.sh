#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A command on a device and an agent of its own, as `vgpu run --private` has them, but with windows of E2E_WINDOW bytes: one is soon full.
#   E2E_WINDOW=BYTES narrow.sh BUILD COMMAND...
set -u
B=$(cd "$1" && pwd)
shift
dir=$(mktemp -d /tmp/vgpu-narrow.XXXXXX)
chmod 711 "$dir"
stub='' agent=''
cleanup() {
	kill $agent
	wait $agent
	kill $stub
	wait $stub
	rm -rf "$dir"
} 2>/dev/null
trap cleanup EXIT
trap 'exit 1' INT TERM
there() { # there COMMAND...: within a minute
	local until=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || { echo "narrow.sh: no device"; cat "$dir"/*.log; exit 1; } >&2
		sleep 0.02
	done
}
"$B/bin/vgpu-stub" --socket "$dir/stub" 2>"$dir/stub.log" & stub=$!
there test -S "$dir/stub"
export VGPU_AGENT=$dir/agent
"$B/bin/vgpu-agent" --device "vfio-user:$dir/stub" --listen "$VGPU_AGENT" --pidfile "$dir/pid" --client-window "$E2E_WINDOW" 2>"$dir/agent.log" & agent=$!
there "$B/bin/vgpu" smi -j
LD_LIBRARY_PATH=$B/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
