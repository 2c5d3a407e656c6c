/* SPDX-License-Identifier: MIT */
/*
 * Loads, stores and atomics for optest.c: the kernel around one such instruction, and what it
 * must leave in memory. Every lane works on 64 bytes of its own; collisions between lanes are
 * the business of the case files.
 *
 * A load goes to output slots 0..3, one an element. A store goes into the lane's output bytes,
 * through shared or local memory where the form says so. An atomic works on slot 0 (which
 * starts as input slot 0), its result goes to slot 2.
 */
#ifndef TESTS_PTX_MEMORY_FORMS_H
#define TESTS_PTX_MEMORY_FORMS_H

#include "reference_float.h"

#define PARAM_LANE 77u          /* whose input the kernel parameter is a copy of */

struct memory_form {
	char text[96];
	enum { M_LD, M_ST, M_ATOM, M_RED } op;
	enum { S_GENERIC, S_GLOBAL, S_SHARED, S_LOCAL, S_PARAM } space;
	unsigned elements;
	struct rtype t;
	char what[8];                   /* operation of an atomic */
};

typedef void (*emit_fn)(const char *fmt, ...);

static int memory_parse(const char *text, struct memory_form *m)
{
	struct insn in;

	memset(m, 0, sizeof(*m));
	if (split(&in, text) || !one_of(in.tok[0], "ld ldu st atom red") || in.nt != 1)
		return -1;
	strcpy(m->text, text);
	m->op = is(&in, "st") ? M_ST : is(&in, "atom") ? M_ATOM : is(&in, "red") ? M_RED : M_LD;
	m->space = has(&in, "global") ? S_GLOBAL : has(&in, "shared") ? S_SHARED :
		   has(&in, "local") ? S_LOCAL : has(&in, "param") ? S_PARAM : S_GENERIC;
	m->elements = has(&in, "v4") ? 4 : has(&in, "v2") ? 2 : 1;
	m->t = in.t[0];
	if (has(&in, "const") || (m->space == S_PARAM && m->op != M_LD))
		return -1;
	for (int i = 1; i < in.ntok && !m->what[0]; i++)
		if (one_of(in.tok[i], "add min max inc dec and or xor exch cas"))
			strcpy(m->what, in.tok[i]);
	return (m->op == M_ATOM || m->op == M_RED) && !m->what[0] ? -1 : 0;
}

static const char *const shared_copy[2] = {
	"\tmov.u32 %%r7, sh;\n\tmad.lo.u32 %%r7, %%r2, 64, %%r7;\n", "[%%r7+%u]"
};

/* Copies the 64 bytes at %rd2 (or %rd5) into the space, or from the space to %rd5. */
static void copy_area(const struct memory_form *m, emit_fn emit, const char *global, int out)
{
	const char *space = m->space == S_SHARED ? "shared" : "local";
	const char *at = m->space == S_SHARED ? "%r7" : "%rd7";

	if (m->space != S_SHARED && m->space != S_LOCAL)
		return;
	if (!out)
		emit(m->space == S_SHARED ? shared_copy[0] : "\tmov.u64 %%rd7, lo;\n");
	for (unsigned i = 0; i < 8; i++)
		if (out)
			emit("\tld.%s.b64 %%rd8, [%s+%u];\n\tst.global.b64 [%s+%u], %%rd8;\n", space, at,
			     8 * i, global, 8 * i);
		else
			emit("\tld.global.b64 %%rd8, [%s+%u];\n\tst.%s.b64 [%s+%u], %%rd8;\n", global,
			     8 * i, space, at, 8 * i);
}

static const char *address(const struct memory_form *m, int out)
{
	switch (m->space) {
	case S_SHARED: return "%r7";
	case S_LOCAL: return "%rd7";
	case S_PARAM: return "pb";
	default: return out ? "%rd5" : "%rd2";
	}
}

/* Registers %r1x or %rd1x; an 8 or 16-bit element sits in 32 bits. */
static void element(const struct memory_form *m, unsigned i, char *out, size_t n)
{
	snprintf(out, n, "%%%s%u", m->t.bits == 64 ? "rd" : "r", 10 + i);
}

static void memory_body(const struct memory_form *m, emit_fn emit)
{
	unsigned wide = m->t.bits == 64 ? 64 : 32;
	char list[64] = "", r[16];
	int half = m->op >= M_ATOM && m->t.bits == 16;

	for (unsigned i = 0; i < m->elements; i++) {
		element(m, i, r, sizeof(r));
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", i ? ", " : "", r);
	}
	if (m->op == M_LD) {
		copy_area(m, emit, "%rd2", 0);
		for (unsigned i = 0; i < m->elements; i++) {
			element(m, i, r, sizeof(r));
			emit("\tmov.b%u %s, 0x5a5a5a5a;\n", wide, r);
		}
		emit("\t@%%p0 %s %s%s%s, [%s];\n", m->text, m->elements > 1 ? "{" : "", list,
		     m->elements > 1 ? "}" : "", address(m, 0));
		for (unsigned i = 0; i < m->elements; i++) {
			element(m, i, r, sizeof(r));
			emit("\tst.global.b%u [%%rd5+%u], %s;\n", wide, 8 * i, r);
		}
	} else if (m->op == M_ST) {
		copy_area(m, emit, "%rd5", 0);
		for (unsigned i = 0; i < m->elements; i++) {
			element(m, i, r, sizeof(r));
			emit("\tld.global.b%u %s, [%%rd2+%u];\n", wide, r, 8 * i);
		}
		emit("\t@%%p0 %s [%s], %s%s%s;\n", m->text, address(m, 1), m->elements > 1 ? "{" : "",
		     list, m->elements > 1 ? "}" : "");
		copy_area(m, emit, "%rd5", 1);
	} else {
		const char *b = half ? "%h11" : wide == 64 ? "%rd11" : "%r11";
		const char *c = half ? "%h12" : wide == 64 ? "%rd12" : "%r12";
		const char *d = half ? "%h10" : wide == 64 ? "%rd10" : "%r10";

		emit("\tld.global.b64 %%rd8, [%%rd2];\n\tst.global.b64 [%%rd5], %%rd8;\n");
		copy_area(m, emit, "%rd5", 0);
		emit("\tld.global.b%u %s, [%%rd2+8];\n\tld.global.b%u %s, [%%rd2+16];\n",
		     half ? 16 : wide, b, half ? 16 : wide, c);
		emit("\tmov.b%u %s, 0x5a5a;\n", half ? 16 : wide, d);
		if (m->op == M_ATOM)
			emit("\t@%%p0 %s %s, [%s], %s%s%s;\n", m->text, d, address(m, 1), b,
			     strcmp(m->what, "cas") ? "" : ", ", strcmp(m->what, "cas") ? "" : c);
		else
			emit("\t@%%p0 %s [%s], %s;\n", m->text, address(m, 1), b);
		copy_area(m, emit, "%rd5", 1);
		emit("\tst.global.b%u [%%rd5+16], %s;\n", half ? 16 : wide, d);
	}
	emit("\tret;\n}\n");
}

/* 9.7.13.4: new value of the cell */
static uint64_t atomic(const struct memory_form *m, uint64_t old, uint64_t b, uint64_t c)
{
	struct rtype t = m->t;
	struct insn in;
	struct result r[2];
	uint64_t s[3] = { old, b, 0 };

	if (!strcmp(m->what, "exch"))
		return b;
	if (!strcmp(m->what, "cas"))
		return old == b ? c : old;
	if (!strcmp(m->what, "inc"))
		return old >= b ? 0 : old + 1;
	if (!strcmp(m->what, "dec"))
		return old == 0 || old > b ? b : old - 1;
	memset(&in, 0, sizeof(in));
	strcpy(in.tok[0], m->what);
	in.ntok = in.nt = 1;
	/* sums of .f32 flush in global memory, and do not in shared memory (9.7.13.5) */
	if (t.kind == 'f' && t.bits == 32 && m->space != S_SHARED)
		strcpy(in.tok[in.ntok++], "ftz");
	in.t[0] = t;
	if (evaluate(&in, s, r))
		return 0;
	if (t.kind == 'h')
		return (r[0].mode == R_NAN ? 0x7fff : r[0].bits) |
		       (r[1].mode == R_NAN ? 0x7fff : r[1].bits) << 16;
	return r[0].bits & mask_of(t.bits);
}

/* want holds the fill pattern on entry, the expected output bytes on return. */
static void memory_reference(const struct memory_form *m, const uint64_t *in, const uint64_t *param,
			     unsigned char *want)
{
	const unsigned char *bytes = (const unsigned char *)(m->space == S_PARAM ? param : in);
	unsigned size = m->t.bits / 8, wide = m->t.bits == 64 ? 8 : 4;
	int on = (uint32_t)in[7] != 0;

	if (m->op == M_LD) {
		for (unsigned i = 0; i < m->elements; i++) {
			uint64_t v = 0x5a5a5a5a;

			if (on) {
				v = 0;
				memcpy(&v, bytes + i * size, size);
				if (m->t.kind == 's')
					v = (uint64_t)sext(v, m->t.bits);
			}
			memcpy(want + 8 * i, &v, wide);
		}
	} else if (m->op == M_ST) {
		for (unsigned i = 0; on && i < m->elements; i++)
			memcpy(want + i * size, &in[i], size);
	} else {
		uint64_t old = in[0] & mask_of(m->t.bits), v, d = 0x5a5a;

		memcpy(want, in, 8);
		if (on) {
			v = atomic(m, old, in[1] & mask_of(m->t.bits), in[2] & mask_of(m->t.bits));
			memcpy(want, &v, size);
			if (m->op == M_ATOM)
				d = old;
		}
		memcpy(want + 16, &d, m->t.bits == 16 ? 2 : wide);
	}
}

/* Bytes, but a NaN that an atomic made may be any NaN (9.7.13.4). */
static int memory_matches(const struct memory_form *m, const unsigned char *want, const void *got)
{
	uint64_t w, g;
	struct sf_format f;
	unsigned n = m->t.bits == 32 && m->t.kind == 'h' ? 2 : 1;

	if (!memcmp(want, got, 64))
		return 1;
	if (m->op < M_ATOM || !is_float(m->t))
		return 0;
	if (memcmp(want + 8, (const char *)got + 8, 56))
		return 0;
	memcpy(&w, want, 8);
	memcpy(&g, got, 8);
	if ((w ^ g) & ~mask_of(m->t.bits))
		return 0;
	f = format_of(m->t);
	for (unsigned i = 0; i < n; i++) {
		struct sf x = sf_unpack(f, w >> 16 * i, 0), y = sf_unpack(f, g >> 16 * i, 0);

		if (x.cls == SF_NAN && y.cls == SF_NAN)
			continue;
		if (x.cls != y.cls || x.sign != y.sign || x.exp != y.exp || x.m != y.m)
			return 0;
	}
	return 1;
}

#endif
