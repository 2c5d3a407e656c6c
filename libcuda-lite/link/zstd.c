/* SPDX-License-Identifier: MIT */
/*
 * Reads one Zstandard frame (RFC 8878), as nvcc 13 writes them into fatbins: libraries of ours need no libzstd. No dictionary;
 * the checksum is not looked at. The input is hostile: each read is compared with what is left.
 */
#include "own.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LOG 9u
#define MAX_BITS 11u
#define BLOCK_MAX (128u << 10)

struct fse {
	unsigned log;
	struct { uint16_t base; uint8_t symbol, bits; } at[1u << MAX_LOG];
};

struct huffman {
	unsigned bits;                          /* 0: none yet */
	struct { uint8_t symbol, bits; } at[1u << MAX_BITS];
};

struct bits {                                   /* from the end to the front (§4.1) */
	const uint8_t *p;
	int64_t left;                           /* below 0: more was read than there is */
};

struct frame {
	uint8_t *out;
	size_t at, room;
	struct huffman huffman;
	struct fse ll, of, ml;
	int have_tables;
	uint64_t repeat[3];
	uint8_t literals[BLOCK_MAX];
	size_t nliterals;
};

static unsigned top_bit(uint64_t v)
{
	return 63u - (unsigned)__builtin_clzll(v);
}

static int bits_open(struct bits *b, const uint8_t *p, size_t n)
{
	if (!n || !p[n - 1])
		return -1;
	*b = (struct bits){ p, (int64_t)n * 8 - 8 + top_bit(p[n - 1]) };
	return 0;
}

/* n <= 32; in front of the beginning there are zeros. */
static uint64_t take(struct bits *b, unsigned n)
{
	uint64_t v = 0;

	b->left -= n;
	for (unsigned i = 0; i < n; i++) {
		int64_t at = b->left + i;

		if (at >= 0)
			v |= (uint64_t)(b->p[at >> 3] >> (at & 7) & 1) << i;
	}
	return v;
}

/* §4.1.1: counts become a table. */
static int fse_build(struct fse *t, const int16_t *count, unsigned n, unsigned log)
{
	uint16_t next[256];
	unsigned size = 1u << log, high = size, step = (size >> 1) + (size >> 3) + 3, at = 0;

	t->log = log;
	for (unsigned s = 0; s < n; s++)
		if (count[s] == -1) {
			if (!high)
				return -1;
			t->at[--high].symbol = (uint8_t)s;
			next[s] = 1;
		}
	for (unsigned s = 0; s < n; s++) {
		if (count[s] <= 0)
			continue;
		next[s] = (uint16_t)count[s];
		for (int i = 0; i < count[s]; i++) {
			t->at[at].symbol = (uint8_t)s;
			do
				at = (at + step) & (size - 1);
			while (at >= high);
		}
	}
	if (at)
		return -1;
	for (unsigned i = 0; i < size; i++) {
		unsigned v = next[t->at[i].symbol]++;

		t->at[i].bits = (uint8_t)(log - top_bit(v));
		t->at[i].base = (uint16_t)((v << t->at[i].bits) - size);
	}
	return 0;
}

/* From the front: w bits at a place, zeros behind the end. */
static unsigned ahead(const uint8_t *p, size_t n, size_t bit, unsigned w)
{
	unsigned v = 0;

	for (unsigned i = 0; i < w; i++)
		if ((bit + i) >> 3 < n)
			v |= (unsigned)(p[(bit + i) >> 3] >> ((bit + i) & 7) & 1) << i;
	return v;
}

/* The bytes that the counts take, or 0. */
static size_t fse_read(struct fse *t, const uint8_t *p, size_t n, unsigned symbols, unsigned max_log)
{
	int16_t count[256] = { 0 };
	unsigned s = 0, log;
	int left;
	size_t bit = 4;

	if (!n)
		return 0;
	log = (p[0] & 15) + 5u;
	if (log > max_log)
		return 0;
	for (left = 1 << log; left > 0;) {
		unsigned width = top_bit((unsigned)left + 1) + 1, low = (1u << (width - 1)) - 1, v;
		unsigned limit = (1u << width) - 1 - ((unsigned)left + 1);

		if (s >= symbols || bit >> 3 >= n)
			return 0;
		v = ahead(p, n, bit, width);
		bit += width;
		if ((v & low) < limit) {
			bit--;
			v &= low;
		} else if (v > low) {
			v -= limit;
		}
		count[s] = (int16_t)((int)v - 1);
		left -= count[s] < 0 ? 1 : count[s];
		if (!count[s++]) {
			unsigned more;

			do {
				more = ahead(p, n, bit, 2);
				bit += 2;
				s += more;
			} while (more == 3 && s < symbols);
		}
	}
	if (left || s > symbols || (bit + 7) >> 3 > n || fse_build(t, count, symbols, log))
		return 0;
	return (bit + 7) >> 3;
}

/* §4.2.1: weights become a table; the last one follows from the others. */
static int huffman_build(struct huffman *h, uint8_t *w, unsigned n)
{
	uint32_t sum = 0, rest, at = 0;

	for (unsigned i = 0; i < n; i++) {
		if (w[i] > MAX_BITS)
			return -1;
		sum += w[i] ? 1u << (w[i] - 1) : 0;
	}
	if (!sum || n > 255)
		return -1;
	h->bits = top_bit(sum) + 1;
	rest = (1u << h->bits) - sum;
	if (h->bits > MAX_BITS || (rest & (rest - 1)))
		return -1;
	w[n++] = (uint8_t)(top_bit(rest) + 1);
	for (unsigned weight = 1; weight <= h->bits; weight++)
		for (unsigned s = 0; s < n; s++)
			for (uint32_t k = w[s] == weight ? 1u << (weight - 1) : 0; k; k--, at++) {
				h->at[at].symbol = (uint8_t)s;
				h->at[at].bits = (uint8_t)(h->bits + 1 - weight);
			}
	return at == 1u << h->bits ? 0 : -1;
}

/* The bytes of the tree's description, or 0. */
static size_t huffman_read(struct huffman *h, const uint8_t *p, size_t n)
{
	uint8_t w[256];
	unsigned count = 0;
	size_t used, body;

	h->bits = 0;
	if (!n)
		return 0;
	body = p[0];
	if (body >= 128) {
		count = (unsigned)body - 127;
		used = 1 + (count + 1) / 2;
		if (used > n)
			return 0;
		for (unsigned i = 0; i < count; i++)
			w[i] = i & 1 ? p[1 + i / 2] & 15 : p[1 + i / 2] >> 4;
	} else {
		struct fse t;
		struct bits b;
		unsigned s[2], turn = 0;

		if (body >= n || !(used = fse_read(&t, p + 1, body, 255, 6)) || bits_open(&b, p + 1 + used, body - used))
			return 0;
		s[0] = (unsigned)take(&b, t.log);
		s[1] = (unsigned)take(&b, t.log);
		if (b.left < 0)
			return 0;
		for (; count < 254; turn ^= 1) {        /* two states in turn, until one has read too much */
			w[count++] = t.at[s[turn]].symbol;
			s[turn] = t.at[s[turn]].base + (unsigned)take(&b, t.at[s[turn]].bits);
			if (b.left < 0) {
				w[count++] = t.at[s[turn ^ 1]].symbol;
				break;
			}
		}
		used = 1 + body;
	}
	return huffman_build(h, w, count) ? 0 : used;
}

static int huffman_stream(const struct huffman *h, const uint8_t *p, size_t n, uint8_t *to, size_t count)
{
	struct bits b;
	unsigned state;

	if (!h->bits || bits_open(&b, p, n))
		return -1;
	state = (unsigned)take(&b, h->bits);
	for (size_t i = 0; i < count; i++) {
		unsigned k = h->at[state].bits;

		if (b.left < -(int64_t)h->bits)
			return -1;
		to[i] = h->at[state].symbol;
		state = (state << k | (unsigned)take(&b, k)) & ((1u << h->bits) - 1);
	}
	return b.left == -(int64_t)h->bits ? 0 : -1;
}

/* §3.1.1.3.1; the bytes that the section takes, or 0. */
static size_t literals(struct frame *f, const uint8_t *p, size_t n)
{
	unsigned type, form, width, head, streams;
	size_t packed, used, each, size[4];
	uint64_t v = 0;

	if (!n)
		return 0;
	type = p[0] & 3;
	form = p[0] >> 2 & 3;
	memcpy(&v, p, n < 5 ? n : 5);
	if (type < 2) {
		head = form == 3 ? 3 : form == 1 ? 2 : 1;
		f->nliterals = form & 1 ? v >> 4 & (form == 3 ? 0xfffff : 0xfff) : (v & 0xff) >> 3;
		packed = type ? 1 : f->nliterals;
		if (head > n || packed > n - head || f->nliterals > BLOCK_MAX)
			return 0;
		if (type)
			memset(f->literals, p[head], f->nliterals);
		else
			memcpy(f->literals, p + head, packed);
		return head + packed;
	}
	width = form < 2 ? 10 : form == 2 ? 14 : 18;
	head = form < 2 ? 3 : form == 2 ? 4 : 5;
	streams = form ? 4 : 1;
	f->nliterals = v >> 4 & ((1u << width) - 1);
	packed = v >> (4 + width) & ((1u << width) - 1);
	if (head > n || packed > n - head || f->nliterals > BLOCK_MAX)
		return 0;
	p += head;
	used = type == 2 ? huffman_read(&f->huffman, p, packed) : 0;
	if (type == 2 && !used)
		return 0;
	p += used;
	n = packed - used;
	if (streams == 1)
		return huffman_stream(&f->huffman, p, n, f->literals, f->nliterals) ? 0 : head + packed;
	if (n < 6)
		return 0;
	n -= 6;
	each = (f->nliterals + 3) / 4;
	for (unsigned i = 0; i < 3; i++) {
		size[i] = (size_t)p[2 * i] | (size_t)p[2 * i + 1] << 8;
		if (size[i] > n)
			return 0;
		n -= size[i];
	}
	size[3] = n;
	p += 6;
	if (3 * each > f->nliterals)
		return 0;
	for (unsigned i = 0; i < 4; i++) {
		if (huffman_stream(&f->huffman, p, size[i], f->literals + i * each, i < 3 ? each : f->nliterals - 3 * each))
			return 0;
		p += size[i];
	}
	return head + packed;
}

static const int16_t ll_default[36] = { 4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
					-1, -1, -1, -1 };
static const int16_t ml_default[53] = { 1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
					1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1 };
static const int16_t of_default[29] = { 1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1 };
static const uint32_t ll_base[36] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48, 64, 128, 256,
				      512, 1024, 2048, 4096, 8192, 16384, 32768, 65536 };
static const uint8_t ll_bits[36] = { [16] = 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static const uint32_t ml_base[53] = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
				      31, 32, 33, 34, 35, 37, 39, 41, 43, 47, 51, 59, 67, 83, 99, 131, 259, 515, 1027, 2051, 4099, 8195,
				      16387, 32771, 65539 };
static const uint8_t ml_bits[53] = { [32] = 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

/* One of the three tables by its mode; *p moves on. */
static int table(struct fse *t, unsigned mode, const int16_t *norm, unsigned symbols, unsigned log, unsigned max_log, const uint8_t **p,
		 const uint8_t *end, int have)
{
	size_t n;

	switch (mode) {
	case 0:
		return fse_build(t, norm, symbols, log);
	case 1:
		if (*p == end || **p >= symbols + (symbols == 29 ? 3 : 0))
			return -1;
		t->log = 0;
		t->at[0].symbol = *(*p)++;
		t->at[0].bits = 0;
		t->at[0].base = 0;
		return 0;
	case 2:
		n = fse_read(t, *p, (size_t)(end - *p), symbols == 29 ? 32 : symbols, max_log);
		*p += n;
		return n ? 0 : -1;
	}
	return have ? 0 : -1;
}

static uint64_t offset_of(struct frame *f, uint64_t value, uint64_t literal_length)
{
	uint64_t *r = f->repeat, offset;
	unsigned i;

	if (value > 3) {
		offset = value - 3;
		i = 2;
	} else {
		i = (unsigned)value - 1 + (literal_length == 0);
		offset = i == 3 ? r[0] - 1 : r[i];
		if (!i)
			return offset;
	}
	if (i > 1)
		r[2] = r[1];
	r[1] = r[0];
	return r[0] = offset;
}

static int put(struct frame *f, const uint8_t *p, uint64_t n)
{
	if (n > f->room - f->at)
		return -1;
	memcpy(f->out + f->at, p, n);
	f->at += n;
	return 0;
}

static int sequences(struct frame *f, const uint8_t *p, const uint8_t *end)
{
	unsigned n, ll, of, ml, modes;
	const uint8_t *lit = f->literals, *lit_end = lit + f->nliterals;
	struct bits b;

	if (p == end)
		return -1;
	n = *p++;
	if (n >= 128 && end - p < (n == 255 ? 2 : 1))
		return -1;
	if (n == 255) {
		n = p[0] + (p[1] << 8) + 0x7f00u;
		p += 2;
	} else if (n >= 128) {
		n = ((n - 128) << 8) + *p++;
	}
	if (!n)
		return p == end ? put(f, lit, f->nliterals) : -1;
	if (p == end)
		return -1;
	modes = *p++;
	if (table(&f->ll, modes >> 6, ll_default, 36, 6, 9, &p, end, f->have_tables) ||
	    table(&f->of, modes >> 4 & 3, of_default, 29, 5, 8, &p, end, f->have_tables) ||
	    table(&f->ml, modes >> 2 & 3, ml_default, 53, 6, 9, &p, end, f->have_tables) || bits_open(&b, p, (size_t)(end - p)))
		return -1;
	f->have_tables = 1;
	ll = (unsigned)take(&b, f->ll.log);
	of = (unsigned)take(&b, f->of.log);
	ml = (unsigned)take(&b, f->ml.log);
	while (n--) {
		unsigned cl = f->ll.at[ll].symbol, co = f->of.at[of].symbol, cm = f->ml.at[ml].symbol;
		uint64_t value, match, length, offset;

		if (cl > 35 || co > 31 || cm > 52)
			return -1;
		value = (1ull << co) + take(&b, co);
		match = ml_base[cm] + take(&b, ml_bits[cm]);
		length = ll_base[cl] + take(&b, ll_bits[cl]);
		offset = offset_of(f, value, length);
		if (b.left < 0 || length > (size_t)(lit_end - lit) || put(f, lit, length) || !offset || offset > f->at || match > f->room - f->at)
			return -1;
		lit += length;
		for (; match; match--, f->at++)
			f->out[f->at] = f->out[f->at - offset];
		if (n) {
			ll = f->ll.at[ll].base + (unsigned)take(&b, f->ll.at[ll].bits);
			ml = f->ml.at[ml].base + (unsigned)take(&b, f->ml.at[ml].bits);
			of = f->of.at[of].base + (unsigned)take(&b, f->of.at[of].bits);
		}
	}
	return b.left ? -1 : put(f, lit, (uint64_t)(lit_end - lit));
}

static int blocks(struct frame *f, const uint8_t *p, const uint8_t *end)
{
	unsigned head;

	do {
		size_t size, used;

		if (end - p < 3)
			return -1;
		head = p[0] | p[1] << 8 | (unsigned)p[2] << 16;
		size = head >> 3;
		p += 3;
		if ((head >> 1 & 3) == 1) {
			if (p == end || size > f->room - f->at)
				return -1;
			memset(f->out + f->at, *p++, size);
			f->at += size;
			continue;
		}
		if (size > (size_t)(end - p) || (head >> 1 & 3) == 3)
			return -1;
		if (!(head >> 1 & 3)) {
			if (put(f, p, size))
				return -1;
		} else if (!(used = literals(f, p, size)) || sequences(f, p + used, p + size)) {
			return -1;
		}
		p += size;
	} while (!(head & 1));
	return f->at == f->room ? 0 : -1;
}

int zstd_frame(const uint8_t *p, size_t n, uint8_t *to, size_t room)
{
	static const uint8_t magic[4] = { 0x28, 0xb5, 0x2f, 0xfd };
	static const uint8_t dictionary[4] = { 0, 1, 2, 4 };
	struct frame *f;
	unsigned single;
	size_t skip;
	int err;

	if (n < 5 || memcmp(p, magic, 4) || p[4] & 8)
		return -1;
	single = p[4] >> 5 & 1;
	skip = 5 + !single + dictionary[p[4] & 3] + (p[4] >> 6 ? 1u << (p[4] >> 6) : single);
	f = skip <= n ? calloc(1, sizeof(*f)) : NULL;
	if (!f)
		return -1;
	f->out = to;
	f->room = room;
	f->repeat[0] = 1;
	f->repeat[1] = 4;
	f->repeat[2] = 8;
	err = blocks(f, p + skip, p + n);
	free(f);
	return err;
}
