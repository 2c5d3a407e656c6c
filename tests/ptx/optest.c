/* SPDX-License-Identifier: MIT */
/*
 * Differential test: every form of the scalar ISA in forms.txt, run by the cpu engine on special
 * and random values and compared with the scalar reference of reference.h, bit for bit where
 * the ISA fixes the result. In front of that, checks of the engine's interface (interface.h) and of matrix instructions (tensor.h).
 *
 * Build: tests/ptx/optest.c tools/vgpu-stub/cpu/[all].c -llz4 -lzstd -lm -lpthread
 * Usage: optest [-s SEED] [-d FOLDER] [-m MODE] [-j JOBS] [-x SEED] [-k] [FORM...]   FOLDER holds forms.txt and cases/
 *        (default tests/ptx); -m: jit, interp, memcheck or cuda (by JOBS processes); -k prints the generated kernels; exit 0 or 1
 *
 * Each form runs as four kernels: registers under a varying predicate; a literal as one operand;
 * the result in the register of the first source; the same operands in all lanes of a block.
 * A form with operands behind its mnemonic stands as it is written, see reference_more.h.
 * A line of forms.txt that ends in "@name" is not scalar: it is covered when cases/name.ptx
 * contains the mnemonic.
 */
#include <stdarg.h>
#include <unistd.h>

#define RIG_CUDA
#include "rig.h"
#include "pool.h"

#include "reference_more.h"
#include "memory_forms.h"
#include "interface.h"
#include "wmma.h"

#ifdef __SANITIZE_ADDRESS__
#define LANES 1000u             /* here it is about what is read and written; the values are the other build's */
#else
#define LANES 4000u
#endif
#define BLOCK 200u              /* the last warp of a block has 8 lanes */
#define AREA 64u                /* bytes of input and of output a lane: eight slots */
#define SENTINEL 0x5a5a5a5a5a5a5a5aull
#define MAX_SHOWN (rig_on_cuda ? 8u : 3u)

enum { V_REGISTERS, V_LITERAL, V_ALIAS, V_UNIFORM, VARIANTS };

static struct rig rig;
static uint64_t *input, *output;        /* device memory, LANES areas each */
static uint64_t rng_state, seed = 20240611;
static unsigned mismatches, compared_results;
static int show_kernels, skipped;
static unsigned near_one = 9;    /* exponents that random floats have, around 1 */
static char text[16384];

static uint64_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state * 0x2545f4914f6cdd1dull;
}

/* ---- operand values ------------------------------------------------------------------------- */

static const uint64_t int_specials[] = {
	0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33, 63, 64, 65, 127, 128, 200, 255, 256, 0x7fff, 0x8000,
	0xffff, 0x10000, 0x7fffff, 0x800000, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe,
	0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffffe,
	0xffffffffffffffff, 0x123456789abcdef0,
};

static const uint32_t f32_specials[] = {
	0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x00800001, 0x33800000,
	0x3effffff, 0x3f000000, 0xbf000000, 0x3f7fffff, 0x3f800000, 0xbf800000, 0x3f800001,
	0x3fc00000, 0x40000000, 0x40200000, 0xc0200000, 0x40490fdb, 0x42ff0000, 0x43000000,
	0x437f8000, 0x47000000, 0x477fe000, 0x477ff000, 0x477fefff, 0x4b000001, 0x4b7fffff,
	0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff,
	0x5f000000, 0xdf000000, 0x5f800000, 0x7e800000, 0x7f000000, 0x7f7fffff, 0xff7fffff,
	0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001,
};

static const uint16_t f16_specials[] = {
	0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x8400, 0x401, 0x1400, 0x3800, 0xb800, 0x3bff, 0x3c00,
	0xbc00, 0x3c01, 0x3e00, 0x4000, 0x4248, 0x5640, 0x77ff, 0x7800, 0x7bff, 0xfbff, 0x7c00,
	0xfc00, 0x7e00, 0xfe00, 0x7c01, 0x3f80, 0x7f80, 0xff80, 0x7fc0, 0x0080, 0x8080,
};

static uint64_t f64_special(unsigned i)
{
	static const uint64_t extra[] = {
		1, 0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000001, 0x3ff0000010000000,
		0x3ff0000010000001, 0x43dfffffffffffff, 0x43e0000000000000, 0xc3e0000000000000,
		0x43f0000000000000, 0x41dfffffffc00000, 0x41dfffffffe00000, 0x7fefffffffffffff,
		0x36a0000000000000, 0x3690000000000000, 0x380fffffffffffff,
	};
	unsigned n = sizeof(f32_specials) / sizeof(f32_specials[0]);

	if (i >= n)
		return extra[i - n];
	/* the f32 ones, widened exactly */
	return sf_pack(SF_F64, sf_unpack(SF_F32, f32_specials[i], 0), SF_RN, 0, NULL) |
	       (uint64_t)(f32_specials[i] >> 31) << 63;
}

static unsigned special_count(struct rtype t)
{
	if (is_float(t) && t.bits == 64)
		return sizeof(f32_specials) / sizeof(f32_specials[0]) + 16;
	if (t.kind == 'f' && t.bits == 32)
		return sizeof(f32_specials) / sizeof(f32_specials[0]);
	if (is_float(t))
		return sizeof(f16_specials) / sizeof(f16_specials[0]);
	return t.kind == 'p' ? 2 : sizeof(int_specials) / sizeof(int_specials[0]);
}

static uint64_t special(struct rtype t, unsigned i)
{
	i %= special_count(t);
	if (is_float(t) && t.bits == 64)
		return f64_special(i);
	if (t.kind == 'f' && t.bits == 32)
		return f32_specials[i];
	if (is_float(t))
		return f16_specials[i] | (t.bits == 32 ? (uint64_t)f16_specials[rng() %
			(sizeof(f16_specials) / sizeof(f16_specials[0]))] << 16 : 0);
	return int_specials[i];
}

static uint64_t random_value(struct rtype t)
{
	uint64_t v = rng();

	if (is_float(t) && v >> 60 < 10) {
		/* an exponent near that of 1, where sums cancel and products stay in range */
		struct sf_format f = format_of(t);
		uint64_t e = (1u << (f.ebits - 1)) - (near_one / 2 + 1) + (v >> 50) % near_one;
		uint64_t one = ((v & 1) << (f.ebits + f.mbits)) | e << f.mbits |
			       (rng() & ((1ull << f.mbits) - 1));

		return t.bits == 32 && f.mbits < 23 ? one << 16 | (rng() & 0xffff) : one;
	}
	if (!is_float(t) && v >> 60 < 6)
		return (v >> 8) & mask_of((unsigned)(v & 63) + 1);
	return rng();
}

static uint64_t operand_value(struct rtype t, unsigned lane, unsigned k)
{
	unsigned n = special_count(t), index = k == 0 ? lane : k == 1 ? lane / n : lane * 7 + k;
	uint64_t v = k == 0 ? (lane < n * n ? special(t, index) : rng() & 1 ? special(t, (unsigned)rng() >> 1) :
			       random_value(t)) :
		     lane < n * n && k < 3 ? special(t, index) :
		     rng() & 1 ? special(t, (unsigned)rng() >> 1) : random_value(t);

	return v;
}

/* ---- kernels -------------------------------------------------------------------------------- */

/* Register that holds an operand; narrow ones (8 bits) live in 32-bit registers. */
static void reg_name(struct rtype t, unsigned k, char *out, size_t n)
{
	snprintf(out, n, "%%%s%u", t.kind == 'p' ? "p" : t.bits == 16 ? "h" : t.bits == 64 ? "rd" : "r",
		 10 + k);
}

static void literal(struct rtype t, uint64_t v, char *out, size_t n)
{
	v &= mask_of(t.bits);
	if (t.kind == 'f')
		snprintf(out, n, t.bits == 64 ? "0d%016llX" : "0f%08llX", (unsigned long long)v);
	else if (t.kind == 's')
		snprintf(out, n, "%lld", (long long)sext(v, t.bits));
	else
		snprintf(out, n, "0x%llx", (unsigned long long)v);
}

static void __attribute__((format(printf, 1, 2))) emit(const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	va_end(ap);
}

static void emit_head(int uniform)
{
	text[0] = 0;
	emit(".version 8.8\n.target sm_%s\n.address_size 64\n\n"
	     ".visible .entry k(.param .u64 in, .param .u64 out, .param .align 16 .b8 pb[64])\n{\n"
	     "\t.reg .pred %%p<40>;\n\t.reg .b16 %%h<40>;\n\t.reg .b32 %%r<40>;\n"
	     "\t.reg .b64 %%rd<40>;\n\t.reg .b8 q<4>;\n\t.shared .align 16 .b8 sh[%u];\n"
	     "\t.local .align 16 .b8 lo[%u];\n\n", rig_on_cuda ? "90a" : "100a", BLOCK * AREA, AREA);
	emit("\tmov.u32 %%r0, %%ctaid.x;\n\tmov.u32 %%r1, %%ntid.x;\n\tmov.u32 %%r2, %%tid.x;\n"
	     "\tmul.lo.u32 %%r3, %%r0, %%r1;\n\tadd.u32 %%r4, %%r3, %%r2;\n"
	     "\tld.param.u64 %%rd0, [in];\n\tmul.wide.u32 %%rd1, %s, %u;\n"
	     "\tadd.u64 %%rd2, %%rd0, %%rd1;\n\tld.param.u64 %%rd3, [out];\n"
	     "\tmul.wide.u32 %%rd4, %%r4, %u;\n\tadd.u64 %%rd5, %%rd3, %%rd4;\n",
	     uniform ? "%r3" : "%r4", AREA, AREA);
	/* slot 7 of the input holds the predicate */
	emit("\tld.global.u32 %%r5, [%%rd2+56];\n\tsetp.ne.u32 %%p0, %%r5, 0;\n");
}

/* %rd2: the lane's input, %rd5: its output, %p0: its predicate */
static void emit_load(struct rtype t, unsigned k)
{
	char r[16];

	reg_name(t, k, r, sizeof(r));
	if (t.kind == 'p')
		emit("\tld.global.u32 %%r6, [%%rd2+%u];\n\tand.b32 %%r6, %%r6, 1;\n"
		     "\tsetp.ne.u32 %s, %%r6, 0;\n", 8 * k, r);
	else
		emit("\tld.global.b%u %s, [%%rd2+%u];\n", t.bits == 8 ? 32 : t.bits, r, 8 * k);
}

static void emit_sentinel(struct rtype t, const char *r)
{
	if (t.kind == 'p')
		emit("\tsetp.ne.u32 %s, 0, 0;\n", r);
	else if (t.bits == 16)
		emit("\tmov.b16 %s, 0x5a5a;\n", r);
	else if (t.bits == 64)
		emit("\tmov.b64 %s, 0x%llx;\n", r, SENTINEL);
	else
		emit("\tmov.b32 %s, 0x5a5a5a5a;\n", r);
}

static void emit_store(struct rtype t, const char *r, unsigned slot)
{
	if (t.kind == 'p')
		emit("\tselp.u32 %%r6, 1, 0, %s;\n\tst.global.u32 [%%rd5+%u], %%r6;\n", r, 8 * slot);
	else
		emit("\tst.global.b%u [%%rd5+%u], %s;\n", t.bits == 8 ? 32 : t.bits, 8 * slot, r);
}

/* Statements of a form: its own body with the operand names put in, each under the predicate. */
static void emit_body(const struct insn *in, char src[5][40], char dst[2][16])
{
	char line[512];
	const char *b = in->body;

	if (!b) {
		emit("\t@%%p0 %s %s", in->text, dst[0]);
		if (in->nd == 2)
			emit("|%s", dst[1]);
		for (int k = 0; k < in->ns; k++)
			emit(", %s", src[k]);
		if (is(in, "lop3"))
			emit(", 0x%x", in->imm);
		emit(";\n");
		return;
	}
	while (*b) {
		size_t n = 0;

		for (; *b && *b != '\n'; b++) {
			const char *r;
			char tmp[16];

			if (*b != '%') {
				line[n++] = *b;
				continue;
			}
			b++;
			reg_name(in->d[0], 25, tmp, sizeof(tmp));
			r = *b == 't' ? tmp : *b == 'd' ? dst[0] : *b == 'e' ? dst[1] : *b == 'f' ? src[3] : src[*b - 'a'];
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s", r);
		}
		line[n] = 0;
		emit("\t@%%p0 %s\n", line);
		b += *b == '\n';
	}
}

/* Returns the operand that became a literal, or -1; *value is what it is. */
static int build(const struct insn *in, int variant, uint64_t *value)
{
	char src[5][40], dst[2][16];
	int lit = -1, alias = -1;

	emit_head(variant == V_UNIFORM);
	for (int k = 0; k < in->ns; k++) {
		emit_load(in->s[k], (unsigned)k);
		reg_name(in->s[k], (unsigned)k, src[k], sizeof(src[k]));
	}
	for (int j = 0; j < in->nd; j++)
		reg_name(in->d[j], 15 + (unsigned)j, dst[j], sizeof(dst[j]));
	if (variant == V_LITERAL) {
		int k = (int)(rng() % (unsigned)in->ns);
		struct rtype t = in->s[k];

		/* no literals of predicates, halves and packed types, nor under cvt */
		if (t.kind == 'p' || strchr("hoOt", t.kind) || (t.kind == 'f' && t.bits == 16) ||
		    t.bits == 8 || is(in, "cvt") || in->body)
			return -2;
		*value = operand_value(t, 1000000 + (unsigned)rng() % 1000, (unsigned)k);
		literal(t, *value, src[k], sizeof(src[k]));
		*value &= mask_of(t.bits);
		lit = k;
	}
	if (variant == V_ALIAS) {
		for (int k = 0; k < in->ns && alias < 0; k++)
			if (in->s[k].bits == in->d[0].bits && in->s[k].kind != 'p' &&
			    in->d[0].kind != 'p')
				alias = k;
		if (alias < 0 || in->body)
			return -2;
		snprintf(dst[0], sizeof(dst[0]), "%.15s", src[alias]);
	} else {
		for (int j = 0; j < in->nd; j++)
			emit_sentinel(in->d[j], dst[j]);
	}
	emit_body(in, src, dst);
	for (int j = 0; j < in->nd; j++)
		emit_store(in->d[j], dst[j], (unsigned)j);
	emit("\tret;\n}\n");
	if (variant == V_ALIAS)
		*value = (uint64_t)alias;
	return lit;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Loads `text` and runs it over all lanes; 0, or -1 after a line that says why not. */
static int run_kernel(const char *name, int variant)
{
	unsigned char params[80];
	struct engine_launch l = { .grid = { LANES / BLOCK, 1, 1 }, .block = { BLOCK, 1, 1 } };
	struct engine_symbol sym;
	struct engine_func_info fi;
	char log[512] = "";
	uint64_t at[2] = { rig_address(&rig, input), rig_address(&rig, output) };
	uint32_t module, st, i;
	unsigned index = 0;

	if (show_kernels)
		printf("%s\n", text);
	st = rig_ops->module_load(rig.engine, text, strlen(text), &module, log, sizeof(log));
	if (st && rig_on_cuda) {
		printf("skip %s (variant %d): %s: %s\n", name, variant, vgpu_status_text(st), log);
		skipped = 1;
		return -1;
	}
	if (st) {
		printf("%s: module_load: %s: %s\n", name, vgpu_status_text(st), log);
		return -1;
	}
	for (i = 0; rig_ops->module_symbol(rig.engine, module, i, &sym) == 0; i++)
		if (sym.kind == ENGINE_SYM_FUNC)
			break;
	st = rig_ops->func_info(rig.engine, sym.id, &fi, log, sizeof(log));
	if (st) {
		printf("%s: func_info: %s: %s\n", name, vgpu_status_text(st), log);
		rig_ops->module_unload(rig.engine, module);
		return -1;
	}
	memset(output, 0x5a, LANES * AREA);
	memcpy(params, at, 16);
	memcpy(params + 16, input + 8 * PARAM_LANE, AREA);
	l.fn = sym.id;
	l.params = params;
	l.param_bytes = sizeof(params);
	rig.launches = 0;
	memset(rig.ended, 0, sizeof(rig.ended));
	st = rig_push_all(&rig);
	if (!st)
		st = rig_launch(&rig, &l, &index);
	if (st == ENGINE_PENDING)
		st = rig_wait(&rig, index, rig_on_cuda ? 10 : 20);
	if (!st)
		st = rig_pull_all(&rig);
	if (st) {
		printf("%s: variant %d: launch: %s (%s)\n", name, variant,
		       st == RIG_TIMEOUT ? "no end" : vgpu_status_text(st), rig.fault_what);
		RIG_FLUSH();
		if (rig_on_cuda)
			_exit(1);
		exit(1);        /* the context is dead */
	}
	rig_ops->module_unload(rig.engine, module);
	return 0;
}

static double bits_double(struct rtype t, uint64_t v)
{
	return sf_double(sf_unpack(format_of(t), v, 0));
}

static int result_ok(struct rtype t, uint64_t got, const struct result *r)
{
	struct sf_format f;
	double g, bound;

	if (r->mode == R_ANY)
		return 1;
	if (r->mode == R_EXACT)
		return got == (r->bits & mask_of(t.bits)) || got == (r->alt & mask_of(t.bits));
	f = format_of(t);
	g = bits_double(t, got);
	if (r->mode == R_NAN)
		return isnan(g);
	if (isnan(g))
		return 0;
	if (isinf(r->value) || g == r->value)
		return g == r->value;
	bound = fmax(r->rel * fabs(r->value), r->abs);
	if (isinf(g))
		return signbit(g) == signbit(r->value) &&
		       fabs(r->value) + bound >= ldexp(2 - ldexp(1, -f.mbits - 1), (1 << (f.ebits - 1)) - 1);
	if (r->ftz && g == 0 && fabs(r->value) < ldexp(1.0001, 2 - (1 << (f.ebits - 1))))
		return 1;
	return fabs(g - r->value) <= bound;
}

static void report(const struct insn *in, int variant, unsigned lane, const uint64_t *s, int slot,
		   uint64_t got, const struct result *r, unsigned *shown)
{
	static const char *const names[] = { "registers", "literal", "alias", "uniform" };

	mismatches++;
	if (++*shown > MAX_SHOWN)
		return;
	printf("%s (%s), lane %u, result %d:", in->text, names[variant], lane, slot);
	for (int k = 0; k < in->ns; k++)
		printf(" 0x%llx", (unsigned long long)s[k]);
	if (is(in, "lop3"))
		printf(" table 0x%x", in->imm);
	printf(" -> 0x%llx, expected ", (unsigned long long)got);
	if (r->mode == R_EXACT)
		printf("0x%llx\n", (unsigned long long)(r->bits & 0xffffffffffffffff));
	else if (r->mode == R_NAN)
		printf("nan\n");
	else
		printf("%.9g +- %.3g\n", r->value, fmax(r->rel * fabs(r->value), r->abs));
}

static void check(const struct insn *in, int variant, int lit, uint64_t value)
{
	unsigned shown = 0;
	int halves = strchr("hO", in->t[0].kind) && !one_of(in->tok[0], "set setp cvt mov selp slct and") && !in->written;

	for (unsigned lane = 0; lane < LANES; lane++) {
		const uint64_t *src = input + 8 * (variant == V_UNIFORM ? lane / BLOCK * BLOCK : lane);
		int on = (uint32_t)src[7] != 0;
		struct result r[2];
		uint64_t s[5];

		for (int k = 0; k < in->ns; k++)
			s[k] = (k == lit ? value : src[k]) &
			       (in->s[k].bits == 8 ? 0xffffffff : mask_of(in->s[k].bits));
		if (in->written ? evaluate_written(in, s, r) : evaluate(in, s, r)) {
			printf("%s: the reference does not know it\n", in->text);
			mismatches++;
			return;
		}
		for (int j = 0; j < (halves ? 2 : in->nd); j++) {
			struct rtype t = in->d[halves ? 0 : j];
			uint64_t got = output[8 * lane + (halves ? 0 : (unsigned)j)];
			uint64_t off = t.kind == 'p' ? 0 : SENTINEL;

			if (variant == V_ALIAS)
				off = src[value];
			if (t.bits == 8) {
				/* the register is wider: the result is extended (9.7.9.21) */
				r[j].bits = t.kind == 's' ? (uint64_t)sext(r[j].bits, 8) : r[j].bits & 255;
				r[j].alt = r[j].bits;
				t.bits = 32;
			}
			if (halves) {
				t = (struct rtype){ t.kind == 'h' ? 'f' : 'o', 16 };
				got >>= 16 * j;
				off >>= 16 * j;
			}
			got &= t.kind == 'p' ? 0xffffffff : mask_of(t.bits);
			compared_results++;
			if (!on) {
				struct result keep = { R_EXACT, off, off, 0, 0, 0, 0 };

				if (!result_ok(t, got, &keep))
					report(in, variant, lane, s, j, got, &keep, &shown);
			} else if (!result_ok(t, got, &r[j])) {
				report(in, variant, lane, s, j, got, &r[j], &shown);
			}
		}
	}
	if (shown > MAX_SHOWN)
		printf("%s: ... %u mismatches in all\n", in->text, shown);
}

/* Inputs of a form; slot 7 is the predicate: whole warps on, off, and mixed. */
static void make_inputs(const struct insn *in)
{
	for (unsigned lane = 0; lane < LANES; lane++) {
		uint64_t *a = input + 8 * lane;

		for (int k = 0; k < 7; k++)
			a[k] = k < in->ns ? operand_value(in->s[k], lane, (unsigned)k) : rng();
		a[7] = lane / 32 % 3 == 0 ? rng() & 1 : lane / 32 % 11 != 5;
	}
}

static int run_scalar(struct insn *in)
{
	for (int variant = 0; variant < VARIANTS; variant++) {
		uint64_t value = 0;
		int lit;

		make_inputs(in);
		lit = build(in, variant, &value);
		if (lit == -2)
			continue;
		if (run_kernel(in->text, variant))
			return -1;
		check(in, variant, lit, value);
	}
	return 0;
}

static int run_memory(const struct memory_form *m)
{
	struct insn in = { .ns = 3 };
	unsigned shown = 0;

	snprintf(in.text, sizeof(in.text), "%s", m->text);
	for (int k = 0; k < 4; k++)
		in.s[k] = m->t;
	in.ns = 4;
	make_inputs(&in);
	emit_head(0);
	memory_body(m, emit);
	if (run_kernel(in.text, 0))
		return -1;
	for (unsigned lane = 0; lane < LANES; lane++) {
		unsigned char want[AREA];
		const uint64_t *src = input + 8 * lane;

		memset(want, 0x5a, sizeof(want));
		memory_reference(m, src, input + 8 * PARAM_LANE, want);
		compared_results++;
		if (!memory_matches(m, want, output + 8 * lane)) {
			mismatches++;
			if (shown++ >= MAX_SHOWN)
				continue;
			printf("%s, lane %u, predicate %d:", m->text, lane, (uint32_t)src[7] != 0);
			for (int k = 0; k < 4; k++)
				printf(" 0x%llx", (unsigned long long)src[k]);
			printf("\n  got     ");
			for (int k = 0; k < 8; k++)
				printf(" %llx", (unsigned long long)output[8 * lane + (unsigned)k]);
			printf("\n  expected");
			for (int k = 0; k < 8; k++) {
				uint64_t w;

				memcpy(&w, want + 8 * k, 8);
				printf(" %llx", (unsigned long long)w);
			}
			printf("\n");
		}
	}
	return 0;
}

/* ---- forms ---------------------------------------------------------------------------------- */

/* 1 if the form ran (right or wrong), 0 if it is not covered. */
static int run_form(const char *form)
{
	static const unsigned char tables[] = { 0x00, 0x80, 0xfe, 0x96, 0xe8, 0xca, 0xac, 0xd8, 0x1b,
		0x3c, 0xc0, 0xf0, 0xcc, 0xaa, 0x55, 0x33, 0x0f, 0x01, 0x7f, 0xff, 0x6d, 0xb2 };
	struct memory_form m;
	struct insn in;

	near_one = strstr(form, "%d") && strstr(form, "cvt") ? 29 : 9;
	rng_state = seed;
	for (const char *p = form; *p; p++)
		rng_state = rng_state * 31 + (unsigned char)*p;
	rng_state |= 1;
	if (!memory_parse(form, &m))
		return run_memory(&m) == 0;
	if (strstr(form, "%d") ? describe_text(&in, form) : split(&in, form) || describe(&in)) {
		printf("%s: the reference does not know it\n", form);
		return 0;
	}
	if (!is(&in, "lop3"))
		return run_scalar(&in) == 0;
	for (unsigned i = 0; i < sizeof(tables); i++) {
		in.imm = tables[i];
		if (run_scalar(&in))
			return 0;
	}
	return 1;
}

/* A form that is not scalar: its case file must contain it as an instruction. */
static int in_case(const char *folder, const char *form, const char *name)
{
	char path[4096], line[1024];
	size_t n = strlen(form);
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cases/%s.ptx", folder, name);
	f = fopen(path, "r");
	if (!f) {
		printf("%s: no %s\n", form, path);
		return 0;
	}
	while (!found && fgets(line, sizeof(line), f)) {
		char *p = strncmp(line, "//", 2) ? strstr(line, form) : NULL;

		found = p && strchr(" \t;", p[n]) && p[n] && (p == line || strchr(" \t", p[-1]));
	}
	fclose(f);
	if (!found)
		printf("%s: not in %s\n", form, path);
	return found;
}

/* The reference's arithmetic against the host's in double and float, nearest even. */
static void self_test(void)
{
	rng_state = seed | 1;
	for (int i = 0; i < 20000; i++) {
		struct rtype t = { 'f', i & 1 ? 64 : 32 };
		struct sf_format f = format_of(t);
		uint64_t b[3] = { operand_value(t, 99999, 0), operand_value(t, 99999, 1),
				  operand_value(t, 99999, 2) }, got, want;
		struct sf x = sf_unpack(f, b[0], 0), y = sf_unpack(f, b[1], 0),
			  z = sf_unpack(f, b[2], 0), v;
		int op = i / 2 % 5;

		v = op == 0 ? sf_add(x, y, SF_RN) : op == 1 ? sf_mul(x, y) : op == 2 ? sf_div(x, y) :
		    op == 3 ? sf_sqrt(x) : sf_add(sf_mul(x, y), z, SF_RN);
		got = sf_pack(f, v, SF_RN, 0, NULL);
		want = 0;
		if (t.bits == 64) {
			double d[3], r;

			memcpy(d, b, sizeof(d));
			r = op == 0 ? d[0] + d[1] : op == 1 ? d[0] * d[1] : op == 2 ? d[0] / d[1] :
			    op == 3 ? sqrt(d[0]) : fma(d[0], d[1], d[2]);
			memcpy(&want, &r, 8);
		} else {
			float d[3], r;

			for (int k = 0; k < 3; k++)
				memcpy(&d[k], &b[k], 4);
			r = op == 0 ? d[0] + d[1] : op == 1 ? d[0] * d[1] : op == 2 ? d[0] / d[1] :
			    op == 3 ? sqrtf(d[0]) : fmaf(d[0], d[1], d[2]);
			memcpy(&want, &r, 4);
		}
		if (got == want || (v.cls == SF_NAN && isnan(bits_double(t, want))))
			continue;
		printf("reference: operation %d on f%u of %llx %llx %llx: %llx, the host says %llx\n", op,
		       t.bits, (unsigned long long)b[0], (unsigned long long)b[1],
		       (unsigned long long)b[2], (unsigned long long)got, (unsigned long long)want);
		mismatches++;
		return;
	}
}

#include "optest_pieces.h"

int main(int argc, char **argv)
{
	const char *folder = "tests/ptx";
	unsigned covered = 0, total = 0, bad_forms = 0, jobs = 1;
	char path[4096], line[1024];
	int opt;
	FILE *f;

	while ((opt = getopt(argc, argv, "s:d:m:kx:j:")) != -1) {
		if (opt == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (opt == 'd')
			folder = optarg;
		else if (opt == 'j')
			jobs = (unsigned)atoi(optarg);
		else if (opt == 'x')
			jit_stress = (uint32_t)strtoul(optarg, NULL, 0);
		else if (opt == 'm' && !rig_set_mode(optarg))
			;
		else if (opt == 'k')
			show_kernels = 1;
		else
			return 2;
	}
	printf("optest: seed %llu, %u lanes a kernel\n", (unsigned long long)seed, LANES);
	self_test();
	if (!rig_on_cuda && rig_open(&rig, 2, 10, 0))
		return 1;
	if (rig_on_cuda)
		goto forms;
	mismatches += check_interface(&rig);
	mismatches += check_tensor(&rig);
	mismatches += check_wmma(&rig);
	input = rig_alloc(&rig, LANES * AREA);
	output = rig_alloc(&rig, LANES * AREA);
	if (!input || !output)
		return 1;
forms:
	forms_alone = optind < argc;
	test_folder = folder;
	for (int i = optind; i < argc; i++, total++)
		covered += (unsigned)(rig_on_cuda ? !add_form(argv[i]) : run_form(argv[i]));
	snprintf(path, sizeof(path), "%s/forms.txt", folder);
	f = optind == argc ? fopen(path, "r") : NULL;
	if (optind == argc && !f) {
		printf("%s: cannot open\n", path);
		return 1;
	}
	while (f && fgets(line, sizeof(line), f)) {
		unsigned before = mismatches;
		char *at;

		line[strcspn(line, "\n")] = 0;
		if (!line[0] || line[0] == '#')
			continue;
		total++;
		at = strstr(line, " @");
		if (rig_on_cuda) {
			covered += at || !add_form(line);
		} else if (at) {
			*at = 0;
			covered += (unsigned)in_case(folder, line, at + 2);
		} else {
			covered += (unsigned)run_form(line);
		}
		bad_forms += mismatches != before;
	}
	if (f)
		fclose(f);
	if (rig_on_cuda)
		return mismatches || covered != total || run_pieces(jobs);
	mismatches += rig_close(&rig);
	printf("optest: forms covered %u of %u; %u results compared, %u mismatches in %u forms\n", covered,
	       total, compared_results, mismatches, bad_forms);
	return mismatches || covered != total;
}
