/* SPDX-License-Identifier: MIT */
/*
 * ggml's block formats, both ways: what mkgguf writes, and what such a block means in F32 (for references).
 */
#ifndef QUANT_H
#define QUANT_H

#include <stdint.h>

enum ggml_type_id { G_F32 = 0, G_F16 = 1, G_Q4_0 = 2, G_Q8_0 = 8, G_Q4_K = 12, G_Q6_K = 14 };

#define QUANT_BLOCK 256         /* every format's block divides this many weights */
#define QUANT_MAX   1024        /* bytes that they take at most */

/* Bytes of n weights; 0: n is not a whole number of blocks. */
uint64_t quant_bytes(enum ggml_type_id t, uint64_t n);

/* n weights (at most QUANT_BLOCK, whole blocks) to bytes, and back. */
void quant_encode(enum ggml_type_id t, const float *x, unsigned n, uint8_t *out);
void quant_decode(enum ggml_type_id t, const uint8_t *in, unsigned n, float *x);

/* A block taken apart: weight i is scale[i / 16] * code[i] - min[i / 32]. Not for F32 and F16. */
struct quant_parts { int code[QUANT_BLOCK]; float scale[QUANT_BLOCK / 16], min[QUANT_BLOCK / 32]; };
void quant_parts(enum ggml_type_id t, const uint8_t *in, struct quant_parts *p);
unsigned quant_weights(enum ggml_type_id t);    /* of a block */

#endif
