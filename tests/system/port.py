# SPDX-License-Identifier: MIT
# A TCP port of loopback that nobody has now, below those that the kernel hands out by itself: a runner's, or a
# connection's that has just ended, does not come to be in a server's place.
import random, socket

try:
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        end = int(f.read().split()[0])
except OSError:
    end = 32768
begin = 10240 if end > 12288 else 1024
for _ in range(1000):
    port = random.randrange(begin, max(end, begin + 1024))
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
else:
    raise SystemExit("no port is free")
