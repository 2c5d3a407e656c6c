/* SPDX-License-Identifier: MIT */
/*
 * lane.h goes on: matrices, pictures, tables, graphs.
 */
KERNEL rows_times_vector(int n, int m, const float *a, const float *x, float *y)
{
	int r = GX;
	if (r < n) {
		float s = 0;
		for (int j = 0; j < m; j++)
			s += a[r * m + j] * x[j];
		y[r] = s;
	}
}

KERNEL columns_times_vector(int n, int m, const float *a, const float *x, float *y)
{
	int r = GX;
	if (r < n) {
		float s = 0;
		for (int j = 0; j < m; j++)
			s += a[j * n + r] * x[j];
		y[r] = s;
	}
}

KERNEL product_nt(int n, const float *a, const float *b, float *c)
{
	int j = GX, i = GY;
	if (i < n && j < n) {
		float s = 0;
		for (int k = 0; k < n; k++)
			s += a[i * n + k] * b[j * n + k];
		c[i * n + j] = s;
	}
}

KERNEL product_tn(int n, const float *a, const float *b, float *c)
{
	int j = GX, i = GY;
	if (i < n && j < n) {
		float s = 0;
		for (int k = 0; k < n; k++)
			s += a[k * n + i] * b[k * n + j];
		c[i * n + j] = s;
	}
}

KERNEL softmax_rows(int n, int m, const float *a, float *o)
{
	int r = GX;
	if (r >= n)
		return;
	float mx = -1e30f, s = 0;
	for (int j = 0; j < m; j++)
		mx = fmaxf(mx, a[r * m + j]);
	for (int j = 0; j < m; j++)
		s += expf(a[r * m + j] - mx);
	for (int j = 0; j < m; j++)
		o[r * m + j] = expf(a[r * m + j] - mx) / s;
}

KERNEL maxpool(int c, int h, int w, const float *in, float *out)
{
	int i = GX, ow = w / 2, oh = h / 2;
	if (i >= c * oh * ow)
		return;
	int x = i % ow, y = i / ow % oh, k = i / (ow * oh);
	float m = -1e30f;
	for (int a = 0; a < 2; a++)
		for (int b = 0; b < 2; b++)
			m = fmaxf(m, in[(k * h + 2 * y + a) * w + 2 * x + b]);
	out[i] = m;
}

KERNEL convolution(int ci, int co, int h, int w, const float *in, const float *f, float *out)
{
	int i = GX;
	if (i >= co * h * w)
		return;
	int x = i % w, y = i / w % h, o = i / (w * h);
	float s = 0;
	for (int c = 0; c < ci; c++)
		for (int a = 0; a < 3; a++)
			for (int b = 0; b < 3; b++) {
				int yy = y + a - 1, xx = x + b - 1;
				if (yy >= 0 && yy < h && xx >= 0 && xx < w)
					s += in[(c * h + yy) * w + xx] * f[((o * ci + c) * 3 + a) * 3 + b];
			}
	out[i] = s;
}

KERNEL im2col(int c, int h, int w, const float *in, float *out)
{
	int i = GX;
	if (i >= c * h * w)
		return;
	int x = i % w, y = i / w % h, k = i / (w * h);
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++) {
			int yy = y + a - 1, xx = x + b - 1;
			out[((k * 9 + a * 3 + b) * h + y) * w + x] = yy >= 0 && yy < h && xx >= 0 && xx < w ? in[(k * h + yy) * w + xx] : 0;
		}
}

KERNEL bilinear(int w, int h, int W, int H, const float *in, float *out)
{
	int x = GX, y = GY;
	if (x >= W || y >= H)
		return;
	float sx = (x + 0.5f) * w / W - 0.5f, sy = (y + 0.5f) * h / H - 0.5f;
	int x0 = (int)floorf(sx), y0 = (int)floorf(sy);
	float fx = sx - x0, fy = sy - y0;
	int x1 = x0 + 1 < w ? x0 + 1 : w - 1, y1 = y0 + 1 < h ? y0 + 1 : h - 1;
	if (x0 < 0)
		x0 = 0;
	if (y0 < 0)
		y0 = 0;
	out[y * W + x] = (in[y0 * w + x0] * (1 - fx) + in[y0 * w + x1] * fx) * (1 - fy) + (in[y1 * w + x0] * (1 - fx) + in[y1 * w + x1] * fx) * fy;
}

KERNEL cosines(int nb, const float *in, float *out, const float *ct)
{
	int b = GX;
	if (b >= nb)
		return;
	in += b * 64;
	out += b * 64;
	float t[64];
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < 8; j++) {
			float s = 0;
			for (int k = 0; k < 8; k++)
				s += in[i * 8 + k] * ct[j * 8 + k];
			t[i * 8 + j] = s;
		}
	for (int j = 0; j < 8; j++)
		for (int i = 0; i < 8; i++) {
			float s = 0;
			for (int k = 0; k < 8; k++)
				s += t[k * 8 + j] * ct[i * 8 + k];
			out[i * 8 + j] = s;
		}
}

KERNEL inverse3(int n, const float *a, float *o)
{
	int i = GX;
	if (i >= n)
		return;
	const float *m = a + 9 * i;
	float c0 = m[4] * m[8] - m[5] * m[7], c1 = m[5] * m[6] - m[3] * m[8], c2 = m[3] * m[7] - m[4] * m[6],
	      d = 1 / (m[0] * c0 + m[1] * c1 + m[2] * c2);
	float *r = o + 9 * i;
	r[0] = c0 * d;
	r[1] = (m[2] * m[7] - m[1] * m[8]) * d;
	r[2] = (m[1] * m[5] - m[2] * m[4]) * d;
	r[3] = c1 * d;
	r[4] = (m[0] * m[8] - m[2] * m[6]) * d;
	r[5] = (m[2] * m[3] - m[0] * m[5]) * d;
	r[6] = c2 * d;
	r[7] = (m[1] * m[6] - m[0] * m[7]) * d;
	r[8] = (m[0] * m[4] - m[1] * m[3]) * d;
}

KERNEL hash_insert(int n, const unsigned *key, unsigned *tab, unsigned mask)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned k = key[i], h = k * 2654435761u & mask;
	for (;;) {
		unsigned o = atomicCAS(&tab[h], 0u, k);
		if (!o || o == k)
			break;
		h = h + 1 & mask;
	}
}

KERNEL hash_find(int n, const unsigned *key, const unsigned *tab, unsigned mask, unsigned *out)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned k = key[i], h = k * 2654435761u & mask, r = ~0u;
	while (tab[h]) {
		if (tab[h] == k) {
			r = h;
			break;
		}
		h = h + 1 & mask;
	}
	out[i] = r == ~0u ? 0 : 1;
}

KERNEL pagerank(int n, const int *row, const int *col, const float *r, const float *deg, float *o)
{
	int i = GX;
	if (i >= n)
		return;
	float s = 0;
	for (int e = row[i]; e < row[i + 1]; e++)
		s += r[col[e]] / deg[col[e]];
	o[i] = 0.15f / n + 0.85f * s;
}

KERNEL sparse_atomic(int n, const int *r, const int *c, const float *v, const float *x, float *y)
{
	int i = GX;
	if (i < n)
		atomicAdd(&y[r[i]], v[i] * x[c[i]]);
}

KERNEL lennard_jones(int n, int k, const float *p, const int *nb, float *f)
{
	int i = GX;
	if (i >= n)
		return;
	float fx = 0, fy = 0, fz = 0, x = p[4 * i], y = p[4 * i + 1], z = p[4 * i + 2];
	for (int j = 0; j < k; j++) {
		int q = nb[j * n + i];
		float dx = x - p[4 * q], dy = y - p[4 * q + 1], dz = z - p[4 * q + 2], r2 = dx * dx + dy * dy + dz * dz;
		if (r2 < 0.3f) {
			float ir = 1 / (r2 + 0.01f), r6 = ir * ir * ir, ff = r6 * (r6 - 0.5f) * ir;
			fx += dx * ff;
			fy += dy * ff;
			fz += dz * ff;
		}
	}
	f[3 * i] = fx;
	f[3 * i + 1] = fy;
	f[3 * i + 2] = fz;
}

KERNEL sums_of_rows(int w, int h, const float *in, float *o)
{
	int y = GX;
	if (y >= h)
		return;
	float s = 0;
	for (int x = 0; x < w; x++) {
		s += in[y * w + x];
		o[y * w + x] = s;
	}
}

KERNEL sums_of_columns(int w, int h, float *o)
{
	int x = GX;
	if (x >= w)
		return;
	float s = 0;
	for (int y = 0; y < h; y++) {
		s += o[y * w + x];
		o[y * w + x] = s;
	}
}

KERNEL polynomial(int n, int m, const double *in, double *o)
{
	int i = GX;
	if (i >= n)
		return;
	double x = in[i], s = 0;
	for (int k = 0; k < m; k++)
		s = s * x + (k & 3) * 0.25;
	o[i] = sin(s) * exp(-x);
}

KERNEL mix128(int n, const unsigned long long *a, const unsigned long long *b, unsigned long long *o)
{
	int i = GX;
	if (i >= n)
		return;
	const unsigned long long N = 0xffffffff00000001ull;
	unsigned long long x = a[i] % N, y = b[i] % N, r = 1;
	for (int k = 0; k < 16; k++) {
		unsigned __int128 t = (unsigned __int128)r * x;
		r = (unsigned long long)(t % N == 0 ? 0 : (unsigned long long)(t >> 64) ^ (unsigned long long)t) + y;
		x = x << 1 | x >> 63;
	}
	o[i] = r;
}

KERNEL multiply256(int n, const unsigned *a, const unsigned *b, unsigned *o)
{
	int s = GX;
	if (s >= n)
		return;
	a += s * 8;
	b += s * 8;
	o += s * 16;
	unsigned r[16];
	for (int i = 0; i < 16; i++)
		r[i] = 0;
	for (int i = 0; i < 8; i++) {
		unsigned long long c = 0;
		for (int j = 0; j < 8; j++) {
			c += (unsigned long long)a[i] * b[j] + r[i + j];
			r[i + j] = (unsigned)c;
			c >>= 32;
		}
		r[i + 8] = (unsigned)c;
	}
	for (int i = 0; i < 16; i++)
		o[i] = r[i];
}

KERNEL haar(int n, int m, float *a, float *t)
{
	int s = GX;
	if (s >= n)
		return;
	a += s * m;
	t += s * m;
	for (int l = m; l > 1; l >>= 1) {
		for (int i = 0; i < l / 2; i++) {
			t[i] = (a[2 * i] + a[2 * i + 1]) * 0.5f;
			t[l / 2 + i] = (a[2 * i] - a[2 * i + 1]) * 0.5f;
		}
		for (int i = 0; i < l; i++)
			a[i] = t[i];
	}
}

KERNEL cholesky(int n, int m, float *a)
{
	int s = GX;
	if (s >= n)
		return;
	a += s * m * m;
	for (int j = 0; j < m; j++) {
		float d = a[j * m + j];
		for (int k = 0; k < j; k++)
			d -= a[j * m + k] * a[j * m + k];
		d = sqrtf(d);
		a[j * m + j] = d;
		for (int i = j + 1; i < m; i++) {
			float v = a[i * m + j];
			for (int k = 0; k < j; k++)
				v -= a[i * m + k] * a[j * m + k];
			a[i * m + j] = v / d;
		}
	}
}

KERNEL knapsack(int W, const int *in, int *out, int wt, int v)
{
	int w = GX;
	if (w > W)
		return;
	int a = in[w];
	if (w >= wt && in[w - wt] + v > a)
		a = in[w - wt] + v;
	out[w] = a;
}

KERNEL mandelbrot(int w, int h, unsigned *o)
{
	int x = GX, y = GY;
	if (x >= w || y >= h)
		return;
	double cr = -2 + 3.0 * x / w, ci = -1.5 + 3.0 * y / h, zr = 0, zi = 0;
	unsigned k = 0;
	while (k < 256 && zr * zr + zi * zi < 4) {
		double t = zr * zr - zi * zi + cr;
		zi = 2 * zr * zi + ci;
		zr = t;
		k++;
	}
	o[y * w + x] = k;
}

KERNEL reverse_bits(int n, const unsigned *in, unsigned *o)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned v = in[i], r = 0;
	for (int k = 0; k < 32; k++) {
		r = r << 1 | (v & 1);
		v >>= 1;
	}
	unsigned c = 0;
	for (unsigned t = r; t; t &= t - 1)
		c++;
	o[i] = r ^ c;
}

KERNEL run_lengths(int n, int m, const unsigned char *in, unsigned char *out, unsigned *len)
{
	int s = GX;
	if (s >= n)
		return;
	in += s * m;
	out += s * 2 * m;
	int k = 0;
	for (int i = 0; i < m;) {
		int j = i;
		while (j < m && in[j] == in[i] && j - i < 255)
			j++;
		out[k++] = j - i;
		out[k++] = in[i];
		i = j;
	}
	len[s] = k;
}

KERNEL hue(int n, float *p)
{
	int i = GX;
	if (i >= n)
		return;
	float r = p[3 * i], g = p[3 * i + 1], b = p[3 * i + 2], m = fmaxf(r, fmaxf(g, b)), l = fminf(r, fminf(g, b)), d = m - l, h = 0;
	if (d > 0) {
		if (m == r)
			h = fmodf((g - b) / d, 6);
		else if (m == g)
			h = (b - r) / d + 2;
		else
			h = (r - g) / d + 4;
	}
	p[3 * i] = h * 60;
	p[3 * i + 1] = m > 0 ? d / m : 0;
	p[3 * i + 2] = m;
}
