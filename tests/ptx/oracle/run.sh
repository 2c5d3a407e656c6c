#!/bin/bash
# SPDX-License-Identifier: MIT
# The oracle's forms (README.md) on every engine: writes the cases, runs them, names the forms that differ.
# PTXRUN: another program instead of BUILD's, one with a planted fault, say.
# Usage: oracle/run.sh BUILD [-e EACH] [-n ROWS] [-p PART]...    (all forms, 64 rows; -e 8: every eighth form)
set -u
dir=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: run.sh BUILD [-e EACH] [-n ROWS] [-p PART]}
shift
run=${PTXRUN:-$build/test/ptx/plain/ptxrun}
[ -x "$run" ] || { echo "no $run: make test-bins"; exit 77; }
command -v python3 > /dev/null || { echo "python3 is not here"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
PYTHONDONTWRITEBYTECODE=1 python3 "$dir/oracle.py" "$work/cases" "$@" || exit 1
bad=0
while read -r name isa args; do
	# shellcheck disable=SC2086
	VGPU_CPU_ISA=$isa "$run" $args "$work/cases" > "$work/log" 2>&1
	rc=$?
	echo "$name: $(tail -1 "$work/log")"
	if [ $rc != 0 ]; then
		bad=1
		python3 "$dir/explain.py" < "$work/log" | head -60
	fi
done <<-END
	jit avx512 -m jit
	jit/avx2 avx2 -m jit
	jit/partly avx512 -m jit -x 3
	interpreter avx512 -m interp
	interpreter/base base -m interp
	memcheck avx512 -m memcheck
END
exit $bad
