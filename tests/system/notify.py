#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""vgpu-agent and vgpu-stub under a service manager that is this script: sd_notify(3)'s datagrams, in their order.

Prints "ok NAME" and "FAIL NAME reason".
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BIN = os.path.join(os.path.abspath(sys.argv[1]), "bin")
LIMIT = 90
folder = tempfile.mkdtemp(prefix="vgpu-notify-")
running = []
bad = 0


def verdict(name, good, reason=""):
    global bad
    if good:
        print("ok " + name)
    else:
        bad = 1
        print("FAIL %s %s" % (name, reason))


class Manager:
    """A socket where services report."""

    def __init__(self, name, abstract=False):
        self.name = "@vgpu-%d-%s" % (os.getpid(), name) if abstract else os.path.join(folder, name)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(("\0" + self.name[1:]) if abstract else self.name)
        self.heard = []

    def wait(self, what, seconds=LIMIT, process=None):
        """Reads until a datagram has a line that begins with `what`; None: never came."""
        end = time.monotonic() + seconds
        self.sock.settimeout(0.2)
        while time.monotonic() < end:
            try:
                text = self.sock.recv(4096).decode()
            except TimeoutError:
                # what an ended process had to say has been read by then
                if process and process.poll() is not None:
                    return None
                continue
            self.heard.append(text)
            for line in text.split("\n"):
                if line.startswith(what):
                    return line
        return None


def start(manager, *argv, **extra):
    env = dict(os.environ, NOTIFY_SOCKET=manager.name if manager else os.path.join(folder, "nobody"))
    env.pop("WATCHDOG_USEC", None)
    env.update(extra)
    p = subprocess.Popen([os.path.join(BIN, argv[0]), *argv[1:]], env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    running.append(p)
    return p


def connects(path, kind):
    with socket.socket(socket.AF_UNIX, kind) as s:
        try:
            s.connect(path)
        except OSError as e:
            return str(e)
    return ""


def end(p):
    p.send_signal(signal.SIGTERM)
    try:
        out, _ = p.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        p.kill()
        return -1, ""
    return p.returncode, out


def device(manager, path):
    return start(manager, "vgpu-stub", "--socket", path, "--memory", "64M")


def agent(manager, dev, *argv, **extra):
    return start(manager, "vgpu-agent", "--device", "vfio-user:" + dev, "--listen", os.path.join(folder, "agent"),
                 "--pidfile", os.path.join(folder, "pid"), *argv, **extra)


def main():
    listen = os.path.join(folder, "agent")
    dev = os.path.join(folder, "dev")

    m = Manager("device")
    stub = device(m, dev)
    line = m.wait("READY=1", process=stub)
    why = connects(dev, socket.SOCK_STREAM)
    verdict("device/ready", line and not why, "%s; connect: %s" % (m.heard, why))

    # a device that takes the connection and then says nothing: the agent is not ready, and says so by ending
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    silent.bind(os.path.join(folder, "silent"))
    silent.listen(1)
    a = Manager("silent-agent")
    p = agent(a, os.path.join(folder, "silent"))
    line = a.wait("READY=1", process=p)
    verdict("agent/not_ready", line is None and p.poll() == 1, "%s, exit %s" % (a.heard, p.poll()))
    silent.close()

    a = Manager("agent", abstract=True)
    p = agent(a, dev, WATCHDOG_USEC="200000")
    line = a.wait("READY=1", process=p)
    why = connects(listen, socket.SOCK_SEQPACKET)
    verdict("agent/ready", line and not why, "%s; connect: %s" % (a.heard, why))
    verdict("agent/ready_first", a.heard and a.heard[0].startswith("READY=1\nSTATUS=1 device"), a.heard)
    verdict("device/owner", m.wait("STATUS=has an owner"), m.heard)
    beats = sum(bool(a.wait("WATCHDOG=1", process=p)) for _ in range(4))
    verdict("agent/watchdog", beats == 4, "%d signs of life" % beats)

    code, _ = end(stub)
    verdict("device/stopping", code == 0 and m.wait("STOPPING=1", 1), "exit %d, %s" % (code, m.heard))
    line = a.wait("STATUS=device 0")
    verdict("agent/lost", line and "is lost" in line, line)
    stub = device(m, dev)
    line = a.wait("STATUS=device 0")
    verdict("agent/back", line and "is back" in line, line)

    code, _ = end(p)
    line = a.wait("STOPPING=1", 1)
    verdict("agent/stopping", code == 0 and line, "exit %d, %s" % (code, a.heard[-3:]))

    # signs of life are asked of another process
    a = Manager("other")
    p = agent(a, dev, WATCHDOG_USEC="50000", WATCHDOG_PID="1")
    ready = a.wait("READY=1", process=p)
    time.sleep(0.3)
    end(p)
    a.wait("STOPPING=1", 1)
    verdict("agent/watchdog_pid", ready and "WATCHDOG=1" not in a.heard, a.heard)

    # the environment that says so is for the service alone
    program = os.path.join(folder, "program")
    with open(program, "w") as f:
        f.write("#!/bin/sh\nenv >%s/env\n" % folder)
    os.chmod(program, 0o755)
    a = Manager("child")
    p = agent(a, dev, "--run", program, WATCHDOG_USEC="30000000")
    try:
        p.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        p.kill()
    with open(os.path.join(folder, "env")) as f:
        names = {line.split("=")[0] for line in f}
    verdict("agent/environment", "VGPU_AGENT" in names and not names & {"NOTIFY_SOCKET", "WATCHDOG_USEC"}, names)

    # no such manager: a warning, and service
    p = agent(None, dev)
    for _ in range(LIMIT * 20):
        if not connects(listen, socket.SOCK_SEQPACKET) or p.poll() is not None:
            break
        time.sleep(0.05)
    code, out = end(p)
    verdict("agent/no_manager", code == 0 and "will not hear of us" in out and "ready:" in out, out)
    end(stub)


try:
    main()
finally:
    for child in running:
        if child.poll() is None:
            child.kill()
            child.wait()
    shutil.rmtree(folder)
sys.exit(bad)
