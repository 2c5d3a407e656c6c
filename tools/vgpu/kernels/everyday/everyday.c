/* SPDX-License-Identifier: MIT */
/*
 * The everyday kernels' algorithms as one writes them in C. build.mk compiles this file twice, with gcc -O3 -ffast-math,
 * -march=native and -march=haswell: TABLE names the list of its functions. Each works on a part of a range that threads divide.
 */
#include <math.h>
#include <string.h>

#include "../../bench_kernels.h"

#define PART(name) static void name(const struct work *w, long from, long to)
typedef uint32_t u32;

PART(saxpy)
{
	const float *restrict x = w->in[0];
	float *restrict y = w->out[0], a = w->f[0];

	for (long i = from; i < to; i++)
		y[i] = a * x[i] + y[i];
}

/* rows of the result */
PART(sgemm)
{
	const float *restrict a = w->in[0], *restrict b = w->in[1];
	float *restrict c = w->out[0];
	long n = w->n[0];

	for (long i = from; i < to; i++) {
		memset(c + i * n, 0, (size_t)n * sizeof(*c));
		for (long k = 0; k < n; k++)
			for (long j = 0; j < n; j++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
	}
}

/* by four rows, so that a row of b is read once for them */
PART(sgemm_4)
{
	const float *restrict a = w->in[0], *restrict b = w->in[1];
	float *restrict c = w->out[0];
	long n = w->n[0];

	for (long i = 4 * from; i < 4 * to; i += 4) {
		memset(c + i * n, 0, 4 * (size_t)n * sizeof(*c));
		for (long k = 0; k < n; k++) {
			float p = a[i * n + k], q = a[(i + 1) * n + k], r = a[(i + 2) * n + k], s = a[(i + 3) * n + k];

			for (long j = 0; j < n; j++) {
				float v = b[k * n + j];

				c[i * n + j] += p * v;
				c[(i + 1) * n + j] += q * v;
				c[(i + 2) * n + j] += r * v;
				c[(i + 3) * n + j] += s * v;
			}
		}
	}
}

PART(dgemm)
{
	const double *restrict a = w->in[0], *restrict b = w->in[1];
	double *restrict c = w->out[0];
	long n = w->n[0];

	for (long i = from; i < to; i++) {
		memset(c + i * n, 0, (size_t)n * sizeof(*c));
		for (long k = 0; k < n; k++)
			for (long j = 0; j < n; j++)
				c[i * n + j] += a[i * n + k] * b[k * n + j];
	}
}

/* rows of tiles */
PART(transpose)
{
	const float *restrict in = w->in[0];
	float *restrict out = w->out[0];
	long n = w->n[0];

	for (long y = 32 * from; y < 32 * to; y += 32)
		for (long x = 0; x < n; x += 32)
			for (long i = x; i < x + 32; i++)
				for (long j = y; j < y + 32; j++)
					out[i * n + j] = in[j * n + i];
}

PART(lu_tile)
{
	for (long b = from; b < to; b++) {
		float *restrict m = (float *)w->out[0] + b * 1024;

		memcpy(m, (const float *)w->in[0] + b * 1024, 4096);
		for (int k = 0; k < 31; k++)
			for (int i = k + 1; i < 32; i++) {
				float f = m[i * 32 + k] /= m[k * 32 + k];

				for (int j = k + 1; j < 32; j++)
					m[i * 32 + j] -= f * m[k * 32 + j];
			}
	}
}

/* parts of n[0] values, n[1] of them */
PART(reduce)
{
	const float *restrict in = w->in[0];
	float *restrict out = w->out[0];

	for (long b = from; b < to; b++) {
		long end = (b + 1) * w->n[0] / w->n[1];
		float sum = 0;

		for (long i = b * w->n[0] / w->n[1]; i < end; i++)
			sum += in[i];
		out[b] = sum;
	}
}

/* n[1] parts: each one's sums, and what came before added by scan_add, part 0 excepted */
PART(scan)
{
	const u32 *restrict in = w->in[0];
	u32 *restrict out = w->out[0];

	for (long b = from; b < to; b++) {
		long end = (b + 1) * w->n[0] / w->n[1];
		u32 sum = 0;

		for (long i = b * w->n[0] / w->n[1]; i < end; i++)
			out[i] = sum += in[i];
	}
}

PART(scan_add)
{
	u32 *restrict out = w->out[0];

	for (long b = from; b < to; b++) {
		const u32 *before = w->in[1];
		long end = (b + 1) * w->n[0] / w->n[1];

		for (long i = b * w->n[0] / w->n[1]; i < end; i++)
			out[i] += before[b];
	}
}

/* n[1] parts, a row of n[2] counts for each; histogram_sum adds columns */
PART(histogram)
{
	const u32 *restrict in = w->in[0];
	u32 mask = (u32)w->n[2] - 1;

	for (long b = from; b < to; b++) {
		u32 *restrict own = (u32 *)w->out[1] + b * w->n[2];
		long end = (b + 1) * w->n[0] / w->n[1];

		memset(own, 0, (size_t)w->n[2] * 4);
		for (long i = b * w->n[0] / w->n[1]; i < end; i++)
			own[in[i] & mask]++;
	}
}

PART(histogram_sum)
{
	u32 *restrict bins = w->out[0];

	for (long i = from; i < to; i++)
		for (long b = 0; b < w->n[1]; b++)
			bins[i] += ((u32 *)w->out[1])[b * w->n[2] + i];
}

/* a pass by 8 bits (n[3]: the shift) of n[1] parts; in[1]: [part][digit] */
PART(radix_count)
{
	const u32 *restrict in = w->in[0];

	for (long b = from; b < to; b++) {
		u32 *restrict own = (u32 *)w->in[1] + b * 256;
		long end = (b + 1) * w->n[0] / w->n[1];

		memset(own, 0, 1024);
		for (long i = b * w->n[0] / w->n[1]; i < end; i++)
			own[in[i] >> w->n[3] & 255]++;
	}
}

PART(radix_scatter)
{
	const u32 *restrict in = w->in[0];
	u32 *restrict out = w->out[0];

	for (long b = from; b < to; b++) {
		u32 *restrict at = (u32 *)w->in[1] + b * 256;
		long end = (b + 1) * w->n[0] / w->n[1];

		for (long i = b * w->n[0] / w->n[1]; i < end; i++)
			out[at[in[i] >> w->n[3] & 255]++] = in[i];
	}
}

PART(bitonic)
{
	for (long b = from; b < to; b++) {
		u32 *restrict v = (u32 *)w->out[0] + b * 1024;

		memcpy(v, (const u32 *)w->in[0] + b * 1024, 4096);
		for (int k = 2; k <= 1024; k <<= 1)
			for (int j = k >> 1; j > 0; j >>= 1)
				for (int i = 0; i < 1024; i += 2 * j)
					for (int t = i; t < i + j; t++) {
						u32 x = v[t], y = v[t + j], low = x < y ? x : y, high = x < y ? y : x;
						int down = t & k;

						v[t] = down ? high : low;
						v[t + j] = down ? low : high;
					}
	}
}

PART(nbody)
{
	const float (*restrict at)[4] = w->in[0];
	float (*restrict acc)[4] = w->out[0];

	for (long i = from; i < to; i++) {
		float x = at[i][0], y = at[i][1], z = at[i][2], sx = 0, sy = 0, sz = 0;

		for (long j = 0; j < w->n[0]; j++) {
			float dx = at[j][0] - x, dy = at[j][1] - y, dz = at[j][2] - z;
			float inv = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f), f = at[j][3] * inv * inv * inv;

			sx += dx * f;
			sy += dy * f;
			sz += dz * f;
		}
		acc[i][0] = sx;
		acc[i][1] = sy;
		acc[i][2] = sz;
		acc[i][3] = 0;
	}
}

static inline float normal_cdf(float d)
{
	float k = 1 / (1 + 0.2316419f * fabsf(d));
	float c = 0.39894228f * expf(-0.5f * d * d) *
		(k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));

	return d > 0 ? 1 - c : c;
}

PART(black_scholes)
{
	const float *restrict price = w->in[0], *restrict strike = w->in[1], *restrict years = w->in[2];
	float *restrict call = w->out[0], *restrict put = w->out[1], r = w->f[0], vol = w->f[1];

	for (long i = from; i < to; i++) {
		float s = price[i], x = strike[i], t = years[i], root = sqrtf(t);
		float d1 = (logf(s / x) + (r + 0.5f * vol * vol) * t) / (vol * root), d2 = d1 - vol * root;
		float c1 = normal_cdf(d1), c2 = normal_cdf(d2), e = expf(-r * t);

		call[i] = s * c1 - x * e * c2;
		put[i] = x * e * (1 - c2) - s * (1 - c1);
	}
}

/* ranges are by 16: generators abreast, as far as gcc takes them into vectors */
PART(monte_carlo)
{
	enum { WIDE = 16 };
	float s = w->f[0], x = w->f[1], drift = w->f[2], vol = w->f[3];

	for (long i = from * WIDE; i < to * WIDE; i += WIDE) {
		u32 a[WIDE], b[WIDE];
		float sum[WIDE] = { 0 };

		for (int l = 0; l < WIDE; l++) {
			a[l] = (u32)(i + l) * 2654435761u + 12345u;
			b[l] = (a[l] ^ 0x9e3779b9u) | 1;
			a[l] |= 1;
		}
		for (long p = 0; p < w->n[0]; p++)
			for (int l = 0; l < WIDE; l++) {
				float u, v, z, gain;

				a[l] ^= a[l] << 13; a[l] ^= a[l] >> 17; a[l] ^= a[l] << 5;
				b[l] ^= b[l] << 13; b[l] ^= b[l] >> 17; b[l] ^= b[l] << 5;
				u = (float)(int)((a[l] >> 8) + 1) * (1.0f / 16777216.0f);
				v = (float)(int)(b[l] >> 8) * (6.2831853f / 16777216.0f);
				z = sqrtf(-2 * logf(u)) * cosf(v);
				gain = s * expf(drift + vol * z) - x;
				sum[l] += gain > 0 ? gain : 0;
			}
		memcpy((float *)w->out[0] + i, sum, sizeof(sum));
	}
}

/* rows */
PART(mandelbrot)
{
	int n = (int)w->n[0], most = (int)w->n[1], i;

	for (long py = from; py < to; py++)
		for (int px = 0; px < n; px++) {
			float cx = -2.0f + (float)px * (3.0f / (float)n), cy = -1.5f + (float)py * (3.0f / (float)n), x = 0, y = 0;

			for (i = 0; i < most && x * x + y * y < 4; i++) {
				float t = x * x - y * y + cx;

				y = 2 * x * y + cy;
				x = t;
			}
			((int *)w->out[0])[py * n + px] = i;
		}
}

static inline u32 ror(u32 v, int n) { return v >> n | v << (32 - n); }

PART(sha256)
{
	static const u32 k[64] = {
		0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
		0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
		0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
		0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
		0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
		0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
		0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
		0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
	}, start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	const u32 *in = w->in[0];
	u32 *out = w->out[0];
	long n = w->n[0];

	for (long t = from; t < to; t++) {
		u32 x[64], s[8];

		memcpy(s, start, sizeof(s));
		for (int i = 0; i < 16; i++)
			x[i] = in[i * n + t];
		for (int i = 16; i < 64; i++)
			x[i] = x[i - 16] + x[i - 7] + (ror(x[i - 15], 7) ^ ror(x[i - 15], 18) ^ x[i - 15] >> 3) +
				(ror(x[i - 2], 17) ^ ror(x[i - 2], 19) ^ x[i - 2] >> 10);
		for (int i = 0; i < 64; i++) {
			u32 a = s[7] + (ror(s[4], 6) ^ ror(s[4], 11) ^ ror(s[4], 25)) + ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + x[i];
			u32 b = (ror(s[0], 2) ^ ror(s[0], 13) ^ ror(s[0], 22)) + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

			s[7] = s[6]; s[6] = s[5]; s[5] = s[4]; s[4] = s[3] + a;
			s[3] = s[2]; s[2] = s[1]; s[1] = s[0]; s[0] = a + b;
		}
		for (int i = 0; i < 8; i++)
			out[i * n + t] = s[i] + start[i];
	}
}

/* rows without the first and the last */
PART(stencil2d)
{
	const float *restrict in = w->in[0];
	float *restrict out = w->out[0];
	long c = w->n[0];

	for (long y = from + 1; y < to + 1; y++)
		for (long i = y * c + 1; i < (y + 1) * c - 1; i++)
			out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - c] + in[i + c]);
}

PART(align)
{
	const unsigned char *a = w->in[0], *b = w->in[1];

	for (long p = from; p < to; p++) {
		int row[129] = { 0 }, top = 0;

		for (int i = 0; i < 128; i++) {
			int corner = 0, left = 0;

			for (int j = 1; j <= 128; j++) {
				int s = corner + (a[p * 128 + i] == b[p * 128 + j - 1] ? 2 : -1);

				corner = row[j];
				s = s > row[j] - 2 ? s : row[j] - 2;
				s = s > left - 2 ? s : left - 2;
				row[j] = left = s > 0 ? s : 0;
				top = row[j] > top ? row[j] : top;
			}
		}
		((int *)w->out[0])[p] = top;
	}
}

PART(tree_walk)
{
	const float *nodes = w->in[0], *points = w->in[2];
	const int *child = w->in[1];

	for (long i = from; i < to; i++) {
		float sum = 0;
		int stack[64] = { 0 }, left = 1;

		while (left) {
			int k = stack[--left];
			float dx = nodes[5 * k] - points[3 * i], dy = nodes[5 * k + 1] - points[3 * i + 1], dz = nodes[5 * k + 2] - points[3 * i + 2];
			float far = dx * dx + dy * dy + dz * dz + 0.001f, size = nodes[5 * k + 4];

			if (child[k] < 0 || size * size < far * 0.25f)
				sum += nodes[5 * k + 3] / sqrtf(far);
			else
				for (int c = 0; c < 8; c++)
					stack[left++] = child[k] + c;
		}
		((float *)w->out[0])[i] = sum;
	}
}

PART(stencil3d)
{
	const float *restrict in = w->in[0];
	float *restrict out = w->out[0];
	long n = w->n[0], nn = n * n;

	for (long z = from + 1; z < to + 1; z++)
		for (long y = 1; y < n - 1; y++)
			for (long i = z * nn + y * n + 1; i < z * nn + (y + 1) * n - 1; i++)
				out[i] = 0.4f * in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - nn] + in[i + nn]);
}

PART(conv2d)
{
	const float *restrict in = w->in[0], *restrict f = w->in[1];
	float *restrict out = w->out[0];
	long c = w->n[0], pitch = c + 4;

	for (long y = from; y < to; y++)
		for (long x = 0; x < c; x++) {
			float sum = 0;

			for (int j = 0; j < 5; j++)
				for (int i = 0; i < 5; i++)
					sum += in[(y + j) * pitch + x + i] * f[j * 5 + i];
			out[y * c + x] = sum;
		}
}

PART(fft1024)
{
	const float *restrict tw = w->in[2];
	float buf[2][2][1024];

	for (long b = from; b < to; b++) {
		const float *re = (const float *)w->in[0] + b * 1024, *im = (const float *)w->in[1] + b * 1024;
		int turn = 0;

		for (int s = 1; s < 1024; s *= 4, turn ^= 1) {
			float *restrict or = s == 256 ? (float *)w->out[0] + b * 1024 : buf[turn][0];
			float *restrict oi = s == 256 ? (float *)w->out[1] + b * 1024 : buf[turn][1];

			for (int t = 0; t < 256; t++) {
				int q = t & (s - 1), step = 256 / s, to4 = (t - q) * 4 + q;
				float r[4], i[4], ar, ai, br, bi, cr, ci, dr, di;

				for (int k = 0; k < 4; k++) {
					float c = tw[2 * (k * q * step)], d = tw[2 * (k * q * step) + 1];

					r[k] = re[t + 256 * k] * c - im[t + 256 * k] * d;
					i[k] = re[t + 256 * k] * d + im[t + 256 * k] * c;
				}
				ar = r[0] + r[2]; ai = i[0] + i[2];
				br = r[0] - r[2]; bi = i[0] - i[2];
				cr = r[1] + r[3]; ci = i[1] + i[3];
				dr = r[1] - r[3]; di = i[1] - i[3];
				or[to4] = ar + cr; oi[to4] = ai + ci;
				or[to4 + s] = br + di; oi[to4 + s] = bi - dr;
				or[to4 + 2 * s] = ar - cr; oi[to4 + 2 * s] = ai - ci;
				or[to4 + 3 * s] = br - di; oi[to4 + 3 * s] = bi + dr;
			}
			re = or;
			im = oi;
		}
	}
}

PART(spmv_csr)
{
	const int *restrict start = w->in[0], *restrict column = w->in[1];
	const float *restrict value = w->in[2], *restrict x = w->in[3];

	for (long r = from; r < to; r++) {
		float sum = 0;

		for (int i = start[r]; i < start[r + 1]; i++)
			sum += value[i] * x[column[i]];
		((float *)w->out[0])[r] = sum;
	}
}

PART(spmv_ell)
{
	const int *restrict column = w->in[0];
	const float *restrict value = w->in[1], *restrict x = w->in[2];
	float *restrict y = w->out[0];

	memset(y + from, 0, (size_t)(to - from) * 4);
	for (long i = 0; i < w->n[1]; i++)
		for (long r = from; r < to; r++) {
			int c = column[i * w->n[0] + r];

			y[r] += c >= 0 ? value[i * w->n[0] + r] * x[c] : 0;
		}
}

/* places of the queue in[0]; in[3] counts the next, out[1] */
PART(bfs)
{
	const u32 *queue = w->in[0];
	const int *start = w->in[1], *edge = w->in[2];
	u32 *level = w->out[0], *next = w->out[1], *count = (u32 *)w->in[3];

	for (long i = from; i < to; i++)
		for (int e = start[queue[i]]; e < start[queue[i] + 1]; e++) {
			u32 none = ~0u, v = (u32)edge[e];

			if (level[v] == ~0u && __atomic_compare_exchange_n(&level[v], &none, (u32)w->n[0], 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
				next[__atomic_fetch_add(count, 1, __ATOMIC_RELAXED)] = v;
		}
}

/* parts of n[0] points, n[1] of them; a row of 64 sums and 16 counts each in out[1], out[2] */
PART(kmeans)
{
	const float *restrict p = w->in[0], *restrict c = w->in[1];
	int *restrict nearest = w->out[0];
	long n = w->n[0];

	for (long b = from; b < to; b++) {
		float *restrict sums = (float *)w->out[1] + b * 64;
		u32 *restrict counts = (u32 *)w->out[2] + b * 16;
		long begin = b * n / w->n[1], end = (b + 1) * n / w->n[1];

		memset(sums, 0, 256);
		memset(counts, 0, 64);
		for (long i = begin; i < end; i++) {
			float least = 3e38f;
			int which = 0;

			for (int k = 0; k < 16; k++) {
				float sum = 0;

				for (int d = 0; d < 4; d++)
					sum += (p[d * n + i] - c[k * 4 + d]) * (p[d * n + i] - c[k * 4 + d]);
				which = sum < least ? k : which;
				least = sum < least ? sum : least;
			}
			nearest[i] = which;
		}
		for (long i = begin; i < end; i++) {
			for (int d = 0; d < 4; d++)
				sums[nearest[i] * 4 + d] += p[d * n + i];
			counts[nearest[i]]++;
		}
	}
}

PART(softmax)
{
	long c = w->n[0];

	for (long r = from; r < to; r++) {
		const float *restrict x = (const float *)w->in[0] + r * c;
		float *restrict y = (float *)w->out[0] + r * c, most = -3e38f, sum = 0;

		for (long i = 0; i < c; i++)
			most = x[i] > most ? x[i] : most;
		for (long i = 0; i < c; i++)
			sum += y[i] = expf(x[i] - most);
		for (long i = 0; i < c; i++)
			y[i] *= 1 / sum;
	}
}

PART(layer_norm)
{
	const float *restrict scale = w->in[1], *restrict shift = w->in[2];
	long c = w->n[0];

	for (long r = from; r < to; r++) {
		const float *restrict x = (const float *)w->in[0] + r * c;
		float *restrict y = (float *)w->out[0] + r * c, mean = 0, var = 0;

		for (long i = 0; i < c; i++)
			mean += x[i];
		mean /= (float)c;
		for (long i = 0; i < c; i++)
			var += (x[i] - mean) * (x[i] - mean);
		var = 1 / sqrtf(var / (float)c + 1e-5f);
		for (long i = 0; i < c; i++)
			y[i] = (x[i] - mean) * var * scale[i] + shift[i];
	}
}

/* positions */
PART(rope)
{
	const int *position = w->in[1];
	long heads = w->n[0];

	for (long p = from; p < to; p++)
		for (long h = 0; h < heads; h++) {
			const float *restrict x = (const float *)w->in[0] + (p * heads + h) * 128;
			float *restrict y = (float *)w->out[0] + (p * heads + h) * 128;

			for (int i = 0; i < 64; i++) {
				float angle = (float)position[p] * expf((float)i * (-9.210340372f / 64)), c = cosf(angle), s = sinf(angle);

				y[i] = x[i] * c - x[i + 64] * s;
				y[i + 64] = x[i] * s + x[i + 64] * c;
			}
		}
}

/* queries of all heads, by eight; keys and values are halves */
PART(flash_attn)
{
	const _Float16 *q = w->in[0], *k = w->in[1], *v = w->in[2];
	long n = w->n[0];

	for (long at = from * 8; at < to * 8; at += 8) {        /* a key is read once for eight queries */
		long head = at / n * n * 64;
		float mine[8][64], acc[8][64] = { 0 }, most[8], sum[8] = { 0 };

		for (int r = 0; r < 8; r++) {
			most[r] = -3e38f;
			for (int d = 0; d < 64; d++)
				mine[r][d] = (float)q[(at + r) * 64 + d] * (0.125f * 1.44269504f);
		}
		for (long j = 0; j < n; j++) {
			float key[64], value[64];

			for (int d = 0; d < 64; d++) {
				key[d] = (float)k[head + j * 64 + d];
				value[d] = (float)v[head + j * 64 + d];
			}
			for (int r = 0; r < 8; r++) {
				float s = 0, keep, p, was = most[r];

				for (int d = 0; d < 64; d++)
					s += mine[r][d] * key[d];
				most[r] = s > was ? s : was;
				keep = exp2f(was - most[r]);
				p = exp2f(s - most[r]);
				sum[r] = sum[r] * keep + p;
				for (int d = 0; d < 64; d++)
					acc[r][d] = acc[r][d] * keep + p * value[d];
			}
		}
		for (int r = 0; r < 8; r++)
			for (int d = 0; d < 64; d++)
				((float *)w->out[0])[(at + r) * 64 + d] = acc[r][d] / sum[r];
	}
}

/* channels, by 16 */
/* by four rows of floats; a row of b is a column of the product */
PART(hgemm)
{
	const _Float16 *a = w->in[0], *b = w->in[1];
	float *c = w->out[0];
	long n = w->n[0];
	float rows[4 * 512], v[512];    /* 512 is the largest n there is */

	for (long i = 4 * from; i < 4 * to; i += 4) {
		for (long k = 0; k < 4 * n; k++)
			rows[k] = (float)a[i * n + k];
		for (long j = 0; j < n; j++) {
			float p = 0, q = 0, r = 0, s = 0;

			for (long k = 0; k < n; k++)
				v[k] = (float)b[j * n + k];
			for (long k = 0; k < n; k++) {
				p += rows[k] * v[k];
				q += rows[n + k] * v[k];
				r += rows[2 * n + k] * v[k];
				s += rows[3 * n + k] * v[k];
			}
			c[i * n + j] = p;
			c[(i + 1) * n + j] = q;
			c[(i + 2) * n + j] = r;
			c[(i + 3) * n + j] = s;
		}
	}
}

PART(igemm)
{
	const int8_t *a = w->in[0], *b = w->in[1];
	int32_t *c = w->out[0];
	long n = w->n[0];

	for (long i = from; i < to; i++)
		for (long j = 0; j < n; j++) {
			int32_t sum = 0;

			for (long k = 0; k < n; k++)
				sum += a[i * n + k] * b[j * n + k];
			c[i * n + j] = sum;
		}
}

PART(ssm_scan)
{
	const float *restrict x = w->in[0], *restrict dt = w->in[1], *restrict a = w->in[2], *restrict b = w->in[3], *restrict c = w->in[4];
	long channels = w->n[1];

	for (long g = from * 16; g < to * 16; g += 16) {
		float h[16][16] = { { 0 } };

		for (long t = 0; t < w->n[0]; t++) {
			float soft[16], in[16], sum[16] = { 0 };

			for (int l = 0; l < 16; l++) {
				float d = dt[t * channels + g + l];

				soft[l] = d > 20 ? d : logf(1 + expf(d));
				in[l] = x[t * channels + g + l] * soft[l];
			}
			for (int s = 0; s < 16; s++)
				for (int l = 0; l < 16; l++) {
					h[s][l] = h[s][l] * expf(soft[l] * a[s * channels + g + l]) + b[t * 16 + s] * in[l];
					sum[l] += h[s][l] * c[t * 16 + s];
				}
			memcpy((float *)w->out[0] + t * channels + g, sum, sizeof(sum));
		}
	}
}

#define IS(f) { #f, f }
const struct c_function TABLE[] = {
	IS(saxpy), IS(sgemm), IS(sgemm_4), IS(dgemm), IS(transpose), IS(lu_tile), IS(reduce), IS(scan), IS(scan_add), IS(histogram),
	IS(histogram_sum), IS(radix_count), IS(radix_scatter), IS(bitonic), IS(nbody), IS(black_scholes), IS(monte_carlo),
	IS(mandelbrot), IS(sha256), IS(stencil2d), IS(align), IS(tree_walk), IS(stencil3d), IS(conv2d), IS(fft1024), IS(spmv_csr), IS(spmv_ell), IS(bfs),
	IS(kmeans), IS(softmax), IS(layer_norm), IS(rope), IS(flash_attn), IS(hgemm), IS(igemm), IS(ssm_scan), { NULL, NULL },
};
