/* SPDX-License-Identifier: MIT */
/* Reductions of elements into a tensor, for tmap.c: one compare-and-exchange at a time (cp.reduce.async.bulk.tensor, PTX ISA 9.7.9.27.1.3). */
#include <string.h>

#include "../../../fw-protocol/vgpu_tensormap.h"
#include "lanes.h"
#include "tmap.h"

static float half(u16 h)
{
	u32 v[LANES] = { h }, r[LANES];
	float x;

	lanes_get()->fn[LOP_CVT_F_H][T_F32](r, v, v, v);
	memcpy(&x, r, 4);
	return x;
}

static u16 to_half(u8 type, float x)
{
	u32 v[LANES] = { 0 }, r[LANES];

	memcpy(v, &x, 4);
	if (type == VGPU_TENSOR_BF16)
		return x != x ? 0x7fff : (u16)((v[0] + 0x7fff + (v[0] >> 16 & 1)) >> 16);
	lanes_get()->fn[LOP_CVT_H_F][T_F16](r, v, v, v);
	return (u16)r[0];
}

static float bits_float(u32 b)
{
	float f;

	memcpy(&f, &b, 4);
	return f;
}

bool tmap_reduces(u8 op, u8 type)
{
	bool small = type == VGPU_TENSOR_F16 || type == VGPU_TENSOR_BF16, word = type == VGPU_TENSOR_U32 || type == VGPU_TENSOR_S32;
	bool two = type == VGPU_TENSOR_U64 || type == VGPU_TENSOR_S64;

	switch (op) {
	case ATOM_ADD: return small || word || type == VGPU_TENSOR_U64 || type == VGPU_TENSOR_F32 || type == VGPU_TENSOR_F32_FTZ || type == VGPU_TENSOR_F64;
	case ATOM_MIN:
	case ATOM_MAX: return small || word || two;
	case ATOM_INC:
	case ATOM_DEC: return type == VGPU_TENSOR_U32;
	case ATOM_AND:
	case ATOM_OR:
	case ATOM_XOR: return word || two;
	}
	return false;
}

/* min and max of halves: a NaN loses, -0 is less than 0 */
static u16 pick(u8 op, u16 a, u16 b, float x, float y)
{
	if (x != x)
		return b;
	if (y != y)
		return a;
	if (x == y)
		return (a & 0x8000) == (op == ATOM_MIN ? 0x8000 : 0) ? a : b;
	return (x < y) == (op == ATOM_MIN) ? a : b;
}

static u64 result(u8 op, u8 type, u64 a, u64 b)
{
	bool sg = type == VGPU_TENSOR_S32 || type == VGPU_TENSOR_S64, less;
	double x, y;
	float f;
	u32 u;

	if (type == VGPU_TENSOR_F16 || type == VGPU_TENSOR_BF16) {
		float p = type == VGPU_TENSOR_F16 ? half((u16)a) : bits_float((u32)a << 16);
		float q = type == VGPU_TENSOR_F16 ? half((u16)b) : bits_float((u32)b << 16);

		return op == ATOM_ADD ? to_half(type, p + q) : pick(op, (u16)a, (u16)b, p, q);
	}
	if (type == VGPU_TENSOR_F32 || type == VGPU_TENSOR_F32_FTZ) {
		f = bits_float((u32)a) + bits_float((u32)b);
		memcpy(&u, &f, 4);
		if (type == VGPU_TENSOR_F32_FTZ && !(u & 0x7f800000))
			u &= 0x80000000u;
		return u;
	}
	if (type == VGPU_TENSOR_F64) {
		memcpy(&x, &a, 8);
		memcpy(&y, &b, 8);
		x += y;
		memcpy(&a, &x, 8);
		return a;
	}
	if (type == VGPU_TENSOR_S32)
		less = (s32)a < (s32)b;
	else
		less = sg ? (s64)a < (s64)b : a < b;
	switch (op) {
	case ATOM_ADD: return a + b;
	case ATOM_MIN: return less ? a : b;
	case ATOM_MAX: return less ? b : a;
	case ATOM_INC: return (u32)a >= (u32)b ? 0 : a + 1;
	case ATOM_DEC: return !(u32)a || (u32)a > (u32)b ? b : a - 1;
	case ATOM_AND: return a & b;
	case ATOM_OR: return a | b;
	default: return a ^ b;
	}
}

#define REDUCE(T) \
	do { \
		T was = __atomic_load_n((T *)(uintptr_t)at, __ATOMIC_RELAXED), with; \
		memcpy(&with, v, sizeof(with)); \
		while (!__atomic_compare_exchange_n((T *)(uintptr_t)at, &was, (T)result(op, type, was, with), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
			; \
	} while (0)

void tmap_reduce(u8 op, u8 type, u64 at, const void *v)
{
	switch (type) {
	case VGPU_TENSOR_F16: case VGPU_TENSOR_BF16: REDUCE(u16); return;
	case VGPU_TENSOR_U64: case VGPU_TENSOR_S64: case VGPU_TENSOR_F64: REDUCE(u64); return;
	default: REDUCE(u32);
	}
}
