/* SPDX-License-Identifier: MIT */
/* Descriptors: made, set and read by number. Tables say which field a number is. */
#include <stdlib.h>
#include <string.h>

#include "lt.h"

struct field {
	int number;
	unsigned short at, bytes;
};
#define FIELD(number, type, name) { number, offsetof(struct type, name), sizeof(((struct type *)0)->name) }

static const struct field product_fields[] = {
	FIELD(0, lt_product, compute), FIELD(1, lt_product, scale), FIELD(2, lt_product, pointer_mode), FIELD(3, lt_product, trans_a),
	FIELD(4, lt_product, trans_b), FIELD(5, lt_product, trans_c), FIELD(6, lt_product, fill), FIELD(7, lt_product, epilogue),
	FIELD(8, lt_product, bias), FIELD(10, lt_product, bias_stride), FIELD(11, lt_product, aux), FIELD(12, lt_product, aux_ld),
	FIELD(13, lt_product, aux_stride), FIELD(14, lt_product, alpha_stride), FIELD(15, lt_product, sm_count),
	FIELD(17, lt_product, scale_a), FIELD(18, lt_product, scale_b), FIELD(19, lt_product, scale_c), FIELD(20, lt_product, scale_d),
	FIELD(21, lt_product, amax_d), FIELD(22, lt_product, aux_type), FIELD(23, lt_product, scale_aux), FIELD(24, lt_product, amax_aux),
	FIELD(25, lt_product, fast_accum), FIELD(26, lt_product, bias_type), { -1, 0, 0 }
};
static const struct field layout_fields[] = {
	FIELD(0, lt_layout, type), FIELD(1, lt_layout, order), FIELD(2, lt_layout, rows), FIELD(3, lt_layout, cols), FIELD(4, lt_layout, ld),
	FIELD(5, lt_layout, batch_count), FIELD(6, lt_layout, batch_stride), FIELD(7, lt_layout, plane), { -1, 0, 0 }
};
static const struct field preference_fields[] = {
	FIELD(0, lt_preference, search), FIELD(1, lt_preference, workspace), FIELD(3, lt_preference, reduction),
	FIELD(5, lt_preference, align_a), FIELD(6, lt_preference, align_b), FIELD(7, lt_preference, align_c),
	FIELD(8, lt_preference, align_d), FIELD(9, lt_preference, waves), FIELD(12, lt_preference, impl), { -1, 0, 0 }
};

static const struct field *find(const struct field *f, int number)
{
	while (f->number >= 0 && f->number != number)
		f++;
	return f->number >= 0 ? f : NULL;
}

static cublasStatus_t set(void *to, const struct field *table, int number, const void *value, size_t bytes)
{
	const struct field *f = find(table, number);

	if (!to || !f || !value || bytes != f->bytes)
		return CUBLAS_STATUS_INVALID_VALUE;
	memcpy((char *)to + f->at, value, bytes);
	return CUBLAS_STATUS_SUCCESS;
}

/* bytes 0 asks for the size */
static cublasStatus_t get(const void *from, const struct field *table, int number, void *value, size_t bytes, size_t *written)
{
	const struct field *f = find(table, number);

	if (!from || !f || (bytes ? !value || bytes != f->bytes : !written))
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes)
		memcpy(value, (const char *)from + f->at, bytes);
	if (written)
		*written = f->bytes;
	return CUBLAS_STATUS_SUCCESS;
}

#define DESCRIPTOR(name, type, table) \
	PUBLIC cublasStatus_t cublasLt##name##SetAttribute(struct type *d, int number, const void *value, size_t bytes); \
	PUBLIC cublasStatus_t cublasLt##name##GetAttribute(const struct type *d, int number, void *value, size_t bytes, size_t *written); \
	PUBLIC cublasStatus_t cublasLt##name##Destroy(struct type *d); \
	cublasStatus_t cublasLt##name##SetAttribute(struct type *d, int number, const void *value, size_t bytes) \
	{ \
		return set(d, table, number, value, bytes); \
	} \
	cublasStatus_t cublasLt##name##GetAttribute(const struct type *d, int number, void *value, size_t bytes, size_t *written) \
	{ \
		return get(d, table, number, value, bytes, written); \
	} \
	cublasStatus_t cublasLt##name##Destroy(struct type *d) \
	{ \
		free(d); \
		return CUBLAS_STATUS_SUCCESS; \
	}
DESCRIPTOR(MatmulDesc, lt_product, product_fields)
DESCRIPTOR(MatrixLayout, lt_layout, layout_fields)
DESCRIPTOR(MatmulPreference, lt_preference, preference_fields)

PUBLIC cublasStatus_t cublasLtMatmulDescInit_internal(struct lt_product *p, size_t bytes, int compute, int scale);
PUBLIC cublasStatus_t cublasLtMatmulDescCreate(struct lt_product **p, int compute, int scale);
PUBLIC cublasStatus_t cublasLtMatrixLayoutInit_internal(struct lt_layout *l, size_t bytes, int type, uint64_t rows, uint64_t cols, int64_t ld);
PUBLIC cublasStatus_t cublasLtMatrixLayoutCreate(struct lt_layout **l, int type, uint64_t rows, uint64_t cols, int64_t ld);
PUBLIC cublasStatus_t cublasLtMatmulPreferenceInit_internal(struct lt_preference *p, size_t bytes);
PUBLIC cublasStatus_t cublasLtMatmulPreferenceCreate(struct lt_preference **p);

cublasStatus_t cublasLtMatmulDescInit_internal(struct lt_product *p, size_t bytes, int compute, int scale)
{
	if (!p)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes < sizeof *p)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*p = (struct lt_product){ .compute = compute, .scale = scale, .fill = CUBLAS_FILL_MODE_FULL, .epilogue = 1, .aux_type = -1, .bias_type = -1 };
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(struct lt_layout *l, size_t bytes, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
	if (!l)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes < sizeof *l)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*l = (struct lt_layout){ .type = type, .rows = rows, .cols = cols, .ld = ld, .batch_count = 1 };
	return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(struct lt_preference *p, size_t bytes)
{
	if (!p)
		return CUBLAS_STATUS_INVALID_VALUE;
	if (bytes < sizeof *p)
		return CUBLAS_STATUS_ALLOC_FAILED;
	*p = (struct lt_preference){ .reduction = ~0u, .align_a = 256, .align_b = 256, .align_c = 256, .align_d = 256, .impl = ~0ull };
	return CUBLAS_STATUS_SUCCESS;
}

static void *made(void **out, size_t bytes)
{
	if (out)
		*out = malloc(bytes);
	return out ? *out : NULL;
}

#define CREATE(out, call) \
	if (!(out)) \
		return CUBLAS_STATUS_INVALID_VALUE; \
	return made((void **)(out), sizeof **(out)) ? (call) : CUBLAS_STATUS_ALLOC_FAILED

cublasStatus_t cublasLtMatmulDescCreate(struct lt_product **p, int compute, int scale)
{
	CREATE(p, cublasLtMatmulDescInit_internal(*p, sizeof **p, compute, scale));
}

cublasStatus_t cublasLtMatrixLayoutCreate(struct lt_layout **l, int type, uint64_t rows, uint64_t cols, int64_t ld)
{
	CREATE(l, cublasLtMatrixLayoutInit_internal(*l, sizeof **l, type, rows, cols, ld));
}

cublasStatus_t cublasLtMatmulPreferenceCreate(struct lt_preference **p)
{
	CREATE(p, cublasLtMatmulPreferenceInit_internal(*p, sizeof **p));
}
