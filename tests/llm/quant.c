/* SPDX-License-Identifier: MIT */
/*
 * See quant.h. Called by mkgguf and by llm's ops. Rounding is as good as random weights deserve: no search for the best scale. The
 * formats (numbers are little endian, d and m binary16):
 *
 *   Q8_0   32 weights   d, 32 signed codes:              d * code
 *   Q4_0   32 weights   d, 16 bytes:                     d * (nibble - 8); low nibbles are weights 0-15
 *   Q4_K  256 weights   d, m, 12 bytes, 128 bytes:       d * scale * nibble - m * min, a 6-bit scale and min per 32
 *   Q6_K  256 weights   128 bytes, 64 bytes, 16 scales, d: d * scale * (code - 32), a signed scale per 16
 */
#include "quant.h"

#include <math.h>
#include <string.h>

/* IEEE binary16, round to nearest even; weights never overflow it. */
static uint16_t half(float f)
{
	uint32_t u, sign, mant;
	int e;

	memcpy(&u, &f, 4);
	sign = u >> 16 & 0x8000;
	e = (int)(u >> 23 & 0xff) - 127 + 15;
	mant = u & 0x7fffff;
	if (e >= 31)
		return (uint16_t)(sign | 0x7c00);
	if (e <= 0) {
		if (e < -10)
			return (uint16_t)sign;
		mant |= 0x800000;
		uint32_t shift = (uint32_t)(14 - e), rest = mant & ((1u << shift) - 1), halfway = 1u << (shift - 1);
		uint32_t v = mant >> shift;

		if (rest > halfway || (rest == halfway && (v & 1)))
			v++;
		return (uint16_t)(sign | v);
	}
	uint32_t v = (uint32_t)e << 10 | mant >> 13, rest = mant & 0x1fff;

	if (rest > 0x1000 || (rest == 0x1000 && (v & 1)))
		v++;
	return (uint16_t)(sign | v);
}

static float unhalf(uint16_t h)
{
	int e = h >> 10 & 31;
	float m = (float)(h & 0x3ff) / 1024.0f;
	float v = e ? ldexpf(1 + m, e - 15) : ldexpf(m, -14);

	return h & 0x8000 ? -v : v;
}

/* Writes a scale, and gives back what a reader will read. */
static float put_half(uint8_t *out, float f)
{
	uint16_t h = half(f);

	out[0] = (uint8_t)h;
	out[1] = (uint8_t)(h >> 8);
	return unhalf(h);
}

static float get_half(const uint8_t *in)
{
	return unhalf((uint16_t)(in[0] | in[1] << 8));
}

static int code(float v, int lo, int hi)
{
	v = roundf(v);
	return v < (float)lo ? lo : v > (float)hi ? hi : (int)v;
}

static float ratio(float a, float b)
{
	return b != 0 ? a / b : 0;
}

static void encode_q8_0(const float *x, uint8_t *out)
{
	float amax = 0, d;

	for (int i = 0; i < 32; i++)
		amax = fmaxf(amax, fabsf(x[i]));
	d = put_half(out, amax / 127);
	for (int i = 0; i < 32; i++)
		out[2 + i] = (uint8_t)code(ratio(x[i], d), -127, 127);
}

static void encode_q4_0(const float *x, uint8_t *out)
{
	float max = 0, d;

	for (int i = 0; i < 32; i++)
		if (fabsf(x[i]) > fabsf(max))
			max = x[i];
	d = put_half(out, max / -8);
	for (int i = 0; i < 16; i++)
		out[2 + i] = (uint8_t)(code(ratio(x[i], d) + 8, 0, 15) | code(ratio(x[i + 16], d) + 8, 0, 15) << 4);
}

/* The 6-bit scale and min of one of the eight groups of a Q4_K block, in its 12 bytes. */
static void put_scale_min(uint8_t *s, int group, int scale, int min)
{
	if (group < 4) {
		s[group] |= (uint8_t)scale;
		s[group + 4] |= (uint8_t)min;
	} else {
		s[group + 4] = (uint8_t)((scale & 15) | (min & 15) << 4);
		s[group - 4] |= (uint8_t)(scale >> 4 << 6);
		s[group] |= (uint8_t)(min >> 4 << 6);
	}
}

static void get_scale_min(const uint8_t *s, int group, int *scale, int *min)
{
	if (group < 4) {
		*scale = s[group] & 63;
		*min = s[group + 4] & 63;
	} else {
		*scale = (s[group + 4] & 15) | s[group - 4] >> 6 << 4;
		*min = s[group + 4] >> 4 | s[group] >> 6 << 4;
	}
}

static void encode_q4_k(const float *x, uint8_t *out)
{
	float scale[8], min[8], max_scale = 0, max_min = 0, d, m;
	uint8_t q[256];

	for (int g = 0; g < 8; g++) {
		float lo = 0, hi = 0;

		for (int i = 0; i < 32; i++) {
			lo = fminf(lo, x[32 * g + i]);
			hi = fmaxf(hi, x[32 * g + i]);
		}
		scale[g] = (hi - lo) / 15;
		min[g] = -lo;
		max_scale = fmaxf(max_scale, scale[g]);
		max_min = fmaxf(max_min, min[g]);
	}
	memset(out, 0, 144);
	d = put_half(out, max_scale / 63);
	m = put_half(out + 2, max_min / 63);
	for (int g = 0; g < 8; g++) {
		int s = code(ratio(scale[g], d), 0, 63), n = code(ratio(min[g], m), 0, 63);

		put_scale_min(out + 4, g, s, n);
		for (int i = 0; i < 32; i++)
			q[32 * g + i] = (uint8_t)code(ratio(x[32 * g + i] + m * (float)n, d * (float)s), 0, 15);
	}
	/* 32 bytes hold 64 weights: the low nibbles the first half */
	for (int i = 0; i < 128; i++)
		out[16 + i] = (uint8_t)(q[i / 32 * 64 + i % 32] | q[i / 32 * 64 + 32 + i % 32] << 4);
}

/* Where the four low and the two high bits of the i-th code of a Q6_K block stand: byte and shift. */
static void place_q6_k(int i, int *low, int *low_shift, int *high, int *high_shift)
{
	int part = i % 128 / 32, at = i % 32;

	*low = i / 128 * 64 + part % 2 * 32 + at;
	*low_shift = part / 2 * 4;
	*high = 128 + i / 128 * 32 + at;
	*high_shift = part * 2;
}

static void encode_q6_k(const float *x, uint8_t *out)
{
	float scale[16], most = 0, d;
	int low, ls, high, hs;

	for (int g = 0; g < 16; g++) {
		float max = 0;

		for (int i = 0; i < 16; i++)
			if (fabsf(x[16 * g + i]) > fabsf(max))
				max = x[16 * g + i];
		scale[g] = max / -32;
		if (fabsf(scale[g]) > fabsf(most))
			most = scale[g];
	}
	memset(out, 0, 210);
	d = put_half(out + 208, most / -128);
	for (int g = 0; g < 16; g++) {
		int s = code(ratio(scale[g], d), -128, 127);

		out[192 + g] = (uint8_t)s;
		for (int i = 16 * g; i < 16 * g + 16; i++) {
			int q = code(ratio(x[i], d * (float)s), -32, 31) + 32;

			place_q6_k(i, &low, &ls, &high, &hs);
			out[low] |= (uint8_t)((q & 15) << ls);
			out[high] |= (uint8_t)(q >> 4 << hs);
		}
	}
}

unsigned quant_weights(enum ggml_type_id t)
{
	return t == G_F32 || t == G_F16 ? 1 : t == G_Q4_K || t == G_Q6_K ? 256 : 32;
}

static unsigned bytes(enum ggml_type_id t)
{
	switch (t) {
	case G_F32:  return 4;
	case G_F16:  return 2;
	case G_Q4_0: return 18;
	case G_Q8_0: return 34;
	case G_Q4_K: return 144;
	case G_Q6_K: return 210;
	}
	return 0;
}

uint64_t quant_bytes(enum ggml_type_id t, uint64_t n)
{
	return n % quant_weights(t) ? 0 : n / quant_weights(t) * bytes(t);
}

void quant_encode(enum ggml_type_id t, const float *x, unsigned n, uint8_t *out)
{
	for (unsigned i = 0; i < n; i += quant_weights(t), x += quant_weights(t), out += bytes(t))
		switch (t) {
		case G_F32:  memcpy(out, x, 4); break;
		case G_F16:  put_half(out, *x); break;
		case G_Q4_0: encode_q4_0(x, out); break;
		case G_Q8_0: encode_q8_0(x, out); break;
		case G_Q4_K: encode_q4_k(x, out); break;
		case G_Q6_K: encode_q6_k(x, out); break;
		}
}

void quant_parts(enum ggml_type_id t, const uint8_t *in, struct quant_parts *p)
{
	int low, ls, high, hs, s, n;

	memset(p, 0, sizeof(*p));
	switch (t) {
	case G_F32:
	case G_F16:
		break;
	case G_Q8_0:
		p->scale[0] = p->scale[1] = get_half(in);
		for (int i = 0; i < 32; i++)
			p->code[i] = (int8_t)in[2 + i];
		break;
	case G_Q4_0:
		p->scale[0] = p->scale[1] = get_half(in);
		p->min[0] = 8 * p->scale[0];
		for (int i = 0; i < 32; i++)
			p->code[i] = i < 16 ? in[2 + i] & 15 : in[2 + i - 16] >> 4;
		break;
	case G_Q4_K:
		for (int g = 0; g < 8; g++) {
			get_scale_min(in + 4, g, &s, &n);
			p->scale[2 * g] = p->scale[2 * g + 1] = get_half(in) * (float)s;
			p->min[g] = get_half(in + 2) * (float)n;
		}
		for (int i = 0; i < 256; i++)
			p->code[i] = in[16 + i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
		break;
	case G_Q6_K:
		for (int g = 0; g < 16; g++)
			p->scale[g] = get_half(in + 208) * (float)(int8_t)in[192 + g];
		for (int i = 0; i < 256; i++) {
			place_q6_k(i, &low, &ls, &high, &hs);
			p->code[i] = ((in[low] >> ls & 15) | (in[high] >> hs & 3) << 4) - 32;
		}
		break;
	}
}

void quant_decode(enum ggml_type_id t, const uint8_t *in, unsigned n, float *x)
{
	struct quant_parts p;

	for (unsigned i = 0; i < n; i += quant_weights(t), in += bytes(t))
		if (t == G_F32) {
			memcpy(x + i, in, 4);
		} else if (t == G_F16) {
			x[i] = get_half(in);
		} else {
			quant_parts(t, in, &p);
			for (unsigned k = 0; k < quant_weights(t); k++)
				x[i + k] = p.scale[k / 16] * (float)p.code[k] - p.min[k / 32];
		}
}
