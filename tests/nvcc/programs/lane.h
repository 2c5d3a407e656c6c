/* SPDX-License-Identifier: MIT */
/*
 * Kernels whose threads do not talk, in the form that people write them. Included by plain.cu twice: as kernels and as functions of the host.
 */
struct P3 {
	float x, y, z;
};

struct Part {
	float x, y, z, vx, vy, vz, m;
	int id;
};

KERNEL thomas_rows(int n, int m, const float *a, const float *b, const float *c, float *d, float *cp)
{
	int s = GX;
	if (s >= m)
		return;
	a += s * n;
	b += s * n;
	c += s * n;
	d += s * n;
	cp += s * n;
	cp[0] = c[0] / b[0];
	d[0] /= b[0];
	for (int i = 1; i < n; i++) {
		float w = 1 / (b[i] - a[i] * cp[i - 1]);
		cp[i] = c[i] * w;
		d[i] = (d[i] - a[i] * d[i - 1]) * w;
	}
	for (int i = n - 2; i >= 0; i--)
		d[i] -= cp[i] * d[i + 1];
}

KERNEL thomas_columns(int n, int m, const float *a, const float *b, const float *c, float *d, float *cp)
{
	int s = GX;
	if (s >= m)
		return;
	cp[s] = c[s] / b[s];
	d[s] /= b[s];
	for (int i = 1; i < n; i++) {
		int k = i * m + s;
		float w = 1 / (b[k] - a[k] * cp[k - m]);
		cp[k] = c[k] * w;
		d[k] = (d[k] - a[k] * d[k - m]) * w;
	}
	for (int i = n - 2; i >= 0; i--)
		d[i * m + s] -= cp[i * m + s] * d[(i + 1) * m + s];
}

KERNEL grey(int n, const unsigned char *rgb, unsigned char *g)
{
	int i = GX;
	if (i < n)
		g[i] = (unsigned char)(0.299f * rgb[3 * i] + 0.587f * rgb[3 * i + 1] + 0.114f * rgb[3 * i + 2]);
}

KERNEL median(int w, int h, const unsigned char *in, unsigned char *out)
{
	int x = GX, y = GY;
	if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1)
		return;
	unsigned char v[9];
	int k = 0;
	for (int j = -1; j <= 1; j++)
		for (int i = -1; i <= 1; i++)
			v[k++] = in[(y + j) * w + x + i];
	for (int i = 0; i < 5; i++)
		for (int j = i + 1; j < 9; j++)
			if (v[j] < v[i]) {
				unsigned char t = v[i];
				v[i] = v[j];
				v[j] = t;
			}
	out[y * w + x] = v[4];
}

KERNEL life(int w, int h, const unsigned char *in, unsigned char *out)
{
	int x = GX, y = GY;
	if (x >= w || y >= h)
		return;
	int s = 0;
	for (int j = -1; j <= 1; j++)
		for (int i = -1; i <= 1; i++)
			if (i || j)
				s += in[((y + j + h) % h) * w + (x + i + w) % w];
	out[y * w + x] = s == 3 || (s == 2 && in[y * w + x]);
}

KERNEL collatz(int n, unsigned *out)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned long long v = i + 1;
	unsigned c = 0;
	while (v != 1) {
		v = v & 1 ? 3 * v + 1 : v >> 1;
		c++;
	}
	out[i] = c;
}

KERNEL primes(int n, unsigned *out)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned v = i + 2, p = 1;
	for (unsigned d = 2; d * d <= v; d++)
		if (v % d == 0) {
			p = 0;
			break;
		}
	out[i] = p;
}

KERNEL power_mod(int n, const unsigned *in, unsigned *out)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned long long b = in[i] % 1000000007u, r = 1;
	unsigned e = 1000000005u;
	while (e) {
		if (e & 1)
			r = r * b % 1000000007u;
		b = b * b % 1000000007u;
		e >>= 1;
	}
	out[i] = (unsigned)r;
}

KERNEL particles(int n, Part *p, float dt)
{
	int i = GX;
	if (i >= n)
		return;
	Part q = p[i];
	q.vy -= 9.8f * dt;
	q.x += q.vx * dt;
	q.y += q.vy * dt;
	q.z += q.vz * dt;
	if (q.y < 0) {
		q.y = -q.y;
		q.vy = -q.vy * 0.8f;
	}
	p[i] = q;
}

KERNEL normalise(int n, const P3 *p, P3 *o)
{
	int i = GX;
	if (i >= n)
		return;
	P3 q = p[i];
	float r = 1 / sqrtf(q.x * q.x + q.y * q.y + q.z * q.z + 1e-9f);
	o[i].x = q.x * r;
	o[i].y = q.y * r;
	o[i].z = q.z * r;
}

KERNEL eight_nearest(int n, int m, const float *p, const float *q, float *o)
{
	int i = GX;
	if (i >= n)
		return;
	float best[8];
	for (int k = 0; k < 8; k++)
		best[k] = 1e30f;
	float x = p[3 * i], y = p[3 * i + 1], z = p[3 * i + 2];
	for (int j = 0; j < m; j++) {
		float dx = q[3 * j] - x, dy = q[3 * j + 1] - y, dz = q[3 * j + 2] - z, d = dx * dx + dy * dy + dz * dz;
		if (d < best[7]) {
			int k = 7;
			while (k > 0 && best[k - 1] > d) {
				best[k] = best[k - 1];
				k--;
			}
			best[k] = d;
		}
	}
	for (int k = 0; k < 8; k++)
		o[i * 8 + k] = best[k];
}

KERNEL queens(int n, int N, unsigned *out)
{
	int i = GX;
	if (i >= n)
		return;
	int c0 = i / N, c1 = i % N;
	unsigned all = (1u << N) - 1, cnt = 0;
	unsigned col[16], dl[16], dr[16], av[16];
	unsigned a = 1u << c0, b = 1u << c1;
	if ((a | a << 1 | a >> 1) & b) {
		out[i] = 0;
		return;
	}
	int d = 2;
	col[2] = a | b;
	dl[2] = ((a << 1 | b) << 1) & all;
	dr[2] = (a >> 1 | b) >> 1;
	av[2] = all & ~(col[2] | dl[2] | dr[2]);
	while (d >= 2) {
		if (!av[d]) {
			d--;
			continue;
		}
		unsigned bit = av[d] & -av[d];
		av[d] ^= bit;
		if (d == N - 1) {
			cnt++;
			continue;
		}
		col[d + 1] = col[d] | bit;
		dl[d + 1] = (dl[d] | bit) << 1 & all;
		dr[d + 1] = (dr[d] | bit) >> 1;
		d++;
		av[d] = all & ~(col[d] | dl[d] | dr[d]);
	}
	out[i] = cnt;
}

KERNEL quicksort(int n, int m, int *a)
{
	int s = GX;
	if (s >= n)
		return;
	a += s * m;
	int st[64], sp = 0;
	st[sp++] = 0;
	st[sp++] = m - 1;
	while (sp) {
		int hi = st[--sp], lo = st[--sp];
		if (lo >= hi)
			continue;
		int p = a[(lo + hi) / 2], i = lo, j = hi;
		while (i <= j) {
			while (a[i] < p)
				i++;
			while (a[j] > p)
				j--;
			if (i <= j) {
				int t = a[i];
				a[i] = a[j];
				a[j] = t;
				i++;
				j--;
			}
		}
		st[sp++] = lo;
		st[sp++] = j;
		st[sp++] = i;
		st[sp++] = hi;
	}
}

KERNEL insertion_sort(int n, int m, int *a)
{
	int s = GX;
	if (s >= n)
		return;
	a += s * m;
	for (int i = 1; i < m; i++) {
		int v = a[i], j = i;
		while (j > 0 && a[j - 1] > v) {
			a[j] = a[j - 1];
			j--;
		}
		a[j] = v;
	}
}

KERNEL crc32(int n, int m, const unsigned char *in, const unsigned *tab, unsigned *out)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned c = ~0u;
	for (int j = 0; j < m; j++)
		c = tab[(c ^ in[i * m + j]) & 255] ^ c >> 8;
	out[i] = ~c;
}

KERNEL count_word(int n, int m, const unsigned char *t, const unsigned char *p, int k, unsigned *out)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned c = 0;
	for (int j = i * m; j < i * m + m; j++) {
		int l = 0;
		while (l < k && t[j + l] == p[l])
			l++;
		c += l == k;
	}
	out[i] = c;
}

KERNEL edit_distance(int n, int m, const unsigned char *a, const unsigned char *b, unsigned char *out)
{
	int s = GX;
	if (s >= n)
		return;
	unsigned char row[33];
	a += s * m;
	b += s * m;
	for (int j = 0; j <= m; j++)
		row[j] = j;
	for (int i = 1; i <= m; i++) {
		int diag = row[0];
		row[0] = i;
		for (int j = 1; j <= m; j++) {
			int c = diag + (a[i - 1] != b[j - 1]);
			diag = row[j];
			int d = row[j] + 1, e = row[j - 1] + 1;
			if (d < c)
				c = d;
			if (e < c)
				c = e;
			row[j] = c;
		}
	}
	out[s] = row[m];
}

KERNEL xorwow(int n, int m, unsigned *st, float *out)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned x = st[i], y = x ^ 362436069u, z = 521288629u, w = 88675123u, v = 5783321u, d = 6615241u;
	float s = 0;
	for (int j = 0; j < m; j++) {
		unsigned t = x ^ x >> 2;
		x = y;
		y = z;
		z = w;
		w = v;
		v = (v ^ v << 4) ^ (t ^ t << 1);
		d += 362437;
		s += (v + d) * 2.3283064e-10f;
	}
	out[i] = s;
}

KERNEL box_muller(int n, int m, float *out)
{
	int i = GX;
	if (i >= n)
		return;
	unsigned s = i * 2654435761u + 1;
	float r = 0;
	for (int j = 0; j < m; j++) {
		s = s * 1664525u + 1013904223u;
		float u = (s >> 8) * (1 / 16777216.f) + 1e-7f;
		s = s * 1664525u + 1013904223u;
		float v = (s >> 8) * (1 / 16777216.f);
		r += sqrtf(-2 * logf(u)) * cosf(6.2831853f * v);
	}
	out[i] = r;
}

KERNEL spheres(int w, int h, const float *sp, int ns, float *out)
{
	int x = GX, y = GY;
	if (x >= w || y >= h)
		return;
	float dx = (x - w / 2) / (float)w, dy = (y - h / 2) / (float)h, dz = 1, il = 1 / sqrtf(dx * dx + dy * dy + 1), ox = 0, oy = 0, oz = -3,
	      col = 0, att = 1;
	dx *= il;
	dy *= il;
	dz *= il;
	for (int b = 0; b < 4; b++) {
		float best = 1e20f;
		int hit = -1;
		for (int k = 0; k < ns; k++) {
			float cx = sp[4 * k] - ox, cy = sp[4 * k + 1] - oy, cz = sp[4 * k + 2] - oz, p = cx * dx + cy * dy + cz * dz,
			      q = cx * cx + cy * cy + cz * cz - sp[4 * k + 3] * sp[4 * k + 3], D = p * p - q;
			if (D > 0) {
				float t = p - sqrtf(D);
				if (t > 1e-3f && t < best) {
					best = t;
					hit = k;
				}
			}
		}
		if (hit < 0) {
			col += att * (0.5f + 0.5f * dy);
			break;
		}
		ox += dx * best;
		oy += dy * best;
		oz += dz * best;
		float nx = (ox - sp[4 * hit]) / sp[4 * hit + 3], ny = (oy - sp[4 * hit + 1]) / sp[4 * hit + 3],
		      nz = (oz - sp[4 * hit + 2]) / sp[4 * hit + 3], dn = dx * nx + dy * ny + dz * nz;
		col += att * 0.2f;
		att *= 0.7f;
		dx -= 2 * dn * nx;
		dy -= 2 * dn * ny;
		dz -= 2 * dn * nz;
	}
	out[y * w + x] = col;
}

KERNEL shortest_paths(int n, int k, int *d)
{
	int j = GX, i = GY;
	if (i < n && j < n) {
		int v = d[i * n + k] + d[k * n + j];
		if (v < d[i * n + j])
			d[i * n + j] = v;
	}
}
