/* SPDX-License-Identifier: MIT */
/*
 * Random kernels: pairs of what makes a value and what uses it. A kernel gets its share of all pairs of classes that are
 * possible (gen_forms.h), whichever registers they go by: the bits of a float are compared as a number, half of a word is an
 * address. Patterns are those of gen_forms.h and, sorted by their mnemonics, those of gen.h. What a pair leaves goes into
 * sums that nothing else writes and that the kernel leaves in memory, or into registers like all others.
 *
 * Which pairs a seed has is counted through: ten seeds in a row have a place for every kind (gen_make), and seeds 1 to 600
 * have every pair several times. gen_count says how often each was made, and where.
 */
#ifndef TESTS_PTX_GEN_PAIR_H
#define TESTS_PTX_GEN_PAIR_H

#include "gen_forms.h"

#define GEN_PER_KERNEL 14u      /* pairs */
#define GEN_SUMS 4u             /* registers %k */
#define GEN_VALUES 24u          /* registers of each width for the values of pairs */

/* A pattern in one of its parts: what it makes, or source `at` of the letters in `of`. */
struct gen_part {
	const char *text, *of;
	unsigned char cls, flags, at;
	char width, letter;             /* letter: of its destination; 'V' */
};

enum gen_list { GL_ANY, GL_FULL, GL_APPROX, GEN_LISTS };
enum gen_guard { GG_NONE, GG_P, GG_NOT_P, GG_V, GG_NOT_V, GEN_GUARDS };
enum gen_place { GPL_TOP, GPL_WARP, GPL_APART, GPL_LOOP, GPL_LOOP_APART, GEN_PLACE_KINDS };
enum gen_shape { GS_32X, GS_ROW, GS_POWER, GS_ANY, GEN_SHAPES };
static const char *const gen_guard_names[GEN_GUARDS] = { "none", "@p", "@!p", "@v", "@!v" };
static const char *const gen_place_names[GEN_PLACE_KINDS] = { "all lanes", "by warp", "apart", "loop", "loop, apart" };

static struct {
	struct gen_part make[512], take[1600];
	unsigned makes, takes;
	struct { unsigned char from, to; } pair[GEN_LISTS][GEN_FROMS * GEN_USES];
	unsigned pairs[GEN_LISTS];
	unsigned char possible[GEN_FROMS][GEN_USES];
	unsigned step[GEN_LISTS];       /* coprime to pairs: neighbours in a kernel are far from each other in the list */
} gen_index;

static struct {
	unsigned pair[GEN_FROMS][GEN_USES];
	unsigned make[GEN_FROMS][GEN_GUARDS], make_at[GEN_FROMS][GEN_PLACE_KINDS];
	unsigned take[GEN_USES][GEN_GUARDS], take_at[GEN_USES][GEN_PLACE_KINDS];
	unsigned now[GEN_PLACE_KINDS];                          /* of the kernel that was made last */
	unsigned shape[GEN_SHAPES][GEN_PLACE_KINDS];
} gen_count;

/* ---- classes by mnemonic ------------------------------------------------------------------------ */

static int gen_has(const char *name, const char *word)
{
	size_t n = strlen(word);

	for (const char *s = strstr(name, word); s; s = strstr(s + 1, word))
		if (s > name && s[-1] == '.' && (s[n] == '.' || s[n] == 0))
			return 1;
	return 0;
}

static int gen_is(const char *name, const char *op)
{
	size_t n = strlen(op);

	return !strncmp(name, op, n) && (name[n] == '.' || name[n] == 0);
}

/* f16, bf16 and pairs of them: 'h'; f32: 'f'; f64: 'd'; 0: an integer */
static char gen_float_type(const char *type)
{
	return strstr(type, "f16") ? 'h' : strstr(type, "f32") ? 'f' : strstr(type, "f64") ? 'd' : 0;
}

/* The mnemonic of the instruction that ends behind `at`, without its '$' letters. */
static const char *gen_mnemonic(const char *text, const char *at, char *out, size_t n)
{
	const char *s = at;
	size_t k = 0;

	while (s > text && s[-1] != ';' && s[-1] != '\n')
		s--;
	while (*s == '\t' || *s == '\n')
		s++;
	if (*s == '@')
		s = strchr(s, ' ') + 1;
	for (const char *p = s; *p && *p != ' ' && k + 1 < n; p++)
		if (*p != '$')
			out[k++] = *p;
		else
			p++;
	out[k] = 0;
	return s;
}

/* Both sides: the class of what is made, or of a use through the letter at `at`. -1: none that counts. */
static int gen_classify(const char *text, const char *at, int take)
{
	char name[64];
	const char *start = gen_mnemonic(text, at, name, sizeof(name)), *last = strrchr(name, '.'), *type2 = last ? last + 1 : "";
	char type1[64] = "", f, f1;

	if (last) {
		snprintf(type1, sizeof(type1), "%.*s", (int)(last - name), name);
		if (strrchr(type1, '.'))
			memmove(type1, strrchr(type1, '.') + 1, strlen(strrchr(type1, '.')));
	}
	f = gen_float_type(type2);
	f1 = gen_float_type(type1);
	if (gen_has(name, "approx") || gen_has(name, "full"))
		return take ? GU_APPROX : GP_APPROX;
	if (gen_is(name, "setp") || gen_is(name, "testp"))
		return take ? (at[1] == 'p' ? GU_PRED : f ? GU_FCMP : GU_ICMP) : f ? GP_FSETP : GP_SETP;
	if (gen_is(name, "set"))
		return take ? (at[1] == 'p' ? GU_PRED : f ? GU_FCMP : GU_ICMP) : f1 ? GP_FLOAT : GP_INT;
	if (gen_is(name, "selp"))
		return take ? (at[1] == 'p' ? GU_SELECTOR : GU_SELP) : GP_SELP;
	if (gen_is(name, "slct"))
		return take ? (!strncmp(at + 2, ";", 1) ? GU_SELECTOR : GU_SELP) : GP_SELP;
	if (gen_is(name, "cvt"))
		return take ? (f1 && f ? GU_CVT_FF : f1 ? GU_CVT_IF : f ? GU_CVT_FI : GU_CVT_II) :
			      f1 && f ? GP_CVT_FF : f1 ? GP_CVT_IF : f ? GP_CVT_FI : GP_CVT_II;
	if (gen_has(name, "pred"))
		return take ? GU_PRED : GP_PRED;
	if (gen_is(name, "mov"))
		return strncmp(strchr(start, ' '), " {", 2) && !memchr(start, '{', strcspn(start, ";")) ? (take ? (int)GU_MOV : (int)GP_MOV) :
		       take ? (int)GU_PACK : (int)GP_PACK;
	if (gen_is(name, "prmt"))
		return take ? (at[2] == ';' ? GU_PRMT_SEL : GU_PRMT) : GP_PRMT;
	if (gen_is(name, "shl") || gen_is(name, "shr") || gen_is(name, "shf"))
		return take ? GU_SHIFT : GP_SHIFT;
	if (f == 'd')
		return take ? GU_DOUBLE : GP_DOUBLE;
	if (f == 'h')
		return take ? GU_HALF : GP_HALF;
	if (f)
		return take ? GU_FLOAT : GP_FLOAT;
	return take ? GU_INT : GP_INT;
}

static char gen_width_of(char letter)
{
	return strchr("RrxiFf", letter) ? '4' : strchr("QqDd", letter) ? '8' : strchr("Hh", letter) ? '2' : 'p';
}

/* A pattern of gen.h's tables: what it makes, and each of its sources. */
static void gen_index_text(const char *text)
{
	static const char *const letters[] = { "ri", "q", "h", "f", "d", "p" };
	const char *dest = NULL;

	for (const char *p = strchr(text, '$'); p; p = strchr(p + 1, '$'))
		if (strchr(gen_kinds, p[1]) && (!dest || dest[1] != 'P' || p[1] == 'P'))
			dest = p;
	/* a double's NaN has a payload, which processors do not agree about: gen_forms.h has others */
	if (dest && dest[1] != 'D' && gen_index.makes < GEN_COUNT(gen_index.make))
		gen_index.make[gen_index.makes++] = (struct gen_part){ .text = text, .cls = (unsigned char)gen_classify(text, dest, 0),
			.width = gen_width_of(dest[1]), .letter = dest[1] };
	for (unsigned k = 0; k < GEN_COUNT(letters); k++) {
		unsigned at = 0, f1 = 0;

		for (const char *p = strchr(text, '$'); p; p = strchr(p + 1, '$')) {
			if (!strchr(letters[k], p[1]))
				continue;
			if (p[1] == 'f' && p[2] == '1' && f1++)
				continue;
			if (gen_index.takes < GEN_COUNT(gen_index.take))
				gen_index.take[gen_index.takes++] = (struct gen_part){ .text = text, .of = letters[k], .at = (unsigned char)at,
					.cls = (unsigned char)gen_classify(text, p, 1), .width = gen_width_of(p[1]) };
			at++;
		}
	}
}

/* Can what a makes be used by b? */
static int gen_fits(const struct gen_part *a, const struct gen_part *b)
{
	return a->width == b->width || (a->width == 'a' && b->width == '8');
}

static unsigned gen_gcd(unsigned a, unsigned b)
{
	return b ? gen_gcd(b, a % b) : a;
}

static void gen_index_all(void)
{
	static const struct { const char *const *text; unsigned n; } tables[] = {
		{ gen_int, GEN_COUNT(gen_int) }, { gen_wide, GEN_COUNT(gen_wide) }, { gen_float, GEN_COUNT(gen_float) },
		{ gen_rare, GEN_COUNT(gen_rare) }, { gen_approx, GEN_COUNT(gen_approx) },
	};
	unsigned char easy[GEN_FROMS][GEN_USES];        /* 1: in any kernel, 2: needs full warps */

	if (gen_index.makes)
		return;
	memset(easy, 0, sizeof(easy));
	for (unsigned t = 0; t < GEN_COUNT(tables); t++)
		for (unsigned i = 0; i < tables[t].n; i++)
			gen_index_text(tables[t].text[i]);
	for (unsigned i = 0; i < GEN_MAKES; i++)
		gen_index.make[gen_index.makes++] = (struct gen_part){ .text = gen_makes[i].text, .cls = gen_makes[i].cls,
			.width = gen_makes[i].width, .flags = gen_makes[i].flags, .letter = 'V' };
	for (unsigned i = 0; i < GEN_TAKES; i++)
		gen_index.take[gen_index.takes++] = (struct gen_part){ .text = gen_takes[i].text, .cls = gen_takes[i].cls,
			.width = gen_takes[i].width, .flags = gen_takes[i].flags };
	for (unsigned a = 0; a < gen_index.makes; a++)
		for (unsigned b = 0; b < gen_index.takes; b++) {
			const struct gen_part *x = &gen_index.make[a], *y = &gen_index.take[b];
			unsigned char *e = &easy[x->cls][y->cls];

			if (gen_fits(x, y))
				*e = *e == 1 || !((x->flags | y->flags) & (GF_WARP | GF_FULL | GF_BLOCK)) ? 1 : 2;
		}
	for (unsigned a = 0; a < GEN_FROMS; a++)
		for (unsigned b = 0; b < GEN_USES; b++) {
			unsigned l = a == GP_APPROX || b == GU_APPROX ? GL_APPROX : easy[a][b] == 2 ? GL_FULL : GL_ANY;

			if (!easy[a][b])
				continue;
			gen_index.possible[a][b] = 1;
			gen_index.pair[l][gen_index.pairs[l]].from = (unsigned char)a;
			gen_index.pair[l][gen_index.pairs[l]++].to = (unsigned char)b;
		}
	for (unsigned l = 0; l < GEN_LISTS; l++) {
		gen_index.step[l] = gen_index.pairs[l] * 5 / 8 | 1;
		while (gen_gcd(gen_index.step[l], gen_index.pairs[l]) != 1)
			gen_index.step[l] += 2;
	}
}

/* ---- a pair ------------------------------------------------------------------------------------- */

static int gen_allowed(const struct gen *g, unsigned flags)
{
	return !(((flags & GF_WARP) && (g->quiet || g->ctx > BY_WARP)) || ((flags & GF_FULL) && !g->full_warps) ||
		 ((flags & GF_BLOCK) && (g->quiet || g->ctx != TOGETHER || g->exchanging)) || ((flags & GF_UNJUDGED) && g->judged));
}

/* Two parts that fit and may stand here. 0: there are none. */
static int gen_choose(struct gen *g, unsigned from, unsigned to, const struct gen_part **make, const struct gen_part **take)
{
	unsigned n = 0;

	for (unsigned a = 0; a < gen_index.makes; a++) {
		const struct gen_part *x = &gen_index.make[a];

		if (x->cls != from || !gen_allowed(g, x->flags))
			continue;
		for (unsigned b = 0; b < gen_index.takes; b++) {
			const struct gen_part *y = &gen_index.take[b];

			/* forms that were written for this are few, those of the tables many */
			if (y->cls != to || !gen_fits(x, y) || !gen_allowed(g, y->flags))
				continue;
			n += y->of ? 1 : 16;
			if (gen_pick(g, n) < (y->of ? 1u : 16u)) {
				*make = x;
				*take = y;
			}
		}
	}
	return n != 0;
}

/* A guard in front of text, or none. what: the guard's kind. */
static void gen_guarded(struct gen *g, int may, char *out, size_t n, enum gen_guard *kind)
{
	unsigned x = may ? gen_pick(g, 10) : 0;

	*kind = x < 5 ? GG_NONE : x < 7 ? GG_P : x < 8 ? GG_NOT_P : x < 9 ? GG_V : GG_NOT_V;
	if (*kind == GG_NONE)
		out[0] = 0;
	else
		snprintf(out, n, "@%s%%%c%u ", *kind == GG_NOT_P || *kind == GG_NOT_V ? "!" : "", *kind <= GG_NOT_P ? 'p' : 'v',
			 gen_pick(g, *kind <= GG_NOT_P ? g->np : 4));
}

static unsigned gen_where(const struct gen *g)
{
	return g->loops ? (g->ctx == APART ? GPL_LOOP_APART : GPL_LOOP) : g->ctx == APART ? GPL_APART : g->ctx == BY_WARP ? GPL_WARP : GPL_TOP;
}

static void gen_arith(struct gen *g);

/* Adds the value of a register to a sum. */
static void gen_sum(struct gen *g, char *text, size_t n, char kind, const char *reg)
{
	unsigned k = gen_pick(g, GEN_SUMS);
	size_t at = strlen(text);

	if (kind == 'Q' || kind == '8' || kind == 'a')
		snprintf(text + at, n - at, "\tmov.b64 {%%zx, %%zy}, %s;\n\tmad.lo.u32 %%k%u, %%k%u, 31, %%zx;\n\tmad.lo.u32 %%k%u, %%k%u, 31, %%zy;\n",
			 reg, k, k, k, k);
	else if (kind == 'H' || kind == '2')
		snprintf(text + at, n - at, "\tcvt.u32.u16 %%zx, %s;\n\tmad.lo.u32 %%k%u, %%k%u, 31, %%zx;\n", reg, k, k);
	else if (kind == 'P' || kind == 'p')
		snprintf(text + at, n - at, "\tselp.u32 %%zx, 3, 1, %s;\n\tmad.lo.u32 %%k%u, %%k%u, 31, %%zx;\n", reg, k, k);
	else
		snprintf(text + at, n - at, "\tmad.lo.u32 %%k%u, %%k%u, 31, %s;\n", k, k, reg);
}

static void gen_pair_unit(struct gen *g, const struct gen_part *make, const struct gen_part *take)
{
	static const char *const results[GEN_KINDS] = { "%zr", "%zl", "%zh", "%zf", NULL, "%zp" };
	static const char *const zero[] = { "mov.b32 %s, $i;", "mov.b64 %s, $q;", "mov.b16 %s, $h;", "mov.pred %s, $p;" };
	unsigned number = gen_one_in(g, 2) ? g->pairs % GEN_VALUES : gen_pick(g, 4), k;
	unsigned w = make->width == '4' ? 0 : make->width == '2' ? 2 : make->width == 'p' ? 3 : 1;
	enum gen_guard kind;
	char value[16], guard[16], body[3072], text[6144], first[64] = "";
	int own = !gen_one_in(g, 4);
	int region = gen_region(g), pool = (take->flags & GF_POOL) || gen_one_in(g, 4), single;

	snprintf(value, sizeof(value), "%%w%c%u", "abhp"[w], number);
	g->pairs++;
	/* what makes it */
	g->value = value;
	if (make->letter != 'V')
		g->to[strchr(gen_kinds, make->letter) - gen_kinds] = value;
	single = !strchr(make->text, '\n') && !strchr(make->text, '@') && !(make->flags & (GF_WARP | GF_BLOCK)) && make->cls != GP_CALL && !strstr(make->text, "$G");
	gen_fill(g, make->text, 0, body, sizeof(body));
	gen_guarded(g, single, guard, sizeof(guard), &kind);
	memset(g->to, 0, sizeof(g->to));
	if (kind != GG_NONE) {
		snprintf(text, sizeof(text), zero[w], value);
		if (make->width == 'a')
			snprintf(text, sizeof(text), "mov.b64 %s, %%in;", value);
		gen_fill(g, text, 0, first, sizeof(first));
	}
	snprintf(text, sizeof(text), "%s%s%s\t%s%s\n", first[0] ? "\t" : "", first, first[0] ? "\n" : "", guard, body);
	if (own)
		gen_rename(text, sizeof(text), g->pairs);
	gen_add(g, 1, region, text);
	gen_count.make[make->cls][kind]++;
	gen_count.make_at[make->cls][gen_where(g)]++;
	/* what goes on meanwhile */
	for (k = gen_pick(g, 3) ? 0 : 1 + gen_pick(g, 3); k; k--) {
		g->value = NULL;
		gen_arith(g);
	}
	/* what uses it */
	g->value = value;
	if (take->of) {
		g->from = value;
		g->from_of = take->of;
		g->from_at = take->at;
	}
	for (k = 0; !pool && k < GEN_KINDS; k++)
		g->to[k] = results[k];
	gen_fill(g, take->text, 0, body, sizeof(body));
	single = !strchr(take->text, '\n') && !strchr(take->text, '@') && !(take->flags & (GF_WARP | GF_BLOCK)) && take->cls != GU_CALL;
	gen_guarded(g, single && (pool || strstr(take->text, "$R")), guard, sizeof(guard), &kind);
	memset(g->to, 0, sizeof(g->to));
	g->from = NULL;
	snprintf(text, sizeof(text), "%s\t%s%s\n", kind != GG_NONE && !pool ? "\tmov.b32 %zr, 99;\n" : "", guard, body);
	for (k = 0; !pool && k < GEN_KINDS; k++)
		if (results[k] && strchr(take->text, '$') && strstr(text, results[k]) && (gen_kinds[k] == 'R' || kind == GG_NONE))
			gen_sum(g, text, sizeof(text), gen_kinds[k], results[k]);
	if (gen_one_in(g, 3))
		gen_sum(g, text, sizeof(text), make->width, value);
	g->value = NULL;
	if (own)
		gen_rename(text, sizeof(text), g->pairs);
	gen_add(g, 1, region, text);
	gen_region_end(g, region);
	gen_count.pair[make->cls][take->cls]++;
	gen_count.now[gen_where(g)]++;
	gen_count.take[take->cls][kind]++;
	gen_count.take_at[take->cls][gen_where(g)]++;
}

/* One of the pairs that wait, if any may stand here. */
static int gen_pair(struct gen *g)
{
	const struct gen_part *make, *take;
	unsigned first = g->pairs_wait ? gen_pick(g, g->pairs_wait) : 0;

	if (g->regions + 8 >= GEN_REGIONS || g->units + 64 >= GEN_UNITS)
		return 0;
	for (unsigned i = 0; i < g->pairs_wait; i++) {
		unsigned k = (first + i) % g->pairs_wait;

		if (!gen_choose(g, g->wait[k].from, g->wait[k].to, &make, &take))
			continue;
		g->wait[k] = g->wait[--g->pairs_wait];
		gen_pair_unit(g, make, take);
		return 1;
	}
	return 0;
}

/* Seeds ten by ten: the odd ones have full warps, 8 and 9 have nothing between threads, 0 has no pairs, 4 approximations (with full warps in every other ten). */
static void gen_pairs_of(struct gen *g, uint64_t seed)
{
	unsigned digit = (unsigned)(seed % 10);
	uint64_t ten = seed / 10;

	gen_index_all();
	memset(gen_count.now, 0, sizeof(gen_count.now));
	for (unsigned j = 0; g->paired && j < GEN_PER_KERNEL; j++) {
		unsigned l = digit == 4 ? GL_APPROX : (digit & 1) && digit < 8 && j % 2 ? GL_FULL : GL_ANY;
		uint64_t n = l == GL_APPROX ? ten * GEN_PER_KERNEL + j : l == GL_FULL ? (ten * 4 + digit / 2) * (GEN_PER_KERNEL / 2) + j / 2 :
			     seed * GEN_PER_KERNEL + j;
		unsigned at = (unsigned)(n % gen_index.pairs[l] * gen_index.step[l] % gen_index.pairs[l]);

		g->wait[g->pairs_wait].from = gen_index.pair[l][at].from;
		g->wait[g->pairs_wait++].to = gen_index.pair[l][at].to;
	}
}

#endif
