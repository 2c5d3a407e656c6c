# SPDX-License-Identifier: MIT
"""A copy of CUDA 13's libggml-cuda.so whose FLASH_ATTN_EXT kernels for heads of 512 have, at 7.5, the barrier that their source lacks.

   barrier.py LIBGGML_CUDA COPY        exit 0: COPY is there, with a line for each kernel changed; 77: no libzstd

flash_attn_ext_f16_process_tile (ggml/src/ggml-cuda/fattn-mma-f16.cuh) writes its result in DV/2/nbatch_combine rounds: every warp puts its
columns into shared memory, __syncthreads, every warp reads columns of all warps, and only `if (np > 1) __syncthreads()`. With one warp
for each column (np == 1: Turing's configurations of 16 and 32 columns) and more than one round (256 / 128 at a head of 512), a warp
stores the next round's columns while others still read this one's. Here a bar.sync goes before those stores.
"""
import ctypes
import re
import struct
import sys

FATBIN = struct.pack("<IHH", 0xBA55ED50, 1, 16)
ENTRY = "<HHIQIIHHIIIQQQ"  # tools/vgpu-stub/cpu/fatbin.h: kind, -, header, payload, compressed, ...
KERNEL = "flash_attn_ext_f16ILi512ELi512E"


def entries(data):
    at = data.find(FATBIN)
    while at >= 0:
        end = at + 16 + struct.unpack_from("<Q", data, at + 8)[0]
        p = at + 16
        while p + 64 <= end <= len(data):
            e = struct.unpack_from(ENTRY, data, p)
            yield p, e
            p += e[2] + e[3]
        at = data.find(FATBIN, at + 4)


def with_barriers(text):
    """The text with a bar.sync before the first store of a transposed column that follows a load with no bar.sync between, and how many."""
    # what is not under test makes room: the copy has to fit where the original was
    parts = re.split(r"(?m)^(?=(?:\.visible |\.weak )?\.entry )", text)
    parts = [p for p in parts if not re.match(r"[^(]*" + KERNEL + r"[^(]*ELb1E", p)]
    places = 0
    for k, part in enumerate(parts):
        if KERNEL not in part.split("(")[0]:
            continue
        out, read, moved = [], False, -99
        for i, line in enumerate(part.split("\n")):
            if line.startswith("bar.sync"):
                read = False
            elif "ld.shared" in line:
                read = True
            elif "movmatrix" in line:
                moved = i
            elif "st.shared.u32" in line and read and i - moved < 10:
                out.append("bar.sync 0;")
                places += 1
                read = False
            out.append(line)
        parts[k] = "\n".join(out)
    return re.sub(r"(?m)^\s*\n", "", "".join(parts)), places


def zstd(call, data, room, *level):
    """The answer of ZSTD_compress or ZSTD_decompress."""
    out = ctypes.create_string_buffer(room)
    n = call(out, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), *level)
    return out.raw[:n] if n <= room else None  # an error is a number near SIZE_MAX


def main():
    try:
        lib = ctypes.CDLL("libzstd.so.1")
    except OSError as e:
        print(e)
        return 77
    lib.ZSTD_compress.restype = lib.ZSTD_decompress.restype = ctypes.c_size_t
    with open(sys.argv[1], "rb") as f:
        data = bytearray(f.read())
    total = 0
    for p, e in list(entries(data)):
        kind, head, room, packed, arch, flags = e[0], e[2], e[3], e[4], e[8], e[11]
        if kind != 1 or arch != 75 or not flags & 0x8000:
            continue
        text = zstd(lib.ZSTD_decompress, bytes(data[p + head:p + head + packed]), e[13])
        if text is None:
            print("what is at %#x cannot be unpacked" % p)
            return 1
        text = text.rstrip(b"\0").decode()
        if KERNEL not in text:
            continue
        new, places = with_barriers(text)
        if not places:
            continue
        body = new.encode() + b"\0"
        small = zstd(lib.ZSTD_compress, body, room, 22)
        if small is None:
            print("no room for the barriers at %#x: %d bytes" % (p, room))
            return 1
        data[p + head:p + head + len(small)] = small
        struct.pack_into("<I", data, p + 16, len(small))
        struct.pack_into("<Q", data, p + 56, len(body))
        print("%d barriers in %s" % (places, ", ".join("<512, 512, %s, %s>" % k for k in sorted(set(re.findall(KERNEL + r"Li(\d+)ELi(\d+)E", new))))))
        total += places
    with open(sys.argv[2], "wb") as f:
        f.write(data)
    return 0 if total else 1


sys.exit(main())
