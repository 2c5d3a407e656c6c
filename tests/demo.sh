#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make demo: device table, the end-to-end programs against their references, launch latency. All on
# a device and an agent of its own; needs no root.
set -eu
cd "$(dirname "$0")/.."
B=$(cd "$1" && pwd)
if [ "${2:-}" != inside ]; then
	exec "$B/bin/vgpu" run --private -- "${BASH:-bash}" tests/demo.sh "$B" inside
fi
echo
"$B/bin/vgpu" smi
echo
echo "CUDA programs, each checked against a CPU reference:"
bad=0
while read -r name flavours demo args; do
	case $name in '' | '#'*) continue ;; esac
	[ "$demo" = yes ] || continue
	for f in ${flavours//,/ }; do
		# shellcheck disable=SC2086
		out=$(timeout 60 "$B/e2e/$f/$name" $args 2>&1 </dev/null) || { bad=1; out="FAIL: $out"; }
		printf '  %-8s %s\n' "$f" "$(tail -n 1 <<<"$out")"
	done
done <tests/e2e/programs.txt
echo
"$B/bin/vgpu" bench launch
exit $bad
