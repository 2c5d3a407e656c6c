/* SPDX-License-Identifier: MIT */
/* What nvtx.c keeps and traced.c shows. */
#ifndef VGPU_NVTX_NAMES_H
#define VGPU_NVTX_NAMES_H

#include <stdatomic.h>

#include "nvtx.h"

#define NVTX_TEXT 256u                  /* bytes of wide text that are kept */
#define NVTX_LEVELS 6u                  /* domains beside the default one whose ranges are counted; others answer NVTX_NO_PUSH_POP_TRACKING */

#pragma GCC visibility push(hidden)

struct nvtx_string {
	struct nvtx_string *next;
	uint32_t key;                   /* of a category */
	char text[];
};
struct nvtx_domain {
	struct nvtx_domain *next;
	uint32_t number;                /* 0: the default one, or one that is just being made */
	_Atomic(struct nvtx_string *) strings, categories;
	char name[];
};

/* NULL: no handle of ours. */
const struct nvtx_domain *nvtx_domain(uint64_t handle);
/* Up to n wide characters or a 0; whole characters, ended by 0. Bytes. */
size_t nvtx_utf8(char *to, size_t room, const wchar_t *from, size_t n);

#pragma GCC visibility pop

#endif
