#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fetches the real ggml-cuda and libllama from npm into FOLDER and lays them out: FOLDER/lib (CPU backends, libllama, the
# CUDA 12 libggml-cuda.so, unmodified) and FOLDER/include (headers from the package's own sources). Once.
#   fetch.sh FOLDER         exit 0 there, 77 cannot be had (the last line says why)
set -eu
version=3.22.1
mkdir -p "$1"
cd "$1"
[ -e done-$version ] && exit 0
command -v npm >/dev/null || { echo "npm is not installed"; exit 77; }
command -v git >/dev/null || { echo "git is not installed"; exit 77; }
for p in node-llama-cpp @node-llama-cpp/linux-x64 @node-llama-cpp/linux-x64-cuda-ext; do
	timeout 240 npm pack --silent "$p@$version" >npm.log 2>&1 || { echo "npm cannot fetch $p: $(tail -n 1 npm.log)"; exit 77; }
done
rm -rf lib include src main cpu ext
mkdir lib include main cpu ext
tar xzf node-llama-cpp-$version.tgz -C main
tar xzf node-llama-cpp-linux-x64-$version.tgz -C cpu
tar xzf node-llama-cpp-linux-x64-cuda-ext-$version.tgz -C ext
git clone -q main/package/llama/gitRelease.bundle src
cp src/include/llama.h src/ggml/include/*.h include/
cp cpu/package/bins/linux-x64/*.so lib/
mv ext/package/bins/linux-x64-cuda/fallback/libggml-cuda.so lib/
rm -rf main cpu ext src ./*.tgz
touch done-$version
