#!/bin/sh
# SPDX-License-Identifier: MIT
# The driver calls that are implemented, one base name a line, or with -n those that are not.
#   libcuda-lite/driver/supported.sh [-n]
want=YES other=NO
[ "${1:-}" = -n ] && want=NO other=YES
def=$(dirname "$0")/exports.def
# a base name counts as implemented when any of its versions is
awk -F'[(,) ]+' -v want=$want -v other=$other '
	/^VG_/ { sub("VG_", "", $1); kind[$3] = kind[$3] " " $1 }
	END { for (b in kind) {
		yes = index(kind[b], "YES") > 0
		if ((want == "YES") == yes) print b } }' "$def" | sort
