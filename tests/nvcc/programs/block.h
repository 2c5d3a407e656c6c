/* SPDX-License-Identifier: MIT */
/*
 * Kernels of blocks with shared memory, in steps between barriers: EACH ... MEET. SHARED is of a block, OWN is of a thread and lives beyond
 * a barrier. Included by plain.cu twice: as kernels, and as functions of the host, where a step is a loop over threads.
 */
KERNEL sum(int n, const float *in, float *out)
{
	SHARED(float, s, 256);
	OWN(float, v);
	EACH
		OF(v) = 0;
		for (int i = BXI * 1024 + t; i < BXI * 1024 + 1024; i += 256)
			OF(v) += in[i];
		s[t] = OF(v);
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

KERNEL sum_of_doubles(int n, const double *in, double *out)
{
	SHARED(double, s, 256);
	EACH
		s[t] = in[BXI * 256 + t];
	MEET
	for (int o = 1; o < 256; o *= 2) {
		EACH
			if (t % (2 * o) == 0)
				s[t] += s[t + o];
		MEET
	}
	EACH
		if (t == 0)
			out[BXI] = s[0];
	MEET
}

KERNEL largest_at(int n, const float *in, int *out)
{
	SHARED(float, s, 256);
	SHARED(int, k, 256);
	EACH
		s[t] = in[BXI * 256 + t];
		k[t] = t;
	MEET
	for (int o = 128; o > 0; o >>= 1) {
		EACH
			if (t < o && s[t + o] > s[t]) {
				s[t] = s[t + o];
				k[t] = k[t + o];
			}
		MEET
	}
	EACH
		if (t == 0)
			out[BXI] = k[0];
	MEET
}

KERNEL scan_up_down(int n, const int *in, int *out)
{
	SHARED(int, s, 512);
	EACH
		s[2 * t] = in[BXI * 512 + 2 * t];
		s[2 * t + 1] = in[BXI * 512 + 2 * t + 1];
	MEET
	int off = 1;
	for (int d = 256; d > 0; d >>= 1) {
		EACH
			if (t < d) {
				int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1;
				s[b] += s[a];
			}
		MEET
		off *= 2;
	}
	EACH
		if (t == 0)
			s[511] = 0;
	MEET
	for (int d = 1; d < 512; d *= 2) {
		off >>= 1;
		EACH
			if (t < d) {
				int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1, x = s[a];
				s[a] = s[b];
				s[b] += x;
			}
		MEET
	}
	EACH
		out[BXI * 512 + 2 * t] = s[2 * t];
		out[BXI * 512 + 2 * t + 1] = s[2 * t + 1];
	MEET
}

KERNEL scan_two_buffers(int n, const float *in, float *out)
{
	SHARED(float, s, 512);
	int cur = 0;
	EACH
		s[t] = in[BXI * 256 + t];
	MEET
	for (int o = 1; o < 256; o *= 2) {
		EACH
			float v = s[cur * 256 + t];
			if (t >= o)
				v += s[cur * 256 + t - o];
			s[(1 - cur) * 256 + t] = v;
		MEET
		cur = 1 - cur;
	}
	EACH
		out[BXI * 256 + t] = s[cur * 256 + t];
	MEET
}

KERNEL bitonic(int n, int *a)
{
	SHARED(int, s, 512);
	EACH
		s[t] = a[BXI * 512 + t];
		s[t + 256] = a[BXI * 512 + t + 256];
	MEET
	for (int k = 2; k <= 512; k *= 2)
		for (int j = k / 2; j > 0; j /= 2) {
			EACH
				for (int q = 0; q < 2; q++) {
					int i = t + 256 * q, x = i ^ j;
					if (x > i) {
						bool up = (i & k) == 0;
						if ((s[i] > s[x]) == up) {
							int v = s[i];
							s[i] = s[x];
							s[x] = v;
						}
					}
				}
			MEET
		}
	EACH
		a[BXI * 512 + t] = s[t];
		a[BXI * 512 + t + 256] = s[t + 256];
	MEET
}

KERNEL odd_even(int n, int *a)
{
	SHARED(int, s, 256);
	EACH
		s[t] = a[BXI * 256 + t];
	MEET
	for (int r = 0; r < 256; r++) {
		EACH
			int i = 2 * t + (r & 1);
			if (i + 1 < 256 && t < 128 && s[i] > s[i + 1]) {
				int v = s[i];
				s[i] = s[i + 1];
				s[i + 1] = v;
			}
		MEET
	}
	EACH
		a[BXI * 256 + t] = s[t];
	MEET
}

KERNEL convolution5(int w, int h, const float *in, const float *f, float *out)
{
	SHARED(float, s, 400);
	int x0 = BXI * 16, y0 = BYI * 16;
	EACH
		for (int i = t; i < 400; i += 256) {
			int x = x0 + i % 20 - 2, y = y0 + i / 20 - 2;
			s[i] = x >= 0 && y >= 0 && x < w && y < h ? in[y * w + x] : 0;
		}
	MEET

	EACH
		float v = 0;
		for (int j = 0; j < 5; j++)
			for (int i = 0; i < 5; i++)
				v += s[(ty + j) * 20 + tx + i] * f[j * 5 + i];
		out[(y0 + ty) * w + x0 + tx] = v;
	MEET
}

KERNEL product16(int n, const float *a, const float *b, float *c)
{
	SHARED(float, A, 256);
	SHARED(float, B, 256);
	OWN(float, v);
	EACH
		OF(v) = 0;
	MEET
	for (int k = 0; k < n; k += 16) {
		EACH
			A[t] = a[(BYI * 16 + ty) * n + k + tx];
			B[t] = b[(k + ty) * n + BXI * 16 + tx];
		MEET

		EACH
			for (int q = 0; q < 16; q++)
				OF(v) += A[ty * 16 + q] * B[q * 16 + tx];
		MEET
	}
	EACH
		c[(BYI * 16 + ty) * n + BXI * 16 + tx] = OF(v);
	MEET
}

KERNEL product16_doubles(int n, const double *a, const double *b, double *c)
{
	SHARED(double, A, 272);
	SHARED(double, B, 272);
	OWN(double, v);
	EACH
		OF(v) = 0;
	MEET
	for (int k = 0; k < n; k += 16) {
		EACH
			A[ty * 17 + tx] = a[(BYI * 16 + ty) * n + k + tx];
			B[ty * 17 + tx] = b[(k + ty) * n + BXI * 16 + tx];
		MEET

		EACH
			for (int q = 0; q < 16; q++)
				OF(v) += A[ty * 17 + q] * B[q * 17 + tx];
		MEET
	}
	EACH
		c[(BYI * 16 + ty) * n + BXI * 16 + tx] = OF(v);
	MEET
}

KERNEL lu_tile(int n, float *a)
{
	SHARED(float, s, 1024);
	EACH
		for (int i = t; i < 1024; i += 32)
			s[i] = a[BXI * 1024 + i];
	MEET
	for (int k = 0; k < 31; k++) {
		EACH
			if (t > k) {
				float m = s[t * 32 + k] / s[k * 32 + k];
				s[t * 32 + k] = m;
				for (int j = k + 1; j < 32; j++)
					s[t * 32 + j] -= m * s[k * 32 + j];
			}
		MEET
	}
	EACH
		for (int i = t; i < 1024; i += 32)
			a[BXI * 1024 + i] = s[i];
	MEET
}

KERNEL cholesky_tile(int n, float *a)
{
	SHARED(float, s, 1024);
	EACH
		for (int i = t; i < 1024; i += 256)
			s[i] = a[BXI * 1024 + i];
	MEET
	for (int k = 0; k < 32; k++) {
		EACH
			if (t == 0)
				s[k * 33] = sqrtf(s[k * 33]);
		MEET

		EACH
			if (t > k && t < 32)
				s[t * 32 + k] /= s[k * 33];
		MEET

		EACH
			for (int q = t; q < 1024; q += 256) {
				int i = q / 32, j = q % 32;
				if (j > k && i >= j)
					s[q] -= s[i * 32 + k] * s[j * 32 + k];
			}
		MEET
	}
	EACH
		for (int i = t; i < 1024; i += 256)
			a[BXI * 1024 + i] = s[i];
	MEET
}

KERNEL histogram(int n, const unsigned char *in, unsigned *out)
{
	SHARED(unsigned, s, 256);
	EACH
		s[t] = 0;
	MEET

	EACH
		for (int i = BXI * 4096 + t; i < BXI * 4096 + 4096; i += 256)
			atomicAdd(&s[in[i]], 1u);
	MEET

	EACH
		atomicAdd(&out[t], s[t]);
	MEET
}

KERNEL fourier(int n, float *re, float *im)
{
	SHARED(float, r, 256);
	SHARED(float, m, 256);
	EACH
		int j = 0;
		for (int b = 0; b < 8; b++)
			j |= (t >> b & 1) << (7 - b);
		r[j] = re[BXI * 256 + t];
		m[j] = im[BXI * 256 + t];
	MEET
	for (int l = 1; l < 256; l *= 2) {
		EACH
			if (t < 128) {
				int k = t % l, i = t / l * 2 * l + k;
				float a = -3.14159265f * k / l, c = cosf(a), s = sinf(a), x = r[i + l] * c - m[i + l] * s,
				      y = r[i + l] * s + m[i + l] * c;
				r[i + l] = r[i] - x;
				m[i + l] = m[i] - y;
				r[i] += x;
				m[i] += y;
			}
		MEET
	}
	EACH
		re[BXI * 256 + t] = r[t];
		im[BXI * 256 + t] = m[t];
	MEET
}

KERNEL align(int n, const int *ref, int *out)
{
	SHARED(int, s, 289);
	SHARED(int, rf, 256);
	EACH
		for (int i = t; i < 289; i += 16)
			s[i] = i % 17 == 0 ? -(i / 17) : i < 17 ? -i : 0;
		for (int i = 0; i < 16; i++)
			rf[i * 16 + t] = ref[BXI * 256 + i * 16 + t];
	MEET
	for (int m = 0; m < 16; m++) {
		EACH
			if (t <= m) {
				int x = t + 1, y = m - t + 1, a = s[(y - 1) * 17 + x - 1] + rf[(y - 1) * 16 + x - 1], b = s[y * 17 + x - 1] - 1,
				    c = s[(y - 1) * 17 + x] - 1;
				if (b > a)
					a = b;
				if (c > a)
					a = c;
				s[y * 17 + x] = a;
			}
		MEET
	}
	for (int m = 14; m >= 0; m--) {
		EACH
			if (t <= m) {
				int x = t + 16 - m, y = 16 - t, a = s[(y - 1) * 17 + x - 1] + rf[(y - 1) * 16 + x - 1], b = s[y * 17 + x - 1] - 1,
				    c = s[(y - 1) * 17 + x] - 1;
				if (b > a)
					a = b;
				if (c > a)
					a = c;
				s[y * 17 + x] = a;
			}
		MEET
	}
	EACH
		for (int i = 0; i < 16; i++)
			out[BXI * 256 + i * 16 + t] = s[(i + 1) * 17 + t + 1];
	MEET
}

KERNEL cyclic_reduction(int n, const float *a, const float *b, const float *c, const float *d, float *x)
{
	SHARED(float, A, 128);
	SHARED(float, B, 128);
	SHARED(float, C, 128);
	SHARED(float, D, 128);
	OWN(float, u);
	OWN(float, v);
	OWN(float, w);
	OWN(float, z);
	EACH
		int i = BXI * 128 + t;
		A[t] = t ? a[i] : 0;
		B[t] = b[i];
		C[t] = t < 127 ? c[i] : 0;
		D[t] = d[i];
	MEET
	for (int o = 1; o < 128; o *= 2) {
		EACH
			int l = t - o, r = t + o;
			float k1 = l >= 0 ? A[t] / B[l] : 0, k2 = r < 128 ? C[t] / B[r] : 0;
			OF(v) = B[t] - (l >= 0 ? C[l] * k1 : 0) - (r < 128 ? A[r] * k2 : 0);
			OF(z) = D[t] - (l >= 0 ? D[l] * k1 : 0) - (r < 128 ? D[r] * k2 : 0);
			OF(u) = l >= 0 ? -A[l] * k1 : 0;
			OF(w) = r < 128 ? -C[r] * k2 : 0;
		MEET

		EACH
			A[t] = OF(u);
			B[t] = OF(v);
			C[t] = OF(w);
			D[t] = OF(z);
		MEET
	}
	EACH
		x[BXI * 128 + t] = D[t] / B[t];
	MEET
}
