#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu trace -p: calls, the device's work and NVTX of a program that runs already; let go in order and killed, it goes on as before.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
unset VGPU_TRACE VGPU_TRACE_FILTER
P=$dir/program
chmod 711 "$dir"
$CC -O1 -w -Ilibcuda-lite/include -o "$P" tests/system/attach/program.c "$B/lib/libcuda.so.1" "$B/lib/libcudart.so.12" "$B/lib/libnvToolsExt.so.1" -ldl -lpthread ||
	{ fail "does not build"; exit 1; }
start_stub
start_agent --mode 0666

# starts [PREFIX...] [-- ARGS]: the program, to be asked by says
mkfifo "$dir/in"
pid=''
begins() {
	: >"$dir/out"
	"$@" <"$dir/in" >"$dir/out" 2>"$dir/err" & pid=$!
	exec 3>"$dir/in"
	until_true grep -q ready "$dir/out" || fail "the program does not start: $(cat "$dir/out" "$dir/err")"
}
more() { [ "$(wc -l <"$dir/out")" -gt "$1" ]; }
# says LINE: what it answers
says() {
	local n
	n=$(wc -l <"$dir/out")
	echo "$1" >&3
	until_true more "$n"
	tail -n 1 "$dir/out"
}
ends() {
	exec 3>&-
	wait "$pid"; local st=$?
	[ $st = 0 ] && ok "$1: it ends as ever" || fail "$1: it ended with $st: $(cat "$dir/out" "$dir/err")"
}
# attach ARGS...: until it has
tracer=''
attach() {
	: >"$dir/said"
	TMPDIR=$dir "$V/vgpu" trace -p "$pid" "$@" >"$dir/table" 2>"$dir/said" & tracer=$!
	until_true grep -q 'attached to\|vgpu: trace:' "$dir/said"
	grep -q 'attached to' "$dir/said" || fail "attach $*: $(cat "$dir/said")"
}
lets_go() { kill -"${1:-INT}" $tracer; wait $tracer; }
count() { grep -c " $1(" "$dir/lines"; }

trap 'exec 3>&-; kill $pid $tracer 2>/dev/null; cleanup' EXIT
begins "$P"
before=$(says slots)
says "round 5" >/dev/null
attach -o "$dir/lines"
[ "$(says "round 7")" = "rounds 7" ] && during=$(says slots)
lets_go; st=$?
[ $st = 0 ] && ok "^C ends it: exit 0" || fail "let go: exit $st: $(cat "$dir/said")"
[ "$(count cudaMalloc)" = 7 ] && [ "$(count cuLaunchKernel)" = 7 ] && [ "$(count cudaMemcpy)" = 14 ] && ok "each call of seven rounds, and none of those before" || fail "lines: $(cat "$dir/lines")"
grep -qE ' cuLaunchKernel\(fn=add, grid_x=1, .* = CUDA_SUCCESS <' "$dir/lines" && grep -qE '^[0-9/]+ +[0-9.]+ +  cuMemAlloc_v2\(' "$dir/lines" && ok "with arguments, calls inside calls indented" ||
	fail "lines: $(head -n 5 "$dir/lines")"
[ "$before" != "$during" ] && ! grep -q 'slots 0' <<<"$before" && ok "its entry points lead elsewhere while it is traced" || fail "slots: $before, $during"
says "range 1" >/dev/null
[ "$(says slots)" = "$before" ] && ok "and where they led before from the next call on" || fail "slots afterwards: $(says slots), before $before"
[ "$(count cudaMalloc)" = 7 ] && ok "nothing is written any more" || fail "lines after it was let go"

# counts; the device's work; NVTX; a library that comes later; a child
attach -c -j
says "round 20" >/dev/null
says "late" >"$dir/late"
says "fork" >"$dir/child"
lets_go TERM; st=$?
python3 - "$dir/table" <<'PY' && [ $st = 0 ] && ok "-c -j: twenty rounds, a library opened meanwhile, a child" || fail "-c -j: exit $st: $(cat "$dir/table" "$dir/said" "$dir/late" "$dir/child")"
import json, sys
f = json.load(open(sys.argv[1]))["functions"]
assert f["cudaMalloc"]["calls"] == f["cudaFree"]["calls"] == f["cuLaunchKernel"]["calls"] == 20 and f["cudaMemcpy"]["calls"] == 40, f
assert f["cublasCreate_v2"]["calls"] == 1 and f["cuDriverGetVersion"]["calls"] >= 1, f
PY
attach --stats -j
says "round 9" >/dev/null
lets_go
python3 - "$dir/table" <<'PY' && ok "--stats: nine kernels and their copies" || fail "--stats: $(cat "$dir/table" "$dir/said")"
import json, sys
r = json.load(open(sys.argv[1]))
assert [(k["name"], k["count"]) for k in r["kernels"]] == [("add", 9)], r
assert {(k["name"], k["count"], k["total_bytes"]) for k in r["memory_by_size"]} == {("[CUDA memcpy Host-to-Device]", 9, 2304), ("[CUDA memcpy Device-to-Host]", 9, 2304)}, r
PY
attach --perfetto "$dir/p.json"
says "range 6" >/dev/null
lets_go
python3 - "$dir/p.json" "$pid" <<'PY' && ok "--perfetto: ranges of NVTX, kernels on the device inside them, arrows" || fail "--perfetto: $(tail -c 300 "$dir/p.json") $(cat "$dir/said")"
import json, sys
e, pid = json.load(open(sys.argv[1]))["traceEvents"], int(sys.argv[2])
spans = [x for x in e if x["ph"] == "X"]
starts = [x for x in e if x["ph"] == "B" and x["name"] == "a round"]
ends = [x for x in e if x["ph"] == "E" and x.get("cat") == "nvtx"]
assert len(starts) == len(ends) == 6, (starts, ends)
ranges = [{"ts": b["ts"], "dur": x["ts"] - b["ts"]} for b, x in zip(starts, ends)]
kernels = [x for x in spans if x.get("cat") == "kernel"]
assert len(ranges) == 6 and len(kernels) == 6 and {x["name"] for x in kernels} == {"add"}, (ranges, kernels)
for r, k in zip(sorted(ranges, key=lambda x: x["ts"]), sorted(kernels, key=lambda x: x["ts"])):
    assert r["ts"] <= k["ts"] and k["ts"] + k["dur"] <= r["ts"] + r["dur"], (r, k)
assert sum(x["ph"] == "s" for x in e) == sum(x["ph"] == "f" for x in e) == 6 + 12
assert any(x["ph"] == "M" and x["name"] == "process_name" and x["pid"] == pid and x["args"]["name"] == "program" for x in e)
PY
attach -f errors,top -o "$dir/lines"
says "round 3" >/dev/null
lets_go
[ ! -s "$dir/lines" ] && ok "-f: only errors, and there are none" || fail "-f errors: $(cat "$dir/lines")"

# a call that does not return while we look
says wait >/dev/null
attach -o "$dir/lines"
n=$(wc -l <"$dir/out")
until_true test "$(says '')" = "waited 0" || fail "the wait: $(tail -n 1 "$dir/out")"
lets_go
[ "$(count cuStreamSynchronize)" -ge 1 ] && ok "a call that waits for a value" || fail "lines: $(cat "$dir/lines")"

# killed: it hears that nobody reads
attach -o "$dir/lines"
says "round 2" >/dev/null
lets_go KILL 2>/dev/null
rm -rf "$dir"/vgpu-trace-*
says "round 400" >/dev/null; says "range 1" >/dev/null
[ "$(says slots)" = "$before" ] && ok "killed outright: it is not traced any more" || fail "slots after the tool was killed: $(says slots), $before"
attach -o "$dir/lines"
says "round 4" >/dev/null
lets_go
[ "$(count cudaMalloc)" = 4 ] && ok "and can be attached to again" || fail "after a tool that was killed: $(count cudaMalloc) calls"
files=$(ls "/proc/$pid/fd" | wc -l)
for i in 1 2 3 4 5; do attach -c; says "round 1" >/dev/null; lets_go; done
[ "$(ls "/proc/$pid/fd" | wc -l)" -le "$files" ] && ok "no files are left open" || fail "files: $files, now $(ls -l "/proc/$pid/fd")"
ends "a program that was traced ten times"

# busy threads notice nothing
begins "$P" 6
for i in $(seq 15); do
	case $((i % 3)) in 0) attach -c ;; 1) attach --stats ;; 2) attach -o "$dir/lines" ;; esac
	until_true more 0; sleep 0.1
	lets_go "$([ $((i % 5)) = 4 ] && echo KILL || echo INT)" 2>/dev/null
done
[ "$(says "round 50")" = "rounds 50" ] && ok "six busy threads, fifteen times: all their results are right" || fail "busy threads: $(cat "$dir/out" "$dir/err")"
ends "busy threads"

# who cannot be attached to, and why
refused() {
	local what=$1 like=$2; shift 2
	"$@" >"$dir/table" 2>&1; local st=$?
	[ $st = 125 ] && grep -q "$like" "$dir/table" && ok "$what" || fail "$what: exit $st: $(cat "$dir/table")"
}
refused "no such process" 'there is no process 2147483' "$V/vgpu" trace -p 2147483
refused "no number" 'no number of a process' "$V/vgpu" trace -p x
refused "a command beside it" 'usage: ' "$V/vgpu" trace -p 1 -- true
sleep 100 & other=$!
refused "a program without our libraries" "none of our shared libraries" "$V/vgpu" trace -p $other
kill $other
begins "$V/vgpu" trace -o "$dir/lines" -- "$P"
refused "a program that vgpu trace started" 'traced since it began' "$V/vgpu" trace -p "$(pgrep -f "^$P\$" | head -n 1)"
ends "it"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && reachable "$V/vgpu"; then
	begins "$P"
	refused "another user's" 'another user' setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="${TMPDIR:-/tmp}" "$V/vgpu" trace -p "$pid"
	ends "it"
	# another user's program, in a file system of its own, traced by root
	mkdir "$dir/tmp" "$dir/lib"; chmod 1777 "$dir/tmp"
	# the libraries, too, are seen elsewhere there: the build may lie in /tmp
	begins env VGPU_AGENT=/mnt/agent LIBS="$B/lib" LD_LIBRARY_PATH=/mnt/lib unshare -m --propagation private sh -c '
		mount --bind "$LIBS" "$0/lib"; mount --rbind "$0" /mnt; mount --bind "$0/tmp" /tmp; cd /
		exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' "$dir" /mnt/program
	attach -o "$dir/lines"
	says "round 3" >/dev/null
	lets_go
	[ "$(count cudaMalloc)" = 3 ] && [ -z "$(ls -A "$dir/tmp")" ] && ok "another user's program in another mount namespace, by root" || fail "another mount namespace: $(cat "$dir/said" "$dir/lines") $(ls "$dir/tmp")"
	ends "it"
else
	skip "another user's program: not root, or others cannot reach the build"
fi
