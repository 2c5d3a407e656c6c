#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ollama inside a guest with a stock kernel: the agent is its PID 1 and owns the device by kernel VFIO, the device is out here.
# The same model writes the same text on a device out here first.
#   guest.sh BUILD
. "$(dirname "$0")/../system/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
unset LD_LIBRARY_PATH LD_PRELOAD VGPU_AGENT CUDA_VISIBLE_DEVICES
# shellcheck source=tests/vm/lib.sh
. "$here/../vm/lib.sh"
why=$("$here/build.sh" "$B" 2>&1); st=$?
[ $st = 77 ] && { skip "ollama in a guest: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { fail "ollama in a guest: $why"; exit 1; }
guest='' server='' device=''
end() {
	kill -9 $guest $server $device
	wait $guest $server $device
	cleanup
} 2>/dev/null
trap end EXIT
trap 'exit 1' INT TERM
vm_prepare "$B" 2>"$dir/why" || { skip "ollama in a guest: $(tail -n 1 "$dir/why")"; exit 0; }
memory=2560
free=$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
[ "$free" -gt $((memory + 2048)) ] || { skip "ollama in a guest: it needs $((memory + 2048)) MiB of memory, $free are there"; exit 0; }
R=$B/ollama/release
export OLLAMA_HOST=127.0.0.1:$(python3 "$here/../system/port.py") OLLAMA_MODELS=$dir/models OLLAMA_NO_CLOUD=1 HOME=$dir/home
mkdir -p "$dir/home"

# --- out here
start_stub --memory 2G
start_agent
"$V/vgpu" run -- "$R/bin/ollama" serve >"$dir/log" 2>&1 &
server=$!
until_true grep -q 'inference compute' "$dir/log" || { fail "out here: ollama serve does not answer"; tail -n 15 "$dir/log"; exit 1; }
printf 'FROM %s\nPARAMETER temperature 0\nPARAMETER seed 1\nPARAMETER num_predict 24\n' "$here/../llm/model/licences.gguf" >"$dir/Modelfile"
"$R/bin/ollama" create licences -f "$dir/Modelfile" >"$dir/create" 2>&1 || { fail "ollama create: $(tail -n 2 "$dir/create")"; exit 1; }
"$R/bin/ollama" run --nowordwrap licences "You may copy and distribute" >"$dir/text" 2>/dev/null </dev/null
"$R/bin/ollama" ps | grep -q '100% GPU' && [ -s "$dir/text" ] || { fail "out here: no text on the device"; tail -n 15 "$dir/log"; exit 1; }
kill "$server" && wait "$server" 2>/dev/null
server=''

# --- the guest's files: a release, our libraries, the system's that they need, models; no disk
root=$dir/root
mkdir -p "$root"/{lib64,lib/x86_64-linux-gnu,usr/lib/vgpu,release,bin,models}
alike "$R/bin" "$root/release/bin" && alike "$R/lib" "$root/release/lib"
cp -a "$dir/models/." "$root/models/"
cp -a "$B"/lib/lib*.so.* "$root/usr/lib/vgpu/"
# the backend for the CPU that any x86-64 has is enough there
find "$root/release/lib/ollama" -name 'libggml-cpu-*' ! -name '*-x64.so' ! -name '*-haswell.so' -delete
rm "$root/release/lib/ollama/llama-quantize"
for f in "$R/bin/ollama" "$R/lib/ollama/llama-server"; do ldd "$f"; done | awk '$3 ~ /^\/(usr\/)?lib/ {print $3}' | sort -u | while read -r f; do cp -L "$f" "$root/lib/x86_64-linux-gnu/"; done
cp -L /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
# what the drop-in sets
sed -n 's/^Environment=//p' "$here/../../tools/service/vgpu-ollama.conf.in" | sed 's|@LIBDIR@|/usr/lib/vgpu|g' | grep -v ^VGPU_AGENT= >"$root/release/environment"
cp "$here/inside.sh" "$root/ollama.sh"
vm_initramfs "$dir/guest.cpio" /="$root" init="$B/bin/vgpu-agent" || exit 1
echo "the guest's files: $(($(stat -c %s "$dir/guest.cpio") >> 20)) MiB"

# --- and in there
"$V/vgpu-stub" --socket "$dir/device" --memory 2G >"$dir/device.log" 2>&1 &
device=$!
until_true test -S "$dir/device" || { fail "the guest's device did not start"; exit 1; }
mkdir -p "$B/test-logs/vm"
serial=$B/test-logs/vm/ollama.serial    # for whoever looks for the cause of a failure
: >"$serial"
SECONDS=0
(VGPU_VM_MEMORY=${memory}M vm_qemu "$dir/device" "$dir/guest.cpio" "hugepages=96 rdinit=/init -- --modules /modules --run /ollama.sh" -smp 2 \
	-serial "file:$serial") >"$dir/qemu" 2>&1 </dev/null &
guest=$!
while kill -0 $guest 2>/dev/null && [ $SECONDS -lt 500 ]; do sleep 0.3; done
took=$SECONDS
said() { tr -d '\r' <"$serial" | grep -E "^($1) "; }
said 'ok|FAIL|  \||#'
{ kill "$device"; wait "$device"; } 2>/dev/null
device=''
want=$(grep -c '^judge ' "$here/inside.sh") got=$(said 'ok|FAIL' | wc -l)
[ "$got" = "$want" ] || { fail "guest: $got of $want verdicts in $took s; the end of the serial line:"; tail -n 25 "$serial" "$dir/qemu" | sed 's/^/  | /'; }
diff <(said '# text:' | sed 's/^# text: //') "$dir/text" >"$dir/diff" && ok "the guest's text is the one from out here: $(head -n 1 "$dir/text")" ||
	fail "the guest's text is another: $(cat "$dir/diff")"
grep -q 'kernel VFIO, by group and container' "$serial" && ok "the guest's agent owns it by the kernel's VFIO" || fail "the guest's transport"
sent=$(grep -o 'interrupts sent to it: .*' "$dir/device.log" | tail -n 1)
[[ $sent =~ [1-9][0-9]*\ by\ contexts ]] && ok "the device out here worked for it, $sent" || fail "the device out here: $(tail -n 3 "$dir/device.log")"
echo "the guest took $took s"
