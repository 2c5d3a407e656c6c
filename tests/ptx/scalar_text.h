/* SPDX-License-Identifier: MIT */
/*
 * A third opinion about random kernels: their text as a program of scalar threads. Nothing of the engine is used: this reads
 * the text that gen_kernel.h writes, and no other PTX; scalar_run.h runs it, one thread at a time. What it does not know
 * (matrix instructions, approximations) makes the whole kernel none of its business, which is counted.
 */
#ifndef TESTS_PTX_SCALAR_TEXT_H
#define TESTS_PTX_SCALAR_TEXT_H

#include "reference_float.h"

#define ST_REGS 3200            /* of a function */
#define ST_SLOTS 8192
#define ST_CODE 4096
#define ST_FUNCS 12
#define ST_VARS 256
#define ST_LABELS 512
#define ST_OPERANDS 10
#define ST_TEXT 64

enum st_kind { SO_NONE, SO_REG, SO_IMM, SO_VEC, SO_MEM, SO_VAR, SO_LABEL, SO_FUNC, SO_SINK };

/* [base + imm]: base a register, a variable or a parameter; {elem…}; for setp and shfl, p|q is a vector of two. */
struct st_opnd {
	enum st_kind kind;
	int reg, neg;                   /* neg: !p, -r */
	int64_t imm;                    /* value, offset */
	int n, elem[4];                 /* of a vector: registers, -1: _ , or -2 - k: constant k of the function */
};

struct st_insn {
	struct insn ref;                /* mnemonic, as reference.h sees it */
	int known;                      /* describe() knew it */
	int guard, gneg;                /* register, -1: none */
	struct st_opnd o[ST_OPERANDS];
	int no;
	int target;                     /* of bra */
	int *ways, nways;               /* of brx.idx */
	int callee;                     /* function, -1: in a register */
	int from, nargs, rets;          /* of call: variables or registers, in st_func.list */
};

/* A variable that an address is taken of, or a parameter. space: 's' shared, 'l' local, 'c' const, 'p' parameter */
struct st_var { char name[ST_TEXT], space; uint64_t at, bytes; };

struct st_func {
	char name[ST_TEXT];
	struct { char name[ST_TEXT]; int bits; } reg[ST_REGS];
	int nregs;
	short slot[ST_SLOTS];           /* hash of names: registers + 1 */
	struct st_var var[ST_VARS];
	int nvars;
	struct st_insn *code;
	int n;
	struct { char name[ST_TEXT]; int at; } label[ST_LABELS];
	int nlabels;
	int in[16], nin, out;           /* parameters in order: variables, or -1 - register */
	uint64_t local_bytes, param_bytes;
	int list[512], nlist;
	uint64_t konst[64];
	int nkonst;
};

struct st_program {
	struct st_func func[ST_FUNCS];
	int nfuncs, kernel;
	uint32_t tab[16];
	uint64_t shared_bytes;
	struct st_var shared[4];
	int nshared;
	char why[128];                  /* not understood */
};

static int st_fail(struct st_program *p, const char *what, const char *name)
{
	if (!p->why[0])
		snprintf(p->why, sizeof(p->why), "%s %.60s", what, name);
	return -1;
}

static unsigned st_hash(const char *name)
{
	unsigned h = 2166136261u;

	while (*name)
		h = (h ^ (unsigned char)*name++) * 16777619u;
	return h;
}

static int st_reg(const struct st_func *f, const char *name)
{
	for (unsigned h = st_hash(name);; h++) {
		int i = f->slot[h % ST_SLOTS];

		if (!i || !strcmp(f->reg[i - 1].name, name))
			return i - 1;
	}
}

static int st_var(struct st_func *f, const char *name)
{
	for (int i = f->nvars; i-- > 0;)         /* the innermost */
		if (!strcmp(f->var[i].name, name))
			return i;
	return -1;
}

static int st_label(struct st_func *f, const char *name)
{
	for (int i = 0; i < f->nlabels; i++)
		if (!strcmp(f->label[i].name, name))
			return i;
	if (f->nlabels == ST_LABELS)
		return -1;
	snprintf(f->label[f->nlabels].name, ST_TEXT, "%s", name);
	f->label[f->nlabels].at = -1;
	return f->nlabels++;
}

static int st_bits(const char *type)
{
	return !strcmp(type, "pred") ? 1 : atoi(type + strcspn(type, "0123456789"));
}

/* The next word of names, numbers and dots; 0: something else is next. */
static size_t st_word(const char **s, char *out)
{
	size_t n = 0;

	*s += strspn(*s, " \t\n");
	while (isalnum((unsigned char)(*s)[n]) || strchr("_%.$", (*s)[n]))
		if (!(*s)[n] || n + 1 >= ST_TEXT)
			break;
		else
			out[n] = (*s)[n], n++;
	out[n] = 0;
	*s += n;
	*s += strspn(*s, " \t\n");
	return n;
}

static int st_number(const char *s, uint64_t *v)
{
	char *end;

	if ((s[0] == '0') && (s[1] == 'f' || s[1] == 'd')) {
		*v = strtoull(s + 2, &end, 16);
		return *end == 0;
	}
	if (!isdigit((unsigned char)s[s[0] == '-']) || !s[s[0] == '-'])
		return 0;
	*v = s[0] == '-' ? 0 - strtoull(s + 1, &end, 0) : strtoull(s, &end, 0);
	return *end == 0;
}

/* One operand; *s behind it. */
static int st_operand(struct st_program *p, struct st_func *f, const char **s, struct st_opnd *o)
{
	char w[ST_TEXT];
	uint64_t v;
	int minus = 0;

	memset(o, 0, sizeof(*o));
	*s += strspn(*s, " \t\n");
	if (**s == '{') {
		o->kind = SO_VEC;
		do {
			++*s;
			st_word(s, w);
			if (o->n == 4)
				return st_fail(p, "vector", w);
			if (!strcmp(w, "_"))
				o->elem[o->n++] = -1;
			else if (st_number(w, &v) && f->nkonst < 64) {
				f->konst[f->nkonst] = v;
				o->elem[o->n++] = -2 - f->nkonst++;
			} else if ((o->elem[o->n++] = st_reg(f, w)) < 0)
				return st_fail(p, "register", w);
		} while (**s == ',');
		*s += **s == '}';
		return 0;
	}
	if (**s == '[') {
		++*s;
		o->kind = SO_MEM;
		st_word(s, w);
		o->reg = st_reg(f, w);
		if (o->reg < 0) {
			o->n = 1;       /* by name */
			o->reg = st_var(f, w);
			if (o->reg < 0)
				return st_fail(p, "address", w);
		}
		if (**s == '+') {
			++*s;
			o->imm = strtoll(*s, (char **)s, 0);
		}
		*s += strspn(*s, " ");
		if (**s != ']')
			return st_fail(p, "address", *s);
		++*s;
		return 0;
	}
	if (**s == '!') {
		o->neg = 1;
		++*s;
	}
	if (**s == '-') {
		minus = 1;
		++*s;
	}
	if (!st_word(s, w))
		return st_fail(p, "operand", *s);
	if (st_number(w, &v)) {
		o->kind = SO_IMM;
		o->imm = (int64_t)(minus ? 0 - v : v);
		return 0;
	}
	if (!strcmp(w, "_")) {
		o->kind = SO_SINK;
		return 0;
	}
	o->reg = st_reg(f, w);
	if (o->reg >= 0) {
		o->kind = SO_REG;
		if (**s == '|') {
			++*s;
			st_word(s, w);
			o->kind = SO_VEC;
			o->n = 2;
			o->elem[0] = o->reg;
			o->elem[1] = st_reg(f, w);
			if (o->elem[1] < 0)
				return st_fail(p, "register", w);
		}
		return 0;
	}
	o->reg = st_var(f, w);
	if (o->reg >= 0) {
		o->kind = SO_VAR;
		return 0;
	}
	for (o->reg = 0; o->reg < p->nfuncs; o->reg++)
		if (!strcmp(p->func[o->reg].name, w)) {
			o->kind = SO_FUNC;
			return 0;
		}
	/* a special register, or a label */
	if (w[0] == '%')
		return st_fail(p, "register", w);
	o->kind = SO_LABEL;
	o->reg = st_label(f, w);
	return o->reg < 0 ? st_fail(p, "label", w) : 0;
}

static int st_declare_reg(struct st_program *p, struct st_func *f, const char *name, int bits)
{
	unsigned h;

	if (f->nregs == ST_REGS)
		return st_fail(p, "registers", name);
	/* a name of an inner block is that of the outer one: they are of one type here */
	if (st_reg(f, name) >= 0)
		return 0;
	for (h = st_hash(name); f->slot[h % ST_SLOTS]; h++)
		;
	f->slot[h % ST_SLOTS] = (short)(f->nregs + 1);
	snprintf(f->reg[f->nregs].name, ST_TEXT, "%.60s", name);
	f->reg[f->nregs++].bits = bits;
	return 0;
}

/* ".reg .b32 %r<4>, %x" */
static int st_regs(struct st_program *p, struct st_func *f, const char *s)
{
	char w[ST_TEXT], name[ST_TEXT + 12];
	int bits;

	st_word(&s, w);
	bits = st_bits(w + 1);
	do {
		st_word(&s, w);
		if (*s == '<') {
			int n = (int)strtol(s + 1, (char **)&s, 10);

			s += *s == '>';
			s += strspn(s, " ");
			for (int i = 0; i < n; i++) {
				snprintf(name, sizeof(name), "%.50s%d", w, i);
				if (st_declare_reg(p, f, name, bits))
					return -1;
			}
		} else if (st_declare_reg(p, f, w, bits)) {
			return -1;
		}
	} while (*s++ == ',');
	return 0;
}

/* ".param .align 8 .b8 pb[48]", behind its first word */
static int st_variable(struct st_program *p, struct st_func *f, char space, const char *s)
{
	char w[ST_TEXT];
	uint64_t align = 0, bytes = 0;
	struct st_var *v = &f->var[f->nvars];
	uint64_t *end = space == 's' ? &p->shared_bytes : space == 'l' ? &f->local_bytes : &f->param_bytes;

	if (f->nvars == ST_VARS)
		return st_fail(p, "variables", s);
	for (st_word(&s, w); w[0] == '.'; st_word(&s, w)) {
		if (!strcmp(w, ".align"))
			align = strtoull(s, (char **)&s, 10);
		else
			bytes = (uint64_t)st_bits(w + 1) / 8;
		s += strspn(s, " ");
	}
	align = align ? align : bytes;
	snprintf(v->name, ST_TEXT, "%s", w);
	if (*s == '[')
		bytes *= strtoull(s + 1, NULL, 10);
	v->space = space;
	v->bytes = bytes;
	*end = (*end + align - 1) & ~(align - 1);
	v->at = *end;
	*end += bytes;
	return f->nvars++;
}

/* Names in parentheses: what a call hands over. */
static int st_names(struct st_program *p, struct st_func *f, const char **s)
{
	int n = 0;
	char w[ST_TEXT];

	*s += strspn(*s, " ");
	if (**s != '(')
		return st_fail(p, "call", *s);
	do {
		int v;

		++*s;
		if (!st_word(s, w))
			break;
		v = st_var(f, w);
		if (v < 0) {
			v = st_reg(f, w);
			if (v < 0)
				return st_fail(p, "argument", w);
			v = -1 - v;
		}
		if (f->nlist == 512)
			return st_fail(p, "arguments", w);
		f->list[f->nlist++] = v;
		n++;
	} while (**s == ',');
	*s += **s == ')';
	*s += strspn(*s, " ,");
	return n;
}

static int st_statement(struct st_program *p, struct st_func *f, const char *s)
{
	struct st_insn *in = &f->code[f->n];
	char w[ST_TEXT], full[160];
	size_t n;

	if (f->n == ST_CODE)
		return st_fail(p, "code", "");
	memset(in, 0, sizeof(*in));
	in->guard = in->callee = -1;
	if (*s == '@') {
		in->gneg = s[1] == '!';
		s += 1 + in->gneg;
		st_word(&s, w);
		in->guard = st_reg(f, w);
		if (in->guard < 0)
			return st_fail(p, "guard", w);
	}
	n = strcspn(s, " ");
	if (n >= sizeof(full))
		return st_fail(p, "name", s);
	memcpy(full, s, n);
	full[n] = 0;
	s += n;
	/* copies are done at once */
	if (split(&in->ref, !strncmp(full, "cp.async.commit", 15) || !strncmp(full, "cp.async.wait", 13) ? "nop" : full))
		return st_fail(p, "name", full);
	if (!strcmp(in->ref.tok[0], "call")) {
		in->from = f->nlist;
		in->rets = st_names(p, f, &s);
		if (in->rets < 0 || !st_word(&s, w))
			return st_fail(p, "call", s);
		for (int i = 0; i < p->nfuncs; i++)
			if (!strcmp(p->func[i].name, w))
				in->callee = i;
		if (in->callee < 0) {
			in->o[0].kind = SO_REG;
			in->o[0].reg = st_reg(f, w);
			if (in->o[0].reg < 0)
				return st_fail(p, "call of", w);
		}
		s += strspn(s, " ,");
		in->nargs = st_names(p, f, &s);
		f->n++;
		return in->nargs < 0 ? -1 : 0;
	}
	in->known = describe(&in->ref) == 0 && !in->ref.body;
	for (s += strspn(s, " "); *s; s += strspn(s, " ,")) {
		/* special registers stand in mov alone */
		if (*s == '%' && in->no == 1 && is(&in->ref, "mov")) {
			static const char *const special[] = { "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y",
				"%nctaid.x", "%nctaid.y", "%laneid", "%lanemask_lt", "%lanemask_ge" };

			for (unsigned i = 0; i < sizeof(special) / sizeof(special[0]); i++)
				if (!strcmp(s, special[i])) {
					in->o[1].kind = SO_SINK;
					in->o[1].imm = i + 1;
				}
			if (in->o[1].imm) {
				in->no = 2;
				break;
			}
		}
		if (in->no == ST_OPERANDS || st_operand(p, f, &s, &in->o[in->no]))
			return st_fail(p, "operands of", full);
		in->no++;
	}
	/* lop3's table is a part of what it is */
	if (is(&in->ref, "lop3"))
		in->ref.imm = (unsigned)in->o[--in->no].imm;
	f->n++;
	return 0;
}

/* "(.param .b32 a, .reg .f32 b)" at s: parameters. */
static const char *st_params(struct st_program *p, struct st_func *f, const char *s, int out)
{
	char one[160], w[ST_TEXT];

	if (*s != '(')
		return s;
	do {
		size_t n;
		int v;
		const char *t = one;

		s++;
		s += strspn(s, " ");
		n = strcspn(s, ",)");
		if (!n)
			break;
		snprintf(one, sizeof(one), "%.*s", (int)n, s);
		s += n;
		st_word(&t, w);
		if (!strcmp(w, ".reg"))
			v = st_regs(p, f, t) ? -1 : -f->nregs;
		else
			v = st_variable(p, f, 'p', t);
		if (out)
			f->out = v;
		else if (f->nin < 16)
			f->in[f->nin++] = v;
	} while (*s == ',');
	return s + (*s == ')') + strspn(s + (*s == ')'), " ");
}

/* Reads the whole text. 0, or -1: p->why. */
static int st_read(struct st_program *p, const char *text)
{
	struct st_func *f = NULL;
	int depth = 0;
	static char one[1 << 14];

	while (*text) {
		size_t n;
		const char *s;
		char w[ST_TEXT];

		text += strspn(text, " \t\n");
		if (!*text)
			break;
		if (!strncmp(text, "//", 2) || (!f && (!strncmp(text, ".version", 8) || !strncmp(text, ".target", 7) || !strncmp(text, ".address", 8)))) {
			text += strcspn(text, "\n");
			continue;
		}
		if (*text == '{' || *text == '}') {
			depth += *text++ == '{' ? 1 : -1;
			if (!depth)
				f = NULL;
			continue;
		}
		if (!f && (!strncmp(text, ".func", 5) || !strncmp(text, ".visible .entry", 15))) {
			int entry = text[1] == 'v';

			if (p->nfuncs == ST_FUNCS)
				return st_fail(p, "functions", "");
			f = &p->func[p->nfuncs];
			f->code = calloc(ST_CODE, sizeof(*f->code));
			if (!f->code)
				return st_fail(p, "memory", "");
			if (entry) {
				p->kernel = p->nfuncs;
				f->nvars = 1;
				f->var[0] = (struct st_var){ .name = "tab", .space = 'c', .bytes = 64 };
			}
			text += entry ? 15 : 5;
			text += strspn(text, " ");
			text = st_params(p, f, text, 1);
			st_word(&text, f->name);
			for (int i = 0; i < p->nfuncs; i++)
				if (!strcmp(p->func[i].name, f->name)) {        /* named before: its body comes now */
					p->func[i] = *f;
					memset(f, 0, sizeof(*f));
					f = &p->func[i];
				}
			if (f == &p->func[p->nfuncs])
				p->nfuncs++;
			text = st_params(p, f, text, 0);
			if (*text == ';') {
				free(f->code);
				f->code = NULL;
				f = NULL;
				text++;
			}
			continue;
		}
		/* a label */
		s = text;
		n = st_word(&s, w);
		if (n && *s == ':') {
			int l = f ? st_label(f, w) : -1;

			if (l < 0)
				return st_fail(p, "label", w);
			text = s + 1;
			text += strspn(text, " \t\n");
			f->label[l].at = f->n;
			if (!strncmp(text, ".callprototype", 14))
				text += strcspn(text, ";") + 1;
			if (!strncmp(text, ".branchtargets", 14)) {
				/* kept behind the label as an instruction that does nothing */
				struct st_insn *in = &f->code[f->n++];

				memset(in, 0, sizeof(*in));
				in->guard = in->callee = -1;
				snprintf(in->ref.tok[0], sizeof(in->ref.tok[0]), "nop");
				in->ways = calloc(8, sizeof(int));
				text += 14;
				do {
					text += *text == ',';
					st_word(&text, w);
					in->ways[in->nways++] = st_label(f, w);
				} while (*text == ',' && in->nways < 8);
				text += *text == ';';
			}
			continue;
		}
		n = strcspn(text, ";");
		/* a statement may have braces of its own: vectors */
		if (n >= sizeof(one))
			return st_fail(p, "statement", text);
		memcpy(one, text, n);
		one[n] = 0;
		text += n + (text[n] == ';');
		s = one;
		st_word(&s, w);
		if (!strcmp(w, ".const")) {
			s = strchr(one, '{');
			for (int i = 0; s && i < 16; i++)
				p->tab[i] = (uint32_t)strtoll(s + 1 + strspn(s + 1, " "), (char **)&s, 0);
		} else if (!f) {
			return st_fail(p, "outside", one);
		} else if (!strcmp(w, ".reg")) {
			if (st_regs(p, f, s))
				return -1;
		} else if (!strcmp(w, ".param") || !strcmp(w, ".local") || !strcmp(w, ".shared")) {
			if (st_variable(p, f, w[1], s) < 0)
				return -1;
		} else if (st_statement(p, f, one)) {
			return -1;
		}
	}
	return 0;
}

static void st_free(struct st_program *p)
{
	for (int i = 0; i < p->nfuncs; i++) {
		for (int k = 0; k < p->func[i].n; k++)
			free(p->func[i].code[k].ways);
		free(p->func[i].code);
	}
}

#endif
