#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# By hand: how long Ollama waits for us, in seconds, medians with the least and the most. What is compared is measured in turn: the
# device and the CPU that the same release uses without us; on a busy machine the ratio of such pairs says more than the seconds.
# No test: it fails by no time.
#   times.sh BUILD [ROUNDS]
#     discovery   of `ollama serve`, from its own log
#     load        a request for one token by a runner that is not there yet: the process, its libraries, the model
#     killed      kill -9 of the agent in the middle of a text, until the request ends
. "$(dirname "$0")/../system/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
rounds=${2:-7}
unset LD_LIBRARY_PATH LD_PRELOAD VGPU_AGENT CUDA_VISIBLE_DEVICES
why=$("$here/build.sh" "$B" 2>&1) || { echo "Ollama cannot be had: $(tail -n 1 <<<"$why")"; exit 77; }
R=$B/ollama/release
. "$here/servers.sh"
trap 'exit 1' INT TERM
serve() { # serve NAME COMMAND...
	local name=$1
	shift
	port=$(python3 "$here/../system/port.py")
	mkdir -p "$dir/$name.home"
	: >"$dir/$name.log"     # of a server of the same name before
	env HOME="$dir/$name.home" OLLAMA_HOST=127.0.0.1:$port OLLAMA_MODELS="$dir/models" OLLAMA_NO_CLOUD=1 OLLAMA_DEBUG=1 GGML_NO_BACKTRACE=1 "$@" "$R/bin/ollama" serve >"$dir/$name.log" 2>&1 &
	servers+=($!)
	url=http://127.0.0.1:$port
	until_true grep -q 'inference compute' "$dir/$name.log" || { tail -n 5 "$dir/$name.log"; exit 1; }
}
median() { # median NAME: of the numbers on standard input
	sort -n | awk -v name="$1" '{v[NR] = $1} END {printf "%-46s %6.3f   (%.3f - %.3f, %d rounds)\n", name, v[int((NR + 1) / 2)], v[1], v[NR], NR}'
}
# pairs NAME: the device's figure over the CPU's, and less the CPU's, round by round
pairs() {
	paste "$dir/$1.device" "$dir/$1.cpu" | awk '{print $1 / $2}' | median "$1, device / cpu"
	paste "$dir/$1.device" "$dir/$1.cpu" | awk '{print $1 - $2}' | median "$1, device - cpu"
}
discovery() { sed -nE 's/.*GPU bootstrap discovery took" duration=//p' "$1" | awk '/ms$/ {print $1 / 1000; next} {print $1 + 0}'; }

start_stub --memory 2G
start_agent
for _ in $(seq "$rounds"); do
	for way in cpu device; do
		if [ $way = cpu ]; then serve $way env; else serve $way "$V/vgpu" run --; fi
		discovery "$dir/$way.log" >>"$dir/discovery.$way"
		stop_all
	done
done
for way in cpu device; do median "discovery, $way" <"$dir/discovery.$way"; done
pairs discovery

cp "$here/../llm/model/licences.gguf" "$dir/"
echo "FROM $dir/licences.gguf" >"$dir/Modelfile"
serve cpu env
OLLAMA_HOST=${url#http://} HOME=$dir "$R/bin/ollama" create m -f "$dir/Modelfile" >"$dir/create.log" 2>&1 || { cat "$dir/create.log"; exit 1; }
cpu=$url
serve device "$V/vgpu" run --
cat >"$dir/load.py" <<'PY'
import json, sys, time, urllib.request
def ask(url, path, body=None):
    request = urllib.request.Request(url + path, None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=240) as r:
        return json.load(r)
for _ in range(int(sys.argv[1])):
    for way, url in (("cpu", sys.argv[2]), ("device", sys.argv[3])):
        t = time.monotonic()
        ask(url, "/api/generate", {"model": "m", "prompt": "You may", "raw": True, "stream": False, "keep_alive": 0, "options": {"num_predict": 1}})
        with open(f"{sys.argv[4]}/load.{way}", "a") as f:
            print(time.monotonic() - t, file=f)
        # Ollama looks for the memory that came back for some time yet, which the next load would wait for
        while ask(url, "/api/ps")["models"]:
            time.sleep(0.05)
        time.sleep(1)
PY
python3 "$dir/load.py" "$rounds" "$cpu" "$url" "$dir" || exit 1
for way in cpu device; do median "load and one token, $way" <"$dir/load.$way"; done
pairs load

for _ in $(seq "$rounds"); do
	python3 "$here/client.py" start "$url" m >"$dir/start" 2>&1 &
	p=$!
	until_true grep -q started "$dir/start"
	t=$EPOCHREALTIME
	kill -9 "$agent"
	wait $p "$agent" 2>/dev/null
	awk -v a="$t" -v b="$EPOCHREALTIME" 'BEGIN {print b - a}' >>"$dir/killed"
	[ "$(tail -n 1 "$dir/start")" != "done" ] || { echo "the text ended as if nothing had happened"; exit 1; }
	start_agent
done
median "agent killed in a text: told after" <"$dir/killed"
