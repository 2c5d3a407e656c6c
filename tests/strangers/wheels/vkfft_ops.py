# SPDX-License-Identifier: MIT
"""pyvkfft, whose VkFFT writes a kernel for each transform and has NVRTC compile it, on CuPy's arrays, against scipy."""
import cupy
import numpy as np
import scipy.fft
from pyvkfft.fft import dctn, fftn, idctn, ifftn, irfftn, rfftn

from check import check, end

r = np.random.default_rng(1)


def near(name, got, want, tolerance):
    got = cupy.asnumpy(got)
    if np.iscomplexobj(want):
        got, want = np.stack([got.real, got.imag]), np.stack([want.real, want.imag])
    check(name, got, want, tolerance)


for real, whole, tolerance in ((np.float32, np.complex64, 2e-6), (np.float64, np.complex128, 1e-14)):
    # powers of two, small primes, primes by Rader's and Bluestein's ways, several dimensions, several uploads
    for shape, n in (((1024,), 1), ((64, 100), 2), ((30, 97), 1), ((16, 24, 20), 3), ((4, 1009), 1), ((2, 4099), 1), ((70, 77), 2), ((3, 16384), 1)):
        a = (r.normal(size=shape) + 1j * r.normal(size=shape)).astype(whole)
        axes = tuple(range(len(shape) - n, len(shape)))
        there = fftn(cupy.asarray(a), ndim=n, norm=1)
        near(f"{whole.__name__} {shape}", there, scipy.fft.fftn(a, axes=axes), tolerance)
        near(f"{whole.__name__} {shape} and back", ifftn(there, ndim=n, norm=1), a, tolerance)
    a = r.normal(size=(12, 60)).astype(real)
    there = rfftn(cupy.asarray(a), ndim=2, norm=1)
    near(f"{real.__name__} real", there, scipy.fft.rfftn(a), tolerance)
    near(f"{real.__name__} real and back", irfftn(there, ndim=2, norm=1), a, tolerance)
    for kind in (1, 2, 3, 4):
        there = dctn(cupy.asarray(a), ndim=1, norm=1, dct_type=kind)
        near(f"{real.__name__} cosines of kind {kind}", there, scipy.fft.dct(a, type=kind), tolerance)
        near(f"{real.__name__} cosines of kind {kind} and back", idctn(there, ndim=1, norm=1, dct_type=kind), a, tolerance)
end()
