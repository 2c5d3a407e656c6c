#!/bin/sh
# SPDX-License-Identifier: MIT
# The committed PTX is what the sources give: compiles kernels/*.cu, the bench's, cuBLAS's and the cuda engine's kernels again and compares. Comments are left out, since
# clang writes its own name and inline-asm markers there. Only clang 14's text is comparable; 77 otherwise.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
clang=${CLANG:-clang}
command -v "$clang" >/dev/null || { echo "no clang on this machine"; exit 77; }
v=$("$clang" --version | sed -n 's/.*clang version \([0-9]*\)\..*/\1/p')
[ "$v" = 14 ] || { echo "the PTX was made by clang 14, this is ${v:-unknown}"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bench=$here/../../tools/vgpu/kernels blas=$here/../../libcuda-lite/blas/kernels nccl=$here/../../libcuda-lite/nccl/kernels
engine=$here/../../tools/vgpu-stub/cuda/kernels
mkdir "$tmp/e2e" "$tmp/bench" "$tmp/everyday" "$tmp/blas" "$tmp/nccl" "$tmp/engine"
CLANG=$clang "$here/kernels/regen.sh" -o "$tmp/e2e"
CLANG=$clang "$bench/regen.sh" -o "$tmp/bench"
CLANG=$clang "$bench/everyday/regen.sh" -o "$tmp/everyday"
CLANG=$clang "$blas/regen.sh" -o "$tmp/blas"
CLANG=$clang "$nccl/regen.sh" -o "$tmp/nccl"
CLANG=$clang "$engine/regen.sh" -o "$tmp/engine"
plain() { sed -e 's,//.*,,' -e 's/[ \t]*$//' "$1" | grep -v '^$'; }
bad=0
for f in "$tmp"/e2e/*.ptx "$tmp"/bench/*.ptx "$tmp"/everyday/*.ptx "$tmp"/blas/*.ptx "$tmp"/nccl/*.ptx "$tmp"/engine/*.ptx; do
	name=$(basename "$f")
	case $f in */bench/*) committed=$bench ;; */everyday/*) committed=$bench/everyday ;; */blas/*) committed=$blas ;; */nccl/*) committed=$nccl ;; */engine/*) committed=$engine ;; *) committed=$here/kernels ;; esac
	plain "$f" >"$tmp/new"
	plain "$committed/$name" >"$tmp/old"
	if ! cmp -s "$tmp/new" "$tmp/old"; then
		echo "$name is not what its source gives (run $committed/regen.sh and commit):"
		diff "$tmp/old" "$tmp/new" | head -n 10
		bad=1
	fi
done
[ $bad = 0 ] && echo "all PTX is fresh"
exit $bad
