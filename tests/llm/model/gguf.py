# SPDX-License-Identifier: MIT
"""Writes a llama-architecture GGUF file: version 3, matrices Q8_0 or F16, vectors F32.

Layout: magic, counts, key-values, tensor infos, data; every tensor aligned to 32 bytes. Matrices are given
as numpy arrays of (rows, columns); the file names the columns first.
"""
import struct

import numpy

F32, F16, Q8_0 = 0, 1, 8
U32, I32, FLOAT, STRING, ARRAY = 4, 5, 6, 8, 9
ALIGN = 32


def _string(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def _value(kind, v):
    if kind == STRING:
        return _string(v)
    return struct.pack({U32: "<I", I32: "<i", FLOAT: "<f"}[kind], v)


def key(name, kind, v):
    """One key-value; a list becomes an array of that kind."""
    head = _string(name)
    if isinstance(v, list):
        return head + struct.pack("<IIQ", ARRAY, kind, len(v)) + b"".join(_value(kind, x) for x in v)
    return head + struct.pack("<I", kind) + _value(kind, v)


def encode(a, kind):
    if kind == F32:
        return a.astype("<f4").tobytes()
    if kind == F16:
        return a.astype("<f2").tobytes()
    # Q8_0: 32 weights share a binary16 scale; codes are rounded half away from zero, as ggml does
    b = a.astype(numpy.float32).reshape(-1, 32)
    scale = (numpy.abs(b).max(axis=1) / 127).astype("<f2")
    s = scale.astype(numpy.float32)[:, None]
    q = numpy.divide(b, s, out=numpy.zeros_like(b), where=s != 0)
    q = numpy.clip(numpy.trunc(q + numpy.copysign(numpy.float32(0.5), q)), -127, 127).astype(numpy.int8)
    out = numpy.empty((len(b), 34), numpy.uint8)
    out[:, :2] = scale.view(numpy.uint8).reshape(-1, 2)
    out[:, 2:] = q.view(numpy.uint8)
    return out.tobytes()


def write(path, keys, tensors, kind):
    """keys: what key() made. tensors: (name, array) pairs."""
    infos, blobs, at = b"", [], 0
    for name, a in tensors:
        k = kind if a.ndim == 2 else F32
        blob = encode(a, k)
        infos += _string(name) + struct.pack("<I", a.ndim) + b"".join(struct.pack("<Q", n) for n in a.shape[::-1])
        infos += struct.pack("<IQ", k, at)
        blob += b"\0" * (-len(blob) % ALIGN)
        blobs.append(blob)
        at += len(blob)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(keys) + infos
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % ALIGN) + b"".join(blobs))
