#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetches the real ggml-cuda and libllama from npm into FOLDER and lays them out, unmodified. Each part once.
#   fetch.sh FOLDER [cuda13|node]   exit 0 there, 77 cannot be had (the last line says why)
#
#   FOLDER/lib, FOLDER/include      CPU backends, libllama, the CUDA 12 libggml-cuda.so; headers from the package's sources
#   cuda13: FOLDER/cuda13           as lib, with the CUDA 13 libggml-cuda.so
#   node:   FOLDER/node             node-llama-cpp as npm installs it, but for that CUDA 13 libggml-cuda.so
set -eu
. "$(dirname "$0")/npm.sh"
version=3.22.1
mkdir -p "$1"
cd "$1"
exec 7>lock
flock 7
can() {
	command -v npm >/dev/null || { echo "npm is not installed"; exit 77; }
	command -v git >/dev/null || { echo "git is not installed"; exit 77; }
}
fetch() { # PACKAGE FOLDER
	npm_pack "$1@$version" "$2" || { echo "npm cannot fetch $1: $(npm_why $?)"; exit 77; }
}
if ! [ -e done-$version-2 ]; then
	can
	fetch node-llama-cpp main
	fetch @node-llama-cpp/linux-x64 cpu
	fetch @node-llama-cpp/linux-x64-cuda-ext ext
	rm -rf lib include src
	mkdir lib include
	git clone -q main/llama/gitRelease.bundle src 2>/dev/null
	cp src/include/llama.h src/ggml/include/*.h include/
	mv cpu/bins/linux-x64/*.so lib/
	ln ext/bins/linux-x64-cuda/fallback/libggml-cuda.so lib/
	rm -rf main cpu src
	touch done-$version-2
fi
case ${2:-} in
cuda13 | node)
	# `node` takes the package whole, which may have been cleared away since
	if ! [ -e done-$version-cuda13 ] || { [ "$2" = node ] && ! [ -e done-$version-npm ] && ! [ -d main13 ]; }; then
		can
		fetch @node-llama-cpp/linux-x64-cuda main13
		rm -rf cuda13
		cp -al lib cuda13
		mv -f main13/bins/linux-x64-cuda/libggml-cuda.so cuda13/
		touch done-$version-cuda13
	fi
	;;
esac
if [ "${2:-}" = node ] && ! [ -e done-$version-npm ]; then
	can
	rm -rf node
	mkdir node
	echo '{"private":true,"type":"module"}' >node/package.json
	# its optional packages are for every system and GPU there is: the two that CUDA needs come by name
	(cd node && timeout 240 npm install --loglevel=error --ignore-scripts --no-audit --no-fund --omit=optional "node-llama-cpp@$version" >../npm.log 2>&1) ||
		{ echo "npm cannot install node-llama-cpp: $(npm_why $?)"; exit 77; }
	mkdir -p node/node_modules/@node-llama-cpp
	cp -al main13 node/node_modules/@node-llama-cpp/linux-x64-cuda
	cp -al ext node/node_modules/@node-llama-cpp/linux-x64-cuda-ext
	touch done-$version-npm
fi
exit 0
