#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Linking with our libraries as people do: -L and -lNAME, by each major's folder, by pkg-config; and each library loads alone.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
unset LD_LIBRARY_PATH
CC=${CC:-cc}
I=libcuda-lite/include

cat >"$dir/rt.c" <<'C'
#include <cuda_runtime_api.h>
#include <stdio.h>
int main(void) { int n = 0, v = 0; cudaError_t e = cudaRuntimeGetVersion(&v); return e || cudaGetDeviceCount(&n) == cudaErrorUnknown || printf("%d\n", v / 1000) < 0; }
C
cat >"$dir/alone.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) { (void)argc; if (dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) return 0; puts(dlerror()); return 1; }
C
$CC -o "$dir/alone" "$dir/alone.c" -ldl || { fail "does not build"; exit 1; }

out=$($CC -DCUDART_VERSION=13000 -I$I -o "$dir/rt" "$dir/rt.c" -L"$B/lib" -lcudart 2>&1) && ok "-L lib -lcudart" || fail "-L lib -lcudart: $(head -n 3 <<<"$out")"
for v in 12 13; do
	if out=$($CC -DCUDART_VERSION=${v}000 -I$I -o "$dir/rt$v" "$dir/rt.c" -L"$B/lib/dev-$v" -lcudart 2>&1); then
		got=$(VGPU_AGENT=$dir/nobody LD_LIBRARY_PATH=$B/lib "$dir/rt$v" 2>/dev/null)
		[ "$got" = $v ] && ok "dev-$v is CUDA $v's" || fail "dev-$v: version $got"
	else
		fail "dev-$v: $(head -n 3 <<<"$out")"
	fi
	out=$($CC -I$I -DCUDART_VERSION=${v}000 -o "$dir/all$v" "$dir/rt.c" -Wl,--no-as-needed -L"$B/lib/dev-$v" -lcublas -lcublasLt -lnccl -lnvidia-ml -lcudart -lcuda 2>&1) &&
		ok "dev-$v: all libraries" || fail "dev-$v: all libraries: $(head -n 3 <<<"$out")"
done
# what programs open by its development name (cudarc)
for n in cuda cudart nvrtc nccl; do
	f=$(readlink -f "$B/lib/lib$n.so") && "$dir/alone" "$B/lib/lib$n.so" >"$dir/out" && ok "lib$n.so is ${f##*/}" || fail "lib$n.so: $(cat "$dir/out")"
done
mkdir "$dir/far"
for f in "$B"/lib/*.so.*; do
	"$dir/alone" "$f" >"$dir/out" && ok "${f##*/} loads alone" || fail "${f##*/}: $(cat "$dir/out")"
done
if command -v pkg-config >/dev/null && PREFIX=/opt/x DESTDIR=$dir/stage tools/service/install.sh install "$B" >/dev/null; then
	for p in cuda cudart; do
		flags=$(PKG_CONFIG_PATH=$dir/stage/opt/x/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/stage pkg-config --cflags --libs $p)
		# shellcheck disable=SC2086
		out=$($CC -DCUDART_VERSION=13000 -o "$dir/pc" "$dir/rt.c" $flags -L"$dir/stage/opt/x/lib/vgpu/dev-13" -lcudart 2>&1) && ok "pkg-config $p" || fail "pkg-config $p ($flags): $(head -n 3 <<<"$out")"
	done
else
	skip "pkg-config is not installed"
fi
