#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What cc_half.cu printed, rounded anew: sums, products and quotients by struct's binary16, fused ones by fractions. cc_half.py FILE
import struct, sys
from fractions import Fraction
bad = n = 0
def val(h): return struct.unpack('<e', struct.pack('<H', h))[0]
def pack(v):
    try: return struct.unpack('<H', struct.pack('<e', v))[0]
    except OverflowError: return 0xfc00 if v < 0 else 0x7c00
def frac(f, neg_zero):      # a fraction to the nearest half, ties to even
    if f == 0: return 0x8000 if neg_zero else 0
    s, a = (0x8000, -f) if f < 0 else (0, f)
    e = -14
    while e < 16 and a >= Fraction(2) ** (e + 1): e += 1
    u = Fraction(2) ** (e - 10)
    q, r = divmod(a, u)
    q = int(q) + (r * 2 > u or (r * 2 == u and int(q) & 1))
    return s | min(q + (e + 14) * 1024, 0x7c00)
for line in open(sys.argv[1]):
    if not line[0].isdigit(): continue
    k, x, y, z, got = map(int, line.split())
    a, b, c = val(x), val(y), val(z)
    f = struct.unpack('<f', struct.pack('<I', (x << 16 | y)))[0]
    try:
        if k == 0: v = a + b
        elif k == 1: v = a - b
        elif k == 2: v = a * b
        elif k == 3: v = a / b if b else float('nan') if a != a or a == 0 else float('inf') * (1 if (struct.pack('<e', a)[1] ^ struct.pack('<e', b)[1]) < 128 else -1)
        elif k == 4:
            if any(abs(t) == float('inf') or t != t for t in (a, b, c)): v = a * b + c
            else: v = None; want = frac(Fraction(a) * Fraction(b) + Fraction(c), str(a * b + c)[0] == '-' and Fraction(a) * Fraction(b) + Fraction(c) == 0)
        elif k == 5: v = f
        elif k == 10: v = None; want = struct.unpack('<I', struct.pack('<f', a))[0] if a == a else 0x7fffffff
        else: continue
    except ZeroDivisionError: continue
    if v is not None: want = 0x7fff if v != v else pack(v)
    n += 1
    if got != want:
        bad += 1
        if bad < 6: print('function', k, '%04x %04x %04x' % (x, y, z), 'is %x, Python has %x' % (got, want))
print(n, 'looked at by Python,', bad, 'wrong')
sys.exit(bad > 0 or n < 20000)
