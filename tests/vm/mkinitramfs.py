#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes an initramfs (cpio "newc"): mkinitramfs.py OUT PATH=FILE... PATH@TARGET...

PATH=FILE puts FILE at PATH, PATH=FOLDER all that is in FOLDER under PATH, PATH@TARGET a symbolic link. Parent folders come
by themselves, all belongs to root. The same input gives the same bytes. OUT is compressed if it ends in .gz: of half a gigabyte
an emulated machine unpacks nothing.
"""
import gzip
import os
import stat
import sys


def main():
    out = sys.argv[1]
    entries = {"dev": (0o40755, b"", 0, 0), "dev/console": (0o20600, b"", 5, 1)}

    def parents(path):
        parts = path.split("/")[:-1]
        for i in range(len(parts)):
            entries.setdefault("/".join(parts[:i + 1]), (0o40755, b"", 0, 0))

    def put(path, name):
        parents(path)
        mode = os.lstat(name).st_mode
        if stat.S_ISLNK(mode):
            entries[path] = (0o120777, os.readlink(name).encode(), 0, 0)
        elif stat.S_ISDIR(mode):
            entries[path] = (0o40755, b"", 0, 0)
            for f in sorted(os.listdir(name)):
                put(path + "/" + f, os.path.join(name, f))
        elif stat.S_ISREG(mode):
            with open(name, "rb") as f:
                entries[path] = (0o100755 if mode & 0o100 else 0o100644, f.read(), 0, 0)

    for arg in sys.argv[2:]:
        if "=" in arg:
            path, name = arg.split("=", 1)
            path = path.strip("/")
            if path:
                put(path, os.path.realpath(name))
            else:
                for f in sorted(os.listdir(name)):
                    put(f, os.path.join(name, f))
        else:
            path, target = arg.split("@", 1)
            path = path.strip("/")
            parents(path)
            entries[path] = (0o120777, target.encode(), 0, 0)

    image = bytearray()

    def pad():
        image.extend(b"\0" * (-len(image) % 4))

    def entry(number, name, mode, data, major, minor):
        encoded = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(encoded), 0)
        image.extend(b"070701" + b"".join(b"%08x" % v for v in fields) + encoded)
        pad()
        image.extend(data)
        pad()

    # a folder sorts before what is in it
    for number, name in enumerate(sorted(entries), 1):
        entry(number, name, *entries[name])
    entry(0, "TRAILER!!!", 0, b"", 0, 0)
    with open(out + ".tmp", "wb") as f:
        if out.endswith(".gz"):
            # of a whole system: what is saved is not worth the time
            with gzip.GzipFile("", "wb", 6 if len(image) < 32 << 20 else 1, f, mtime=0) as z:
                z.write(bytes(image))
        else:
            f.write(image)
    os.rename(out + ".tmp", out)


main()
