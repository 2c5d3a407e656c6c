/* SPDX-License-Identifier: MIT */
/*
 * vprintf and __assertfail of device code. The format and its strings are the kernel's memory:
 * read byte by byte with the span check, and every conversion is rebuilt before the C library
 * sees it, so that nothing of the kernel's reaches snprintf as a format.
 */
#include <stdio.h>
#include <string.h>

#include "verify.h"

#define FMT_MAX 2048
#define OUT_MAX 8192
#define MOST_ARGS 32            /* CUDA C++ Programming Guide, "Formatted Output", Limitations: what is beyond stays as it is written */

struct out { char buf[OUT_MAX]; size_t n; };

/* The arguments of a call: where they lie, how far they have been read, how many. */
struct args { u64 base, off; s32 n; };

static u64 local_arg(struct warp *w, struct frame *f, u32 lane, const struct arg *a)
{
	u64 v = 0;

	memcpy(&v, (void *)(w->cta->local + (u64)(w->index * LANES + lane) * w->cta->g->local_stride +
			    f->loff + a->off), a->bytes < 8 ? a->bytes : 8);
	return v;
}

static void put(struct out *o, const char *s, size_t n)
{
	if (n > OUT_MAX - o->n)
		n = OUT_MAX - o->n;
	memcpy(o->buf + o->n, s, n);
	o->n += n;
}

/* Arguments lie in memory as C varargs promote them, each naturally aligned. */
static u64 next_arg(struct tstate *ts, u32 lane, struct args *a, u32 bytes)
{
	u64 v = 0;

	a->off = (a->off + bytes - 1) & ~(u64)(bytes - 1);
	mem_read(ts, (int)lane, a->base + a->off, &v, bytes);
	a->off += bytes;
	a->n++;
	return v;
}

/* What an integer argument is as its length has it: 2 char, 1 short, 0 int, below that long. */
static s64 as_signed(u64 v, int shorts)
{
	return shorts > 1 ? (signed char)v : shorts > 0 ? (short)v : shorts == 0 ? (s32)v : (s64)v;
}

static u64 as_unsigned(u64 v, int shorts)
{
	return shorts > 1 ? (u8)v : shorts > 0 ? (u16)v : shorts == 0 ? (u32)v : v;
}

/* How many arguments there were: that is what CUDA's printf returns. The text is what the C library here makes of the format, as the guide says. */
static s32 format(struct tstate *ts, u32 lane, const char *fmt, u64 base, struct out *o)
{
	char spec[48], piece[512], str[1024];
	struct args args = { .base = base };
	const char *p = fmt, *q;
	double d;
	u64 v;
	int n;

	while (*p) {
		size_t k = 0;
		int shorts = 0;

		q = strchr(p, '%');
		if (!q) {
			put(o, p, strlen(p));
			break;
		}
		put(o, p, (size_t)(q - p));
		p = q + 1;
		if (*p == '%') {
			put(o, "%", 1);
			p++;
			continue;
		}
		if (args.n >= MOST_ARGS) {
			put(o, "%", 1);
			continue;
		}
		spec[k++] = '%';
		while (*p && strchr("-+ #0", *p) && k < 8)
			spec[k++] = *p++;
		for (n = 0; n < 2; n++) {       /* width, precision */
			if (n && *p != '.')
				break;
			if (n)
				spec[k++] = *p++;
			if (*p == '*') {
				s32 w = (s32)next_arg(ts, lane, &args, 4);

				w = w > 400 ? 400 : w < -400 ? -400 : w;
				k += (size_t)snprintf(spec + k, 12, "%d", w);
				p++;
			} else {
				u32 w = 0;

				while (*p >= '0' && *p <= '9')
					w = w < 1000 ? w * 10 + (u32)(*p - '0') : w, p++;
				if (w || n)
					k += (size_t)snprintf(spec + k, 12, "%u", w > 400 ? 400 : w);
			}
		}
		while (*p == 'l' || *p == 'h' || *p == 'z' || *p == 'j' || *p == 't')
			shorts = *p++ == 'h' ? shorts + 1 : -1;
		n = 0;
		switch (*p) {
		case 'd':
		case 'i':
			v = next_arg(ts, lane, &args, shorts < 0 ? 8 : 4);
			memcpy(spec + k, "lld", 4);
			n = snprintf(piece, sizeof(piece), spec, (long long)as_signed(v, shorts));
			break;
		case 'u':
		case 'x':
		case 'X':
		case 'o':
			v = next_arg(ts, lane, &args, shorts < 0 ? 8 : 4);
			memcpy(spec + k, "ll", 2);
			spec[k + 2] = *p;
			spec[k + 3] = 0;
			n = snprintf(piece, sizeof(piece), spec, (unsigned long long)as_unsigned(v, shorts));
			break;
		case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
			v = next_arg(ts, lane, &args, 8);
			memcpy(&d, &v, 8);
			spec[k] = *p;
			spec[k + 1] = 0;
			n = snprintf(piece, sizeof(piece), spec, d);
			break;
		case 'c':
			v = next_arg(ts, lane, &args, 4);
			spec[k] = 'c';
			spec[k + 1] = 0;
			n = snprintf(piece, sizeof(piece), spec, (int)(u8)v);
			break;
		case 'p':
			v = next_arg(ts, lane, &args, 8);
			spec[k] = 'p';
			spec[k + 1] = 0;
			n = snprintf(piece, sizeof(piece), spec, (void *)v);
			break;
		case 's':
			v = next_arg(ts, lane, &args, 8);
			if (v)
				mem_read_str(ts, (int)lane, v, str, sizeof(str));
			else
				memcpy(str, "(null)", 7);
			spec[k] = 's';
			spec[k + 1] = 0;
			if (k == 1) {
				put(o, str, strlen(str));
				p++;
				continue;
			}
			n = snprintf(piece, sizeof(piece), spec, str);
			break;
		default:                        /* not a conversion: print it as it stands */
			put(o, q, (size_t)(p - q));
			continue;
		}
		p++;
		if (n > 0)
			put(o, piece, (size_t)n < sizeof(piece) ? (size_t)n : sizeof(piece) - 1);
	}
	return args.n;
}

static void print(struct engine *e, const char *text, size_t bytes)
{
	if (!e->vf || !vf_keep(e, text, bytes))
		e->env.print(e->env.owner, text, bytes);
}

void dev_printf(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m)
{
	static __thread struct out o;
	struct warp *w = ts->w;
	char fmt[FMT_MAX];
	s32 ret;
	u32 k, l;
	u64 at;

	for (k = m; k; k &= k - 1) {
		l = (u32)__builtin_ctz(k);
		ret = -1;
		at = local_arg(w, f, l, &ci->args[0]);
		if (at) {
			mem_read_str(ts, (int)l, at, fmt, sizeof(fmt));
			o.n = 0;
			ret = format(ts, l, fmt, local_arg(w, f, l, &ci->args[1]), &o);
			print(ts->e, o.buf, o.n);
		}
		if (ci->nrets)
			memcpy((void *)(w->cta->local + (u64)(w->index * LANES + l) *
					w->cta->g->local_stride + f->loff + ci->rets[0].off), &ret,
			       ci->rets[0].bytes < 4 ? ci->rets[0].bytes : 4);
	}
}

static void say_assert(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 l)
{
	char text[4][256], line[1200];
	struct warp *w = ts->w;
	u32 i, t = w->index * LANES + l;
	struct grid *g = w->cta->g;
	int n;

	for (i = 0; i < 4; i++) {
		u64 a = local_arg(w, f, l, &ci->args[i]);

		text[i][0] = 0;
		if (i != 2 && a)
			mem_read_str(ts, (int)l, a, text[i], sizeof(text[i]));
	}
	n = snprintf(line, sizeof(line), "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
		     text[1], (u32)local_arg(w, f, l, &ci->args[2]), text[3], w->cta->id[0], w->cta->id[1],
		     w->cta->id[2], g->tid[0][t], g->tid[1][t], g->tid[2][t], text[0]);
	print(ts->e, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

/* __assertfail(message, file, line, function, charsize): a line of each thread that is here, as hardware's warps have it */
void dev_assertfail(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m)
{
	u32 k;

	for (k = m; k; k &= k - 1)
		say_assert(ts, f, ci, (u32)__builtin_ctz(k));
	fault_raise(VGPU_ST_ASSERT, __builtin_ctz(m), 0, "device-side assertion");
}
