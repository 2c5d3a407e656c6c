#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu doctor against real Ollama: worlds, each started for real. What Ollama says of its device (its "inference compute" line,
# /api/ps) is the truth that doctor is held against: where the GPU is used it names no failure, where it is not it names the cause.
# Worlds have servers, ports and folders of their own, so as many run at once as there are processors.
#   doctor.sh BUILD [PATTERN]      PATTERN: only worlds whose name matches it
. "$(dirname "$0")/../system/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
only=${2:-}
unset LD_LIBRARY_PATH LD_PRELOAD VGPU_AGENT CUDA_VISIBLE_DEVICES OLLAMA_LLM_LIBRARY OLLAMA_HOST VGPU_REQUIRED
why=$("$here/build.sh" "$B" 2>&1); st=$?
[ $st = 77 ] && { skip "ollama doctor: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { fail "ollama doctor: $why"; exit 1; }
R=$B/ollama/release
model=$here/../llm/model/licences.gguf
server='' more=()
stop_mine() {
	for p in $server "${more[@]+${more[@]}}"; do kill "$p"; done
	for p in $server "${more[@]+${more[@]}}"; do wait "$p"; done
} 2>/dev/null
end() {
	for p in "${running[@]+${running[@]}}"; do kill "$p" 2>/dev/null; done
	together
	stop_mine
	cleanup
}
trap end EXIT
trap 'exit 1' INT TERM
client() { python3 "$here/client.py" "$@"; }

# job COMMAND...: in a process of its own, beside others; what it says comes in the order of the starts. $W is its folder.
jobs=0 lanes=$((2 * $(nproc))) running=()
W=$dir/w0
job() {
	jobs=$((jobs + 1))
	W=$dir/w$jobs
	mkdir -p "$W/home" && chmod 777 "$W/home"
	while [ "$(jobs -pr | wc -l)" -ge $((lanes + ${#more[@]})) ]; do wait -n; done
	(
		trap stop_mine EXIT
		trap 'exit 1' INT TERM
		more=() server=''
		"$@"
		echo "#ended"
	) >"$W.out" 2>&1 &
	running+=($!)
}
# all that was started has ended
together() {
	for p in "${running[@]+${running[@]}}"; do wait "$p"; done
	running=()
} 2>/dev/null

# --- devices: three, each with an agent
device() { # device CC
	local cc=$1
	"$V/vgpu-stub" --socket "$dir/stub$cc" --cc "$cc" --memory 2G 2>>"$dir/stub.log" &
	more+=($!)
	until_true test -S "$dir/stub$cc"
	"$V/vgpu-agent" --device "vfio-user:$dir/stub$cc" --listen "$dir/agent$cc" 2>>"$dir/agent.log" &
	more+=($!)
	until_true env VGPU_AGENT="$dir/agent$cc" "$V/vgpu" smi -j || fail "device $cc: $(cat "$dir/agent.log")"
}
device 6.1
device 7.5
device 8.9
chmod 755 "$dir"; chmod 666 "$dir"/agent[678]*

# --- releases: hard links of the one that was built
copy() { alike "$R" "$dir/$1"; }
L=lib/ollama
for r in flat none lone noserver noexec empty inside; do copy $r; done
mv "$dir"/flat/$L/cuda_v12/* "$dir/flat/$L/" && rmdir "$dir/flat/$L/cuda_v12"
rm -r "$dir/none/lib"
mkdir -p "$dir/lone/build/lib" && mv "$dir/lone/$L" "$dir/lone/build/lib/"
rm "$dir/noserver/$L/llama-server"
rm "$dir/noexec/$L/llama-server" && cp "$R/$L/llama-server" "$dir/noexec/$L/" && chmod 644 "$dir/noexec/$L/llama-server"
rm "$dir/empty/$L/cuda_v12/libggml-cuda.so"
mv "$dir/inside/lib" "$dir/inside/bin/"
mkdir -p "$dir/link" "$dir/closed" "$dir/user.home" && ln -s "$R/bin/ollama" "$dir/link/ollama"
chmod 700 "$dir/closed"
chmod 777 "$dir/user.home"
v13=$("$here/../llm/fetch.sh" "$B/llm" cuda13 2>&1) && for r in v13 both; do
	copy $r
	mkdir -p "$dir/$r/$L/cuda_v13" && alike "$B/llm/cuda13/libggml-cuda.so" "$dir/$r/$L/cuda_v13/libggml-cuda.so"
	[ $r = v13 ] && rm -r "$dir/$r/$L/cuda_v12"
done
copy stock
# what stands beside a release's backend: a cudart that is not ours (its device count is an error), with the names the backend wants
python3 - "$R/$L/cuda_v12/libggml-cuda.so" >"$dir/stock.names" <<'PY'
import re, subprocess, sys
for line in subprocess.run(["readelf", "--dyn-syms", "-W", sys.argv[1]], capture_output=True, text=True).stdout.splitlines():
    m = re.search(r" UND (\w+)@libcudart\.so\.12", line)
    if m:
        print(m.group(1))
PY
{
	while read -r f; do echo "int $f(void); int $f(void) { return 500; }"; done <"$dir/stock.names"
} >"$dir/stock.c"
echo 'libcudart.so.12 { global: *; };' >"$dir/stock.map"
[ -s "$dir/stock.names" ] && ${CC:-cc} -w -fno-builtin -shared -fPIC -Wl,-soname,libcudart.so.12,--version-script="$dir/stock.map" -o "$dir/stock/$L/cuda_v12/libcudart.so.12" \
	"$dir/stock.c" || fail "the cudart that is not ours does not compile"

# --- one world: serve, ask, stop
cwd=$dir log=pipe prefix=() cc=6.1 bin=$R/bin/ollama models=$dir/models
answered() { grep -q 'inference compute' "$W/log" || ! kill -0 "$server"; }
begin() { # begin ENV=VALUE...: a server in this world; truth: GPU or CPU, by its own words
	port=$(python3 "$here/../system/port.py")
	: >"$W/log"
	echo "#world"
	asked=(env HOME="$W/home" OLLAMA_HOST=127.0.0.1:$port OLLAMA_MODELS="$models" OLLAMA_NO_CLOUD=1 GGML_NO_BACKTRACE=1 LLAMA_ARG_THREADS=1 VGPU_AGENT="$dir/agent$cc" "$@")
	# a log that is no file is one that doctor cannot read: then it has to see the cause itself
	if [ $log = pipe ]; then
		(cd "$cwd" && exec "${prefix[@]+${prefix[@]}}" "${asked[@]}" "$bin" serve) > >(cat >"$W/log") 2>&1 &
	else
		(cd "$cwd" && exec "${prefix[@]+${prefix[@]}}" "${asked[@]}" "$bin" serve) >>"$W/log" 2>&1 &
	fi
	server=$!
	until_true answered || true
	grep -q 'inference compute' "$W/log" || { fail "$name: ollama serve does not answer: $(tail -n 3 "$W/log")"; return 1; }
	grep 'inference compute' "$W/log" | grep -q 'library=CUDA' && truth=GPU || truth=CPU
}
finish() {
	{ kill "$server" && wait "$server"; } 2>/dev/null
	server=''
	cwd=$dir log=pipe prefix=() cc=6.1 bin=$R/bin/ollama
}
load() { client say "http://127.0.0.1:$port" licences "You may copy" 2 >"$W/say" 2>&1 || fail "$name: $(tail -n 1 "$W/say")"; }

# judge WANTED CAUSE ARGS...: doctor's report against the truth; CAUSE: the failure that it has to name ("-": none)
judge() {
	local wanted=$1 cause=$2 st
	shift 2
	[ "$truth" = "$wanted" ] || { fail "$name: Ollama uses the $truth, $wanted was expected: $(grep 'inference compute' "$W/log")"; return; }
	timeout 60 "$@" >"$W/out" 2>"$W/err"
	st=$?
	if [ "$wanted" = GPU ]; then
		[ $st = 0 ] && ! grep -q '^fail' "$W/out" && grep -q "^verdict: nothing found" "$W/out"
	elif [[ $cause == doubt:* ]]; then
		[ $st = 0 ] && grep '^verdict: no failure, but' "$W/out" | grep -qE "${cause#doubt:}"
	else
		[ $st = 1 ] && awk -v c="$cause" '/^fail/ && $0 ~ c {getline f; if (f ~ "^ +fix: .") hit = 1} END {exit !hit}' "$W/out" &&
			grep -q '^verdict: [0-9]* failure' "$W/out"
	fi && [ ! -s "$W/err" ]
}
# world NAME GPU|CPU CAUSE ENV=VALUE...: as a process, and as a command before it is started
world() {
	name=$1
	! [[ $name =~ $only ]] || job one_world "$@"
	cwd=$dir log=pipe prefix=() cc=6.1 bin=$R/bin/ollama
}
one_world() {
	local wanted=$2 cause=$3
	shift 3
	if begin "$@"; then
		if ! judge "$wanted" "$cause" "${vgpu:-$V/vgpu}" doctor -p "$server"; then
			fail "$name, -p: $(grep -vE '^ok' "$W/out" "$W/err")"
		elif [ "${command:-1}" = 1 ] && ! (cd "$cwd" && judge "$wanted" "$cause" "${prefix[@]+${prefix[@]}}" "${asked[@]}" "${vgpu:-$V/vgpu}" doctor -- "$bin" serve); then
			fail "$name, before its start: $(grep -vE '^ok' "$W/out" "$W/err")"
		else
			ok "$name: $wanted$([ "$wanted" = CPU ] && echo ", $(grep -m 1 -E "^fail.*($cause)" "$W/out" | cut -c 1-110)")"
		fi
	fi
	finish
}
run=(LD_PRELOAD="$(printf '%s:' "$B"/lib/lib{cuda.so.1,cudart.so.12,cudart.so.13,cublas.so.12,cublas.so.13,nvidia-ml.so.1})" LD_LIBRARY_PATH="$B/lib")
path=(LD_LIBRARY_PATH="$B/lib")

# --- models loaded: what the server says of them, and what its runner holds. ask WANTED CAUSE: the whole by --ollama
ask() {
	judge "$1" "$2" "$V/vgpu" doctor --ollama "http://127.0.0.1:$port"
}
share() { client ps "http://127.0.0.1:$port" | awk '{print $2}'; }
loaded() {
	name="a loaded model" models=$dir/loaded
	begin "${path[@]}"
	echo "FROM $model" >"$W/Modelfile"
	OLLAMA_HOST=127.0.0.1:$port HOME=$W/home "$R/bin/ollama" create licences -f "$W/Modelfile" >"$W/create.log" 2>&1 || fail "ollama create: $(tail -n 2 "$W/create.log")"
	ask GPU - && grep -q '^warn  loaded models: none' "$W/out" && ok "a server without a model: said" || fail "$name: $(grep -v ^ok "$W/out")"
	load
	ask GPU - && grep -qE "^ok    model licences:latest: .*100 %" "$W/out" && grep -qE '^ok    runner [0-9]+: on the device: 1 context' "$W/out" && [ "$(share)" = 100 ] &&
		ok "$name: GPU, by the server's and the runner's words" || fail "$name: $(share) $(cat "$W/out")"
	runner=$(pgrep -P "$server" -f 'llama-server --model')
	judge GPU - "$V/vgpu" doctor -p "$runner" && grep -q "^ok    runner $runner: on the device" "$W/out" && ok "its runner by -p" || fail "-p runner: $(grep -v ^ok "$W/out")"
	timeout 60 "$V/vgpu" doctor -j --ollama "127.0.0.1:$port" | python3 -c 'import json, sys; o = json.load(sys.stdin); sys.exit(o["fail"] != 0 or not any(c["name"].startswith("model ") for c in o["checks"]))' &&
		ok "--ollama -j" || fail "--ollama -j"
	finish
}
kept_off() { # kept_off VARIABLE=VALUE, that keeps a model off the device, [amx]
	local w=$1
	name="$w, a loaded model${2:+, $2}" models=$dir/loaded cc=7.5
	if [ -n "${2:-}" ]; then begin "${path[@]}" "$w"; else begin "${path[@]}" "$w" LLAMA_ARG_REPACK=0; fi
	load
	# its discovery says CUDA all the same: the share is the truth; but for what a CPU with AMX repacks, whose buffers Ollama takes for a device's
	[ -z "${2:-}" ] && [ "$(share)" = 100 ] && fail "$name: on the GPU"
	truth=CPU
	ask CPU "^fail +${w%%=*}:" && grep -qE "^fail  model licences:latest: .*${w%%=*}" "$W/out" && ok "$name: $(grep -m 1 '^fail  model' "$W/out" | cut -c 1-110)" ||
		fail "$name: $(grep -v ^ok "$W/out")"
	[ ${w##*=} != none ] || grep -qE '^fail  runner [0-9]+: its model is loaded, and it holds nothing' "$W/out" || fail "$name: its runner: $(cat "$W/out")"
	finish
}
first=''
if [[ loaded =~ $only || order =~ $only ]]; then
	job loaded              # the model that others ask for is created there
	first=${running[-1]}
fi

# --- worlds in which the device is used
world "as by vgpu run" GPU - "${run[@]}"
world "LD_LIBRARY_PATH alone" GPU - "${path[@]}"
world "LD_PRELOAD alone" GPU - "${run[0]}"
world "as by the drop-in, VGPU_REQUIRED" GPU - "${run[@]}" VGPU_REQUIRED=1
bin=$dir/flat/bin/ollama world "flat" GPU - "${path[@]}"
bin=$dir/flat/bin/ollama world "flat, OLLAMA_LLM_LIBRARY without effect" GPU - "${path[@]}" OLLAMA_LLM_LIBRARY=cuda_v11
bin=$dir/inside/bin/ollama world "lib beside the program" GPU - "${path[@]}"
bin=$dir/link/ollama world "a link to the program" GPU - "${path[@]}"
cwd=$dir/lone bin=$dir/lone/bin/ollama world "build/lib/ollama in the current folder" GPU - "${path[@]}"
bin=$dir/stock/bin/ollama world "a foreign cudart beside, LD_PRELOAD" GPU - "${run[@]}"
world "OLLAMA_LLM_LIBRARY=cuda_v12" GPU - "${path[@]}" OLLAMA_LLM_LIBRARY=cuda_v12
world "CUDA_VISIBLE_DEVICES=0" GPU - "${path[@]}" CUDA_VISIBLE_DEVICES=0
world "LLAMA_ARG_FIT=off" GPU - "${path[@]}" LLAMA_ARG_FIT=off
cc=7.5 world "7.5 by cuda_v12" GPU - "${path[@]}"
if [ -e "$dir/both/$L/cuda_v13/libggml-cuda.so" ]; then
	bin=$dir/both/bin/ollama world "both folders, 6.1" GPU - "${path[@]}"
	bin=$dir/both/bin/ollama cc=7.5 world "both folders, 7.5" GPU - "${path[@]}"
	bin=$dir/both/bin/ollama cc=8.9 world "both folders, 8.9 by cuda_v13" GPU - "${path[@]}"
	bin=$dir/v13/bin/ollama cc=7.5 world "cuda_v13, 7.5" GPU - "${path[@]}"
else
	skip "worlds with cuda_v13: $(tail -n 1 <<<"$v13")"
fi

# --- worlds in which it is not
world "no variable" CPU 'libcudart.so.12 .cuda_v12.*not found'
bin=$dir/stock/bin/ollama world "a foreign cudart beside, LD_LIBRARY_PATH" CPU 'libcudart.so.12 .cuda_v12.*NVIDIA' "${path[@]}"
bin=$dir/none/bin/ollama world "no lib/ollama" CPU 'lib/ollama: .*no device is found' "${path[@]}"
bin=$dir/noserver/bin/ollama world "no llama-server" CPU 'llama-server: .*is not there' "${path[@]}"
bin=$dir/noexec/bin/ollama world "llama-server not executable" CPU 'llama-server: .*not executable' "${path[@]}"
bin=$dir/empty/bin/ollama world "cuda_v12 without its backend" CPU 'ggml backend: no CUDA backend' "${path[@]}"
world "OLLAMA_LLM_LIBRARY=cuda_v11" CPU 'OLLAMA_LLM_LIBRARY: "cuda_v11" is the name of no folder .*there is: cuda_v12' "${path[@]}" OLLAMA_LLM_LIBRARY=cuda_v11
world "OLLAMA_LLM_LIBRARY=cpu" CPU 'OLLAMA_LLM_LIBRARY: "cpu"' "${path[@]}" OLLAMA_LLM_LIBRARY=cpu
world "CUDA_VISIBLE_DEVICES=-1" CPU 'CUDA_VISIBLE_DEVICES: "-1" hides' "${path[@]}" CUDA_VISIBLE_DEVICES=-1
world "CUDA_VISIBLE_DEVICES=5" CPU 'CUDA_VISIBLE_DEVICES: "5" hides' "${path[@]}" CUDA_VISIBLE_DEVICES=5
cc=8.9 world "8.9, which cuda_v12 was not built for" CPU 'list: .* is 890' "${path[@]}"
cc=none world "no agent" CPU 'agent: no agent answers' "${path[@]}"
cc=none world "no agent, VGPU_REQUIRED" CPU 'agent: no agent answers' "${path[@]}" VGPU_REQUIRED=1
if [ -e "$dir/both/$L/cuda_v13/libggml-cuda.so" ]; then
	bin=$dir/v13/bin/ollama world "cuda_v13, 6.1" CPU 'GPU code of libggml-cuda.so: no PTX' "${path[@]}"
	bin=$dir/both/bin/ollama world "both folders, the wrong one asked for" CPU 'GPU code of libggml-cuda.so: no PTX' "${path[@]}" OLLAMA_LLM_LIBRARY=cuda_v13
fi

# --- another user, other folders
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	theirs=$R/bin/ollama vgpu=$V/vgpu
	if ! reachable "$V/vgpu"; then
		alike "$R" "$dir/theirs" && cp -a "$V/vgpu" "$dir/theirs/bin/" && cp -a "$B"/lib/*.so* "$dir/theirs/lib/"
		theirs=$dir/theirs/bin/ollama vgpu=$dir/theirs/bin/vgpu path=("${path[@]//"$B/lib"/"$dir/theirs/lib"}")
		export VGPU_LIB=$dir/theirs/lib
	fi
	mkdir -p "$dir/models" && chmod 777 "$dir/models"
	prefix=("${user[@]}"); bin=$theirs world "another user" GPU - "${path[@]}"
	prefix=("${user[@]}"); cwd=$dir/closed bin=$theirs world "another user, a current folder that it cannot read" GPU - "${path[@]}"
	together
	chmod 600 "$dir/agent6.1"
	prefix=("${user[@]}"); bin=$theirs world "another user, a socket without permission" CPU 'agent: .*[Pp]ermission denied' "${path[@]}"
	together
	chmod 666 "$dir/agent6.1"
	mkdir -p "$dir/closed/lib" && cp -a "$B"/lib/*.so.1* "$dir/closed/lib/"
	prefix=("${user[@]}"); bin=$theirs world "another user, libraries that it cannot read" CPU 'libcudart.so.12 .cuda_v12.*not found' LD_LIBRARY_PATH="$dir/closed/lib"
else
	skip "another user: needs root"
fi
gone() {
	mkdir "$dir/gone"
	cwd=$dir/gone
	begin "${path[@]}"
	rmdir "$dir/gone"
	judge GPU - "$V/vgpu" doctor -p "$server" && ok "$name: GPU" || fail "$name: $(cat "$W/out")"
	finish
}
name="a current folder that was removed"
! [[ $name =~ $only ]] || job gone
# --- models loaded
if [[ loaded =~ $only ]]; then
	wait "$first"
	for w in LLAMA_ARG_DEVICE=none LLAMA_ARG_N_GPU_LAYERS=0 LLAMA_ARG_FIT_TARGET=100000; do job kept_off $w; done
	! grep -qw amx_int8 /proc/cpuinfo || job kept_off LLAMA_ARG_DEVICE=none amx
fi

# --- started before the agent
started() {
	"$V/vgpu-stub" --socket "$dir/late" --memory 2G 2>>"$dir/stub.log" &
	more+=($!)
	until_true test -S "$dir/late"
	late() {
		"$V/vgpu-agent" --device "vfio-user:$dir/late" --listen "$dir/agentlate" 2>>"$dir/agent.log" &
		late=$!
		more+=($late)
		until_true env VGPU_AGENT="$dir/agentlate" "$V/vgpu" smi -j
	}
	for log in pipe file; do
		name="started before the agent, its log a $log" cc=late
		begin "${path[@]}"
		sleep 0.05      # start times are in hundredths
		late
		if [ $log = pipe ]; then judge CPU 'doubt:started before the agent' "$V/vgpu" doctor -p "$server"; else judge CPU 'discovery: .*library=cpu.*started before the agent' "$V/vgpu" doctor -p "$server"; fi &&
			ok "$name: $(tail -n 1 "$W/out" | cut -c 1-110)" || fail "$name: $(grep -v ^ok "$W/out")"
		kill $late; wait $late 2>/dev/null
		finish
	done
	late
	kill $late; wait $late 2>/dev/null
	name="the agent gone before it started, VGPU_REQUIRED" cc=late models=$dir/loaded
	begin "${path[@]}" VGPU_REQUIRED=1
	# its discovery says CUDA by what the agent left behind; no model can be loaded. Of its runner's lines on stderr Ollama sends the
	# last that it has read when the runner ends, which is now the error's name, now its text; on a busy machine the first request may
	# end by the clock
	for _ in 1 2 3; do
		[ $truth = GPU ] && ! client say "http://127.0.0.1:$port" licences "You may" 1 >"$W/say" 2>&1 && grep -qE 'CUDA error|has terminated' "$W/say" && truth=CPU
	done
	[ $truth = CPU ] || cat "$W/say"
	judge CPU 'agent: no agent answers' "$V/vgpu" doctor -p "$server" && ok "$name: $(grep -m 1 '^fail' "$W/out" | cut -c 1-110)" || fail "$name: $(cat "$W/out")"
	finish
	late
	name="another agent since" cc=late log=file
	begin "${path[@]}"
	kill $late; wait $late 2>/dev/null
	sleep 0.05
	late
	judge GPU - "$V/vgpu" doctor -p "$server" && ok "$name: GPU" || fail "$name: $(grep -v ^ok "$W/out")"
	finish
}
if [[ order =~ $only ]]; then
	wait "$first"
	job started
fi

# --- what answers at a URL may be anything
hostile() {
	cat >"$dir/hostile.py" <<'PY'
import socket, sys
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
print(s.getsockname()[1], flush=True)
head = b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n"
what = {"garbage": b"\0\xff\x1b[2Jnothing", "nohead": b"SSH-2.0-OpenSSH_9\r\n", "deep": head + b"[" * 100000, "cut": head + b'{"version":"1',
        "notollama": head + b'{"hello":1}', "long": head + b'{"version":"' + b"x" * 3000000 + b'"}', "empty": b"", "error": b"HTTP/1.0 500 no\r\n\r\n{}",
        "badps": head + b'{"version":"1.0","models":[{"name":"\x1b]0;x\x07a","size":18446744073709551615,"size_vram":99999999999999999999999},{"name":',
        "deepps": head + b'{"version":"1.0","models":[{"a":' + b"[" * 90000 + b"}"}[sys.argv[1]]
while True:
    c, _ = s.accept()
    try:
        c.recv(1000)
        c.sendall(what)
    except OSError:
        pass
    c.close()
PY
	for w in garbage nohead deep cut notollama long empty error badps deepps; do
		python3 "$dir/hostile.py" $w >"$W/port" &
		p=$!
		until_true test -s "$W/port"
		VGPU_AGENT=$dir/agent7.5 timeout 60 "$V/vgpu" doctor --ollama "http://127.0.0.1:$(cat "$W/port")/" >"$W/out" 2>"$W/err"; st=$?
		{ kill $p; wait $p; } 2>/dev/null
		[ $st -le 1 ] && ! grep -q $'\x1b' "$W/out" && { grep -qE '^fail  (ollama server|loaded models|model )' "$W/out" || grep -q '^warn  loaded models: the answer' "$W/out"; } &&
			ok "an answer that is $w" || fail "an answer that is $w: exit $st $(cat "$W/out" "$W/err")"
		: >"$W/port"
	done
	VGPU_AGENT=$dir/agent7.5 "$V/vgpu" doctor --ollama http://127.0.0.1:1 >"$W/out" 2>&1; st=$?
	[ $st = 1 ] && grep -q '^fail  ollama server: .*Connection refused' "$W/out" && ok "nobody at the address" || fail "nobody at the address: $st $(cat "$W/out")"
	for u in https://127.0.0.1 http://:x ftp://a http://a:99999; do
		"$V/vgpu" doctor --ollama "$u" >/dev/null 2>&1; [ $? = 2 ] || fail "--ollama $u is taken"
	done
	"$V/vgpu" doctor --ollama -p 1 >/dev/null 2>&1; [ $? = 2 ] && ok "URLs and options that are none" || fail "--ollama -p"
}
! [[ hostile =~ $only ]] || job hostile

together
for n in $(seq $jobs); do
	grep -v '^#' "$dir/w$n.out"
	grep -qx '#ended' "$dir/w$n.out" || fail "world $n came to no end"
done
worlds=$(cat "$dir"/w*.out | grep -cx '#world')
[ -n "$only" ] || [ "$worlds" -ge 25 ] || skip "only $worlds worlds"
echo "worlds $worlds"
