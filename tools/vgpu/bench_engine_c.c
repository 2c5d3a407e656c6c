/* SPDX-License-Identifier: MIT */
/*
 * The arithmetic of kernels/bench.cu as plain C loops. build.mk compiles this file alone with gcc -O3
 * -march=native, and with -ffast-math as well, without which gcc would add up a row one value after the other and
 * a comparison would flatter the engine. It runs on the machine that built it only.
 */
#include "bench_engine.h"

#include <math.h>
#include <string.h>

uint16_t c_half(float f)
{
	_Float16 h = (_Float16)f;
	uint16_t u;

	memcpy(&u, &h, sizeof(u));
	return u;
}

float c_float(uint16_t u)
{
	_Float16 h;

	memcpy(&h, &u, sizeof(h));
	return (float)h;
}

void c_saxpy(int n, float a, const float *restrict x, float *restrict y)
{
	for (int i = 0; i < n; i++)
		y[i] = a * x[i] + y[i];
}

void c_block_reduce(const float *restrict x, float *restrict out, int blocks, int per)
{
	for (int b = 0; b < blocks; b++) {
		float sum = 0;

		for (int i = 0; i < per; i++)
			sum += x[b * per + i];
		out[b] = sum;
	}
}

void c_rms_norm(const float *restrict x, float *restrict y, int rows, int columns, float eps)
{
	for (int r = 0; r < rows; r++, x += columns, y += columns) {
		float sum = 0, scale;

		for (int i = 0; i < columns; i++)
			sum += x[i] * x[i];
		scale = 1 / sqrtf(sum / (float)columns + eps);
		for (int i = 0; i < columns; i++)
			y[i] = scale * x[i];
	}
}

void c_quantize_q8_1(const float *restrict x, struct q8_1 *restrict y, int rows, int columns)
{
	for (int b = 0; b < rows * columns / 32; b++, x += 32, y++) {
		float most = 0, sum = 0, d, inverse;

		for (int i = 0; i < 32; i++) {
			most = fmaxf(most, fabsf(x[i]));
			sum += x[i];
		}
		d = most / 127;
		inverse = most > 0 ? 127 / most : 0;
		for (int i = 0; i < 32; i++)
			y->q[i] = (int8_t)roundf(x[i] * inverse);
		y->d = c_half(d);
		y->sum = c_half(sum);
	}
}

void c_mmvq_q8_0(const struct q8_0 *restrict w, const struct q8_1 *restrict v, float *restrict out, int rows,
		 int columns)
{
	int blocks = columns / 32;

	for (int r = 0; r < rows; r++, w += blocks) {
		float sum = 0;

		for (int b = 0; b < blocks; b++) {
			int s = 0;

			for (int i = 0; i < 32; i++)
				s += w[b].q[i] * v[b].q[i];
			sum += c_float(w[b].d) * c_float(v[b].d) * (float)s;
		}
		out[r] = sum;
	}
}

void c_mmvq_q4_0(const struct q4_0 *restrict w, const struct q8_1 *restrict v, float *restrict out, int rows,
		 int columns)
{
	int blocks = columns / 32;

	for (int r = 0; r < rows; r++, w += blocks) {
		float sum = 0;

		for (int b = 0; b < blocks; b++) {
			int s = 0;

			for (int i = 0; i < 16; i++) {
				s += (w[b].q[i] & 15) * v[b].q[i];
				s += (w[b].q[i] >> 4) * v[b].q[i + 16];
			}
			/* each nibble stands for eight less: the vector's sum takes that off */
			sum += c_float(w[b].d) * ((float)s * c_float(v[b].d) - 8 * c_float(v[b].sum));
		}
		out[r] = sum;
	}
}
