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

struct out { char buf[OUT_MAX]; size_t n; };

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
static u64 next_arg(struct tstate *ts, u32 lane, u64 base, u64 *off, u32 bytes)
{
	u64 v = 0;

	*off = (*off + bytes - 1) & ~(u64)(bytes - 1);
	mem_read(ts, (int)lane, base + *off, &v, bytes);
	*off += bytes;
	return v;
}

static void format(struct tstate *ts, u32 lane, const char *fmt, u64 args, struct out *o)
{
	char spec[48], piece[512], str[1024];
	const char *p = fmt, *q;
	u64 off = 0, v;
	double d;
	int n;

	while (*p) {
		size_t k = 0;
		int lmod = 0;

		q = strchr(p, '%');
		if (!q) {
			put(o, p, strlen(p));
			return;
		}
		put(o, p, (size_t)(q - p));
		p = q + 1;
		if (*p == '%') {
			put(o, "%", 1);
			p++;
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
				s32 w = (s32)next_arg(ts, lane, args, &off, 4);

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
			lmod += *p++ == 'h' ? 0 : 1;
		n = 0;
		switch (*p) {
		case 'd':
		case 'i':
			v = next_arg(ts, lane, args, &off, lmod ? 8 : 4);
			memcpy(spec + k, "lld", 4);
			n = snprintf(piece, sizeof(piece), spec, lmod ? (long long)v : (long long)(s32)v);
			break;
		case 'u':
		case 'x':
		case 'X':
		case 'o':
			v = next_arg(ts, lane, args, &off, lmod ? 8 : 4);
			memcpy(spec + k, "ll", 2);
			spec[k + 2] = *p;
			spec[k + 3] = 0;
			n = snprintf(piece, sizeof(piece), spec, (unsigned long long)v);
			break;
		case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
			v = next_arg(ts, lane, args, &off, 8);
			memcpy(&d, &v, 8);
			spec[k] = *p;
			spec[k + 1] = 0;
			n = snprintf(piece, sizeof(piece), spec, d);
			break;
		case 'c':
			v = next_arg(ts, lane, args, &off, 4);
			spec[k] = 'c';
			spec[k + 1] = 0;
			n = snprintf(piece, sizeof(piece), spec, (int)(u8)v);
			break;
		case 'p':
			v = next_arg(ts, lane, args, &off, 8);
			n = snprintf(piece, sizeof(piece), "0x%llx", (unsigned long long)v);
			break;
		case 's':
			v = next_arg(ts, lane, args, &off, 8);
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
	u32 k, l, ret;

	for (k = m; k; k &= k - 1) {
		l = (u32)__builtin_ctz(k);
		mem_read_str(ts, (int)l, local_arg(w, f, l, &ci->args[0]), fmt, sizeof(fmt));
		o.n = 0;
		format(ts, l, fmt, local_arg(w, f, l, &ci->args[1]), &o);
		print(ts->e, o.buf, o.n);
		ret = (u32)o.n;
		if (ci->nrets)
			memcpy((void *)(w->cta->local + (u64)(w->index * LANES + l) *
					w->cta->g->local_stride + f->loff + ci->rets[0].off), &ret,
			       ci->rets[0].bytes < 4 ? ci->rets[0].bytes : 4);
	}
}

/* __assertfail(message, file, line, function, charsize) */
void dev_assertfail(struct tstate *ts, struct frame *f, const struct callinfo *ci, u32 m)
{
	char text[4][256], line[1200];
	struct warp *w = ts->w;
	u32 l = (u32)__builtin_ctz(m), i, t = w->index * LANES + l;
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
	fault_raise(VGPU_ST_ASSERT, (int)l, 0, "device-side assertion");
}
