#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu check: what runs, what does not and why, for each kind of file.
. "$(dirname "$0")/lib.sh"
here=$(cd "$(dirname "$0")/.." && pwd)

# says NAME STATUS PATTERN ARGUMENT...: its exit status and a line of its output
says() {
	local name=$1 want=$2 pattern=$3 st
	shift 3
	"$V/vgpu" check "$@" >"$dir/out" 2>&1
	st=$?
	if [ $st = "$want" ] && grep -q -- "$pattern" "$dir/out"; then
		ok "$name"
	else
		fail "$name: exit $st, wanted $want and '$pattern': $(tr '\n' '|' <"$dir/out")"
	fi
}
head='.version 6.4\n.target sm_61\n.address_size 64\n'
printf "$head"'.visible .entry good() { ret; }\n.visible .entry bad()\n{\n\ttcgen05.fence::before_thread_sync;\n}\n' >"$dir/half.ptx"
printf "$head"'.visible .entry good() { ret; }\n.visible .entry bad()\n{\n\tfrob.u32 1;\n}\n' >"$dir/error.ptx"
printf "$head"'.visible .entry k()\n{\n\t.reg .b32 %%r<2>;\n\tadd.u33 %%r0, %%r1, 1;\n}\n' >"$dir/type.ptx"
printf '.version 6.4\n.target sm_99\n' >"$dir/high.ptx"
printf '\120\355\125\272\1\0\20\0\377\377\377\0\0\0\0\0' >"$dir/cut.fatbin"

says "PTX that runs" 0 '3 of 3 kernels run' "$here/e2e/kernels/vecadd.ptx"
says "a kernel that does not, with its line" 1 '^  bad: 7:[0-9]*:.*tcgen05' "$dir/half.ptx"
says "the others of its module run" 1 '1 of 2 kernels run' "$dir/half.ptx"
says "an error in the text, which nobody could load" 1 '^  container 1: 7:[0-9]*:.*frob' "$dir/error.ptx"
says "a wrong type" 1 '^  container 1: 7:.*u33' "$dir/type.ptx"
says "PTX for a later device" 1 'have no PTX for it' "$dir/high.ptx"
says "the same file on that device" 0 '11 of 11 kernels run' --cc 7.5 "$here/e2e/kernels/misc.sm_75.ptx"
says "a fatbin, decompressed" 0 'kernels run on a device of compute capability 9.0' --cc 9.0 "$here/fatbin/lz4.fatbin" "$here/fatbin/zstd.fatbin"
says "a fatbin that ends early" 1 'sizes do not fit' "$dir/cut.fatbin"
says "a program with GPU code" 0 'kernels run' "$B/e2e/rt12/rt_vecadd"
says "a program without" 1 'holds no GPU code' /bin/sh
says "a file that is not there" 1 'No such file' "$dir/nothing"
says "no file" 2 usage
says "a listing, with what is known of a value" 0 'mul.wide.s32 %rd10, %r5, 4' -d "$here/e2e/kernels/vecadd.ptx"
# a function's own text says what it needs, not what stands behind it in the module
printf '.version 7.3\n.target sm_52\n.address_size 64\n.visible .entry plain(.param .u64 p)\n{\n\t.reg .b64 a;\n\tld.param.u64 a, [p];\n\tst.global.u32 [a], 1;\n\tret;\n}\n' >"$dir/stack.ptx"
printf '.visible .entry takes(.param .u64 p)\n{\n\t.reg .b64 b;\n\talloca.u64 b, 64;\n\tst.local.u32 [b], 1;\n\tret;\n}\n' >>"$dir/stack.ptx"
says "a stack where a function has one" 0 '^\.entry takes: .* bytes local a thread' -d "$dir/stack.ptx"
says "and none where it has none" 0 '^\.entry plain: [0-9]* instructions, [0-9]* bytes of registers a warp\(;\|$\)' -d "$dir/stack.ptx"
says "a listing of a fatbin's kernels" 0 '^\.entry ' -d --cc 9.0 "$here/fatbin/zstd.fatbin"
says "a listing without such a kernel" 1 'no kernel nothing' -d -k nothing "$here/e2e/kernels/vecadd.ptx"
says "a listing of what does not compile" 1 'bad: 7:[0-9]*:.*tcgen05' -d "$dir/half.ptx"
says "a listing is no JSON" 2 'do not go together' -d -j "$here/e2e/kernels/vecadd.ptx"
"$V/vgpu" check -j "$here/e2e/kernels/vecadd.ptx" "$dir/half.ptx" 2>/dev/null | python3 -c '
import json, sys
a, b = json.load(sys.stdin)
assert a["entries"] == 3 and a["failed"] == 0 and a["compile_ms"]["p50"] > 0, a
assert b["entries"] == 2 and b["failed"] == 1 and b["failures"][0]["kernel"] == "bad", b
' && ok "JSON" || fail "JSON"
