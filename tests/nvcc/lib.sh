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
# nvcc_make OUT SOURCES FLAG...: nvcc FLAG... -o OUT, again only when one of the SOURCES (all files of the project that are read, in one word),
# a FLAG, nvcc or the compiler of the host has changed. What it makes does not depend on anything else of ours: it is kept in VGPU_TEST_CACHE
# (~/.cache/vgpu-tests) by the hash of these, as what takes minutes elsewhere is, and what nobody has asked for in two months goes.
nvcc_make() {
	local out=$1 sources=$2 key kept st=0
	shift 2
	# shellcheck disable=SC2086
	key=$({ cat tools/toolkit/fetch.sh $sources && g++ --version; } | sha256sum)$*
	[ -e "$out" ] && [ "$(cat "$out.key" 2>/dev/null)" = "$key" ] && return 0
	kept=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/nvcc-out/$(sha256sum <<<"$key" | cut -c 1-40)
	mkdir -p "$(dirname "$out")"
	rm -f "$out.key"
	if cp "$kept" "$out.new" 2>/dev/null; then
		touch "$kept"
	else
		"$nvcc" "$@" -o "$out.new" >"$out.log" 2>&1 || st=$?
		if [ $st != 0 ]; then
			head -n 20 "$out.log"
			return 1
		fi
		# whole or not at all, whoever else does the same; a cache that cannot be written is none
		{ mkdir -p "${kept%/*}" && cp "$out.new" "$kept.$BASHPID" && mv "$kept.$BASHPID" "$kept" && find "${kept%/*}" -type f -mtime +60 -delete; } 2>/dev/null
	fi
	mv "$out.new" "$out"
	echo "$key" >"$out.key"
}
