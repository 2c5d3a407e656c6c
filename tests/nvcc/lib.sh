# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by tests that compile with nvcc, from the project's root.

# nvcc_get BUILD: nvcc=its path; without it, one line "skip ..." and the end of the test
nvcc_get() {
	local why

	if ! why=$(tools/toolkit/fetch.sh "$1/nvcc"); then
		echo "skip nvcc: $(tail -n 1 <<<"$why")"
		exit 0
	fi
	nvcc=$(cd "$1/nvcc" && pwd)/bin/nvcc
}
# nvcc_make OUT SOURCES FLAG...: nvcc FLAG... -o OUT, again only when one of the SOURCES (files, in one word) or a FLAG has changed
nvcc_make() {
	local out=$1 sources=$2 key st=0
	shift 2
	# shellcheck disable=SC2086
	key=$(cat tools/toolkit/fetch.sh $sources | sha256sum)$*
	[ -e "$out" ] && [ "$(cat "$out.key" 2>/dev/null)" = "$key" ] && return 0
	mkdir -p "$(dirname "$out")"
	rm -f "$out.key"
	"$nvcc" "$@" -o "$out.new" >"$out.log" 2>&1 || st=$?
	if [ $st != 0 ]; then
		head -n 20 "$out.log"
		return 1
	fi
	mv "$out.new" "$out"
	echo "$key" >"$out.key"
}
