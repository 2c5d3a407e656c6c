/* SPDX-License-Identifier: MIT */
/*
 * The one JSON writer: commas, quotes and escapes are its business, shape is the caller's.
 */
#include "vgpu.h"

#include <math.h>

static void put_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void next(struct json *j, const char *key)
{
	if (j->depth && !j->first[j->depth])
		fputc(',', j->out);
	j->first[j->depth] = 0;
	if (key) {
		put_string(j->out, key);
		fputc(':', j->out);
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	next(j, key);
	fputc(bracket, j->out);
	j->first[++j->depth] = 1;
}

void json_close(struct json *j, char bracket)
{
	fputc(bracket, j->out);
	if (!--j->depth)
		fputc('\n', j->out);
}

void json_str(struct json *j, const char *key, const char *s)
{
	next(j, key);
	put_string(j->out, s);
}

void json_u64(struct json *j, const char *key, uint64_t v)
{
	next(j, key);
	fprintf(j->out, "%llu", (unsigned long long)v);
}

void json_us(struct json *j, const char *key, uint64_t ns)
{
	next(j, key);
	fprintf(j->out, "%llu.%03u", (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

void json_f(struct json *j, const char *key, double v)
{
	next(j, key);
	if (isfinite(v))
		fprintf(j->out, "%.6g", v);
	else
		fputs("null", j->out);
}
