/* SPDX-License-Identifier: MIT */
/*
 * vgpu bench engine: the quantised blocks, the plain C loops that the kernels of kernels/bench.cu are measured
 * against (bench_engine_c.c), and how a bench of kernels is put together (bench_engine.c).
 */
#ifndef VGPU_BENCH_ENGINE_H
#define VGPU_BENCH_ENGINE_H

#include <stdint.h>

struct q8_0 { uint16_t d; int8_t q[32]; };      /* d: half, the scale */
struct q4_0 { uint16_t d; uint8_t q[16]; };     /* value j in the low half of q[j], j + 16 in the high one; less 8 */
struct q8_1 { uint16_t d, sum; int8_t q[32]; };

/* Each is one core's work, in one loop nest, as one writes it. */
void c_saxpy(int n, float a, const float *x, float *y);
void c_block_reduce(const float *x, float *out, int blocks, int per);
void c_rms_norm(const float *x, float *y, int rows, int columns, float eps);
void c_quantize_q8_1(const float *x, struct q8_1 *y, int rows, int columns);
void c_mmvq_q8_0(const struct q8_0 *w, const struct q8_1 *v, float *out, int rows, int columns);
void c_mmvq_q4_0(const struct q4_0 *w, const struct q8_1 *v, float *out, int rows, int columns);

uint16_t c_half(float f);
float c_float(uint16_t half);

/* ptx.c: kernels/bench.ptx, ends in NUL */
extern const char bench_ptx[];

#endif
