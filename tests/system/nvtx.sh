#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# NVTX: a program with NVIDIA's own headers (PyPI) says what it does, and vgpu trace shows it: by nvtx3, by our libnvToolsExt.so.1, by
# NVIDIA's own libnvToolsExt.so.1, and by Python's nvtx. Skipped where PyPI cannot be had.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
here=tests/system/nvtx
unset VGPU_AGENT VGPU_TRACE VGPU_TRACE_FILTER NVTX_INJECTION64_PATH
export XDG_RUNTIME_DIR=$dir
P=$B/nvtx
# wheel NAME VERSION: unpacked in $P/NAME, kept
wheel() {
	(
		flock 9
		[ "$(cat "$P/$1.have" 2>/dev/null)" = "$2" ] && exit 0
		rm -rf "${P:?}/$1" && mkdir -p "$P/$1" && timeout 120 python3 -m pip download -q --disable-pip-version-check --retries 1 --timeout 30 --no-deps \
			--only-binary :all: -d "$P/$1" "$2" >"$P/log" 2>&1 && python3 -m zipfile -e "$P/$1"/*.whl "$P/$1" && echo "$2" >"$P/$1.have"
	) 9>"$P/lock"
}
mkdir -p "$P"
wheel new nvidia-nvtx-cu12==12.9.79 && wheel old nvidia-nvtx-cu12==12.1.105 || { skip "NVTX: pip cannot fetch nvidia-nvtx-cu12: $(tail -n 1 "$P/log")"; exit 0; }
new=$P/new/nvidia/nvtx old=$P/old/nvidia/nvtx
start_stub --memory 256M
start_agent

# --- names: all that NVIDIA's two libraries export
exported() { nm -D --defined-only "$1" | awk '$2 == "T" && $3 ~ /^nvtx/ {sub(/@.*/, "", $3); print $3}' | sort; }
exported "$B/lib/libnvToolsExt.so.1" >"$dir/ours"
for lib in "$old/lib/libnvToolsExt.so.1" "$new/lib/libnvtx3interop.so.1"; do
	missing=$(comm -23 <(exported "$lib") "$dir/ours" | tr '\n' ' ')
	[ -z "$missing" ] && [ "$(exported "$lib" | wc -l)" -gt 60 ] && ok "every name of $(basename "$lib")" || fail "names of $(basename "$lib") that are missing: $missing"
done

# --- layouts: NVIDIA's headers and ours say the same offsets
offsets() { # offsets INCLUDE HEADER COLOUR PAYLOAD MESSAGE RESOURCE_MESSAGE VALUE
	cat >"$dir/o.c" <<C
#include <stddef.h>
#include <stdio.h>
#include <$2>
#define SHOW(t, f) printf("%zu ", offsetof(t, f))
int main(void)
{
	SHOW(nvtxEventAttributes_t, size), SHOW(nvtxEventAttributes_t, category), SHOW(nvtxEventAttributes_t, $3), SHOW(nvtxEventAttributes_t, payload);
	SHOW(nvtxEventAttributes_t, $4), SHOW(nvtxEventAttributes_t, $5), SHOW(nvtxEventAttributes_t, message), SHOW(nvtxResourceAttributes_t, identifier);
	SHOW(nvtxResourceAttributes_t, $5), SHOW(nvtxResourceAttributes_t, message);
	printf("%zu %zu\n", sizeof(nvtxEventAttributes_t), sizeof(nvtxResourceAttributes_t));
	return 0;
}
C
	gcc -I"$1" -o "$dir/o" "$dir/o.c" -ldl && "$dir/o"
}
theirs=$(offsets "$new/include" nvtx3/nvToolsExt.h color payloadType messageType)
ours=$(offsets libcuda-lite/nvtx nvtx.h colour payload_type message_type)
[ -n "$theirs" ] && [ "$theirs" = "$ours" ] && ok "layouts are NVIDIA's" || fail "layouts: '$ours', NVIDIA's '$theirs'"

# --- one program in four ways to be heard
inc="-Ilibcuda-lite/include -Wall -Wno-unknown-pragmas"
# shellcheck disable=SC2086
gcc $inc -I"$new/include" -o "$dir/nvtx3" $here/program.c "$B/lib/libcuda.so.1" -ldl -lpthread >"$dir/log" 2>&1 || { fail "with nvtx3: $(cat "$dir/log")"; exit 1; }
# shellcheck disable=SC2086
gcc $inc -DOLD -I"$old/include" -o "$dir/linked" $here/program.c "$B/lib/libnvToolsExt.so.1" "$B/lib/libcuda.so.1" -lpthread >"$dir/log" 2>&1 || { fail "with libnvToolsExt: $(cat "$dir/log")"; exit 1; }
# shellcheck disable=SC2086
gcc $inc -DOLD -I"$old/include" -o "$dir/theirs" $here/program.c "$old/lib/libnvToolsExt.so.1" -Wl,--disable-new-dtags,-rpath,"$old/lib" "$B/lib/libcuda.so.1" -lpthread >"$dir/log" 2>&1 ||
	{ fail "with NVIDIA's libnvToolsExt: $(cat "$dir/log")"; exit 1; }
# without process, times and addresses
plain() { sed -E 's/^[0-9]+\/[0-9]+ +[0-9.]+ //; s/ <[0-9.]+>$//; s/0x[0-9a-f]{6,}/ADDRESS/g; s/thread=[0-9]+/thread=TID/' "$1" | grep -v '^nvtxInitialize'; }
for way in nvtx3 linked theirs; do
	timeout 60 "$V/vgpu" trace -f nvtx,cuDriverGetVersion -o "$dir/$way.lines" -- "$dir/$way" >"$dir/out" 2>"$dir/err" && [ "$(cat "$dir/out")" = "0 1 0 1 1 1 0 -1 done" ] &&
		ok "$way: levels of push and pop" || fail "$way: $(cat "$dir/out" "$dir/err")"
	plain "$dir/$way.lines" >"$dir/$way.plain"
done
diff "$dir/nvtx3.plain" "$dir/linked.plain" >"$dir/diff" && ok "our libnvToolsExt.so.1 hears what nvtx3 says" || fail "nvtx3 and our library: $(cat "$dir/diff")"
diff "$dir/nvtx3.plain" "$dir/theirs.plain" >"$dir/diff" && ok "so it does through NVIDIA's own libnvToolsExt.so.1" || fail "nvtx3 and NVIDIA's library: $(cat "$dir/diff")"
cat >"$dir/want" <<'END'
nvtxRangePushA(message="outer") = 0
nvtxRangePushW(message="inner \xc3\xa4 \xf0\x9f\x98\x80") = 1
nvtxDomainRangePushEx(domain="my.domain", event={message="registered text", category="io", colour=#ff00ff00, payload=1.5}) = 0
nvtxMarkEx(event={message="wide", category=3, colour=#ff00ff00, payload=-7}) = void
nvtxNameOsThreadA(thread=TID, name="worker \"one\"") = void
nvtxDomainRangeEnd(domain="my.domain", id=2) = void
nvtxNameCudaStreamA(stream=0, name="the default stream") = void
nvtxDomainResourceCreate(domain="my.domain", resource={message="a buffer", type=0x10001, identifier=0x1234}) = ADDRESS
nvtxDomainSyncUserCreate(domain="my.domain", sync={message="a lock"}) = ADDRESS
nvtxMarkA(message=0x8) = void
END
missing=$(grep -vxFf "$dir/nvtx3.plain" "$dir/want")
[ -z "$missing" ] && ok "texts, domains, categories, colours, payloads, names" || fail "not said: $missing; but $(cat "$dir/nvtx3.plain")"
timeout 60 "$V/vgpu" trace -j -- "$dir/nvtx3" 2>/dev/null >"$dir/json" && python3 -c 'import json,sys; f=json.load(open(sys.argv[1]))["functions"]; assert f["nvtxRangePushA"]["calls"] == 2 and f["nvtxRangePop"]["calls"] == 4, f' "$dir/json" &&
	ok "counts" || fail "counts: $(cat "$dir/json")"

# --- Perfetto
for way in nvtx3 linked theirs; do
	timeout 60 "$V/vgpu" trace --perfetto "$dir/p.json" -- "$dir/$way" >/dev/null 2>"$dir/err"
	python3 $here/perfetto.py "$dir/p.json" 2>"$dir/err" && ok "$way: ranges, marks and names in the Perfetto file" || fail "$way: $(tail -n 3 "$dir/err")"
done

# --- nobody traces: nothing happens, whatever the environment says
timeout 60 env NVTX_INJECTION64_PATH="$B/lib/libnvToolsExt.so.1" "$dir/nvtx3" >"$dir/out" 2>&1 && [ "$(cat "$dir/out")" = "-2 -2 -2 -2 -2 -2 -2 -2 done" ] &&
	ok "without a trace nvtx3's calls stay its own" || fail "without a trace: $(cat "$dir/out")"
# but where one is to come later (vgpu trace -p), they are ours
timeout 60 env VGPU_NVTX=1 NVTX_INJECTION64_PATH="$B/lib/libnvToolsExt.so.1" "$dir/nvtx3" >"$dir/out" 2>&1 && [ "$(cat "$dir/out")" = "0 1 0 1 1 1 0 -1 done" ] &&
	ok "VGPU_NVTX=1: they come to us" || fail "VGPU_NVTX=1: $(cat "$dir/out")"
timeout 60 env NVTX_INJECTION64_PATH=/nonexistent/tool.so "$V/vgpu" trace -o "$dir/lines" -- "$dir/nvtx3" >"$dir/out" 2>&1 && ! grep -q nvtx "$dir/lines" && grep -q '^-2 -2' "$dir/out" &&
	ok "another tool's injection is left alone" || fail "another tool: $(cat "$dir/out" "$dir/lines")"

# --- Python's nvtx, for the Python of this machine
if wheel python nvtx==0.2.17; then
	cat >"$dir/x.py" <<'PY'
import nvtx
with nvtx.annotate("step", color="blue", domain="train", category="loop", payload=3):
    nvtx.mark("here")
r = nvtx.start_range("all")
nvtx.end_range(r)
PY
	PYTHONPATH=$P/python timeout 60 "$V/vgpu" trace -f nvtx -o "$dir/lines" -- python3 "$dir/x.py" 2>"$dir/err"
	grep -qE 'nvtxDomainRangePushEx\(domain="train", event=\{message="step", category="loop", colour=#[0-9a-f]{2}0000ff, payload=3\}\) = 0' "$dir/lines" && grep -q 'message="here"' "$dir/lines" &&
		grep -q 'message="all"' "$dir/lines" && ok "Python's nvtx" || fail "Python's nvtx: $(cat "$dir/lines" "$dir/err")"
else
	skip "Python's nvtx: pip cannot fetch it: $(tail -n 1 "$P/log")"
fi
