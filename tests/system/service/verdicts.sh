# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced first by what runs in such a machine: verdicts go to /mnt/verdicts, all that is said to /mnt/out.
exec >/mnt/out 2>&1
set -u
echo started
judge() { # judge NAME COMMAND...
	local name=$1
	shift
	if "$@"; then echo "ok $name" >>/mnt/verdicts; else echo "FAIL $name ($*)" >>/mnt/verdicts; fi
	echo "--- $name"
}
property() { systemctl show -P "$2" "$1"; }
soon() { # soon COMMAND...: within a minute, however busy this machine is
	local until=$((SECONDS + 60))
	until "$@"; do
		[ $SECONDS -lt $until ] || return 1
		sleep 0.1
	done
}
not() { ! "$@"; }
is() { [ "$1" = "$2" ]; }
state() { is "$(property "$1" ActiveState)" "$2"; }
