#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One command to QEMU's monitor: qmp.py SOCKET COMMAND [JSON-ARGUMENTS]. Ends with 1 and QEMU's words if it refuses."""
import json
import socket
import sys


def main():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sys.argv[1])
    f = s.makefile("rw")
    f.readline()  # the greeting
    for command, arguments in (("qmp_capabilities", {}), (sys.argv[2], json.loads(sys.argv[3]) if len(sys.argv) > 3 else {})):
        f.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        f.flush()
        answer = json.loads(f.readline())
        while "event" in answer:
            answer = json.loads(f.readline())
        if "error" in answer:
            sys.exit("qmp: %s: %s" % (command, answer["error"]["desc"]))


main()
