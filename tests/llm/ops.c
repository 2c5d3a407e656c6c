/* SPDX-License-Identifier: MIT */
/*
 * llm ops: single matrix products through ggml's backends, each against a scalar model of what that backend computes.
 *
 * A product with quantised weights rounds its activations to 8 bits too, so a device that computes exactly what ggml-cuda's
 * kernels say is still off the true product, by an amount that their block formats decide. Here both are told apart: the distance
 * from the scalar model is the device's own error, and must be rounding of F32; the distance of the model from the true
 * product, over that of the CPU backend, is the price of the format, the same on any GPU.
 *
 * ggml-cuda's activations (Q8_1): 32 share d = max / 127; code = round(x / d); s = sum of x, before rounding; d and s in
 * binary16 but where noted. Up to 8 columns take the vector kernels, more take the tiled ones (MMQ).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ggml-alloc.h"
#include "lm.h"
#include "quant.h"

#define INNER 512
#define ROWS  96
#define MAX_COLUMNS 64

struct product {
	enum ggml_type_id type;
	int columns;
	uint8_t w[ROWS * INNER * 4];
	float x[MAX_COLUMNS * INNER];
};

static uint32_t seed;

static float normal(void)
{
	float s = 0;

	for (int i = 0; i < 4; i++) {
		seed = seed * 1664525u + 1013904223u;
		s += (float)(seed >> 8) * (1.0f / 8388608.0f) - 1.0f;
	}
	return s * 0.8660254f;
}

static void make(struct product *p, enum ggml_type_id type, int columns)
{
	float row[INNER];

	seed = 1;
	p->type = type;
	p->columns = columns;
	for (int r = 0; r < ROWS; r++) {
		for (int i = 0; i < INNER; i++)
			row[i] = normal();
		for (int i = 0; i < INNER; i += QUANT_BLOCK)
			quant_encode(type, row + i, QUANT_BLOCK, p->w + quant_bytes(type, INNER) * (uint64_t)r + quant_bytes(type, (uint64_t)i));
	}
	for (int i = 0; i < columns * INNER; i++)
		p->x[i] = normal();
}

/* The product by a backend, out[column * ROWS + row]. */
static void by_backend(const struct product *p, const char *name, float *out)
{
	ggml_backend_dev_t dev = ggml_backend_dev_by_name(name);
	ggml_backend_t backend = dev ? ggml_backend_dev_init(dev, NULL) : NULL;
	struct ggml_init_params ip = { ggml_tensor_overhead() * 8 + ggml_graph_overhead(), NULL, true };
	struct ggml_context *c = ggml_init(ip);

	if (!backend || !c)
		lm_die("no backend %s", name);
	struct ggml_tensor *w = ggml_new_tensor_2d(c, (enum ggml_type)p->type, INNER, ROWS);
	struct ggml_tensor *x = ggml_new_tensor_2d(c, GGML_TYPE_F32, INNER, p->columns);
	struct ggml_tensor *y = ggml_mul_mat(c, w, x);
	struct ggml_cgraph *g = ggml_new_graph(c);

	ggml_build_forward_expand(g, y);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors(c, backend);

	if (!buffer)
		lm_die("no memory on %s", name);
	ggml_backend_tensor_set(w, p->w, 0, ggml_nbytes(w));
	ggml_backend_tensor_set(x, p->x, 0, ggml_nbytes(x));
	if (ggml_backend_graph_compute(backend, g) != GGML_STATUS_SUCCESS)
		lm_die("%s does not compute a product", name);
	ggml_backend_tensor_get(y, out, 0, ggml_nbytes(y));
	ggml_backend_buffer_free(buffer);
	ggml_free(c);
	ggml_backend_free(backend);
}

static float as_half(float f)
{
	return ggml_fp16_to_fp32(ggml_fp32_to_fp16(f));
}

/* One row with one column: as ggml-cuda's kernels have it, and in truth. */
static void by_model(const struct product *p, int row, int column, float *cuda, float *truth)
{
	unsigned per = quant_weights(p->type);
	const uint8_t *w = p->w + quant_bytes(p->type, INNER) * (uint64_t)row;
	const float *x = p->x + column * INNER;
	int tiled = p->columns > 8;
	/* the tiled kernels of types without a min keep d in F32; those of types with one, and of Q4_0, use s */
	int wide_d = tiled && (p->type == G_Q8_0 || p->type == G_Q6_K);
	int use_s = p->type == G_Q4_0 || (tiled && p->type == G_Q4_K);
	struct quant_parts q;
	double sum = 0, exact = 0;

	for (unsigned i = 0; i < INNER; i += 32) {
		float max = 0, s = 0, d;
		double codes = 0;

		if (i % per == 0)
			quant_parts(p->type, w + quant_bytes(p->type, i), &q);
		for (int k = 0; k < 32; k++) {
			max = fmaxf(max, fabsf(x[i + (unsigned)k]));
			s += x[i + (unsigned)k];
		}
		d = wide_d ? max / 127 : as_half(max / 127);
		for (unsigned k = 0; k < 32; k++) {
			unsigned at = i % per + k;
			double code = roundf(x[i + k] / (max / 127));

			sum += (double)q.scale[at / 16] * q.code[at] * code * d;
			codes += code;
			exact += ((double)q.scale[at / 16] * q.code[at] - q.min[at / 32]) * x[i + k];
		}
		sum -= (double)q.min[i % per / 32] * (use_s ? (double)as_half(s) : codes * d);
	}
	*cuda = (float)sum;
	*truth = (float)exact;
}

int cmd_ops(const char *backends, int argc, char **argv)
{
	static const struct { enum ggml_type_id type; const char *name; double most; } types[] = {
		/* most: how many times the CPU's error the format may cost; see README.md */
		{ G_Q8_0, "q8_0", 1.5 }, { G_Q4_0, "q4_0", 9 }, { G_Q4_K, "q4_K", 4.5 }, { G_Q6_K, "q6_K", 1.5 },
	};
	static const int columns[] = { 1, 2, 8, 9, 33, 64 };
	static float device[MAX_COLUMNS * ROWS], cpu[MAX_COLUMNS * ROWS], model[MAX_COLUMNS * ROWS], truth[MAX_COLUMNS * ROWS];
	static struct product p;
	int bad = 0;

	(void)argv;
	if (argc != 1)
		return 2;
	lm_start(backends);
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++)
		for (size_t k = 0; k < sizeof(columns) / sizeof(columns[0]); k++) {
			struct lm_error own = { 0 }, format = { 0 }, its = { 0 };
			int n = ROWS * columns[k], fail;

			make(&p, types[t].type, columns[k]);
			by_backend(&p, "CUDA0", device);
			by_backend(&p, "CPU", cpu);
			for (int c = 0; c < columns[k]; c++)
				for (int r = 0; r < ROWS; r++)
					by_model(&p, r, c, &model[c * ROWS + r], &truth[c * ROWS + r]);
			lm_compare(&own, model, device, n);
			lm_compare(&format, truth, model, n);
			lm_compare(&its, truth, cpu, n);
			fail = !(lm_nmse(&own) <= 1e-9) || !(lm_nmse(&format) <= types[t].most * lm_nmse(&its));
			bad |= fail;
			printf("%s %s times %d columns: %.1e from ggml-cuda's arithmetic, whose own error is %.1e, %.2f times the CPU backend's\n",
			       fail ? "FAIL" : "ok", types[t].name, columns[k], lm_nmse(&own), lm_nmse(&format), lm_nmse(&format) / lm_nmse(&its));
		}
	return bad;
}
