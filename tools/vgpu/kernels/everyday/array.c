/* SPDX-License-Identifier: MIT */
/* Array operations as numpy does them, each pass a loop of its own: on one core, compiled as everyday.c is. */
#include <math.h>
#include <string.h>

#include "../../bench_kernels.h"

#define PART(name) static void name(const struct work *w, long from, long to)
typedef uint32_t u32;

/* a * 2 with a temporary, then + 1 */
PART(affine)
{
	const float *in = w->in[0];
	float *restrict t = w->out[1], *restrict out = w->out[0];

	for (long i = from; i < to; i++)
		t[i] = in[i * w->n[1]] * 2;
	for (long i = from; i < to; i++)
		out[i] = t[i] + 1;
}

PART(astype)
{
	const float *restrict in = w->in[0];
	double *restrict out = w->out[0];

	for (long i = from; i < to; i++)
		out[i] = in[i];
}

PART(tcopy)
{
	const float *restrict in = w->in[0];
	float *restrict out = w->out[0];

	for (long c = from; c < to; c++)
		for (long r = 0; r < w->n[0]; r++)
			out[c * w->n[0] + r] = in[r * w->n[1] + c];
}

PART(sum0)
{
	const float *restrict in = w->in[0];
	float *restrict out = w->out[0];

	memset(out + from, 0, (size_t)(to - from) * 4);
	for (long r = 0; r < w->n[0]; r++)
		for (long c = from; c < to; c++)
			out[c] += in[r * w->n[1] + c];
}

/* the largest by vectors, then where it stands first */
PART(argmax)
{
	const float *restrict in = w->in[0];
	float most = in[from];
	long i;

	for (i = from; i < to; i++)
		most = in[i] > most ? in[i] : most;
	for (i = from; in[i] != most; i++)
		;
	((float *)w->out[0])[0] = most;
	((u32 *)w->out[1])[0] = (u32)i;
}

PART(bincount)
{
	uint64_t *restrict out = w->out[0];

	for (long i = from; i < to; i++)
		out[((const u32 *)w->in[0])[i]]++;
}

PART(philox)
{
	for (long i = from; i < to; i++) {
		u32 c[4] = { (u32)i, 0, 0, 0 }, key0 = 1234, key1 = 5678;

		for (int r = 0; r < 10; r++) {
			uint64_t x = (uint64_t)0xd2511f53u * c[0], y = (uint64_t)0xcd9e8d57u * c[2];

			c[0] = (u32)(y >> 32) ^ c[1] ^ key0;
			c[1] = (u32)y;
			c[2] = (u32)(x >> 32) ^ c[3] ^ key1;
			c[3] = (u32)x;
			key0 += 0x9e3779b9u;
			key1 += 0xbb67ae85u;
		}
		for (int k = 0; k < 4; k++)
			((float *)w->out[0])[i * 4 + k] = (float)(int)(c[k] >> 8) * (1.0f / 16777216.0f);
	}
}

#define IS(f) { #f, f }
const struct c_function TABLE[] = {
	IS(affine), IS(astype), IS(tcopy), IS(sum0), IS(argmax), IS(bincount), IS(philox), { NULL, NULL },
};
