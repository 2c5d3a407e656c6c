# SPDX-License-Identifier: MIT
"""dockerd's interface, as much of it as boxes.sh needs; what `docker run --device nvidia.com/gpu=all` sends.

    docker_api.py SOCKET ping
    docker_api.py SOCKET import NAME <TAR
    docker_api.py SOCKET run NAME DEVICE|- COMMAND...       DEVICE: nvidia.com/gpu=...; gpus: as --gpus all says it
"""
import http.client, json, socket, sys, urllib.parse


class Daemon(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(90)
        self.sock.connect(sys.argv[1])


def ask(method, path, body=None):
    c = Daemon("docker")
    c.request(method, path, json.dumps(body) if isinstance(body, dict) else body, {"Content-Type": "application/json" if isinstance(body, dict) else "application/x-tar"})
    r = c.getresponse()
    data = r.read()
    if r.status >= 400:
        sys.exit("%s %s: %d %s" % (method, path, r.status, data.decode(errors="replace").strip()))
    return data


what = sys.argv[2]
if what == "ping":
    print(ask("GET", "/_ping").decode())
elif what == "import":
    print(ask("POST", "/images/create?fromSrc=-&repo=" + urllib.parse.quote(sys.argv[3]), sys.stdin.buffer.read()).decode())
else:
    device = sys.argv[4]
    requests = [] if device == "-" else [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}] if device == "gpus" else [{"Driver": "cdi", "DeviceIDs": [device]}]
    made = json.loads(ask("POST", "/containers/create", {"Image": sys.argv[3], "Cmd": sys.argv[5:], "Tty": True,
                                                          "HostConfig": {"NetworkMode": "none", "SecurityOpt": ["seccomp=unconfined"], "DeviceRequests": requests}}))
    ask("POST", "/containers/%s/start" % made["Id"])
    status = json.loads(ask("POST", "/containers/%s/wait" % made["Id"]))["StatusCode"]
    sys.stdout.write(ask("GET", "/containers/%s/logs?stdout=1&stderr=1" % made["Id"]).decode(errors="replace"))
    ask("DELETE", "/containers/%s?force=1" % made["Id"])
    sys.exit(status)
