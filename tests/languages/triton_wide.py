# SPDX-License-Identifier: MIT
"""Some five hundred kernels over all of Triton's language, without torch, against numpy: operators in each type, casts between types, libdevice's
functions, reductions, scans, shapes, atomics, pointers to blocks, random numbers, control flow. "ok NAME" or "FAIL NAME why" a line.

Rows of tables become the text of kernels, in a file of their own, since Triton reads the source of what it compiles. What is made of several lines
stands in triton_blocks.py.
Usage: triton_wide.py [WORD]        only names with WORD in them"""
import importlib.util
import math
import os
import sys
import tempfile
import numpy as np
import triton
from triton_bare import Array, capability

N = 256
word = sys.argv[1] if len(sys.argv) > 1 else ""
rng = np.random.default_rng(3)
SIGNED, UNSIGNED, FLOATS = ("int8", "int16", "int32", "int64"), ("uint8", "uint16", "uint32", "uint64"), ("float16", "float32", "float64")
EPS = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}

rows = []       # name, kind, expression, reference, tolerance, values


def row(name, kind, expression, reference, tolerance=0.0, values=None):
    if word in f"{name} {kind}":
        rows.append((f"{name} {kind}", kind, expression, reference, tolerance, values))


def trunc_div(a, b):
    wide, other = a.astype(object), b.astype(object)        # of Python's own whole numbers, which have no least one
    return (abs(wide) // abs(other) * np.where((a < 0) != (b < 0), -1, 1)).astype(a.dtype)


def nearly(kind, k=1):
    return k * EPS.get(kind, 0.0)


# Operators in each type; as in C, whole numbers are divided towards zero
for kind in SIGNED + UNSIGNED + FLOATS:
    for sign, f in (("+", np.add), ("-", np.subtract), ("*", np.multiply)):
        row(sign, kind, f"a {sign} b", f, nearly(kind))
    for sign, f in (("<", np.less), ("<=", np.less_equal), (">", np.greater), ("==", np.equal), ("!=", np.not_equal)):
        row(sign, kind, f"(a {sign} b)", f)
    row("minimum", kind, "tl.minimum(a, b)", np.minimum)
    row("maximum", kind, "tl.maximum(a, b)", np.maximum)
    row("where", kind, "tl.where(a > b, a, c)", lambda a, b, c: np.where(a > b, a, c))
    if kind not in UNSIGNED:
        row("neg", kind, "-a", np.negative)
        row("abs", kind, "tl.abs(a)", np.abs)
for kind in SIGNED + UNSIGNED:
    bits = int("".join(d for d in kind if d.isdigit()))
    row("//", kind, "a // b", lambda a, b: trunc_div(a, b), 0, "b not 0")
    row("%", kind, "a % b", lambda a, b: a - trunc_div(a, b) * b, 0, "b not 0")
    row("&", kind, "a & b", np.bitwise_and)
    row("|", kind, "a | b", np.bitwise_or)
    row("^", kind, "a ^ b", np.bitwise_xor)
    row("~", kind, "~a", np.invert)
    row("<<", kind, "a << b", np.left_shift, 0, f"b below {bits}")
    row(">>", kind, "a >> b", np.right_shift, 0, f"b below {bits}")


def high_half(a, b):
    unsigned = f"u{a.dtype.itemsize}"
    products = a.view(unsigned).astype(object) * b.view(unsigned).astype(object)
    return (products >> 8 * a.dtype.itemsize).astype(unsigned).view(a.dtype)


for kind in ("uint32", "int32", "uint64", "int64"):
    row("umulhi", kind, "tl.umulhi(a, b)", high_half)
for kind in FLOATS:
    row("/", kind, "a / b", np.divide, nearly(kind, 2), "b not 0")
    row("clamp", kind, "tl.clamp(a, -0.5, 0.75)", lambda a: np.clip(a, a.dtype.type(-0.5), a.dtype.type(0.75)))
    row("fma", kind, "tl.fma(a, b, c)", lambda a, b, c: a * b + c, nearly(kind, 2))
for kind in ("float32", "float64"):
    row("% of fractions", kind, "a % b", np.fmod, nearly(kind, 4), "b not 0")
    for name, f in (("exp", np.exp), ("exp2", np.exp2), ("log", np.log), ("log2", np.log2), ("sin", np.sin), ("cos", np.cos), ("sqrt", np.sqrt),
                    ("rsqrt", lambda a: 1 / np.sqrt(a)), ("floor", np.floor), ("ceil", np.ceil), ("erf", lambda a: np.vectorize(math.erf)(a)),
                    ("sigmoid", lambda a: 1 / (1 + np.exp(-a)))):
        row(f"tl.{name}", kind, f"tl.{name}(a)", f, 4e-6 if kind == "float32" else 1e-13, "positive")
row("sqrt_rn", "float32", "tl.sqrt_rn(a)", np.sqrt, 6e-8, "positive")
row("div_rn", "float32", "tl.div_rn(a, b)", np.divide, 6e-8, "b not 0")
row("fdiv", "float32", "tl.fdiv(a, b)", np.divide, 1e-6, "b not 0")
row("cdiv", "int32", "tl.cdiv(a, b)", lambda a, b: (a + b - 1) // b, 0, "small")
row("softmax", "float32", "tl.softmax(a)", lambda a: np.exp(a - a.max()) / np.exp(a - a.max()).sum(), 1e-6)
row("&& of comparisons", "int32", "((a > b) & (b > c) | ~(a != c))", lambda a, b, c: (a > b) & (b > c) | (a == c))

# Types of results: the wider of two, floats over whole numbers, the unsigned of two as wide
for one, other, want in (("int8", "int32", "int32"), ("int16", "uint16", "uint16"), ("int32", "uint32", "uint32"), ("uint8", "int16", "int16"),
                         ("int64", "float32", "float32"), ("int32", "float16", "float16"), ("float16", "float32", "float32"), ("float32", "float64", "float64")):
    row(f"type of {one} +", other, f"a.to(tl.{one}) + b", lambda a, b, one=one, want=want: a.astype(one).astype(want) + b.astype(want), 2e-3 if "16" in want else 1e-6,
        "small")

# Casts: to whole numbers towards zero, to halves to the nearest even
for kind in SIGNED + UNSIGNED + FLOATS:
    for to in SIGNED + UNSIGNED + FLOATS:
        if kind != to:
            row(f"to {to} of", kind, f"a.to(tl.{to})", lambda a, to=to: a.astype(to), 0, "small")
row("to bfloat16 of", "float32", "a.to(tl.bfloat16).to(tl.float32)",
    lambda a: ((a.view(np.uint32) + np.uint32(0x7fff) + (a.view(np.uint32) >> np.uint32(16) & np.uint32(1))) & np.uint32(0xffff0000)).view(np.float32))
row("bitcast", "float32", "a.to(tl.int32, bitcast=True)", lambda a: a.view(np.int32))
row("bitcast", "int64", "a.to(tl.float64, bitcast=True).to(tl.int64, bitcast=True)", lambda a: a)
row("towards zero to float16 of", "float32", "a.to(tl.float16, fp_downcast_rounding='rtz')",
    lambda a: np.where(np.abs(a.astype(np.float16).astype(np.float64)) > np.abs(a), np.nextafter(a.astype(np.float16), np.float16(0)), a.astype(np.float16)))
row("to 1 of", "float32", "(a != 0).to(tl.int1).to(tl.int32)", lambda a: (a != 0).astype(np.int32))


def small_float(bits, exponent, bias, has_infinity):
    """The value of each byte as a float of 8 bits."""
    byte = np.arange(256)
    m = 7 - exponent
    e, f = byte >> m & (1 << exponent) - 1, byte & (1 << m) - 1
    v = np.where(e == 0, f * 2.0 ** (1 - bias - m), (1 + f * 2.0 ** -m) * 2.0 ** (e - bias))
    if has_infinity:
        v = np.where(e == (1 << exponent) - 1, np.where(f == 0, np.inf, np.nan), v)
    else:
        v = np.where((byte & 127) == 127, np.nan, v)
    return np.where(byte > 127, -v, v)


E5M2, E4M3 = small_float(8, 5, 15, True), small_float(8, 4, 7, False)
row("from float8e5 by", "uint8", "a.to(tl.float8e5, bitcast=True).to(tl.float32)", lambda a: E5M2[a].astype(np.float32), 0, "bytes")


def nearest(table, largest):
    """To the nearest byte's value, the even one of two; too large ones are the largest."""
    finite = np.flatnonzero(np.isfinite(table[:128]))

    def f(a):
        d = np.abs(np.minimum(np.abs(a.astype(np.float64)), largest)[:, None] - table[finite])
        best = d.min(1, keepdims=True)
        at = np.array([min(np.flatnonzero(r == m), key=lambda i: i & 1) for r, m in zip(d, best[:, 0])])
        return (at | np.where(np.signbit(a), 128, 0)).astype(np.uint8)
    return f


if capability() >= (8, 9):
    row("from float8e4nv by", "uint8", "a.to(tl.float8e4nv, bitcast=True).to(tl.float32)", lambda a: E4M3[a].astype(np.float32), 0, "bytes")
    row("to float8e4nv of", "float32", "a.to(tl.float8e4nv).to(tl.uint8, bitcast=True)", nearest(E4M3, 448))
    row("to float8e5 of", "float32", "a.to(tl.float8e5).to(tl.uint8, bitcast=True)", nearest(E5M2, 57344))

# libdevice, in floats and doubles
V = np.vectorize
for name, f, values in (
        ("acos", np.arccos, "unit"), ("acosh", lambda a: np.arccosh(a), "above 1"), ("asin", np.arcsin, "unit"), ("asinh", np.arcsinh, None), ("atan", np.arctan, None),
        ("atanh", np.arctanh, "unit"), ("cbrt", np.cbrt, None), ("cosh", np.cosh, None), ("cospi", lambda a: np.cos(np.pi * a), None), ("erfc", V(math.erfc), None),
        ("exp10", lambda a: 10.0 ** a, None), ("expm1", np.expm1, None), ("lgamma", V(math.lgamma), "positive"), ("log10", np.log10, "positive"),
        ("log1p", np.log1p, "positive"), ("rint", np.rint, None), ("rcbrt", lambda a: 1 / np.cbrt(a), "positive"), ("round", lambda a: np.sign(a) * np.floor(np.abs(a) + 0.5), None),
        ("sinh", np.sinh, None), ("sinpi", lambda a: np.sin(np.pi * a), None), ("tan", np.tan, "unit"), ("tanh", np.tanh, None), ("tgamma", V(math.gamma), "positive"),
        ("trunc", np.trunc, None), ("normcdf", V(lambda a: 0.5 * math.erfc(-a / math.sqrt(2))), None), ("nearbyint", np.rint, None), ("logb", lambda a: np.frexp(a)[1] - 1.0, "positive"),
        ("cyl_bessel_i0", np.i0, None)):
    for kind in ("float32", "float64"):
        row(f"libdevice.{name}", kind, f"libdevice.{name}(a)", f, 2e-5 if kind == "float32" else 1e-12, values)
for name, f in (("atan2", np.arctan2), ("copysign", np.copysign), ("fdim", lambda a, b: np.maximum(a - b, 0)), ("fmod", np.fmod), ("hypot", np.hypot),
                ("nextafter", np.nextafter), ("pow", lambda a, b: np.abs(a) ** b), ("remainder", V(math.remainder))):
    for kind in ("float32", "float64"):
        first = "tl.abs(a)" if name == "pow" else "a"
        row(f"libdevice.{name}", kind, f"libdevice.{name}({first}, b)", f, 0 if name == "nextafter" else 2e-5 if kind == "float32" else 1e-12, "b not 0")
for name, f in (("add", np.add), ("mul", np.multiply)):
    for mode, towards in (("rd", -np.inf), ("ru", np.inf)):
        def rounded(a, b, f=f, towards=towards):
            exact = f(a.astype(np.float64), b.astype(np.float64))
            r = exact.astype(np.float32)
            wrong = r > exact if towards < 0 else r < exact
            return np.where(wrong, np.nextafter(r, np.float32(towards)), r)
        row(f"libdevice.{name}_{mode}", "float32", f"libdevice.{name}_{mode}(a, b)", rounded, -1)
row("libdevice.popc", "int32", "libdevice.popc(a)", lambda a: np.array([int(v).bit_count() for v in a.view(np.uint32)], np.int32))
row("libdevice.clz", "int32", "libdevice.clz(a)", lambda a: np.array([32 - int(v).bit_length() for v in a.view(np.uint32)], np.int32))
row("libdevice.brev", "int32", "libdevice.brev(a)", lambda a: np.array([int(f"{v:032b}"[::-1], 2) for v in a.view(np.uint32)], np.uint32).view(np.int32))
row("libdevice.ffs", "int32", "libdevice.ffs(a)", lambda a: np.array([(int(v) & -int(v)).bit_length() for v in a.view(np.uint32)], np.int32))
row("libdevice.float2int_rd", "float32", "libdevice.float2int_rd(a)", lambda a: np.floor(a).astype(np.int32))
row("libdevice.float2int_ru", "float32", "libdevice.float2int_ru(a)", lambda a: np.ceil(a).astype(np.int32))
row("libdevice.mulhi", "int32", "libdevice.mulhi(a, b)", lambda a, b: (a.astype(np.int64) * b >> 32).astype(np.int32))
row("libdevice.signbit", "float32", "libdevice.signbit(a).to(tl.int32) != 0", np.signbit)
row("inline_asm", "int32", "tl.inline_asm_elementwise('lop3.b32 $0, $1, $2, $1, 0x3c;', '=r,r,r', [a, b], dtype=tl.int32, is_pure=True, pack=1)", lambda a, b: a ^ b)


def values_of(kind, which, second):
    t = np.dtype(kind)
    if which == "bytes":
        return np.arange(N).astype(t)
    if t.kind == "f":
        v = rng.standard_normal(N) * 3
        v = {"positive": np.abs(v) + 0.1, "unit": np.tanh(v) * 0.98, "above 1": np.abs(v) + 1.01, "small": np.abs(v)}.get(which, v)
        if which == "b not 0" and second:
            v = np.where(np.abs(v) < 0.1, 1.0, v)
        return v.astype(t)
    low, high = np.iinfo(t).min, np.iinfo(t).max
    if which == "small":
        low, high = 1, 100
    if which and which.startswith("b below ") and second:
        low, high = 0, int(which.split()[-1]) - 1
    v = rng.integers(low, high, N, t, True)
    if which == "b not 0" and second:       # nor the least number by -1
        v = np.where((v == 0) | (v == t.type(-1 if t.kind == "i" else 0)), t.type(3), v)
    return v


def differs(got, want, tolerance):
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if got.dtype.kind == "b" or want.dtype.kind == "b":
        got, want = got != 0, want != 0
    if tolerance == 0:
        alike = (got == want) | (got != got) & (want != want)
        at = np.flatnonzero(~alike.reshape(-1))
        return None if not at.size else f"{at.size} differ, first {got.reshape(-1)[at[0]]}, not {want.reshape(-1)[at[0]]}"
    got, want = got.astype(np.float64), want.astype(np.float64)
    off = np.abs(got - want) / np.maximum(np.abs(want), 1)
    return None if (off <= abs(tolerance)).all() else f"off by {off.max()}, {tolerance} allowed"


folder = tempfile.mkdtemp()
path = os.path.join(folder, "kernels.py")
with open(path, "w") as f:
    f.write("import triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n\n")
    for k, r in enumerate(rows):
        f.write(f"\n@triton.jit\ndef k{k}(x, y, z, out, N: tl.constexpr):\n    i = tl.arange(0, N)\n")
        f.write("    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)\n" f"    tl.store(out + i, {r[2]})\n\n")
spec = importlib.util.spec_from_file_location("kernels", path)
kernels = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)
right = wrong = 0


def say(name, why):
    global right, wrong
    right, wrong = right + (not why), wrong + bool(why)
    if why:
        print("FAIL", name, why)
        sys.stdout.flush()


for k, (name, kind, expression, reference, tolerance, values) in enumerate(rows):
    try:
        a, b, c = (values_of(kind, values, second) for second in (False, True, False))
        given = [a, b, c][:reference.__code__.co_argcount if hasattr(reference, "__code__") and not reference.__defaults__ else
                          reference.__code__.co_argcount - len(reference.__defaults__) if hasattr(reference, "__code__") else reference.nin if hasattr(reference, "nin") else 1]
        if isinstance(reference, np.vectorize):
            given = [a, b][:2 if "(a, b)" in expression else 1]
        if tolerance > 0:
            given = [v.astype(np.float64) if v.dtype.kind == "f" else v for v in given]
        with np.errstate(all="ignore"):
            want = np.asarray(reference(*given))
        whole = want.dtype == np.float64 and tolerance > 0
        out = Array(np.zeros(N, np.int8 if want.dtype.kind == "b" else kind if whole else want.dtype))
        getattr(kernels, f"k{k}")[(1,)](Array(a), Array(b), Array(c), out, N)
        say(name, differs(out.host(), want, tolerance))
    except Exception as e:
        say(name, " ".join(str(e).split())[-300:])
print("ok" if not wrong and right or word and not rows else "FAIL", f"{right} of {right + wrong} kernels of one expression")
ended = bool(wrong)
right = wrong = 0
import triton_blocks    # noqa: E402

for name, run in triton_blocks.CASES.items():
    if word in name:
        try:
            say(name, next((why for why in (differs(np.asarray(g), np.asarray(w), t) for g, w, t in run()) if why), None))
        except Exception as e:
            say(name, " ".join(str(e).split())[-300:])
print("ok" if not wrong and right or word else "FAIL", f"{right} of {right + wrong} kernels of blocks")
sys.exit(ended or bool(wrong))
