/* SPDX-License-Identifier: MIT */
/*
 * The inputs: for each type and place (x, y, z) the same INPUTS values in every run, in an order that mixes them within a
 * warp. Special values and their neighbours, all bit patterns alike, magnitudes alike, the ranges where functions do most of
 * their work, neighbourhoods of multiples of pi/2 (the hard cases of range reduction), and pairs that nearly cancel.
 */
#ifndef TESTS_MATHS_INPUTS_H
#define TESTS_MATHS_INPUTS_H

#define INPUTS 4096u

enum type { TYPE_f32, TYPE_f64, TYPE_s16, TYPE_u16, TYPE_s32, TYPE_u32, TYPE_s64, TYPE_u64, TYPE_h16, TYPE_h32, TYPES };
static const size_t type_bytes[TYPES] = { 4, 8, 2, 2, 4, 4, 8, 8, 2, 4 };

static uint64_t inputs[TYPES][3][INPUTS];
static unsigned straight[INPUTS], sorted[TYPES][INPUTS];

static uint64_t rng_state = 88172645463325252ull;
static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state * 0x2545f4914f6cdd1dull;
}
static double rng_unit(void) { return (double)(rng() >> 11) * 0x1p-53; }
static unsigned rng_below(unsigned n) { return (unsigned)(rng() >> 33) % n; }

/* where functions change their ways, overflow, or have a zero or a pole */
static double special(int single)
{
	static const double both[] = { 0, 1, 2, 3, 0.5, 0.25, 1.5, 2.5, 8, 10, 0.41421356237309503, 0.7071067811865476, 1.4142135623730951,
		M_PI, M_PI_2, M_PI_4, M_E, M_LN2, 2.404825557695773, 3.8317059702075125, 0.8935769662791675, 2.197141326031017,
		10.001, 2.264, 23.0001, 2.2637, 1.4616321449683623, 127, 128, 24, 25, 31, 32, 63, 64, 2147483647, 2147483648.0,
		4294967295.0, 4294967296.0, 0x1p62, 0x1p63, 0x1p64, 0x1p23, 0x1p24, 0x1p52, 0x1p53, 105615, 0x1p31, 65504, 65520, INFINITY, NAN };
	static const double narrow[] = { 88.72283, 89, 103.97, 87.33, 127.5, 149, 150, 126, 38.53, 45.15, 38, 35.04, 171.6, 10.05, 9.3, 13.1, 14.5,
		0x1p-126, 0x1p-149, 0x1.fffffep127, 0x1p-127, 0x1p127, 0x1p126, 0x1p-24, 0x1p-12, 48039, 91.9, 26.6, 5.9 };
	static const double wide[] = { 709.782712893384, 745.1332191019412, 708.3964185322641, 1023.5, 1074, 1075, 1022, 308.25, 323.3, 710.4758600739439,
		171.6243769563027, 170.6, 26.543, 27.2, 37.5, 38.5, 713.99, 0x1p-1022, 0x0.0000000000001p-1022, 0x1.fffffffffffffp1023, 0x1p-1023,
		0x1p1023, 0x1p-53, 0x1p-26, 5.9, 6.1 };
	unsigned n = sizeof(both) / sizeof(both[0]), own = single ? sizeof(narrow) / sizeof(narrow[0]) : sizeof(wide) / sizeof(wide[0]);
	unsigned i = rng_below(n + own);
	double v = i < n ? both[i] : single ? narrow[i - n] : wide[i - n];

	return rng() & 1 << 20 ? -v : v;
}

/* a float's bits, moved by a few places */
static uint64_t nudged(double v, int single)
{
	int by = (int)rng_below(9) - 4;
	uint64_t u = single ? bits32((f32)v) : bits64(v), magnitude = single ? 0x7fffffff : ~0ull >> 1;

	if ((by < 0 && (u & magnitude) >= 4) || (by > 0 && v - v == 0))
		u += (uint64_t)(int64_t)by;
	return single ? (u32)u : u;
}

static uint64_t real_input(int single)
{
	static const double ranges[] = { 1, 2, 10, 40, 100, 1000 };
	uint64_t u;

	switch (rng_below(8)) {
	case 0: case 1:
		return nudged(special(single), single);
	case 2:
		u = rng();
		return single ? (u32)u : u;
	case 3:
		return nudged(rint(ldexp(rng_unit(), (int)rng_below(single ? 40 : 70))) * M_PI_2 * (rng() & 1 << 20 ? -1 : 1), single);
	case 4:
		return nudged(1 + (rng_unit() - 0.5) * ldexp(1, -(int)rng_below(30)), single);
	case 5:
		return nudged(ldexp(1 + rng_unit(), (int)rng_below(60) - 40) * (rng() & 1 << 20 ? -1 : 1), single);
	default:
		return nudged((2 * rng_unit() - 1) * ranges[rng_below(6)], single);
	}
}

static uint64_t integer_input(int bits)
{
	uint64_t v = rng();

	switch (rng_below(4)) {
	case 0: v = (uint64_t)((int64_t)rng_below(81) - 40); break;
	case 1: v = (1ull << rng_below((unsigned)bits)) + rng_below(3) - 1; break;
	case 2: v &= rng(); v >>= rng_below(64); break;
	default: break;
	}
	if (rng_below(8) == 0)
		v = ~v;
	return v & (~0ull >> (64 - bits));
}

static uint64_t half_input(void)
{
	static const u16 some[] = { 0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x007f, 0x0080, 0x3c00, 0xbc00, 0x3f80, 0xbf80, 0x3800, 0x7bff, 0xfbff, 0x7c00,
				    0xfc00, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7e00, 0x7fc0, 0x7fff, 0xffff, 0x4f00, 0x5c00, 0x6400, 0x7800 };

	switch (rng_below(4)) {
	case 0: return some[rng_below(sizeof(some) / sizeof(some[0]))];
	case 1: return (rng() & 0x8000) | (0x3000 + rng_below(0x1800));
	case 2: return (rng() & 0x8000) | (0x3e00 + rng_below(0x400));
	default: return rng() & 0xffff;
	}
}

static uint64_t bytes_input(void)
{
	static const unsigned char some[] = { 0, 1, 0x7f, 0x80, 0x81, 0xff, 0x40, 0xc0 };
	uint64_t v = rng();

	for (int i = 0; i < 32; i += 8)
		if (rng() & 1 << 20)
			v = (v & ~(0xffull << i)) | (uint64_t)some[rng_below(8)] << i;
	return v & 0xffffffff;
}

static uint64_t one_input(enum type t)
{
	switch (t) {
	case TYPE_f32: return real_input(1);
	case TYPE_f64: return real_input(0);
	case TYPE_h16: return half_input();
	case TYPE_h32: return half_input() | half_input() << 16;
	case TYPE_u32: return rng_below(2) ? bytes_input() : integer_input(32);
	default: return integer_input((int)type_bytes[t] * 8);
	}
}

static int by_value_type;
static int by_value(const void *a, const void *b)
{
	uint64_t x = inputs[by_value_type][0][*(const unsigned *)a], y = inputs[by_value_type][0][*(const unsigned *)b];

	return x < y ? -1 : x > y;
}

static void make_inputs(void)
{
	for (int t = 0; t < TYPES; t++) {
		for (unsigned i = 0; i < INPUTS; i++) {
			for (int k = 0; k < 3; k++)
				inputs[t][k][i] = one_input((enum type)t);
			if (rng_below(8) == 0)          /* y like x; z against their product */
				inputs[t][1][i] = inputs[t][0][i] ^ (rng() & 1);
			if (rng_below(8) == 0 && t == TYPE_f32)
				inputs[t][2][i] = bits32(-from32((u32)inputs[t][0][i]) * from32((u32)inputs[t][1][i]));
			if (rng_below(8) == 0 && t == TYPE_f64)
				inputs[t][2][i] = bits64(-from64(inputs[t][0][i]) * from64(inputs[t][1][i]));
			sorted[t][i] = straight[i] = i;
		}
		by_value_type = t;
		qsort(sorted[t], INPUTS, sizeof(sorted[t][0]), by_value);
	}
}

static const void *input(enum type t, int k, unsigned i) { return &inputs[t][k][i]; }
static const unsigned *input_order(enum type t, int pass) { return pass ? sorted[t] : straight; }

static void inputs_to(unsigned char *to, enum type t, int k, const unsigned *order)
{
	for (unsigned i = 0; i < INPUTS; i++)
		memcpy(to + i * type_bytes[t], &inputs[t][k][order[i]], type_bytes[t]);
}

static const char *input_text(const enum type t[3], unsigned i)
{
	static char text[200];
	size_t n = 0;

	for (int k = 0; k < 3; k++) {
		uint64_t v = inputs[t[k]][k][i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s0x%llx", k ? " " : "", (unsigned long long)v);
		if (t[k] == TYPE_f32 || t[k] == TYPE_f64)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "=%.9g", t[k] == TYPE_f32 ? (double)from32((u32)v) : from64(v));
	}
	return text;
}
#endif
