#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# NCCL with ranks in processes of one host, in threads of one process, on devices of one thread (nccl_group.c), and on hosts of their own, which UCX joins: all collectives in all
# types, groups of sends, graphs, split and shrunk communicators, a rank that is killed and one that aborts (nccl_ranks.c).
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
CC=${CC:-cc}
ucx() { ldconfig -p 2>/dev/null | grep -q 'libucp\.so\.0' || [ -e /usr/lib/x86_64-linux-gnu/libucp.so.0 ]; }
lacks=
ucx || with_packages libucx0
"$CC" -std=gnu11 -O2 -Wall -Wextra -Ilibcuda-lite/include -o "$dir/ranks" tests/system/nccl_ranks.c "$B/lib/libnccl.so.2" "$B/lib/libcuda.so.1" \
	-lpthread -lm || { fail "does not build"; exit 1; }
start_stub --memory 1G
start_agent
# ranks NAME ARGUMENTS...
ranks() {
	local name=$1 out
	shift
	out=$(NCCL_SOCKET_IFNAME=lo timeout 100 "$dir/ranks" "$@" 2>&1)
	[ "$(tail -n 1 <<<"$out")" = ok ] && ok "$name" || fail "$name: status $?, $(grep -v '^vgpu libnccl' <<<"$out" | head -n 3 | tr '\n' ' ')"
}
all="types large scaled pairs asynchronous graphs children death abort wrong"
for s in $all; do ranks "3 processes, $s" 3 "$s"; done
for s in types pairs graphs children death abort; do ranks "8 processes, $s" 8 "$s"; done
for s in types pairs; do ranks "1 process, $s" 1 "$s"; done
ranks "2 processes, death" 2 death
for s in types pairs graphs abort wrong; do ranks "3 threads, $s" 3 threads "$s"; done
# nobody's kernel is left behind, nor memory: others have the whole device
until_true sh -c '"$1" smi -j | grep -q "\"clients\":\[\]"' - "$V/vgpu" && ok "all is given back" || fail "left: $("$V/vgpu" smi -j | head -c 600)"

# three devices of one process
"$CC" -std=gnu11 -O1 -Wall -Wextra -DCUDART_VERSION=13000 -Ilibcuda-lite/include -o "$dir/group" tests/system/nccl_group.c -L"$B/lib/dev-13" -lcudart -lnccl || fail "nccl_group.c does not build"
devices=()
for n in 1 2 3; do
	"$V/vgpu-stub" --socket "$dir/one.$n" --memory 1G 2>>"$dir/stub.log" & stub="$stub $!"
	until_true test -S "$dir/one.$n"
	devices+=(--device "vfio-user:$dir/one.$n")
done
"$V/vgpu-agent" "${devices[@]}" --listen "$dir/three" --pidfile "$dir/three.pid" 2>>"$dir/agent.log" & agent="$agent $!"
until_true env VGPU_AGENT="$dir/three" "$V/vgpu" smi -j
out=$(VGPU_AGENT=$dir/three timeout 100 "$dir/group" 3 2>&1)
[ "$(tail -n 1 <<<"$out")" = ok ] && ok "three devices by one thread" || fail "three devices by one thread: $out"

mkdir "$dir/none"
"$CC" -shared -fPIC -o "$dir/none/libucp.so.0" -x c /dev/null
out=$(LD_LIBRARY_PATH=$dir/none:$LD_LIBRARY_PATH timeout 60 "$dir/ranks" 2 hosts types 2>&1)
st=$?
[ $st = 1 ] && grep -q 'needs UCX (libucp.so.0' <<<"$out" && ok "without UCX other hosts are refused, and it says why" || fail "without UCX: $st, $out"
if ! ucx; then
	skip "hosts: no libucp.so.0: $lacks"
	exit 0
fi
for s in $all; do ranks "3 hosts, $s" 3 hosts "$s"; done
# two devices of two agents, as two hosts have them
second=$dir/second
"$V/vgpu-stub" --socket "$second.stub" --name other 2>>"$dir/stub.log" &
stub="$stub $!"
until_true test -S "$second.stub"
"$V/vgpu-agent" --device "vfio-user:$second.stub" --listen "$second" --pidfile "$second.pid" 2>>"$dir/agent.log" &
agent="$agent $!"
until_true env VGPU_AGENT="$second" "$V/vgpu" smi -j
for s in types pairs death; do ranks "4 ranks on two agents, $s" 4 "$s" "$dir/agent" "$second"; done
