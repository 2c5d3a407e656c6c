#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Nobody hostile, only many: 16 processes of 4 threads run the computing suite while the whole list of
# end-to-end programs runs twice beside them, all on one device. One line a part: ok | FAIL.
#   crowd.sh BUILD
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$1" && pwd)
if [ "${2:-}" != inside ]; then
	E2E_WINDOW=536870912 exec "$here/../e2e/narrow.sh" "$B" "${BASH:-bash}" "$0" "$B" inside
fi
T=$(mktemp -d /tmp/vgpu-crowd.XXXXXX)
trap 'rm -rf "$T"' EXIT
bad=0
export E2E_TIMEOUT=240
export E2E_SHARED=1                      # what one takes the other sees
"$here/../e2e/run.sh" "$B" >"$T/1" 2>&1 & one=$!
"$here/../e2e/run.sh" "$B" >"$T/2" 2>&1 & two=$!
if out=$(timeout -k 2 280 "$B/e2e/driver/crowd" 16 4 6 2>&1); then
	echo "ok crowd $(tail -n 1 <<<"$out")"
else
	bad=1
	echo "FAIL crowd $(head -n 1 <<<"$out")"
fi
n=0
for pid in $one $two; do
	n=$((n + 1))
	if wait "$pid"; then
		echo "ok suite-$n-of-2-at-once ($(grep -c '^ok' "$T/$n") programs)"
	else
		bad=1
		echo "FAIL suite-$n-of-2-at-once $(grep -m 1 '^FAIL' "$T/$n")"
		grep '^FAIL' "$T/$n" | sed 's/^/  | /'
	fi
done
exit $bad
