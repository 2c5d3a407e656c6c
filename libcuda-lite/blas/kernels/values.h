/* SPDX-License-Identifier: MIT */
/* What the kernels of this folder share: element types by number (enum vgpu_gemm_type), halves as bits. */
#ifndef VALUES_H
#define VALUES_H

#include "../../../tests/e2e/kernels/device.h"

typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

enum { F32 = 1, F16 = 2, BF16 = 3, F64 = 4 };

E2E_DEV float half_float(u16 h)
{
	float f;

	__asm__("cvt.f32.f16 \t%0, %1;" : "=f"(f) : "h"(h));
	return f;
}

E2E_DEV u16 float_half(float f)
{
	u16 h;

	__asm__("cvt.rn.f16.f32 \t%0, %1;" : "=h"(h) : "f"(f));
	return h;
}

E2E_DEV float bits_float(u32 b)
{
	float f;

	__asm__("mov.b32 \t%0, %1;" : "=f"(f) : "r"(b));
	return f;
}

E2E_DEV u32 float_bits(float f)
{
	u32 b;

	__asm__("mov.b32 \t%0, %1;" : "=r"(b) : "f"(f));
	return b;
}

/* Nearest, ties to even; a NaN stays one. */
E2E_DEV u16 float_bf16(float f)
{
	u32 b = float_bits(f);

	if ((b & 0x7fffffffu) > 0x7f800000u)
		return 0x7fff;
	return (u16)((b + 0x7fffu + (b >> 16 & 1)) >> 16);
}

E2E_DEV float load(u64 at, i64 i, u32 type)
{
	if (type == F32)
		return ((const float *)at)[i];
	if (type == F16)
		return half_float(((const u16 *)at)[i]);
	return bits_float((u32)((const u16 *)at)[i] << 16);
}

E2E_DEV void store(u64 at, i64 i, u32 type, float v)
{
	if (type == F32)
		((float *)at)[i] = v;
	else
		((u16 *)at)[i] = type == F16 ? float_half(v) : float_bf16(v);
}
#endif
