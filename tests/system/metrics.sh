#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# vgpu metrics against the truth that a known client makes, promtool's lint, and a real Prometheus that scrapes it. Prometheus is
# Debian's: the installed one, or with VGPU_TEST_PROMETHEUS=1 fetched into the build (40 MB), not installed.
. "$(dirname "$0")/lib.sh"
cd "$(dirname "$0")/../.." || exit 1
here=$(pwd)
CC=${CC:-cc}
cat >"$dir/hold.c" <<'C'
#include <cuda.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	CUdevice d; CUcontext c; CUdeviceptr p; CUmodule m; CUfunction f;
	static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry seven(){ ret; }";
	if (cuInit(0) || cuDeviceGet(&d, 0) || (cuCtxCreate)(&c, NULL, 0, d) || cuMemAlloc(&p, 100 << 20) || cuMemsetD32(p, 1, 25 << 20) || cuCtxSynchronize())
		return 1;
	if (cuModuleLoadData(&m, ptx) || cuModuleGetFunction(&f, m, "seven"))
		return 1;
	for (int i = 0; i < 7; i++)
		if (cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) || cuCtxSynchronize())
			return 1;
	puts("holds");
	fflush(stdout);
	pause();
	return 0;
}
C
$CC -w -Ilibcuda-lite/include -o "$dir/hold" "$dir/hold.c" "$B/lib/libcuda.so.1" || { fail "the client does not build"; exit 1; }
start_stub --memory 1G
start_agent
"$dir/hold" >"$dir/held" & hold=$!
served=
trap 'kill $hold $served 2>/dev/null; cleanup' EXIT
until_true grep -q holds "$dir/held"

# what it worked is added up when it comes to rest
worked="^vgpu_context_busy_seconds_total\{gpu=\"0\",context=\"0\",.*pid=\"$hold\".*\} [0-9.]*[1-9]"
has_worked() { "$V/vgpu" metrics | grep -qE -e "$worked"; }
until_true has_worked
"$V/vgpu" metrics >"$dir/m" || fail "metrics: exit $?"
has() { grep -qE -e "$2" "$dir/m" && ok "$1" || { fail "$1: no line like $2"; grep -F "$(tr -d '^\\' <<<"${2%%[{ ]*}")" "$dir/m" | head -n 3; }; }
has "the agent answers" '^vgpu_up 1$'
has "DCGM's names, with its labels" '^DCGM_FI_DEV_FB_USED\{gpu="0",UUID="GPU-[0-9a-f-]+",pci_bus_id="[0-9A-F:.]+",device="nvidia0",modelName="VGPU-STUB \(cpu\)",Hostname="[^"]+"\} 10[0-9]$'
has "device memory in bytes" '^vgpu_device_memory_bytes\{.*\} 1073741824$'
has "the client's memory" "^vgpu_client_memory_bytes\{client=\"[0-9]+\",pid=\"$hold\",uid=\"$(id -u)\",command=\"hold\"\} 104857600\$"
has "its context has worked" "$worked"
has "seven kernels and their times" '^vgpu_kernel_seconds_count\{gpu="0",uuid="GPU-[0-9a-f-]+"\} 7$'
has "all of them are in the last bucket" '^vgpu_kernel_seconds_bucket\{gpu="0",uuid="[^"]*",le="\+Inf"\} 7$'
has "with their sum" '^vgpu_kernel_seconds_sum\{.*\} [0-9.e-]*[1-9]'
has "what was compiled" '^vgpu_compile_seconds_count\{.*\} [1-9]'
has "nobody was refused" '^vgpu_agent_connections_refused_total\{reason="limit"\} 0$'
awk '/^vgpu_kernel_seconds_bucket/ {if ($2 < was) bad = 1; was = $2; n++} END {exit bad || n != 14}' "$dir/m" && ok "buckets only grow" || fail "buckets: $(grep _bucket "$dir/m")"
has "and has nothing to do" "^vgpu_context_queue_depth\{.*pid=\"$hold\".*\} 0\$"
VGPU_AGENT=$dir/nobody "$V/vgpu" metrics >"$dir/none" && grep -qx 'vgpu_up 0' "$dir/none" && ok "no agent: vgpu_up 0" || fail "no agent: $(cat "$dir/none")"
# every family has its help and type, once, before its values
awk '$1 == "#" && $2 == "TYPE" {if (t[$3]++) bad = "twice: " $3; now = $3; h = $4 == "histogram"} $1 !~ /^#/ {n = $1; sub(/\{.*/, "", n); if (h) sub(/_(bucket|sum|count)$/, "", n); if (n != now) bad = "misplaced: " n} END {if (bad) print bad; exit bad != ""}' \
	"$dir/m" && ok "families in order" || fail "families"

# --- over HTTP
"$V/vgpu" metrics --listen 127.0.0.1:0 >"$dir/url" & served=$!
until_true grep -q listening "$dir/url"
url=$(sed 's/.* //' "$dir/url")
get() { python3 - "$@" <<'PY'
import http.client, socket, sys
from urllib.parse import urlparse
u = urlparse(sys.argv[1])
c = http.client.HTTPConnection(u.hostname, u.port, timeout=30)
c.request(sys.argv[2], sys.argv[3])
r = c.getresponse()
body = r.read()
print(r.status, r.getheader("Content-Type"), len(body), b"vgpu_up 1" in body)
PY
}
[[ $(get "$url" GET /metrics) == "200 text/plain; version=0.0.4; charset=utf-8 "*" True" ]] && ok "GET /metrics" || fail "GET /metrics: $(get "$url" GET /metrics)"
[[ $(get "$url" HEAD /metrics) == "200 "*" 0 False" ]] && ok "HEAD" || fail "HEAD: $(get "$url" HEAD /metrics)"
[[ $(get "$url" GET /) == "404 "* ]] && ok "another page is 404" || fail "GET /: $(get "$url" GET /)"
[[ $(get "$url" POST /metrics) == "405 "* ]] && ok "POST is 405" || fail "POST: $(get "$url" POST /metrics)"
# one who says nothing, one who says too much: the next is served
python3 - "$url" <<'PY'
import socket, sys
from urllib.parse import urlparse
u = urlparse(sys.argv[1])
socket.create_connection((u.hostname, u.port))
s = socket.create_connection((u.hostname, u.port))
try:
    s.sendall(b"x" * 100000)
except OSError:
    pass
PY
[[ $(get "$url" GET /metrics) == "200 "* ]] && ok "rude clients keep nobody away" || fail "after rude clients"
"$V/vgpu" metrics --listen 0.0.0.0:0 >"$dir/out" 2>&1; st=$?
[ $st = 1 ] && grep -q 'loopback addresses only' "$dir/out" && ok "no other address" || fail "0.0.0.0: exit $st: $(cat "$dir/out")"

# --- the dashboard
out=$(python3 "$here/tests/system/grafana.py" tools/service/grafana.json "$dir/m" "$dir/rules.json") && ok "Grafana's dashboard asks for what is there: $out" || fail "grafana.json: $out"
sed 's/vgpu_up/vgpu_upwards/' tools/service/grafana.json >"$dir/other.json"
python3 "$here/tests/system/grafana.py" "$dir/other.json" "$dir/m" "$dir/other.rules" >/dev/null && fail "grafana.py takes any metric"

P=$B/prometheus
if ! command -v promtool >/dev/null && [ -n "${VGPU_TEST_PROMETHEUS:-}${VGPU_TEST_STRANGERS:-}" ] && [ ! -x "$P/usr/bin/promtool" ]; then
	mkdir -p "$P" && (cd "$P" && timeout 300 apt-get download prometheus >log 2>&1 && dpkg -x prometheus_*.deb . && rm -f prometheus_*.deb)
fi
[ -x "$P/usr/bin/promtool" ] && PATH=$P/usr/bin:$PATH
if command -v promtool >/dev/null; then
	# exit 3: it parses, and style could be better; DCGM's exporter has labels in camelCase
	promtool check metrics <"$dir/m" 2>&1 | grep -v '^DCGM_.*camelCase' >"$dir/out"
	[ ! -s "$dir/out" ] && ok "promtool has nothing to say of ours" || fail "promtool: $(head -n 5 "$dir/out")"
	promtool check rules "$dir/rules.json" >"$dir/out" 2>&1 && grep -q 'SUCCESS: [12][0-9] rules found' "$dir/out" && ok "promtool reads its expressions" || fail "expressions: $(head -n 5 "$dir/out")"
	echo 'x{ 1' | promtool check metrics >/dev/null 2>&1 && fail "promtool takes anything"
	port=$(python3 "$here/tests/system/port.py")
	cat >"$dir/prom.yml" <<Y
global: {scrape_interval: 1s}
scrape_configs: [{job_name: vgpu, static_configs: [{targets: ["${url#http://}"]}]}]
Y
	sed -i 's|/metrics"\]|"]|' "$dir/prom.yml"
	prometheus --config.file="$dir/prom.yml" --storage.tsdb.path="$dir/tsdb" --web.listen-address="127.0.0.1:$port" >"$dir/prom.log" 2>&1 & prom=$!
	trap 'kill $hold $served $prom 2>/dev/null; cleanup' EXIT
	value() {
		python3 - "$port" "$1" <<'PY'
import json, sys, urllib.parse, urllib.request
r = json.load(urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}/api/v1/query?" + urllib.parse.urlencode({"query": sys.argv[2]}), timeout=20))
print([x["value"][1] for x in r["data"]["result"]])
PY
	}
	scraped() { [ "$(value 'vgpu_client_memory_bytes{command="hold"}')" = "['104857600']" ]; }
	until_true scraped && ok "Prometheus has the client's memory" || fail "Prometheus: $(value 'vgpu_client_memory_bytes') $(tail -n 2 "$dir/prom.log")"
	[ "$(value 'up{job="vgpu"}')" = "['1']" ] && ok "and calls the target up" || fail "up: $(value up)"
	[ "$(value 'count(scrape_samples_scraped > 20)')" = "['1']" ] && ok "and takes all samples" || fail "samples: $(value scrape_samples_scraped)"
	kill $prom; wait $prom 2>/dev/null
else
	skip "Prometheus: not installed (VGPU_TEST_PROMETHEUS=1, or VGPU_TEST_STRANGERS=1, fetches Debian's)"
fi
kill $served; wait $served; st=$?
[ $st = 0 ] && ok "SIGTERM ends it" || fail "SIGTERM: exit $st"
served=
: >"$dir/url"
"$V/vgpu" metrics --listen "unix:$dir/m.sock" >"$dir/url" & served=$!
until_true grep -q listening "$dir/url"
python3 -c 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n"); b=b""
while True:
    d=s.recv(65536)
    if not d: break
    b+=d
sys.exit(b"vgpu_up 1" not in b)' "$dir/m.sock" && ok "over a UNIX socket" || fail "over a UNIX socket"
kill $served; wait $served; served=
[ ! -e "$dir/m.sock" ] && ok "which goes with it" || fail "it leaves its socket"
