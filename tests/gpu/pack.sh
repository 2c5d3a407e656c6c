#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Packs a built tree for a machine with a GPU: what tests/gpu/all.sh wants there beside the sources, in archives that are small enough to go
# with them. Paths in them begin at the project's root.
#
#   pack.sh [-l LLM] BUILD [FOLDER]      FOLDER: where they go (BUILD/gpu/pack); wants make all test-bins
#
#   tree.tar.xz    the programs, libraries and tests, stripped
#   native.tar.xz  programs of tests/nvcc (shown, programs), machine code for compute capability 9.0 with a cudart inside, and PTX of the device
#                  library for tests/maths; where nvcc is there or can be fetched (tools/toolkit/fetch.sh)
#   llm.tar.xz     llama.cpp, if -l names a folder of it as run.sh has it: BUILD/llm is too large, since its libggml-cuda.so is for many GPUs
set -u
llm=''
while getopts l: o; do
	case $o in l) llm=$OPTARG ;; *) exit 2 ;; esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { sed -n 's/^#   \(pack.sh .*\)/usage: \1/p' "$0" >&2; exit 2; }
[ -z "$llm" ] || llm=$(cd "$llm" && pwd) || exit 2
B=$(cd "$1" && pwd) bad=0
[ -x "$B/bin/vgpu-stub" ] && [ -x "$B/test/gpu/figures" ] || { echo "pack.sh: $B is not built: make all test-bins" >&2; exit 2; }
mkdir -p "${2:-$B/gpu/pack}" || exit 2
out=$(cd "${2:-$B/gpu/pack}" && pwd)
cd "$(dirname "$0")/../.." || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/vgpu-pack-XXXXXX")
trap 'rm -rf "$work"' EXIT
# archive NAME OPTIONS...: of the folder build in $work
archive() {
	local name=$1
	shift
	tar c "$@" -C "$work" build | xz -T1 "-${PACK_XZ:-3}" >"$out/$name.new" && mv "$out/$name.new" "$out/$name" || bad=1
	rm -rf "$work/build"
}

t=$work/build/test
mkdir -p "$t/ptx"
cp -a "$B/bin" "$B/lib" "$B/e2e" "$work/build/"
cp -a "$B/test/gpu" "$B/test/probe" "$B/test/maths" "$t/"
cp -a "$B/test/ptx/plain" "$t/ptx/"
find "$work" \( -name '*.a' -o -name '*.o' -o -name '*.d' \) -delete
find "$work" -type f -size +20k -print0 | while IFS= read -r -d '' f; do
	[ "$(head -c 4 "$f" | tail -c 3)" != ELF ] || strip --strip-unneeded "$f" 2>/dev/null
done
archive tree.tar.xz

if nvcc=$(tools/toolkit/fetch.sh "$B/nvcc" >&2 && echo "$B/nvcc/bin/nvcc"); then
	n=$B/gpu/native
	mkdir -p "$n/shown" "$n/programs" "$work/build/gpu"
	for f in tests/nvcc/shown/*.cu tests/nvcc/programs/*.cu; do
		to=$n/$(basename "$(dirname "$f")")/$(basename "$f" .cu)
		# tile.cu is for a newer architecture
		[ "${f##*/}" = tile.cu ] || [ "$to" -nt "$f" ] || "$nvcc" -w -std=c++17 --extended-lambda -cudart static -gencode arch=compute_90,code=sm_90 -o "$to" "$f" ||
			{ echo "pack.sh: $f is not compiled" >&2; bad=1; }
	done
	tests/maths/run.sh "$B" no-such-function >/dev/null 2>&1     # leaves the PTX
	mkdir -p "$n/maths"
	# a driver refuses PTX that is newer than itself, whatever is in it
	for f in "$B"/nvcc-out/maths/*.ptx; do sed -E 's/^\.version 9\.[1-9]$/.version 9.0/' "$f" >"$n/maths/${f##*/}" || bad=1; done
	cp -a "$n" "$work/build/gpu/"
	archive native.tar.xz
fi
if [ -n "$llm" ]; then
	mkdir -p "$work/build/llm"
	cp -aL "$llm"/{llm,mkgguf,lib} "$work/build/llm/" || bad=1
	archive llm.tar.xz
fi
ls -l "$out"
exit $bad
