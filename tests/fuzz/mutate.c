/* SPDX-License-Identifier: MIT */
/*
 * Mutations of PTX that know what a statement, an operand, a modifier and a register's type are, so that most of what comes
 * out is still a program. What there is to write comes from ops.def, which the engine checks against as well.
 *
 * Linked to the fuzzers of PTX text by libFuzzer (build.mk, `fuzzers`).
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *out, size_t max, unsigned seed);

#define MAX_TEXT 16384u
#define MAX_STATEMENTS 1024u
#define MAX_REGS 96u
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- ops.def, as words ------------------------------------------------------------------------------------ */

struct op { const char *name, *shape, *mods, *types; };
struct mod { const char *name, *cls; };

static const struct op ops[] = {
#define OP(id, name, x, lop, shape, mods, types) { name, shape, #mods, #types },
#include "../../tools/vgpu-stub/cpu/ops.def"
};
static const struct mod mods[] = {
#define MOD(name, cls, val) { name, #cls },
#include "../../tools/vgpu-stub/cpu/ops.def"
};

/* What the groups of types of ops.c stand for. */
static const struct { const char *group, *types; } groups[] = {
	{ "TI16", "u16 s16" }, { "TI32", "u32 s32" }, { "TI64", "u64 s64" }, { "TI8", "u8 s8" }, { "TI", "u16 s16 u32 s32 u64 s64" },
	{ "TS", "s16 s32 s64" }, { "TF", "f32 f64 f32" }, { "TH", "f16 f16x2 bf16 bf16x2" }, { "TB_16X2", "u16x2 s16x2" },
	{ "TBALL", "b16 b32 b64" }, { "TMEM", "b8 b16 b32 b64 u8 s8 u16 s16 u32 s32 u64 s64 f32 f64" },
	{ "TATOM", "b16 b32 b64 u32 s32 u64 s64 f32 f64 f16 f16x2" }, { "T(F32)", "f32" }, { "T(PRED)", "pred" }, { "T(F32X2)", "f32x2" },
	{ "T(U32)", "u32" }, { "T(U64)", "u64" }, { "TB(16)", "b16" }, { "TB(32)", "b32" }, { "TB(64)", "b64" },
};

/* ---- a text ------------------------------------------------------------------------------------------------ */

static char b[MAX_TEXT + 4096];
static size_t n;
static uint64_t state;
static struct { uint32_t from, to; } st[MAX_STATEMENTS];        /* without label, with semicolon */
static unsigned nst;
static struct reg { char name[32]; char type[8]; unsigned count; } regs[MAX_REGS];     /* count 0: the name as it is */
static unsigned nregs;

static uint32_t rnd(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return below ? (uint32_t)((state * 0x2545f4914f6cdd1dull) >> 33) % below : 0;
}

static void replace(size_t at, size_t cut, const char *with, size_t len)
{
	if (at > n || cut > n - at || n - cut + len > MAX_TEXT)
		return;
	memmove(b + at + len, b + at + cut, n - at - cut);
	memcpy(b + at, with, len);
	n += len - cut;
	b[n] = 0;
}

static int word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* Braces of a vector stand inside a statement, those of a block between statements. */
static void find_statements(const char *text, size_t len)
{
	uint32_t from = 0;
	int vector = 0, any = 0;

	nst = 0;
	for (size_t i = 0; i < len && nst < MAX_STATEMENTS; i++) {
		char c = text[i];

		if (c == '/' && text[i + 1] == '/') {
			while (i < len && text[i] != '\n')
				i++;
			if (!any)
				from = (uint32_t)i + 1;
			continue;
		}
		if (c == '{' && any && text[from] != '.') {
			vector++;
		} else if (c == '}' && vector) {
			vector--;
		} else if (c == '{' || c == '}' || (c == ':' && text[i + 1] != ':' && (!i || text[i - 1] != ':'))) {
			any = 0;
		} else if (c == ';') {
			if (any) {
				st[nst].from = from;
				st[nst++].to = (uint32_t)i + 1;
			}
			any = vector = 0;
		} else if (!any && !isspace((unsigned char)c)) {
			from = (uint32_t)i;
			any = 1;
		}
	}
}

static void find_registers(void)
{
	nregs = 0;
	for (const char *s = b; (s = strstr(s, ".reg")) && nregs < MAX_REGS;) {
		char type[8] = "";
		int used = 0;

		s += 4;
		if (sscanf(s, " .%7[a-z0-9]%n", type, &used) != 1)
			continue;
		s += used;
		while (nregs < MAX_REGS) {
			struct reg *r = &regs[nregs];

			r->count = 0;
			used = 0;
			if (sscanf(s, " %31[A-Za-z0-9_$%]%n", r->name, &used) != 1)
				break;
			s += used;
			strcpy(r->type, type);
			nregs++;
			if (*s == '<') {
				r->count = (unsigned)atoi(s + 1);
				while (*s && *s != '>' && *s != ';')
					s++;
				s += *s == '>';
			}
			while (isspace((unsigned char)*s))
				s++;
			if (*s != ',')
				break;
			s++;
		}
	}
}

static void look(void)
{
	b[n] = 0;
	find_statements(b, n);
	find_registers();
}

/* One of instructions, not of declarations; -1: there is none. */
static int pick_statement(void)
{
	for (int tries = 0; nst && tries < 20; tries++) {
		unsigned i = rnd(nst);

		if (b[st[i].from] != '.')
			return (int)i;
	}
	return -1;
}

/* ---- what to write ------------------------------------------------------------------------------------------ */

static unsigned bits_of(const char *type)
{
	if (type[0] == 'p')
		return 1;
	if (strstr(type, "x2"))
		return strstr(type, "32") ? 64 : 32;
	return (unsigned)atoi(type + (type[0] == 'b' && type[1] == 'f' ? 2 : 1));
}

/* A register of so many bits, of the same kind (f, integers) more often than not. */
static int reg_name(char *out, size_t room, unsigned bits, int is_float)
{
	for (int tries = 0; nregs && tries < 40; tries++) {
		const struct reg *r = &regs[rnd(nregs)];

		if (bits_of(r->type) != bits || (bits > 1 && tries < 30 && (r->type[0] == 'f') != is_float))
			continue;
		if (r->count)
			snprintf(out, room, "%s%u", r->name, rnd(rnd(3) || r->count < 12 ? r->count : 12));
		else
			snprintf(out, room, "%s", r->name);
		return 1;
	}
	return 0;
}

static void immediate(char *out, size_t room, unsigned bits, int is_float)
{
	static const char *const ints[] = { "0", "1", "-1", "2", "3", "5", "7", "31", "32", "33", "63", "64", "255", "4096", "0x7fffffff",
					    "0x80000000", "0xffffffff", "65535", "-32768", "0x12345678" };
	static const char *const f32[] = { "0f00000000", "0f3F800000", "0fBF800000", "0f7F800000", "0f7FC00000", "0f00000001", "0f4F000000",
					   "0f3F000000", "0f80000000", "0fFF7FFFFF" };
	static const char *const f64[] = { "0d0000000000000000", "0d3FF0000000000000", "0d7FF0000000000000", "0d7FF8000000000000", "0d41E0000000000000" };

	snprintf(out, room, "%s", is_float && bits == 32 ? f32[rnd(COUNT(f32))] : is_float && bits == 64 ? f64[rnd(COUNT(f64))] :
		 ints[rnd(COUNT(ints))]);
}

static void source(char *out, size_t room, unsigned bits, int is_float)
{
	if (!rnd(4) || !reg_name(out, room, bits, is_float))
		immediate(out, room, bits, is_float);
}

/* Some word of a list with blanks. */
static void a_word(const char *list, char *out, size_t room)
{
	unsigned words = 1;

	for (const char *s = list; *s; s++)
		words += *s == ' ';
	for (words = rnd(words); words; list++)
		words -= *list == ' ';
	snprintf(out, room, "%.*s", (int)strcspn(list, " "), list);
}

/* One part of "A|B|C". */
static void a_part(const char *list, char *out, size_t room)
{
	unsigned parts = 1;

	for (const char *s = list; *s; s++)
		parts += *s == '|';
	for (parts = rnd(parts); parts; list++)
		parts -= *list == '|';
	while (*list == ' ')
		list++;
	snprintf(out, room, "%.*s", (int)strcspn(list, "| "), list);
}

static int a_type(const struct op *op, char *out, size_t room)
{
	char part[32];

	a_part(op->types, part, sizeof(part));
	for (size_t i = 0; i < COUNT(groups); i++)
		if (!strcmp(groups[i].group, part)) {
			a_word(groups[i].types, out, room);
			return 1;
		}
	return 0;
}

/* A modifier of the class "M(RND)". */
static const char *a_modifier(const char *cls)
{
	for (int tries = 0; tries < 200; tries++) {
		const struct mod *m = &mods[rnd(COUNT(mods))];

		if (!strncmp(cls, "M(", 2) && !strncmp(cls + 2, m->cls, strlen(m->cls)) && cls[2 + strlen(m->cls)] == ')')
			return m->name;
	}
	return NULL;
}

static const struct op *op_named(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT(ops); i++)
		if (strlen(ops[i].name) == len && !memcmp(ops[i].name, name, len))
			return &ops[i];
	return NULL;
}

static void __attribute__((format(printf, 3, 4))) add(char *to, size_t room, const char *fmt, ...)
{
	size_t len = strlen(to);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(to + len, room - len, fmt, ap);
	va_end(ap);
}

/* A statement of an op whose operands the table says all about. 0: not this time. */
static int make_statement(char *out, size_t room)
{
	const struct op *op = &ops[rnd(COUNT(ops))];
	char type[16], second[16] = "", x[48], part[32];
	int is_float, comma = 0, optional = 0, wide;
	unsigned bits;

	if (!op->shape[0] || strpbrk(op->shape, "*A") || !a_type(op, type, sizeof(type)))
		return 0;
	*out = 0;
	if (!rnd(6) && reg_name(x, sizeof(x), 1, 0))
		add(out, room, "@%s%s ", rnd(2) ? "!" : "", x);
	add(out, room, "%s", op->name);
	/* what an op cannot do without */
	for (const char *m = op->mods; (m = strstr(m, "M(")); m += 2) {
		int must = !strncmp(m, "M(CMP)", 6) || !strncmp(m, "M(VOTE)", 7) || !strncmp(m, "M(SHFL)", 7) || !strncmp(m, "M(SYNC)", 7) ||
			   !strncmp(m, "M(TESTP)", 8) || !strncmp(m, "M(SHF)", 6) ||
			   (type[0] != 'f' && !strncmp(m, "M(HLW)", 6)) || (type[0] == 'f' && strstr("div rcp sqrt sin cos lg2 ex2 fma rsqrt tanh mad", op->name) &&
			   (!strncmp(m, "M(APX)", 6) || (!strncmp(m, "M(RND)", 6) && !strstr(op->mods, "APX"))));
		const char *name;

		snprintf(part, sizeof(part), "%.*s", (int)strcspn(m, "|"), m);
		name = must || !rnd(8) ? a_modifier(part) : NULL;
		if (name)
			add(out, room, ".%s", name);
	}
	wide = strstr(out, ".wide") != NULL;
	add(out, room, ".%s", type);
	if (strchr(op->shape, 'x')) {
		a_word("s32 f32 u32 u64", second, sizeof(second));
		add(out, room, ".%s", second);
	}
	is_float = type[0] == 'f' || (type[0] == 'b' && type[1] == 'f');
	bits = bits_of(type);
	for (const char *s = op->shape; *s; s++) {
		if (*s == '?') {
			optional = 1;
			continue;
		}
		if (optional && rnd(2))
			break;
		switch (*s) {
		case 'd': case 'b': case 'D':
			if (!reg_name(x, sizeof(x), wide && *s == 'd' ? 2 * bits : bits, is_float))
				return 0;
			break;
		case 'n': case 'm':
			if (!reg_name(x, sizeof(x), 32, 0))
				return 0;
			break;
		case 'P': case 'p':
			if (!reg_name(x, sizeof(x), 1, 0))
				return 0;
			break;
		case 's': case 'a': case 'g':
			source(x, sizeof(x), bits, is_float);
			break;
		case 'w':
			source(x, sizeof(x), wide ? 2 * bits : bits, is_float);
			break;
		case 'x':
			source(x, sizeof(x), bits_of(second), second[0] == 'f');
			break;
		case 'u':
			source(x, sizeof(x), 32, 0);
			break;
		default:
			return 0;
		}
		add(out, room, "%s%s", comma++ ? ", " : " ", x);
	}
	if (strstr(op->mods, "SYNC") && strstr(out, ".sync"))
		add(out, room, ", %s", "0xffffffff");
	add(out, room, ";");
	return 1;
}

/* ---- mutations ----------------------------------------------------------------------------------------------- */

static void put_statement(size_t at, const char *text, size_t len)
{
	replace(at, 0, "\n\t", 2);
	replace(at + 2, 0, text, len);
}

/* Where the opcode begins: behind a guard. */
static size_t opcode_at(unsigned i)
{
	size_t at = st[i].from;

	if (b[at] == '@')
		while (at < st[i].to && !isspace((unsigned char)b[at]))
			at++;
	while (at < st[i].to && isspace((unsigned char)b[at]))
		at++;
	return at;
}

static void other_operand(unsigned i)
{
	static const char *const special[] = { "%tid.x", "%tid.y", "%laneid", "%ntid.x", "%ctaid.x", "%lanemask_lt", "%lanemask_eq", "%warpid" };
	int mov = !strncmp(b + opcode_at(i), "mov.", 4);        /* which alone takes special registers */
	size_t at = opcode_at(i), len;
	unsigned found = 0, want, bits = 32;
	char x[48];
	int is_float = 0;

	while (at < st[i].to && !isspace((unsigned char)b[at]))
		at++;
	for (size_t k = at; k < st[i].to; k++)
		found += word_char(b[k]) && !word_char(b[k - 1]);
	if (!found)
		return;
	want = rnd(found);
	for (; at < st[i].to; at++)
		if (word_char(b[at]) && !word_char(b[at - 1]) && !want--)
			break;
	for (len = 0; at + len < st[i].to && word_char(b[at + len]);)
		len++;
	for (unsigned r = 0; r < nregs; r++) {
		size_t k = strlen(regs[r].name);

		if (k <= len && !strncmp(b + at, regs[r].name, k) && (regs[r].count ? isdigit((unsigned char)b[at + k]) : k == len)) {
			bits = bits_of(regs[r].type);
			is_float = regs[r].type[0] == 'f';
		}
	}
	if (mov && bits == 32 && !rnd(5))
		snprintf(x, sizeof(x), "%s", special[rnd(COUNT(special))]);
	else if (rnd(8))
		source(x, sizeof(x), bits, rnd(8) ? is_float : !is_float);
	else
		immediate(x, sizeof(x), 64, 0);
	replace(at, len, x, strlen(x));
}

/* One modifier becomes another of its class, a type another of the op, or one comes or goes. */
static void other_modifier(unsigned i)
{
	size_t at = opcode_at(i), len = 0, parts = 0, want;
	const struct op *op;
	const char *name;
	char x[48], cls[32];

	while (at + len < st[i].to && (isalnum((unsigned char)b[at + len]) || b[at + len] == '_'))
		len++;
	op = op_named(b + at, len);
	if (!op)
		return;
	at += len;
	if (!rnd(5)) {
		a_part(op->mods, cls, sizeof(cls));
		name = a_modifier(cls);
		snprintf(x, sizeof(x), ".%s", name ? name : "ftz");
		replace(at, 0, x, strlen(x));
		return;
	}
	for (size_t k = at; k < st[i].to && !isspace((unsigned char)b[k]); k++)
		parts += b[k] == '.';
	if (!parts)
		return;
	for (want = rnd((uint32_t)parts) + 1; want; at++)
		want -= b[at] == '.';
	for (len = 0; isalnum((unsigned char)b[at + len]) || b[at + len] == '_' || b[at + len] == ':';)
		len++;
	if (!rnd(8)) {
		replace(at - 1, len + 1, "", 0);
		return;
	}
	for (size_t k = 0, from = rnd(COUNT(mods)); k < COUNT(mods); k++) {
		const struct mod *m = &mods[(k + from) % COUNT(mods)];

		if (strlen(m->name) != len || memcmp(m->name, b + at, len))
			continue;
		snprintf(cls, sizeof(cls), "M(%s)", m->cls);
		if (!strstr(op->mods, cls))
			continue;
		name = a_modifier(cls);
		if (name)
			replace(at, len, name, strlen(name));
		return;
	}
	for (int tries = 0; tries < 30; tries++)
		if (a_type(op, x, sizeof(x)) && (tries > 20 || bits_of(x) == (unsigned)atoi(b + at + strcspn(b + at, "0123456789"))))
			break;
	replace(at, len, x, strlen(x));
}

/* Another op with operands of the same shape. */
static void other_op(unsigned i)
{
	size_t at = opcode_at(i), len = 0;
	const struct op *op;

	while (at + len < st[i].to && (isalnum((unsigned char)b[at + len]) || b[at + len] == '_'))
		len++;
	op = op_named(b + at, len);
	for (size_t k = 0, from = rnd(COUNT(ops)); op && k < COUNT(ops); k++) {
		const struct op *o = &ops[(k + from) % COUNT(ops)];

		if (o != op && !strcmp(o->shape, op->shape)) {
			replace(at, len, o->name, strlen(o->name));
			return;
		}
	}
}

static void guard(unsigned i)
{
	size_t at = st[i].from;
	char p[40], x[48];

	if (b[at] == '@' && rnd(2)) {
		if (rnd(2))
			replace(at, opcode_at(i) - at, "", 0);
		else if (b[at + 1] == '!')
			replace(at + 1, 1, "", 0);
		else
			replace(at + 1, 0, "!", 1);
	} else if (b[at] != '@' && reg_name(p, sizeof(p), 1, 0)) {
		snprintf(x, sizeof(x), "@%s%s ", rnd(2) ? "!" : "", p);
		replace(at, 0, x, strlen(x));
	}
}

/* Statements from i on are jumped over by some lanes, or run several times. */
static void around(unsigned i)
{
	unsigned last = i + rnd(6), id = rnd(1000000);
	char head[200], tail[160], p[40];

	if (last >= nst)
		last = nst - 1;
	for (unsigned k = i; k <= last; k++)
		if (b[st[k].from] == '.' || (k > i && memchr(b + st[k - 1].to, '}', st[k].from - st[k - 1].to)))
			return;
	if (rnd(3) && reg_name(p, sizeof(p), 1, 0)) {
		snprintf(head, sizeof(head), "@%s%s bra LF%u;\n\t", rnd(2) ? "!" : "", p, id);
		snprintf(tail, sizeof(tail), "\nLF%u:", id);
	} else {
		snprintf(head, sizeof(head), "{ .reg .u32 lc%u; .reg .pred lq%u;\n\tmov.u32 lc%u, %%laneid;\nLF%u:\n\t", id, id, id, id);
		if (rnd(2))
			snprintf(head, sizeof(head), "{ .reg .u32 lc%u; .reg .pred lq%u;\n\tmov.u32 lc%u, %u;\nLF%u:\n\t", id, id, id, 1 + rnd(9), id);
		snprintf(tail, sizeof(tail), "\n\tsub.u32 lc%u, lc%u, 1; setp.gt.s32 lq%u, lc%u, 0; @lq%u bra LF%u;\n\t}", id, id, id, id, id, id);
	}
	replace(st[last].to, 0, tail, strlen(tail));
	replace(st[i].from, 0, head, strlen(head));
}

static void launch_line(void)
{
	unsigned shape = 0, seed = 1, stress = 0;
	size_t len = 0;
	char x[80];

	if (!strncmp(b, "// fuzz:", 8)) {
		sscanf(b, "// fuzz: %9u %9u %9u", &shape, &seed, &stress);
		len = strcspn(b, "\n");
		len += b[len] == '\n';
	}
	switch (rnd(4)) {
	case 0: shape = rnd(7) + (rnd(10) ? 0 : 100); break;
	case 1: shape = rnd(12) + (rnd(10) ? 0 : 100); break;
	case 2: seed = rnd(1000); break;
	default: stress = rnd(3) ? 1 + rnd(100000) : 0;
	}
	snprintf(x, sizeof(x), "// fuzz: %u %u %u\n", shape, seed, stress);
	replace(0, len, x, strlen(x));
}

static void several(unsigned i)
{
	static char copy[4096];
	unsigned last = i + rnd(8), to = rnd(nst);
	size_t len = 0;

	for (unsigned k = i; k <= last && k < nst; k++) {
		size_t bytes = st[k].to - st[k].from;

		if (b[st[k].from] == '.' || len + bytes + 2 > sizeof(copy))
			break;
		memcpy(copy + len, b + st[k].from, bytes);
		len += bytes;
		copy[len++] = '\n';
		copy[len++] = '\t';
	}
	if (len)
		put_statement(st[to].to, copy, len - 2);
}

static void swap(unsigned i, unsigned k)
{
	char one[512], two[512];
	size_t a, c;

	if (st[i].from > st[k].from) {
		unsigned t = i;

		i = k;
		k = t;
	}
	a = st[i].to - st[i].from;
	c = st[k].to - st[k].from;
	if (i == k || a > sizeof(one) || c > sizeof(two))
		return;
	memcpy(one, b + st[i].from, a);
	memcpy(two, b + st[k].from, c);
	replace(st[k].from, c, one, a);
	replace(st[i].from, a, two, c);
}

static void one_mutation(void)
{
	int i = pick_statement(), k = pick_statement();
	char made[400];

	if (i < 0 || k < 0)
		return;
	switch (rnd(16)) {
	case 0:
		replace(st[i].from, st[i].to - st[i].from, "", 0);
		break;
	case 1:
		several((unsigned)i);
		break;
	case 2:
		swap((unsigned)i, (unsigned)k);
		break;
	case 3: case 4: case 5:
		other_operand((unsigned)i);
		break;
	case 6: case 7:
		other_modifier((unsigned)i);
		break;
	case 8:
		other_op((unsigned)i);
		break;
	case 9:
		guard((unsigned)i);
		break;
	case 10:
		around((unsigned)i);
		break;
	case 11:
		launch_line();
		break;
	case 12: case 13:
		for (int tries = 0; tries < 40; tries++)
			if (make_statement(made, sizeof(made))) {
				put_statement(st[i].to, made, strlen(made));
				break;
			}
		break;
	case 14:        /* a result is seen: the last of what a store writes is another register */
		for (unsigned s = 0, from = rnd(nst); s < nst; s++) {
			unsigned at = (s + from) % nst;

			if (!strncmp(b + opcode_at(at), "st.", 3)) {
				other_operand(at);
				break;
			}
		}
		break;
	default:
		other_operand((unsigned)i);
		look();
		if ((unsigned)k < nst)
			other_modifier((unsigned)k);
	}
}

static void begin(const uint8_t *data, size_t size, unsigned seed)
{
	state = (seed + 1) * 0x9e3779b97f4a7c15ull | 1;
	rnd(0);
	rnd(0);
	n = size < MAX_TEXT ? size : MAX_TEXT;
	memcpy(b, data, n);
	for (size_t i = 0; i < n; i++)          /* text, from here on */
		if (!b[i])
			b[i] = ' ';
	look();
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	begin(data, size, seed);
	if (!nst || !rnd(20))
		return LLVMFuzzerMutate(data, size, max);
	for (unsigned times = 1 + rnd(rnd(3) ? 2 : 8); times; times--) {
		one_mutation();
		look();
	}
	if (n > max)
		n = max;
	memcpy(data, b, n);
	return n;
}

/* Statements of the second text, with its registers as they are called there: many texts call them alike. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *c, size_t nc, uint8_t *out, size_t max, unsigned seed)
{
	static char piece[4096];
	size_t len = 0;
	int i;

	begin(c, nc, seed);
	i = pick_statement();
	for (unsigned k = i < 0 ? nst : (unsigned)i, m = 1 + rnd(12); k < nst && m; k++, m--) {
		size_t bytes = st[k].to - st[k].from;

		if (b[st[k].from] == '.' || len + bytes + 2 > sizeof(piece))
			break;
		memcpy(piece + len, b + st[k].from, bytes);
		len += bytes;
		piece[len++] = '\n';
		piece[len++] = '\t';
	}
	begin(a, na, seed + 1);
	i = pick_statement();
	if (i >= 0 && len)
		put_statement(st[i].to, piece, len);
	if (n > max)
		n = max;
	memcpy(out, b, n);
	return n;
}
