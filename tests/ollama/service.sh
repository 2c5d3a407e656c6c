#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ollama as a service of a systemd of our own, with nothing typed but what the README says: `make install`, the services
# enabled. The unit is the one that Ollama's own installer writes.
#   service.sh BUILD
. "$(dirname "$0")/../system/lib.sh"
unset LD_LIBRARY_PATH
here=$(cd "$(dirname "$0")" && pwd)
why=$("$here/build.sh" "$B" 2>&1); st=$?
[ $st = 77 ] && { skip "ollama service: $(tail -n 1 <<<"$why")"; exit 0; }
[ $st = 0 ] || { fail "ollama service: $why"; exit 1; }
. "$here/../system/service/world.sh"
world_needs "ollama service"
t=$dir/stage/opt/tests
cp "$here/client.py" "$here/../llm/model/licences.gguf" "$t/"
mkdir -p "$t/bin" "$t/lib/ollama/cuda_v12" "$dir/stage/etc/systemd/system"
# the release, where every user can read it
cp "$B/ollama/release/bin/ollama" "$t/bin/"
(cd "$B/ollama/release/lib/ollama" && cp -a llama-server llama-quantize ./*.so "$t/lib/ollama/" && cp cuda_v12/libggml-cuda.so "$t/lib/ollama/cuda_v12/")
cat >"$dir/stage/etc/systemd/system/ollama.service" <<'END'
[Unit]
Description=Ollama Service
After=network-online.target
[Service]
ExecStart=/opt/tests/bin/ollama serve
User=ollama
Group=ollama
Restart=always
RestartSec=3
Environment="PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
[Install]
WantedBy=default.target
END
cat >"$dir/inside.sh" <<'END'
. /opt/tests/verdicts.sh
# the loopback device of the new network; a small system has no ip(8)
python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))'
useradd -r -m -d /tmp/ollama ollama
systemd-sysusers vgpu.conf
systemd-tmpfiles --create vgpu.conf
ldconfig
mkdir -p /run/systemd/system/{ollama,vgpu-agent,vgpu-stub}.service.d
for u in ollama vgpu-agent vgpu-stub; do printf '[Service]\nStandardError=append:/mnt/%s.log\nStandardOutput=append:/mnt/%s.log\n' $u $u >/run/systemd/system/$u.service.d/test.conf; done
printf 'Environment=OLLAMA_NO_CLOUD=1 OLLAMA_DEBUG=1\n' >>/run/systemd/system/ollama.service.d/test.conf
printf 'Environment="STUB_OPTIONS=--memory 2G"\n' >>/run/systemd/system/vgpu-stub.service.d/test.conf
systemctl daemon-reload
systemctl enable vgpu-stub vgpu-agent
url=http://127.0.0.1:11434
say() { python3 /opt/tests/client.py say $url m "You may copy" 4; }
on_gpu() { say && [ "$(python3 /opt/tests/client.py ps $url)" = "m:latest 100" ]; }

# no agent since the boot: not started on the CPU, and with the agent it comes by itself
systemctl mask --runtime vgpu-agent
judge no_agent_since_the_boot_no_start not systemctl start ollama
judge its_reason_is_said grep -q 'there is no such socket' /mnt/ollama.log
judge not_on_the_cpu not grep -q 'inference compute' /mnt/ollama.log
systemctl unmask --runtime vgpu-agent
systemctl stop ollama
judge starting_ollama_starts_the_agent systemctl start ollama
judge agent_is_up state vgpu-agent active
judge discovers_the_device soon grep -q 'inference compute.*library=CUDA.*VGPU-STUB.*driver=13' /mnt/ollama.log
echo 'FROM /opt/tests/licences.gguf' >/tmp/Modelfile
judge creates_a_model env HOME=/tmp /opt/tests/bin/ollama create m -f /tmp/Modelfile
judge all_on_the_gpu on_gpu
judge all_layers grep -qE 'offloaded ([0-9]+)/\1 layers' /mnt/ollama.log
env HOME=/tmp /opt/tests/bin/ollama stop m
systemctl stop vgpu-agent
judge without_the_agent_an_error not say
systemctl start vgpu-agent
judge agent_back_ollama_untouched on_gpu
# started while the agent is away: it knows the device from what that left, and says an error
env HOME=/tmp /opt/tests/bin/ollama stop m
systemctl stop ollama vgpu-agent
systemctl mask --runtime vgpu-agent
: >/mnt/ollama.log
judge starts_without_the_agent systemctl start ollama
judge knows_the_device soon grep -q 'inference compute.*library=CUDA.*VGPU-STUB' /mnt/ollama.log
judge its_models_are_errors not say
systemctl unmask --runtime vgpu-agent
systemctl start vgpu-agent
judge then_on_the_device on_gpu
judge stop systemctl stop ollama vgpu-agent vgpu-stub
cat /mnt/*.log
echo end
END
world "ollama service" 280 "$dir/inside.sh"
