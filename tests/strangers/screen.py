# SPDX-License-Identifier: MIT
"""What a program writes to its terminal, of 150 by 60, without the escape sequences, until PATTERN is in it: screen.py PATTERN PROGRAM...
Exit status 1 when it was not within 60 s."""
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

pid, fd = pty.fork()
if pid == 0:
    time.sleep(0.5)             # the terminal has its size first
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 150, 0, 0))
out, end, text, seen = b"", time.time() + 60, "", None
while time.time() < end and not seen:
    if select.select([fd], [], [], 1)[0]:
        try:
            out += os.read(fd, 65536)
        except OSError:
            break
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]", b" ", out).decode(errors="replace")
    text = re.sub(r"\s+", " ", text)
    seen = re.search(sys.argv[1], text)
os.kill(pid, 9)
os.waitpid(pid, 0)
print(seen[0] if seen else text[-400:])
sys.exit(not seen)
