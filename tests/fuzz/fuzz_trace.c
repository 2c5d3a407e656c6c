/* SPDX-License-Identifier: MIT */
/*
 * What a traced program, or anybody in its place, sends to vgpu trace: lines of calls, of the device's work and of NVTX, and the page of
 * counts. What comes out are lines without control bytes and JSON that is whole, whatever came in.
 *
 * Sources: tests/fuzz/fuzz_trace.c tools/vgpu/trace_out.c trace_nvtx.c trace_device.c trace_count.c json.c and what they call
 *
 * Input: lines, as the socket has them; one that begins with 0xff is pieces of a page instead: offset / 8 (2 bytes), length, bytes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/vgpu/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

void complain(const char *fmt, ...) { (void)fmt; }

#define NEED(x) do { if (!(x)) { fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)
#define LINE_BYTES 8192u

/* RFC 8259, but that numbers are not looked into. The byte behind the value, or NULL. */
static const char *json(const char *p, unsigned depth)
{
	char close = *p == '{' ? '}' : ']';

	if (depth > 64)
		return NULL;
	if (*p == '"') {
		for (p++; *p != '"'; p++) {
			if ((unsigned char)*p < 32)
				return NULL;
			if (*p == '\\' && !strchr("\"\\/bfnrtu", *++p))
				return NULL;
			if (!*p)
				return NULL;
		}
		return p + 1;
	}
	if (*p != '{' && *p != '[') {
		size_t n = strspn(p, "-+.0123456789eEtrufalsn");

		return n ? p + n : NULL;
	}
	p++;
	p += strspn(p, " \n\t\r");
	if (*p == close)
		return p + 1;
	for (;;) {
		if (close == '}') {
			if (*p != '"' || !(p = json(p, depth + 1)))
				return NULL;
			p += strspn(p, " \n\t\r");
			if (*p++ != ':')
				return NULL;
			p += strspn(p, " \n\t\r");
		}
		p = json(p, depth + 1);
		if (!p)
			return NULL;
		p += strspn(p, " \n\t\r");
		if (*p == close)
			return p + 1;
		if (*p++ != ',')
			return NULL;
		p += strspn(p, " \n\t\r");
	}
}

static int whole(const char *text)
{
	const char *p = json(text, 0);

	return p && p[strspn(p, " \n\t\r")] == 0;
}

static void plain(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		NEED(((unsigned char)text[i] >= 32 || text[i] == '\n') && text[i] != 127);
}

static char dir[64];
static struct trace_page page;

static void no_dir(void)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/7", dir);
	unlink(path);
	rmdir(dir);
}

static void piece(const uint8_t *p, size_t n)
{
	while (n >= 3) {
		size_t at = ((size_t)p[0] | (size_t)p[1] << 8) * 8, bytes = p[2];

		p += 3;
		n -= 3;
		bytes = bytes < n ? bytes : n;
		if (at + bytes <= sizeof(page))
			memcpy((uint8_t *)&page + at, p, bytes);
		p += bytes;
		n -= bytes;
	}
}

static void pages(void)
{
	char path[80], *text;
	size_t n;
	FILE *f;

	if (!dir[0]) {
		strcpy(dir, "/tmp/vgpu-fuzz-trace-XXXXXX");
		NEED(mkdtemp(dir));
		atexit(no_dir);
	}
	snprintf(path, sizeof(path), "%s/7", dir);
	page.magic = TRACE_MAGIC;
	f = fopen(path, "w");
	NEED(f && fwrite(&page, sizeof(page), 1, f) == 1 && fclose(f) == 0);
	f = open_memstream(&text, &n);
	NEED(trace_counts(dir, f, 0) == 1);
	trace_in_flight(dir, f, 1ull << 40, 0);
	trace_in_flight(dir, f, 1ull << 40, 1);
	fclose(f);
	plain(text, n);
	free(text);
	f = open_memstream(&text, &n);
	trace_counts(dir, f, 1);
	fclose(f);
	NEED(whole(text));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_out o = { .start_ns = 0, .sums = 1 };
	char *lines, *perfetto, *sums, line[LINE_BYTES];
	size_t nlines, nperfetto, nsums;
	FILE *f;
	int paged = 0;

	memset(&page, 0, sizeof(page));
	o.text = open_memstream(&lines, &nlines);
	o.perfetto = (struct json){ .out = open_memstream(&perfetto, &nperfetto) };
	json_open(&o.perfetto, NULL, '{');
	json_open(&o.perfetto, "traceEvents", '[');
	while (size) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t n = end ? (size_t)(end - data) + 1 : size, cut = n < LINE_BYTES - 1 ? n : LINE_BYTES - 1;

		memcpy(line, data, cut);
		line[cut] = 0;
		if (cut && data[0] == 0xff) {
			piece(data + 1, cut - 2 + (cut == 1));
			paged = 1;
		} else {
			trace_out_line(&o, line);
		}
		data += n;
		size -= n;
	}
	f = open_memstream(&sums, &nsums);
	trace_device_stats(&o, f, 0);
	fclose(f);
	plain(sums, nsums);
	free(sums);
	f = open_memstream(&sums, &nsums);
	trace_device_stats(&o, f, 1);
	fclose(f);
	NEED(!nsums || whole(sums));
	free(sums);
	trace_out_close(&o);
	fclose(o.text);
	plain(lines, nlines);
	NEED(whole(perfetto));
	free(lines);
	free(perfetto);
	if (paged)
		pages();
	return 0;
}
