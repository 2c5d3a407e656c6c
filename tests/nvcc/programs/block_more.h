/* SPDX-License-Identifier: MIT */
/*
 * block.h goes on: diagonals, layers, bodies, dice.
 */
KERNEL transpose(int w, int h, const float *in, float *out)
{
	SHARED(float, s, 1056);
	EACH
		for (int j = 0; j < 32; j += 8)
			s[(ty + j) * 33 + tx] = in[(BYI * 32 + ty + j) * w + BXI * 32 + tx];
	MEET

	EACH
		for (int j = 0; j < 32; j += 8)
			out[(BXI * 32 + ty + j) * h + BYI * 32 + tx] = s[tx * 33 + ty + j];
	MEET
}

KERNEL haar_block(int n, float *a)
{
	SHARED(float, s, 512);
	OWN(float, p);
	OWN(float, q);
	EACH
		s[t] = a[BXI * 512 + t];
		s[t + 256] = a[BXI * 512 + t + 256];
	MEET
	for (int l = 256; l > 0; l /= 2) {
		EACH
			if (t < l) {
				OF(p) = (s[2 * t] + s[2 * t + 1]) * 0.70710678f;
				OF(q) = (s[2 * t] - s[2 * t + 1]) * 0.70710678f;
			}
		MEET

		EACH
			if (t < l) {
				s[t] = OF(p);
				s[l + t] = OF(q);
			}
		MEET
	}
	EACH
		a[BXI * 512 + t] = s[t];
		a[BXI * 512 + t + 256] = s[t + 256];
	MEET
}

KERNEL life_tile(int w, int h, const unsigned char *in, unsigned char *out)
{
	SHARED(unsigned char, s, 324);
	EACH
		for (int i = t; i < 324; i += 256) {
			int x = (BXI * 16 + i % 18 - 1 + w) % w, y = (BYI * 16 + i / 18 - 1 + h) % h;
			s[i] = in[y * w + x];
		}
	MEET

	EACH
		int c = (ty + 1) * 18 + tx + 1, k = s[c - 19] + s[c - 18] + s[c - 17] + s[c - 1] + s[c + 1] + s[c + 17] + s[c + 18] + s[c + 19];
		out[(BYI * 16 + ty) * w + BXI * 16 + tx] = k == 3 || (k == 2 && s[c]);
	MEET
}

KERNEL nearest_centre(int n, int k, const float *p, const float *c, float *sum, int *cnt)
{
	SHARED(int, q, 16);
	EACH
		if (t < 16)
			q[t] = 0;
	MEET

	EACH
		int i = BXI * 256 + t, best = 0;
		float bd = 1e30f;
		for (int j = 0; j < k; j++) {
			float d = 0;
			for (int e = 0; e < 4; e++) {
				float x = p[i * 4 + e] - c[j * 4 + e];
				d += x * x;
			}
			if (d < bd) {
				bd = d;
				best = j;
			}
		}
		atomicAdd(&q[best], 1);
	MEET

	EACH
		if (t < k)
			atomicAdd(&cnt[t], q[t]);
	MEET
}

KERNEL normalise_batch(int c, int hw, const float *in, float *out)
{
	SHARED(float, s, 256);
	SHARED(float, r, 256);
	OWN(float, m);
	OWN(float, v);
	EACH
		float a = 0, b = 0;
		for (int i = t; i < hw; i += 256) {
			float x = in[BXI * hw + i];
			a += x;
			b += x * x;
		}
		s[t] = a;
		r[t] = b;
	MEET
	for (int o = 128; o > 0; o >>= 1) {
		EACH
			if (t < o) {
				s[t] += s[t + o];
				r[t] += r[t + o];
			}
		MEET
	}
	EACH
		OF(m) = s[0] / hw;
		OF(v) = 1 / sqrtf(r[0] / hw - OF(m) * OF(m) + 1e-5f);
		for (int i = t; i < hw; i += 256)
			out[BXI * hw + i] = (in[BXI * hw + i] - OF(m)) * OF(v);
	MEET
}

KERNEL softmax_block(int n, int m, const float *in, float *out)
{
	SHARED(float, s, 128);
	OWN(float, mx);
	EACH
		float a = -1e30f;
		for (int i = t; i < m; i += 128)
			a = fmaxf(a, in[BXI * m + i]);
		s[t] = a;
	MEET
	for (int o = 64; o > 0; o >>= 1) {
		EACH
			if (t < o)
				s[t] = fmaxf(s[t], s[t + o]);
		MEET
	}
	EACH
		OF(mx) = s[0];
	MEET

	EACH
		float a = 0;
		for (int i = t; i < m; i += 128) {
			float e = expf(in[BXI * m + i] - OF(mx));
			out[BXI * m + i] = e;
			a += e;
		}
		s[t] = a;
	MEET
	for (int o = 64; o > 0; o >>= 1) {
		EACH
			if (t < o)
				s[t] += s[t + o];
		MEET
	}
	EACH
		float k = 1 / s[0];
		for (int i = t; i < m; i += 128)
			out[BXI * m + i] *= k;
	MEET
}

KERNEL attention(int n, int d, const float *q, const float *k, const float *v, float *o)
{
	SHARED(float, s, 256);
	SHARED(float, r, 128);
	OWN(float, mx);
	EACH
		for (int j = t; j < n; j += 128) {
			float a = 0;
			for (int e = 0; e < d; e++)
				a += q[BXI * d + e] * k[j * d + e];
			s[j] = a * 0.125f;
		}
	MEET

	EACH
		float a = -1e30f;
		for (int j = t; j < n; j += 128)
			a = fmaxf(a, s[j]);
		r[t] = a;
	MEET
	for (int w = 64; w > 0; w >>= 1) {
		EACH
			if (t < w)
				r[t] = fmaxf(r[t], r[t + w]);
		MEET
	}
	EACH
		OF(mx) = r[0];
	MEET

	EACH
		float a = 0;
		for (int j = t; j < n; j += 128) {
			s[j] = expf(s[j] - OF(mx));
			a += s[j];
		}
		r[t] = a;
	MEET
	for (int w = 64; w > 0; w >>= 1) {
		EACH
			if (t < w)
				r[t] += r[t + w];
		MEET
	}
	EACH
		if (t < d) {
			float a = 0;
			for (int j = 0; j < n; j++)
				a += s[j] * v[j * d + t];
			o[BXI * d + t] = a / r[0];
		}
	MEET
}

KERNEL bodies(int n, const double *p, double *f)
{
	SHARED(double, s, 512);
	OWN(double, x);
	OWN(double, y);
	OWN(double, z);
	EACH
		OF(x) = OF(y) = OF(z) = 0;
	MEET
	for (int b = 0; b < n; b += 128) {
		EACH
			for (int e = 0; e < 4; e++)
				s[t * 4 + e] = p[(b + t) * 4 + e];
		MEET

		EACH
			int i = BXI * 128 + t;
			for (int j = 0; j < 128; j++) {
				double dx = s[4 * j] - p[4 * i], dy = s[4 * j + 1] - p[4 * i + 1], dz = s[4 * j + 2] - p[4 * i + 2],
				       r = dx * dx + dy * dy + dz * dz + 1e-3, ir = 1 / sqrt(r), k = s[4 * j + 3] * ir * ir * ir;
				OF(x) += dx * k;
				OF(y) += dy * k;
				OF(z) += dz * k;
			}
		MEET
	}
	EACH
		int i = BXI * 128 + t;
		f[3 * i] = OF(x);
		f[3 * i + 1] = OF(y);
		f[3 * i + 2] = OF(z);
	MEET
}

KERNEL jacobi(int w, int h, int it, const float *in, float *out)
{
	SHARED(float, s, 648);
	EACH
		for (int i = t; i < 324; i += 256) {
			int x = BXI * 16 + i % 18 - 1, y = BYI * 16 + i / 18 - 1;
			float v = x >= 0 && y >= 0 && x < w && y < h ? in[y * w + x] : 0;
			s[i] = v;
			s[324 + i] = v;
		}
	MEET
	int cur = 0;
	for (int k = 0; k < it; k++) {
		EACH
			int c = (ty + 1) * 18 + tx + 1;
			s[(1 - cur) * 324 + c] =
				0.25f * (s[cur * 324 + c - 1] + s[cur * 324 + c + 1] + s[cur * 324 + c - 18] + s[cur * 324 + c + 18]);
		MEET
		cur = 1 - cur;
	}
	EACH
		out[(BYI * 16 + ty) * w + BXI * 16 + tx] = s[cur * 324 + (ty + 1) * 18 + tx + 1];
	MEET
}

KERNEL dice(int n, int it, unsigned *out)
{
	SHARED(unsigned, s, 256);
	EACH
		unsigned x = (BXI * 256 + t) * 2654435761u + 1, c = 0;
		for (int i = 0; i < it; i++) {
			float a, b, d;
			do {
				x = x * 1664525u + 1013904223u;
				a = (x >> 8) / 8388608.f - 1;
				x = x * 1664525u + 1013904223u;
				b = (x >> 8) / 8388608.f - 1;
				d = a * a + b * b;
			} while (d >= 1);
			c += d < 0.25f;
		}
		s[t] = c;
	MEET
	for (int o = 128; o > 0; o >>= 1) {
		EACH
			if (t < o)
				s[t] += s[t + o];
		MEET
	}
	EACH
		if (t == 0)
			out[BXI] = s[0];
	MEET
}

KERNEL march(int w, int h, const float *sp, float *out)
{
	SHARED(float, s, 64);
	EACH
		if (t < 64)
			s[t] = sp[t];
	MEET

	EACH
		int x = BXI * 16 + tx, y = BYI * 16 + ty;
		float dx = (x - w / 2) / (float)w, dy = (y - h / 2) / (float)w, il = 1 / sqrtf(dx * dx + dy * dy + 1), d = 0;
		dx *= il;
		dy *= il;
		int k = 0;
		for (; k < 200; k++) {
			float px = dx * d, py = dy * d, pz = il * d - 3, m = 1e9f;
			for (int q = 0; q < 16; q++) {
				float a = px - s[4 * q], b = py - s[4 * q + 1], c = pz - s[4 * q + 2],
				      r = sqrtf(a * a + b * b + c * c) - s[4 * q + 3] * 0.2f;
				m = fminf(m, r);
			}
			if (m < 1e-3f || d > 20)
				break;
			d += m;
		}
		out[y * w + x] = d > 20 ? -1 : d;
	MEET
}

KERNEL segments_largest(int n, const float *in, const int *f, float *out)
{
	SHARED(float, s, 256);
	SHARED(int, g, 256);
	OWN(float, v);
	OWN(int, b);
	EACH
		s[t] = in[BXI * 256 + t];
		g[t] = f[BXI * 256 + t] & 1;
	MEET
	for (int o = 1; o < 256; o *= 2) {
		EACH
			OF(v) = s[t];
			OF(b) = g[t];
			if (t >= o) {
				if (!OF(b))
					OF(v) = fmaxf(OF(v), s[t - o]);
				OF(b) |= g[t - o];
			}
		MEET

		EACH
			s[t] = OF(v);
			g[t] = OF(b);
		MEET
	}
	EACH
		out[BXI * 256 + t] = s[t];
	MEET
}

KERNEL split_sort(int n, const unsigned *in, unsigned *out)
{
	SHARED(unsigned, s, 256);
	SHARED(unsigned, c, 256);
	SHARED(unsigned, x, 256);
	EACH
		x[t] = in[BXI * 256 + t];
	MEET
	for (int b = 0; b < 16; b++) {
		EACH
			c[t] = 1 - (x[t] >> b & 1);
		MEET
		for (int o = 1; o < 256; o *= 2) {
			EACH
				s[t] = t >= o ? c[t - o] : 0;
			MEET

			EACH
				c[t] += s[t];
			MEET
		}
		EACH
			unsigned z = x[t] >> b & 1, p = z ? c[255] + t - c[t] : c[t] - 1;
			s[p] = x[t];
		MEET

		EACH
			x[t] = s[t];
		MEET
	}
	EACH
		out[BXI * 256 + t] = x[t];
	MEET
}
