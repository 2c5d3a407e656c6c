#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The sources of llama.cpp that npm's binaries are built from, as node-llama-cpp carries them, into FOLDER.
#   source.sh FOLDER     exit 0 there; 77 cannot be had (the last line says why)
#
# VGPU_LLAMA_CPP names a folder of sources, or a git bundle of them, to be taken instead. What npm sends is kept, by version, in
# VGPU_TEST_CACHE (~/.cache/vgpu-tests).
set -eu
[ $# = 1 ] || { echo "usage: source.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
. "$here/npm.sh"
version=3.22.1
from=${VGPU_LLAMA_CPP:-}
rm -rf "$1"
mkdir -p "$(dirname "$1")"
if [ -d "$from" ]; then
	cp -a "$from" "$1"
	exit 0
fi
command -v git >/dev/null || { echo "git is not installed"; exit 77; }
if [ -z "$from" ]; then
	C=${VGPU_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vgpu-tests}/llama.cpp-$version
	from=$C/gitRelease.bundle
	mkdir -p "$C" || { echo "$C cannot be made"; exit 77; }
	exec 9>"$C/lock"
	flock 9
	if ! [ -e "$from" ]; then
		command -v npm >/dev/null || { echo "npm is not installed"; exit 77; }
		(cd "$C" && npm_pack "node-llama-cpp@$version" package) || { st=$?; cd "$C"; echo "npm cannot fetch node-llama-cpp: $(npm_why $st)"; exit 77; }
		mv "$C/package/llama/gitRelease.bundle" "$from"
		rm -rf "$C/package"
	fi
fi
git -c advice.detachedHead=false clone -q "$from" "$1"
