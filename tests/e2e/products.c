/* SPDX-License-Identifier: MIT */
/*
 * The kernels that vgpu-stub's engine cuda multiplies and solves with (tools/vgpu-stub/cuda/kernels), by themselves, on any CUDA driver: each of
 * them, every pair of types that it takes and every transposition, sizes beside its tiles, batches of both forms. All values are small whole
 * numbers, so every sum is exact in any order and results are compared bit by bit.
 */
#include <math.h>

#include "drv.h"
#include "../../fw-protocol/vgpu_cmd.h"
#include "../../tools/vgpu-stub/cuda/kernels/product.h"

#define TEXT(name) \
	__asm__(".section .rodata\ne2e_" #name ":\n\t.incbin \"tools/vgpu-stub/cuda/kernels/" #name ".ptx\"\n\t.byte 0\n.previous\n"); \
	extern const char e2e_##name[]
TEXT(floats);
TEXT(halves);
TEXT(others);
TEXT(tensor_f16);
TEXT(tensor_bf16);

static uint32_t seed = 7;
static unsigned done;

/* ---- numbers of each type -------------------------------------------------------------------------------- */

/* Nearest, ties to even, of a whole number; what is asked for here is in range. */
static uint16_t narrow(double v, int bits, int bias)
{
	int e;
	double m = frexp(fabs(v), &e);

	if (v == 0)
		return 0;
	m = nearbyint(ldexp(m, bits + 1));      /* 2^bits <= m <= 2^(bits + 1) */
	if (m == ldexp(1, bits + 1)) {
		m /= 2;
		e++;
	}
	return (uint16_t)((v < 0 ? 0x8000 : 0) | (e - 1 + bias) << bits | ((int)m & ((1 << bits) - 1)));
}

static void put(void *p, size_t i, uint32_t type, double v)
{
	switch (type) {
	case VGPU_GEMM_F64: ((double *)p)[i] = v; return;
	case VGPU_GEMM_F32: ((float *)p)[i] = (float)v; return;
	case VGPU_GEMM_F16: ((uint16_t *)p)[i] = narrow(v, 10, 15); return;
	case VGPU_GEMM_BF16: ((uint16_t *)p)[i] = narrow(v, 7, 127); return;
	case VGPU_GEMM_I8: ((int8_t *)p)[i] = (int8_t)v; return;
	case VGPU_GEMM_I32: ((int32_t *)p)[i] = (int32_t)v; return;
	}
}

static int small(void) { return (int)(e2e_rand(&seed) % 7) - 3; }

/* rows x cols, ld apart, of a batch; host has the numbers, and pointers an array of the device's addresses, backwards */
struct matrix {
	uint32_t rows, cols, ld, type, bytes, batch;
	uint64_t stride;
	double *v;
	CUdeviceptr at, pointers;
};

static struct matrix matrix(uint32_t rows, uint32_t cols, uint32_t gap, uint32_t type, uint32_t batch)
{
	struct matrix m = { .rows = rows, .cols = cols, .ld = rows + gap, .type = type, .bytes = vgpu_gemm_bytes(type), .batch = batch };

	m.stride = (uint64_t)m.ld * cols + 3 * gap + 1; /* of none, too */
	m.v = e2e_malloc(m.stride * batch * sizeof(double));
	for (uint64_t i = 0; i < m.stride * batch; i++)
		m.v[i] = small();
	return m;
}

static void *image(const struct matrix *m)
{
	void *p = e2e_malloc(m->stride * m->batch * m->bytes);

	for (uint64_t i = 0; i < m->stride * m->batch; i++)
		put(p, i, m->type, m->v[i]);
	return p;
}

static void upload(struct matrix *m, const void *bytes)
{
	CUdeviceptr list[4];
	void *own = bytes ? NULL : image(m);

	m->at = drv_upload(bytes ? bytes : own, m->stride * m->batch * m->bytes);
	for (uint32_t i = 0; i < m->batch; i++)
		list[i] = m->at + (m->batch - 1 - i) * m->stride * m->bytes;
	m->pointers = drv_upload(list, m->batch * sizeof(*list));
	free(own);
}

static double *of(const struct matrix *m, uint32_t batch, uint32_t i, uint32_t j, int turned)
{
	return m->v + batch * m->stride + (turned ? j + (uint64_t)i * m->ld : i + (uint64_t)j * m->ld);
}

static void drop(struct matrix *m)
{
	CK(cuMemFree(m->at));
	CK(cuMemFree(m->pointers));
	free(m->v);
}

/* Of either sign: factors leave one or the other. */
static int zero(const uint8_t *p, const struct matrix *m)
{
	int other = 0;

	for (uint32_t i = 0; i + 1 < m->bytes; i++)
		other |= p[i];
	return !other && !(p[m->bytes - 1] & (m->type == VGPU_GEMM_I32 ? 0xff : 0x7f));
}

static void same(const char *kernel, const struct matrix *c, const struct product_call *q)
{
	size_t n = c->stride * c->batch * c->bytes;
	uint8_t *want = image(c), *got = e2e_malloc(n);

	CK(cuMemcpyDtoH(got, c->at, n));
	for (size_t i = 0; i < n; i += c->bytes)
		if (memcmp(got + i, want + i, c->bytes) && !(zero(got + i, c) && zero(want + i, c))) {
			e2e_fail("%s %ux%ux%u types %u %u %u flags %x batch %u: element %zu differs in bytes %02x... %02x, want %02x... %02x", kernel, q->m, q->n,
				 q->k, q->type_a, q->type_b, q->type_c, q->flags, q->batch, i / c->bytes, got[i], got[i + c->bytes - 1], want[i],
				 want[i + c->bytes - 1]);
			break;
		}
	free(want);
	free(got);
	done++;
}

static void launch(CUfunction f, unsigned blocks, unsigned batch, struct product_call *q)
{
	void *args[] = { q };

	CK(cuLaunchKernel(f, blocks, batch, 1, PRODUCT_THREADS, 1, 1, 0, NULL, args, NULL));
}

/* ---- products ---------------------------------------------------------------------------------------------- */

static void product(CUfunction f, const char *name, uint32_t tile, uint32_t m, uint32_t n, uint32_t k, const uint32_t types[4], unsigned how)
{
	int ta = how & 1, tb = how >> 1 & 1, pointers = how >> 2 & 1, on_device = how >> 3 & 1;
	uint32_t gap = how % 3, batch = how & 16 ? 3 : 1;
	double alpha = how & 32 ? -2 : 1, beta = how & 64 ? 0 : -1;
	struct matrix a = matrix(ta ? k : m, ta ? m : k, gap, types[0], batch), b = matrix(tb ? n : k, tb ? k : n, gap, types[1], batch),
		      c = matrix(m, n, gap, types[2], batch);
	uint8_t factors[16] = { 0 };
	CUdeviceptr at = 0;
	struct product_call q = {
		.alpha = alpha, .beta = beta, .stride_a = a.stride, .stride_b = b.stride, .stride_c = c.stride, .m = m, .n = n, .k = k,
		.lda = a.ld, .ldb = b.ld, .ldc = c.ld, .batch = batch, .type_a = types[0], .type_b = types[1], .type_c = types[2], .type_scalar = types[3],
		.flags = (pointers ? PRODUCT_POINTERS : 0) | (ta ? PRODUCT_TRANS_A : 0) | (tb ? PRODUCT_TRANS_B : 0),
	};
	uint8_t *before = image(&c);

	/* what is not read is no number; the gaps stay */
	for (uint32_t x = 0; x < batch && beta == 0; x++)
		for (uint32_t j = 0; j < n; j++)
			memset(before + (x * c.stride + (uint64_t)j * c.ld) * c.bytes, 0xff, (size_t)m * c.bytes);
	upload(&a, NULL);
	upload(&b, NULL);
	upload(&c, before);
	free(before);
	if (on_device) {
		put(factors, 0, types[3], alpha);
		memcpy(factors + 8, factors, 8);
		put(factors + 8, 0, types[3], beta);
		at = drv_upload(factors, sizeof(factors));
		q.alpha_at = at;
		q.beta_at = at + 8;
		q.alpha = q.beta = 99;
	}
	q.a = pointers ? a.pointers : a.at;
	q.b = pointers ? b.pointers : b.at;
	q.c = pointers ? c.pointers : c.at;
	launch(f, ((m + tile - 1) / tile) * ((n + tile - 1) / tile), batch > 2 ? 2 : batch, &q);
	for (uint32_t x = 0; x < batch; x++)
		for (uint32_t j = 0; j < n; j++)
			for (uint32_t i = 0; i < m; i++) {
				double sum = 0;

				for (uint32_t l = 0; l < k; l++)
					sum += *of(&a, x, i, l, ta) * *of(&b, x, l, j, tb);
				*of(&c, x, i, j, 0) = alpha * sum + (beta != 0 ? beta * *of(&c, x, i, j, 0) : 0);
			}
	same(name, &c, &q);
	if (at)
		CK(cuMemFree(at));
	drop(&a);
	drop(&b);
	drop(&c);
}

#define F32 VGPU_GEMM_F32
#define F16 VGPU_GEMM_F16
#define BF16 VGPU_GEMM_BF16
#define F64 VGPU_GEMM_F64
#define I8 VGPU_GEMM_I8
#define I32 VGPU_GEMM_I32

static void products(CUmodule mod, const char *name, uint32_t tile, const uint32_t (*types)[4], unsigned ntypes)
{
	static const uint32_t sizes[][3] = { { 1, 1, 1 }, { 9, 17, 5 }, { 64, 64, 32 }, { 65, 130, 33 }, { 130, 63, 64 }, { 200, 150, 40 }, { 5, 3, 0 } };
	CUfunction f = drv_kernel(mod, name);
	unsigned how = 0;

	for (unsigned t = 0; t < ntypes; t++)
		for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			for (unsigned op = 0; op < 4; op++) {
				if (sizes[s][0] > 64 && (op ^ t ^ s) & 1)
					continue;       /* the large ones in turn */
				/* aligned and not, one and many, by value and not: drawn */
				how = (e2e_rand(&seed) & 0x7c) | op;
				product(f, name, tile, sizes[s][0], sizes[s][1], sizes[s][2], types[t], how);
			}
}

/* ---- solves: what was multiplied comes back ------------------------------------------------------------------ */

static void solve(CUmodule mod, const char *name, uint32_t type, uint32_t m, uint32_t n, unsigned how)
{
	int right = how & 1, upper = how >> 1 & 1, ta = how >> 2 & 1, unit = how >> 3 & 1, pointers = how >> 4 & 1;
	uint32_t order = right ? n : m, batch = 2, gap = how % 3;
	struct matrix a = matrix(order, order, gap, type, batch), c = matrix(m, n, gap, type, batch);
	double *x = e2e_malloc(c.stride * batch * sizeof(*x));
	struct product_call q = {
		.alpha = 0.5, .stride_a = a.stride, .stride_c = c.stride, .m = m, .n = n, .lda = a.ld, .ldc = c.ld, .batch = batch, .type_a = type,
		.type_b = type, .type_c = type, .type_scalar = type,
		.flags = (right ? PRODUCT_RIGHT : 0) | (upper ? PRODUCT_UPPER : 0) | (ta ? PRODUCT_TRANS_A : 0) | (unit ? PRODUCT_UNIT : 0) |
			 (pointers ? PRODUCT_POINTERS : 0),
	};

	memcpy(x, c.v, c.stride * batch * sizeof(*x));
	for (uint32_t i = 0; i < order * batch; i++)
		*of(&a, i / order, i % order, i % order, 0) = unit ? 3 : i % 2 ? 2 : -1;
	/* b = 2 op(a) x, or 2 x op(a) */
	for (uint32_t b = 0; b < batch; b++)
		for (uint32_t j = 0; j < n; j++)
			for (uint32_t i = 0; i < m; i++) {
				double sum = 0;

				for (uint32_t l = 0; l < order; l++) {
					uint32_t r = right ? l : i, k = right ? j : l;
					double e = ta ? *of(&a, b, k, r, 0) : *of(&a, b, r, k, 0);

					if (r == k)
						e = unit ? 1 : e;
					else if ((r < k) != (upper != ta))
						e = 0;
					sum += e * x[b * c.stride + (right ? i + (uint64_t)l * c.ld : l + (uint64_t)j * c.ld)];
				}
				*of(&c, b, i, j, 0) = 2 * sum;
			}
	upload(&a, NULL);
	upload(&c, NULL);
	q.a = pointers ? a.pointers : a.at;
	q.c = pointers ? c.pointers : c.at;
	launch(drv_kernel(mod, name), 2, batch, &q);
	memcpy(c.v, x, c.stride * batch * sizeof(*x));
	same(name, &c, &q);
	drop(&a);
	drop(&c);
	free(x);
}

int main(void)
{
	static const uint32_t floats[][4] = { { F32, F32, F32, F32 }, { F32, F32, F16, F16 }, { F32, F32, BF16, F32 } };
	static const uint32_t halves[][4] = { { F16, F16, F16, F16 }, { F16, F16, F32, F32 }, { BF16, BF16, BF16, F32 }, { BF16, F16, F32, BF16 }, { F32, F16, BF16, F32 } };
	static const uint32_t doubles[][4] = { { F64, F64, F64, F64 } }, bytes[][4] = { { I8, I8, I32, I32 }, { I8, I8, F32, F32 } };
	static const uint32_t f16[][4] = { { F16, F16, F16, F16 }, { F16, F16, F32, F32 } }, bf16[][4] = { { BF16, BF16, BF16, F32 }, { BF16, BF16, F32, F32 } };
	CUcontext ctx = drv_start("products");
	int major = 0, minor = 0;
	CUmodule m;

	CK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	CK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
#define ALL(mod, name, tile, types) products(mod, name, tile, types, sizeof(types) / sizeof(types[0]))
	m = drv_module(e2e_floats);
	ALL(m, "product_f32_8", 128, floats);
	ALL(m, "product_f32_4", 64, floats);
	m = drv_module(e2e_halves);
	ALL(m, "product_any_8", 128, halves);
	ALL(m, "product_any_4", 64, halves);
	m = drv_module(e2e_others);
	ALL(m, "product_f64_4", 64, doubles);
	ALL(m, "product_i8_4", 64, bytes);
	for (unsigned how = 0; how < 32; how++) {
		solve(m, "solve_any", F32, 20 + how, 45 - how, how);
		solve(m, "solve_any", F16, 45 - how, 20 + how, how);
		solve(m, "solve_f64", F64, 20 + how, 45 - how, how);
	}
	if (major >= 8) {
		m = drv_module(e2e_tensor_f16);
		ALL(m, "tensor_f16_8", 128, f16);
		ALL(m, "tensor_f16_4", 64, f16);
		m = drv_module(e2e_tensor_bf16);
		ALL(m, "tensor_bf16_8", 128, bf16);
		ALL(m, "tensor_bf16_4", 64, bf16);
	}
	CK(cuCtxDestroy(ctx));
	return e2e_end("%u products and solves on a device of %d.%d", done, major, minor);
}
