/* SPDX-License-Identifier: MIT */
/*
 * Quotients of 128 bits for device code. clang calls these four by the names of libgcc's; the PTX has to define them, so each stands in
 * every program until vgpu cc takes out what nothing calls (tools/vgpu/cc_mend.c). Included by cuda_lite_device.h.
 */
#ifndef CUDA_LITE_WIDE_H
#define CUDA_LITE_WIDE_H

#ifdef __CUDA_ARCH__
namespace cuda_lite {
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

/* A bit of the quotient at a time, from the first that can be one; 64 bits are an instruction */
static __device__ __forceinline__ uwide quotient(uwide a, uwide b, uwide *rest)
{
	unsigned long long ah = (unsigned long long)(a >> 64), bh = (unsigned long long)(b >> 64);
	uwide q = 0;
	int n;

	if (!ah && !bh) {
		unsigned long long x = (unsigned long long)a, y = (unsigned long long)b;

		*rest = x % y;
		return x / y;
	}
	if (a < b) {
		*rest = a;
		return 0;
	}
	n = (bh ? __clzll((long long)bh) : 64 + __clzll((long long)b)) - (ah ? __clzll((long long)ah) : 64 + __clzll((long long)a));
	b <<= n;
	for (; n >= 0; n--, b >>= 1) {
		q <<= 1;
		if (a >= b) {
			a -= b;
			q |= 1;
		}
	}
	*rest = a;
	return q;
}
static __device__ __forceinline__ uwide size_of(wide a) { return a < 0 ? -(uwide)a : (uwide)a; }
} // namespace cuda_lite

#define CUDA_LITE_LIBCALL static __device__ __attribute__((used, noinline))
CUDA_LITE_LIBCALL cuda_lite::uwide cuda_lite_udiv(cuda_lite::uwide a, cuda_lite::uwide b) __asm__("__udivti3");
CUDA_LITE_LIBCALL cuda_lite::uwide cuda_lite_udiv(cuda_lite::uwide a, cuda_lite::uwide b)
{
	cuda_lite::uwide rest;

	return cuda_lite::quotient(a, b, &rest);
}
CUDA_LITE_LIBCALL cuda_lite::uwide cuda_lite_umod(cuda_lite::uwide a, cuda_lite::uwide b) __asm__("__umodti3");
CUDA_LITE_LIBCALL cuda_lite::uwide cuda_lite_umod(cuda_lite::uwide a, cuda_lite::uwide b)
{
	cuda_lite::uwide rest;

	cuda_lite::quotient(a, b, &rest);
	return rest;
}
CUDA_LITE_LIBCALL cuda_lite::wide cuda_lite_div(cuda_lite::wide a, cuda_lite::wide b) __asm__("__divti3");
CUDA_LITE_LIBCALL cuda_lite::wide cuda_lite_div(cuda_lite::wide a, cuda_lite::wide b)
{
	cuda_lite::uwide rest, q = cuda_lite::quotient(cuda_lite::size_of(a), cuda_lite::size_of(b), &rest);

	return (cuda_lite::wide)((a < 0) != (b < 0) ? -q : q);
}
CUDA_LITE_LIBCALL cuda_lite::wide cuda_lite_mod(cuda_lite::wide a, cuda_lite::wide b) __asm__("__modti3");
CUDA_LITE_LIBCALL cuda_lite::wide cuda_lite_mod(cuda_lite::wide a, cuda_lite::wide b)
{
	cuda_lite::uwide rest;

	cuda_lite::quotient(cuda_lite::size_of(a), cuda_lite::size_of(b), &rest);
	return (cuda_lite::wide)(a < 0 ? -rest : rest);
}
#undef CUDA_LITE_LIBCALL
#endif

#endif
