#!/bin/sh
# SPDX-License-Identifier: MIT
# Guest, started by the agent that is PID 1 (--run): Ollama as by the drop-in, on the device that the kernel's VFIO owns. guest.sh
# reads the verdicts, and the text, from the serial line.
export PATH=/bin HOME=/tmp OLLAMA_MODELS=/models OLLAMA_NO_CLOUD=1 OLLAMA_DEBUG=1
log=/run/ollama.log
judge() { name=$1; shift; if "$@"; then echo "ok $name"; else echo "FAIL $name ($*)"; tail -n 12 $log | sed 's/^/  | /'; fi; }
says() { grep -q -E "$1" $log; }
within() { n=$(($1 * 10)); shift; while [ $n -gt 0 ]; do "$@" && return 0; n=$((n - 1)); usleep 100000; done; return 1; }
since() { echo "# $(cut -d' ' -f1 /proc/uptime) s: $*"; }
mkdir -p /tmp
ip link set lo up
since "the agent is ready"
answers() { says "inference compute" || ! kill -0 $server 2>/dev/null; }
# Ollama gives a pass of its discovery half a minute; an emulated machine on a busy one may need more, at times
for try in 1 2 3; do
	# shellcheck disable=SC2046
	env $(cat /release/environment) /release/bin/ollama serve >$log 2>&1 &
	server=$!
	within 120 answers
	! says 'inference compute.*library=CUDA' && says 'deadline exceeded|timed out' || break
	echo "# its discovery ran out of time, try $try"
	kill $server
	wait $server
done
judge serves says "inference compute"
since "discovery is done"
judge library_cuda says 'inference compute.*library=CUDA compute=6\.1.*VGPU-STUB.*driver=13'
/release/bin/ollama run --nowordwrap licences "You may copy and distribute" >/run/text 2>/run/err </dev/null || tail -n 5 /run/err
since "the text is written"
judge text [ -s /run/text ]
/release/bin/ollama ps >/run/ps
judge all_on_the_gpu grep -q '100% GPU' /run/ps
judge all_layers says 'offloaded ([0-9]+)/\1 layers to GPU'
judge interrupts grep -q 'vfio-msix' /proc/interrupts
sed 's/^/# text: /' /run/text
grep -E 'discovery took|llama runner started|llama-server (started|loaded)' $log | sed 's/^/# /'
kill -USR2 1
sleep 300
