#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the end-to-end programs of programs.txt and says one line each:
#   ok FLAVOUR/NAME details | FAIL FLAVOUR/NAME reason | skip FLAVOUR/NAME reason
#
#   run.sh BUILD [FLAVOUR...]     BUILD holds bin/, lib/ and e2e/FLAVOUR/NAME
# With VGPU_AGENT set the programs use that agent; else `vgpu run` starts a device and an agent once for all of them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
shift
[ $# -gt 0 ] || set -- driver static static-musl rt12 rt13 c12 c13 blas12 blas13 nvml nccl
if [ -z "${VGPU_AGENT:-}" ]; then
	[ -z "${E2E_WINDOW:-}" ] || exec "$here/narrow.sh" "$B" "${BASH:-bash}" "$here/run.sh" "$B" "$@"
	exec "$B/bin/vgpu" run --private -- "${BASH:-bash}" "$here/run.sh" "$B" "$@"
fi
limit=${E2E_TIMEOUT:-120}
bad=0

# one FLAVOUR NAME ARGS...
one() {
	local flavour=$1 name=$2 out st
	shift 2
	if [ ! -x "$B/e2e/$flavour/$name" ]; then
		echo "FAIL $flavour/$name not built"
		bad=1
		return
	fi
	out=$(timeout -k 2 "$limit" "$B/e2e/$flavour/$name" "$@" 2>&1 </dev/null)
	st=$?
	case $st in
	0)  echo "ok $flavour/$name $(tail -n 1 <<<"$out" | sed 's/^[^:]*: ok //')" ;;
	77) echo "skip $flavour/$name $(tail -n 1 <<<"$out")" ;;
	*)  bad=1
	    [ $st = 124 ] && out="no end within $limit s; $out"
	    echo "FAIL $flavour/$name (exit $st) $(head -n 1 <<<"$out")"
	    sed 's/^/  | /' <<<"$out" | head -n 20 ;;
	esac
}

for flavour; do
	while read -r name flavours _ args; do
		case $name in ''|'#'*) continue ;; esac
		# static programs exist twice
		case ,$flavours, in *,"${flavour%-musl}",*) one "$flavour" "$name" $args ;; esac
	done <"$here/programs.txt"
done
exit $bad
