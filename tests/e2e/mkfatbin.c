/* SPDX-License-Identifier: MIT */
/*
 * mkfatbin: PTX files to one fat binary container, as clang's host side embeds it. Used by cu.sh
 * when it builds the <<<>>> programs; NVIDIA's fatbinary is not needed.
 *
 *   mkfatbin -o OUT [-c none|lz4|zstd] CC:FILE.ptx...        CC as in 61
 */
#include <lz4.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define KIND_PTX 1
#define FLAG_HOST_64BIT 0x1u
#define FLAG_LINUX 0x10u
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u

struct __attribute__((packed)) header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
};

struct __attribute__((packed)) entry {
	uint16_t kind, unknown;
	uint32_t header_size;
	uint64_t payload_size;
	uint32_t compressed_size, options;
	uint16_t minor, major;
	uint32_t arch, name_off, name_len;
	uint64_t flags, zero, uncompressed_size;
};

static void die(const char *what, const char *name)
{
	fprintf(stderr, "mkfatbin: %s: %s\n", name, what);
	exit(1);
}

static char *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	char *p = malloc(1 << 22);

	if (!f || !p)
		die("cannot be read", path);
	*n = fread(p, 1, (1 << 22) - 1, f);
	if (ferror(f) || !feof(f))
		die("cannot be read, or above 4 MiB", path);
	fclose(f);
	p[(*n)++] = 0;		/* the loader expects PTX as a C string */
	return p;
}

static void add(FILE *out, uint64_t *total, const char *arg, const char *how)
{
	struct entry e = { .kind = KIND_PTX, .unknown = 0x101, .header_size = sizeof e };
	const char *colon = strchr(arg, ':'), *v;
	static const char pad[8];
	char *text, *packed;
	size_t n, bound, bytes;
	unsigned major = 0, minor = 0;

	if (!colon)
		die("want CC:FILE", arg);
	text = slurp(colon + 1, &n);
	v = strstr(text, ".version");
	if (!v || sscanf(v, ".version %u.%u", &major, &minor) != 2)
		die("no .version: not PTX", colon + 1);
	e.arch = (uint32_t)strtoul(arg, NULL, 10);
	e.major = (uint16_t)major;
	e.minor = (uint16_t)minor;
	e.flags = FLAG_HOST_64BIT | FLAG_LINUX;
	bytes = n;
	packed = text;
	if (strcmp(how, "none")) {
		bound = ZSTD_compressBound(n) + (size_t)LZ4_compressBound((int)n);
		packed = malloc(bound);
		if (!packed)
			die("out of memory", arg);
		if (!strcmp(how, "lz4")) {
			bytes = (size_t)LZ4_compress_default(text, packed, (int)n, (int)bound);
			e.flags |= FLAG_LZ4;
		} else {
			bytes = ZSTD_compress(packed, bound, text, n, 9);
			e.flags |= FLAG_ZSTD;
		}
		if (!bytes || ZSTD_isError(bytes))
			die("does not compress", arg);
		e.compressed_size = (uint32_t)bytes;
		e.uncompressed_size = n;
	}
	e.payload_size = (bytes + 7) & ~(size_t)7;
	if (fwrite(&e, sizeof e, 1, out) != 1 || fwrite(packed, 1, bytes, out) != bytes ||
	    fwrite(pad, 1, e.payload_size - bytes, out) != e.payload_size - bytes)
		die("write error", arg);
	*total += sizeof e + e.payload_size;
	if (packed != text)
		free(packed);
	free(text);
}

int main(int argc, char **argv)
{
	struct header h = { 0xba55ed50u, 1, sizeof h, 0 };
	const char *path = NULL, *how = "none";
	uint64_t total = 0;
	FILE *out;
	int i;

	for (i = 1; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (!strcmp(argv[i], "-o"))
			path = argv[i + 1];
		else if (!strcmp(argv[i], "-c"))
			how = argv[i + 1];
		else
			die("unknown option", argv[i]);
	}
	if (!path || i >= argc || (strcmp(how, "none") && strcmp(how, "lz4") && strcmp(how, "zstd")))
		die("usage: mkfatbin -o OUT [-c none|lz4|zstd] CC:FILE.ptx...", "arguments");
	out = fopen(path, "wb");
	if (!out || fwrite(&h, sizeof h, 1, out) != 1)
		die("cannot be written", path);
	for (; i < argc; i++)
		add(out, &total, argv[i], how);
	h.size = total;
	if (fseek(out, 0, SEEK_SET) || fwrite(&h, sizeof h, 1, out) != 1 || fclose(out))
		die("cannot be written", path);
	return 0;
}
