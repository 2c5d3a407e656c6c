/* SPDX-License-Identifier: MIT */
/*
 * Fuzzer of the fatbin reader: list, select and unpack, for several compute capabilities.
 *
 * Build: tests/fuzz/fuzz_fatbin.c tests/fuzz/standalone.c tools/vgpu-stub/cpu/fatbin.c
 *        -llz4 -lzstd, with ASan and UBSan; or without standalone.c, with clang -fsanitize=fuzzer
 * Run:   fuzz_fatbin [options of standalone.c] tests/fuzz/corpus/fatbin
 */
#include <stdlib.h>
#include <string.h>

#include "../../fw-protocol/vgpu_status.h"
#include "../../tools/vgpu-stub/cpu/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
	unsigned entries;
	const uint8_t *low, *high;
};

static int each(void *owner, const struct fatbin_entry *e)
{
	struct seen *s = owner;
	char log[64], *text;
	size_t n;

	/* the payload lies inside the image */
	if ((const uint8_t *)e->payload < s->low || (const uint8_t *)e->payload > s->high ||
	    e->payload_bytes > (uint64_t)(s->high - (const uint8_t *)e->payload))
		abort();
	if (s->entries < 4 && e->text_bytes < 1 << 20 &&
	    fatbin_text(e, &text, &n, log, sizeof(log)) == VGPU_ST_OK) {
		if (n > e->text_bytes || strlen(text) != n)
			abort();
		free(text);
	}
	return ++s->entries >= 1000;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned cc[][2] = { { 6, 1 }, { 7, 5 }, { 9, 0 }, { 12, 0 }, { ~0u, ~0u } };
	struct seen s = { 0, data, data + size };
	char log[100];

	fatbin_list(data, size, each, &s, log, sizeof(log));
	for (unsigned i = 0; i < sizeof(cc) / sizeof(cc[0]); i++) {
		char *text = NULL;
		size_t n;
		uint32_t st = fatbin_select(data, size, cc[i][0], cc[i][1], &text, &n, log, i * 25);

		if ((st == VGPU_ST_OK) != (text != NULL))
			abort();
		free(text);
	}
	return 0;
}
